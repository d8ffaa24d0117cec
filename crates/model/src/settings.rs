//! Collects settings that are out of range, so that they are reported together.

use std::fmt::Display;
use std::ops::RangeInclusive;

/// Invalid settings: key and reason of each, in the order of the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(Vec<(String, String)>);

impl Problems {
    /// Reports `reason` for the setting `key` unless `holds`.
    pub fn check(&mut self, holds: bool, key: &str, reason: impl Display) {
        if !holds {
            self.0.push((key.to_owned(), reason.to_string()));
        }
    }

    /// Reports the error of `outcome`, if any, for the setting `key`.
    pub fn read<T, E: Display>(&mut self, key: &str, outcome: Result<T, E>) {
        if let Err(reason) = outcome {
            self.check(false, key, reason);
        }
    }

    /// Checks that a setting is in an inclusive range. NaN is in no range.
    pub fn within<T: PartialOrd + Display>(
        &mut self,
        key: &str,
        value: T,
        range: RangeInclusive<T>,
    ) {
        let holds = range.contains(&value);
        self.check(holds, key, format_args!("must be {} to {}", range.start(), range.end()));
    }

    /// Checks that a setting is at least `least`.
    pub fn at_least<T: PartialOrd + Display>(&mut self, key: &str, value: T, least: T) {
        self.check(value >= least, key, format_args!("must be at least {least}"));
    }

    /// Adds the problems of a section, with their keys prefixed by the section's key.
    pub fn section(&mut self, key: &str, section: Self) {
        let below = |(own, reason): (String, String)| (format!("{key}.{own}"), reason);
        self.0.extend(section.0.into_iter().map(below));
    }
}

impl IntoIterator for Problems {
    type Item = (String, String);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    /// Returns the keys with their reasons.
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_prefixed_with_their_section() {
        let mut inner = Problems::default();
        inner.within("share", 0.5, 0.0..=1.0);
        inner.within("share", f64::NAN, 0.0..=1.0);
        inner.at_least("n", 0, 1);
        inner.at_least("n", 1, 1);
        inner.read("n", "1".parse::<u8>());
        inner.read("n", Err::<(), _>("not a number"));
        let mut all = Problems::default();
        all.section("search", inner);
        all.check(false, "key", "requires a certificate");
        let reported: Vec<(String, String)> = all.into_iter().collect();
        let reported: Vec<(&str, &str)> =
            reported.iter().map(|(key, reason)| (&**key, &**reason)).collect();
        assert_eq!(
            reported,
            [
                ("search.share", "must be 0 to 1"),
                ("search.n", "must be at least 1"),
                ("search.n", "not a number"),
                ("key", "requires a certificate"),
            ]
        );
    }
}
