//! Dates as people write them.

use std::borrow::Cow;
use std::cmp::Ordering;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A date as written, and the moment that it denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrittenDate {
    /// Date and time as written, without the offset; of a Unix timestamp, in UTC.
    pub(crate) civil: DateTime,
    /// The moment; without an offset, `civil` is in UTC.
    instant: Timestamp,
    /// True if an offset or `Z` is written.
    has_zone: bool,
}

impl WrittenDate {
    fn in_utc(instant: Timestamp) -> Self {
        Self { civil: instant.to_zoned(TimeZone::UTC).datetime(), instant, has_zone: true }
    }

    /// Returns the order relative to `expected`: that of the moments if `expected` has a zone, or else that of the dates as written, since people look for the day that they wrote.
    pub(crate) fn order(&self, expected: &Self) -> Ordering {
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
pub(crate) fn moment(text: &str) -> Option<WrittenDate> {
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

/// Maximum length of a date, in bytes. Longer texts are not parsed.
const LONGEST: usize = 64;

/// Parses a date of a note, which may also be `2024/5/9`, `2024-5-9`, `2024-05-09 10:00:00 +0200` or `[[2024-05-09]]`.
pub(crate) fn written(text: &str) -> Option<WrittenDate> {
    let text = text.trim();
    if text.len() > LONGEST {
        return None;
    }
    moment(text).or_else(|| {
        let daily = text.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
        let text = joined(daily.unwrap_or(text).trim());
        let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '-' | '/' | '.'));
        let (day, time) = text.split_at(end.unwrap_or(text.len()));
        let mut parts = day.split(['-', '/', '.']);
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        let whole = parts.next().is_none() && year.len() == 4;
        moment(&format!("{year}-{month:0>2}-{day:0>2}{time}")).filter(|_| whole)
    })
}

/// Parses a Unix timestamp: ten digits are seconds, thirteen are milliseconds.
pub(crate) fn counted(text: &str) -> Option<WrittenDate> {
    let text = text.trim();
    let count = || text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let instant = match text.len() {
        10 => Timestamp::from_second(count()?).ok(),
        13 => Timestamp::from_millisecond(count()?).ok(),
        _ => None,
    };
    instant.map(WrittenDate::in_utc)
}

/// Joins a time and its offset, which site generators separate by a space.
fn joined(text: &str) -> Cow<'_, str> {
    let is_offset = |rest: &str| {
        let digits = rest.strip_prefix(['+', '-']);
        digits.is_some_and(|digits| digits.chars().all(|c| c.is_ascii_digit() || c == ':'))
    };
    match text.rsplit_once(' ') {
        Some((time, offset)) if time.contains(':') && is_offset(offset) => {
            Cow::Owned([time, offset].concat())
        }
        Some(_) | None => Cow::Borrowed(text),
    }
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
        ] {
            assert_eq!(moment(text), None, "{text}");
            assert_eq!(instant(written(text)), expected, "{text}");
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
        for text in ["", "yesterday", "2024-13-45", "2024-02-30", "9.5.2024", "2024", "1.2.3.4"] {
            assert_eq!(written(text), None, "{text}");
        }
    }
}
