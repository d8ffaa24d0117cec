//! Related notes around a focus note within a budget.

use std::borrow::Cow;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_benches::{SIZES, graph, note, sizes, text};
use weft_graph::doughnut::{Budget, Options, Relations, Request, Texts, doughnut};
use weft_graph::{NodeSpec, NoteGraph};
use weft_model::tokens::Characters;
use weft_model::{NoteId, NoteSet, Tokens};
use weft_testkit::Random;

/// Numbers of children of a hub, and of referring notes.
const HUBS: [usize; 2] = [1_000, 100_000];

const BUDGET: Tokens = Tokens::new(2_000);

pub(crate) fn bench(criterion: &mut Criterion) {
    within_a_budget(criterion);
    around_a_hub(criterion);
}

/// Texts that are the same for every note, so that a corpus takes no memory.
struct SameText(String);

impl Texts for SameText {
    fn title(&self, _: NoteId) -> Cow<'_, str> {
        Cow::Borrowed("a note")
    }

    fn details(&self, _: NoteId) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }
}

fn within_a_budget(criterion: &mut Criterion) {
    let texts = SameText(text(&mut Random::new(3), 60));
    let estimator = Characters::default();
    let mut group = criterion.benchmark_group("related");
    group.throughput(Throughput::Elements(1));
    for n_notes in sizes(&SIZES) {
        let graph = graph(n_notes);
        // The first tenth of a corpus gets half of its links.
        let request = Request {
            focus: note(1),
            budget: Budget::Related(BUDGET),
            filter: &NoteSet::All,
            relations: Relations::Structure,
            options: Options { body_links: true, ..Options::default() },
            resume: None,
            stop: &|| false,
        };
        let answer = doughnut(&graph, &texts, &estimator, &request).expect("the focus is a note");
        assert!(answer.used <= BUDGET && answer.related_notes.len() > 10, "{answer:?}");
        group.bench_function(BenchmarkId::new("2000_tokens", n_notes), |bencher| {
            bencher.iter(|| doughnut(black_box(&graph), &texts, &estimator, &request));
        });
    }
    group.finish();
}

/// Returns the graph of a note with `n_around` children and as many other notes whose object it is.
fn hub(n_around: usize) -> NoteGraph {
    let spoke = |at: usize| {
        let spec = NodeSpec::note(&format!("note-{at:06}"));
        let spec = if at <= n_around {
            NodeSpec { parent: Some(note(0)), ..spec }
        } else {
            NodeSpec { object: Some(note(0)), ..spec }
        };
        (note(at), spec)
    };
    let spokes = (1..=2 * n_around).map(spoke);
    NoteGraph::build(spokes.chain([(note(0), NodeSpec::note("hub"))]))
}

fn around_a_hub(criterion: &mut Criterion) {
    let texts = SameText(text(&mut Random::new(3), 60));
    let estimator = Characters::default();
    let mut group = criterion.benchmark_group("related");
    group.throughput(Throughput::Elements(1));
    for n_around in HUBS {
        let graph = hub(n_around);
        let request = Request {
            focus: note(0),
            budget: Budget::Related(BUDGET),
            filter: &NoteSet::All,
            relations: Relations::Structure,
            options: Options::default(),
            resume: None,
            stop: &|| false,
        };
        let answer = doughnut(&graph, &texts, &estimator, &request).expect("the focus is a note");
        assert!(answer.used <= BUDGET && answer.resume.is_some(), "{answer:?}");
        group.bench_function(BenchmarkId::new("hub", n_around), |bencher| {
            bencher.iter(|| doughnut(black_box(&graph), &texts, &estimator, &request));
        });
    }
    group.finish();
}
