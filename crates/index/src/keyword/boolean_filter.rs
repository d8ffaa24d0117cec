//! Boolean filter: the notes that contain every required part of a query and no excluded one.

use weft_model::{NoteBits, NoteSet};

use super::document_matcher::DocumentMatcher;
use super::keyword_error::KeywordError;
use super::keyword_reader::KeywordReader;

/// Returns the notes that match all `required` matchers and none of the `excluded` ones, or all notes if both are empty.
///
/// Cost: `O(notes)` plus about a nanosecond for each posting of the matchers.
pub(super) fn admitted_notes(
    reader: &KeywordReader,
    required: &[DocumentMatcher],
    excluded: &[DocumentMatcher],
) -> Result<NoteSet, KeywordError> {
    if required.is_empty() && excluded.is_empty() {
        return Ok(NoteSet::All);
    }
    let mut admitted = NoteBits::default();
    for (segment_idx, segment) in reader.0.segments.iter().enumerate() {
        // Number of consecutive required matchers that each document has matched so far.
        let mut n_matched = vec![0_usize; segment.n_docs()];
        for (at, matcher) in required.iter().enumerate() {
            matcher.each(segment, segment_idx, |doc| {
                let matched = &mut n_matched[doc as usize];
                *matched += usize::from(*matched == at);
            })?;
        }
        for matcher in excluded {
            matcher.each(segment, segment_idx, |doc| n_matched[doc as usize] = usize::MAX)?;
        }
        for doc in segment.live_docs().filter(|doc| n_matched[*doc as usize] == required.len()) {
            admitted.insert(segment.notes[doc as usize]);
        }
    }
    Ok(NoteSet::Only(admitted))
}
