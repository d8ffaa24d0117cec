//! Received changes: what other writers change in a mirrored vault reaches its folder.

use std::collections::HashMap;
use std::io;

use weft_index::notes::FileMetadata;
use weft_indexer::scan::{self, WritablePath};
use weft_indexer::{FollowedFolder, hash_of};
use weft_model::{NoteKind, TextHash};

use crate::log::VaultChange;
use crate::mirror::{Guard, Mirror};
use crate::{LoggedFile, TransferError, transfer};

/// Number of texts that are read at a time.
const TEXTS_AT_ONCE: usize = 200;

/// Number of times that a change is merged into a file that another program writes meanwhile.
const MERGE_ATTEMPTS: usize = 4;

/// Errors that all files of a folder would meet.
const OF_DISK: [io::ErrorKind; 2] = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];

/// Changes that a folder received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceivedReport {
    /// Number of the log up to which the folder has the changes of others.
    pub generation: u64,
    /// Number of files that were created or replaced.
    pub n_written: usize,
    /// Number of files that were removed.
    pub n_removed: usize,
    /// Notes that the folder changed as well.
    pub conflicts: Vec<FolderConflict>,
    /// Changes that the folder cannot have, each with the reason. The vault keeps them, and the next mirror of the folder tries again.
    pub refused: Vec<String>,
}

impl ReceivedReport {
    /// Returns true if nothing was received.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        let Self { generation: _, n_written, n_removed, conflicts, refused } = self;
        *n_written == 0 && *n_removed == 0 && conflicts.is_empty() && refused.is_empty()
    }
}

/// A note that changed in the folder and in the collection. The folder's text stays, and the other one has a file of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderConflict {
    /// Path of the note.
    pub path: String,
    /// Path of the file with the other text.
    pub copy: String,
}

/// Treatment of a change of another writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MergeStep {
    /// The folder has the new state already.
    Nothing,
    /// The folder takes the new state.
    Take,
    /// The folder keeps its state, which replaces a removal.
    Keep,
    /// The folder keeps its text, and takes the other one beside it.
    KeepBoth,
}

/// Compares the state that the folder and the collection had in common with their present ones; no text is lost.
fn merge_step(
    common: Option<TextHash>,
    folder: Option<TextHash>,
    other: Option<TextHash>,
) -> MergeStep {
    match (folder, other) {
        _ if folder == other => MergeStep::Nothing,
        // A change wins over a removal.
        (None, Some(_)) => MergeStep::Take,
        _ if folder == common => MergeStep::Take,
        (Some(_) | None, None) => MergeStep::Keep,
        (Some(_), Some(_)) => MergeStep::KeepBoth,
    }
}

/// Returns the path of the copy of a text that conflicts with the note at `path`; the same for equal texts.
fn conflict_path(path: &str, hash: TextHash, n_digits: usize) -> String {
    let name = path.rfind('/').map_or(0, |slash| slash + 1);
    let end = path[name..].rfind('.').map_or(path.len(), |dot| name + dot);
    let digits: String = format!("{hash:?}").chars().take(n_digits).collect();
    format!("{} (conflict {digits}){}", &path[..end], &path[end..])
}

impl Mirror<'_> {
    /// Brings into the folder what other writers changed in the vault since the last time; returns `None` if the log does not have all of that any more.
    ///
    /// A note that the folder changed as well stays as it is there, and the next pass sends it.
    /// Repeating this after a failure changes nothing twice.
    pub(crate) fn receive(
        &mut self,
        folder: &FollowedFolder,
        guard: Guard,
    ) -> Result<Option<ReceivedReport>, TransferError> {
        let head = self.collection.head()?;
        let mut report = ReceivedReport { generation: head, ..ReceivedReport::default() };
        if self.seen == Some(head) {
            return Ok(Some(report));
        }
        let Some(changes) = self.changes(head)? else { return Ok(None) };
        let is_new = !changes.is_empty();
        let mut others: Vec<VaultChange> = Vec::new();
        for change in changes {
            others.pop_if(|earlier| earlier.path == change.path);
            if change.is_own {
                // The folder had this state, and whatever came before it.
                self.set_stored(&change);
            } else {
                others.push(change);
            }
        }
        self.require_files(folder, &others, guard)?;
        // Texts come first, so that a note that was moved is never missing.
        let (texts, removals): (Vec<VaultChange>, _) =
            others.into_iter().partition(|change| change.hash.is_some());
        for changes in texts.chunks(TEXTS_AT_ONCE) {
            let hashes: Vec<TextHash> = changes.iter().filter_map(|change| change.hash).collect();
            let texts: HashMap<TextHash, Vec<u8>> =
                self.collection.blobs(&hashes)?.into_iter().collect();
            for change in changes {
                let text = change.hash.and_then(|hash| texts.get(&hash));
                let text = text.ok_or_else(|| self.collection.missing_text(&change.path))?;
                self.receive_change(folder, change, Some(text), &mut report)?;
            }
        }
        let written: HashMap<String, &str> =
            texts.iter().map(|it| (it.path.to_lowercase(), &*it.path)).collect();
        for change in &removals {
            // Where names differ in case alone, the file that would be removed can be the one that was just written.
            let new = written.get(&change.path.to_lowercase());
            if new.is_some_and(|new| is_same_file(folder, new, &change.path)) {
                self.set_stored(change);
            } else {
                self.receive_change(folder, change, None, &mut report)?;
            }
        }
        self.seen = Some(head);
        if is_new {
            self.mark_seen()?;
        }
        Ok(Some(report))
    }

    /// Returns the changes of the vault that the folder has not seen; `None` if the log does not have all of them any more.
    fn changes(&self, head: u64) -> Result<Option<Vec<VaultChange>>, TransferError> {
        let Some(seen) = self.seen else {
            let files = self.collection.files(self.vault, head, None)?.into_iter();
            let change = |LoggedFile { path, hash, .. }| VaultChange {
                path,
                hash: Some(hash),
                is_own: false,
            };
            return Ok(Some(files.map(change).collect()));
        };
        let range = (seen, head);
        let changes = self.collection.changes_of_vault(self.vault, &self.folder_id, range)?;
        // The floor is read last, since it may rise meanwhile. The log may also have been set back.
        Ok((seen <= head && self.collection.floor()? <= seen).then_some(changes))
    }

    /// Fails if the folder has no file of any note: its disk may not be mounted, and would hide what is written there.
    fn require_files(
        &self,
        folder: &FollowedFolder,
        others: &[VaultChange],
        guard: Guard,
    ) -> Result<(), TransferError> {
        let n_notes = self.stored.len().max(others.len());
        if others.is_empty() || guard.removes_any || !guard.options.holds(n_notes, n_notes) {
            return Ok(());
        }
        let others = others.iter().map(|change| &change.path);
        for path in self.stored.keys().chain(others) {
            let Ok(place) = place(folder, path)? else { continue };
            if !matches!(folder.content(&place), Ok(None)) {
                return Ok(());
            }
        }
        Err(TransferError::EmptyFolder { vault: self.vault.to_owned(), n_notes })
    }

    fn set_stored(&mut self, VaultChange { path, hash, is_own: _ }: &VaultChange) {
        match *hash {
            Some(hash) if self.stored.get(path).is_some_and(|known| known.hash == hash) => {}
            Some(hash) => {
                let unread = FileMetadata { hash, ..FileMetadata::default() };
                self.stored.insert(path.clone(), unread);
            }
            None => {
                self.stored.remove(path);
            }
        }
    }

    fn receive_change(
        &mut self,
        folder: &FollowedFolder,
        change: &VaultChange,
        text: Option<&[u8]>,
        report: &mut ReceivedReport,
    ) -> Result<(), TransferError> {
        self.renew_if_due()?;
        let common = self.stored.get(&change.path).map(|known| known.hash);
        let merged = if common == change.hash {
            Merged::Nothing
        } else {
            self.merged(folder, change, common, text)?
        };
        match merged {
            Merged::Nothing => {}
            Merged::Written => report.n_written += 1,
            Merged::Removed => report.n_removed += 1,
            Merged::Conflict(copy) => {
                report.conflicts.push(FolderConflict { path: change.path.clone(), copy });
            }
            Merged::Refused(reason) => {
                report.refused.push(reason);
                self.behind.insert(change.path.clone());
                return Ok(());
            }
        }
        self.behind.remove(&change.path);
        self.set_stored(change);
        Ok(())
    }

    /// Merges a change into the folder, which had the state `common` before.
    fn merged(
        &self,
        folder: &FollowedFolder,
        change: &VaultChange,
        common: Option<TextHash>,
        text: Option<&[u8]>,
    ) -> Result<Merged, TransferError> {
        let path = &change.path;
        let max_bytes = self.options.scan.max_file_bytes;
        if let Some(n_bytes) = text.map(|text| text.len() as u64).filter(|n| *n > max_bytes) {
            let reason =
                format!("`{path}`: {n_bytes} bytes exceed `scan.max_file_bytes` = {max_bytes}");
            return Ok(Merged::Refused(reason));
        }
        if text.is_some() && self.kept.iter().any(|kept| kept.as_str() == path) {
            return Ok(Merged::Refused(format!("`{path}` is missing with many other files")));
        }
        for _ in 0..MERGE_ATTEMPTS {
            if let Some(merged) = merge(folder, change, common, text)? {
                return Ok(merged);
            }
        }
        Ok(Merged::Refused(format!("`{path}` is being written by another program")))
    }
}

/// Outcome of a change in the folder.
enum Merged {
    Nothing,
    Written,
    Removed,
    /// The folder keeps its text, and has the other one at this path.
    Conflict(String),
    Refused(String),
}

/// Merges a change into the folder, which had the state `common` before; returns `None` if its file changed meanwhile.
fn merge(
    folder: &FollowedFolder,
    VaultChange { path, hash, is_own: _ }: &VaultChange,
    common: Option<TextHash>,
    text: Option<&[u8]>,
) -> Result<Option<Merged>, TransferError> {
    let place = match place(folder, path)? {
        Ok(place) => place,
        // No file of the folder is a removed note with such a path.
        Err(_) if text.is_none() => return Ok(Some(Merged::Nothing)),
        Err(reason) => return Ok(Some(Merged::Refused(reason))),
    };
    let present = match folder.content(&place) {
        Ok(present) => present,
        Err(error) => return failed(path, &place, error).map(Some),
    };
    let done = match (merge_step(common, present.as_deref().map(hash_of), *hash), text) {
        (MergeStep::Nothing | MergeStep::Keep, _) | (MergeStep::KeepBoth, None) => {
            return Ok(Some(Merged::Nothing));
        }
        (MergeStep::KeepBoth, Some(text)) => {
            return keep_beside(folder, path, text).map(Some);
        }
        (MergeStep::Take, None) => folder.remove(&place).map(|()| Some(Merged::Removed)),
        (MergeStep::Take, Some(text)) => match &present {
            Some(old) => folder.replace(&place, old, text).map(|it| it.then_some(Merged::Written)),
            None => folder.create(&place, text).map(|()| Some(Merged::Written)),
        },
    };
    done.or_else(|error| failed(path, &place, error).map(Some))
}

/// Creates the copy of a text that conflicts with the note at `path`, unless an earlier attempt did.
fn keep_beside(folder: &FollowedFolder, path: &str, text: &[u8]) -> Result<Merged, TransferError> {
    let hash = hash_of(text);
    // The user may have edited an earlier copy of the same text.
    for n_digits in [8, 32] {
        let copy = conflict_path(path, hash, n_digits);
        let place = match place(folder, &copy)? {
            Ok(place) => place,
            Err(reason) => return Ok(Merged::Refused(reason)),
        };
        let is_there = folder.content(&place).and_then(|present| match present {
            Some(present) => Ok(present == text),
            None => folder.create(&place, text).map(|()| true),
        });
        match is_there {
            Ok(true) => return Ok(Merged::Conflict(copy)),
            Ok(false) => {}
            Err(error) => return failed(&copy, &place, error),
        }
    }
    Ok(Merged::Refused(format!("`{path}`: the copies of its text were edited")))
}

/// Returns true if both paths lead to one file of the folder.
fn is_same_file(folder: &FollowedFolder, a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(|path| place(folder, path).ok().and_then(Result::ok));
    a.zip(b).is_some_and(|(a, b)| folder.is_same_file(&a, &b))
}

/// Returns the place of a note's file; the inner error states why the folder has none.
fn place(
    folder: &FollowedFolder,
    path: &str,
) -> Result<Result<WritablePath, String>, TransferError> {
    // A path that leads out of the folder has no place there.
    let path = match scan::path_of_kind(path, NoteKind::of(path).unwrap_or_default()) {
        Ok(path) => path,
        Err(reason) => return Ok(Err(reason)),
    };
    match folder.place(&path) {
        Ok(place) => Ok(place),
        Err(error) if folder.is_readable() => Ok(Err(format!("`{path}`: {error}"))),
        Err(error) => Err(error.into()),
    }
}

fn failed(path: &str, place: &WritablePath, error: io::Error) -> Result<Merged, TransferError> {
    if OF_DISK.contains(&error.kind()) {
        return Err(transfer::failed(&place.real)(error));
    }
    Ok(Merged::Refused(format!("`{path}` cannot be written: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_lost_when_both_sides_change() {
        let [a, b, c] = [1, 2, 3].map(|n| Some(TextHash(n)));
        for (common, folder, other, expected) in [
            (a, a, b, MergeStep::Take),
            (a, a, None, MergeStep::Take),
            (None, None, a, MergeStep::Take),
            (a, None, b, MergeStep::Take),
            (a, b, b, MergeStep::Nothing),
            (a, None, None, MergeStep::Nothing),
            (None, None, None, MergeStep::Nothing),
            (a, b, None, MergeStep::Keep),
            (None, a, None, MergeStep::Keep),
            (a, b, c, MergeStep::KeepBoth),
            (None, a, b, MergeStep::KeepBoth),
        ] {
            assert_eq!(
                merge_step(common, folder, other),
                expected,
                "{common:?} {folder:?} {other:?}"
            );
        }
    }

    #[test]
    fn copies_are_named_after_the_note_and_the_text() {
        let hash = TextHash(0x0123_4567_89ab_cdef << 64);
        for (path, expected) in [
            ("moss.md", "moss (conflict 01234567).md"),
            ("v1.2/wood/fern.draft.md", "v1.2/wood/fern.draft (conflict 01234567).md"),
            ("v1.2/plain", "v1.2/plain (conflict 01234567)"),
        ] {
            assert_eq!(conflict_path(path, hash, 8), expected);
        }
    }
}
