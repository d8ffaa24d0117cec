//! Arguments that several tools share.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use weft_proto::NoComparison;
use weft_proto::noteweft::v1 as wire;

use crate::bounds::{List, Number, Shaped, Text};
use crate::clients::Clients;

/// A note's uri, path, title or alias.
pub(super) type Name = Text<500>;

/// The least and the most that a budget can be.
pub(super) const BUDGETS: [u32; 2] = [100, 20_000];

/// Tokens that the text of an answer may take.
pub(super) type Budget = Number<{ BUDGETS[0] }, { BUDGETS[1] }, 2000>;

/// A word of a filter.
type Word = Text<500>;

/// Only some notes; every part that is given must hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Filter {
    /// Folders, files or globs in the folder of notes, such as `journal/**`; any of them. `vault:path` is about one of several folders.
    #[serde(default)]
    paths: List<Word, 0, 20>,
    /// Tags without `#`; all of them. A tag stands also for those nested below it.
    #[serde(default)]
    tags: List<Word, 0, 20>,
    /// Types of notes, as their frontmatter names them; any of them.
    #[serde(default)]
    types: List<Word, 0, 20>,
    /// Comparisons of frontmatter properties, such as `status=open`, `priority>=2` or `due<2024-05-01`, by `=`, `!=`, `<`, `<=`, `>` or `>=`; all of them.
    #[serde(default, rename = "where")]
    properties: List<Property, 0, 20>,
    /// Dated then or later, by the property `date`, `created`, `modified` or `updated`: `YYYY-MM-DD`.
    #[serde(default)]
    #[schemars(with = "Text<40>")]
    after: Option<Text<40>>,
    /// Dated before, by the same: `YYYY-MM-DD`.
    #[serde(default)]
    #[schemars(with = "Text<40>")]
    before: Option<Text<40>>,
    /// Notes; passes what links to each of them.
    #[serde(default)]
    linked_to: List<Name, 0, 20>,
    /// Notes; passes what each of them links to.
    #[serde(default)]
    linked_from: List<Name, 0, 20>,
    /// Passes what lies near each of these notes.
    #[serde(default)]
    within: List<Within, 0, 20>,
}

/// The notes near one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = r#"an object, such as {"note": "Moss", "hops": 1}"#)]
struct Within {
    /// The note in the middle, which passes, too.
    note: Name,
    /// Links from there at most, in either direction.
    #[serde(default)]
    hops: Number<1, 20, 1>,
}

impl From<Within> for wire::Within {
    fn from(within: Within) -> Self {
        let Within { note: Text(note), hops: Number(hops) } = within;
        Self { note, hops }
    }
}

impl Shaped for Filter {
    const EXAMPLE: &'static str = r#"{"tags": ["idea"], "paths": ["journal"]}"#;
}

/// Whether there is no note at all.
pub(super) async fn are_there_none(clients: &Clients) -> bool {
    let any = wire::ListNotesRequest { page_size: Some(1), ..wire::ListNotesRequest::default() };
    clients.notes().list_notes(any).await.is_ok_and(|any| any.into_inner().total == 0)
}

impl From<Filter> for wire::Filter {
    fn from(filter: Filter) -> Self {
        let Filter {
            paths,
            tags,
            types,
            properties,
            after,
            before,
            linked_to,
            linked_from,
            within,
        } = filter;
        Self {
            paths: paths.into(),
            tags: tags.into(),
            types: types.into(),
            properties: properties.0.into_iter().map(|Property(wanted)| wanted).collect(),
            after: after.map(|Text(date)| date),
            before: before.map(|Text(date)| date),
            linked_to: linked_to.into(),
            linked_from: linked_from.into(),
            within: within.0.into_iter().map(wire::Within::from).collect(),
            ..Self::default()
        }
    }
}

/// A comparison of a property.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Word")]
struct Property(wire::PropertyMatch);

impl TryFrom<Word> for Property {
    type Error = NoComparison;

    fn try_from(Text(text): Word) -> Result<Self, NoComparison> {
        text.parse().map(Self)
    }
}

impl JsonSchema for Property {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Property".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Word::json_schema(generator)
    }
}

/// Which links of a note are followed.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Direction {
    /// Links of the note.
    Out,
    /// Links to the note.
    In,
    /// Both.
    #[default]
    Both,
}

impl From<Direction> for i32 {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Out => wire::Direction::Out,
            Direction::In => wire::Direction::In,
            Direction::Both => wire::Direction::Both,
        }
        .into()
    }
}

/// Only some links.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Links {
    /// Links of these types alone. Links in a text have the type `related`; the others are named in the frontmatter.
    #[serde(default)]
    types: List<Word, 0, 20>,
    /// No links of these types.
    #[serde(default)]
    exclude_types: List<Word, 0, 20>,
    /// No links in texts, only those of the frontmatter.
    #[serde(default)]
    typed_only: bool,
    /// Also go from notes to those above and below them.
    #[serde(default)]
    hierarchy: bool,
}

impl Shaped for Links {
    const EXAMPLE: &'static str = r#"{"types": ["related"]}"#;
}

impl From<Links> for wire::EdgeFilter {
    fn from(links: Links) -> Self {
        let Links { types, exclude_types, typed_only, hierarchy } = links;
        Self {
            types: types.into(),
            exclude_types: exclude_types.into(),
            typed_only,
            inline_only: false,
            hierarchy,
        }
    }
}

/// A link, as it was written.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Link {
    /// The uri of the note that holds it.
    pub(super) from: String,
    /// The uri of the note it points at.
    pub(super) to: String,
    /// Its type.
    pub(super) link: String,
}

impl From<&wire::WalkEdge> for Link {
    fn from(edge: &wire::WalkEdge) -> Self {
        let wire::WalkEdge { from, to, r#type, source: _ } = edge;
        Self { from: from.clone(), to: to.clone(), link: r#type.clone() }
    }
}

/// A note by name and title.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Note {
    /// Its uri: the name to call other tools with.
    pub(super) note: String,
    /// Its title.
    pub(super) title: String,
}

impl Note {
    pub(super) fn new(uri: String, title: &str) -> Self {
        Self { note: uri, title: crate::text::line(title) }
    }
}

impl From<wire::NoteRef> for Note {
    fn from(note: wire::NoteRef) -> Self {
        let wire::NoteRef { uri, title } = note;
        Self::new(uri, &title)
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { note, title } = self;
        write!(f, "{title} (`{note}`)")
    }
}

/// The name of a value of the contract without its enum's own, in words: `RELATION_PRIOR_SIBLING` as `prior sibling`.
pub(super) fn words(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(name).to_lowercase().replace('_', " ")
}
