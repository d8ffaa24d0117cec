//! Explanations of a ranking.

use std::time::{Duration, Instant};

use weft_gars::Weights;
use weft_index::Snapshot;
use weft_model::{NoteId, Uri};

use super::prepared_query::{CandidatePool, PreparedQuery};
use super::{Lifts, Origin};
use crate::settings::Profile;

/// Details of a ranking. Equal requests on one generation have equal explanations, except for the times.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Ranking profile.
    pub profile: Profile,
    /// Weight of each signal; they sum to 1.
    pub weights: Weights,
    /// Share of the vector score in each similarity; the keyword score has the rest.
    pub vector_share: f64,
    /// Share of the query that the model's vocabulary covers, in `0.0..=1.0`. The configured share of the vector score shrinks by it.
    pub vocabulary_coverage: f64,
    /// Words of the query in order, without stop words.
    pub words: Vec<ExplainedWord>,
    /// Words of the query as typed, with their accents, signs or capitals, that notes contain in this form.
    pub exact_words: Vec<ExplainedWord>,
    /// Hits whose connections were followed, most similar first.
    pub seeds: Vec<ExplainedSeed>,
    /// Number of hits above the floor that exceed the limit on seeds; 0 in profile `bridge`, which has no floor.
    pub n_omitted_seeds: usize,
    /// Minimum similarity of a hit that activates others; 0 without a floor, as in profile `bridge` and with activation by share of neighbors.
    pub activation_floor: f64,
    /// Minimum similarity of a hit whose neighbors are ranked too; 0 without a floor.
    pub expansion_floor: f64,
    /// All candidates, by uri.
    pub candidates: Vec<ExplainedCandidate>,
    /// Duration of each stage, in the order they ran.
    pub stages: Vec<(&'static str, Duration)>,
}

/// A word of the query.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedWord {
    /// The word as typed.
    pub word: String,
    /// Number of occurrences in the query.
    pub count: u32,
    /// Number of notes that contain it.
    pub n_notes: u32,
    /// Inverse document frequency.
    pub idf: f64,
    /// Indexed terms that it stands for because they begin with it or are one edit away.
    pub expansions: Vec<String>,
}

/// A hit whose connections were followed.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedSeed {
    /// Uri of the hit.
    pub uri: Uri,
    /// Similarity of the hit.
    pub similarity: f64,
    /// Number of distinct neighbors.
    pub degree: u32,
    /// Rare words of the hit that were followed, highest weight first.
    pub words: Vec<String>,
    /// Number of notes reached from the hit.
    pub n_reached: usize,
    /// True if only some of its links were followed.
    pub is_cut: bool,
}

/// A candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedCandidate {
    /// Uri of the candidate.
    pub uri: Uri,
    /// Similarity of the candidate.
    pub similarity: f64,
    /// How the candidate was found.
    pub origin: Origin,
}

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
    weights: Weights,
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
        weights,
        vector_share: query.share,
        vocabulary_coverage: query.vocabulary_coverage,
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
