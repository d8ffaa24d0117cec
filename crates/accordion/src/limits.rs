//! The settings of the accordion: which share of the top earns which mode, and how much room each note gets.

use serde::{Deserialize, Serialize};

use crate::PackError;

/// How much of a note goes into the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The body.
    Full,
    /// Blocks around the query's matches.
    Snippet,
    /// The headings.
    Structural,
}

impl Mode {
    /// The name that answers use: `full`, `snippet` or `structural`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Snippet => "snippet",
            Self::Structural => "structural",
        }
    }
}

/// The least share of the top score that earns each mode.
///
/// Shares lie in `0.0..=1.0` and do not rise from `full` to `structural`.
/// Source: Shadow graph guide, "Allocation logic".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bands {
    /// For [`Mode::Full`].
    pub full: f64,
    /// For [`Mode::Snippet`].
    pub snippet: f64,
    /// For [`Mode::Structural`].
    pub structural: f64,
}

impl Default for Bands {
    fn default() -> Self {
        Self { full: 0.90, snippet: 0.70, structural: 0.35 }
    }
}

impl Bands {
    /// The mode that `score` earns beside the highest score `top`; bounds are inclusive.
    ///
    /// Nothing below every band, and nothing at all where `top ≤ 0`.
    #[must_use]
    pub fn mode(&self, score: f64, top: f64) -> Option<Mode> {
        if top <= 0.0 {
            return None;
        }
        let share = score / top;
        [
            (self.full, Mode::Full),
            (self.snippet, Mode::Snippet),
            (self.structural, Mode::Structural),
        ]
        .into_iter()
        .find_map(|(least, mode)| (share >= least).then_some(mode))
    }
}

/// Words that say nothing about where in a note the answer stands.
///
/// Source: search design, "Snippets".
pub const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "for", "how", "in", "is", "my", "of", "on", "or", "the", "to", "what",
    "with",
];

/// Every constant of the accordion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Which share of the top score earns which mode.
    pub bands: Bands,
    /// The share of the budget each note may take before it uses what others left, `0.0..=1.0`.
    ///
    /// Source: Shadow graph guide, "Sliding budget".
    pub soft_ratio: f64,
    /// The length of a snippet's block, in characters; at least 1.
    ///
    /// Source: Shadow graph guide, "Allocation logic".
    pub block_chars: u32,
    /// How many notes may be given by their headings alone.
    ///
    /// Source: Shadow graph guide, "Precision controls".
    pub structural_cap: usize,
    /// The deepest heading of an outline, 1 to 6.
    ///
    /// Source: search design, "Structural".
    pub outline_depth: u8,
    /// Words of a query that are no terms, compared with case folded.
    pub stop_words: Vec<String>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bands: Bands::default(),
            soft_ratio: 0.10,
            block_chars: 500,
            structural_cap: 10,
            outline_depth: 3,
            stop_words: STOP_WORDS.iter().map(|&word| word.to_owned()).collect(),
        }
    }
}

impl Limits {
    /// Each setting outside its range, as a [`PackError::Setting`] with its name, value and range.
    pub fn problems(&self) -> impl Iterator<Item = PackError> {
        let Self {
            bands,
            soft_ratio,
            block_chars,
            structural_cap: _,
            outline_depth,
            stop_words: _,
        } = self;
        let share = |setting, value| {
            expect(setting, value, "a share between 0 and 1", (0.0..=1.0).contains(&value))
        };
        let is_ordered = bands.structural <= bands.snippet && bands.snippet <= bands.full;
        let between = "between those of structural and full";
        let (block, depth) = (f64::from(*block_chars), *outline_depth);
        let is_level = (1..=6).contains(&depth);
        [
            share("limits.bands.structural", bands.structural),
            share("limits.bands.snippet", bands.snippet),
            share("limits.bands.full", bands.full),
            expect("limits.bands.snippet", bands.snippet, between, is_ordered),
            share("limits.soft_ratio", *soft_ratio),
            expect("limits.block_chars", block, "at least 1", *block_chars > 0),
            expect("limits.outline_depth", f64::from(depth), "a level from 1 to 6", is_level),
        ]
        .into_iter()
        .filter_map(Result::err)
    }
}

/// Passes where `holds`, and names the setting where it does not.
pub(crate) fn expect(
    setting: &'static str,
    value: f64,
    expected: &'static str,
    holds: bool,
) -> Result<(), PackError> {
    if holds { Ok(()) } else { Err(PackError::Setting { setting, value, expected }) }
}
