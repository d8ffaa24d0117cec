//! A walk over the links around a note.
#![forbid(unsafe_code)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_benches::{SIZES, graph, note, run};
use weft_graph::walk::{Limits, TreeRequest, tree};

/// Notes that the walk may reach.
const MAX_NODES: usize = 500;

fn main() {
    run(three_hops);
}

fn three_hops(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tree");
    group.throughput(Throughput::Elements(MAX_NODES as u64));
    for n_notes in SIZES {
        let graph = graph(n_notes);
        let mut request = TreeRequest::from_roots([note(n_notes / 2)]);
        request.limits = Limits { max_nodes: Some(MAX_NODES), ..Limits::default() };
        let found = tree(&graph, &request).expect("the root is a note");
        assert_eq!(found.nodes.len(), MAX_NODES, "three hops reach more than the limit");
        assert_eq!(found.spanning_tree.len(), MAX_NODES - 1);
        group.bench_function(BenchmarkId::new("three_hops", n_notes), |bencher| {
            bencher.iter(|| tree(black_box(&graph), &request));
        });
    }
    group.finish();
}
