//! `weft mcp` as started by an agent: a client of the official SDK on its standard streams.

use std::path::Path;
use std::process::Stdio;

use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequestParams, CallToolResult, ClientConfig};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::example;

fn start(home: &Path, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_weft"))
        .arg("mcp")
        .args(args)
        .env_clear()
        .env("HOME", home)
        .env("WEFT__EMBEDDING__MODEL", "none")
        .env("WEFT__SERVER__ADDRESS", "127.0.0.1:1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("the binary was built for this test")
}

type Failure = Box<dyn std::error::Error>;

/// Starts `weft mcp`, searches until `enough` returns true, and ends it by closing its input.
async fn search(
    args: &[&str],
    enough: impl Fn(&CallToolResult) -> bool,
) -> Result<CallToolResult, Failure> {
    let home = TempDir::new()?;
    let mut weft = start(home.path(), args);
    let streams = weft.stdout.take().zip(weft.stdin.take()).ok_or("the process has no streams")?;
    let client = ClientConfig::default().serve(streams).await?;
    let about = client.peer_info().and_then(|peer| peer.server_info.clone());
    assert_eq!(about.map(|about| about.name).as_deref(), Some("weft"));
    let result = loop {
        let mut asked = CallToolRequestParams::new("search");
        asked.arguments = json!({"query": "leap second"}).as_object().cloned();
        let result = client.call_tool(asked).await?;
        if enough(&result) {
            break result;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    client.cancel().await?;
    assert!(weft.wait().await?.success(), "the process ends when its input is closed");
    Ok(result)
}

#[tokio::test]
async fn vault_is_searched_without_a_daemon() {
    let example = example();
    let result = search(&["--vault", example.to_str().unwrap()], |_| true).await.unwrap();
    let answer = result.structured_content.unwrap();
    assert_eq!(answer["notes"][0]["title"], "Leap second", "{answer}");
}

#[tokio::test]
async fn vault_is_watched_during_the_session() {
    let vault = TempDir::new().unwrap();
    let path = vault.path().to_owned();
    let args = ["--vault", path.to_str().unwrap()];
    // The note appears after the first answer.
    let result = search(&args, |result| {
        let found = result.structured_content.as_ref().unwrap()["notes"] != json!([]);
        if !found {
            std::fs::write(path.join("late.md"), "A leap second was added.").unwrap();
        }
        found
    });
    assert_eq!(result.await.unwrap().structured_content.unwrap()["notes"][0]["note"], "late");
}

/// Regression test: the session kept using the daemon that ran at its start.
#[tokio::test]
async fn vault_is_opened_when_its_daemon_has_stopped() {
    let home = TempDir::new().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let example = example();
    let vault = example.to_str().unwrap();
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_weft"));
        command.args(args).args(["--addr", &address]).env_clear().env("HOME", home.path());
        command.env("WEFT__EMBEDDING__MODEL", "none").output().unwrap()
    };
    for ending in ["the daemon is stopped", "the daemon is restarted and stopped again"] {
        let started = run(&["serve", vault, "--detach"]);
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        let mut weft = start(home.path(), &["--vault", vault]);
        let streams = weft.stdout.take().zip(weft.stdin.take()).unwrap();
        let client = ClientConfig::default().serve(streams).await.unwrap();
        for stopped in [false, true] {
            if stopped {
                assert!(run(&["stop"]).status.success());
            }
            let mut asked = CallToolRequestParams::new("search");
            asked.arguments = json!({"query": "leap second"}).as_object().cloned();
            let result = client.call_tool(asked).await.unwrap();
            let text = &result.content[0].as_text().unwrap().text;
            assert!(text.contains("Leap second"), "{ending}, {stopped}: {text}");
        }
        client.cancel().await.unwrap();
        assert!(weft.wait().await.unwrap().success());
    }
}

#[tokio::test]
async fn missing_daemon_is_reported_to_the_agent() {
    let result = search(&[], |_| true).await.unwrap();
    let text = result.content[0].as_text().unwrap().text.clone();
    assert_eq!(result.is_error, Some(true));
    assert!(text.contains("weft serve") && text.contains("127.0.0.1:1:"), "{text}");
}

/// Regression test: a session ended at an unknown method before its first request, and ignored lines that are not JSON.
#[tokio::test]
async fn protocol_errors_are_answered_and_the_session_continues() {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

    let home = TempDir::new().unwrap();
    let example = example();
    let mut weft = start(home.path(), &["--vault", example.to_str().unwrap()]);
    let mut input = weft.stdin.take().unwrap();
    let mut output = BufReader::new(weft.stdout.take().unwrap()).lines();
    let initialize = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    });
    let call = json!({
        "jsonrpc": "2.0",
        "id": 5,
        "method": "tools/call",
        "params": {"name": "list_notes", "arguments": {"limit": 1}},
    });
    for (line, id, code) in [
        ("{bad json".to_owned(), json!(null), Some(-32700)),
        (json!({"jsonrpc": "2.0", "id": 0, "method": "nope"}).to_string(), json!(0), Some(-32601)),
        (json!({"jsonrpc": "2.0", "method": "notifications/x"}).to_string(), json!(null), None),
        (initialize.to_string(), json!(1), None),
        (
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
            json!(null),
            None,
        ),
        ("{bad json".to_owned(), json!(null), Some(-32700)),
        (json!({"jsonrpc": "2.0", "id": 2, "method": "nope"}).to_string(), json!(2), Some(-32601)),
        (
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": [1]}).to_string(),
            json!(3),
            Some(-32602),
        ),
        (json!({"jsonrpc": "2.0", "id": 4, "method": "ping"}).to_string(), json!(4), None),
        (call.to_string(), json!(5), None),
    ] {
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        if id.is_null() && code.is_none() {
            continue;
        }
        let answer = output.next_line().await.unwrap().unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(
            (&answer["id"], answer["error"]["code"].as_i64()),
            (&id, code),
            "{line}: {answer}"
        );
    }
    drop(input);
    assert!(weft.wait().await.unwrap().success());
}

#[tokio::test]
async fn notes_are_written_only_with_the_flag() {
    let vault = TempDir::new().unwrap();
    std::fs::write(vault.path().join("a.md"), "# A\n").unwrap();
    for flag in [None, Some("--write")] {
        let home = TempDir::new().unwrap();
        let args: Vec<&str> =
            flag.into_iter().chain(["--vault", vault.path().to_str().unwrap()]).collect();
        let mut weft = start(home.path(), &args);
        let streams = weft.stdout.take().zip(weft.stdin.take()).unwrap();
        let client = ClientConfig::default().serve(streams).await.unwrap();
        let tools = client.list_all_tools().await.unwrap();
        assert_eq!(tools.iter().any(|tool| tool.name == "write_note"), flag.is_some());
        let write = async |arguments: serde_json::Value| {
            let mut asked = CallToolRequestParams::new("write_note");
            asked.arguments = arguments.as_object().cloned();
            client.call_tool(asked).await
        };
        let written = write(json!({"path": "new/b.md", "text": "# B\n"})).await;
        if flag.is_none() {
            assert!(written.is_err() && !vault.path().join("new").exists());
        } else {
            assert_eq!(written.unwrap().is_error, Some(false));
            let again = write(json!({"path": "new/b.md", "text": "other"})).await.unwrap();
            assert_eq!(again.is_error, Some(true), "an existing file is kept");
            let file = vault.path().join("new/b.md");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "# B\n");
            let mut asked = CallToolRequestParams::new("get_note");
            asked.arguments = json!({"note": "new/b"}).as_object().cloned();
            let read = client.call_tool(asked).await.unwrap().structured_content.unwrap();
            let replaced = json!({"path": "new/b.md", "text": "other", "hash": read["hash"]});
            assert_eq!(write(replaced.clone()).await.unwrap().is_error, Some(false));
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "other");
            std::fs::write(&file, "by hand").unwrap();
            let lost = write(replaced).await.unwrap();
            assert_eq!(lost.is_error, Some(true), "a change by another program is kept");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "by hand");
            let outside = write(json!({"path": "../c.md", "text": "x"})).await.unwrap();
            assert_eq!(outside.is_error, Some(true));
        }
        client.cancel().await.unwrap();
        assert!(weft.wait().await.unwrap().success());
    }
}
