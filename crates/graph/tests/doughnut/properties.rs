//! What holds for every notebook.

use std::collections::HashSet;

use proptest::prelude::*;
use weft_model::NoteId;
use weft_testkit::{Notebook, Random};

use crate::ask::{Told, around};

fn notebooks() -> impl Strategy<Value = (Notebook, String)> {
    (any::<u64>(), 1..30_usize).prop_map(|(seed, max_notes)| {
        let mut random = Random::new(seed);
        let notebook = Notebook::random(&mut random, max_notes);
        let focus = notebook.notes[random.below(notebook.notes.len())].uri.clone();
        (notebook, focus)
    })
}

fn ids(told: &Told) -> Vec<NoteId> {
    told.answer.related_notes.iter().map(|note| note.note).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_answer_keeps_its_promises((notebook, focus) in notebooks(), budget in 0..2000_u64) {
        let ask = around(&notebook, &focus).characters().budget(budget);
        let told = ask.clone().told();
        prop_assert_eq!(&told, &ask.told(), "repeated calls are equal");

        let delivered = ids(&told);
        let distinct: HashSet<NoteId> = delivered.iter().copied().collect();
        prop_assert!(!distinct.contains(&told.answer.focus_note.note), "never related to itself");
        prop_assert_eq!(distinct.len(), delivered.len(), "no note twice");
        let cost: u64 = told.answer.related_notes.iter().map(|note| note.tokens.get()).sum();
        prop_assert!(cost <= budget);
        prop_assert_eq!(cost, told.answer.used.get());
        prop_assert_eq!(cost + told.answer.remaining.get(), budget);
        prop_assert!(told.answer.skipped.iter().all(|skipped| !distinct.contains(&skipped.note)));
        let focus = &told.answer.focus_note;
        for list in [&focus.children, &focus.referrings, &focus.prior_siblings, &focus.younger_siblings] {
            prop_assert!(list.iter().all(|note| distinct.contains(note)), "lists hold what was fetched");
        }
    }

    #[test]
    fn a_smaller_budget_gives_the_beginning_of_the_unlimited_run((notebook, focus) in notebooks()) {
        let all = ids(&around(&notebook, &focus).told());
        for k in 0..=all.len() {
            let told = around(&notebook, &focus).budget(k as u64).told();
            prop_assert_eq!(ids(&told), &all[..k]);
        }
    }

    #[test]
    fn an_ample_budget_completes_the_lists((notebook, focus) in notebooks()) {
        let told = around(&notebook, &focus).told();
        let graph = notebook.graph();
        let note = told.answer.focus_note.note;
        let others = |list: &[NoteId]| list.iter().copied().filter(|id| *id != note).collect::<Vec<_>>();
        let focus = &told.answer.focus_note;
        prop_assert_eq!(&focus.children, &others(graph.children(note)));
        prop_assert_eq!(&focus.referrings, &others(graph.referrings(note)));
        let alone = [note];
        let (siblings, at) = graph.siblings(note).unwrap_or((&alone, 0));
        prop_assert_eq!(&focus.prior_siblings[..], &siblings[..at]);
        prop_assert_eq!(&focus.younger_siblings[..], &siblings[at + 1..]);
        prop_assert_eq!(told.answer.resume, None);
    }

    #[test]
    fn pages_joined_are_one_run(
        (notebook, focus) in notebooks(),
        budgets in prop::collection::vec(1..9_u64, 1..6),
    ) {
        let ask = around(&notebook, &focus);
        let whole = ask.clone().budget(budgets.iter().sum()).told();
        let (mut related, mut last): (Vec<NoteId>, Option<Told>) = (Vec::new(), None);
        for budget in budgets {
            let page = last.as_ref().map_or(ask.clone(), |last| ask.clone().after(last)).budget(budget).told();
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
        // A run that stops on its last token does not look on for further relations of what it has.
        if last.remaining == whole.answer.remaining {
            prop_assert_eq!(last.focus_note, whole.answer.focus_note);
        }
    }

    #[test]
    fn pages_joined_are_one_run_where_nothing_was_skipped(
        (notebook, focus) in notebooks(),
        n_first in 0..8_usize,
    ) {
        let ask = around(&notebook, &focus).characters();
        let whole = ask.clone().told();
        let paid = whole.answer.related_notes.iter().take(n_first);
        let budget: u64 = paid.map(|note| note.tokens.get()).sum();
        let first = ask.clone().budget(budget).told();
        prop_assert!(first.skipped.is_empty());
        let Some(_) = first.answer.resume else { return Ok(()) };
        let second = ask.after(&first).told();
        prop_assert_eq!([ids(&first), ids(&second)].concat(), ids(&whole));
        prop_assert_eq!(second.answer.focus_note, whole.answer.focus_note);
    }
}
