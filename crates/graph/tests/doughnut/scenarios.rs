//! Candidate scenarios of the design text, each under its title.

use weft_graph::doughnut::{ELLIPSIS, Relation, TRUNCATE_LENGTH, View};
use weft_model::{Chars, Tokens, tokens::Characters};
use weft_testkit::Notebook;

use crate::request_builder::{AMPLE, CostFromDetails, around};

/// Builds a notebook with every relation: `focus` states that `parent` relates to `object`.
fn complex() -> Notebook {
    Notebook::drawn(
        "
root
  uncle
    cousin
  parent
    prior 1
    prior 2
    focus -> object: what it is about
      child 1 -> child object
      child 2
      child 3
    younger 1
    younger 2
  aunt
    cousin 2
object root
  object uncle
    object cousin
  object parent
    object
  object aunt
referring root
  subject
    cousin of r 1
    r 1 -> focus
    cousin of r 2
  other subject
    r 2 -> focus
child object
",
    )
}

#[test]
fn retrieving_just_the_focus_note() {
    let run = around(&complex(), "focus").budget(0).run();
    assert!(run.related.is_empty() && run.skipped.is_empty());
    assert_eq!(run.path, ["root", "parent"]);
    assert_eq!([&run.children, &run.referrings, &run.prior, &run.younger], [&[] as &[String]; 4]);
    let focus = &run.answer.focus_note;
    assert!(focus.parent.is_some() && focus.object.is_some());
    assert_eq!((run.answer.used, run.answer.remaining), (Tokens::ZERO, Tokens::ZERO));

    let alone = Notebook::drawn("alone: with nothing around");
    let run = around(&alone, "alone").run();
    assert!(run.related.is_empty() && run.path.is_empty());
    assert_eq!(run.answer.remaining.get(), AMPLE);
    assert_eq!(run.answer.resume, None);
}

#[test]
fn retrieving_the_focus_note_with_its_direct_parent() {
    let notebook = Notebook::drawn("parent\n  focus");
    let run = around(&notebook, "focus").budget(5).run();
    assert_eq!(run.related, ["Parent parent +NoteInContextualPath"]);
    assert_eq!(run.answer.focus_note.parent, Some(notebook.id(0)));
    assert_eq!(run.path, ["parent"]);
    assert_eq!((run.answer.used.get(), run.answer.remaining.get()), (1, 4));
}

#[test]
fn retrieving_the_focus_note_having_a_parent_but_the_budget_is_not_enough_for_fetching_the_parent_to_related_notes()
 {
    let notebook = Notebook::drawn("parent: some words about it\n  focus");
    for budget in [1, 2, 10] {
        let run = around(&notebook, "focus").characters().budget(budget).run();
        assert!(run.related.is_empty(), "{budget}");
        assert_eq!(run.answer.focus_note.parent, Some(notebook.id(0)));
        assert_eq!(run.path, ["parent"]);
        // `[parent](parent)`, `some words about it`, `Parent`: 16 + 19 + 6 characters, ⌈41 / 3.75⌉ tokens.
        assert_eq!(run.skipped, ["Parent parent 11"], "{budget}");
    }
}

#[test]
fn related_note_details_are_truncated() {
    let mut notebook = Notebook::drawn("parent\n  focus");
    let cases = [
        ("below", "漢".repeat(TRUNCATE_LENGTH - 1), false),
        ("exactly", "漢".repeat(TRUNCATE_LENGTH), false),
        ("above", "漢".repeat(TRUNCATE_LENGTH + 1), true),
    ];
    for (name, details, cut) in cases {
        for uri in ["parent", "focus"] {
            notebook.note_mut(uri).details.clone_from(&details);
        }
        let run = around(&notebook, "focus").run();
        let graph = notebook.graph();
        let view = View::new(&run.answer, &graph, &notebook);
        assert_eq!(
            view.focus_note.details, details,
            "{name}: the details of the focus note are not"
        );
        let parent = &view.related_notes[0];
        assert_eq!((parent.truncated, run.answer.related_notes[0].truncated), (cut, cut), "{name}");
        let expected =
            if cut { format!("{}{ELLIPSIS}", "漢".repeat(TRUNCATE_LENGTH)) } else { details };
        assert_eq!(parent.details, expected, "{name}");
    }
}

#[test]
fn retrieving_the_focus_note_with_its_direct_object() {
    let notebook = Notebook::drawn("a\n  focus -> elsewhere\nb\n  elsewhere");
    let run = around(&notebook, "focus").budget(2).run();
    assert_eq!(run.related, ["Parent a", "Object elsewhere"]);
    assert_eq!(run.answer.focus_note.object, Some(notebook.id(3)));
}

#[test]
fn retrieving_the_focus_note_and_its_immediate_children() {
    let notebook = Notebook::drawn("focus\n  z\n    deeper\n  a\n  m");
    let run = around(&notebook, "focus").run();
    assert_eq!(run.related, ["Child z", "Child a", "Child m"]);
    assert_eq!(run.children, ["z", "a", "m"]);
}

#[test]
fn handling_token_budget_limitations_while_fetching_a_complex_relationship_graph() {
    let mut notebook = complex();
    for (at, note) in notebook.notes.iter_mut().enumerate() {
        note.details = "words ".repeat(at * 7 % 40);
    }
    let all = around(&notebook, "focus").characters().run();
    for budget in (0..all.answer.used.get() + 20).step_by(13) {
        let run = around(&notebook, "focus").characters().budget(budget).run();
        let paid: u64 = run.answer.related_notes.iter().map(|note| note.tokens.get()).sum();
        assert_eq!(paid, run.answer.used.get());
        assert_eq!(paid + run.answer.remaining.get(), budget);
        let delivered = run.related.len() + run.skipped.len();
        assert!(delivered == all.related.len() || run.answer.remaining.get() < 40, "{budget}");
    }
}

#[test]
fn prioritizing_relationships_by_importance_eg_parent_and_object_before_siblings_or_referrings() {
    let run = around(&complex(), "focus").run();
    assert_eq!(
        run.without_further_relations()[..8],
        [
            "Parent parent",
            "Object object",
            "Child child 1",
            "PriorSibling prior 2",
            "YoungerSibling younger 1",
            "ReifiedChildObject child object",
            "ParentSibling uncle",
            "ParentSiblingChild cousin",
        ]
    );
}

#[test]
fn adjusting_note_details_truncated_vs_full_to_stay_within_budget() {
    let mut notebook = Notebook::drawn("parent\n  focus");
    let mut cost = |n_chars: usize| {
        notebook.note_mut("parent").details = "x".repeat(n_chars);
        around(&notebook, "focus").characters().run().answer.used.get()
    };
    // `[parent](parent)` and `Parent` add 22 characters to the details.
    assert_eq!(cost(1000), 273, "⌈1022 / 3.75⌉");
    assert_eq!(cost(1001), 274, "⌈1025 / 3.75⌉: cut, with an ellipsis");
    assert_eq!(cost(50_000), 274);
    // A note that does not fit is omitted, never truncated further.
    notebook.note_mut("parent").details = "x".repeat(50_000);
    let run = around(&notebook, "focus").characters().budget(273).run();
    assert_eq!((run.related.len(), run.skipped), (0, vec!["Parent parent 274".to_owned()]));
}

#[test]
fn retrieving_the_focus_note_and_its_immediate_siblings_prior_and_younger() {
    let notebook = Notebook::drawn("p\n  a\n  b\n  focus\n  c\n  d\n  e");
    let run = around(&notebook, "focus").run();
    assert_eq!(
        run.without_further_relations(),
        [
            "Parent p",
            "PriorSibling b",
            "YoungerSibling c",
            "PriorSibling a",
            "YoungerSibling d",
            "YoungerSibling e"
        ]
    );
    assert_eq!((run.prior, run.younger), (list(&["a", "b"]), list(&["c", "d", "e"])));
}

#[test]
fn retrieving_the_focus_note_with_its_referring_notes() {
    let notebook = Notebook::drawn("focus\nz -> focus\na -> focus\nm -> focus");
    let run = around(&notebook, "focus").run();
    assert_eq!(run.related, ["ReferringNote a", "ReferringNote m", "ReferringNote z"]);
    assert_eq!(run.referrings, ["a", "m", "z"]);
}

#[test]
fn dropping_lower_priority_notes_to_include_higher_priority_notes_within_budget() {
    let run = around(&complex(), "focus").budget(2).run();
    assert_eq!(run.related, ["Parent parent", "Object object"]);
    // A delivered note is never revoked: each larger budget only adds notes.
    let all = around(&complex(), "focus").run();
    for budget in 0..=all.related.len() {
        let run = around(&complex(), "focus").budget(budget as u64).run();
        assert_eq!(run.without_further_relations(), all.without_further_relations()[..budget]);
    }
}

#[test]
fn exhausting_budget_before_all_relationships_are_retrieved() {
    let run = around(&complex(), "focus").budget(4).run();
    assert_eq!(run.without_further_relations()[2..], ["Child child 1", "PriorSibling prior 2"]);
    assert_eq!(run.younger, list(&[]));
    assert!(run.skipped.is_empty(), "every note fit");
    assert!(run.answer.resume.is_some(), "and more notes follow");
    assert_eq!(run.answer.remaining, Tokens::ZERO);
}

#[test]
fn retrieving_the_focus_note_with_its_contextual_path() {
    let notebook = Notebook::drawn("root\n  part\n    chapter\n      focus");
    let run = around(&notebook, "focus").run();
    assert_eq!(run.path, ["root", "part", "chapter"]);
    assert_eq!(
        run.without_further_relations(),
        ["Parent chapter", "NoteInContextualPath part", "NoteInContextualPath root"]
    );
}

#[test]
fn retrieving_the_focus_note_with_its_objects_contextual_path() {
    let notebook = Notebook::drawn("focus -> object\nroot\n  part\n    chapter\n      object");
    let run = around(&notebook, "focus").run();
    assert_eq!(
        run.related,
        [
            "Object object",
            "NoteInObjectContextualPath chapter",
            "NoteInObjectContextualPath part",
            "NoteInObjectContextualPath root"
        ]
    );
    assert!(run.path.is_empty());
}

#[test]
fn fetching_a_minimal_subset_of_relationships_when_the_budget_is_very_small() {
    let run = around(&complex(), "focus").budget(1).run();
    assert_eq!(run.related, ["Parent parent"]);
    assert_eq!(run.answer.used.get(), 1);
}

#[test]
fn retrieving_the_focus_note_and_a_few_prioritized_related_notes_based_on_token_budget() {
    let notebook = complex();
    let cost = |n: usize| -> u64 {
        let run = around(&notebook, "focus").characters().run();
        run.answer.related_notes[..n].iter().map(|note| note.tokens.get()).sum()
    };
    for n in [1, 3, 5] {
        let run = around(&notebook, "focus").characters().budget(cost(n)).run();
        assert_eq!(
            run.without_further_relations(),
            around(&notebook, "focus").run().without_further_relations()[..n]
        );
        assert_eq!(run.answer.remaining, Tokens::ZERO);
    }
}

#[test]
fn splitting_retrieval_across_multiple_requests_to_respect_budget() {
    let notebook = complex();
    let whole = around(&notebook, "focus").run();
    let first = around(&notebook, "focus").budget(4).run();
    let second = around(&notebook, "focus").budget(3).after(&first).run();
    let third = around(&notebook, "focus").after(&second).run();
    assert_eq!(
        [
            first.without_further_relations(),
            second.without_further_relations(),
            third.without_further_relations()
        ]
        .concat(),
        whole.without_further_relations()
    );
    assert_eq!((first.related.len(), second.related.len()), (4, 3));
    assert_eq!(third.answer.focus_note, whole.answer.focus_note);
    assert_eq!(third.answer.resume, None);
}

#[test]
fn retrieving_the_focus_note_and_reified_child_objects() {
    let notebook = Notebook::drawn("focus\n  a -> x\n  b\n  c -> y\nelsewhere\n  x\n  y");
    let run = around(&notebook, "focus").run();
    assert_eq!(
        run.related,
        ["Child a", "Child b", "Child c", "ReifiedChildObject x", "ReifiedChildObject y"]
    );
}

#[test]
fn retrieving_the_focus_note_and_parent_siblings() {
    let notebook = Notebook::drawn("root\n  a\n  b\n  p\n    focus\n  c\n  d\n  e\n  f");
    let run = around(&notebook, "focus").run();
    assert_eq!(run.of_relation(Relation::ParentSibling), ["b", "c", "a", "d", "e", "f"]);
}

#[test]
fn retrieving_the_focus_note_and_object_parent_siblings() {
    let notebook = Notebook::drawn("focus -> o\nroot\n  a\n  b\n  c\n  p\n    o\n  d");
    let run = around(&notebook, "focus").run();
    assert_eq!(run.of_relation(Relation::ObjectParentSibling), ["c", "d", "b", "a"]);
}

#[test]
fn retrieving_the_focus_note_with_parent_sibling_children() {
    let notebook =
        Notebook::drawn("root\n  a\n    a1\n    a2\n  p\n    focus\n  b\n    b1\n    b2");
    let run = around(&notebook, "focus").run();
    assert_eq!(run.of_relation(Relation::ParentSiblingChild), ["a1", "a2", "b1", "b2"]);
}

#[test]
fn retrieving_the_focus_note_with_object_parent_sibling_children() {
    let notebook =
        Notebook::drawn("focus -> o\nroot\n  a\n    a1\n  p\n    o\n  b\n    b1\n    b2");
    let run = around(&notebook, "focus").run();
    assert_eq!(run.of_relation(Relation::ObjectParentSiblingChild), ["a1", "b1", "b2"]);
}

#[test]
fn retrieving_the_focus_note_with_notes_in_the_referring_contextual_path() {
    let notebook = Notebook::drawn("focus\nroot\n  part\n    subject\n      r -> focus");
    let run = around(&notebook, "focus").run();
    assert_eq!(
        run.related,
        [
            "ReferringNote r",
            "ReferringSubject subject +NoteInReferringContextualPath",
            "NoteInReferringContextualPath part",
            "NoteInReferringContextualPath root"
        ]
    );
}

#[test]
fn retrieving_the_focus_note_with_referring_cousins() {
    let notebook = Notebook::drawn("focus\nsubject\n  a\n  r -> focus\n  b\n  c");
    let run = around(&notebook, "focus").run();
    assert_eq!(run.of_relation(Relation::ReferringSubject), ["subject"]);
    assert_eq!(run.of_relation(Relation::ReferringCousin), ["a", "b", "c"]);
}

#[test]
fn dynamically_rebalancing_retrieval_strategy_when_new_relationships_are_discovered_mid_retrieval()
{
    // The child's object is found in level 2 and delivered in level 3 of the same round, before the other children.
    let notebook = Notebook::drawn("focus\n  a -> x\n  b\n  c\n  d\n  e\nx");
    let run = around(&notebook, "focus").run();
    assert_eq!(
        run.without_further_relations(),
        ["Child a", "Child b", "Child c", "ReifiedChildObject x", "Child d", "Child e"]
    );
}

#[test]
fn combining_multiple_relationship_types_in_a_single_retrieval_parent_object_children_siblings_referrings()
 {
    let run = around(&complex(), "focus").run();
    let first = |relation| run.of_relation(relation).first().copied();
    for relation in [
        Relation::Parent,
        Relation::Object,
        Relation::Child,
        Relation::PriorSibling,
        Relation::YoungerSibling,
        Relation::ReferringNote,
        Relation::NoteInContextualPath,
        Relation::NoteInObjectContextualPath,
        Relation::ReifiedChildObject,
        Relation::ParentSibling,
        Relation::ObjectParentSibling,
        Relation::ReferringSubject,
        Relation::ParentSiblingChild,
        Relation::ObjectParentSiblingChild,
        Relation::NoteInReferringContextualPath,
        Relation::ReferringCousin,
    ] {
        assert!(first(relation).is_some(), "{relation} in {:#?}", run.related);
    }
    assert_eq!(run.children, ["child 1", "child 2", "child 3"]);
    assert_eq!(run.referrings, ["r 1", "r 2"]);
    assert_eq!(run.prior, ["prior 1", "prior 2"]);
    assert_eq!(run.younger, ["younger 1", "younger 2"]);
    assert_eq!(run.related.len(), complex().notes.len() - 1, "every note, each once");
}

#[test]
fn dynamically_discovering_and_fetching_newly_introduced_relationship_types_during_retrieval() {
    let notebook = Notebook::drawn("root\n  uncle\n    cousin\n  p\n    focus");
    let without = around(&notebook, "focus").without(&["uncle"]).run();
    assert_eq!(without.of_relation(Relation::ParentSiblingChild), [] as [&str; 0]);
    let with = around(&notebook, "focus").run();
    assert_eq!(with.of_relation(Relation::ParentSiblingChild), ["cousin"]);
}

#[test]
fn reporting_budget_overruns_and_skipped_notes_due_to_insufficient_budget() {
    let notebook = Notebook::drawn(
        "p: cost 3\n  a: cost 20\n  focus\n    big: cost 30\n    small: cost 4\n  b: cost 50",
    );
    let run = around(&notebook, "focus").estimator(&CostFromDetails).budget(10).run();
    assert_eq!(run.without_further_relations(), ["Parent p", "Child small"]);
    assert_eq!(run.skipped, ["Child big 30", "PriorSibling a 20", "YoungerSibling b 50"]);
    assert_eq!(run.children, ["small"]);
    assert!(run.prior.is_empty() && run.younger.is_empty());
    assert_eq!((run.answer.used.get(), run.answer.remaining.get()), (7, 3));
    assert!(!run.answer.skipped_truncated);
}

#[test]
fn continuously_updating_the_focus_notes_lists_siblings_children_as_new_notes_are_retrieved() {
    let notebook =
        Notebook::drawn("p\n  1\n  2\n  focus\n    c1\n    c2\n  3\n  4\nr1 -> focus\nr2 -> focus");
    let steps = [
        (1, ["", "", "", ""]),
        (2, ["c1", "", "", ""]),
        (3, ["c1", "", "2", ""]),
        (4, ["c1", "", "2", "3"]),
        (5, ["c1", "r1", "2", "3"]),
        (6, ["c1 c2", "r1", "2", "3"]),
        (7, ["c1 c2", "r1", "1 2", "3"]),
        (8, ["c1 c2", "r1", "1 2", "3 4"]),
        (9, ["c1 c2", "r1 r2", "1 2", "3 4"]),
    ];
    for (budget, expected) in steps {
        let run = around(&notebook, "focus").budget(budget).run();
        let lists = [run.children, run.referrings, run.prior, run.younger];
        assert_eq!(lists.map(|list| list.join(" ")), expected, "{budget}");
    }
}

#[test]
fn total_budget_includes_the_focus_note() {
    let mut notebook = complex();
    notebook.note_mut("focus").details = "x".repeat(3000);
    let run = around(&notebook, "focus").characters().total_budget(900).run();
    let links = "[focus](focus)Self[parent](parent)[object](object)[root](root)[parent](parent)";
    let expected = Characters::default().tokens(Chars(3000 + Chars::of(links).0));
    assert_eq!(run.answer.focus_tokens, expected);
    assert_eq!(run.answer.budget.get(), 900 - expected.get());
    let run = around(&notebook, "focus").characters().total_budget(100).run();
    assert_eq!((run.answer.budget, run.answer.resume), (Tokens::ZERO, None));
}

fn list(uris: &[&str]) -> Vec<String> {
    uris.iter().map(ToString::to_string).collect()
}
