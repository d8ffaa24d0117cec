//! Requests about notes: one whole note, pages of notes, and name resolution.

use std::collections::BTreeMap;
use std::iter;

use weft_index::Snapshot;
use weft_index::notes::{NoteTable, Resolution};
use weft_model::{Block, Heading, LinkSource, NoteId, Span, TextHash, Uri, Value};

use crate::page_token::{PageTokens, page_size};
use crate::{Engine, EngineError, Filter, Warning, WarningCode, note_by_name, section, unknown};

/// A note by uri and title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteRef {
    /// Uri of the note.
    pub uri: Uri,
    /// Title of the note.
    pub title: String,
}

/// A link or backlink of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteLink {
    /// Type of the edge.
    pub kind: String,
    /// Part of the note that contains the link.
    pub source: LinkSource,
    /// The target as written.
    pub target: String,
    /// Uri of the note at the other end, or the name of a placeholder; `None` for a plain string that names no note.
    pub uri: Option<Uri>,
    /// True if the target is an existing note.
    pub resolved: bool,
    /// Heading or block within the target.
    pub fragment: Option<String>,
    /// The displayed text.
    pub display: Option<String>,
    /// Range of the link in the linking note's body, in characters.
    pub span: Option<Span>,
}

/// A note with its content, links and place in the hierarchy.
#[derive(Clone, Debug, PartialEq)]
pub struct NoteAnswer {
    /// Uri of the note.
    pub uri: Uri,
    /// Vault of the note.
    pub vault: String,
    /// Path of the note.
    pub path: String,
    /// Title of the note.
    pub title: String,
    /// Aliases of the note.
    pub aliases: Vec<String>,
    /// Tags of the note.
    pub tags: Vec<String>,
    /// Type of the note.
    pub note_type: Option<String>,
    /// The whole frontmatter.
    pub properties: BTreeMap<String, Value>,
    /// Sort key among its siblings.
    pub order: Option<f64>,
    /// Parent note.
    pub parent: Option<NoteRef>,
    /// The note that this reification is about.
    pub object: Option<NoteRef>,
    /// Ancestors from the root to the parent.
    pub contextual_path: Vec<NoteRef>,
    /// The first children, in sibling order.
    pub children: Vec<NoteRef>,
    /// Number of all children.
    pub n_children: usize,
    /// Headings of the note.
    pub headings: Vec<Heading>,
    /// Named blocks, in text order.
    pub blocks: Vec<Block>,
    /// The first links: typed ones, then those of the body in text order.
    pub links: Vec<NoteLink>,
    /// Number of all links.
    pub n_links: usize,
    /// The first links to the note, by the linking note's uri and then its own order; `uri` is the linking note.
    pub backlinks: Vec<NoteLink>,
    /// Number of all backlinks.
    pub n_backlinks: usize,
    /// The body, byte for byte.
    pub body: String,
    /// True if all vectors of the note are current.
    pub embedding_current: bool,
    /// Hash of the file's bytes.
    pub hash: TextHash,
    /// The first other notes that match the requested name, by vault and path.
    pub same_name: Vec<NoteRef>,
    /// Part of the body that a fragment of the requested name selects; `None` for the whole body.
    pub section: Option<Span>,
    /// A heading that the note has several times.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

impl NoteAnswer {
    /// True if children, links or backlinks are incomplete.
    #[must_use]
    pub const fn is_truncated(&self) -> bool {
        self.children.len() < self.n_children
            || self.links.len() < self.n_links
            || self.backlinks.len() < self.n_backlinks
    }
}

/// Requests one note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteRequest {
    /// A uri, a path, anything a link would resolve to, or a title.
    pub name: String,
    /// Maximum number of links, of backlinks and of children, 1 to 100,000 each; 0 means 1,000.
    pub max_links: usize,
}

impl NoteRequest {
    /// Greatest value of `max_links`.
    pub const MAX_LINKS: usize = 100_000;

    /// Returns the maximum number of each.
    ///
    /// Fails if it exceeds [`MAX_LINKS`](Self::MAX_LINKS).
    fn max_links(&self) -> Result<usize, EngineError> {
        if self.max_links > Self::MAX_LINKS {
            let reason = format!("{} exceeds the maximum of {}", self.max_links, Self::MAX_LINKS);
            return Err(EngineError::InvalidArgument { field: "max_links", reason });
        }
        Ok(if self.max_links == 0 { DEFAULT_LINKS } else { self.max_links })
    }
}

/// Requests a page of notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// Restricts the notes.
    pub filter: Filter,
    /// Notes per page, 1 to 1,000; 0 means 100.
    pub page_size: usize,
    /// Token of the previous page; empty for the first page.
    pub page_token: String,
}

/// A note in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedNote {
    /// Uri of the note.
    pub uri: Uri,
    /// Vault of the note.
    pub vault: String,
    /// Path of the note.
    pub path: String,
    /// Title of the note.
    pub title: String,
    /// Type of the note.
    pub note_type: Option<String>,
    /// Tags of the note.
    pub tags: Vec<String>,
}

/// A page of notes, by uri.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListAnswer {
    /// Notes of the page.
    pub notes: Vec<ListedNote>,
    /// Token of the next page; empty on the last page.
    pub next_page_token: String,
    /// Number of notes on all pages.
    pub total: usize,
    /// Filter conditions that no note matches.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

/// Asks what a link would resolve to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolveRequest {
    /// The target, as between `[[` and `]]`.
    pub target: String,
    /// The note that contains the link; `None` for the root of each vault.
    pub from: Option<String>,
}

/// Resolution of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveAnswer {
    /// The requested target.
    pub target: String,
    /// The resolved note.
    pub uri: Option<Uri>,
    /// Path of the resolved note.
    pub path: Option<String>,
    /// The rule that matched: `uri` (or `id`), `path`, `relative`, `name` or `alias`.
    pub rule: Option<String>,
    /// All equally good matches, the chosen one first.
    pub candidates: Vec<NoteRef>,
    /// Uris similar to the target, if no note matches.
    pub suggestions: Vec<Uri>,
    /// Warnings about the fragment of the target.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

/// Default of [`NoteRequest::max_links`].
const DEFAULT_LINKS: usize = 1000;

/// Limits of a note that is cheap to return: bytes of its name; bytes of its file and of each file that links to it; notes that link to it, children and ancestors; links in all of these files.
///
/// Building such an answer takes some 10 µs, while handing it to another thread and back takes 70 µs (`weft bench --wire --mix get=1`).
const MAX_CHEAP_NAME_BYTES: usize = 4 << 10;
const MAX_CHEAP_FILE_BYTES: u64 = 32 << 10;
const MAX_CHEAP_NOTES: usize = 64;
const MAX_CHEAP_LINKS: usize = 1024;

impl Engine {
    /// Returns a note with its content and links, up to the requested number of links.
    ///
    /// Fails on a name that no note has, and on a fragment that names no part of the note.
    pub fn note(&self, request: &NoteRequest) -> Result<NoteAnswer, EngineError> {
        let (name, max_links) = (&request.name, request.max_links()?);
        let snapshot = self.snapshot();
        let (found, fragment) = snapshot.notes.find_part(name);
        let mut answer =
            note_answer(&snapshot, &found, max_links).ok_or_else(|| unknown(&snapshot, name))?;
        if let (Some(id), Some(fragment)) = (found.note, fragment) {
            answer.section = Some(section(&snapshot, id, &fragment, &mut answer.warnings)?);
        }
        Ok(answer)
    }

    /// Returns a note if that is cheap: the name is its exact uri or path, the note and the notes that link to it are in memory and small, and they have few links and relatives.
    ///
    /// Returns `None` otherwise, and for an unknown name: call [`note`](Self::note) then.
    /// Neither reads nor decodes notes, but memory-mapped pages may have to be read again if the system is short of memory.
    #[must_use]
    pub fn note_if_cheap(&self, request: &NoteRequest) -> Option<NoteAnswer> {
        let (name, max_links) = (&request.name, request.max_links().ok()?);
        let snapshot = self.snapshot();
        let (notes, graph) = (&snapshot.notes, snapshot.notes.graph());
        if name.len() > MAX_CHEAP_NAME_BYTES {
            return None;
        }
        let found = notes.find_exact(name)?;
        let id = found.note?;
        let n_above = graph.ancestors(id).take(MAX_CHEAP_NOTES + 1).count();
        let (linking, n_below) = (graph.inbound(id), graph.children(id).len());
        if linking.len().max(n_below).max(n_above) > MAX_CHEAP_NOTES {
            return None;
        }
        let mut n_links = 0;
        for id in iter::once(id).chain(linking.iter().map(|half| half.other)) {
            let small =
                notes.loaded_entry(id).filter(|entry| entry.file.size <= MAX_CHEAP_FILE_BYTES);
            n_links += small?.note.links.len();
        }
        if n_links <= MAX_CHEAP_LINKS { note_answer(&snapshot, &found, max_links) } else { None }
    }

    /// Returns a page of the notes that match the filter, by uri.
    pub fn list(&self, request: &ListRequest) -> Result<ListAnswer, EngineError> {
        let ListRequest { filter, page_size: requested, page_token } = request;
        let page_size = page_size(*requested)?;
        let snapshot = self.snapshot();
        let passing = self.filter_matches(&snapshot, filter)?;
        let pages = PageTokens::of(&("notes", filter));
        let after = pages.after(page_token)?.map(Uri::new);
        let left = snapshot.notes.by_uri_after(after.as_ref());
        let left = left.filter(|(_, id)| passing.notes.contains(*id));
        let (page, next_page_token) = pages.cut(left, page_size, |(uri, _)| uri.to_string());
        Ok(ListAnswer {
            notes: page.into_iter().filter_map(|(_, id)| summary(&snapshot, id)).collect(),
            next_page_token,
            total: passing.notes.len().unwrap_or(snapshot.notes.n_notes()),
            warnings: passing.warnings(&snapshot, &self.stop)?.to_vec(),
            generation: snapshot.generation,
        })
    }

    /// Resolves `[[target]]` as a link in a note. A target without a note is an answer, not an error.
    pub fn resolve(&self, request: &ResolveRequest) -> Result<ResolveAnswer, EngineError> {
        let ResolveRequest { target, from } = request;
        if target.trim().is_empty() {
            let reason = "name a target: a uri, a path, a name or an alias".to_owned();
            return Err(EngineError::InvalidArgument { field: "target", reason });
        }
        let snapshot = self.snapshot();
        let notes = &snapshot.notes;
        let found = match from {
            None => notes.find_linked(target),
            Some(from) => notes.find_from(target, note_by_name(&snapshot, from)?),
        };
        let mut warnings = Vec::new();
        if let (Some(note), (_, Some(fragment))) = (found.note, notes.find_part(target))
            && let Err(unknown) = section(&snapshot, note, &fragment, &mut warnings)
        {
            warnings.push(Warning::new(WarningCode::UnknownFragment, unknown.to_string()));
        }
        Ok(ResolveAnswer {
            target: target.clone(),
            uri: found.note.map(|id| notes.graph().uri(id).clone()),
            path: found.note.and_then(|id| Some(notes.entry(id)?.note.path.as_str().to_owned())),
            rule: found.rule.map(str::to_owned),
            suggestions: if found.note.is_none() { notes.near_matches(target) } else { Vec::new() },
            candidates: found.candidates.into_iter().map(|id| reference(&snapshot, id)).collect(),
            warnings,
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
    let vault = snapshot.notes.summary(id).and_then(|summary| snapshot.notes.vault(summary.vault));
    vault.map_or_else(String::new, |info| info.name.clone())
}

/// Reads the type and tags of a note without keeping the note in memory.
pub(crate) fn kind_and_tags(notes: &NoteTable, id: NoteId) -> (Option<String>, Vec<String>) {
    let facets = notes.facets(id);
    facets.map(|it| (it.note_type.into_owned(), it.tags.into_owned())).unwrap_or_default()
}

pub(crate) fn summary(snapshot: &Snapshot, id: NoteId) -> Option<ListedNote> {
    let summary = snapshot.notes.summary(id)?;
    let (note_type, tags) = kind_and_tags(&snapshot.notes, id);
    Some(ListedNote {
        uri: snapshot.notes.graph().uri(id).clone(),
        vault: vault_of(snapshot, id),
        path: summary.path.to_owned(),
        title: summary.title.to_owned(),
        note_type,
        tags,
    })
}

/// Builds the answer for a resolved note, with at most `max_links` of each kind; `None` if its slot is empty.
fn note_answer(snapshot: &Snapshot, found: &Resolution, max_links: usize) -> Option<NoteAnswer> {
    let id = found.note?;
    let (notes, graph) = (&snapshot.notes, snapshot.notes.graph());
    let (entry, resolved) = (notes.entry(id)?, notes.resolved(id)?);
    let note = &entry.note;
    let reference = |id| reference(snapshot, id);
    let view = |link: &weft_model::Link, end: Option<NoteId>, target: Option<NoteId>| NoteLink {
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
    // An unresolved target of tentative syntax is plain text, not a link.
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
        embedding_current: snapshot.is_embedding_current(id),
        section: None,
        warnings: Vec::new(),
        hash: entry.file.hash,
        generation: snapshot.generation,
    })
}
