//! Dates as people write them.

use std::cmp::Ordering;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::NotePath;
use crate::id::without_markdown_extension;

/// Properties that date a note: the first that contains a date counts.
pub const PROPERTIES: [&str; 4] = ["date", "created", "modified", "updated"];

/// A date as written, and the moment that it denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenDate {
    /// Date and time as written, without the offset; of a Unix timestamp, in UTC.
    pub civil: DateTime,
    /// The moment; without an offset, `civil` is in UTC.
    pub instant: Timestamp,
    /// True if an offset or `Z` is written.
    has_zone: bool,
}

impl WrittenDate {
    fn in_utc(instant: Timestamp) -> Self {
        Self { civil: instant.to_zoned(TimeZone::UTC).datetime(), instant, has_zone: true }
    }

    /// Returns the order relative to `expected`: that of the moments if `expected` has a zone, or else that of the dates as written, since people look for the day that they wrote.
    #[must_use]
    pub fn order(&self, expected: &Self) -> Ordering {
        if expected.has_zone {
            self.instant.cmp(&expected.instant)
        } else {
            self.civil.cmp(&expected.civil)
        }
    }
}

/// Parses `YYYY-MM-DD`, optionally with a time and an offset (RFC 3339).
///
/// A date without a time is the start of the day; a time without an offset is UTC.
#[must_use]
pub fn moment(text: &str) -> Option<WrittenDate> {
    let text = text.trim();
    let civil = text.parse::<DateTime>().ok();
    if let Ok(instant) = text.parse() {
        let written = WrittenDate::in_utc(instant);
        return Some(WrittenDate { civil: civil.unwrap_or(written.civil), ..written });
    }
    let civil = civil?;
    let instant = civil.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some(WrittenDate { civil, instant, has_zone: false })
}

/// Parses the date of a note, [written] or [counted].
#[must_use]
pub fn of_note(text: &str) -> Option<WrittenDate> {
    written(text).or_else(|| counted(text))
}

/// Maximum length of a date, in bytes. Longer texts are not parsed.
const LONGEST: usize = 64;

/// Parses a date as programs and people write it.
///
/// - A day: `2024-05-09`, `2024/5/9`, `9 May 2024`, `Thursday, May 9th 2024`; the day of a link to a daily note (`[[daily/2024-05-09|today]]`, `[today](2024-05-09.md)`); of a month (`2024-05`, `May 2024`), its first.
/// - A time after it: `10:00`, `10:00:00`, `10:00 pm`.
/// - A zone after that: `Z`, `UTC`, `GMT`, `+0200`, `+02:00`, `+0000 UTC`. Without one, the time is UTC.
///
/// Names of months and days are English, in any case, whole or as their first three letters.
#[must_use]
pub fn written(text: &str) -> Option<WrittenDate> {
    let text = text.trim();
    if text.len() > LONGEST {
        return None;
    }
    moment(text).or_else(|| {
        let link = text.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
        let wikilink = link.map(|link| link.split_once('|').map_or(link, |(day, _)| day));
        let labelled = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(')'));
        let [label, path] = match (wikilink, labelled.and_then(|link| link.split_once("]("))) {
            (Some(path), _) => [None, Some(path)],
            (None, Some((label, path))) => [Some(label), Some(path)],
            (None, None) => [Some(text), None],
        };
        let name = path.map(|path| NotePath::new(without_markdown_extension(path)));
        let name = name.as_ref().map(NotePath::file_name);
        label.and_then(in_words).or_else(|| in_words(name?))
    })
}

/// Parses a date of words and numbers.
fn in_words(text: &str) -> Option<WrittenDate> {
    let text = text.to_ascii_lowercase();
    let mut parts = DateParts::default();
    let mut words = text.split(|c: char| c.is_whitespace() || c == ',');
    words.all(|word| parts.add(word).is_some()).then(|| parts.moment()).flatten()
}

/// Names of the months, in lower case.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Names of the days of the week, in lower case.
const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Minimum number of letters of the name of a month or day.
const MIN_NAME_LETTERS: usize = 3;

/// Parts of a date, each as written, in lower case.
#[derive(Debug, Default)]
struct DateParts<'t> {
    year: Option<&'t str>,
    month: Option<usize>,
    day: Option<&'t str>,
    time: Option<&'t str>,
    /// `am` or `pm`.
    half: Option<&'t str>,
    zone: Option<&'t str>,
}

impl<'t> DateParts<'t> {
    /// Adds a word. `None` if it is not part of a date, or a part that is known already.
    fn add(&mut self, word: &'t str) -> Option<()> {
        let word = word.trim_end_matches('.');
        let n_digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let rest = &word[n_digits..];
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        match (n_digits, rest) {
            (0, "" | "of" | "at" | "the") => Some(()),
            (0, "am" | "pm") => set(&mut self.half, rest),
            (0, "utc" | "gmt") if self.zone.is_some_and(is_zero) => Some(()),
            (0, "z" | "utc" | "gmt") => set(&mut self.zone, "Z"),
            (0, _) if rest.starts_with(['+', '-']) && self.time.is_some() => {
                is_digits(&rest[1..].replacen(':', "", 1)).then_some(())?;
                set(&mut self.zone, rest)
            }
            (0, _) if named(&WEEKDAYS, rest).is_some() => Some(()),
            (0, _) => set(&mut self.month, named(&MONTHS, rest)? + 1),
            (4, "") => set(&mut self.year, word),
            (1 | 2, "" | "st" | "nd" | "rd" | "th") => set(&mut self.day, &word[..n_digits]),
            (1 | 2, _) if rest.starts_with(':') => {
                let end = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.'));
                let end = n_digits + end.unwrap_or(rest.len());
                set(&mut self.time, &word[..end])?;
                if end < word.len() { self.add(&word[end..]) } else { Some(()) }
            }
            (4, _) if rest.starts_with(['-', '/', '.']) => {
                let (day, time) = word.split_once('t').unwrap_or((word, ""));
                let mut parts = day.split(['-', '/', '.']);
                let (year, month, day) = (parts.next()?, parts.next()?, parts.next());
                let is_whole = parts.next().is_none() && (day.is_some() || !rest.starts_with('.'));
                let month = Some(month).filter(|month| is_digits(month) && is_whole)?;
                set(&mut self.year, year)?;
                set(&mut self.month, month.parse().ok()?)?;
                set(&mut self.day, day.unwrap_or("1"))?;
                self.add(time)
            }
            (_, _) => None,
        }
    }

    /// Returns the moment; `None` if a part is missing or does not exist.
    fn moment(&self) -> Option<WrittenDate> {
        let Self { year, month, day, time, half, zone } = self;
        let date = format!("{}-{:0>2}-{:0>2}", (*year)?, (*month)?, day.unwrap_or("1"));
        if day.is_none() && time.is_some() {
            return None;
        }
        let Some(time) = time else {
            return moment(&date).filter(|_| half.is_none() && zone.is_none());
        };
        let (hour, rest) = time.split_once(':')?;
        let hour: u8 = hour.parse().ok()?;
        let hour = match half {
            None => hour,
            Some(_) if !(1..=12).contains(&hour) => return None,
            Some(half) => hour % 12 + if *half == "pm" { 12 } else { 0 },
        };
        moment(&format!("{date}T{hour:0>2}:{rest}{}", zone.unwrap_or_default()))
    }
}

/// Returns true for the offset of UTC.
fn is_zero(offset: &str) -> bool {
    offset.bytes().skip(1).all(|byte| matches!(byte, b'0' | b':'))
}

/// Sets a part that is still unknown.
fn set<T>(part: &mut Option<T>, value: T) -> Option<()> {
    part.is_none().then(|| *part = Some(value))
}

/// Returns the index of the name that `word` is, or begins.
fn named(names: &[&str], word: &str) -> Option<usize> {
    let begins = |name: &&str| word.len() >= MIN_NAME_LETTERS && name.starts_with(word);
    names.iter().position(begins)
}

/// Parses a Unix timestamp: ten digits are seconds, thirteen are milliseconds.
#[must_use]
pub fn counted(text: &str) -> Option<WrittenDate> {
    let text = text.trim();
    let count = || text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let instant = match text.len() {
        10 => Timestamp::from_second(count()?).ok(),
        13 => Timestamp::from_millisecond(count()?).ok(),
        _ => None,
    };
    instant.map(WrittenDate::in_utc)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(date: Option<WrittenDate>) -> Option<Timestamp> {
        date.map(|date| date.instant)
    }

    #[test]
    fn dates_compare_as_written_unless_zone_is_given() {
        for (text, expected, order) in [
            ("2024-05-09T01:00:00+02:00", "2024-05-09", Ordering::Greater),
            ("2024-05-09T01:00:00+02:00", "2024-05-09T00:00Z", Ordering::Less),
            ("2024-05-09T01:00:00+02:00", "2024-05-09T01:00", Ordering::Equal),
            ("2024-05-08T23:30:00-02:00", "2024-05-09", Ordering::Less),
            ("2024-05-08T23:30:00-02:00", "2024-05-09T00:00+00:00", Ordering::Greater),
            ("2024-05-09", "2024-05-09T02:00+02:00", Ordering::Equal),
            ("2024-05-09T00:00Z", "2024-05-09", Ordering::Equal),
        ] {
            let [text, expected] = [text, expected].map(|text| written(text).unwrap());
            assert_eq!(text.order(&expected), order, "{text:?} {expected:?}");
        }
    }

    #[test]
    fn spellings_of_one_date_are_equal() {
        let expected = instant(moment("2024-05-09"));
        assert!(expected.is_some());
        for text in [
            "2024-05-09T00:00",
            "2024-05-09T00:00:00Z",
            "2024-05-09 00:00:00",
            "2024-05-09T02:00:00+02:00",
            " 2024-05-09 ",
        ] {
            assert_eq!(instant(moment(text)), expected, "{text}");
        }
        for text in [
            "2024-5-9",
            "2024/05/09",
            "2024.5.9",
            "2024-5-9T00:00",
            "2024-05-09 00:00:00 +0000",
            "2024-05-09 02:00:00 +02:00",
            "2024-5-8 22:30:00 -0130",
            "[[2024-05-09]]",
            "[[2024-05-09|today]]",
            "[2024-05-09](daily/2024-05-09.md)",
            "[today](daily/2024-05-09.md)",
            "[[daily/2024-05-09|today]]",
            "[[daily/2024-05-09]]",
            "2024-05-09 00:00:00 UTC",
            "2024-05-09 00:00:00 +0000 UTC",
            "2024-05-09 00:00 gmt",
            "2024/05/09 12:00 AM",
            "2024-05-09T12:00:00 am",
            "9 May 2024",
            "9. May 2024",
            "May 9, 2024",
            "may 9th 2024",
            "the 9th of May, 2024",
            "Thursday, May 9th 2024, 12:00:00 am",
            "Thu, 9 May 2024 00:00:00 GMT",
            "Thu May 9 00:00:00 2024",
            "Thu May 9 2024 02:00:00 +0200",
        ] {
            assert_eq!(moment(text), None, "{text}");
            assert_eq!(instant(written(text)), expected, "{text}");
        }
    }

    #[test]
    fn parts_of_a_date_are_read() {
        for (text, expected) in [
            ("2024-03", "2024-03-01"),
            ("2024/3", "2024-03-01"),
            ("March 2024", "2024-03-01"),
            ("2024-03-10 10:00:00.5 +0000 UTC", "2024-03-10T10:00:00.5"),
            ("2024-03-10 10:00:00 UTC", "2024-03-10T10:00:00"),
            ("Sunday, March 10th 2024, 11:30:00 pm", "2024-03-10T23:30:00"),
            ("2024-03-10 12:15pm", "2024-03-10T12:15"),
            ("2024-03-10 1:05:07.5 PM", "2024-03-10T13:05:07.5"),
            ("10 Sept 2024", "2024-09-10"),
            ("Dec 1st 2024 at 8:00", "2024-12-01T08:00"),
        ] {
            assert!(moment(expected).is_some(), "{expected}");
            assert_eq!(instant(written(text)), instant(moment(expected)), "{text}");
        }
    }

    #[test]
    fn unix_timestamps_are_parsed() {
        assert_eq!(instant(counted("1715212800")), instant(moment("2024-05-09")));
        let half = instant(moment("2024-05-09T00:00:00.5"));
        assert_eq!(instant(counted(" 1715212800500 ")), half);
        for text in ["", "20240509", "202405091230", "20240509123000", "+171521280", "2024-05-09"] {
            assert_eq!(counted(text), None, "{text}");
        }
    }

    #[test]
    fn invalid_dates_are_rejected() {
        assert_eq!(written(&format!("12:30{}", " +x".repeat(100_000))), None);
        for text in [
            "",
            "yesterday",
            "2024-13-45",
            "2024-02-30",
            "9.5.2024",
            "2024",
            "1.2.3.4",
            "2024.5",
            "May",
            "May 2024 10:00",
            "2024-05-09 10:00 +0200 UTC",
            "[2024-05-09](a",
            "9 May",
            "2024-05-09 UTC",
            "2024-05-09 13:00 pm",
            "2024-05-09 0:30 am",
            "2024-05-09 pm",
            "2024-05-09 10:00 10:00",
            "9 9 May 2024",
            "Ma 9 2024",
            "Maybe 9 2024",
            "2024-05-09 +0200",
            "2024-05-09 or later",
            "é",
            "2024-é-09",
            "9: May 2024",
        ] {
            assert_eq!(written(text), None, "{text}");
        }
    }
}
