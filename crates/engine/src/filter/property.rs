//! Comparison of properties: numbers as numbers, dates as dates, everything else as text.

use std::cmp::Ordering;

use jiff::civil::Date;
use weft_model::date::{self, WrittenDate};
use weft_model::{Value, fold};

use crate::EngineError;

/// A condition on a property.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertyMatch {
    /// Name of the property, in any case.
    pub key: String,
    /// How the note's value must compare with `value`.
    pub comparison: Comparison,
    /// The value to compare with, as written.
    pub value: String,
}

/// How a note's value compares with a given one. Any item of a list counts; a note without a value never matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comparison {
    /// Both are equal.
    #[default]
    Equal,
    /// There is a value, and no item of it is equal.
    NotEqual,
    /// The note's value is less.
    Less,
    /// The note's value is less or equal.
    LessOrEqual,
    /// The note's value is greater.
    Greater,
    /// The note's value is greater or equal.
    GreaterOrEqual,
}

/// A parsed [`PropertyMatch`].
pub(super) struct PropertyCondition {
    /// Case-folded name.
    pub(super) key: String,
    comparison: Comparison,
    value: ComparisonValue,
}

/// A parsed value by its kind.
enum ComparisonValue {
    Number(Number),
    /// A date without a time: the whole day as written in the note.
    Day(Date),
    Moment(WrittenDate),
    /// Any other value, case folded.
    Text(String),
}

impl PropertyCondition {
    /// Fails on an empty name, and on an empty value that needs an order.
    pub(super) fn new(expected: &PropertyMatch) -> Result<Self, EngineError> {
        let PropertyMatch { key, comparison, value } = expected;
        let invalid = |field, reason| EngineError::InvalidArgument { field, reason };
        if key.trim().is_empty() {
            let reason = format!("the comparison with `{value}` needs the name of a property");
            return Err(invalid("filter.properties.key", reason));
        }
        let has_order = match comparison {
            Comparison::Equal | Comparison::NotEqual => false,
            Comparison::Less
            | Comparison::LessOrEqual
            | Comparison::Greater
            | Comparison::GreaterOrEqual => true,
        };
        if has_order && value.trim().is_empty() {
            let reason =
                format!("the comparison of `{key}` needs a value: a number, a date or a text");
            return Err(invalid("filter.properties.value", reason));
        }
        let (key, comparison) = (fold(key.trim()), *comparison);
        Ok(Self { key, comparison, value: ComparisonValue::read(value.trim()) })
    }

    /// True if a note's value matches.
    pub(super) fn passes(&self, value: &Value) -> bool {
        let any = |expected: fn(Ordering) -> bool| {
            value.items().iter().filter_map(|item| self.value.order(item)).any(expected)
        };
        match self.comparison {
            Comparison::Equal => any(Ordering::is_eq),
            Comparison::NotEqual => !value.items().is_empty() && !any(Ordering::is_eq),
            Comparison::Less => any(Ordering::is_lt),
            Comparison::LessOrEqual => any(Ordering::is_le),
            Comparison::Greater => any(Ordering::is_gt),
            Comparison::GreaterOrEqual => any(Ordering::is_ge),
        }
    }
}

impl ComparisonValue {
    fn read(text: &str) -> Self {
        let has_time = || text.contains(|c: char| !c.is_ascii_digit() && !"-/.".contains(c));
        match (Number::read(text), date::written(text)) {
            (Some(number), _) => Self::Number(number),
            (None, Some(moment)) if has_time() => Self::Moment(moment),
            (None, Some(moment)) => Self::Day(moment.civil.date()),
            (None, None) => Self::Text(fold(text)),
        }
    }

    /// Returns the order of a note's value relative to this one; `None` if their kinds differ.
    fn order(&self, value: &Value) -> Option<Ordering> {
        let text = value.as_written()?.trim();
        let as_number = match value {
            Value::Number { value, .. } => Number::new(text, *value),
            Value::Null | Value::Bool { .. } | Value::Text(_) | Value::List(_) | Value::Map(_) => {
                Number::read(text)
            }
        };
        match self {
            Self::Number(expected) => as_number?.order(expected),
            Self::Day(expected) => Some(date::written(text)?.civil.date().cmp(expected)),
            Self::Moment(expected) => Some(date::written(text)?.order(expected)),
            Self::Text(expected) => {
                let is_text = as_number.is_none() && date::written(text).is_none();
                is_text.then(|| fold(text).cmp(expected))
            }
        }
    }
}

/// A number. Whole numbers are exact.
#[derive(Clone, Copy)]
struct Number {
    /// The value, if it is written as a whole number: floats are exact only up to 2⁵³.
    whole: Option<i128>,
    nearest: f64,
}

impl Number {
    fn read(text: &str) -> Option<Self> {
        Self::new(text, text.parse().ok()?)
    }

    /// Returns the number written as `text`, of which `nearest` is the nearest float; `None` if it is not a number, or has so many digits that it is a name.
    fn new(text: &str, nearest: f64) -> Option<Self> {
        let whole = text.parse().ok();
        let is_name = whole.is_none()
            && text.trim_start_matches(['+', '-']).bytes().all(|byte| byte.is_ascii_digit());
        (nearest.is_finite() && !is_name).then_some(Self { whole, nearest })
    }

    fn order(&self, other: &Self) -> Option<Ordering> {
        match (self.whole, other.whole) {
            (Some(own), Some(other)) => Some(own.cmp(&other)),
            (_, _) => self.nearest.partial_cmp(&other.nearest),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn passes(value: &Value, sign: &str, expected: &str) -> bool {
        let comparison = match sign {
            "=" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            other => panic!("{other} is not an operator"),
        };
        let expected = PropertyMatch { key: "p".into(), comparison, value: expected.into() };
        PropertyCondition::new(&expected).unwrap().passes(value)
    }

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    fn number(text: &str) -> Value {
        Value::Number { text: text.into(), value: text.parse().unwrap() }
    }

    /// Each row: a value of a note, a given value, and the operators that hold between them.
    #[test]
    fn values_compare_by_what_they_are() {
        let list = |items: &[&str]| Value::List(items.iter().map(|item| text(item)).collect());
        let rows = [
            ("equal numbers", number("3"), "3.0", "= <= >="),
            ("numbers, not their letters", number("10"), "9", "!= > >="),
            ("negative numbers", number("-2"), "-1.5", "!= < <="),
            ("a quoted number is one", text("10"), "9", "!= > >="),
            ("long numbers", text("90071992547409931"), "90071992547409932", "!= < <="),
            ("a long number and a short", number("9007199254740993"), "3", "!= > >="),
            ("a short number and a great one", number("3"), "1e20", "!= < <="),
            (
                "adjacent numbers beyond floats",
                number("9007199254740993"),
                "9007199254740992",
                "!= > >=",
            ),
            ("names of digits", text(&"9".repeat(40)), &"8".repeat(41), "!= > >="),
            ("digits beyond a number", text(&"9".repeat(40)), "3", "!="),
            ("a number is not a text", number("3"), "high", "!="),
            ("a text is not a number", text("high"), "3", "!="),
            ("text in any case", text("Open"), "open", "= <= >="),
            ("text by its letters", text("open"), "closed", "!= > >="),
            ("truth", Value::Bool { text: "True".into(), value: true }, "true", "= <= >="),
            ("dates", text("2024-05-09"), "2024-06-01", "!= < <="),
            ("a date in another form", text("2024/5/9"), "2024-05-09", "= <= >="),
            ("a day is all of it", text("2024-05-09T23:00"), "2024-05-09", "= <= >="),
            ("a moment is none", text("2024-05-09"), "2024-05-09T10:00", "!= < <="),
            (
                "a moment and its offset",
                text("2024-05-09T12:00+02:00"),
                "2024-05-09T10:00Z",
                "= <= >=",
            ),
            ("a moment as written", text("2024-05-09T12:00+02:00"), "2024-05-09T12:00", "= <= >="),
            ("the day as written", text("2024-05-09T01:00+02:00"), "2024-05-09", "= <= >="),
            ("a text is not a date", text("someday"), "2024-05-09", "!="),
            ("a date is not a text", text("2024-05-09"), "someday", "!="),
            ("any item of a list", list(&["a", "c"]), "b", "!= < <= > >="),
            ("one item is equal", list(&["a", "b"]), "b", "= < <= >="),
            ("nothing", Value::Null, "b", ""),
            ("an empty list", list(&[]), "b", ""),
            ("a mapping", Value::Map(BTreeMap::new()), "b", "!="),
            ("not a number", text("nan"), "3", "!="),
        ];
        for (name, value, expected, operators) in rows {
            let operators: Vec<&str> = operators.split_whitespace().collect();
            for sign in ["=", "!=", "<", "<=", ">", ">="] {
                assert_eq!(
                    passes(&value, sign, expected),
                    operators.contains(&sign),
                    "{name}: {sign}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        for (key, comparison, value, field) in [
            (" ", Comparison::Equal, "3", "filter.properties.key"),
            ("p", Comparison::GreaterOrEqual, " ", "filter.properties.value"),
        ] {
            let expected = PropertyMatch { key: key.into(), comparison, value: value.into() };
            match PropertyCondition::new(&expected) {
                Err(EngineError::InvalidArgument { field: named, .. }) => assert_eq!(named, field),
                _ => panic!("{key} was taken"),
            }
        }
        assert!(passes(&text(""), "=", ""), "an empty value can be compared");
    }
}
