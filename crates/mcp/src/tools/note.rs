//! The tool `get_note`.

use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tonic::Status;
use weft_proto::noteweft::v1::{GetNoteRequest, GetNoteResponse, Heading, LinkView};

use super::Question;
use super::args::{BUDGETS, Budget, Name, Note};
use crate::bounds::{Number, Text};
use crate::clients::Clients;
use crate::text;

/// Links that are counted, as many as a daemon tells.
const MAX_LINKS: u32 = 100_000;

/// Headings, links, backlinks, notes below, tags and other names that can be asked for, of each; the others are counted.
const MAX_NAMED: u32 = 1000;

/// Which note, and which piece of it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetNote {
    /// The note; `note#Heading` begins at that heading.
    note: Name,
    /// Where to begin, in characters of its text: the `next` of the answer before, or the start of a heading or passage.
    #[serde(default)]
    start: Number<0, { u32::MAX }, 0>,
    /// Tokens that its text may take, about, and its frontmatter besides; frontmatter that is longer is left out.
    #[serde(default)]
    budget: Budget,
    /// Headings, links, backlinks, notes below, tags and other names at most, of each.
    #[serde(default)]
    limit: Number<1, MAX_NAMED, 50>,
}

/// A note.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Read {
    #[serde(flatten)]
    name: Note,
    /// The first other notes that answer to the name asked for as well.
    same_name: Vec<Note>,
    /// How many there are.
    n_same_name: usize,
    /// Its path in the folder of notes.
    path: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Its first tags.
    tags: Vec<String>,
    /// How many there are.
    n_tags: usize,
    /// Its first other names.
    aliases: Vec<String>,
    /// How many there are.
    n_aliases: usize,
    /// Its frontmatter; absent where it is longer than `budget`.
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<Value>,
    /// The characters that its frontmatter takes, as JSON.
    properties_length: usize,
    /// The notes above it, the outermost first.
    above: Vec<Note>,
    /// What it points at, if it states a relation.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<Note>,
    /// The first notes below it.
    below: Vec<Note>,
    /// How many there are.
    n_below: usize,
    /// Its first headings.
    headings: Vec<Title>,
    /// How many there are.
    n_headings: usize,
    /// Its first links, each type and note once.
    links: Vec<Link>,
    /// How many there are.
    n_links: usize,
    /// The first links of other notes to it, each type and note once.
    backlinks: Vec<Link>,
    /// How many there are.
    n_backlinks: usize,
    /// The piece of its text.
    text: String,
    /// Where the piece starts, in characters of the text.
    start: usize,
    /// The characters of the whole text.
    length: usize,
    /// Where the next piece starts: give it as `start`. Absent where the text is at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
    /// The state of the index that answered.
    generation: u64,
}

/// A heading.
#[derive(Debug, Serialize, JsonSchema)]
struct Title {
    /// 1 to 6.
    level: u32,
    /// Its text.
    text: String,
    /// Where it starts, in characters of the note's text.
    start: u32,
}

/// A link of a note, or to it.
#[derive(Debug, Serialize, JsonSchema)]
struct Link {
    /// Its type.
    link: String,
    /// The note at the other end: its uri, or the name as written where no note answers to it.
    note: String,
    /// Whether the note exists.
    exists: bool,
}

impl From<LinkView> for Link {
    fn from(view: LinkView) -> Self {
        let LinkView { r#type, target, uri, resolved, .. } = view;
        let note = uri.unwrap_or_else(|| text::line(&target));
        Self { link: r#type, note, exists: resolved }
    }
}

impl Question for GetNote {
    const NAME: &'static str = "get_note";
    const TITLE: &'static str = "Read a note";
    const DESCRIPTION: &'static str = "Reads one note: its text, a piece at a time where it is long, with its headings, frontmatter, place, links and backlinks. \
        Call it for the exact words of a note, or for what it links to.";
    const RENAMED: &'static [(&'static str, &'static str)] = &[("name", "note")];
    type Answer = Read;

    async fn ask(self, clients: Clients) -> Result<Read, Status> {
        let Self {
            note: Text(name),
            start: Number(start),
            budget: Number(budget),
            limit: Number(limit),
        } = self;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let max_links = Some(MAX_LINKS);
        let request = GetNoteRequest { name: name.clone(), max_links, ..GetNoteRequest::default() };
        let answer = clients.notes().get_note(request).await?.into_inner();
        let start = match section(&answer, &name) {
            Some(at) if start == 0 => at?,
            Some(_) | None => start,
        };
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        Ok(Read::new(answer, start, text::characters(budget), limit))
    }
}

/// Where the section starts that `name` names behind a `#`; nothing where it names none, an error where the note has no such heading.
fn section(note: &GetNoteResponse, name: &str) -> Option<Result<u32, Status>> {
    let (whole, section) = name.rsplit_once('#')?;
    let same = |text: &str| text.trim().to_lowercase();
    // A uri or a file's name may hold a `#`, and blocks are not looked for.
    let is_name = same(&note.uri).ends_with(&same(name)) || same(&note.path).ends_with(&same(name));
    if whole.is_empty() || is_name || section.trim().is_empty() || section.starts_with('^') {
        return None;
    }
    let found = note.headings.iter().find(|heading| same(&heading.text) == same(section));
    Some(found.map(|heading| heading.start).ok_or_else(|| {
        let uri = &note.uri;
        let reason = format!(
            "`note`: `{uri}` has no heading `{section}`; `get_note` with `{uri}` lists those it has"
        );
        Status::invalid_argument(reason)
    }))
}

impl Read {
    /// The piece of the note that begins at `start` and takes `room` characters at most, with `limit` names of each kind.
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
            fresh: _,
            generation,
            blocks: _,
            hash: _,
            // Distinct ones are counted below, of as many as are told.
            n_children: _,
            n_links: _,
            n_backlinks: _,
            truncated: _,
            same_name,
        } = answer;
        let (links, backlinks) = (distinct(links), distinct(backlinks));
        let length = body.chars().count();
        let start = start.min(length);
        let from = body.char_indices().nth(start).map_or(body.len(), |(at, _)| at);
        let text = text::head(&body[from..], room);
        let end = start + text.chars().count();
        let heading = |Heading { level, text, start, end: _ }: Heading| Title {
            level,
            text: text::line(&text),
            start,
        };
        let properties = plain(properties);
        let properties_length = properties
            .as_ref()
            .filter(|it| !is_empty(it))
            .map_or(0, |it| it.to_string().chars().count());
        Self {
            name: Note::new(uri, &title),
            n_same_name: same_name.len(),
            same_name: same_name.into_iter().take(limit).map(Note::from).collect(),
            path,
            kind: r#type,
            n_tags: tags.len(),
            tags: tags.into_iter().take(limit).collect(),
            n_aliases: aliases.len(),
            aliases: aliases.iter().take(limit).map(|alias| text::line(alias)).collect(),
            properties: properties.filter(|_| properties_length <= room),
            properties_length,
            above: contextual_path.into_iter().map(Note::from).collect(),
            object: object.map(Note::from),
            n_below: children.len(),
            below: children.into_iter().take(limit).map(Note::from).collect(),
            n_headings: headings.len(),
            headings: headings.into_iter().take(limit).map(heading).collect(),
            n_links: links.len(),
            links: links.into_iter().take(limit).collect(),
            n_backlinks: backlinks.len(),
            backlinks: backlinks.into_iter().take(limit).collect(),
            text: text.to_owned(),
            start,
            length,
            next: (end < length).then_some(end),
            generation,
        }
    }
}

/// Links by type and other end, each once.
fn distinct(links: Vec<LinkView>) -> Vec<Link> {
    let mut seen = HashSet::new();
    let links = links.into_iter().map(Link::from);
    links.filter(|link| seen.insert((link.link.clone(), link.note.clone()))).collect()
}

/// Frontmatter as the contract writes it.
fn plain(properties: Option<prost_types::Struct>) -> Option<Value> {
    let note = GetNoteResponse { properties, ..GetNoteResponse::default() };
    let mut note = serde_json::to_value(note).ok()?;
    Some(note.get_mut("properties")?.take())
}

impl Display for Read {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            same_name,
            n_same_name,
            path,
            kind,
            tags,
            n_tags,
            aliases,
            n_aliases,
            properties,
            properties_length,
            above,
            object,
            below,
            n_below,
            headings,
            n_headings,
            links,
            n_links,
            backlinks,
            n_backlinks,
            text,
            start,
            length,
            next,
            generation: _,
        } = self;
        writeln!(f, "# {name}")?;
        writeln!(f, "Path: {path}")?;
        let notes = |notes: &[Note]| notes.iter().map(Note::to_string).collect::<Vec<_>>();
        listed(f, "This name has also", &notes(same_name), *n_same_name)?;
        if let Some(kind) = kind {
            writeln!(f, "Type: {}", text::line(kind))?;
        }
        match properties {
            _ if *start > 0 => {}
            Some(properties) if is_empty(properties) => {}
            Some(properties) => writeln!(f, "Frontmatter: {properties}")?,
            None => frontmatter_left_out(f, *properties_length)?,
        }
        listed(f, "Tags", tags, *n_tags)?;
        listed(f, "Also called", aliases, *n_aliases)?;
        if !above.is_empty() {
            writeln!(f, "Below: {}", notes(above).join(" > "))?;
        }
        if let Some(object) = object {
            writeln!(f, "About: {object}")?;
        }
        listed(f, "Notes below", &notes(below), *n_below)?;
        if start == &0 {
            let headings: Vec<String> = headings.iter().map(Title::to_string).collect();
            listed(f, "Headings", &headings, *n_headings)?;
            let named = |links: &[Link]| links.iter().map(Link::to_string).collect::<Vec<_>>();
            listed(f, "Links to", &named(links), *n_links)?;
            listed(f, "Linked from", &named(backlinks), *n_backlinks)?;
            let kinds = [
                (same_name.len(), *n_same_name),
                (tags.len(), *n_tags),
                (aliases.len(), *n_aliases),
                (below.len(), *n_below),
                (headings.len(), *n_headings),
                (links.len(), *n_links),
                (backlinks.len(), *n_backlinks),
            ];
            let max = usize::try_from(MAX_NAMED).unwrap_or(usize::MAX);
            let cut = kinds.into_iter().filter(|(told, all)| told < all && *told < max);
            if let Some(most) = cut.map(|(_, all)| all.min(max)).max() {
                writeln!(f, "More of what was cut: call again with `limit` = {most}.")?;
            }
            if links.len() < *n_links || backlinks.len() < *n_backlinks {
                let uri = Value::from(&*name.note);
                writeln!(
                    f,
                    "All notes it links to, a page at a time: `list_notes` with `filter` {{\"linked_from\": [{uri}]}}; all that link to it: {{\"linked_to\": [{uri}]}}."
                )?;
            }
        }
        writeln!(f)?;
        if !text.is_empty() {
            f.write_str(&text::fenced(text))?;
        }
        match next {
            Some(next) => writeln!(
                f,
                "Characters {start} to {next} of {length}; to read on, call again with `start` = {next}."
            ),
            None if *start > 0 => {
                writeln!(f, "Characters {start} to {length}; the text ends here.")
            }
            None => Ok(()),
        }
    }
}

fn is_empty(properties: &Value) -> bool {
    properties.as_object().is_none_or(serde_json::Map::is_empty)
}

/// Says that frontmatter of so many characters is longer than the budget, and which one would do.
fn frontmatter_left_out(f: &mut Formatter<'_>, length: usize) -> fmt::Result {
    write!(f, "Frontmatter: left out, {length} characters as JSON; ")?;
    let [least, most] = BUDGETS;
    match (least..=most).find(|budget| text::characters(*budget) >= length) {
        Some(budget) => writeln!(f, "`budget` = {budget} shows it."),
        None => writeln!(f, "more than the largest `budget` shows."),
    }
}

impl Display for Title {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { level: _, text, start } = self;
        write!(f, "{text} (at {start})")
    }
}

impl Display for Link {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { link, note, exists } = self;
        write!(f, "`{note}` ({link}{})", if *exists { "" } else { ", no such note yet" })
    }
}

/// A line of names, and how many more there are; nothing where there are none.
fn listed(f: &mut Formatter<'_>, what: &str, names: &[String], n: usize) -> fmt::Result {
    match (names, n - names.len()) {
        ([], _) => Ok(()),
        (names, 0) => writeln!(f, "{what}: {}", names.join(", ")),
        (names, others) => writeln!(f, "{what}: {} and {others} more", names.join(", ")),
    }
}
