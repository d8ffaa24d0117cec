//! Segment reader: one segment of the index with the data ranking needs: lengths, note slots, and document frequencies of live notes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, OnceLock};

use tantivy::columnar::Column;
use tantivy::index::{InvertedIndexReader, SegmentId};
use tantivy::postings::{BlockSegmentPostings, SegmentPostings, TermInfo};
use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::store::StoreReader;
use tantivy::{DocId, DocSet as _, Opstamp, SegmentReader, TERMINATED, TantivyDocument};
use weft_model::NoteId;

use super::index_schema::{LANGUAGE, LENGTH, N_BOOSTED, NOTE, PASSAGES, SchemaFields, VERSION};
use super::keyword_error::{IndexLocation, KeywordError};
use super::language::Language;
use super::name_filter::NameFilter;
use super::passage_list::PassageList;
use super::term_hash::hash;
use super::term_list::{ListedTerm, read_term_list};

/// Document frequency of each term, by the term's [`hash`].
///
/// Two terms in a million notes share a hash with a probability of one in thirty million; their counts are then added.
pub(super) type TermCounts = HashMap<u64, u32, BuildHasherDefault<IdentityHasher>>;

/// Hasher for keys that are hashes already.
#[derive(Default)]
pub(super) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
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

/// Immutable segment under one set of deletions.
pub(super) struct Segment {
    pub(super) id: SegmentId,
    deletions: Option<Opstamp>,
    reader: SegmentReader,
    store: StoreReader,
    location: IndexLocation,
    fields: SchemaFields,
    text: Arc<InvertedIndexReader>,
    repeated: [Arc<InvertedIndexReader>; N_BOOSTED + 1],
    names: Arc<InvertedIndexReader>,
    sections: Arc<InvertedIndexReader>,
    /// Filter of the names of notes and sections, including those of deleted documents. Depends only on the segment files.
    name_filter: Arc<OnceLock<NameFilter>>,
    /// Note of each document.
    pub(super) notes: Arc<[NoteId]>,
    /// Length of each document.
    pub(super) lengths: Arc<[u32]>,
    /// Language code of each document.
    language_codes: Column<u64>,
    /// Passages of each document, in the encoding of `passage_list`.
    passages: Column<u64>,
    /// One more than the highest slot of its notes.
    pub(super) n_slots: usize,
    /// Number of live notes by language.
    pub(super) languages: [u32; Language::ALL.len()],
    /// Sum of the lengths of live notes.
    pub(super) total_length: u64,
    /// Term counts of all documents, including deleted ones. Depends only on the segment files.
    all_counts: Arc<OnceLock<TermCounts>>,
    /// Term counts of the deleted documents.
    deleted_counts: OnceLock<Arc<TermCounts>>,
}

impl Segment {
    /// Opens a segment, reusing what an earlier commit's view of the same files computed.
    pub(super) fn open(
        reader: &SegmentReader,
        earlier: Option<&Arc<Self>>,
        fields: &SchemaFields,
        location: &IndexLocation,
    ) -> Result<Arc<Self>, KeywordError> {
        if let Some(same) = earlier.filter(|earlier| earlier.deletions == reader.delete_opstamp()) {
            return Ok(Arc::clone(same));
        }
        let failed = |error| location.tantivy(error);
        let (notes, lengths) = match earlier {
            Some(earlier) => (Arc::clone(&earlier.notes), Arc::clone(&earlier.lengths)),
            None => (
                column(reader, NOTE, location)?.into_iter().map(NoteId::new).collect(),
                column(reader, LENGTH, location)?.into(),
            ),
        };
        let language_codes = match earlier {
            Some(earlier) => earlier.language_codes.clone(),
            None => number_column(reader, LANGUAGE, location)?,
        };
        let passages = match earlier {
            Some(earlier) => earlier.passages.clone(),
            None => number_column(reader, PASSAGES, location)?,
        };
        let index = |field| reader.inverted_index(field).map_err(failed);
        let [title, aliases, headings, tags, folders, properties, link_lists, exact] =
            fields.repeated;
        let mut segment = Self {
            id: reader.segment_id(),
            deletions: reader.delete_opstamp(),
            store: reader.get_store_reader(0).map_err(|error| location.io(error))?,
            reader: reader.clone(),
            location: location.clone(),
            fields: fields.clone(),
            text: index(fields.text)?,
            repeated: [
                index(title)?,
                index(aliases)?,
                index(headings)?,
                index(tags)?,
                index(folders)?,
                index(properties)?,
                index(link_lists)?,
                index(exact)?,
            ],
            names: index(fields.names)?,
            sections: index(fields.sections)?,
            name_filter: earlier.map(|it| Arc::clone(&it.name_filter)).unwrap_or_default(),
            n_slots: earlier.map_or_else(
                || notes.iter().map(|note| note.index() + 1).max().unwrap_or(0),
                |earlier| earlier.n_slots,
            ),
            notes,
            lengths,
            language_codes,
            passages,
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
            // The counted value came from a mapped file, which another program may have changed since.
            *of_language = of_language
                .checked_sub(1)
                .ok_or_else(|| location.corrupt("the language of a note has changed"))?;
            if let Some(counts) = &mut counts {
                segment.add_terms_of(doc, counts)?;
            }
        }
        segment.deleted_counts = counts.map(|counts| Arc::new(counts).into()).unwrap_or_default();
        Ok(Arc::new(segment))
    }

    /// Returns the number of documents, including deleted ones.
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
        number_column(&self.reader, VERSION, &self.location)
    }

    pub(super) fn language(&self, doc: DocId) -> Language {
        Language::from_code(self.language_codes.first(doc).unwrap_or(u64::MAX))
    }

    /// Returns the passages of a document.
    pub(super) fn passages(&self, doc: DocId) -> Result<PassageList, KeywordError> {
        let corrupt = || self.location.corrupt("the passages of a note cannot be decoded");
        let rows = self.passages.index.value_row_ids(doc);
        if rows.end > self.passages.values.num_vals() {
            return Err(corrupt());
        }
        // One virtual call for all numbers instead of one for each.
        let mut numbers = vec![0; rows.len()];
        self.passages.values.get_range(u64::from(rows.start), &mut numbers);
        PassageList::read(numbers.into_iter()).ok_or_else(corrupt)
    }

    /// Returns the number of passages of a document. `O(1)`.
    pub(super) fn n_passages(&self, doc: DocId) -> usize {
        PassageList::n_passages(self.passages.index.value_row_ids(doc).len())
    }

    /// Looks up the postings of `term` in the text field.
    pub(super) fn lookup(&self, term: &str) -> Result<Option<TermInfo>, KeywordError> {
        self.text.terms().get(term).map_err(|error| self.location.io(error))
    }

    /// Looks up the postings of `term` in a field that repeats terms of the text.
    pub(super) fn lookup_repeated(
        &self,
        field_idx: usize,
        term: &str,
    ) -> Result<Option<TermInfo>, KeywordError> {
        self.repeated[field_idx].terms().get(term).map_err(|error| self.location.io(error))
    }

    /// Returns the number of live documents in `list`. `O(1)` without deletions.
    pub(super) fn n_live(&self, list: &PostingList) -> Result<u32, KeywordError> {
        if !self.reader.has_deletes() {
            return Ok(list.info.doc_freq);
        }
        let mut n_live = 0;
        self.each(list, |doc, _| n_live += u32::from(self.is_live(doc)))?;
        Ok(n_live)
    }

    /// Passes the first `limit` terms of the text that live notes contain and that begin with `prefix` to `sink`, in order, each with the number of those notes.
    pub(super) fn each_with_prefix(
        &self,
        prefix: &str,
        limit: usize,
        mut sink: impl FnMut(&str, u32),
    ) -> Result<(), KeywordError> {
        let range = self.text.terms().range().ge(prefix.as_bytes());
        let mut terms = range.into_stream().map_err(|error| self.location.io(error))?;
        let mut n_found = 0;
        while n_found < limit
            && let Some((term, info)) = terms.next()
            && term.starts_with(prefix.as_bytes())
        {
            let Ok(term) = str::from_utf8(term) else { continue };
            let n_notes = self.live_frequency(info, term)?;
            if n_notes > 0 {
                sink(term, n_notes);
                n_found += 1;
            }
        }
        Ok(())
    }

    /// Returns a filter that every name of a note or a section passes. The first call reads both dictionaries.
    pub(super) fn name_filter(&self) -> Result<&NameFilter, KeywordError> {
        if let Some(filter) = self.name_filter.get() {
            return Ok(filter);
        }
        let dictionaries = [self.names.terms(), self.sections.terms()];
        let mut filter = NameFilter::new(dictionaries.iter().map(|it| it.num_terms()).sum());
        for dictionary in dictionaries {
            let mut names = dictionary.stream().map_err(|error| self.location.io(error))?;
            while let Some((name, _)) = names.next() {
                filter.insert(name);
            }
        }
        Ok(self.name_filter.get_or_init(|| filter))
    }

    /// Passes every live note with this name, a term as built by `name_terms`, to `sink`.
    pub(super) fn each_named(
        &self,
        name: &str,
        mut sink: impl FnMut(NoteId),
    ) -> Result<(), KeywordError> {
        let failed = |error| self.location.io(error);
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

    /// Passes the live notes with a section of this name to `sink`, each with the indexes of the passages with which these sections begin. Returns their number; above `limit` it stops, after none or some of them.
    pub(super) fn each_section(
        &self,
        name: &str,
        limit: usize,
        mut sink: impl FnMut(NoteId, &[u32]),
    ) -> Result<usize, KeywordError> {
        use tantivy::postings::Postings as _;

        let failed = |error| self.location.io(error);
        let Some(info) = self.sections.terms().get(name).map_err(failed)? else { return Ok(0) };
        // The positions of a common heading would take most of the time of a search.
        if !self.reader.has_deletes() && info.doc_freq as usize > limit {
            return Ok(info.doc_freq as usize);
        }
        let option = IndexRecordOption::WithFreqsAndPositions;
        let mut docs = self.sections.read_postings_from_terminfo(&info, option).map_err(failed)?;
        let (mut passages, mut n_notes) = (Vec::new(), 0);
        while docs.doc() != TERMINATED && n_notes <= limit {
            if self.is_live(docs.doc()) {
                docs.positions(&mut passages);
                sink(self.notes[docs.doc() as usize], &passages);
                n_notes += 1;
            }
            docs.advance();
        }
        Ok(n_notes)
    }

    /// Returns the number of live notes among the postings `info` of `term` in the text field.
    pub(super) fn live_frequency(&self, info: &TermInfo, term: &str) -> Result<u32, KeywordError> {
        if !self.reader.has_deletes() {
            return Ok(info.doc_freq);
        }
        let deleted = self.deleted_counts()?.get(&hash(term.as_bytes())).copied();
        Ok(info.doc_freq.saturating_sub(deleted.unwrap_or(0)))
    }

    /// Returns the number of live notes with the term of this hash. The first call reads the whole dictionary.
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
        let mut terms = self.text.terms().stream().map_err(|error| self.location.io(error))?;
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

    /// Passes the terms of a document to `sink`, in ascending order. Also works for deleted documents.
    pub(super) fn terms_of(
        &self,
        doc: DocId,
        sink: impl FnMut(ListedTerm<'_>),
    ) -> Result<(), KeywordError> {
        let document: TantivyDocument =
            self.store.get(doc).map_err(|error| self.location.tantivy(error))?;
        let terms = document.get_first(self.fields.terms).and_then(|value| value.as_bytes());
        if !terms.is_some_and(|terms| read_term_list(terms, sink)) {
            return Err(self.location.corrupt("the term list of a note cannot be decoded"));
        }
        Ok(())
    }

    /// Passes each document of `list` and its frequency to `sink`, ascending, including deleted documents.
    pub(super) fn each(
        &self,
        list: &PostingList,
        mut sink: impl FnMut(DocId, u32),
    ) -> Result<(), KeywordError> {
        let mut blocks = self.blocks(list)?;
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

    fn blocks(&self, list: &PostingList) -> Result<BlockSegmentPostings, KeywordError> {
        let index = self.index_of(list);
        let blocks =
            index.read_block_postings_from_terminfo(&list.info, IndexRecordOption::WithFreqs);
        blocks.map_err(|error| self.location.io(error))
    }

    /// Opens a cursor over the documents of `list`, with positions if `option` requests them.
    pub(super) fn cursor(
        &self,
        list: &PostingList,
        option: IndexRecordOption,
    ) -> Result<SegmentPostings, KeywordError> {
        let cursor = self.index_of(list).read_postings_from_terminfo(&list.info, option);
        cursor.map_err(|error| self.location.io(error))
    }

    /// Adds `list.weight` times the frequency to `frequencies` for each of the ascending `docs` in `list`.
    pub(super) fn add_frequencies(
        &self,
        list: &PostingList,
        docs: &[DocId],
        frequencies: &mut [f64],
    ) -> Result<(), KeywordError> {
        use tantivy::postings::Postings as _;
        let mut cursor = self.cursor(list, IndexRecordOption::WithFreqs)?;
        for (doc, frequency) in docs.iter().zip(frequencies) {
            let found = if cursor.doc() < *doc { cursor.seek(*doc) } else { cursor.doc() };
            if found == TERMINATED {
                break;
            }
            if found == *doc {
                *frequency += list.weight * f64::from(cursor.term_freq());
            }
        }
        Ok(())
    }

    fn index_of(&self, list: &PostingList) -> &InvertedIndexReader {
        list.repeated_idx.map_or(&self.text, |field_idx| &self.repeated[field_idx])
    }
}

/// Postings of a term in one segment, in the text or in a field that repeats its terms.
#[derive(Clone, Debug)]
pub(super) struct PostingList {
    /// Index of the field that repeats terms of the text; `None` for the text.
    pub(super) repeated_idx: Option<usize>,
    /// Weight of one occurrence. For a boosted field this is the extra weight, because the same occurrence is in the text too.
    pub(super) weight: f64,
    pub(super) info: TermInfo,
}

/// Opens a column of numbers.
fn number_column(
    reader: &SegmentReader,
    name: &str,
    location: &IndexLocation,
) -> Result<Column<u64>, KeywordError> {
    reader.fast_fields().u64(name).map_err(|error| location.tantivy(error))
}

/// Reads a whole column of numbers below 2³².
fn column(
    reader: &SegmentReader,
    name: &str,
    location: &IndexLocation,
) -> Result<Vec<u32>, KeywordError> {
    let column = number_column(reader, name, location)?;
    (0..reader.max_doc())
        .map(|doc| column.first(doc).and_then(|number| u32::try_from(number).ok()))
        .collect::<Option<_>>()
        .ok_or_else(|| location.corrupt(format!("the column `{name}` has a missing value")))
}
