//! What a context holds of the documents that are right for a query.

use std::collections::BTreeMap;

use crate::Grades;

/// What a context holds of the documents that are right for a query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// The share of them that it shows, 0 to 1.
    pub share: f64,
    /// Whether it shows all of them.
    pub all: bool,
    /// Whether it shows all of them, and none is cut.
    pub all_uncut: bool,
}

impl Held {
    /// Counts the right documents among those `shown`, each with whether nothing of it is cut.
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
    fn right_documents_are_counted_and_others_are_not() {
        let grades = Grades::from([("a".into(), 1), ("b".into(), 2), ("wrong".into(), 0)]);
        let held = |share, all, all_uncut| Held { share, all, all_uncut };
        // A mark stands for what is cut.
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
            assert_eq!(Held::of(&grades, &shown.collect()), expected, "{name}");
        }
        assert_eq!(Held::of(&Grades::new(), &BTreeMap::new()), Held::default());
    }
}
