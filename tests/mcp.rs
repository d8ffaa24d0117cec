//! The MCP tools as agents see them: a client of the official SDK over a real socket.

use rmcp::model::{CallToolRequestParams, CallToolResult, ClientConfig};
use rmcp::service::RunningService;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, UnixSocketHttpClient};
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};
use weft_testkit::{Random, forged_lines};
use weft_tests::{Failure, TestDaemon, example};

use crate::web_page::ask;
use crate::{NO_MODEL, serving};

type Client = RunningService<RoleClient, ClientConfig>;

async fn connect(daemon: &TestDaemon) -> Result<Client, Failure> {
    let uri = "http://localhost/mcp";
    let socket = UnixSocketHttpClient::new(&daemon.socket.to_string_lossy(), uri);
    let config = StreamableHttpClientTransportConfig::with_uri(uri);
    let transport = StreamableHttpClientTransport::with_client(socket, config);
    Ok(ClientConfig::default().serve(transport).await?)
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Result<CallToolResult, Failure> {
    let mut sent_request = CallToolRequestParams::new(tool.to_owned());
    sent_request.arguments = arguments.as_object().cloned();
    Ok(client.call_tool(sent_request).await?)
}

/// Returns the text of a result.
fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|content| content.as_text());
    texts.map(|text| text.text.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_return_text_and_structured_content() -> Result<(), Failure> {
    let (daemon, _) = serving(NO_MODEL).await?;
    let client = connect(&daemon).await?;
    let tools = client.list_all_tools().await?;
    assert_eq!(tools.len(), 7);
    for (tool, arguments, message, structured) in [
        (
            "search",
            json!({"query": "leap second", "limit": 3}),
            "Leap second (`",
            "/notes/0/passages/0/text",
        ),
        (
            "context",
            json!({"query": "leap second", "budget": 500}),
            "of 500 tokens",
            "/notes/0/mode",
        ),
        ("context", json!({"around": "Leap second"}), "Leap second", "/text"),
        (
            "get_note",
            json!({"note": "Leap second"}),
            "Path: Agreed Time/Leap second.md",
            "/backlinks/0/note",
        ),
        (
            "list_notes",
            json!({"filter": {"paths": ["Agreed Time"]}, "limit": 2}),
            "`page` = `",
            "/notes/1/path",
        ),
        (
            "related",
            json!({"note": "Leap second", "budget": 800}),
            "of 800 tokens",
            "/notes/0/relation",
        ),
        (
            "tree",
            json!({"notes": ["Leap second"], "max_hops": 1}),
            "- Leap second (`",
            "/notes/1/through/link",
        ),
        (
            "path",
            json!({"from": "Leap second", "to": "Sundial"}),
            "Leap second (`",
            "/notes/1/note",
        ),
    ] {
        let result = call(&client, tool, arguments).await?;
        let text = text(&result);
        assert_eq!(result.is_error, Some(false), "{tool}: {text}");
        assert!(text.contains(message), "{tool}: {text}");
        let answer = result.structured_content.ok_or("no structured content")?;
        assert!(answer.pointer(structured).is_some(), "{tool}: {answer}");
        assert!(answer["generation"].as_u64() > Some(0), "{tool}: {answer}");
        // Clients check results against the schemas in the list of tools.
        let schema = tools
            .iter()
            .find(|listed| listed.name == tool)
            .and_then(|tool| tool.output_schema.clone());
        let required = schema.ok_or("no schema")?;
        for name in required["required"].as_array().into_iter().flatten() {
            assert!(answer.get(name.as_str().unwrap_or_default()).is_some(), "{tool} lacks {name}");
        }
    }
    client.cancel().await?;
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_are_resources_and_tasks_are_prompts() -> Result<(), Failure> {
    use rmcp::model::{GetPromptRequestParams, ReadResourceRequestParams, ResourceContents};
    let (daemon, _) = serving(NO_MODEL).await?;
    let client = connect(&daemon).await?;
    let resources = client.list_all_resources().await?;
    let leap = resources.iter().find(|resource| resource.name == "Agreed Time/Leap second");
    let leap = leap.ok_or("no resource for the note")?;
    assert_eq!(leap.uri, "noteweft://note/Agreed%20Time/Leap%20second");
    let templates = client.list_all_resource_templates().await?;
    let templates: Vec<&str> = templates.iter().map(|it| it.uri_template.as_str()).collect();
    assert_eq!(templates, ["noteweft://note/{+uri}", "noteweft://context/{question}"]);
    let read = async |uri: &str| -> Result<String, Failure> {
        let result = client.read_resource(ReadResourceRequestParams::new(uri)).await?;
        match result.contents.into_iter().next() {
            Some(ResourceContents::TextResourceContents { text, mime_type, .. }) => {
                assert_eq!(mime_type.as_deref(), Some("text/markdown"));
                Ok(text)
            }
            _ => Err("no text".into()),
        }
    };
    let text = read(&leap.uri).await?;
    assert!(text.starts_with("<!-- Leap second (Agreed Time/Leap second.md) -->\n"), "{text}");
    let context = read("noteweft://context/leap%20second").await?;
    assert!(context.contains("Leap second"), "{context}");
    for (uri, message) in [
        ("noteweft://note/Leap%20secnd", "Agreed Time/Leap second"),
        ("noteweft://note/", "must name a note"),
        ("noteweft://note/%FF", "does not encode UTF-8"),
        ("file:///etc/passwd", "addresses begin with noteweft://note/"),
    ] {
        let error = read(uri).await.unwrap_err().to_string();
        assert!(error.contains(message), "{uri}: {error}");
    }
    let prompts = client.list_all_prompts().await?;
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(names, ["answer_from_notes", "around_note", "weekly_review"]);
    let arguments = json!({"note": "Leap second"}).as_object().cloned().unwrap_or_default();
    let request = GetPromptRequestParams::new("around_note").with_arguments(arguments);
    let result = client.get_prompt(request).await?;
    let text = result.messages[0].content.as_text().ok_or("a text")?;
    assert!(text.text.contains("my note Leap second."), "{}", text.text);
    client.cancel().await?;
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_write_only_where_settings_and_token_allow_it() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let vault = folder.path().join("notes");
    std::fs::create_dir(&vault)?;
    std::fs::write(vault.join("a.md"), "---\ncolor: red\n---\n# A\n")?;
    let token = |name: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, format!("a-token-that-may-{name}-0123456789"))?;
        let file = file.display();
        Ok::<_, Failure>(format!("{{name = '{name}', permission = '{name}', file = '{file}'}}"))
    };
    let tokens = format!("[{}, {}]", token("read")?, token("write")?);
    for allowed in ["false", "true"] {
        let settings = [
            ("embedding.model", "none"),
            ("access.tokens", tokens.as_str()),
            ("access.mcp_write", allowed),
        ];
        let daemon = TestDaemon::start(&vault, &settings).await?;
        weft_tests::served(&daemon.socket_channel().await?).await?;
        let write = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {
                "name": "write_note",
                "arguments": {"path": format!("{allowed}.md"), "text": "# Written\n"},
            },
        });
        for (path, token, expected) in [
            ("/mcp", "read", "unknown tool `write_note`"),
            ("/mcp", "write", "unknown tool `write_note`"),
            ("/mcp/write", "none", "HTTP/1.1 401"),
            ("/mcp/write", "read", "HTTP/1.1 403"),
            (
                "/mcp/write",
                "write",
                if allowed == "true" { "Created true.md" } else { "HTTP/1.1 404" },
            ),
        ] {
            let host = format!("host: {}", daemon.host());
            let right = format!("authorization: Bearer a-token-that-may-{token}-0123456789");
            let headers = [
                host.as_str(),
                right.as_str(),
                "content-type: application/json",
                "accept: application/json, text/event-stream",
            ];
            let first = format!("POST {path} HTTP/1.1");
            let answer = ask(&daemon, &first, &headers, write.to_string().as_bytes()).await?;
            assert!(answer.contains(expected), "{path} {token} {allowed}: {answer}");
        }
        let written = daemon.text(&vault, &format!("{allowed}.md"));
        assert_eq!(written.ok().as_deref(), (allowed == "true").then_some("# Written\n"));
        daemon.stop().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_state_what_to_do() -> Result<(), Failure> {
    let (daemon, _) = serving(NO_MODEL).await?;
    let client = connect(&daemon).await?;
    for (tool, arguments, message) in [
        ("get_note", json!({"note": "Leap secnd"}), "Call again with one of these"),
        (
            "get_note",
            json!({"note": "Leap second", "budget": 50}),
            "`budget`: 50 is not a whole number from 100 to 20000",
        ),
        ("search", json!({"query": " "}), "`query`: must not be empty"),
        ("search", json!({"query": "x", "limt": 3}), "unknown field `limt`"),
        ("search", json!({"query": "x", "filter": {"after": "yesterday"}}), "filter.after"),
        ("search", json!({}), "missing field `query`"),
        ("tree", json!({"notes": []}), "`notes`: 0 items, but at least 1 required"),
        ("tree", json!({"notes": ["Sundial", "Sundail"]}), "Call again with one of these"),
        ("related", json!({"note": "Sundial", "resume": "x"}), "`resume`:"),
        ("list_notes", json!({"page": "x"}), "`page`:"),
        (
            "search",
            json!({"query": "x", "filter": "idea"}),
            "`filter`: invalid type: string \"idea\", expected an object, such as {\"tags\"",
        ),
        (
            "search",
            json!({"query": "x", "filter": {"tags": "idea"}}),
            "`filter.tags`: invalid type: string \"idea\", expected an array, such as [\"a\", \"b\"]",
        ),
        (
            "search",
            json!({"query": "x", "filter": {"within": ["a"]}}),
            "expected an object, such as {\"note\"",
        ),
        (
            "tree",
            json!({"notes": ["Sundial"], "links": ["related"]}),
            "expected an object, such as {\"types\"",
        ),
        (
            "list_notes",
            json!({"filter": {"within": [{"note": "Leap second", "hops": 0}]}}),
            "`filter.within[0].hops`: 0 is not a whole number from 1 to 20",
        ),
        ("list_notes", json!({"filter": {"linked_to": ["Leap secnd"]}}), "one of these"),
        ("context", json!({}), "call again"),
    ] {
        let result = call(&client, tool, arguments.clone()).await?;
        let text = text(&result);
        assert_eq!(result.is_error, Some(true), "{tool} {arguments}: {text}");
        assert!(text.contains(message), "{tool} {arguments}: {text}");
    }
    let unknown = call(&client, "delete_note", json!({})).await;
    assert!(unknown.is_err_and(|error| error.to_string().contains("unknown tool `delete_note`")));
    client.cancel().await?;
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn results_state_what_limited_them() -> Result<(), Failure> {
    let vault = tempfile::tempdir()?;
    let body = "word ".repeat(600);
    for (path, text) in [
        (
            "a.md",
            "---\nstatus: open\nsupports: '[[b]]'\ncontradicts: '[[b]]'\n---\n# Alpha\n\n## One\nfirst\n\n## Two\nsecond\n",
        ),
        ("b.md", "[[a]] and [[a]] again\n"),
        ("x/same.md", "one\n"),
        ("y/same.md", "other\n"),
        ("dup1.md", "# Twin\n"),
        ("dup2.md", "# Twin\n"),
        ("long.md", &*body),
    ] {
        let path = vault.path().join(path);
        std::fs::create_dir_all(path.parent().ok_or("a folder")?)?;
        std::fs::write(path, text)?;
    }
    let daemon = TestDaemon::start(vault.path(), NO_MODEL).await?;
    weft_tests::served(&daemon.socket_channel().await?).await?;
    let client = connect(&daemon).await?;
    for (tool, arguments, message) in [
        ("get_note", json!({"note": "a"}), "Frontmatter: {\"contradicts\""),
        ("get_note", json!({"note": "Alpha"}), "`b` (related)\n"),
        ("get_note", json!({"note": "a#two"}), "## Two\nsecond"),
        (
            "get_note",
            json!({"note": "a#Alpha#One"}),
            "first\n\n```\nCharacters 9 to 23 of 37; end of this part.",
        ),
        ("get_note", json!({"note": "Twin"}), "Other notes with this name: Twin (`dup2`)"),
        ("tree", json!({"notes": ["Twin"]}), "`Twin` is ambiguous"),
        ("related", json!({"note": "Twin"}), "`Twin` is ambiguous"),
        ("context", json!({"around": "Twin"}), "`dup1` was used, not `dup2`"),
        ("get_note", json!({"note": "same"}), "Other notes with this name: same (`y/same`)"),
        ("tree", json!({"notes": ["a"]}), "Other links between these notes:"),
        (
            "tree",
            json!({"notes": ["a"], "filter": {"tags": ["none"]}}),
            "no note has the tag `none`",
        ),
        ("path", json!({"from": "a", "to": "b", "filter": {"paths": ["no/**"]}}), "`no/**`"),
        ("path", json!({"from": "a", "to": "b", "links": {"types": ["suports"]}}), "`links`"),
        (
            "tree",
            json!({"notes": ["a"], "links": {"types": ["suports"]}}),
            "no link has the type `suports`; similar types: `supports`",
        ),
        ("path", json!({"from": "a", "to": "b", "links": {"types": ["x"]}}), "the type `x`"),
        (
            "related",
            json!({"note": "a", "filter": {"tags": null, "types": ["none"]}}),
            "type `none`",
        ),
        (
            "list_notes",
            json!({"filter": {"linked_to": ["a"]}}),
            "- b (`b`), b.md\n1 note in total.",
        ),
        (
            "list_notes",
            json!({"filter": {"linked_from": ["a"], "tags": ["none"]}}),
            "no note has the tag",
        ),
        ("list_notes", json!({"filter": {"paths": ["x", "y"]}}), "2 notes in total."),
        (
            "search",
            json!({"query": "word", "filter": {"within": [{"note": "a"}]}}),
            "No note was found",
        ),
        (
            "context",
            json!({"notes": ["b", "sama"]}),
            "no note has this name; similar names: `x/same`",
        ),
        ("context", json!({"notes": ["long"], "budget": 1000.0}), "word\n```"),
        ("context", json!({"query": "word", "budget": 100}), "A larger `budget`"),
        (
            "context",
            json!({"query": "word", "filter": {"within": [{"note": "a"}]}}),
            "No note was found. Use other words",
        ),
    ] {
        let result = call(&client, tool, arguments.clone()).await?;
        let text = text(&result);
        assert_eq!(result.is_error, Some(false), "{tool} {arguments}: {text}");
        assert!(text.contains(message), "{tool} {arguments}: {text}");
    }
    let whole = call(&client, "context", json!({"notes": ["long"], "budget": 1000})).await?;
    let whole = whole.structured_content.ok_or("no structured content")?;
    assert_eq!(whole["notes"][0]["cut"], false, "one named note has the whole budget");
    let (mut listed, mut page) = (Vec::new(), Value::Null);
    loop {
        let answer = call(&client, "list_notes", json!({"limit": 2, "page": page})).await?;
        let answer = answer.structured_content.ok_or("no structured content")?;
        assert_eq!(answer["total"], 7, "{answer}");
        listed.extend(answer["notes"].as_array().into_iter().flatten().cloned());
        page = answer["next"].clone();
        if page.is_null() {
            break;
        }
    }
    let uris: Vec<&str> = listed.iter().filter_map(|note| note["note"].as_str()).collect();
    assert_eq!(uris, ["a", "b", "dup1", "dup2", "long", "x/same", "y/same"]);
    let tree = call(&client, "tree", json!({"notes": ["a"]})).await?;
    let tree = tree.structured_content.ok_or("no structured content")?;
    assert_eq!((&tree["link_count"], tree["links"].as_array().map(Vec::len)), (&2.into(), Some(2)));
    let none = call(&client, "get_note", json!({"note": "a#Three"})).await?;
    assert_eq!(none.is_error, Some(true));
    assert!(text(&none).contains("has no heading or block `Three`"), "{}", text(&none));
    client.cancel().await?;
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn long_notes_are_read_in_parts_within_the_budget() -> Result<(), Failure> {
    let vault = tempfile::tempdir()?;
    let body: String = (0..2000).map(|n| format!("word{n} ")).collect();
    std::fs::write(vault.path().join("long.md"), &body)?;
    for n in 0..120 {
        let name = format!("{n}.md");
        std::fs::write(
            vault.path().join(name),
            format!("# {}\n[[long]] {body}", "title ".repeat(500)),
        )?;
    }
    let names =
        |what: &str, n: usize| -> String { (0..n).map(|at| format!("  - {what}{at}\n")).collect() };
    let front = format!("---\ntags:\n{}aliases:\n{}", names("t", 60), names("a", 70));
    let filling = "filling ".repeat(1500);
    std::fs::write(vault.path().join("front.md"), format!("{front}x: {filling}\n---\n"))?;
    std::fs::write(vault.path().join("huge.md"), format!("---\nx: {}\n---\n", filling.repeat(7)))?;
    let daemon = TestDaemon::start(vault.path(), NO_MODEL).await?;
    weft_tests::served(&daemon.socket_channel().await?).await?;
    let client = connect(&daemon).await?;
    let cut = call(&client, "get_note", json!({"note": "front"})).await?;
    let message = text(&cut);
    for part in [
        "t49 and 10 more\n",
        "a49 and 20 more\n",
        "Frontmatter: omitted, 1",
        "`limit` = 70",
        "characters as JSON; `budget` = ",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let cut = cut.structured_content.ok_or("no structured content")?;
    assert_eq!((&cut["tag_count"], &cut["alias_count"]), (&60.into(), &70.into()));
    assert!(cut["properties"].is_null() && cut["properties_length"].as_u64() > Some(12_000));
    let budget = message.split("`budget` = ").nth(1).and_then(|rest| rest.split(' ').next());
    let budget: u32 = budget.ok_or("no budget is reported")?.parse()?;
    let sent_request = json!({"note": "front", "budget": budget, "limit": 70});
    let whole = call(&client, "get_note", sent_request).await?;
    assert!(!text(&whole).contains(" more") && !text(&whole).contains("omitted"));
    let whole = whole.structured_content.ok_or("no structured content")?;
    assert_eq!(whole["properties"]["aliases"].as_array().map(Vec::len), Some(70));
    let huge = text(&call(&client, "get_note", json!({"note": "huge"})).await?);
    assert!(huge.contains("exceeds the largest `budget`"), "{huge}");
    let linked = text(&call(&client, "get_note", json!({"note": "long"})).await?);
    assert!(
        linked.contains("`limit` = 120") && linked.contains("{\"linked_to\": [\"long\"]}"),
        "{linked}"
    );
    let (mut read, mut start) = (String::new(), 0);
    loop {
        let answer =
            call(&client, "get_note", json!({"note": "long", "start": start, "budget": 1000}))
                .await?;
        let answer = answer.structured_content.ok_or("no structured content")?;
        read.push_str(answer["text"].as_str().unwrap_or_default());
        let Some(next) = answer["next"].as_u64() else { break };
        assert!(next > start, "{answer}");
        start = next;
    }
    assert_eq!(read.trim(), body.trim());
    // A token is about 3.75 characters; a bounded number of names, headings and links is added.
    for (tool, arguments, most) in [
        ("get_note", json!({"note": "long", "budget": 100}), 375 + 2 * 50 * 700),
        ("search", json!({"query": "word1", "limit": 50, "budget": 100}), 375 + 50 * 400),
        ("context", json!({"query": "word1", "budget": 100}), 375 + 20 * 100),
        ("related", json!({"note": "long", "budget": 100}), 1000 + 375 + 20 * 300),
        ("tree", json!({"notes": ["long"], "max_notes": 200, "summaries": true}), 200 * 700),
    ] {
        let result = call(&client, tool, arguments).await?;
        let n = text(&result).chars().count();
        assert!(n <= most, "{tool} took {n} characters, more than {most}");
    }
    client.cancel().await?;
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_pass_the_same_access_checks() -> Result<(), Failure> {
    let (daemon, _) = serving(NO_MODEL).await?;
    let host = format!("host: {}", daemon.host());
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let kinds = ["content-type: application/json", "accept: application/json, text/event-stream"];
    let post = "POST /mcp HTTP/1.1";
    for (name, first, headers, expected) in [
        ("an agent", post, vec![host.as_str()], "HTTP/1.1 200"),
        ("another site", post, vec![&host, "origin: https://evil.example"], "HTTP/1.1 403"),
        ("a DNS-rebound host name", post, vec!["host: evil.example"], "HTTP/1.1 403"),
        ("a browser's look", "GET /mcp HTTP/1.1", vec![&host], "HTTP/1.1 405"),
    ] {
        let answer =
            ask(&daemon, first, &[&headers[..], &kinds].concat(), hello.as_bytes()).await?;
        assert!(answer.starts_with(expected), "{name}: {answer}");
        assert_eq!(answer.contains("get_note"), expected.ends_with("200"), "{name}: {answer}");
    }
    let batch = format!("[{hello}]");
    for (name, first, body, status, part) in [
        ("no JSON", post, "{\"jsonrpc\": ", "HTTP/1.1 400", "-32700"),
        ("a batch", post, &batch, "HTTP/1.1 400", "-32700"),
        ("the page", "POST / HTTP/1.1", &hello, "HTTP/1.1 404", "not found"),
        ("another path", "POST /mcp/x HTTP/1.1", &hello, "HTTP/1.1 404", "not found"),
    ] {
        let headers = [&[host.as_str()][..], &kinds].concat();
        let answer = ask(&daemon, first, &headers, body.as_bytes()).await?;
        assert!(answer.starts_with(status) && answer.contains(part), "{name}: {answer}");
    }
    daemon.stop().await?;

    let folder = tempfile::tempdir()?;
    let secret = "a-token-that-may-read-0123456789";
    std::fs::write(folder.path().join("token"), secret)?;
    let tokens = format!(
        "[{{name = 'agent', permission = 'read', file = '{}'}}]",
        folder.path().join("token").display()
    );
    let settings = [("embedding.model", "none"), ("access.tokens", tokens.as_str())];
    let daemon = TestDaemon::start(&example(), &settings).await?;
    let host = format!("host: {}", daemon.host());
    let right = format!("authorization: Bearer {secret}");
    for (credential, expected) in [
        ("x-none: 1", "HTTP/1.1 401"),
        ("authorization: Bearer something-else-entirely", "HTTP/1.1 401"),
        (&right, "HTTP/1.1 200"),
    ] {
        let headers = [&[host.as_str(), credential][..], &kinds].concat();
        let answer = ask(&daemon, post, &headers, hello.as_bytes()).await?;
        assert!(answer.starts_with(expected), "{credential}: {answer}");
    }
    let large = vec![b' '; 9 << 20];
    let answer = ask(&daemon, post, &[&[host.as_str(), &right][..], &kinds].concat(), &large).await;
    // The connection may be closed before the whole request is sent.
    assert!(answer.map_or(true, |answer| answer.starts_with("HTTP/1.1 413")));
    daemon.stop().await?;
    Ok(())
}

/// Names, metadata and content of notes appear in the text of every tool; only the content may begin a line, inside its fence.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn no_line_of_a_result_is_forged_by_metadata() -> Result<(), Failure> {
    let vault = tempfile::tempdir()?;
    let random = &mut Random::new(45);
    for (name, text) in forged_lines::notes(random, 12) {
        std::fs::write(vault.path().join(name), text + &forged_lines::body(random))?;
    }
    let daemon = TestDaemon::start(vault.path(), NO_MODEL).await?;
    weft_tests::served(&daemon.socket_channel().await?).await?;
    let client = connect(&daemon).await?;
    let mut calls = vec![
        ("list_notes", json!({})),
        ("list_notes", json!({"filter": {"tags": ["x\nFORGED"]}})),
        ("search", json!({"query": "word alias"})),
        ("context", json!({"query": "word"})),
        ("get_note", json!({"note": "no\nFORGED"})),
        ("tree", json!({"notes": ["alias 0"], "links": {"types": ["x\rFORGED"]}})),
    ];
    for at in 0..12 {
        let (note, next) = (format!("alias {at}"), format!("alias {}", (at + 3) % 12));
        calls.extend([
            ("get_note", json!({"note": note})),
            ("get_note", json!({"note": format!("{note}#no\nFORGED")})),
            ("related", json!({"note": note, "body_links": true})),
            ("tree", json!({"notes": [note], "max_hops": 3})),
            ("path", json!({"from": note, "to": next})),
            ("context", json!({"notes": [note, next], "budget": 1000})),
            ("context", json!({"around": note, "budget": 100})),
        ]);
    }
    for (tool, arguments) in calls {
        let result = call(&client, tool, arguments.clone()).await?;
        let text = text(&result);
        assert!(text.contains("FORGED"), "{tool} {arguments}: {text}");
        assert_eq!(forged_lines::forged_lines(&text), [""; 0], "{tool} {arguments}: {text}");
    }
    client.cancel().await?;
    daemon.stop().await?;
    Ok(())
}
