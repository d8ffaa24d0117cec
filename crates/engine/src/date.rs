//! Dates as people write them, parsed to comparable timestamps.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Parses `YYYY-MM-DD`, optionally with a time and an offset (RFC 3339).
///
/// A date without a time is the start of the day; a time without an offset is UTC.
pub(crate) fn moment(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let local = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
    text.parse().ok().or_else(|| local().map(|zoned| zoned.timestamp()))
}

/// Maximum length of a date, in bytes. Longer texts are not parsed.
const LONGEST: usize = 64;

/// Parses a date of a note, which may also be `2024/5/9`, `2024-5-9`, `2024-05-09 10:00:00 +0200` or `[[2024-05-09]]`.
pub(crate) fn written(text: &str) -> Option<Timestamp> {
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
pub(crate) fn counted(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let count = || text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    match text.len() {
        10 => Timestamp::from_second(count()?).ok(),
        13 => Timestamp::from_millisecond(count()?).ok(),
        _ => None,
    }
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

    #[test]
    fn spellings_of_one_date_are_equal() {
        let expected = moment("2024-05-09");
        assert!(expected.is_some());
        for text in [
            "2024-05-09T00:00",
            "2024-05-09T00:00:00Z",
            "2024-05-09 00:00:00",
            "2024-05-09T02:00:00+02:00",
            " 2024-05-09 ",
        ] {
            assert_eq!(moment(text), expected, "{text}");
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
            assert_eq!(written(text), expected, "{text}");
        }
    }

    #[test]
    fn unix_timestamps_are_parsed() {
        assert_eq!(counted("1715212800"), moment("2024-05-09"));
        assert_eq!(counted(" 1715212800500 "), moment("2024-05-09T00:00:00.5"));
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
