//! Each rule of the design's arithmetic, with its edge cases.

use weft_accordion::{
    Bands, BudgetUnit, Candidate, CandidateState, ContextBudget, ContextLimits, Decision,
    DefaultScores, EvidenceSettings, Meter, Mode, OmissionReason, PackError, PackRequest, Packing,
    PackingProfile, Plan, Rendering, pack,
};
use weft_model::tokens::{Bytes, Characters};
use weft_model::{Chars, Estimator as _, Span, Stop, Stopped, Tokens};

use crate::{FOREVER, Page, candidate, found, omitted, packed, request, taken};

#[test]
fn mode_follows_share_of_top() {
    let cases = [
        ("top itself", 1.00, 1.0, Some(Mode::Full)),
        ("on the full edge", 0.90, 1.0, Some(Mode::Full)),
        ("below the full edge", 0.899_999, 1.0, Some(Mode::Snippet)),
        ("on the snippet edge", 0.70, 1.0, Some(Mode::Snippet)),
        ("below the snippet edge", 0.699_999, 1.0, Some(Mode::Structural)),
        ("on the structural edge", 0.35, 1.0, Some(Mode::Structural)),
        ("below every band", 0.349_999, 1.0, None),
        ("relative, not absolute", 0.019, 0.02, Some(Mode::Full)),
        ("a negative score", -0.1, 1.0, None),
        ("a top of zero", 0.0, 0.0, None),
        ("a negative top", -0.2, -0.2, None),
    ];
    for (name, score, top, expected) in cases {
        assert_eq!(Bands::default().mode(score, top), expected, "{name}");
    }
}

#[test]
fn account_follows_the_design() {
    // (cost, room before, carry after)
    let turns = [
        ("small leaves room", 30, 100, 70),
        ("carry is used", 170, 170, 0),
        ("nothing is carried from an overdraft", 100, 100, 0),
        ("nothing taken, all carried", 0, 100, 100),
        ("and once more", 0, 200, 200),
        ("carry adds up", 250, 300, 50),
    ];
    let mut plan = Plan::new(1000, &ContextLimits::default());
    for (name, cost, room, carry) in turns {
        assert_eq!(plan.room(), room, "{name}");
        plan.take(cost);
        assert_eq!(plan.carry(), carry, "{name}");
    }
    assert_eq!((plan.used(), plan.left()), (550, 450));
    plan.take(400);
    assert_eq!(plan.room(), 50, "allowance is at most the remaining budget");
}

#[test]
fn soft_limit_is_a_tenth_rounded_down() {
    for (budget, soft) in
        [(0, 0), (9, 0), (10, 1), (19, 1), (30, 3), (70, 7), (7500, 750), (99_999, 9999)]
    {
        assert_eq!(Plan::new(budget, &ContextLimits::default()).room(), soft, "{budget}");
    }
}

#[test]
fn wrapper_is_charged_but_not_part_of_the_allowance() {
    let limits = ContextLimits::default();
    let body = || found("a", 1.0, "x".repeat(500));
    // (rendering, wrapper, text around the notes)
    let cases = [
        (Rendering::None, "", ""),
        (Rendering::Markdown, "## [a](a)\ncharacters 0-58 of 500\n```\n\n```\n", ""),
        (
            Rendering::Xml,
            "<note uri=\"a\" title=\"a\" mode=\"full\" truncated=\"true\" characters=\"500\">\n<text start=\"0\" end=\"99\"></text>\n</note>\n",
            "<context>\n</context>\n",
        ),
        (
            Rendering::Json,
            r#"{"uri":"a","title":"a","mode":"full","truncated":true,"characters":500,"blocks":[{"start":0,"end":99,"text":""}]}"#,
            "[\n\n]\n",
        ),
    ];
    for (rendering, wrapper, frame) in cases {
        // A tenth is 100, or 300 with the carry of a focus note.
        let request = PackRequest { rendering, ..request(3000, &limits, vec![body()]) };
        let ledger = pack(request).unwrap();
        let item = &ledger.items[0];
        let wrapper = Chars::of(wrapper).0 + Chars::of(frame).0;
        let text = item.chars.0;
        // The wrapper contains the end of the text, which has one more digit from 100 on.
        let digits = u64::from(text > 99 && rendering != Rendering::None);
        assert_eq!((item.cost, item.allowance), (300, 300 - wrapper - digits), "{rendering:?}");
        assert_eq!((text, item.carry_out), (item.allowance, 0), "{rendering:?}");
        let rendered = ledger.summary.rendered.map_or(300, |rendered| Chars::of(&rendered).0);
        assert_eq!((rendered, ledger.summary.used), (300, 300), "{rendering:?}");
    }
}

#[test]
fn omitted_note_reports_its_cost() {
    let cases = [
        ("a body", 1.0, "x".repeat(1000), 267),
        ("blocks, no longer than one", 0.8, "x".repeat(1000), 134),
        ("blocks, no longer than the body", 0.8, "x".repeat(100), 27),
        ("heading lines", 0.5, format!("# One\n{}\n## Two\n", "x".repeat(1000)), 4),
        ("heading lines, below every band", 0.1, format!("# One\n{}", "x".repeat(1000)), 2),
        ("a title for want of headings", 0.5, "x".repeat(1000), 1),
    ];
    let no_room = ContextLimits { per_note_share: 0.0, ..ContextLimits::default() };
    for (name, score, body, tokens) in cases {
        let candidates =
            vec![candidate("top", 1.0, CandidateState::Missing), found("n", score, body)];
        let ledger = pack(request(1000, &no_room, candidates)).unwrap();
        let costs: Vec<_> = ledger.omitted.iter().map(|left| left.tokens.get()).collect();
        let mut expected = [0, tokens];
        if score >= 1.0 {
            expected.reverse();
        }
        assert_eq!(costs, expected, "{name}");
    }
}

#[test]
fn short_note_leaves_its_room_to_the_next() {
    let ledger = packed(
        1000,
        vec![
            found("a", 1.0, "x".repeat(40)),
            found("b", 0.99, "x".repeat(500)),
            found("c", 0.98, "x".repeat(500)),
        ],
    );
    assert_eq!(taken(&ledger), ["a full 40", "b full 160", "c full 100"]);
    let carries: Vec<_> = ledger
        .items
        .iter()
        .map(|item| (item.carry_in, item.allowance, item.cost, item.carry_out, item.truncated))
        .collect();
    assert_eq!(carries, [(0, 100, 40, 60, false), (60, 160, 160, 0, true), (0, 100, 100, 0, true)]);
    assert_eq!((ledger.summary.used, ledger.summary.remaining), (300, 700));
}

#[test]
fn body_over_its_allowance_is_cut_in_full_mode() {
    for (n_chars, kept, truncated) in [(99, 99, false), (100, 100, false), (101, 100, true)] {
        let ledger = packed(1000, vec![found("a", 1.0, "é".repeat(n_chars))]);
        let item = &ledger.items[0];
        assert_eq!(
            (item.mode, item.chars, item.truncated),
            (Mode::Full, Chars(kept), truncated),
            "{n_chars}"
        );
        assert_eq!(item.blocks, [Span::new(0, u32::try_from(kept).unwrap())]);
    }
}

#[test]
fn cut_keeps_clusters_whole() {
    let family = "👩\u{200d}👩\u{200d}👧";
    let ledger = packed(120, vec![found("a", 1.0, family.repeat(9))]);
    assert_eq!(ledger.items[0].text, family.repeat(2), "five characters each, twelve allowed");
    let ledger = packed(40, vec![found("a", 1.0, family.repeat(9))]);
    assert_eq!(omitted(&ledger), ["a budget"], "not even one cluster fits");
}

#[test]
fn omitted_documents_change_nothing() {
    let ledger = packed(
        100,
        vec![
            found("a", 1.0, "xxxx"),
            candidate("b", 0.99, CandidateState::Missing),
            found("c", 0.98, "👩\u{200d}👩\u{200d}👧".repeat(20)),
            candidate("d", 0.97, CandidateState::Filtered(Page::new("y"))),
            found("e", 0.2, "y"),
            found("f", 0.95, "x".repeat(50)),
        ],
    );
    assert_eq!(taken(&ledger), ["a full 4", "c full 15", "f full 11"]);
    assert_eq!(omitted(&ledger), ["b missing", "d filter", "e below_threshold"]);
    let carries: Vec<_> = ledger.items.iter().map(|item| (item.carry_in, item.carry_out)).collect();
    assert_eq!(carries, [(0, 6), (6, 1), (1, 0)]);
}

#[test]
fn order_is_by_score_then_uri() {
    let of = |uris: &[(&str, f64)]| {
        taken(&packed(1000, uris.iter().map(|&(uri, score)| found(uri, score, "x")).collect()))
    };
    let expected = ["b full 1", "a full 1", "c full 1"];
    assert_eq!(of(&[("c", 0.95), ("a", 0.95), ("b", 1.0)]), expected);
    assert_eq!(of(&[("b", 1.0), ("c", 0.95), ("a", 0.95)]), expected);
}

#[test]
fn missing_note_counts_for_the_top_score() {
    let ledger =
        packed(1000, vec![candidate("gone", 1.0, CandidateState::Missing), found("a", 0.3, "x")]);
    assert_eq!(omitted(&ledger), ["gone missing", "a below_threshold"]);
    let ledger =
        packed(1000, vec![candidate("gone", 1.0, CandidateState::Missing), found("a", 0.7, "x")]);
    assert_eq!(taken(&ledger), ["a snippet 1"]);
}

#[test]
fn top_score_of_zero_gives_an_empty_context() {
    let ledger = packed(1000, vec![found("a", 0.0, "x"), found("b", -1.0, "x")]);
    assert_eq!((ledger.items.len(), ledger.summary.used), (0, 0));
    assert_eq!(omitted(&ledger), ["a below_threshold", "b below_threshold"]);
}

#[test]
fn structural_cap_limits_outlines() {
    let mut candidates = vec![found("top", 1.0, "x")];
    for n in 0..12 {
        candidates.push(found(&format!("n{n:02}"), 0.5, format!("# Heading {n:02}\ntext")));
    }
    let ledger = packed(5000, candidates.clone());
    assert_eq!(ledger.items.len(), 11);
    assert_eq!(omitted(&ledger), ["n10 structural_cap", "n11 structural_cap"]);
    assert_eq!(ledger.items[1].text, "# Heading 00");
    assert_eq!(ledger.omitted[0].tokens, Tokens::new(4), "twelve characters of headings");

    let none = ContextLimits { structural_cap: 0, ..ContextLimits::default() };
    let ledger = pack(request(5000, &none, candidates)).unwrap();
    assert_eq!((ledger.items.len(), ledger.omitted.len()), (1, 12));
}

#[test]
fn first_applicable_reason_is_reported() {
    let page = || Page::new("# Heading\ntext");
    let full_house = |last| {
        let mut candidates =
            vec![candidate("top", 1.0, CandidateState::Found(page().with_text(1)))];
        candidates.extend((0..10).map(|n| found(&format!("a{n}"), 0.5, "# H")));
        candidates.push(last);
        candidates
    };
    let after = |last| packed(1000, full_house(last)).omitted.last().map(|out| out.reason);
    let cases = [
        (
            "missing before threshold",
            candidate("z", 0.1, CandidateState::Missing),
            OmissionReason::Missing,
        ),
        (
            "threshold before filter",
            candidate("z", 0.1, CandidateState::Filtered(page())),
            OmissionReason::BelowThreshold,
        ),
        (
            "cap before filter",
            candidate("z", 0.5, CandidateState::Filtered(page())),
            OmissionReason::StructuralCap,
        ),
        (
            "cap before duplicate",
            candidate("z", 0.5, CandidateState::Found(page().with_text(1))),
            OmissionReason::StructuralCap,
        ),
        ("filter", candidate("z", 0.8, CandidateState::Filtered(page())), OmissionReason::Filter),
        (
            "duplicate",
            candidate("z", 0.8, CandidateState::Found(page().with_text(1))),
            OmissionReason::Duplicate,
        ),
        ("the same uri again", found("top", 0.95, "x"), OmissionReason::Duplicate),
    ];
    for (name, last, expected) in cases {
        let uri = last.uri.clone();
        let ledger = packed(1000, full_house(last.clone()));
        let reason = ledger.omitted.iter().find(|out| out.uri == uri).map(|out| out.reason);
        assert_eq!(reason, Some(expected), "{name}");
    }
    let long = found("z", 0.5, format!("# {}", "x".repeat(2000)));
    assert_eq!(after(long), Some(OmissionReason::Budget), "budget before cap");

    let spent = vec![
        found("a", 1.0, "x".repeat(20)),
        candidate("b", 0.95, CandidateState::Filtered(page())),
    ];
    let all = ContextLimits { per_note_share: 1.0, ..ContextLimits::default() };
    let ledger = pack(request(20, &all, spent)).unwrap();
    assert_eq!(omitted(&ledger), ["b budget"], "budget before filter");
}

#[test]
fn repeated_uri_counts_with_its_highest_score() {
    let ledger = packed(1000, vec![found("a", 0.5, "low"), found("a", 1.0, "high")]);
    assert_eq!(
        (taken(&ledger), omitted(&ledger)),
        (vec!["a full 4".into()], vec!["a duplicate".into()])
    );
}

#[test]
fn omitted_note_causes_no_duplicate() {
    let page = || Page::new("text").with_text(1);
    let titled = |uri: &str, title: String| Candidate {
        title,
        ..candidate(uri, 0.5, CandidateState::Found(page()))
    };
    let cases = [
        (
            "a copy of a note that did not fit",
            vec![titled("b", "long".repeat(500)), titled("c", "C".into()), titled("d", "D".into())],
            vec!["a full 1", "c structural 1"],
            vec!["b budget", "d duplicate"],
        ),
        (
            "a source that is exempt from the filter",
            vec![candidate("b", 0.95, CandidateState::Filtered(page())), found("b", 0.9, "text")],
            vec!["a full 1", "b full 4"],
            vec!["b filter"],
        ),
    ];
    for (name, others, in_context, out) in cases {
        let ledger = packed(1000, [vec![found("a", 1.0, "x")], others].concat());
        assert_eq!(taken(&ledger), in_context, "{name}");
        assert_eq!(omitted(&ledger), out, "{name}");
    }
}

#[test]
fn focus_note_comes_first_with_the_whole_budget() {
    let limits = ContextLimits::default();
    let with_focus = |body: String, budget| {
        let focus = Some(candidate("focus", 0.0, CandidateState::Found(Page::new(body))));
        let candidates = vec![found("a", 0.5, "x".repeat(500)), found("focus", 0.4, "y")];
        pack(PackRequest { focus, ..request(budget, &limits, candidates) }).unwrap()
    };
    let ledger = with_focus("f".repeat(700), 1000);
    assert_eq!(taken(&ledger), ["focus full 700", "a full 100"]);
    assert_eq!(omitted(&ledger), ["focus duplicate"]);
    let focus = &ledger.items[0];
    assert_eq!((focus.allowance, focus.carry_in, focus.carry_out), (1000, 0, 0));

    let ledger = with_focus("f".repeat(2000), 1000);
    assert!(ledger.items[0].truncated && ledger.summary.remaining == 0);
    assert_eq!(omitted(&ledger), ["a budget", "focus budget"]);

    let ledger = with_focus("f".repeat(40), 1000);
    assert_eq!(ledger.items[0].carry_out, 60, "a small focus note leaves room as any other");
}

#[test]
fn focus_note_counts_for_the_top_score() {
    let limits = ContextLimits::default();
    let modes = |score| {
        let focus = Some(candidate("focus", score, CandidateState::Found(Page::new("f"))));
        let candidates = vec![found("a", 0.8, "x"), found("b", 0.5, "# y")];
        taken(&pack(PackRequest { focus, ..request(1000, &limits, candidates) }).unwrap())
    };
    assert_eq!(modes(1.0), ["focus full 1", "a snippet 1", "b structural 3"]);
    assert_eq!(modes(0.8), ["focus full 1", "a full 1", "b structural 3"]);
    assert_eq!(modes(0.1), ["focus full 1", "a full 1", "b structural 3"]);
}

#[test]
fn negative_zero_equals_zero() {
    let candidates = vec![found("a", -0.0, "x"), found("b", 0.0, "y"), found("c", 1.0, "z")];
    assert_eq!(omitted(&packed(1000, candidates)), ["a below_threshold", "b below_threshold"]);
}

#[test]
fn deciding_in_advance_ends_when_cancelled() {
    let limits = ContextLimits::default();
    let pages: Vec<Page> = (0..10).map(|n| Page::new(format!("note {n}"))).collect();
    let candidates: Vec<_> =
        pages.iter().map(|page| candidate("a", 1.0, CandidateState::Found(page))).collect();
    let (stop, bytes) = (Stop::after_checks(3), Bytes::default());
    let packing = Packing::new(PackRequest {
        focus: None,
        candidates,
        query: None,
        budget: ContextBudget::Tokens(Tokens::new(1000)),
        meter: Meter::Estimator(&bytes),
        limits: &limits,
        profile: PackingProfile::Classic,
        evidence: &EvidenceSettings::DEFAULT,
        explain: false,
        rendering: Rendering::Markdown,
        order: Default::default(),
        stop: &stop,
    });
    assert!(matches!(packing.err(), Some(PackError::Stopped(Stopped::Cancelled))));
    assert!(pages[3..].iter().all(|page| page.n_reads.get() == 0), "three were decided");
}

#[test]
fn token_budget_is_converted_once() {
    let limits = ContextLimits::default();
    let candidates = || (0..20).map(|n| found(&format!("{n:02}"), 1.0, "x".repeat(5000))).collect();
    let tokens = |budget| PackRequest {
        budget: ContextBudget::Tokens(Tokens::new(budget)),
        ..request(0, &limits, candidates())
    };
    let ledger = pack(tokens(2000)).unwrap();
    assert_eq!(ledger.items.len(), 10);
    assert!(ledger.items.iter().all(|item| item.chars == Chars(750)), "a tenth of 7500 characters");
    assert_eq!(ledger.items[0].tokens, Tokens::new(200));
    let total = &ledger.summary;
    assert_eq!(
        (total.budget, total.used, total.remaining, total.unit),
        (2000, 2000, 0, BudgetUnit::Tokens)
    );
    assert_eq!(total.ledger_unit, BudgetUnit::Characters);

    // ⌊7 × 3.75⌋ = 26 characters, a tenth of which is 2.
    let ledger = pack(tokens(7)).unwrap();
    assert_eq!((ledger.items.len(), ledger.summary.used), (13, 7));

    // In floating point, 30 × 0.7 characters are 21, and 21 / 0.7 tokens slightly more than 30.
    let all = ContextLimits { per_note_share: 1.0, ..ContextLimits::default() };
    let meter = Meter::Characters(Characters { per_token: 0.7 });
    let ledger = pack(PackRequest { meter, limits: &all, ..tokens(30) }).unwrap();
    assert_eq!((ledger.items[0].chars, ledger.summary.used), (Chars(21), 30));

    let dense =
        PackRequest { meter: Meter::Characters(Characters { per_token: 2.0 }), ..tokens(2000) };
    assert_eq!(pack(dense).unwrap().items[0].chars, Chars(400));
}

#[test]
fn estimator_uses_the_same_formulas_in_its_tokens() {
    let limits = ContextLimits::default();
    let bytes = Bytes::default();
    let ledger = pack(PackRequest {
        budget: ContextBudget::Tokens(Tokens::new(200)),
        meter: Meter::Estimator(&bytes),
        ..request(
            0,
            &limits,
            vec![found("a", 1.0, "漢".repeat(10)), found("b", 0.95, "漢字".repeat(500))],
        )
    })
    .unwrap();
    // 30 bytes are 8 tokens and leave 12, so the second may use 32 tokens = 120 bytes = 40 characters.
    let lines: Vec<_> = ledger
        .items
        .iter()
        .map(|item| {
            (item.chars.0, item.tokens.get(), item.allowance, item.carry_in, item.carry_out)
        })
        .collect();
    assert_eq!(lines, [(10, 8, 20, 0, 12), (40, 32, 32, 12, 0)]);
    assert_eq!((ledger.summary.used, ledger.summary.unit), (40, BudgetUnit::Tokens));
    assert_eq!(ledger.summary.ledger_unit, BudgetUnit::Tokens);
}

#[test]
fn character_budget_stays_in_characters() {
    let limits = ContextLimits::default();
    let bytes = Bytes { per_token: 1.0 };
    let ledger = pack(PackRequest {
        meter: Meter::Estimator(&bytes),
        ..request(100, &limits, vec![found("a", 1.0, "漢".repeat(50))])
    })
    .unwrap();
    let item = &ledger.items[0];
    assert_eq!((item.chars, item.tokens, item.cost), (Chars(10), Tokens::new(30), 10));
    assert_eq!((ledger.summary.used, ledger.summary.unit), (10, BudgetUnit::Characters));
}

#[test]
fn snippets_show_the_query_matches() {
    let limits = ContextLimits::default();
    let filler = |n: usize| "lorem ipsum dolor ".repeat(n);
    let far = format!("# One\n{}\n## Two\n{}cells age{}", filler(100), filler(100), filler(100));
    let at = u32::try_from(far.find("cells age").unwrap()).unwrap();
    let snippet = |query, page: Page, budget| {
        let candidates =
            vec![found("top", 1.0, "x"), candidate("s", 0.8, CandidateState::Found(page))];
        let mut ledger =
            pack(PackRequest { query, ..request(budget, &limits, candidates) }).unwrap();
        let item = ledger.items.remove(1);
        assert_eq!(item.mode, Mode::Snippet);
        item
    };
    let item = snippet(Some("CELLS AGE"), Page::new(far.clone()), 10_000);
    // ⌊(500 − 9) / 2⌋ = 245
    assert_eq!(item.blocks, [Span::new(at - 245, at + 255)]);
    assert_eq!(item.heading_path, ["One", "Two"]);
    assert!(!item.truncated);

    let item = snippet(Some("CELLS AGE"), Page::new(far.clone()), 2000);
    assert_eq!(item.chars, Chars(399), "min(500, allowance), with 199 carried");
    assert!(item.text.contains("cells age") && item.truncated);

    let item = snippet(Some("absent"), Page::new(far.clone()).with_chunk(2000, 2300), 10_000);
    assert_eq!(item.blocks, [Span::new(2000, 2300)], "the best chunk");
    let item = snippet(None, Page::new(far.clone()).with_chunk(2000, 4000), 10_000);
    assert_eq!(item.blocks, [Span::new(2000, 2500)], "one block of it");
    let item = snippet(Some("absent"), Page::new(far.clone()), 10_000);
    assert_eq!(item.blocks, [Span::new(0, 500)], "the head");
    let item = snippet(Some("absent"), Page::new(far).with_chunk(90_000, 90_100), 10_000);
    assert_eq!(item.blocks, [Span::new(0, 500)], "a chunk that is not there is none");
}

#[test]
fn chars_equal_the_sum_of_the_blocks() {
    let limits = ContextLimits { block_chars: 10, ..ContextLimits::default() };
    let body = format!("{}fern{}fern{}", "x ".repeat(50), " y".repeat(50), " z".repeat(50));
    let ledger = pack(PackRequest {
        query: Some("fern"),
        ..request(10_000, &limits, vec![found("top", 1.0, ""), found("s", 0.8, body.clone())])
    })
    .unwrap();
    let item = &ledger.items[1];
    assert_eq!((item.blocks.len(), item.chars), (2, Chars(20)));
    let texts: String = item.blocks.iter().map(|block| block.slice(&body)).collect();
    assert_eq!(item.text, texts);
}

#[test]
fn omitted_notes_are_not_read() {
    let limits = ContextLimits::default();
    let body = "x".repeat(100);
    let pages =
        [Page::new("y".repeat(2000)), Page::new(&*body), Page::new(&*body), Page::new(&*body)];
    let candidates = vec![
        candidate("a", 1.0, CandidateState::Found(&pages[0])),
        candidate("b", 0.95, CandidateState::Found(&pages[1])),
        candidate("c", 0.95, CandidateState::Filtered(&pages[2])),
        candidate("d", 0.1, CandidateState::Found(&pages[3])),
    ];
    let all = ContextLimits { per_note_share: 1.0, ..limits };
    let ledger = pack(PackRequest {
        focus: None,
        candidates,
        query: Some("x"),
        budget: ContextBudget::Characters(Chars(1000)),
        meter: Meter::default(),
        limits: &all,
        profile: PackingProfile::Classic,
        evidence: &EvidenceSettings::DEFAULT,
        explain: false,
        rendering: Rendering::None,
        order: Default::default(),
        stop: &FOREVER,
    })
    .unwrap();
    assert_eq!(omitted(&ledger), ["b budget", "c budget", "d below_threshold"]);
    assert_eq!(ledger.omitted[0].tokens, Characters::default().estimate(&body));
    assert_eq!(pages.map(|page| page.n_reads.get()), [1, 0, 0, 0]);
}

#[test]
fn decisions_are_yielded_one_by_one() {
    let limits = ContextLimits::default();
    let pages = [Page::new("one"), Page::new("two")];
    let uris = ["a", "b"];
    let candidates: Vec<_> = uris
        .iter()
        .zip(&pages)
        .map(|(uri, page)| candidate(uri, 1.0, CandidateState::Found(page)))
        .collect();
    let mut packing = Packing::new(PackRequest {
        focus: None,
        candidates,
        query: None,
        budget: ContextBudget::Characters(Chars(1000)),
        meter: Meter::default(),
        limits: &limits,
        profile: PackingProfile::Classic,
        evidence: &EvidenceSettings::DEFAULT,
        explain: false,
        rendering: Rendering::Markdown,
        order: Default::default(),
        stop: &FOREVER,
    })
    .unwrap();
    let first = packing.next();
    assert!(matches!(first, Some(Decision::Taken(item)) if item.uri.as_str() == "a"));
    assert_eq!(pages[1].n_reads.get(), 0, "nothing is read ahead");
    let summary = packing.finish();
    assert!(summary.rendered.is_some_and(|text| text.contains("two")), "the rest is still packed");
}

#[test]
fn empty_note_is_included_if_there_is_room() {
    let ledger = packed(100, vec![found("a", 1.0, "")]);
    let item = &ledger.items[0];
    assert_eq!(
        (item.chars, item.tokens, item.blocks.len(), item.truncated),
        (Chars(0), Tokens::ZERO, 0, false)
    );
    assert_eq!(omitted(&packed(0, vec![found("a", 1.0, "")])), ["a budget"]);
}

#[test]
fn default_scores_follow_the_distance() {
    let scores = DefaultScores::default();
    for (hop, expected) in [(0, 1.0), (1, 0.8), (2, 0.5), (3, 0.35), (9, 0.35)] {
        assert!((scores.at_hop(hop) - expected).abs() < f64::EPSILON, "hop {hop}");
    }
    let modes =
        [1, 2, 3, 4].map(|level| Bands::default().mode(scores.at_level(level), scores.named));
    let expected = [Mode::Full, Mode::Snippet, Mode::Structural, Mode::Structural];
    assert_eq!(modes, expected.map(Some));
}

#[test]
fn invalid_requests_are_rejected() {
    let limits = ContextLimits::default();
    let refused = |limits: &ContextLimits, score| {
        pack(request(100, limits, vec![found("a", score, "x")]))
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!(refused(&limits, 1.0), None);
    assert_eq!(
        refused(&limits, f64::NAN).as_deref(),
        Some("the score of `a` is NaN, which is not finite")
    );
    let bands = |full, snippet, structural| ContextLimits {
        bands: Bands { full, snippet, structural },
        ..ContextLimits::default()
    };
    let cases = [
        ("limits.bands.full", bands(1.5, 0.7, 0.3)),
        ("limits.bands.snippet", bands(0.5, 0.7, 0.3)),
        ("limits.bands.structural", bands(0.9, 0.7, f64::NAN)),
        (
            "limits.per_note_share",
            ContextLimits { per_note_share: -0.1, ..ContextLimits::default() },
        ),
        ("limits.block_chars", ContextLimits { block_chars: 0, ..ContextLimits::default() }),
        ("limits.outline_depth", ContextLimits { outline_depth: 7, ..ContextLimits::default() }),
    ];
    for (name, limits) in cases {
        let error = pack(request(100, &limits, vec![found("a", 1.0, "x")])).unwrap_err();
        assert!(matches!(error, PackError::Setting { setting, .. } if setting == name), "{error}");
    }
    let meter = Meter::Characters(Characters { per_token: 0.0 });
    let error = pack(PackRequest { meter, ..request(100, &limits, vec![]) }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the setting `per_token` is 0, expected a positive number of characters"
    );
}
