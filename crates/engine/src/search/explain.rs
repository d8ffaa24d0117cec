//! How an answer came about.

use std::time::{Duration, Instant};

use weft_gars::Weights;
use weft_index::Snapshot;
use weft_model::{NoteId, Uri};

use super::question::{Pool, Question};
use super::{Lifts, Origin};
use crate::settings::Profile;

/// How an answer came about. But for the times, equal questions on one generation have equal ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What the signals were made of.
    pub profile: Profile,
    /// What each signal counted; they sum to 1.
    pub weights: Weights,
    /// The share of the vectors in each similarity; words had the rest.
    pub vector_share: f64,
    /// How much of the query the model's vocabulary can express, in `0.0..=1.0`: by that the configured share of the vectors shrinks.
    pub expressed: f64,
    /// The words of the query, function words left out, in its order.
    pub words: Vec<ExplainedWord>,
    /// Hits from which the graph was looked at, the most similar first.
    pub seeds: Vec<ExplainedSeed>,
    /// Hits above the floor that were beyond the bound on seeds; 0 in profile `bridge`, which has no floor.
    pub n_seeds_left_out: usize,
    /// The least similarity of a hit that activates others; 0 without a floor, as in profile `bridge` and where activation is a share of neighbours.
    pub activation_floor: f64,
    /// The least similarity of a hit whose neighbours are ranked too; 0 without a floor.
    pub expansion_floor: f64,
    /// Every candidate, by uri.
    pub pool: Vec<ExplainedCandidate>,
    /// What each stage took, in the order they ran.
    pub stages: Vec<(&'static str, Duration)>,
}

/// A word of the query.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedWord {
    /// As typed.
    pub word: String,
    /// How often.
    pub count: u32,
    /// Notes that hold it.
    pub n_notes: u32,
    /// What it tells: its idf.
    pub idf: f64,
}

/// A hit from which the graph was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedSeed {
    /// Its uri.
    pub uri: Uri,
    /// Its similarity.
    pub similarity: f64,
    /// Its distinct neighbours.
    pub degree: u32,
    /// Its rare words that were followed, the most telling first.
    pub words: Vec<String>,
    /// Notes that it leads to.
    pub n_reached: usize,
    /// Whether only some of its links were followed.
    pub is_cut: bool,
}

/// A candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedCandidate {
    /// Its uri.
    pub uri: Uri,
    /// Its similarity.
    pub similarity: f64,
    /// How it came up.
    pub origin: Origin,
}

/// A seed on its way into the explanation.
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
    pub(super) fn new(snapshot: &Snapshot, pool: &Pool, note: NoteId) -> Self {
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

/// Reads the clock between stages.
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
    question: &Question<'_>,
    pool: &Pool,
    lifts: &Lifts,
    profile: Profile,
    weights: Weights,
    stages: Stages,
) -> Explanation {
    let graph = question.snapshot.notes.graph();
    let uri = |id: NoteId| graph.uri(id).clone();
    let words = question.words.terms().iter().map(|term| ExplainedWord {
        word: term.surface.clone(),
        count: term.count,
        n_notes: term.n_notes,
        idf: term.idf,
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
    let mut pool: Vec<ExplainedCandidate> = candidates.collect();
    pool.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
    Explanation {
        profile,
        weights,
        vector_share: question.share,
        expressed: question.expressed,
        words: words.collect(),
        seeds: seeds.collect(),
        n_seeds_left_out: lifts.n_left_out,
        activation_floor: lifts.floors.0,
        expansion_floor: lifts.floors.1,
        pool,
        stages: stages.taken,
    }
}
