//! Profile `evidence`: which passages are chosen, and what the budget is spent on.

use std::borrow::Cow;

use proptest::prelude::*;
use weft_accordion::{
    Candidate, CandidatePassage, CandidateState, Citations, ContextBudget, ContextLimits, Document,
    EvidenceSettings, Ledger, Meter, Mode, OmissionReason, Order, PackRequest, PackingProfile,
    PassageOutcome, Rendering, pack,
};
use weft_model::text::CharCounter;
use weft_model::tokens::Bytes;
use weft_model::{Chars, Estimator, Heading, Stop, Tokens, Uri, passages};

/// A note whose passages have more evidence the more often they contain the word `fern`.
#[derive(Clone, Debug)]
struct Essay {
    body: String,
    headings: Vec<Heading>,
    passages: Vec<CandidatePassage>,
}

impl Essay {
    fn new(body: impl Into<String>) -> Self {
        let body = body.into();
        let mut headings = Vec::new();
        let mut counter = CharCounter::new(&body);
        let mut at = 0;
        for line in body.split_inclusive('\n') {
            if let Some(text) = line.trim_end().strip_prefix("# ") {
                let span = counter.span(at..at + line.trim_end().len());
                headings.push(Heading { level: 1, text: text.to_owned(), span });
            }
            at += line.len();
        }
        let mut counter = CharCounter::new(&body);
        let found = passages(&body, &headings).into_iter().map(|found| {
            let n = body[found.bytes.clone()].matches("fern").count();
            let evidence = 0.2 * f64::from(u32::try_from(n.min(4)).unwrap());
            CandidatePassage {
                span: counter.span(found.bytes.clone()),
                evidence,
                is_bare: found.is_bare(&body),
            }
        });
        let passages = found.collect();
        Self { body, headings, passages }
    }
}

impl Document for Essay {
    fn length(&self) -> Chars {
        Chars::of(&self.body)
    }

    fn body(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.body)
    }

    fn headings(&self) -> Cow<'_, [Heading]> {
        Cow::Borrowed(&self.headings)
    }

    fn passages(&self) -> Cow<'_, [CandidatePassage]> {
        Cow::Borrowed(&self.passages)
    }
}

fn note(uri: &str, score: f64, body: impl Into<String>) -> Candidate<Essay> {
    Candidate {
        uri: Uri::new(uri),
        title: uri.to_owned(),
        score,
        relation: None,
        via: None,
        state: CandidateState::Found(Essay::new(body)),
    }
}

/// Sentences without the word, distinct in every paragraph.
fn filler(seed: usize, n_sentences: usize) -> String {
    let words = ["moss", "lichen", "bark", "stone", "water", "shade", "leaf", "root", "seed"];
    let sentence = |at: usize| {
        let word =
            |n: usize| format!("{}{}", words[(seed * 7 + at * 5 + n * 3) % 9], seed + at * n);
        format!("The {} of the {} grows beside {} and {}.", word(1), word(2), word(3), word(4))
    };
    (0..n_sentences).map(sentence).collect::<Vec<_>>().join(" ")
}

fn request<'a>(tokens: u64, candidates: Vec<Candidate<Essay>>) -> PackRequest<'a, Essay> {
    static LIMITS: std::sync::LazyLock<ContextLimits> =
        std::sync::LazyLock::new(ContextLimits::default);
    static FOREVER: std::sync::LazyLock<Stop> = std::sync::LazyLock::new(Stop::default);
    PackRequest {
        focus: None,
        candidates,
        query: Some("fern"),
        budget: ContextBudget::Tokens(Tokens::new(tokens)),
        meter: Meter::default(),
        limits: &LIMITS,
        profile: PackingProfile::Evidence,
        evidence: &EvidenceSettings::DEFAULT,
        explain: true,
        rendering: Rendering::Markdown,
        order: Order::BestFirst,
        stop: &FOREVER,
    }
}

fn modes(ledger: &Ledger) -> Vec<(String, Mode)> {
    ledger.items.iter().map(|item| (item.uri.to_string(), item.mode)).collect()
}

#[test]
fn passage_with_the_answer_is_chosen_wherever_it_is() {
    let answer = "A fern is an answer: fern spores ripen in July.";
    for place in 0..4 {
        let mut paragraphs: Vec<String> = (0..4).map(|at| filler(at, 6)).collect();
        paragraphs.insert(place, format!("{answer} {}", filler(9, 3)));
        let ledger = pack(request(150, vec![note("a", 1.0, paragraphs.join("\n\n"))])).unwrap();
        let text = ledger.summary.rendered.unwrap();
        assert!(text.contains(answer), "{place}: {text}");
        assert_eq!(ledger.items[0].mode, Mode::Snippet);
    }
}

#[test]
fn modes_follow_from_the_passages() {
    let short = note("short", 1.0, "A fern, all of it.");
    let long = note("long", 0.9, format!("{}\n\nA fern.\n\n{}", filler(1, 12), filler(2, 12)));
    let ledger = pack(request(300, vec![short.clone(), long.clone()])).unwrap();
    let expected = [("short".to_owned(), Mode::Full), ("long".to_owned(), Mode::Snippet)];
    assert_eq!(modes(&ledger), expected);
    let ledger = pack(request(3000, vec![short, long])).unwrap();
    assert!(ledger.items.iter().all(|item| item.mode == Mode::Full && !item.truncated));
    assert!(ledger.summary.used < 700, "no more than there is");
}

#[test]
fn repeated_text_is_omitted_as_a_duplicate() {
    let text = format!("The fern says: {}", filler(1, 5));
    let copies = vec![note("a", 1.0, text.clone()), note("b", 0.9, format!("{text} Or so."))];
    let ledger = pack(request(1000, copies)).unwrap();
    assert_eq!(modes(&ledger), [("a".to_owned(), Mode::Full)]);
    let reasons: Vec<_> = ledger.omitted.iter().map(|omitted| omitted.reason).collect();
    assert_eq!(reasons, [OmissionReason::Duplicate]);
    let outcomes: Vec<_> = ledger.summary.passages.iter().map(|report| report.outcome).collect();
    assert_eq!(outcomes, [PassageOutcome::Included, PassageOutcome::Duplicate]);
}

#[test]
fn passage_that_does_not_fit_is_cut_between_sentences() {
    let body = format!("{} The fern is here. {}", filler(3, 6), filler(4, 6));
    let ledger = pack(request(60, vec![note("a", 1.0, body.clone())])).unwrap();
    let item = &ledger.items[0];
    assert!(item.truncated && item.text.contains("The fern is here."), "{}", item.text);
    assert!(body.contains(&item.text), "one part of the body");
}

#[test]
fn rows_of_a_table_are_shown_with_its_column_names() {
    let rows = |word: &str| format!("| {word} | {} |\n", filler(2, 3)).repeat(9);
    let head = "| name | place |\n|------|:-----:|\n";
    let body = format!("{}\n\n{head}{}| - | - |\n| fern | here |\n", filler(1, 9), rows("moss"));
    let ledger = pack(request(60, vec![note("a", 1.0, body)])).unwrap();
    let item = &ledger.items[0];
    let (names, row) = (item.text.find(head), item.text.find("| fern | here |"));
    assert!(names.is_some() && names < row, "{}", item.text);
    let rendered = ledger.summary.rendered.unwrap();
    assert!(ledger.summary.used <= 60 && rendered.contains(head), "{rendered}");
}

#[test]
fn parts_have_their_places_and_headings() {
    let body = format!("{}\n\n# Ferns\n\nA fern.\n\n# Moss\n\n{}", filler(1, 9), filler(2, 9));
    let ledger = pack(request(40, vec![note("a", 1.0, body.clone())])).unwrap();
    let passages = &ledger.items[0].passages;
    let best = passages.iter().max_by(|a, b| a.evidence.total_cmp(&b.evidence));
    let shown = best.unwrap();
    assert_eq!(shown.span.slice(&body), "# Ferns\n\nA fern.");
    assert_eq!((shown.first_line, shown.last_line), (3, 5));
    assert_eq!(shown.heading_path, ["Ferns"]);
    let rendered = ledger.summary.rendered.unwrap();
    assert!(rendered.starts_with("## a\n```\n"), "{rendered}");
    assert!(rendered.contains("\n# Ferns\n\nA fern."), "{rendered}");
}

#[test]
fn sources_can_be_listed_by_number() {
    let settings = EvidenceSettings { citations: Citations::List, ..EvidenceSettings::DEFAULT };
    let candidates = vec![note("a/one", 1.0, "A fern."), note("b", 0.9, "Another fern, here.")];
    let ledger = pack(PackRequest { evidence: &settings, ..request(200, candidates) }).unwrap();
    let expected = "## [1] a/one\n```\nA fern.\n```\n\n## [2] b\n```\nAnother fern, here.\n```\n\nSources:\n[1]: [a/one](a/one)\n[2]: [b](b)\n";
    assert_eq!(ledger.summary.rendered.as_deref(), Some(expected));
    let costs: u64 = ledger.items.iter().map(|item| item.cost).sum();
    assert_eq!(costs, expected.chars().count() as u64);
}

#[test]
fn frames_are_short_if_the_budget_is_small() {
    let long =
        "a title that goes on and on and says very much about what the note is about, really";
    let mut candidate = note("folder/a-note", 1.0, "A fern.");
    candidate.title = long.to_owned();
    candidate.via = Some("some/other/note/that/was/a/hit".to_owned());
    for rendering in [Rendering::Markdown, Rendering::Xml, Rendering::Json] {
        let small = PackRequest { rendering, ..request(900, vec![candidate.clone()]) };
        let small = pack(small).unwrap().summary.rendered.unwrap();
        let frame = small.chars().count() - "A fern.".chars().count();
        let around = match rendering {
            Rendering::Xml => "<context>\n</context>\n".len(),
            Rendering::Json => "[\n\n]\n".len(),
            Rendering::None | Rendering::Markdown => 0,
        };
        assert!(frame - around <= 94, "{frame} characters: {small}");
        let large = PackRequest { rendering, ..request(1000, vec![candidate.clone()]) };
        assert!(pack(large).unwrap().summary.rendered.unwrap().contains(long));
    }
}

#[test]
fn title_that_ends_the_uri_is_not_repeated() {
    let rendered = |uri: &str, title: &str| {
        let candidate = Candidate {
            title: title.to_owned(),
            via: Some("hit".to_owned()),
            ..note(uri, 1.0, "A fern.")
        };
        pack(request(200, vec![candidate])).unwrap().summary.rendered.unwrap()
    };
    for (uri, title, expected) in [
        ("a fern", "a fern", "## a fern"),
        ("garden/a fern", "a fern", "## garden/a fern"),
        ("garden/a *fern*", "a *fern*", r"## [a \*fern\*](<garden/a *fern*>)"),
        ("garden/a fern", "A fern", "## [A fern](<garden/a fern>)"),
        ("garden/fern", "n", "## [n](garden/fern)"),
        ("garden/fern", "", "## [](garden/fern)"),
    ] {
        assert_eq!(rendered(uri, title), format!("{expected}\n```\nA fern.\n```\n"), "{title}");
    }
}

#[test]
fn plain_takes_whole_passages_by_evidence() {
    let candidates = vec![
        note("a", 1.0, format!("fern {}", filler(1, 5))),
        note("b", 0.5, format!("fern fern {}", filler(2, 5))),
    ];
    let plain = PackRequest { profile: PackingProfile::Plain, ..request(100, candidates) };
    let ledger = pack(plain).unwrap();
    assert_eq!(modes(&ledger), [("b".to_owned(), Mode::Full)]);
    assert_eq!(ledger.omitted[0].reason, OmissionReason::Budget);
}

/// Tokens that cost more the longer the text is, so that parts do not add up to the whole.
#[derive(Debug)]
struct Uneven;

impl Estimator for Uneven {
    fn estimate(&self, text: &str) -> Tokens {
        let n = text.split_whitespace().count() as u64;
        Tokens::new(n + n / 7 + u64::from(!text.is_empty()))
    }
}

fn candidates() -> impl Strategy<Value = Vec<Candidate<Essay>>> {
    let paragraph = (0..40_usize, 1..14_usize, 0..3_usize)
        .prop_map(|(seed, n, ferns)| format!("{}{}", "A fern. ".repeat(ferns), filler(seed, n)));
    let body = prop::collection::vec((paragraph, any::<bool>()), 1..8).prop_map(|paragraphs| {
        let section = |(at, (text, headed)): (usize, (String, bool))| {
            if headed { format!("# Part {at}\n\n{text}") } else { text }
        };
        paragraphs.into_iter().enumerate().map(section).collect::<Vec<_>>().join("\n\n")
    });
    prop::collection::vec((body, 0.05..1.0_f64), 1..8).prop_map(|bodies| {
        let named = bodies.into_iter().enumerate();
        named.map(|(at, (body, score))| note(&format!("note {at}"), score, body)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn ledger_adds_up_and_never_exceeds_the_budget(
        candidates in candidates(),
        tokens in 0..4000_u64,
        rendering in prop::sample::select(vec![
            Rendering::None, Rendering::Markdown, Rendering::Xml, Rendering::Json,
        ]),
        meter in 0..3_usize,
        profile in prop::sample::select(vec![PackingProfile::Evidence, PackingProfile::Plain]),
        order in prop::sample::select(vec![Order::BestFirst, Order::BestAtBothEnds]),
        citations in prop::sample::select(vec![Citations::Inline, Citations::List]),
    ) {
        let bytes = Bytes::default();
        let meter = [Meter::default(), Meter::Estimator(&bytes), Meter::Estimator(&Uneven)][meter];
        let settings = EvidenceSettings { citations, ..EvidenceSettings::DEFAULT };
        let request = PackRequest {
            meter, rendering, profile, order, evidence: &settings, ..request(tokens, candidates)
        };
        let ledger = pack(request.clone()).unwrap();
        prop_assert_eq!(&ledger, &pack(request.clone()).unwrap(), "deterministic");
        let summary = &ledger.summary;
        prop_assert!(summary.used <= tokens && summary.used + summary.remaining == tokens);
        // The document around no note is free.
        prop_assert!(!ledger.items.is_empty() || summary.used == 0);
        if let Some(text) = summary.rendered.as_ref().filter(|_| !ledger.items.is_empty()) {
            let whole = match meter {
                Meter::Characters(by_length) => by_length.estimate(text),
                Meter::Estimator(estimator) => estimator.estimate(text),
            };
            prop_assert!(whole.get() <= tokens, "{} of {tokens}", whole.get());
        }
        if matches!(meter, Meter::Characters(_)) {
            let costs: u64 = ledger.items.iter().map(|item| item.cost).sum();
            prop_assert_eq!(summary.used, (costs * 100).div_ceil(375));
        }
        prop_assert_eq!(ledger.items.len() + ledger.omitted.len(), request.candidates.len());
        for item in &ledger.items {
            let own = request.candidates.iter().find(|own| own.uri == item.uri).unwrap();
            let CandidateState::Found(essay) = &own.state else { unreachable!() };
            let texts: String = item.blocks.iter().map(|span| span.slice(&essay.body)).collect();
            if item.mode != Mode::Structural {
                prop_assert_eq!(&texts, &item.text);
                prop_assert!(item.blocks.is_sorted_by(|left, right| left.end < right.start));
            }
        }
    }

    #[test]
    fn budget_is_spent_if_there_is_more_text(candidates in candidates(), tokens in 300..3000_u64, meter in 0..2_usize) {
        let bytes = Bytes::default();
        let meter = [Meter::default(), Meter::Estimator(&bytes)][meter];
        let settings = EvidenceSettings { floor: 0.0, ..EvidenceSettings::DEFAULT };
        // Distinct text in every note: repeated text is not spent on.
        let distinct = candidates.into_iter().enumerate().map(|(at, mut candidate)| {
            if let CandidateState::Found(essay) = &mut candidate.state {
                let body = essay.body.replace("moss", &format!("moss{at}x")).replace("The ", &format!("The{at} "));
                *essay = Essay::new(body);
            }
            candidate
        });
        let request = PackRequest { meter, evidence: &settings, ..request(tokens, distinct.collect()) };
        let ledger = pack(request.clone()).unwrap();
        let has_repeats = ledger.summary.passages.iter().any(|it| it.outcome == PassageOutcome::Duplicate);
        let has_more = ledger.summary.passages.iter().any(|it| it.outcome != PassageOutcome::Included);
        if has_more && !has_repeats {
            let used = ledger.summary.used as f64;
            prop_assert!(used >= 0.95 * tokens as f64, "{used} of {tokens}");
        }
    }

    #[test]
    fn any_text_is_packed_within_the_budget(body in "[ab.! \\n#é漢🇩🇪\u{301}-]{0,400}", tokens in 0..120_u64) {
        let ledger = pack(request(tokens, vec![note("a", 1.0, body)])).unwrap();
        prop_assert!(ledger.summary.used <= tokens);
    }
}

#[test]
fn shown_text_is_reported_with_its_evidence() {
    let body = format!("{}\n\nA fern and a fern.\n\n{}", filler(1, 9), filler(2, 9));
    let ledger = pack(request(60, vec![note("a", 0.8, body)])).unwrap();
    let best = ledger.summary.passages.iter().max_by(|a, b| a.evidence.total_cmp(&b.evidence));
    let best = best.unwrap();
    assert!((best.value - 0.8).abs() < 1e-9 && best.outcome != PassageOutcome::Budget, "{best:?}");
    // The short paragraph belongs to the one before it.
    assert_eq!(ledger.summary.passages.len(), 2);
}
