//! Where a note may be written: inside the vault, and where a scan would read it.

use std::io;
use std::path::{Path, PathBuf};

use weft_model::NotePath;
use weft_model::text::nfc;

use super::area::Part;
use super::{Folder, NOT_LISTED, Rules, ScanError, ScanOptions, Walk, hidden, is_markdown};

/// Why a note cannot be written at a path: one sentence for a person.
pub type Refusal = String;

/// Where the file of a path lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// As it is named, which may be a link.
    pub named: PathBuf,
    /// Behind all links.
    pub real: PathBuf,
}

/// Reads `path` as a note's path in a vault: `/` between segments, NFC, a Markdown extension.
pub fn note_path(path: &str) -> Result<NotePath, Refusal> {
    let path = nfc(path);
    let refused = |reason: &str| Err(format!("`{path}` {reason}"));
    if path.starts_with('/') {
        return refused("is no path in a vault: it begins with `/`");
    }
    if path.contains(['\\', '\0', '\n', '\r']) {
        return refused("holds a character that no path of a note has");
    }
    for segment in path.split('/') {
        match segment {
            "" => return refused("holds an empty segment"),
            "." | ".." => {
                return refused("holds `.` or `..`; write the path from the vault's root");
            }
            name if hidden(name.as_ref()).is_some() => {
                return refused("lies where notes are not read: hidden, or in node_modules");
            }
            _ => {}
        }
    }
    if !is_markdown(Path::new(&path)) {
        return refused("does not end in .md or .markdown");
    }
    Ok(NotePath::new(path))
}

/// The file at `path` in the vault at `root`, existing or not, if a scan would read it there.
///
/// A link is followed as long as it stays in the vault.
/// The inner error says why a note cannot be written there.
pub fn place(
    root: &Path,
    options: &ScanOptions,
    path: &NotePath,
) -> Result<Result<Placed, Refusal>, ScanError> {
    let mut walk = Walk::new(root, options)?;
    let unreadable = |source| ScanError::Read { path: root.to_owned(), source };
    let mut folder = Folder::top(walk.root.clone(), Part::All);
    let names: Vec<&str> = path.as_str().split('/').collect();
    let (name, folders) = names.split_last().map_or(("", &[][..]), |(name, rest)| (*name, rest));
    for name in folders {
        let rules = walk.rules(&folder, NOT_LISTED).map_err(unreadable)?;
        let inner = spelled_as(&folder.path, name);
        if let Some(rule) = walk.kept_out(&inner, true, rules.as_deref()) {
            return Ok(Err(format!("`{path}` would not be read: {rule}")));
        }
        folder = Folder { path: inner, rules, ..folder };
    }
    let rules = walk.rules(&folder, NOT_LISTED).map_err(unreadable)?;
    let file = spelled_as(&folder.path, name);
    if let Some(rule) = not_read(&walk, &file, rules.as_deref()) {
        return Ok(Err(format!("`{path}` would not be read: {rule}")));
    }
    let real = match file.canonicalize() {
        Ok(real) => real,
        Err(_) if file.is_symlink() => {
            return Ok(Err(format!("`{path}` is a symbolic link that leads nowhere")));
        }
        Err(_) => file.clone(),
    };
    let nearest = real.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((nearest, _)) = nearest.filter(|(_, above)| above.starts_with(&walk.root)) else {
        return Ok(Err(format!("`{path}` leads out of the vault")));
    };
    if real.exists() && !real.is_file() {
        return Ok(Err(format!("`{path}` is no regular file")));
    }
    Ok(match impossible(nearest, &real) {
        Some(reason) => Err(format!("`{path}` {reason}")),
        None => Ok(Placed { named: file, real }),
    })
}

/// Why no file can be made at `file`, of which `nearest` is as much as there is: that alone can be told without making it.
fn impossible(nearest: &Path, file: &Path) -> Option<&'static str> {
    let too_long = |path: &Path| {
        let facts = path.symlink_metadata();
        facts.is_err_and(|error| error.kind() == io::ErrorKind::InvalidFilename)
    };
    // Below a folder that is not there, the system looks at no name.
    let mut names = file.strip_prefix(nearest).unwrap_or(file).iter();
    if nearest != file && !nearest.is_dir() {
        Some("lies below a file, which holds no notes")
    } else if too_long(file) || names.any(|name| too_long(&nearest.join(name))) {
        Some("is longer than this file system allows")
    } else {
        None
    }
}

fn not_read(walk: &Walk, file: &Path, rules: Option<&Rules>) -> Option<String> {
    walk.kept_out(file, false, rules).or_else(|| {
        let included = walk.include.is_empty()
            || walk.include.matched_path_or_any_parents(file, false).is_ignore();
        (!included).then(|| "no glob of `scan.include` names it".to_owned())
    })
}

/// The entry of `folder` that reads `name` in NFC, as the file system spells it; `name` itself where there is none.
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
