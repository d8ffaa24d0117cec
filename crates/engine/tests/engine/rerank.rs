//! Reranking with a fake model.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use weft_engine::{
    Engine, RerankSettings, SearchAnswer, SearchRequest, WarningCode, WhyNotRequest,
};
use weft_index::reranker::{RerankError, Reranker, RerankerIdentity};
use weft_model::Stop;

use crate::vault::{Vault, hit, messages, request, uris, vault, vault_of_words};

type Judge = dyn Fn(&[&str]) -> Result<Vec<f64>, RerankError> + Send + Sync;

/// Judges texts by a function, and records them.
struct FakeReranker {
    identity: RerankerIdentity,
    judge: Box<Judge>,
    asked: Mutex<Vec<Asked>>,
}

#[derive(Clone)]
struct Asked {
    query: String,
    texts: Vec<String>,
    until: Option<Instant>,
}

impl FakeReranker {
    fn new(
        judge: impl Fn(&[&str]) -> Result<Vec<f64>, RerankError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let identity = RerankerIdentity { model: "fake".into(), runner: "test".into() };
        Arc::new(Self { identity, judge: Box::new(judge), asked: Mutex::default() })
    }

    /// Judges a text that contains `word` as relevant.
    fn of_word(word: &'static str) -> Arc<Self> {
        let relevance = move |text: &&str| if text.contains(word) { 0.9 } else { 0.2 };
        Self::new(move |texts| Ok(texts.iter().map(relevance).collect()))
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no thread panicked").clone()
    }

    fn texts(&self) -> Vec<String> {
        self.asked().into_iter().flat_map(|asked| asked.texts).collect()
    }
}

impl Reranker for FakeReranker {
    fn identity(&self) -> &RerankerIdentity {
        &self.identity
    }

    fn relevances(
        &self,
        query: &str,
        texts: &[&str],
        until: Option<Instant>,
    ) -> Result<Vec<f64>, RerankError> {
        let owned = texts.iter().map(|text| (*text).to_owned()).collect();
        let asked = Asked { query: query.to_owned(), texts: owned, until };
        self.asked.lock().expect("no thread panicked").push(asked);
        (self.judge)(texts)
    }
}

/// Notes about ferns, of which the last is the least similar to the query `fern`.
fn ferns() -> Vault {
    vault(&[
        ("fern.md", "# Fern\nfern frond"),
        ("ferns.md", "# Ferns\nfern frond soil"),
        ("garden.md", "# Garden\nfern soil, moss and water in the long shade of old walls"),
        ("stone.md", "# Stone\ngranite"),
    ])
}

fn reranked(vault: &Vault, reranker: &Arc<FakeReranker>, settings: RerankSettings) -> Engine {
    vault.engine().with_reranker(Ok(Arc::clone(reranker) as Arc<dyn Reranker>), settings)
}

fn ask(engine: &Engine, request: &SearchRequest) -> SearchAnswer {
    engine.search(request).expect("memory takes everything")
}

fn codes(answer: &SearchAnswer) -> Vec<WarningCode> {
    answer.warnings.iter().map(|warning| warning.code).collect()
}

#[test]
fn relevant_hit_rises_and_its_score_adds_up() {
    let vault = ferns();
    let before = vault.search("fern");
    assert_ne!(uris(&before)[0], "garden");
    let reranker = FakeReranker::of_word("moss");
    let settings = RerankSettings { weight: 0.8, ..RerankSettings::default() };
    let after = ask(&reranked(&vault, &reranker, settings), &request("fern"));
    assert_eq!(uris(&after)[0], "garden");
    assert_eq!(uris(&after).len(), uris(&before).len());
    let explanation = after.explanation.as_ref().unwrap();
    let weights = explanation.weights;
    let sum = weights.gars.similarity + weights.gars.centrality + weights.gars.activation;
    assert!((sum + weights.relevance - 1.0).abs() < 1e-12 && (sum - 0.2).abs() < 1e-12);
    let reranking = explanation.reranking.as_ref().unwrap();
    assert_eq!((reranking.model.as_str(), reranking.n_notes), ("fake", after.hits.len()));
    assert!(explanation.stages.iter().any(|(stage, _)| *stage == "reranking"));
    for found in &after.hits {
        let (signals, parts) = (found.signals, found.contributions);
        let sum = parts.similarity + parts.centrality + parts.activation + parts.relevance;
        assert_eq!(sum.to_bits(), found.score.to_bits(), "{found:?}");
        let relevance = if found.uri.as_str() == "garden" { 0.9 } else { 0.2 };
        assert_eq!(signals.relevance.to_bits(), f64::to_bits(relevance), "{found:?}");
        let unranked = hit(&before, found.uri.as_str());
        let mixed = 0.2 * unranked.score + 0.8 * relevance;
        assert!((found.score - mixed).abs() < 1e-12, "{found:?}");
    }
}

#[test]
fn only_the_best_are_judged_and_the_others_stay_behind() {
    let vault = ferns();
    let before = vault.search("fern");
    let reranker = FakeReranker::new(|texts| Ok(vec![0.0; texts.len()]));
    let settings = RerankSettings { top_n: 2, ..RerankSettings::default() };
    let engine = reranked(&vault, &reranker, settings.clone());
    assert_eq!(uris(&ask(&engine, &request("fern"))), uris(&before));
    assert_eq!(reranker.texts().len(), 2);
    // A hit beyond the limit of the request can rise to it.
    let reranker = FakeReranker::of_word("soil");
    let engine = reranked(&vault, &reranker, RerankSettings { weight: 0.9, ..settings });
    let one = SearchRequest { limit: 1, ..request("fern") };
    let answer = ask(&engine, &one);
    assert_eq!(
        (uris(&before)[..2].to_vec(), uris(&answer)),
        (vec!["fern", "ferns"], vec!["ferns"])
    );
    assert!(answer.truncated);
}

#[test]
fn reranker_reads_title_headings_and_best_passages() {
    let filler = "Walls are old and built of large grey stones that nobody moved. ".repeat(12);
    let long = format!(
        "# Garden\n{filler}\n\n## Plants\n{filler}\n\n### In the shade\n\nA *fern* likes the [[moss|wet moss]] there.\n\n## Tools\n{filler}\n"
    );
    let vault = vault_of_words(&[("garden.md", long.as_str()), ("moss.md", "# Moss\n")]);
    let reranker = FakeReranker::new(|texts| Ok(vec![0.5; texts.len()]));
    let settings = RerankSettings { passages: 1, ..RerankSettings::default() };
    ask(&reranked(&vault, &reranker, settings.clone()), &request("fern -granite"));
    let asked = reranker.asked();
    let Asked { query, texts, until } = &asked[0];
    assert_eq!((query.as_str(), until.is_some()), ("fern", true), "excluded words are not sent");
    assert_eq!(texts[0], "Garden\nPlants > In the shade\nA fern likes the wet moss there.");
    // A limit of characters cuts the passage.
    let settings = RerankSettings { text_chars: 10, ..settings };
    ask(&reranked(&vault, &reranker, settings), &request("fern"));
    let texts = reranker.texts();
    let cut = texts.iter().rev().find(|text| text.starts_with("Garden")).unwrap();
    assert!(cut.ends_with("\nA fern lik"), "{cut}");
    assert!(texts.iter().all(|text| text.chars().count() < 200), "{texts:?}");
}

#[test]
fn request_switches_reranking() {
    let vault = ferns();
    let reranker = FakeReranker::of_word("moss");
    let engine = reranked(&vault, &reranker, RerankSettings::default());
    for (name, rerank, prefix_last_word, expected) in [
        ("by default", None, false, true),
        ("not wanted", Some(false), false, false),
        ("still being typed", None, true, false),
        ("typed but wanted", Some(true), true, true),
    ] {
        let n = reranker.asked().len();
        let answer = ask(&engine, &SearchRequest { rerank, prefix_last_word, ..request("fern") });
        assert_eq!(reranker.asked().len() > n, expected, "{name}");
        assert_eq!(answer.explanation.unwrap().reranking.is_some(), expected, "{name}");
        assert!(answer.warnings.is_empty(), "{name}");
    }
    let n = reranker.asked().len();
    ask(&engine, &request("quartz"));
    ask(&engine, &request("-fern"));
    let asked = &reranker.asked()[n..];
    assert!(asked.iter().all(|asked| !asked.query.is_empty() && !asked.texts.is_empty()));
    let without = vault.engine();
    let wanted = SearchRequest { rerank: Some(true), ..request("fern") };
    let answer = ask(&without, &wanted);
    assert_eq!(codes(&answer), [WarningCode::RerankSkipped]);
    assert!(messages(&answer.warnings)[0].contains("rerank.model"), "{:?}", answer.warnings);
    assert!(ask(&without, &request("fern")).warnings.is_empty(), "off by default");
}

#[test]
fn failed_reranking_keeps_the_order_and_warns() {
    let vault = ferns();
    let before = vault.search("fern");
    let late = |_: &[&str]| Err(RerankError::Late { model: "fake".into(), n_done: 1, n_texts: 3 });
    let unreachable = |_: &[&str]| {
        Err(RerankError::Unavailable { model: "fake".into(), reason: "no route".into() })
    };
    let judges: [(&str, Arc<FakeReranker>, &str); 5] = [
        ("late", FakeReranker::new(late), "1 of 3 texts"),
        ("unreachable", FakeReranker::new(unreachable), "no route"),
        ("too few", FakeReranker::new(|_| Ok(vec![0.5])), "one number"),
        ("above 1", FakeReranker::new(|texts| Ok(vec![1.5; texts.len()])), "from 0 to 1"),
        ("no number", FakeReranker::new(|texts| Ok(vec![f64::NAN; texts.len()])), "from 0 to 1"),
    ];
    for (name, reranker, part) in judges {
        let engine = reranked(&vault, &reranker, RerankSettings::default());
        let answer = ask(&engine, &request("fern"));
        assert_eq!(answer.hits, before.hits, "{name}");
        assert_eq!(codes(&answer), [WarningCode::RerankSkipped], "{name}");
        assert!(answer.warnings[0].message.contains(part), "{name}: {:?}", answer.warnings);
        let explanation = answer.explanation.unwrap();
        assert_eq!(explanation.reranking, None, "{name}");
        assert_eq!(explanation.weights, before.explanation.as_ref().unwrap().weights, "{name}");
    }
    let why = Err("the folder is missing".to_owned());
    let engine = vault.engine().with_reranker(why, RerankSettings::default());
    let answer = ask(&engine, &request("fern"));
    assert_eq!((&answer.hits, codes(&answer)), (&before.hits, vec![WarningCode::RerankSkipped]));
    assert!(answer.warnings[0].message.contains("the folder is missing"));
    let one = SearchRequest { limit: 1, ..request("fern") };
    assert_eq!(ask(&engine, &one).hits, before.hits[..1]);
}

#[test]
fn deadline_of_the_request_bounds_the_reranker() {
    let vault = ferns();
    let reranker = FakeReranker::of_word("moss");
    let settings = RerankSettings { timeout_ms: 60_000, ..RerankSettings::default() };
    let engine = reranked(&vault, &reranker, settings);
    let deadline = Instant::now() + Duration::from_secs(30);
    ask(&engine.until(Stop::at(deadline)), &request("fern"));
    let asked = reranker.asked().remove(0);
    assert!(asked.until.unwrap() < deadline, "time is left for the answer");
    let cancelled = Stop::cancellable();
    let cancels = {
        let stop = cancelled.clone();
        FakeReranker::new(move |texts| {
            stop.cancel();
            Ok(vec![0.5; texts.len()])
        })
    };
    let engine = reranked(&vault, &cancels, RerankSettings::default());
    assert!(engine.until(cancelled).search(&request("fern")).is_err());
}

#[test]
fn why_not_ranks_as_the_search_does() {
    let vault = ferns();
    let reranker = FakeReranker::of_word("moss");
    let settings = RerankSettings { weight: 0.9, ..RerankSettings::default() };
    let engine = reranked(&vault, &reranker, settings);
    let search = SearchRequest { limit: 1, ..request("fern") };
    let best = ask(&engine, &search).hits.remove(0);
    assert_eq!(best.uri.as_str(), "garden");
    let asks = |note: &str| WhyNotRequest { note: note.into(), search: search.clone() };
    let found = engine.why_not(&asks("garden")).unwrap();
    assert_eq!((found.rank, found.hit.unwrap().score.to_bits()), (Some(1), best.score.to_bits()));
    let lost = engine.why_not(&asks("fern")).unwrap();
    assert_eq!(lost.rank, Some(2));
    assert!((lost.weights.relevance - 0.9).abs() < 1e-12);
}
