//! The candidate notes of a context, from all its sources.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use weft_accordion::{Candidate, CandidatePassage, CandidateState, Document, PackingProfile};
use weft_graph::doughnut::{self, Options, Reason, Relation, Relations, doughnut};
use weft_graph::walk::{TreeEdge, Visit, breadcrumb};
use weft_index::Snapshot;
use weft_index::notes::NoteEntry;
use weft_model::encoded_data::CutText;
use weft_model::tokens::Unit;
use weft_model::{Chars, Heading, NoteId, NoteMap, NoteSet, Span, Tokens, Uri};

use super::{ContextRequest, ContextSource, FocusSource, NamedNote};
use crate::focus_surroundings::FocusSurroundings;
use crate::related::{RelationSet, refused};
use crate::search::Ranking;
use crate::search::evidence::evidence_of_place;
use crate::walk::TreeWalkRequest;
use crate::{Engine, EngineError, Warning, ambiguity, named_part, resolve_part};

/// Minimum score at which a best hit scores as a named note: a lower score hardly relates to the query.
///
/// Source: Shadow graph guide, "Precision controls", where a hit below it adds no other notes.
const MIN_NAMED_SCORE: f64 = weft_gars::classic::EXPANSION_FLOOR;

/// Maximum number of named notes.
const MAX_NOTES: usize = 10_000;

/// The candidate notes of a context, and how they were found.
#[derive(Default)]
pub(super) struct CandidateSet<'s> {
    pub(super) focus: Option<Candidate<NoteText<'s>>>,
    pub(super) candidates: Vec<Candidate<NoteText<'s>>>,
    /// The parts of notes that were named by a fragment.
    pub(super) parts: NoteMap<Span>,
    pub(super) truncated_by: Vec<ContextSource>,
    /// Relations used around the focus note; `None` without one.
    pub(super) relations: Option<RelationSet>,
    pub(super) warnings: Vec<Warning>,
}

impl CandidateSet<'_> {
    /// Restricts each note of which a part was named to that part, whatever its source.
    fn restrict_to_parts(&mut self, snapshot: &Snapshot) {
        let Self { focus, candidates, parts, .. } = self;
        if parts.is_empty() {
            return;
        }
        for candidate in focus.iter_mut().chain(candidates) {
            let found = snapshot.notes.find_exact(candidate.uri.as_str());
            let part = found.and_then(|found| parts.get(&found.note?));
            if let (CandidateState::Found(text), Some(part)) = (&mut candidate.state, part) {
                *text = text.clone().with_part(*part);
            }
        }
    }

    /// Adds a named part of a note. Of several parts, everything from the first to the last is included.
    fn add_part(&mut self, note: NoteId, part: Span) {
        let parts = self.parts.entry(note).or_insert(part);
        *parts = Span::new(parts.start.min(part.start), parts.end.max(part.end));
    }

    /// Adds warnings without repeating any: the filter of a walk may equal the filter of the context.
    fn warn(&mut self, warnings: &[Warning]) {
        for warning in warnings {
            if !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
    }
}

/// The text of a note in a snapshot.
#[derive(Clone)]
pub(super) struct NoteText<'s> {
    id: NoteId,
    entry: &'s NoteEntry,
    /// The included part of the body; `None` for the whole body.
    part: Option<Span>,
    /// That part without its encoded data; `None` if it contains none.
    cut: Option<Rc<CutText>>,
    length: Chars,
    best_chunk: Option<Span>,
    passages: Rc<[CandidatePassage]>,
}

impl<'s> NoteText<'s> {
    fn new(id: NoteId, entry: &'s NoteEntry, part: Option<Span>) -> Self {
        let written = part.map_or(&*entry.body, |part| part.slice(&entry.body));
        let cut = CutText::of(written).map(Rc::new);
        let length = Chars::of(cut.as_ref().map_or(written, |cut| cut.as_str()));
        Self { id, entry, part, cut, length, best_chunk: None, passages: Rc::default() }
    }

    /// Restricts the text to a part of the body.
    fn with_part(self, part: Span) -> Self {
        let Self { id, entry, best_chunk, passages, .. } = self;
        Self { best_chunk, passages, ..Self::new(id, entry, Some(part)) }
    }

    /// Returns the included text, without encoded data.
    fn text(&self) -> &str {
        let written = || self.part.map_or(&*self.entry.body, |part| part.slice(&self.entry.body));
        self.cut.as_ref().map_or_else(written, |cut| cut.as_str())
    }

    /// Returns a range of the body as a range of the included text; `None` if it begins elsewhere.
    fn in_text(&self, span: Span) -> Option<Span> {
        let part = self.part.unwrap_or_else(|| Span::new(0, u32::MAX));
        let is_inside = part.start <= span.start && span.start < part.end;
        let span = Span::new(span.start, span.end.min(part.end));
        is_inside.then(|| self.without_cuts(span.start - part.start..span.end - part.start))
    }

    /// Returns the place of a range of the included part in the text without encoded data.
    fn without_cuts(&self, range: Range<u32>) -> Span {
        let span = Span::new(range.start, range.end);
        self.cut.as_ref().map_or(span, |cut| cut.cut(span))
    }
}

/// Places of a note's text in a context: of the included part, without encoded data.
pub(super) struct TextPlaces<'s> {
    body: &'s str,
    start: u32,
    cut: Option<CutText>,
}

impl<'s> TextPlaces<'s> {
    pub(super) fn new(body: &'s str, part: Option<Span>) -> Self {
        let written = part.map_or(body, |part| part.slice(body));
        Self { body, start: part.map_or(0, |part| part.start), cut: CutText::of(written) }
    }

    /// True if the text is the whole body.
    pub(super) const fn is_whole(&self) -> bool {
        self.start == 0 && self.cut.is_none()
    }

    /// Returns the place of a range of the text in the body.
    pub(super) fn in_body(&self, span: Span) -> Span {
        let span = self.cut.as_ref().map_or(span, |cut| cut.restore(span));
        Span::new(span.start + self.start, span.end + self.start)
    }

    /// Returns the first and the last line of a range of the body; the first line of the body is 1.
    pub(super) fn lines(&self, span: Span) -> (u32, u32) {
        let line = |end: u32| {
            let before = Span::new(0, end).slice(self.body);
            let n_newlines = before.bytes().filter(|byte| *byte == b'\n').count();
            u32::try_from(n_newlines).unwrap_or(u32::MAX).saturating_add(1)
        };
        (line(span.start), line(span.end))
    }
}

impl Document for NoteText<'_> {
    fn length(&self) -> Chars {
        self.length
    }

    fn body(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.text())
    }

    fn headings(&self) -> Cow<'_, [Heading]> {
        let headings = &self.entry.note.headings;
        if self.part.is_none() && self.cut.is_none() {
            return Cow::Borrowed(headings);
        }
        let in_text = |heading: &Heading| {
            Some(Heading { span: self.in_text(heading.span)?, ..heading.clone() })
        };
        headings.iter().filter_map(in_text).collect()
    }

    fn passages(&self) -> Cow<'_, [CandidatePassage]> {
        if self.part.is_none() && self.cut.is_none() {
            return Cow::Borrowed(&self.passages);
        }
        let part = self.part.unwrap_or_else(|| Span::new(0, u32::MAX));
        let in_text = |passage: &CandidatePassage| {
            let start = passage.span.start.max(part.start);
            let end = passage.span.end.min(part.end);
            let is_inside = start < end;
            let span =
                is_inside.then(|| self.without_cuts(start - part.start..end - part.start))?;
            (span.start < span.end).then_some(CandidatePassage { span, ..*passage })
        };
        self.passages.iter().filter_map(in_text).collect()
    }

    fn best_chunk(&self) -> Option<Span> {
        self.best_chunk.and_then(|chunk| self.in_text(chunk))
    }

    /// An empty note duplicates no other note.
    fn copies(&self, other: &Self) -> bool {
        // Comparing the lengths first avoids nearly all comparisons of texts.
        self.length == other.length && !self.text().trim().is_empty() && self.text() == other.text()
    }
}

impl Engine {
    /// Collects the notes of all sources of `request`, in the order of [`ContextSource`].
    pub(super) fn candidate_set<'s>(
        &self,
        snapshot: &'s Snapshot,
        request: &ContextRequest,
    ) -> Result<CandidateSet<'s>, EngineError> {
        let ContextRequest { focus, walk, notes, notes_only, limit, .. } = request;
        let limit = limit.unwrap_or(self.contexts.candidates);
        let search = request.search(limit);
        // Validated even if nothing is searched.
        self.ranking_of(&search)?;
        let searches = request.searches();
        if notes.is_empty() && focus.is_none() && walk.is_none() && !searches && !notes_only {
            let reason = "give a query, a focus note, a walk or notes";
            return Err(EngineError::InvalidArgument { field: "query", reason: reason.to_owned() });
        }
        let passing = self.filter_matches(snapshot, &request.filter)?;
        let mut set = CandidateSet::default();
        self.add_named(snapshot, notes, &passing.notes, &mut set)?;
        if let Some(focus) = focus {
            self.add_related(snapshot, focus, &passing.notes, limit, &mut set)?;
        }
        if let Some(walk) = walk {
            self.add_walked(snapshot, walk, &passing.notes, &mut set)?;
        }
        let packing = request.packing.unwrap_or(self.contexts.profile);
        let ranking = if searches {
            Some(self.rank(snapshot, &search)?)
        } else if packing != PackingProfile::Classic && !request.query.trim().is_empty() {
            Some(self.ranking_for(snapshot, &search)?)
        } else {
            None
        };
        match &ranking {
            Some(ranking) if searches => self.add_hits(snapshot, ranking, &mut set),
            _ => set.warn(passing.warnings(snapshot, &self.stop)?),
        }
        if let Some(ranking) = &ranking {
            set.warn(&ranking.warnings);
        }
        self.read_for(snapshot, packing, ranking.as_ref(), &mut set)?;
        set.restrict_to_parts(snapshot);
        Ok(set)
    }

    /// Adds the named notes.
    fn add_named<'s>(
        &self,
        snapshot: &'s Snapshot,
        notes: &[NamedNote],
        passing: &NoteSet,
        set: &mut CandidateSet<'s>,
    ) -> Result<(), EngineError> {
        if notes.len() > MAX_NOTES {
            let reason = format!("{} notes exceed the maximum of {MAX_NOTES}", notes.len());
            return Err(EngineError::InvalidArgument { field: "notes", reason });
        }
        let scores = &self.contexts.scores;
        let mut whole: NoteMap<()> = NoteMap::default();
        for note in notes {
            let NamedNote { name, score, distance, relation, via } = note;
            let by_distance = || distance.map_or(scores.named, |distance| scores.at_hop(distance));
            let score = score.unwrap_or_else(by_distance);
            let (found, fragment) = snapshot.notes.find_part(name);
            set.warnings.extend(ambiguity(snapshot, name, &found));
            let id = found.note;
            if let Some(id) = id {
                let part = named_part(snapshot, id, fragment.as_deref(), &mut set.warnings);
                match part {
                    Some(part) => set.add_part(id, part),
                    None => drop(whole.insert(id, ())),
                }
            }
            let mut named = match id {
                Some(id) => candidate(snapshot, id, score),
                None => missing(Uri::new(name.as_str()), score),
            };
            if id.is_some_and(|id| !passing.contains(id)) {
                named.state = named.state.filtered();
            }
            let (relation, via) = (relation.clone(), via.clone());
            set.candidates.push(Candidate { relation, via, ..named });
        }
        set.parts.retain(|id, _| !whole.contains_key(id));
        Ok(())
    }

    /// Adds the focus note and its related notes, scored by the level of their relation.
    fn add_related<'s>(
        &self,
        snapshot: &'s Snapshot,
        focus: &FocusSource,
        passing: &NoteSet,
        limit: usize,
        set: &mut CandidateSet<'s>,
    ) -> Result<(), EngineError> {
        let FocusSource { name, relations, body_links, sibling_of_target } = focus;
        let scores = &self.contexts.scores;
        let (id, part) = resolve_part(snapshot, name, &mut set.warnings)?;
        let options = Options {
            body_links: *body_links,
            sibling_of_target: *sibling_of_target,
            ..Options::default()
        };
        let relations = self.relation_set(*relations);
        let topics = &self.settings.topics;
        let tools = (&self.analyzers, &self.stop);
        let around = (relations == RelationSet::Auto)
            .then(|| FocusSurroundings::new(snapshot, id, passing, topics, tools));
        set.relations = Some(relations);
        let stop = || self.stop.check().is_err();
        // Each note costs one token here: the accordion divides the real budget.
        let run = doughnut::Request {
            focus: id,
            budget: doughnut::Budget::Related(Tokens::new(limit as u64)),
            filter: passing,
            relations: around.as_ref().map_or(Relations::Structure, |it| Relations::Auto(it)),
            options,
            resume: None,
            stop: &stop,
        };
        let (graph, notes) = (snapshot.notes.graph(), &snapshot.notes);
        let found = doughnut(graph, notes, &Unit, &run)
            .map_err(|error| refused(&error, name, &self.stop))?;
        around.as_ref().map_or(Ok(()), FocusSurroundings::failure)?;
        let with = |relation: Relation, candidate| Candidate {
            relation: Some(relation.name().to_owned()),
            ..candidate
        };
        let focus = candidate(snapshot, id, scores.named);
        set.parts.remove(&id);
        set.parts.extend(part.map(|part| (id, part)));
        set.focus = Some(with(Relation::Focus, focus));
        set.candidates.extend(found.related_notes.iter().map(|related| {
            let score = scores.at_level(related.level as usize + 1);
            let via = match related.reason {
                Some(Reason::Topic(topic)) => Some(graph.uri(topic).to_string()),
                Some(Reason::Folder | Reason::Similarity(_)) | None => None,
            };
            Candidate { via, ..with(related.relation, candidate(snapshot, related.note, score)) }
        }));
        set.truncated_by.extend(found.resume.map(|_| ContextSource::Focus));
        Ok(())
    }

    /// Adds the notes of a walk, each with its distance and the path to it.
    fn add_walked<'s>(
        &self,
        snapshot: &'s Snapshot,
        walk: &TreeWalkRequest,
        passing: &NoteSet,
        set: &mut CandidateSet<'s>,
    ) -> Result<(), EngineError> {
        let graph = snapshot.notes.graph();
        let tree = self.tree_on(snapshot, walk, &mut set.warnings).map_err(of_walk)?;
        let steps: NoteMap<&TreeEdge> =
            tree.spanning_tree.iter().map(|step| (step.to, step)).collect();
        let above = |note| steps.get(&note).map(|step| step.from);
        for Visit { note, hop } in &tree.nodes {
            let score = self.contexts.scores.at_hop(usize::try_from(*hop).unwrap_or(usize::MAX));
            let mut walked = candidate(snapshot, *note, score);
            if let Some(step) = steps.get(note) {
                walked.relation = Some(tree.edges[step.edge].label.kind(graph).to_owned());
                walked.via = breadcrumb(*note, above, |note| graph.uri(note).as_str());
                if !passing.contains(*note) {
                    walked.state = walked.state.filtered();
                }
            }
            set.candidates.push(walked);
        }
        set.truncated_by.extend(tree.truncated().then_some(ContextSource::Walk));
        Ok(())
    }

    /// Adds the hits of the query.
    fn add_hits<'s>(
        &self,
        snapshot: &'s Snapshot,
        ranking: &Ranking<'s>,
        set: &mut CandidateSet<'s>,
    ) {
        let is_alone = set.focus.is_none() && set.candidates.is_empty();
        // Default scores express distance, search scores express similarity: unscaled, a good hit would rank below every other note.
        let best = ranking.notes().next().map(|best| best.score.max(MIN_NAMED_SCORE));
        let best = best.filter(|_| !is_alone);
        let beside =
            |score: f64| best.map_or(score, |best| self.contexts.scores.named * (score / best));
        set.candidates.extend(ranking.notes().map(|hit| Candidate {
            via: hit.via.map(Uri::to_string),
            ..candidate(snapshot, hit.id, beside(hit.score))
        }));
        set.truncated_by.extend(ranking.truncated.then_some(ContextSource::Query));
    }

    /// Adds what a profile needs to choose parts of the notes: their passages with evidence, or their chunks most similar to the query.
    fn read_for<'s>(
        &self,
        snapshot: &'s Snapshot,
        profile: PackingProfile,
        ranking: Option<&Ranking<'s>>,
        set: &mut CandidateSet<'s>,
    ) -> Result<(), EngineError> {
        let mut texts: Vec<&mut NoteText<'s>> = set
            .focus
            .iter_mut()
            .chain(&mut set.candidates)
            .filter_map(|candidate| match &mut candidate.state {
                CandidateState::Found(text) | CandidateState::Filtered(text) => Some(text),
                CandidateState::Missing => None,
            })
            .collect();
        if profile == PackingProfile::Classic {
            let Some(ranking) = ranking else { return Ok(()) };
            texts.retain(|text| ranking.contains(text.id));
            let ids: Vec<NoteId> = texts.iter().map(|text| text.id).collect();
            for (text, best_chunk) in texts.into_iter().zip(ranking.best_chunks(&ids)?) {
                text.best_chunk = best_chunk;
            }
            return Ok(());
        }
        let Some(ranking) = ranking else {
            for text in texts {
                self.stop.check()?;
                text.passages = evidence_of_place(snapshot, text.id)?.into();
            }
            return Ok(());
        };
        let mut ids: Vec<NoteId> = texts.iter().map(|text| text.id).collect();
        ids.sort_unstable();
        ids.dedup();
        let evidence: NoteMap<Rc<[CandidatePassage]>> =
            ranking.evidence(&ids)?.into_iter().map(|(id, found)| (id, found.into())).collect();
        for text in &mut texts {
            text.passages = evidence.get(&text.id).cloned().unwrap_or_default();
        }
        Ok(())
    }
}

/// Renames the field of an error to the field of the context that contains the walk.
fn of_walk(error: EngineError) -> EngineError {
    let EngineError::InvalidArgument { field, reason } = error else { return error };
    let field = match field {
        "roots" => "walk.roots",
        "max_nodes" => "walk.max_nodes",
        "edges.typed_only" => "walk.edges.typed_only",
        field => field,
    };
    EngineError::InvalidArgument { field, reason }
}

/// Returns the note as a candidate; missing if it is a placeholder.
fn candidate(snapshot: &Snapshot, id: NoteId, score: f64) -> Candidate<NoteText<'_>> {
    let uri = snapshot.notes.graph().uri(id).clone();
    let Some(entry) = snapshot.notes.entry(id) else { return missing(uri, score) };
    let text = NoteText::new(id, entry, None);
    let title = entry.note.title.clone();
    Candidate { uri, title, score, relation: None, via: None, state: CandidateState::Found(text) }
}

fn missing<'s>(uri: Uri, score: f64) -> Candidate<NoteText<'s>> {
    let title = uri.to_string();
    Candidate { uri, title, score, relation: None, via: None, state: CandidateState::Missing }
}
