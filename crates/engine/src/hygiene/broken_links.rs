//! Broken links: links without a target, with the notes that they most likely mean.

use weft_graph::walk::{self, UnresolvedTarget};
use weft_index::Snapshot;
use weft_index::notes::{LikelyTarget, LikelyTargets};
use weft_model::text::byte_of_char;
use weft_model::{NoteId, Span, Uri};

use super::{BodyPlaces, RankedPage, filter_warnings, note_ref};
use crate::{Engine, EngineError, Filter, NoteRef, Warning};

/// Maximum number of links named of one target; others are counted.
const MAX_PLACES: usize = 20;

/// Requests a page of broken links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokenLinksRequest {
    /// Restricts the linking notes.
    pub filter: Filter,
    /// Targets per page, 1 to 1,000; 0 means 100.
    pub page_size: usize,
    /// Token of the previous page; empty for the first page.
    pub page_token: String,
}

/// A page of broken links.
#[derive(Clone, Debug, PartialEq)]
pub struct BrokenLinksAnswer {
    /// By missing target: those that most notes link to first, then by name.
    pub links: Vec<BrokenLink>,
    /// Token of the next page; empty on the last page.
    pub next_page_token: String,
    /// Number of missing targets on all pages.
    pub total: usize,
    /// Filter conditions that no note matches.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

/// The links to one missing target.
#[derive(Clone, Debug, PartialEq)]
pub struct BrokenLink {
    /// The name that no note has.
    pub target: Uri,
    /// The first 20 places of its links, by uri and in the order of each text.
    pub places: Vec<BrokenPlace>,
    /// Number of notes that link to it.
    pub n_notes: usize,
    /// Notes of the target's vault that the links most likely mean, best first; empty if the note was probably never written.
    pub fixes: Vec<LinkFix>,
}

/// One broken link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenPlace {
    /// The linking note.
    pub note: NoteRef,
    /// Place in its body, in characters; `None` for a link of the frontmatter.
    pub span: Option<Span>,
    /// Line of its body, from 1; `None` for a link of the frontmatter.
    pub line: Option<u32>,
}

/// A note that a broken link most likely means.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkFix {
    /// The note.
    pub note: NoteRef,
    /// Why it is likely.
    pub reason: FixReason,
    /// Similarity of the names, 0.85 to 1.
    pub similarity: f64,
}

/// Reason why a note is the likely target of a broken link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixReason {
    /// It has this name in another folder, or in another spelling of case, spaces and hyphens.
    SameName,
    /// It has a similar name: the link is probably misspelled.
    SimilarName,
}

impl Engine {
    /// Returns the links whose targets no note has, with the notes that they most likely mean.
    ///
    /// Cost: compares each target of the page with all names. Fails on an invalid filter and a token of another request.
    pub fn broken_links(
        &self,
        request: &BrokenLinksRequest,
    ) -> Result<BrokenLinksAnswer, EngineError> {
        let BrokenLinksRequest { filter, page_size, page_token } = request;
        let page = RankedPage::of(&("broken", filter), *page_size, page_token)?;
        let snapshot = self.snapshot();
        let passing = self.filter_matches(&snapshot, filter)?;
        let warnings = filter_warnings(&snapshot, &passing, &self.stop)?;
        let mut targets = walk::unresolved(snapshot.notes.graph(), &passing.notes);
        self.stop.check()?;
        // Stable: targets of as many notes remain in order of their names.
        targets.sort_by_key(|target| std::cmp::Reverse(target.from.len()));
        let (targets_of_page, next_page_token) = page.cut(&targets);
        let likely = LikelyTargets::of(&snapshot.notes);
        let view = |target: &UnresolvedTarget| {
            self.stop.check()?;
            Ok::<_, EngineError>(view(&snapshot, &likely, target))
        };
        Ok(BrokenLinksAnswer {
            links: targets_of_page.iter().map(view).collect::<Result<_, _>>()?,
            next_page_token,
            total: targets.len(),
            warnings,
            generation: snapshot.generation,
        })
    }
}

fn view(
    snapshot: &Snapshot,
    likely: &LikelyTargets<'_>,
    unresolved: &UnresolvedTarget,
) -> BrokenLink {
    let UnresolvedTarget { target, from } = unresolved;
    let uri = snapshot.notes.graph().uri(*target);
    let fix = |LikelyTarget { note, similarity, same_name }| LinkFix {
        note: note_ref(snapshot, note),
        reason: if same_name { FixReason::SameName } else { FixReason::SimilarName },
        similarity,
    };
    BrokenLink {
        target: uri.clone(),
        places: from
            .iter()
            .flat_map(|note| places(snapshot, *note, *target))
            .take(MAX_PLACES)
            .collect(),
        n_notes: from.len(),
        fixes: likely.find(uri.as_str()).into_iter().map(fix).collect(),
    }
}

/// Returns the places of the links from `note` to `target`.
fn places(snapshot: &Snapshot, note: NoteId, target: NoteId) -> Vec<BrokenPlace> {
    let notes = &snapshot.notes;
    let (Some(entry), Some(resolved)) = (notes.entry(note), notes.resolved(note)) else {
        return Vec::new();
    };
    let links = entry.note.links.iter().zip(&resolved.targets);
    let mut spans: Vec<Option<Span>> =
        links.filter(|(_, to)| **to == Some(target)).map(|(link, _)| link.span).collect();
    spans.sort_by_key(|span| span.map(|span| span.start));
    let mut places = BodyPlaces::of(&entry.body);
    let mut line = |span: Span| places.at(byte_of_char(&entry.body, span.start as usize)).1;
    let place = |span: Option<Span>| BrokenPlace {
        note: note_ref(snapshot, note),
        span,
        line: span.map(&mut line),
    };
    spans.into_iter().map(place).collect()
}
