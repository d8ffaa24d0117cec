//! Requests and answers of a search.

use std::time::Duration;

use weft_gars::{ScoreWeights, Signals, Weights};
use weft_index::embedder::Calibration;
use weft_model::{Span, Uri};

use crate::settings::Profile;
use crate::{Filter, Snippet, Warning, WarningCode};

/// Retrievers of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchMode {
    /// Keyword and vector retriever.
    #[default]
    Hybrid,
    /// Vector retriever only.
    Vector,
    /// Keyword retriever only.
    Keyword,
}

/// A search request.
#[derive(Clone, Debug, Default)]
pub struct SearchRequest {
    /// Query words, with `"phrases"`, required `+words` and excluded `-words`. No hit violates the last two, however it is found.
    pub query: String,
    /// Maximum number of hits, 1 to 1,000.
    pub limit: usize,
    /// Retrievers to use.
    pub mode: SearchMode,
    /// Restricts the hits.
    pub filter: Filter,
    /// Ranking profile; `None` for the configured one.
    pub profile: Option<Profile>,
    /// Weight of each signal; `None` for those of the profile.
    pub weights: Option<Weights>,
    /// Signals to disable.
    pub disabled_signals: DisabledSignals,
    /// True if a word that no note contains also matches words one edit away; `None` for the configured value.
    pub typo_tolerance: Option<bool>,
    /// True if the last word of the query is still being typed, so that it stands for all terms that begin with it.
    pub prefix_last_word: bool,
    /// True to rerank the best candidates, false not to; `None` to rerank if a reranker is configured and the last word is not still being typed.
    pub rerank: Option<bool>,
    /// True if the answer includes an [`Explanation`].
    pub explain: bool,
    /// Maximum number of snippets per hit, 0 to [`MAX_SNIPPETS`](crate::MAX_SNIPPETS); `None` for the configured value.
    pub snippets: Option<usize>,
}

impl SearchRequest {
    /// True if the vector retriever is used, unless the query turns out to have no term to search for.
    #[must_use]
    pub fn searches_by_meaning(&self) -> bool {
        self.mode != SearchMode::Keyword && !self.query.trim().is_empty()
    }
}

/// Signals that a search ignores, to measure their effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DisabledSignals {
    /// Ignores the graph: the score is the similarity.
    pub graph: bool,
    /// Ignores names: a note named in the query gains nothing.
    pub names: bool,
    /// Ignores links.
    pub links: bool,
    /// Ignores shared words.
    pub shared_words: bool,
    /// Gives the similarity no weight.
    pub similarity: bool,
    /// Gives the centrality no weight.
    pub centrality: bool,
    /// Gives the activation no weight.
    pub activation: bool,
}

/// How a hit was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// By the vector retriever only.
    Vector,
    /// By the keyword retriever only, or by its name.
    Keyword,
    /// By both retrievers.
    Both,
    /// Through a connection with another hit.
    Expanded,
}

impl Origin {
    /// Returns the name used in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vector => "vector",
            Self::Keyword => "keyword",
            Self::Both => "both",
            Self::Expanded => "expanded",
        }
    }
}

/// How a note is connected with the hit that lifts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// The hit links to the note.
    Link,
    /// The note links to the hit.
    Backlink,
    /// Both contain words that few notes contain, or the text of the hit contains a name of the note or of one of its sections.
    SharedWords,
    /// Both link to a topic.
    Topic,
}

/// The hit that lifts a note.
#[derive(Clone, Debug, PartialEq)]
pub struct Via {
    /// The hit that contributes most.
    pub uri: Uri,
    /// How the two are connected.
    pub connection: Connection,
    /// Strength of the connection, in `0.0..=1.0`.
    pub strength: f64,
    /// Share of the query words unanswered by the hit that the note answers, in `0.0..=1.0`; 0 in profile `classic`, which does not compute it.
    pub remainder: f64,
}

/// Raw values of the signals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawSignals {
    /// Similarity without names, in `0.0..=1.0`.
    pub base: f64,
    /// Greatest cosine of its chunks with the query, as the model gave it; 0 while the note has no vector.
    pub cosine: f64,
    /// Number of distinct neighbors.
    pub degree: u32,
    /// Strength of the connection that lifts the note most, in `0.0..=1.0`; 0 if none does.
    pub connection_strength: f64,
}

/// A found note.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Uri of the note.
    pub uri: Uri,
    /// Path of the note.
    pub path: String,
    /// Vault of the note.
    pub vault: String,
    /// Title of the note.
    pub title: String,
    /// Sum of the contributions, in `0.0..=1.0`.
    pub score: f64,
    /// Score of the greatest cosine of its chunks with the query, in `0.0..=1.0`; 0 while the note has no vector.
    pub vector_score: f64,
    /// Keyword score as a share of the maximum for the query, in `0.0..=1.0`.
    pub keyword_score: f64,
    /// Share of the query that is the note's name, in `0.0..=1.0`.
    pub name_score: f64,
    /// The name of the note that occurs in the query, if any.
    pub name: Option<String>,
    /// How the note was found.
    pub origin: Origin,
    /// The hit that lifts the note most.
    pub via: Option<Via>,
    /// True if all vectors of the note are current.
    pub embedding_current: bool,
    /// Raw values of the signals.
    pub raw: RawSignals,
    /// Signals before weighting.
    pub signals: Signals,
    /// Signals after weighting.
    pub contributions: Signals,
    /// Matching parts of the body.
    pub snippets: Vec<Snippet>,
    /// The chunk most similar to the query; `None` without vectors.
    pub best_chunk: Option<Span>,
}

/// Hits of a search, best first, ties by the lower uri.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchAnswer {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// Generation of the snapshot.
    pub generation: u64,
    /// True if there were more hits than requested.
    pub truncated: bool,
    /// Conditions that make the answer incomplete.
    pub warnings: Vec<Warning>,
    /// Hits and topics whose links were followed only up to the fan-out limit, by uri.
    pub fanout_limited: Vec<Uri>,
    /// Details of the ranking, if requested.
    pub explanation: Option<Explanation>,
}

impl SearchAnswer {
    /// Returns the warnings except those about pending vectors, and whether vectors were pending.
    ///
    /// Pending vectors are separate because every saved note has some for a moment.
    #[must_use]
    pub fn lasting_warnings(&self) -> (Vec<&Warning>, bool) {
        let (pending, lasting): (Vec<&Warning>, Vec<&Warning>) =
            self.warnings.iter().partition(|it| it.code == WarningCode::VectorsPending);
        (lasting, !pending.is_empty())
    }
}

/// Details of a ranking. Equal requests on one generation have equal explanations, except for the times.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Ranking profile.
    pub profile: Profile,
    /// Weight of each part of a score.
    pub weights: ScoreWeights,
    /// The reranker, if one was used.
    pub reranking: Option<ExplainedReranking>,
    /// Share of the vector score in each similarity; the keyword score has the rest.
    pub vector_share: f64,
    /// Share of the query that the model can read, in `0.0..=1.0`. The configured share of the vector score shrinks by it.
    ///
    /// 0 if the query is in a language that the model does not know. For a model of unknown languages, the share that its vocabulary covers.
    pub readable_share: f64,
    /// Factor by which the share of the keyword score shrinks, in `0.0..=1.0`; the vector score has the rest.
    ///
    /// Below 1 if the model knows every language and notes contain less than half of the query's words, weighted by rarity.
    pub keyword_weight: f64,
    /// Factor of the strength of every connection, in `0.0..=1.0`.
    ///
    /// Below 1 if many hits are about as similar as the best one.
    pub connection_weight: f64,
    /// How the model's cosines are read.
    pub calibration: Calibration,
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

/// The reranking of the hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedReranking {
    /// Name of the model.
    pub model: String,
    /// Runtime of the model.
    pub runner: String,
    /// Number of candidates it judged, the best ones.
    pub n_notes: usize,
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
