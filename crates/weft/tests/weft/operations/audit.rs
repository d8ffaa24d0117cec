//! The audit: every change and every refused request, without the tokens themselves.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::Value;

use super::{Running, command, free_port, run, text};

const READ: &str = "a-token-that-may-read-0123456789";
const WRITE: &str = "a-token-that-may-write-0123456789";
const WRONG: &str = "a-token-that-is-unknown-0123456789";

/// Password in the address that traces are sent to, where nothing listens.
const PASSWORD: &str = "hushhush";

#[test]
fn changes_and_refusals_are_audited_and_tokens_are_in_no_log() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name).display().to_string();
    let vault = home.path().join("vault");
    std::fs::create_dir(&vault).unwrap();
    std::fs::write(vault.join("stone.md"), "# Stone\nbasalt\n").unwrap();
    for (name, content) in [
        ("read", READ),
        ("write", WRITE),
        ("wrong", WRONG),
        ("source", "# Moss\n"),
        (
            "weft.toml",
            &format!(
                "[access]\nunauthenticated_health = false\n\
                [[access.tokens]]\nname = 'rag'\npermission = 'read'\nfile = 'read'\n\
                [[access.tokens]]\nname = 'owner'\npermission = 'write'\nfile = 'write'\n\
                [log]\nfilter = 'trace'\naudit = 'audit'\n\
                [trace]\nendpoint = 'http://me:{PASSWORD}@127.0.0.1:1/v1/traces'\nsample_ratio = 1.0\n"
            ),
        ),
    ] {
        std::fs::write(at(name), content).unwrap();
    }
    let address = format!("127.0.0.1:{}", free_port());
    let (vault, config, log) = (vault.display().to_string(), at("weft.toml"), at("log"));
    let arguments = ["serve", &vault, "--config", &config, "--addr", &address, "--socket", "none"];
    let mut serve = command(home.path(), &arguments);
    serve.stderr(std::fs::File::create(&log).unwrap());
    let mut daemon = Running(serve.spawn().unwrap());
    let ask = |token: Option<&str>, args: &[&str]| {
        let file = token.map(&at);
        let token: Vec<&str> =
            file.iter().flat_map(|file| ["--token-file", file.as_str()]).collect();
        let output = run(home.path(), &[args, &["--addr", &address], &token].concat());
        (output.status.success(), text(&output.stderr))
    };
    while !ask(Some("write"), &["status"]).0 {
        std::thread::sleep(Duration::from_millis(50));
    }
    let source = at("source");
    for (token, args, succeeds) in [
        (Some("write"), &["put", "moss.md", &source][..], true),
        (Some("write"), &["move", "moss", "fern.md"], true),
        (Some("write"), &["delete", "fern"], true),
        (Some("read"), &["search", "basalt"], true),
        (Some("read"), &["put", "ivy.md", &source], false),
        (Some("wrong"), &["search", "basalt"], false),
        (None, &["search", "basalt"], false),
    ] {
        let (succeeded, said) = ask(token, args);
        assert_eq!(succeeded, succeeds, "{token:?} {args:?}: {said}");
    }
    daemon.signal("-TERM");
    assert!(daemon.0.wait().unwrap().success());

    let audit = std::fs::read_to_string(at("audit")).unwrap();
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let part = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    let found: Vec<[String; 3]> = lines
        .iter()
        .filter(|line| line["call"].is_string())
        .map(|line| [part(line, "who"), part(line, "call"), part(line, "code")])
        .collect();
    let is_of = |line: &[String; 3], [who, call, code]: [&str; 3]| {
        line[0] == who && line[1].ends_with(call) && line[2] == code
    };
    for expected in [
        ["token:owner", "NoteService/PutNote", "OK"],
        ["token:owner", "NoteService/MoveNote", "OK"],
        ["token:owner", "NoteService/DeleteNote", "OK"],
        ["token:rag", "NoteService/PutNote", "PERMISSION_DENIED"],
        ["unknown token", "SearchService/Search", "UNAUTHENTICATED"],
        ["nobody", "SearchService/Search", "UNAUTHENTICATED"],
    ] {
        let n_found = found.iter().filter(|line| is_of(line, expected)).count();
        assert_eq!(n_found, 1, "{expected:?}: {audit}");
    }
    let is_read = |line: &[String; 3]| line[0] == "token:rag" && line[1].ends_with("Search");
    assert!(!found.iter().any(is_read), "reading is no change: {audit}");
    let ids: HashSet<String> = lines.iter().map(|line| part(line, "id")).collect();
    assert!(ids.len() >= found.len() && !ids.contains(""), "each request has its id: {audit}");

    let log = std::fs::read_to_string(&log).unwrap();
    assert!(log.contains("answered"), "the log is detailed: {log}");
    for secret in [READ, WRITE, WRONG, PASSWORD] {
        for (name, text) in [("log", &log), ("audit", &audit)] {
            assert_eq!(text.lines().find(|line| line.contains(secret)), None, "{name}");
        }
    }
}
