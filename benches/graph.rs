//! Building a graph of links and hierarchy, and editing it.

use std::collections::BTreeSet;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_benches::{SIZES, graph, nodes, note, sizes};
use weft_graph::{NodeSpec, NoteGraph};
use weft_model::{LinkSource, NoteId};

pub(crate) fn bench(criterion: &mut Criterion) {
    build(criterion);
    edit(criterion);
}

fn build(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("graph");
    for n_notes in sizes(&SIZES) {
        let nodes: Vec<(NoteId, NodeSpec)> = nodes(n_notes).collect();
        let graph = NoteGraph::build(nodes.clone());
        assert_eq!(graph.n_nodes(), n_notes);
        for (id, spec) in nodes.iter().step_by(97) {
            let targets = |to: &[NoteId]| to.iter().copied().collect::<BTreeSet<_>>();
            let (written, held): (Vec<_>, Vec<_>) = (
                spec.links.iter().map(|(to, ..)| *to).collect(),
                graph.outgoing(*id).iter().map(|half| half.other).collect(),
            );
            assert_eq!(targets(&held), targets(&written), "the links of {id:?}");
        }
        group.throughput(Throughput::Elements(n_notes as u64));
        group.bench_function(BenchmarkId::new("build", n_notes), |bencher| {
            bencher.iter_with_setup(|| nodes.clone(), NoteGraph::build);
        });
    }
    group.finish();
}

/// Replaces a note's links by one, as when its file is saved.
fn edit(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("graph");
    group.throughput(Throughput::Elements(1));
    for n_notes in sizes(&SIZES) {
        let graph = graph(n_notes);
        let (edited, target) = (note(n_notes / 2), note(n_notes - 1));
        let spec = NodeSpec {
            parent: graph.parent(edited),
            links: vec![(target, "related".into(), LinkSource::Inline)],
            ..NodeSpec::note(graph.uri(edited).as_str())
        };
        let next = graph.edited([(edited, Some(spec.clone()))]);
        assert!(next.outgoing(edited).iter().any(|half| half.other == target));
        assert_eq!(next.degrees(edited).outgoing, 1);
        group.bench_function(BenchmarkId::new("edit", n_notes), |bencher| {
            bencher.iter(|| graph.edited([(black_box(edited), Some(spec.clone()))]));
        });
    }
    group.finish();
}
