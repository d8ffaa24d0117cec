//! Explanations of a ranking.

use std::time::{Duration, Instant};

use weft_index::Snapshot;
use weft_model::NoteId;

use super::prepared_query::{CandidatePool, PreparedQuery};
use super::rerank::RerankOutcome;
use super::{ExplainedCandidate, ExplainedSeed, ExplainedWord, Explanation, Lifts};
use crate::settings::Profile;

/// A seed before it is converted for the explanation.
#[derive(Clone, Debug)]
pub(super) struct Seed {
    pub(super) note: NoteId,
    similarity: f64,
    degree: u32,
    pub(super) words: Vec<String>,
    pub(super) n_reached: usize,
    pub(super) is_cut: bool,
}

impl Seed {
    pub(super) fn new(snapshot: &Snapshot, pool: &CandidatePool, note: NoteId) -> Self {
        Self {
            note,
            similarity: pool.similarity(note),
            degree: snapshot.notes.graph().degrees(note).both,
            words: Vec::new(),
            n_reached: 0,
            is_cut: false,
        }
    }
}

/// Measures the duration of stages.
pub(super) struct Stages {
    last: Instant,
    taken: Vec<(&'static str, Duration)>,
}

impl Stages {
    pub(super) fn start() -> Self {
        Self { last: Instant::now(), taken: Vec::new() }
    }

    /// Ends a stage.
    pub(super) fn end(&mut self, stage: &'static str) {
        let now = Instant::now();
        self.taken.push((stage, now.duration_since(self.last)));
        self.last = now;
    }
}

pub(super) fn explanation(
    query: &PreparedQuery<'_>,
    pool: &CandidatePool,
    lifts: &Lifts,
    profile: Profile,
    reranked: RerankOutcome,
    stages: Stages,
) -> Explanation {
    let graph = query.snapshot.notes.graph();
    let uri = |id: NoteId| graph.uri(id).clone();
    let words = query.words.terms().iter().map(|term| ExplainedWord {
        word: term.surface.clone(),
        count: term.count,
        n_notes: term.n_notes,
        idf: term.idf,
        expansions: term.expansions.clone(),
    });
    let exact_words = query.words.exact_forms().iter().map(|exact| ExplainedWord {
        word: exact.form.clone(),
        count: exact.count,
        n_notes: exact.n_notes,
        idf: exact.idf,
        expansions: Vec::new(),
    });
    let seeds = lifts.seeds.iter().map(|seed| {
        let Seed { note, similarity, degree, words, n_reached, is_cut } = seed.clone();
        ExplainedSeed { uri: uri(note), similarity, degree, words, n_reached, is_cut }
    });
    let candidates = pool.iter().map(|(id, candidate)| ExplainedCandidate {
        uri: uri(id),
        similarity: candidate.similarity,
        origin: candidate.origin(),
    });
    let mut candidates: Vec<ExplainedCandidate> = candidates.collect();
    candidates.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
    Explanation {
        profile,
        weights: reranked.weights,
        reranking: reranked.explained,
        vector_share: query.share,
        readable_share: query.readable,
        keyword_weight: query.keyword_weight,
        connection_weight: lifts.weight.unwrap_or(1.0),
        calibration: query.calibration,
        words: words.collect(),
        exact_words: exact_words.collect(),
        seeds: seeds.collect(),
        n_omitted_seeds: lifts.n_omitted,
        activation_floor: lifts.floors.0,
        expansion_floor: lifts.floors.1,
        candidates,
        stages: stages.taken,
    }
}
