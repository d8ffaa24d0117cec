//! Rankings as a file that other tools score.

use std::fmt::Write as _;

/// The lines of one query in TREC's form: `query Q0 document rank score tag`.
///
/// White space in names would be read as columns, so it is written as `_`.
#[must_use]
pub fn run_lines(query: &str, ranking: &[(String, f64)], tag: &str) -> String {
    let column = |text: &str| text.split_whitespace().collect::<Vec<_>>().join("_");
    let (query, tag) = (column(query), column(tag));
    let mut lines = String::new();
    for (rank, (document, score)) in (1..).zip(ranking) {
        let _ = writeln!(lines, "{query} Q0 {} {rank} {score} {tag}", column(document));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_columns_a_line() {
        let ranking = [("a b".to_owned(), 0.5), ("c".to_owned(), 0.25)];
        assert_eq!(
            run_lines("q 1", &ranking, "full"),
            "q_1 Q0 a_b 1 0.5 full\nq_1 Q0 c 2 0.25 full\n"
        );
    }
}
