//! Comparison of the driver with a model written from the design text alone.

use std::num::NonZeroUsize;

use weft_graph::doughnut::{
    Budget, Doughnut, Options, Relations, Request, TRUNCATE_LENGTH, doughnut,
};
use weft_model::{Estimator, NoteId, NoteSet, Tokens, tokens::Characters, tokens::Unit};
use weft_testkit::doughnut_model::{ModelOptions, ModelSurroundings, Page, pages};
use weft_testkit::{Notebook, Random};

use crate::fixed_surroundings::FixedSurroundings;

const N_NOTEBOOKS: u64 = 10_000;

#[test]
fn driver_and_model_agree_on_random_notebooks() {
    let (mut n_skipped, mut n_more, mut n_resumed, mut n_around) = (0, 0, 0, 0);
    let (mut n_cut, mut n_cut_to_rest) = (0, 0);
    for seed in 0..N_NOTEBOOKS {
        let mut random = Random::new(seed);
        let max_notes = [6, 14, 24][random.below(3)];
        let notebook = Notebook::random(&mut random, max_notes);
        let n_notes = notebook.notes.len();
        let focus = random.below(n_notes);
        let by_characters = random.below(2) == 0;
        let (estimator, price): (&dyn Estimator, fn(usize) -> u64) = if by_characters {
            (&Characters { per_token: 3.75 }, |chars| (chars as u64 * 4).div_ceil(15).max(1))
        } else {
            (&Unit, |_| 1)
        };
        let options = ModelOptions {
            excluded: (0..n_notes).filter(|_| random.below(10) == 0).collect(),
            max_skips: if random.below(2) == 0 { 1 + random.below(4) } else { 256 },
            body_links: random.below(3) == 0,
            sibling_of_target: random.below(3) == 0,
            around: (random.below(2) == 0).then(|| surroundings(&mut random, n_notes, focus)),
            price,
        };
        let scale = if by_characters { 60 } else { 5 };
        let n_pages = 1 + random.below(4);
        let budgets: Vec<u64> = (0..n_pages)
            .map(|_| match random.below(6) {
                0 => 1_000_000,
                1 => random.below(5) as u64,
                _ => random.below(scale * 4) as u64,
            })
            .collect();

        let expected = pages(&notebook, focus, &budgets, &options);
        let answers = answered(&notebook, focus, &budgets, &options, estimator);
        let got: Vec<Page> = answers.iter().map(|answer| page(&notebook, answer)).collect();
        assert_eq!(
            got, expected,
            "seed {seed}: {notebook:#?} focus {focus} {budgets:?} {options:?}"
        );

        let is_around = |(_, relation, ..): &(usize, &str, Vec<&str>, u64)| {
            ["Linked", "LinkedFrom", "TopicSibling", "Similar", "SameFolder"].contains(relation)
        };
        n_around += usize::from(expected.iter().flat_map(|page| &page.related).any(is_around));
        n_skipped += usize::from(expected.iter().any(|page| !page.skipped.is_empty()));
        n_more += usize::from(expected.iter().any(|page| page.skipped_truncated));
        n_resumed += usize::from(expected.iter().skip(1).any(|page| !page.related.is_empty()));
        let mut delivered = answers.iter().flat_map(|answer| &answer.related_notes);
        n_cut += usize::from(delivered.clone().any(|note| note.truncated));
        n_cut_to_rest += usize::from(delivered.any(|note| note.max_chars < TRUNCATE_LENGTH));
    }
    let reached = [n_skipped, n_cut, n_cut_to_rest, n_more, n_resumed, n_around];
    assert!(reached.into_iter().all(|n| n > 300), "the notebooks cover every case: {reached:?}");
}

/// Returns random notes around `focus`; the lists may overlap and contain the focus note.
fn surroundings(random: &mut Random, n_notes: usize, focus: usize) -> ModelSurroundings {
    let mut some = |most: usize| {
        let n = random.below(most + 1);
        (0..n).map(|_| random.below(n_notes)).collect::<Vec<usize>>()
    };
    let distinct = |list: Vec<usize>| {
        let mut seen = vec![false; n_notes];
        list.into_iter().filter(|at| !std::mem::replace(&mut seen[*at], true)).collect::<Vec<_>>()
    };
    let [linked, linked_hubs, topics, similar, same_folder, unconnected, far_by_text, stubs] =
        [(); 8].map(|()| distinct(some(5)));
    let folder = distinct(some(6));
    let folder: Vec<usize> = folder.into_iter().filter(|at| *at != focus).collect();
    let (before, after) = folder.split_at(folder.len() / 2);
    ModelSurroundings {
        linked,
        linked_hubs,
        folder: folder.len().is_multiple_of(2).then(|| (before.to_vec(), after.to_vec())),
        has_assumed_parent: same_folder.len().is_multiple_of(2),
        topic_siblings: topics.into_iter().map(|at| (at, (at + 1) % n_notes)).collect(),
        similar: similar.into_iter().map(|at| (at, 1.0 / (at + 2) as f64)).collect(),
        same_folder,
        unconnected,
        far_by_text,
        stubs,
    }
}

fn answered(
    notebook: &Notebook,
    focus: usize,
    budgets: &[u64],
    options: &ModelOptions,
    estimator: &dyn Estimator,
) -> Vec<Doughnut> {
    let graph = notebook.graph();
    let present = (0..notebook.notes.len()).filter(|at| !options.excluded.contains(at));
    let filter: NoteSet = present.map(|at| notebook.id(at)).collect();
    let around = options.around.as_ref().map(|around| FixedSurroundings::of(notebook, around));
    let relations = around.as_ref().map_or(Relations::Structure, |around| Relations::Auto(around));
    let mut answers: Vec<Doughnut> = Vec::new();
    for budget in budgets {
        let resume = answers.last().map(|answer| answer.resume.as_ref());
        if resume == Some(None) {
            break;
        }
        let request = Request {
            focus: notebook.id(focus),
            budget: Budget::Related(Tokens::new(*budget)),
            filter: &filter,
            relations,
            options: Options {
                max_skips: NonZeroUsize::new(options.max_skips).expect("not zero"),
                body_links: options.body_links,
                sibling_of_target: options.sibling_of_target,
            },
            resume: resume.flatten(),
            stop: &|| false,
        };
        answers.push(doughnut(&graph, notebook, estimator, &request).expect("the focus exists"));
    }
    answers
}

fn page(notebook: &Notebook, answer: &Doughnut) -> Page {
    let positions =
        |notes: &[NoteId]| notes.iter().map(|note| notebook.position(*note)).collect::<Vec<_>>();
    let focus = &answer.focus_note;
    Page {
        related: answer
            .related_notes
            .iter()
            .map(|note| {
                let also = note.also_relations.iter().map(|also| also.name()).collect();
                (notebook.position(note.note), note.relation.name(), also, note.tokens.get())
            })
            .collect(),
        lists: [&focus.children, &focus.referrings, &focus.prior_siblings, &focus.younger_siblings]
            .map(|list| positions(list)),
        remaining: answer.remaining.get(),
        skipped: answer
            .skipped
            .iter()
            .map(|skipped| {
                (notebook.position(skipped.note), skipped.relation.name(), skipped.tokens.get())
            })
            .collect(),
        skipped_truncated: answer.skipped_truncated,
        more: answer.resume.is_some(),
    }
}
