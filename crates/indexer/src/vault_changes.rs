//! Reconciles the vaults in the note table with the settings.

use std::path::Path;

use weft_index::notes::{Change, NoteTable, VaultId, VaultInfo};

use crate::content_hash::hash_of;
use crate::index_settings::VaultSettings;
use crate::vault_home::VaultHome;

/// Number of files compared to tell whether a folder is a vault that moved.
const SAMPLE: usize = 64;

/// Returns the changes that give the table exactly these vaults.
///
/// A vault is recognized by its name. A vault with a new name is recognized by its files, if at least half of them exist in the new folder with unchanged content.
/// Reads at most 64 files in each folder that has a new name.
pub(crate) fn vault_changes(
    home: &dyn VaultHome,
    notes: &NoteTable,
    wanted: &[VaultSettings],
) -> Vec<Change> {
    let mut lost: Vec<(VaultId, &VaultInfo)> = notes
        .vaults()
        .filter(|(_, info)| wanted.iter().all(|vault| vault.name != info.name))
        .collect();
    let mut changes = Vec::new();
    let mut taken: Vec<VaultId> = notes.vaults().map(|(id, _)| id).collect();
    for vault in wanted {
        let info = VaultInfo::new(&vault.name, vault.root.display().to_string());
        if let Some((id, known)) = notes.vaults().find(|(_, known)| known.name == vault.name) {
            let info = VaultInfo { n_missing: known.n_missing, ..info };
            if *known != info {
                changes.push(Change::Vault(id, Some(info)));
            }
            continue;
        }
        let moved = lost.iter().position(|(id, _)| is_moved(home, notes, *id, &vault.root));
        let (id, n_missing) = match moved.map(|at| lost.remove(at)) {
            Some((id, known)) => (id, known.n_missing),
            None => {
                let free = (0..).map(VaultId).find(|id| !taken.contains(id));
                (free.unwrap_or(VaultId(u16::MAX)), 0)
            }
        };
        taken.push(id);
        changes.push(Change::Vault(id, Some(VaultInfo { n_missing, ..info })));
    }
    changes.extend(lost.into_iter().map(|(id, _)| Change::Vault(id, None)));
    changes
}

/// Returns true if the notes of a vault are now below `root`.
fn is_moved(home: &dyn VaultHome, notes: &NoteTable, vault: VaultId, root: &Path) -> bool {
    let n_notes = notes.vault_stats(vault).n_notes;
    let sample = notes.at_or_below(vault, "").step_by(n_notes.div_ceil(SAMPLE).max(1));
    let (mut n_seen, mut n_same) = (0, 0);
    for (_, summary) in sample {
        let bytes = home.read(root, &root.join(summary.path), summary.file.size);
        n_seen += 1;
        n_same += usize::from(bytes.is_ok_and(|bytes| hash_of(&bytes) == summary.file.hash));
    }
    n_same > 0 && n_same * 2 >= n_seen
}
