//! What is easy to get wrong, each with a test that fails when it is.

use std::num::NonZeroUsize;

use weft_graph::doughnut::{Budget, DoughnutError, Options, Relation, Request, doughnut};
use weft_graph::{NodeSpec, NoteGraph};
use weft_model::{LinkSource, NoteId, NoteSet, Tokens, tokens::Unit};
use weft_testkit::Notebook;

use crate::ask::{AMPLE, Asked, around};

/// Enough of every level for several rounds.
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
fn no_level_is_drained_before_the_upper_one_goes_on_and_rings_go_on_where_they_stopped() {
    let told = around(&wide(), "focus").told();
    assert_eq!(
        told.bare(),
        [
            "Parent p",
            // Level 2 has six relations, of which two have nothing; three notes a turn.
            "Child c1",
            "PriorSibling 3",
            "YoungerSibling 4",
            "ParentSibling u1",
            "ParentSibling u2",
            "ParentSiblingChild u11",
            // The path's first note, the parent, is known and takes no place in the quota.
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
fn the_output_keeps_the_order_of_delivery() {
    let told = around(&wide(), "focus").told();
    let at = |line: &str| told.bare().iter().position(|other| *other == line);
    assert!(
        at("ParentSiblingChild u11") < at("Child c2"),
        "level 4 of one round before level 2 of the next"
    );
}

#[test]
fn the_focus_note_is_never_related_to_itself() {
    let notebook = Notebook::drawn(
        "subject\n  focus -> focus\n    child -> focus\n  r -> focus\n  other -> focus",
    );
    let told = around(&notebook, "focus").told();
    assert!(told.related.iter().all(|line| !line.ends_with(" focus")), "{:?}", told.related);
    assert_eq!(told.answer.focus_note.object, Some(notebook.id(1)));
    assert_eq!(told.referrings, ["child", "other", "r"]);
}

#[test]
fn lists_hold_what_was_fetched_and_nothing_else() {
    let notebook = Notebook::drawn("focus\n  a: cost 9\n  b\n  c\n  d");
    let told = around(&notebook, "focus").estimator(&Asked).budget(2).told();
    assert_eq!(told.children, ["b", "c"]);
    let told = around(&notebook, "focus").without(&["c"]).told();
    assert_eq!(told.children, ["a", "b", "d"]);
}

#[test]
fn prior_siblings_enter_at_the_front() {
    let notebook = Notebook::drawn("p\n  1\n  2\n  3\n  focus");
    let told = around(&notebook, "focus").told();
    assert_eq!(told.by(Relation::PriorSibling), ["3", "2", "1"]);
    assert_eq!(told.prior, ["1", "2", "3"]);
}

#[test]
fn a_note_that_does_not_fit_stops_nothing() {
    let notebook = Notebook::drawn("p: cost 100\n  a: cost 100\n  focus -> o\n  b\no: cost 100");
    let told = around(&notebook, "focus").estimator(&Asked).budget(10).told();
    assert_eq!(told.bare(), ["YoungerSibling b"]);
    assert_eq!(told.skipped.len(), 3);
    assert_eq!(told.answer.remaining.get(), 9);
}

#[test]
fn a_skipped_note_fills_no_list_wakes_nothing_and_takes_no_quota() {
    let notebook = Notebook::drawn(
        "root\n  u: cost 9\n    cousin\n  p\n    focus\n      a -> x: cost 9\n      b\n      c\n      d\n      e\nx",
    );
    let told = around(&notebook, "focus").estimator(&Asked).budget(8).told();
    assert!(!told.related.iter().any(|line| line.ends_with(" x") || line.ends_with(" cousin")));
    assert_eq!(told.children, ["b", "c", "d", "e"]);
    assert_eq!(
        told.bare()[1..5],
        ["Child b", "NoteInContextualPath root", "Child c", "Child d"],
        "three notes were added in the first turn of level 2, the skipped one left out"
    );
}

#[test]
fn a_skipped_note_counts_against_no_quota() {
    let notebook = Notebook::drawn("focus\n  a: cost 9\n  b -> x\n  c\n  d\n  e\nx");
    let told = around(&notebook, "focus").estimator(&Asked).budget(8).told();
    assert_eq!(told.bare(), ["Child b", "Child c", "Child d", "ReifiedChildObject x", "Child e"]);
}

#[test]
fn a_note_too_dear_by_one_relation_may_fit_by_another() {
    let mut notebook = Notebook::drawn("focus\n  a -> b\n  b -> c\nc");
    notebook.note_mut("b").title = "in a list its link stands twice ".repeat(4);
    // As a child b costs ⌈(133 + 5 + 14 + 6 + 133) / 3.75⌉, as an object of a child ⌈(133 + 18 + 14 + 6) / 3.75⌉.
    let dear = around(&notebook, "focus").characters().told();
    assert_eq!(dear.related[1], "Child b +ReifiedChildObject");
    let costs: Vec<u64> = dear.answer.related_notes.iter().map(|note| note.tokens.get()).collect();
    assert_eq!(costs[1], 78);
    let told = around(&notebook, "focus").characters().budget(costs[0] + 77).told();
    assert_eq!(told.related, ["Child a", "ReifiedChildObject b"], "{:?}", told.skipped);
    assert_eq!(
        told.children,
        ["a"],
        "its place in the list was too dear, and so what grows from it"
    );
    assert!(told.skipped.is_empty(), "what is delivered is not skipped");
    let next = around(&notebook, "focus").characters().after(&told).told();
    assert_eq!(next.related, ["ReifiedChildObject c"], "the next page offers it as a child again");
    assert_eq!(next.children, ["a", "b"]);
}

#[test]
fn a_next_page_is_offered_only_where_it_brings_a_note() {
    let mut titled =
        Notebook::drawn("gp\n  p\n    focus\n      c -> gp\n      d -> x\n        e\nx");
    for name in ["gp", "d"] {
        titled.note_mut(name).title = "in a list its link stands twice ".repeat(3);
    }
    for budget in 1..200 {
        let page = around(&titled, "focus").characters().budget(budget).told();
        if page.answer.resume.is_some() {
            let next = around(&titled, "focus").characters().after(&page).told();
            assert!(!next.related.is_empty(), "{budget}: {:?}, then nothing", page.related);
        }
    }
}

#[test]
fn the_run_ends_when_nothing_remains() {
    let told = around(&wide(), "focus").told();
    assert_eq!(told.answer.remaining.get(), AMPLE - (wide().notes.len() as u64 - 1));
    assert_eq!(told.answer.resume, None);
}

#[test]
fn a_level_wakes_when_its_sources_arrive_later() {
    // By the time the fourth child brings an object, levels 3 and 4 have been empty for a round.
    let notebook = Notebook::drawn("focus\n  a\n  b\n  c\n  d -> x\n  e\n  f\n  g\nx");
    let told = around(&notebook, "focus").told();
    assert_eq!(
        told.bare()[3..],
        ["Child d", "Child e", "Child f", "ReifiedChildObject x", "Child g"]
    );
}

#[test]
fn a_note_met_again_fills_its_list_and_wakes_what_grows_from_it() {
    let notebook = Notebook::drawn("p\n  focus -> x\n    x -> y\ny");
    let told = around(&notebook, "focus").told();
    assert_eq!(
        told.related,
        [
            "Parent p +NoteInContextualPath +NoteInObjectContextualPath",
            "Object x +Child",
            "ReifiedChildObject y"
        ]
    );
    assert_eq!(told.children, ["x"]);
    // The way to y leads through a note that costs nothing, and there is a next page because of it.
    let page = around(&notebook, "focus").budget(2).told();
    let next = around(&notebook, "focus").after(&page).told();
    assert_eq!(next.related, ["ReifiedChildObject y"]);
}

#[test]
fn costs_are_characters_of_what_is_delivered() {
    let mut notebook = Notebook::drawn("p\n  focus\n    child -> other\nother");
    notebook.note_mut("child").details = "漢".repeat(2000);
    let told = around(&notebook, "focus").characters().told();
    let child = &told.answer.related_notes[1];
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
fn the_focus_note_is_not_deducted() {
    let mut notebook = Notebook::drawn("p\n  focus");
    notebook.note_mut("focus").details = "x".repeat(10_000);
    let told = around(&notebook, "focus").characters().budget(4).told();
    assert_eq!(told.related, ["Parent p"], "`[p](p)Parent` has 12 characters");
    assert!(told.answer.focus_tokens > Tokens::new(2600));
}

#[test]
fn ids_order_nothing() {
    let uris = ["d", "b", "e", "a", "c"];
    let answers: Vec<Vec<String>> = (0..uris.len())
        .map(|turn| {
            let mut turned = uris;
            turned.rotate_left(turn);
            let lines = turned.map(|uri| format!("{uri} -> focus"));
            let notebook = Notebook::drawn(&format!("{}\nfocus", lines.join("\n")));
            around(&notebook, "focus").told().related
        })
        .collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(answers[0][0], "ReferringNote a");
}

#[test]
fn loops_among_parents_end() {
    let mut notebook = Notebook::drawn("a\n  b\n    focus\n      c");
    notebook.note_mut("a").parent = Some(3);
    let told = around(&notebook, "focus").told();
    assert_eq!(told.path, ["c", "a", "b"]);
    assert_eq!(
        told.related,
        [
            "Parent b +NoteInContextualPath",
            "Child c +NoteInContextualPath",
            "NoteInContextualPath a"
        ]
    );
    let mut own = Notebook::drawn("focus\n  a");
    own.note_mut("focus").parent = Some(0);
    let told = around(&own, "focus").told();
    assert_eq!(told.related.len(), 1);
    assert_eq!(told.answer.focus_note.parent, Some(own.id(0)));
}

#[test]
fn an_excluded_note_is_absent_while_the_focus_keeps_parent_object_and_path() {
    let notebook = Notebook::drawn(
        "root\n  u\n    cousin\n  p\n    focus -> o\n      c -> x\nx\norg\n  ou\n  op\n    o",
    );
    let told = around(&notebook, "focus").without(&["focus", "p", "o", "u", "c", "op"]).told();
    assert_eq!(
        told.related,
        ["NoteInContextualPath root", "NoteInObjectContextualPath org", "ObjectParentSibling ou"]
    );
    assert_eq!(told.path, ["root", "p"]);
    let focus = &told.answer.focus_note;
    assert_eq!((focus.parent, focus.object), (Some(notebook.id(3)), Some(notebook.id(10))));
    assert!(told.children.is_empty());
}

#[test]
fn a_limit_on_skips_ends_the_page_and_says_so() {
    let drawing: String = (0..9).map(|n| format!("  c{n}: cost 50\n")).collect();
    let notebook = Notebook::drawn(&format!("focus\n{drawing}"));
    let asked = |max_skips: usize| {
        let max_skips = NonZeroUsize::new(max_skips).expect("not zero");
        let options = Options { max_skips, ..Options::default() };
        around(&notebook, "focus").estimator(&Asked).budget(10).options(options)
    };
    let cut = asked(4).told();
    assert_eq!((cut.skipped.len(), cut.answer.skipped_more), (4, true));
    let exact = asked(9).told();
    assert_eq!(
        (exact.skipped.len(), exact.answer.skipped_more),
        (9, false),
        "nothing more is there"
    );
    assert_eq!(Options::default().max_skips.get(), 256);
}

#[test]
fn what_cannot_pay_for_any_note_names_one_and_stops() {
    let notebook = Notebook::drawn("focus\n  a\n  b\n  c");
    let told = around(&notebook, "focus").characters().budget(2).told();
    assert_eq!(told.skipped, ["Child a 9"]);
    assert!(!told.answer.skipped_more);
}

#[test]
fn options_add_links_in_bodies_and_siblings_of_the_target() {
    let mut notebook = Notebook::drawn(
        "focus -> o\nr -> focus\nz -> focus ~> focus\na ~> focus\nb ~> focus\no\nother -> o",
    );
    notebook.note_mut("focus").links = vec![0];
    let plain = around(&notebook, "focus").told();
    assert_eq!(plain.bare(), ["Object o", "ReferringNote r", "ReferringNote z"]);
    let options = Options { body_links: true, sibling_of_target: true, ..Options::default() };
    let told = around(&notebook, "focus").options(options).told();
    assert_eq!(
        told.related,
        [
            "Object o",
            "ReferringNote r",
            "ReferringNote z",
            "ReferringNote a",
            "SiblingOfTarget other",
            "ReferringNote b",
        ]
    );
    assert_eq!(told.referrings, ["r", "z", "a", "b"]);
}

#[test]
fn typed_links_are_no_links_in_bodies() {
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
