//! Planted misses: each is reported with its stage.

use weft_engine::{
    DisabledSignals, EngineError, Filter, MissReason, Profile, PropertyMatch, SearchMode,
    SearchRequest, Weights, WhyNotRequest,
};

use crate::vault::{Vault, request, vault, vault_of_words};

fn why(vault: &Vault, note: &str, search: SearchRequest) -> weft_engine::WhyNotAnswer {
    vault.engine().why_not(&WhyNotRequest { note: note.into(), search }).expect("an answer")
}

fn property(key: &str, value: &str) -> PropertyMatch {
    PropertyMatch { key: key.into(), value: value.into(), ..PropertyMatch::default() }
}

fn files() -> Vec<(String, String)> {
    let mut files = vec![
        ("fern.md".to_owned(), "---\ntags: [plant]\ntype: entry\ndate: 2024-05-01\nstate: done\n---\nfern frond spore, see [[moss]] and [[nowhere]]\n".to_owned()),
        ("moss.md".to_owned(), "---\ntags: [plant]\n---\nsoft cushion\n".to_owned()),
        ("deep/stone.md".to_owned(), "grey granite, no fern\n".to_owned()),
        ("empty.md".to_owned(), "entirely different\n".to_owned()),
    ];
    files.extend(
        (0..6).map(|at| (format!("ivy{at}.md"), format!("ivy climbs{}\n", " ivy".repeat(at)))),
    );
    files
}

#[test]
fn failed_filter_fields_are_named() {
    let vault = vault_of_words(&files());
    let all = || Filter::default();
    let text = |text: &str| vec![text.to_owned()];
    let cases: [(&str, &str, Filter, &[&str]); 10] = [
        ("path", "fern", Filter { paths: text("deep"), ..all() }, &["paths"]),
        ("tag", "deep/stone", Filter { tags: text("plant"), ..all() }, &["tags"]),
        ("type", "moss", Filter { types: text("entry"), ..all() }, &["types"]),
        (
            "property",
            "moss",
            Filter { properties: vec![property("state", "done")], ..all() },
            &["properties"],
        ),
        ("after", "fern", Filter { after: Some("2025-01-01".into()), ..all() }, &["after"]),
        ("before", "fern", Filter { before: Some("2024-01-01".into()), ..all() }, &["before"]),
        ("link to", "deep/stone", Filter { linked_to: text("moss"), ..all() }, &["linked_to"]),
        ("link from", "fern", Filter { linked_from: text("fern"), ..all() }, &["linked_from"]),
        ("the note itself", "fern", Filter { excluded: text("fern"), ..all() }, &["excluded"]),
        (
            "two",
            "empty",
            Filter { tags: text("plant"), within: vec![("fern".into(), 1)], ..all() },
            &["tags", "within"],
        ),
    ];
    for (name, note, filter, expected) in cases {
        let answer = why(&vault, note, SearchRequest { filter, ..request("fern frond") });
        assert_eq!(
            (answer.miss_reason, &answer.failed_filters[..]),
            (MissReason::Filter, expected),
            "{name}"
        );
    }
}

#[test]
fn rank_under_a_filter_counts_matching_notes() {
    // From best to worst: the filter matches every other note.
    let files: Vec<(String, String)> = (0..6)
        .map(|at| {
            let folder = if at % 2 == 0 { "done" } else { "proj" };
            (
                format!("{folder}/n{at}.md"),
                format!("{}{}\n", "ivy ".repeat(6 - at), "or ".repeat(at)),
            )
        })
        .collect();
    let vault = vault_of_words(&files);
    let all = why(&vault, "done/n4", request("ivy"));
    assert_eq!((all.miss_reason, all.rank), (MissReason::None, Some(5)));
    for (note, rank) in [("done/n0", 1), ("done/n2", 2), ("done/n4", 3)] {
        let filter = Filter { paths: vec!["proj".to_owned()], ..Filter::default() };
        let answer = why(&vault, note, SearchRequest { filter, ..request("ivy") });
        assert_eq!((answer.miss_reason, answer.rank), (MissReason::Filter, Some(rank)), "{note}");
    }
}

#[test]
fn limit_out_of_range_fails_in_both_requests() {
    let vault = vault_of_words(&files());
    for limit in [0, 1_001, 5_000] {
        let search = SearchRequest { limit, ..request("fern") };
        let asked = WhyNotRequest { note: "moss".into(), search: search.clone() };
        let engine = vault.engine();
        for error in [engine.search(&search).err(), engine.why_not(&asked).err()] {
            let is_named =
                matches!(error, Some(EngineError::InvalidArgument { field: "limit", .. }));
            assert!(is_named, "{limit}: {error:?}");
        }
    }
}

/// Name, vault, note, search; then the stage and the rank.
type Case<'v> = (&'static str, &'v Vault, &'static str, SearchRequest, MissReason, Option<usize>);

#[test]
fn miss_reason_names_the_stage() {
    let mut small = vault_of_words(&files());
    small.settings.candidates_per_retriever = 2;
    let words = vault_of_words(&files());
    let mut classic = vault_of_words(&files());
    classic.settings.profile = Profile::Classic;
    classic.settings.classic.expansion_floor = 0.9;
    let one = |query: &str| SearchRequest { limit: 1, ..request(query) };
    let lone = |query: &str| SearchRequest {
        disabled_signals: DisabledSignals { graph: true, ..DisabledSignals::default() },
        ..request(query)
    };
    let cases: [Case<'_>; 11] = [
        (
            "an excluded neighbor",
            &words,
            "moss",
            request("fern -cushion"),
            MissReason::Excluded,
            Some(3),
        ),
        ("a hit", &words, "fern", request("fern frond"), MissReason::None, Some(1)),
        ("a neighbor of a hit", &words, "moss", request("fern frond"), MissReason::None, Some(2)),
        ("below the limit", &words, "moss", one("fern frond"), MissReason::Limit, Some(2)),
        ("no file", &words, "nowhere", request("fern"), MissReason::NotIndexed, None),
        ("no word of it", &words, "empty", request("fern frond"), MissReason::NoMatch, None),
        ("without the graph", &words, "moss", lone("fern frond"), MissReason::NoMatch, None),
        (
            "an excluded word",
            &words,
            "deep/stone",
            lone("fern -granite"),
            MissReason::Excluded,
            Some(2),
        ),
        (
            "a required word",
            &words,
            "deep/stone",
            lone("+spore fern"),
            MissReason::Excluded,
            Some(2),
        ),
        (
            "beyond the candidates",
            &small,
            "ivy0",
            SearchRequest { limit: 1, ..lone("ivy") },
            MissReason::CandidateLimit,
            Some(3),
        ),
        (
            "a hit below the floor",
            &classic,
            "moss",
            request("fern one two three four five"),
            MissReason::ExpansionFloor,
            Some(3),
        ),
    ];
    for (name, vault, note, search, miss_reason, rank) in cases {
        let answer = why(vault, note, search);
        assert_eq!((answer.miss_reason, answer.rank), (miss_reason, rank), "{name}: {answer:?}");
        assert!(answer.margin.is_none_or(|margin| margin >= 0.0), "{name}: {answer:?}");
    }
    let limit = why(&words, "moss", one("fern frond"));
    assert!(limit.margin.unwrap() > 0.0 && limit.hit.is_some());
}

#[test]
fn unfollowed_connection_is_reported() {
    let mut files = vec![
        ("first.md".to_owned(), "fern frond spore fern frond spore fern\n".to_owned()),
        (
            "second.md".to_owned(),
            "fern frond spore fern frond spore, see [[bare]] and [[Ontology/Shade]]\n".to_owned(),
        ),
        (
            "weak.md".to_owned(),
            "one fern among a dozen other plants, [[off]], [[Ontology/Sun]]\n".to_owned(),
        ),
        ("bare.md".to_owned(), "nothing of it\n".to_owned()),
        ("off.md".to_owned(), "nothing of it either\n".to_owned()),
        ("shady.md".to_owned(), "stands in the [[Ontology/Shade]]\n".to_owned()),
        ("sunny.md".to_owned(), "stands in the [[Ontology/Sun]]\n".to_owned()),
    ];
    // Each scores a little lower than the one before; the last is linked with a note that does not match.
    files.extend((0..9).map(|at| {
        let link = if at == 8 { "[[far]]" } else { "" };
        (format!("ivy{at}.md"), format!("ivy {} {link}\n", "leaf ".repeat(at)))
    }));
    files.push(("far.md".to_owned(), "somewhere else\n".to_owned()));
    let words = vault_of_words(&files);
    let vault = |profile, n_seeds| {
        let mut vault = vault_of_words(&files);
        vault.settings.profile = profile;
        vault.settings.classic.expansion_seeds = n_seeds;
        vault.settings.topics.siblings_activate = profile == Profile::Classic;
        vault
    };
    let (bridge, classic) = (vault(Profile::Bridge, 20), vault(Profile::Classic, 20));
    let one_seed = vault(Profile::Classic, 1);
    let mut narrow = vault(Profile::Classic, 20);
    narrow.settings.fanout = 1;
    let weighed = |similarity: f64, centrality: f64, activation: f64| SearchRequest {
        weights: Some(Weights { similarity, centrality, activation }),
        ..request("fern frond spore")
    };
    let blind = SearchRequest {
        disabled_signals: DisabledSignals {
            similarity: true,
            links: true,
            shared_words: true,
            ..DisabledSignals::default()
        },
        ..request("fern frond spore")
    };
    let asked = || request("fern frond spore");
    let by_links = SearchRequest {
        disabled_signals: DisabledSignals { shared_words: true, ..DisabledSignals::default() },
        ..request("fern frond spore")
    };
    let cases: [(&str, &Vault, &str, SearchRequest, MissReason); 15] = [
        ("a link of a seed", &classic, "bare", asked(), MissReason::None),
        ("a topic of a seed", &classic, "shady", asked(), MissReason::None),
        (
            "a link of the second hit, one is followed",
            &one_seed,
            "bare",
            asked(),
            MissReason::SeedLimit,
        ),
        ("a topic of the second hit", &one_seed, "shady", asked(), MissReason::SeedLimit),
        ("a link of a hit below the floor", &classic, "off", asked(), MissReason::ExpansionFloor),
        (
            "a topic of a hit below the floor",
            &classic,
            "sunny",
            asked(),
            MissReason::ExpansionFloor,
        ),
        ("a link of the ninth hit", &bridge, "far", request("ivy"), MissReason::SeedLimit),
        ("topics count nothing in bridge", &bridge, "shady", by_links, MissReason::NoMatch),
        ("a topic among many links", &narrow, "shady", asked(), MissReason::FanoutLimit),
        ("the similarity counts nothing", &words, "first", blind, MissReason::ZeroWeight),
        (
            "the centrality alone counts",
            &words,
            "first",
            weighed(0.0, 1.0, 0.0),
            MissReason::ZeroWeight,
        ),
        ("the centrality counts", &words, "bare", weighed(1.0, 1.0, 0.0), MissReason::None),
        (
            "the similarity alone counts",
            &words,
            "bare",
            weighed(1.0, 0.0, 0.0),
            MissReason::ZeroWeight,
        ),
        ("the activation alone counts", &words, "bare", weighed(0.0, 0.0, 1.0), MissReason::None),
        ("nothing at all", &words, "far", asked(), MissReason::NoMatch),
    ];
    for (name, vault, note, search, miss_reason) in cases {
        let answer = why(vault, note, search);
        assert_eq!(answer.miss_reason, miss_reason, "{name}: {answer:?}");
        let has_margin = matches!(miss_reason, MissReason::SeedLimit | MissReason::ExpansionFloor);
        assert_eq!(answer.margin.is_some(), has_margin, "{name}: {answer:?}");
        assert!(answer.margin.is_none_or(|margin| margin >= 0.0), "{name}: {answer:?}");
    }
}

#[test]
fn pending_vector_is_reported() {
    let mut vault = vault(&files());
    let id = vault.snapshot.notes.find("moss").note.unwrap();
    vault.snapshot.vectors.as_mut().unwrap().rows.set(id, &[None]);
    let search = SearchRequest {
        mode: SearchMode::Vector,
        disabled_signals: DisabledSignals { graph: true, ..DisabledSignals::default() },
        ..request("soft cushion")
    };
    assert_eq!(why(&vault, "moss", search).miss_reason, MissReason::VectorPending);
}

#[test]
fn fanout_limited_hub_is_reported() {
    let mut files = vec![("hub.md".to_owned(), "index of gardens\n".to_owned())];
    files.extend(
        (0..40).map(|at| (format!("leaf{at:02}.md"), format!("leaf {at} in the [[hub]]\n"))),
    );
    let mut vault = vault_of_words(&files);
    vault.settings.fanout = 5;
    assert_eq!(why(&vault, "leaf00", request("index of gardens")).miss_reason, MissReason::None);
    assert_eq!(
        why(&vault, "leaf39", request("index of gardens")).miss_reason,
        MissReason::FanoutLimit
    );
}

#[test]
fn unknown_note_is_an_error() {
    let vault = vault_of_words(&files());
    let asked = WhyNotRequest { note: "firn".into(), search: request("fern") };
    assert!(matches!(vault.engine().why_not(&asked), Err(EngineError::UnknownNote { .. })));
}
