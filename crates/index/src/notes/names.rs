//! Who answers to a name, and who asked for it.

use imbl::{HashMap, OrdSet};
use smallvec::SmallVec;
use weft_model::{NoteId, fold};

use super::VaultId;

/// A folded name within a vault.
pub(super) type Key = (VaultId, String);

/// Names in both directions: the notes that answer to one, and the notes whose links look it up.
///
/// A target is looked up under two keys, the whole of it and its last segment; a note answers under its uri, its last path segment and its aliases.
/// So whatever a link can resolve to is among the answers to its two keys, and a change of names re-resolves only those who asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    answers: HashMap<Key, SmallVec<[NoteId; 2]>>,
    asked: HashMap<Key, OrdSet<NoteId>>,
}

impl Names {
    pub(super) fn answer(&mut self, key: Key, note: NoteId) {
        let list = self.answers.entry(key).or_default();
        if !list.contains(&note) {
            list.push(note);
        }
    }

    pub(super) fn silence(&mut self, key: &Key, note: NoteId) {
        if let Some(list) = self.answers.get_mut(key) {
            list.retain(|other| *other != note);
            if list.is_empty() {
                self.answers.remove(key);
            }
        }
    }

    /// The notes that answer to `key`, in no order.
    pub(super) fn answering(&self, key: &Key) -> &[NoteId] {
        self.answers.get(key).map_or(&[], |list| list)
    }

    pub(super) fn ask(&mut self, key: Key, note: NoteId) {
        self.asked.entry(key).or_default().insert(note);
    }

    pub(super) fn unask(&mut self, key: &Key, note: NoteId) {
        if let Some(set) = self.asked.get_mut(key) {
            set.remove(&note);
            if set.is_empty() {
                self.asked.remove(key);
            }
        }
    }

    pub(super) fn askers(&self, key: &Key) -> impl Iterator<Item = NoteId> + '_ {
        self.asked.get(key).into_iter().flat_map(|set| set.iter().copied())
    }
}

/// The keys under which the links of a note look for `target`.
pub(super) fn asked_keys(vault: VaultId, target: &str) -> [Key; 2] {
    let whole = target.trim_start_matches('/');
    [(vault, fold(whole)), (vault, fold(last_segment(whole)))]
}

pub(super) fn last_segment(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, last)| last)
}
