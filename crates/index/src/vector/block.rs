//! Blocks of rows: codes, bounds, owners, and which rows live.

use std::sync::Arc;

use weft_model::NoteId;

use super::MAX_NORM;
use super::file::MappedRows;
use super::simd::{HALF_LANE, HalfLane, Kernel, LANE, Lane};

/// Rows of a block, the unit that versions of an index share: 295 kB of codes at 384 dimensions.
pub(super) const BLOCK_ROWS: usize = 512;

/// A bit per row of a block.
pub(super) type RowBits = [u64; BLOCK_ROWS / 64];

/// The greatest code; −128 is left out so that every path of [`Kernel`] is exact.
const MAX_CODE: f32 = 127.0;

/// Vectors whose greatest component, or root mean square, is below this count as zero: its reciprocal would not be finite.
const SMALLEST_COMPONENT: f32 = 1e-30;

/// What one row or query is as codes: `component ≈ code · scale`.
///
/// Each vector has a scale of its own, so coding it needs no other row, never cuts a component off, and gives the same codes after reopening.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Coded {
    /// What a code stands for.
    pub(super) scale: f32,
    /// The length of the difference between the vector and its codes.
    pub(super) error: f32,
    /// The length of the vector.
    pub(super) norm: f32,
}

/// Writes the codes of `vector`; nothing when a component, or its length, is not finite.
pub(super) fn encode(kernel: Kernel, vector: &[f32], codes: &mut [Lane]) -> Option<Coded> {
    let norm = kernel.dot_f32(vector, vector).sqrt();
    if !norm.is_finite() {
        return None;
    }
    let greatest = vector.iter().fold(0.0_f32, |greatest, value| greatest.max(value.abs()));
    if greatest < SMALLEST_COMPONENT {
        codes.fill(Lane::ZERO);
        return Some(Coded { scale: 0.0, error: norm, norm });
    }
    let lost = kernel.encode(vector, MAX_CODE / greatest, codes);
    let scale = greatest / MAX_CODE;
    Some(Coded { scale, error: lost.sqrt() * scale, norm })
}

/// Steps of a half-code in a root mean square: with so many, least is lost where components are normally distributed.
///
/// The step of the uniform quantizer of 16 levels with the least distortion is 0.3352: J. Max, *Quantizing for minimum distortion*, 1960.
const STEPS_IN_ROOT_MEAN_SQUARE: f32 = 1.0 / 0.3352;

/// What rounding may have taken from the sum of what half-codes lose, of which each of 64 places adds up 64 squares at most.
const LOST_IN_SUM: f32 = 128.0 * f32::EPSILON;

/// Writes the half-codes of `vector`, whose length is `norm`: a component stands for `(half-code − 7.5) · 2 · scale`.
///
/// Returns the scale and, rounded up, the length of the difference between the vector and its half-codes.
fn encode_half(kernel: Kernel, vector: &[f32], norm: f32, codes: &mut [HalfLane]) -> (f32, f32) {
    let root_mean_square = norm / (vector.len() as f32).sqrt();
    if root_mean_square < SMALLEST_COMPONENT {
        codes.fill(HalfLane::LEAST);
        return (0.0, norm);
    }
    let factor = STEPS_IN_ROOT_MEAN_SQUARE / root_mean_square;
    let lost = kernel.encode_half(vector, factor, codes);
    (0.5 / factor, lost.sqrt() / factor * (1.0 + LOST_IN_SUM))
}

/// Codes of all rows, what they stand for, and how far from the vectors that is.
#[derive(Clone, Debug)]
pub(super) struct Plane<L> {
    lanes: Box<[L]>,
    pub(super) scales: [f32; BLOCK_ROWS],
    pub(super) errors: [f32; BLOCK_ROWS],
}

impl<L: Copy> Plane<L> {
    /// All rows of `stride` lanes, which are `zero`.
    fn new(zero: L, stride: usize) -> Self {
        let lanes = vec![zero; BLOCK_ROWS * stride].into();
        Self { lanes, scales: [0.0; BLOCK_ROWS], errors: [0.0; BLOCK_ROWS] }
    }

    /// Lanes of one row.
    pub(super) const fn stride(&self) -> usize {
        self.lanes.len() / BLOCK_ROWS
    }

    /// The lanes of the first `n_rows` rows.
    pub(super) fn rows(&self, n_rows: usize) -> &[L] {
        &self.lanes[..n_rows * self.stride()]
    }

    /// The lanes of row `at`.
    pub(super) fn row(&self, at: usize) -> &[L] {
        let stride = self.stride();
        &self.lanes[at * stride..(at + 1) * stride]
    }

    /// The lanes of row `at`, to be written.
    fn row_mut(&mut self, at: usize) -> &mut [L] {
        let stride = self.stride();
        &mut self.lanes[at * stride..(at + 1) * stride]
    }

    /// Keeps what the codes of row `at` stand for.
    fn describe(&mut self, at: usize, scale: f32, error: f32) {
        (self.scales[at], self.errors[at]) = (scale, error);
    }
}

/// Everything of a block that only changes while rows are added.
#[derive(Clone, Debug)]
pub(super) struct Codes {
    pub(super) whole: Plane<Lane>,
    /// The same in half the bytes, which tell which rows need not be looked at.
    pub(super) half: Plane<HalfLane>,
    pub(super) owners: [NoteId; BLOCK_ROWS],
}

impl Codes {
    fn new(dimension: usize) -> Self {
        Self {
            whole: Plane::new(Lane::ZERO, dimension.div_ceil(LANE)),
            half: Plane::new(HalfLane::LEAST, dimension.div_ceil(HALF_LANE)),
            owners: [NoteId::new(0); BLOCK_ROWS],
        }
    }
}

/// The vectors of a block themselves.
#[derive(Clone, Debug)]
pub(super) enum Floats {
    /// In a mapped file.
    Mapped(MappedRows),
    /// In memory, without padding.
    Memory(Arc<Vec<f32>>),
}

impl Floats {
    /// The vector of row `at`, which is published.
    pub(super) fn row(&self, at: usize, dimension: usize) -> &[f32] {
        match self {
            Self::Mapped(rows) => rows.row(at, dimension),
            Self::Memory(values) => &values[at * dimension..(at + 1) * dimension],
        }
    }
}

/// Up to [`BLOCK_ROWS`] rows. Cloning shares everything but the living bits.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) codes: Arc<Codes>,
    pub(super) floats: Floats,
    pub(super) live: RowBits,
}

impl Block {
    /// A block without rows.
    pub(super) fn new(dimension: usize, floats: Floats) -> Self {
        Self { codes: Arc::new(Codes::new(dimension)), floats, live: RowBits::default() }
    }

    /// Codes `vector` as row `at`, alive if it has an owner; returns false and leaves it without scale when it is no [sound](is_sound) vector.
    pub(super) fn set(
        &mut self,
        kernel: Kernel,
        at: usize,
        owner: Option<NoteId>,
        vector: &[f32],
    ) -> bool {
        let codes = Arc::make_mut(&mut self.codes);
        let Some(coded) =
            encode(kernel, vector, codes.whole.row_mut(at)).filter(|coded| is_sound(coded.norm))
        else {
            return false;
        };
        codes.whole.describe(at, coded.scale, coded.error);
        let (scale, error) = encode_half(kernel, vector, coded.norm, codes.half.row_mut(at));
        codes.half.describe(at, scale, error);
        if let Some(note) = owner {
            codes.owners[at] = note;
            self.live[at / 64] |= 1 << (at % 64);
        }
        true
    }
}

/// Whether a vector of this length may be kept. False for NaN.
pub(super) fn is_sound(norm: f32) -> bool {
    norm <= MAX_NORM
}

/// The positions of set bits, ascending.
pub(super) fn positions(bits: &RowBits) -> impl Iterator<Item = usize> + '_ {
    bits.iter().enumerate().flat_map(|(word, &bits)| {
        let mut rest = bits;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(word * 64 + bit)
        })
    })
}

/// The position after the last set bit; 0 without one.
pub(super) fn end(bits: &RowBits) -> usize {
    let last = bits.iter().rposition(|word| *word != 0);
    last.map_or(0, |word| (word + 1) * 64 - bits[word].leading_zeros() as usize)
}

/// How many bits are set.
pub(super) fn count(bits: &RowBits) -> usize {
    bits.iter().map(|word| word.count_ones() as usize).sum()
}

/// Whether bit `at` is set.
pub(super) const fn is_set(bits: &RowBits, at: usize) -> bool {
    bits[at / 64] >> (at % 64) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_stay_within_their_stated_error() {
        let cases: [(&str, Vec<f32>); 5] = [
            ("axis", vec![0.0, -1.0, 0.0]),
            ("zero", vec![0.0; 70]),
            ("tiny", vec![1e-38; 5]),
            ("even", vec![0.05; 384]),
            ("rising", (0_u16..384).map(|at| f32::from(at) / 5_000.0 - 0.03).collect()),
        ];
        for (name, vector) in cases {
            let mut codes = vec![Lane::ZERO; vector.len().div_ceil(LANE)];
            let coded = encode(Kernel::detect(), &vector, &mut codes).unwrap();
            let decoded =
                codes.iter().flat_map(|lane| lane.0).map(|code| f32::from(code) * coded.scale);
            let error = decoded
                .zip(&vector)
                .map(|(code, value)| (code - value).powi(2))
                .sum::<f32>()
                .sqrt();
            assert!((error - coded.error).abs() < 1e-5, "{name}: {error} {coded:?}");
            assert!(codes.iter().flat_map(|lane| lane.0).all(|code| code >= -127), "{name}");

            let mut halves = vec![HalfLane::LEAST; vector.len().div_ceil(HALF_LANE)];
            let (scale, stated) = encode_half(Kernel::detect(), &vector, coded.norm, &mut halves);
            let decoded = (0..vector.len())
                .map(|at| (f32::from(HalfLane::code(&halves, at)) - 7.5) * 2.0 * scale);
            let error = decoded
                .zip(&vector)
                .map(|(code, value)| (code - value).powi(2))
                .sum::<f32>()
                .sqrt();
            assert!((error - stated).abs() < 1e-5, "{name}, halves: {error} {stated}");
        }
    }

    #[test]
    fn vectors_without_a_length_have_no_codes() {
        for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30] {
            assert_eq!(encode(Kernel::detect(), &[0.5, wrong], &mut [Lane::ZERO]), None, "{wrong}");
        }
    }
}
