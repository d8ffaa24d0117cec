//! Parsing of property comparisons such as `priority>=2`.

use std::fmt;
use std::str::FromStr;

use crate::noteweft::v1::{Comparison, PropertyMatch};

/// Operators, each before its own prefixes.
const OPERATORS: [(&str, Comparison); 7] = [
    // An alias of `=`.
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// Error of a text that is not a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidComparison;

impl fmt::Display for InvalidComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "not a comparison such as status=open: a name, then = != < <= > or >=, then a value",
        )
    }
}

impl std::error::Error for InvalidComparison {}

impl FromStr for PropertyMatch {
    type Err = InvalidComparison;

    /// Splits at the first operator, so a value may contain others. Whitespace around name and value is ignored.
    fn from_str(text: &str) -> Result<Self, InvalidComparison> {
        let at = text.find(|c| "!<=>".contains(c)).ok_or(InvalidComparison)?;
        let (key, rest) = text.split_at(at);
        let split = |(operator, comparison)| Some((rest.strip_prefix(operator)?, comparison));
        let (value, comparison): (&str, Comparison) =
            OPERATORS.into_iter().find_map(split).ok_or(InvalidComparison)?;
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        if key.is_empty() {
            return Err(InvalidComparison);
        }
        Ok(Self { key, value, comparison: comparison.into() })
    }
}

impl fmt::Display for PropertyMatch {
    /// Formats the comparison so that it parses again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = match self.comparison() {
            Comparison::Unspecified | Comparison::Equal => "=",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        };
        write!(f, "{}{operator}{}", self.key, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_operator_separates_name_and_value() {
        for (text, key, comparison, value) in [
            ("status=open", "status", Comparison::Equal, "open"),
            ("status==open", "status", Comparison::Equal, "open"),
            ("status!=open", "status", Comparison::NotEqual, "open"),
            ("due<2024-05-09", "due", Comparison::Less, "2024-05-09"),
            ("due <= 2024-05-09", "due", Comparison::LessOrEqual, "2024-05-09"),
            ("priority>2", "priority", Comparison::Greater, "2"),
            ("priority>=2", "priority", Comparison::GreaterOrEqual, "2"),
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
            assert_eq!(text.parse::<PropertyMatch>(), Err(InvalidComparison), "{text}");
        }
    }
}
