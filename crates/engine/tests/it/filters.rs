//! Every part of a filter for every question that takes one.

use std::collections::BTreeSet;

use weft_engine::doughnut::Budget;
use weft_engine::walk::{Follow, NeighborsRequest, SubgraphRequest, TreeRequest, WalkNode};
use weft_engine::{
    Filter, ListRequest, Profile, RelatedRequest, Rendering, SearchMode, SearchRequest,
    SiblingsRequest, Without,
};
use weft_model::Tokens;

use crate::Vault;
use crate::assembly::{ALL, GARDEN, filters};

/// Asks one question under a filter; gives the uris of the answer.
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
        let follow = Follow { filter, ..Follow::default() };
        let request = TreeRequest { roots: vec!["root".into()], follow, ..TreeRequest::default() };
        ids(&vault.engine.tree(&request).unwrap().nodes)
    }),
    ("neighbors", |vault, filter| {
        let follow = Follow { filter, ..Follow::default() };
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
    let without = Without { graph: !with_graph, ..Without::default() };
    found(vault, &SearchRequest { mode, without, ..shade(filter) })
}

fn found(vault: &Vault, request: &SearchRequest) -> Vec<String> {
    let hits = vault.engine.search(request).unwrap().hits;
    hits.iter().map(|hit| hit.uri.to_string()).collect()
}

fn ids(nodes: &[WalkNode]) -> Vec<String> {
    nodes.iter().map(|node| node.id.to_string()).collect()
}

#[test]
fn every_part_of_a_filter_holds_for_every_question() {
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
