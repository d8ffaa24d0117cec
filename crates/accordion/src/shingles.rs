//! Shingles: hashes of short runs of words, by which repeated text is recognized.
//!
//! Source: Broder, "On the resemblance and containment of documents", 1997.

/// Words in a shingle.
const N_WORDS: usize = 5;

/// Offset basis and prime of the 64-bit FNV-1a hash.
const FNV: (u64, u64) = (0xcbf2_9ce4_8422_2325, 0x0100_0000_01b3);

/// Returns the shingles of a text: one for each run of five words, or one for a shorter text; none for a text without words.
pub(crate) fn shingles(text: &str) -> Vec<u64> {
    let words: Vec<u64> = words(text).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let hash =
        |words: &[u64]| words.iter().fold(FNV.0, |hash, word| (hash ^ word).wrapping_mul(FNV.1));
    words.windows(N_WORDS.min(words.len())).map(hash).collect()
}

/// Returns a hash of each word, ignoring case. Each letter of a script without spaces is a word.
fn words(text: &str) -> impl Iterator<Item = u64> + '_ {
    let mut letters = text.chars().peekable();
    std::iter::from_fn(move || {
        let mut hash = None;
        while let Some(letter) =
            letters.next_if(|letter| letter.is_alphanumeric() || hash.is_none())
        {
            if !letter.is_alphanumeric() {
                continue;
            }
            for lower in letter.to_lowercase() {
                let known = hash.unwrap_or(FNV.0);
                hash = Some((known ^ u64::from(u32::from(lower))).wrapping_mul(FNV.1));
            }
            if u32::from(letter) >= FIRST_WITHOUT_SPACES {
                break;
            }
        }
        hash
    })
}

/// First code point of the scripts in which single letters count as words: CJK and kana, up to the end of the planes.
const FIRST_WITHOUT_SPACES: u32 = 0x2e80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_words_have_equal_shingles() {
        assert_eq!(shingles("One, two\nthree FOUR five."), shingles("one two three four five"));
        assert_eq!(shingles("one two three four five six").len(), 2);
        assert_eq!(shingles("one two").len(), 1);
        assert_eq!(shingles("— …").len(), 0);
        assert_eq!(shingles("植物喜歡陰涼").len(), 2);
        assert_ne!(shingles("one two three"), shingles("one two four"));
    }
}
