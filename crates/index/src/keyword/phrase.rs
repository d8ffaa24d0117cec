//! Phrases: words that stand one after the other.

use tantivy::postings::{Postings as _, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet as _, TERMINATED};

use super::error::KeywordError;
use super::query::Word;
use super::reader::KeywordReader;
use super::segment::{Segment, Source};

/// The live documents with the phrase and how often it stands there, ascending, by segment.
pub(super) fn phrase_hits(
    reader: &KeywordReader,
    words: &[&Word],
) -> Result<Vec<Vec<(DocId, u32)>>, KeywordError> {
    reader.0.segments.iter().map(|segment| segment_hits(segment, words)).collect()
}

fn segment_hits(segment: &Segment, words: &[&Word]) -> Result<Vec<(DocId, u32)>, KeywordError> {
    let mut slots = Vec::with_capacity(words.len());
    for word in words {
        let slot = Slot::open(segment, word)?;
        if slot.cursors.is_empty() {
            return Ok(Vec::new());
        }
        slots.push(slot);
    }
    // The rarest word proposes documents, the others confirm them.
    slots.sort_by_key(|slot| slot.n_docs);
    let mut hits = Vec::new();
    let (mut starts, mut others) = (Vec::new(), Vec::new());
    while let Some(doc) = slots[0].doc() {
        if segment.is_live(doc) && slots[1..].iter_mut().all(|slot| slot.seek(doc)) {
            slots[0].starts_in(doc, &mut starts);
            for slot in &mut slots[1..] {
                slot.starts_in(doc, &mut others);
                starts.retain(|start| others.binary_search(start).is_ok());
            }
            if let Some(frequency) = u32::try_from(starts.len()).ok().filter(|n| *n > 0) {
                hits.push((doc, frequency));
            }
        }
        slots[0].seek(doc + 1);
    }
    Ok(hits)
}

/// One word of the phrase: its alternatives, and how far from the phrase's origin it stands.
struct Slot {
    cursors: Vec<SegmentPostings>,
    offset: u32,
    n_docs: u32,
}

impl Slot {
    fn open(segment: &Segment, word: &Word) -> Result<Self, KeywordError> {
        let (mut cursors, mut n_docs) = (Vec::new(), 0);
        for term in &word.alternatives {
            if let Some(info) = segment.lookup(term)? {
                n_docs += info.doc_freq;
                let source = Source { place_idx: None, weight: 1.0, info };
                cursors.push(segment.cursor(&source, IndexRecordOption::WithFreqsAndPositions)?);
            }
        }
        Ok(Self { cursors, offset: word.position, n_docs })
    }

    /// The first document not passed yet.
    fn doc(&self) -> Option<DocId> {
        self.cursors.iter().map(|cursor| cursor.doc()).min().filter(|doc| *doc != TERMINATED)
    }

    /// Moves to `doc` or behind it; whether `doc` is there.
    fn seek(&mut self, doc: DocId) -> bool {
        for cursor in &mut self.cursors {
            if cursor.doc() < doc {
                cursor.seek(doc);
            }
        }
        self.cursors.iter().any(|cursor| cursor.doc() == doc)
    }

    /// Where the phrase would have to begin for each occurrence in `doc`, ascending.
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
