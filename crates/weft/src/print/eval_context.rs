//! Renders the evaluation of contexts: a table by budget and variant, and the differences of the first variant from the others.

use std::fmt::Write as _;

use weft_eval::Mean;

use super::eval::difference;
use super::text::{FAINT_TITLE, counted, grouped, padded, paint, width};
use crate::eval::{ContextEvaluation, PackingResult};

/// Range for the columns of a variant's name: the longest name, within these bounds.
const NAME: std::ops::RangeInclusive<usize> = 8..=38;

/// Meaning of the columns.
const LEGEND: &str = "
answered: the context contains an answer
passages: it contains at least half of every judged passage
notes: it shows all judged notes, in full or in part
used: share of the budget; first: tokens up to the end of the first answer
";

/// Formats the table, and below it the differences of the first variant from the others.
pub(crate) fn context_evaluation(evaluation: &ContextEvaluation) -> String {
    let ContextEvaluation {
        n_queries,
        n_unjudged,
        n_with_answers,
        warnings: _,
        generation: _,
        estimator,
        rendering,
        results,
    } = evaluation;
    let mut out = counted(*n_queries as u64, "question", "questions");
    if *n_with_answers > 0 && n_with_answers != n_queries {
        let _ = write!(out, ", {n_with_answers} with answers");
    }
    if *n_unjudged > 0 {
        let _ = write!(out, ", {n_unjudged} more without judgments");
    }
    let _ = writeln!(out, "\ntokens counted by {estimator}, rendering {rendering}");
    let name = results.iter().map(|one| width(&one.name)).max().unwrap_or_default();
    let name = name.clamp(*NAME.start(), *NAME.end());
    let head = format!(
        "{} {:>7} {:>8} {:>15} {:>8} {:>6} {:>5} {:>6} {:>7}",
        padded("", name),
        "budget",
        "answered",
        "95 %",
        "passages",
        "notes",
        "used",
        "first",
        "ms"
    );
    let _ = writeln!(out, "\n{}", paint(FAINT_TITLE, &head));
    for result in results {
        let PackingResult { name: of, budget, answered, passages, notes, used, .. } = result;
        let interval = |mean: &Mean| format!("{:.3} to {:.3}", mean.low, mean.high);
        let shown =
            answered.as_ref().map_or_else(|| "-".to_owned(), |it| format!("{:.3}", it.mean));
        let first = result.tokens_to_answer.map_or_else(|| "-".to_owned(), |it| format!("{it:.0}"));
        let _ = writeln!(
            out,
            "{} {:>7} {shown:>8} {:>15} {:>8.3} {:>6.3} {used:>5.2} {first:>6} {:>7.1}",
            padded(of, name),
            grouped(*budget),
            answered.as_ref().map_or_else(|| interval(passages), interval),
            passages.mean,
            notes.mean,
            result.latency_ms.p50,
        );
    }
    let mut compared =
        results.iter().filter_map(|one| Some((one, one.comparison.as_ref()?))).peekable();
    if let (Some((_, first)), Some(best)) = (compared.peek(), results.first()) {
        let heading = format!("{}: {} against", first.measure, best.name);
        let _ = writeln!(out, "\n{}", paint(FAINT_TITLE, &heading));
    }
    for (result, compared) in compared {
        let budget = grouped(result.budget);
        let _ =
            writeln!(out, "{} {budget:>7} {}", padded(&result.name, name), difference(compared));
    }
    out.push_str(LEGEND);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::{Latency, VariantDifference};

    #[test]
    fn table_columns_are_aligned() {
        let mean = |mean: f64| Mean { mean, low: mean - 0.05, high: mean + 0.02 };
        let packed = |name: &str, budget, answered, comparison| PackingResult {
            name: name.into(),
            budget,
            answered: Some(mean(answered)),
            passages: mean(answered - 0.2),
            notes: mean(answered),
            recall: mean(answered),
            used: 0.987,
            tokens_to_answer: Some(212.4),
            latency_ms: Latency { p50: 12.34, p95: 20.0 },
            comparison,
        };
        let compared = VariantDifference {
            measure: "answered".into(),
            difference: 0.07,
            low: 0.02,
            high: 0.12,
            n_better: 7,
            n_worse: 0,
        };
        let evaluation = ContextEvaluation {
            n_queries: 100,
            n_unjudged: 2,
            n_with_answers: 90,
            warnings: Vec::new(),
            generation: 1,
            estimator: "chars".into(),
            rendering: "markdown".into(),
            results: vec![
                packed("evidence", 1500, 0.97, None),
                packed("per_note_share=0.2", 1500, 0.9, Some(compared)),
            ],
        };
        let plain = anstream::adapter::strip_str(&context_evaluation(&evaluation)).to_string();
        let expected = "\
100 questions, 90 with answers, 2 more without judgments
tokens counted by chars, rendering markdown

                    budget answered            95 % passages  notes  used  first      ms
evidence             1,500    0.970  0.920 to 0.990    0.770  0.970  0.99    212    12.3
per_note_share=0.2   1,500    0.900  0.850 to 0.920    0.700  0.900  0.99    212    12.3

answered: evidence against
per_note_share=0.2   1,500    +0.070  +0.020 to +0.120, 7 better, 0 worse

answered: the context contains an answer
passages: it contains at least half of every judged passage
notes: it shows all judged notes, in full or in part
used: share of the budget; first: tokens up to the end of the first answer
";
        assert_eq!(plain, expected);
    }
}
