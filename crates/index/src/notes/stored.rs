//! A table as it is written down and read back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_graph::{ColumnsError, GraphColumns, NoteGraph};
use weft_model::NoteId;

use super::names::{Key, asked, key, own_keys};
use super::table::Slot;
use super::uris::wanted_uri;
use super::{NoteEntry, NoteTable, Resolved, VaultInfo};

/// A table as it is written down: slots, so that other parts of a store may refer to them, and the graph.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredNotes {
    vaults: Vec<Option<VaultInfo>>,
    n_slots: u32,
    notes: Vec<(NoteId, Arc<NoteEntry>, Resolved)>,
}

impl NoteTable {
    /// This table for writing down, and its graph's columns beside it.
    #[must_use]
    pub fn stored(&self) -> (StoredNotes, GraphColumns) {
        let notes = self
            .by_path()
            .filter_map(|(id, entry)| Some((id, Arc::clone(entry), self.resolved(id)?.clone())));
        let stored = StoredNotes {
            vaults: self.vaults.iter().map(|vault| vault.as_deref().cloned()).collect(),
            n_slots: u32::try_from(self.slots.len())
                .expect("a snapshot holds fewer than 2^32 slots"),
            notes: notes.collect(),
        };
        (stored, self.graph.columns())
    }

    /// The table that was written down: the same slots, without resolving a link again.
    pub fn restored(stored: StoredNotes, graph: GraphColumns) -> Result<Self, ColumnsError> {
        let StoredNotes { vaults, n_slots, notes } = stored;
        let graph = NoteGraph::from_columns(graph)?;
        let mut table = Self {
            vaults: vaults.into_iter().map(|vault| vault.map(Arc::new)).collect(),
            ..Self::default()
        };
        table.slots = (0..n_slots).map(|_| Slot::Free).collect();
        for (id, entry, resolved) in notes {
            let known = |target: &NoteId| graph.contains(*target) && target.get() < n_slots;
            if !known(&id) || !resolved.targets.iter().flatten().all(known) {
                return Err(ColumnsError::Inconsistent {
                    what: "notes and graph do not name the same slots",
                });
            }
            for key in own_keys(&entry) {
                table.names.answer(key, id);
            }
            let claim = (entry.vault, wanted_uri(&entry).to_owned());
            table.claims.entry(claim).or_default().insert(entry.note.path.clone(), id);
            for (link, target) in entry.note.links.iter().zip(&resolved.targets) {
                for asked in asked(&entry, &link.target.name) {
                    table.names.ask(asked, id);
                }
                if let Some(place) = target.filter(|target| graph.is_placeholder(*target)) {
                    table.restore_placeholder(place, &entry, &link.target);
                }
            }
            table.places.put(entry.vault, &entry.note.path, id);
            table.by_path.insert((entry.vault, entry.note.path.clone()), id);
            table.by_uri.insert(resolved.uri.clone(), id);
            table.slots.set(id.index(), Slot::Note(entry, Arc::new(resolved)));
        }
        let notes: Vec<(NoteId, Key)> = table
            .by_uri
            .values()
            .filter_map(|id| Some((*id, key(table.entry(*id)?.vault, table.local_uri(*id)?))))
            .collect();
        for (id, key) in notes {
            table.names.answer(key, id);
            table.count(id, None);
        }
        let free = (0..n_slots)
            .map(NoteId::new)
            .filter(|id| matches!(table.slots.get(id.index()), Some(Slot::Free)));
        table.free = free.collect();
        table.graph = graph;
        Ok(table)
    }
}
