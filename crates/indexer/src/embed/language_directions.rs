//! Directions of a model's space in which texts differ by their language, whatever they say.

use super::pooling::unit;

/// Orthonormal directions, as rows of little-endian 32-bit floats.
///
/// A multilingual model puts a question nearer to any note in its own language than to its answer in another one.
/// The dot product of a question without its part in these directions is the one that it would have with a note without this part, so notes keep the vectors of the model, and only questions are changed.
/// No language has to be detected, and one that was not measured gains as well, by the directions that it shares with others.
#[derive(Clone, Copy)]
pub(crate) struct LanguageDirections(pub(crate) &'static [u8]);

impl LanguageDirections {
    /// Returns the rows, each of the given dimension.
    fn rows(self, dimension: usize) -> impl Iterator<Item = impl Iterator<Item = f64> + Clone> {
        let value = |bytes: &[u8; 4]| f64::from(f32::from_le_bytes(*bytes));
        let row = move |row: &'static [u8]| row.as_chunks::<4>().0.iter().map(value);
        self.0.chunks_exact(4 * dimension).map(row)
    }

    /// Returns the unit vector of `vector` without its part in these directions; a vector without any other part stays as it is.
    pub(crate) fn removed(self, vector: &[f32]) -> Vec<f32> {
        let mut rest: Vec<f64> = vector.iter().map(|value| f64::from(*value)).collect();
        for row in self.rows(vector.len()) {
            let along: f64 = rest.iter().zip(row.clone()).map(|(value, along)| value * along).sum();
            for (value, direction) in rest.iter_mut().zip(row) {
                *value -= along * direction;
            }
        }
        unit(&rest).unwrap_or_else(|| vector.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::super::bundled_model::{DIMENSION, LANGUAGE_DIRECTIONS};

    fn dot(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "components of unit vectors")]
    fn directions_are_orthonormal_and_removed_completely() {
        let directions = LANGUAGE_DIRECTIONS;
        let rows: Vec<Vec<f32>> =
            directions.rows(DIMENSION).map(|row| row.map(|value| value as f32).collect()).collect();
        assert_eq!(rows.len(), 14);
        for (at, row) in rows.iter().enumerate() {
            for (other_at, other) in rows.iter().enumerate() {
                let expected = if at == other_at { 1.0 } else { 0.0 };
                assert!((dot(row, other) - expected).abs() < 1e-5, "{at} {other_at}");
            }
        }
        let question: Vec<f32> = (0..DIMENSION).map(|at| (at as f32).sin() / 13.9).collect();
        let note: Vec<f32> = (0..DIMENSION).map(|at| (at as f32 / 3.0).cos() / 13.9).collect();
        let removed = directions.removed(&question);
        assert!((dot(&removed, &removed) - 1.0).abs() < 1e-6);
        assert!(rows.iter().all(|row| dot(&removed, row).abs() < 1e-6));
        let both = dot(&removed, &directions.removed(&note));
        let part: f64 = rows.iter().map(|row| dot(row, &note).powi(2)).sum();
        let length = (dot(&note, &note) - part).sqrt();
        assert!((dot(&removed, &note) - both * length).abs() < 1e-6, "notes need no change");
        assert_eq!(directions.removed(&rows[3]).len(), DIMENSION);
    }
}
