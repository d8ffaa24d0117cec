//! Shingles: hashes of short runs of words, by which repeated text is recognized.
//!
//! Source: Broder, "On the resemblance and containment of documents", 1997.

use std::ops::Range;

/// Words in a shingle.
const N_WORDS: usize = 5;

/// Offset basis and prime of the 64-bit FNV-1a hash.
const FNV: (u64, u64) = (0xcbf2_9ce4_8422_2325, 0x0100_0000_01b3);

/// Returns the shingles of a text: one for each run of five words, or one for a shorter text; none for a text without words.
#[must_use]
pub fn shingles(text: &str) -> Vec<u64> {
    let words: Vec<u64> = words(text).map(|(hash, _)| hash).collect();
    if words.is_empty() {
        return Vec::new();
    }
    words.windows(N_WORDS.min(words.len())).map(hash_of_run).collect()
}

/// Returns the shingles of a text in its order, each with the bytes of its words.
#[must_use]
pub fn shingle_spans(text: &str) -> Vec<(u64, Range<usize>)> {
    let (hashes, spans): (Vec<u64>, Vec<Range<usize>>) = words(text).unzip();
    let Some(n_words) = Some(N_WORDS.min(hashes.len())).filter(|n_words| *n_words > 0) else {
        return Vec::new();
    };
    let runs = hashes.windows(n_words).zip(spans.windows(n_words));
    let bytes = |spans: &[Range<usize>]| spans[0].start..spans[spans.len() - 1].end;
    runs.map(|(hashes, spans)| (hash_of_run(hashes), bytes(spans))).collect()
}

fn hash_of_run(words: &[u64]) -> u64 {
    words.iter().fold(FNV.0, |hash, word| (hash ^ word).wrapping_mul(FNV.1))
}

/// Returns a hash of each word, ignoring case, and its bytes. Each letter of a script without spaces is a word.
fn words(text: &str) -> impl Iterator<Item = (u64, Range<usize>)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut word: Option<(u64, Range<usize>)> = None;
        for letter in text[at..].chars() {
            let start = at;
            at += letter.len_utf8();
            if !letter.is_alphanumeric() {
                if word.is_some() {
                    break;
                }
                continue;
            }
            let (hash, span) = word.get_or_insert((FNV.0, start..start));
            let mut add = |lower: char| {
                *hash = (*hash ^ u64::from(u32::from(lower))).wrapping_mul(FNV.1);
            };
            if letter.is_ascii() {
                add(letter.to_ascii_lowercase());
            } else {
                letter.to_lowercase().for_each(add);
            }
            span.end = at;
            if u32::from(letter) >= FIRST_WITHOUT_SPACES {
                break;
            }
        }
        word
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

    #[test]
    fn spans_cover_the_words_of_a_shingle() {
        let text = "— One, two three FOUR five six.";
        let spans = shingle_spans(text);
        let hashes: Vec<u64> = spans.iter().map(|(hash, _)| *hash).collect();
        assert_eq!(hashes, shingles(text));
        let words: Vec<&str> = spans.into_iter().map(|(_, span)| &text[span]).collect();
        assert_eq!(words, ["One, two three FOUR five", "two three FOUR five six"]);
        assert_eq!(shingle_spans("…"), []);
    }
}
