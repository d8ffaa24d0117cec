//! Builds the coverage report: the indexing state of each file.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use weft_index::Snapshot;
use weft_index::notes::{FileMetadata, Issue, VaultId};
use weft_model::id::without_markdown_extension;
use weft_model::{Diagnostic, NoteId, NotePath, Severity, fold};

use crate::index_status::{FileCoverage, FileState};
use crate::shared_status::UnindexedFile;

/// Returns the row of a note. `missing` holds notes kept without a file; `reread` holds the metadata of files that were saved again without a change.
pub(crate) fn of_note(
    snapshot: &Snapshot,
    id: NoteId,
    missing: &BTreeMap<VaultId, BTreeSet<NotePath>>,
    reread: &HashMap<(VaultId, NotePath), FileMetadata>,
) -> Option<FileCoverage> {
    let notes = &snapshot.notes;
    let entry = notes.entry(id)?;
    let mut diagnostics = entry.diagnostics.clone();
    if missing.get(&entry.vault).is_some_and(|paths| paths.contains(&entry.note.path)) {
        diagnostics.push(Diagnostic {
            severity: Severity::Warning,
            code: "missing-file".into(),
            message: "The file is missing. The note is kept until the deletion is confirmed: restore the file, or run `weft confirm-deletions`.".into(),
            line: None,
        });
    }
    let mut unresolved = Vec::new();
    for issue in notes.issues(id) {
        let (code, message) = match issue {
            Issue::UnresolvedLink { target } => {
                unresolved.push(target);
                continue;
            }
            Issue::DuplicateUri { claimed, winner } => (
                "duplicate-uri",
                format!(
                    "The uri `{claimed}` is already used by `{winner}`, so this note has the uri `{}`; give one of them another uri.",
                    notes.graph().uri(id)
                ),
            ),
            Issue::AmbiguousLink { target, candidates } => {
                let paths: Vec<String> =
                    candidates.iter().map(|path| format!("`{path}`")).collect();
                (
                    "ambiguous-link",
                    format!(
                        "The link `{target}` matches {}; the first one is used. Write the path to choose another.",
                        paths.join(", ")
                    ),
                )
            }
            Issue::NothingAtRoot { target, other } => (
                "nothing-at-root",
                format!(
                    "The link `{target}` starts at the vault's root, where no note has this path; the note `{other}` has this name. Leave out the first `/` to link to it."
                ),
            ),
            Issue::UnknownFragment { target, fragment } => (
                "unknown-fragment",
                format!(
                    "The link `{target}#{fragment}` names a heading or block that the note does not have; correct it."
                ),
            ),
            Issue::AmbiguousFragment { target, fragment, others } => {
                let others: Vec<String> =
                    others.iter().map(|anchor| format!("`#{anchor}`")).collect();
                (
                    "ambiguous-fragment",
                    format!(
                        "The link `{target}#{fragment}` matches several headings; the first one is used. Link to {} for another.",
                        others.join(", ")
                    ),
                )
            }
        };
        diagnostics.push(Diagnostic {
            severity: Severity::Notice,
            code: code.into(),
            message,
            line: None,
        });
    }
    let is_fresh = snapshot.is_embedding_current(id);
    let saved = reread.get(&(entry.vault, entry.note.path.clone()));
    let file = saved.filter(|file| file.hash == entry.file.hash).unwrap_or(&entry.file);
    Some(FileCoverage {
        vault: vault_name(snapshot, entry.vault),
        path: entry.note.path.as_str().to_owned(),
        state: if is_fresh { FileState::Indexed } else { FileState::Pending },
        reason: (!is_fresh).then(|| "its vectors are still being computed".to_owned()),
        uri: Some(notes.graph().uri(id).to_string()),
        hash: Some(file.hash),
        modified_ns: file.modified_ns,
        n_chunks: entry.chunks.len(),
        n_links: notes.resolved(id).map_or(0, |own| own.targets.iter().flatten().count()),
        unresolved,
        diagnostics,
    })
}

/// Returns the row of a file that is not indexed.
pub(crate) fn of_unindexed(
    snapshot: &Snapshot,
    vault: VaultId,
    path: &str,
    file: &UnindexedFile,
) -> FileCoverage {
    let UnindexedFile { state, reason, facts } = file;
    FileCoverage {
        vault: vault_name(snapshot, vault),
        path: path.to_owned(),
        state: *state,
        reason: Some(reason.clone()),
        uri: None,
        hash: Some(facts.hash).filter(|hash| hash.0 != 0),
        modified_ns: facts.modified_ns,
        n_chunks: 0,
        n_links: 0,
        unresolved: Vec::new(),
        diagnostics: Vec::new(),
    }
}

/// Returns true if `name` is the path of this unindexed file, or a path inside this unindexed folder.
pub(crate) fn is_at(file: &FileCoverage, name: &str) -> bool {
    let own = name.strip_prefix(file.vault.as_str()).and_then(|rest| rest.strip_prefix(':'));
    let (path, name) = (fold(&file.path), fold(own.unwrap_or(name)));
    if path.ends_with('/') {
        name.starts_with(&path)
    } else {
        without_markdown_extension(&path) == without_markdown_extension(&name)
    }
}

/// Returns true if this unindexed file has the file name `name`, in any folder.
pub(crate) fn is_called(file: &FileCoverage, name: &str) -> bool {
    let path = fold(&file.path);
    let own = path.rsplit('/').next().unwrap_or_default();
    !own.is_empty() && without_markdown_extension(own) == without_markdown_extension(&fold(name))
}

fn vault_name(snapshot: &Snapshot, id: VaultId) -> String {
    snapshot.notes.vault(id).map_or_else(String::new, |info| info.name.clone())
}
