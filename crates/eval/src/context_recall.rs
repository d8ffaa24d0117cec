//! Recall of a context: the relevant documents that it contains.

use std::collections::BTreeSet;

use crate::Grades;

/// The relevant documents that a context contains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContextRecall {
    /// Share of the relevant documents in the context, 0 to 1.
    pub share: f64,
    /// True if the context contains all of them.
    pub all: bool,
}

impl ContextRecall {
    /// Counts the relevant documents among those `shown`.
    #[must_use]
    pub fn of(grades: &Grades, shown: &BTreeSet<String>) -> Self {
        let right = grades.iter().filter(|(_, grade)| **grade > 0);
        let right: Vec<bool> = right.map(|(document, _)| shown.contains(document)).collect();
        let n_shown = right.iter().filter(|shown| **shown).count();
        Self {
            share: n_shown as f64 / right.len().max(1) as f64,
            all: !right.is_empty() && n_shown == right.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_relevant_documents_count() {
        let grades = Grades::from([("a".into(), 1), ("b".into(), 2), ("wrong".into(), 0)]);
        let held = |share, all| ContextRecall { share, all };
        let cases = [
            ("both", "a b", held(1.0, true)),
            ("one absent", "b c", held(0.5, false)),
            ("wrong ones", "wrong c", held(0.0, false)),
            ("nothing", "", held(0.0, false)),
        ];
        for (name, shown, expected) in cases {
            let shown = shown.split_whitespace().map(str::to_owned).collect();
            assert_eq!(ContextRecall::of(&grades, &shown), expected, "{name}");
        }
        assert_eq!(ContextRecall::of(&Grades::new(), &BTreeSet::new()), ContextRecall::default());
    }
}
