//! What words became, remembered from text to text.

use std::collections::HashMap;
use std::num::NonZeroU32;

use compact_str::CompactString;
use foldhash::fast::RandomState;

/// Longest word (in bytes) that is remembered.
const MAX_BYTES: usize = 32;

/// Short words that are at hand, at most; a power of two. They take 256 KB for each language of each analyzer.
const N_RECENT: usize = 1 << 13;

/// Words from which on short ones are kept at hand: a question has fewer, a vault has more.
const MANY: usize = 512;

/// What a word becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// The number of its term.
    pub(super) number: u32,
    /// One more than the number of the term of those who leave diacritics out, where it is another.
    pub(super) plain: Option<NonZeroU32>,
    /// Whether it is a function word.
    pub(super) is_stop: bool,
    /// Whether nothing is left of it.
    pub(super) is_nothing: bool,
}

/// A word of less than 16 bytes as a number: its bytes, the first lowest, and zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShortWord(u128);

impl ShortWord {
    /// The first `n_bytes` of `block`, none of which is zero; nothing where that is all 16.
    #[inline]
    pub(super) fn of(block: u128, n_bytes: usize) -> Option<Self> {
        let used = |n_bytes: usize| (1_u128 << (8 * n_bytes)) - 1;
        (n_bytes < 16).then(|| Self(block & used(n_bytes)))
    }

    /// Where it is at hand: the two halves of the product of its own, folded.
    ///
    /// Source: the multiplication that wyhash and foldhash rest on; the constants are any odd ones without pattern.
    #[inline]
    fn place(self) -> usize {
        let half = |shift: u32| self.0 >> shift & u128::from(u64::MAX);
        let product = (half(0) ^ 0x9e37_79b9_7f4a_7c15) * (half(64) ^ 0xd6e8_feb8_6659_fd93);
        let folded = (product ^ product >> 64) & (N_RECENT as u128 - 1);
        folded as usize
    }
}

/// What words became.
///
/// Asked for every word of every text, so once there are many, short ones that were asked for of late are at hand: each in a place of its own, where the next one of that place follows it.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Nothing as long as there are few.
    recent: Vec<(ShortWord, Entry)>,
    all: HashMap<CompactString, Entry, RandomState>,
}

impl Known {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// What a short word became, if it is at hand.
    #[inline]
    pub(super) fn recent(&self, word: ShortWord) -> Option<Entry> {
        let (own, entry) = self.recent.get(word.place())?;
        (*own == word).then_some(*entry)
    }

    /// Keeps what a short word became at hand.
    pub(super) fn keep_at_hand(&mut self, word: ShortWord, entry: Entry) {
        if self.recent.is_empty() && self.all.len() >= MANY {
            self.recent = vec![Default::default(); N_RECENT];
        }
        if let Some(place) = self.recent.get_mut(word.place()) {
            *place = (word, entry);
        }
    }

    /// What a word became.
    pub(super) fn get(&self, word: &str) -> Option<Entry> {
        self.all.get(word).copied()
    }

    pub(super) fn insert(&mut self, word: &str, entry: Entry) {
        if word.len() <= MAX_BYTES {
            self.all.insert(word.into(), entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_words_are_told_apart() {
        let mut words: Vec<String> = Vec::new();
        for n_bytes in 1..=17 {
            words.extend(
                [("a", "b"), ("b", "a"), ("b", "b")]
                    .map(|(most, last)| most.repeat(n_bytes - 1) + last),
            );
        }
        words.sort();
        words.dedup();
        let short = |word: &str, after: u8| {
            let mut block = [after; 16];
            let n = word.len().min(16);
            block[..n].copy_from_slice(&word.as_bytes()[..n]);
            ShortWord::of(u128::from_le_bytes(block), word.len())
        };
        for one in &words {
            assert_eq!(short(one, b' '), short(one, b'x'), "what follows {one} counts");
            assert_eq!(short(one, 0).is_some(), one.len() < 16);
            for other in &words {
                let are_equal = short(one, b' ') == short(other, b',');
                assert!(short(one, 0).is_none() || are_equal == (one == other), "{one} {other}");
            }
        }
    }

    #[test]
    fn one_word_takes_the_place_of_another() {
        let mut known = Known::default();
        let word = |n: usize| ShortWord(1 + n as u128);
        let number = |n: usize| u32::try_from(n).expect("a small number");
        let entry = |n: usize| Entry { number: number(n), is_stop: n % 2 == 1, ..Entry::default() };
        known.keep_at_hand(word(0), entry(0));
        assert_eq!(known.recent(word(0)), None, "of few words none is kept at hand");
        (0..MANY).for_each(|n| known.insert(&format!("word{n}"), entry(n)));
        for n in 0..2 * N_RECENT {
            assert_eq!(known.recent(word(n)), None);
            known.keep_at_hand(word(n), entry(n));
            assert_eq!(known.recent(word(n)), Some(entry(n)));
        }
        let kept: Vec<usize> =
            (0..2 * N_RECENT).filter(|n| known.recent(word(*n)).is_some()).collect();
        assert!(kept.iter().all(|n| known.recent(word(*n)) == Some(entry(*n))));
        // Numbers in a row fall on most places, as words do.
        assert!((N_RECENT / 2..=N_RECENT).contains(&kept.len()), "{}", kept.len());
    }
}
