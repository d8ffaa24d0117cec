//! How questions are answered, as parameters. `config/default.toml` repeats the defaults.

use serde::{Deserialize, Deserializer, Serialize};
use weft_gars::{Weights, classic};
use weft_graph::centrality::Measure;
use weft_graph::topics;
use weft_model::settings::Problems;

use crate::MAX_SNIPPETS;

/// How questions are answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineSettings {
    /// What the signals of a search are made of, where the request does not say.
    pub profile: Profile,
    /// Notes that each leg of a search brings at most, before they are ranked together, or one more than are asked for where that is more; 1 to 10,000.
    pub candidates_per_leg: usize,
    /// The share of the vectors in the score of a hybrid search, 0 to 1; words have the rest.
    ///
    /// It shrinks with what the model's vocabulary cannot express of a query.
    pub vector_share: f64,
    /// Whether a word that no note holds stands for words one edit away, where the request does not say.
    pub typos: bool,
    /// How centrality is measured.
    pub centrality: Measure,
    /// Links of one hit that are followed at most, and links of all its topics; those to other hits are found beyond them, too; at least 1.
    ///
    /// Bounds the work that a hub brings; answers name the hits and topics it cut.
    pub fanout: usize,
    /// Snippets of one hit at most, 0 to [`MAX_SNIPPETS`].
    pub snippets: usize,
    /// Characters of one snippet at most, 1 to 100,000.
    pub snippet_chars: usize,
    /// The profile `bridge`.
    pub bridge: BridgeSettings,
    /// The profile `classic`.
    pub classic: ClassicSettings,
    /// Topics, and the notes that share them.
    pub topics: TopicSettings,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            candidates_per_leg: 200,
            vector_share: 0.5,
            typos: false,
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
    /// What of it cannot be used.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self {
            profile: _,
            candidates_per_leg,
            vector_share,
            typos: _,
            centrality: _,
            fanout,
            snippets,
            snippet_chars,
            bridge: BridgeSettings { weights: bridge, names: _, shared_words: _ },
            classic,
            topics,
        } = self;
        let mut problems = Problems::default();
        problems.within("candidates_per_leg", *candidates_per_leg, 1..=10_000);
        problems.within("vector_share", *vector_share, 0.0..=1.0);
        problems.at_least("fanout", *fanout, 1);
        problems.within("snippets", *snippets, 0..=MAX_SNIPPETS);
        problems.within("snippet_chars", *snippet_chars, 1..=100_000);
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

/// What the signals of a search are made of.
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
    /// The name that settings and answers use: `bridge` or `classic`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bridge => "bridge",
            Self::Classic => "classic",
        }
    }
}

/// The profile `bridge`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BridgeSettings {
    /// What each signal counts; only proportions matter.
    ///
    /// While activation counts no more than similarity, no note overtakes the hit that lifts it.
    #[serde(deserialize_with = "SetWeights::of_bridge")]
    pub weights: Weights,
    /// Whether a note that the query calls by its name is more similar to it.
    pub names: bool,
    /// Whether rare words that notes share connect them as links do.
    pub shared_words: bool,
}

impl Default for BridgeSettings {
    fn default() -> Self {
        Self {
            weights: Weights { similarity: 0.49, centrality: 0.02, activation: 0.49 },
            names: true,
            shared_words: true,
        }
    }
}

/// The profile `classic`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassicSettings {
    /// What each signal counts; only proportions matter.
    #[serde(deserialize_with = "SetWeights::of_classic")]
    pub weights: Weights,
    /// How linked hits activate a note.
    pub activation: Activation,
    /// The least similarity of a hit that activates others, 0 to 1.
    pub activation_floor: f64,
    /// The least similarity of a hit whose neighbours and topic siblings are ranked too, 0 to 1.
    pub expansion_floor: f64,
    /// Such hits at most, the best by similarity.
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

/// Weights as they are set: those that are not are as by default.
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

/// How linked hits activate a note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// Each linked hit above the floor leaves less doubt; what many of them are linked with comes near 1, whatever it says itself.
    #[default]
    NoisyOr,
    /// The share of the note's neighbours that are hits.
    HitShare,
}

/// Topics, and the notes that share them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TopicSettings {
    /// The folder of notes that are topics whatever their degree, by whole path segments; empty for none.
    pub ontology_path: String,
    /// The in-degree that a note has to exceed to be a topic.
    pub hub_min_degree: u32,
    /// The score of a sibling before the penalty for hubs, 0 to 1.
    pub sibling_score: f64,
    /// Whether the hits whose connections are followed activate notes that share a topic with them as they activate linked ones, with the sibling score for a weight; not where activation is the share of a note's neighbours.
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
