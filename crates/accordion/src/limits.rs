//! Limits of a context: which share of the top score selects which mode, and how much of the budget each note may use.

use serde::{Deserialize, Serialize};

use crate::PackError;

/// How much of a note is included in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The whole body, or its beginning.
    Full,
    /// Blocks around the query's matches.
    Snippet,
    /// The headings.
    Structural,
}

impl Mode {
    /// Returns the name used in answers: `full`, `snippet` or `structural`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Snippet => "snippet",
            Self::Structural => "structural",
        }
    }
}

/// Minimum share of the top score for each mode.
///
/// Shares lie in `0.0..=1.0` and do not increase from `full` to `structural`.
/// Source: Shadow graph guide, "Allocation logic".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bands {
    /// Share for [`Mode::Full`].
    pub full: f64,
    /// Share for [`Mode::Snippet`].
    pub snippet: f64,
    /// Share for [`Mode::Structural`].
    pub structural: f64,
}

impl Default for Bands {
    fn default() -> Self {
        Self { full: 0.90, snippet: 0.70, structural: 0.35 }
    }
}

impl Bands {
    /// Returns the mode for `score` relative to the highest score `top`; bounds are inclusive.
    ///
    /// Returns `None` below every band, and always if `top ≤ 0`.
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

/// Words of a query that do not help to locate an answer within a note.
///
/// Source: search design, "Snippets".
pub const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "for", "how", "in", "is", "my", "of", "on", "or", "the", "to", "what",
    "with",
];

/// Limits of a context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextLimits {
    /// Minimum share of the top score for each mode.
    pub bands: Bands,
    /// Share of the budget that each note may use, before it uses what others left, `0.0..=1.0`.
    ///
    /// Source: Shadow graph guide, "Sliding budget".
    pub per_note_share: f64,
    /// Length of a snippet block in characters, at least 1.
    ///
    /// Source: Shadow graph guide, "Allocation logic".
    pub block_chars: u32,
    /// Maximum number of notes included by their headings only.
    ///
    /// Source: Shadow graph guide, "Precision controls".
    pub structural_cap: usize,
    /// Deepest heading level of an outline, 1 to 6.
    ///
    /// Source: search design, "Structural".
    pub outline_depth: u8,
    /// Words of a query that are ignored, compared ignoring case.
    pub stop_words: Vec<String>,
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self {
            bands: Bands::default(),
            per_note_share: 0.10,
            block_chars: 500,
            structural_cap: 10,
            outline_depth: 3,
            stop_words: STOP_WORDS.iter().map(|&word| word.to_owned()).collect(),
        }
    }
}

impl ContextLimits {
    /// Returns each setting that is out of range, as a [`PackError::Setting`].
    pub fn problems(&self) -> impl Iterator<Item = PackError> {
        let Self {
            bands,
            per_note_share,
            block_chars,
            structural_cap: _,
            outline_depth,
            stop_words: _,
        } = self;
        let share = |setting, value| {
            expect(setting, value, "a share between 0 and 1", (0.0..=1.0).contains(&value))
        };
        let is_ordered = bands.structural <= bands.snippet && bands.snippet <= bands.full;
        let between = "between the structural and the full band";
        let (block, depth) = (f64::from(*block_chars), *outline_depth);
        let is_level = (1..=6).contains(&depth);
        [
            share("limits.bands.structural", bands.structural),
            share("limits.bands.snippet", bands.snippet),
            share("limits.bands.full", bands.full),
            expect("limits.bands.snippet", bands.snippet, between, is_ordered),
            share("limits.per_note_share", *per_note_share),
            expect("limits.block_chars", block, "at least 1", *block_chars > 0),
            expect("limits.outline_depth", f64::from(depth), "a level from 1 to 6", is_level),
        ]
        .into_iter()
        .filter_map(Result::err)
    }
}

/// Returns an error that names the setting unless `holds`.
pub(crate) fn expect(
    setting: &'static str,
    value: f64,
    expected: &'static str,
    holds: bool,
) -> Result<(), PackError> {
    if holds { Ok(()) } else { Err(PackError::Setting { setting, value, expected }) }
}
