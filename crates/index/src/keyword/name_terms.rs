//! Name terms: each name of a note as a single term, its words joined by spaces, so that a run of words is looked up at once.

use std::collections::BTreeMap;

use weft_model::BodyPassage;
use weft_model::text::without_qualifier;

use super::analyzer::Analyzer;
use super::language::Language;
use super::said_text::SaidText;

/// Maximum number of folders in front of a file's name that are part of one of its names.
const MAX_FOLDERS: usize = 4;

/// Returns the names of a note: its title without a parenthesis at the end, its other names, and its path, from the file's name with one folder after the other in front up to the whole.
pub fn names<'n>(
    title: &'n str,
    others: &[&'n str],
    path: &'n str,
) -> impl Iterator<Item = &'n str> {
    let folders = path.rmatch_indices('/').map(|(at, _)| at);
    let parts = folders.take(MAX_FOLDERS + 1).map(|at| &path[at + 1..]);
    [without_qualifier(title)].into_iter().chain(others.iter().copied()).chain(parts).chain([path])
}

/// Returns the terms under which these names of a note are indexed.
pub(super) fn name_terms<'n>(
    analyzer: &mut Analyzer,
    names: impl Iterator<Item = &'n str>,
    language: Language,
) -> Vec<String> {
    let mut terms: Vec<String> = names.map(|name| analyzer.name_term(&[name], language)).collect();
    terms.retain(|term| !term.is_empty());
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Returns the terms under which the sections of a body are indexed, each with the indexes of the passages that begin with its heading; without those that are names of the whole note, `own`.
pub(super) fn section_terms(
    analyzer: &mut Analyzer,
    body: &str,
    passages: &[BodyPassage],
    own: &[String],
    language: Language,
) -> BTreeMap<String, Vec<u32>> {
    let mut terms: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (passage_idx, passage) in (0..).zip(passages) {
        let Some(heading) = passage.heading else { continue };
        let heading = SaidText::of(&body[passage.bytes.start..heading.end]);
        let name = without_qualifier(heading.text().trim());
        let term = analyzer.name_term(&[name], language);
        if !term.is_empty() && own.binary_search(&term).is_err() {
            terms.entry(term).or_default().push(passage_idx);
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_a_name_from_each_folder() {
        for (path, expected) in [
            ("c", "T, x, c"),
            ("b/c", "T, x, c, b/c"),
            ("a/b/c", "T, x, c, b/c, a/b/c"),
            ("1/2/3/4/5/6/c", "T, x, c, 6/c, 5/6/c, 4/5/6/c, 3/4/5/6/c, 1/2/3/4/5/6/c"),
        ] {
            let names: Vec<&str> = names("T (t)", &["x"], path).collect();
            assert_eq!(names.join(", "), expected, "{path}");
        }
    }
}
