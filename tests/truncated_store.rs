//! Another program truncates files of the store while clients read them.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tonic::Code;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{GetNoteRequest, SearchMode, SearchRequest};
use weft_tests::{Failure, TestDaemon, is_skipped_over, served};

const SETTINGS: &[(&str, &str)] = &[("embedding.model", "none"), ("watch.poll_ms", "100")];

/// Number of notes of the vault.
const N_NOTES: usize = 64;

fn text(note: usize) -> String {
    format!("# Note {note}\n\nMoss number{note} grows on [[{}]].\n\n", (note + 1) % N_NOTES)
        + &"Fern and stone, shade and soil.\n\n".repeat(40)
}

/// Returns the files below a folder that the daemon maps.
fn mapped_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(mapped_files(&path)?);
        } else if let Some("col" | "term" | "idx" | "pos" | "fast" | "store") =
            path.extension().and_then(|extension| extension.to_str())
        {
            found.push(path);
        }
    }
    Ok(found)
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_store_yields_complete_answers_or_errors() -> Result<(), Failure> {
    if is_skipped_over(0, "the test truncates the files of one store") {
        return Ok(());
    }
    let vault = tempfile::tempdir()?;
    for note in 0..N_NOTES {
        std::fs::write(vault.path().join(format!("{note}.md")), text(note))?;
    }
    let store = tempfile::tempdir()?;
    let path = store.path().join("store");
    let path = path.to_string_lossy();
    let settings = [SETTINGS, &[("store.path", &*path)]].concat();
    let daemon = TestDaemon::start(vault.path(), &settings).await?;
    served(&daemon.channel().await?).await?;
    // What the second daemon reads is mapped.
    let daemon = daemon.restart(vault.path(), &settings).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    let (mut notes, mut search) =
        (NoteServiceClient::new(channel.clone()), SearchServiceClient::new(channel));

    let (mut n_answers, mut n_refused) = (0, 0);
    for round in 0..4 {
        for file in mapped_files(store.path())? {
            let n_bytes = if round % 2 == 0 { 0 } else { std::fs::metadata(&file)?.len() / 2 };
            let file = std::fs::File::options().write(true).open(&file)?;
            // A partial page would read as zeros without a signal, as other damage does.
            file.set_len(n_bytes / 4096 * 4096)?;
        }
        let end = Instant::now() + Duration::from_secs(20);
        let mut n_since_error = 0;
        // Until every note was answered without an error.
        while n_since_error < 2 * N_NOTES {
            assert!(Instant::now() < end, "round {round}: the store is not rebuilt");
            let note = n_answers % N_NOTES;
            n_answers += 1;
            let request = GetNoteRequest { name: note.to_string(), ..GetNoteRequest::default() };
            let got = notes.get_note(request).await.map(|answer| {
                let body = answer.into_inner().body;
                assert_eq!(body.trim_end(), text(note).trim_end(), "note {note}");
            });
            let query = SearchRequest {
                query: format!("number{note}"),
                mode: SearchMode::Keyword.into(),
                no_graph: true,
                ..SearchRequest::default()
            };
            let searched = search.search(query).await.map(|answer| {
                let hits = answer.into_inner().hits;
                assert_eq!(hits.first().map(|hit| hit.uri.clone()), Some(note.to_string()));
            });
            match got.and(searched) {
                Ok(()) => n_since_error += 1,
                Err(status) => {
                    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
                    (n_since_error, n_refused) = (0, n_refused + 1);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }
    println!("{n_answers} pairs of requests, of which {n_refused} met a truncated file");
    assert!(n_refused > 0);
    daemon.stop().await?;
    Ok(())
}
