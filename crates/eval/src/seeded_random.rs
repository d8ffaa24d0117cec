//! Reproducible pseudorandom numbers.

/// A generator with a fixed seed: SplitMix64. Source: Steele, Lea, Flood, 2014.
#[derive(Default)]
pub(crate) struct SeededRandom(u64);

impl SeededRandom {
    #[expect(clippy::cast_possible_truncation, reason = "the remainder is below a usize")]
    /// Returns a number below `end`, which must not be 0.
    pub(crate) const fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    /// Shuffles `items` in an order that depends on their number only. Source: Fisher and Yates, 1938; Durstenfeld, 1964.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
