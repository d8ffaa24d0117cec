//! Every filter condition for every request that has a filter.

use std::collections::BTreeSet;

use weft_engine::context::ContextRequest;
use weft_engine::doughnut::Budget;
use weft_engine::walk::{
    FollowOptions, NeighborsRequest, OrphansRequest, SubgraphRequest, TreeWalkRequest,
    UnresolvedRequest, WalkNode,
};
use weft_engine::{
    DisabledSignals, Engine, Filter, ListRequest, Profile, RelatedRequest, RelationSet, Rendering,
    SearchMode, SearchRequest, SiblingsRequest,
};
use weft_model::Tokens;

use crate::assembly::{ALL, GARDEN, filters};
use crate::{Vault, messages};

/// Sends a request with a filter and returns the uris of the answer.
type Asked = fn(&Vault, Filter) -> Vec<String>;

const QUESTIONS: [(&str, Asked); 10] = [
    ("search by word", |vault, filter| search(vault, filter, SearchMode::Keyword, false)),
    ("search by meaning", |vault, filter| search(vault, filter, SearchMode::Vector, false)),
    ("search by both, links followed", |vault, filter| {
        search(vault, filter, SearchMode::Hybrid, true)
    }),
    ("search, profile classic", |vault, filter| {
        let request = SearchRequest { profile: Some(Profile::Classic), ..shade(filter) };
        found(vault, &request)
    }),
    ("list", |vault, filter| {
        let request = ListRequest { filter, ..ListRequest::default() };
        let notes = vault.engine.list(&request).unwrap().notes;
        notes.iter().map(|note| note.uri.to_string()).collect()
    }),
    ("related", |vault, filter| {
        let request = RelatedRequest {
            focus: "root".into(),
            budget: Budget::Related(Tokens::new(1_000)),
            estimator: Some("unit".into()),
            filter,
            relations: Some(RelationSet::Structure),
            body_links: true,
            sibling_of_target: false,
            resume_token: String::new(),
            rendering: Rendering::None,
        };
        let answer = vault.engine.related(&request).unwrap();
        let view = answer.view();
        view.related_notes.iter().map(|note| note.link.uri.to_string()).collect()
    }),
    ("tree", |vault, filter| {
        let follow = FollowOptions { filter, ..FollowOptions::default() };
        let request =
            TreeWalkRequest { roots: vec!["root".into()], follow, ..TreeWalkRequest::default() };
        ids(&vault.engine.tree(&request).unwrap().nodes)
    }),
    ("neighbors", |vault, filter| {
        let follow = FollowOptions { filter, ..FollowOptions::default() };
        let request =
            NeighborsRequest { note: "root".into(), follow, ..NeighborsRequest::default() };
        let answer = vault.engine.neighbors(&request).unwrap();
        answer.nodes.iter().map(|near| near.note.id.to_string()).collect()
    }),
    ("subgraph", |vault, filter| {
        if filter.is_empty() {
            return ALL.map(str::to_owned).to_vec();
        }
        let request = SubgraphRequest { filter, ..SubgraphRequest::default() };
        ids(&vault.engine.subgraph(&request).unwrap().nodes)
    }),
    ("siblings", |vault, filter| {
        let request = SiblingsRequest {
            note: "root".into(),
            filter,
            limit: 10,
            ..SiblingsRequest::default()
        };
        let siblings = vault.engine.siblings(&request).unwrap().siblings;
        siblings.iter().map(|near| near.uri.to_string()).collect()
    }),
];

fn shade(filter: Filter) -> SearchRequest {
    SearchRequest {
        query: "shade everywhere".into(),
        limit: 10,
        filter,
        ..SearchRequest::default()
    }
}

fn search(vault: &Vault, filter: Filter, mode: SearchMode, with_graph: bool) -> Vec<String> {
    let disabled_signals = DisabledSignals { graph: !with_graph, ..DisabledSignals::default() };
    found(vault, &SearchRequest { mode, disabled_signals, ..shade(filter) })
}

fn found(vault: &Vault, request: &SearchRequest) -> Vec<String> {
    let hits = vault.engine.search(request).unwrap().hits;
    hits.iter().map(|hit| hit.uri.to_string()).collect()
}

fn ids(nodes: &[WalkNode]) -> Vec<String> {
    nodes.iter().map(|node| node.id.to_string()).collect()
}

#[test]
fn filter_conditions_hold_for_every_request() {
    let vault = Vault::with_vectors(GARDEN);
    for (part, filter, passing) in filters() {
        for (question, asked) in QUESTIONS {
            let answer: BTreeSet<String> = asked(&vault, filter.clone())
                .into_iter()
                .filter(|uri| ALL.contains(&uri.as_str()))
                .collect();
            let expected: BTreeSet<String> = passing.iter().map(|uri| (*uri).to_owned()).collect();
            assert_eq!(answer, expected, "{part}, {question}");
        }
    }
}

#[test]
fn existing_name_is_not_a_glob_and_unmatched_path_is_reported() {
    let vault = Vault::new(
        "=== x [old]/gamma.md\nshade\n=== x o/gamma.md\nshade\n=== proj/a.md\nshade\n=== what?.md\nshade\n=== vault:x/b.md\nshade\n",
    );
    let cases: &[(&str, &[&str], usize)] = &[
        ("x [old]/gamma.md", &["x [old]/gamma"], 0),
        ("x [old]", &["x [old]/gamma"], 0),
        ("x [o]", &[], 1),
        ("x [o]/*", &["x o/gamma"], 0),
        ("what?", &["what?"], 0),
        ("./proj", &["proj/a"], 0),
        (".//proj/./", &["proj/a"], 0),
        ("/Proj/*.md", &["proj/a"], 0),
        ("prjo", &[], 1),
        ("proj/b", &[], 1),
        ("*.txt", &[], 1),
        ("vault:proj", &["proj/a"], 0),
        ("vault:", &["proj/a", "vault:x/b", "what?", "x [old]/gamma", "x o/gamma"], 0),
        ("other:", &[], 1),
        ("vault:*o*/*.md", &["proj/a", "x [old]/gamma", "x o/gamma"], 0),
        ("vault:x [old]/", &["x [old]/gamma"], 0),
        ("vault:x", &["vault:x/b"], 0),
        ("vault:prjo", &[], 1),
        ("other:proj", &[], 1),
    ];
    for (path, expected, n_reported) in cases {
        let filter = Filter { paths: vec![(*path).to_owned()], ..Filter::default() };
        let answer = vault.engine.search(&shade(filter.clone())).unwrap();
        let mut found: Vec<&str> = answer.hits.iter().map(|hit| hit.uri.as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, *expected, "{path}");
        let reported =
            answer.warnings.iter().filter(|it| it.message.contains(&format!("`{path}`")));
        assert_eq!(reported.count(), *n_reported, "{path}: {:?}", answer.warnings);
        let request = ContextRequest { query: "shade".into(), filter, ..crate::context::request() };
        let context = vault.engine.context(&request).unwrap();
        assert_eq!(context.summary.warnings, answer.warnings, "{path}");
    }
    let filter = Filter { paths: vec!["prjo".into()], ..Filter::default() };
    let lists = [
        vault
            .engine
            .list(&ListRequest { filter: filter.clone(), ..ListRequest::default() })
            .unwrap()
            .warnings,
        vault
            .engine
            .orphans(&OrphansRequest { filter: filter.clone(), ..OrphansRequest::default() })
            .unwrap()
            .warnings,
        vault
            .engine
            .unresolved(&UnresolvedRequest {
                filter: filter.clone(),
                ..UnresolvedRequest::default()
            })
            .unwrap()
            .warnings,
        vault.engine.export(&filter).unwrap().warnings,
        vault
            .engine
            .siblings(&SiblingsRequest {
                note: "a".into(),
                filter,
                limit: 1,
                ..SiblingsRequest::default()
            })
            .unwrap()
            .warnings,
    ];
    for reported in lists {
        assert_eq!(messages(&reported), ["no note is at or under the path `prjo`"]);
    }
    let two = Filter { paths: vec!["proj".into(), "prjo".into()], ..Filter::default() };
    let answer = vault.engine.search(&shade(two)).unwrap();
    assert_eq!((answer.hits.len(), answer.warnings.len()), (1, 1), "one of two");
}

#[test]
fn cached_filter_matches_belong_to_their_generation() {
    let vault = Vault::new("=== a.md\n#green\n=== b.md\n#red\n");
    let green = || Filter { tags: vec!["green".into()], ..Filter::default() };
    let uris = |engine: &Engine| -> Vec<String> {
        let request = ListRequest { filter: green(), ..ListRequest::default() };
        let listed = engine.list(&request).unwrap();
        listed.notes.iter().map(|note| note.uri.to_string()).collect()
    };
    let before = vault.engine.over(vault.engine.snapshot());
    assert_eq!(uris(&vault.engine), ["a"]);
    vault.put("b.md", "#green\n");
    for _ in 0..2 {
        assert_eq!(uris(&vault.engine), ["a", "b"]);
        assert_eq!(uris(&before), ["a"]);
    }
    vault.put("a.md", "#red\n");
    assert_eq!(uris(&vault.engine), ["b"]);
    assert_eq!(uris(&before), ["a"]);
}

#[test]
fn parts_of_notes_in_filters_are_reported_as_ignored() {
    let vault = Vault::new(
        "=== fern.md\n# Fern\nsee [[moss#Soft]]\n## Growth\nslow\n=== moss.md\n# Moss\n## Soft\nvery\n",
    );
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let cases = [
        ("linked_to", Filter { linked_to: names(&["moss#Soft"]), ..Filter::default() }, "fern"),
        (
            "linked_from",
            Filter { linked_from: names(&["fern#Growth"]), ..Filter::default() },
            "moss",
        ),
        (
            "within",
            Filter { within: vec![("fern#No such".into(), 0)], ..Filter::default() },
            "fern",
        ),
        ("excluded", Filter { excluded: names(&["fern#^b"]), ..Filter::default() }, "moss"),
    ];
    for (field, filter, expected) in cases {
        let request = ListRequest { filter, ..ListRequest::default() };
        let answer = vault.engine.list(&request).unwrap();
        let uris: Vec<String> = answer.notes.iter().map(|note| note.uri.to_string()).collect();
        assert_eq!(uris, [expected], "{field}");
        let [message] = &messages(&answer.warnings)[..] else {
            panic!("{field}: {:?}", answer.warnings)
        };
        assert!(message.contains(&format!("`filter.{field}` applies to whole notes")), "{message}");
    }
    let whole = Filter { linked_to: names(&["moss"]), ..Filter::default() };
    let request = ListRequest { filter: whole, ..ListRequest::default() };
    assert_eq!(vault.engine.list(&request).unwrap().warnings, []);
}

#[test]
fn within_does_not_lead_through_placeholders() {
    let vault =
        Vault::new("=== a.md\n[[gone]] [[b]]\n=== b.md\nb\n=== c.md\n[[gone]]\n=== d.md\n[[b]]\n");
    for (hops, expected) in
        [(0, &["a"][..]), (1, &["a", "b"]), (2, &["a", "b", "d"]), (9, &["a", "b", "d"])]
    {
        let filter = Filter { within: vec![("a".into(), hops)], ..Filter::default() };
        let request = ListRequest { filter, ..ListRequest::default() };
        let notes = vault.engine.list(&request).unwrap().notes;
        let uris: Vec<&str> = notes.iter().map(|note| note.uri.as_str()).collect();
        assert_eq!(uris, expected, "{hops}");
    }
}
