//! Tenants: nodes of two collections in one database, and tokens that are bound to one of them.

use std::path::Path;

use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use weft_cluster::{Collection, Commit, Database, Dsn, FileChange};
use weft_testkit::Postgres;
use weft_tests::{Failure, TestDaemon, served};

use crate::descriptors::{Contract, FieldValues, Rpc, ask_with};
use crate::web_page;

const COLLECTIONS: [&str; 2] = ["ferns", "mosses"];

/// Name of a note in each collection.
const NOTE: &str = "plant";

/// Returns the text that only the notes of a collection contain.
fn secret(collection: &str) -> String {
    format!("hidden-word-of-{collection}")
}

/// Returns the token with a permission for a collection.
fn token(collection: &str, permission: &str) -> String {
    format!("token-to-{permission}-{collection}-0123456789")
}

/// Sets the fields that name a note or a query; the others keep their defaults.
struct NameOfNote;

impl FieldValues for NameOfNote {
    fn n_values(&mut self, name: &str, _: bool) -> usize {
        const NAMES: [&str; 12] = [
            "query", "search", "note", "notes", "name", "focus", "roots", "from", "to", "target",
            "path", "text",
        ];
        usize::from(NAMES.contains(&name))
    }

    fn number(&mut self) -> u64 {
        0
    }

    fn choice(&mut self, _: u64) -> u64 {
        0
    }

    fn double(&mut self) -> f64 {
        0.0
    }

    fn text(&mut self, _: &str) -> Vec<u8> {
        NOTE.into()
    }
}

/// Creates the collections, each with a role of its own; returns the file with the connection string of each role.
fn create_collections(server: &Postgres, folder: &Path) -> Result<[String; 2], Failure> {
    let database = Database::connect(&Dsn::read(&server.dsn_file())?)?;
    database.migrate()?;
    let mut files = Vec::new();
    for name in COLLECTIONS {
        server.query(&format!("create role {name} login"));
        let collection = Collection::create(&database, name, &["notes"])?;
        collection.bind_role(name)?;
        let notes = [NOTE, "other"].map(|note| {
            let text = format!(
                "---\ntags: [{NOTE}]\n---\n# {note} {}\nsee [[{NOTE}]], [[other]]\n",
                secret(name)
            );
            FileChange::put("notes", &format!("{note}.md"), text.into())
        });
        collection.commit(&Commit::of(notes.into()))?;
        let file = folder.join(name);
        std::fs::write(&file, server.dsn_as(name))?;
        files.push(file.display().to_string());
    }
    files.try_into().map_err(|_| "two collections".into())
}

/// Writes the tokens of all collections and returns the setting that lists them, which all nodes share.
fn shared_tokens(folder: &Path) -> Result<String, Failure> {
    let mut rows = Vec::new();
    for collection in COLLECTIONS {
        for permission in ["read", "write"] {
            let name = format!("{collection}-{permission}");
            let file = folder.join(&name);
            std::fs::write(&file, token(collection, permission))?;
            rows.push(format!(
                "{{name = '{name}', permission = '{permission}', file = '{}', collections = ['{collection}']}}",
                file.display()
            ));
        }
    }
    Ok(format!("[{}]", rows.join(", ")))
}

/// Returns the number of answers that contain `text`.
fn count(answers: &[Result<Vec<Vec<u8>>, Status>], text: &str) -> usize {
    let contains = |answer: &&Result<Vec<Vec<u8>>, Status>| match answer {
        Ok(messages) => messages.iter().any(|bytes| String::from_utf8_lossy(bytes).contains(text)),
        Err(status) => format!("{status:?}").contains(text),
    };
    answers.iter().filter(contains).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn token_of_one_collection_gets_nothing_of_another_by_any_call() -> Result<(), Failure> {
    let Some(server) = Postgres::start() else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let place = folder.path().to_owned();
    let (server, files) = tokio::task::spawn_blocking(move || {
        create_collections(&server, &place).map(|files| (server, files))
    })
    .await??;
    let tokens = shared_tokens(folder.path())?;
    let mut contract = Contract::read();
    // Services of gRPC itself; their requests are answered or refused like those of the contract.
    for path in [
        "/grpc.health.v1.Health/Check",
        "/grpc.health.v1.Health/Watch",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    ] {
        contract.calls.push(Rpc { path: path.to_owned(), input: String::new() });
    }
    for (own, other, file) in [(0, 1, &files[0]), (1, 0, &files[1])] {
        let (own, other) = (COLLECTIONS[own], COLLECTIONS[other]);
        let settings = [
            ("embedding.model", "none"),
            ("cluster.collection", own),
            ("cluster.postgres", file.as_str()),
            ("access.tokens", tokens.as_str()),
        ];
        let daemon = TestDaemon::start_node(&settings).await?;
        served(&daemon.socket_channel().await?).await?;
        let channel = daemon.channel().await?;
        let ask_all = async |secret: &str| {
            let bearer = format!("Bearer {secret}");
            let mut answers = Vec::new();
            for call in &contract.calls {
                let bytes = contract.message(&call.input, 2, &mut NameOfNote);
                answers.push(ask_with(&channel, call, bytes, Some(&bearer)).await);
            }
            answers
        };
        for permission in ["read", "write"] {
            let answers = ask_all(&token(other, permission)).await;
            for (Rpc { path, .. }, answer) in contract.calls.iter().zip(&answers) {
                let Err(status) = answer else {
                    return Err(format!("{path} of {own} answers a token of {other}").into());
                };
                let reason = status.get_details_error_info().map(|info| info.reason);
                let found = (status.code(), reason.as_deref());
                assert_eq!(found, (Code::PermissionDenied, Some("OTHER_COLLECTION")), "{path}");
            }
            assert_eq!(count(&answers, &secret(own)), 0);
        }
        for first in [
            "GET / HTTP/1.1",
            "GET /page.js HTTP/1.1",
            "GET /metrics HTTP/1.1",
            "POST /mcp HTTP/1.1",
            "POST /mcp/write HTTP/1.1",
            "GET /nowhere HTTP/1.1",
        ] {
            let host = format!("host: {}", daemon.host());
            let headers = [&host, &format!("authorization: Bearer {}", token(other, "write"))];
            let answer = web_page::ask(&daemon, first, &headers.map(String::as_str), b"{}").await?;
            assert!(answer.starts_with("HTTP/1.1 403"), "{first}: {answer}");
        }
        // The same requests find the notes of their own collection, so the refusals above hide something.
        let answers = ask_all(&token(own, "read")).await;
        let n_found = count(&answers, &secret(own));
        assert!(n_found > 12, "{n_found} answers contain the note: {answers:?}");
        assert_eq!(count(&answers, &secret(other)), 0);
        let answers = ask_all(&token(own, "write")).await;
        assert!(answers.iter().filter(|answer| answer.is_ok()).count() > n_found);
        assert_eq!(count(&answers, &secret(other)), 0);
        daemon.stop().await?;
    }
    drop(server);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn token_of_a_collection_is_refused_by_a_daemon_over_folders() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let tokens = shared_tokens(folder.path())?;
    let settings = [("embedding.model", "none"), ("access.tokens", tokens.as_str())];
    let daemon = TestDaemon::start(&weft_tests::example(), &settings).await?;
    served(&daemon.socket_channel().await?).await?;
    let host = format!("host: {}", daemon.host());
    let ask = async |secret: &str| {
        let headers = [host.clone(), format!("authorization: Bearer {secret}")];
        let headers = headers.each_ref().map(String::as_str);
        web_page::ask(&daemon, "GET /metrics HTTP/1.1", &headers, b"").await
    };
    let bound = token(COLLECTIONS[0], "read");
    assert!(ask(&bound).await?.starts_with("HTTP/1.1 403"));
    // The settings bind a token, and a reload changes that.
    let reloaded =
        daemon.reload_changed(|settings| settings.access.tokens[0].collections = None).await?;
    assert_eq!(reloaded.taken, ["access.tokens"]);
    assert!(ask(&bound).await?.starts_with("HTTP/1.1 200"));
    // Another collection needs a restart, so its tokens do not open the folders.
    let reload = daemon.reload_changed(|settings| {
        settings.cluster.collection = Some(COLLECTIONS[0].to_owned());
        settings.cluster.postgres = Some("/no/such/file".into());
    });
    drop(reload.await);
    assert!(ask(&bound).await?.starts_with("HTTP/1.1 403"));
    daemon.stop().await?;
    Ok(())
}
