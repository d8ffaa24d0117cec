//! Nodes of one collection: what differs from a daemon over a folder, and requests that continue on another node.

use std::time::Duration;

use tokio::task::block_in_place;
use tonic::Code;
use tonic_types::StatusExt as _;
use weft_cluster::{Collection, Commit, Database, Dsn, FileChange};
use weft_proto::noteweft::v1::admin_service_client::AdminServiceClient;
use weft_proto::noteweft::v1::graph_service_client::GraphServiceClient;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::{
    ListNotesRequest, LocateNoteRequest, RelatedRequest, StatusRequest, StatusResponse,
};
use weft_testkit::Postgres;
use weft_tests::{Failure, TestDaemon, example, is_skipped_over, served};

use crate::{NO_MODEL, around};

/// A collection with the vault `notes`, in a database that all tests of the process share.
struct Place {
    collection: Collection,
    postgres: String,
}

impl Place {
    /// Creates a collection; `None` if PostgreSQL is not installed.
    fn create(name: &str) -> Result<Option<Self>, Failure> {
        let Some(server) = block_in_place(Postgres::shared) else { return Ok(None) };
        let file = server.dsn_file();
        let collection = block_in_place(|| {
            let database = Database::connect(&Dsn::read(&file)?)?;
            database.migrate()?;
            Ok::<_, Failure>(Collection::create(&database, name, &["notes"])?)
        })?;
        Ok(Some(Self { collection, postgres: file.display().to_string() }))
    }

    /// Commits a note, and returns the number of the commit.
    fn put(&self, path: &str, text: &str) -> Result<u64, Failure> {
        let put = FileChange::put("notes", path, text.into());
        Ok(block_in_place(|| self.collection.commit(&Commit::of(vec![put])))?)
    }

    async fn start(&self, id: &str, settings: &[(&str, &str)]) -> Result<TestDaemon, Failure> {
        let own = [
            ("cluster.collection", self.collection.name()),
            ("cluster.postgres", self.postgres.as_str()),
            ("cluster.node", id),
        ];
        let daemon = TestDaemon::start_node(&[NO_MODEL, &own, settings].concat()).await?;
        served(&daemon.socket_channel().await?).await?;
        Ok(daemon)
    }
}

async fn status(daemon: &TestDaemon) -> Result<StatusResponse, Failure> {
    let mut admin = AdminServiceClient::new(daemon.channel().await?);
    Ok(admin.status(StatusRequest {}).await?.into_inner())
}

#[tokio::test(flavor = "multi_thread")]
async fn status_of_a_node_contains_its_lag() -> Result<(), Failure> {
    let Some(place) = Place::create("status-of-a-node")? else { return Ok(()) };
    let daemon = place.start("node1", &[("cluster.poll_ms", "5")]).await?;
    let head = place.put("fern.md", "# Fern")?;
    loop {
        let found = status(&daemon).await?;
        let node = found.node.ok_or("no state of a node")?;
        assert_eq!((node.collection.as_str(), node.name.as_str()), ("status-of-a-node", "node1"));
        assert_eq!((node.ready, node.not_ready_reason), (true, None));
        assert_eq!(node.newest_commit, found.generation + node.lag_commit_count);
        assert!(node.lag_seconds >= 0.0 && node.lag_seconds.is_finite());
        if found.generation == head {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn status_of_a_daemon_over_folders_contains_no_node() -> Result<(), Failure> {
    if is_skipped_over(0, "a node of a collection has a state") {
        return Ok(());
    }
    let daemon = TestDaemon::start(&example(), NO_MODEL).await?;
    served(&daemon.socket_channel().await?).await?;
    assert_eq!(status(&daemon).await?.node, None);
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn note_of_a_collection_has_no_file() -> Result<(), Failure> {
    let Some(place) = Place::create("no-file")? else { return Ok(()) };
    place.put("plants/fern.md", "# Fern")?;
    let daemon = place.start("node1", &[]).await?;
    let mut notes = NoteServiceClient::new(daemon.channel().await?);
    let named =
        |name: &str| LocateNoteRequest { name: name.into(), ..LocateNoteRequest::default() };
    let refused = notes.locate_note(named("fern")).await.expect_err("there is no file");
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    let info = refused.get_details_error_info().ok_or("no details")?;
    assert_eq!(
        (info.reason.as_str(), info.metadata["path"].as_str()),
        ("NO_FILE", "plants/fern.md")
    );
    for part in ["`plants/fern`", "`no-file`", "weft pull DIR --name notes"] {
        assert!(refused.message().contains(part), "{refused}");
    }
    let refused = notes.locate_note(named("moss")).await.expect_err("there is no note");
    assert_eq!(refused.code(), Code::NotFound, "{refused}");
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_continue_on_another_node() -> Result<(), Failure> {
    let Some(place) = Place::create("pages")? else { return Ok(()) };
    for name in ["fern", "index", "moss", "stone"] {
        place.put(&format!("{name}.md"), name)?;
    }
    let first = place.start("first", &[("cluster.poll_ms", "5")]).await?;
    // Seldom asks for commits, so it is behind after a write.
    let other = place.start("other", &[("cluster.poll_ms", "400")]).await?;
    let graph = async |daemon: &TestDaemon, request: RelatedRequest| {
        Ok::<_, Failure>(GraphServiceClient::new(daemon.channel().await?).related(request).await)
    };
    let head = place.put("lichen.md", "lichen")?;
    let newest = RelatedRequest { min_generation: Some(head), ..around("index", 1) };
    let page = graph(&first, newest).await??.into_inner();
    assert_eq!(page.generation, head);
    let resume_token = page.resume_token.ok_or("more notes follow")?;
    let rest = RelatedRequest { resume_token, ..around("index", 9) };
    let next = graph(&other, rest.clone()).await??.into_inner();
    assert_eq!(next.generation, head, "the node waits until it has applied the commits");
    let uris: Vec<_> = next.related_notes.iter().map(|note| note.uri.as_str()).collect();
    assert_eq!(uris, ["lichen", "moss", "stone"]);

    let list = async |daemon: &TestDaemon, page_token: String, min_generation: Option<u64>| {
        let request = ListNotesRequest {
            page_size: Some(3),
            page_token,
            min_generation,
            ..ListNotesRequest::default()
        };
        let mut notes = NoteServiceClient::new(daemon.channel().await?);
        Ok::<_, Failure>(notes.list_notes(request).await?.into_inner())
    };
    let front = list(&first, String::new(), None).await?;
    let head = place.put("thyme.md", "thyme")?;
    let back = list(&other, front.next_page_token, Some(head)).await?;
    let uris = [front.notes, back.notes].concat();
    let uris: Vec<_> = uris.iter().map(|note| note.uri.as_str()).collect();
    assert_eq!(uris, ["fern", "index", "lichen", "moss", "stone", "thyme"]);

    let third = place.start("third", &[]).await?;
    let stale = graph(&third, rest.clone()).await?.expect_err("it never had the generation");
    assert_eq!(stale.code(), Code::FailedPrecondition, "{stale}");
    assert!(stale.message().contains(&format!("with `min_generation` {head}")), "{stale}");
    let info = stale.get_details_error_info().ok_or("no details")?;
    assert_eq!(info.reason, "STALE_TOKEN");
    let min_generation = Some(info.metadata["newest"].parse::<u64>()?);
    let again = RelatedRequest { min_generation, ..around("index", 9) };
    let again = graph(&first, again).await??.into_inner();
    assert_eq!((again.generation, again.related_notes.len()), (head, 5));
    // The node that answered first has pinned the generation.
    let same = graph(&first, rest).await??.into_inner();
    assert_eq!(same.generation, page.generation);
    for daemon in [first, other, third] {
        daemon.stop().await?;
    }
    Ok(())
}
