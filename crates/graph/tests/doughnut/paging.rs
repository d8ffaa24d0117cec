//! Pages: one run in several parts.

use weft_graph::doughnut::{Budget, DoughnutError, Options, Relations, Request, Resume, doughnut};
use weft_model::{NoteSet, Tokens, tokens::Unit};
use weft_testkit::Notebook;

use crate::request_builder::{CostFromDetails, around};

#[test]
fn skipped_notes_are_offered_first_on_the_next_page() {
    let notebook = Notebook::drawn(
        "p\n  1\n  2: cost 8\n  focus\n    a: cost 9\n    b -> x: cost 7\n    c\n    d\nx",
    );
    let first = around(&notebook, "focus").estimator(&CostFromDetails).budget(4).run();
    assert_eq!(
        first.without_further_relations(),
        ["Parent p", "PriorSibling 1", "Child c", "Child d"]
    );
    assert_eq!(first.skipped, ["Child a 9", "PriorSibling 2 8", "Child b 7"]);
    let second =
        around(&notebook, "focus").estimator(&CostFromDetails).budget(16).after(&first).run();
    assert_eq!(second.without_further_relations(), ["Child a", "Child b"]);
    assert_eq!(second.skipped, ["PriorSibling 2 8"]);
    assert_eq!(second.children, ["a", "b", "c", "d"], "in sibling order, though late");
    let third =
        around(&notebook, "focus").estimator(&CostFromDetails).budget(20).after(&second).run();
    assert_eq!(third.without_further_relations(), ["PriorSibling 2", "ReifiedChildObject x"]);
    assert_eq!(third.prior, ["1", "2"]);
    assert_eq!((third.skipped.len(), third.answer.resume), (0, None));
}

#[test]
fn late_note_adds_sources_after_exhaustion() {
    let notebook = Notebook::drawn("focus\n  a\n  b -> x: cost 8\nx");
    let first = around(&notebook, "focus").estimator(&CostFromDetails).budget(7).run();
    assert_eq!(first.skipped, ["Child b 8"]);
    assert!(first.answer.remaining > Tokens::ZERO, "no other note is left");
    let second =
        around(&notebook, "focus").estimator(&CostFromDetails).budget(20).after(&first).run();
    assert_eq!(second.without_further_relations(), ["Child b", "ReifiedChildObject x"]);
}

#[test]
fn loop_over_pages_of_equal_budget_ends() {
    let notebook =
        Notebook::drawn("p: cost 30\n  focus\n    a: cost 3\n    b: cost 40\n    c: cost 5");
    for budget in 1..45 {
        let mut page = around(&notebook, "focus").estimator(&CostFromDetails).budget(budget).run();
        let mut delivered = page.related.len();
        let mut n_pages = 1;
        while page.answer.resume.is_some() {
            page = around(&notebook, "focus")
                .estimator(&CostFromDetails)
                .budget(budget)
                .after(&page)
                .run();
            delivered += page.related.len();
            n_pages += 1;
            assert!(n_pages < 10, "{budget}");
        }
        assert_eq!(
            delivered + page.skipped.len(),
            4,
            "{budget}: every note is delivered or skipped"
        );
    }
}

#[test]
fn zero_budget_does_not_advance() {
    let notebook = Notebook::drawn("p\n  focus\n    a\n    b");
    let first = around(&notebook, "focus").budget(1).run();
    let nothing = around(&notebook, "focus").budget(0).after(&first).run();
    assert_eq!((nothing.related.len(), &nothing.answer.resume), (0, &first.answer.resume));
    let start = around(&notebook, "focus").budget(0).run();
    assert_eq!(start.answer.resume, Some(Resume::default()));
    let all = around(&notebook, "focus").after(&start).run();
    assert_eq!(all, around(&notebook, "focus").run());
}

#[test]
fn list_entries_of_earlier_pages_count_towards_the_focus_note() {
    let notebook = Notebook::drawn("focus\n  a\n  b\n  c");
    let first = around(&notebook, "focus").characters().budget(18).run();
    assert_eq!(first.children, ["a", "b"]);
    let second = around(&notebook, "focus").characters().budget(16).after(&first).run();
    assert_eq!(second.children, ["a", "b", "c"]);
    // `[focus](focus)Self` and `[a](a)[b](b)`: 18 and 12 characters.
    assert_eq!([first.answer.focus_tokens.get(), second.answer.focus_tokens.get()], [5, 8]);
}

#[test]
fn resume_state_holds_the_page_budgets() {
    let notebook = Notebook::drawn("p\n  focus\n    a\n    b");
    let first = around(&notebook, "focus").budget(1).run();
    let second = around(&notebook, "focus").budget(1).after(&first).run();
    let resume = second.answer.resume.expect("more notes follow");
    assert_eq!(resume.budgets(), [Tokens::new(1), Tokens::new(1)]);
    assert_eq!(resume.budgets().iter().copied().collect::<Resume>(), resume);

    let children: String = (0..=Resume::MAX_PAGES).map(|at| format!("\n    c{at}")).collect();
    let many = Notebook::drawn(&format!("p\n  focus{children}"));
    let pages = |n_pages: usize| std::iter::repeat_n(Tokens::new(1), n_pages).collect::<Resume>();
    for (n_pages, goes_on) in [(Resume::MAX_PAGES - 1, true), (Resume::MAX_PAGES, false)] {
        let resume = pages(n_pages);
        let request = Request {
            focus: many.id(many.find("focus")),
            budget: Budget::Related(Tokens::new(1)),
            filter: &NoteSet::All,
            relations: Relations::Structure,
            options: Options::default(),
            resume: Some(&resume),
            stop: &|| false,
        };
        let answer = doughnut(&many.graph(), &many, &Unit, &request).expect("an answer");
        assert_eq!(answer.related_notes.len(), 1);
        assert_eq!(
            answer.resume.is_some(),
            goes_on,
            "a state that would be rejected is not returned"
        );
    }

    let n_pages = Resume::MAX_PAGES + 1;
    let forged: Resume = std::iter::repeat_n(Tokens::new(1), n_pages).collect();
    let request = Request {
        focus: notebook.id(0),
        budget: Budget::Related(Tokens::new(1)),
        filter: &NoteSet::All,
        relations: Relations::Structure,
        options: Options::default(),
        resume: Some(&forged),
        stop: &|| false,
    };
    let refused = doughnut(&notebook.graph(), &notebook, &Unit, &request);
    assert_eq!(refused, Err(DoughnutError::TooManyPages { n_pages }));
    let stopped = Request { resume: None, stop: &|| true, ..request };
    let stopped = doughnut(&notebook.graph(), &notebook, &Unit, &stopped);
    assert_eq!(stopped, Err(DoughnutError::Stopped));
}
