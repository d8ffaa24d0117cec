//! Recall of a context: the relevant documents that it contains.

use std::collections::BTreeMap;

use crate::Grades;

/// The relevant documents that a context contains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContextRecall {
    /// Share of the relevant documents in the context, 0 to 1.
    pub share: f64,
    /// True if the context contains all of them.
    pub all: bool,
    /// True if the context contains all of them uncut.
    pub all_uncut: bool,
}

impl ContextRecall {
    /// Counts the relevant documents among those `shown`, each with whether it is uncut.
    #[must_use]
    pub fn of(grades: &Grades, shown: &BTreeMap<String, bool>) -> Self {
        let right = grades.iter().filter(|(_, grade)| **grade > 0);
        let right: Vec<Option<bool>> =
            right.map(|(document, _)| shown.get(document).copied()).collect();
        let n_shown = right.iter().flatten().count();
        Self {
            share: n_shown as f64 / right.len().max(1) as f64,
            all: !right.is_empty() && n_shown == right.len(),
            all_uncut: !right.is_empty() && right.iter().all(|shown| *shown == Some(true)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_relevant_documents_count() {
        let grades = Grades::from([("a".into(), 1), ("b".into(), 2), ("wrong".into(), 0)]);
        let held = |share, all, all_uncut| ContextRecall { share, all, all_uncut };
        // `!` marks a cut document.
        let cases = [
            ("both whole", "a b", held(1.0, true, true)),
            ("one cut", "a b!", held(1.0, true, false)),
            ("one absent", "b c", held(0.5, false, false)),
            ("wrong ones", "wrong c!", held(0.0, false, false)),
            ("nothing", "", held(0.0, false, false)),
        ];
        for (name, shown, expected) in cases {
            let shown = shown.split_whitespace();
            let shown = shown.map(|one| (one.replace('!', ""), !one.ends_with('!')));
            assert_eq!(ContextRecall::of(&grades, &shown.collect()), expected, "{name}");
        }
        assert_eq!(ContextRecall::of(&Grades::new(), &BTreeMap::new()), ContextRecall::default());
    }
}
