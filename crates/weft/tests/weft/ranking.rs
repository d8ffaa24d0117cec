//! Quality gate for the ranking on the example vault; its bounds leave room for other good rankings.
#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use std::path::Path;

use serde_json::Value;

use crate::on_example;

/// Returns the measures of each variant, in the given order, over the questions of `examples/questions`.
fn measured(model: &str, variants: &str, require: &[&str]) -> Vec<Value> {
    let home = tempfile::tempdir().unwrap();
    let questions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/questions");
    let file = |name: &str| questions.join(name).to_string_lossy().into_owned();
    let (queries, qrels) = (file("timekeeping.jsonl"), file("timekeeping.tsv"));
    let model = format!("embedding.model={model}");
    let mut args = vec!["eval", "--queries", &queries, "--qrels", &qrels, "--set", &model];
    args.extend(["--variant", variants]);
    args.extend(require.iter().flat_map(|least| ["--require", least]));
    let output = on_example(&home, &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["n_queries"], 40, "{answer}");
    let variants = answer["variants"].as_array().unwrap().iter();
    variants.map(|variant| variant["measures"].clone()).collect()
}

#[test]
fn connections_improve_ranking_on_the_example() {
    let require = ["recall@5=0.70", "nDCG@10=0.70"];
    let measures = measured("none", "configured,no-graph", &require);
    let [all, lone] = [0, 1].map(|at| measures[at]["nDCG@10"].as_f64().unwrap());
    assert!(all > lone, "{all} with links and shared words, {lone} without");
}

#[test]
fn bundled_model_meets_minimum_on_the_example() {
    measured("bundled", "configured", &["recall@5=0.80", "nDCG@10=0.80"]);
}
