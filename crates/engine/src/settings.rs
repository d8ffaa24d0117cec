//! Search settings. `config/default.toml` repeats the defaults.

use serde::{Deserialize, Deserializer, Serialize};
use weft_gars::bridge::MAX_SIMILAR_HITS;
use weft_gars::{Weights, classic};
use weft_graph::centrality::Measure;
use weft_graph::topics;
use weft_model::settings::Problems;

/// Maximum number of snippets per hit.
pub const MAX_SNIPPETS: usize = 100;

/// Search settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineSettings {
    /// Ranking profile of requests that name none.
    pub profile: Profile,
    /// Maximum number of notes that each retriever returns before they are ranked together, 1 to 10,000. Raised to one more than the limit of a request if that is larger.
    pub candidates_per_retriever: usize,
    /// Maximum number of long notes that rank by the score of their best passage instead of their whole text, the most similar first; 0 to 10,000.
    pub passage_notes: usize,
    /// Share of the vector score in a hybrid search, 0 to 1; the keyword score has the rest.
    ///
    /// It is 0 for a query in a language that the model does not know, shrinks with the part that the vocabulary of another model does not cover, and grows for a query of which notes contain few words, if the model knows every language.
    pub vector_share: f64,
    /// True if a word that no note contains also matches words one edit away, in requests that do not say.
    pub typo_tolerance: bool,
    /// Centrality measure.
    pub centrality: Measure,
    /// Maximum number of links followed from one hit, and from all its topics together; at least 1. Links to other hits are found beyond this limit.
    ///
    /// Bounds the work caused by a hub. Answers list the hits and topics that were limited.
    pub fanout: usize,
    /// Maximum number of snippets per hit, 0 to [`MAX_SNIPPETS`].
    pub snippets: usize,
    /// Maximum length of a snippet in characters, 1 to 100,000.
    pub snippet_chars: usize,
    /// Settings of the profile `bridge`.
    pub bridge: BridgeSettings,
    /// Settings of the profile `classic`.
    pub classic: ClassicSettings,
    /// Settings of topics and topic siblings.
    pub topics: TopicSettings,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            candidates_per_retriever: 200,
            passage_notes: 30,
            vector_share: 0.5,
            typo_tolerance: false,
            centrality: Measure::default(),
            fanout: 100,
            snippets: 2,
            snippet_chars: 240,
            bridge: BridgeSettings::default(),
            classic: ClassicSettings::default(),
            topics: TopicSettings::default(),
        }
    }
}

impl EngineSettings {
    /// Returns the settings that are out of range.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self {
            profile: _,
            candidates_per_retriever,
            passage_notes,
            vector_share,
            typo_tolerance: _,
            centrality: _,
            fanout,
            snippets,
            snippet_chars,
            bridge: BridgeSettings { weights: bridge, names: _, shared_words: _, similar_hits },
            classic,
            topics,
        } = self;
        let mut problems = Problems::default();
        problems.within("candidates_per_retriever", *candidates_per_retriever, 1..=10_000);
        problems.within("passage_notes", *passage_notes, 0..=10_000);
        problems.within("vector_share", *vector_share, 0.0..=1.0);
        problems.at_least("fanout", *fanout, 1);
        problems.within("snippets", *snippets, 0..=MAX_SNIPPETS);
        problems.within("snippet_chars", *snippet_chars, 1..=100_000);
        problems.within("bridge.similar_hits", *similar_hits, 1..=MAX_SIMILAR_HITS);
        problems.read("bridge.weights", bridge.shares());
        problems.read("classic.weights", classic.weights.shares());
        for (key, share) in [
            ("classic.activation_floor", classic.activation_floor),
            ("classic.expansion_floor", classic.expansion_floor),
            ("topics.sibling_score", topics.sibling_score),
        ] {
            problems.within(key, share, 0.0..=1.0);
        }
        problems
    }
}

/// Ranking profile: how the signals of a search are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// A connection lifts a note by a part of its distance to a better hit. Source: ranking recipe.
    #[default]
    Bridge,
    /// Linked hits activate each other. Source: Shadow graph guide.
    Classic,
}

impl Profile {
    /// Returns the name used in settings and answers: `bridge` or `classic`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bridge => "bridge",
            Self::Classic => "classic",
        }
    }
}

/// Settings of the profile `bridge`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BridgeSettings {
    /// Weight of each signal; only proportions matter.
    ///
    /// While activation weighs no more than similarity, no note overtakes the hit that lifts it.
    #[serde(deserialize_with = "SetWeights::of_bridge")]
    pub weights: Weights,
    /// True if a note, or the section of a note, that is named in the query gains similarity.
    pub names: bool,
    /// True if rare words that two notes share, and names of the one in the text of the other, connect them as links do.
    pub shared_words: bool,
    /// Number of hits at least half as similar as the best one above which connections count less, 1 to [`MAX_SIMILAR_HITS`].
    pub similar_hits: usize,
}

impl Default for BridgeSettings {
    fn default() -> Self {
        Self {
            weights: Weights { similarity: 0.49, centrality: 0.02, activation: 0.49 },
            names: true,
            shared_words: true,
            similar_hits: 75,
        }
    }
}

/// Settings of the profile `classic`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassicSettings {
    /// Weight of each signal; only proportions matter.
    #[serde(deserialize_with = "SetWeights::of_classic")]
    pub weights: Weights,
    /// How linked hits activate a note.
    pub activation: Activation,
    /// Minimum similarity of a hit that activates others, 0 to 1.
    pub activation_floor: f64,
    /// Minimum similarity of a hit whose neighbors and topic siblings are ranked too, 0 to 1.
    pub expansion_floor: f64,
    /// Maximum number of such hits, the most similar ones.
    pub expansion_seeds: usize,
}

impl Default for ClassicSettings {
    fn default() -> Self {
        Self {
            weights: Weights { similarity: 0.6, centrality: 0.2, activation: 0.2 },
            activation: Activation::default(),
            activation_floor: classic::ACTIVATION_FLOOR,
            expansion_floor: classic::EXPANSION_FLOOR,
            expansion_seeds: 20,
        }
    }
}

/// Weights as configured. Missing ones take their defaults.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetWeights {
    similarity: Option<f64>,
    centrality: Option<f64>,
    activation: Option<f64>,
}

impl SetWeights {
    fn of_bridge<'de, D: Deserializer<'de>>(set: D) -> Result<Weights, D::Error> {
        Ok(Self::deserialize(set)?.over(BridgeSettings::default().weights))
    }

    fn of_classic<'de, D: Deserializer<'de>>(set: D) -> Result<Weights, D::Error> {
        Ok(Self::deserialize(set)?.over(ClassicSettings::default().weights))
    }

    fn over(self, default: Weights) -> Weights {
        let Self { similarity, centrality, activation } = self;
        Weights {
            similarity: similarity.unwrap_or(default.similarity),
            centrality: centrality.unwrap_or(default.centrality),
            activation: activation.unwrap_or(default.activation),
        }
    }
}

/// How the best candidates are reranked. The model is not part of it: the caller opens it.
#[derive(Clone, Debug, PartialEq)]
pub struct RerankSettings {
    /// Number of candidates that are reranked, the best ones; 1 to 1,000.
    pub top_n: usize,
    /// Weight of the relevance in the score, 0 to 0.95; the signals of GARS have the rest.
    pub weight: f64,
    /// Maximum number of passages of a note that the reranker reads, those with the most evidence; 1 to 100.
    pub passages: usize,
    /// Maximum number of characters of these passages together, 1 to 100,000.
    pub text_chars: usize,
    /// Milliseconds that a search waits for the reranker, 1 to 60,000; less if its deadline is earlier.
    pub timeout_ms: u64,
}

impl Default for RerankSettings {
    fn default() -> Self {
        Self { top_n: 20, weight: 0.5, passages: 3, text_chars: 1_500, timeout_ms: 2_000 }
    }
}

impl RerankSettings {
    /// Returns the settings that are out of range.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { top_n, weight, passages, text_chars, timeout_ms } = self;
        let mut problems = Problems::default();
        problems.within("top_n", *top_n, 1..=1_000);
        // With all the weight, the notes that were not reranked would all score 0.
        problems.within("weight", *weight, 0.0..=0.95);
        problems.within("passages", *passages, 1..=100);
        problems.within("text_chars", *text_chars, 1..=100_000);
        problems.within("timeout_ms", *timeout_ms, 1..=60_000);
        problems
    }
}

/// How linked hits activate a note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// Each linked hit above the floor adds evidence. A note linked with many hits comes near 1, whatever its own text.
    #[default]
    NoisyOr,
    /// Share of the note's neighbors that are hits.
    HitShare,
}

/// Settings of topics and topic siblings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TopicSettings {
    /// Folder whose notes are topics at any degree, by whole path segments; empty for none.
    pub ontology_path: String,
    /// A note with more inbound links than this is a topic.
    pub hub_min_degree: u32,
    /// Score of a topic sibling before the hub penalty, 0 to 1.
    pub sibling_score: f64,
    /// True if expanded hits activate their topic siblings as they activate linked notes, weighted by the sibling score. Ignored if activation is the share of a note's neighbors.
    pub siblings_activate: bool,
}

impl Default for TopicSettings {
    fn default() -> Self {
        Self {
            ontology_path: "Ontology/".to_owned(),
            hub_min_degree: topics::HUB_MIN_DEGREE,
            sibling_score: topics::SIBLING_SCORE,
            siblings_activate: false,
        }
    }
}
