//! Pitfalls of the design, each with a test.

use std::num::NonZeroUsize;

use weft_graph::doughnut::{
    Budget, DoughnutError, Options, Relation, Relations, Request, doughnut,
};
use weft_graph::{NodeSpec, NoteGraph};
use weft_model::{LinkSource, NoteId, NoteSet, Tokens, tokens::Unit};
use weft_testkit::Notebook;

use crate::request_builder::{AMPLE, CostFromDetails, around};

/// Builds a notebook with enough notes of every level for several rounds.
fn wide() -> Notebook {
    Notebook::drawn(
        "
root
  u1
    u11
    u12
    u13
  p
    1
    2
    3
    focus
      c1
      c2
      c3
      c4
    4
    5
    6
  u2
  u3
  u4
  u5
",
    )
}

#[test]
fn levels_take_turns_and_rings_resume_at_their_cursor() {
    let run = around(&wide(), "focus").run();
    assert_eq!(
        run.without_further_relations(),
        [
            "Parent p",
            // Level 2 has six relations, two of them empty; each turn adds three notes.
            "Child c1",
            "PriorSibling 3",
            "YoungerSibling 4",
            "ParentSibling u1",
            "ParentSibling u2",
            "ParentSiblingChild u11",
            // The first note of the path is the parent, which is known and does not count against the quota.
            "Child c2",
            "PriorSibling 2",
            "YoungerSibling 5",
            "ParentSibling u3",
            "ParentSibling u4",
            "ParentSiblingChild u12",
            "NoteInContextualPath root",
            "Child c3",
            "PriorSibling 1",
            "ParentSibling u5",
            "ParentSiblingChild u13",
            "YoungerSibling 6",
            "Child c4",
        ]
    );
}

#[test]
fn output_is_in_delivery_order() {
    let run = around(&wide(), "focus").run();
    let at = |line: &str| run.without_further_relations().iter().position(|other| *other == line);
    assert!(
        at("ParentSiblingChild u11") < at("Child c2"),
        "level 4 of one round before level 2 of the next"
    );
}

#[test]
fn focus_note_is_never_related_to_itself() {
    let notebook = Notebook::drawn(
        "subject\n  focus -> focus\n    child -> focus\n  r -> focus\n  other -> focus",
    );
    let run = around(&notebook, "focus").run();
    assert!(run.related.iter().all(|line| !line.ends_with(" focus")), "{:?}", run.related);
    assert_eq!(run.answer.focus_note.object, Some(notebook.id(1)));
    assert_eq!(run.referrings, ["child", "other", "r"]);
}

#[test]
fn lists_hold_fetched_notes_only() {
    let notebook = Notebook::drawn("focus\n  a: cost 9\n  b\n  c\n  d");
    let run = around(&notebook, "focus").estimator(&CostFromDetails).budget(2).run();
    assert_eq!(run.children, ["b", "c"]);
    let run = around(&notebook, "focus").without(&["c"]).run();
    assert_eq!(run.children, ["a", "b", "d"]);
}

#[test]
fn prior_siblings_are_prepended() {
    let notebook = Notebook::drawn("p\n  1\n  2\n  3\n  focus");
    let run = around(&notebook, "focus").run();
    assert_eq!(run.of_relation(Relation::PriorSibling), ["3", "2", "1"]);
    assert_eq!(run.prior, ["1", "2", "3"]);
}

#[test]
fn run_continues_after_a_note_that_does_not_fit() {
    let notebook = Notebook::drawn("p: cost 100\n  a: cost 100\n  focus -> o\n  b\no: cost 100");
    let run = around(&notebook, "focus").estimator(&CostFromDetails).budget(10).run();
    assert_eq!(run.without_further_relations(), ["YoungerSibling b"]);
    assert_eq!(run.skipped.len(), 3);
    assert_eq!(run.answer.remaining.get(), 9);
}

#[test]
fn skipped_note_is_not_listed_not_a_source_and_not_counted() {
    let notebook = Notebook::drawn(
        "root\n  u: cost 9\n    cousin\n  p\n    focus\n      a -> x: cost 9\n      b\n      c\n      d\n      e\nx",
    );
    let run = around(&notebook, "focus").estimator(&CostFromDetails).budget(8).run();
    assert!(!run.related.iter().any(|line| line.ends_with(" x") || line.ends_with(" cousin")));
    assert_eq!(run.children, ["b", "c", "d", "e"]);
    assert_eq!(
        run.without_further_relations()[1..5],
        ["Child b", "NoteInContextualPath root", "Child c", "Child d"],
        "the first turn of level 2 added three notes, not counting the skipped one"
    );
}

#[test]
fn skipped_note_does_not_count_against_the_quota() {
    let notebook = Notebook::drawn("focus\n  a: cost 9\n  b -> x\n  c\n  d\n  e\nx");
    let run = around(&notebook, "focus").estimator(&CostFromDetails).budget(8).run();
    assert_eq!(
        run.without_further_relations(),
        ["Child b", "Child c", "Child d", "ReifiedChildObject x", "Child e"]
    );
}

#[test]
fn note_may_fit_by_a_cheaper_relation() {
    let mut notebook = Notebook::drawn("focus\n  a -> b\n  b -> c\nc");
    notebook.note_mut("b").title = "in a list its link stands twice ".repeat(4);
    // As a child, b costs ⌈(133 + 5 + 14 + 6 + 133) / 3.75⌉; as an object of a child, ⌈(133 + 18 + 14 + 6) / 3.75⌉.
    let dear = around(&notebook, "focus").characters().run();
    assert_eq!(dear.related[1], "Child b +ReifiedChildObject");
    let costs: Vec<u64> = dear.answer.related_notes.iter().map(|note| note.tokens.get()).collect();
    assert_eq!(costs[1], 78);
    let run = around(&notebook, "focus").characters().budget(costs[0] + 77).run();
    assert_eq!(run.related, ["Child a", "ReifiedChildObject b"], "{:?}", run.skipped);
    assert_eq!(
        run.children,
        ["a"],
        "its list entry was too expensive, so its sources were not added"
    );
    assert!(run.skipped.is_empty(), "a delivered note is not skipped");
    let next = around(&notebook, "focus").characters().after(&run).run();
    assert_eq!(next.related, ["ReifiedChildObject c"], "the next page offers it as a child again");
    assert_eq!(next.children, ["a", "b"]);
}

#[test]
fn next_page_is_offered_only_if_it_delivers_a_note() {
    let mut titled =
        Notebook::drawn("gp\n  p\n    focus\n      c -> gp\n      d -> x\n        e\nx");
    for name in ["gp", "d"] {
        titled.note_mut(name).title = "in a list its link stands twice ".repeat(3);
    }
    for budget in 1..200 {
        let page = around(&titled, "focus").characters().budget(budget).run();
        if page.answer.resume.is_some() {
            let next = around(&titled, "focus").characters().after(&page).run();
            assert!(!next.related.is_empty(), "{budget}: {:?}, then nothing", page.related);
        }
    }
}

#[test]
fn run_ends_at_zero_remaining_budget() {
    let run = around(&wide(), "focus").run();
    assert_eq!(run.answer.remaining.get(), AMPLE - (wide().notes.len() as u64 - 1));
    assert_eq!(run.answer.resume, None);
}

#[test]
fn exhausted_level_resumes_with_new_sources() {
    // When the fourth child adds an object, levels 3 and 4 have been empty for a round.
    let notebook = Notebook::drawn("focus\n  a\n  b\n  c\n  d -> x\n  e\n  f\n  g\nx");
    let run = around(&notebook, "focus").run();
    assert_eq!(
        run.without_further_relations()[3..],
        ["Child d", "Child e", "Child f", "ReifiedChildObject x", "Child g"]
    );
}

#[test]
fn note_found_again_is_listed_and_becomes_a_source() {
    let notebook = Notebook::drawn("p\n  focus -> x\n    x -> y\ny");
    let run = around(&notebook, "focus").run();
    assert_eq!(
        run.related,
        [
            "Parent p +NoteInContextualPath +NoteInObjectContextualPath",
            "Object x +Child",
            "ReifiedChildObject y"
        ]
    );
    assert_eq!(run.children, ["x"]);
    // The path to y leads through a note that costs nothing, which is why a next page exists.
    let page = around(&notebook, "focus").budget(2).run();
    let next = around(&notebook, "focus").after(&page).run();
    assert_eq!(next.related, ["ReifiedChildObject y"]);
}

#[test]
fn cost_is_the_delivered_text() {
    let mut notebook = Notebook::drawn("p\n  focus\n    child -> other\nother");
    notebook.note_mut("child").details = "漢".repeat(2000);
    let run = around(&notebook, "focus").characters().run();
    let child = &run.answer.related_notes[1];
    let text = format!(
        "[child](child){}...Child[focus](focus)[other](other)[child](child)",
        "漢".repeat(1000)
    );
    let expected = (text.chars().count() as f64 / 3.75).ceil();
    assert!(
        (child.tokens.get() as f64 - expected).abs() < 0.5,
        "{} {expected}",
        child.tokens.get()
    );
    assert_eq!(child.relation, Relation::Child);
}

#[test]
fn focus_note_does_not_count_against_the_budget() {
    let mut notebook = Notebook::drawn("p\n  focus");
    notebook.note_mut("focus").details = "x".repeat(10_000);
    let run = around(&notebook, "focus").characters().budget(4).run();
    assert_eq!(run.related, ["Parent p"], "`[p](p)Parent` has 12 characters");
    assert!(run.answer.focus_tokens > Tokens::new(2600));
}

#[test]
fn order_is_independent_of_ids() {
    let uris = ["d", "b", "e", "a", "c"];
    let answers: Vec<Vec<String>> = (0..uris.len())
        .map(|turn| {
            let mut turned = uris;
            turned.rotate_left(turn);
            let lines = turned.map(|uri| format!("{uri} -> focus"));
            let notebook = Notebook::drawn(&format!("{}\nfocus", lines.join("\n")));
            around(&notebook, "focus").run().related
        })
        .collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(answers[0][0], "ReferringNote a");
}

#[test]
fn cycles_of_parents_end() {
    let mut notebook = Notebook::drawn("a\n  b\n    focus\n      c");
    notebook.note_mut("a").parent = Some(3);
    let run = around(&notebook, "focus").run();
    assert_eq!(run.path, ["c", "a", "b"]);
    assert_eq!(
        run.related,
        [
            "Parent b +NoteInContextualPath",
            "Child c +NoteInContextualPath",
            "NoteInContextualPath a"
        ]
    );
    let mut own = Notebook::drawn("focus\n  a");
    own.note_mut("focus").parent = Some(0);
    let run = around(&own, "focus").run();
    assert_eq!(run.related.len(), 1);
    assert_eq!(run.answer.focus_note.parent, Some(own.id(0)));
}

#[test]
fn excluded_notes_are_absent_except_parent_object_and_path_of_the_focus() {
    let notebook = Notebook::drawn(
        "root\n  u\n    cousin\n  p\n    focus -> o\n      c -> x\nx\norg\n  ou\n  op\n    o",
    );
    let run = around(&notebook, "focus").without(&["focus", "p", "o", "u", "c", "op"]).run();
    assert_eq!(
        run.related,
        ["NoteInContextualPath root", "NoteInObjectContextualPath org", "ObjectParentSibling ou"]
    );
    assert_eq!(run.path, ["root", "p"]);
    let focus = &run.answer.focus_note;
    assert_eq!((focus.parent, focus.object), (Some(notebook.id(3)), Some(notebook.id(10))));
    assert!(run.children.is_empty());
}

#[test]
fn max_skips_ends_the_page_and_is_reported() {
    let drawing: String = (0..9).map(|n| format!("  c{n}: cost 50\n")).collect();
    let notebook = Notebook::drawn(&format!("focus\n{drawing}"));
    let asked = |max_skips: usize| {
        let max_skips = NonZeroUsize::new(max_skips).expect("not zero");
        let options = Options { max_skips, ..Options::default() };
        around(&notebook, "focus").estimator(&CostFromDetails).budget(10).options(options)
    };
    let cut = asked(4).run();
    assert_eq!((cut.skipped.len(), cut.answer.skipped_truncated), (4, true));
    let exact = asked(9).run();
    assert_eq!(
        (exact.skipped.len(), exact.answer.skipped_truncated),
        (9, false),
        "no more notes follow"
    );
    assert_eq!(Options::default().max_skips.get(), 256);
}

#[test]
fn too_small_budget_skips_one_note_and_stops() {
    let notebook = Notebook::drawn("focus\n  a\n  b\n  c");
    let run = around(&notebook, "focus").characters().budget(2).run();
    assert_eq!(run.skipped, ["Child a 9"]);
    assert!(!run.answer.skipped_truncated);
}

#[test]
fn options_enable_body_links_and_siblings_of_the_target() {
    let mut notebook = Notebook::drawn(
        "focus -> o\nr -> focus\nz -> focus ~> focus\na ~> focus\nb ~> focus\no\nother -> o",
    );
    notebook.note_mut("focus").links = vec![0];
    let plain = around(&notebook, "focus").run();
    assert_eq!(
        plain.without_further_relations(),
        ["Object o", "ReferringNote r", "ReferringNote z"]
    );
    let options = Options { body_links: true, sibling_of_target: true, ..Options::default() };
    let run = around(&notebook, "focus").options(options).run();
    assert_eq!(
        run.related,
        [
            "Object o",
            "ReferringNote r",
            "ReferringNote z",
            "ReferringNote a",
            "SiblingOfTarget other",
            "ReferringNote b",
        ]
    );
    assert_eq!(run.referrings, ["r", "z", "a", "b"]);
}

#[test]
fn typed_links_are_not_body_links() {
    let ids = [0, 1, 2, 3, 4].map(NoteId::new);
    let link = |uri: &str, kind: &str, source| NodeSpec {
        links: vec![(ids[0], kind.into(), source)],
        ..NodeSpec::note(uri)
    };
    let graph = NoteGraph::build([
        (ids[0], NodeSpec::note("focus")),
        (ids[1], link("cites", "cites", LinkSource::Inline)),
        (ids[2], link("typed", "related", LinkSource::Typed)),
        (ids[3], link("zz inline", "related", LinkSource::Inline)),
        (ids[4], link("supports", "supports", LinkSource::Inline)),
    ]);
    let request = Request {
        focus: ids[0],
        budget: Budget::Related(Tokens::new(9)),
        filter: &NoteSet::All,
        relations: Relations::Structure,
        options: Options { body_links: true, ..Options::default() },
        resume: None,
        stop: &|| false,
    };
    let texts = Notebook::drawn("a\nb\nc\nd\ne");
    let answer = doughnut(&graph, &texts, &Unit, &request).expect("the focus exists");
    assert_eq!(answer.focus_note.referrings, [ids[3]]);

    for focus in [NoteId::new(9), NoteId::new(5)] {
        let graph = graph.edited([(NoteId::new(5), Some(NodeSpec::placeholder("later")))]);
        let refused = doughnut(&graph, &texts, &Unit, &Request { focus, ..request });
        assert_eq!(refused, Err(DoughnutError::UnknownFocus { focus }));
    }
}
