//! Comparisons of properties as people type them: `priority>=2`.

use std::fmt;
use std::str::FromStr;

use crate::noteweft::v1::{Comparison, PropertyMatch};

/// The signs, longer ones before those they begin with.
const SIGNS: [(&str, Comparison); 7] = [
    // As programmers write it.
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// A text that compares nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoComparison;

impl fmt::Display for NoComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is no comparison such as status=open, with = != < <= > or >= after a name")
    }
}

impl std::error::Error for NoComparison {}

impl FromStr for PropertyMatch {
    type Err = NoComparison;

    /// The first sign divides name and value, so a value may hold others. Spaces around both say nothing.
    fn from_str(text: &str) -> Result<Self, NoComparison> {
        let at = text.find(|c| "!<=>".contains(c)).ok_or(NoComparison)?;
        let (key, rest) = text.split_at(at);
        let split = |(sign, comparison)| Some((rest.strip_prefix(sign)?, comparison));
        let (value, comparison): (&str, Comparison) =
            SIGNS.into_iter().find_map(split).ok_or(NoComparison)?;
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        if key.is_empty() {
            return Err(NoComparison);
        }
        Ok(Self { key, value, comparison: comparison.into() })
    }
}

impl fmt::Display for PropertyMatch {
    /// As it would be typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.comparison() {
            Comparison::Unspecified | Comparison::Equal => "=",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::AtMost => "<=",
            Comparison::Greater => ">",
            Comparison::AtLeast => ">=",
        };
        write!(f, "{}{sign}{}", self.key, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sign_divides_name_and_value() {
        for (text, key, comparison, value) in [
            ("status=open", "status", Comparison::Equal, "open"),
            ("status==open", "status", Comparison::Equal, "open"),
            ("status!=open", "status", Comparison::NotEqual, "open"),
            ("due<2024-05-09", "due", Comparison::Less, "2024-05-09"),
            ("due <= 2024-05-09", "due", Comparison::AtMost, "2024-05-09"),
            ("priority>2", "priority", Comparison::Greater, "2"),
            ("priority>=2", "priority", Comparison::AtLeast, "2"),
            ("my key=a>=b", "my key", Comparison::Equal, "a>=b"),
            ("k=", "k", Comparison::Equal, ""),
        ] {
            let expected = PropertyMatch {
                key: key.into(),
                value: value.into(),
                comparison: comparison.into(),
            };
            assert_eq!(text.parse(), Ok(expected.clone()), "{text}");
            assert_eq!(expected.to_string().parse(), Ok(expected), "{text}");
        }
        for text in ["", "status", "=open", " >= 2", "status!open"] {
            assert_eq!(text.parse::<PropertyMatch>(), Err(NoComparison), "{text}");
        }
    }
}
