//! Quality gate for the ranking on the example vault; its bounds leave room for other good rankings.
#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use std::path::Path;

use serde_json::Value;

use crate::{on_example, weft};

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
fn english_model_is_chosen_and_meets_minimum_on_the_example() {
    measured("auto", "configured", &["recall@5=0.80", "nDCG@10=0.80"]);
}

/// Thirty notes in English, German, French, Russian and Chinese, and a question about each of them in another of these languages.
#[cfg(feature = "multilingual")]
#[test]
fn questions_in_one_language_find_notes_in_another() {
    let home = tempfile::tempdir().unwrap();
    let vault = home.path().join("notes");
    let notes = include_str!("five_languages/notes.txt");
    for note in notes.split("=== ").skip(1) {
        let (path, text) = note.split_once('\n').unwrap();
        std::fs::create_dir_all(vault.join(path).parent().unwrap()).unwrap();
        std::fs::write(vault.join(path), text).unwrap();
    }
    let questions = include_str!("five_languages/questions.jsonl");
    let qrels: String = questions
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|q| format!("{}\t{}\t1\n", q["id"].as_str().unwrap(), q["note"].as_str().unwrap()))
        .collect();
    let (queries, judged) = (home.path().join("q.jsonl"), home.path().join("q.tsv"));
    std::fs::write(&queries, questions).unwrap();
    std::fs::write(&judged, qrels).unwrap();
    let measured = |model: &str, variant: &str| {
        let model = format!("embedding.model={model}");
        let store = home.path().join("store");
        let files = [&vault, &store, &queries, &judged].map(|path| path.to_str().unwrap());
        let [vault, store, queries, judged] = files;
        let args = ["--vault", vault, "--store", store, "--format", "json", "--set", &model];
        let eval = ["eval", "--queries", queries, "--qrels", judged, "--variant", variant];
        let output = weft(home.path(), &[&eval[..], &args].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["n_queries"], 30, "{answer}");
        let measures = &answer["variants"][0]["measures"];
        ["recall@5", "recall@10"].map(|name| measures[name].as_f64().unwrap())
    };
    let [five, ten] = measured("auto", "configured");
    assert!(five >= 0.9 && ten >= 0.95, "{five} {ten}");
    let [_, by_words] = measured("none", "keyword");
    assert!(by_words < 0.2, "words alone do not cross languages, but found {by_words}");
}
