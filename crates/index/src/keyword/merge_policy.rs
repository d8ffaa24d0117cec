//! Merge policy: selects segments to merge, and only intact ones.

use std::fmt;
use std::sync::Arc;

use tantivy::Index;
use tantivy::index::SegmentMeta;
use tantivy::indexer::{LogMergePolicy, MergeCandidate, MergePolicy};

use super::checksum_cache::is_segment_intact;
use super::corruption_flag::CorruptionFlag;
use super::keyword_settings::KeywordSettings;

/// Number of notes up to which segments count as equal in size for merging.
///
/// Every save is a commit that deletes the content of a small segment, so small segments are merged at nearly every save. That should cost milliseconds even if notes are long.
const SMALL_SEGMENT_NOTES: u32 = 16;

/// Width of a size level, as the base-2 logarithm of the ratio between its largest and smallest segment.
///
/// Wide levels mean few levels and few segments: there are five levels from 16 to 16,000 notes.
const LEVEL_LOG_SIZE: f64 = 2.0;

/// Merge policy by size that skips damaged segments: a merged copy gets a new checksum, which would hide the damage.
pub(super) struct VerifiedMergePolicy {
    by_size: LogMergePolicy,
    index: Index,
    corruption: Arc<CorruptionFlag>,
}

impl VerifiedMergePolicy {
    pub(super) fn new(
        settings: &KeywordSettings,
        index: &Index,
        corruption: &Arc<CorruptionFlag>,
    ) -> Self {
        let (by_size, index) = (by_size(settings), index.clone());
        Self { by_size, index, corruption: Arc::clone(corruption) }
    }
}

impl fmt::Debug for VerifiedMergePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VerifiedMergePolicy").field(&self.by_size).finish()
    }
}

impl MergePolicy for VerifiedMergePolicy {
    /// Selects the segments to merge. Reads them in full, as the merge does anyway.
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let mut merges = self.by_size.compute_merge_candidates(segments);
        merges.retain(|merge| {
            let mut merged = segments.iter().filter(|segment| merge.0.contains(&segment.id()));
            let is_intact = merged.all(|segment| is_segment_intact(&self.index, segment));
            if !is_intact {
                self.corruption.raise();
            }
            is_intact
        });
        merges
    }
}

/// Builds the size-based policy: merges segments of similar size when there are enough of them, or when one has lost many notes.
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

    use super::super::index_schema::schema;
    use super::*;

    #[test]
    fn save_rewrites_only_a_few_notes() {
        let cases: [(&str, &[u32], &[u32]); 7] = [
            ("few saves", &[949, 1, 1, 1], &[]),
            ("many saves beside all notes", &[949, 1, 1, 1, 1], &[1, 1, 1, 1]),
            ("many saves beside their merged segments", &[949, 60, 9, 1, 1], &[60, 9, 1, 1]),
            ("few saves beside a large merged segment", &[949, 70, 9, 1, 1], &[]),
            ("many merged segments", &[949, 70, 70, 70, 70], &[70, 70, 70, 70]),
            ("all of similar size", &[949, 300, 300, 300], &[949, 300, 300, 300]),
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
