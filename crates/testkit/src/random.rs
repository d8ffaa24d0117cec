//! Deterministic pseudorandom numbers.

/// SplitMix64: small, fast, and the same on every machine.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Returns a generator with the given seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, which must not be 0; close to uniform for small `end`.
    #[expect(clippy::cast_possible_truncation, reason = "the remainder is below a usize")]
    pub const fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }
}
