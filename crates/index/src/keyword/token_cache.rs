//! Token cache: normalized forms of words, kept across texts.

use std::collections::HashMap;
use std::num::NonZeroU32;

use compact_str::CompactString;
use foldhash::fast::RandomState;

/// Maximum length in bytes of a cached word.
const MAX_BYTES: usize = 32;

/// Capacity of the cache of recent short words; a power of two. It takes 256 KB for each language of each analyzer.
const N_RECENT: usize = 1 << 13;

/// Number of cached words above which recent short words are kept separately: a query has fewer, a vault has more.
const MIN_WORDS_FOR_RECENT: usize = 512;

/// Normalized form of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CachedToken {
    /// Number of its term.
    pub(super) number: u32,
    /// One more than the number of its term without diacritics, if that term differs.
    pub(super) folded: Option<NonZeroU32>,
    /// True if it is a stop word.
    pub(super) is_stop: bool,
    /// True if it is empty after normalization.
    pub(super) is_empty: bool,
}

/// Word of less than 16 bytes as a number: its bytes, the first one lowest, padded with zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShortWord(u128);

impl ShortWord {
    /// Returns the first `n_bytes` of `block`, none of which is zero; `None` if that is all 16.
    #[inline]
    pub(super) fn of(block: u128, n_bytes: usize) -> Option<Self> {
        let used = |n_bytes: usize| (1_u128 << (8 * n_bytes)) - 1;
        (n_bytes < 16).then(|| Self(block & used(n_bytes)))
    }

    /// Returns its slot in the cache of recent words: the product of its two halves, folded.
    ///
    /// Source: the multiplication of wyhash and foldhash; the constants are arbitrary odd numbers without a pattern.
    #[inline]
    fn slot(self) -> usize {
        let half = |shift: u32| self.0 >> shift & u128::from(u64::MAX);
        let product = (half(0) ^ 0x9e37_79b9_7f4a_7c15) * (half(64) ^ 0xd6e8_feb8_6659_fd93);
        let folded = (product ^ product >> 64) & (N_RECENT as u128 - 1);
        folded as usize
    }
}

/// Normalized forms of words.
///
/// It is read for every word of every text. Once it holds many words, recent short words are kept in a direct-mapped cache, in which each word replaces the previous one in its slot.
#[derive(Debug, Default)]
pub(super) struct TokenCache {
    /// Empty while there are few words.
    recent: Vec<(ShortWord, CachedToken)>,
    all: HashMap<CompactString, CachedToken, RandomState>,
}

impl TokenCache {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the form of a short word if it is among the recent ones.
    #[inline]
    pub(super) fn recent(&self, word: ShortWord) -> Option<CachedToken> {
        let (own, entry) = self.recent.get(word.slot())?;
        (*own == word).then_some(*entry)
    }

    /// Adds a short word to the recent ones.
    pub(super) fn insert_recent(&mut self, word: ShortWord, entry: CachedToken) {
        if self.recent.is_empty() && self.all.len() >= MIN_WORDS_FOR_RECENT {
            self.recent = vec![Default::default(); N_RECENT];
        }
        if let Some(slot) = self.recent.get_mut(word.slot()) {
            *slot = (word, entry);
        }
    }

    /// Returns the form of a cached word.
    pub(super) fn get(&self, word: &str) -> Option<CachedToken> {
        self.all.get(word).copied()
    }

    pub(super) fn insert(&mut self, word: &str, entry: CachedToken) {
        if word.len() <= MAX_BYTES {
            self.all.insert(word.into(), entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_words_are_distinct() {
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
            assert_eq!(short(one, b' '), short(one, b'x'), "bytes after {one} are ignored");
            assert_eq!(short(one, 0).is_some(), one.len() < 16);
            for other in &words {
                let are_equal = short(one, b' ') == short(other, b',');
                assert!(short(one, 0).is_none() || are_equal == (one == other), "{one} {other}");
            }
        }
    }

    #[test]
    fn recent_word_replaces_the_one_in_its_slot() {
        let mut cache = TokenCache::default();
        let word = |n: usize| ShortWord(1 + n as u128);
        let number = |n: usize| u32::try_from(n).expect("a small number");
        let entry = |n: usize| CachedToken {
            number: number(n),
            is_stop: n % 2 == 1,
            ..CachedToken::default()
        };
        cache.insert_recent(word(0), entry(0));
        assert_eq!(cache.recent(word(0)), None, "too few words for the recent cache");
        (0..MIN_WORDS_FOR_RECENT).for_each(|n| cache.insert(&format!("word{n}"), entry(n)));
        for n in 0..2 * N_RECENT {
            assert_eq!(cache.recent(word(n)), None);
            cache.insert_recent(word(n), entry(n));
            assert_eq!(cache.recent(word(n)), Some(entry(n)));
        }
        let kept: Vec<usize> =
            (0..2 * N_RECENT).filter(|n| cache.recent(word(*n)).is_some()).collect();
        assert!(kept.iter().all(|n| cache.recent(word(*n)) == Some(entry(*n))));
        // Consecutive numbers spread over most slots, as words do.
        assert!((N_RECENT / 2..=N_RECENT).contains(&kept.len()), "{}", kept.len());
    }
}
