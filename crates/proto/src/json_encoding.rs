//! JSON encoding of responses, where it differs from the derived serialization.
//!
//! Field names are those of the contract, every field is written, and absent values are `null`.
//! Enums are written by name, and frontmatter as plain JSON.

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};

use crate::noteweft::v1::{
    BudgetUnit, ChangeSource, Citations, Comparison, Connection, ContextMode, ContextOrder,
    Direction, EdgeSource, FileState, FixReason, Limit, LinkChangeKind, LinkSource, MissReason,
    NoteChangeKind, NoteKind, NotePart, OmissionReason, OpenWith, Origin, PackingProfile,
    PassageOutcome, Phase, Profile, Relation, RelationSet, Rendering, SearchMode, Severity,
    SiblingKind, WatchState,
};

/// An enum of the contract.
pub(crate) trait JsonName: TryFrom<i32> {
    /// Returns the name in JSON: that of the contract without its prefix, so `ORIGIN_BOTH` is `both`.
    fn name(&self) -> String;
}

macro_rules! json_names {
    ($($type:ident $prefix:literal $case:ident),+ $(,)?) => {$(
        impl JsonName for $type {
            fn name(&self) -> String {
                let name = self.as_str_name();
                $case(name.strip_prefix($prefix).unwrap_or(name))
            }
        }
    )+};
}

json_names! {
    BudgetUnit "BUDGET_UNIT_" lower,
    Citations "CITATIONS_" lower,
    Comparison "COMPARISON_" lower,
    Connection "CONNECTION_" lower,
    ContextMode "CONTEXT_MODE_" lower,
    ContextOrder "CONTEXT_ORDER_" lower,
    Direction "DIRECTION_" lower,
    EdgeSource "EDGE_SOURCE_" lower,
    FileState "FILE_STATE_" lower,
    OmissionReason "OMISSION_REASON_" lower,
    OpenWith "OPEN_WITH_" lower,
    PackingProfile "PACKING_PROFILE_" lower,
    PassageOutcome "PASSAGE_OUTCOME_" lower,
    Limit "LIMIT_" lower,
    LinkChangeKind "LINK_CHANGE_KIND_" lower,
    LinkSource "LINK_SOURCE_" lower,
    MissReason "MISS_REASON_" lower,
    SiblingKind "SIBLING_KIND_" lower,
    NoteChangeKind "NOTE_CHANGE_KIND_" lower,
    NoteKind "NOTE_KIND_" lower,
    NotePart "NOTE_PART_" lower,
    Origin "ORIGIN_" lower,
    ChangeSource "CHANGE_SOURCE_" lower,
    FixReason "FIX_REASON_" lower,
    Phase "PHASE_" lower,
    Profile "PROFILE_" lower,
    Relation "RELATION_" pascal,
    RelationSet "RELATION_SET_" lower,
    Rendering "RENDERING_" lower,
    SearchMode "SEARCH_MODE_" lower,
    Severity "SEVERITY_" lower,
    WatchState "WATCH_STATE_" lower,
}

/// Converts `PRIOR_SIBLING` to `prior_sibling`.
fn lower(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// Converts `PRIOR_SIBLING` to `PriorSibling`.
fn pascal(name: &str) -> String {
    let words = name.split('_').filter_map(|word| word.split_at_checked(1));
    words.map(|(first, rest)| first.to_owned() + &rest.to_ascii_lowercase()).collect()
}

/// Serializes an enum by name; as `null` if it is unspecified or unknown.
pub(crate) fn name<E: JsonName, S: Serializer>(
    number: &i32,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    name_of::<E>(*number).serialize(serializer)
}

/// Serializes a list of enums by name.
pub(crate) fn names<E: JsonName, S: Serializer>(
    numbers: &[i32],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(numbers.iter().map(|number| name_of::<E>(*number)))
}

fn name_of<E: JsonName>(number: i32) -> Option<String> {
    E::try_from(number).ok().filter(|_| number != 0).map(|value| value.name())
}

/// Serializes a structure as an object; an absent one as an empty object.
pub(crate) fn object<S: Serializer>(
    value: &Option<Struct>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(object) => OpenObject(object).serialize(serializer),
        None => serializer.serialize_map(Some(0))?.end(),
    }
}

struct OpenObject<'a>(&'a Struct);

impl Serialize for OpenObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.fields.len()))?;
        for (key, value) in &self.0.fields {
            map.serialize_entry(key, &OpenValue(value))?;
        }
        map.end()
    }
}

struct OpenValue<'a>(&'a Value);

impl Serialize for OpenValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.kind {
            None | Some(Kind::NullValue(_)) => serializer.serialize_none(),
            Some(Kind::BoolValue(value)) => serializer.serialize_bool(*value),
            Some(Kind::NumberValue(value)) => number(*value, serializer),
            Some(Kind::StringValue(text)) => serializer.serialize_str(text),
            Some(Kind::StructValue(object)) => OpenObject(object).serialize(serializer),
            Some(Kind::ListValue(ListValue { values })) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    list.serialize_element(&OpenValue(value))?;
                }
                list.end()
            }
        }
    }
}

/// Serializes whole numbers without a fraction.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked before")]
fn number<S: Serializer>(value: f64, serializer: S) -> Result<S::Ok, S::Error> {
    /// Maximum up to which every whole number is an exact `f64`.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        serializer.serialize_i64(value as i64)
    } else {
        serializer.serialize_f64(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noteweft::v1::{
        GetNoteResponse, Hit, RelatedNote, RelatedResponse, SearchResponse, Signals, TreeResponse,
    };

    #[test]
    fn every_field_is_written_and_enums_by_name() {
        let hit = Hit {
            uri: "a".into(),
            score: 1.0,
            signals: Some(Signals { similarity: 0.1, ..Signals::default() }),
            origin: Origin::Expanded.into(),
            kind: NoteKind::Pdf.into(),
            ..Hit::default()
        };
        let answer = SearchResponse { hits: vec![hit], generation: 7, ..SearchResponse::default() };
        assert_eq!(
            serde_json::to_string(&answer).unwrap(),
            concat!(
                r#"{"hits":[{"uri":"a","path":"","vault":"","title":"","score":1.0,"#,
                r#""signals":{"similarity":0.1,"centrality":0.0,"activation":0.0,"relevance":0.0},"#,
                r#""contributions":null,"vector_score":0.0,"keyword_score":0.0,"#,
                r#""origin":"expanded","via":null,"embedding_current":false,"snippets":[],"#,
                r#""name_score":0.0,"connection":null,"explanation":null,"kind":"pdf"}],"#,
                r#""generation":7,"truncated":false,"warnings":[],"fanout_limited":[],"explanation":null}"#
            )
        );
    }

    #[test]
    fn relations_are_in_pascal_case() {
        let note = RelatedNote {
            relation: Relation::PriorSibling.into(),
            also_relations: vec![Relation::NoteInContextualPath.into(), 0],
            ..RelatedNote::default()
        };
        let answer = RelatedResponse { related_notes: vec![note], ..RelatedResponse::default() };
        assert_eq!(
            serde_json::to_string(&answer).unwrap(),
            concat!(
                r#"{"focus_note":null,"related_notes":[{"uri":"","title":"","details":"","truncated":false,"#,
                r#""parent":null,"object":null,"relation":"PriorSibling","#,
                r#""also_relations":["NoteInContextualPath",null],"tokens":0,"topic":null,"similarity":null,"in_folder":false}],"#,
                r#""budget":0,"used":0,"remaining":0,"focus_tokens":0,"skipped":[],"skipped_truncated":false,"#,
                r#""resume_token":null,"generation":0,"warnings":[],"relations":null}"#
            ),
            "the rendered text is omitted if absent"
        );
        assert_eq!(Relation::Self_.name(), "Self");
    }

    #[test]
    fn enum_lists_and_maps_are_written_in_order() {
        let answer = TreeResponse {
            direction: Direction::Both.into(),
            truncated_by: vec![Limit::MaxNodes.into(), 0, 99],
            inverse_names: [("b", "2"), ("a", "1")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            ..TreeResponse::default()
        };
        let json = serde_json::to_string(&answer).unwrap();
        for part in [
            r#""direction":"both","max_hops":null,"#,
            r#""truncated_by":["max_nodes",null,null],"#,
            r#""inverse_names":{"a":"1","b":"2"},"#,
        ] {
            assert!(json.contains(part), "{part} is not in {json}");
        }
    }

    #[test]
    fn properties_are_plain_json() {
        let number = |value| Value { kind: Some(Kind::NumberValue(value)) };
        let list = ListValue { values: vec![number(3.0), number(0.5), Value { kind: None }] };
        let list = Value { kind: Some(Kind::ListValue(list)) };
        let properties = Struct { fields: [("n".to_owned(), list)].into() };
        let note = GetNoteResponse { properties: Some(properties), ..GetNoteResponse::default() };
        let json = serde_json::to_value(&note).unwrap();
        assert_eq!(json["properties"], serde_json::json!({"n": [3, 0.5, null]}));
        assert_eq!(json["type"], serde_json::Value::Null);
        let bare = serde_json::to_value(GetNoteResponse::default()).unwrap();
        assert_eq!(bare["properties"], serde_json::json!({}));
    }
}
