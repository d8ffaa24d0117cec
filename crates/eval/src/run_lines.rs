//! Rankings in the TREC run format, for other tools.

use std::fmt::Write as _;

use crate::trec_column::encode_column;

/// Writes the ranking of one query as TREC run lines: `query Q0 document rank score tag`, with names encoded by [`encode_column`].
///
/// Other tools sort by score, some with 32 bits, and order ties in their own way. So a score that does not decrease is lowered by the smallest step that does.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "other tools do the same")]
pub fn run_lines(query: &str, ranking: &[(String, f64)], tag: &str) -> String {
    let (query, tag) = (encode_column(query), encode_column(tag));
    let mut lines = String::new();
    let mut above = f32::INFINITY;
    for (rank, (document, score)) in (1..).zip(ranking) {
        let score = if (*score as f32) < above { *score } else { f64::from(above.next_down()) };
        above = score as f32;
        let _ = writeln!(lines, "{query} Q0 {} {rank} {score} {tag}", encode_column(document));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Grades, Judgments, Measures};

    #[test]
    fn lines_have_six_columns() {
        let ranking = [("a b".to_owned(), 0.5), ("c".to_owned(), 0.25)];
        assert_eq!(
            run_lines("q 1", &ranking, "full"),
            "q%201 Q0 a%20b 1 0.5 full\nq%201 Q0 c 2 0.25 full\n"
        );
    }

    #[test]
    fn scores_decrease_strictly() {
        let scores = [0.5, 0.5, 0.5 - 1e-12, 0.25, 0.25, 0.0, 0.0, -1.0];
        let ranking: Vec<(String, f64)> = ('a'..).map(String::from).zip(scores).collect();
        let lines = run_lines("q", &ranking, "full");
        let written: Vec<f32> =
            lines.lines().map(|line| line.split(' ').nth(4).unwrap().parse().unwrap()).collect();
        assert_eq!(written.len(), scores.len());
        assert!(written.is_sorted_by(|above, below| above > below), "{written:?}");
        assert!(
            written
                .iter()
                .zip(scores)
                .all(|(written, score)| (f64::from(*written) - score).abs() < 1e-6)
        );
    }

    /// Evaluates both files as another tool would: by comparing their columns as written.
    #[test]
    fn measures_from_the_files_alone_are_equal() {
        let mut judgments = Judgments::default();
        let right = [("one question", "a b"), ("one question", "c%20d"), ("2", "a_b")];
        for (query, document) in right {
            judgments.judge(query, document, 1);
        }
        let ranking = ["x", "a b", "a_b", "c d", "c%20d"].map(|name| (name.to_owned(), 0.5));
        let run: String =
            ["one question", "2"].map(|query| run_lines(query, &ranking, "all")).concat();

        let mut judged: BTreeMap<String, Grades> = BTreeMap::new();
        let saved = judgments.lines();
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
            let outside =
                Measures::of(&judged[&encode_column(query)], &found[&encode_column(query)]);
            assert_eq!(outside, Measures::of(&judgments.of(query), &names), "{query}");
            assert!(outside.value("recall@5").unwrap() > 0.99, "{query}");
        }
    }
}
