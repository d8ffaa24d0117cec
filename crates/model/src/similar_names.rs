//! Suggestions of names similar to a given one.

/// Names less similar than this are not suggested.
const MIN_SIMILARITY: f64 = 0.75;

/// Maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 5;

/// Returns the Jaro–Winkler similarity of two names, 0 to 1: a common prefix counts more. Case-sensitive.
#[must_use]
pub fn similarity(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(a, b)
}

/// Returns the share of two names that remains if one is edited into the other, 0 to 1, where neighbors that change places count as one edit. Case-sensitive.
#[must_use]
pub fn edit_similarity(a: &str, b: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(a, b)
}

/// Returns the best suggestions among names with their [`similarity`] to the given one: a few, the most similar first, ties by name.
#[must_use]
pub fn suggestions<N: Ord>(names: impl IntoIterator<Item = (f64, N)>) -> Vec<N> {
    let names = names.into_iter().filter(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    let mut near: Vec<(f64, N)> = names.collect();
    near.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.cmp(right)));
    near.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_the_most_similar_names_above_the_threshold() {
        let scored = [(0.8, "c"), (0.74, "x"), (0.9, "d"), (0.8, "b"), (1.0, "e"), (0.75, "f")];
        assert_eq!(suggestions(scored), ["e", "d", "b", "c", "f"]);
        assert_eq!(
            suggestions([(0.8, 3), (0.8, 1), (0.8, 2), (0.8, 6), (0.8, 5), (0.8, 4)]).len(),
            5
        );
        assert!(similarity("suports", "supports") > similarity("suports", "extends"));
    }
}
