//! Clients of an index that follows its files.

use std::path::Path;
use std::time::Duration;

use tonic::Code;
use tonic_types::StatusExt as _;
use weft_proto::noteweft::v1::admin_service_client::AdminServiceClient;
use weft_proto::noteweft::v1::graph_service_client::GraphServiceClient;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{
    ConfirmDeletionsRequest, DeleteNoteRequest, DiffRequest, Filter, FlushRequest, GetNoteRequest,
    LinkChangeKind, ListNotesRequest, MoveNoteRequest, NoteChangeKind, PutNoteRequest, SearchMode,
    SearchRequest, SearchResponse, SettingsRequest, StatusRequest, WatchGenerationsRequest,
    WatchQueryRequest, Weights,
};
use weft_tests::{Failure, TestChannel, TestDaemon, is_skipped_over, served};

const SETTINGS: &[(&str, &str)] = &[("embedding.model", "none"), ("watch.debounce_ms", "10")];

/// Starts a daemon over a vault of one note.
async fn serving(
    vault: &Path,
    settings: &[(&str, &str)],
) -> Result<(TestDaemon, TestChannel), Failure> {
    std::fs::write(vault.join("fern.md"), "# Fern\nsee [[moss]]\n")?;
    let daemon = TestDaemon::start(vault, settings).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    Ok((daemon, channel))
}

async fn flush(channel: &TestChannel) -> Result<u64, Failure> {
    let mut admin = AdminServiceClient::new(channel.clone());
    Ok(admin.flush(FlushRequest {}).await?.into_inner().generation)
}

/// Flushes each node at the newest generation: a node stores the generations that it has persisted.
async fn flush_each(channel: &TestChannel) -> Result<u64, Failure> {
    let newest = flush(channel).await?;
    let mut notes = NoteServiceClient::new(channel.clone());
    for _ in 0..channel.n_daemons() {
        notes.get_note(GetNoteRequest { name: "fern".into(), ..Default::default() }).await?;
    }
    for _ in 0..channel.n_daemons() {
        assert_eq!(flush(channel).await?, newest, "nothing is written meanwhile");
    }
    Ok(newest)
}

/// Returns a keyword-only request: links would add notes that these tests do not expect.
fn words(query: &str) -> SearchRequest {
    let mode = SearchMode::Keyword.into();
    SearchRequest { query: query.to_owned(), mode, no_graph: true, ..SearchRequest::default() }
}

fn uris(answer: &SearchResponse) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.uri.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn request_waits_for_its_minimum_generation() -> Result<(), Failure> {
    let vault = tempfile::tempdir()?;
    let (daemon, channel) = serving(vault.path(), SETTINGS).await?;
    let first = flush(&channel).await?;
    let mut search = SearchServiceClient::new(channel.clone());
    let next = SearchRequest { min_generation: Some(first + 1), ..words("moss") };

    let mut impatient = tonic::Request::new(next.clone());
    impatient.set_timeout(Duration::from_millis(50));
    let status = search.search(impatient).await.expect_err("nothing was written");
    assert!(matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled), "{status}");

    // A request for a note in memory waits, too.
    let mut notes = NoteServiceClient::new(channel.clone());
    let fern = GetNoteRequest { name: "fern".into(), ..GetNoteRequest::default() };
    assert_eq!(notes.get_note(fern.clone()).await?.into_inner().generation, first);
    let mut impatient =
        tonic::Request::new(GetNoteRequest { min_generation: Some(first + 1), ..fern.clone() });
    impatient.set_timeout(Duration::from_millis(50));
    let status = notes.get_note(impatient).await.expect_err("nothing was written");
    assert!(matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled), "{status}");

    let waiting = tokio::spawn({
        let mut search = search.clone();
        async move { search.search(next).await }
    });
    std::fs::write(vault.path().join("moss.md"), "# Moss\nsoft\n")?;
    daemon.push(vault.path())?;
    let answer = waiting.await??.into_inner();
    assert!(answer.generation > first);
    assert_eq!(uris(&answer), ["moss", "fern"]);

    let both = SearchRequest { min_generation: Some(1), as_of: Some(1), ..words("moss") };
    let status = search.search(both).await.expect_err("only one of the two is allowed");
    assert_eq!(status.code(), Code::InvalidArgument);

    // A request that waits when the daemon stops is ended at once.
    let never = GetNoteRequest { min_generation: Some(u64::MAX), ..fern };
    let waiting = tokio::spawn(async move { notes.get_note(never).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    daemon.stop().await?;
    let status = waiting.await?.expect_err("the generation is never published");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert!(status.message().contains("the daemon is stopping"), "{status}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_generations_can_be_queried() -> Result<(), Failure> {
    let vault = tempfile::tempdir()?;
    let settings = [SETTINGS, &[("store.keep_generations", "3")]].concat();
    let (daemon, channel) = serving(vault.path(), &settings).await?;
    let first = flush_each(&channel).await?;
    let mut notes = NoteServiceClient::new(channel.clone());
    std::fs::write(vault.path().join("fern.md"), "# Fern\nno links any more\n")?;
    std::fs::write(vault.path().join("moss.md"), "# Moss\nsoft\n")?;
    daemon.push(vault.path())?;
    let second = flush_each(&channel).await?;
    assert!(second > first);

    let past = |name: &str| GetNoteRequest {
        name: name.into(),
        as_of: Some(first),
        ..GetNoteRequest::default()
    };
    let fern = notes.get_note(past("fern")).await?.into_inner();
    assert_eq!((fern.body.as_str(), fern.generation), ("# Fern\nsee [[moss]]\n", first));
    let status = notes.get_note(past("moss")).await.expect_err("the note did not exist yet");
    assert_eq!(status.code(), Code::NotFound);
    let listed = ListNotesRequest { as_of: Some(first), ..ListNotesRequest::default() };
    assert_eq!(notes.list_notes(listed).await?.into_inner().total, 1);
    let in_memory = SearchRequest { as_of: Some(first), ..words("soft") };
    let mut search = SearchServiceClient::new(channel.clone());
    assert_eq!(uris(&search.search(in_memory.clone()).await?.into_inner()), [""; 0]);

    let mut graph = GraphServiceClient::new(channel.clone());
    let diff =
        DiffRequest { from_generation: Some(first), as_of: Some(second), ..DiffRequest::default() };
    let mut pieces = graph.diff(diff).await?.into_inner();
    let (mut notes_changed, mut links_changed) = (Vec::new(), Vec::new());
    while let Some(piece) = pieces.message().await? {
        assert_eq!((piece.from_generation, piece.generation), (first, second));
        notes_changed.extend(piece.notes.iter().map(|note| (note.kind(), note.uri.clone())));
        links_changed.extend(piece.links.iter().map(|link| (link.kind(), link.to.clone())));
    }
    let expected =
        [(NoteChangeKind::Added, "moss".into()), (NoteChangeKind::Changed, "fern".into())];
    assert_eq!(notes_changed, expected);
    assert_eq!(links_changed, [(LinkChangeKind::Removed, "moss".into())]);
    let backwards = DiffRequest { from_generation: Some(second + 1), ..DiffRequest::default() };
    let status = graph.diff(backwards).await.expect_err("the future");
    assert_eq!(status.code(), Code::InvalidArgument);

    // After a restart, the notes and links of that generation are available, but not its words.
    let daemon = daemon.restart(vault.path(), &settings).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    let status = AdminServiceClient::new(channel.clone()).status(StatusRequest {}).await?;
    assert!(status.get_ref().stored_generations.contains(&first), "{status:?}");
    let mut notes = NoteServiceClient::new(channel.clone());
    assert_eq!(notes.get_note(past("fern")).await?.into_inner().body, fern.body);
    let mut search = SearchServiceClient::new(channel.clone());
    let status = search.search(in_memory).await.expect_err("its words are not stored");
    assert_eq!(status.code(), Code::FailedPrecondition);
    let unknown = GetNoteRequest { as_of: Some(7_000_000), ..past("fern") };
    let status = notes.get_note(unknown).await.expect_err("the generation never existed");
    assert_eq!(status.code(), Code::NotFound);
    let info = status.get_details_error_info().ok_or("no details")?;
    assert!(info.metadata["stored"].split(',').any(|stored| stored == first.to_string()));
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn watched_query_errors_name_the_full_field_path() -> Result<(), Failure> {
    let vault = tempfile::tempdir()?;
    let (daemon, channel) = serving(vault.path(), SETTINGS).await?;
    let mut search = SearchServiceClient::new(channel);
    for (sent_request, field) in [
        (SearchRequest { limit: Some(0), ..words("soft") }, "search.limit"),
        (SearchRequest { snippets: Some(101), ..words("soft") }, "search.snippets"),
        (SearchRequest { weights: Some(Weights::default()), ..words("soft") }, "search.weights"),
        (
            SearchRequest {
                filter: Some(Filter { after: Some("x".into()), ..Filter::default() }),
                ..words("soft")
            },
            "search.filter.after",
        ),
    ] {
        let sent_request = WatchQueryRequest { search: Some(sent_request), min_interval_ms: None };
        let refused = match search.watch_query(sent_request).await {
            Ok(stream) => stream.into_inner().message().await.err().ok_or(field)?,
            Err(status) => status,
        };
        let bad = refused.get_details_bad_request().ok_or("no details")?;
        assert_eq!(bad.field_violations[0].field, field);
        assert!(refused.message().starts_with(&format!("`{field}`: ")), "{refused}");
    }
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_follow_the_index_and_end_with_the_daemon() -> Result<(), Failure> {
    if is_skipped_over(1, "each node limits its own streams") {
        return Ok(());
    }
    let vault = tempfile::tempdir()?;
    let settings = [SETTINGS, &[("server.max_streams", "2")]].concat();
    let (daemon, channel) = serving(vault.path(), &settings).await?;
    let first = flush(&channel).await?;
    let mut admin = AdminServiceClient::new(channel.clone());
    let sent_request = WatchGenerationsRequest::default();
    let mut generations = admin.watch_generations(sent_request).await?.into_inner();
    let present = generations.message().await?.ok_or("a first message")?;
    assert_eq!((present.generation, present.note_count), (first, 1));
    let mut search = SearchServiceClient::new(channel.clone());
    let sent_request = WatchQueryRequest { search: Some(words("soft")), min_interval_ms: Some(0) };
    let mut answers = search.watch_query(sent_request.clone()).await?.into_inner();
    let empty = answers.message().await?.ok_or("a first answer")?;
    assert!(empty.added.is_empty() && empty.answer.is_some_and(|answer| answer.hits.is_empty()));
    let status =
        search.watch_query(sent_request).await.expect_err("the limit of streams is reached");
    assert_eq!(status.code(), Code::ResourceExhausted);

    std::fs::write(vault.path().join("moss.md"), "# Moss\nsoft\n")?;
    daemon.push(vault.path())?;
    let next = generations.message().await?.ok_or("a second message")?;
    assert_eq!((next.note_count, next.generation - next.missed_count), (2, first + 1));
    assert_ne!(next.digest, present.digest);
    let found = answers.message().await?.ok_or("a second answer")?;
    assert_eq!(found.added, ["moss"]);
    // A change without effect on the hits sends no message.
    std::fs::write(vault.path().join("stone.md"), "hard\n")?;
    daemon.push(vault.path())?;
    assert!(generations.message().await?.is_some());
    std::fs::remove_file(vault.path().join("moss.md"))?;
    daemon.push(vault.path())?;
    let lost = answers.message().await?.ok_or("a third answer")?;
    assert_eq!((lost.removed, lost.added), (vec!["moss".to_owned()], Vec::new()));

    // A closed stream frees its slot, and an idle stream ends at once when the daemon stops.
    drop(answers);
    let hour = Some(3_600_000);
    let patient = WatchQueryRequest { search: Some(words("soft")), min_interval_ms: hour };
    let mut answers = loop {
        match search.watch_query(patient.clone()).await {
            Ok(answers) => break answers.into_inner(),
            Err(status) => assert_eq!(status.code(), Code::ResourceExhausted),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(answers.message().await?.is_some());

    let stopping = tokio::spawn(daemon.stop());
    loop {
        match answers.message().await {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(status) => {
                assert_eq!(status.code(), Code::Unavailable, "{status}");
                break;
            }
        }
    }
    tokio::time::timeout(Duration::from_secs(4), stopping).await???;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn client_reads_its_own_writes() -> Result<(), Failure> {
    let vault = tempfile::tempdir()?;
    let (daemon, channel) = serving(vault.path(), SETTINGS).await?;
    let mut notes = NoteServiceClient::new(channel.clone());
    let request = PutNoteRequest {
        path: "moss.md".into(),
        text: Some("# Moss\nsoft\n".into()),
        expected_hash: Some(String::new()),
        ..PutNoteRequest::default()
    };
    let put = notes.put_note(request.clone()).await?.into_inner();
    assert!(put.created && put.uri.as_deref() == Some("moss"), "{put:?}");
    let sent_request = SearchRequest { min_generation: Some(put.generation), ..words("soft") };
    let found = SearchServiceClient::new(channel.clone()).search(sent_request).await?.into_inner();
    assert_eq!(uris(&found), ["moss"]);
    let read = GetNoteRequest { name: "moss".into(), ..GetNoteRequest::default() };
    let hash = notes.get_note(read).await?.into_inner().hash;
    assert_eq!(put.hash.as_deref(), Some(hash.as_str()));

    let request_for = |expected: Option<&str>| PutNoteRequest {
        expected_hash: expected.map(str::to_owned),
        text: Some("# Moss\nwet\n".into()),
        ..request.clone()
    };
    let zeros = "0".repeat(32);
    for (expected, code) in [
        (Some(""), Code::AlreadyExists),
        (Some(zeros.as_str()), Code::Aborted),
        (Some("short"), Code::InvalidArgument),
    ] {
        let status = notes.put_note(request_for(expected)).await.expect_err("the write is refused");
        assert_eq!(status.code(), code, "{expected:?}: {status}");
        let info = status.get_details_error_info().ok_or("no details")?;
        let actual = info.metadata.get("actual_hash");
        assert_eq!(actual, (code == Code::Aborted).then_some(&hash), "{expected:?}");
    }
    notes.put_note(request_for(Some(&hash))).await?;
    let outside = PutNoteRequest { path: "../moss.md".into(), ..request_for(None) };
    let status = notes.put_note(outside).await.expect_err("the path leaves the vault");
    let fields = status.get_details_bad_request().ok_or("no details")?.field_violations;
    assert_eq!((status.code(), fields[0].field.as_str()), (Code::InvalidArgument, "path"));

    let request = MoveNoteRequest {
        name: "moss".into(),
        to: "bog/peat.md".into(),
        rewrite_links: true,
        ..MoveNoteRequest::default()
    };
    let onto = MoveNoteRequest { to: "fern.md".into(), ..request.clone() };
    let status = notes.move_note(onto).await.expect_err("another note is there");
    assert_eq!(status.code(), Code::AlreadyExists, "{status}");
    let moved = notes.move_note(request).await?.into_inner();
    assert_eq!((moved.links.len(), moved.links[0].links_rewritten), (1, 1), "{moved:?}");
    assert_eq!(daemon.text(vault.path(), "fern.md")?, "# Fern\nsee [[peat]]\n");
    let request = DeleteNoteRequest { name: "peat".into(), ..DeleteNoteRequest::default() };
    assert_eq!(notes.delete_note(request.clone()).await?.into_inner().path, "bog/peat.md");
    let status = notes.delete_note(request).await.expect_err("the note was deleted");
    assert_eq!(status.code(), Code::NotFound);
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn emptied_vault_is_served_until_deletions_are_confirmed() -> Result<(), Failure> {
    if is_skipped_over(0, "the deletion guard watches files") {
        return Ok(());
    }
    const N_NOTES: u64 = 25;
    let vault = tempfile::tempdir()?;
    let disk = vault.path().join("disk");
    std::fs::create_dir(&disk)?;
    for n in 1..N_NOTES {
        std::fs::write(disk.join(format!("moss{n}.md")), format!("# Moss {n}\nsoft\n"))?;
    }
    let (daemon, channel) = serving(vault.path(), SETTINGS).await?;
    flush(&channel).await?;
    let mut admin = AdminServiceClient::new(channel.clone());
    std::fs::remove_dir_all(&disk)?;
    // The watcher detects the change.
    let status = loop {
        let status = admin.status(StatusRequest {}).await?.into_inner();
        if status.vaults[0].missing_count == N_NOTES - 1 {
            break status;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(status.note_count, N_NOTES);
    assert!(status.notices[0].contains("weft confirm-deletions"), "{:?}", status.notices);

    let daemon = daemon.restart(vault.path(), SETTINGS).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    flush(&channel).await?;
    let mut search = SearchServiceClient::new(channel.clone());
    let answer = search.search(words("soft")).await?.into_inner();
    assert_eq!(answer.hits.len(), 10, "still there after a restart");
    assert!(answer.warnings[0].message.starts_with("24 notes of vault "), "{:?}", answer.warnings);

    let mut admin = AdminServiceClient::new(channel.clone());
    let unknown = ConfirmDeletionsRequest { vault: Some("nowhere".into()) };
    let status = admin.confirm_deletions(unknown).await.expect_err("no such vault");
    assert_eq!(status.code(), Code::NotFound);
    let confirmed =
        admin.confirm_deletions(ConfirmDeletionsRequest { vault: None }).await?.into_inner();
    assert_eq!(confirmed.vaults[0].removed_count, N_NOTES - 1);
    let answer = search.search(words("soft")).await?.into_inner();
    assert_eq!((answer.hits.len(), answer.warnings.len()), (0, 0));
    assert_eq!(answer.generation, confirmed.generation);
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn vaults_follow_the_settings() -> Result<(), Failure> {
    if is_skipped_over(0, "the vaults are those of the collection") {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let vault = |name: &str| folder.path().join(name);
    let (bog, fen) = (vault("bog"), vault("fen"));
    std::fs::create_dir(&bog)?;
    std::fs::create_dir(&fen)?;
    std::fs::write(fen.join("moss.md"), "# Moss\nsee [[bog:fern]]\n")?;
    let (daemon, channel) = serving(&bog, SETTINGS).await?;
    flush(&channel).await?;
    let mut search = SearchServiceClient::new(channel.clone());
    assert_eq!(uris(&search.search(words("moss")).await?.into_inner()), ["fern"]);

    daemon.reload_with(&[&bog, &fen]).await?;
    flush(&channel).await?;
    let answer = search.search(words("moss")).await?.into_inner();
    assert_eq!(uris(&answer), ["fen:moss", "bog:fern"]);
    let mut admin = AdminServiceClient::new(channel.clone());
    let status = admin.status(StatusRequest {}).await?.into_inner();
    let names: Vec<&str> = status.vaults.iter().map(|vault| vault.name.as_str()).collect();
    assert_eq!(
        (names, status.unresolved_count),
        (vec!["bog", "fen"], 1),
        "links point into other vaults"
    );
    let settings = admin.settings(SettingsRequest {}).await?.into_inner().settings;
    let vaults = settings.iter().find(|setting| setting.key == "vaults");
    assert!(vaults.is_some_and(|setting| setting.value.contains("fen")), "{vaults:?}");

    // A path that is not a folder is refused, and nothing changes.
    let refused = daemon.reload_with(&[&bog, &vault("nowhere")]).await.expect_err("no folder");
    assert!(refused.to_string().contains("nowhere"), "{refused}");
    assert!(daemon.reload_with(&[]).await.is_err(), "an empty list of vaults");
    // A vault whose disk was removed does not stop the others from being watched.
    std::fs::rename(&fen, vault("away"))?;
    std::fs::write(bog.join("newt.md"), "# Newt\n")?;
    while search.search(words("newt")).await?.get_ref().hits.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(
        uris(&search.search(words("moss")).await?.into_inner()).len(),
        2,
        "the vault is still served"
    );

    // A vault that is no longer listed is removed, with or without its disk.
    daemon.reload_with(&[&bog]).await?;
    flush(&channel).await?;
    assert_eq!(uris(&search.search(words("moss")).await?.into_inner()), ["fern"]);
    let status = admin.status(StatusRequest {}).await?.into_inner();
    assert_eq!((status.vaults.len(), status.last_error), (1, None));
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn response_before_the_first_scan_has_a_warning() -> Result<(), Failure> {
    if is_skipped_over(0, "a node answers once it has applied the log") {
        return Ok(());
    }
    let vault = tempfile::tempdir()?;
    for at in 0..3_000 {
        std::fs::write(vault.path().join(format!("n{at}.md")), "# Moss\nsoft\n")?;
    }
    let daemon = TestDaemon::start(vault.path(), SETTINGS).await?;
    let channel = daemon.channel().await?;
    let mut notes = NoteServiceClient::new(channel);
    loop {
        let last = GetNoteRequest { name: "n2999".into(), ..GetNoteRequest::default() };
        if let Err(status) = notes.get_note(last).await {
            assert_eq!(status.code(), Code::Unavailable, "{status}");
        }
        match notes.list_notes(ListNotesRequest::default()).await.map(tonic::Response::into_inner) {
            Ok(list) if list.warnings.is_empty() => {
                assert_eq!(list.total, 3_000, "the total is complete");
                break;
            }
            Ok(list) => assert_eq!(list.warnings[0].code, "scan_incomplete", "{:?}", list.warnings),
            Err(status) => assert_eq!(status.code(), Code::Unavailable, "{status}"),
        }
    }
    daemon.stop().await?;
    Ok(())
}
