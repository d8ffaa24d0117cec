//! The `get_note` tool.

use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tonic::Status;
use weft_model::Span as ModelSpan;
use weft_model::escape::one_line;
use weft_proto::noteweft::v1::{GetNoteRequest, GetNoteResponse, Heading, LinkView, Span};

use super::ToolRequest;
use super::shared_arguments::{BUDGET_RANGE, NoteArgument, TitledNote, TokenBudget, format_name};
use crate::bounded_arguments::{BoundedNumber, BoundedText};
use crate::output_text::{self, OutputWarning};
use crate::service_clients::Clients;

/// Maximum number of links that are counted: the limit of a daemon.
const MAX_LINKS: u32 = 100_000;

/// Maximum of `limit`: headings, links, backlinks, child notes, tags and aliases listed, of each kind.
const MAX_NAMED: u32 = 1000;

/// The note to read, and the part of it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetNoteTool {
    /// The note; `note#Heading` or `note#^block` reads only that part.
    note: NoteArgument,
    /// Start of the part, in characters of the text: `next` of the previous result, or the `start` of a heading or passage.
    #[serde(default)]
    start: BoundedNumber<0, { u32::MAX }, 0>,
    /// Approximate maximum number of tokens of the text, and of the frontmatter; longer frontmatter is omitted.
    #[serde(default)]
    budget: TokenBudget,
    /// Maximum number of headings, links, backlinks, child notes, tags and aliases, of each kind.
    #[serde(default)]
    limit: BoundedNumber<1, MAX_NAMED, 50>,
}

/// A note.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct GetNoteOutput {
    #[serde(flatten)]
    name: TitledNote,
    /// Other notes with the requested name, up to `limit`.
    same_name: Vec<TitledNote>,
    /// Number of other notes with the requested name.
    same_name_count: usize,
    /// Its path within the folder of notes.
    path: String,
    /// Hash of its file, for `write_note`.
    hash: String,
    /// Kind of its file, unless it is Markdown: `text`, `org` or `pdf`.
    #[serde(rename = "kind", skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Its tags, up to `limit`.
    tags: Vec<String>,
    /// Number of its tags.
    tag_count: usize,
    /// Its aliases, up to `limit`.
    aliases: Vec<String>,
    /// Number of its aliases.
    alias_count: usize,
    /// Its frontmatter; absent if longer than `budget`.
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<Value>,
    /// Length of its frontmatter as JSON, in characters.
    properties_length: usize,
    /// The notes above it, outermost first.
    above: Vec<TitledNote>,
    /// The object of the relation that it states, if it states one.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<TitledNote>,
    /// Its child notes, up to `limit`.
    below: Vec<TitledNote>,
    /// Number of its child notes.
    below_count: usize,
    /// Its headings, up to `limit`.
    headings: Vec<NoteHeading>,
    /// Number of its headings.
    heading_count: usize,
    /// Its links, up to `limit`, one per type and note.
    links: Vec<NoteLinkEntry>,
    /// Number of its links, one per type and note.
    link_count: usize,
    /// The links of other notes to it, up to `limit`, one per type and note.
    backlinks: Vec<NoteLinkEntry>,
    /// Number of links of other notes to it, one per type and note.
    backlink_count: usize,
    /// The part of its text.
    text: String,
    /// Start of the part, in characters of the text.
    start: usize,
    /// Length of the whole text, in characters.
    length: usize,
    /// Start of the next part, to be passed as `start`; absent at the end of the text, or of the heading or block in `note`.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
    /// Conditions that make the answer incomplete or possibly not what was meant; empty otherwise.
    warnings: Vec<OutputWarning>,
    /// The index generation that was used.
    generation: u64,
}

/// A heading.
#[derive(Debug, Serialize, JsonSchema)]
struct NoteHeading {
    /// Level of the heading, 1 to 6.
    level: u32,
    /// Text of the heading.
    text: String,
    /// Start of the heading, in characters of the note's text.
    start: u32,
}

/// A link from or to a note.
#[derive(Debug, Serialize, JsonSchema)]
struct NoteLinkEntry {
    /// Type of the link.
    link: String,
    /// The note at the other end: its uri, or the name as written if no note has it.
    note: String,
    /// True if that note exists.
    exists: bool,
}

impl From<LinkView> for NoteLinkEntry {
    fn from(view: LinkView) -> Self {
        let LinkView { r#type, target, uri, resolved, .. } = view;
        let note = uri.unwrap_or_else(|| output_text::line(&target));
        Self { link: r#type, note, exists: resolved }
    }
}

impl ToolRequest for GetNoteTool {
    const NAME: &'static str = "get_note";
    const TITLE: &'static str = "Read a note";
    const DESCRIPTION: &'static str = "Reads one note: its text, in parts if it is long, and its headings, frontmatter, parents, children, links and backlinks. \
        Call it for the exact text of a note, or for its links.";
    const RENAMED: &'static [(&'static str, &'static str)] = &[("name", "note")];
    type Output = GetNoteOutput;

    async fn run(self, clients: Clients) -> Result<GetNoteOutput, Status> {
        let Self {
            note: BoundedText(name),
            start: BoundedNumber(start),
            budget: BoundedNumber(budget),
            limit: BoundedNumber(limit),
        } = self;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let max_links = Some(MAX_LINKS);
        let request = GetNoteRequest { name, max_links, ..GetNoteRequest::default() };
        let answer = clients.notes().get_note(request).await?.into_inner();
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        Ok(GetNoteOutput::new(answer, start, output_text::characters(budget), limit))
    }
}

impl GetNoteOutput {
    /// Returns the part of the note from `start` of at most `room` characters, with at most `limit` names of each kind.
    fn new(answer: GetNoteResponse, start: usize, room: usize, limit: usize) -> Self {
        let GetNoteResponse {
            uri,
            vault: _,
            path,
            title,
            aliases,
            tags,
            r#type,
            properties,
            order: _,
            parent: _,
            object,
            contextual_path,
            children,
            headings,
            links,
            backlinks,
            body,
            embedding_current: _,
            generation,
            blocks: _,
            hash,
            // Distinct items are counted below, among those returned.
            child_count: _,
            link_count: _,
            backlink_count: _,
            truncated: _,
            same_name,
            section,
            warnings,
            kind,
        } = answer;
        let (links, backlinks) = (distinct(links), distinct(backlinks));
        let length = body.chars().count();
        let section = section.map_or(0..length, |Span { start, end }| {
            let [start, end] = [start, end].map(|at| usize::try_from(at).unwrap_or(length));
            start.min(length)..end.min(length)
        });
        let start = start.clamp(section.start, section.end);
        let span = ModelSpan::new(characters(start), characters(section.end));
        let text = output_text::head(span.slice(&body), room);
        let end = start + text.chars().count();
        let heading = |Heading { level, text, start, end: _ }: Heading| NoteHeading {
            level,
            text: output_text::line(&text),
            start,
        };
        let properties = plain(properties);
        let properties_length = properties
            .as_ref()
            .filter(|it| !is_empty(it))
            .map_or(0, |it| it.to_string().chars().count());
        Self {
            name: TitledNote::new(uri, &title),
            same_name_count: same_name.len(),
            same_name: same_name.into_iter().take(limit).map(TitledNote::from).collect(),
            path,
            hash,
            format: format_name(kind),
            kind: r#type,
            tag_count: tags.len(),
            tags: tags.into_iter().take(limit).collect(),
            alias_count: aliases.len(),
            aliases: aliases.iter().take(limit).map(|alias| output_text::line(alias)).collect(),
            properties: properties.filter(|_| properties_length <= room),
            properties_length,
            above: contextual_path.into_iter().map(TitledNote::from).collect(),
            object: object.map(TitledNote::from),
            below_count: children.len(),
            below: children.into_iter().take(limit).map(TitledNote::from).collect(),
            heading_count: headings.len(),
            headings: headings.into_iter().take(limit).map(heading).collect(),
            link_count: links.len(),
            links: links.into_iter().take(limit).collect(),
            backlink_count: backlinks.len(),
            backlinks: backlinks.into_iter().take(limit).collect(),
            text: text.to_owned(),
            start,
            length,
            next: (end < section.end).then_some(end),
            warnings: OutputWarning::all(warnings),
            generation,
        }
    }
}

/// Returns the links without repetitions of type and other end.
fn distinct(links: Vec<LinkView>) -> Vec<NoteLinkEntry> {
    let mut seen = HashSet::new();
    let links = links.into_iter().map(NoteLinkEntry::from);
    links.filter(|link| seen.insert((link.link.clone(), link.note.clone()))).collect()
}

/// Returns the frontmatter as in the JSON form of the contract.
fn plain(properties: Option<prost_types::Struct>) -> Option<Value> {
    let note = GetNoteResponse { properties, ..GetNoteResponse::default() };
    let mut note = serde_json::to_value(note).ok()?;
    Some(note.get_mut("properties")?.take())
}

impl Display for GetNoteOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            same_name,
            same_name_count,
            path,
            hash,
            format: _,
            kind,
            tags,
            tag_count,
            aliases,
            alias_count,
            properties,
            properties_length,
            above,
            object,
            below,
            below_count,
            headings,
            heading_count,
            links,
            link_count,
            backlinks,
            backlink_count,
            text,
            start,
            length,
            next,
            warnings,
            generation: _,
        } = self;
        f.write_str(&output_text::warnings(warnings))?;
        writeln!(f, "# {name}")?;
        writeln!(f, "Path: {}", one_line(path))?;
        writeln!(f, "Hash: {}", one_line(hash))?;
        let notes =
            |notes: &[TitledNote]| notes.iter().map(TitledNote::to_string).collect::<Vec<_>>();
        listed(f, "Other notes with this name", &notes(same_name), *same_name_count)?;
        if let Some(kind) = kind {
            writeln!(f, "Type: {}", output_text::line(kind))?;
        }
        match properties {
            _ if *start > 0 => {}
            Some(properties) if is_empty(properties) => {}
            Some(properties) => {
                writeln!(f, "Frontmatter: {}", one_line(&properties.to_string()))?;
            }
            None => frontmatter_left_out(f, *properties_length)?,
        }
        let tags: Vec<String> = tags.iter().map(|tag| one_line(tag).into_owned()).collect();
        listed(f, "Tags", &tags, *tag_count)?;
        listed(f, "Also called", aliases, *alias_count)?;
        if !above.is_empty() {
            writeln!(f, "Below: {}", notes(above).join(" > "))?;
        }
        if let Some(object) = object {
            writeln!(f, "About: {object}")?;
        }
        listed(f, "Notes below", &notes(below), *below_count)?;
        if start == &0 {
            let headings: Vec<String> = headings.iter().map(NoteHeading::to_string).collect();
            listed(f, "Headings", &headings, *heading_count)?;
            let named = |links: &[NoteLinkEntry]| {
                links.iter().map(NoteLinkEntry::to_string).collect::<Vec<_>>()
            };
            listed(f, "Links to", &named(links), *link_count)?;
            listed(f, "Linked from", &named(backlinks), *backlink_count)?;
            let kinds = [
                (same_name.len(), *same_name_count),
                (tags.len(), *tag_count),
                (aliases.len(), *alias_count),
                (below.len(), *below_count),
                (headings.len(), *heading_count),
                (links.len(), *link_count),
                (backlinks.len(), *backlink_count),
            ];
            let max = usize::try_from(MAX_NAMED).unwrap_or(usize::MAX);
            let cut = kinds.into_iter().filter(|(listed, all)| listed < all && *listed < max);
            if let Some(most) = cut.map(|(_, all)| all.min(max)).max() {
                writeln!(f, "For more of the truncated lists, call again with `limit` = {most}.")?;
            }
            if links.len() < *link_count || backlinks.len() < *backlink_count {
                let uri = Value::from(&*name.note).to_string();
                let uri = one_line(&uri);
                writeln!(
                    f,
                    "For all notes it links to, call `list_notes` with `filter` {{\"linked_from\": [{uri}]}}; for all notes that link to it, {{\"linked_to\": [{uri}]}}."
                )?;
            }
        }
        writeln!(f)?;
        if !text.is_empty() {
            f.write_str(&output_text::fenced(text))?;
        }
        match next {
            Some(next) => writeln!(
                f,
                "Characters {start} to {next} of {length}; to continue, call again with `start` = {next}."
            ),
            None => match start + text.chars().count() {
                end if end < *length => {
                    writeln!(f, "Characters {start} to {end} of {length}; end of this part.")
                }
                _ if *start > 0 => {
                    writeln!(f, "Characters {start} to {length}; end of the text.")
                }
                _ => Ok(()),
            },
        }
    }
}

/// Returns a number of characters as in the contract.
fn characters(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn is_empty(properties: &Value) -> bool {
    properties.as_object().is_none_or(serde_json::Map::is_empty)
}

/// Reports that the frontmatter, of `length` characters, exceeds the budget, and the budget that would fit.
fn frontmatter_left_out(f: &mut Formatter<'_>, length: usize) -> fmt::Result {
    write!(f, "Frontmatter: omitted, {length} characters as JSON; ")?;
    let [least, most] = BUDGET_RANGE;
    match (least..=most).find(|budget| output_text::characters(*budget) >= length) {
        Some(budget) => writeln!(f, "`budget` = {budget} includes it."),
        None => writeln!(f, "exceeds the largest `budget`."),
    }
}

impl Display for NoteHeading {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { level: _, text, start } = self;
        write!(f, "{text} (at {start})")
    }
}

impl Display for NoteLinkEntry {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { link, note, exists } = self;
        let [note, link] = [note, link].map(|name| one_line(name));
        write!(f, "`{note}` ({link}{})", if *exists { "" } else { ", does not exist yet" })
    }
}

/// Writes a line of names and the number of further names; writes no line for an empty list.
fn listed(f: &mut Formatter<'_>, what: &str, names: &[String], n: usize) -> fmt::Result {
    match (names, n - names.len()) {
        ([], _) => Ok(()),
        (names, 0) => writeln!(f, "{what}: {}", names.join(", ")),
        (names, others) => writeln!(f, "{what}: {} and {others} more", names.join(", ")),
    }
}
