//! Cost near hubs: only the entries that are read count.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use weft_graph::doughnut::{Budget, Options, Relations, Request, Texts, doughnut};
use weft_graph::{NodeSpec, NoteGraph};
use weft_model::{Estimator, NoteId, NoteSet, Tokens, tokens::Characters, tokens::Unit};
use weft_testkit::Notebook;

/// Texts that count how often the details of each note are read.
struct Counted<T> {
    texts: T,
    reads: RefCell<HashMap<NoteId, usize>>,
}

impl<T: Texts> Texts for Counted<T> {
    fn title(&self, note: NoteId) -> Cow<'_, str> {
        self.texts.title(note)
    }

    fn details(&self, note: NoteId) -> Cow<'_, str> {
        *self.reads.borrow_mut().entry(note).or_default() += 1;
        self.texts.details(note)
    }
}

/// Returns the number of reads for one run, by note.
fn reads(
    graph: &NoteGraph,
    texts: impl Texts,
    estimator: &dyn Estimator,
    focus: NoteId,
    budget: u64,
) -> HashMap<NoteId, usize> {
    let counted = Counted { texts, reads: RefCell::default() };
    let request = Request {
        focus,
        budget: Budget::Related(Tokens::new(budget)),
        filter: &NoteSet::All,
        relations: Relations::Structure,
        options: Options::default(),
        resume: None,
        stop: &|| false,
    };
    doughnut(graph, &counted, estimator, &request).expect("the focus exists");
    counted.reads.into_inner()
}

struct Blank;

impl Texts for Blank {
    fn title(&self, _: NoteId) -> Cow<'_, str> {
        "".into()
    }

    fn details(&self, _: NoteId) -> Cow<'_, str> {
        "".into()
    }
}

#[test]
fn hub_of_100k_notes_is_read_only_as_far_as_delivered() {
    let hub = NoteId::new(0);
    let spoke = |slot: u32| {
        let around = Some(hub);
        let spec = NodeSpec { parent: around, object: around, ..NodeSpec::note(&slot.to_string()) };
        (NoteId::new(slot), spec)
    };
    let notes = (1..=100_000).map(spoke);
    let graph = NoteGraph::build(notes.chain([(hub, NodeSpec::note("hub"))]));
    let reads_of = |focus| reads(&graph, Blank, &Unit, focus, 50);
    assert_eq!(reads_of(hub).len(), 51, "the focus note and the delivered notes");
    assert_eq!(reads_of(NoteId::new(500)).len(), 51);
}

#[test]
fn many_statements_of_one_subject_cost_linear_time() {
    const N_STATEMENTS: u32 = 3_000;
    let (focus, subject) = (NoteId::new(0), NoteId::new(1));
    let statement = |slot: u32| {
        let uri = slot.to_string();
        let about = NodeSpec { parent: Some(subject), object: Some(focus), ..NodeSpec::note(&uri) };
        (NoteId::new(slot), about)
    };
    let named = [(focus, NodeSpec::note("focus")), (subject, NodeSpec::note("subject"))];
    let graph = NoteGraph::build((2..2 + N_STATEMENTS).map(statement).chain(named));
    // One note less than there are, all of them, and more: each case walks the remaining candidates.
    for budget in [N_STATEMENTS, N_STATEMENTS + 1, 2 * N_STATEMENTS] {
        let n_steps = Cell::new(0);
        let request = Request {
            focus,
            budget: Budget::Related(Tokens::new(budget.into())),
            filter: &NoteSet::All,
            relations: Relations::Structure,
            options: Options::default(),
            resume: None,
            stop: &|| {
                n_steps.set(n_steps.get() + 1);
                false
            },
        };
        let answer = doughnut(&graph, &Blank, &Unit, &request).expect("the focus exists");
        assert_eq!(answer.related_notes.len(), budget.min(N_STATEMENTS + 1) as usize);
        assert!(n_steps.get() < 10 * N_STATEMENTS, "{} steps", n_steps.get());
    }
}

#[test]
fn refused_note_is_read_once() {
    let mut notebook = Notebook::drawn(
        "focus\nroot\n  subject\n    a -> focus\n    b -> focus\n    c -> focus\n    d -> focus",
    );
    notebook.note_mut("root").details = "x".repeat(900);
    let (root, focus) = (notebook.id(notebook.find("root")), notebook.id(notebook.find("focus")));
    let estimator = Characters::default();
    let reads = reads(&notebook.graph(), notebook.clone(), &estimator, focus, 100);
    assert_eq!(reads.get(&root), Some(&1));
}
