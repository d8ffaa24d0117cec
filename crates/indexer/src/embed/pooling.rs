//! Pools a model's output into one unit vector.

/// How token vectors are combined into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// The mean of all tokens, including special ones.
    Mean,
    /// The vector of the first token.
    Cls,
}

impl Pooling {
    /// Returns the name used in a model's identity: `mean` or `cls`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Cls => "cls",
        }
    }

    /// Pools `rows` (`n_tokens × dimension`, row-major) into one vector. Sums in order, in double precision.
    ///
    /// A model that pools by itself returns one row, which both methods leave unchanged.
    pub(crate) fn pool(self, rows: &[f32], dimension: usize) -> Vec<f64> {
        let rows = rows.chunks_exact(dimension);
        let taken = match self {
            Self::Mean => rows.len(),
            Self::Cls => 1,
        };
        let mut sum = vec![0.0; dimension];
        for row in rows.take(taken) {
            for (sum, &value) in sum.iter_mut().zip(row) {
                *sum += f64::from(value);
            }
        }
        sum
    }
}

/// Normalizes `vector` to unit length; `None` if it is zero or not finite.
#[expect(clippy::cast_possible_truncation, reason = "a unit vector is stored in single precision")]
pub(crate) fn unit(vector: &[f64]) -> Option<Vec<f32>> {
    let length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    let has_direction = length.is_finite() && length > f64::MIN_POSITIVE;
    has_direction.then(|| vector.iter().map(|value| (value / length) as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooled_vector_has_direction_of_tokens() {
        let rows = [3.0, 0.0, 0.0, 3.0, 3.0, 3.0];
        let half = std::f32::consts::FRAC_1_SQRT_2;
        for (pooling, expected) in [(Pooling::Mean, [half, half]), (Pooling::Cls, [1.0, 0.0])] {
            let vector = unit(&pooling.pool(&rows, 2)).unwrap();
            assert!(
                vector.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6),
                "{pooling:?}: {vector:?}"
            );
        }
    }

    #[test]
    fn vector_without_direction_cannot_be_normalized() {
        for bad in [vec![0.0, 0.0], vec![f64::NAN, 1.0], vec![f64::INFINITY, 1.0], vec![]] {
            assert_eq!(unit(&bad), None, "{bad:?}");
        }
    }
}
