//! Every request ends soon after it is cancelled, measured by counted checks, not by time.

use std::time::Instant;

use weft_engine::context::{ContextRequest, FocusSource};
use weft_engine::hygiene::{
    BrokenLinksRequest, DuplicatesRequest, StaleNotesRequest, SuggestedLinksRequest,
};
use weft_engine::walk::{
    CyclesRequest, NeighborsRequest, OrphansRequest, PathCosts, PathWalkRequest, SubgraphRequest,
    TreeLimits, TreeWalkRequest, UnresolvedRequest,
};
use weft_engine::{
    Engine, EngineError, Filter, ListRequest, RelationSet, SearchMode, SearchRequest,
};
use weft_model::Stop;

use super::Vault;
use super::context::request;
use super::related::around;

/// Number of notes: enough work to be distinguished from the overhead of a request.
const N_NOTES: usize = 300;

/// Number of checks that may follow the one that ended the work.
const AFTERMATH: u64 = 2;

/// Builds a ring of notes, each linked with the next and with a hub, so that walks are long.
fn ring() -> Vault {
    let note = |n: usize| {
        let (next, far) = ((n + 1) % N_NOTES, (n * 7 + 3) % N_NOTES);
        format!("=== n{n:03}.md\n# Shade {n}\nmoss [[n{next:03}]] [[n{far:03}]] [[nowhere{n}]]\n")
    };
    Vault::with_vectors(&(0..N_NOTES).map(note).collect::<String>())
}

type PreparedQuery = Box<dyn Fn(&Engine) -> Result<(), EngineError>>;

fn question<T>(ask: impl Fn(&Engine) -> Result<T, EngineError> + 'static) -> PreparedQuery {
    Box::new(move |engine| ask(engine).map(drop))
}

/// Every request, and the minimum number of its checks.
fn questions() -> Vec<(&'static str, u64, PreparedQuery)> {
    let filter = || Filter { paths: vec!["n*".into()], ..Filter::default() };
    let search = |mode| SearchRequest {
        query: "moss shade".into(),
        mode,
        limit: 50,
        filter: Filter { paths: vec!["n*".into()], ..Filter::default() },
        ..SearchRequest::default()
    };
    let context = |query: &str| ContextRequest { query: query.into(), ..request() };
    let path =
        || PathWalkRequest { from: "n000".into(), to: "n150".into(), ..PathWalkRequest::default() };
    vec![
        ("search", 50, question(move |engine| engine.search(&search(SearchMode::Hybrid)))),
        ("context", 5, question(move |engine| engine.context(&context("moss")))),
        (
            "context of a focus",
            3,
            question(|engine| {
                let focus = FocusSource {
                    name: "n001".into(),
                    relations: Some(RelationSet::Structure),
                    body_links: false,
                    sibling_of_target: false,
                };
                engine.context(&ContextRequest { focus: Some(focus), ..request() })
            }),
        ),
        ("related", 3, question(|engine| engine.related(&around("n001")))),
        (
            "tree",
            N_NOTES as u64,
            question(|engine| {
                let roots = vec!["n000".into()];
                engine.tree(&TreeWalkRequest {
                    roots,
                    limits: TreeLimits::NONE,
                    ..TreeWalkRequest::default()
                })
            }),
        ),
        ("path", 10, question(move |engine| engine.path(&path()))),
        (
            "cheapest path",
            10,
            question(move |engine| {
                engine.path(&PathWalkRequest { costs: Some(PathCosts::default()), ..path() })
            }),
        ),
        (
            "neighbors",
            1,
            question(|engine| {
                engine.neighbors(&NeighborsRequest { note: "n000".into(), ..Default::default() })
            }),
        ),
        (
            "subgraph",
            N_NOTES as u64,
            question(move |engine| {
                engine.subgraph(&SubgraphRequest { filter: filter(), ..SubgraphRequest::default() })
            }),
        ),
        ("cycles", N_NOTES as u64, question(|engine| engine.cycles(&CyclesRequest::default()))),
        ("orphans", 2, question(|engine| engine.orphans(&OrphansRequest::default()))),
        ("unresolved", 2, question(|engine| engine.unresolved(&UnresolvedRequest::default()))),
        (
            "duplicates",
            N_NOTES as u64 / 64,
            question(|engine| engine.duplicates(&DuplicatesRequest::default())),
        ),
        (
            "suggested links",
            N_NOTES as u64 / 64,
            question(|engine| engine.suggested_links(&SuggestedLinksRequest::default())),
        ),
        (
            "stale notes",
            N_NOTES as u64 / 64,
            question(|engine| engine.stale_notes(&StaleNotesRequest::default())),
        ),
        (
            "broken links",
            100,
            question(|engine| engine.broken_links(&BrokenLinksRequest::default())),
        ),
        ("export", 4, question(|engine| engine.export(&Filter::default()))),
        (
            "list",
            2,
            question(|engine| {
                let filter = Filter { paths: vec!["n*".into()], ..Filter::default() };
                engine.list(&ListRequest { filter, ..ListRequest::default() })
            }),
        ),
    ]
}

#[test]
fn every_request_ends_when_cancelled() {
    let vault = ring();
    for (name, at_least, ask) in questions() {
        let whole = Stop::cancellable();
        ask(&vault.new_engine().until(whole.clone())).unwrap();
        let n_checks = whole.n_checks();
        assert!(n_checks >= at_least, "{name} looks {n_checks} times whether to go on");
        for patience in [0, n_checks / 3, n_checks / 2, n_checks - 1] {
            let stop = Stop::after_checks(patience);
            let ended = ask(&vault.new_engine().until(stop.clone()));
            assert!(matches!(ended, Err(EngineError::Cancelled)), "{name} {patience}: {ended:?}");
            let n_more = stop.n_checks() - patience;
            assert!(n_more <= 1 + AFTERMATH, "{name} went on for {n_more} steps");
        }
    }
}

#[test]
fn every_request_ends_at_its_deadline() {
    let vault = ring();
    for (name, _, ask) in questions() {
        // A cached filter does not prevent this.
        ask(&vault.engine).unwrap();
        let ended = ask(&vault.engine.until(Stop::at(Instant::now())));
        assert!(matches!(ended, Err(EngineError::DeadlineExceeded)), "{name}: {ended:?}");
    }
}
