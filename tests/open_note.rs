//! Opening notes and showing their images: places in the file system, facets, and images over HTTP.

use std::path::Path;

use tonic::{Code, Request};
use tonic_types::StatusExt as _;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{FacetValue, FacetsRequest, Filter, LocateNoteRequest, OpenWith};
use weft_tests::{Failure, TestDaemon, is_skipped_over, served};

use crate::NO_MODEL;
use crate::web_page::ask;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n....";

/// Writes files into a new vault.
fn vault(files: &[(&str, &[u8])]) -> Result<tempfile::TempDir, Failure> {
    let folder = tempfile::tempdir()?;
    for (path, bytes) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().ok_or("a folder")?)?;
        std::fs::write(path, bytes)?;
    }
    Ok(folder)
}

async fn daemon(vault: &Path, settings: &[(&str, &str)]) -> Result<TestDaemon, Failure> {
    let daemon = TestDaemon::start(vault, &[NO_MODEL, settings].concat()).await?;
    served(&daemon.socket_channel().await?).await?;
    Ok(daemon)
}

const FERN: &str =
    "---\ntags: [green, green/dark]\n---\n# Fern\n\nIt is soft.\n\n## Spores\n\nThey fly. ^fly\n";

#[tokio::test(flavor = "multi_thread")]
async fn note_is_located_at_the_line_of_its_part() -> Result<(), Failure> {
    if is_skipped_over(0, "a note of a collection has no file to open") {
        return Ok(());
    }
    let folder = vault(&[
        ("plants/a fern.md", FERN.as_bytes()),
        ("x/moss.md", b"# Moss\n"),
        ("y/moss.md", b"# Moss\n"),
    ])?;
    let daemon = daemon(folder.path(), &[("open.with", "obsidian")]).await?;
    let mut notes = NoteServiceClient::new(daemon.channel().await?);
    let real = folder.path().canonicalize()?;
    let file = real.join("plants/a fern.md").to_string_lossy().into_owned();
    for (name, offset, line, column) in [
        ("plants/a fern", None, 1, 1),
        ("a fern#Spores", None, 8, 1),
        ("a fern#^fly", None, 10, 1),
        ("a fern#Spores", Some(11), 6, 4),
    ] {
        let request = LocateNoteRequest { name: name.into(), offset, min_generation: None };
        let place = notes.locate_note(request).await?.into_inner();
        assert_eq!((place.line, place.column), (line, column), "{name} {offset:?}");
        assert_eq!((&*place.file, &*place.path), (&*file, "plants/a fern.md"));
        assert!(
            place.vscode_url.starts_with("vscode://file/")
                && place.vscode_url.ends_with(&format!("/a%20fern.md:{line}:{column}")),
            "{}",
            place.vscode_url
        );
        assert!(
            place.obsidian_url.starts_with("obsidian://open?path=%2F"),
            "{}",
            place.obsidian_url
        );
        assert_eq!(place.open_with(), OpenWith::Obsidian);
        assert!(!place.changed && place.same_name.is_empty());
    }
    let named =
        |name: &str| LocateNoteRequest { name: name.into(), ..LocateNoteRequest::default() };
    let both = notes.locate_note(named("moss")).await?.into_inner();
    assert_eq!((&*both.uri, &*both.same_name[0].uri), ("x/moss", "y/moss"));
    for (name, code, reason) in [
        ("a fren", Code::NotFound, "UNKNOWN_NOTE"),
        ("a fern#None", Code::NotFound, "UNKNOWN_FRAGMENT"),
        (" ", Code::InvalidArgument, ""),
    ] {
        let refused = notes.locate_note(named(name)).await.unwrap_err();
        let given = refused.get_details_error_info().map(|info| info.reason).unwrap_or_default();
        assert_eq!(refused.code(), code, "{name}: {refused}");
        assert!(reason.is_empty() || given == reason, "{name}: {given}");
    }
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_do_not_learn_where_files_are() -> Result<(), Failure> {
    if is_skipped_over(0, "a note of a collection has no file to open") {
        return Ok(());
    }
    let folder = vault(&[("a.md", b"# A\n![](a.png)\n"), ("a.png", PNG)])?;
    let secret = folder.path().join(".token");
    std::fs::write(&secret, "a-secret-of-many-characters")?;
    let token = format!("[{{name = 'r', permission = 'read', file = '{}'}}]", secret.display());
    let daemon = daemon(folder.path(), &[("access.tokens", &token)]).await?;
    let bearer = "Bearer a-secret-of-many-characters";
    let mut request =
        Request::new(LocateNoteRequest { name: "a".into(), ..LocateNoteRequest::default() });
    request.metadata_mut().insert("authorization", bearer.parse()?);
    let refused = NoteServiceClient::new(daemon.channel().await?).locate_note(request).await;
    assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    // Images need the same permission as the text.
    let host = format!("host: {}", daemon.host());
    let name = folder.path().file_name().ok_or("a name")?.to_string_lossy();
    let image = format!("GET /image?vault={name}&note=a.md&target=a.png HTTP/1.1");
    let refused = ask(&daemon, &image, &[&host], b"").await?;
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    let authorization = format!("authorization: {bearer}");
    let shown = ask(&daemon, &image, &[&host, &authorization], b"").await?;
    assert!(shown.starts_with("HTTP/1.1 200"), "{shown}");
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn images_are_served_as_images_only() -> Result<(), Failure> {
    if is_skipped_over(0, "a collection holds no images") {
        return Ok(());
    }
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>";
    let folder = vault(&[
        ("notes/a.md", b"# A\n"),
        ("files/a.png", PNG),
        ("files/b.svg", svg),
        ("secret.png", b"no image"),
        ("private/c.png", PNG),
        (".weftignore", b"private/\n"),
    ])?;
    let daemon = daemon(folder.path(), &[]).await?;
    let name = folder.path().file_name().ok_or("a name")?.to_string_lossy().into_owned();
    let host = format!("host: {}", daemon.host());
    let get = async |target: &str, header: &str| {
        let first = format!("GET /image?vault={name}&note=notes%2Fa.md&target={target} HTTP/1.1");
        ask(&daemon, &first, &[&host, header], b"").await
    };
    let same = "sec-fetch-site: same-origin";
    let image = get("a.png", same).await?;
    assert!(
        image.starts_with("HTTP/1.1 200") && image.contains("content-type: image/png"),
        "{image}"
    );
    for header in
        ["x-content-type-options: nosniff", "sandbox", "cross-origin-resource-policy: same-origin"]
    {
        assert!(image.contains(header), "{header}: {image}");
    }
    let etag = image.lines().find_map(|line| line.strip_prefix("etag: ")).ok_or("an etag")?;
    let again = get("a.png", &format!("if-none-match: {etag}")).await?;
    assert!(again.starts_with("HTTP/1.1 304"), "{again}");
    let svg = get("..%2Ffiles%2Fb.svg", same).await?;
    assert!(
        svg.contains("content-type: image/svg+xml") && svg.contains("default-src 'none'"),
        "{svg}"
    );
    for (target, header, status) in [
        ("a.png", "sec-fetch-site: cross-site", 403),
        ("none.png", same, 404),
        ("secret.png", same, 404),
        ("private%2Fc.png", same, 404),
        ("..%2F..%2F..%2Fetc%2Fpasswd", same, 400),
        ("a.md", same, 400),
        ("", same, 400),
    ] {
        let refused = get(target, header).await?;
        assert!(refused.starts_with(&format!("HTTP/1.1 {status}")), "{target}: {refused}");
        assert!(!refused.contains("no image\n") || status == 404, "{refused}");
        assert!(!refused.contains(&*folder.path().to_string_lossy()), "{refused}");
    }
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn facets_count_matching_notes() -> Result<(), Failure> {
    let folder = vault(&[
        ("plants/fern.md", FERN.as_bytes()),
        ("plants/wet/moss.md", b"---\ntags: Green\ntype: Essay\n---\nsoft moss\n"),
        ("stone.md", b"---\ntype: essay\n---\nhard #grey\n"),
    ])?;
    let daemon = daemon(folder.path(), &[]).await?;
    let mut search = SearchServiceClient::new(daemon.channel().await?);
    let shown = |values: &[FacetValue]| {
        let values = values.iter().map(|it| format!("{} {}", it.value, it.note_count));
        values.collect::<Vec<_>>().join(", ")
    };
    for (query, tags, expected) in [
        ("", &[][..], (3, "plants 2, plants/wet 1", "Green 2, green/dark 1, grey 1", "Essay 2")),
        ("soft", &[], (2, "plants 2, plants/wet 1", "Green 2, green/dark 1", "Essay 1")),
        ("so", &[], (2, "plants 2, plants/wet 1", "Green 2, green/dark 1", "Essay 1")),
        ("soft -moss", &[], (1, "plants 1", "green 1, green/dark 1", "")),
        ("", &["green/dark"], (1, "plants 1", "green 1, green/dark 1", "")),
        ("zzz", &[], (0, "", "", "")),
    ] {
        let filter =
            Filter { tags: tags.iter().map(ToString::to_string).collect(), ..Filter::default() };
        let request = FacetsRequest {
            query: query.into(),
            filter: Some(filter),
            prefix_last_word: true,
            ..FacetsRequest::default()
        };
        let answer = search.facets(request).await?.into_inner();
        let found = (
            answer.note_count,
            &*shown(&answer.folders),
            &*shown(&answer.tags),
            &*shown(&answer.types),
        );
        assert_eq!(found, expected, "{query} {tags:?}");
        assert!(!answer.truncated && answer.generation > 0);
    }
    let one = FacetsRequest { max_values: Some(1), ..FacetsRequest::default() };
    let answer = search.facets(one).await?.into_inner();
    assert_eq!((answer.truncated, answer.folders.len(), answer.tags.len()), (true, 1, 1));
    for most in [0, 1001] {
        let request = FacetsRequest { max_values: Some(most), ..FacetsRequest::default() };
        assert_eq!(
            search.facets(request).await.unwrap_err().code(),
            Code::InvalidArgument,
            "{most}"
        );
    }
    daemon.stop().await?;
    Ok(())
}
