//! Graph commands on the command line: response shapes, records and rejected arguments.
#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use super::{example, weft};

/// Runs commands on the example vault, which is indexed once.
struct CommandLine(TempDir);

impl CommandLine {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn run(&self, args: &[&str]) -> Output {
        let vault = example();
        weft(self.0.path(), &[args, &["--vault", vault.to_str().unwrap()]].concat())
    }

    /// Returns the answer in the given format.
    fn text(&self, format: &str, args: &[&str]) -> String {
        let output = self.run(&[args, &["--format", format]].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the JSON object of an answer, and the names of its fields in order.
    fn object(&self, args: &[&str]) -> (Value, String) {
        let text = self.text("json", args);
        let answer: Value = serde_json::from_str(&text).unwrap();
        let mut keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
        keys.sort_by_key(|key| text.find(&format!("\"{key}\":")));
        let keys = keys.into_iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        (answer, keys)
    }
}

#[test]
fn responses_have_the_documented_shapes() {
    let cli = CommandLine::new();
    let (tree, keys) = cli.object(&["tree", "Leap second", "--max-hops", "1"]);
    assert_eq!(
        keys,
        "root roots direction max_hops truncated truncated_by nodes edges spanning_tree \
         unresolved unresolved_truncated inverse_names generation warnings"
    );
    assert_eq!(tree["root"], "Agreed Time/Leap second");
    assert_eq!((&tree["direction"], &tree["max_hops"]), (&"both".into(), &1.into()));
    assert_eq!(
        (&tree["truncated"], &tree["truncated_by"]),
        (&true.into(), &vec!["max_hops"].into())
    );
    for (list, expected) in [
        ("nodes", "hop id path summary tags title type"),
        ("edges", "from source to type"),
        ("spanning_tree", "from hop to"),
    ] {
        let fields: Vec<&String> = tree[list][0].as_object().unwrap().keys().collect();
        assert_eq!(fields.iter().map(|key| key.as_str()).collect::<Vec<_>>().join(" "), expected);
    }
    assert_eq!(tree["nodes"][0]["hop"], 0);

    let (path, keys) = cli.object(&["path", "Leap second", "Pendulum", "--direction", "out"]);
    assert_eq!(
        keys,
        "from to direction max_hops found length cost nodes edges truncated inverse_names generation warnings"
    );
    let length = path["length"].as_u64().unwrap();
    assert_eq!(path["found"], true);
    assert_eq!(path["nodes"].as_array().unwrap().len() as u64, length + 1);
    assert_eq!((&path["nodes"][0]["hop"], &path["cost"]), (&0.into(), &Value::Null));

    let (around, keys) = cli.object(&["neighbors", "Leap second", "--typed-only"]);
    assert_eq!(
        keys,
        "root title direction degrees nodes truncated inverse_names generation warnings"
    );
    let edges = around["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|node| node["edges"].as_array().unwrap());
    assert!(edges.into_iter().all(|edge| edge["source"] == "typed"));

    let (among, keys) = cli.object(&["subgraph", "Leap second", "Second", "--tag", "units"]);
    assert_eq!(keys, "nodes edges truncated truncated_by generation warnings");
    assert_eq!(among["nodes"][0]["hop"], Value::Null);
    let (cycles, keys) = cli.object(&["cycles", "--max-length", "2", "--max-cycles", "3"]);
    assert_eq!(keys, "cycles truncated generation warnings");
    assert!(
        cycles["cycles"].as_array().unwrap().iter().all(|cycle| cycle["nodes"]
            .as_array()
            .unwrap()
            .len()
            <= 2)
    );
    let (_, keys) = cli.object(&["orphans", "--direction", "in"]);
    assert_eq!(keys, "notes next_page_token total generation warnings");
    let (_, keys) = cli.object(&["unresolved"]);
    assert_eq!(keys, "unresolved next_page_token total target_count generation warnings");
}

#[test]
fn zero_hops_returns_the_roots() {
    let (tree, _) =
        CommandLine::new().object(&["tree", "Leap second", "Second", "--max-hops", "0"]);
    assert_eq!((tree["nodes"].as_array().unwrap().len(), &tree["max_hops"]), (2, &0.into()));
    assert_eq!((&tree["edges"], &tree["truncated"]), (&Value::Array(Vec::new()), &true.into()));
}

#[test]
fn tree_is_drawn_with_guide_lines() {
    let drawn = CommandLine::new()
        .text("human", &["tree", "Leap second", "--max-hops", "1", "--inverse-names"]);
    let lines: Vec<&str> = drawn.lines().collect();
    assert_eq!(lines[0], "Leap second");
    assert!(lines[1].starts_with("├── "), "{drawn}");
    assert!(lines.iter().any(|line| line.starts_with("├── contradicted-by → ")), "{drawn}");
    assert!(lines.iter().any(|line| line.starts_with("└── ")), "{drawn}");
    assert!(lines.iter().any(|line| line.ends_with(" (seen)")), "{drawn}");
    assert!(drawn.contains("raise --max-hops"), "{drawn}");
}

#[test]
fn records_respect_max_chars() {
    let ask = ["tree", "Leap second", "Second", "--max-hops", "1", "--summaries"];
    let cli = CommandLine::new();
    let whole = cli.text("records", &ask);
    let head = "H weft=1 records=1 mode=tree root=\"Agreed Time/Leap second\" root=\"second\" direction=both max_hops=1 truncated=true\n";
    assert!(whole.starts_with(head), "{whole}");
    for (kind, least) in [("N ", 2), ("S ", 2), ("E ", 2)] {
        assert!(whole.lines().filter(|line| line.starts_with(kind)).count() >= least, "{whole}");
    }
    let cut = cli.text("records", &[&ask[..], &["--max-chars", "300"]].concat());
    assert!(cut.chars().count() <= 300 && cut.ends_with('\n'), "{cut}");
    assert!(whole.starts_with(&cut), "the header already reports the truncation");
    let none = cli.text("records", &[&ask[..], &["--max-chars", "0"]].concat());
    assert_eq!(none, "");

    let path = cli.text("records", &["path", "Leap second", "Second"]);
    let head = "H weft=1 records=1 mode=path from=\"Agreed Time/Leap second\" to=\"second\" direction=both max_hops=10 found=true length=1 truncated=false\n";
    assert!(path.starts_with(head), "{path}");
    assert_eq!(path.lines().count(), 4, "{path}");

    let asked = "--max-nodes 2 --types related,Follows --hierarchy --tag time --where order>=0";
    let asked: Vec<&str> = asked.split(' ').collect();
    let tree = cli.text("records", &[&["tree", "Second"], &asked[..]].concat());
    let head = "H weft=1 records=1 mode=tree root=\"second\" direction=both max_hops=3 max_nodes=2 type=\"related\" type=\"Follows\" hierarchy=true tag=\"time\" where=\"order>=0\" truncated=";
    assert!(tree.starts_with(head), "{tree}");
    let asked = ["--cheapest", "--inline-cost", "5", "--within", "Second:2"];
    let path = cli.text("records", &[&["path", "Leap second", "Second"], &asked[..]].concat());
    assert!(
        path.contains(" max_hops=10 cheapest=true inline_cost=5 within=\"Second:2\" found="),
        "{path}"
    );
}

#[test]
fn invalid_walks_are_rejected() {
    let cli = CommandLine::new();
    for (args, code, reason) in [
        (&["tree"][..], 2, "NOTE"),
        (&["tree", "Leap second", "--typed-only", "--inline-only"], 2, "--inline-only"),
        (&["tree", "Leap second", "--max-nodes", "0"], 2, "`--max-nodes`: "),
        (&["tree", "Leap second", "--max-hops=-1"], 2, "--max-hops"),
        (&["tree", "Leap second", "--direction", "up"], 2, "out"),
        (&["tree", "Leap second", "--max-chars", "9"], 2, "--format records"),
        (&["tree", "Leap second", "--types", ""], 2, "--types"),
        (
            &["tree", "Leap second", "--exclude-types", "related, "],
            2,
            "a link type must not be empty",
        ),
        (&["tree", "Leap secnd"], 3, "did you mean"),
        (&["path", "Leap second", "Leap secnd"], 3, "did you mean"),
        (&["path", "Leap second", "Second", "--inline-cost", "1"], 2, "--cheapest"),
        (&["neighbors", "Leap second", "--format", "records"], 2, "tree"),
        (&["list", "--format", "records"], 2, "tree"),
        (&["tree", "Leap second", "--format", "dot"], 2, "export"),
        (&["subgraph"], 2, "`NOTE`: "),
        (&["cycles", "--max-length", "0"], 2, "`--max-length`: "),
        (&["unresolved", "--page-token", "x"], 2, "`--page-token`: "),
        (&["orphans", "--limit", "0"], 2, "`--limit`: "),
        (&["list", "--after", "yesterday"], 2, "`--after`: `yesterday` is not a date"),
        (&["context", "--walk", "Second", "--max-nodes", "0"], 2, "`--max-nodes`: "),
        (&["why-not", "Second", "time", "--limit", "0"], 2, "`--limit`: "),
    ] {
        let output = cli.run(args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(reason), "{args:?}: {error}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn filter_value_without_matches_is_reported_by_every_command() {
    let cli = CommandLine::new();
    let slip = "warning: no note has the tag `instrumnt`";
    for args in [
        &["search", "clock"][..],
        &["context", "clock"],
        &["list"],
        &["orphans"],
        &["unresolved"],
        &["related", "Pendulum"],
        &["tree", "Pendulum"],
        &["path", "Pendulum", "Sundial"],
        &["neighbors", "Pendulum"],
        &["siblings", "Pendulum"],
        &["subgraph"],
        &["cycles"],
        &["export"],
    ] {
        let output = cli.run(&[args, &["--tag", "instrumnt"]].concat());
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8(told).unwrap();
        assert_eq!(told.matches(slip).count(), 1, "{args:?}: {told}");
    }
    for args in [
        &["context", "--walk", "Pendulum"][..],
        &["context", "clock", "--walk", "Pendulum"],
        &["tree", "Pendulum"],
        &["tree", "Pendulum", "--format", "records"],
        &["path", "Pendulum", "Sundial"],
        &["neighbors", "Pendulum"],
        &["subgraph", "Pendulum"],
        &["cycles"],
    ] {
        let output = cli.run(&[args, &["--types", "related, suports"]].concat());
        let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let slip = "warning: no link has the type `suports`";
        assert_eq!(told.matches(slip).count(), 1, "{args:?}: {told}");
        assert!(!told.contains("` related`") && !told.contains("`related`"), "{args:?}: {told}");
    }
    let output = cli.run(&["tree", "Pendulum", "--path", "Instruments"]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("warning:"));
}
