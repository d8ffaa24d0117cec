//! Arguments shared by several tools.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use weft_model::escape;
use weft_proto::InvalidComparison;
use weft_proto::noteweft::v1 as wire;

use crate::bounded_arguments::{BoundedList, BoundedNumber, BoundedText, ExampleObject};
use crate::service_clients::Clients;

/// A note's uri, path, title or alias.
pub(super) type NoteArgument = BoundedText<500>;

/// Minimum and maximum of a token budget.
pub(super) const BUDGET_RANGE: [u32; 2] = [100, 20_000];

/// Token budget of a result's text.
pub(super) type TokenBudget = BoundedNumber<{ BUDGET_RANGE[0] }, { BUDGET_RANGE[1] }, 2000>;

/// A value of a filter.
type FilterText = BoundedText<500>;

/// Restricts the notes; a note must satisfy every condition.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoteFilter {
    /// Folders, files or globs within the folder of notes, such as `journal/**`; a note must match one. `vault:path` refers to one of several folders.
    #[serde(default)]
    paths: BoundedList<FilterText, 0, 20>,
    /// Tags without `#`; a note must have all of them. A tag includes those nested below it.
    #[serde(default)]
    tags: BoundedList<FilterText, 0, 20>,
    /// Types of notes, as in their frontmatter; a note must have one of them.
    #[serde(default)]
    types: BoundedList<FilterText, 0, 20>,
    /// Kinds of files; a note must be of one of them. All but `markdown` must be enabled in the settings.
    #[serde(default)]
    kinds: BoundedList<NoteFormat, 0, 4>,
    /// Comparisons of frontmatter properties, such as `status=open`, `priority>=2` or `due<2024-05-01`, with `=`, `!=`, `<`, `<=`, `>` or `>=`; a note must satisfy all of them.
    #[serde(default, rename = "where")]
    properties: BoundedList<PropertyFilter, 0, 20>,
    /// Earliest date, `YYYY-MM-DD`, compared with the property `date`, `created`, `modified` or `updated`.
    #[serde(default)]
    #[schemars(with = "BoundedText<40>")]
    after: Option<BoundedText<40>>,
    /// Date, `YYYY-MM-DD`, that the same property must precede.
    #[serde(default)]
    #[schemars(with = "BoundedText<40>")]
    before: Option<BoundedText<40>>,
    /// Notes; a note must link to each of them.
    #[serde(default)]
    linked_to: BoundedList<NoteArgument, 0, 20>,
    /// Notes; each of them must link to a note.
    #[serde(default)]
    linked_from: BoundedList<NoteArgument, 0, 20>,
    /// Neighborhoods of notes; a note must be in each of them.
    #[serde(default)]
    within: BoundedList<WithinFilter, 0, 20>,
}

/// The notes near a note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = r#"an object, such as {"note": "Moss", "hops": 1}"#)]
struct WithinFilter {
    /// The note at the center, which is included.
    note: NoteArgument,
    /// Maximum number of links from there, in either direction.
    #[serde(default)]
    hops: BoundedNumber<1, 20, 1>,
}

impl From<WithinFilter> for wire::Within {
    fn from(within: WithinFilter) -> Self {
        let WithinFilter { note: BoundedText(note), hops: BoundedNumber(hops) } = within;
        Self { note, hops }
    }
}

impl ExampleObject for NoteFilter {
    const EXAMPLE: &'static str = r#"{"tags": ["idea"], "paths": ["journal"]}"#;
}

/// Returns whether the index holds no notes.
pub(super) async fn is_index_empty(clients: &Clients) -> bool {
    let any = wire::ListNotesRequest { page_size: Some(1), ..wire::ListNotesRequest::default() };
    clients.notes().list_notes(any).await.is_ok_and(|any| any.into_inner().total == 0)
}

impl From<NoteFilter> for wire::Filter {
    fn from(filter: NoteFilter) -> Self {
        let NoteFilter {
            paths,
            tags,
            types,
            kinds,
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
            kinds: kinds.0.into_iter().map(i32::from).collect(),
            properties: properties.0.into_iter().map(|PropertyFilter(wanted)| wanted).collect(),
            after: after.map(|BoundedText(date)| date),
            before: before.map(|BoundedText(date)| date),
            linked_to: linked_to.into(),
            linked_from: linked_from.into(),
            within: within.0.into_iter().map(wire::Within::from).collect(),
            ..Self::default()
        }
    }
}

/// Kind of a note's file. Without comments at its values, so that the schema stays short.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[schemars(description = "Kind of a note's file.")]
#[serde(rename_all = "lowercase")]
pub(super) enum NoteFormat {
    Markdown,
    Text,
    Org,
    Pdf,
}

impl From<NoteFormat> for i32 {
    fn from(kind: NoteFormat) -> Self {
        match kind {
            NoteFormat::Markdown => wire::NoteKind::Markdown,
            NoteFormat::Text => wire::NoteKind::Text,
            NoteFormat::Org => wire::NoteKind::Org,
            NoteFormat::Pdf => wire::NoteKind::Pdf,
        }
        .into()
    }
}

/// Returns the kind of a note's file as an output names it; `None` for Markdown, the usual kind.
pub(super) fn format_name(kind: i32) -> Option<&'static str> {
    match wire::NoteKind::try_from(kind) {
        Ok(wire::NoteKind::Text) => Some("text"),
        Ok(wire::NoteKind::Org) => Some("org"),
        Ok(wire::NoteKind::Pdf) => Some("pdf"),
        Ok(wire::NoteKind::Markdown | wire::NoteKind::Unspecified) | Err(_) => None,
    }
}

/// A comparison of a property.
#[derive(Debug, Deserialize)]
#[serde(try_from = "FilterText")]
struct PropertyFilter(wire::PropertyMatch);

impl TryFrom<FilterText> for PropertyFilter {
    type Error = InvalidComparison;

    fn try_from(BoundedText(text): FilterText) -> Result<Self, InvalidComparison> {
        text.parse().map(Self)
    }
}

impl JsonSchema for PropertyFilter {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Property".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        FilterText::json_schema(generator)
    }
}

/// Direction in which links are followed.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum WalkDirection {
    /// Links from the note.
    Out,
    /// Links to the note.
    In,
    /// Links in either direction.
    #[default]
    Both,
}

impl From<WalkDirection> for i32 {
    fn from(direction: WalkDirection) -> Self {
        match direction {
            WalkDirection::Out => wire::Direction::Out,
            WalkDirection::In => wire::Direction::In,
            WalkDirection::Both => wire::Direction::Both,
        }
        .into()
    }
}

/// Restricts the links.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkFilter {
    /// Follow only links of these types. Links in a text have the type `related`; other types are named in the frontmatter.
    #[serde(default)]
    types: BoundedList<FilterText, 0, 20>,
    /// Ignore links of these types.
    #[serde(default)]
    exclude_types: BoundedList<FilterText, 0, 20>,
    /// Ignore links in texts; follow only those of the frontmatter.
    #[serde(default)]
    typed_only: bool,
    /// Also go from notes to their parents and children.
    #[serde(default)]
    hierarchy: bool,
}

impl ExampleObject for LinkFilter {
    const EXAMPLE: &'static str = r#"{"types": ["related"]}"#;
}

impl From<LinkFilter> for wire::EdgeFilter {
    fn from(links: LinkFilter) -> Self {
        let LinkFilter { types, exclude_types, typed_only, hierarchy } = links;
        Self {
            types: types.into(),
            exclude_types: exclude_types.into(),
            typed_only,
            inline_only: false,
            hierarchy,
        }
    }
}

/// A link as written.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LinkOutput {
    /// The uri of the note that contains it.
    pub(super) from: String,
    /// The uri of its target.
    pub(super) to: String,
    /// Type of the link.
    pub(super) link: String,
}

impl From<&wire::WalkEdge> for LinkOutput {
    fn from(edge: &wire::WalkEdge) -> Self {
        let wire::WalkEdge { from, to, r#type, source: _ } = edge;
        Self { from: from.clone(), to: to.clone(), link: r#type.clone() }
    }
}

/// Name and title of a note.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct TitledNote {
    /// Its uri: the name to pass to other tools.
    pub(super) note: String,
    /// Its title.
    pub(super) title: String,
}

impl TitledNote {
    pub(super) fn new(uri: String, title: &str) -> Self {
        Self { note: uri, title: crate::output_text::line(title) }
    }
}

impl From<wire::NoteRef> for TitledNote {
    fn from(note: wire::NoteRef) -> Self {
        let wire::NoteRef { uri, title } = note;
        Self::new(uri, &title)
    }
}

impl std::fmt::Display for TitledNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { note, title } = self;
        write!(f, "{title} (`{}`)", escape::one_line(note))
    }
}

/// Returns an enum value of the contract in words, without its prefix: `RELATION_PRIOR_SIBLING` becomes `prior sibling`.
pub(super) fn words(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(name).to_lowercase().replace('_', " ")
}
