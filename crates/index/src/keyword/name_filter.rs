//! Name filter: rejects almost every run of words that is not a name, so that the names in a long text are found without looking up each run.

use super::term_hash::hash;

/// Bits for each name in either filter: with four of them set by each name, one run of words in a thousand passes by chance.
const BITS_PER_NAME: usize = 32;

/// Bits that a hash sets, all in one word of the bitmap, so that a lookup is one memory access.
const BITS_PER_HASH: u32 = 4;

/// The names of a segment, with false positives.
#[derive(Default)]
pub(super) struct NameFilter {
    names: BloomFilter,
    /// The first words of names: almost every run ends after one or two words, because no name starts with it.
    starts: BloomFilter,
}

impl NameFilter {
    /// Creates a filter for `n_names` names.
    pub(super) fn new(n_names: usize) -> Self {
        let filter = || BloomFilter::new(n_names * BITS_PER_NAME);
        Self { names: filter(), starts: filter() }
    }

    /// Adds a name, as built by `name_terms`.
    pub(super) fn insert(&mut self, name: &[u8]) {
        let mut run = RunHash::default();
        for word in name.split(|byte| *byte == b' ') {
            run = run.followed_by(hash(word));
            self.starts.insert(run);
        }
        self.names.insert(run);
    }

    /// Returns the number of words of each run that begins with the first of these words, given by their [`hash`]es, and that may be a name; ascending.
    pub(super) fn likely_names(&self, words: &[u64]) -> impl Iterator<Item = usize> {
        let mut run = RunHash::default();
        let runs = words.iter().map(move |word| {
            run = run.followed_by(*word);
            run
        });
        let starts = runs.zip(1..).take_while(|(run, _)| self.starts.may_contain(*run));
        starts.filter(|(run, _)| self.names.may_contain(*run)).map(|(_, n_words)| n_words)
    }
}

/// Hash of a run of words, which grows word by word.
#[derive(Clone, Copy, Debug, Default)]
struct RunHash(u64);

impl RunHash {
    /// Returns the hash of the run with one more word, given by its [`hash`].
    fn followed_by(self, word: u64) -> Self {
        // The golden ratio: an odd multiplier that spreads the bits.
        Self((self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// Bloom filter whose hashes set their bits in one word each.
///
/// Source: Putze, Sanders, Singler: "Cache-, Hash- and Space-Efficient Bloom Filters", 2007.
#[derive(Default)]
struct BloomFilter(Vec<u64>);

impl BloomFilter {
    fn new(n_bits: usize) -> Self {
        Self(vec![0; n_bits.div_ceil(u64::BITS as usize).next_power_of_two()])
    }

    fn insert(&mut self, hash: RunHash) {
        let (word, bits) = self.place(hash);
        self.0[word] |= bits;
    }

    /// False if the filter does not contain this hash.
    fn may_contain(&self, hash: RunHash) -> bool {
        let (word, bits) = self.place(hash);
        self.0.get(word).is_some_and(|word| word & bits == bits)
    }

    /// Returns the index of the word of a hash, and its bits.
    fn place(&self, hash: RunHash) -> (usize, u64) {
        let mixed = hash.0 ^ (hash.0 >> 32);
        let word = (mixed >> (6 * BITS_PER_HASH)) as usize & (self.0.len().max(1) - 1);
        let bit = |at: u32| 1_u64 << (mixed >> (6 * at) & 63);
        (word, (0..BITS_PER_HASH).map(bit).fold(0, |bits, bit| bits | bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_passes_and_few_other_runs_do() {
        let names: Vec<[String; 3]> =
            (0..1000).map(|n| [format!("name{n}"), format!("{}", n * n), "end".into()]).collect();
        let mut filter = NameFilter::new(names.len());
        names.iter().for_each(|name| filter.insert(name.join(" ").as_bytes()));
        let likely = |words: &[&str]| {
            let hashes: Vec<u64> = words.iter().map(|word| hash(word.as_bytes())).collect();
            filter.likely_names(&hashes).collect::<Vec<_>>()
        };
        let mut n_passing = 0;
        for [first, second, third] in &names {
            assert!(likely(&[first, second, third, "more"]).contains(&3), "{first} {second}");
            n_passing += likely(&[second, first, third]).len();
            n_passing += likely(&[first, third, second]).len();
            n_passing += likely(&[first, second]).len();
        }
        assert!(n_passing < 20, "{n_passing} of 8,000 runs that are no names");
        assert!(NameFilter::default().likely_names(&[hash(b"name1")]).next().is_none());
    }
}
