//! Reasons why a file has no indexed note.

use std::path::Path;

use tonic::Code;
use tonic_types::StatusExt as _;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{
    GetNoteRequest, MissReason, SearchRequest, WhyNotRequest, WhyNotResponse,
};
use weft_tests::{Failure, TestDaemon, is_skipped_over, served};

/// Writes a file for each reason why it is not indexed.
fn write_vault(vault: &Path) -> Result<(), Failure> {
    std::fs::create_dir(vault.join("drafts"))?;
    for (path, text) in [
        ("fern.md", "a fern, see [[moss]], [[hidden]] and [[nowhere]]\n".to_owned()),
        ("moss.md", "soft\n".to_owned()),
        ("hidden.md", "---\nindexed: false\n---\na fern\n".to_owned()),
        ("large.md", "a fern ".repeat(100)),
        ("old.md", "a fern of old\n".to_owned()),
        (".gitignore", "drafts/\n".to_owned()),
        ("drafts/idea.md", "a fern to be\n".to_owned()),
    ] {
        std::fs::write(vault.join(path), text)?;
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("gone.md", vault.join("broken.md"))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unindexed_files_have_a_reason() -> Result<(), Failure> {
    if is_skipped_over(0, "files that are not notes stay in the folder") {
        return Ok(());
    }
    let vault = tempfile::tempdir()?;
    write_vault(vault.path())?;
    let settings = [
        ("embedding.model", "none"),
        ("scan.max_file_bytes", "300"),
        ("scan.exclude", "[\"old.md\"]"),
    ];
    let daemon = TestDaemon::start(vault.path(), &settings).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    let mut search = SearchServiceClient::new(channel.clone());
    let mut why = async |note: &str| {
        let sent_request = SearchRequest { query: "fern".into(), ..SearchRequest::default() };
        let request = WhyNotRequest { note: note.into(), search: Some(sent_request) };
        search.why_not(request).await.map(tonic::Response::into_inner)
    };
    for (name, note, loss, reason) in [
        ("a hit", "fern", MissReason::None, "the note is a hit"),
        ("a neighbor", "moss", MissReason::None, "the note is a hit"),
        ("too large", "large.md", MissReason::NotIndexed, "max_file_bytes"),
        ("a rule of the settings", "old", MissReason::NotIndexed, "scan.exclude"),
        ("a folder that git ignores", "drafts/idea.md", MissReason::NotIndexed, "drafts/"),
        ("its own property, in any case", "Hidden.md", MissReason::NotIndexed, "`indexed: false`"),
        (
            "its own property, although links name it",
            "hidden",
            MissReason::NotIndexed,
            "`indexed: false`",
        ),
        #[cfg(unix)]
        ("an unreadable file", "broken.md", MissReason::NotIndexed, "cannot be reached"),
        ("no file", "nowhere", MissReason::NotIndexed, "no file has that name"),
    ] {
        let WhyNotResponse { miss_reason: found, reason: message, hit, .. } = why(note).await?;
        assert_eq!(found, i32::from(loss), "{name}: {message}");
        assert!(message.contains(reason), "{name}: {message}");
        assert_eq!(hit.is_some(), loss == MissReason::None, "{name}");
    }
    let unknown = why("firn").await.expect_err("no note has this name");
    assert_eq!(unknown.code(), Code::NotFound, "{unknown}");
    let mut notes = NoteServiceClient::new(channel.clone());
    for (name, file) in [("large", Some("large.md")), ("firn", None)] {
        let request = GetNoteRequest { name: name.into(), ..GetNoteRequest::default() };
        let unknown = notes.get_note(request).await.expect_err("no note has this name");
        let info = unknown.get_details_error_info().ok_or("no details")?;
        assert_eq!((unknown.code(), info.reason.as_str()), (Code::NotFound, "UNKNOWN_NOTE"));
        assert_eq!(info.metadata.get("file").map(String::as_str), file, "{unknown}");
        assert_eq!(unknown.message().contains("max_file_bytes"), file.is_some(), "{unknown}");
    }
    let mut client = SearchServiceClient::new(channel);
    for (search, field) in [
        (SearchRequest::default(), "search.query"),
        (
            SearchRequest { query: "fern".into(), limit: Some(0), ..SearchRequest::default() },
            "search.limit",
        ),
        (
            SearchRequest {
                query: "fern".into(),
                min_generation: Some(1),
                as_of: Some(1),
                ..SearchRequest::default()
            },
            "search.as_of",
        ),
    ] {
        let request = WhyNotRequest { note: "moss".into(), search: Some(search) };
        let refused = client.why_not(request).await.expect_err("the request is invalid");
        let bad = refused.get_details_bad_request().ok_or("no details")?;
        assert_eq!(bad.field_violations[0].field, field, "{refused}");
    }
    Ok(())
}
