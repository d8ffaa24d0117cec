//! The read side: one commit of the word index, immutable and cheap to share.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use tantivy::DocId;
use tantivy::Searcher;
use tantivy::postings::TermInfo;
use weft_model::NoteId;
use weft_model::settings::Problems;

use super::doubt::Doubt;
use super::error::{KeywordError, Place};
use super::schema::Fields;
use super::score::Scratch;
use super::segment::{Segment, Source, hash};
use super::{KeywordQuery, Language};

/// How matches are weighed. Used when reading only, so a change needs no new index.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scoring {
    /// How soon further occurrences of a term stop counting; not negative.
    ///
    /// Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, as `b`.
    pub k1: f64,
    /// How far long notes are discounted, 0 to 1.
    pub b: f64,
    /// What an occurrence in the title counts, in occurrences in the body; at least 0, like the next three.
    pub title: f64,
    /// The same for aliases.
    pub aliases: f64,
    /// The same for headings.
    pub headings: f64,
    /// The same for tags.
    pub tags: f64,
}

impl Default for Scoring {
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75, title: 2.0, aliases: 2.0, headings: 1.5, tags: 1.5 }
    }
}

impl Scoring {
    /// What of it cannot be used.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { k1, b, title, aliases, headings, tags } = *self;
        let mut problems = Problems::default();
        problems.within("b", b, 0.0..=1.0);
        for (key, value) in [
            ("k1", k1),
            ("title", title),
            ("aliases", aliases),
            ("headings", headings),
            ("tags", tags),
        ] {
            problems.check(value.is_finite() && value >= 0.0, key, "must not be negative");
        }
        problems
    }

    /// What an occurrence in each prominent place adds to the one it is in the text.
    pub(super) const fn extra(&self) -> [f64; 4] {
        [self.title - 1.0, self.aliases - 1.0, self.headings - 1.0, self.tags - 1.0]
    }
}

/// Terms of one note that are looked at when its rare ones are sought; of longer notes, the most frequent.
const MAX_OWN_TERMS: usize = 2048;

/// One commit of the word index.
///
/// Every number it gives depends on the notes of that commit alone, not on the order or the way they came in.
/// Cloning shares everything.
#[derive(Clone)]
pub struct KeywordReader(pub(super) Arc<View>);

pub(super) struct View {
    pub(super) generation: u64,
    pub(super) segments: Vec<Arc<Segment>>,
    /// Where the live document of each slot is; `NOWHERE` for slots without a note.
    places: Vec<(u32, DocId)>,
    n_notes: usize,
    total_length: u64,
    languages: Vec<Language>,
    pub(super) scoring: Scoring,
    pub(super) fallback: Language,
    /// Whether the words are not held any more.
    is_past: bool,
    place: Place,
    doubt: Arc<Doubt>,
    /// Room to work in, kept from search to search.
    pub(super) scratch: Mutex<Vec<Scratch>>,
}

const NOWHERE: (u32, DocId) = (u32::MAX, DocId::MAX);

/// A term of one note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnTerm {
    /// The term as indexed.
    pub term: String,
    /// Its occurrences in the note.
    pub frequency: u32,
    /// The notes that hold it.
    pub n_notes: u32,
}

/// How often the terms of a query occur in given notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermFrequencies {
    n_terms: usize,
    counts: Vec<u32>,
}

impl TermFrequencies {
    /// The frequencies in the note asked for at `note_idx`, in the order of [`KeywordQuery::terms`].
    #[must_use]
    pub fn of(&self, note_idx: usize) -> &[u32] {
        &self.counts[note_idx * self.n_terms..][..self.n_terms]
    }
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
    /// The view of what `searcher` holds, taking over what `earlier` knows of unchanged segments.
    pub(super) fn open(
        searcher: &Searcher,
        earlier: Option<&Self>,
        generation: u64,
        (scoring, fallback): (Scoring, Language),
        fields: &Fields,
        (place, doubt): (&Place, &Arc<Doubt>),
    ) -> Result<Self, KeywordError> {
        let earlier = earlier.map_or(&[][..], |earlier| &earlier.0.segments);
        let mut segments = Vec::with_capacity(searcher.segment_readers().len());
        for reader in searcher.segment_readers() {
            let earlier = earlier.iter().find(|segment| segment.id == reader.segment_id());
            segments.push(Segment::open(reader, earlier, fields, place)?);
        }
        let n_slots = segments.iter().map(|segment| segment.n_slots).max();
        let mut places = vec![NOWHERE; n_slots.unwrap_or(0)];
        let mut n_notes = 0;
        for (segment_idx, segment) in (0..).zip(&segments) {
            for doc in segment.live_docs() {
                places[segment.notes[doc as usize].index()] = (segment_idx, doc);
                n_notes += 1;
            }
        }
        let total_length = segments.iter().map(|segment| segment.total_length).sum();
        let languages = languages(&segments);
        let scratch = Mutex::default();
        let view = View {
            generation,
            segments,
            places,
            n_notes,
            total_length,
            languages,
            scoring,
            fallback,
            is_past: false,
            place: place.clone(),
            doubt: Arc::clone(doubt),
            scratch,
        };
        Ok(Self(Arc::new(view)))
    }

    /// A reader of a generation whose words are not held any more: questions about them fail.
    pub(crate) fn past(generation: u64) -> Self {
        let view = View {
            generation,
            segments: Vec::new(),
            places: Vec::new(),
            n_notes: 0,
            total_length: 0,
            languages: Vec::new(),
            scoring: Scoring::default(),
            fallback: Language::English,
            is_past: true,
            place: Place::default(),
            doubt: Arc::default(),
            scratch: Mutex::default(),
        };
        Self(Arc::new(view))
    }

    /// Reads the files. Damage is an error, however it shows, and the writer hears of it.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce() -> Result<T, KeywordError>,
    ) -> Result<T, KeywordError> {
        self.0.doubt.guard(&self.0.place, read)
    }

    /// Fails when the words are not held any more.
    pub(super) fn check_held(&self) -> Result<(), KeywordError> {
        if self.0.is_past {
            return Err(KeywordError::Past { generation: self.0.generation });
        }
        Ok(())
    }

    /// The generation it was committed as; 0 for an index nothing was committed to.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.0.generation
    }

    /// The number of notes.
    #[must_use]
    pub fn n_notes(&self) -> usize {
        self.0.n_notes
    }

    /// The languages of the notes, most frequent first.
    #[must_use]
    pub fn languages(&self) -> &[Language] {
        &self.0.languages
    }

    /// Each note with the version it was last handed in as, in no particular order.
    pub fn versions(&self) -> Result<Vec<(NoteId, u64)>, KeywordError> {
        self.read(|| {
            self.check_held()?;
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

    /// Whether the note is indexed. `O(1)`.
    #[must_use]
    pub fn contains(&self, note: NoteId) -> bool {
        self.0.place_of(note).is_some()
    }

    /// The language the note was analysed in.
    pub fn language(&self, note: NoteId) -> Result<Option<Language>, KeywordError> {
        self.read(|| Ok(self.0.place_of(note).map(|(segment, doc)| segment.language(doc))))
    }

    /// The number of words of title, aliases and body, function words left out; nothing for an unknown note. `O(1)`.
    #[must_use]
    pub fn length(&self, note: NoteId) -> Option<u32> {
        self.0.place_of(note).map(|(segment, doc)| segment.lengths[doc as usize])
    }

    /// The mean of [`length`](Self::length) over all notes; 0 without notes.
    #[must_use]
    pub fn mean_length(&self) -> f64 {
        if self.0.n_notes == 0 { 0.0 } else { self.0.total_length as f64 / self.0.n_notes as f64 }
    }

    /// How much a term tells that `n_notes` of all notes hold: `ln(1 + (N − n + ½) / (n + ½))`, positive.
    ///
    /// With 0 it is the most that any term can tell.
    #[must_use]
    pub fn idf(&self, n_notes: u32) -> f64 {
        let (all, n_notes) = (self.0.n_notes as f64, f64::from(n_notes));
        ((all - n_notes).max(0.0) + 0.5).mul_add(1.0 / (n_notes + 0.5), 1.0).ln()
    }

    /// How nearly `frequency` occurrences in a note of `length` words are as good as endlessly many: 0 to 1.
    #[must_use]
    pub fn saturation(&self, frequency: f64, length: u32) -> f64 {
        self.0.discount().saturation(frequency, length)
    }

    /// The notes that hold `term`. The first call per segment reads its dictionary, later ones take well under a microsecond.
    pub fn n_notes_with(&self, term: &str) -> Result<u32, KeywordError> {
        self.read(|| {
            self.check_held()?;
            let hash = hash(term.as_bytes());
            self.0.segments.iter().map(|segment| segment.live_frequency_by_hash(hash)).sum()
        })
    }

    /// The words of `note` that at least two and at most `max_notes` notes hold, in ascending order.
    ///
    /// Function words and parts of compounds are left out. Nothing for an unknown note.
    pub fn rare_terms(&self, note: NoteId, max_notes: u32) -> Result<Vec<OwnTerm>, KeywordError> {
        self.read(|| {
            self.check_held()?;
            let Some((segment, doc)) = self.0.place_of(note) else { return Ok(Vec::new()) };
            let (mut texts, mut words) = (String::new(), Vec::new());
            segment.terms_of(doc, |entry| {
                if entry.is_word {
                    let start = texts.len();
                    texts.push_str(entry.term);
                    words.push((start..texts.len(), entry.frequency, hash(entry.term.as_bytes())));
                }
            })?;
            // The least frequent words of a very long note would hardly weigh anything.
            if words.len() > MAX_OWN_TERMS {
                let mut frequencies: Vec<u32> = words.iter().map(|word| word.1).collect();
                let by_most = |left: &u32, right: &u32| right.cmp(left);
                let (_, most, _) = frequencies.select_nth_unstable_by(MAX_OWN_TERMS, by_most);
                words.retain(|word| word.1 > *most);
            }
            // One table after the other: looking up many words at once hardly waits for memory.
            let mut n_notes = vec![0; words.len()];
            for segment in &self.0.segments {
                for ((_, _, hash), n_notes) in words.iter().zip(&mut n_notes) {
                    *n_notes += segment.live_frequency_by_hash(*hash)?;
                }
            }
            let rare = words.into_iter().zip(n_notes);
            let rare = rare.filter(|(_, n_notes)| (2..=max_notes).contains(n_notes));
            Ok(rare
                .map(|((range, frequency, _), n_notes)| OwnTerm {
                    term: texts[range].to_owned(),
                    frequency,
                    n_notes,
                })
                .collect())
        })
    }

    /// The notes that hold `term` with its frequency in each, in no particular order. `O(notes with the term)`.
    pub fn notes_with(&self, term: &str) -> Result<Vec<(NoteId, u32)>, KeywordError> {
        self.read(|| {
            self.check_held()?;
            let mut notes = Vec::new();
            for segment in &self.0.segments {
                if let Some(info) = segment.lookup(term)? {
                    segment.each(
                        &Source { place_idx: None, weight: 1.0, info },
                        |doc, frequency| {
                            if segment.is_live(doc) {
                                notes.push((segment.notes[doc as usize], frequency));
                            }
                        },
                    )?;
                }
            }
            Ok(notes)
        })
    }

    /// How often each term of `query` occurs in each of `notes`; 0 for unknown notes.
    ///
    /// Cost: a seek per term and note, for notes near each other less.
    pub fn term_frequencies(
        &self,
        query: &KeywordQuery,
        notes: &[NoteId],
    ) -> Result<TermFrequencies, KeywordError> {
        self.read(|| {
            self.check(query)?;
            let n_terms = query.terms().len();
            let mut counts = vec![0; notes.len() * n_terms];
            for (segment_idx, docs, note_idxs) in self.0.by_segment(notes) {
                let mut frequencies = vec![0.0; docs.len()];
                for (term_idx, sources) in query.sources(segment_idx).enumerate() {
                    frequencies.fill(0.0);
                    for source in sources.iter().filter(|source| source.place_idx.is_none()) {
                        self.0.segments[segment_idx].add_frequencies(
                            source,
                            &docs,
                            &mut frequencies,
                        )?;
                    }
                    for (note_idx, frequency) in note_idxs.iter().zip(&frequencies) {
                        counts[note_idx * n_terms + term_idx] = whole(*frequency);
                    }
                }
            }
            Ok(TermFrequencies { n_terms, counts })
        })
    }

    /// Fails when `query` was read by another commit's reader.
    pub(super) fn check(&self, query: &KeywordQuery) -> Result<(), KeywordError> {
        if Arc::ptr_eq(&self.0, query.view()) {
            return Ok(());
        }
        Err(KeywordError::ForeignQuery { query: query.view().generation, index: self.0.generation })
    }

    /// Where in the text each segment lists `term`, and how many live notes hold it.
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

impl View {
    pub(super) fn place_of(&self, note: NoteId) -> Option<(&Segment, DocId)> {
        let (segment_idx, doc) = *self.places.get(note.index())?;
        Some((self.segments.get(segment_idx as usize)?, doc))
    }

    /// The known ones of `notes` by segment: documents ascending, with their positions in `notes`.
    pub(super) fn by_segment(&self, notes: &[NoteId]) -> Vec<(usize, Vec<DocId>, Vec<usize>)> {
        let mut found: Vec<Vec<(DocId, usize)>> = vec![Vec::new(); self.segments.len()];
        for (note_idx, note) in notes.iter().enumerate() {
            let place = self.places.get(note.index()).filter(|place| **place != NOWHERE);
            if let Some((segment_idx, doc)) = place {
                found[*segment_idx as usize].push((*doc, note_idx));
            }
        }
        let known = found.into_iter().enumerate().filter(|(_, docs)| !docs.is_empty());
        known
            .map(|(segment_idx, mut docs)| {
                // Mostly they are in order: slots are given as notes come.
                docs.sort_unstable();
                let (docs, note_idxs) = docs.into_iter().unzip();
                (segment_idx, docs, note_idxs)
            })
            .collect()
    }

    pub(super) fn discount(&self) -> Discount {
        let Scoring { k1, b, .. } = self.scoring;
        let mean =
            if self.n_notes == 0 { 1.0 } else { self.total_length as f64 / self.n_notes as f64 };
        Discount { base: k1 * (1.0 - b), per_word: k1 * b / mean.max(1.0) }
    }
}

/// What a note's length takes from its term frequencies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Discount {
    base: f64,
    per_word: f64,
}

impl Discount {
    #[inline]
    pub(super) fn saturation(self, frequency: f64, length: u32) -> f64 {
        if frequency <= 0.0 {
            return 0.0;
        }
        frequency / (frequency + self.base + self.per_word * f64::from(length))
    }
}

/// The languages to ask in, most notes first, ties by their order.
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

/// A sum of frequencies as the whole number it is.
#[expect(
    clippy::cast_possible_truncation,
    reason = "sums of u32 counted in f64 are whole; the cast saturates"
)]
#[expect(clippy::cast_sign_loss, reason = "sums of counts are not negative")]
fn whole(frequency: f64) -> u32 {
    frequency as u32
}
