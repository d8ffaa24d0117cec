//! Assembling a context of some notes within a budget.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_accordion::{
    Candidate, CandidateState, ContextBudget, ContextLimits, EvidenceSettings, Meter, Order,
    PackRequest, PackingProfile, Rendering, pack,
};
use weft_benches::{sizes, text, word};
use weft_indexer::embed::TokenizerEstimator;
use weft_model::tokens::Characters;
use weft_model::{Heading, Note, NotePath, Span, Stop, Tokens, Uri};
use weft_testkit::Random;

/// Numbers of candidates of a context; a query has fifty by default.
const CANDIDATES: [usize; 3] = [10, 50, 200];

/// Budgets in tokens.
const BUDGETS: [u64; 3] = [500, 2_000, 100_000];

/// Returns a note of several hundred words below three headings.
fn a_note(random: &mut Random, at: usize) -> Note {
    let (mut body, mut headings) = (String::new(), Vec::new());
    for section in 0..3 {
        let start = u32::try_from(body.len()).expect("a note is short");
        body.push_str(&format!("## Section {section}"));
        let span = Span::new(start, u32::try_from(body.len()).expect("a note is short"));
        headings.push(Heading { level: 2, text: format!("Section {section}"), span });
        let n_words = 60 + random.below(200);
        body.push_str(&format!("\n{}\n", text(random, n_words)));
    }
    Note {
        path: NotePath::new(format!("note-{at:02}.md")),
        claimed_uri: None,
        title: format!("Note {at}"),
        aliases: vec![],
        tags: vec![],
        note_type: None,
        properties: Default::default(),
        searched_texts: Vec::new(),
        order: None,
        headings,
        blocks: vec![],
        dendron: false,
        links: vec![],
        body,
    }
}

pub(crate) fn bench(criterion: &mut Criterion) {
    for n_notes in sizes(&CANDIDATES) {
        contexts(criterion, n_notes);
    }
}

fn contexts(criterion: &mut Criterion, n_notes: usize) {
    let mut random = Random::new(11);
    let notes: Vec<Note> = (0..n_notes).map(|at| a_note(&mut random, at)).collect();
    let query = [word(3), word(70), word(900)].join(" ");
    let (limits, tokenizer) = (ContextLimits::default(), TokenizerEstimator::english());
    // Scores fall from 1 to 0.5, so that every mode is used.
    let candidates = || {
        let ranked = notes.iter().enumerate().map(|(at, note)| Candidate {
            uri: Uri::new(note.path.as_str()),
            title: note.title.clone(),
            score: 1.0 - 0.5 * at as f64 / n_notes as f64,
            relation: None,
            via: None,
            state: CandidateState::Found(note),
        });
        ranked.collect()
    };
    let forever = Stop::default();
    let mut group = criterion.benchmark_group("accordion");
    group.throughput(Throughput::Elements(n_notes as u64));
    for (name, meter) in [
        ("chars", Meter::Characters(Characters::default())),
        ("tokenizer", Meter::Estimator(&tokenizer)),
    ] {
        for budget in BUDGETS {
            let context = || {
                pack(PackRequest {
                    focus: None,
                    candidates: candidates(),
                    query: Some(&query),
                    budget: ContextBudget::Tokens(Tokens::new(budget)),
                    meter,
                    limits: &limits,
                    profile: PackingProfile::Classic,
                    evidence: &EvidenceSettings::DEFAULT,
                    explain: false,
                    rendering: Rendering::Markdown,
                    order: Order::BestFirst,
                    stop: &forever,
                })
            };
            let ledger = context().expect("every score is finite");
            assert!(!ledger.items.is_empty() && ledger.summary.used <= budget, "{budget} {name}");
            assert_eq!(ledger.items.len() + ledger.omitted.len(), n_notes);
            let id = BenchmarkId::new(format!("{name}_{budget}_tokens"), n_notes);
            group.bench_function(id, |bencher| bencher.iter(|| black_box(context())));
        }
    }
    group.finish();
}
