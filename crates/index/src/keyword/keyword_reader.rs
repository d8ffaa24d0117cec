//! Keyword reader: one commit of the keyword index, immutable and cheap to share.

use std::sync::{Arc, Mutex};

use tantivy::postings::TermInfo;
use tantivy::{DocId, Searcher};
use weft_model::NoteId;

use super::bm25::{LengthNormalization, Scoring};
use super::corruption_flag::CorruptionFlag;
use super::index_schema::SchemaFields;
use super::keyword_error::{IndexLocation, KeywordError};
use super::language::Language;
use super::score_buffers::ScoreBuffers;
use super::segment_reader::{PostingList, Segment};
use super::term_hash::hash;
use crate::truncated_maps::TruncatedFile;

/// Maximum number of terms of one note considered by [`KeywordReader::rare_terms`]. Longer notes contribute their most frequent ones.
const MAX_NOTE_TERMS: usize = 2048;

/// Reader of one commit of the keyword index.
///
/// All statistics depend only on the notes of that commit, not on the order in which they were indexed.
/// Clones share all data.
#[derive(Clone)]
pub struct KeywordReader(pub(super) Arc<CommitView>);

pub(super) struct CommitView {
    pub(super) generation: u64,
    pub(super) segments: Vec<Arc<Segment>>,
    /// Segment and live document of each note slot; `NO_DOCUMENT` for slots without a note.
    documents: Vec<(u32, DocId)>,
    n_notes: usize,
    n_passages: usize,
    total_length: u64,
    languages: Vec<Language>,
    pub(super) scoring: Scoring,
    pub(super) fallback: Language,
    /// True if the postings of this generation are no longer loaded.
    is_unloaded: bool,
    location: IndexLocation,
    corruption: Arc<CorruptionFlag>,
    /// Buffers reused from search to search.
    pub(super) score_buffers: Mutex<Vec<ScoreBuffers>>,
}

const NO_DOCUMENT: (u32, DocId) = (u32::MAX, DocId::MAX);

/// Term of one note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteTerm {
    /// Term as indexed.
    pub term: String,
    /// Number of occurrences in the note.
    pub frequency: u32,
    /// Number of notes that contain the term.
    pub n_notes: u32,
}

/// A note that contains a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoteWithTerm {
    /// The note.
    pub note: NoteId,
    /// Number of occurrences of the term in the note.
    pub frequency: u32,
    /// [Length](KeywordReader::lengths) of the note.
    pub length: u32,
}

impl std::fmt::Debug for KeywordReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeywordReader")
            .field("generation", &self.0.generation)
            .field("n_notes", &self.0.n_notes)
            .finish()
    }
}

impl KeywordReader {
    /// Opens a reader of the commit that `searcher` holds, reusing what `earlier` computed for unchanged segments.
    pub(super) fn open(
        searcher: &Searcher,
        earlier: Option<&Self>,
        generation: u64,
        (scoring, fallback): (Scoring, Language),
        fields: &SchemaFields,
        (location, corruption): (&IndexLocation, &Arc<CorruptionFlag>),
    ) -> Result<Self, KeywordError> {
        let earlier = earlier.map_or(&[][..], |earlier| &earlier.0.segments);
        let mut segments = Vec::with_capacity(searcher.segment_readers().len());
        for reader in searcher.segment_readers() {
            let earlier = earlier.iter().find(|segment| segment.id == reader.segment_id());
            segments.push(Segment::open(reader, earlier, fields, location)?);
        }
        let n_slots = segments.iter().map(|segment| segment.n_slots).max();
        let mut documents = vec![NO_DOCUMENT; n_slots.unwrap_or(0)];
        let (mut n_notes, mut n_passages) = (0, 0);
        for (segment_idx, segment) in (0..).zip(&segments) {
            for doc in segment.live_docs() {
                documents[segment.notes[doc as usize].index()] = (segment_idx, doc);
                n_notes += 1;
                n_passages += segment.n_passages(doc).max(1);
            }
        }
        let total_length = segments.iter().map(|segment| segment.total_length).sum();
        let languages = languages(&segments);
        let score_buffers = Mutex::default();
        let view = CommitView {
            generation,
            segments,
            documents,
            n_notes,
            n_passages,
            total_length,
            languages,
            scoring,
            fallback,
            is_unloaded: false,
            location: location.clone(),
            corruption: Arc::clone(corruption),
            score_buffers,
        };
        Ok(Self(Arc::new(view)))
    }

    /// Creates a reader of a generation whose postings are no longer loaded; queries fail.
    pub(crate) fn unloaded(generation: u64) -> Self {
        let view = CommitView {
            generation,
            segments: Vec::new(),
            documents: Vec::new(),
            n_notes: 0,
            n_passages: 0,
            total_length: 0,
            languages: Vec::new(),
            scoring: Scoring::default(),
            fallback: Language::English,
            is_unloaded: true,
            location: IndexLocation::default(),
            corruption: Arc::default(),
            score_buffers: Mutex::default(),
        };
        Self(Arc::new(view))
    }

    /// Runs a read of the index files. Reports any sign of corruption as an error and raises the corruption flag.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce() -> Result<T, KeywordError>,
    ) -> Result<T, KeywordError> {
        self.0.corruption.guard(&self.0.location, read)
    }

    /// Fails if a missing part of a truncated file was read, and raises the corruption flag then.
    pub(crate) fn check_truncation(&self) -> Result<(), TruncatedFile> {
        let checked = self.0.location.truncation().check();
        checked.inspect_err(|_| self.0.corruption.raise())
    }

    /// Fails if the postings of this generation are no longer loaded.
    pub(super) fn check_loaded(&self) -> Result<(), KeywordError> {
        if self.0.is_unloaded {
            return Err(KeywordError::Unloaded { generation: self.0.generation });
        }
        Ok(())
    }

    /// Returns true if the words are in memory; those of a past generation are not.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        !self.0.is_unloaded
    }

    /// Returns the generation of the commit; 0 for an index without a commit.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.0.generation
    }

    /// Returns the number of notes.
    #[must_use]
    pub fn n_notes(&self) -> usize {
        self.0.n_notes
    }

    /// Returns the number of passages of all notes; a note without text counts as one.
    #[must_use]
    pub fn n_passages_in_all(&self) -> usize {
        self.0.n_passages
    }

    /// Returns the languages of the notes, most frequent first.
    #[must_use]
    pub fn languages(&self) -> &[Language] {
        &self.0.languages
    }

    /// Returns each note with its indexed version, in no particular order.
    pub fn versions(&self) -> Result<Vec<(NoteId, u64)>, KeywordError> {
        self.read(|| {
            self.check_loaded()?;
            let mut versions = Vec::with_capacity(self.0.n_notes);
            for segment in &self.0.segments {
                let column = segment.versions()?;
                versions.extend(
                    segment
                        .live_docs()
                        .map(|doc| (segment.notes[doc as usize], column.first(doc).unwrap_or(0))),
                );
            }
            Ok(versions)
        })
    }

    /// Reports whether the note is indexed. `O(1)`.
    #[must_use]
    pub fn contains(&self, note: NoteId) -> bool {
        self.0.document_of(note).is_some()
    }

    /// Returns the language that each of `notes` was analyzed in; `None` for an unknown one.
    pub fn languages_of(&self, notes: &[NoteId]) -> Result<Vec<Option<Language>>, KeywordError> {
        let language = |(segment, doc): (&Segment, u32)| segment.language(doc);
        self.read(|| Ok(notes.iter().map(|id| self.0.document_of(*id).map(language)).collect()))
    }

    /// Returns the number of words in title, aliases and body of each of `notes`, without stop words; 0 for an unknown one. `O(notes)`.
    #[must_use]
    pub fn lengths(&self, notes: &[NoteId]) -> Vec<u32> {
        let length = |(segment, doc): (&Segment, u32)| segment.lengths[doc as usize];
        notes.iter().map(|id| self.0.document_of(*id).map_or(0, length)).collect()
    }

    /// Returns the mean [length](Self::lengths) of all notes; 0 without notes.
    #[must_use]
    pub fn mean_length(&self) -> f64 {
        if self.0.n_notes == 0 { 0.0 } else { self.0.total_length as f64 / self.0.n_notes as f64 }
    }

    /// Returns the inverse document frequency of a term in `n_notes` of all notes: `ln(1 + (N − n + ½) / (n + ½))`, positive.
    ///
    /// It is highest for 0 notes.
    #[must_use]
    pub fn idf(&self, n_notes: u32) -> f64 {
        let (all, n_notes) = (self.0.n_notes as f64, f64::from(n_notes));
        ((all - n_notes).max(0.0) + 0.5).mul_add(1.0 / (n_notes + 0.5), 1.0).ln()
    }

    /// Returns the saturated, length-normalized weight of `frequency` occurrences in a note of `length` words: 0 to 1.
    #[must_use]
    pub fn saturation(&self, frequency: f64, length: u32) -> f64 {
        self.0.length_normalization().saturation(frequency, length)
    }

    /// Returns the number of notes that contain `term`. The first call per segment reads its dictionary; later calls take well under a microsecond.
    pub fn n_notes_with(&self, term: &str) -> Result<u32, KeywordError> {
        self.read(|| {
            self.check_loaded()?;
            let hash = hash(term.as_bytes());
            self.0.segments.iter().map(|segment| segment.live_frequency_by_hash(hash)).sum()
        })
    }

    /// Returns the words of `note` that occur in 2 to `max_notes` notes, in ascending order.
    ///
    /// Stop words and compound parts are left out. The result is empty for an unknown note.
    pub fn rare_terms(&self, note: NoteId, max_notes: u32) -> Result<Vec<NoteTerm>, KeywordError> {
        self.read(|| {
            self.check_loaded()?;
            let Some((segment, doc)) = self.0.document_of(note) else { return Ok(Vec::new()) };
            let (mut texts, mut words) = (String::new(), Vec::new());
            segment.terms_of(doc, |entry| {
                if entry.is_word {
                    let start = texts.len();
                    texts.push_str(entry.term);
                    words.push((start..texts.len(), entry.frequency, hash(entry.term.as_bytes())));
                }
            })?;
            // The least frequent words of a very long note have next to no weight.
            if words.len() > MAX_NOTE_TERMS {
                let mut frequencies: Vec<u32> = words.iter().map(|word| word.1).collect();
                let by_most = |left: &u32, right: &u32| right.cmp(left);
                let (_, most, _) = frequencies.select_nth_unstable_by(MAX_NOTE_TERMS, by_most);
                words.retain(|word| word.1 > *most);
            }
            let words = words
                .iter()
                .map(|(range, frequency, hash)| (&texts[range.clone()], *frequency, *hash));
            self.rare(words.collect(), max_notes)
        })
    }

    /// Returns those of `words`, each with its frequency and its hash, that occur in 2 to `max_notes` notes.
    fn rare(
        &self,
        words: Vec<(&str, u32, u64)>,
        max_notes: u32,
    ) -> Result<Vec<NoteTerm>, KeywordError> {
        // One segment after the other: looking up many words in one table hides the memory latency.
        let mut n_notes = vec![0; words.len()];
        for segment in &self.0.segments {
            for ((_, _, hash), n_notes) in words.iter().zip(&mut n_notes) {
                *n_notes += segment.live_frequency_by_hash(*hash)?;
            }
        }
        let rare = words.into_iter().zip(n_notes);
        let rare = rare.filter(|(_, n_notes)| (2..=max_notes).contains(n_notes));
        let term = |((term, frequency, _), n_notes): ((&str, u32, u64), u32)| NoteTerm {
            term: term.to_owned(),
            frequency,
            n_notes,
        };
        Ok(rare.map(term).collect())
    }

    /// Returns those of `terms`, the words of a part of a note, that occur in 2 to `max_notes` notes, in ascending order with their frequencies in the part.
    pub fn rare_terms_of(
        &self,
        terms: &[String],
        max_notes: u32,
    ) -> Result<Vec<NoteTerm>, KeywordError> {
        self.read(|| {
            self.check_loaded()?;
            let mut terms: Vec<&str> = terms.iter().map(String::as_str).collect();
            terms.sort_unstable();
            let equal = terms.chunk_by(|left, right| left == right);
            let words = equal.map(|equal| {
                let frequency = u32::try_from(equal.len()).unwrap_or(u32::MAX);
                (equal[0], frequency, hash(equal[0].as_bytes()))
            });
            self.rare(words.collect(), max_notes)
        })
    }

    /// Returns the notes that contain each of `terms`, in no particular order. `O(notes with the terms)`.
    pub fn notes_with(&self, terms: &[&str]) -> Result<Vec<Vec<NoteWithTerm>>, KeywordError> {
        self.read(|| {
            self.check_loaded()?;
            let notes = terms.iter().map(|term| {
                let mut notes = Vec::new();
                for segment in &self.0.segments {
                    let Some(info) = segment.lookup(term)? else { continue };
                    let postings = PostingList { repeated_idx: None, weight: 1.0, info };
                    segment.each(&postings, |doc, frequency| {
                        if segment.is_live(doc) {
                            let at = doc as usize;
                            let (note, length) = (segment.notes[at], segment.lengths[at]);
                            notes.push(NoteWithTerm { note, frequency, length });
                        }
                    })?;
                }
                Ok(notes)
            });
            notes.collect()
        })
    }

    /// Looks `term` up in the text field: its postings in each segment, and the number of live notes that contain it.
    pub(super) fn lookup(&self, term: &str) -> Result<(Vec<Option<TermInfo>>, u32), KeywordError> {
        let mut n_notes = 0;
        let mut infos = Vec::with_capacity(self.0.segments.len());
        for segment in &self.0.segments {
            let info = segment.lookup(term)?;
            if let Some(info) = &info {
                n_notes += segment.live_frequency(info, term)?;
            }
            infos.push(info);
        }
        Ok((infos, n_notes))
    }
}

impl CommitView {
    pub(super) fn document_of(&self, note: NoteId) -> Option<(&Segment, DocId)> {
        let (segment_idx, doc) = *self.documents.get(note.index())?;
        Some((self.segments.get(segment_idx as usize)?, doc))
    }

    /// Groups the indexed notes among `notes` by segment: documents ascending, with their positions in `notes`.
    pub(super) fn by_segment(&self, notes: &[NoteId]) -> Vec<(usize, Vec<DocId>, Vec<usize>)> {
        let mut found: Vec<Vec<(DocId, usize)>> = vec![Vec::new(); self.segments.len()];
        for (note_idx, note) in notes.iter().enumerate() {
            let document = self.documents.get(note.index());
            if let Some((segment_idx, doc)) = document.filter(|found| **found != NO_DOCUMENT) {
                found[*segment_idx as usize].push((*doc, note_idx));
            }
        }
        let known = found.into_iter().enumerate().filter(|(_, docs)| !docs.is_empty());
        known
            .map(|(segment_idx, mut docs)| {
                // They are mostly in order, because slots are assigned in order of arrival.
                docs.sort_unstable();
                let (docs, note_idxs) = docs.into_iter().unzip();
                (segment_idx, docs, note_idxs)
            })
            .collect()
    }

    pub(super) fn length_normalization(&self) -> LengthNormalization {
        let mean =
            if self.n_notes == 0 { 1.0 } else { self.total_length as f64 / self.n_notes as f64 };
        LengthNormalization::new(&self.scoring, mean)
    }
}

/// Returns the languages of the notes, most notes first, ties in enum order.
fn languages(segments: &[Arc<Segment>]) -> Vec<Language> {
    let mut counts: Vec<(u32, Language)> = Language::ALL
        .into_iter()
        .map(|language| {
            (segments.iter().map(|segment| segment.languages[language as usize]).sum(), language)
        })
        .filter(|(n, _)| *n > 0)
        .collect();
    counts.sort_by_key(|(n, language)| (std::cmp::Reverse(*n), *language));
    counts.into_iter().map(|(_, language)| language).collect()
}
