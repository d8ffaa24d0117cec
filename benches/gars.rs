//! A search's ranking: what connections do around the best hits, and one score for every candidate.
//!
//! Times are those that an explanation tells of the stages `connections` and `ranking`; finding candidates is measured elsewhere.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_benches::vault::{DIMENSION, words};
use weft_benches::{is_measured, note, run, text, vectors, word};
use weft_engine::{Engine, EngineSettings, Profile, SearchRequest};
use weft_index::embedder::{EmbedError, Embedder, ModelIdentity, Role};
use weft_index::notes::{Change, FileFacts, NoteEntry, NoteTable, VaultId, VaultInfo};
use weft_index::vector::{VectorParams, VectorWriter};
use weft_index::{Publisher, Snapshot, Vectors};
use weft_indexer::parse::{ParseOptions, parse};
use weft_model::{Chunk, NotePath, Span, TextHash};
use weft_testkit::Random;

/// Notes of a large vault.
const N_NOTES: usize = 20_000;

/// Links to the hub, of all degrees that are measured.
const HUBS: [usize; 3] = [10, 1_000, 10_000];

const WORDS_PER_NOTE: usize = 120;

fn main() {
    run(|criterion| {
        let (n_notes, hubs) = if is_measured() { (N_NOTES, &HUBS[..]) } else { (300, &HUBS[..1]) };
        for hub in hubs {
            ranking(criterion, n_notes, *hub);
        }
    });
}

/// Ranks the candidates of a query whose best hit is a hub.
fn ranking(criterion: &mut Criterion, n_notes: usize, n_links: usize) {
    let engine = engine(n_notes, n_links);
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
        let explanation = answer.explanation.as_ref().expect("it was asked for");
        let hub = explanation.seeds.first();
        assert_eq!(answer.hits[0].uri.as_str(), "n0");
        let degree = hub.map_or(0, |hub| hub.degree as usize);
        assert!(profile == Profile::Classic || degree >= n_links, "{degree} neighbours");
        assert!(explanation.pool.len() >= n_notes.min(200), "{}", explanation.pool.len());
        let stages = ["connections", "ranking"];
        let id = BenchmarkId::new(format!("{}_{n_notes}_hub", profile.name()), n_links);
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

/// Notes with words, links and vectors; the first `n_links` after note 0 link to it.
fn engine(n_notes: usize, n_links: usize) -> Engine {
    const VAULT: VaultId = VaultId(0);
    let mut random = Random::new(13);
    let bodies: Vec<String> = (0..n_notes)
        .map(|at| {
            let mut body = text(&mut random, WORDS_PER_NOTE);
            for _ in 0..4 {
                body += &format!(" [[n{}]]", random.below(n_notes));
            }
            match at {
                0 => body += " hubmark hubmark",
                _ if at <= n_links => body += " [[n0]]",
                _ => {}
            }
            body + "\n"
        })
        .collect();
    // Nothing reads the chunk but a snippet, and none is asked for.
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
            Change::Upsert(Arc::new(NoteEntry::new(VAULT, note, chunks, FileFacts::default(), 1)))
        })
        .collect();
    let info = VaultInfo::new("vault", "/vault");
    let (notes, _) = NoteTable::new([info]).edited(&changes);

    let keyword = words(&notes);
    let embedder = Arc::new(Fixed::new(&mut random));
    let mut writer = VectorWriter::in_memory(DIMENSION, VectorParams::default())
        .expect("memory takes everything");
    let mut rows = imbl::HashMap::new();
    for (at, vector) in vectors(&mut random, n_notes, DIMENSION).into_iter().enumerate() {
        let path = NotePath::new(format!("n{at}.md"));
        let id = notes.at(VAULT, &path).unwrap_or_else(|| note(at));
        let own = writer.append(&[(id, &vector)]).expect("memory takes everything");
        rows.insert(id, own.into_iter().map(Some).collect());
    }
    let vectors = Some(Vectors { index: writer.publish(), rows, n_waiting: 0, embedder });
    let snapshot = Snapshot { generation: 1, notes, keyword, vectors };
    let settings = EngineSettings { snippets: 0, ..EngineSettings::default() };
    Engine::new(Publisher::new(snapshot).reader(), settings)
}

/// Gives every text the same vector: what a query resembles does not matter here.
struct Fixed(ModelIdentity, Vec<f32>);

impl Fixed {
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

impl Embedder for Fixed {
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
