//! Queries and vaults at the edges: each gives a bounded answer.

use weft_engine::{Profile, SearchAnswer, SearchRequest};

use crate::vault::{Vault, request, uris, vault, vault_of_words};

/// Asks in both profiles and checks that every number is one.
fn asked(vault: &Vault, query: &str) -> [SearchAnswer; 2] {
    [Profile::Bridge, Profile::Classic].map(|profile| {
        let answer = vault.ask(&SearchRequest { profile: Some(profile), ..request(query) });
        for hit in &answer.hits {
            let parts = [
                hit.score,
                hit.signals.similarity,
                hit.signals.centrality,
                hit.signals.activation,
                hit.vector_score,
                hit.keyword_score,
                hit.name_score,
            ];
            assert!(parts.iter().all(|part| (0.0..=1.0).contains(part)), "{query}: {hit:?}");
        }
        answer
    })
}

#[test]
fn odd_queries_have_bounded_answers() {
    let vault = vault(&[
        ("fern.md", "the fern and the moss 🌿 [[moss]]\n"),
        ("moss.md", "the moss\n"),
        ("stone.md", "grey\n"),
    ]);
    let long: String = (0..10_000).map(|at| format!("word{at} ")).collect();
    for query in
        ["the of and", "", "   ", "🌿", "zzyzx", "-fern", "+", "\"\"", &long, "\u{0}\u{202e}"]
    {
        asked(&vault, query);
    }
}

#[test]
fn lexical_noise_stays_noise() {
    let padding = "word ".repeat(2_000);
    let mut files: Vec<(String, String)> =
        (0..40).map(|at| (format!("n{at}.md"), "rivers and stones\n".to_owned())).collect();
    files.push(("noise.md".into(), format!("{padding} frond\n")));
    let vault = vault_of_words(&files);
    let [bridge, classic] = asked(&vault, "frond of a fern seen at dusk beside rivers");
    for answer in [bridge, classic] {
        let noise = answer.hits.iter().find(|hit| hit.uri.as_str() == "noise").unwrap();
        assert!(noise.score < 0.05, "{noise:?}");
    }
}

#[test]
fn small_and_unlinked_vaults_rank() {
    let none = vault_of_words::<&str, &str>(&[]);
    assert!(asked(&none, "fern").iter().all(|answer| answer.hits.is_empty()));
    let three = vault_of_words(&[
        ("fern.md", "fern [[moss]]\n"),
        ("moss.md", "moss\n"),
        ("stone.md", "stone\n"),
    ]);
    for answer in asked(&three, "fern") {
        assert_eq!(uris(&answer)[0], "fern");
    }
    let lone = vault_of_words(&[("fern.md", "fern\n"), ("stone.md", "stone and fern and more\n")]);
    for answer in asked(&lone, "fern") {
        assert_eq!(uris(&answer), ["fern", "stone"]);
    }
}

#[test]
fn a_hub_does_not_float_to_the_top() {
    let mut files: Vec<(String, String)> =
        (0..600).map(|at| (format!("n{at}.md"), format!("entry {at} of the [[hub]]\n"))).collect();
    files.push(("hub.md".into(), "everything is listed here\n".into()));
    files.push(("fern.md".into(), "the fern unrolls its fronds, see the [[hub]]\n".into()));
    let vault = vault_of_words(&files);
    let [bridge, _] = asked(&vault, "how does a fern unroll its fronds");
    assert_eq!(uris(&bridge)[0], "fern");
    let hub = bridge.hits.iter().find(|hit| hit.uri.as_str() == "hub").unwrap();
    // One hit that links to it is all that lifts it; 600 notes that do not answer add nothing.
    assert!(hub.score < bridge.hits[0].score && hub.contributions.centrality <= 0.02, "{hub:?}");
}
