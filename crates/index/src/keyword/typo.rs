//! Words one edit away: what somebody meant who typed a word no note holds.

use std::collections::BTreeSet;

use super::error::KeywordError;
use super::query::Word;
use super::reader::KeywordReader;
use super::{Analyzer, Language};

/// Shortest word that is taken for mistyped; of shorter ones, too many others are one edit away.
const MIN_CHARS: usize = 4;

/// Longest such word.
const MAX_CHARS: usize = 32;

/// Letters that may be put in, by the script of the word's first letter. Folding leaves no others in these scripts.
const LETTERS: &[&str] = &[
    "abcdefghijklmnopqrstuvwxyz0123456789",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ",
    "αβγδεζηθικλμνξοπρστυφχψω",
];

/// The indexed terms of words one edit away from `word`, those of most notes first, at most `limit`.
///
/// Both the word as typed and its stems are edited: a typo in an ending keeps the ending from being taken off.
pub(super) fn neighbours(
    reader: &KeywordReader,
    word: &Word,
    languages: &[Language],
    analyzer: &mut Analyzer,
    limit: usize,
) -> Result<Vec<String>, KeywordError> {
    let mut candidates: BTreeSet<String> =
        word.alternatives.iter().flat_map(|term| edits(term)).collect();
    for edit in edits(&word.surface.to_lowercase()) {
        candidates.extend(languages.iter().flat_map(|language| analyzer.words(&edit, *language)));
    }
    analyzer.rest();
    let mut found = Vec::new();
    for candidate in candidates {
        let n_notes = reader.n_notes_with(&candidate)?;
        if n_notes > 0 {
            found.push((std::cmp::Reverse(n_notes), candidate));
        }
    }
    found.sort();
    Ok(found.into_iter().take(limit).map(|(_, term)| term).collect())
}

/// Every word that one letter left out, put in, exchanged or swapped with its neighbour makes of `term`.
fn edits(term: &str) -> Vec<String> {
    let chars: Vec<char> = term.chars().collect();
    if !(MIN_CHARS..=MAX_CHARS).contains(&chars.len()) {
        return Vec::new();
    }
    let letters = LETTERS.iter().find(|letters| letters.contains(chars[0])).copied().unwrap_or("");
    let spliced = |from: usize, n_out: usize, put_in: &[char]| -> String {
        chars[..from].iter().chain(put_in).chain(&chars[from + n_out..]).collect()
    };
    let mut edits = Vec::new();
    for at in 0..=chars.len() {
        edits.extend(letters.chars().map(|letter| spliced(at, 0, &[letter])));
        if at < chars.len() {
            edits.push(spliced(at, 1, &[]));
            edits.extend(
                letters
                    .chars()
                    .filter(|letter| *letter != chars[at])
                    .map(|letter| spliced(at, 1, &[letter])),
            );
        }
        if at + 1 < chars.len() && chars[at] != chars[at + 1] {
            edits.push(spliced(at, 2, &[chars[at + 1], chars[at]]));
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_edit_and_no_more() {
        let edits = edits("fern");
        for (name, word) in
            [("out", "ern"), ("in", "ferns"), ("exchanged", "tern"), ("swapped", "fenr")]
        {
            assert!(edits.iter().any(|edit| edit == word), "{name}");
        }
        for word in ["fern", "ren", "fernss"] {
            assert!(!edits.iter().any(|edit| edit == word), "{word}");
        }
        assert!(super::edits("fer").is_empty(), "too short");
    }
}
