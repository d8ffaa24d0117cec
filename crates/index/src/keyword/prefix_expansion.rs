//! Prefix expansion: indexed terms that begin with the letters of a word that ends in `*` or is still being typed.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::keyword_error::KeywordError;
use super::keyword_reader::KeywordReader;
use super::query_word::QueryWord;
use super::script::Script;
use super::word_folding::{push_folded, push_lower};

/// Minimum number of letters that are expanded. Fewer begin too many terms.
const MIN_CHARS: usize = 2;

/// Maximum number of terms that a prefix stands for; those of most notes are kept.
pub const MAX_PREFIX_TERMS: usize = 64;

/// Maximum number of terms examined for one prefix, in order of their letters.
const MAX_EXAMINED: usize = 1 << 14;

/// Maximum number of letters at the end of a word that stemming may have removed from its term: `runnin` begins `running`, which is indexed as `run`.
const MAX_ENDING: usize = 3;

/// Minimum number of letters of a term found without the ending of the word.
const MIN_STEM_CHARS: usize = 3;

/// Terms that a prefix stands for.
pub(super) struct PrefixExpansion {
    /// Those of most notes first, ties in order of their letters.
    pub(super) terms: Vec<String>,
    /// True if there are more.
    pub(super) is_cut: bool,
}

/// Returns the indexed terms that begin with `word`; if no term does, the longest term that `word` extends by an ending.
pub(super) fn prefix_expansion(
    reader: &KeywordReader,
    word: &QueryWord,
) -> Result<PrefixExpansion, KeywordError> {
    let prefix = folded(&word.surface);
    let mut n_notes_by_term: BTreeMap<String, u32> = BTreeMap::new();
    if prefix.chars().nth(MIN_CHARS - 1).is_some() {
        for segment in &reader.0.segments {
            segment.each_with_prefix(&prefix, MAX_EXAMINED, |term, n_notes| {
                *n_notes_by_term.entry(term.to_owned()).or_default() += n_notes;
            })?;
        }
    }
    // The first terms of all segments are among the first terms of each, so the result does not depend on the segments.
    let mut is_cut = n_notes_by_term.len() >= MAX_EXAMINED;
    let mut found: Vec<(Reverse<u32>, String)> = n_notes_by_term
        .into_iter()
        .take(MAX_EXAMINED)
        .map(|(term, n_notes)| (Reverse(n_notes), term))
        .collect();
    found.sort_unstable();
    is_cut |= found.len() > MAX_PREFIX_TERMS;
    found.truncate(MAX_PREFIX_TERMS);
    let mut terms: Vec<String> = found.into_iter().map(|(_, term)| term).collect();
    if terms.is_empty() {
        terms.extend(stem(reader, &prefix)?);
    }
    Ok(PrefixExpansion { terms, is_cut })
}

/// Returns the longest indexed term that is `prefix` without some letters at its end.
fn stem(reader: &KeywordReader, prefix: &str) -> Result<Option<String>, KeywordError> {
    let ends = prefix.char_indices().rev().map(|(at, _)| at).take(MAX_ENDING);
    for end in ends {
        let stem = &prefix[..end];
        if stem.chars().nth(MIN_STEM_CHARS - 1).is_some() && reader.lookup(stem)?.1 > 0 {
            return Ok(Some(stem.to_owned()));
        }
    }
    Ok(None)
}

/// Returns a word in the form in which terms are indexed, not stemmed.
fn folded(word: &str) -> String {
    let script = word.chars().next().and_then(Script::of_letter).unwrap_or(Script::Other);
    let (mut lower, mut folded) = (String::new(), String::new());
    word.split(['_', ',']).for_each(|part| push_lower(part, &mut lower));
    push_folded(&lower, script, &mut folded);
    folded
}
