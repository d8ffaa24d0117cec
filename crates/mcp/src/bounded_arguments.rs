//! Arguments with bounds: deserialization enforces what the published schema states.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A whole number from `MIN` to `MAX`, `DEFAULT` if absent.
///
/// Implements `Serialize` because a schema includes the default only of serializable types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct BoundedNumber<const MIN: u32, const MAX: u32, const DEFAULT: u32>(pub(crate) u32);

impl<const MIN: u32, const MAX: u32, const DEFAULT: u32> Default
    for BoundedNumber<MIN, MAX, DEFAULT>
{
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl<'de, const MIN: u32, const MAX: u32, const DEFAULT: u32> Deserialize<'de>
    for BoundedNumber<MIN, MAX, DEFAULT>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = serde_json::Number::deserialize(deserializer)?;
        // JSON does not distinguish 5.0 from 5, and some clients send the former.
        let number = given.as_f64().filter(|number| number.fract() == 0.0);
        let number = number.and_then(|number| format!("{number:.0}").parse().ok());
        let number = number.filter(|number| (MIN..=MAX).contains(number));
        let wrong =
            || D::Error::custom(format!("{given} is not a whole number from {MIN} to {MAX}"));
        number.map(Self).ok_or_else(wrong)
    }
}

impl<const MIN: u32, const MAX: u32, const DEFAULT: u32> JsonSchema
    for BoundedNumber<MIN, MAX, DEFAULT>
{
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
pub(crate) struct BoundedText<const MAX: usize>(pub(crate) String);

impl<'de, const MAX: usize> Deserialize<'de> for BoundedText<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.trim().is_empty() {
            return Err(D::Error::custom("must not be empty"));
        }
        at_most::<D>(text.chars().count(), MAX, "characters")?;
        Ok(Self(text))
    }
}

impl<const MAX: usize> JsonSchema for BoundedText<MAX> {
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

/// A list of `MIN` to `MAX` items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BoundedList<T, const MIN: usize, const MAX: usize>(pub(crate) Vec<T>);

impl<T, const MAX: usize> Default for BoundedList<T, 0, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MIN: usize, const MAX: usize> Deserialize<'de>
    for BoundedList<T, MIN, MAX>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = Vec::<T>::deserialize(deserializer)?;
        if items.len() < MIN {
            return Err(D::Error::custom(format!(
                "{} items, but at least {MIN} required",
                items.len()
            )));
        }
        at_most::<D>(items.len(), MAX, "items")?;
        Ok(Self(items))
    }
}

impl<T: JsonSchema, const MIN: usize, const MAX: usize> JsonSchema for BoundedList<T, MIN, MAX> {
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

impl<const LONG: usize, const MIN: usize, const MAX: usize>
    From<BoundedList<BoundedText<LONG>, MIN, MAX>> for Vec<String>
{
    fn from(list: BoundedList<BoundedText<LONG>, MIN, MAX>) -> Self {
        list.0.into_iter().map(|BoundedText(text)| text).collect()
    }
}

/// An argument that is an object.
pub(crate) trait ExampleObject {
    /// An example, for error messages.
    const EXAMPLE: &'static str;
}

/// Deserializes an object and nothing else: derived implementations would also accept an array of the fields.
pub(crate) fn object<'de, T: Deserialize<'de> + ExampleObject, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + ExampleObject> Visitor<'de> for ObjectVisitor<T> {
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
    Err(D::Error::custom(format!("{n} {what}, but at most {max} allowed")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn numbers_must_be_whole_and_in_range() {
        type Few = BoundedNumber<1, 50, 10>;
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
            let read =
                serde_json::from_value::<Few>(value.clone()).map(|BoundedNumber(number)| number);
            assert_eq!(read.ok(), expected, "{value}");
        }
        assert_eq!(Few::default(), BoundedNumber(10));
    }

    #[test]
    fn length_limits_of_texts_and_lists_are_enforced() {
        let read =
            |value: Value| serde_json::from_value::<BoundedList<BoundedText<3>, 1, 2>>(value);
        for (value, expected) in [
            (json!(["abc", "öäü"]), None),
            (json!([]), Some("0 items, but at least 1 required")),
            (json!(["a", "b", "c"]), Some("3 items, but at most 2 allowed")),
            (json!(["abcd"]), Some("4 characters, but at most 3 allowed")),
            (json!([" "]), Some("must not be empty")),
        ] {
            let said = read(value.clone()).err().map(|error| error.to_string());
            assert_eq!(said.as_deref(), expected, "{value}");
        }
    }
}
