//! Walks over the links around a note.
//!
//! `three_hops` is limited by its number of notes and must cost the same at every size; `leaf` is a small walk; `plain` is the reference: the same notes found without order, limits or a tree.

use std::collections::{HashSet, VecDeque};
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_benches::{SIZES, dense_graph, note, sizes};
use weft_graph::NoteGraph;
use weft_graph::walk::{Direction, Tree, TreeLimits, TreeRequest, WalkOptions, tree};
use weft_model::NoteId;

/// Maximum number of notes of the walk.
const MAX_NODES: usize = 500;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tree");
    for n_notes in sizes(&SIZES) {
        let graph = dense_graph(n_notes);
        let root = note(n_notes / 2);
        let ask = |request: &TreeRequest| -> Tree {
            tree(black_box(&graph), request).expect("the root is a note")
        };

        let limits = TreeLimits { max_nodes: Some(MAX_NODES), ..TreeLimits::default() };
        let wide = TreeRequest { limits, ..TreeRequest::from_roots([root]) };
        let found = ask(&wide);
        assert_eq!(found.nodes.len(), MAX_NODES, "three hops reach more than the limit");
        assert_eq!(found.spanning_tree.len(), MAX_NODES - 1);
        assert!(found.edges.len() > MAX_NODES && found.truncated());
        group.throughput(Throughput::Elements(MAX_NODES as u64));
        group.bench_function(BenchmarkId::new("three_hops", n_notes), |bencher| {
            bencher.iter(|| ask(&wide));
        });

        assert_eq!(plain(&graph, root).len(), MAX_NODES);
        group.bench_function(BenchmarkId::new("plain", n_notes), |bencher| {
            bencher.iter(|| plain(black_box(&graph), root));
        });

        let follow = WalkOptions { direction: Direction::Out, ..WalkOptions::default() };
        let limits = TreeLimits { max_hops: Some(1), ..TreeLimits::default() };
        let small = TreeRequest { follow, limits, ..TreeRequest::from_roots([root]) };
        let found = ask(&small);
        assert!((2..=11).contains(&found.nodes.len()), "a note and what it links to");
        group.throughput(Throughput::Elements(found.nodes.len() as u64));
        group.bench_function(BenchmarkId::new("leaf", n_notes), |bencher| {
            bencher.iter(|| ask(&small));
        });
    }
    group.finish();
}

/// Returns the nearest notes in any order.
fn plain(graph: &NoteGraph, root: NoteId) -> HashSet<NoteId> {
    let mut seen = HashSet::from([root]);
    let mut queue = VecDeque::from([root]);
    while let Some(at) = queue.pop_front() {
        for half in graph.outgoing(at).iter().chain(graph.inbound(at)) {
            if seen.len() == MAX_NODES {
                return seen;
            }
            if seen.insert(half.other) {
                queue.push_back(half.other);
            }
        }
    }
    seen
}
