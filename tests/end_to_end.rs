//! End-to-end tests of the wiring; the tests of each crate cover the depth.

mod access_control;
#[cfg(unix)]
mod collection_nodes;
mod context;
mod descriptors;
mod graph_walks;
mod hygiene;
mod live_index;
mod mcp;
mod observability;
mod open_note;
mod path_confinement;
mod rerank;
mod server_behavior;
#[cfg(unix)]
mod tenants;
mod web_page;
mod why_not;

use std::time::Duration;

use tokio_stream::StreamExt as _;
use tonic::Code;
use tonic_types::StatusExt as _;
use weft_proto::noteweft::v1::admin_service_client::AdminServiceClient;
use weft_proto::noteweft::v1::graph_service_client::GraphServiceClient;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{
    CoverageRequest, ExportRequest, FileCoverage, FileState, Filter, FlushRequest, GetNoteRequest,
    ListNotesRequest, Origin, Phase, ReindexRequest, RelatedRequest, RelatedResponse, Relation,
    Rendering, ResolveLinkRequest, SearchMode, SearchRequest, SettingsRequest, StatusRequest,
    StatusResponse,
};
use weft_tests::{Failure, TestChannel, TestDaemon, example, is_skipped_over, served};

const NO_MODEL: &[(&str, &str)] = &[("embedding.model", "none")];

/// Starts a daemon over the example vault and waits until it is serving.
async fn serving(settings: &[(&str, &str)]) -> Result<(TestDaemon, TestChannel), Failure> {
    let daemon = TestDaemon::start(&example(), settings).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    Ok((daemon, channel))
}

async fn ready(channel: &TestChannel) -> Result<StatusResponse, Failure> {
    let mut admin = AdminServiceClient::new(channel.clone());
    loop {
        let status = admin.status(StatusRequest {}).await?.into_inner();
        if status.phase() == Phase::Ready && status.pending_vector_count == 0 {
            return Ok(status);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn query(text: &str, mode: SearchMode) -> SearchRequest {
    SearchRequest { query: text.to_owned(), mode: mode.into(), ..SearchRequest::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn keyword_search_works_over_both_sockets() -> Result<(), Failure> {
    let (daemon, channel) = serving(NO_MODEL).await?;
    let sent_request = query("leap second", SearchMode::Hybrid);
    let answer =
        SearchServiceClient::new(channel.clone()).search(sent_request.clone()).await?.into_inner();
    let best = &answer.hits[0];
    assert_eq!((best.title.as_str(), best.origin()), ("Leap second", Origin::Keyword));
    assert!(best.score > 0.0 && best.score <= 1.0 && answer.generation > 0);
    assert!(
        answer.warnings.is_empty(),
        "a missing model is configured and no reason for a warning"
    );
    let matched = &best.snippets[0];
    assert!(!matched.matches.is_empty() && matched.end > matched.start);
    // The requested number of snippets, and the same hits.
    let bare = SearchRequest { snippets: Some(0), ..sent_request.clone() };
    let mut expected = answer.clone();
    expected.hits.iter_mut().for_each(|hit| hit.snippets.clear());
    let bare = SearchServiceClient::new(channel.clone()).search(bare).await?.into_inner();
    assert_eq!(bare, expected);

    let over_socket = daemon.socket_channel().await?;
    let again =
        SearchServiceClient::new(over_socket).search(sent_request.clone()).await?.into_inner();
    assert_eq!(again, answer);

    // The same store gives the same bytes after a restart.
    let daemon = daemon.restart(&example(), NO_MODEL).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    ready(&channel).await?;
    assert_eq!(SearchServiceClient::new(channel).search(sent_request).await?.into_inner(), answer);
    let folder = daemon.stop().await?;
    assert!(!folder.path().join("weft.sock").exists(), "the daemon removes its socket file");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn vector_search_finds_notes_by_meaning() -> Result<(), Failure> {
    let (daemon, channel) = serving(&[]).await?;
    let status = ready(&channel).await?;
    assert!(status.model.is_some() && status.chunk_count >= status.note_count);
    let sent_request = query("how did sailors find out where they were", SearchMode::Vector);
    let answer = SearchServiceClient::new(channel).search(sent_request).await?.into_inner();
    let best: Vec<&str> = answer.hits.iter().take(5).map(|hit| hit.path.as_str()).collect();
    assert!(best.iter().any(|path| path.starts_with("The Longitude Problem/")), "{best:?}");
    assert!(answer.hits[0].embedding_current && answer.hits[0].vector_score > 0.2);
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_report_their_origin() -> Result<(), Failure> {
    let (daemon, channel) = serving(NO_MODEL).await?;
    let answer = AdminServiceClient::new(channel).settings(SettingsRequest {}).await?.into_inner();
    let reported = |key: &str| {
        let setting = answer.settings.iter().find(|setting| setting.key == key);
        setting.map(|setting| (setting.value.as_str(), setting.origin.as_str()))
    };
    assert_eq!(reported("embedding.model"), Some(("\"none\"", "the test")));
    assert_eq!(reported("server.timeout_ms"), Some(("30000", "default")));
    assert!(answer.settings.is_sorted_by(|a, b| a.key < b.key) && answer.generation > 0);
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_links_and_files_are_returned() -> Result<(), Failure> {
    let (daemon, channel) = serving(NO_MODEL).await?;
    let mut notes = NoteServiceClient::new(channel.clone());
    let note = notes
        .get_note(GetNoteRequest { name: "Leap second".into(), ..GetNoteRequest::default() })
        .await?
        .into_inner();
    assert_eq!(note.path, "Agreed Time/Leap second.md");
    assert!(!note.body.is_empty() && !note.links.is_empty() && !note.backlinks.is_empty());
    assert!(note.parent.is_some_and(|parent| parent.uri.contains("Agreed Time")));

    let second = notes
        .get_note(GetNoteRequest { name: "Second".into(), ..GetNoteRequest::default() })
        .await?
        .into_inner();
    let block = second.blocks.first().ok_or("the note has a named block")?;
    let lines: String =
        second.body.chars().take(block.end as usize).skip(block.start as usize).collect();
    assert_eq!(block.id, "definition");
    assert!(lines.starts_with("- Since 1967") && lines.trim_end().ends_with("^definition"));

    let whole = ListNotesRequest { page_size: Some(1000), ..ListNotesRequest::default() };
    let whole = notes.list_notes(whole).await?.into_inner();
    let mut paged = Vec::new();
    let mut page_token = String::new();
    loop {
        let request =
            ListNotesRequest { page_size: Some(7), page_token, ..ListNotesRequest::default() };
        let page = notes.list_notes(request).await?.into_inner();
        assert_eq!(page.total, whole.total);
        paged.extend(page.notes);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(paged, whole.notes);
    let below = Filter { paths: vec!["Calendars".into()], ..Filter::default() };
    let below = ListNotesRequest { filter: Some(below), ..ListNotesRequest::default() };
    let below = notes.list_notes(below).await?.into_inner();
    assert!(below.total > 0 && below.notes.iter().all(|note| note.path.starts_with("Calendars/")));

    let request =
        ResolveLinkRequest { target: "leap SECOND".into(), ..ResolveLinkRequest::default() };
    let found = notes.resolve_link(request).await?.into_inner();
    assert_eq!(found.uri, Some(note.uri));

    let pieces = GraphServiceClient::new(channel.clone()).export(ExportRequest::default()).await?;
    let pieces: Vec<_> = pieces.into_inner().collect::<Result<_, _>>().await?;
    let n_nodes: usize = pieces
        .iter()
        .map(|piece| piece.nodes.iter().filter(|node| !node.placeholder).count())
        .sum();
    assert_eq!(n_nodes as u64, whole.total);
    assert!(pieces.iter().any(|piece| !piece.edges.is_empty()));

    let mut admin = AdminServiceClient::new(channel);
    let ledger: Vec<_> =
        admin.coverage(CoverageRequest {}).await?.into_inner().collect::<Result<_, _>>().await?;
    let files: Vec<_> = ledger.into_iter().flat_map(|piece| piece.files).collect();
    let (indexed, others): (Vec<_>, Vec<_>) =
        files.iter().partition(|file| file.state() == FileState::Indexed);
    assert_eq!(indexed.len() as u64, whole.total);
    let skipped =
        |file: &&FileCoverage| file.state() == FileState::Skipped && file.reason.is_some();
    assert!(!others.is_empty() && others.iter().all(skipped), "{others:?}");
    let progress: Vec<_> = admin
        .reindex(ReindexRequest::default())
        .await?
        .into_inner()
        .collect::<Result<_, _>>()
        .await?;
    assert!(progress.last().is_some_and(|last| last.done && last.generation == whole.generation));
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn saved_file_becomes_a_hit() -> Result<(), Failure> {
    let vault = tempfile::tempdir()?;
    std::fs::write(vault.path().join("fern.md"), "# Fern\nsee [[moss]]\n")?;
    let daemon = TestDaemon::start(vault.path(), NO_MODEL).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    std::fs::write(vault.path().join("moss.md"), "# Moss\nsoft and green\n")?;
    daemon.push(vault.path())?;
    let mut admin = AdminServiceClient::new(channel.clone());
    let mut rescan = admin.reindex(ReindexRequest::default()).await?.into_inner();
    while rescan.message().await?.is_some() {}
    let generation = admin.flush(FlushRequest {}).await?.into_inner().generation;
    let answer =
        SearchServiceClient::new(channel).search(query("soft green", SearchMode::Keyword)).await?;
    let answer = answer.into_inner();
    let uris: Vec<&str> = answer.hits.iter().map(|hit| hit.uri.as_str()).collect();
    assert_eq!((answer.generation, uris), (generation, vec!["moss", "fern"]));
    daemon.stop().await?;
    Ok(())
}

fn around(focus: &str, n_notes: i64) -> RelatedRequest {
    RelatedRequest {
        focus: focus.to_owned(),
        budget: Some(n_notes),
        estimator: Some("unit".to_owned()),
        ..RelatedRequest::default()
    }
}

async fn related(
    channel: &TestChannel,
    request: RelatedRequest,
) -> Result<RelatedResponse, Failure> {
    Ok(GraphServiceClient::new(channel.clone()).related(request).await?.into_inner())
}

fn named(answer: &RelatedResponse) -> Vec<(String, Relation)> {
    answer.related_notes.iter().map(|note| (note.uri.clone(), note.relation())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn related_notes_are_returned_whole_or_in_pages() -> Result<(), Failure> {
    let (daemon, channel) = serving(NO_MODEL).await?;
    let statement = "Chronometer solved longitude";
    let text = RelatedRequest { rendering: Rendering::Markdown.into(), ..around(statement, 1000) };
    let whole = related(&channel, text).await?;
    let focus = whole.focus_note.clone().ok_or("no focus note")?;
    assert_eq!((focus.title.as_str(), focus.relation()), ("solved", Relation::Self_));
    let about = focus.object.as_ref().ok_or("no object")?;
    let first: Vec<_> = whole
        .related_notes
        .iter()
        .take(2)
        .map(|note| (note.relation(), note.title.as_str()))
        .collect();
    let expected =
        [(Relation::Parent, "Marine chronometer"), (Relation::Object, about.title.as_str())];
    assert_eq!(first, expected);
    assert_eq!((whole.used + whole.remaining, whole.resume_token.as_ref()), (1000, None));
    let rendered = whole.rendered.as_deref().ok_or("no text")?;
    assert!(
        rendered.contains(&format!("- object: [{}]({})", about.title, about.uri)),
        "{rendered}"
    );
    assert_eq!(rendered.matches("\n- relation: ").count(), whole.related_notes.len());

    let (mut joined, mut resume_token) = (Vec::new(), String::new());
    loop {
        let page =
            related(&channel, RelatedRequest { resume_token, ..around(statement, 7) }).await?;
        joined.extend(named(&page));
        assert_eq!((page.generation, page.rendered), (whole.generation, None));
        match page.resume_token {
            Some(token) => resume_token = token,
            None => break,
        }
    }
    assert_eq!(joined, named(&whole));

    let alone = related(&channel, around(statement, 0)).await?;
    assert!(
        alone.related_notes.is_empty()
            && alone.focus_note.is_some_and(|note| note.parent.is_some())
    );
    for (request, code, field) in [
        (around(statement, -1), Code::InvalidArgument, Some("budget")),
        (around(statement, 1_000_001), Code::InvalidArgument, Some("budget")),
        (
            RelatedRequest { total_budget: Some(9), ..around(statement, 9) },
            Code::InvalidArgument,
            Some("total_budget"),
        ),
        (around(" ", 9), Code::InvalidArgument, Some("focus")),
        (
            RelatedRequest { estimator: Some("words".into()), ..around(statement, 9) },
            Code::InvalidArgument,
            Some("estimator"),
        ),
        (
            RelatedRequest { rendering: 99, ..around(statement, 9) },
            Code::InvalidArgument,
            Some("rendering"),
        ),
        (
            RelatedRequest { resume_token: "no token".into(), ..around(statement, 9) },
            Code::InvalidArgument,
            Some("resume_token"),
        ),
        (around("Marine chronometr", 9), Code::NotFound, None),
    ] {
        let answer = GraphServiceClient::new(channel.clone()).related(request.clone()).await;
        let status = answer.expect_err("the request is refused");
        assert_eq!(status.code(), code, "{request:?}: {status}");
        let fields =
            status.get_details_bad_request().map(|bad| bad.field_violations).unwrap_or_default();
        assert_eq!(fields.first().map(|violation| violation.field.as_str()), field, "{status}");
    }
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn paging_continues_on_its_generation() -> Result<(), Failure> {
    if is_skipped_over(1, "only the node that answered first pins the generation") {
        return Ok(());
    }
    for (held, goes_on) in [("1", true), ("0", false)] {
        let vault = tempfile::tempdir()?;
        for name in ["index", "fern", "moss", "stone"] {
            std::fs::write(vault.path().join(format!("{name}.md")), name)?;
        }
        let settings = [NO_MODEL, &[("related.pinned_generations", held)]].concat();
        let daemon = TestDaemon::start(vault.path(), &settings).await?;
        let channel = daemon.channel().await?;
        served(&channel).await?;
        ready(&channel).await?;
        let first = related(&channel, around("index", 1)).await?;
        std::fs::write(vault.path().join("liverwort.md"), "flat and wet")?;
        daemon.push(vault.path())?;
        let mut admin = AdminServiceClient::new(channel.clone());
        let mut rescan = admin.reindex(ReindexRequest::default()).await?.into_inner();
        while rescan.message().await?.is_some() {}
        admin.flush(FlushRequest {}).await?;

        let resume_token = first.resume_token.ok_or("more notes follow")?;
        let sent_request =
            RelatedRequest { resume_token: resume_token.clone(), ..around("index", 9) };
        let next = GraphServiceClient::new(channel.clone()).related(sent_request).await;
        if goes_on {
            let next = next?.into_inner();
            assert_eq!(next.generation, first.generation);
            let uris: Vec<_> = next.related_notes.iter().map(|note| note.uri.as_str()).collect();
            assert_eq!(uris, ["moss", "stone"], "the new note belongs to a later generation");
            let other = RelatedRequest { resume_token, ..around("moss", 9) };
            let status =
                GraphServiceClient::new(channel).related(other).await.expect_err("another");
            assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        } else {
            let status = next.expect_err("the generation is no longer pinned");
            assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
            let info = status.get_details_error_info().ok_or("no details")?;
            assert_eq!(info.metadata["asked"], first.generation.to_string());
        }
        daemon.stop().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_carry_details() -> Result<(), Failure> {
    let (daemon, channel) = serving(NO_MODEL).await?;
    let mut search = SearchServiceClient::new(channel.clone());
    for (request, code, field) in [
        (query(" ", SearchMode::Hybrid), Code::InvalidArgument, Some("query")),
        (
            SearchRequest { limit: Some(0), ..query("x", SearchMode::Hybrid) },
            Code::InvalidArgument,
            Some("limit"),
        ),
        (
            SearchRequest { snippets: Some(101), ..query("x", SearchMode::Hybrid) },
            Code::InvalidArgument,
            Some("snippets"),
        ),
        (
            SearchRequest { mode: 99, ..query("x", SearchMode::Hybrid) },
            Code::InvalidArgument,
            Some("mode"),
        ),
        (query("x", SearchMode::Vector), Code::FailedPrecondition, None),
    ] {
        let status = search.search(request.clone()).await.expect_err("the request is refused");
        assert_eq!(status.code(), code, "{request:?}: {status}");
        let fields =
            status.get_details_bad_request().map(|bad| bad.field_violations).unwrap_or_default();
        assert_eq!(fields.first().map(|violation| violation.field.as_str()), field);
        assert!(status.get_details_error_info().is_some_and(|info| info.domain == "noteweft"));
    }
    let request = GetNoteRequest { name: "Leap secnd".into(), ..GetNoteRequest::default() };
    let status =
        NoteServiceClient::new(channel).get_note(request).await.expect_err("the note is unknown");
    assert_eq!(status.code(), Code::NotFound);
    let info = status.get_details_error_info().ok_or("no details")?;
    assert!(info.metadata["near_1"].ends_with("Leap second"), "{info:?}");
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn reflection_names_every_service() -> Result<(), Failure> {
    use tonic_reflection::pb::{v1, v1alpha};
    let (daemon, channel) = serving(NO_MODEL).await?;
    let request = v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1::server_reflection_request::MessageRequest::ListServices(
            String::new(),
        )),
    };
    let mut client = v1::server_reflection_client::ServerReflectionClient::new(channel.clone());
    let answers = client.server_reflection_info(tokio_stream::iter([request])).await?;
    let answer = answers.into_inner().message().await?.and_then(|answer| answer.message_response);
    let Some(v1::server_reflection_response::MessageResponse::ListServicesResponse(list)) = answer
    else {
        return Err("no list".into());
    };
    let names: Vec<&str> = list.service.iter().map(|service| service.name.as_str()).collect();
    for service in ["Search", "Context", "Note", "Graph", "Admin"] {
        let name = format!("noteweft.v1.{service}Service");
        assert!(names.contains(&name.as_str()), "{name} is not in {names:?}");
    }
    assert!(names.contains(&"grpc.health.v1.Health"));

    let request = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(
            v1alpha::server_reflection_request::MessageRequest::FileContainingSymbol(
                "noteweft.v1.SearchService".into(),
            ),
        ),
    };
    let mut client = v1alpha::server_reflection_client::ServerReflectionClient::new(channel);
    let answers = client.server_reflection_info(tokio_stream::iter([request])).await?;
    let answer = answers.into_inner().message().await?.and_then(|answer| answer.message_response);
    assert!(matches!(
        answer,
        Some(v1alpha::server_reflection_response::MessageResponse::FileDescriptorResponse(_))
    ));
    daemon.stop().await?;
    Ok(())
}
