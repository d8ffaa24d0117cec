//! A whole query, given its vector: candidates of both retrievers, connections, one ranked list.
#![expect(clippy::print_stdout, reason = "criterion reports no percentiles")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_benches::clock::Percentiles;
use weft_benches::vault::{Vault, vault};
use weft_benches::{SIZES, is_measured, sizes};
use weft_engine::{DisabledSignals, Engine, EngineSettings, Filter, SearchMode, SearchRequest};
use weft_model::Uri;

/// Number of queries run in turn; fewer if nothing is measured.
const QUESTIONS: usize = 500;

pub(crate) fn bench(criterion: &mut Criterion) {
    let n_questions = if is_measured() { QUESTIONS } else { 32 };
    for n_notes in sizes(&SIZES) {
        questions(criterion, n_notes, &vault(n_notes, n_questions));
    }
}

fn questions(criterion: &mut Criterion, n_notes: usize, vault: &Vault) {
    let engine = Engine::new(vault.reader.clone(), EngineSettings::default());
    let mut group = criterion.benchmark_group("query");
    group.throughput(Throughput::Elements(1));
    let mut uris: Vec<Vec<Uri>> = Vec::new();
    let no_graph = DisabledSignals { graph: true, ..DisabledSignals::default() };
    let all = DisabledSignals::default();
    let everywhere: fn(usize) -> Filter = |_| Filter::default();
    for (name, snippets, mode, disabled_signals, filter) in [
        ("hybrid", 0, SearchMode::Hybrid, all, everywhere),
        ("no_graph", 0, SearchMode::Hybrid, no_graph, everywhere),
        ("keyword", 0, SearchMode::Keyword, all, everywhere),
        ("with_snippets", EngineSettings::default().snippets, SearchMode::Hybrid, all, everywhere),
        ("filtered", 0, SearchMode::Hybrid, all, |_| tagged()),
        // More filters than are cached, so that each is evaluated again.
        ("filtered_anew", 0, SearchMode::Hybrid, all, |at| Filter {
            excluded: vec![format!("note-{at:06}")],
            ..tagged()
        }),
    ] {
        let requests: Vec<SearchRequest> = vault
            .questions
            .iter()
            .zip(0..)
            .map(|((query, _), at)| SearchRequest {
                query: query.clone(),
                limit: 10,
                mode,
                disabled_signals,
                filter: filter(at),
                snippets: Some(snippets),
                ..SearchRequest::default()
            })
            .collect();
        let ask = |request| engine.search(request).expect("memory can be read");
        let mut found = Vec::new();
        for request in &requests {
            let answer = ask(request);
            assert_eq!(answer.hits.len(), 10, "{answer:?}");
            assert!(answer.warnings.is_empty(), "{:?}", answer.warnings);
            assert_eq!(answer.hits, ask(request).hits, "the same query has the same result");
            found.extend(answer.hits.into_iter().map(|hit| hit.uri));
        }
        uris.push(found);
        let mut turn = requests.iter().cycle();
        let mut ask = || ask(black_box(turn.next().expect("there are questions")));
        group.bench_function(BenchmarkId::new(name, n_notes), |bencher| bencher.iter(&mut ask));
        if is_measured() {
            let Percentiles { p50, p99 } = Percentiles::of(|| drop(ask()));
            println!("query/{name}/{n_notes}: p50 {p50:.2?}, p99 {p99:.2?}");
        }
    }
    group.finish();
    let [hybrid, no_graph, keyword, with_snippets, filtered, _] = &uris[..] else {
        unreachable!("six ways")
    };
    assert_eq!(hybrid, with_snippets, "snippets do not change the ranking");
    assert!(
        hybrid != no_graph && no_graph != keyword,
        "connections and vectors change the ranking"
    );
    assert!(hybrid != filtered, "a filter removes notes");
}

/// Returns a filter that a twentieth of the notes pass.
fn tagged() -> Filter {
    Filter { tags: vec!["t3".into()], ..Filter::default() }
}
