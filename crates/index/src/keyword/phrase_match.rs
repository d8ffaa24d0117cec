//! Phrase matching: documents that contain words at consecutive positions.

use tantivy::postings::{Postings as _, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet as _, TERMINATED};

use super::keyword_error::KeywordError;
use super::keyword_reader::KeywordReader;
use super::query_word::QueryWord;
use super::segment_reader::{PostingList, Segment};

/// Returns the live documents with the phrase and its frequency, ascending, for each segment.
pub(super) fn phrase_hits(
    reader: &KeywordReader,
    words: &[&QueryWord],
) -> Result<Vec<Vec<(DocId, u32)>>, KeywordError> {
    reader.0.segments.iter().map(|segment| segment_hits(segment, words)).collect()
}

fn segment_hits(
    segment: &Segment,
    words: &[&QueryWord],
) -> Result<Vec<(DocId, u32)>, KeywordError> {
    let mut terms = Vec::with_capacity(words.len());
    for word in words {
        let term = PhraseTerm::open(segment, word)?;
        if term.cursors.is_empty() {
            return Ok(Vec::new());
        }
        terms.push(term);
    }
    // The rarest word proposes documents; the other words confirm them.
    terms.sort_by_key(|term| term.n_docs);
    let mut hits = Vec::new();
    let (mut starts, mut others) = (Vec::new(), Vec::new());
    while let Some(doc) = terms[0].doc() {
        if segment.is_live(doc) && terms[1..].iter_mut().all(|term| term.seek(doc)) {
            terms[0].starts_in(doc, &mut starts);
            for term in &mut terms[1..] {
                term.starts_in(doc, &mut others);
                starts.retain(|start| others.binary_search(start).is_ok());
            }
            if let Some(frequency) = u32::try_from(starts.len()).ok().filter(|n| *n > 0) {
                hits.push((doc, frequency));
            }
        }
        terms[0].seek(doc + 1);
    }
    Ok(hits)
}

/// Word of the phrase: cursors over its alternatives, and its offset from the start of the phrase.
struct PhraseTerm {
    cursors: Vec<SegmentPostings>,
    offset: u32,
    n_docs: u32,
}

impl PhraseTerm {
    fn open(segment: &Segment, word: &QueryWord) -> Result<Self, KeywordError> {
        let (mut cursors, mut n_docs) = (Vec::new(), 0);
        for term in &word.alternatives {
            if let Some(info) = segment.lookup(term)? {
                n_docs += info.doc_freq;
                let list = PostingList { repeated_idx: None, weight: 1.0, info };
                cursors.push(segment.cursor(&list, IndexRecordOption::WithFreqsAndPositions)?);
            }
        }
        Ok(Self { cursors, offset: word.position, n_docs })
    }

    /// Returns the current document.
    fn doc(&self) -> Option<DocId> {
        self.cursors.iter().map(|cursor| cursor.doc()).min().filter(|doc| *doc != TERMINATED)
    }

    /// Moves to the first document at or after `doc` and reports whether it is `doc`.
    fn seek(&mut self, doc: DocId) -> bool {
        for cursor in &mut self.cursors {
            if cursor.doc() < doc {
                cursor.seek(doc);
            }
        }
        self.cursors.iter().any(|cursor| cursor.doc() == doc)
    }

    /// Fills `starts` with the position where the phrase would start for each occurrence in `doc`, ascending.
    fn starts_in(&mut self, doc: DocId, starts: &mut Vec<i64>) {
        let mut positions = Vec::new();
        for cursor in self.cursors.iter_mut().filter(|cursor| cursor.doc() == doc) {
            cursor.append_positions_with_offset(0, &mut positions);
        }
        starts.clear();
        starts
            .extend(positions.iter().map(|position| i64::from(*position) - i64::from(self.offset)));
        starts.sort_unstable();
        starts.dedup();
    }
}
