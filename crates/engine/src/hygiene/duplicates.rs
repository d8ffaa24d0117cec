//! Near-duplicate notes: pairs that share most of the shorter note's text.

use std::collections::HashSet;
use std::ops::Range;

use weft_index::Snapshot;
use weft_model::shingles::{shingle_spans, shingles};
use weft_model::{NoteId, Span};

use super::near_duplicate_pairs::{OverlappingPair, OverlappingPairs, overlapping_pairs};
use super::{
    BodyPlaces, RankedPage, check_now_and_then, excerpt, filter_warnings, note_ref, passing_notes,
};
use crate::{Engine, EngineError, Filter, NoteRef, Warning};

/// Share of the shorter note that a pair must share, if a request names none.
const DEFAULT_MIN_SHARE: f64 = 0.7;

/// Least share that a request may name: below it, notes of one form are duplicates of each other.
const LEAST_MIN_SHARE: f64 = 0.3;

/// Number of distinct runs of five words that a note needs to be compared: shorter notes are equal by chance.
const MIN_SHINGLES: usize = 20;

/// Maximum number of shingles held at once, at about 32 bytes each. Beyond it, only every second, fourth, … shingle is compared.
const MAX_SHINGLES: usize = 8_000_000;

/// Requests a page of near-duplicates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DuplicatesRequest {
    /// Restricts the notes that are compared.
    pub filter: Filter,
    /// Least share of the shorter note's text that the other contains, 0.3 to 1; `None` for 0.7.
    pub min_share: Option<f64>,
    /// Pairs per page, 1 to 1,000; 0 means 100.
    pub page_size: usize,
    /// Token of the previous page; empty for the first page.
    pub page_token: String,
}

/// A page of near-duplicates.
#[derive(Clone, Debug, PartialEq)]
pub struct DuplicatesAnswer {
    /// The pairs, those that share most first, then by the amount of shared text, then by uri.
    pub pairs: Vec<DuplicatePair>,
    /// Token of the next page; empty on the last page.
    pub next_page_token: String,
    /// Number of pairs on all pages.
    pub total: usize,
    /// True if there are more pairs than are counted.
    pub truncated: bool,
    /// One in this many runs of words was compared: 1 means all, so shares are exact.
    pub sampling: u64,
    /// Filter conditions that no note matches.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

/// Two notes that share text.
#[derive(Clone, Debug, PartialEq)]
pub struct DuplicatePair {
    /// The longer note; of equal ones, the first by uri.
    pub note: NoteRef,
    /// The other note.
    pub other: NoteRef,
    /// Share of the text of `other`, the shorter note, that `note` contains, 0 to 1.
    pub share: f64,
    /// Share of the text of `note` that `other` contains, 0 to 1.
    pub share_of_longer: f64,
    /// True if both consist of the same runs of words: they differ at most in case and punctuation.
    pub identical: bool,
    /// The longest passage found in both.
    pub example: Option<SharedPassage>,
}

/// A passage of two notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedPassage {
    /// The beginning of the passage, as `note` has it, on one line.
    pub text: String,
    /// Number of words in common, one after the other.
    pub n_words: usize,
    /// Place in the body of `note`, in characters, and its line.
    pub span: Span,
    /// Line in the body of `note`, from 1.
    pub line: u32,
    /// Place in the body of `other`, in characters.
    pub other_span: Span,
    /// Line in the body of `other`, from 1.
    pub other_line: u32,
}

/// The pairs of one generation, ranked.
pub(super) struct FoundPairs {
    pairs: Vec<ComparedPair>,
    truncated: bool,
    sampling: u64,
}

/// A pair without its texts.
struct ComparedPair {
    note: NoteId,
    other: NoteId,
    n_shared: usize,
    n_longer: usize,
    n_shorter: usize,
}

impl Engine {
    /// Returns the pairs of notes that share most of their text.
    ///
    /// Compares runs of five words, ignoring case and punctuation. Cost: reads every body once per generation and filter; some seconds for a million runs of words.
    /// Fails on a share out of range, an invalid filter and a token of another request.
    pub fn duplicates(&self, request: &DuplicatesRequest) -> Result<DuplicatesAnswer, EngineError> {
        let DuplicatesRequest { filter, min_share, page_size, page_token } = request;
        let min_share = min_share.unwrap_or(DEFAULT_MIN_SHARE);
        if !(LEAST_MIN_SHARE..=1.0).contains(&min_share) {
            let reason = format!("{min_share} is not between {LEAST_MIN_SHARE} and 1");
            return Err(EngineError::InvalidArgument { field: "min_share", reason });
        }
        let key = format!("{:?}", (filter, min_share.to_bits()));
        let page = RankedPage::of(&("duplicates", &key), *page_size, page_token)?;
        let snapshot = self.snapshot();
        let passing = self.filter_matches(&snapshot, filter)?;
        let warnings = filter_warnings(&snapshot, &passing, &self.stop)?;
        let cache = &self.hygiene.duplicates;
        let found = match cache.get(snapshot.generation, &key) {
            Some(found) => found,
            None => {
                let ids: Vec<NoteId> = passing_notes(&snapshot, &passing).collect();
                let found = std::sync::Arc::new(self.compare(&snapshot, &ids, min_share)?);
                cache.insert(snapshot.generation, key, std::sync::Arc::clone(&found));
                found
            }
        };
        let (pairs, next_page_token) = page.cut(&found.pairs);
        let view = |(at, pair): (usize, &ComparedPair)| {
            check_now_and_then(&self.stop, at)?;
            Ok::<_, EngineError>(view(&snapshot, pair))
        };
        Ok(DuplicatesAnswer {
            pairs: pairs.iter().enumerate().map(view).collect::<Result<_, _>>()?,
            next_page_token,
            total: found.pairs.len(),
            truncated: found.truncated,
            sampling: found.sampling,
            warnings,
            generation: snapshot.generation,
        })
    }

    /// Compares `ids`, which are in order of uri.
    fn compare(
        &self,
        snapshot: &Snapshot,
        ids: &[NoteId],
        min_share: f64,
    ) -> Result<FoundPairs, EngineError> {
        let mut sampling = 1_u64;
        let mut n_held = 0;
        let mut notes: Vec<(NoteId, Vec<u64>)> = Vec::new();
        for (at, id) in ids.iter().enumerate() {
            check_now_and_then(&self.stop, at)?;
            let mut set = shingles(snapshot.notes.body(*id).unwrap_or_default());
            set.sort_unstable();
            set.dedup();
            if set.len() < MIN_SHINGLES {
                continue;
            }
            set.retain(|shingle| shingle.is_multiple_of(sampling));
            n_held += set.len();
            notes.push((*id, set));
            while n_held > MAX_SHINGLES {
                sampling *= 2;
                notes.iter_mut().for_each(|(_, set)| set.retain(|it| it.is_multiple_of(sampling)));
                n_held = notes.iter().map(|(_, set)| set.len()).sum();
            }
        }
        let sets: Vec<&[u64]> = notes.iter().map(|(_, set)| &**set).collect();
        let OverlappingPairs { pairs, truncated } =
            overlapping_pairs(&sets, min_share, &self.stop)?;
        let mut pairs: Vec<ComparedPair> = pairs
            .into_iter()
            .map(|OverlappingPair { a, b, n_shared }| {
                let (longer, shorter) = if sets[b].len() > sets[a].len() { (b, a) } else { (a, b) };
                ComparedPair {
                    note: notes[longer].0,
                    other: notes[shorter].0,
                    n_shared,
                    n_longer: sets[longer].len(),
                    n_shorter: sets[shorter].len(),
                }
            })
            .collect();
        let uri = |id: NoteId| snapshot.notes.graph().uri(id);
        // Shares are compared as fractions, so that equal ones are equal.
        pairs.sort_by(|x, y| {
            (y.n_shared * x.n_shorter)
                .cmp(&(x.n_shared * y.n_shorter))
                .then_with(|| (y.n_shared * x.n_longer).cmp(&(x.n_shared * y.n_longer)))
                .then_with(|| y.n_shared.cmp(&x.n_shared))
                .then_with(|| (uri(x.note), uri(x.other)).cmp(&(uri(y.note), uri(y.other))))
        });
        Ok(FoundPairs { pairs, truncated, sampling })
    }
}

fn view(snapshot: &Snapshot, pair: &ComparedPair) -> DuplicatePair {
    let ComparedPair { note, other, n_shared, n_longer, n_shorter } = *pair;
    let body = |id| snapshot.notes.body(id).unwrap_or_default();
    DuplicatePair {
        note: note_ref(snapshot, note),
        other: note_ref(snapshot, other),
        share: share(n_shared, n_shorter),
        share_of_longer: share(n_shared, n_longer),
        identical: n_shared == n_longer,
        example: longest_shared_passage(body(note), body(other)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
fn share(n_shared: usize, n: usize) -> f64 {
    n_shared as f64 / n.max(1) as f64
}

/// Returns the longest run of words of `body` of which every five occur in `other` in this order; the first of several.
fn longest_shared_passage(body: &str, other: &str) -> Option<SharedPassage> {
    let spans = shingle_spans(body);
    let other_spans = shingle_spans(other);
    let known: HashSet<u64> = other_spans.iter().map(|(shingle, _)| *shingle).collect();
    let (mut best, mut start) = (0..0, 0);
    for (at, (shingle, _)) in spans.iter().enumerate() {
        if !known.contains(shingle) {
            start = at + 1;
        } else if at + 1 - start > best.len() {
            best = start..at + 1;
        }
    }
    if best.is_empty() {
        return None;
    }
    let bytes = spans[best.start].1.start..spans[best.end - 1].1.end;
    let first = other_spans.iter().find(|(shingle, _)| *shingle == spans[best.start].0)?;
    let last = other_spans
        .iter()
        .rfind(|(shingle, span)| *shingle == spans[best.end - 1].0 && span.end >= first.1.end)?;
    let other_bytes: Range<usize> = first.1.start..last.1.end;
    let (span, line) = BodyPlaces::of(body).span(&bytes);
    let (other_span, other_line) = BodyPlaces::of(other).span(&other_bytes);
    Some(SharedPassage {
        text: excerpt(&body[bytes]),
        n_words: best.len() + 4,
        span,
        line,
        other_span,
        other_line,
    })
}
