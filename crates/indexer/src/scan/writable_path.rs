//! Determines where a note may be written: inside the vault, and where a scan would read it.

use std::io;
use std::path::{Path, PathBuf};

use weft_model::text::nfc;
use weft_model::{NoteKind, NotePath};

use super::scan_area::AreaPart;
use super::{IgnoreRules, NOT_LISTED, PendingFolder, ScanError, ScanOptions, VaultWalk, hidden};

/// Why a note cannot be written at a path: one sentence.
pub type PathProblem = String;

/// The file that a note's path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WritablePath {
    /// With the links of its folder resolved; it may be a link itself.
    pub named: PathBuf,
    /// With all links resolved.
    pub real: PathBuf,
}

/// Maximum number of folders in the path of a file that is written, and its name. Each new folder is made durable on its own.
const MAX_SEGMENTS: usize = 64;

/// Validates `path` as the path of a Markdown file in a vault: `/` between segments, NFC, a Markdown extension.
pub fn note_path(path: &str) -> Result<NotePath, PathProblem> {
    path_of_kind(path, NoteKind::Markdown)
}

/// Validates `path` as the path of a file in a vault: `/` between segments, NFC, an extension of `kind`.
pub fn path_of_kind(path: &str, kind: NoteKind) -> Result<NotePath, PathProblem> {
    let path = vault_path(path)?;
    let n_segments = path.as_str().split('/').count();
    if n_segments > MAX_SEGMENTS {
        return Err(format!(
            "the path has {n_segments} segments, and notes are written to at most {MAX_SEGMENTS}"
        ));
    }
    match NoteKind::of(path.as_str()) {
        Some(own) if own == kind => Ok(path),
        Some(other) if kind == NoteKind::Markdown => {
            let [extension, ..] = other.extensions() else { return Ok(path) };
            Err(format!(
                "`{path}` must end in .md or .markdown; files that end in .{extension} are only read"
            ))
        }
        Some(_) | None => {
            let extensions: Vec<String> =
                kind.extensions().iter().map(|extension| format!(".{extension}")).collect();
            Err(format!("`{path}` must end in {}", extensions.join(" or ")))
        }
    }
}

/// Validates `path` as the path of a file in a vault: `/` between segments, NFC.
pub(crate) fn vault_path(path: &str) -> Result<NotePath, PathProblem> {
    let path = nfc(path);
    let refused = |reason: &str| Err(format!("`{path}` {reason}"));
    if path.starts_with('/') {
        return refused("begins with `/`; write the path relative to the vault");
    }
    if path.contains(['\\', '\0', '\n', '\r']) {
        return refused(
            "contains a character that note paths cannot have: `\\`, NUL or a line break",
        );
    }
    for segment in path.split('/') {
        match segment {
            "" => return refused("contains an empty segment (`//`)"),
            "." | ".." => {
                return refused("contains `.` or `..`; write the path relative to the vault");
            }
            name if hidden(name.as_ref()).is_some() => {
                return refused(
                    "is not in a place where notes are read: it is hidden or inside `node_modules`",
                );
            }
            _ => {}
        }
    }
    Ok(NotePath::new(path))
}

/// Returns the file for `path` in the vault at `root`, existing or not, if a scan would read it there.
///
/// Follows a link as long as it stays in the vault.
/// The inner error states why a note cannot be written there.
pub fn writable_path(
    root: &Path,
    options: &ScanOptions,
    path: &NotePath,
) -> Result<Result<WritablePath, PathProblem>, ScanError> {
    let mut walk = VaultWalk::new(root, options)?;
    let unreadable = |source| ScanError::Read { path: root.to_owned(), source };
    let mut folder = PendingFolder::top(walk.root.clone(), AreaPart::All);
    let names: Vec<&str> = path.as_str().split('/').collect();
    let (name, folders) = names.split_last().map_or(("", &[][..]), |(name, rest)| (*name, rest));
    for name in folders {
        let rules = walk.rules(&folder, NOT_LISTED).map_err(unreadable)?;
        let inner = spelled_as(&folder.path, name);
        if let Some(rule) = walk.kept_out(&inner, true, rules.as_deref()) {
            return Ok(Err(format!("`{path}` would not be indexed: {rule}")));
        }
        folder = PendingFolder { path: inner, rules, ..folder };
    }
    let rules = walk.rules(&folder, NOT_LISTED).map_err(unreadable)?;
    let file = spelled_as(&folder.path, name);
    if let Some(rule) = not_read(&walk, &file, rules.as_deref()) {
        return Ok(Err(format!("`{path}` would not be indexed: {rule}")));
    }
    if file.is_symlink() && !file.exists() {
        return Ok(Err(format!("`{path}` is a symbolic link whose target cannot be reached")));
    }
    let inside = |file: &Path| {
        resolved(file).filter(|Resolved { path, nearest: _ }| path.starts_with(&walk.root))
    };
    let named = file.parent().zip(file.file_name());
    let named = named.and_then(|(folder, name)| Some(inside(folder)?.path.join(name)));
    let (Some(named), Some(Resolved { path: real, nearest })) = (named, inside(&file)) else {
        return Ok(Err(format!("`{path}` is outside the vault")));
    };
    if real.exists() && !real.is_file() {
        return Ok(Err(format!("`{path}` is not a regular file")));
    }
    Ok(match impossible(&nearest, &real) {
        Some(reason) => Err(format!("`{path}` {reason}")),
        None => Ok(WritablePath { named, real }),
    })
}

/// A path with all links resolved.
struct Resolved {
    path: PathBuf,
    /// Deepest ancestor that exists, or the path itself.
    nearest: PathBuf,
}

/// Resolves the links of a path whose last components may not exist; `None` if no component can be reached.
fn resolved(path: &Path) -> Option<Resolved> {
    let reached = |above: &Path| Some((path.strip_prefix(above).ok()?, above.canonicalize().ok()?));
    let (below, nearest) = path.ancestors().find_map(reached)?;
    // Joining an empty path would add a separator.
    let is_all = below.as_os_str().is_empty();
    let path = if is_all { nearest.clone() } else { nearest.join(below) };
    Some(Resolved { path, nearest })
}

/// Returns why no file can be created at `file`, whose deepest existing ancestor is `nearest`, as far as that can be determined without creating it.
fn impossible(nearest: &Path, file: &Path) -> Option<&'static str> {
    let too_long = |path: &Path| {
        let facts = path.symlink_metadata();
        facts.is_err_and(|error| error.kind() == io::ErrorKind::InvalidFilename)
    };
    // The system does not check names below a folder that does not exist.
    let mut names = file.strip_prefix(nearest).unwrap_or(file).iter();
    if nearest != file && !nearest.is_dir() {
        Some("is below a file instead of a folder")
    } else if too_long(file) || names.any(|name| too_long(&nearest.join(name))) {
        Some("is longer than this file system allows")
    } else {
        None
    }
}

fn not_read(walk: &VaultWalk, file: &Path, rules: Option<&IgnoreRules>) -> Option<String> {
    walk.kept_out(file, false, rules).or_else(|| {
        let included = walk.include.is_empty()
            || walk.include.matched_path_or_any_parents(file, false).is_ignore();
        (!included).then(|| "no glob of `scan.include` matches it".to_owned())
    })
}

/// Returns the entry of `folder` that equals `name` in NFC, as the file system spells it; `name` itself if no entry matches.
fn spelled_as(folder: &Path, name: &str) -> PathBuf {
    let written = folder.join(name);
    if written.symlink_metadata().is_ok() {
        return written;
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let same = |entry: &std::fs::DirEntry| {
        entry.file_name().to_str().is_some_and(|other| nfc(other) == name)
    };
    entries.filter(same).map(|entry| entry.path()).min().unwrap_or(written)
}
