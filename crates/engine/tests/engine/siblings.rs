//! Topic siblings by name.

use weft_engine::{EngineError, Filter, SiblingKind, SiblingsRequest};

use crate::vault::vault_of_words;

fn request(note: &str) -> SiblingsRequest {
    SiblingsRequest { note: note.into(), limit: 10, ..SiblingsRequest::default() }
}

#[test]
fn siblings_are_returned_with_their_topic() {
    let vault = vault_of_words(&[
        ("Ontology/Shade.md", "a topic\n"),
        ("fern.md", "grows in [[Shade]], beside [[moss]]\n"),
        ("moss.md", "soft\n"),
        ("ivy.md", "climbs in [[Shade]]\n"),
        ("yew.md", "---\ntags: [tree]\n---\nstands in [[Shade]] and [[Ontology/Damp]]\n"),
        ("rush.md", "stands in [[Ontology/Damp]]\n"),
        ("Ontology2/Sun.md", "no topic: another folder\n"),
        ("sage.md", "likes [[Sun]]\n"),
        ("thyme.md", "likes [[Sun]]\n"),
        ("ontology/Dry.md", "a topic, whatever the case\n"),
        ("oak.md", "likes [[Dry]]\n"),
        ("elm.md", "likes [[Dry]]\n"),
    ]);
    let engine = vault.engine();
    let found = |request: &SiblingsRequest| -> Vec<(String, SiblingKind, Option<String>)> {
        let siblings = engine.siblings(request).unwrap().siblings;
        let found = siblings
            .into_iter()
            .map(|near| (near.uri.to_string(), near.kind, near.via.map(|topic| topic.to_string())));
        found.collect()
    };
    let direct = |uri: &str| (uri.to_owned(), SiblingKind::Direct, None);
    let sibling =
        |uri: &str, topic: &str| (uri.to_owned(), SiblingKind::Sibling, Some(topic.to_owned()));
    let shade = "Ontology/Shade";
    assert_eq!(
        found(&request("fern")),
        [direct(shade), direct("moss"), sibling("ivy", shade), sibling("yew", shade)]
    );
    assert_eq!(found(&request("rush")), [sibling("yew", "Ontology/Damp")], "a placeholder joins");
    assert_eq!(found(&request("sage")), [direct("Ontology2/Sun")], "whole segments");
    let dry = "ontology/Dry";
    assert_eq!(found(&request("oak")), [direct(dry), sibling("elm", dry)]);
    let filter = Filter { tags: vec!["tree".into()], ..Filter::default() };
    assert_eq!(found(&SiblingsRequest { filter, ..request("fern") }), [sibling("yew", shade)]);

    let one = engine.siblings(&SiblingsRequest { limit: 1, ..request("fern") }).unwrap();
    assert!(one.truncated && one.siblings.len() == 1);
    let error = engine.siblings(&SiblingsRequest { limit: 0, ..request("fern") }).unwrap_err();
    assert!(matches!(error, EngineError::InvalidArgument { field: "limit", .. }));
    assert!(matches!(engine.siblings(&request("firn")), Err(EngineError::UnknownNote { .. })));
}
