//! A vault built from texts in memory, with a fake embedder.

use std::sync::Arc;

use weft_engine::{Engine, EngineSettings, Filter, Hit, SearchAnswer, SearchRequest, Warning};
use weft_index::embedder::{Calibration, EmbedError, Embedder, ModelIdentity, Role};
use weft_index::keyword::{
    KeywordDocument, KeywordSettings, KeywordWriter, Language, LanguageChoice,
};
use weft_index::notes::{Change, FileMetadata, NoteEntry, NoteTable, VaultId, VaultInfo};
use weft_index::vector::{VectorParams, VectorWriter};
use weft_index::{NoteRows, Publisher, Snapshot, Vectors};
use weft_indexer::chunk::{ChunkLimits, chunks, embedded_texts};
use weft_indexer::parse::{ParseOptions, parse};
use weft_model::NotePath;

/// Floats per vector.
const DIMENSION: usize = 16;

/// Maps each word to a direction, so texts that share words are similar.
pub(crate) struct Directions(ModelIdentity);

impl Directions {
    pub(crate) fn new() -> Self {
        Self(ModelIdentity {
            model: "directions".into(),
            dimension: DIMENSION,
            runner: "test".into(),
            pooling: "sum".into(),
        })
    }
}

impl Embedder for Directions {
    fn calibration(&self) -> Option<Calibration> {
        Some(Calibration::REFERENCE)
    }

    fn identity(&self) -> &ModelIdentity {
        &self.0
    }

    fn window(&self) -> usize {
        64
    }

    fn n_tokens(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn embed(&self, texts: &[&str], _: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| vector(text)).collect())
    }
}

fn vector(text: &str) -> Vec<f32> {
    let mut sum = [1e-2_f32; DIMENSION];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let hash = word
            .to_lowercase()
            .bytes()
            .fold(7_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
        // Some words point in the opposite direction, so that not all texts are similar.
        sum[hash % DIMENSION] += if (hash / DIMENSION).is_multiple_of(3) { -1.0 } else { 1.0 };
    }
    let norm = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
    sum.iter().map(|value| value / norm).collect()
}

/// A vault in memory.
pub(crate) struct Vault {
    pub(crate) snapshot: Snapshot,
    pub(crate) settings: EngineSettings,
}

/// Builds a vault of these files in English, with a keyword and a vector index.
pub(crate) fn vault<P: AsRef<str>, T: AsRef<str>>(files: &[(P, T)]) -> Vault {
    built(files, KeywordSettings::default(), true)
}

/// Builds a vault without vectors.
pub(crate) fn vault_of_words<P: AsRef<str>, T: AsRef<str>>(files: &[(P, T)]) -> Vault {
    built(files, KeywordSettings::default(), false)
}

pub(crate) fn built<P: AsRef<str>, T: AsRef<str>>(
    files: &[(P, T)],
    keyword: KeywordSettings,
    with_model: bool,
) -> Vault {
    const VAULT: VaultId = VaultId(0);
    let embedder: Option<Arc<dyn Embedder>> =
        with_model.then(|| Arc::new(Directions::new()) as Arc<dyn Embedder>);
    let mut texts = Vec::new();
    let changes: Vec<Change> = files
        .iter()
        .map(|(path, text)| {
            let path = NotePath::new(path.as_ref());
            let (note, _) = parse(&path, text.as_ref().as_bytes(), &ParseOptions::default());
            let count = |text: &str| text.split_whitespace().count();
            let chunks = chunks(&note, &count, &ChunkLimits::default());
            texts.push((path, embedded_texts(&note, &chunks).collect::<Vec<_>>()));
            let facts =
                FileMetadata { size: text.as_ref().len() as u64, ..FileMetadata::default() };
            Change::Upsert(Arc::new(NoteEntry::new(VAULT, note, chunks, facts, 1)))
        })
        .collect();
    let info = VaultInfo::new("vault", "/vault");
    let (notes, _) = NoteTable::new([info]).edited(&changes);

    let language = LanguageChoice::Fixed(Language::English);
    let (mut words, _) = KeywordWriter::in_memory(KeywordSettings { language, ..keyword })
        .expect("memory takes everything");
    for (note, entry) in notes.by_path() {
        let document = KeywordDocument::of(entry);
        words.upsert(note, words.encoder().encode(&document)).expect("memory takes everything");
    }
    let keyword = words.commit(1).expect("memory takes everything");

    let vectors = embedder.as_ref().map(|embedder| {
        let mut writer = VectorWriter::in_memory(DIMENSION, VectorParams::default())
            .expect("memory takes everything");
        let mut rows = NoteRows::default();
        for (path, texts) in &texts {
            let Some(note) = notes.at(VAULT, path) else { continue };
            let own = texts.iter().map(|text| {
                let vector = vector(text);
                Some(writer.append(&[(note, &vector)]).expect("memory takes everything")[0])
            });
            rows.set(note, &own.collect::<Vec<_>>());
        }
        let embedder = Arc::clone(embedder);
        Vectors {
            index: writer.publish(),
            rows,
            n_waiting: 0,
            loading: None,
            embedder,
            calibration: Calibration::default(),
        }
    });
    let snapshot = Snapshot { generation: 1, notes, keyword, vectors };
    Vault { snapshot, settings: EngineSettings::default() }
}

/// Returns the messages of `warnings`.
pub(crate) fn messages(warnings: &[Warning]) -> Vec<&str> {
    warnings.iter().map(|warning| &*warning.message).collect()
}

impl Vault {
    pub(crate) fn engine(&self) -> Engine {
        let reader = Publisher::new(self.snapshot.clone()).reader();
        Engine::new(reader, self.settings.clone())
    }

    pub(crate) fn ask(&self, request: &SearchRequest) -> SearchAnswer {
        self.engine().search(request).expect("memory takes everything")
    }

    pub(crate) fn search(&self, query: &str) -> SearchAnswer {
        self.ask(&request(query))
    }
}

/// Returns a request for all hits with an explanation.
pub(crate) fn request(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.into(),
        limit: 1000,
        filter: Filter::default(),
        explain: true,
        ..SearchRequest::default()
    }
}

pub(crate) fn uris(answer: &SearchAnswer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.uri.as_str()).collect()
}

pub(crate) fn hit<'a>(answer: &'a SearchAnswer, uri: &str) -> &'a Hit {
    let found = answer.hits.iter().find(|hit| hit.uri.as_str() == uri);
    found.unwrap_or_else(|| panic!("no hit {uri} among {:?}", uris(answer)))
}
