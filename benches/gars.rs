//! Ranking of a search: connections around the best hits, and one score per candidate.
//!
//! Times are those of the stages `connections` and `ranking` in the explanation; other benches measure the retrieval of candidates.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_benches::vault::{DIMENSION, words};
use weft_benches::{SIZES, is_measured, note, sizes, text, vectors, word};
use weft_engine::{Engine, EngineSettings, Profile, SearchRequest};
use weft_index::embedder::{Calibration, EmbedError, Embedder, ModelIdentity, Role};
use weft_index::notes::{Change, FileMetadata, NoteEntry, NoteTable, VaultId, VaultInfo};
use weft_index::vector::{VectorParams, VectorWriter};
use weft_index::{NoteRows, Publisher, Snapshot, Vectors};
use weft_indexer::parse::{ParseOptions, parse};
use weft_model::{Chunk, NotePath, Span, TextHash};
use weft_testkit::Random;

/// Number of notes of the vault whose hubs or topics are measured.
const N_NOTES: usize = 20_000;

/// Numbers of links to an ordinary best hit, and to hubs.
const PLAIN: usize = 10;
const HUBS: [usize; 2] = [1_000, 10_000];

/// Number of topics, and of links from each note to topics, in the vault of shared topics.
const TOPICS: (usize, usize) = (100, 20);

/// Number of notes with the vector of the query: hits good enough to follow their connections in both profiles.
const N_NEAR: usize = 30;

const WORDS_PER_NOTE: usize = 120;

pub(crate) fn bench(criterion: &mut Criterion) {
    for n_notes in sizes(&SIZES) {
        let engine = engine(n_notes, Shape::Hub { n_links: PLAIN }, false);
        ranking(criterion, &engine, n_notes, "plain", PLAIN);
    }
    let (n_notes, hubs) = if is_measured() { (N_NOTES, &HUBS[..]) } else { (SIZES[0], &HUBS[..0]) };
    for n_links in hubs {
        let engine = engine(n_notes, Shape::Hub { n_links: *n_links }, false);
        ranking(criterion, &engine, n_notes, &format!("hub_of_{n_links}"), *n_links);
    }
    for siblings_activate in [false, true] {
        let engine = engine(n_notes, Shape::Topics, siblings_activate);
        let name = if siblings_activate { "topics_that_activate" } else { "topics" };
        ranking(criterion, &engine, n_notes, name, n_notes / 10);
    }
}

/// Link structure of a vault.
#[derive(Clone, Copy)]
enum Shape {
    /// Few links to others; the first `n_links` notes after note 0 also link to it.
    Hub { n_links: usize },
    /// Links to some of the first notes, which become topics.
    Topics,
}

/// Ranks the candidates of a query whose best hit has at least `degree` neighbors.
fn ranking(criterion: &mut Criterion, engine: &Engine, n_notes: usize, name: &str, degree: usize) {
    let mut group = criterion.benchmark_group("gars");
    group.throughput(Throughput::Elements(1));
    for profile in [Profile::Bridge, Profile::Classic] {
        let request = SearchRequest {
            query: format!("hubmark {} {} {}", word(3), word(700), word(5_000)),
            limit: 10,
            profile: Some(profile),
            explain: true,
            ..SearchRequest::default()
        };
        let answer = engine.search(&request).expect("memory can be read");
        let explanation = answer.explanation.as_ref().expect("the explanation was requested");
        let hub = explanation.seeds.first().expect("the best hit is good enough");
        assert_eq!(hub.uri.as_str(), "n0", "{profile:?}");
        assert!(hub.degree as usize >= degree, "{} neighbours", hub.degree);
        assert!(
            explanation.seeds.iter().all(|seed| seed.n_reached > 0),
            "the connections of every seed are followed"
        );
        assert!(
            explanation.candidates.len() >= n_notes.min(200),
            "{}",
            explanation.candidates.len()
        );
        let stages = ["connections", "ranking"];
        let id = BenchmarkId::new(format!("{}_{name}", profile.name()), n_notes);
        group.bench_function(id, |bencher| {
            bencher.iter_custom(|n| {
                let asked = (0..n).map(|_| {
                    let answer = engine.search(black_box(&request)).expect("memory can be read");
                    let taken = answer.explanation.map(|told| told.stages).unwrap_or_default();
                    let own = taken.into_iter().filter(|(stage, _)| stages.contains(stage));
                    own.map(|(_, taken)| taken).sum::<Duration>()
                });
                asked.sum()
            });
        });
    }
    group.finish();
}

/// Builds an engine of notes with words, links and vectors.
fn engine(n_notes: usize, shape: Shape, siblings_activate: bool) -> Engine {
    const VAULT: VaultId = VaultId(0);
    let mut random = Random::new(13);
    let bodies: Vec<String> = (0..n_notes)
        .map(|at| {
            let mut body = text(&mut random, WORDS_PER_NOTE);
            let (n_targets, n_own) = match shape {
                Shape::Hub { n_links: _ } => (n_notes, 4),
                Shape::Topics => TOPICS,
            };
            for _ in 0..n_own {
                body += &format!(" [[n{}]]", random.below(n_targets));
            }
            match shape {
                _ if at == 0 => body += " hubmark hubmark",
                Shape::Hub { n_links } if at <= n_links => body += " [[n0]]",
                Shape::Hub { n_links: _ } | Shape::Topics => {}
            }
            body + "\n"
        })
        .collect();
    // Only snippets read the chunk, and none is requested.
    let chunk = Chunk {
        span: Span { start: 0, end: 0 },
        heading_path: Vec::new(),
        hash: TextHash::default(),
    };
    let changes: Vec<Change> = bodies
        .iter()
        .enumerate()
        .map(|(at, body)| {
            let path = NotePath::new(format!("n{at}.md"));
            let (note, _) = parse(&path, body.as_bytes(), &ParseOptions::default());
            let chunks = vec![chunk.clone()];
            Change::Upsert(Arc::new(NoteEntry::new(
                VAULT,
                note,
                chunks,
                FileMetadata::default(),
                1,
            )))
        })
        .collect();
    let info = VaultInfo::new("vault", "/vault");
    let (notes, _) = NoteTable::new([info]).edited(&changes);

    let keyword = words(&notes).reader().clone();
    let embedder = Arc::new(ConstantEmbedder::new(&mut random));
    let nearest = embedder.1.clone();
    let mut writer = VectorWriter::in_memory(DIMENSION, VectorParams::default())
        .expect("memory takes everything");
    let mut rows = NoteRows::default();
    for (at, vector) in vectors(&mut random, n_notes, DIMENSION).into_iter().enumerate() {
        let path = NotePath::new(format!("n{at}.md"));
        let id = notes.at(VAULT, &path).unwrap_or_else(|| note(at));
        let vector = if at < N_NEAR { &nearest } else { &vector };
        let own = writer.append(&[(id, vector)]).expect("memory takes everything");
        rows.set(id, &[Some(own[0])]);
    }
    let vectors = Some(Vectors {
        index: writer.publish(),
        rows,
        n_waiting: 0,
        loading: None,
        embedder,
        calibration: Calibration::REFERENCE,
    });
    let snapshot = Snapshot { generation: 1, notes, keyword, vectors };
    let mut settings = EngineSettings { snippets: 0, ..EngineSettings::default() };
    settings.topics.siblings_activate = siblings_activate;
    Engine::new(Publisher::new(snapshot).reader(), settings)
}

/// Embedder that returns the same vector for every text.
struct ConstantEmbedder(ModelIdentity, Vec<f32>);

impl ConstantEmbedder {
    fn new(random: &mut Random) -> Self {
        let identity = ModelIdentity {
            model: "fixed".into(),
            dimension: DIMENSION,
            runner: "bench".into(),
            pooling: "none".into(),
        };
        Self(identity, vectors(random, 1, DIMENSION).swap_remove(0))
    }
}

impl Embedder for ConstantEmbedder {
    fn calibration(&self) -> Option<Calibration> {
        Some(Calibration::REFERENCE)
    }

    fn identity(&self) -> &ModelIdentity {
        &self.0
    }

    fn window(&self) -> usize {
        256
    }

    fn n_tokens(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn embed(&self, texts: &[&str], _: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(vec![self.1.clone(); texts.len()])
    }
}
