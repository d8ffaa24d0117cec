//! The scan: which files of a vault are notes, and why the others are not.
//!
//! Honours `.gitignore` (also outside a repository), `.ignore` and `.weftignore`.
//! Folders whose name begins with a dot, `.obsidian`, `.trash` and `.git` among them, and `node_modules` are never entered.
//! Nothing outside the vault's real folder is read, wherever a symbolic link leads.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ignore::overrides::OverrideBuilder;
use ignore::{DirEntry, WalkBuilder};
use serde::{Deserialize, Serialize};
use weft_index::notes::FileFacts;
use weft_model::NotePath;
use weft_model::id::{MARKDOWN_EXTENSIONS, without_markdown_extension};
use weft_model::text::nfc;

/// Which files are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScanOptions {
    /// Globs of which a file must match one; none means all files.
    pub include: Vec<String>,
    /// Globs that keep files and folders out.
    pub exclude: Vec<String>,
    /// Bytes of the largest file that is read.
    pub max_file_bytes: u64,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self { include: Vec::new(), exclude: Vec::new(), max_file_bytes: 64 << 20 }
    }
}

/// A file to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its path in the vault.
    pub path: NotePath,
    /// Where it lies, as the file system spells it.
    pub file: PathBuf,
    /// What the file system says of it; the hash is not known yet.
    pub facts: FileFacts,
}

/// A file that is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its path in the vault; what is no Unicode is replaced.
    pub path: String,
    /// One sentence for a person.
    pub reason: String,
    /// Whether it should have been read and could not.
    pub failed: bool,
}

/// What lies in a vault, sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Files to be read.
    pub found: Vec<Found>,
    /// Markdown files and folders that are not, each with its reason; what ignore rules hide is not listed.
    pub skipped: Vec<Skipped>,
}

/// Why a vault or a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The file system refused.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// What.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A glob of the settings is none.
    #[error("`{glob}` is no glob: {reason}")]
    Glob {
        /// The glob.
        glob: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A path leads out of the vault.
    #[error("{} lies outside the vault", path.display())]
    Outside {
        /// The path.
        path: PathBuf,
    },
}

/// Looks through the vault at `root`.
///
/// Fails when the root itself cannot be read; a file or folder below it that cannot is listed and the rest goes on.
pub fn scan(root: &Path, options: &ScanOptions) -> Result<Scan, ScanError> {
    let real_root = real(root)?;
    std::fs::read_dir(&real_root).map_err(|source| ScanError::Read { path: root.to_owned(), source })?;
    let mut builder = WalkBuilder::new(&real_root);
    builder
        .hidden(true)
        .parents(false)
        .require_git(false)
        .git_global(false)
        .git_exclude(false)
        .follow_links(true)
        .add_custom_ignore_filename(".weftignore")
        .overrides(overrides(&real_root, options)?)
        .sort_by_file_name(Ord::cmp);
    let inside = real_root.clone();
    builder.filter_entry(move |entry| {
        entry.file_name() != "node_modules"
            && !(entry.path_is_symlink() && !real(entry.path()).is_ok_and(|path| path.starts_with(&inside)))
    });
    let mut found: BTreeMap<NotePath, Found> = BTreeMap::new();
    let mut skipped = Vec::new();
    for entry in builder.build() {
        match entry {
            Ok(entry) => sort_in(&real_root, &entry, options, &mut found, &mut skipped),
            Err(error) => skipped.push(unreadable(&real_root, &error)),
        }
    }
    skipped.extend(links_that_leave(&real_root));
    skipped.sort_by(|a, b| (&a.path, &a.reason).cmp(&(&b.path, &b.reason)));
    skipped.dedup();
    Ok(Scan { found: found.into_values().collect(), skipped })
}

/// The bytes of a found file; fails when it has come to lie outside the vault.
pub fn read(root: &Path, found: &Found) -> Result<Vec<u8>, ScanError> {
    let path = real(&found.file)?;
    if !path.starts_with(real(root)?) {
        return Err(ScanError::Outside { path: found.file.clone() });
    }
    let mut bytes = Vec::new();
    std::fs::File::open(&path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(|source| ScanError::Read { path: found.file.clone(), source })?;
    Ok(bytes)
}

fn overrides(root: &Path, options: &ScanOptions) -> Result<ignore::overrides::Override, ScanError> {
    let mut builder = OverrideBuilder::new(root);
    let excluded = options.exclude.iter().map(|glob| (glob, format!("!{glob}")));
    for (glob, rule) in options.include.iter().map(|glob| (glob, glob.clone())).chain(excluded) {
        builder.add(&rule).map_err(|error| ScanError::Glob { glob: glob.clone(), reason: error.to_string() })?;
    }
    builder.build().map_err(|error| ScanError::Glob { glob: String::new(), reason: error.to_string() })
}

fn sort_in(
    root: &Path,
    entry: &DirEntry,
    options: &ScanOptions,
    found: &mut BTreeMap<NotePath, Found>,
    skipped: &mut Vec<Skipped>,
) {
    if !is_markdown(entry.path()) {
        return;
    }
    let name = shown(root, entry.path());
    let mut skip = |reason: String, failed| skipped.push(Skipped { path: name.clone(), reason, failed });
    let facts = match entry.metadata() {
        Ok(facts) if facts.is_dir() => return,
        Ok(facts) if !facts.is_file() => return skip("it is no regular file".into(), false),
        Ok(facts) => facts,
        Err(error) => return skip(format!("it cannot be read: {error}"), true),
    };
    let Some(path) = vault_path(root, entry.path()) else {
        return skip("its name is not valid Unicode".into(), true);
    };
    if facts.len() > options.max_file_bytes {
        let reason = format!("it has {} bytes, more than `scan.max_file_bytes` = {}", facts.len(), options.max_file_bytes);
        return skip(reason, false);
    }
    let file = Found { path: path.clone(), file: entry.path().to_owned(), facts: file_facts(&facts) };
    match found.entry(path) {
        std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(file)),
        std::collections::btree_map::Entry::Occupied(other) => {
            let reason = format!("its name is, in another spelling of Unicode, that of `{}`", other.key());
            skip(reason, true);
        }
    }
}

fn is_markdown(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| MARKDOWN_EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// The path in the vault: `/` between segments, NFC; nothing for a name that is no Unicode.
fn vault_path(root: &Path, path: &Path) -> Option<NotePath> {
    let segments: Option<Vec<&str>> =
        path.strip_prefix(root).ok()?.components().map(|segment| segment.as_os_str().to_str()).collect();
    let path = nfc(&segments?.join("/"));
    (!without_markdown_extension(&path).is_empty()).then(|| NotePath::new(path))
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

fn unreadable(root: &Path, error: &ignore::Error) -> Skipped {
    fn path_in(error: &ignore::Error) -> Option<&Path> {
        match error {
            ignore::Error::WithPath { path, .. } => Some(path),
            ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_in(err),
            ignore::Error::Loop { child, .. } => Some(child),
            ignore::Error::Partial(errors) => errors.iter().find_map(path_in),
            ignore::Error::Io(_)
            | ignore::Error::Glob { .. }
            | ignore::Error::UnrecognizedFileType(_)
            | ignore::Error::InvalidDefinition => None,
        }
    }
    let path = path_in(error).map_or_else(String::new, |path| shown(root, path));
    match error {
        ignore::Error::WithDepth { err, .. } if matches!(**err, ignore::Error::Loop { .. }) => {
            Skipped { path, reason: "it is a symbolic link to a folder above it".into(), failed: false }
        }
        _ => Skipped { path, reason: format!("it cannot be read: {error}"), failed: true },
    }
}

/// Symbolic links that lead out of the vault, or nowhere: the walk passes over them in silence.
fn links_that_leave(root: &Path) -> Vec<Skipped> {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(true).parents(false).require_git(false).git_global(false).git_exclude(false).follow_links(false);
    walk.add_custom_ignore_filename(".weftignore").filter_entry(|entry| entry.file_name() != "node_modules");
    let links = walk.build().flatten().filter(DirEntry::path_is_symlink);
    links
        .filter_map(|entry| {
            let reason = match real(entry.path()) {
                Ok(path) if path.starts_with(root) => return None,
                Ok(_) => "it is a symbolic link that leaves the vault",
                Err(_) => "it is a symbolic link that leads nowhere",
            };
            Some(Skipped { path: shown(root, entry.path()), reason: reason.into(), failed: false })
        })
        .collect()
}

fn real(path: &Path) -> Result<PathBuf, ScanError> {
    path.canonicalize().map_err(|source| ScanError::Read { path: path.to_owned(), source })
}

fn file_facts(facts: &std::fs::Metadata) -> FileFacts {
    let modified = facts.modified().ok();
    let modified_ns = modified.map_or(0, |time| match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    });
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(facts);
    #[cfg(not(unix))]
    let inode = 0;
    FileFacts { size: facts.len(), modified_ns, inode, ..FileFacts::default() }
}
