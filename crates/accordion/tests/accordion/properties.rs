//! Properties of every request: the budget, the ledger, the offsets, the fences.

use std::collections::HashMap;

use proptest::prelude::*;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use unicode_segmentation::UnicodeSegmentation as _;
use weft_accordion::{
    Candidate, CandidateState, ContextBudget, ContextLimits, Decision, Document as _,
    EvidenceSettings, Item, Ledger, Meter, Mode, OmissionReason, Order, PackRequest, Packing,
    PackingProfile, Plan, Rendering, pack,
};
use weft_indexer::embed::TokenizerEstimator;
use weft_model::tokens::{Bytes, Characters, Unit};
use weft_model::{Chars, Estimator, Span, Tokens, Uri};

use crate::{FOREVER, Page, candidate};

/// Counts words plus two marks per text: the whole is cheaper than its parts.
struct Marked;

impl Estimator for Marked {
    fn estimate(&self, text: &str) -> Tokens {
        Tokens::new(2 + text.unicode_words().count() as u64)
    }
}

/// Length plus its square: the whole is more expensive than its parts.
struct Steep;

impl Estimator for Steep {
    fn estimate(&self, text: &str) -> Tokens {
        let n = Chars::of(text).0;
        Tokens::new(1 + n / 4 + n * n / 20_000)
    }
}

/// Separators between notes cost extra, which no single note shows.
struct Seams;

impl Estimator for Seams {
    fn estimate(&self, text: &str) -> Tokens {
        let n_seams = text.matches("```\n\n##").count() + text.matches("</note>\n<note").count();
        Tokens::new(1 + Chars::of(text).0 / 4 + 3 * n_seams as u64)
    }
}

/// A longer text may be cheaper.
struct Moody;

impl Estimator for Moody {
    fn estimate(&self, text: &str) -> Tokens {
        let n = text.len() as u64;
        Tokens::new(1 + n / 4 + (n * 7) % 5)
    }
}

/// A real tokenizer.
static BUNDLED: TokenizerEstimator = TokenizerEstimator::english();

static ESTIMATORS: [&(dyn Estimator + Sync); 8] = [
    &Characters { per_token: 3.75 },
    &Bytes { per_token: 3.75 },
    &Unit,
    &Marked,
    &Steep,
    &Seams,
    &Moody,
    &BUNDLED,
];

const RENDERINGS: [Rendering; 4] =
    [Rendering::None, Rendering::Markdown, Rendering::Xml, Rendering::Json];

/// The counting methods, from 0: characters, tokens by length, characters beside an estimator, then the tokens of each estimator.
fn counting(way: usize, amount: u64) -> (ContextBudget, Meter<'static>) {
    let tokens = ContextBudget::Tokens(Tokens::new(amount));
    match way {
        0 => (ContextBudget::Characters(Chars(amount)), Meter::default()),
        1 => (tokens, Meter::default()),
        2 => (ContextBudget::Characters(Chars(amount)), Meter::Estimator(ESTIMATORS[1])),
        n => (tokens, Meter::Estimator(ESTIMATORS[n - 3])),
    }
}

const N_WAYS: usize = 3 + ESTIMATORS.len();

/// The methods of a token budget by length, and of the real tokenizer.
const USUAL_WAYS: [usize; 2] = [1, N_WAYS - 1];

fn fragment() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "fern ",
        "Moss ",
        "soft and green ",
        "\n",
        "\r\n",
        "\n\n",
        "# Heading\n",
        "\n## Второй\n",
        "\n### 三 `x`\n",
        "\n```\n",
        "\n````rust\nfn fern() {}\n````\n",
        "~~~\n",
        "`",
        "漢字検索",
        "แมวดำ",
        "नमस्ते ",
        "العربية ",
        "👩\u{200d}👩\u{200d}👧",
        "🇩🇪🇫🇷",
        "e\u{301}\u{302}\u{303}",
        "한국어 ",
        "<note> & \"]]>\" </text>",
        "\u{0}\u{b}",
        "\\",
        "\t",
        "[x](y) ",
        "| a | b |",
        "lorem ipsum dolor sit amet consectetur ",
    ])
}

fn body() -> impl Strategy<Value = String> {
    // Some are longer than the largest budget of this test.
    let n_times = prop_oneof![100 => Just(1), 20 => Just(12), 1 => Just(300)];
    (prop::collection::vec(fragment(), 0..40), n_times)
        .prop_map(|(fragments, n_times)| fragments.concat().repeat(n_times))
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}(/[a-z]{1,8})?",
        "[a-z ()<>&\\\\`*_\\[\\]\"']{1,12}",
        Just("日本/メモ\n2".to_owned())
    ]
}

#[derive(Clone, Debug)]
struct Case {
    focus: Option<Candidate<Page>>,
    candidates: Vec<Candidate<Page>>,
    query: Option<String>,
    amount: u64,
    way: usize,
    rendering: Rendering,
    order: Order,
    limits: ContextLimits,
}

fn some_candidate() -> impl Strategy<Value = Candidate<Page>> {
    let state = (body(), prop::option::of((0_u32..400, 0_u32..400)), 0..12_u32);
    let from = || prop::option::of(name());
    (name(), name(), 0..21_u32, from(), from(), state).prop_map(
        |(uri, title, score, relation, via, (body, chunk, fate))| {
            let page = match chunk {
                Some((a, b)) => Page::new(body).with_chunk(a.min(b), a.max(b)),
                None => Page::new(body),
            };
            let state = match fate {
                0 => CandidateState::Missing,
                1 => CandidateState::Filtered(page),
                2..=4 => CandidateState::Found(page.with_text(fate)),
                _ => CandidateState::Found(page),
            };
            Candidate { title, relation, via, ..candidate(&uri, f64::from(score) / 20.0, state) }
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let query = prop::sample::select(vec![
        None,
        Some("fern"),
        Some("soft AND green"),
        Some("the green fern"),
        Some("漢字"),
        Some("検索漢字"),
        Some(""),
    ]);
    let amount = prop_oneof![0_u64..60, 0_u64..3000, 0_u64..100_000];
    let limits = (
        prop::sample::select(vec![0.1, 0.1, 0.0, 0.35, 1.0]),
        prop::sample::select(vec![500, 40, 1]),
        0..12_usize,
    );
    let form = (prop::sample::select(RENDERINGS.to_vec()), any::<bool>());
    let candidates = prop::collection::vec(some_candidate(), 0..14);
    let way = prop_oneof![0..N_WAYS, prop::sample::select(USUAL_WAYS.to_vec())];
    (prop::option::of(some_candidate()), candidates, query, amount, way, form, limits).prop_map(
        |(
            mut focus,
            mut candidates,
            query,
            amount,
            way,
            (rendering, both_ends),
            (per_note_share, block_chars, structural_cap),
        )| {
            name_texts(focus.as_mut(), &mut candidates);
            Case {
                focus,
                candidates,
                query: query.map(str::to_owned),
                amount,
                way,
                rendering,
                order: if both_ends { Order::BestAtBothEnds } else { Order::BestFirst },
                limits: ContextLimits {
                    per_note_share,
                    block_chars,
                    structural_cap,
                    ..ContextLimits::default()
                },
            }
        },
    )
}

impl Case {
    fn request(&self) -> PackRequest<'_, Page> {
        let (budget, meter) = counting(self.way, self.amount);
        PackRequest {
            focus: self.focus.clone(),
            candidates: self.candidates.clone(),
            query: self.query.as_deref(),
            budget,
            meter,
            limits: &self.limits,
            profile: PackingProfile::Classic,
            evidence: &EvidenceSettings::DEFAULT,
            explain: false,
            rendering: self.rendering,
            order: self.order,
            stop: &FOREVER,
        }
    }

    /// Returns the cost of `text` in the unit of the arithmetic.
    fn measure(&self, text: &str) -> u64 {
        match counting(self.way, self.amount) {
            _ if text.is_empty() => 0,
            (ContextBudget::Tokens(_), Meter::Estimator(estimator)) => {
                estimator.estimate(text).get()
            }
            (ContextBudget::Tokens(_) | ContextBudget::Characters(_), _) => Chars::of(text).0,
        }
    }

    /// Returns the cost of `text` in the unit of the budget.
    fn measure_as_asked(&self, text: &str) -> u64 {
        match counting(self.way, self.amount) {
            _ if text.is_empty() => 0,
            (ContextBudget::Characters(_), _) => Chars::of(text).0,
            (ContextBudget::Tokens(_), Meter::Estimator(estimator)) => {
                estimator.estimate(text).get()
            }
            (ContextBudget::Tokens(_), Meter::Characters(by_length)) => {
                by_length.estimate(text).get()
            }
        }
    }

    fn runs_in_characters(&self) -> bool {
        self.way < 3
    }

    /// Returns the budget in the unit of the arithmetic.
    fn available(&self) -> u64 {
        if self.way == 1 { self.amount * 15 / 4 } else { self.amount }
    }

    /// Returns the text of a name.
    fn page(&self, uri: &Uri) -> &Page {
        let mut named = self.focus.iter().chain(&self.candidates).filter(|one| one.uri == *uri);
        named.find_map(|one| one.state.document()).unwrap()
    }
}

/// Gives all candidates with the same name the text of the first one.
fn name_texts(focus: Option<&mut Candidate<Page>>, candidates: &mut [Candidate<Page>]) {
    let mut texts: HashMap<Uri, Page> = HashMap::new();
    for one in focus.into_iter().chain(candidates) {
        if let CandidateState::Found(page) | CandidateState::Filtered(page) = &mut one.state {
            let text = texts.entry(one.uri.clone()).or_insert_with(|| page.clone()).clone();
            *page = Page { best_chunk: page.best_chunk, ..text };
        }
    }
}

/// Returns the text of an item by its blocks.
fn from_body(item: &Item, body: &str) -> String {
    let texts: Vec<&str> = item.blocks.iter().map(|block| block.slice(body)).collect();
    match item.mode {
        Mode::Full | Mode::Snippet => texts.concat(),
        Mode::Structural if item.blocks.is_empty() => item.title.clone(),
        Mode::Structural => texts.join("\n"),
    }
}

fn check_budget(case: &Case, ledger: &Ledger) -> Result<(), TestCaseError> {
    let total = &ledger.summary;
    prop_assert_eq!(total.budget, case.amount);
    prop_assert_eq!(total.used + total.remaining, total.budget);
    let cost: u64 = ledger.items.iter().map(|item| item.cost).sum();
    prop_assert!(cost <= case.available());
    prop_assert_eq!(total.rendered.is_none(), case.rendering == Rendering::None);
    match &total.rendered {
        Some(_) if ledger.items.is_empty() => prop_assert_eq!(total.used, 0),
        Some(rendered) => {
            prop_assert!(case.measure_as_asked(rendered) <= total.used);
            if case.runs_in_characters() {
                prop_assert_eq!(case.measure_as_asked(rendered), total.used);
                prop_assert_eq!(Chars::of(rendered).0, cost);
            } else {
                prop_assert_eq!(cost.max(case.measure(rendered)), total.used);
            }
        }
        None => {
            let texts: u64 = ledger.items.iter().map(|item| case.measure(&item.text)).sum();
            prop_assert_eq!(texts, cost, "no wrapper is charged");
        }
    }
    Ok(())
}

fn check_chain(case: &Case, ledger: &Ledger) -> Result<(), TestCaseError> {
    let soft = Plan::new(case.available(), &case.limits).room();
    let (mut carry, mut used) = (0, 0);
    for (n, item) in ledger.items.iter().enumerate() {
        prop_assert_eq!(item.carry_in, carry);
        // A missing focus note makes way for a candidate, even one of the same name.
        let is_focus = n == 0
            && case.focus.as_ref().is_some_and(|focus| {
                focus.uri == item.uri && matches!(focus.state, CandidateState::Found(_))
            });
        let left = case.available() - used;
        let room = if is_focus { left } else { left.min(soft + carry) };
        let text = case.measure(&item.text);
        prop_assert!(item.cost <= room);
        if case.runs_in_characters() {
            prop_assert_eq!(item.allowance, room - (item.cost - text));
            prop_assert!(item.chars.0 <= item.allowance);
        }
        carry = (soft + carry).saturating_sub(item.cost);
        prop_assert_eq!(item.carry_out, carry);
        used += item.cost;
    }
    let n_structural = ledger.items.iter().filter(|item| item.mode == Mode::Structural).count();
    prop_assert!(n_structural <= case.limits.structural_cap);
    Ok(())
}

fn check_everyone_is_there(case: &Case, ledger: &Ledger) -> Result<(), TestCaseError> {
    let mut given: Vec<&str> =
        case.focus.iter().chain(&case.candidates).map(|one| one.uri.as_str()).collect();
    let taken = ledger.items.iter().map(|item| item.uri.as_str());
    let mut reported: Vec<&str> =
        taken.chain(ledger.omitted.iter().map(|out| out.uri.as_str())).collect();
    given.sort_unstable();
    reported.sort_unstable();
    prop_assert_eq!(given, reported);
    for (n, item) in ledger.items.iter().enumerate() {
        let twice = ledger.items[..n].iter().any(|other| other.uri == item.uri);
        prop_assert!(!twice, "{} twice", item.uri);
    }
    for out in ledger.omitted.iter().filter(|out| out.reason == OmissionReason::Duplicate) {
        let page = case.page(&out.uri);
        let is_there = |item: &Item| item.uri == out.uri || page.copies(case.page(&item.uri));
        prop_assert!(ledger.items.iter().any(is_there), "{}", out.uri);
    }
    Ok(())
}

fn check_offsets(case: &Case, ledger: &Ledger) -> Result<(), TestCaseError> {
    for item in &ledger.items {
        let body = &case.page(&item.uri).body;
        prop_assert_eq!(&from_body(item, body), &item.text);
        let texts: Vec<&str> = item.blocks.iter().map(|block| block.slice(body)).collect();
        prop_assert_eq!(item.chars, Chars::of(&item.text));
        let boundaries: Vec<usize> =
            body.grapheme_indices(true).map(|(at, _)| at).chain([body.len()]).collect();
        for block in &item.blocks {
            let bytes = block.bytes(body);
            let whole = [bytes.start, bytes.end].map(|at| boundaries.binary_search(&at).is_ok());
            prop_assert_eq!(whole, [true, true], "{:?}", block);
        }
        prop_assert!(item.blocks.windows(2).all(|pair| pair[0].end < pair[1].start));
        let matches = body.to_lowercase().matches("fern").count();
        if item.mode == Mode::Snippet && case.query.as_deref() == Some("fern") && matches > 0 {
            for text in &texts {
                // A block shorter than the match shows its beginning.
                let text = text.to_lowercase();
                prop_assert!(text.contains("fern") || "fern".starts_with(&text), "{:?}", texts);
            }
        }
    }
    Ok(())
}

/// Normalizes line ends as a reader of Markdown or XML does.
fn plain(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}")
}

/// Returns the texts that a rendering must contain, note by note, in the order shown.
fn shown(case: &Case, ledger: &Ledger) -> Vec<(String, Vec<String>)> {
    let order = case.order.arrange(ledger.items.len());
    let shown = order.into_iter().map(|rank| &ledger.items[rank]);
    shown
        .map(|item| {
            let body = &case.page(&item.uri).body;
            let texts = match item.mode {
                Mode::Structural => vec![item.text.clone()],
                Mode::Full | Mode::Snippet => {
                    item.blocks.iter().map(|block| block.slice(body).to_owned()).collect()
                }
            };
            (item.uri.as_str().to_owned(), texts)
        })
        .collect()
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only headings, links and code matter here")]
fn check_markdown(case: &Case, ledger: &Ledger, rendered: &str) -> Result<(), TestCaseError> {
    let mut found: Vec<(String, Vec<String>)> = vec![];
    let (mut in_code, mut in_heading) = (false, false);
    for event in Parser::new(rendered) {
        match event {
            Event::Start(Tag::Heading { .. }) => in_heading = true,
            Event::End(TagEnd::Heading(_)) => in_heading = false,
            Event::Start(Tag::Link { dest_url, .. }) if in_heading => {
                found.push((dest_url.to_string(), vec![]));
            }
            Event::Start(Tag::CodeBlock(_)) => {
                in_code = true;
                found.last_mut().unwrap().1.push(String::new());
            }
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(text) if in_code => {
                found.last_mut().unwrap().1.last_mut().unwrap().push_str(&text);
            }
            _ => {}
        }
    }
    let expected: Vec<_> = shown(case, ledger)
        .into_iter()
        .map(|(uri, texts)| {
            // A fence ends on its own line.
            let ended = |text: &String| {
                if text.ends_with('\n') { plain(text) } else { plain(text) + "\n" }
            };
            let texts: Vec<_> = texts.iter().map(ended).collect();
            (uri.replace('\n', "%0A"), texts)
        })
        .collect();
    let found: Vec<_> = found
        .into_iter()
        .map(|(uri, texts)| (uri, texts.iter().map(|text| plain(text)).collect::<Vec<_>>()))
        .collect();
    prop_assert_eq!(found, expected);
    Ok(())
}

fn check_json(case: &Case, ledger: &Ledger, rendered: &str) -> Result<(), TestCaseError> {
    let notes: Vec<serde_json::Value> = serde_json::from_str(rendered).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let found: Vec<_> = notes
        .iter()
        .map(|note| {
            let blocks = note["blocks"].as_array().cloned().unwrap_or_default();
            let blocks = blocks.iter().map(|block| text(&block["text"]));
            let headings = note.get("headings").map(text);
            (text(&note["uri"]), blocks.chain(headings).collect::<Vec<_>>())
        })
        .collect();
    prop_assert_eq!(found, shown(case, ledger));
    Ok(())
}

/// Reads the XML subset of the renderer: each start tag has attributes, text appears in the innermost element.
fn check_xml(case: &Case, ledger: &Ledger, rendered: &str) -> Result<(), TestCaseError> {
    let unescaped = |text: &str| {
        let entities = [
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&quot;", "\""),
            ("&#13;", "\r"),
            ("&#10;", "\n"),
            ("&#9;", "\t"),
            ("&amp;", "&"),
        ];
        entities.iter().fold(text.to_owned(), |text, (entity, letter)| text.replace(entity, letter))
    };
    let mut found: Vec<(String, Vec<String>)> = vec![];
    let mut open: Vec<&str> = vec![];
    for tag in rendered.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').unwrap();
        prop_assert!(!text.contains('>'));
        if let Some(name) = tag.strip_prefix('/') {
            prop_assert_eq!(open.pop(), Some(name));
            prop_assert_eq!(text, "\n");
            continue;
        }
        let name = tag.split(' ').next().unwrap();
        open.push(name);
        match name {
            "note" => {
                let uri = tag.split('"').nth(1).unwrap();
                found.push((unescaped(uri), vec![]));
            }
            "text" | "headings" => found.last_mut().unwrap().1.push(unescaped(text)),
            _ => prop_assert_eq!(name, "context"),
        }
    }
    prop_assert!(open.is_empty());
    let allowed = |text: &String| text.replace(['\0', '\u{b}'], "\u{fffd}");
    let expected: Vec<_> = shown(case, ledger)
        .into_iter()
        .map(|(uri, texts)| (uri, texts.iter().map(allowed).collect::<Vec<_>>()))
        .collect();
    prop_assert_eq!(found, expected);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn all_properties_hold(case in case()) {
        let ledger = pack(case.request()).unwrap();
        check_budget(&case, &ledger)?;
        check_chain(&case, &ledger)?;
        check_everyone_is_there(&case, &ledger)?;
        check_offsets(&case, &ledger)?;
        match (case.rendering, ledger.summary.rendered.as_deref()) {
            (Rendering::Xml, Some("<context/>\n")) | (Rendering::Json, Some("[]\n")) => {
                prop_assert!(ledger.items.is_empty());
            }
            (_, None | Some("")) => {
                let is_text = matches!(case.rendering, Rendering::None | Rendering::Markdown);
                prop_assert!(is_text && (ledger.items.is_empty() || case.rendering == Rendering::None));
            }
            (Rendering::Markdown, Some(rendered)) => check_markdown(&case, &ledger, rendered)?,
            (Rendering::Xml, Some(rendered)) => check_xml(&case, &ledger, rendered)?,
            (Rendering::Json, Some(rendered)) => check_json(&case, &ledger, rendered)?,
            (Rendering::None, Some(rendered)) => prop_assert!(false, "{rendered}"),
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn equal_requests_give_equal_ledgers(mut case in case()) {
        case.candidates.sort_by(|a, b| a.uri.cmp(&b.uri));
        case.candidates.dedup_by(|a, b| a.uri == b.uri);
        let ledger = pack(case.request()).unwrap();
        prop_assert_eq!(&pack(case.request()).unwrap(), &ledger);
        case.candidates.reverse();
        prop_assert_eq!(&pack(case.request()).unwrap(), &ledger, "the caller's order does not matter");
        let mut packing = Packing::new(case.request()).unwrap();
        let items: Vec<_> = packing
            .by_ref()
            .filter_map(|decision| match decision {
                Decision::Taken(item) => Some(*item),
                Decision::Omitted(_) => None,
            })
            .collect();
        prop_assert_eq!((items, packing.finish()), (ledger.items, ledger.summary));
    }

    #[test]
    fn snippet_contains_a_match(
        before in "[a-eg-z \\n漢é]{0,900}", after in "[a-eg-z \\n漢é]{0,900}", budget in 100_u64..9000, way in 0..N_WAYS
    ) {
        let body = format!("{before} FERN {after}");
        let limits = ContextLimits::default();
        let (budget, meter) = counting(way, budget);
        let candidates = vec![
            candidate("top", 1.0, CandidateState::Found(Page::new("x"))),
            candidate("s", 0.8, CandidateState::Found(Page::new(body.clone()))),
        ];
        let ledger = pack(PackRequest {
            focus: None, candidates, query: Some("fern"), budget, meter, limits: &limits,
            profile: PackingProfile::Classic,
            evidence: &EvidenceSettings::DEFAULT,
            explain: false,
            rendering: Rendering::None, order: Order::BestFirst, stop: &FOREVER,
        }).unwrap();
        if let Some(item) = ledger.items.get(1) {
            prop_assert!(item.text.contains("FERN") || "FERN".starts_with(&item.text), "{:?}", item);
            prop_assert!(item.blocks.iter().map(|block: &Span| block.len()).all(|n| n <= 500));
        }
    }
}
