//! Blocks of rows: quantized codes, error bounds, owners, and live bits.

use std::sync::Arc;

use weft_model::NoteId;

use super::MAX_NORM;
use super::simd::{HALF_LANE, HalfLane, Kernel, LANE, Lane};
use super::vector_file::{BLOCK_ROWS, MappedRows};

/// One bit per row of a block.
pub(super) type RowBits = [u64; BLOCK_ROWS / 64];

/// Maximum code; −128 is excluded so that every code path of [`Kernel`] is exact.
const MAX_CODE: f32 = 127.0;

/// A vector whose maximum component or root mean square is below this is treated as zero, since the reciprocal would not be finite.
const SMALLEST_COMPONENT: f32 = 1e-30;

/// Parameters of a quantized row or query: `component ≈ code · scale`.
///
/// Each vector has its own scale, so quantization needs no other rows, never clips a component, and gives the same codes after reopening.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Quantization {
    /// Value of one code step.
    pub(super) scale: f32,
    /// Length of the difference between the vector and its quantized form.
    pub(super) error: f32,
    /// Length of the vector.
    pub(super) norm: f32,
}

/// Writes the codes of `vector`; returns `None` if a component, or the length, is not finite.
pub(super) fn encode(kernel: Kernel, vector: &[f32], codes: &mut [Lane]) -> Option<Quantization> {
    let norm = kernel.dot_f32(vector, vector).sqrt();
    if !norm.is_finite() {
        return None;
    }
    let max_component =
        vector.iter().fold(0.0_f32, |max_component, value| max_component.max(value.abs()));
    if max_component < SMALLEST_COMPONENT {
        codes.fill(Lane::ZERO);
        return Some(Quantization { scale: 0.0, error: norm, norm });
    }
    let squared_error = kernel.encode(vector, MAX_CODE / max_component, codes);
    let scale = max_component / MAX_CODE;
    Some(Quantization { scale, error: squared_error.sqrt() * scale, norm })
}

/// Half-code steps per root mean square: the optimum for normally distributed components.
///
/// The optimal step of a uniform quantizer with 16 levels is 0.3352: J. Max, *Quantizing for minimum distortion*, 1960.
const STEPS_IN_ROOT_MEAN_SQUARE: f32 = 1.0 / 0.3352;

/// Upper bound of the relative rounding error in the sum of squared half-code errors: each of 64 partial sums adds at most 64 squares.
const ROUNDING_FACTOR: f32 = 128.0 * f32::EPSILON;

/// Writes the half-codes of `vector`, whose length is `norm`: a component is represented as `(half-code − 7.5) · 2 · scale`.
///
/// Returns the scale and, rounded up, the length of the difference between the vector and its half-codes.
fn encode_half(kernel: Kernel, vector: &[f32], norm: f32, codes: &mut [HalfLane]) -> (f32, f32) {
    let root_mean_square = norm / (vector.len() as f32).sqrt();
    if root_mean_square < SMALLEST_COMPONENT {
        codes.fill(HalfLane::LEAST);
        return (0.0, norm);
    }
    let factor = STEPS_IN_ROOT_MEAN_SQUARE / root_mean_square;
    let squared_error = kernel.encode_half(vector, factor, codes);
    (0.5 / factor, squared_error.sqrt() / factor * (1.0 + ROUNDING_FACTOR))
}

/// Codes of all rows of a block, with the scale and the error of each.
#[derive(Clone, Debug)]
pub(super) struct CodePlane<L> {
    lanes: Box<[L]>,
    pub(super) scales: [f32; BLOCK_ROWS],
    pub(super) errors: [f32; BLOCK_ROWS],
}

impl<L: Copy> CodePlane<L> {
    /// Creates a plane with `stride` lanes per row, all `zero`.
    fn new(zero: L, stride: usize) -> Self {
        let lanes = vec![zero; BLOCK_ROWS * stride].into();
        Self { lanes, scales: [0.0; BLOCK_ROWS], errors: [0.0; BLOCK_ROWS] }
    }

    /// Returns the number of lanes per row.
    pub(super) const fn stride(&self) -> usize {
        self.lanes.len() / BLOCK_ROWS
    }

    /// Returns the lanes of the first `n_rows` rows.
    pub(super) fn rows(&self, n_rows: usize) -> &[L] {
        &self.lanes[..n_rows * self.stride()]
    }

    /// Returns the lanes of row `at`.
    pub(super) fn row(&self, at: usize) -> &[L] {
        let stride = self.stride();
        &self.lanes[at * stride..(at + 1) * stride]
    }

    /// Returns the lanes of row `at` for writing.
    fn row_mut(&mut self, at: usize) -> &mut [L] {
        let stride = self.stride();
        &mut self.lanes[at * stride..(at + 1) * stride]
    }

    /// Sets scale and error of row `at`.
    fn describe(&mut self, at: usize, scale: f32, error: f32) {
        (self.scales[at], self.errors[at]) = (scale, error);
    }
}

/// The part of a block that only changes when rows are added.
#[derive(Clone, Debug)]
pub(super) struct BlockCodes {
    pub(super) whole: CodePlane<Lane>,
    /// Half-codes: half the bytes, used to rule out rows.
    pub(super) half: CodePlane<HalfLane>,
    pub(super) owners: [NoteId; BLOCK_ROWS],
}

impl BlockCodes {
    fn new(dimension: usize) -> Self {
        Self {
            whole: CodePlane::new(Lane::ZERO, dimension.div_ceil(LANE)),
            half: CodePlane::new(HalfLane::LEAST, dimension.div_ceil(HALF_LANE)),
            owners: [NoteId::new(0); BLOCK_ROWS],
        }
    }
}

/// The float vectors of a block.
#[derive(Clone, Debug)]
pub(super) enum BlockVectors {
    /// In a mapped file.
    Mapped(MappedRows),
    /// In memory, without padding.
    Memory(Arc<Vec<f32>>),
}

impl BlockVectors {
    /// Returns the vector of row `at`, which must be published.
    pub(super) fn row(&self, at: usize, dimension: usize) -> &[f32] {
        match self {
            Self::Mapped(rows) => rows.row(at, dimension),
            Self::Memory(values) => &values[at * dimension..(at + 1) * dimension],
        }
    }
}

/// Up to [`BLOCK_ROWS`] rows. Cloning shares everything except the live bits.
#[derive(Clone, Debug)]
pub(super) struct RowBlock {
    pub(super) codes: Arc<BlockCodes>,
    pub(super) floats: BlockVectors,
    pub(super) live: RowBits,
    /// Rows after those of a shared graph whose texts are in it.
    pub(super) copies: RowBits,
}

impl RowBlock {
    /// Creates a block without rows.
    pub(super) fn new(dimension: usize, floats: BlockVectors) -> Self {
        let (live, copies) = (RowBits::default(), RowBits::default());
        Self { codes: Arc::new(BlockCodes::new(dimension)), floats, live, copies }
    }

    /// Quantizes `vector` as row `at`, live if it has an owner; returns false and sets no scale if its [norm is invalid](has_valid_norm).
    pub(super) fn set(
        &mut self,
        kernel: Kernel,
        at: usize,
        owner: Option<NoteId>,
        vector: &[f32],
    ) -> bool {
        let codes = Arc::make_mut(&mut self.codes);
        let Some(coded) = encode(kernel, vector, codes.whole.row_mut(at))
            .filter(|coded| has_valid_norm(coded.norm))
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

/// True if a vector of this length is valid. False for NaN.
pub(super) fn has_valid_norm(norm: f32) -> bool {
    norm <= MAX_NORM
}

/// Returns the positions of set bits, ascending.
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

/// Returns the position after the last set bit; 0 if none is set.
pub(super) fn end(bits: &RowBits) -> usize {
    let last = bits.iter().rposition(|word| *word != 0);
    last.map_or(0, |word| (word + 1) * 64 - bits[word].leading_zeros() as usize)
}

/// Returns the number of set bits.
pub(super) fn count(bits: &RowBits) -> usize {
    bits.iter().map(|word| word.count_ones() as usize).sum()
}

/// True if bit `at` is set.
pub(super) const fn is_set(bits: &RowBits, at: usize) -> bool {
    bits[at / 64] >> (at % 64) & 1 == 1
}

/// Codes of all rows of an index, as a graph walk reads them.
#[derive(Clone, Copy)]
pub(super) struct RowCodes<'i> {
    pub(super) blocks: &'i [RowBlock],
    pub(super) kernel: Kernel,
}

impl<'i> RowCodes<'i> {
    /// Returns the codes and the scale of a row.
    pub(super) fn row(self, row: u32) -> (&'i [Lane], f32) {
        let (block, at) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
        let codes = &self.blocks[block].codes.whole;
        (codes.row(at), codes.scales[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantization_error_matches_the_stated_bound() {
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
    fn vectors_without_finite_length_are_not_encoded() {
        for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30] {
            assert_eq!(encode(Kernel::detect(), &[0.5, wrong], &mut [Lane::ZERO]), None, "{wrong}");
        }
    }
}
