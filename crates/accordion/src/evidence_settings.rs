//! Settings of profile `evidence`.

use serde::{Deserialize, Serialize};

use crate::PackError;
use crate::limits::expect;

/// How a context is packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackingProfile {
    /// The passages that answer best, by their value for their price.
    #[default]
    Evidence,
    /// A tenth of the budget for each note, its mode by its share of the top score.
    ///
    /// Source: Shadow graph guide, "Sliding budget".
    Classic,
    /// Whole passages in the order of their evidence, until none fits: the baseline that the others are measured against.
    Plain,
}

impl PackingProfile {
    /// Returns the name used in settings and answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Evidence => "evidence",
            Self::Classic => "classic",
            Self::Plain => "plain",
        }
    }
}

/// How a rendered context names its sources. Only Markdown has a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Citations {
    /// With each note.
    #[default]
    Inline,
    /// By number, with a list of sources at the end.
    List,
}

/// Settings of profile `evidence`. Measurements behind the defaults are in `docs/contexts.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvidenceSettings {
    /// Share of a passage's value that its evidence decides, relative to the best passage of all notes; the note's score decides the rest. `0.0..=1.0`.
    pub evidence_share: f64,
    /// Factor on the value of each further passage of a note, `0.0..=1.0`.
    pub further_passages: f64,
    /// Exponent of the price by which a value is divided, `0.0..=1.0`: 0 chooses by value alone, 1 by value per token.
    pub price_exponent: f64,
    /// Share of the top score below which a note is omitted, `0.0..=1.0`.
    pub floor: f64,
    /// How a rendered context names its sources.
    pub citations: Citations,
}

impl Default for EvidenceSettings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl EvidenceSettings {
    /// The default settings.
    pub const DEFAULT: Self = Self {
        evidence_share: 0.8,
        further_passages: 0.7,
        price_exponent: 0.2,
        floor: 0.1,
        citations: Citations::Inline,
    };

    /// Returns each setting that is out of range, as a [`PackError::Setting`].
    pub fn problems(&self) -> impl Iterator<Item = PackError> {
        let Self { evidence_share, further_passages, price_exponent, floor, citations: _ } = *self;
        let share = |setting, value| {
            expect(setting, value, "a share between 0 and 1", (0.0..=1.0).contains(&value))
        };
        [
            share("evidence.evidence_share", evidence_share),
            share("evidence.further_passages", further_passages),
            share("evidence.price_exponent", price_exponent),
            share("evidence.floor", floor),
        ]
        .into_iter()
        .filter_map(Result::err)
    }
}
