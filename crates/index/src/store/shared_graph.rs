//! Shared graphs: a graph over texts instead of rows, so that indexes with other rows use the same one.

use std::path::{Path, PathBuf};

use weft_model::{NoteId, TextHash};

use super::StoreError;
use super::embedding_files::checksum;
use crate::disk::Disk;
use crate::vector::{FrozenGraph, RowId, VectorIndex, VectorWriter};

/// Name in errors.
const NAME: &str = "shared vector graph";

/// A graph whose row `n` is the vector of its text `n`; texts are distinct and ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedGraph {
    pub(super) texts: Vec<TextHash>,
    pub(super) graph: FrozenGraph,
}

impl SharedGraph {
    /// Version of the bytes, and of the codes and walks that the links were chosen for; codes are the same on all processors. A graph of another version is not used.
    pub const FORMAT: i32 = 1;

    /// Texts in order of their rows.
    #[must_use]
    pub fn texts(&self) -> &[TextHash] {
        &self.texts
    }

    /// Returns the number of texts, the texts, and the graph as in its file. Integers are little-endian.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = (self.texts.len() as u64).to_le_bytes().to_vec();
        bytes.extend(self.texts.iter().flat_map(|text| text.0.to_le_bytes()));
        bytes.extend(self.graph.to_bytes());
        bytes
    }

    /// Parses [`to_bytes`](Self::to_bytes); `None` if they are damaged.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (texts, bytes) = split_texts(bytes)?;
        let graph = FrozenGraph::from_bytes(bytes, Path::new(NAME)).ok()?;
        (graph.n_rows() == texts.len()).then_some(Self { texts, graph })
    }

    /// Returns the number of the first bytes of a graph of `n_texts` texts that contain these.
    #[must_use]
    pub const fn n_bytes_of_texts(n_texts: u64) -> u64 {
        n_texts.saturating_mul(16).saturating_add(8)
    }

    /// Parses the texts from the [first bytes](Self::n_bytes_of_texts) of a graph, or more; `None` if they are damaged.
    #[must_use]
    pub fn texts_of_bytes(bytes: &[u8]) -> Option<Vec<TextHash>> {
        split_texts(bytes).map(|(texts, _)| texts)
    }
}

/// Parses the texts of a graph, and returns the bytes behind them; `None` if they are damaged.
fn split_texts(bytes: &[u8]) -> Option<(Vec<TextHash>, &[u8])> {
    let (n_texts, bytes) = bytes.split_first_chunk()?;
    let n_bytes = usize::try_from(u64::from_le_bytes(*n_texts)).ok()?.checked_mul(16)?;
    let (texts, bytes) = bytes.split_at_checked(n_bytes)?;
    let texts = texts.as_chunks().0.iter().map(|text| TextHash(u128::from_le_bytes(*text)));
    let texts: Vec<TextHash> = texts.collect();
    texts.is_sorted_by(|a, b| a < b).then_some((texts, bytes))
}

/// Source of a shared graph: the vectors of the texts that chunks have in one state of an index.
#[derive(Debug)]
pub struct SharedGraphSource {
    pub(super) index: VectorIndex,
    /// Text, row and checksum of each chunk's vector.
    pub(super) rows: Vec<(TextHash, RowId, u32)>,
    /// File for the vectors in order of their texts; `None` to keep them in memory.
    pub(super) file: Option<(Disk, PathBuf)>,
}

impl SharedGraphSource {
    /// Builds the graph; takes as long as [`VectorIndex::build_graph`] and some disk space for a second copy of the vectors.
    ///
    /// Two indexes of one state build equal graphs, unless the build is parallel. Fails if a vector was damaged on disk.
    pub fn build(self) -> Result<SharedGraph, StoreError> {
        let Self { index, mut rows, file } = self;
        rows.sort_unstable();
        rows.dedup_by_key(|(text, ..)| *text);
        let file = file.as_ref().map(|(disk, path)| (disk, path.as_path()));
        if let Some((disk, path)) = file.filter(|(_, path)| path.exists()) {
            disk.remove_file(path).map_err(StoreError::io("remove", path))?;
        }
        let built = Self::build_ordered(&index, &rows, file);
        if let Some((disk, path)) = file.filter(|(_, path)| path.exists()) {
            disk.remove_file(path).map_err(StoreError::io("remove", path))?;
        }
        built
    }

    fn build_ordered(
        index: &VectorIndex,
        rows: &[(TextHash, RowId, u32)],
        file: Option<(&Disk, &Path)>,
    ) -> Result<SharedGraph, StoreError> {
        let (dimension, params) = (index.dimension(), *index.params());
        let mut ordered = match file {
            Some((disk, path)) => VectorWriter::create(disk, path, dimension, params)?,
            None => VectorWriter::in_memory(dimension, params)?,
        };
        for rows in rows.chunks(ROWS_AT_ONCE) {
            let mut copied = Vec::with_capacity(rows.len());
            for &(text, row, sum) in rows {
                let vector = index.vector(row).filter(|vector| checksum(text, vector) == sum);
                let vector = vector.ok_or_else(|| {
                    let (path, reason) = (PathBuf::from(NAME), "a vector is damaged".to_owned());
                    StoreError::Damaged { path, reason }
                })?;
                copied.push((NoteId::new(0), vector));
            }
            ordered.append(&copied)?;
        }
        let texts = rows.iter().map(|(text, ..)| *text).collect();
        Ok(SharedGraph { texts, graph: ordered.publish().build_graph() })
    }
}

/// Number of rows appended at a time.
const ROWS_AT_ONCE: usize = 256;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use weft_model::{NoteBits, NoteSet};

    use super::*;
    use crate::embedder::{EmbedError, Embedder, ModelIdentity, Role};
    use crate::store::EmbeddingStore;
    use crate::vector::{GraphParams, VectorParams, VectorSearch as _};

    const DIMENSION: usize = 8;

    /// A model whose vectors the tests choose.
    struct NoModel(ModelIdentity);

    impl Embedder for NoModel {
        fn identity(&self) -> &ModelIdentity {
            &self.0
        }

        fn window(&self) -> usize {
            100
        }

        fn n_tokens(&self, text: &str) -> usize {
            text.len()
        }

        fn embed(&self, _texts: &[&str], _role: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
            Ok(Vec::new())
        }
    }

    fn store() -> EmbeddingStore {
        let identity = ModelIdentity {
            model: "none".into(),
            dimension: DIMENSION,
            runner: "test".into(),
            pooling: "mean".into(),
        };
        let graph = GraphParams { m: 4, ef_construction: 8, degree: 8, parallel: false };
        // Few links and short walks, so that searches miss rows.
        let params = VectorParams { exact_below: 8, exact_filter: 2, ef: 1, graph };
        EmbeddingStore::in_memory(Arc::new(NoModel(identity)), params).unwrap()
    }

    /// Returns the vector of a text; each has a twin with the same one.
    fn vector_of(text: TextHash) -> Vec<f32> {
        let mut state = (text.0 / 2) as f32 + 1.0;
        let mut next = || {
            state = (state * 12.9898).sin() * 43_758.547;
            state.fract()
        };
        let vector: Vec<f32> = (0..DIMENSION).map(|_| next()).collect();
        let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-3);
        vector.iter().map(|value| value / norm).collect()
    }

    fn assign(store: &mut EmbeddingStore, note: u32, texts: &[TextHash]) {
        let (waiting, outcome) = store.assign_rows(NoteId::new(note), texts);
        outcome.unwrap();
        for at in waiting {
            let chunk = (NoteId::new(note), at);
            store.insert_vector(texts[at], &vector_of(texts[at]), &[chunk]).unwrap();
        }
    }

    fn adopt(store: &mut EmbeddingStore, graph: &SharedGraph) {
        let missing = store.without_vector(graph.texts()).into_iter();
        let vectors: Vec<_> = missing.map(|text| (text, vector_of(text))).collect();
        store.adopt(graph.clone(), 9, &vectors).unwrap();
        assert_eq!(store.shared_graph(), Some(9));
    }

    /// Returns the notes and scores that some queries find.
    fn answers(store: &EmbeddingStore) -> Vec<Vec<(NoteId, u32)>> {
        let index = store.publish().index;
        let half = NoteSet::Only((0..25).step_by(2).map(NoteId::new).collect::<NoteBits>());
        let mut answers = Vec::new();
        for query in 0..12 {
            let query = vector_of(TextHash(query * 10));
            for (k, filter) in [(1, &NoteSet::All), (4, &NoteSet::All), (9, &half), (2, &half)] {
                let hits = index.nearest_by(&query, k, filter, &|a, b| a.cmp(&b)).unwrap();
                answers.push(hits.iter().map(|hit| (hit.note, hit.score.to_bits())).collect());
            }
        }
        answers
    }

    /// A change of an index.
    #[derive(Clone, Debug)]
    enum Edit {
        Assign(u32, Vec<TextHash>),
        Compact,
    }

    fn edit() -> impl Strategy<Value = Edit> {
        let texts = prop::collection::vec((0_u128..60).prop_map(TextHash), 0..4);
        prop_oneof![
            20 => (0_u32..25, texts).prop_map(|(note, texts)| Edit::Assign(note, texts)),
            1 => Just(Edit::Compact),
        ]
    }

    fn apply(store: &mut EmbeddingStore, edits: &[Edit]) {
        for edit in edits {
            match edit {
                Edit::Assign(note, texts) => assign(store, *note, texts),
                Edit::Compact => store.compact().unwrap(),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn answers_depend_on_graph_and_texts_alone(
            edits in prop::collection::vec(edit(), 30..90),
            built_at in 10_usize..30,
            adopted_after in 0_usize..20,
        ) {
            // One index builds and adopts; it lived through every edit.
            let mut first = store();
            let adopted_at = (built_at + adopted_after).min(edits.len());
            apply(&mut first, &edits[..built_at]);
            let graph = first.shared_graph_source().build().unwrap();
            apply(&mut first, &edits[built_at..adopted_at]);
            adopt(&mut first, &graph);
            apply(&mut first, &edits[adopted_at..]);
            let found = answers(&first);

            // Another adopts at the end.
            let mut last = store();
            apply(&mut last, &edits);
            adopt(&mut last, &graph);
            prop_assert_eq!(&answers(&last), &found);
            last.compact().unwrap();
            prop_assert_eq!(last.shared_graph(), Some(9), "kept by compaction");
            prop_assert_eq!(&answers(&last), &found);

            // A third knows only the final notes, in another order.
            let mut fresh = store();
            for note in (0..25).rev() {
                let last = edits.iter().rev().find_map(|edit| match edit {
                    Edit::Assign(of, texts) if *of == note => Some(texts.as_slice()),
                    Edit::Assign(..) | Edit::Compact => None,
                });
                assign(&mut fresh, note, last.unwrap_or_default());
            }
            adopt(&mut fresh, &graph);
            prop_assert_eq!(&answers(&fresh), &found);

            // Without the graph, all compare exactly.
            first.drop_shared_graph();
            fresh.drop_shared_graph();
            prop_assert!(first.publish().index.is_exact());
            prop_assert_eq!(answers(&first), answers(&fresh));
        }
    }

    #[test]
    fn graph_depends_on_texts_only_and_damage_is_detected() {
        let vectors: Vec<Vec<f32>> = (0_u8..40)
            .map(|at| {
                let angle = f32::from(at) / 9.0;
                vec![angle.cos(), angle.sin()]
            })
            .collect();
        let source = |order: &[usize], file: Option<PathBuf>| {
            let mut writer = VectorWriter::in_memory(2, VectorParams::default()).unwrap();
            let rows = order.iter().map(|at| {
                let text = TextHash(*at as u128 * 7);
                let row = writer.append(&[(NoteId::new(0), vectors[*at].as_slice())]).unwrap()[0];
                (text, row, checksum(text, &vectors[*at]))
            });
            let rows = rows.collect();
            let file = file.map(|path| (Disk::default(), path));
            SharedGraphSource { index: writer.publish(), rows, file }
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("build");
        let forward: Vec<usize> = (0..40).collect();
        let backward: Vec<usize> = (0..40).rev().chain(5..20).collect();
        let graph = source(&forward, None).build().unwrap();
        assert_eq!(source(&backward, Some(path.clone())).build().unwrap(), graph);
        assert!(!path.exists());
        let mut damaged = source(&forward, None);
        damaged.rows[3].2 ^= 1;
        assert!(matches!(damaged.build(), Err(StoreError::Damaged { .. })));

        let bytes = graph.to_bytes();
        let texts = graph.texts().to_vec();
        let n_bytes = usize::try_from(SharedGraph::n_bytes_of_texts(texts.len() as u64)).unwrap();
        assert_eq!(SharedGraph::texts_of_bytes(&bytes[..n_bytes - 1]), None, "cut");
        assert_eq!(SharedGraph::texts_of_bytes(&bytes[..n_bytes]), Some(texts));
        assert_eq!(SharedGraph::from_bytes(&bytes), Some(graph));
        let mut swapped = bytes.clone();
        swapped.copy_within(24..40, 8);
        let cut = bytes[..bytes.len() - 1].to_vec();
        let mut flipped = bytes;
        *flipped.last_mut().unwrap() ^= 1;
        for (name, bytes) in
            [("empty", Vec::new()), ("swapped", swapped), ("cut", cut), ("flipped", flipped)]
        {
            assert_eq!(SharedGraph::from_bytes(&bytes), None, "{name}");
        }
    }
}
