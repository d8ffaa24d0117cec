//! The coverage ledger: what became of each file.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use weft_index::Snapshot;
use weft_index::notes::{FileFacts, Issue, VaultId};
use weft_model::id::without_markdown_extension;
use weft_model::{Diagnostic, NoteId, NotePath, Severity, fold};

use crate::board::Absent;
use crate::status::{FileCoverage, FileState};

/// The line of a note; `missing` are those that are kept without a file, `reread` tells of files that were saved since and say the same.
pub(crate) fn of_note(
    snapshot: &Snapshot,
    id: NoteId,
    missing: &BTreeMap<VaultId, BTreeSet<NotePath>>,
    reread: &HashMap<(VaultId, NotePath), FileFacts>,
) -> Option<FileCoverage> {
    let notes = &snapshot.notes;
    let entry = notes.entry(id)?;
    let mut diagnostics = entry.diagnostics.clone();
    if missing.get(&entry.vault).is_some_and(|paths| paths.contains(&entry.note.path)) {
        diagnostics.push(Diagnostic {
            severity: Severity::Warning,
            code: "missing-file".into(),
            message: "The file is missing; the note is kept until that is confirmed.".into(),
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
                    "`{claimed}` is the uri of `{winner}`; this note is `{}`.",
                    notes.graph().uri(id)
                ),
            ),
            Issue::AmbiguousLink { target, candidates } => {
                let paths: Vec<String> =
                    candidates.iter().map(|path| format!("`{path}`")).collect();
                (
                    "ambiguous-link",
                    format!("`{target}` could mean {}; the first was taken.", paths.join(", ")),
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
    let is_fresh = snapshot.is_fresh(id);
    let saved = reread.get(&(entry.vault, entry.note.path.clone()));
    let file = saved.filter(|file| file.hash == entry.file.hash).unwrap_or(&entry.file);
    Some(FileCoverage {
        vault: vault_name(snapshot, entry.vault),
        path: entry.note.path.as_str().to_owned(),
        state: if is_fresh { FileState::Indexed } else { FileState::Pending },
        reason: (!is_fresh).then(|| "its vectors are on their way".to_owned()),
        uri: Some(notes.graph().uri(id).to_string()),
        hash: Some(file.hash),
        modified_ns: file.modified_ns,
        n_chunks: entry.chunks.len(),
        n_links: notes.resolved(id).map_or(0, |own| own.targets.iter().flatten().count()),
        unresolved,
        diagnostics,
    })
}

/// The line of a file that is not in the index.
pub(crate) fn of_absent(
    snapshot: &Snapshot,
    vault: VaultId,
    path: &str,
    file: &Absent,
) -> FileCoverage {
    let Absent { state, reason, facts } = file;
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

/// Whether a file that is not in the index lies at `name`, or its folder above it.
pub(crate) fn is_at(file: &FileCoverage, name: &str) -> bool {
    let own = name.strip_prefix(file.vault.as_str()).and_then(|rest| rest.strip_prefix(':'));
    let (path, name) = (fold(&file.path), fold(own.unwrap_or(name)));
    if path.ends_with('/') {
        name.starts_with(&path)
    } else {
        without_markdown_extension(&path) == without_markdown_extension(&name)
    }
}

/// Whether a file that is not in the index has this name, in whatever folder.
pub(crate) fn is_called(file: &FileCoverage, name: &str) -> bool {
    let path = fold(&file.path);
    let own = path.rsplit('/').next().unwrap_or_default();
    !own.is_empty() && without_markdown_extension(own) == without_markdown_extension(&fold(name))
}

fn vault_name(snapshot: &Snapshot, id: VaultId) -> String {
    snapshot.notes.vault(id).map_or_else(String::new, |info| info.name.clone())
}
