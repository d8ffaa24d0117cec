//! One segment of the index, with what ranking needs at hand: lengths, note slots, and how often terms occur in live notes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hasher};
use std::sync::{Arc, OnceLock};

use tantivy::columnar::Column;
use tantivy::index::{InvertedIndexReader, SegmentId};
use tantivy::postings::{BlockSegmentPostings, SegmentPostings, TermInfo};
use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::store::StoreReader;
use tantivy::{DocId, DocSet as _, Opstamp, SegmentReader, TERMINATED, TantivyDocument};
use weft_model::NoteId;

use super::Language;
use super::error::{KeywordError, Place};
use super::schema::{
    Fields, LANGUAGE, LENGTH, ListedTerm, N_PROMINENT, NOTE, VERSION, read_term_list,
};

/// How many notes hold a term, by the term's [`hash`].
///
/// Two terms in a million notes share a hash with a chance of one in thirty million; then their counts are added.
pub(super) type TermCounts = HashMap<u64, u32, BuildHasherDefault<Hashed>>;

/// The hash of a term. Fixed within a process, never written down.
pub(super) fn hash(term: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(term);
    hasher.finish()
}

/// Takes a number that is a hash already.
#[derive(Default)]
pub(super) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(bytes);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// One immutable segment under one set of deletions.
pub(super) struct Segment {
    pub(super) id: SegmentId,
    deletions: Option<Opstamp>,
    reader: SegmentReader,
    store: StoreReader,
    place: Place,
    fields: Fields,
    text: Arc<InvertedIndexReader>,
    prominent: [Arc<InvertedIndexReader>; N_PROMINENT],
    names: Arc<InvertedIndexReader>,
    /// The note of each document, and its length.
    pub(super) notes: Arc<[NoteId]>,
    pub(super) lengths: Arc<[u32]>,
    /// The language of each document, by its code.
    language_codes: Column<u64>,
    /// Above the slots of all its notes.
    pub(super) n_slots: usize,
    /// Live notes by language.
    pub(super) languages: [u32; Language::ALL.len()],
    /// The sum of the lengths of live notes.
    pub(super) total_length: u64,
    /// Term counts of all documents, deleted ones included: a property of the files.
    all_counts: Arc<OnceLock<TermCounts>>,
    /// Term counts of the deleted documents.
    deleted_counts: OnceLock<Arc<TermCounts>>,
}

impl Segment {
    /// Opens a segment. What an earlier commit's view of the same files knows is taken over.
    pub(super) fn open(
        reader: &SegmentReader,
        earlier: Option<&Arc<Self>>,
        fields: &Fields,
        place: &Place,
    ) -> Result<Arc<Self>, KeywordError> {
        if let Some(same) = earlier.filter(|earlier| earlier.deletions == reader.delete_opstamp()) {
            return Ok(Arc::clone(same));
        }
        let failed = |error| place.tantivy(error);
        let (notes, lengths) = match earlier {
            Some(earlier) => (Arc::clone(&earlier.notes), Arc::clone(&earlier.lengths)),
            None => (
                column(reader, NOTE, place)?.into_iter().map(NoteId::new).collect(),
                column(reader, LENGTH, place)?.into(),
            ),
        };
        let language_codes = match earlier {
            Some(earlier) => earlier.language_codes.clone(),
            None => number_column(reader, LANGUAGE, place)?,
        };
        let index = |field| reader.inverted_index(field).map_err(failed);
        let [title, aliases, headings, tags] = fields.prominent;
        let mut segment = Self {
            id: reader.segment_id(),
            deletions: reader.delete_opstamp(),
            store: reader.get_store_reader(0).map_err(|error| place.io(error))?,
            reader: reader.clone(),
            place: place.clone(),
            fields: fields.clone(),
            text: index(fields.text)?,
            prominent: [index(title)?, index(aliases)?, index(headings)?, index(tags)?],
            names: index(fields.names)?,
            n_slots: earlier.map_or_else(
                || notes.iter().map(|note| note.index() + 1).max().unwrap_or(0),
                |earlier| earlier.n_slots,
            ),
            notes,
            lengths,
            language_codes,
            languages: earlier.map_or([0; _], |earlier| earlier.languages),
            total_length: earlier.map_or(0, |earlier| earlier.total_length),
            all_counts: earlier.map(|earlier| Arc::clone(&earlier.all_counts)).unwrap_or_default(),
            deleted_counts: OnceLock::new(),
        };
        let Some(earlier) = earlier else {
            for doc in reader.doc_ids_alive() {
                segment.total_length += u64::from(segment.lengths[doc as usize]);
                let language = segment.language(doc);
                segment.languages[language as usize] += 1;
            }
            return Ok(Arc::new(segment));
        };
        let mut counts = earlier.deleted_counts.get().map(|counts| TermCounts::clone(counts));
        for doc in earlier.live_docs().filter(|doc| reader.is_deleted(*doc)) {
            segment.total_length -= u64::from(segment.lengths[doc as usize]);
            let language = segment.language(doc);
            let of_language = &mut segment.languages[language as usize];
            // What was counted is read from a mapped file, which another program may have changed since.
            *of_language = of_language
                .checked_sub(1)
                .ok_or_else(|| place.corrupt("a note's language is not what it was"))?;
            if let Some(counts) = &mut counts {
                segment.add_terms_of(doc, counts)?;
            }
        }
        segment.deleted_counts = counts.map(|counts| Arc::new(counts).into()).unwrap_or_default();
        Ok(Arc::new(segment))
    }

    /// Documents, deleted ones included.
    pub(super) fn n_docs(&self) -> usize {
        self.notes.len()
    }

    pub(super) fn is_live(&self, doc: DocId) -> bool {
        !self.reader.is_deleted(doc)
    }

    pub(super) fn live_docs(&self) -> impl Iterator<Item = DocId> + '_ {
        self.reader.doc_ids_alive()
    }

    pub(super) fn versions(&self) -> Result<Column<u64>, KeywordError> {
        number_column(&self.reader, VERSION, &self.place)
    }

    pub(super) fn language(&self, doc: DocId) -> Language {
        Language::from_code(self.language_codes.first(doc).unwrap_or(u64::MAX))
    }

    /// Where the documents with `term` are listed in the text.
    pub(super) fn lookup(&self, term: &str) -> Result<Option<TermInfo>, KeywordError> {
        self.text.terms().get(term).map_err(|error| self.place.io(error))
    }

    /// Where the documents with `term` in a prominent place are listed.
    pub(super) fn lookup_prominent(
        &self,
        place_idx: usize,
        term: &str,
    ) -> Result<Option<TermInfo>, KeywordError> {
        self.prominent[place_idx].terms().get(term).map_err(|error| self.place.io(error))
    }

    /// Hands every live note of this name, as [`name_terms`](super::names::name_terms) gives it, to `sink`.
    pub(super) fn each_named(
        &self,
        name: &str,
        mut sink: impl FnMut(NoteId),
    ) -> Result<(), KeywordError> {
        let failed = |error| self.place.io(error);
        let Some(info) = self.names.terms().get(name).map_err(failed)? else { return Ok(()) };
        let option = IndexRecordOption::Basic;
        let mut docs = self.names.read_postings_from_terminfo(&info, option).map_err(failed)?;
        while docs.doc() != TERMINATED {
            if self.is_live(docs.doc()) {
                sink(self.notes[docs.doc() as usize]);
            }
            docs.advance();
        }
        Ok(())
    }

    /// The live notes among the documents of `info`, which is the text's entry for `term`.
    pub(super) fn live_frequency(&self, info: &TermInfo, term: &str) -> Result<u32, KeywordError> {
        if !self.reader.has_deletes() {
            return Ok(info.doc_freq);
        }
        let deleted = self.deleted_counts()?.get(&hash(term.as_bytes())).copied();
        Ok(info.doc_freq.saturating_sub(deleted.unwrap_or(0)))
    }

    /// The live notes with the term of this hash. The first call reads the whole dictionary.
    pub(super) fn live_frequency_by_hash(&self, hash: u64) -> Result<u32, KeywordError> {
        let all = self.all_counts()?.get(&hash).copied().unwrap_or(0);
        if all == 0 || !self.reader.has_deletes() {
            return Ok(all);
        }
        Ok(all.saturating_sub(self.deleted_counts()?.get(&hash).copied().unwrap_or(0)))
    }

    fn all_counts(&self) -> Result<&TermCounts, KeywordError> {
        if let Some(counts) = self.all_counts.get() {
            return Ok(counts);
        }
        let mut counts = TermCounts::with_capacity_and_hasher(
            self.text.terms().num_terms(),
            BuildHasherDefault::default(),
        );
        let mut terms = self.text.terms().stream().map_err(|error| self.place.io(error))?;
        while let Some((term, info)) = terms.next() {
            *counts.entry(hash(term)).or_insert(0) += info.doc_freq;
        }
        Ok(self.all_counts.get_or_init(|| counts))
    }

    fn deleted_counts(&self) -> Result<&TermCounts, KeywordError> {
        if let Some(counts) = self.deleted_counts.get() {
            return Ok(counts);
        }
        let mut counts = TermCounts::default();
        for doc in (0..self.reader.max_doc()).filter(|doc| self.reader.is_deleted(*doc)) {
            self.add_terms_of(doc, &mut counts)?;
        }
        Ok(self.deleted_counts.get_or_init(|| Arc::new(counts)))
    }

    fn add_terms_of(&self, doc: DocId, counts: &mut TermCounts) -> Result<(), KeywordError> {
        self.terms_of(doc, |entry| *counts.entry(hash(entry.term.as_bytes())).or_insert(0) += 1)
    }

    /// Hands the terms of a document to `sink`, in ascending order; deleted documents answer as well.
    pub(super) fn terms_of(
        &self,
        doc: DocId,
        sink: impl FnMut(ListedTerm<'_>),
    ) -> Result<(), KeywordError> {
        let document: TantivyDocument =
            self.store.get(doc).map_err(|error| self.place.tantivy(error))?;
        let list = document.get_first(self.fields.terms).and_then(|value| value.as_bytes());
        if !list.is_some_and(|list| read_term_list(list, sink)) {
            return Err(self.place.corrupt("the terms of a note cannot be read"));
        }
        Ok(())
    }

    /// Hands each document of `source` and its frequency to `sink`, ascending; deleted documents come along.
    pub(super) fn each(
        &self,
        source: &Source,
        mut sink: impl FnMut(DocId, u32),
    ) -> Result<(), KeywordError> {
        let mut blocks = self.blocks(source)?;
        loop {
            let docs = blocks.docs();
            if docs.is_empty() {
                return Ok(());
            }
            for (doc, frequency) in docs.iter().zip(blocks.freqs()) {
                sink(*doc, *frequency);
            }
            blocks.advance();
        }
    }

    fn blocks(&self, source: &Source) -> Result<BlockSegmentPostings, KeywordError> {
        let index = self.index_of(source);
        let blocks =
            index.read_block_postings_from_terminfo(&source.info, IndexRecordOption::WithFreqs);
        blocks.map_err(|error| self.place.io(error))
    }

    /// A cursor over the documents of `source`, with positions where they are asked for.
    pub(super) fn cursor(
        &self,
        source: &Source,
        option: IndexRecordOption,
    ) -> Result<SegmentPostings, KeywordError> {
        let cursor = self.index_of(source).read_postings_from_terminfo(&source.info, option);
        cursor.map_err(|error| self.place.io(error))
    }

    /// Adds `source.weight` times the frequency to `frequencies` for each of the ascending `docs` it lists.
    pub(super) fn add_frequencies(
        &self,
        source: &Source,
        docs: &[DocId],
        frequencies: &mut [f64],
    ) -> Result<(), KeywordError> {
        use tantivy::postings::Postings as _;
        let mut cursor = self.cursor(source, IndexRecordOption::WithFreqs)?;
        for (doc, frequency) in docs.iter().zip(frequencies) {
            let found = if cursor.doc() < *doc { cursor.seek(*doc) } else { cursor.doc() };
            if found == TERMINATED {
                break;
            }
            if found == *doc {
                *frequency += source.weight * f64::from(cursor.term_freq());
            }
        }
        Ok(())
    }

    fn index_of(&self, source: &Source) -> &InvertedIndexReader {
        source.place_idx.map_or(&self.text, |place_idx| &self.prominent[place_idx])
    }
}

/// A list of documents in one segment: those with a term in the text, or in a prominent place.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Nothing for the text.
    pub(super) place_idx: Option<usize>,
    /// What one occurrence counts. An occurrence in a prominent place stands in the text as well, so this is what it counts more.
    pub(super) weight: f64,
    pub(super) info: TermInfo,
}

/// A column of numbers.
fn number_column(
    reader: &SegmentReader,
    name: &str,
    place: &Place,
) -> Result<Column<u64>, KeywordError> {
    reader.fast_fields().u64(name).map_err(|error| place.tantivy(error))
}

/// A column of numbers below 2³², in full.
fn column(reader: &SegmentReader, name: &str, place: &Place) -> Result<Vec<u32>, KeywordError> {
    let column = number_column(reader, name, place)?;
    (0..reader.max_doc())
        .map(|doc| column.first(doc).and_then(|number| u32::try_from(number).ok()))
        .collect::<Option<_>>()
        .ok_or_else(|| place.corrupt(format!("the column `{name}` lacks a value")))
}
