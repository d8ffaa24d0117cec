//! Confinement: no request reaches a file outside a vault through a path.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use weft_tests::{Failure, TestDaemon, served};

use crate::descriptors::{Contract, FieldValues, ask};
use crate::web_page;

/// Content of a file outside the vault, which no response may contain.
const SECRET: &str = "outside-and-nobody's-business";

/// Sets the same text in every text field.
struct SameText<'t> {
    text: &'t [u8],
    /// Value of the number fields, which selects the fields of a `oneof`.
    number: u64,
}

impl FieldValues for SameText<'_> {
    fn n_values(&mut self, name: &str, _: bool) -> usize {
        // Query the newest generation.
        usize::from(!matches!(name, "min_generation" | "as_of"))
    }

    fn number(&mut self) -> u64 {
        self.number
    }

    fn choice(&mut self, n: u64) -> u64 {
        self.number.min(n.saturating_sub(1))
    }

    fn double(&mut self) -> f64 {
        1.0
    }

    fn text(&mut self, name: &str) -> Vec<u8> {
        match name {
            // Writes need a text, and no precondition.
            "text" => b"# Written".to_vec(),
            "vault" | "body" | "expected_hash" | "page_token" | "resume_token" => Vec::new(),
            _ => self.text.to_vec(),
        }
    }
}

/// Returns calls of the MCP tools with `text` in every argument for a name or a path.
fn tool_calls(text: &str) -> [(&'static str, Value); 7] {
    [
        ("search", json!({"query": "secret", "filter": {"paths": [text]}})),
        ("search", json!({"query": text})),
        ("context", json!({"around": text})),
        ("get_note", json!({"note": text})),
        ("related", json!({"note": text})),
        ("tree", json!({"notes": [text]})),
        ("path", json!({"from": text, "to": text})),
    ]
}

/// Returns the results of the MCP tools for `text`, by tool.
async fn tools(daemon: &TestDaemon, text: &str) -> Result<Vec<(&'static str, String)>, Failure> {
    let host = format!("host: {}", daemon.host());
    let kinds = ["content-type: application/json", "accept: application/json, text/event-stream"];
    let headers = [&[host.as_str()], &kinds[..]].concat();
    let mut answers = Vec::new();
    for (tool, arguments) in tool_calls(text) {
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let body = call.to_string();
        let answer = web_page::ask(daemon, "POST /mcp HTTP/1.1", &headers, body.as_bytes()).await?;
        answers.push((tool, answer));
    }
    Ok(answers)
}

/// Returns the files below a folder with their contents.
fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.display().to_string(), std::fs::read(&path)?);
            }
        }
    }
    Ok(found)
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn no_request_reaches_outside_the_vault() -> Result<(), Failure> {
    let home = tempfile::tempdir()?;
    let (vault, outside) = (home.path().join("vault"), home.path().join("outside"));
    std::fs::create_dir_all(&vault)?;
    std::fs::create_dir_all(&outside)?;
    std::fs::write(vault.join("fern.md"), "# Fern\nsee [[../outside/secret]] and ![[link]]\n")?;
    std::fs::write(outside.join("secret.md"), format!("# Secret\n{SECRET}\n"))?;
    std::os::unix::fs::symlink(outside.join("secret.md"), vault.join("link.md"))?;
    std::os::unix::fs::symlink(&outside, vault.join("folder"))?;
    let daemon = TestDaemon::start(&vault, &[("embedding.model", "none")]).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    let before = files(&outside)?;

    let absolute = outside.join("secret.md").display().to_string();
    let file_url = format!("file://{absolute}");
    let tricks = [
        // Not a trick: shows that requests get as far as their paths.
        "fern",
        "../outside/secret.md",
        "../outside/new.md",
        "fern/../../outside/secret.md",
        "./../outside/new.md",
        "folder/secret.md",
        "folder/new.md",
        "link.md",
        absolute.as_str(),
        file_url.as_str(),
        "vault:../outside/secret",
        "[[../outside/secret]]",
        "..\\outside\\secret.md",
        "..\\outside\\new.md",
        "C:\\outside\\secret.md",
        "\\\\?\\C:\\secret.md",
        "%2e%2e/outside/secret.md",
        "..%2foutside%2fnew.md",
        "..%252foutside%252fsecret.md",
        "../outside/secret.md\0.md",
        "\0../outside/new.md",
        "..\u{2215}outside\u{2215}secret.md",
        "..\u{ff0f}outside\u{ff0f}new.md",
        "\u{2025}/outside/secret.md",
        "\u{ff0e}\u{ff0e}/outside/new.md",
        "\u{202e}dm.terces/edistuo/..",
        "CON.md",
        "NUL.md",
        "~/secret.md",
        "$HOME/secret.md",
        ".git/new.md",
        "",
    ];
    let contract = Contract::read();
    let mut n_answered = Vec::new();
    for trick in tricks {
        let mut n_answers = 0;
        for call in &contract.calls {
            for number in [0, 1] {
                let mut make = SameText { text: trick.as_bytes(), number };
                let bytes = contract.message(&call.input, 2, &mut make);
                let answer = ask(&channel, call, bytes).await;
                n_answers += usize::from(answer.is_ok());
                for message in answer.unwrap_or_default() {
                    let reported = String::from_utf8_lossy(&message).contains(SECRET);
                    assert!(!reported, "{} reveals a file outside by `{trick}`", call.path);
                }
            }
        }
        n_answered.push(n_answers);
        for (tool, answer) in tools(&daemon, trick).await? {
            assert!(answer.starts_with("HTTP/1.1 200"), "{tool} of `{trick}`: {answer}");
            assert!(!answer.contains(SECRET), "{tool} reveals a file outside by `{trick}`");
            let understood = answer.contains("\"isError\":false");
            assert!(
                understood || trick != "fern",
                "{tool} fails before it resolves the path: {answer}"
            );
        }
        assert_eq!(files(&outside)?, before, "`{trick}` changed a file outside");
    }
    assert!(n_answered[0] > contract.calls.len() / 3, "by call: {n_answered:?}");
    let beside: Vec<_> = std::fs::read_dir(home.path())?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<Result<_, Failure>>()?;
    assert_eq!(beside.len(), 2, "no file was created beside the vault: {beside:?}");
    daemon.stop().await?;
    Ok(())
}
