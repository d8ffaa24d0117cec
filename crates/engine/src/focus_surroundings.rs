//! Surroundings of a focus note in a snapshot: its links, folder, topics, and similar notes.

use std::cell::{Cell, OnceCell};
use std::collections::HashSet;

use weft_graph::doughnut::{FolderSiblings, Surroundings};
use weft_graph::topics::{SiblingRequest, TopicNote, topic_notes};
use weft_graph::walk::Direction;
use weft_index::notes::{FolderPlace, NoteEntry};
use weft_index::vector::{ChunkHit, RowId, VectorSearch as _};
use weft_index::{Snapshot, Vectors};
use weft_model::id::is_folder_note;
use weft_model::{LinkSource, NoteId, NoteMap, NoteSet, Span, Stop};

use crate::EngineError;
use crate::analyzer_pool::AnalyzerPool;
use crate::best_first::best_first;
use crate::nearest_by_words::nearest_by_words;
use crate::search::topics::ontology_around;
use crate::settings::TopicSettings;

/// Number of other notes and folders up to which a folder is read as a parent. A larger folder is a place of storage: the next note by name is seldom about the same thing.
const MAX_FOLDER_SIBLINGS: usize = 40;

/// Maximum number of notes taken from a larger folder.
const MAX_FROM_CROWDED_FOLDER: usize = 10;

/// Maximum number of similar notes: the list ends before it becomes a list of everything.
const MAX_SIMILAR: usize = 20;

/// Similarity of words below which two texts share little more than chance.
const MIN_WORD_SIMILARITY: f64 = 0.1;

/// Number of notes that are similar by their words however little they share, so that the list is not empty.
const MIN_SIMILAR: usize = 3;

/// Number of notes with the most similar words, and of those with the most similar vectors, that are near the focus note by their text.
const N_CLOSE: usize = 15;

/// Number of nearest chunks whose notes are compared with the focus note.
const N_NEAREST_CHUNKS: usize = 100;

/// Maximum number of chunks of one note that represent its text.
const MAX_OWN_CHUNKS: usize = 256;

/// Share of all notes beyond which a linked note or topic says little about the notes that link to it.
const HUB_SHARE: f64 = 0.1;

/// Number of linking notes up to which a note is not a hub, however small the vault.
const MIN_HUB_LINKS: f64 = 20.0;

/// Number of characters besides links, addresses and white space below which a note is a stub, such as a notice that it was moved.
const MIN_TEXT: usize = 80;

/// Number of bytes above which a note is not a stub: a long list of links is worth reading.
const MAX_STUB_BYTES: usize = 1000;

/// Maximum number of topics, and of notes per topic.
const MAX_TOPIC_FANOUT: usize = 300;

/// The surroundings of a focus note, each part computed when it is first read.
pub(crate) struct FocusSurroundings<'s> {
    snapshot: &'s Snapshot,
    vectors: Option<&'s Vectors>,
    focus: NoteId,
    passing: &'s NoteSet,
    topics: &'s TopicSettings,
    analyzers: &'s AnalyzerPool,
    stop: &'s Stop,
    /// Linked notes that are not hubs, and those that are.
    linked: OnceCell<(Vec<NoteId>, Vec<NoteId>)>,
    place: OnceCell<Option<FolderPlace>>,
    has_assumed_parent: OnceCell<bool>,
    topic_siblings: OnceCell<Vec<(NoteId, NoteId)>>,
    nearest_by_words: OnceCell<Vec<(NoteId, f64)>>,
    nearest_by_vectors: OnceCell<Vec<(NoteId, f64)>>,
    similar: OnceCell<Vec<(NoteId, f64)>>,
    same_folder: OnceCell<Vec<NoteId>>,
    failure: Cell<Option<EngineError>>,
}

impl<'s> FocusSurroundings<'s> {
    /// Creates the surroundings of `focus`. Loading vectors are awaited until the soft deadline.
    pub(crate) fn new(
        snapshot: &'s Snapshot,
        focus: NoteId,
        passing: &'s NoteSet,
        topics: &'s TopicSettings,
        (analyzers, stop): (&'s AnalyzerPool, &'s Stop),
    ) -> Self {
        let vectors = snapshot.vectors.as_ref();
        Self {
            snapshot,
            vectors: vectors.map(|vectors| vectors.wait_loaded(stop.soft_deadline())),
            focus,
            passing,
            topics,
            analyzers,
            stop,
            linked: OnceCell::new(),
            place: OnceCell::new(),
            has_assumed_parent: OnceCell::new(),
            topic_siblings: OnceCell::new(),
            nearest_by_words: OnceCell::new(),
            nearest_by_vectors: OnceCell::new(),
            similar: OnceCell::new(),
            same_folder: OnceCell::new(),
            failure: Cell::new(None),
        }
    }

    /// Returns a number that identifies what texts are compared by: twice the number of vectors of the focus note, plus 1 if words are in memory.
    pub(crate) fn text_basis(&self) -> usize {
        2 * self.n_vectors() + usize::from(self.snapshot.keyword.is_loaded())
    }

    fn n_vectors(&self) -> usize {
        self.vectors.map_or(0, |vectors| vectors.rows.of(self.focus).iter().flatten().count())
    }

    /// Returns the error that ended a computation, if any. The answer is incomplete then.
    pub(crate) fn failure(&self) -> Result<(), EngineError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    fn read_linked(&self) -> (Vec<NoteId>, Vec<NoteId>) {
        let notes = &self.snapshot.notes;
        let (Some(entry), Some(resolved)) = (notes.entry(self.focus), notes.resolved(self.focus))
        else {
            return Default::default();
        };
        let of_source = |source: LinkSource| {
            let links = entry.note.links.iter().zip(&resolved.targets);
            links.filter(move |(link, _)| link.source == source).filter_map(|(_, target)| *target)
        };
        let mut seen = HashSet::from([self.focus]);
        of_source(LinkSource::Typed)
            .chain(of_source(LinkSource::Inline))
            .filter(|target| notes.is_note(*target) && seen.insert(*target))
            .partition(|target| !self.is_hub(*target))
    }

    /// Returns true if so many notes link to a note or placeholder, such as a property value, that it comes after all other notes and does not count as a topic.
    #[expect(clippy::cast_precision_loss, reason = "a share of a number of notes")]
    fn is_hub(&self, note: NoteId) -> bool {
        let notes = &self.snapshot.notes;
        let most = (notes.n_notes() as f64 * HUB_SHARE).max(MIN_HUB_LINKS);
        f64::from(notes.graph().degrees(note).inbound) > most
    }

    fn folder_place(&self) -> Option<&FolderPlace> {
        let read = || {
            let notes = &self.snapshot.notes;
            notes.folder_place(self.focus, MAX_FOLDER_SIBLINGS)
        };
        self.place.get_or_init(read).as_ref()
    }

    fn read_topic_siblings(&self) -> Vec<(NoteId, NoteId)> {
        let TopicSettings { ontology_path, hub_min_degree, sibling_score, siblings_activate: _ } =
            self.topics;
        let ontology = ontology_around(self.snapshot, self.focus, ontology_path);
        let request = SiblingRequest {
            seed: self.focus,
            direction: Direction::Out,
            ontology: &ontology,
            hub_min_degree: *hub_min_degree,
            sibling_score: *sibling_score,
            notes: self.passing,
            max_fanout: MAX_TOPIC_FANOUT,
        };
        let notes = &self.snapshot.notes;
        let graph = notes.graph();
        let is_specific = |topic| !self.is_hub(topic) && !notes.leads_out_of_vault(topic);
        let mut found = topic_notes(graph, &request, is_specific);
        // A note that links to everything, such as a list of changes, shares topics by chance.
        let score = |found: &TopicNote| {
            found.score / f64::from(graph.degrees(found.note).outgoing).ln_1p().max(1.0)
        };
        // Stable: ties remain in order of uri.
        found.sort_by(|a, b| score(b).total_cmp(&score(a)));
        found.into_iter().map(|found| (found.note, found.topic)).collect()
    }

    fn find_by_vectors(&self) -> Result<Vec<(NoteId, f64)>, EngineError> {
        let Some(vectors) = self.vectors else { return Ok(Vec::new()) };
        let Some(own) = mean_vector(vectors, self.focus) else { return Ok(Vec::new()) };
        self.stop.check()?;
        // The focus note's own chunks are the nearest ones.
        let n_chunks = N_NEAREST_CHUNKS + self.n_vectors().min(MAX_OWN_CHUNKS);
        let graph = self.snapshot.notes.graph();
        // Copies of a text have equal scores, and neither ids nor rows may decide between them.
        let by_uri = |a: NoteId, b: NoteId| graph.uri(a).cmp(graph.uri(b));
        let chunks = vectors.index.nearest_by(&own, n_chunks, self.passing, &by_uri)?;
        self.stop.check()?;
        let mut best: NoteMap<f64> = NoteMap::default();
        for ChunkHit { note, .. } in chunks {
            if note != self.focus && !best.contains_key(&note) {
                let similarity = mean_vector(vectors, note).map_or(0.0, |it| dot(&own, &it));
                best.insert(note, similarity);
            }
        }
        let similar = best.into_iter().map(|(note, similarity)| (similarity, note, ())).collect();
        let similar = best_first(graph, similar, MAX_SIMILAR);
        Ok(similar.into_iter().map(|(similarity, note, ())| (note, similarity)).collect())
    }

    /// Returns the notes with the most similar vectors; empty if the focus note has none.
    fn nearest_by_vectors(&self) -> &[(NoteId, f64)] {
        self.nearest_by_vectors.get_or_init(|| self.or_failure(self.find_by_vectors()))
    }

    /// Returns the notes with the most similar words.
    fn nearest_by_words(&self) -> &[(NoteId, f64)] {
        self.nearest_by_words.get_or_init(|| {
            let Self { snapshot, focus, passing, analyzers, stop, .. } = *self;
            let tools = (analyzers, stop);
            self.or_failure(nearest_by_words(snapshot, focus, passing, MAX_SIMILAR, tools))
        })
    }

    /// Returns the notes with the most similar texts: by vectors, or by words without them.
    fn nearest_by_text(&self) -> &[(NoteId, f64)] {
        if self.n_vectors() > 0 {
            return self.nearest_by_vectors();
        }
        let by_words = self.nearest_by_words();
        let n_similar =
            by_words.partition_point(|(_, similarity)| *similarity >= MIN_WORD_SIMILARITY);
        &by_words[..n_similar.max(MIN_SIMILAR).min(by_words.len())]
    }

    /// Returns the notes of a computation; if it failed, keeps the error and returns none.
    fn or_failure<T>(&self, found: Result<Vec<T>, EngineError>) -> Vec<T> {
        found.unwrap_or_else(|error| {
            self.failure.set(Some(error));
            Vec::new()
        })
    }
}

impl Surroundings for FocusSurroundings<'_> {
    fn linked(&self) -> &[NoteId] {
        &self.linked.get_or_init(|| self.read_linked()).0
    }

    fn linked_hubs(&self) -> &[NoteId] {
        &self.linked.get_or_init(|| self.read_linked()).1
    }

    fn folder_siblings(&self) -> Option<FolderSiblings<'_>> {
        match self.folder_place()? {
            FolderPlace::Siblings { before, after } => Some(FolderSiblings { before, after }),
            FolderPlace::Crowded => None,
        }
    }

    fn has_assumed_parent(&self) -> bool {
        *self.has_assumed_parent.get_or_init(|| {
            let graph = self.snapshot.notes.graph();
            let Some(parent) = graph.parent(self.focus) else { return false };
            let is_of_root = || {
                let entry = self.snapshot.notes.entry(parent);
                entry.is_some_and(|entry| is_folder_note(entry.note.path.without_extension()))
            };
            (self.folder_place().is_some() || is_of_root()) && !graph.are_linked(self.focus, parent)
        })
    }

    fn topic_siblings(&self) -> &[(NoteId, NoteId)] {
        self.topic_siblings.get_or_init(|| self.read_topic_siblings())
    }

    fn similar(&self) -> &[(NoteId, f64)] {
        self.similar.get_or_init(|| {
            let nearest = self.nearest_by_text();
            let entry = self.snapshot.notes.entry(self.focus);
            if !entry.is_some_and(|entry| is_pointer(entry)) {
                return nearest.to_vec();
            }
            // The text around a pointer is boilerplate, which makes all pointers similar.
            nearest.iter().filter(|(note, _)| !self.is_stub(*note)).copied().collect()
        })
    }

    fn same_folder(&self) -> &[NoteId] {
        match self.folder_place() {
            Some(FolderPlace::Crowded) => self.same_folder.get_or_init(|| {
                let notes = &self.snapshot.notes;
                notes.nearest_in_folder(self.focus, MAX_FROM_CROWDED_FOLDER)
            }),
            Some(FolderPlace::Siblings { .. }) | None => &[],
        }
    }

    fn is_connected(&self, note: NoteId, peer: NoteId) -> bool {
        let graph = self.snapshot.notes.graph();
        graph.are_linked(self.focus, note) || graph.are_numbered(peer, note)
    }

    fn is_near_by_text(&self, note: NoteId) -> bool {
        let by_text = [self.nearest_by_words(), self.nearest_by_vectors()];
        // Shorter lists contain every note that is similar at all, so the others are no farther than their ends.
        by_text.iter().all(|nearest| nearest.len() < N_CLOSE)
            || by_text
                .iter()
                .flat_map(|nearest| nearest.iter().take(N_CLOSE))
                .any(|(near, _)| *near == note)
    }

    fn is_stub(&self, note: NoteId) -> bool {
        self.snapshot.notes.entry(note).is_some_and(|entry| is_stub(entry))
    }
}

/// Returns true if a note consists of almost nothing but links.
fn is_stub(entry: &NoteEntry) -> bool {
    let body = &*entry.body;
    if body.len() > MAX_STUB_BYTES {
        return false;
    }
    let mut text = String::new();
    let mut end = 0;
    for link in entry.note.links.iter().filter_map(|link| link.span) {
        text.push_str(Span::new(end, link.start.max(end)).slice(body));
        text.push(' ');
        end = end.max(link.end);
    }
    text.push_str(Span::new(end, u32::MAX).slice(body));
    let words = text.split_whitespace().filter(|word| !word.contains("://"));
    words.map(|word| word.chars().count()).sum::<usize>() < MIN_TEXT
}

/// Returns true if a note only says where something else is, such as a moved file.
fn is_pointer(entry: &NoteEntry) -> bool {
    is_stub(entry) && (!entry.note.links.is_empty() || entry.body.contains("://"))
}

/// Returns the mean of a note's vectors, scaled to length one; `None` without vectors.
fn mean_vector(vectors: &Vectors, note: NoteId) -> Option<Vec<f32>> {
    let rows = vectors.rows.of(note).iter().flatten().take(MAX_OWN_CHUNKS);
    let of_rows = rows.filter_map(|row: &RowId| vectors.index.vector(*row));
    let mut mean = vec![0.0_f32; vectors.index.dimension()];
    for vector in of_rows {
        mean.iter_mut().zip(vector).for_each(|(sum, part)| *sum += part);
    }
    let length = mean.iter().map(|part| part * part).sum::<f32>().sqrt();
    (length > f32::EPSILON).then(|| mean.into_iter().map(|part| part / length).collect())
}

/// Returns the cosine of two vectors of length one, in `0.0..=1.0`.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let sum: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    f64::from(sum).clamp(0.0, 1.0)
}
