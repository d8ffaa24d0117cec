//! Content of logs: no text of notes or queries at any level.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Running, command, free_port, run, text};

/// A word of a note, and one of a query.
const NOTE: &str = "galenatext";
const QUESTION: &str = "feldsparquery";

/// Tool calls that carry either word.
fn tool_calls() -> [Value; 3] {
    let call = |id: u32, tool: &str, arguments: Value| {
        let asked = json!({"name": tool, "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": asked})
    };
    [
        call(2, "get_note", json!({"note": "stone"})),
        call(3, "search", json!({"query": QUESTION})),
        call(4, "search", json!({"query": [QUESTION]})),
    ]
}

/// Calls tools over HTTP.
fn over_http(address: &str) -> std::io::Result<()> {
    for call in tool_calls() {
        let body = call.to_string();
        let mut stream = TcpStream::connect(address)?;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        assert!(text(&answer).contains("\"result\""), "{}", text(&answer));
    }
    Ok(())
}

/// Calls tools over standard streams and returns the content of standard error.
fn over_stdio(home: &Path, args: &[&str]) -> std::io::Result<String> {
    let mut command = command(home, &[&["mcp"], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let about = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let lines: String =
        [hello, ready].iter().chain(&tool_calls()).map(|line| format!("{line}\n")).collect();
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(lines.as_bytes())?;
    let mut answers = std::io::BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    // One to the greeting, and one to each call.
    for _ in 0..=tool_calls().len() {
        std::io::BufRead::read_line(&mut answers, &mut line)?;
    }
    assert!(line.contains(NOTE), "{line}");
    drop(input);
    Ok(text(&child.wait_with_output()?.stderr))
}

#[test]
fn trace_logs_contain_no_text_of_notes_or_queries() {
    let home = tempfile::tempdir().unwrap();
    let vault = home.path().join("vault");
    std::fs::create_dir(&vault).unwrap();
    std::fs::write(vault.join("stone.md"), format!("# Stone\n{NOTE} {QUESTION}\n")).unwrap();
    let source = home.path().join("source");
    std::fs::write(&source, format!("{NOTE} again\n")).unwrap();
    let (vault, source) = (vault.to_str().unwrap(), source.to_str().unwrap());
    let address = format!("127.0.0.1:{}", free_port());
    for format in ["text", "json"] {
        let log = home.path().join(format);
        let format = format!("log.format={format}");
        let settings = ["--set", "log.filter=trace", "--set", &format];
        let arguments = [&["serve", vault, "--addr", &address], &settings[..]].concat();
        let mut command = command(home.path(), &arguments);
        command.stderr(std::fs::File::create(&log).unwrap());
        let daemon = Running(command.spawn().unwrap());
        let ask = |args: &[&str]| run(home.path(), &[args, &["--addr", &address]].concat());
        while !ask(&["flush"]).status.success() {
            std::thread::sleep(Duration::from_millis(50));
        }
        for request in [
            &["search", QUESTION][..],
            &["context", QUESTION],
            &["get", "stone"],
            &["why-not", "stone", QUESTION],
            &["put", "moss.md", source],
        ] {
            let output = ask(request);
            assert!(output.status.success(), "{request:?}: {}", text(&output.stderr));
        }
        over_http(&address).unwrap();
        let own =
            over_stdio(home.path(), &[&["--addr", &address], &settings[..]].concat()).unwrap();
        drop(daemon);

        let log = std::fs::read_to_string(&log).unwrap();
        assert!(log.contains("weft_indexer") && log.contains("/mcp"), "the log is detailed: {log}");
        if format.ends_with("json") {
            let is_object = |line: &&str| serde_json::from_str::<Map<String, Value>>(line).is_ok();
            assert_eq!(
                log.lines().find(|line| !is_object(line)),
                None,
                "every line is a JSON object"
            );
        }
        for (name, log) in [("the daemon's", &log), ("that of `weft mcp`", &own)] {
            for word in [NOTE, QUESTION] {
                let line = log.lines().find(|line| line.contains(word));
                assert_eq!(line, None, "{name}, as {format}");
            }
        }
    }
}
