//! Profile `classic` against a second implementation of its formulas, based on the exported graph and the similarities of an explanation.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use weft_engine::{
    Connection, Filter, Origin, Profile, SearchRequest, Warning, WarningCode, Weights,
};
use weft_model::LinkSource;

use crate::bridge::{WORDS, any_vault};
use crate::vault::{Vault, hit, request, uris, vault, vault_of_words};

fn classic(vault: &mut Vault) {
    vault.settings.profile = Profile::Classic;
    // Random texts have low similarities.
    vault.settings.classic.activation_floor = 0.2;
    vault.settings.classic.expansion_floor = 0.2;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn signals_follow_from_the_export_and_the_similarities(
        files in any_vault(),
        query in proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), 1..6),
        siblings_activate: bool,
    ) {
        let mut vault = vault(&files);
        classic(&mut vault);
        vault.settings.topics.siblings_activate = siblings_activate;
        vault.settings.topics.hub_min_degree = 1;
        let answer = vault.search(&query.join(" "));
        let export = vault.engine().export(&Filter::default()).unwrap();
        // The strongest edge in either direction, without self-links.
        let mut edges: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        for edge in export.edges.iter().filter(|edge| edge.from != edge.to) {
            let weight = match edge.source {
                LinkSource::Typed => 1.5,
                LinkSource::Inline => 1.0,
            };
            for pair in [(edge.from.as_str(), edge.to.as_str()), (edge.to.as_str(), edge.from.as_str())] {
                let known = edges.entry(pair).or_insert(0.0);
                *known = known.max(weight);
            }
        }
        let explanation = answer.explanation.as_ref().unwrap();
        let strong: Vec<(&str, f64)> = explanation
            .candidates
            .iter()
            .filter(|note| note.origin != Origin::Expanded && note.similarity >= 0.2)
            .map(|note| (note.uri.as_str(), note.similarity))
            .collect();
        // The best topic that a note links to and a hit is linked with.
        let inbound = |topic: &str| -> BTreeSet<&str> {
            let edges = export.edges.iter().filter(|edge| edge.to.as_str() == topic);
            edges.map(|edge| edge.from.as_str()).filter(|from| *from != topic).collect()
        };
        let shared = |hit: &str, note: &str| {
            let topics = edges.keys().filter(|(from, _)| *from == hit).map(|(_, topic)| inbound(topic));
            let shared = topics.filter(|inbound| inbound.len() > 1 && inbound.contains(note));
            shared.map(|inbound| 0.25 / (inbound.len() as f64 + 1.0).ln().max(1.0)).fold(0.0, f64::max)
        };
        for hit in &answer.hits {
            let uri = hit.uri.as_str();
            let degree = edges.keys().filter(|(from, _)| *from == uri).map(|(_, to)| *to).collect::<BTreeSet<_>>().len();
            let centrality = if export.nodes.len() > 1 { degree as f64 / (export.nodes.len() - 1) as f64 } else { 0.0 };
            let strength = |hit: &str| match edges.get(&(uri, hit)) {
                Some(weight) => weight / 1.5,
                None if siblings_activate && hit != uri => shared(hit, uri),
                None => 0.0,
            };
            let doubt: f64 =
                strong.iter().map(|(hit, similarity)| 1.0 - strength(hit) * similarity).product();
            prop_assert!((hit.signals.centrality - centrality).abs() < 1e-12, "{hit:?} {centrality}");
            prop_assert!((hit.signals.activation - (1.0 - doubt)).abs() < 1e-12, "{hit:?} {}", 1.0 - doubt);
            let score = 0.6 * hit.signals.similarity + 0.2 * centrality + 0.2 * (1.0 - doubt);
            prop_assert!((hit.score - score).abs() < 1e-12);
        }
        // Neighbors of strong hits are candidates.
        for (hit, _) in &strong {
            for ((_, other), _) in edges.range((*hit, "")..).take_while(|((from, _), _)| from == hit) {
                let is_note = export.nodes.iter().any(|node| node.id.as_str() == *other && !node.placeholder);
                prop_assert!(!is_note || explanation.candidates.iter().any(|note| note.uri.as_str() == *other), "{other}");
            }
        }
    }
}

#[test]
fn only_neighbors_of_strong_hits_are_ranked() {
    let mut vault = vault_of_words(&[
        ("fern.md", "fern frond spore [[bare]]\n"),
        (
            "weak.md",
            "fern and much else that has nothing to do with what was asked for here [[off]]\n",
        ),
        ("bare.md", "nothing of it\n"),
        ("off.md", "nothing of it either\n"),
    ]);
    vault.settings.profile = Profile::Classic;
    let answer = vault.search("fern frond spore");
    let bare = hit(&answer, "bare");
    assert_eq!((bare.origin, bare.signals.similarity.abs() < 1e-12), (Origin::Expanded, true));
    assert!(bare.signals.activation > 0.0);
    assert!(answer.hits.iter().all(|hit| hit.uri.as_str() != "off"), "{answer:?}");
}

#[test]
fn topic_sibling_without_activation_keeps_its_own_score() {
    let mut vault = vault_of_words(&[
        ("fern.md", "fern frond spore [[Ontology/Shade]]\n"),
        ("shady.md", "stands in the [[Ontology/Shade]]\n"),
        ("sunny.md", "stands in the [[Ontology/Sun]]\n"),
    ]);
    vault.settings.profile = Profile::Classic;
    let answer = vault.search("fern frond spore");
    let shady = hit(&answer, "shady");
    assert_eq!((shady.origin, shady.signals.activation), (Origin::Expanded, 0.0));
    assert!(shady.signals.centrality > 0.0 && shady.score > 0.0, "{shady:?}");
    let via = shady.via.as_ref().unwrap();
    assert_eq!((via.uri.as_str(), via.connection), ("fern", Connection::Topic));
    assert!(answer.hits.iter().all(|hit| hit.uri.as_str() != "sunny"), "{answer:?}");
    let by_links = Weights { similarity: 0.0, centrality: 1.0, activation: 0.0 };
    let central =
        vault.ask(&SearchRequest { weights: Some(by_links), ..request("fern frond spore") });
    assert_eq!(uris(&central), ["fern", "shady"], "matches ranked by centrality only");
}

#[test]
fn connection_without_effect_is_not_reported() {
    let mut vault = vault_of_words(&[
        ("fern.md", "fern frond spore [[Ontology/Shade]] [[moss]]\n"),
        ("moss.md", "one fern among much else that has nothing to do with it\n"),
        ("shady.md", "a frond among much else, in the [[Ontology/Shade]]\n"),
    ]);
    vault.settings.profile = Profile::Classic;
    vault.settings.topics.siblings_activate = true;
    vault.settings.classic.activation_floor = 1.0;
    vault.settings.classic.expansion_floor = 0.01;
    let answer = vault.search("fern frond spore");
    for uri in ["moss", "shady"] {
        let hit = hit(&answer, uri);
        assert_eq!((hit.origin, hit.signals.activation), (Origin::Keyword, 0.0), "{uri}");
        assert!(hit.via.is_none(), "{hit:?}");
    }
}

#[test]
fn weights_of_a_request_apply() {
    let vault = vault(&[("a.md", "fern [[b]]\n"), ("b.md", "moss\n"), ("c.md", "fern fern\n")]);
    let weights = Weights { similarity: 2.0, centrality: 1.0, activation: 1.0 };
    let answer = vault.ask(&SearchRequest { weights: Some(weights), ..request("fern") });
    for hit in &answer.hits {
        assert!((hit.contributions.similarity - hit.signals.similarity / 2.0).abs() < 1e-15);
        assert!((hit.contributions.centrality - hit.signals.centrality / 4.0).abs() < 1e-15);
    }
    for wrong in [-1.0, f64::NAN] {
        let weights = Weights { similarity: wrong, centrality: 1.0, activation: 0.0 };
        let error =
            vault.engine().search(&SearchRequest { weights: Some(weights), ..request("fern") });
        assert!(error.is_err(), "{wrong}");
    }
}

#[test]
fn expansion_of_a_topic_is_bounded_and_reported() {
    let mut files = vec![("fern.md".to_owned(), "fern frond [[Ontology/Shade]]\n".to_owned())];
    files.extend(
        (0..40).map(|at| {
            (format!("leaf{at:02}.md"), format!("leaf {at} in the [[Ontology/Shade]]\n"))
        }),
    );
    files.push(("second.md".to_owned(), "a frond, in [[Ontology/Shade]]\n".to_owned()));
    let mut vault = vault_of_words(&files);
    vault.settings.topics.siblings_activate = true;
    for (profile, fanout, is_cut) in [
        (Profile::Classic, 100, false),
        (Profile::Classic, 10, true),
        (Profile::Bridge, 100, false),
        (Profile::Bridge, 10, true),
    ] {
        (vault.settings.profile, vault.settings.fanout) = (profile, fanout);
        let answer = vault.search("fern frond");
        let fanout_limited: Vec<&str> =
            answer.fanout_limited.iter().map(|uri| uri.as_str()).collect();
        assert_eq!(
            fanout_limited,
            if is_cut { vec!["Ontology/Shade"] } else { Vec::new() },
            "{profile:?}"
        );
        let n_leaves = uris(&answer).iter().filter(|uri| uri.starts_with("leaf")).count();
        assert_eq!(n_leaves, if is_cut { 9 } else { 40 }, "{profile:?} {fanout}");
        let second = hit(&answer, "second");
        let via = second.via.as_ref().map(|via| (via.uri.as_str(), via.connection));
        assert_eq!(via, Some(("fern", Connection::Topic)), "hits are never cut: {profile:?}");
    }
}

#[test]
fn hits_with_unranked_neighbors_are_counted() {
    let files: Vec<(String, String)> =
        (0..25).map(|at| (format!("fern{at}.md"), format!("# Fern {at}\nfern\n"))).collect();
    let mut vault = vault_of_words(&files);
    classic(&mut vault);
    let limits = |vault: &Vault| {
        let answer = vault.ask(&request("fern"));
        let is_limit = |it: &Warning| it.code == WarningCode::CandidatesLimited;
        answer.warnings.into_iter().filter(is_limit).collect::<Vec<_>>()
    };
    assert!(limits(&vault)[0].message.contains("; 5 more hits are above"), "{:?}", limits(&vault));
    vault.settings.classic.expansion_seeds = 25;
    assert_eq!(limits(&vault), []);
}
