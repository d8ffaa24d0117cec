//! Paths between two distant notes.
//!
//! `shortest` finds the least of all shortest paths, searching from both ends; `plain` is the reference: a search from the start that stops at the end and returns only the distance.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_benches::{SIZES, dense_graph, note, sizes};
use weft_graph::NoteGraph;
use weft_graph::walk::{EdgeCosts, EdgeLabel, EdgeRef, PathRequest, cheapest_path, shortest_path};
use weft_model::NoteId;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("path");
    group.throughput(Throughput::Elements(1));
    for n_notes in sizes(&SIZES) {
        let graph = dense_graph(n_notes);
        let request = far_apart(&graph, n_notes);
        let PathRequest { from, to, .. } = request;
        let length = distances(&graph, from, to)[&to];
        let found = shortest_path(&graph, &request).expect("both ends are notes");
        assert_eq!(found.length(), length);
        group.bench_function(BenchmarkId::new("shortest", n_notes), |bencher| {
            bencher.iter(|| shortest_path(black_box(&graph), &request));
        });
        group.bench_function(BenchmarkId::new("plain", n_notes), |bencher| {
            bencher.iter(|| distances(black_box(&graph), from, to));
        });

        let costs = EdgeCosts::default();
        let cheapest = || {
            cheapest_path(black_box(&graph), &request, |edge, _| costs.of(edge.label))
                .expect("both ends are notes")
        };
        let cost: u32 = cheapest().edges.iter().map(|edge| costs.of(edge.label)).sum();
        assert_eq!(cost, least_cost(&graph, from, to, &costs));
        group.bench_function(BenchmarkId::new("cheapest", n_notes), |bencher| {
            bencher.iter(cheapest);
        });

        // To one of a few notes for which a longer path is cheaper than all shortest ones under note costs.
        let price = |edge: EdgeRef, entered: NoteId| costs.of(edge.label) + entered.get() % 97;
        let of_few = |request: &PathRequest| {
            cheapest_path(black_box(&graph), request, price).expect("both ends are notes")
        };
        let few = (2..=40).map(|at| PathRequest::between(from, note(n_notes / at)));
        let mut few = few.map(|request| {
            let length = shortest_path(&graph, &request).expect("both ends are notes").length();
            PathRequest { max_hops: u32::try_from(length).ok(), ..request }
        });
        let few = few.find(|few| of_few(few).truncated).expect("there is one");
        group.bench_function(BenchmarkId::new("cheapest_of_few_hops", n_notes), |bencher| {
            bencher.iter(|| of_few(&few));
        });
    }
    group.finish();
}

/// Returns a request from a note to the farthest of some notes with few inbound links.
fn far_apart(graph: &NoteGraph, n_notes: usize) -> PathRequest {
    let from = note(n_notes - 1);
    let nowhere = NoteId::new(u32::MAX);
    let hops = distances(graph, from, nowhere);
    let to = (1..=20).map(|at| note(n_notes - 1 - at * 7)).max_by_key(|to| hops.get(to));
    PathRequest::between(from, to.expect("there are twenty"))
}

/// Returns the cost of the cheapest path, found by a plain search from one end.
fn least_cost(graph: &NoteGraph, from: NoteId, to: NoteId, costs: &EdgeCosts) -> u32 {
    let mut least = HashMap::from([(from, 0)]);
    let mut queue = BinaryHeap::from([Reverse((0, from))]);
    while let Some(Reverse((cost, at))) = queue.pop() {
        if at == to {
            return cost;
        }
        for half in graph.outgoing(at).iter().chain(graph.inbound(at)) {
            let beyond = cost + costs.of(EdgeLabel::Link { kind: half.kind, source: half.source });
            if least.get(&half.other).is_none_or(|known| beyond < *known) {
                least.insert(half.other, beyond);
                queue.push(Reverse((beyond, half.other)));
            }
        }
    }
    panic!("there is a path");
}

/// Returns the hops of `to` and of the notes that a search from one end reaches before it.
fn distances(graph: &NoteGraph, from: NoteId, to: NoteId) -> HashMap<NoteId, usize> {
    let mut hops = HashMap::from([(from, 0)]);
    let mut queue = VecDeque::from([(from, 0)]);
    while let Some((at, near)) = queue.pop_front() {
        for half in graph.outgoing(at).iter().chain(graph.inbound(at)) {
            if let Entry::Vacant(new) = hops.entry(half.other) {
                new.insert(near + 1);
                if half.other == to {
                    return hops;
                }
                queue.push_back((half.other, near + 1));
            }
        }
    }
    hops
}
