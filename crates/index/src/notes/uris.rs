//! Who has which uri: every note one of its own, and no placeholder that of a note.

use weft_model::{NoteId, NotePath, Uri, fold};

use super::directory::{joined, within};
use super::{NoteEntry, NoteTable, VaultId};

/// Says that a uri is a path because the path alone belongs to another; paths never begin with it.
const PATH_MARK: &str = "./";

/// The uri a note would have if no other wanted it.
pub(super) fn wanted_uri(entry: &NoteEntry) -> &str {
    entry.note.claimed_uri.as_deref().unwrap_or(entry.note.path.without_extension())
}

/// The name under which a note's wish is kept: wishes for one uri stand together, the lowest path first.
pub(super) fn claim(entry: &NoteEntry) -> Vec<u8> {
    joined(within(entry.vault, wanted_uri(entry)), entry.note.path.as_str())
}

/// A local uri without the marks that kept it apart from another.
pub(super) fn unmarked(uri: &str) -> &str {
    uri.trim_start_matches(PATH_MARK)
}

impl NoteTable {
    /// The uri within its vault.
    pub(super) fn local_uri(&self, id: NoteId) -> Option<&str> {
        let (entry, resolved) = (self.entry(id)?, self.resolved(id)?);
        let uri = resolved.uri.as_str();
        let local = |name: &str| uri.strip_prefix(name)?.strip_prefix(':');
        Some(self.prefix(entry.vault).and_then(local).unwrap_or(uri))
    }

    /// The uri on the wire of what is called `local` in a vault.
    pub(super) fn wire_uri(&self, vault: VaultId, local: &str) -> Uri {
        match self.prefix(vault) {
            Some(name) => Uri::new(format!("{name}:{local}")),
            None => Uri::new(local),
        }
    }

    /// What stands before the uris of a vault, and `:` after it: its name, or nothing while it is the only one.
    pub(super) fn prefix(&self, vault: VaultId) -> Option<&str> {
        let several = self.vaults().nth(1).is_some();
        self.vault(vault).filter(|_| several).map(|info| info.name.as_str())
    }

    /// The note that has the uri `local` though others may want it: the lowest path of those that want it.
    pub(super) fn winner(&self, vault: VaultId, local: &str) -> Option<NoteId> {
        let wanting = joined(within(vault, local), "");
        self.claims.below(&wanting).next().map(|(_, id)| id)
    }

    /// The uri a note is due, within its vault: the one it wants, else its path without extension, else its whole path.
    pub(super) fn due_uri(&self, id: NoteId, entry: &NoteEntry) -> String {
        let wanted = wanted_uri(entry);
        if self.winner(entry.vault, wanted) == Some(id) {
            return wanted.to_owned();
        }
        let is_claimed = |uri: &str| self.winner(entry.vault, uri).is_some();
        let path = &entry.note.path;
        let bare = path.without_extension();
        let lowest = self.named_by_path(entry.vault, bare).min_by_key(|id| self.path_of(*id));
        if !is_claimed(bare) && lowest == Some(id) {
            return bare.to_owned();
        }
        // Somebody may claim even the whole path, or have it where `b.md.md` lies beside `b.md`.
        let mut uri = path.as_str().to_owned();
        while is_claimed(&uri) || self.named_by_path(entry.vault, &uri).any(|other| other != id) {
            uri.insert_str(0, PATH_MARK);
        }
        uri
    }

    /// The notes whose uri may depend on who wants `local`, besides those that want it only since: who has it, who is due it, and those whose path it is.
    pub(super) fn concerned_by(&self, vault: VaultId, local: &str) -> Vec<NoteId> {
        let holders = self.by_uri.at(self.wire_uri(vault, local).as_str().as_bytes());
        let path = unmarked(local);
        let at_path = self.at(vault, &NotePath::new(path));
        let singles = self.winner(vault, local).into_iter().chain(at_path);
        holders.into_iter().chain(singles).chain(self.named_by_path(vault, path)).collect()
    }

    /// The notes whose path without extension is `bare`.
    fn named_by_path<'t>(
        &'t self,
        vault: VaultId,
        bare: &'t str,
    ) -> impl Iterator<Item = NoteId> + 't {
        let here = self.places.at(vault, &fold(bare)).into_iter();
        here.filter(move |id| self.bare_path(*id) == Some(bare))
    }

    /// The uri of a placeholder of a vault: its name, marked as a path as long as a note has it.
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
