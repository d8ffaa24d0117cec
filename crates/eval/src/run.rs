//! Rankings as a file that other tools score.

use std::fmt::Write as _;

use crate::column;

/// The lines of one query in TREC's form: `query Q0 document rank score tag`, with each name as a [`column()`].
///
/// Other tools order by score, some in 32 bits, and put equals in an order of their own: so a score that does not fall there is put as little below the one above it as does.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "it is what others do to it")]
pub fn run_lines(query: &str, ranking: &[(String, f64)], tag: &str) -> String {
    let (query, tag) = (column(query), column(tag));
    let mut lines = String::new();
    let mut above = f32::INFINITY;
    for (rank, (document, score)) in (1..).zip(ranking) {
        let score = if (*score as f32) < above { *score } else { f64::from(above.next_down()) };
        above = score as f32;
        let _ = writeln!(lines, "{query} Q0 {} {rank} {score} {tag}", column(document));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Grades, Judgements, Measures};

    #[test]
    fn six_columns_a_line() {
        let ranking = [("a b".to_owned(), 0.5), ("c".to_owned(), 0.25)];
        assert_eq!(
            run_lines("q 1", &ranking, "full"),
            "q%201 Q0 a%20b 1 0.5 full\nq%201 Q0 c 2 0.25 full\n"
        );
    }

    #[test]
    fn equals_keep_their_order_by_score_alone() {
        let scores = [0.5, 0.5, 0.5 - 1e-12, 0.25, 0.25, 0.0, 0.0, -1.0];
        let ranking: Vec<(String, f64)> = ('a'..).map(String::from).zip(scores).collect();
        let lines = run_lines("q", &ranking, "full");
        let told: Vec<f32> =
            lines.lines().map(|line| line.split(' ').nth(4).unwrap().parse().unwrap()).collect();
        assert_eq!(told.len(), scores.len());
        assert!(told.is_sorted_by(|above, below| above > below), "{told:?}");
        assert!(
            told.iter().zip(scores).all(|(told, score)| (f64::from(*told) - score).abs() < 1e-6)
        );
    }

    /// What a program of others does: it compares the columns of both files as they stand.
    #[test]
    fn who_knows_nothing_but_the_files_counts_the_same() {
        let mut judgements = Judgements::default();
        let right = [("one question", "a b"), ("one question", "c%20d"), ("2", "a_b")];
        for (query, document) in right {
            judgements.judge(query, document, 1);
        }
        let ranking = ["x", "a b", "a_b", "c d", "c%20d"].map(|name| (name.to_owned(), 0.5));
        let run: String =
            ["one question", "2"].map(|query| run_lines(query, &ranking, "all")).concat();

        let mut judged: BTreeMap<String, Grades> = BTreeMap::new();
        let saved = judgements.lines();
        for line in saved.lines() {
            let columns: Vec<&str> = line.split_whitespace().collect();
            let grades = judged.entry(columns[0].to_owned()).or_default();
            grades.insert(columns[1].to_owned(), columns[2].parse().unwrap());
        }
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in run.lines() {
            let columns: Vec<&str> = line.split_whitespace().collect();
            assert_eq!((columns.len(), columns[1]), (6, "Q0"));
            found.entry(columns[0].to_owned()).or_default().push(columns[2].to_owned());
        }
        let names: Vec<String> = ranking.map(|(name, _)| name).into();
        for (query, _) in right {
            let outside = Measures::of(&judged[&column(query)], &found[&column(query)]);
            assert_eq!(outside, Measures::of(&judgements.of(query), &names), "{query}");
            assert!(outside.value("recall@5").unwrap() > 0.99, "{query}");
        }
    }
}
