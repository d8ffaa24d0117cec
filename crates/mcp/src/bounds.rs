//! Arguments with bounds: what the published schema says of them is what reading them enforces.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A whole number from `MIN` to `MAX`; `DEFAULT` where none is given.
///
/// It serialises, because a schema shows a default only of what does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Number<const MIN: u32, const MAX: u32, const DEFAULT: u32>(pub(crate) u32);

impl<const MIN: u32, const MAX: u32, const DEFAULT: u32> Default for Number<MIN, MAX, DEFAULT> {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl<'de, const MIN: u32, const MAX: u32, const DEFAULT: u32> Deserialize<'de>
    for Number<MIN, MAX, DEFAULT>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = serde_json::Number::deserialize(deserializer)?;
        // JSON has one kind of number: 5.0 is 5, and some clients write it so.
        let number = given.as_f64().filter(|number| number.fract() == 0.0);
        let number = number.and_then(|number| format!("{number:.0}").parse().ok());
        let number = number.filter(|number| (MIN..=MAX).contains(number));
        let wrong = || D::Error::custom(format!("{given} is no whole number from {MIN} to {MAX}"));
        number.map(Self).ok_or_else(wrong)
    }
}

impl<const MIN: u32, const MAX: u32, const DEFAULT: u32> JsonSchema for Number<MIN, MAX, DEFAULT> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

/// A text of 1 to `MAX` characters that is not blank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text<const MAX: usize>(pub(crate) String);

impl<'de, const MAX: usize> Deserialize<'de> for Text<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.trim().is_empty() {
            return Err(D::Error::custom("it is empty"));
        }
        at_most::<D>(text.chars().count(), MAX, "characters")?;
        Ok(Self(text))
    }
}

impl<const MAX: usize> JsonSchema for Text<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX })
    }
}

/// `MIN` to `MAX` items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List<T, const MIN: usize, const MAX: usize>(pub(crate) Vec<T>);

impl<T, const MAX: usize> Default for List<T, 0, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MIN: usize, const MAX: usize> Deserialize<'de>
    for List<T, MIN, MAX>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = Vec::<T>::deserialize(deserializer)?;
        if items.len() < MIN {
            return Err(D::Error::custom(format!("{} items are fewer than {MIN}", items.len())));
        }
        at_most::<D>(items.len(), MAX, "items")?;
        Ok(Self(items))
    }
}

impl<T: JsonSchema, const MIN: usize, const MAX: usize> JsonSchema for List<T, MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "List".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = generator.subschema_for::<T>();
        match MIN {
            0 => json_schema!({ "type": "array", "items": items, "maxItems": MAX }),
            _ => {
                json_schema!({ "type": "array", "items": items, "minItems": MIN, "maxItems": MAX })
            }
        }
    }
}

impl<const LONG: usize, const MIN: usize, const MAX: usize> From<List<Text<LONG>, MIN, MAX>>
    for Vec<String>
{
    fn from(list: List<Text<LONG>, MIN, MAX>) -> Self {
        list.0.into_iter().map(|Text(text)| text).collect()
    }
}

/// An argument that is an object.
pub(crate) trait Shaped {
    /// One as it may be sent.
    const EXAMPLE: &'static str;
}

/// Reads an object, and nothing else: what is derived would take the fields of an array in their order, too.
pub(crate) fn object<'de, T: Deserialize<'de> + Shaped, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_map(Object(PhantomData))
}

struct Object<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Shaped> Visitor<'de> for Object<T> {
    type Value = T;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "an object, such as {}", T::EXAMPLE)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

fn at_most<'de, D: Deserializer<'de>>(
    n: usize,
    max: usize,
    what: impl Display,
) -> Result<(), D::Error> {
    if n <= max {
        return Ok(());
    }
    Err(D::Error::custom(format!("{n} {what} are more than {max}")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn numbers_are_whole_and_inside_their_range() {
        type Few = Number<1, 50, 10>;
        for (value, expected) in [
            (json!(1), Some(1)),
            (json!(50), Some(50)),
            (json!(7.0), Some(7)),
            (json!(0), None),
            (json!(51), None),
            (json!(-1), None),
            (json!(1.5), None),
            (json!(4_294_967_297_u64), None),
            (json!("7"), None),
        ] {
            let read = serde_json::from_value::<Few>(value.clone()).map(|Number(number)| number);
            assert_eq!(read.ok(), expected, "{value}");
        }
        assert_eq!(Few::default(), Number(10));
    }

    #[test]
    fn texts_and_lists_keep_their_length() {
        let read = |value: Value| serde_json::from_value::<List<Text<3>, 1, 2>>(value);
        for (value, expected) in [
            (json!(["abc", "öäü"]), None),
            (json!([]), Some("0 items are fewer than 1")),
            (json!(["a", "b", "c"]), Some("3 items are more than 2")),
            (json!(["abcd"]), Some("4 characters are more than 3")),
            (json!([" "]), Some("it is empty")),
        ] {
            let said = read(value.clone()).err().map(|error| error.to_string());
            assert_eq!(said.as_deref(), expected, "{value}");
        }
    }
}
