//! Renders the measures of ranking variants, and the effect of each part.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::text::{BAD, DIM, FAINT_TITLE, GOOD, counted, padded, paint};
use crate::eval::{Evaluation, HalfResult, Latency, Tuning, VariantDifference, VariantResult};

/// Measures in the table; the JSON output contains all of them.
const SHOWN: [&str; 5] = ["recall@2", "recall@5", "recall@10", "nDCG@10", "MRR"];

/// Columns of a variant's name.
const NAME: usize = 21;

/// Signals in the order of their weights.
const SIGNALS: [&str; 3] = ["similarity", "centrality", "activation"];

/// Formats the table of variants, and below it the differences from the first.
pub(crate) fn evaluation(evaluation: &Evaluation) -> String {
    let Evaluation { n_queries, n_unjudged, warnings: _, generation: _, variants } = evaluation;
    let mut out = counted(*n_queries as u64, "question", "questions");
    if *n_unjudged > 0 {
        let _ = write!(out, ", {n_unjudged} more without judgments");
    }
    let _ = write!(out, "\n\n{}", heading());
    let _ = writeln!(out, " {}", paint(FAINT_TITLE, &format!("{:>8}", "ms")));
    for VariantResult { name, measures, latency_ms: Latency { p50, p95: _ }, comparisons: _ } in
        variants
    {
        let _ = writeln!(out, "{} {p50:>8.1}", row(name, measures));
    }
    let compared = variants.iter().filter_map(|one| Some((&one.name, one.comparisons.first()?)));
    let mut compared = compared.peekable();
    if let (Some((_, VariantDifference { measure, .. })), Some(first)) =
        (compared.peek(), variants.first())
    {
        let heading = format!("{measure} against {}", first.name);
        let _ = writeln!(out, "\n{}", paint(FAINT_TITLE, &heading));
    }
    for (name, compared) in compared {
        let _ = writeln!(out, "{} {}", padded(name, NAME), difference(compared));
    }
    out
}

/// Formats the weights, their measures on each half, and whether the difference on the held-out half is significant.
pub(crate) fn tuning(tuning: &Tuning) -> String {
    let Tuning { measure, configured, tuned, searched, held_out, comparison } = tuning;
    let mut out = padded("", NAME);
    for signal in SIGNALS {
        let _ = write!(out, " {}", paint(FAINT_TITLE, &format!("{signal:>10}")));
    }
    out.push('\n');
    for (name, weights) in [("configured", configured), ("tuned", tuned)] {
        let _ = write!(out, "{}", padded(name, NAME));
        for weight in weights {
            let _ = write!(out, " {weight:>10.2}");
        }
        out.push('\n');
    }
    for (name, half) in [("searched on", searched), ("tested on", held_out)] {
        let HalfResult { n_queries, configured, tuned } = half;
        let questions = counted(*n_queries as u64, "question", "questions");
        let _ = writeln!(
            out,
            "\n{}\n{}",
            paint(FAINT_TITLE, &format!("{name} {questions}")),
            heading()
        );
        let _ = writeln!(out, "{}\n{}", row("configured", configured), row("tuned", tuned));
    }
    let _ = writeln!(
        out,
        "\n{} {}",
        padded(&format!("{measure}, tuned"), NAME),
        difference(comparison)
    );
    let VariantDifference { low, high, .. } = comparison;
    let verdict = match (*low > 0.0, *high < 0.0) {
        (true, _) => "The tuned weights are better on the held-out questions.",
        (_, true) => "The tuned weights are worse on the held-out questions.",
        (false, false) => "The difference is not significant: keep the configured weights.",
    };
    let _ = writeln!(out, "{verdict}");
    out
}

/// Formats the heading of the measure columns.
fn heading() -> String {
    let mut out = padded("", NAME);
    for name in SHOWN {
        let _ = write!(out, " {}", paint(FAINT_TITLE, &format!("{name:>9}")));
    }
    out
}

fn row(name: &str, measures: &BTreeMap<&'static str, f64>) -> String {
    let mut out = padded(name, NAME);
    for measure in SHOWN {
        let value = measures.get(measure).copied().unwrap_or(0.0);
        let _ = write!(out, " {value:>9.3}");
    }
    out
}

/// Formats a difference with its interval, colored if the interval excludes 0.
pub(super) fn difference(compared: &VariantDifference) -> String {
    let VariantDifference { measure: _, difference, low, high, n_better, n_worse } = compared;
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
    fn table_columns_are_aligned() {
        let measured = |name: &str, comparisons| VariantResult {
            name: name.into(),
            measures: [("recall@5", 0.9), ("nDCG@10", 0.85)].into(),
            latency_ms: Latency { p50: 12.34, p95: 20.0 },
            comparisons,
        };
        let compared = VariantDifference {
            measure: "nDCG@10".into(),
            difference: -0.05,
            low: -0.1,
            high: -0.01,
            n_better: 2,
            n_worse: 9,
        };
        let variants = vec![measured("configured", vec![]), measured("no-graph", vec![compared])];
        let (n_queries, warnings) = (1200, Vec::new());
        let evaluation = Evaluation { n_queries, n_unjudged: 0, warnings, generation: 1, variants };
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

    #[test]
    fn tuning_reports_significance_on_held_out_questions() {
        let half = |value| HalfResult {
            n_queries: 50,
            configured: [("nDCG@10", 0.8)].into(),
            tuned: [("nDCG@10", value)].into(),
        };
        let tuning = Tuning {
            measure: "nDCG@10".into(),
            configured: [0.49, 0.02, 0.49],
            tuned: [0.6, 0.0, 0.4],
            searched: half(0.82),
            held_out: half(0.79),
            comparison: VariantDifference {
                measure: "nDCG@10".into(),
                difference: -0.01,
                low: -0.03,
                high: 0.01,
                n_better: 3,
                n_worse: 5,
            },
        };
        let text = super::tuning(&tuning);
        let plain = anstream::adapter::strip_str(&text).to_string();
        for line in [
            "configured                  0.49       0.02       0.49",
            "tested on 50 questions",
            "tuned                     0.000     0.000     0.000     0.790     0.000",
            "nDCG@10, tuned           -0.010  -0.030 to +0.010, 3 better, 5 worse",
            "The difference is not significant: keep the configured weights.",
        ] {
            assert!(plain.lines().any(|shown| shown == line), "{line}\n{plain}");
        }
        assert!(plain.lines().all(|line| line.chars().count() <= 80), "{plain}");
    }
}
