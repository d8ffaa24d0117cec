//! The condition of a vault through the API, and links written on request.

use tonic::Code;
use tonic_types::StatusExt as _;
use weft_proto::noteweft::v1::hygiene_service_client::HygieneServiceClient;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::{
    BrokenLinksRequest, DuplicatesRequest, FixReason, LinkMentionsRequest, MentionToLink, Span,
    StaleNotesRequest, SuggestedLinksRequest,
};
use weft_tests::{Failure, TestDaemon, is_skipped_over, served};

use super::NO_MODEL;

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_explained_and_paged_and_links_are_written_once() -> Result<(), Failure> {
    let vault = tempfile::tempdir()?;
    let text: String = (0..60).map(|n| format!("word{n} ")).collect();
    for (name, text) in [
        ("Water clock", "It drips.\n".to_owned()),
        ("essay", format!("Every water clock drips, as [[Watr clock]] says.\n\n{text}\n")),
        ("copy", format!("{text} and more, by water clock\n")),
        ("old", "---\nupdated: 2001-01-01\n---\nOld.\n".to_owned()),
        ("one", "[[old]]\n".to_owned()),
        ("two", "[[old]]\n".to_owned()),
    ] {
        std::fs::write(vault.path().join(format!("{name}.md")), text)?;
    }
    let daemon = TestDaemon::start(vault.path(), NO_MODEL).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    let mut hygiene = HygieneServiceClient::new(channel.clone());
    let mut notes = NoteServiceClient::new(channel);

    let pairs = hygiene.duplicates(DuplicatesRequest::default()).await?.into_inner();
    let example = pairs.pairs[0].example.clone().ok_or("no example")?;
    assert_eq!((pairs.total, pairs.sampling, example.words), (1, 1, 60));
    let stale = hygiene.stale_notes(StaleNotesRequest::default()).await?.into_inner();
    assert_eq!((stale.total, &*stale.notes[0].changed), (1, "2001-01-01"));
    let broken = hygiene.broken_links(BrokenLinksRequest::default()).await?.into_inner();
    assert_eq!(broken.links[0].fixes[0].reason(), FixReason::SimilarName);

    let page = |page_token: String| SuggestedLinksRequest {
        page_size: Some(1),
        page_token,
        ..SuggestedLinksRequest::default()
    };
    let first = hygiene.suggested_links(page(String::new())).await?.into_inner();
    let second = hygiene.suggested_links(page(first.next_page_token.clone())).await?.into_inner();
    assert_eq!((first.total, second.next_page_token.as_str()), (2, ""));
    let other =
        BrokenLinksRequest { page_token: first.next_page_token, ..BrokenLinksRequest::default() };
    let refused = hygiene.broken_links(other).await.expect_err("a token of another list");
    assert_eq!(refused.code(), Code::InvalidArgument);

    let link = second.links[0].clone();
    let target = link.target.ok_or("no target")?.uri;
    let request = LinkMentionsRequest {
        note: link.note.ok_or("no note")?.uri,
        expected_hash: link.hash,
        mentions: vec![MentionToLink { span: link.span, target: target.clone() }],
    };
    assert_eq!(request.note, "essay");
    let written = notes.link_mentions(request.clone()).await?.into_inner();
    assert_eq!(written.links, ["[[water clock]]"]);
    let essay = daemon.text(vault.path(), "essay.md")?;
    assert!(essay.starts_with("Every [[water clock]] drips, as [["), "{essay}");
    if !is_skipped_over(1, "a node that has not applied the write repeats it with the same result")
    {
        let again = notes.link_mentions(request.clone()).await.expect_err("the note has changed");
        let reason = again.get_details_error_info().map(|info| info.reason);
        assert_eq!((again.code(), reason.as_deref()), (Code::Aborted, Some("CONTENT_CHANGED")));
    }
    for (mentions, field) in [
        (vec![], "mentions"),
        (vec![MentionToLink { span: None, target: target.clone() }], "mentions.span"),
        (vec![MentionToLink { span: Some(Span { start: 7, end: 9 }), target }], "mentions"),
    ] {
        let expected_hash = written.hash.clone();
        let request = LinkMentionsRequest { expected_hash, mentions, ..request.clone() };
        let refused = notes.link_mentions(request).await.err().ok_or(field)?;
        let fields = refused.get_details_bad_request().ok_or("no details")?.field_violations;
        assert_eq!((refused.code(), &*fields[0].field), (Code::InvalidArgument, field));
    }
    daemon.stop().await?;
    Ok(())
}
