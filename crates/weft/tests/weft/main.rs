//! The binary as used by scripts: exit codes, streams and JSON.

mod backup;
#[cfg(unix)]
mod crash;
mod doctor;
#[cfg(unix)]
mod drill;
mod hygiene;
mod mcp;
#[cfg(unix)]
mod open;
#[cfg(unix)]
mod operations;
#[cfg(unix)]
mod other_files;
mod ranking;
mod walk;
mod write;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;
use weft_testkit::{Random, forged_lines};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/timekeeping")
}

/// Runs `weft` without the user's environment and without a model, with a daemon address where nothing listens.
fn weft(home: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weft"))
        .args(args)
        .env_clear()
        .env("HOME", home)
        .env("WEFT__EMBEDDING__MODEL", "none")
        .env("WEFT__SERVER__ADDRESS", "127.0.0.1:1")
        .output()
        .expect("the binary was built for this test")
}

fn on_example(home: &TempDir, args: &[&str]) -> Output {
    let example = example();
    let example = example.to_string_lossy();
    let vault = ["--vault", &*example, "--format", "json"];
    weft(home.path(), &[args, &vault].concat())
}

#[test]
fn exit_codes_and_streams_distinguish_failures() {
    let home = tempfile::tempdir().unwrap();
    let example = example();
    let vault = example.to_str().unwrap();
    for (args, code) in [
        (vec![], 0),
        (vec!["search", "leap second", "--vault", vault], 0),
        (vec!["search", "zzzyx", "--vault", vault], 0),
        (vec!["search", "leap second", "--vault", vault, "--store", "/dev/null"], 2),
        (vec!["related", "Leap second", "--budget", "0", "--vault", vault], 0),
        (vec!["related", "Leap second", "--budget", "-1", "--vault", vault], 2),
        (vec!["related", "Leap second", "--resume", "x", "--vault", vault], 2),
        (
            vec![
                "related",
                "Leap second",
                "--budget",
                "9",
                "--total-budget",
                "9",
                "--vault",
                vault,
            ],
            2,
        ),
        (vec!["related", "Leap second", "--resume", "0.0.ab.9", "--vault", vault], 4),
        (vec!["related", "Leap secnd", "--vault", vault], 3),
        (vec!["confirm-deletions", "--vault", vault], 0),
        (vec!["diff", "--vault", vault], 4),
        (vec!["diff", "7000000", "--vault", vault], 2),
        (vec!["confirm-deletions", "nowhere", "--vault", vault], 3),
        (vec!["context", "leap second", "--budget", "0", "--vault", vault], 0),
        (vec!["context", "--vault", vault], 2),
        (vec!["context", "--focus", "Leap secnd", "--vault", vault], 3),
        (vec!["context", "--walk", "Leap secnd", "--vault", vault], 3),
        (vec!["context", "leap", "--max-hops", "1", "--vault", vault], 2),
        (vec!["context", "--wlak", "Leap second", "--vault", vault], 2),
        (vec!["context", "x", "--budget", "1", "--budget-chars", "1", "--vault", vault], 2),
        (vec!["context", "--note", "Sundial=high", "--vault", vault], 2),
        (vec!["context", "--from", "/no/such/file", "--vault", vault], 2),
        (vec!["context", "x", "--estimator", "gpt", "--vault", vault], 2),
        (vec!["context", "--focus", "Sundial", "--profile", "classic", "--vault", vault], 2),
        (vec!["context", "x", "--note", "Sundial", "--weights", "1,0,0", "--vault", vault], 2),
        (vec!["context", "x", "--weights", "1,2", "--vault", vault], 2),
        (vec!["nonsense"], 2),
        (vec!["search", "x", "--limit", "0", "--vault", vault], 2),
        (vec!["status", "--vault", "/no/such/folder"], 2),
        (vec!["status", "--set", "server.timeout_ms=0"], 2),
        (vec!["serve", vault, "--addr", "0.0.0.0:9338"], 2),
        (vec!["serve", "/no/such/folder"], 2),
        (vec!["config", "show", "--addr", "https://nowhere.invalid"], 0),
        (vec!["get", "Leap secnd", "--vault", vault], 3),
        (vec!["search", "x", "--mode", "vector", "--vault", vault], 4),
        (vec!["why-not", "Leap second", "leap", "second", "--limit", "1", "--vault", vault], 0),
        (vec!["why-not", "Leap secnd", "leap second", "--vault", vault], 3),
        (vec!["why-not", "Leap second", "x", "--weights", "1,2", "--vault", vault], 2),
        (vec!["siblings", "Leap second", "--vault", vault], 0),
        (vec!["siblings", "Leap second", "--limit", "0", "--vault", vault], 2),
        (vec!["search", "x"], 5),
    ] {
        let output = weft(home.path(), &args);
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{args:?}\n{out}\n{err}");
        assert_eq!(out.is_empty(), code != 0, "{args:?}: standard output is for answers\n{out}");
        assert_eq!(err.contains("error:"), code != 0, "{args:?}\n{err}");
        assert!(
            !out.contains('\u{1b}') && !err.contains('\u{1b}'),
            "{args:?}: color only on a terminal"
        );
    }
}

#[test]
fn invalid_settings_are_reported_with_a_hint() {
    let home = tempfile::tempdir().unwrap();
    for (args, hint) in [
        (&["serve", "/no/such/folder"][..], "name an existing folder"),
        (&["status", "--config", "/no/such/file"], "`weft config default > FILE`"),
        (&["status", "--set", "server.timeout_ms=0"], "`weft config default` lists"),
    ] {
        let output = weft(home.path(), args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(&format!("hint:  {hint}")), "{args:?}: {said}");
    }
}

#[test]
fn mistyped_vault_leaves_no_index() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("moss.md"), "# Moss\n").unwrap();
    let file = home.path().join("moss.md");
    for vault in ["/no/such/folder", file.to_str().unwrap()] {
        let output = weft(home.path(), &["search", "moss", "--vault", vault]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}

#[test]
fn without_home_folder_a_store_must_be_named() {
    let place = tempfile::tempdir().unwrap();
    let vault = example();
    let run = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_weft"))
            .args(args)
            .args(["--vault", vault.to_str().unwrap(), "--set", "embedding.model=none"])
            .env_clear()
            .env("TMPDIR", place.path())
            .output()
            .unwrap()
    };
    let refused = run(&["status"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--store DIR"));
    let store = place.path().join("store");
    assert!(run(&["status", "--store", store.to_str().unwrap()]).status.success());
}

#[test]
fn missing_model_leaves_keywords_and_links() {
    let home = tempfile::tempdir().unwrap();
    let asked = ["--set", "embedding.model=no/such/model"];
    let search = on_example(&home, &[&["search", "leap second"], &asked[..]].concat());
    assert!(search.status.success(), "{}", String::from_utf8_lossy(&search.stderr));
    let answer: Value = serde_json::from_slice(&search.stdout).unwrap();
    assert!(!answer["hits"].as_array().unwrap().is_empty());
    let warning = &answer["warnings"][0];
    assert_eq!(warning["code"], "model_unavailable", "{warning}");
    assert!(warning["message"].as_str().unwrap().contains("no/such/model"), "{warning}");
    let status = on_example(&home, &[&["status"], &asked[..]].concat());
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let notice = status["notices"][0].as_str().unwrap();
    assert!(notice.contains("no/such/model") && notice.contains("keywords and links"), "{notice}");
}

#[test]
fn filter_normalizes_names_and_dates() {
    let home = tempfile::tempdir().unwrap();
    let vault = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("caf\u{e9}.md", "---\nDate: 2024-05-01\ntype: [Book, Essay]\n---\n#x/y"),
        ("late.md", "---\ndate: 2024-5-20\n---\n"),
        ("none.md", ""),
    ] {
        std::fs::write(vault.path().join(name), text).unwrap();
    }
    let root = vault.path().to_string_lossy();
    for (flags, expected) in [
        (["--path", "CAFE\u{301}*"], &["caf\u{e9}"][..]),
        (["--after", "2024-05-01T00:00:00Z"], &["caf\u{e9}", "late"]),
        (["--after", "2024-05-01T01:00:00+02:00"], &["caf\u{e9}", "late"]),
        (["--after", "2024-05-02"], &["late"]),
        (["--before", "2024-05-20"], &["caf\u{e9}"]),
        (["--note-type", "essay"], &["caf\u{e9}"]),
        (["--tag", "#X/"], &["caf\u{e9}"]),
    ] {
        let arguments = [&["list", "--vault", &root, "--format", "json"], &flags[..]].concat();
        let output = weft(home.path(), &arguments);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let uris: Vec<&str> = answer["notes"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|note| note["uri"].as_str())
            .collect();
        assert_eq!(uris, expected, "{flags:?}");
    }
    for date in ["yesterday", "2024-13-45"] {
        let output = weft(home.path(), &["list", "--vault", &root, "--after", date]);
        assert_eq!(output.status.code(), Some(2), "{date}");
    }
}

#[test]
fn unknown_note_suggests_similar_name() {
    let home = tempfile::tempdir().unwrap();
    let output = on_example(&home, &["get", "Leap secnd"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("did you mean") && error.contains("Leap second"), "{error}");
}

#[test]
fn json_output_is_one_object_with_every_field() {
    let home = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = on_example(&home, args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), 1, "{args:?}");
        let value: Value = serde_json::from_str(&text).unwrap();
        (text, value)
    };
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };

    let (text, answer) = run(&["search", "leap second", "--limit", "2"]);
    assert_eq!(
        keys(&answer),
        ["explanation", "fanout_limited", "generation", "hits", "truncated", "warnings"]
    );
    let hit = &answer["hits"][0];
    assert_eq!(
        keys(hit),
        [
            "connection",
            "contributions",
            "embedding_current",
            "explanation",
            "keyword_score",
            "kind",
            "name_score",
            "origin",
            "path",
            "score",
            "signals",
            "snippets",
            "title",
            "uri",
            "vault",
            "vector_score",
            "via"
        ]
    );
    assert_eq!((hit["origin"].as_str(), &hit["via"]), (Some("keyword"), &Value::Null));
    let sum: f64 = ["similarity", "centrality", "activation", "relevance"]
        .iter()
        .map(|part| hit["contributions"][part].as_f64().unwrap())
        .sum();
    assert!((sum - hit["score"].as_f64().unwrap()).abs() < 1e-12);
    assert_eq!(run(&["search", "leap second", "--limit", "2"]).0, text, "same request, same bytes");

    let (_, graph) = run(&["export"]);
    assert_eq!(keys(&graph), ["edges", "generation", "nodes", "warnings"]);
    assert_eq!(keys(&graph["nodes"][0]), ["id", "path", "placeholder", "tags", "title", "type"]);
    assert_eq!(keys(&graph["edges"][0]), ["from", "source", "to", "type"]);
    assert!(["typed", "inline"].contains(&graph["edges"][0]["source"].as_str().unwrap()));

    let (_, coverage) = run(&["coverage"]);
    assert_eq!(coverage["files"][0]["state"], "indexed");
    let (_, status) = run(&["status"]);
    assert_eq!((&status["phase"], &status["model"]), (&Value::from("ready"), &Value::Null));
    let (_, note) = run(&["get", "Leap second"]);
    assert!(note["properties"].is_object() && note["body"].as_str().is_some());
    let (_, missing) = run(&["resolve", "no such note"]);
    assert_eq!(missing["uri"], Value::Null);
}

#[test]
fn related_response_has_the_documented_shape() {
    let home = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| -> Value {
        let output = on_example(&home, args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let statement = "Chronometer solved longitude";
    let answer = run(&["related", statement, "--budget", "300"]);
    let fields = [
        (
            &answer,
            "budget,focus_note,focus_tokens,generation,related_notes,relations,remaining,resume_token,skipped,skipped_truncated,used,warnings",
        ),
        (
            &answer["focus_note"],
            "children,contextual_path,details,object,parent,prior_siblings,referrings,relation,title,uri,younger_siblings",
        ),
        (
            &answer["related_notes"][0],
            "also_relations,details,in_folder,object,parent,relation,similarity,title,tokens,topic,truncated,uri",
        ),
        (&answer["skipped"][0], "relation,tokens,uri"),
        (&answer["focus_note"]["parent"], "title,uri"),
    ];
    for (value, expected) in fields {
        let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys.join(","), expected);
    }
    assert_eq!(answer["focus_note"]["relation"], "Self");
    assert_eq!(answer["related_notes"][0]["relation"], "Parent");
    assert!(answer["used"].as_u64() <= Some(300));

    let token = answer["resume_token"].as_str().unwrap();
    let next = run(&["related", statement, "--budget", "2000", "--resume", token]);
    assert_ne!(next["related_notes"][0]["uri"], answer["related_notes"][0]["uri"]);

    // Only the text goes to standard output, so that it can be piped; the ledger goes to standard error.
    let example = example();
    let vault = example.to_str().unwrap();
    let args = ["related", statement, "--rendering", "xml", "--vault", vault];
    let output = weft(home.path(), &args);
    let (text, ledger) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(text.starts_with("<context>") && text.ends_with("</context>\n"), "{text}");
    assert!(ledger.contains("of 2,000 tokens"), "{ledger}");
}

#[test]
fn context_output_serves_terminals_pipes_and_programs() {
    let home = tempfile::tempdir().unwrap();
    let example = example();
    let vault = example.to_str().unwrap();
    let run = |args: &[&str]| {
        let output = weft(home.path(), &[&["context"], args, &["--vault", vault]].concat());
        let texts =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{args:?}: {}", texts.1);
        texts
    };
    let ask = ["leap second", "--budget-chars", "3000"];
    let (out, _) = run(&ask);
    assert!(
        out.starts_with("## Agreed Time/Leap second\n") && out.contains("of 3,000 characters used"),
        "{out}"
    );

    let (context, ledger) = run(&[&ask[..], &["--rendering", "markdown"]].concat());
    assert!(out.starts_with(&context), "the context alone\n{context}");
    assert!(context.chars().count() <= 3000 && ledger.contains("of 3,000 characters used"));

    let (json, _) = run(&[&ask[..], &["--format", "json"]].concat());
    let answer: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(answer["rendered"].as_str(), Some(&*context));
    assert_eq!(
        (&answer["unit"], &answer["items"][0]["mode"]),
        (&"characters".into(), &"full".into())
    );
    let number = |name: &str| answer[name].as_u64().unwrap();
    assert_eq!(number("used") + number("remaining"), number("budget"));
    assert!(
        answer["items"][0]["properties"].is_object() && answer["items"][0]["blocks"].is_array()
    );
    let fields = [
        (
            &answer,
            "budget,estimator,generation,items,ledger_unit,omitted,packing,passages,relations,remaining,rendered,truncated_by,unit,used,warnings",
        ),
        (
            &answer["items"][0],
            "allowance,blocks,carry_in,carry_out,chars,cost,heading_path,mode,passages,properties,relation,score,text,title,tokens,truncated,uri,via",
        ),
        (&answer["items"][0]["blocks"][0], "end,start"),
        (&answer["items"][0]["passages"][0], "evidence,first_line,heading_path,last_line,span"),
        (&answer["omitted"][0], "reason,score,tokens,uri"),
    ];
    for (value, expected) in fields {
        let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys.join(","), expected);
    }

    // Another process prints the same bytes, from the same index and from a newly built one.
    let ask_json = [&ask[..], &["--format", "json"]].concat();
    assert_eq!(run(&ask_json).0, json);
    let elsewhere = tempfile::tempdir().unwrap();
    let output =
        weft(elsewhere.path(), &[&["context"], &ask_json[..], &["--vault", vault]].concat());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), json);

    // `--walk` and the saved answer of `tree` are the same source.
    let whole = ["--rendering", "none", "--budget-chars", "9000", "--format", "json"];
    let tree = on_example(&home, &["tree", "Sundial", "--max-hops", "2", "--typed-only"]).stdout;
    let from = home.path().join("tree.json");
    std::fs::write(&from, &tree).unwrap();
    let (mut walked, _) =
        run(&[&["--walk", "Sundial", "--max-hops", "2", "--typed-only"], &whole[..]].concat());
    assert!(walked.contains(r#""truncated_by":["walk"]"#), "{walked}");
    walked = walked.replace(r#""truncated_by":["walk"]"#, r#""truncated_by":[]"#);
    assert_eq!(run(&[&["--from", from.to_str().unwrap()], &whole[..]].concat()).0, walked);

    // The answer of another command supplies the notes.
    let found = on_example(&home, &["search", "leap second", "--limit", "2"]).stdout;
    let from = home.path().join("found.json");
    std::fs::write(&from, &found).unwrap();
    let (json, _) =
        run(&["--from", from.to_str().unwrap(), "--rendering", "none", "--format", "json"]);
    let answer: Value = serde_json::from_str(&json).unwrap();
    let found: Value = serde_json::from_slice(&found).unwrap();
    let best = &found["hits"][0];
    let item = &answer["items"][0];
    assert_eq!((&item["uri"], &item["score"]), (&best["uri"], &best["score"]));
    assert_eq!(answer["rendered"], Value::Null);

    // An empty answer is a valid source; the query does not search in its place.
    let found = on_example(&home, &["search", "qqqqq", "--mode", "keyword"]).stdout;
    std::fs::write(&from, &found).unwrap();
    let from = from.to_str().unwrap();
    for asked in [&["--from", from][..], &["leap second", "--from", from]] {
        let (json, _) = run(&[asked, &["--format", "json"]].concat());
        let answer: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&answer["items"], &answer["omitted"]), (&json!([]), &json!([])), "{json}");
    }
    let (text, ledger) = run(&["--from", from, "--rendering", "markdown"]);
    assert!(text.is_empty() && ledger.contains("No notes given"), "{text}{ledger}");
    let (beside, _) =
        run(&["leap second", "--from", from, "--note", "Sundial", "--format", "json"]);
    let beside: Value = serde_json::from_str(&beside).unwrap();
    assert_eq!(beside["items"].as_array().unwrap().len(), 1, "{beside}");

    std::fs::write(from, "Leap second\n").unwrap();
    let output = on_example(&home, &["context", "--from", from]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains(&format!("{from} is not JSON")) && error.contains("--format json"));
    // Standard input is empty.
    let output = on_example(&home, &["context", "--from", "-"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("standard input is not JSON"), "{error}");

    // One existing note is enough; without any, the command fails as for a missing focus note.
    let (some, _) = run(&["--note", "nope", "--note", "Sundial", "--format", "json"]);
    let some: Value = serde_json::from_str(&some).unwrap();
    assert_eq!(some["omitted"][0]["reason"], "missing");
    for asked in [&["--note", "Sundail"][..], &["noon", "--note", "Sundail", "--note", "nope"]] {
        let output = on_example(&home, &[&["context"], asked].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{error}");
        assert!(error.contains("did you mean `sundial`"), "{error}");
    }
}

#[test]
fn context_uses_ranking_flags_of_search() {
    let home = tempfile::tempdir().unwrap();
    let ask = |args: &[&str]| -> Value {
        let output = on_example(&home, args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let query = "why does a pendulum disagree with a sundeal";
    let mut seen = Vec::new();
    for flags in [
        &[][..],
        &["--profile", "classic"],
        &["--weights", "1,1,1"],
        &["--no-graph"],
        &["--disable", "names"],
        &["--typo-tolerance"],
    ] {
        let found = ask(&[&["search", query, "--limit", "1"], flags].concat());
        let packed = ask(&[&["context", query, "--rendering", "none"], flags].concat());
        let (best, item) = (&found["hits"][0], &packed["items"][0]);
        assert_eq!((&item["uri"], &item["score"]), (&best["uri"], &best["score"]), "{flags:?}");
        let score = item["score"].to_string();
        assert!(!seen.contains(&score), "{flags:?} has no effect");
        seen.push(score);
    }
    for (args, reason) in [
        (
            &["--focus", "Sundial", "--typo-tolerance"][..],
            "--typo-tolerance ranks what a query finds: add a QUERY",
        ),
        (&["noon", "--note", "Sundial", "--no-graph"], "--no-graph ranks what a query finds, but"),
        (&["noon", "--from", "/no/such/file", "--disable", "names"], "names the notes"),
    ] {
        let output = on_example(&home, &[&["context"], args].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(reason), "{args:?}: {error}");
    }
}

#[test]
fn config_show_names_origin_of_settings() {
    let home = tempfile::tempdir().unwrap();
    let output = weft(home.path(), &["config", "show", "--origin", "--set", "search.snippets=1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "search.snippets = 1  (--set)",
        "embedding.model = \"none\"  (environment WEFT__EMBEDDING__MODEL)",
        "server.timeout_ms = 30000  (default)",
    ] {
        assert!(text.lines().any(|have| have == line), "{line} is not in\n{text}");
    }
    let output = weft(home.path(), &["config", "default"]);
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("# All settings of weft"));
}

#[test]
fn eval_measures_rankings_and_enforces_minimum() {
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let queries = file("q.jsonl", "{\"id\": \"q\", \"text\": \"leap second\"}\n");
    let qrels = file("qrels.tsv", "q\tAgreed Time/Leap second\t1\n");
    let run = home.path().join("run.txt");
    let args = ["eval", "--queries", &queries, "--qrels", &qrels, "--run", run.to_str().unwrap()];
    let output = on_example(&home, &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["variants"][0]["name"], "configured");
    assert_eq!(answer["variants"][0]["measures"]["MRR"], 1.0);
    assert_eq!(answer["variants"][0]["comparisons"], Value::Array(Vec::new()));
    let compared = answer["variants"][1]["comparisons"].as_array().unwrap();
    let measures: Vec<_> = compared.iter().map(|one| &one["measure"]).collect();
    assert_eq!(measures, ["nDCG@10", "recall@5"]);
    assert_eq!(answer["warnings"], Value::Array(Vec::new()));
    let lines = std::fs::read_to_string(&run).unwrap();
    assert!(lines.starts_with("q Q0 Agreed%20Time/Leap%20second 1 0."), "{lines}");

    let contexts = ["--context", "--budget", "300,3000", "--limits", "per_note_share=1"];
    let output = on_example(&home, &[&args[..5], &contexts[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["estimator"], &answer["n_with_answers"]), (&"chars".into(), &0.into()));
    let results = answer["results"].as_array().unwrap();
    let names: Vec<_> =
        results.iter().map(|result| (result["name"].as_str(), result["budget"].as_u64())).collect();
    let variants = ["evidence", "classic", "plain", "per_note_share=1"].map(Some);
    let expected: Vec<_> =
        [300, 3000].iter().flat_map(|budget| variants.map(|name| (name, Some(*budget)))).collect();
    assert_eq!(names, expected);
    assert!(results.iter().all(|result| result["notes"]["mean"] == 1.0), "{answer}");
    assert!(results.iter().all(|result| result["used"].as_f64() <= Some(1.0)), "{answer}");
    // The note does not fit into a tenth of 300 tokens, but into all of it.
    let whole: Vec<_> = results[..4].iter().map(|result| &result["passages"]["mean"]).collect();
    assert_eq!(whole, [1.0, 0.0, 1.0, 1.0]);
    assert_eq!(results[0]["comparison"], Value::Null);
    assert_eq!(results[1]["comparison"]["measure"], "passages");
    let gate = |least: &str| {
        let required = ["--context", "--budget", "300", "--require", least];
        on_example(&home, &[&args[..5], &required[..]].concat())
    };
    assert!(gate("passages@300=1").status.success());
    let missed = gate("answered@300=0.1");
    assert_eq!((missed.status.code(), missed.stdout.len()), (Some(1), 0));

    // Names encoded in columns, a judged query that does not exist, and documents that are not notes.
    let written = "q\tAgreed%20Time/Leap%20second\t1\nq\tno 1\t1\nq\tno 2\t1\nq\tno 3\t1\nq\tno 4\t1\ngone\tno 1\t1\n";
    let qrels = file("written.tsv", written);
    let args = ["eval", "--queries", &queries, "--qrels", &qrels, "--variant", "keyword"];
    let output = on_example(&home, &args);
    let told = String::from_utf8_lossy(&output.stderr);
    let answer: Value = serde_json::from_slice(&output.stdout).expect(&told);
    assert_eq!(answer["variants"][0]["measures"]["MRR"], 0.5, "{answer}");
    let warnings: Vec<_> =
        answer["warnings"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
    let expected = [
        "judged but without a query, so they count 0: 1 (gone)",
        "judged, but not notes, so they are never found: 4 (no 1, no 2, no 3, …)",
    ];
    assert_eq!(warnings, expected);
    assert!(expected.iter().all(|warning| told.contains(warning)), "{told}");

    let missed = [&args[..], &["--require", "recall@5=0.9"]].concat();
    let output = on_example(&home, &missed);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let wrong = on_example(&home, &["eval", "--queries", &qrels, "--qrels", &qrels]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn reranked_variant_is_measured_and_flags_switch_it() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("model");
    std::fs::create_dir(&folder).unwrap();
    weft_testkit::write_cross_encoder(&folder, &["clepsydra"]).unwrap();
    let file = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let queries = file("q.jsonl", "{\"id\": \"q\", \"text\": \"leap second\"}\n");
    let qrels = file("qrels.tsv", "q\tAgreed Time/Leap second\t1\n");
    let model = format!("rerank.model={}", folder.display());
    let set = ["--set", &model, "--set", "rerank.runner=rten", "--set", "rerank.top_n=5"];
    let asked = ["eval", "--queries", &queries, "--qrels", &qrels];
    let variants = |flags: &[&str]| -> Vec<String> {
        let output = on_example(&home, &[&asked[..], flags].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let variants = answer["variants"].as_array().unwrap();
        variants.iter().map(|variant| variant["name"].as_str().unwrap().to_owned()).collect()
    };
    let two = ["--variant", "without-rerank,rerank"];
    assert_eq!(variants(&[&two[..], &set].concat()), ["without-rerank", "rerank"]);
    assert!(variants(&set).contains(&"without-rerank".to_owned()));
    let without = variants(&[]);
    assert!(!without.iter().any(|name| name.contains("rerank")), "{without:?}");

    let parts = |flags: &[&str]| -> usize {
        let output =
            on_example(&home, &[&["search", "leap second", "--explain"], &set[..], flags].concat());
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["warnings"], Value::Array(Vec::new()), "{flags:?}");
        answer["hits"][0]["explanation"]["parts"].as_array().unwrap().len()
    };
    assert_eq!([parts(&[]), parts(&["--rerank"]), parts(&["--no-rerank"])], [4, 4, 3]);
    let tune = [&["eval", "tune", "--rerank"], &asked[1..]].concat();
    assert_eq!(on_example(&home, &tune).status.code(), Some(2));
    let context = ["context", "leap second", "--no-rerank"];
    assert!(on_example(&home, &[&context[..], &set].concat()).status.success());
    let output = on_example(&home, &["search", "leap second", "--rerank"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["warnings"][0]["code"], "rerank_skipped");
}

#[test]
fn hidden_links_provide_judgments() {
    let home = tempfile::tempdir().unwrap();
    let saved = home.path().join("judged");
    let asked = ["--hide-links", "20", "--save", saved.to_str().unwrap()];
    let output = on_example(
        &home,
        &[&["eval", "--variant", "configured,without-links"], &asked[..]].concat(),
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let n_queries = answer["n_queries"].as_u64().unwrap();
    assert!((5..=20).contains(&n_queries), "{answer}");

    // The saved questions give the same result.
    let file = |name: &str| saved.join(name).to_string_lossy().into_owned();
    let (queries, qrels) = (file("queries.jsonl"), file("qrels.tsv"));
    let files = ["--queries", &queries, "--qrels", &qrels];
    let again = on_example(
        &home,
        &[&["eval", "--variant", "configured,without-links"], &files[..]].concat(),
    );
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["variants"][0]["measures"], answer["variants"][0]["measures"]);
    let question = std::fs::read_to_string(&queries).unwrap();
    let question: Value = serde_json::from_str(question.lines().next().unwrap()).unwrap();
    let note = question["exclude"][0].as_str().unwrap();
    let text = question["text"].as_str().unwrap();
    let found = on_example(&home, &["search", text, "--exclude", note]);
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert!(found["hits"].as_array().unwrap().iter().all(|hit| hit["uri"] != note), "{found}");

    let output = on_example(&home, &[&["eval", "tune", "--measure", "MRR"], &files[..]].concat());
    let tuning: Value = serde_json::from_slice(&output.stdout).unwrap();
    let n = |half: &str| tuning[half]["n_queries"].as_u64().unwrap();
    assert_eq!(n("searched") + n("held_out"), n_queries);
    assert_eq!(tuning["comparison"]["measure"], "MRR");
    let sum: f64 = tuning["tuned"].as_array().unwrap().iter().filter_map(Value::as_f64).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{tuning}");
    for wrong in [&["eval"][..], &["eval", "--queries", &queries], &["eval", "--hide-links", "0"]] {
        assert_eq!(on_example(&home, wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn bench_measures_load_with_and_without_wire() {
    let home = tempfile::tempdir().unwrap();
    let args = ["bench", "--seconds", "1", "--clients", "2", "--mix", "get=2,tree", "--wire"];
    let output = on_example(&home, &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let loads = answer["loads"].as_array().unwrap();
    let places: Vec<&str> = loads.iter().map(|load| load["place"].as_str().unwrap()).collect();
    assert_eq!(places, ["in process", "over gRPC"]);
    for load in loads {
        assert!(load["all"]["n"].as_u64().unwrap() > 0, "{load}");
        assert_eq!(load["all"]["errors"], serde_json::json!({}), "{load}");
        let calls = load["calls"].as_array().unwrap();
        let calls: Vec<&str> = calls.iter().map(|call| call["call"].as_str().unwrap()).collect();
        assert_eq!(calls, ["tree", "get"]);
    }
    assert!(answer["wire"]["p50_ms"].is_number(), "{answer}");
    let wrong = on_example(&home, &["bench", "--mix", "nothing"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn readers_see_consistent_generations_during_edits() {
    let (home, vault) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(vault.path().join("moss.md"), "# Moss\nsoft and green\n").unwrap();
    let folder = vault.path().to_string_lossy();
    let model = ["--set", "embedding.model=none", "--vault", &folder];
    let args = "bench --edits 40 --link --rate 100 --seconds 1 --format json".split(' ');
    let args: Vec<&str> = args.chain(model).collect();
    let output = weft(home.path(), &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let phases: Vec<&Value> =
        answer["loads"].as_array().unwrap().iter().map(|load| &load["phase"]).collect();
    assert_eq!(phases, ["quiet", "edits"]);
    let edits = &answer["edits"];
    assert_eq!(edits["inconsistencies"], serde_json::json!([]), "{edits}");
    assert!(edits["n"].as_u64().unwrap() > 0, "{edits}");
    let links = &edits["links"];
    assert!(links["n"].as_u64() > Some(0) && links["errors"] == serde_json::json!({}), "{links}");
    assert!(edits["n_answers_of_edited"].as_u64().unwrap() > 0, "{edits}");
    let left: Vec<_> = std::fs::read_dir(vault.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "the benchmark's notes are removed: {left:?}");
}

#[test]
fn data_is_printed_byte_for_byte() {
    let (home, vault) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let body = "bell \u{7} delete \u{7f} escape \u{1b}[31m next line \u{85} end";
    std::fs::write(vault.path().join("odd.md"), body).unwrap();
    let vault = vault.path().to_string_lossy();
    let on = |args: &[&str]| {
        let output = weft(
            home.path(),
            &[args, &["--vault", &vault, "--set", "embedding.model=none"]].concat(),
        );
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let note: Value = serde_json::from_str(&on(&["get", "odd", "--format", "json"])).unwrap();
    assert_eq!(note["body"], body);
    let ask = ["context", "--note", "odd", "--rendering", "markdown"];
    let answer: Value =
        serde_json::from_str(&on(&[&ask[..], &["--format", "json"]].concat())).unwrap();
    assert_eq!(answer["rendered"].as_str().unwrap(), on(&ask));
    assert!(answer["items"][0]["text"].as_str().unwrap().contains(body), "{answer}");
    let twice =
        on_example(&home, &["context", "x", "--limits", "per_note_share=0.2,per_note_share=0.3"]);
    assert_eq!(twice.status.code(), Some(2));
}

#[test]
fn consecutive_words_form_one_name_if_one_is_expected() {
    let home = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = on_example(&home, args);
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    for command in ["get", "related", "resolve", "neighbors", "siblings", "context"] {
        let (apart, together) = (run(&[command, "Leap", "second"]), run(&[command, "Leap second"]));
        assert_eq!(apart.0, Some(0), "{command}: {}", apart.1);
        assert_eq!(apart, together, "{command}");
    }
    let quotes = "put a name of several words in quotes";
    for (args, code) in [
        (&["path", "Leap", "second", "Sundial"][..], 2),
        (&["path", "Leap", "second"], 3),
        (&["tree", "Leap", "secnd"], 3),
        (&["why-not", "Leap", "second", "clock"], 3),
        (&["delete", "Leap", "second"], 2),
    ] {
        let (exit, text) = run(args);
        assert_eq!(exit, Some(code), "{args:?}: {text}");
        assert!(text.contains(quotes), "{args:?}: {text}");
    }
    let (_, text) = run(&["tree", "secnd"]);
    assert!(!text.contains(quotes), "{text}");
}

/// Names and metadata of notes can neither begin a line of output nor change how it is shown.
#[cfg(unix)]
#[test]
fn no_line_of_output_is_forged_by_metadata() {
    let home = tempfile::tempdir().unwrap();
    // Nothing is stale or new, and whether the name in a text is a suggestion depends on the others.
    const SHOWS_NO_NAME: [&str; 5] = ["status", "stale", "diff", "doctor", "suggest-links"];
    const COMMANDS: [&[&str]; 36] = [
        &["list"],
        &["search", "word"],
        &["search", "word", "--explain"],
        &["get", "alias 0"],
        &["get", "alias 0#no\nFORGED"],
        &["resolve", "alias 1"],
        &["tree", "alias 0"],
        &["neighbors", "alias 2"],
        &["path", "alias 0", "alias 3"],
        &["related", "alias 0", "--body-links"],
        &["context", "word"],
        &["context", "--focus", "alias 1", "--rendering", "markdown"],
        &["context", "--focus", "alias 1", "--rendering", "xml"],
        &["context", "word", "--rendering", "json"],
        &["related", "alias 0", "--rendering", "markdown"],
        &["related", "alias 0", "--rendering", "xml"],
        &["related", "alias 0", "--rendering", "json"],
        &["siblings", "alias 1"],
        &["status"],
        &["coverage"],
        &["why-not", "alias 1", "zzz"],
        &["export", "--format", "dot"],
        &["export", "--format", "graphml"],
        &["export", "--format", "json"],
        &["list", "--format", "json"],
        &["facets"],
        &["subgraph", "alias 0"],
        &["cycles", "--max-length", "20"],
        &["orphans"],
        &["unresolved"],
        &["duplicates"],
        &["suggest-links"],
        &["stale"],
        &["broken"],
        &["diff"],
        &["doctor"],
    ];
    for seed in 7..10 {
        let vault = tempfile::tempdir().unwrap();
        for (name, text) in forged_lines::notes(&mut Random::new(seed), 8) {
            std::fs::write(vault.path().join(name), text).unwrap();
        }
        let long: Vec<String> = (0..80).map(|n| format!("sentence{n}")).collect();
        let long = long.join(" ");
        for (name, text) in [
            (
                "lonely",
                "---\nsee: \"[[missing \\u0085FORGED]]\"\nread: \"[[alias 2#no \\u0085FORGED]]\"\n---\nhere",
            ),
            ("alone", "alias 3 is near"),
            ("copy 1", &*long),
            ("copy 2", &*long),
        ] {
            std::fs::write(vault.path().join(format!("{name} \u{85}FORGED.md")), text).unwrap();
        }
        let folder = vault.path().to_str().unwrap();
        for args in COMMANDS {
            let output = weft(home.path(), &[args, &["--vault", folder]].concat());
            for text in [&output.stdout, &output.stderr] {
                let text = String::from_utf8_lossy(text);
                assert_eq!(forged_lines::forged_lines(&text), [""; 0], "{seed} {args:?}: {text}");
            }
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(
                printed.contains("FORGED")
                    || SHOWS_NO_NAME.contains(&args[0])
                    || args.iter().any(|it| it.contains('#')),
                "{seed} {args:?}: {printed}"
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn suggested_command_quotes_the_name() {
    let home = tempfile::tempdir().unwrap();
    let vault = tempfile::tempdir().unwrap();
    std::fs::write(vault.path().join("-dash.md"), "dashing").unwrap();
    let folder = vault.path().to_str().unwrap();
    let found = weft(home.path(), &["search", "dashing", "--vault", folder]);
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.contains(" -- -dash\n"), "{found}");
    let suggested = found.lines().last().unwrap().rsplit_once("weft get ").unwrap().1;
    let output = Command::new("sh")
        .args(["-c", &format!("\"$0\" get {suggested}"), env!("CARGO_BIN_EXE_weft")])
        .env_clear()
        .env("HOME", home.path())
        .env("WEFT__EMBEDDING__MODEL", "none")
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("dashing"), "{suggested}");
}
