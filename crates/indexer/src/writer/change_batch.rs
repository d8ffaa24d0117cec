//! Batches of changes that are published together.

use weft_index::keyword::KeywordError;
use weft_index::notes::TableEdit;

/// Pending changes of the next generation.
#[derive(Default)]
pub(super) struct ChangeBatch {
    pub(super) edit: TableEdit,
    pub(super) n_changes: usize,
    /// Why keywords of the batch could not be indexed.
    pub(super) failed: Option<KeywordError>,
}

impl ChangeBatch {
    /// Number of changes.
    pub(super) const fn len(&self) -> usize {
        self.n_changes
    }
}
