//! BM25: parameters, field boosts and length normalization.

use serde::{Deserialize, Serialize};
use weft_model::settings::Problems;

use super::index_schema::N_BOOSTED;

/// BM25 parameters and field boosts. Applied at query time, so a change needs no rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scoring {
    /// Saturation of term frequency: the lower, the sooner further occurrences stop counting. Not negative.
    ///
    /// Source of this and `b`: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
    pub k1: f64,
    /// Strength of length normalization, 0 to 1.
    pub b: f64,
    /// Weight of an occurrence in the title, relative to one in the body. Not negative; the same holds for the next six fields.
    pub title: f64,
    /// Weight of an occurrence in another name: an alias, the file's name, the uri or the `id`.
    pub aliases: f64,
    /// Weight of an occurrence in the headings.
    pub headings: f64,
    /// Weight of an occurrence in the tags.
    pub tags: f64,
    /// Weight of an occurrence in the names of the folders that hold the file.
    pub folders: f64,
    /// Weight of an occurrence in any other property of the frontmatter.
    pub properties: f64,
    /// Weight of an occurrence in a passage that only lists links to other notes.
    pub link_lists: f64,
}

impl Default for Scoring {
    fn default() -> Self {
        Self {
            k1: 1.2,
            b: 0.75,
            title: 2.0,
            aliases: 2.0,
            headings: 1.5,
            tags: 1.5,
            folders: 0.25,
            properties: 0.25,
            link_lists: 0.25,
        }
    }
}

impl Scoring {
    /// Reports values that are out of range.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { k1, b, title, aliases, headings, tags, folders, properties, link_lists } = *self;
        let mut problems = Problems::default();
        problems.within("b", b, 0.0..=1.0);
        for (key, value) in [
            ("k1", k1),
            ("title", title),
            ("aliases", aliases),
            ("headings", headings),
            ("tags", tags),
            ("folders", folders),
            ("properties", properties),
            ("link_lists", link_lists),
        ] {
            problems.check(value.is_finite() && value >= 0.0, key, "must not be negative");
        }
        problems
    }

    /// Returns what an occurrence in each boosted field adds to the same occurrence in the text.
    pub(super) fn field_boosts(&self) -> [f64; N_BOOSTED] {
        let Self { k1: _, b: _, title, aliases, headings, tags, folders, properties, link_lists } =
            *self;
        [title, aliases, headings, tags, folders, properties, link_lists].map(|weight| weight - 1.0)
    }
}

/// Length normalization of BM25: `k1 · (1 − b + b · length / mean length)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct LengthNormalization {
    base: f64,
    per_word: f64,
}

impl LengthNormalization {
    pub(super) fn new(scoring: &Scoring, mean_length: f64) -> Self {
        let Scoring { k1, b, .. } = *scoring;
        Self { base: k1 * (1.0 - b), per_word: k1 * b / mean_length.max(1.0) }
    }

    /// Returns the saturated frequency: 0 without an occurrence, approaching 1 with their number.
    #[inline]
    pub(super) fn saturation(self, frequency: f64, length: u32) -> f64 {
        if frequency <= 0.0 {
            return 0.0;
        }
        frequency / (frequency + self.base + self.per_word * f64::from(length))
    }
}
