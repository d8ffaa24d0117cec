//! Evidence: how well each passage of a note answers the query, by the formula that ranks notes.

use weft_accordion::CandidatePassage;
use weft_gars::bridge::{self, Remainder};
use weft_index::Snapshot;
use weft_index::keyword::{Language, ScoredPassage};
use weft_index::notes::NoteEntry;
use weft_index::vector::{RowId, VectorSearch as _};
use weft_model::{NoteId, NoteMap, Span};

use super::passage_evidence::{EvidenceParts, NoteEvidence, PartWords, covers};
use super::prepared_query::{CandidatePool, PreparedQuery, word_share};
use super::{Connection, Lift, Lifts};
use crate::EngineError;
use crate::analyzer_pool::AnalyzerPool;

/// Share of the remainder that a passage counts as answering because it holds the link that connects its note with a hit.
const LINK_EVIDENCE: f64 = 0.5;

/// Length in characters below which a passage after the first one of its note is taken for boilerplate, such as `TBD`, if it contains no word of the query.
const BOILERPLATE_CHARS: u32 = 150;

/// Share of its keyword score that such a passage keeps; it only has that score by the title and the tags of its note.
const BOILERPLATE_SHARE: f64 = 0.25;

/// Evidence of the passage with which a note begins, if there is no query.
const LEAD_EVIDENCE: f64 = 1.0;

/// Evidence of the section that most notes link to, if there is no query.
const LINKED_EVIDENCE: f64 = 0.9;

/// Evidence of the second passage of a note, if there is no query; the next ones have half, a third, and so on.
const FURTHER_EVIDENCE: f64 = 0.5;

/// Maximum number of links to a note that are read for the sections they lead to.
const MAX_LINKS_READ: usize = 64;

impl PreparedQuery<'_> {
    /// Returns the passages of each of `notes` with their evidence.
    ///
    /// The evidence of a passage is its similarity: its keyword score and the score of the chunk around it, raised by the name of its note unless it is boilerplate.
    /// A connection raises it by what the passage adds to the hit that the connection starts from: an answer to words that the hit leaves unanswered, or the link itself.
    pub(super) fn evidence(
        &self,
        notes: &[NoteId],
        pool: &CandidatePool,
        lifts: &Lifts,
    ) -> Result<NoteMap<Vec<CandidatePassage>>, EngineError> {
        let mut ids = notes.to_vec();
        ids.extend(notes.iter().filter_map(|id| Some(lifts.by_note.get(id)?.from)));
        ids.sort_unstable();
        ids.dedup();
        let known = self.own_evidence(&ids)?;
        let weights: Vec<f64> = self.words.terms().iter().map(|term| term.weight()).collect();
        let mut remainders: NoteMap<Remainder> = NoteMap::default();
        let mut found = NoteMap::default();
        for id in notes {
            let Some(NoteEvidence { passages, own, parts }) = known.get(id) else { continue };
            let mut evidence = own.clone();
            // The first text of a note is its lead, however short it is.
            let n_leading = passages.iter().take_while(|passage| passage.is_bare).count() + 1;
            let further = evidence.iter_mut().zip(parts).zip(passages).skip(n_leading);
            for ((evidence, parts), passage) in further {
                if !passage.has_query_words && passage.span.len() < BOILERPLATE_CHARS {
                    *evidence = self.base(parts.vector, BOILERPLATE_SHARE * parts.keyword);
                }
            }
            if let Some(lift) = lifts.by_note.get(id) {
                let best = || known.get(&lift.from).and_then(NoteEvidence::best);
                let covers_of_hit = || best().map(|best| best.covers).unwrap_or_default();
                let remainder = remainders
                    .entry(lift.from)
                    .or_insert_with(|| Remainder::new(&weights, &covers_of_hit()));
                let hit = pool.similarity(lift.from);
                let holder = self.link_holder(*id, lift);
                for (at, (passage, evidence)) in passages.iter().zip(&mut evidence).enumerate() {
                    let holds = holder.is_some_and(|link| contains(passage.span, link));
                    let link = if holds { LINK_EVIDENCE } else { 0.0 };
                    let adds = || remainder.answered(&covers(passage));
                    let strength = match lift.passages.get(at) {
                        Some(strength) => strength.max(lift.strength * link),
                        None => lift.strength * adds().max(link),
                    };
                    *evidence += bridge::closed_gap(strength, hit, *evidence);
                }
            }
            let with_words = passages.iter().zip(evidence).filter(|(scored, _)| scored.has_words);
            let passage = |(scored, evidence): (&ScoredPassage, f64)| CandidatePassage {
                span: scored.span,
                evidence,
                is_bare: scored.is_bare,
            };
            found.insert(*id, with_words.map(passage).collect());
        }
        Ok(found)
    }

    /// Returns the words of a part of a note's body, or of all of it.
    pub(super) fn part_words(
        &self,
        id: NoteId,
        part: Option<Span>,
        language: Language,
        analyzers: &AnalyzerPool,
    ) -> PartWords {
        let mut words = PartWords::default();
        let Some(entry) = self.snapshot.notes.entry(id) else { return words };
        analyzers.with(|analyzer| {
            let text = part.map_or(&*entry.body, |part| part.slice(&entry.body));
            analyzer.analyze(text, language, |token| {
                if let Some(name) = token.name_form() {
                    words.terms.push(token.term().to_owned());
                    words.names.push(name.to_owned());
                }
            });
        });
        words
    }

    /// Returns the passages of each of the ascending `ids` with the evidence of their text and of their note's name.
    pub(super) fn own_evidence(
        &self,
        ids: &[NoteId],
    ) -> Result<NoteMap<NoteEvidence>, EngineError> {
        let scored = self.snapshot.keyword.passages(&self.words, ids)?;
        let chunk_scores = self.chunk_scores(ids)?;
        let attainable = self.words.max_score();
        let mut found = NoteMap::default();
        for ((id, scored), chunk_scores) in ids.iter().zip(scored).zip(chunk_scores) {
            // Reading the note takes time, and its chunks matter only with vectors.
            let entry = (!chunk_scores.is_empty()).then(|| self.snapshot.notes.entry(*id));
            let chunks = entry.flatten().map(|entry| &*entry.chunks).unwrap_or_default();
            let (of_note, sections) = (self.mention(*id), self.named_sections(*id));
            let parts = scored.passages.iter().enumerate().map(|(at, passage)| {
                let around = chunks.iter().zip(&chunk_scores);
                let around = around.filter(|(chunk, _)| is_around(chunk.span, passage.span));
                let vector = around.filter_map(|(_, cosine)| *cosine).reduce(f32::max);
                let keyword =
                    if attainable > 0.0 { word_share(passage.score, attainable) } else { 0.0 };
                let around =
                    sections.iter().filter(|it| is_below(&scored.passages, at, it.passage));
                let mention = around.map(|section| section.share).fold(of_note, f64::max);
                EvidenceParts { vector, keyword, mention }
            });
            let parts: Vec<EvidenceParts> = parts.collect();
            let own = parts.iter().map(|EvidenceParts { vector, keyword, mention }| {
                bridge::similarity(self.base(*vector, *keyword), *mention).clamp(0.0, 1.0)
            });
            let own = own.collect();
            found.insert(*id, NoteEvidence { passages: scored.passages, own, parts });
        }
        Ok(found)
    }

    /// Returns the cosine of each chunk of each of `ids`; `None` for a chunk without a vector.
    pub(super) fn chunk_scores(
        &self,
        ids: &[NoteId],
    ) -> Result<Vec<Vec<Option<f32>>>, EngineError> {
        let (Some(vector), Some(vectors)) = (&self.vector, self.vectors) else {
            return Ok(vec![Vec::new(); ids.len()]);
        };
        let rows: Vec<&[Option<RowId>]> = ids.iter().map(|id| vectors.rows.of(*id)).collect();
        let known: Vec<RowId> = rows.iter().copied().flatten().flatten().copied().collect();
        let mut scores = vectors.index.similarities(vector, &known)?.into_iter();
        let mut score = |row: &Option<RowId>| row.and_then(|_| scores.next());
        Ok(rows.iter().map(|rows| rows.iter().map(&mut score).collect()).collect())
    }

    /// Returns the place in a note of its first link to the hit that lifts it, if a link from the note connects them.
    fn link_holder(&self, id: NoteId, lift: &Lift) -> Option<Span> {
        if lift.connection != Connection::Backlink {
            return None;
        }
        let notes = &self.snapshot.notes;
        let links = &notes.entry(id)?.note.links;
        let mut written = links.iter().filter_map(|link| Some((link, link.span?)));
        let leads = |target| notes.target_from(target, id).note == Some(lift.from);
        written.find(|(link, _)| leads(&link.target)).map(|(_, span)| span)
    }
}

/// Returns the passages of a note with the evidence of their place: those with which a reader would begin.
///
/// The lead comes first, then sections that other notes link to, then the other passages in order.
pub(crate) fn evidence_of_place(
    snapshot: &Snapshot,
    id: NoteId,
) -> Result<Vec<CandidatePassage>, EngineError> {
    let Some(entry) = snapshot.notes.entry(id) else { return Ok(Vec::new()) };
    let linked = linked_sections(snapshot, id, entry);
    let most = linked.iter().map(|(_, n_links)| *n_links).max().unwrap_or(1);
    let mut n_before = 0.0;
    let places = snapshot.keyword.places(id)?.into_iter().map(|(span, is_bare)| {
        let n_links: u32 = linked
            .iter()
            .filter(|(section, _)| contains(span, *section) || section.start == span.start)
            .map(|(_, n_links)| n_links)
            .sum();
        let by_links = LINKED_EVIDENCE * f64::from(n_links.min(most)) / f64::from(most);
        let by_place = if n_before < 1.0 { LEAD_EVIDENCE } else { FURTHER_EVIDENCE / n_before };
        n_before += if is_bare { 0.0 } else { 1.0 };
        CandidatePassage { span, evidence: by_links.max(by_place), is_bare }
    });
    Ok(places.collect())
}

/// Returns the headings of a note that other notes link to, each with the number of links read.
fn linked_sections(snapshot: &Snapshot, id: NoteId, entry: &NoteEntry) -> Vec<(Span, u32)> {
    let notes = &snapshot.notes;
    let mut sections: Vec<(Span, u32)> = Vec::new();
    if entry.note.headings.is_empty() {
        return sections;
    }
    let mut origins: Vec<NoteId> =
        notes.graph().inbound(id).iter().take(MAX_LINKS_READ).map(|edge| edge.other).collect();
    origins.dedup();
    for origin in origins.into_iter().filter(|origin| *origin != id) {
        let links = notes.entry(origin).map(|entry| &*entry.note.links).unwrap_or_default();
        for link in links {
            let Some(fragment) = &link.fragment else { continue };
            let last = fragment.rsplit('#').next().unwrap_or(fragment);
            let heading = entry.note.headings.iter().find(|heading| heading.text == last);
            let leads = || notes.target_from(&link.target, origin).note == Some(id);
            if let Some(heading) = heading.filter(|_| leads()) {
                match sections.iter_mut().find(|(span, _)| *span == heading.span) {
                    Some((_, n_links)) => *n_links += 1,
                    None => sections.push((heading.span, 1)),
                }
            }
        }
    }
    sections
}

/// True if the passage at position `at` is in the section that begins with passage `first`.
pub(super) fn is_below(passages: &[ScoredPassage], at: usize, first: usize) -> bool {
    let mut section = Some(at);
    while let Some(next) = section.filter(|next| *next > first) {
        section = passages[next].above;
    }
    section == Some(first)
}

/// True if the two spans share at least half of the shorter one, so that a vector of the chunk speaks for the passage.
fn is_around(chunk: Span, passage: Span) -> bool {
    let shared = chunk.end.min(passage.end).saturating_sub(chunk.start.max(passage.start));
    shared > 0 && 2 * u64::from(shared) >= u64::from(chunk.len().min(passage.len()))
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
