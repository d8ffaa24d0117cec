//! Typo expansion: indexed terms one edit away from a word that no note contains.

use std::collections::BTreeSet;

use super::analyzer::Analyzer;
use super::keyword_error::KeywordError;
use super::keyword_reader::KeywordReader;
use super::language::Language;
use super::query_word::QueryWord;

/// Minimum length of a word that is expanded. Shorter words have too many neighbors one edit away.
const MIN_CHARS: usize = 4;

/// Maximum length of a word that is expanded.
const MAX_CHARS: usize = 32;

/// Letters tried in insertions and substitutions, by the script of the word's first letter. Folding leaves no other letters in these scripts.
const LETTERS: &[&str] = &[
    "abcdefghijklmnopqrstuvwxyz0123456789",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ",
    "αβγδεζηθικλμνξοπρστυφχψω",
];

/// Returns up to `limit` indexed terms one edit away from `word`, those of most notes first.
///
/// Both the word as typed and its stems are edited, because a typo in an ending prevents stemming.
pub(super) fn typo_expansions(
    reader: &KeywordReader,
    word: &QueryWord,
    languages: &[Language],
    analyzer: &mut Analyzer,
    limit: usize,
) -> Result<Vec<String>, KeywordError> {
    let mut candidates: BTreeSet<String> =
        word.alternatives.iter().flat_map(|term| edits(term)).collect();
    for edit in edits(&word.surface.to_lowercase()) {
        candidates.extend(languages.iter().flat_map(|language| analyzer.words(&edit, *language)));
    }
    analyzer.shrink_caches();
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

/// Returns every word one edit away from `term`: a letter deleted, inserted, substituted, or transposed with the next one.
fn edits(term: &str) -> Vec<String> {
    let chars: Vec<char> = term.chars().collect();
    if !(MIN_CHARS..=MAX_CHARS).contains(&chars.len()) {
        return Vec::new();
    }
    let letters = LETTERS.iter().find(|letters| letters.contains(chars[0])).copied().unwrap_or("");
    let spliced = |from: usize, n_removed: usize, inserted: &[char]| -> String {
        chars[..from].iter().chain(inserted).chain(&chars[from + n_removed..]).collect()
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
    fn edits_are_one_edit_away() {
        let edits = edits("fern");
        for (name, word) in [
            ("deletion", "ern"),
            ("insertion", "ferns"),
            ("substitution", "tern"),
            ("transposition", "fenr"),
        ] {
            assert!(edits.iter().any(|edit| edit == word), "{name}");
        }
        for word in ["fern", "ren", "fernss"] {
            assert!(!edits.iter().any(|edit| edit == word), "{word}");
        }
        assert!(super::edits("fer").is_empty(), "too short");
    }
}
