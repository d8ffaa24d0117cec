//! Questions about the condition of a vault: near-duplicates, missing links, stale notes and broken links.
//!
//! Each is a pass over the notes of one snapshot. Passes over all texts are cached per generation, so that pages are cheap.

mod broken_links;
mod duplicates;
mod linkable_text;
mod near_duplicate_pairs;
mod stale_notes;
mod suggested_links;

use std::fmt::Debug;
use std::sync::Arc;

use weft_model::{NoteId, Span, Stop};

use crate::filter::FilterMatches;
use crate::generation_cache::GenerationCache;
use crate::page_token::{self, PageTokens, foreign};
use crate::{EngineError, NoteRef, Warning};
use weft_index::Snapshot;

pub use broken_links::{
    BrokenLink, BrokenLinksAnswer, BrokenLinksRequest, BrokenPlace, FixReason, LinkFix,
};
pub use duplicates::{DuplicatePair, DuplicatesAnswer, DuplicatesRequest, SharedPassage};
pub use stale_notes::{ChangeSource, StaleNote, StaleNotesAnswer, StaleNotesRequest};
pub use suggested_links::{
    LinkedText, MentionToLink, SuggestedLink, SuggestedLinksAnswer, SuggestedLinksRequest,
};

/// Results of passes over all texts, of the newest generations.
#[derive(Clone)]
pub(crate) struct HygieneCache {
    duplicates: Arc<GenerationCache<String, duplicates::FoundPairs>>,
    suggestions: Arc<GenerationCache<String, Vec<suggested_links::FoundMention>>>,
}

impl Default for HygieneCache {
    fn default() -> Self {
        Self {
            duplicates: Arc::new(GenerationCache::new(2)),
            suggestions: Arc::new(GenerationCache::new(2)),
        }
    }
}

/// Returns the notes that pass a filter, by uri.
fn passing_notes<'s>(
    snapshot: &'s Snapshot,
    passing: &'s FilterMatches,
) -> impl Iterator<Item = NoteId> + 's {
    let notes = snapshot.notes.by_uri_after(None).map(|(_, id)| id);
    notes.filter(|id| passing.notes.contains(*id) && snapshot.notes.is_note(*id))
}

fn note_ref(snapshot: &Snapshot, id: NoteId) -> NoteRef {
    let uri = snapshot.notes.graph().uri(id).clone();
    NoteRef { uri, title: snapshot.notes.title(id).to_owned() }
}

/// A page of a ranked list, of which positions are stable within a generation.
struct RankedPage {
    first: usize,
    size: usize,
    tokens: PageTokens,
}

impl RankedPage {
    /// Reads the page of a request; `parts` identify its list.
    fn of(parts: &impl Debug, size: usize, token: &str) -> Result<Self, EngineError> {
        let size = page_token::page_size(size)?;
        let tokens = PageTokens::of(parts);
        let last = tokens.after(token)?.map(|last| last.parse().map_err(|_| foreign()));
        let first: usize = last.transpose()?.map_or(0, |last: usize| last.saturating_add(1));
        Ok(Self { first, size, tokens })
    }

    /// Returns the items of the page and the token of the next one.
    fn cut<'t, T>(&self, all: &'t [T]) -> (&'t [T], String) {
        let start = self.first.min(all.len());
        let end = start.saturating_add(self.size).min(all.len());
        let next =
            if end < all.len() { self.tokens.token(&(end - 1).to_string()) } else { String::new() };
        (&all[start..end], next)
    }
}

/// Maximum number of characters of an excerpt.
const MAX_EXCERPT_CHARS: usize = 240;

/// Converts ascending positions of one body from bytes to characters and lines.
struct BodyPlaces<'b> {
    body: &'b str,
    byte: usize,
    n_chars: u32,
    line: u32,
}

impl<'b> BodyPlaces<'b> {
    const fn of(body: &'b str) -> Self {
        Self { body, byte: 0, n_chars: 0, line: 1 }
    }

    /// Returns the position in characters, and the line from 1, of a byte that is not before the previous one.
    fn at(&mut self, byte: usize) -> (u32, u32) {
        let between = &self.body[self.byte..byte];
        let n_chars = u32::try_from(between.chars().count()).unwrap_or(u32::MAX);
        let n_lines = u32::try_from(between.matches('\n').count()).unwrap_or(u32::MAX);
        self.byte = byte;
        self.n_chars = self.n_chars.saturating_add(n_chars);
        self.line = self.line.saturating_add(n_lines);
        (self.n_chars, self.line)
    }

    /// Returns the characters and the first line of a range in bytes.
    fn span(&mut self, bytes: &std::ops::Range<usize>) -> (Span, u32) {
        let (start, line) = self.at(bytes.start);
        let (end, _) = self.at(bytes.end);
        (Span::new(start, end), line)
    }
}

/// Returns `text` on one line, cut to the length of an excerpt.
fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// Number of notes between two checks for cancellation.
const NOTES_PER_CHECK: usize = 64;

/// Checks for cancellation from time to time.
fn check_now_and_then(stop: &Stop, at: usize) -> Result<(), EngineError> {
    if at.is_multiple_of(NOTES_PER_CHECK) {
        stop.check().map_err(EngineError::from)
    } else {
        Ok(())
    }
}

/// Returns the warnings of a filter.
fn filter_warnings(
    snapshot: &Snapshot,
    passing: &FilterMatches,
    stop: &Stop,
) -> Result<Vec<Warning>, EngineError> {
    Ok(passing.warnings(snapshot, stop)?.to_vec())
}
