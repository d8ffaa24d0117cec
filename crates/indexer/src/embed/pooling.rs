//! From a model's output to one unit vector.

/// How token vectors become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// The mean over all tokens, special ones included.
    Mean,
    /// The vector of the first token.
    Cls,
}

impl Pooling {
    /// The name used in a model's identity: `mean` or `cls`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Cls => "cls",
        }
    }

    /// One vector from `rows`, `n_tokens × dimension` and row-major. Sums in order, in double precision.
    ///
    /// A model that pools by itself gives one row, which both ways leave as it is.
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

/// `vector` at length one; nothing where it has no direction.
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
    fn pooling_points_where_the_tokens_point() {
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
    fn a_vector_without_direction_has_no_unit() {
        for bad in [vec![0.0, 0.0], vec![f64::NAN, 1.0], vec![f64::INFINITY, 1.0], vec![]] {
            assert_eq!(unit(&bad), None, "{bad:?}");
        }
    }
}
