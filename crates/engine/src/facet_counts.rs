//! Facets: how many of the notes that match a query and a filter are in each folder, and have each tag and type.

use std::collections::{BTreeMap, HashSet};

use weft_index::keyword::QueryOptions;
use weft_model::{NoteId, NoteSet, Value, fold};

use crate::filter::{NOTES_PER_CHECK, value_of};
use crate::{Engine, EngineError, Filter, Warning};

/// Maximum number of values of each facet in an answer.
const MAX_VALUES: usize = 1000;

/// Default number of values of each facet.
const DEFAULT_VALUES: usize = 20;

/// Requests counts of folders, tags and types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FacetsRequest {
    /// The query, as of a search; blank for all notes.
    pub query: String,
    /// Restricts the counted notes.
    pub filter: Filter,
    /// Maximum number of values of each facet, 1 to 1,000; 0 means 20.
    pub max_values: usize,
    /// As of a search.
    pub typo_tolerance: Option<bool>,
    /// As of a search.
    pub prefix_last_word: bool,
}

/// A value of a facet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FacetCount {
    /// The folder, tag or type.
    pub value: String,
    /// Number of notes, at least 1.
    pub n_notes: usize,
}

/// Counts of folders, tags and types; in each list most notes first, then by value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FacetsAnswer {
    /// Number of counted notes.
    pub n_notes: usize,
    /// Folders, each with the notes in and below it; prefixed by the vault and `:` if there are several vaults.
    pub folders: Vec<FacetCount>,
    /// Tags, each with the notes that have it or a tag nested below it.
    pub tags: Vec<FacetCount>,
    /// Types of notes.
    pub types: Vec<FacetCount>,
    /// True if a list is incomplete.
    pub truncated: bool,
    /// Conditions of the filter that no note matches.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

impl Engine {
    /// Counts the folders, tags and types of the notes that pass the filter and contain a term of the query, or of all that pass the filter if the query is blank.
    ///
    /// Deterministic. `O(notes)` plus the cost of a keyword search for all of them.
    pub fn facets(&self, request: &FacetsRequest) -> Result<FacetsAnswer, EngineError> {
        let max_values = match request.max_values {
            0 => DEFAULT_VALUES,
            n if n <= MAX_VALUES => n,
            n => {
                let reason = format!("{n} is not between 1 and {MAX_VALUES}");
                return Err(EngineError::InvalidArgument { field: "max_values", reason });
            }
        };
        let snapshot = self.snapshot();
        let passing = self.filter_matches(&snapshot, &request.filter)?;
        let counted = self.counted_notes(request, &passing.notes)?;
        let notes = &snapshot.notes;
        let has_several_vaults = notes.vaults().nth(1).is_some();
        let mut n_notes = 0;
        let (mut folders, mut tags, mut types) =
            (ValueCounts::default(), ValueCounts::default(), ValueCounts::default());
        for (at, id) in notes.graph().ids().enumerate() {
            if at % NOTES_PER_CHECK == 0 {
                self.stop.check()?;
            }
            if !counted.contains(id) {
                continue;
            }
            let (Some(summary), Some(facets)) = (notes.summary(id), notes.facets(id)) else {
                continue;
            };
            n_notes += 1;
            let vault = notes.vault(summary.vault).filter(|_| has_several_vaults);
            let prefix = vault.map_or_else(String::new, |vault| format!("{}:", vault.name));
            let folder = summary.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            folders.add_note(names_from_root(folder).map(|name| format!("{prefix}{name}")));
            tags.add_note(facets.tags.iter().flat_map(|tag| names_from_root(tag)));
            let first = facets.note_type.as_deref();
            let written = value_of(&facets, "type").map_or(&[][..], Value::items);
            let all = first.into_iter().chain(written.iter().filter_map(Value::as_written));
            types.add_note(all.filter(|kind| !kind.trim().is_empty()));
        }
        let [(folders, a), (tags, b), (types, c)] =
            [folders, tags, types].map(|counts| counts.most_frequent(max_values));
        Ok(FacetsAnswer {
            n_notes,
            folders,
            tags,
            types,
            truncated: a || b || c,
            warnings: passing.warnings(&snapshot, &self.stop)?.to_vec(),
            generation: snapshot.generation,
        })
    }

    /// Returns the notes of `passing` that contain a term of the query; all of them if the query is blank.
    fn counted_notes(
        &self,
        request: &FacetsRequest,
        passing: &NoteSet,
    ) -> Result<NoteSet, EngineError> {
        if request.query.trim().is_empty() {
            return Ok(passing.clone());
        }
        let snapshot = self.snapshot();
        let options = QueryOptions {
            typo_tolerance: request.typo_tolerance.unwrap_or(self.settings.typo_tolerance),
            prefix_last_word: request.prefix_last_word,
            ..QueryOptions::default()
        };
        let words = snapshot.keyword.parse(&request.query, &options)?;
        let passing = passing.clone().intersection(words.admitted().clone());
        self.stop.check()?;
        // Every match is wanted, so the order of ties is irrelevant.
        let k = snapshot.notes.n_notes().max(1);
        let by_id = |a: &NoteId, b: &NoteId| a.cmp(b);
        let hits = snapshot.keyword.search_by(&words, k, &passing, &by_id)?;
        Ok(hits.into_iter().map(|hit| hit.note).collect())
    }
}

/// Returns a nested name after each of its segments: `a` and `a/b` for `a/b`; nothing for an empty name.
fn names_from_root(name: &str) -> impl Iterator<Item = &str> {
    let ends = name.match_indices('/').map(|(end, _)| end).chain([name.len()]);
    ends.map(|end| &name[..end]).filter(|name| !name.is_empty())
}

/// Notes by value, where values that differ in case are one.
#[derive(Default)]
struct ValueCounts(BTreeMap<String, FacetCount>);

impl ValueCounts {
    /// Counts a note once for each of its distinct values.
    fn add_note<S: AsRef<str>>(&mut self, values: impl Iterator<Item = S>) {
        let mut seen = HashSet::new();
        for value in values {
            let (value, key) = (value.as_ref(), fold(value.as_ref()));
            let is_new = seen.insert(key.clone());
            let new = || FacetCount { value: value.to_owned(), n_notes: 0 };
            let count = self.0.entry(key).or_insert_with(new);
            count.n_notes += usize::from(is_new);
            // Independent of the order of the notes.
            if *value < *count.value {
                value.clone_into(&mut count.value);
            }
        }
    }

    /// Returns the `n` values with the most notes, ties by value, and whether there are more.
    fn most_frequent(self, n: usize) -> (Vec<FacetCount>, bool) {
        let mut all: Vec<FacetCount> = self.0.into_values().collect();
        all.sort_by(|a, b| b.n_notes.cmp(&a.n_notes).then_with(|| a.value.cmp(&b.value)));
        let is_cut = all.len() > n;
        all.truncate(n);
        (all, is_cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_names_count_for_each_ancestor() {
        for (name, expected) in
            [("a/b/c", &["a", "a/b", "a/b/c"][..]), ("a", &["a"]), ("", &[]), ("a/", &["a", "a/"])]
        {
            assert_eq!(names_from_root(name).collect::<Vec<_>>(), expected, "{name}");
        }
    }

    #[test]
    fn a_note_counts_once_for_each_value() {
        let mut counts = ValueCounts::default();
        counts.add_note(["plant", "Plant", "moss"].iter());
        counts.add_note(["plant"].iter());
        counts.add_note(["fern"].iter());
        let (values, is_cut) = counts.most_frequent(2);
        let shown: Vec<_> = values.iter().map(|it| (&*it.value, it.n_notes)).collect();
        assert_eq!((shown, is_cut), (vec![("Plant", 2), ("fern", 1)], true));
    }
}
