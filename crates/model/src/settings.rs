//! Settings outside their ranges, told together.

use std::fmt::Display;
use std::ops::RangeInclusive;

/// Settings that cannot be used, each by its key with the reason, in the order of the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(Vec<(String, String)>);

impl Problems {
    /// Tells the reason why the setting `key` cannot be used, where a check of it does not hold.
    pub fn check(&mut self, holds: bool, key: &str, reason: impl Display) {
        if !holds {
            self.0.push((key.to_owned(), reason.to_string()));
        }
    }

    /// Tells why the setting `key` cannot be used, where what reads it fails.
    pub fn read<T, E: Display>(&mut self, key: &str, outcome: Result<T, E>) {
        if let Err(reason) = outcome {
            self.check(false, key, reason);
        }
    }

    /// Checks that a setting lies in a range, ends included; what is no number lies in none.
    pub fn within<T: PartialOrd + Display>(
        &mut self,
        key: &str,
        value: T,
        range: RangeInclusive<T>,
    ) {
        let holds = range.contains(&value);
        self.check(holds, key, format_args!("must be {} to {}", range.start(), range.end()));
    }

    /// Checks that a setting is not less than `least`.
    pub fn at_least<T: PartialOrd + Display>(&mut self, key: &str, value: T, least: T) {
        self.check(value >= least, key, format_args!("must be at least {least}"));
    }

    /// Takes in the problems of a section, whose keys lie below its own.
    pub fn section(&mut self, key: &str, section: Self) {
        let below = |(own, reason): (String, String)| (format!("{key}.{own}"), reason);
        self.0.extend(section.0.into_iter().map(below));
    }
}

impl IntoIterator for Problems {
    type Item = (String, String);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    /// The keys with their reasons.
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_is_told_below_its_section() {
        let mut inner = Problems::default();
        inner.within("share", 0.5, 0.0..=1.0);
        inner.within("share", f64::NAN, 0.0..=1.0);
        inner.at_least("n", 0, 1);
        inner.at_least("n", 1, 1);
        inner.read("n", "1".parse::<u8>());
        inner.read("n", Err::<(), _>("no number"));
        let mut all = Problems::default();
        all.section("search", inner);
        all.check(false, "key", "goes with a certificate");
        let told: Vec<(String, String)> = all.into_iter().collect();
        let told: Vec<(&str, &str)> = told.iter().map(|(key, why)| (&**key, &**why)).collect();
        assert_eq!(
            told,
            [
                ("search.share", "must be 0 to 1"),
                ("search.n", "must be at least 1"),
                ("search.n", "no number"),
                ("key", "goes with a certificate"),
            ]
        );
    }
}
