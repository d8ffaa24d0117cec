//! The files of notes as the writer changes them.

use crate::IndexSettings;
use crate::vault_files::VaultFiles;

/// Changes to files of vaults, and the move among them that is not finished.
pub(super) struct NoteFiles {
    pub(super) vaults: VaultFiles,
    /// Obstacle that prevents an interrupted move from finishing; the move is retried.
    pub(super) unfinished_move: Option<String>,
}

impl NoteFiles {
    pub(super) fn new(settings: &IndexSettings) -> Self {
        let vaults = VaultFiles::new(settings.disk.clone(), &settings.store);
        Self { vaults, unfinished_move: None }
    }
}
