//! Planted losses: each is named by its true stage.

use weft_engine::{
    EngineError, Filter, Loss, Profile, PropertyMatch, SearchMode, SearchRequest, Weights,
    WhyNotRequest, Without,
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
fn a_filter_is_named_by_its_parts() {
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
        assert_eq!((answer.loss, &answer.failed[..]), (Loss::Filter, expected), "{name}");
    }
}

#[test]
fn a_rank_under_a_filter_is_among_those_that_pass_it() {
    // From the best to the worst: the filter lets every other one through.
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
    assert_eq!((all.loss, all.rank), (Loss::None, Some(5)));
    for (note, rank) in [("done/n0", 1), ("done/n2", 2), ("done/n4", 3)] {
        let filter = Filter { paths: vec!["proj".to_owned()], ..Filter::default() };
        let answer = why(&vault, note, SearchRequest { filter, ..request("ivy") });
        assert_eq!((answer.loss, answer.rank), (Loss::Filter, Some(rank)), "{note}");
    }
}

#[test]
fn a_limit_out_of_range_is_an_error_in_both_calls() {
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
type Case<'v> = (&'static str, &'v Vault, &'static str, SearchRequest, Loss, Option<usize>);

#[test]
fn other_losses_are_named_by_their_stage() {
    let mut small = vault_of_words(&files());
    small.settings.candidates_per_leg = 2;
    let words = vault_of_words(&files());
    let mut classic = vault_of_words(&files());
    classic.settings.profile = Profile::Classic;
    classic.settings.classic.expansion_floor = 0.9;
    let one = |query: &str| SearchRequest { limit: 1, ..request(query) };
    let lone = |query: &str| SearchRequest {
        without: Without { graph: true, ..Without::default() },
        ..request(query)
    };
    let cases: [Case<'_>; 11] = [
        (
            "an excluded neighbour",
            &words,
            "moss",
            request("fern -cushion"),
            Loss::Excluded,
            Some(3),
        ),
        ("a hit", &words, "fern", request("fern frond"), Loss::None, Some(1)),
        ("a neighbour of a hit", &words, "moss", request("fern frond"), Loss::None, Some(2)),
        ("below the limit", &words, "moss", one("fern frond"), Loss::Limit, Some(2)),
        ("no file", &words, "nowhere", request("fern"), Loss::NotIndexed, None),
        ("no word of it", &words, "empty", request("fern frond"), Loss::NoAnswer, None),
        ("without the graph", &words, "moss", lone("fern frond"), Loss::NoAnswer, None),
        ("an excluded word", &words, "deep/stone", lone("fern -granite"), Loss::Excluded, Some(2)),
        ("a required word", &words, "deep/stone", lone("+spore fern"), Loss::Excluded, Some(2)),
        (
            "beyond the candidates",
            &small,
            "ivy0",
            SearchRequest { limit: 1, ..lone("ivy") },
            Loss::Candidates,
            Some(3),
        ),
        (
            "a hit below the floor",
            &classic,
            "moss",
            request("fern one two three four five"),
            Loss::Floor,
            Some(3),
        ),
    ];
    for (name, vault, note, search, loss, rank) in cases {
        let answer = why(vault, note, search);
        assert_eq!((answer.loss, answer.rank), (loss, rank), "{name}: {answer:?}");
        assert!(answer.margin.is_none_or(|margin| margin >= 0.0), "{name}: {answer:?}");
    }
    let limit = why(&words, "moss", one("fern frond"));
    assert!(limit.margin.unwrap() > 0.0 && limit.hit.is_some());
}

#[test]
fn a_connection_that_was_not_followed_is_named() {
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
    // Each a little worse than the one before; the last is linked with a note that does not answer.
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
        without: Without {
            similarity: true,
            links: true,
            shared_words: true,
            ..Without::default()
        },
        ..request("fern frond spore")
    };
    let asked = || request("fern frond spore");
    let by_links = SearchRequest {
        without: Without { shared_words: true, ..Without::default() },
        ..request("fern frond spore")
    };
    let cases: [(&str, &Vault, &str, SearchRequest, Loss); 15] = [
        ("a link of a seed", &classic, "bare", asked(), Loss::None),
        ("a topic of a seed", &classic, "shady", asked(), Loss::None),
        ("a link of the second hit, one is followed", &one_seed, "bare", asked(), Loss::Seeds),
        ("a topic of the second hit", &one_seed, "shady", asked(), Loss::Seeds),
        ("a link of a hit below the floor", &classic, "off", asked(), Loss::Floor),
        ("a topic of a hit below the floor", &classic, "sunny", asked(), Loss::Floor),
        ("a link of the ninth hit", &bridge, "far", request("ivy"), Loss::Seeds),
        ("topics count nothing in bridge", &bridge, "shady", by_links, Loss::NoAnswer),
        ("a topic among many links", &narrow, "shady", asked(), Loss::Fanout),
        ("the similarity counts nothing", &words, "first", blind, Loss::Weights),
        ("the centrality alone counts", &words, "first", weighed(0.0, 1.0, 0.0), Loss::Weights),
        ("the centrality counts", &words, "bare", weighed(1.0, 1.0, 0.0), Loss::None),
        ("the similarity alone counts", &words, "bare", weighed(1.0, 0.0, 0.0), Loss::Weights),
        ("the activation alone counts", &words, "bare", weighed(0.0, 0.0, 1.0), Loss::None),
        ("nothing at all", &words, "far", asked(), Loss::NoAnswer),
    ];
    for (name, vault, note, search, loss) in cases {
        let answer = why(vault, note, search);
        assert_eq!(answer.loss, loss, "{name}: {answer:?}");
        let has_margin = matches!(loss, Loss::Seeds | Loss::Floor);
        assert_eq!(answer.margin.is_some(), has_margin, "{name}: {answer:?}");
        assert!(answer.margin.is_none_or(|margin| margin >= 0.0), "{name}: {answer:?}");
    }
}

#[test]
fn a_pending_vector_is_named() {
    let mut vault = vault(&files());
    let id = vault.snapshot.notes.find("moss").note.unwrap();
    vault.snapshot.vectors.as_mut().unwrap().rows.set(id, &[None]);
    let search = SearchRequest {
        mode: SearchMode::Vector,
        without: Without { graph: true, ..Without::default() },
        ..request("soft cushion")
    };
    assert_eq!(why(&vault, "moss", search).loss, Loss::VectorPending);
}

#[test]
fn a_hub_that_was_cut_is_named() {
    let mut files = vec![("hub.md".to_owned(), "index of gardens\n".to_owned())];
    files.extend(
        (0..40).map(|at| (format!("leaf{at:02}.md"), format!("leaf {at} in the [[hub]]\n"))),
    );
    let mut vault = vault_of_words(&files);
    vault.settings.fanout = 5;
    assert_eq!(why(&vault, "leaf00", request("index of gardens")).loss, Loss::None);
    assert_eq!(why(&vault, "leaf39", request("index of gardens")).loss, Loss::Fanout);
}

#[test]
fn an_unknown_note_is_an_error() {
    let vault = vault_of_words(&files());
    let asked = WhyNotRequest { note: "firn".into(), search: request("fern") };
    assert!(matches!(vault.engine().why_not(&asked), Err(EngineError::UnknownNote { .. })));
}
