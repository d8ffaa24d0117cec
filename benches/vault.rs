//! A vault in memory with words, links and vectors, as the writer publishes it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use weft_index::embedder::{Calibration, EmbedError, Embedder, ModelIdentity, Role};
use weft_index::keyword::{KeywordDocument, KeywordSettings, KeywordWriter};
use weft_index::notes::{Change, FileMetadata, NoteEntry, NoteTable, VaultId, VaultInfo};
use weft_index::vector::{VectorParams, VectorWriter};
use weft_index::{Publisher, Reader, Snapshot, Vectors};
use weft_indexer::chunk::{ChunkLimits, chunks};
use weft_indexer::parse::{ParseOptions, parse};
use weft_model::{NoteId, NotePath};
use weft_testkit::Random;

use crate::{Centers, LINK_FLATNESS, skewed, text, vectors, word};

/// Dimension of the vectors, as in the bundled model.
pub const DIMENSION: usize = 384;

/// Number of links of a note.
const LINKS: usize = 6;

/// Number of words of a note.
const WORDS: usize = 200;

/// The vault of the corpora.
const VAULT: VaultId = VaultId(0);

/// A published vault, and queries on it.
pub struct Vault {
    /// Engine over the vault.
    pub reader: Reader,
    /// Queries of a few words each, and their vectors.
    pub questions: Vec<(String, Vec<f32>)>,
}

/// Returns the file of the note at `at` of `n_notes`: a property, a heading, words, and links that favor early notes.
pub fn file(random: &mut Random, at: usize, n_notes: usize) -> (NotePath, String) {
    let path = NotePath::new(format!("{:02}/note-{at:06}.md", at % 50));
    let links: Vec<String> = (0..LINKS)
        .map(|_| format!("[[note-{:06}]]", skewed(random, n_notes, LINK_FLATNESS)))
        .collect();
    let title = format!("{} {}", word(at % 5_000), word(at / 3));
    let halves = (text(random, WORDS / 2), text(random, WORDS / 2));
    let body = format!(
        "---\ntags: [t{}]\nup: \"[[note-{:06}]]\"\n---\n# {title}\n\n{}\n\n## More\n\n{} {}\n",
        at % 20,
        at / 8,
        halves.0,
        halves.1,
        links.join(" ")
    );
    (path, body)
}

/// Builds a vault of `n_notes` with a vector for each, and `n_questions` queries that match some of its notes.
///
/// # Panics
///
/// Panics if the index in memory fails.
#[must_use]
pub fn vault(n_notes: usize, n_questions: usize) -> Vault {
    let mut random = Random::new(17);
    let notes = notes(&mut random, n_notes);
    let keyword = words(&notes).reader().clone();
    let mut rows = vectors(&mut random, n_notes + n_questions, DIMENSION);
    let asked = rows.split_off(n_notes);
    let questions: Vec<(String, Vec<f32>)> = asked
        .into_iter()
        .map(|vector| {
            let words: Vec<String> =
                [40, 900, 5_000, 20_000].map(|end| word(random.below(end))).to_vec();
            (words.join(" "), vector)
        })
        .collect();
    let vectors = Some(vector_index(&notes, &rows, QueryEmbedder::new(&questions)));
    let snapshot = Snapshot { generation: 1, notes, keyword, vectors };
    Vault { reader: Publisher::new(snapshot).reader(), questions }
}

/// Builds the table of `n_notes`.
pub fn notes(random: &mut Random, n_notes: usize) -> NoteTable {
    let changes: Vec<Change> =
        (0..n_notes).map(|at| Change::Upsert(entry(file(random, at, n_notes), 1))).collect();
    NoteTable::new([VaultInfo::new("corpus", "/corpus")]).edited(&changes).0
}

/// Parses a file as the indexer does.
#[must_use]
pub fn entry((path, text): (NotePath, String), version: u64) -> Arc<NoteEntry> {
    let whitespace = |text: &str| text.split_whitespace().count();
    let (note, _) = parse(&path, text.as_bytes(), &ParseOptions::default());
    let chunks = chunks(&note, &whitespace, &ChunkLimits::default());
    Arc::new(NoteEntry::new(VAULT, note, chunks, FileMetadata::default(), version))
}

/// Builds the keyword index of these notes in memory.
///
/// # Panics
///
/// Panics if the index in memory fails.
#[must_use]
pub fn words(notes: &NoteTable) -> KeywordWriter {
    let (mut writer, _) =
        KeywordWriter::in_memory(KeywordSettings::default()).expect("the settings are sound");
    let mut encoder = writer.encoder();
    for (note, entry) in notes.by_path() {
        writer
            .upsert(note, encoder.encode(&KeywordDocument::of(entry)))
            .expect("memory takes everything");
    }
    writer.commit(1).expect("memory takes everything");
    writer
}

/// Builds the vector index of a row for each note, with the graph that an index of its size has.
fn vector_index(notes: &NoteTable, vectors: &[Vec<f32>], embedder: QueryEmbedder) -> Vectors {
    let mut writer = VectorWriter::in_memory(DIMENSION, VectorParams::default())
        .expect("the dimension is in range");
    let owned: Vec<(NoteId, &[f32])> =
        notes.by_path().map(|(note, _)| note).zip(vectors.iter().map(Vec::as_slice)).collect();
    let ids = writer.append(&owned).expect("rows have length one");
    let rows = owned.iter().zip(ids).map(|((note, _), row)| (*note, vec![Some(row)])).collect();
    let mut index = writer.publish();
    if index.needs_rebuild() {
        let graph = Arc::new(index.build_graph());
        index = index.with_graph(graph).expect("it is its own graph");
    }
    Vectors {
        index,
        rows,
        n_waiting: 0,
        loading: None,
        embedder: Arc::new(embedder),
        calibration: Calibration::REFERENCE,
    }
}

/// Embedder that knows the vectors of a vault's queries, so that no model is part of the measurement.
struct QueryEmbedder {
    identity: ModelIdentity,
    questions: HashMap<String, Vec<f32>>,
}

impl QueryEmbedder {
    fn new(questions: &[(String, Vec<f32>)]) -> Self {
        Self { identity: identity("given"), questions: questions.iter().cloned().collect() }
    }
}

impl Embedder for QueryEmbedder {
    fn calibration(&self) -> Option<Calibration> {
        Some(Calibration::REFERENCE)
    }

    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn window(&self) -> usize {
        256
    }

    fn n_tokens(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn embed(&self, texts: &[&str], _: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        texts
            .iter()
            .map(|text| {
                self.questions.get(*text).cloned().ok_or_else(|| EmbedError::Failed {
                    model: self.identity.model.clone(),
                    reason: format!("`{text}` is not a query of the vault"),
                })
            })
            .collect()
    }
}

/// Embedder that draws a vector from the text: the same for the same text, and near those of many others.
pub struct TextHashEmbedder {
    identity: ModelIdentity,
    centers: Centers,
}

impl Default for TextHashEmbedder {
    fn default() -> Self {
        let centers = Centers::new(&mut Random::new(19), DIMENSION);
        Self { identity: identity("drawn"), centers }
    }
}

impl Embedder for TextHashEmbedder {
    fn calibration(&self) -> Option<Calibration> {
        Some(Calibration::REFERENCE)
    }

    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn window(&self) -> usize {
        512
    }

    fn n_tokens(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn embed(&self, texts: &[&str], _: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        let drawn = texts.iter().map(|text| {
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            self.centers.near(&mut Random::new(hasher.finish()))
        });
        Ok(drawn.collect())
    }
}

fn identity(model: &str) -> ModelIdentity {
    ModelIdentity {
        model: model.into(),
        dimension: DIMENSION,
        runner: "bench".into(),
        pooling: "none".into(),
    }
}
