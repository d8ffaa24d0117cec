//! Name filter: rejects almost every run of words that is not a name, so that the names in a long text are found without looking up each run.

use super::term_hash::hash;

/// Bits for each name: one run of words in sixteen or fewer passes by chance.
const BITS_PER_NAME: usize = 16;

/// Bits of a word of the bitmap.
const WORD_BITS: usize = u64::BITS as usize;

/// Set of the hashes of names, with false positives.
#[derive(Default)]
pub(super) struct NameFilter(Vec<u64>);

impl NameFilter {
    /// Creates a filter for `n_names` names.
    pub(super) fn new(n_names: usize) -> Self {
        Self(vec![0; (n_names * BITS_PER_NAME).div_ceil(WORD_BITS).next_power_of_two()])
    }

    /// Adds a name, as built by `name_terms`.
    pub(super) fn insert(&mut self, name: &[u8]) {
        let words = name.split(|byte| *byte == b' ');
        let hash = words.fold(NameHash::default(), |run, word| run.followed_by(hash(word)));
        let (word, bit) = self.place(hash);
        self.0[word] |= bit;
    }

    /// False if no name has this hash.
    pub(super) fn may_contain(&self, hash: NameHash) -> bool {
        let (word, bit) = self.place(hash);
        self.0.get(word).is_some_and(|bits| bits & bit != 0)
    }

    #[expect(clippy::cast_possible_truncation, reason = "any bits of a hash select a place")]
    fn place(&self, hash: NameHash) -> (usize, u64) {
        let mixed = hash.0 ^ (hash.0 >> 32);
        let word = (mixed as usize / WORD_BITS) & (self.0.len().max(1) - 1);
        (word, 1 << (mixed % WORD_BITS as u64))
    }
}

/// Hash of a run of words, which grows word by word.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NameHash(u64);

impl NameHash {
    /// Returns the hash of the run with one more word, given by its [`hash`].
    pub(super) fn followed_by(self, word: u64) -> Self {
        // The golden ratio: an odd multiplier that spreads the bits.
        Self((self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(words: &[&str]) -> NameHash {
        words.iter().fold(NameHash::default(), |run, word| run.followed_by(hash(word.as_bytes())))
    }

    #[test]
    fn every_name_passes_and_few_other_runs_do() {
        let names: Vec<[String; 2]> =
            (0..1000).map(|n| [format!("name{n}"), format!("{}", n * n)]).collect();
        let mut filter = NameFilter::new(names.len());
        names.iter().for_each(|name| filter.insert(name.join(" ").as_bytes()));
        for [first, second] in &names {
            assert!(filter.may_contain(run(&[first, second])), "{first} {second}");
        }
        let passes = |[first, second]: &&[String; 2]| filter.may_contain(run(&[second, first]));
        let n_passing = names.iter().filter(passes).count();
        assert!(n_passing < 150, "{n_passing} of 1,000 runs in another order");
        assert!(!NameFilter::default().may_contain(run(&["name1"])));
    }
}
