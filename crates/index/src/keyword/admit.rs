//! Admission: which notes a query lets be hits at all, by what it requires and excludes.

use tantivy::DocId;
use weft_model::{NoteBits, NoteSet};

use super::error::KeywordError;
use super::query::Matcher;
use super::reader::KeywordReader;
use super::segment::Segment;

impl KeywordReader {
    /// The notes that hold all that is `required` and nothing `excluded`; no restriction where neither is asked.
    ///
    /// Cost: `O(notes)` and every list of the parts, about a nanosecond for each entry.
    pub(super) fn admitted(
        &self,
        required: &[Matcher],
        excluded: &[Matcher],
    ) -> Result<NoteSet, KeywordError> {
        if required.is_empty() && excluded.is_empty() {
            return Ok(NoteSet::All);
        }
        let mut admitted = NoteBits::default();
        for (segment_idx, segment) in self.0.segments.iter().enumerate() {
            // How many required parts each document has, of those looked at so far, one after the other.
            let mut n_met = vec![0_usize; segment.n_docs()];
            for (at, matcher) in required.iter().enumerate() {
                matcher.each(segment, segment_idx, |doc| {
                    let met = &mut n_met[doc as usize];
                    *met += usize::from(*met == at);
                })?;
            }
            for matcher in excluded {
                matcher.each(segment, segment_idx, |doc| n_met[doc as usize] = usize::MAX)?;
            }
            for doc in segment.live_docs().filter(|doc| n_met[*doc as usize] == required.len()) {
                admitted.insert(segment.notes[doc as usize]);
            }
        }
        Ok(NoteSet::Only(admitted))
    }
}

impl Matcher {
    /// Hands every document it finds to `sink`, some perhaps more than once.
    fn each(
        &self,
        segment: &Segment,
        segment_idx: usize,
        mut sink: impl FnMut(DocId),
    ) -> Result<(), KeywordError> {
        match self {
            Self::Term(sources) => sources[segment_idx]
                .iter()
                .try_for_each(|source| segment.each(source, |doc, _| sink(doc))),
            Self::Found(hits) => {
                hits[segment_idx].iter().for_each(|(doc, _)| sink(*doc));
                Ok(())
            }
        }
    }
}
