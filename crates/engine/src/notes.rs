//! Questions about notes themselves: one whole, many by page, and what a name means.

use std::collections::BTreeMap;
use std::iter;

use weft_index::Snapshot;
use weft_index::notes::{NoteTable, Resolution};
use weft_model::{Block, Heading, LinkSource, NoteId, Span, TextHash, Uri, Value};

use crate::page::{Pages, page_size};
use crate::{Engine, EngineError, Filter, note_named, unknown};

/// A note by its two names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteRef {
    /// Its uri.
    pub uri: Uri,
    /// Its title.
    pub title: String,
}

/// One link, seen from the note asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkView {
    /// The edge's type.
    pub kind: String,
    /// Where it was written.
    pub source: LinkSource,
    /// The target as written.
    pub target: String,
    /// The note at the other end (or the placeholder's name); nothing for a plain string that means no note.
    pub uri: Option<Uri>,
    /// Whether a note is there.
    pub resolved: bool,
    /// Heading or block within the target.
    pub fragment: Option<String>,
    /// The text shown.
    pub display: Option<String>,
    /// Where it stands in the linking note's body, in characters.
    pub span: Option<Span>,
}

/// A note with everything known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct NoteAnswer {
    /// Its uri.
    pub uri: Uri,
    /// Its vault.
    pub vault: String,
    /// Its path.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its other names.
    pub aliases: Vec<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its type.
    pub note_type: Option<String>,
    /// Its whole frontmatter.
    pub properties: BTreeMap<String, Value>,
    /// Its number among its siblings.
    pub order: Option<f64>,
    /// The note above it.
    pub parent: Option<NoteRef>,
    /// The note it is a reification about.
    pub object: Option<NoteRef>,
    /// From the root to the parent.
    pub contextual_path: Vec<NoteRef>,
    /// The notes below it, in sibling order, the first of them.
    pub children: Vec<NoteRef>,
    /// How many there are.
    pub n_children: usize,
    /// Its headings.
    pub headings: Vec<Heading>,
    /// Its blocks with a name, in text order.
    pub blocks: Vec<Block>,
    /// Its links: typed ones, then those of the body in text order, the first of them.
    pub links: Vec<LinkView>,
    /// How many there are.
    pub n_links: usize,
    /// Links to it, by the linking note's uri, each note's in its own order, the first of them; `uri` is the linking note.
    pub backlinks: Vec<LinkView>,
    /// How many there are.
    pub n_backlinks: usize,
    /// Its body, byte for byte.
    pub body: String,
    /// Whether all its vectors are there.
    pub fresh: bool,
    /// Hash of its file's bytes.
    pub hash: TextHash,
    /// Other notes that answer to the name asked for as well, the first by vault and path.
    pub same_name: Vec<NoteRef>,
    /// The snapshot's generation.
    pub generation: u64,
}

impl NoteAnswer {
    /// Whether notes below it, links or backlinks were cut.
    #[must_use]
    pub const fn is_truncated(&self) -> bool {
        self.children.len() < self.n_children
            || self.links.len() < self.n_links
            || self.backlinks.len() < self.n_backlinks
    }
}

/// Asks for one note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteRequest {
    /// A uri, a path, anything a link would resolve to, or a title.
    pub name: String,
    /// Links, backlinks and notes below it at most, of each, 1 to 100,000; 0 means 1,000.
    pub max_links: usize,
}

impl NoteRequest {
    /// The most of each kind that one answer may have.
    pub const MAX_LINKS: usize = 100_000;

    /// How many of each kind are wanted.
    ///
    /// Fails where it is more than one answer may have.
    fn max_links(&self) -> Result<usize, EngineError> {
        if self.max_links > Self::MAX_LINKS {
            let reason = format!("{} is more than {}", self.max_links, Self::MAX_LINKS);
            return Err(EngineError::InvalidArgument { field: "max_links", reason });
        }
        Ok(if self.max_links == 0 { LINKS } else { self.max_links })
    }
}

/// Asks for a page of notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// Which notes.
    pub filter: Filter,
    /// Notes per page, 1 to 1,000; 0 means 100.
    pub page_size: usize,
    /// Where the last page ended; empty for the first.
    pub page_token: String,
}

/// A note in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSummary {
    /// Its uri.
    pub uri: Uri,
    /// Its vault.
    pub vault: String,
    /// Its path.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its type.
    pub note_type: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
}

/// A page of notes, by uri.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListAnswer {
    /// The page.
    pub notes: Vec<NoteSummary>,
    /// Asks for the next page; empty after the last.
    pub next_page_token: String,
    /// Notes on all pages.
    pub total: usize,
    /// What no note has of that the filter asks for.
    pub degraded: Vec<String>,
    /// The snapshot's generation.
    pub generation: u64,
}

/// Asks what a link would mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolveRequest {
    /// The target, as between `[[` and `]]`.
    pub target: String,
    /// The note it stands in; nothing means the root of each vault.
    pub from: Option<String>,
}

/// What a link would mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveAnswer {
    /// The target asked for.
    pub target: String,
    /// The note it means.
    pub uri: Option<Uri>,
    /// Its path.
    pub path: Option<String>,
    /// The rule that decided: `uri` (or `id`), `path`, `relative`, `name` or `alias`.
    pub rule: Option<String>,
    /// Every note that answered equally well, the chosen one first.
    pub candidates: Vec<NoteRef>,
    /// Where no note answers: uris that resemble the target.
    pub near: Vec<Uri>,
    /// The snapshot's generation.
    pub generation: u64,
}

/// Links of a note, of each kind, where the caller does not say.
const LINKS: usize = 1000;

/// What a note has at most that is soon told: bytes of its name; bytes of its file, and of each that links it; notes that link it, notes below it and above it; links in all of these files.
///
/// To tell one takes some 10 µs as a rule, where to wake a thread for it and to be woken by that takes 70 (`weft bench --wire --mix get=1`).
const MAX_NAME_AT_HAND: usize = 4 << 10;
const MAX_BYTES_AT_HAND: u64 = 32 << 10;
const MAX_NOTES_AT_HAND: usize = 64;
const MAX_LINKS_AT_HAND: usize = 1024;

impl Engine {
    /// A note with all that is said of it, but for links beyond those asked for.
    pub fn note(&self, request: &NoteRequest) -> Result<NoteAnswer, EngineError> {
        let (name, max_links) = (&request.name, request.max_links()?);
        let snapshot = self.snapshot();
        let found = snapshot.notes.find(name);
        told(&snapshot, &found, max_links).ok_or_else(|| unknown(&snapshot, name))
    }

    /// The same where it is soon told: its name is its uri or path as it stands, the note and those that link it were read before and are small, and what they link and what lies around it is little.
    ///
    /// Nothing where it is not, or where no note is named so: [`note`](Self::note) then reads or looks further.
    /// Reads and decodes no note; of what was mapped, memory may have to be fetched again where the system is short of it.
    #[must_use]
    pub fn note_at_hand(&self, request: &NoteRequest) -> Option<NoteAnswer> {
        let (name, max_links) = (&request.name, request.max_links().ok()?);
        let snapshot = self.snapshot();
        let (notes, graph) = (&snapshot.notes, snapshot.notes.graph());
        if name.len() > MAX_NAME_AT_HAND {
            return None;
        }
        let found = notes.find_exact(name)?;
        let id = found.note?;
        let n_above = graph.ancestors(id).take(MAX_NOTES_AT_HAND + 1).count();
        let (linking, n_below) = (graph.inbound(id), graph.children(id).len());
        if linking.len().max(n_below).max(n_above) > MAX_NOTES_AT_HAND {
            return None;
        }
        let mut n_links = 0;
        for id in iter::once(id).chain(linking.iter().map(|half| half.other)) {
            let small = notes.at_hand(id).filter(|entry| entry.file.size <= MAX_BYTES_AT_HAND);
            n_links += small?.note.links.len();
        }
        if n_links <= MAX_LINKS_AT_HAND { told(&snapshot, &found, max_links) } else { None }
    }

    /// A page of the notes that pass the filter, by uri.
    pub fn list(&self, request: &ListRequest) -> Result<ListAnswer, EngineError> {
        let ListRequest { filter, page_size: asked, page_token } = request;
        let page_size = page_size(*asked)?;
        let snapshot = self.snapshot();
        let passing = self.passing(&snapshot, filter)?;
        let pages = Pages::of(&("notes", filter));
        let after = pages.after(page_token)?.map(Uri::new);
        let left = snapshot.notes.by_uri_after(after.as_ref());
        let left = left.filter(|(_, id)| passing.notes.contains(*id));
        let (page, next_page_token) = pages.cut(left, page_size, |(uri, _)| uri.to_string());
        Ok(ListAnswer {
            notes: page.into_iter().filter_map(|(_, id)| summary(&snapshot, id)).collect(),
            next_page_token,
            total: passing.notes.len().unwrap_or(snapshot.notes.n_notes()),
            degraded: passing.unmet(&snapshot, &self.stop)?.to_vec(),
            generation: snapshot.generation,
        })
    }

    /// What `[[target]]` would mean in a note. A target without a note is an answer, not an error.
    pub fn resolve(&self, request: &ResolveRequest) -> Result<ResolveAnswer, EngineError> {
        let ResolveRequest { target, from } = request;
        if target.trim().is_empty() {
            let reason = "say what to resolve: a uri, path, name or alias".to_owned();
            return Err(EngineError::InvalidArgument { field: "target", reason });
        }
        let snapshot = self.snapshot();
        let notes = &snapshot.notes;
        let found = match from {
            None => notes.find_linked(target),
            Some(from) => notes.find_from(target, note_named(&snapshot, from)?),
        };
        Ok(ResolveAnswer {
            target: target.clone(),
            uri: found.note.map(|id| notes.graph().uri(id).clone()),
            path: found.note.and_then(|id| Some(notes.entry(id)?.note.path.as_str().to_owned())),
            rule: found.rule.map(str::to_owned),
            near: if found.note.is_none() { notes.near_matches(target) } else { Vec::new() },
            candidates: found.candidates.into_iter().map(|id| reference(&snapshot, id)).collect(),
            generation: snapshot.generation,
        })
    }
}

pub(crate) fn reference(snapshot: &Snapshot, id: NoteId) -> NoteRef {
    NoteRef {
        uri: snapshot.notes.graph().uri(id).clone(),
        title: snapshot.notes.title(id).to_owned(),
    }
}

pub(crate) fn vault_of(snapshot: &Snapshot, id: NoteId) -> String {
    let vault = snapshot.notes.card(id).and_then(|card| snapshot.notes.vault(card.vault));
    vault.map_or_else(String::new, |info| info.name.clone())
}

/// A note's type and tags, read without keeping the note.
pub(crate) fn kind_and_tags(notes: &NoteTable, id: NoteId) -> (Option<String>, Vec<String>) {
    let facets = notes.facets(id);
    facets.map(|it| (it.note_type.into_owned(), it.tags.into_owned())).unwrap_or_default()
}

pub(crate) fn summary(snapshot: &Snapshot, id: NoteId) -> Option<NoteSummary> {
    let card = snapshot.notes.card(id)?;
    let (note_type, tags) = kind_and_tags(&snapshot.notes, id);
    Some(NoteSummary {
        uri: snapshot.notes.graph().uri(id).clone(),
        vault: vault_of(snapshot, id),
        path: card.path.to_owned(),
        title: card.title.to_owned(),
        note_type,
        tags,
    })
}

/// All there is to say of the note that was found, with at most `max_links` of each kind; nothing where its slot holds none.
fn told(snapshot: &Snapshot, found: &Resolution, max_links: usize) -> Option<NoteAnswer> {
    let id = found.note?;
    let (notes, graph) = (&snapshot.notes, snapshot.notes.graph());
    let (entry, resolved) = (notes.entry(id)?, notes.resolved(id)?);
    let note = &entry.note;
    let reference = |id| reference(snapshot, id);
    let view = |link: &weft_model::Link, end: Option<NoteId>, target: Option<NoteId>| LinkView {
        kind: link.kind.clone(),
        source: link.source,
        target: link.target.name.clone(),
        uri: end.map(|id| graph.uri(id).clone()),
        resolved: target.is_some_and(|id| notes.is_note(id)),
        fragment: link.fragment.clone(),
        display: link.display.clone(),
        span: link.span,
    };
    let mut linking: Vec<NoteId> = graph.inbound(id).iter().map(|half| half.other).collect();
    linking.sort_unstable_by(|a, b| graph.uri(*a).cmp(graph.uri(*b)));
    linking.dedup();
    let (mut backlinks, mut n_backlinks) = (Vec::new(), 0);
    for from in linking {
        let links = notes.entry(from).map(|entry| entry.note.links.as_slice()).unwrap_or_default();
        let targets =
            notes.resolved(from).map(|resolved| resolved.targets.as_slice()).unwrap_or_default();
        let here = links.iter().zip(targets).filter(|(_, target)| **target == Some(id));
        n_backlinks += here.clone().count();
        let room = max_links - backlinks.len();
        backlinks.extend(here.take(room).map(|(link, target)| view(link, Some(from), *target)));
    }
    // What names no note and is no link without one is none.
    let links = note
        .links
        .iter()
        .zip(&resolved.targets)
        .filter(|(link, target)| target.is_some() || !link.target.syntax.is_tentative());
    let children = graph.children(id);
    let mut contextual_path: Vec<NoteRef> = graph.ancestors(id).map(reference).collect();
    contextual_path.reverse();
    Some(NoteAnswer {
        uri: resolved.uri.clone(),
        vault: vault_of(snapshot, id),
        path: note.path.as_str().to_owned(),
        title: note.title.clone(),
        aliases: note.aliases.clone(),
        tags: note.tags.clone(),
        note_type: note.note_type.clone(),
        properties: note.properties.clone(),
        order: note.order,
        parent: graph.parent(id).map(reference),
        object: graph.object(id).map(reference),
        contextual_path,
        children: children.iter().take(max_links).copied().map(reference).collect(),
        n_children: children.len(),
        headings: note.headings.clone(),
        blocks: note.blocks.clone(),
        n_links: links.clone().count(),
        links: links.take(max_links).map(|(link, target)| view(link, *target, *target)).collect(),
        backlinks,
        n_backlinks,
        same_name: found
            .candidates
            .iter()
            .filter(|other| **other != id)
            .take(max_links)
            .copied()
            .map(reference)
            .collect(),
        body: entry.body.to_string(),
        fresh: snapshot.is_fresh(id),
        hash: entry.file.hash,
        generation: snapshot.generation,
    })
}
