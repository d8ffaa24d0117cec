//! Notes that are no hit because no note is there: what is said of their files.

use std::path::Path;

use tonic::Code;
use tonic_types::StatusExt as _;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{Loss, SearchRequest, WhyNotRequest, WhyNotResponse};
use weft_tests::{Failure, Running, served};

/// A file for each reason why one is not indexed.
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
async fn a_file_that_is_not_indexed_tells_why() -> Result<(), Failure> {
    let vault = tempfile::tempdir()?;
    write_vault(vault.path())?;
    let settings = [
        ("embedding.model", "none"),
        ("scan.max_file_bytes", "300"),
        ("scan.exclude", "[\"old.md\"]"),
    ];
    let daemon = Running::start(vault.path(), &settings).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    let mut search = SearchServiceClient::new(channel.clone());
    let mut why = async |note: &str| {
        let asked = SearchRequest { query: "fern".into(), ..SearchRequest::default() };
        let request = WhyNotRequest { note: note.into(), search: Some(asked) };
        search.why_not(request).await.map(tonic::Response::into_inner)
    };
    for (name, note, loss, reason) in [
        ("a hit", "fern", Loss::None, "it is a hit"),
        ("a neighbour", "moss", Loss::None, "it is a hit"),
        ("too large", "large.md", Loss::NotIndexed, "max_file_bytes"),
        ("a rule of the settings", "old", Loss::NotIndexed, "scan.exclude"),
        ("a folder that git ignores", "drafts/idea.md", Loss::NotIndexed, "drafts/"),
        ("its own wish, in any case", "Hidden.md", Loss::NotIndexed, "`indexed: false`"),
        ("its own wish, though links name it", "hidden", Loss::NotIndexed, "`indexed: false`"),
        #[cfg(unix)]
        ("what cannot be read", "broken.md", Loss::NotIndexed, "leads nowhere"),
        ("no file", "nowhere", Loss::NotIndexed, "no file answers"),
    ] {
        let WhyNotResponse { loss: found, reason: said, hit, .. } = why(note).await?;
        assert_eq!(found, i32::from(loss), "{name}: {said}");
        assert!(said.contains(reason), "{name}: {said}");
        assert_eq!(hit.is_some(), loss == Loss::None, "{name}");
    }
    let unknown = why("firn").await.expect_err("nothing is named so");
    assert_eq!(unknown.code(), Code::NotFound, "{unknown}");
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
        let refused = client.why_not(request).await.expect_err("it cannot be asked");
        let bad = refused.get_details_bad_request().ok_or("no details")?;
        assert_eq!(bad.field_violations[0].field, field, "{refused}");
    }
    Ok(())
}
