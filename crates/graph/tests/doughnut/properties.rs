//! Properties of every notebook.

use std::collections::HashSet;

use proptest::prelude::*;
use weft_model::NoteId;
use weft_testkit::{Notebook, Random};

use crate::request_builder::{NamedResult, around};

fn notebooks() -> impl Strategy<Value = (Notebook, String)> {
    (any::<u64>(), 1..30_usize).prop_map(|(seed, max_notes)| {
        let mut random = Random::new(seed);
        let notebook = Notebook::random(&mut random, max_notes);
        let focus = notebook.notes[random.below(notebook.notes.len())].uri.clone();
        (notebook, focus)
    })
}

fn ids(run: &NamedResult) -> Vec<NoteId> {
    run.answer.related_notes.iter().map(|note| note.note).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn result_is_deterministic_distinct_and_within_budget((notebook, focus) in notebooks(), budget in 0..2000_u64) {
        let ask = around(&notebook, &focus).characters().budget(budget);
        let run = ask.clone().run();
        prop_assert_eq!(&run, &ask.run(), "repeated calls are equal");

        let delivered = ids(&run);
        let distinct: HashSet<NoteId> = delivered.iter().copied().collect();
        prop_assert!(!distinct.contains(&run.answer.focus_note.note), "never related to itself");
        prop_assert_eq!(distinct.len(), delivered.len(), "each note once");
        let cost: u64 = run.answer.related_notes.iter().map(|note| note.tokens.get()).sum();
        prop_assert!(cost <= budget);
        prop_assert_eq!(cost, run.answer.used.get());
        prop_assert_eq!(cost + run.answer.remaining.get(), budget);
        prop_assert!(run.answer.skipped.iter().all(|skipped| !distinct.contains(&skipped.note)));
        let focus = &run.answer.focus_note;
        for list in [&focus.children, &focus.referrings, &focus.prior_siblings, &focus.younger_siblings] {
            prop_assert!(list.iter().all(|note| distinct.contains(note)), "lists hold fetched notes");
        }
    }

    #[test]
    fn smaller_budget_gives_a_prefix_of_the_unlimited_run((notebook, focus) in notebooks()) {
        let all = ids(&around(&notebook, &focus).run());
        for k in 0..=all.len() {
            let run = around(&notebook, &focus).budget(k as u64).run();
            prop_assert_eq!(ids(&run), &all[..k]);
        }
    }

    #[test]
    fn large_budget_completes_the_lists((notebook, focus) in notebooks()) {
        let run = around(&notebook, &focus).run();
        let graph = notebook.graph();
        let note = run.answer.focus_note.note;
        let others = |list: &[NoteId]| list.iter().copied().filter(|id| *id != note).collect::<Vec<_>>();
        let focus = &run.answer.focus_note;
        prop_assert_eq!(&focus.children, &others(graph.children(note)));
        prop_assert_eq!(&focus.referrings, &others(graph.referrings(note)));
        let alone = [note];
        let (siblings, at) = graph.siblings(note).unwrap_or((&alone, 0));
        prop_assert_eq!(&focus.prior_siblings[..], &siblings[..at]);
        prop_assert_eq!(&focus.younger_siblings[..], &siblings[at + 1..]);
        prop_assert_eq!(run.answer.resume, None);
    }

    #[test]
    fn joined_pages_equal_one_run(
        (notebook, focus) in notebooks(),
        budgets in prop::collection::vec(1..9_u64, 1..6),
    ) {
        let ask = around(&notebook, &focus);
        let whole = ask.clone().budget(budgets.iter().sum()).run();
        let (mut related, mut last): (Vec<NoteId>, Option<NamedResult>) = (Vec::new(), None);
        for budget in budgets {
            let page = last.as_ref().map_or(ask.clone(), |last| ask.clone().after(last)).budget(budget).run();
            related.extend(ids(&page));
            let ended = page.answer.resume.is_none();
            last = Some(page);
            if ended {
                break;
            }
        }
        let last = last.expect("at least one page").answer;
        prop_assert_eq!(&related, &ids(&whole));
        prop_assert_eq!(last.resume.is_some(), whole.answer.resume.is_some());
        // A run that stops on its last token does not look for further relations of delivered notes.
        if last.remaining == whole.answer.remaining {
            prop_assert_eq!(last.focus_note, whole.answer.focus_note);
        }
    }

    #[test]
    fn joined_pages_equal_one_run_without_skips(
        (notebook, focus) in notebooks(),
        n_first in 0..8_usize,
    ) {
        let ask = around(&notebook, &focus).characters();
        let whole = ask.clone().run();
        let paid = whole.answer.related_notes.iter().take(n_first);
        let budget: u64 = paid.map(|note| note.tokens.get()).sum();
        let first = ask.clone().budget(budget).run();
        prop_assert!(first.skipped.is_empty());
        let Some(_) = first.answer.resume else { return Ok(()) };
        let second = ask.after(&first).run();
        prop_assert_eq!([ids(&first), ids(&second)].concat(), ids(&whole));
        prop_assert_eq!(second.answer.focus_note, whole.answer.focus_note);
    }
}
