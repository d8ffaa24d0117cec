//! The files of notes as the writer changes them.

use std::sync::Arc;

use crate::vault_files::VaultFiles;
use crate::vault_home::VaultHome;

/// The home of the vaults, and the move that is not finished there.
pub(super) struct NoteFiles {
    pub(super) home: Arc<dyn VaultHome>,
    /// Changes files that have no transactions.
    pub(super) vaults: Arc<VaultFiles>,
    /// Obstacle that prevents an interrupted move from finishing; the move is retried.
    pub(super) unfinished_move: Option<String>,
}

impl NoteFiles {
    pub(super) const fn new(home: Arc<dyn VaultHome>, vaults: Arc<VaultFiles>) -> Self {
        Self { home, vaults, unfinished_move: None }
    }
}
