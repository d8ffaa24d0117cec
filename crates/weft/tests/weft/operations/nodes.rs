//! Daemons that serve one collection of PostgreSQL.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use weft_testkit::Postgres;

use super::{example, free_port, run, text};

/// A daemon in the background, stopped at the end of the test.
struct DetachedNode {
    home: PathBuf,
    address: String,
    /// Process id, as the command that started it prints it.
    process: String,
}

impl DetachedNode {
    fn start(home: PathBuf, collection: &[&str]) -> Self {
        std::fs::create_dir_all(&home).expect("a folder");
        let address = format!("127.0.0.1:{}", free_port());
        let serve = ["serve", "--addr", &address, "--detach"];
        let started = run(&home, &[&serve, collection].concat());
        let said = text(&started.stderr);
        assert!(started.status.success(), "{said}");
        let process = said.split("(process ").nth(1).and_then(|rest| rest.split([',', ')']).next());
        let process = process.expect("the id of the process").to_owned();
        Self { home, address, process }
    }

    fn json(&self, args: &[&str]) -> Value {
        let output =
            run(&self.home, &[args, &["--addr", &self.address, "--format", "json"]].concat());
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Ends the process as a power cut would.
    fn kill(&self) {
        self.signal("-9");
    }

    fn signal(&self, signal: &str) {
        let sent = std::process::Command::new("kill").args([signal, &self.process]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal} {}", self.process);
    }
}

impl Drop for DetachedNode {
    fn drop(&mut self) {
        run(&self.home, &["stop", "--addr", &self.address]);
    }
}

#[test]
fn nodes_of_a_collection_answer_and_write_alike() {
    let Some(mut server) = Postgres::start() else { return };
    let (home, dsn) = (tempfile::tempdir().unwrap(), server.dsn_file());
    let collection = ["--collection", "team", "--postgres", dsn.to_str().unwrap()];
    let (example, pulled) = (example(), home.path().join("pulled"));
    let on_collection = |args: &[&str], code: i32| {
        let output = run(home.path(), &[args, &collection, &["--format", "json"]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(!said.contains("user=postgres"), "{said}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default()
    };
    on_collection(&["cluster", "status"], 2);
    on_collection(&["cluster", "init"], 0);
    let folder = example.to_str().unwrap();
    let pushed = on_collection(&["push", folder, "--name", "notes"], 0);
    let n_notes = pushed["written"].as_u64().unwrap();
    assert!(n_notes > 5, "{pushed}");
    assert_eq!(on_collection(&["push", folder, "--name", "notes"], 0)["unchanged"], n_notes);

    let start = |name: &str| {
        let id = format!("cluster.node={name}");
        let arguments =
            [&collection[..], &["--set", &id, "--set", "cluster.max_lag_ms=1000"]].concat();
        DetachedNode::start(home.path().join(name), &arguments)
    };
    let mut nodes = ["a", "b", "c"].map(start);
    let source = home.path().join("source.txt");
    std::fs::write(&source, "# Tide table\nSee [[Leap second]] and quartz.\n").unwrap();
    let put = nodes[0].json(&["put", "tide.md", source.to_str().unwrap(), "--new"]);
    let generation = put["generation"].to_string();
    for query in ["quartz", "leap second", "tide table"] {
        let search = ["search", query, "--min-generation", &generation];
        let hits = nodes.each_ref().map(|node| node.json(&search)["hits"].clone());
        assert!(hits[0].as_array().is_some_and(|hits| !hits.is_empty()), "{query}: {hits:?}");
        assert!(hits[0] == hits[1] && hits[1] == hits[2], "{query}: {hits:?}");
    }
    // The note that links to it is on another node's last write.
    let moved = nodes[1].json(&["move", "Leap second", "moved/leap.md", "--rewrite-links"]);
    let generation = moved["generation"].to_string();
    let tide = nodes[2].json(&["get", "tide", "--min-generation", &generation]);
    assert!(tide["body"].as_str().unwrap().contains("leap"), "{tide}");

    // A killed node continues with the index it has, and catches up.
    nodes[1].kill();
    let put = nodes[0].json(&["put", "after.md", source.to_str().unwrap(), "--new"]);
    nodes[1] = start("b");
    let search = ["search", "tide", "--min-generation", &put["generation"].to_string()];
    let hits = nodes.each_ref().map(|node| node.json(&search)["hits"].clone());
    assert!(hits[0].to_string().contains("after"), "{hits:?}");
    assert!(hits[0] == hits[1] && hits[1] == hits[2], "{hits:?}");

    let end = Instant::now() + Duration::from_secs(60);
    let ids = loop {
        let listed = on_collection(&["cluster", "nodes"], 0);
        let ids =
            listed.as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap().to_owned());
        let ids: Vec<String> = ids.collect();
        if ids.len() == 3 {
            break ids;
        }
        assert!(Instant::now() < end, "{listed}");
    };
    assert_eq!(ids, ["a", "b", "c"]);
    on_collection(&["pull", pulled.to_str().unwrap(), "--name", "notes"], 0);
    assert_eq!(tide["body"], std::fs::read_to_string(pulled.join("tide.md")).unwrap());
    assert!(pulled.join("moved/leap.md").exists());
    on_collection(&["cluster", "verify"], 0);
    // A node with other settings would answer in another way.
    let set = ["serve", "--addr", "127.0.0.1:0", "--set", "search.snippets=1"];
    let other = run(&home.path().join("d"), &[&set[..], &collection].concat());
    let said = text(&other.stderr);
    assert!(!other.status.success() && said.contains("search.snippets"), "{said}");

    // Without the database, a node serves what it has and says how old that is.
    let lags = || nodes[2].json(&["search", "tide"])["warnings"].to_string().contains("node_lags");
    assert!(!lags());
    server.kill();
    let end = Instant::now() + Duration::from_secs(60);
    while !lags() {
        assert!(Instant::now() < end, "no warning");
    }
    let notices = nodes[2].json(&["status"])["notices"].to_string();
    assert!(notices.contains("has not reached PostgreSQL"), "{notices}");
    server.resume();
    while lags() {
        assert!(Instant::now() < end, "the warning remains");
    }

    // A node that gets SIGTERM leaves the list of nodes; one that is killed stays until it is dropped.
    let ids = || {
        let listed = on_collection(&["cluster", "nodes"], 0);
        let ids = listed.as_array().unwrap().iter();
        ids.map(|node| node["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    nodes[0].signal("-TERM");
    nodes[1].kill();
    let end = Instant::now() + Duration::from_secs(60);
    while ids() != ["b", "c"] {
        assert!(Instant::now() < end, "{:?}", ids());
    }
    drop(nodes);
    assert_eq!(ids(), ["b"]);
    on_collection(&["cluster", "drop-node", "b"], 0);
    let status = on_collection(&["cluster", "status"], 0);
    assert_eq!((&status["floor"], &status["removed_version_count"]), (&0.into(), &0.into()));
    on_collection(&["cluster", "erase", "--confirm", "other"], 2);
    on_collection(&["cluster", "erase", "--confirm", "team"], 0);
    on_collection(&["cluster", "status"], 2);
}
