//! Dot products with SIMD instructions.
//!
//! Every code path gives the same bits: integer sums are exact, and float sums use the same 32 partial sums, with unfused multiply and add, on every machine.
//! So results do not depend on the processor.
#![expect(
    unsafe_code,
    reason = "vector intrinsics load through pointers and need run-time feature detection"
)]

/// Components of one [`Lane`].
pub(super) const LANE: usize = 64;

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const CACHE_LINE: usize = 64;

/// 64 signed codes: one cache line, one AVX-512 register.
///
/// Codes are in `-127..=127`; rows are padded with zeros, which add nothing to a dot product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C, align(64))]
pub(super) struct Lane(pub(super) [i8; LANE]);

impl Lane {
    /// A lane of zeros.
    pub(super) const ZERO: Self = Self([0; LANE]);
}

/// 128 half-codes of four bits: the first 64 in the lower halves of the bytes, the others in the upper ones.
///
/// Half-codes are in `0..=15`; the padding of a row is multiplied with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct HalfLane(Lane);

impl HalfLane {
    /// The least half-codes, which do not represent zeros.
    pub(super) const LEAST: Self = Self(Lane::ZERO);

    /// Returns code `at` of a row.
    #[cfg(test)]
    pub(super) fn code(row: &[Self], at: usize) -> u8 {
        let codes = row[at / HALF_LANE].0.0[at % LANE].cast_unsigned();
        if at % HALF_LANE < LANE { codes & MAX_HALF } else { codes >> 4 }
    }
}

/// Returns the lanes of a query in the layout for [`Kernel::half_dots`].
pub(super) fn pairs(lanes: &[Lane]) -> Vec<[Lane; 2]> {
    let pair = |pair: &[Lane]| [pair[0], pair.get(1).copied().unwrap_or(Lane::ZERO)];
    lanes.chunks(2).map(pair).collect()
}

/// Components of a [`HalfLane`].
pub(super) const HALF_LANE: usize = 2 * LANE;

/// Maximum half-code, and the mask of the lower half of a byte.
pub(super) const MAX_HALF: u8 = 15;

/// An instruction set supported by this processor.
///
/// Only created by [`Kernel::detect`] and [`Kernel::supported`]: a value proves that its instructions exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kernel(Instructions);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

/// Calls `$name` of the module for the kernel's instruction set.
macro_rules! dispatch {
    ($kernel:expr, $name:ident($($arg:expr),*)) => {
        match $kernel.0 {
            Instructions::Portable => portable::$name($($arg),*),
            // SAFETY: this kernel exists only if the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { avx2::$name($($arg),*) },
            // SAFETY: this kernel exists only if the processor has AVX-512 F, BW and VNNI.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512Vnni => unsafe { avx512::$name($($arg),*) },
            // SAFETY: this kernel exists only if the processor has NEON.
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => unsafe { neon::$name($($arg),*) },
        }
    };
}

impl Kernel {
    /// Returns the fastest kernel of this processor.
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vnni")
            {
                return Self(Instructions::Avx512Vnni);
            }
            if is_x86_feature_detected!("avx2") {
                return Self(Instructions::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            return Self(Instructions::Neon);
        }
        Self(Instructions::Portable)
    }

    /// Returns every kernel of this processor, the portable one first.
    #[cfg(test)]
    pub(super) fn supported() -> Vec<Self> {
        let mut paths = vec![Self(Instructions::Portable)];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            paths.push(Self(Instructions::Avx2));
        }
        if !paths.contains(&Self::detect()) {
            paths.push(Self::detect());
        }
        paths
    }

    /// Writes to `out` the dot product of `query` with each row of `rows`, `query.len()` lanes per row.
    pub(super) fn dots(self, query: &[Lane], rows: &[Lane], out: &mut [i32]) {
        assert_eq!(rows.len(), query.len() * out.len(), "one row of lanes per result");
        dispatch!(self, dots(query, rows, out));
    }

    /// Writes to `out` the dot product of `query` with each of `rows`, all of the same length.
    pub(super) fn dots_of(self, query: &[Lane], rows: &[&[Lane]], out: &mut [i32]) {
        assert_eq!(rows.len(), out.len(), "one result per row");
        assert!(rows.iter().all(|row| row.len() == query.len()), "rows as long as the query");
        dispatch!(self, dots_of(query, rows, out));
    }

    /// Writes to `out` the sum `Σ query · half-code` over each row of `rows`, `query.len()` half-lanes per row.
    ///
    /// A pair of the query's lanes corresponds to the lower and the upper halves of one half-lane.
    pub(super) fn half_dots(self, query: &[[Lane; 2]], rows: &[HalfLane], out: &mut [i32]) {
        assert_eq!(rows.len(), query.len() * out.len(), "one row of half-lanes per result");
        dispatch!(self, half_dots(query, rows, out));
    }

    /// Returns the dot product of two vectors of the same length.
    pub(super) fn dot_f32(self, left: &[f32], right: &[f32]) -> f32 {
        assert_eq!(left.len(), right.len(), "vectors of the same length");
        dispatch!(self, dot_f32(left, right))
    }

    /// Rounds `vector · factor` to codes, padded with zeros, and returns the squared rounding error, in units of codes.
    ///
    /// Every `|component · factor|` is at most 127.
    pub(super) fn encode(self, vector: &[f32], factor: f32, codes: &mut [Lane]) -> f32 {
        assert_eq!(codes.len(), vector.len().div_ceil(LANE), "lanes for every component");
        dispatch!(self, encode(vector, factor, codes))
    }

    /// Rounds `vector · factor` to `code − 7.5`, and returns the squared rounding error, in units of codes.
    ///
    /// Components out of range get the nearest half-code.
    pub(super) fn encode_half(self, vector: &[f32], factor: f32, codes: &mut [HalfLane]) -> f32 {
        assert_eq!(codes.len(), vector.len().div_ceil(HALF_LANE), "lanes for every component");
        dispatch!(self, encode_half(vector, factor, codes))
    }
}

/// Prefetches the memory of `items`. Has no effect on results; a no-op except on x86-64.
#[inline]
pub(super) fn prefetch<T>(items: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of_val(items)).step_by(CACHE_LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is within `items`, and every processor of this architecture has the instruction.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(items.as_ptr().cast::<i8>().add(line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = items;
}

/// Plain Rust, the reference for the other implementations.
mod portable {
    use super::{HALF_LANE, HalfLane, LANE, Lane, MAX_HALF};

    pub(super) fn half_dots(query: &[[Lane; 2]], rows: &[HalfLane], out: &mut [i32]) {
        let products = |([lower, upper], row): (&[Lane; 2], &HalfLane)| -> i32 {
            let halves = row.0.0.iter().map(|codes| codes.cast_unsigned());
            let query = lower.0.iter().zip(&upper.0);
            halves
                .zip(query)
                .map(|(codes, (&lower, &upper))| {
                    i32::from(codes & MAX_HALF) * i32::from(lower)
                        + i32::from(codes >> 4) * i32::from(upper)
                })
                .sum()
        };
        for (row, out) in rows.chunks_exact(query.len()).zip(out) {
            *out = query.iter().zip(row).map(products).sum();
        }
    }

    pub(super) fn dots(query: &[Lane], rows: &[Lane], out: &mut [i32]) {
        for (row, out) in rows.chunks_exact(query.len()).zip(out) {
            *out = dot(query, row);
        }
    }

    pub(super) fn dots_of(query: &[Lane], rows: &[&[Lane]], out: &mut [i32]) {
        for (row, out) in rows.iter().zip(out) {
            *out = dot(query, row);
        }
    }

    fn dot(query: &[Lane], row: &[Lane]) -> i32 {
        let products = |(left, right): (&Lane, &Lane)| -> i32 {
            left.0
                .iter()
                .zip(&right.0)
                .map(|(&left, &right)| i32::from(left) * i32::from(right))
                .sum()
        };
        query.iter().zip(row).map(products).sum()
    }

    /// Partial sums of a float dot product: two AVX-512 registers, enough to hide the latency of an addition.
    const SUMS: usize = 32;

    #[inline(always)]
    pub(super) fn dot_f32(left: &[f32], right: &[f32]) -> f32 {
        let mut sums = [0.0_f32; SUMS];
        let ((left, left_rest), (right, right_rest)) =
            (left.as_chunks::<SUMS>(), right.as_chunks::<SUMS>());
        for (left, right) in left.iter().zip(right) {
            for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
                *sum += left * right;
            }
        }
        for ((sum, left), right) in sums.iter_mut().zip(left_rest).zip(right_rest) {
            *sum += left * right;
        }
        let mut width = SUMS / 2;
        while width > 0 {
            let (low, high) = sums.split_at_mut(width);
            for (low, high) in low.iter_mut().zip(high) {
                *low += *high;
            }
            width /= 2;
        }
        sums[0]
    }

    /// Adding 1.5 · 2²³ leaves no bits for a fraction: the sum is rounded to even, and its low bits are the integer in two's complement.
    const ROUNDER: f32 = 12_582_912.0;

    #[inline(always)]
    pub(super) fn encode(vector: &[f32], factor: f32, codes: &mut [Lane]) -> f32 {
        let mut squared_error = [0.0_f32; LANE];
        for (part, lane) in vector.chunks(LANE).zip(codes) {
            let mut values = [0.0_f32; LANE];
            values[..part.len()].copy_from_slice(part);
            for ((value, code), squared_error) in
                values.iter().zip(&mut lane.0).zip(&mut squared_error)
            {
                let scaled = value * factor;
                let sum = scaled + ROUNDER;
                *code = sum.to_bits().to_le_bytes()[0].cast_signed();
                let error = scaled - (sum - ROUNDER);
                *squared_error += error * error;
            }
        }
        squared_error.iter().sum()
    }

    /// Offset of half-codes: a half-code represents its value minus this.
    const HALF_OF_MAX: f32 = MAX_HALF as f32 / 2.0;

    #[inline(always)]
    pub(super) fn encode_half(vector: &[f32], factor: f32, codes: &mut [HalfLane]) -> f32 {
        let mut squared_error = [0.0_f32; LANE];
        for (part, lane) in vector.chunks(HALF_LANE).zip(codes) {
            // Padding is not rounded and has no error.
            let mut values = [0.5_f32; HALF_LANE];
            for (value, component) in values.iter_mut().zip(part) {
                *value = component * factor;
            }
            let (lower, upper) = values.split_at(LANE);
            let halves = lower.iter().zip(upper).zip(&mut lane.0.0).zip(&mut squared_error);
            for (((lower, upper), codes), squared_error) in halves {
                let [(lower, lower_error), (upper, upper_error)] = [lower, upper].map(|value| {
                    let sum = (value + HALF_OF_MAX).clamp(0.0, f32::from(MAX_HALF)) + ROUNDER;
                    (sum.to_bits().to_le_bytes()[0], value - (sum - ROUNDER - HALF_OF_MAX))
                });
                *codes = (lower | upper << 4).cast_signed();
                *squared_error += lower_error * lower_error + upper_error * upper_error;
            }
        }
        squared_error.iter().sum()
    }
}

/// The float functions of `portable`, compiled for wider registers: the same operations in the same order.
macro_rules! float_functions {
    ($features:literal) => {
        #[target_feature(enable = $features)]
        pub(super) fn dot_f32(left: &[f32], right: &[f32]) -> f32 {
            portable::dot_f32(left, right)
        }

        #[target_feature(enable = $features)]
        pub(super) fn encode(vector: &[f32], factor: f32, codes: &mut [Lane]) -> f32 {
            portable::encode(vector, factor, codes)
        }

        #[target_feature(enable = $features)]
        pub(super) fn encode_half(vector: &[f32], factor: f32, codes: &mut [HalfLane]) -> f32 {
            portable::encode_half(vector, factor, codes)
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi32, _mm512_and_si512, _mm512_dpbusd_epi32, _mm512_load_si512,
        _mm512_reduce_add_epi32, _mm512_set1_epi8, _mm512_setzero_si512, _mm512_srli_epi16,
        _mm512_xor_si512,
    };

    use super::{HalfLane, Lane, MAX_HALF, portable};

    float_functions!("avx512f,avx512bw,avx512vnni");

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn dots(query: &[Lane], rows: &[Lane], out: &mut [i32]) {
        let bias = bias(query);
        for (row, out) in rows.chunks_exact(query.len()).zip(out) {
            *out = biased(query, row).wrapping_sub(bias);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn dots_of(query: &[Lane], rows: &[&[Lane]], out: &mut [i32]) {
        let bias = bias(query);
        for (row, out) in rows.iter().zip(out) {
            *out = biased(query, row).wrapping_sub(bias);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn half_dots(query: &[[Lane; 2]], rows: &[HalfLane], out: &mut [i32]) {
        let mask = _mm512_set1_epi8(MAX_HALF.cast_signed());
        for (row, out) in rows.chunks_exact(query.len()).zip(out) {
            let mut sums = [_mm512_setzero_si512(); 2];
            for ([lower, upper], row) in query.iter().zip(row) {
                let row = load(&row.0);
                // Masks out the bits shifted in from the byte above.
                let above = _mm512_srli_epi16::<4>(row);
                let (row, above) = (_mm512_and_si512(row, mask), _mm512_and_si512(above, mask));
                sums[0] = _mm512_dpbusd_epi32(sums[0], row, load(lower));
                sums[1] = _mm512_dpbusd_epi32(sums[1], above, load(upper));
            }
            *out = _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]));
        }
    }

    /// `Σ (row + 128) · query`: the instruction multiplies unsigned with signed bytes, and flipping the sign bit adds 128.
    ///
    /// Partial sums may wrap around; the difference to the bias is still correct.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn biased(query: &[Lane], row: &[Lane]) -> i32 {
        let flip = _mm512_set1_epi8(-128);
        let mut sum = _mm512_setzero_si512();
        for (query, row) in query.iter().zip(row) {
            sum = _mm512_dpbusd_epi32(sum, _mm512_xor_si512(load(row), flip), load(query));
        }
        _mm512_reduce_add_epi32(sum)
    }

    /// `Σ 128 · query`, the amount that flipping the sign bits of a row adds to its dot product.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn bias(query: &[Lane]) -> i32 {
        let flip = _mm512_set1_epi8(-128);
        let sum = query
            .iter()
            .fold(_mm512_setzero_si512(), |sum, query| _mm512_dpbusd_epi32(sum, flip, load(query)));
        _mm512_reduce_add_epi32(sum)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(lane: &Lane) -> __m512i {
        // SAFETY: a lane is 64 bytes, aligned to 64.
        unsafe { _mm512_load_si512(lane.0.as_ptr().cast()) }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32, _mm256_abs_epi8,
        _mm256_add_epi16, _mm256_add_epi32, _mm256_and_si256, _mm256_castsi256_si128,
        _mm256_extracti128_si256, _mm256_load_si256, _mm256_madd_epi16, _mm256_maddubs_epi16,
        _mm256_set1_epi8, _mm256_set1_epi16, _mm256_setzero_si256, _mm256_sign_epi8,
        _mm256_srli_epi16,
    };

    use super::{HalfLane, Lane, MAX_HALF, portable};

    float_functions!("avx2");

    #[target_feature(enable = "avx2")]
    pub(super) fn dots(query: &[Lane], rows: &[Lane], out: &mut [i32]) {
        for (row, out) in rows.chunks_exact(query.len()).zip(out) {
            *out = dot(query, row);
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn dots_of(query: &[Lane], rows: &[&[Lane]], out: &mut [i32]) {
        for (row, out) in rows.iter().zip(out) {
            *out = dot(query, row);
        }
    }

    /// Four products of half-codes with codes are at most 4 · 15 · 127, which fits 16 bits: no saturation.
    #[target_feature(enable = "avx2")]
    pub(super) fn half_dots(query: &[[Lane; 2]], rows: &[HalfLane], out: &mut [i32]) {
        let (mask, ones) = (_mm256_set1_epi8(MAX_HALF.cast_signed()), _mm256_set1_epi16(1));
        for (row, out) in rows.chunks_exact(query.len()).zip(out) {
            let mut sum = _mm256_setzero_si256();
            for ([lower, upper], row) in query.iter().zip(row) {
                let query = load(lower).into_iter().zip(load(upper));
                for (row, (lower, upper)) in load(&row.0).into_iter().zip(query) {
                    // Masks out the bits shifted in from the byte above.
                    let above = _mm256_srli_epi16::<4>(row);
                    let (row, above) = (_mm256_and_si256(row, mask), _mm256_and_si256(above, mask));
                    let fours = _mm256_add_epi16(
                        _mm256_maddubs_epi16(row, lower),
                        _mm256_maddubs_epi16(above, upper),
                    );
                    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(fours, ones));
                }
            }
            *out = total(sum);
        }
    }

    /// The instruction multiplies unsigned with signed bytes, so the row's signs are moved to the query.
    ///
    /// Two products of codes are at most 2 · 127², which fits 16 bits: no saturation.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn dot(query: &[Lane], row: &[Lane]) -> i32 {
        let ones = _mm256_set1_epi16(1);
        let mut sum = _mm256_setzero_si256();
        for (query, row) in query.iter().zip(row) {
            for (query, row) in load(query).into_iter().zip(load(row)) {
                let pairs =
                    _mm256_maddubs_epi16(_mm256_abs_epi8(row), _mm256_sign_epi8(query, row));
                sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
            }
        }
        total(sum)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn total(sum: __m256i) -> i32 {
        let four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
        let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
        _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b00_00_00_01>(two)))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(lane: &Lane) -> [__m256i; 2] {
        let (low, high) = lane.0.split_at(32);
        // SAFETY: each half of a lane is 32 bytes, aligned to 32.
        unsafe { [_mm256_load_si256(low.as_ptr().cast()), _mm256_load_si256(high.as_ptr().cast())] }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::{
        int8x16_t, int8x16x4_t, int32x4_t, vaddvq_s32, vandq_u8, vdupq_n_s32, vdupq_n_u8,
        vget_low_s8, vld1q_s8_x4, vmull_high_s8, vmull_s8, vpadalq_s16, vreinterpretq_s8_u8,
        vreinterpretq_u8_s8, vshrq_n_u8,
    };

    use super::{HalfLane, Lane, MAX_HALF, portable};

    float_functions!("neon");

    #[target_feature(enable = "neon")]
    pub(super) fn dots(query: &[Lane], rows: &[Lane], out: &mut [i32]) {
        for (row, out) in rows.chunks_exact(query.len()).zip(out) {
            *out = dot(query, row);
        }
    }

    #[target_feature(enable = "neon")]
    pub(super) fn dots_of(query: &[Lane], rows: &[&[Lane]], out: &mut [i32]) {
        for (row, out) in rows.iter().zip(out) {
            *out = dot(query, row);
        }
    }

    #[target_feature(enable = "neon")]
    pub(super) fn half_dots(query: &[[Lane; 2]], rows: &[HalfLane], out: &mut [i32]) {
        let mask = vdupq_n_u8(MAX_HALF);
        for (row, out) in rows.chunks_exact(query.len()).zip(out) {
            let mut sums = [vdupq_n_s32(0); 2];
            for ([lower, upper], row) in query.iter().zip(row) {
                let (int8x16x4_t(l0, l1, l2, l3), int8x16x4_t(u0, u1, u2, u3)) =
                    (load(lower), load(upper));
                let int8x16x4_t(r0, r1, r2, r3) = load(&row.0);
                for (lower, upper, row) in [(l0, u0, r0), (l1, u1, r1), (l2, u2, r2), (l3, u3, r3)]
                {
                    let row = vreinterpretq_u8_s8(row);
                    sums = add_products(sums, lower, vreinterpretq_s8_u8(vandq_u8(row, mask)));
                    sums = add_products(sums, upper, vreinterpretq_s8_u8(vshrq_n_u8::<4>(row)));
                }
            }
            *out = vaddvq_s32(sums[0]).wrapping_add(vaddvq_s32(sums[1]));
        }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn add_products(sums: [int32x4_t; 2], query: int8x16_t, row: int8x16_t) -> [int32x4_t; 2] {
        [
            vpadalq_s16(sums[0], vmull_s8(vget_low_s8(query), vget_low_s8(row))),
            vpadalq_s16(sums[1], vmull_high_s8(query, row)),
        ]
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn dot(query: &[Lane], row: &[Lane]) -> i32 {
        let mut sums = [vdupq_n_s32(0); 2];
        for (query, row) in query.iter().zip(row) {
            let (int8x16x4_t(q0, q1, q2, q3), int8x16x4_t(r0, r1, r2, r3)) =
                (load(query), load(row));
            for (query, row) in [(q0, r0), (q1, r1), (q2, r2), (q3, r3)] {
                sums = add_products(sums, query, row);
            }
        }
        vaddvq_s32(sums[0]).wrapping_add(vaddvq_s32(sums[1]))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn load(lane: &Lane) -> int8x16x4_t {
        // SAFETY: a lane is 64 bytes.
        unsafe { vld1q_s8_x4(lane.0.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lanes(codes: &[i8]) -> Vec<Lane> {
        codes
            .chunks(LANE)
            .map(|part| {
                let mut lane = Lane::ZERO;
                lane.0[..part.len()].copy_from_slice(part);
                lane
            })
            .collect()
    }

    fn naive(left: &[i8], right: &[i8]) -> i32 {
        left.iter().zip(right).map(|(&left, &right)| i32::from(left) * i32::from(right)).sum()
    }

    fn half_lanes(codes: &[u8]) -> Vec<HalfLane> {
        codes
            .chunks(HALF_LANE)
            .map(|part| {
                let at = |at: usize| part.get(at).copied().unwrap_or(3);
                HalfLane(Lane(std::array::from_fn(|low| {
                    (at(low) | at(low + LANE) << 4).cast_signed()
                })))
            })
            .collect()
    }

    #[test]
    fn half_code_sums_of_edge_values_are_exact_in_every_kernel() {
        for kernel in Kernel::supported() {
            for (code, half) in [(127, 15), (-127, 15), (127, 0), (-1, 1), (1, 8)] {
                for length in [1, 63, 64, 65, 128, 129, 384, 4_096] {
                    let (query, row) = (lanes(&vec![code; length]), vec![half; length]);
                    let mut out = [0];
                    kernel.half_dots(&pairs(&query), &half_lanes(&row), &mut out);
                    let expected =
                        i32::from(code) * i32::from(half) * i32::try_from(length).unwrap();
                    assert_eq!(out[0], expected, "{kernel:?}, {length}");
                }
            }
        }
    }

    #[test]
    fn code_sums_of_edge_values_are_exact_in_every_kernel() {
        let cases = [(127, 127), (-127, -127), (127, -127), (-127, 127), (0, -127), (1, -1)];
        for kernel in Kernel::supported() {
            for (left, right) in cases {
                for length in [1, 63, 64, 65, 384, 4_096] {
                    let (left, right) = (vec![left; length], vec![right; length]);
                    let mut out = [0];
                    kernel.dots(&lanes(&left), &lanes(&right), &mut out);
                    assert_eq!(out[0], naive(&left, &right), "{kernel:?}, {length}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn all_kernels_agree_on_code_products(
            query in prop::collection::vec(-127_i8..=127, 1..300),
            seeds in prop::collection::vec(any::<u8>(), 1..9),
        ) {
            let rows: Vec<Vec<i8>> = seeds
                .iter()
                .map(|&seed| query.iter().rev().map(|code| code.wrapping_mul(seed.cast_signed()).max(-127)).collect())
                .collect();
            let expected: Vec<i32> = rows.iter().map(|row| naive(&query, row)).collect();
            let (query, rows): (_, Vec<_>) = (lanes(&query), rows.iter().map(|row| lanes(row)).collect());
            for kernel in Kernel::supported() {
                let mut out = vec![0; rows.len()];
                kernel.dots(&query, &rows.concat(), &mut out);
                prop_assert_eq!(&out, &expected, "{:?}", kernel);
                out.fill(0);
                kernel.dots_of(&query, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut out);
                prop_assert_eq!(&out, &expected, "{:?}", kernel);
            }
        }

        #[test]
        fn all_kernels_agree_on_half_code_products(
            query in prop::collection::vec(-127_i8..=127, 1..300),
            seeds in prop::collection::vec(any::<u8>(), 1..9),
        ) {
            let row = |seed: &u8| -> Vec<u8> {
                query.iter().map(|code| code.cast_unsigned().wrapping_mul(*seed) >> 4).collect()
            };
            let rows: Vec<Vec<u8>> = seeds.iter().map(row).collect();
            let naive = |row: &Vec<u8>| -> i32 {
                query.iter().zip(row).map(|(code, half)| i32::from(*code) * i32::from(*half)).sum()
            };
            let expected: Vec<i32> = rows.iter().map(naive).collect();
            let rows: Vec<HalfLane> = rows.iter().flat_map(|row| half_lanes(row)).collect();
            for kernel in Kernel::supported() {
                let mut out = vec![0; seeds.len()];
                kernel.half_dots(&pairs(&lanes(&query)), &rows, &mut out);
                prop_assert_eq!(&out, &expected, "{:?}", kernel);
            }
        }

        #[test]
        fn all_kernels_agree_on_floats_bit_for_bit(
            left in prop::collection::vec(-1.0_f32..1.0, 0..200),
            shift in 0_usize..200,
        ) {
            let right: Vec<f32> = left.iter().cycle().skip(shift).take(left.len()).copied().collect();
            let expected = Kernel(Instructions::Portable).dot_f32(&left, &right);
            let exact: f64 = left.iter().zip(&right).map(|(l, r)| f64::from(*l) * f64::from(*r)).sum();
            prop_assert!((f64::from(expected) - exact).abs() < 1e-4);
            let factor = 127.0;
            let mut expected_codes = vec![Lane::ZERO; left.len().div_ceil(LANE)];
            let expected_loss = Kernel(Instructions::Portable).encode(&left, factor, &mut expected_codes);
            for (code, value) in expected_codes.iter().flat_map(|lane| lane.0).zip(&left) {
                prop_assert!((f32::from(code) - value * factor).abs() <= 0.5001);
            }
            let factor_half = 7.0;
            let mut expected_halves = vec![HalfLane::LEAST; left.len().div_ceil(HALF_LANE)];
            let expected_half_loss = Kernel(Instructions::Portable).encode_half(&left, factor_half, &mut expected_halves);
            let mut exact_loss = 0.0;
            for (at, value) in left.iter().enumerate() {
                let error = value * factor_half - (f32::from(HalfLane::code(&expected_halves, at)) - 7.5);
                prop_assert!(error.abs() <= 0.5001);
                exact_loss += error * error;
            }
            prop_assert!((exact_loss - expected_half_loss).abs() < 1e-3);
            for kernel in Kernel::supported() {
                let mut halves = vec![HalfLane::LEAST; expected_halves.len()];
                let loss = kernel.encode_half(&left, factor_half, &mut halves);
                prop_assert_eq!(loss.to_bits(), expected_half_loss.to_bits(), "{:?}", kernel);
                prop_assert_eq!(&halves, &expected_halves, "{:?}", kernel);
                prop_assert_eq!(kernel.dot_f32(&left, &right).to_bits(), expected.to_bits(), "{:?}", kernel);
                let mut codes = vec![Lane::ZERO; expected_codes.len()];
                let loss = kernel.encode(&left, factor, &mut codes);
                prop_assert_eq!(loss.to_bits(), expected_loss.to_bits(), "{:?}", kernel);
                prop_assert_eq!(&codes, &expected_codes, "{:?}", kernel);
            }
        }
    }
}
