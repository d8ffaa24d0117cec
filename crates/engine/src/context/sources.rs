//! Where the notes of a context come from.

use std::borrow::Cow;
use std::collections::HashMap;

use weft_accordion::{Candidate, Document, State};
use weft_graph::doughnut::{self, Options, Relation, doughnut};
use weft_graph::walk::{TreeEdge, Visit, way};
use weft_index::Snapshot;
use weft_index::notes::NoteEntry;
use weft_model::tokens::Unit;
use weft_model::{Chars, Heading, NoteId, NoteMap, NoteSet, Span, Tokens, Uri};

use super::{ContextRequest, FocusSource, NamedNote, Source};
use crate::related::refused;
use crate::walk::TreeRequest;
use crate::{Engine, EngineError, SearchRequest, ambiguity, note_meant};

/// The least score of a best hit that counts as a named note: what scores less is hardly about the query.
///
/// Source: Shadow graph guide, "Precision controls", where a hit below it brings in no others.
const FAIR_SCORE: f64 = weft_gars::classic::EXPANSION_FLOOR;

/// Notes that a caller may name.
const MAX_NOTES: usize = 10_000;

/// The notes to choose from, and what is known of how they were found.
#[derive(Default)]
pub(super) struct Gathered<'s> {
    pub(super) focus: Option<Candidate<Text<'s>>>,
    pub(super) candidates: Vec<Candidate<Text<'s>>>,
    pub(super) truncated_by: Vec<Source>,
    pub(super) degraded: Vec<String>,
}

impl Gathered<'_> {
    /// Adds what is not said yet: the filter of a walk may be the context's own.
    fn tell(&mut self, lines: &[String]) {
        let new: Vec<String> =
            lines.iter().filter(|line| !self.degraded.contains(line)).cloned().collect();
        self.degraded.extend(new);
    }
}

/// The text of a note in a snapshot.
#[derive(Clone, Copy)]
pub(super) struct Text<'s> {
    entry: &'s NoteEntry,
    length: Chars,
    best_chunk: Option<Span>,
}

impl Document for Text<'_> {
    fn length(&self) -> Chars {
        self.length
    }

    fn body(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.entry.body)
    }

    fn headings(&self) -> Cow<'_, [Heading]> {
        Cow::Borrowed(&self.entry.note.headings)
    }

    fn best_chunk(&self) -> Option<Span> {
        self.best_chunk
    }

    /// A note without text copies nobody.
    fn copies(&self, other: &Self) -> bool {
        // Texts of different length differ, so few are ever compared.
        self.length == other.length
            && !self.entry.body.trim().is_empty()
            && self.entry.body == other.entry.body
    }
}

impl Engine {
    /// The notes that the sources of `request` bring, in the order of [`Source`].
    pub(super) fn gathered<'s>(
        &self,
        snapshot: &'s Snapshot,
        request: &ContextRequest,
    ) -> Result<Gathered<'s>, EngineError> {
        let ContextRequest { focus, walk, notes, notes_only, limit, .. } = request;
        let limit = limit.unwrap_or(self.contexts.candidates);
        let search = request.search(limit);
        // Also where nothing is searched and it counts nothing.
        self.ranking_of(&search)?;
        let searches = request.searches();
        if notes.is_empty() && focus.is_none() && walk.is_none() && !searches && !notes_only {
            let reason = "say what the context is about: a query, a focus note, a walk, or notes";
            return Err(EngineError::InvalidArgument { field: "query", reason: reason.to_owned() });
        }
        let passing = self.passing(snapshot, &request.filter)?;
        let mut gathered = Gathered::default();
        self.name(snapshot, notes, &passing.notes, &mut gathered)?;
        if let Some(focus) = focus {
            self.relate(snapshot, focus, &passing.notes, limit, &mut gathered)?;
        }
        if let Some(walk) = walk {
            self.follow(snapshot, walk, &passing.notes, &mut gathered)?;
        }
        if searches {
            self.find(snapshot, &search, &mut gathered)?;
        } else {
            gathered.tell(passing.unmet(snapshot, &self.stop)?);
        }
        Ok(gathered)
    }

    /// Adds the notes that the caller names.
    fn name<'s>(
        &self,
        snapshot: &'s Snapshot,
        notes: &[NamedNote],
        passing: &NoteSet,
        gathered: &mut Gathered<'s>,
    ) -> Result<(), EngineError> {
        if notes.len() > MAX_NOTES {
            let reason = format!("{} are more than {MAX_NOTES} notes", notes.len());
            return Err(EngineError::InvalidArgument { field: "notes", reason });
        }
        let scores = &self.contexts.scores;
        for note in notes {
            let NamedNote { name, score, distance, relation, via } = note;
            let by_distance = || distance.map_or(scores.named, |distance| scores.at_hop(distance));
            let score = score.unwrap_or_else(by_distance);
            let found = snapshot.notes.find(name);
            gathered.degraded.extend(ambiguity(snapshot, name, &found));
            let id = found.note;
            let mut named = match id {
                Some(id) => candidate(snapshot, id, score),
                None => missing(Uri::new(name.as_str()), score),
            };
            if id.is_some_and(|id| !passing.contains(id)) {
                named.state = named.state.filtered();
            }
            let (relation, via) = (relation.clone(), via.clone());
            gathered.candidates.push(Candidate { relation, via, ..named });
        }
        Ok(())
    }

    /// Puts the focus note first and adds what surrounds it, each note by the level of its relation.
    fn relate<'s>(
        &self,
        snapshot: &'s Snapshot,
        focus: &FocusSource,
        passing: &NoteSet,
        limit: usize,
        gathered: &mut Gathered<'s>,
    ) -> Result<(), EngineError> {
        let FocusSource { name, body_links, sibling_of_target } = focus;
        let scores = &self.contexts.scores;
        let id = note_meant(snapshot, name, &mut gathered.degraded)?;
        let options = Options {
            body_links: *body_links,
            sibling_of_target: *sibling_of_target,
            ..Options::default()
        };
        let stop = || self.stop.check().is_err();
        // A token for each note: how much of each there is room for is the accordion's to say.
        let run = doughnut::Request {
            focus: id,
            budget: doughnut::Budget::Related(Tokens::new(limit as u64)),
            filter: passing,
            options,
            resume: None,
            stop: &stop,
        };
        let (graph, notes) = (snapshot.notes.graph(), &snapshot.notes);
        let found = doughnut(graph, notes, &Unit, &run)
            .map_err(|error| refused(&error, name, &self.stop))?;
        let with = |relation: Relation, candidate| Candidate {
            relation: Some(relation.name().to_owned()),
            ..candidate
        };
        let focus = candidate(snapshot, id, scores.named);
        gathered.focus = Some(with(Relation::Focus, focus));
        gathered.candidates.extend(found.related_notes.iter().map(|related| {
            let level = related.relation.priority().map_or(1, |level| level as usize + 1);
            let score = scores.at_level(level);
            with(related.relation, candidate(snapshot, related.note, score))
        }));
        gathered.truncated_by.extend(found.resume.map(|_| Source::Focus));
        Ok(())
    }

    /// Adds the notes of a walk, each by its distance and with the path that led to it.
    fn follow<'s>(
        &self,
        snapshot: &'s Snapshot,
        walk: &TreeRequest,
        passing: &NoteSet,
        gathered: &mut Gathered<'s>,
    ) -> Result<(), EngineError> {
        let graph = snapshot.notes.graph();
        let tree = self.tree_on(snapshot, walk, &mut gathered.degraded).map_err(of_walk)?;
        let steps: NoteMap<&TreeEdge> =
            tree.spanning_tree.iter().map(|step| (step.to, step)).collect();
        let above = |note| steps.get(&note).map(|step| step.from);
        for Visit { note, hop } in &tree.nodes {
            let score = self.contexts.scores.at_hop(usize::try_from(*hop).unwrap_or(usize::MAX));
            let mut walked = candidate(snapshot, *note, score);
            if let Some(step) = steps.get(note) {
                walked.relation = Some(tree.edges[step.edge].label.kind(graph).to_owned());
                walked.via = way(*note, above, |note| graph.uri(note).as_str());
                if !passing.contains(*note) {
                    walked.state = walked.state.filtered();
                }
            }
            gathered.candidates.push(walked);
        }
        gathered.truncated_by.extend(tree.truncated().then_some(Source::Walk));
        Ok(())
    }

    /// Adds the hits of the query. What the search knows of a note serves whichever source brings it.
    fn find<'s>(
        &self,
        snapshot: &'s Snapshot,
        search: &SearchRequest,
        gathered: &mut Gathered<'s>,
    ) -> Result<(), EngineError> {
        let found = self.search_in(snapshot, search)?;
        let is_alone = gathered.focus.is_none() && gathered.candidates.is_empty();
        // Stand-ins say how near a note is, scores how well it answers: beside them a good hit would look like none.
        let best = found.hits.first().map(|best| best.score.max(FAIR_SCORE)).filter(|_| !is_alone);
        let beside =
            |score: f64| best.map_or(score, |best| self.contexts.scores.named * (score / best));
        let mut best_chunks: HashMap<&Uri, Span> = HashMap::new();
        let mut hits = vec![];
        for hit in &found.hits {
            best_chunks.extend(hit.best_chunk.map(|chunk| (&hit.uri, chunk)));
            if let Some(id) = snapshot.notes.find(hit.uri.as_str()).note {
                let via = hit.via.as_ref().map(|via| via.uri.to_string());
                hits.push(Candidate { via, ..candidate(snapshot, id, beside(hit.score)) });
            }
        }
        gathered.candidates.extend(hits);
        for candidate in &mut gathered.candidates {
            if let State::Found(text) = &mut candidate.state {
                text.best_chunk = best_chunks.get(&candidate.uri).copied();
            }
        }
        gathered.truncated_by.extend(found.truncated.then_some(Source::Query));
        gathered.tell(&found.degraded);
        Ok(())
    }
}

/// The same error, by the field of a context that holds the walk.
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

/// The note in a slot as something to pack; missing where only links know of it.
fn candidate(snapshot: &Snapshot, id: NoteId, score: f64) -> Candidate<Text<'_>> {
    let uri = snapshot.notes.graph().uri(id).clone();
    let Some(entry) = snapshot.notes.entry(id) else { return missing(uri, score) };
    let text = Text { entry, length: Chars::of(&entry.body), best_chunk: None };
    let title = entry.note.title.clone();
    Candidate { uri, title, score, relation: None, via: None, state: State::Found(text) }
}

fn missing<'s>(uri: Uri, score: f64) -> Candidate<Text<'s>> {
    let title = uri.to_string();
    Candidate { uri, title, score, relation: None, via: None, state: State::Missing }
}
