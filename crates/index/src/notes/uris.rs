//! Assigns uris: every note has a unique one, and no placeholder has that of a note.

use weft_model::{NoteId, NotePath, Uri, fold};

use super::name_index::{compound_key, vault_key};
use super::{NoteEntry, NoteTable, VaultId};

/// Marks a uri as a path if the plain path belongs to another node; paths never start with it.
const PATH_MARK: &str = "./";

/// Returns the uri that a note has unless another note has it.
pub(super) fn preferred_uri(entry: &NoteEntry) -> &str {
    entry.note.claimed_uri.as_deref().unwrap_or(entry.note.path.without_extension())
}

/// Returns the key of a note's claim: claims of a uri are contiguous, the lowest path first.
pub(super) fn claim_key(entry: &NoteEntry) -> Vec<u8> {
    compound_key(vault_key(entry.vault, preferred_uri(entry)), entry.note.path.as_str())
}

/// Returns a local uri without its path marks.
pub(super) fn without_path_marks(uri: &str) -> &str {
    uri.trim_start_matches(PATH_MARK)
}

impl NoteTable {
    /// Returns the uri within its vault.
    pub(super) fn local_uri(&self, id: NoteId) -> Option<&str> {
        let (entry, resolved) = (self.entry(id)?, self.resolved(id)?);
        let uri = resolved.uri.as_str();
        let local = |name: &str| uri.strip_prefix(name)?.strip_prefix(':');
        Some(self.prefix(entry.vault).and_then(local).unwrap_or(uri))
    }

    /// Returns the uri on the wire of `local` in a vault.
    pub(super) fn wire_uri(&self, vault: VaultId, local: &str) -> Uri {
        match self.prefix(vault) {
            Some(name) => Uri::new(format!("{name}:{local}")),
            None => Uri::new(local),
        }
    }

    /// Returns the prefix of a vault's uris, before the `:`: its name, or `None` if it is the only vault.
    pub(super) fn prefix(&self, vault: VaultId) -> Option<&str> {
        let several = self.vaults().nth(1).is_some();
        self.vault(vault).filter(|_| several).map(|info| info.name.as_str())
    }

    /// Returns the note that gets the uri `local`: the lowest path among the notes that claim it.
    pub(super) fn winner(&self, vault: VaultId, local: &str) -> Option<NoteId> {
        let wanting = compound_key(vault_key(vault, local), "");
        self.claims.with_prefix(&wanting).next().map(|(_, id)| id)
    }

    /// Returns the uri assigned to a note, within its vault: the one it prefers, else its path without extension, else its whole path.
    pub(super) fn assigned_uri(&self, id: NoteId, entry: &NoteEntry) -> String {
        let preferred = preferred_uri(entry);
        if self.winner(entry.vault, preferred) == Some(id) {
            return preferred.to_owned();
        }
        let is_claimed = |uri: &str| self.winner(entry.vault, uri).is_some();
        let path = &entry.note.path;
        let bare = path.without_extension();
        let lowest = self.named_by_path(entry.vault, bare).min_by_key(|id| self.path_of(*id));
        if !is_claimed(bare) && lowest == Some(id) {
            return bare.to_owned();
        }
        // Another note may claim even the whole path, or have it if `b.md.md` is beside `b.md`.
        let mut uri = path.as_str().to_owned();
        while is_claimed(&uri) || self.named_by_path(entry.vault, &uri).any(|other| other != id) {
            uri.insert_str(0, PATH_MARK);
        }
        uri
    }

    /// Returns the notes whose uri may change with the claims of `local`, apart from new claimants: its holder, its winner, and the notes with that path.
    pub(super) fn notes_affected_by(&self, vault: VaultId, local: &str) -> Vec<NoteId> {
        let holders = self.by_uri.at(self.wire_uri(vault, local).as_str().as_bytes());
        let path = without_path_marks(local);
        let at_path = self.at(vault, &NotePath::new(path));
        let singles = self.winner(vault, local).into_iter().chain(at_path);
        holders.into_iter().chain(singles).chain(self.named_by_path(vault, path)).collect()
    }

    /// Returns the notes whose path without extension is `bare`.
    fn named_by_path<'t>(
        &'t self,
        vault: VaultId,
        bare: &'t str,
    ) -> impl Iterator<Item = NoteId> + 't {
        let here = self.path_index.at(vault, &fold(bare)).into_iter();
        here.filter(move |id| self.bare_path(*id) == Some(bare))
    }

    /// Returns the uri of a placeholder: its name, marked as a path while a note has that uri.
    pub(super) fn placeholder_uri(&self, id: NoteId, vault: VaultId) -> Uri {
        let mut local = self.spelling(id).unwrap_or_default().to_owned();
        loop {
            let uri = self.wire_uri(vault, &local);
            if self.by_uri.first(uri.as_str().as_bytes()).is_none() {
                return uri;
            }
            local.insert_str(0, PATH_MARK);
        }
    }
}
