//! Calibration: brings the cosines of different models to one scale.

use serde::{Deserialize, Serialize};

/// Two cosines of a model: of texts that have nothing to do with each other, and of texts that say the same.
///
/// Models use different parts of the scale: for some, unrelated texts have a cosine near 0, for others near 0.8.
/// Whatever takes a similarity as absolute (fusion with keywords, floors, evidence of passages) reads cosines through this affine map.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Mean cosine of unrelated texts.
    pub unrelated: f64,
    /// Mean cosine of a question and the passage that answers it.
    pub related: f64,
}

/// Least distance of the two cosines: closer ones would turn noise into differences.
const MIN_DISTANCE: f64 = 0.02;

impl Calibration {
    /// The cosines of the bundled English model, to which others are mapped. Its own cosines stay as they are.
    ///
    /// Measured on questions with their passages: 0.03 and 0.56 on English XQuAD, 0.04 and 0.54 on 100 questions of HotpotQA.
    pub const REFERENCE: Self = Self { unrelated: 0.04, related: 0.55 };

    /// Mean cosines of the bundled English model between chunks: of random ones, and of each with the nearest of another note.
    ///
    /// Measured: 0.03 and 0.58 on English XQuAD, 0.03 and 0.52 on passages of HotpotQA, 0.02 and 0.50 on those of MuSiQue.
    const REFERENCE_CHUNKS: Self = Self { unrelated: 0.03, related: 0.53 };

    /// Returns the calibration of a model by the mean cosines between chunks of a vault: of random ones, and of each with the nearest of another note.
    ///
    /// The map is the one that brings these two to those of the reference. Returns `None` if they are too close to tell texts apart.
    #[must_use]
    pub fn of_chunks(random: f64, nearest: f64) -> Option<Self> {
        let slope = (nearest - random)
            / (Self::REFERENCE_CHUNKS.related - Self::REFERENCE_CHUNKS.unrelated);
        let cosine_at = |score: f64| random + (score - Self::REFERENCE_CHUNKS.unrelated) * slope;
        let found = Self {
            unrelated: cosine_at(Self::REFERENCE.unrelated),
            related: cosine_at(Self::REFERENCE.related),
        };
        found.is_valid().then_some(found)
    }

    /// True if both are finite and the second is above the first.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let Self { unrelated, related } = *self;
        unrelated.is_finite() && related.is_finite() && related - unrelated >= MIN_DISTANCE
    }

    /// Returns the score of a cosine, in `0.0..=1.0`: of two cosines, the higher has no lower score.
    #[must_use]
    pub fn score(&self, cosine: f32) -> f64 {
        let cosine = f64::from(cosine);
        if *self == Self::REFERENCE {
            return cosine.clamp(0.0, 1.0);
        }
        let slope =
            (Self::REFERENCE.related - Self::REFERENCE.unrelated) / (self.related - self.unrelated);
        (Self::REFERENCE.unrelated + (cosine - self.unrelated) * slope).clamp(0.0, 1.0)
    }
}

impl Default for Calibration {
    fn default() -> Self {
        Self::REFERENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_points_are_mapped_to_the_reference() {
        let compressed = Calibration { unrelated: 0.8, related: 0.9 };
        for (cosine, expected) in [
            (0.8, Calibration::REFERENCE.unrelated),
            (0.9, Calibration::REFERENCE.related),
            (0.2, 0.0),
            (1.0, 1.0),
        ] {
            assert!((compressed.score(cosine) - expected).abs() < 1e-6, "{cosine}");
        }
        assert_eq!(Calibration::REFERENCE.score(0.25).to_bits(), 0.25_f64.to_bits());
    }

    #[test]
    fn sample_of_the_reference_gives_the_reference() {
        let Calibration { unrelated, related } = Calibration::REFERENCE_CHUNKS;
        let found = Calibration::of_chunks(unrelated, related).unwrap();
        assert!((found.unrelated - Calibration::REFERENCE.unrelated).abs() < 1e-9, "{found:?}");
        assert!((found.related - Calibration::REFERENCE.related).abs() < 1e-9, "{found:?}");
        assert_eq!(Calibration::of_chunks(0.9, 0.9), None);
        assert_eq!(Calibration::of_chunks(f64::NAN, 0.9), None);
    }
}
