//! Which vaults there are: the table brought in line with the settings.

use std::path::Path;

use weft_index::notes::{Change, NoteTable, VaultId, VaultInfo};

use crate::hash::hash_of;
use crate::scan;
use crate::settings::VaultSettings;

/// Files compared to tell whether a folder is a vault that moved.
const SAMPLE: usize = 64;

/// What must change so that the table has exactly these vaults.
///
/// A vault is known by its name; one of another name by its files, when at least half of them lie in the new folder with the content they had.
/// Reads at most 64 files of each folder that has a new name.
pub(crate) fn vault_changes(notes: &NoteTable, wanted: &[VaultSettings]) -> Vec<Change> {
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
        let moved = lost.iter().position(|(id, _)| is_moved(notes, *id, &vault.root));
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

/// Whether the notes of a vault lie below `root` now.
fn is_moved(notes: &NoteTable, vault: VaultId, root: &Path) -> bool {
    let n_notes = notes.tally(vault).n_notes;
    let sample = notes.at_or_below(vault, "").step_by(n_notes.div_ceil(SAMPLE).max(1));
    let (mut n_seen, mut n_same) = (0, 0);
    for (_, card) in sample {
        let bytes = scan::read(root, &root.join(card.path), card.file.size);
        n_seen += 1;
        n_same += usize::from(bytes.is_ok_and(|bytes| hash_of(&bytes) == card.file.hash));
    }
    n_same > 0 && n_same * 2 >= n_seen
}
