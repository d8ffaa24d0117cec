//! Which segments are merged into one.

use std::fmt;
use std::sync::Arc;

use tantivy::Index;
use tantivy::index::SegmentMeta;
use tantivy::indexer::{LogMergePolicy, MergeCandidate, MergePolicy};

use super::KeywordSettings;
use super::compared::is_segment_whole;
use super::doubt::Doubt;

/// Notes of a segment below which all count as alike in size when it comes to merging.
///
/// Here every save is a commit, and deletes what a small segment holds: such segments are merged at nearly every save, which should cost milliseconds also where notes are long.
const SMALL_SEGMENT_NOTES: u32 = 16;

/// How many times as large as another, as a power of two, a segment may be and still count as alike in size.
///
/// Wide levels are few, and so are segments: from 16 notes to 16,000 there are five.
const LEVEL_LOG_SIZE: f64 = 2.0;

/// Lets whole segments be merged, and no others: what is copied gets a checksum of its own, and damage would fit it.
pub(super) struct Merges {
    by_size: LogMergePolicy,
    index: Index,
    doubt: Arc<Doubt>,
}

impl Merges {
    pub(super) fn new(settings: &KeywordSettings, index: &Index, doubt: &Arc<Doubt>) -> Self {
        let (by_size, index) = (by_size(settings), index.clone());
        Self { by_size, index, doubt: Arc::clone(doubt) }
    }
}

impl fmt::Debug for Merges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Merges").field(&self.by_size).finish()
    }
}

impl MergePolicy for Merges {
    /// Reads the segments that are to be merged, as merging them is about to.
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let mut merges = self.by_size.compute_merge_candidates(segments);
        merges.retain(|merge| {
            let mut merged = segments.iter().filter(|segment| merge.0.contains(&segment.id()));
            let is_whole = merged.all(|segment| is_segment_whole(&self.index, segment));
            if !is_whole {
                self.doubt.raise();
            }
            is_whole
        });
        merges
    }
}

/// Which segments are merged: neighbours in size, where they are many or one of them has lost many notes.
fn by_size(settings: &KeywordSettings) -> LogMergePolicy {
    let KeywordSettings { merge_factor, max_deleted_share, .. } = settings;
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments((*merge_factor).max(2));
    policy.set_del_docs_ratio_before_merge(max_deleted_share.clamp(f32::MIN_POSITIVE, 1.0));
    policy.set_min_layer_size(SMALL_SEGMENT_NOTES);
    policy.set_level_log_size(LEVEL_LOG_SIZE);
    policy
}

#[cfg(test)]
mod tests {
    use tantivy::index::SegmentId;

    use super::super::schema::schema;
    use super::*;

    #[test]
    fn a_save_rewrites_no_more_than_a_few_notes() {
        let cases: [(&str, &[u32], &[u32]); 7] = [
            ("few saves", &[949, 1, 1, 1], &[]),
            ("many saves beside all notes", &[949, 1, 1, 1, 1], &[1, 1, 1, 1]),
            ("many beside what they were merged to", &[949, 60, 9, 1, 1], &[60, 9, 1, 1]),
            ("few beside what is large by now", &[949, 70, 9, 1, 1], &[]),
            ("what was merged of many", &[949, 70, 70, 70, 70], &[70, 70, 70, 70]),
            ("all of a size", &[949, 300, 300, 300], &[949, 300, 300, 300]),
            ("a large vault", &[20_000, 4_000, 900, 200, 60, 1, 1], &[]),
        ];
        let index = Index::create_in_ram(schema().0);
        for (name, sizes, expected) in cases {
            let metas: Vec<_> = sizes
                .iter()
                .map(|n| index.new_segment_meta(SegmentId::generate_random(), *n))
                .collect();
            let found = by_size(&KeywordSettings::default()).compute_merge_candidates(&metas);
            let size =
                |id: &SegmentId| metas.iter().find(|meta| meta.id() == *id).unwrap().max_doc();
            let found: Vec<u32> = found.iter().flat_map(|merge| merge.0.iter().map(size)).collect();
            assert_eq!(found, expected, "{name}");
        }
    }
}
