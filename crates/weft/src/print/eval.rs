//! Measures as a table, and what each part is worth.

use std::fmt::Write as _;

use super::text::{BAD, DIM, FAINT_TITLE, GOOD, counted, padded, paint};
use crate::eval::{Compared, Evaluation, Latency, Measured};

/// The measures that are shown; JSON has all of them.
const SHOWN: [&str; 5] = ["recall@2", "recall@5", "recall@10", "nDCG@10", "MRR"];

/// Columns of a variant's name.
const NAME: usize = 21;

/// The table of variants, and below it how each differs from the first.
pub(crate) fn evaluation(evaluation: &Evaluation) -> String {
    let Evaluation { n_queries, n_unjudged, generation: _, variants } = evaluation;
    let mut out = counted(*n_queries as u64, "question", "questions");
    if *n_unjudged > 0 {
        let _ = write!(out, ", {n_unjudged} more without a judgement");
    }
    let _ = write!(out, "\n\n{}", padded("", NAME));
    for name in SHOWN {
        let _ = write!(out, " {}", paint(FAINT_TITLE, &format!("{name:>9}")));
    }
    let _ = writeln!(out, " {}", paint(FAINT_TITLE, &format!("{:>8}", "ms")));
    for Measured { name, measures, latency_ms: Latency { p50, p95: _ }, comparison: _ } in variants
    {
        let _ = write!(out, "{}", padded(name, NAME));
        for measure in SHOWN {
            let value = measures.get(measure).copied().unwrap_or(0.0);
            let _ = write!(out, " {value:>9.3}");
        }
        let _ = writeln!(out, " {p50:>8.1}");
    }
    let compared = variants.iter().filter_map(|one| Some((&one.name, one.comparison.as_ref()?)));
    let mut compared = compared.peekable();
    if let (Some((_, Compared { measure, .. })), Some(first)) = (compared.peek(), variants.first())
    {
        let heading = format!("{measure} against {}", first.name);
        let _ = writeln!(out, "\n{}", paint(FAINT_TITLE, &heading));
    }
    for (name, compared) in compared {
        let _ = writeln!(out, "{} {}", padded(name, NAME), difference(compared));
    }
    out
}

/// A difference with its interval, coloured where that leaves no doubt.
pub(super) fn difference(compared: &Compared) -> String {
    let Compared { measure: _, difference, low, high, n_better, n_worse } = compared;
    let shown = format!("{difference:>+9.3}");
    let shown = match (*low > 0.0, *high < 0.0) {
        (true, _) => paint(GOOD, &shown),
        (_, true) => paint(BAD, &shown),
        (false, false) => shown,
    };
    let more = format!("{low:+.3} to {high:+.3}, {n_better} better, {n_worse} worse");
    format!("{shown}  {}", paint(DIM, &more))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_lines_up() {
        let measured = |name: &str, comparison| Measured {
            name: name.into(),
            measures: [("recall@5", 0.9), ("nDCG@10", 0.85)].into(),
            latency_ms: Latency { p50: 12.34, p95: 20.0 },
            comparison,
        };
        let compared = Compared {
            measure: "nDCG@10",
            difference: -0.05,
            low: -0.1,
            high: -0.01,
            n_better: 2,
            n_worse: 9,
        };
        let variants = vec![measured("configured", None), measured("no-graph", Some(compared))];
        let evaluation = Evaluation { n_queries: 1200, n_unjudged: 0, generation: 1, variants };
        let text = super::evaluation(&evaluation);
        let plain = anstream::adapter::strip_str(&text).to_string();
        let lines: Vec<&str> = plain.lines().collect();
        assert_eq!(lines[0], "1,200 questions");
        assert_eq!(
            lines[3],
            "configured                0.000     0.900     0.000     0.850     0.000     12.3"
        );
        assert_eq!(lines[6], "nDCG@10 against configured");
        assert_eq!(
            lines[7],
            "no-graph                 -0.050  -0.100 to -0.010, 2 better, 9 worse"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{plain}");
    }
}
