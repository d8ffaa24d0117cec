//! Renders the evaluation of contexts: a table of recall by variant, and the difference of each variant from plain packing.

use std::fmt::Write as _;

use weft_eval::Mean;

use super::eval::difference;
use super::text::{FAINT_TITLE, counted, grouped, padded, paint, width};
use crate::eval::{ContextEvaluation, Latency, PackingResult};

/// Range for the columns of a variant's name: the longest name, within these bounds.
const NAME: std::ops::RangeInclusive<usize> = 12..=38;

/// Meaning of the columns.
const LEGEND: &str = "
shown: all judged notes of a question are in its context, in full or as a snippet
uncut: the same, and none of them is cut
";

/// Formats the table of variants, and below it the differences from plain packing.
pub(crate) fn context_evaluation(evaluation: &ContextEvaluation) -> String {
    let ContextEvaluation {
        n_queries,
        n_unjudged,
        warnings: _,
        generation: _,
        budget,
        estimator,
        rendering,
        variants,
    } = evaluation;
    let mut out = counted(*n_queries as u64, "question", "questions");
    if *n_unjudged > 0 {
        let _ = write!(out, ", {n_unjudged} more without judgments");
    }
    let budget = counted(*budget, "token", "tokens");
    let _ = writeln!(out, "\ncontexts of {budget} (estimator {estimator}, rendering {rendering})");
    let name = variants.iter().map(|one| width(&one.name)).max().unwrap_or_default();
    let name = name.clamp(*NAME.start(), *NAME.end());
    let head = format!("{:>6} {:>15} {:>6} {:>7} {:>6}", "shown", "95 %", "uncut", "used", "ms");
    let _ = writeln!(out, "\n{} {}", padded("", name), paint(FAINT_TITLE, &head));
    for packed in variants {
        let PackingResult { name: of, shown, uncut, recall: _, used, latency_ms, comparison: _ } =
            packed;
        let Mean { mean, low, high } = shown;
        let Latency { p50, p95: _ } = latency_ms;
        let interval = format!("{low:.3} to {high:.3}");
        let _ = writeln!(
            out,
            "{} {mean:>6.3} {interval:>15} {:>6.3} {:>7} {p50:>6.1}",
            padded(of, name),
            uncut.mean,
            grouped(whole(*used)),
        );
    }
    let compared = variants.iter().filter_map(|one| Some((&one.name, one.comparison.as_ref()?)));
    let mut compared = compared.peekable();
    if let (Some((_, first)), Some(plain)) = (compared.peek(), variants.first()) {
        let heading = format!("{} against {}", first.measure, plain.name);
        let _ = writeln!(out, "\n{}", paint(FAINT_TITLE, &heading));
    }
    for (of, compared) in compared {
        let _ = writeln!(out, "{} {}", padded(of, name), difference(compared));
    }
    out.push_str(LEGEND);
    out
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a mean of tokens, which are not negative and below 2^53"
)]
fn whole(mean: f64) -> u64 {
    mean.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::VariantDifference;

    #[test]
    fn table_columns_are_aligned() {
        let mean = |mean: f64| Mean { mean, low: mean - 0.05, high: mean + 0.02 };
        let packed = |name: &str, shown, comparison| PackingResult {
            name: name.into(),
            shown: mean(shown),
            uncut: mean(shown - 0.2),
            recall: mean(shown),
            used: 1498.6,
            latency_ms: Latency { p50: 12.34, p95: 20.0 },
            comparison,
        };
        let compared = VariantDifference {
            measure: "shown".into(),
            difference: -0.07,
            low: -0.12,
            high: -0.02,
            n_better: 0,
            n_worse: 7,
        };
        let evaluation = ContextEvaluation {
            n_queries: 100,
            n_unjudged: 2,
            warnings: Vec::new(),
            generation: 1,
            budget: 1500,
            estimator: "chars".into(),
            rendering: "markdown".into(),
            variants: vec![
                packed("plain", 0.97, None),
                packed("per_note_share=0.2,bands.snippet=0.35", 0.9, Some(compared)),
            ],
        };
        let plain = anstream::adapter::strip_str(&context_evaluation(&evaluation)).to_string();
        let expected = "\
100 questions, 2 more without judgments
contexts of 1,500 tokens (estimator chars, rendering markdown)

                                       shown            95 %  uncut    used     ms
plain                                  0.970  0.920 to 0.990  0.770   1,499   12.3
per_note_share=0.2,bands.snippet=0.35  0.900  0.850 to 0.920  0.700   1,499   12.3

shown against plain
per_note_share=0.2,bands.snippet=0.35    -0.070  -0.120 to -0.020, 0 better, 7 worse

shown: all judged notes of a question are in its context, in full or as a snippet
uncut: the same, and none of them is cut
";
        assert_eq!(plain, expected);
    }
}
