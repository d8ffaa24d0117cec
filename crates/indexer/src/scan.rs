//! Scans a vault: finds the files that are notes, and reports why others are skipped.
//!
//! Respects `.gitignore` (also outside a repository), `.ignore` and `.weftignore` files inside the vault.
//! Skips notes and folders whose name begins with a dot (`.obsidian`, `.trash`, `.git` and others), and `node_modules`; they are reported but never opened.
//! Never reads anything outside the vault's real folder, wherever a symbolic link points.
//!
//! Uses the ignore rules of the `ignore` crate but not its walker, which does not report what it skips.

mod scan_area;
mod writable_path;

use std::collections::HashSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::{File, FileType};
use std::io::Read as _;
#[cfg(target_os = "linux")]
use std::path::Component;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::{Deserialize, Serialize};
use weft_index::notes::FileMetadata;
use weft_model::text::nfc;
use weft_model::{NoteKind, NotePath};

pub use scan_area::ScanArea;
use scan_area::{AreaPart, spelled};
pub(crate) use writable_path::vault_path;
pub use writable_path::{PathProblem, WritablePath, note_path, path_of_kind, writable_path};

use crate::canvas_rewrite;
use crate::parallel_map::parallel_map;
use crate::vault_files::{self, is_temp_file};

/// Ignore files, by descending precedence.
const RULE_FILES: [&str; 3] = [".weftignore", ".ignore", ".gitignore"];

/// Maximum size of a file of ignore rules in bytes.
const MAX_RULE_BYTES: u64 = 1 << 20;

/// Maximum number of folders to list before the first of them is processed: enough work for all cores, few enough to hold their entries in memory.
const FOLDERS_AT_ONCE: usize = 1024;

/// Returns why an entry of this name is always skipped; `None` if it is not.
fn hidden(name: &OsStr) -> Option<&'static str> {
    if name == "node_modules" {
        Some("`node_modules` folders are not scanned for notes")
    } else {
        name.as_encoded_bytes()
            .starts_with(b".")
            .then_some("its name begins with a dot, which marks hidden files")
    }
}

/// Which files to read. Globs use the syntax of `.gitignore`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScanOptions {
    /// Globs of which a file, or a folder above it, must match at least one; an empty list includes all files.
    pub include: Vec<String>,
    /// Globs of files and folders to exclude.
    pub exclude: Vec<String>,
    /// Maximum size of a file to read, in bytes.
    pub max_file_bytes: u64,
    /// Kinds of files that are notes besides Markdown files.
    pub other_files: Vec<NoteKind>,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            include: Vec::new(),
            exclude: Vec::new(),
            max_file_bytes: 64 << 20,
            other_files: Vec::new(),
        }
    }
}

impl ScanOptions {
    /// Returns true if files of this kind are notes.
    #[must_use]
    pub fn reads(&self, kind: NoteKind) -> bool {
        kind == NoteKind::Markdown || self.other_files.contains(&kind)
    }
}

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScannedFile {
    /// Path in the vault.
    pub path: NotePath,
    /// Path in the file system, in its spelling.
    pub file: PathBuf,
    /// Metadata from the file system; the hash is not known yet.
    pub facts: FileMetadata,
}

/// A file that is not read, or a folder that is not entered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkippedEntry {
    /// Path in the vault, with a trailing `/` for a folder; invalid Unicode is replaced.
    pub path: String,
    /// One sentence that states the reason.
    pub reason: String,
    /// True if it should have been read but could not be.
    pub failed: bool,
}

/// The files in a vault, or in the scanned area, sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanResult {
    /// Files to read.
    pub found: Vec<ScannedFile>,
    /// Other files that the scan was asked for; their contents are not examined. [`scan`] asks for JSON Canvas documents.
    pub(crate) attachments: Vec<NotePath>,
    /// Files of notes and folders that were skipped, each with a reason.
    pub skipped: Vec<SkippedEntry>,
    /// True if a file is reachable by several paths, through links or Unicode spellings.
    ///
    /// A change reported under one path may then affect another, so only a full scan is reliable.
    pub has_path_aliases: bool,
    /// Files entry like temporary files of a write; left over if a write was interrupted.
    pub(crate) leftover_temp_files: Vec<PathBuf>,
}

/// Why a vault or a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The file system returned an error.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A glob in the settings is invalid.
    #[error("invalid glob `{glob}`: {reason}")]
    Glob {
        /// The glob.
        glob: String,
        /// Reason why it is invalid.
        reason: String,
    },
    /// A path points outside the vault.
    #[error("{} is outside the vault", path.display())]
    Outside {
        /// The path.
        path: PathBuf,
    },
    /// A file has grown beyond the size limit.
    #[error("{} is larger than the limit of {max_bytes} bytes", path.display())]
    TooLong {
        /// The path.
        path: PathBuf,
        /// The limit, in bytes.
        max_bytes: u64,
    },
    /// A path points to something that is not a regular file, such as a pipe.
    #[error("{} is not a regular file", path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
    },
}

/// Scans `area` of the vault at `root`.
///
/// Deterministic and ordered by path; the result for an area equals the full result restricted to that area.
/// Fails if the root itself cannot be read. An unreadable file or folder below it is reported in the result, and the scan continues.
pub fn scan(root: &Path, options: &ScanOptions, area: &ScanArea) -> Result<ScanResult, ScanError> {
    scan_files(root, options, area, is_canvas)
}

/// Returns why `root` cannot be the folder of a vault; `None` if it is a folder.
#[must_use]
pub fn folder_problem(root: &Path) -> Option<String> {
    match root.metadata() {
        Ok(metadata) if metadata.is_dir() => None,
        Ok(_) => Some("it is not a folder".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// Scans the whole vault at `root`, and opens each file to read: one that cannot be opened is skipped.
pub fn scan_readable(root: &Path, options: &ScanOptions) -> Result<ScanResult, ScanError> {
    let mut scanned = scan(root, options, &ScanArea::WHOLE)?;
    for file in std::mem::take(&mut scanned.found) {
        match open(root, &file.file) {
            Ok(_) => scanned.found.push(file),
            Err(error) => {
                let reason = if let ScanError::Read { source, .. } = error {
                    format!("it cannot be read: {source}")
                } else {
                    error.to_string()
                };
                let path = file.path.as_str().to_owned();
                scanned.skipped.push(SkippedEntry { path, reason, failed: true });
            }
        }
    }
    scanned.skipped.sort();
    Ok(scanned)
}

/// Returns the paths of the files in the vault at `root` that `is_wanted` accepts and no rule excludes. The predicate is not asked about files of notes.
pub(crate) fn attachments(
    root: &Path,
    options: &ScanOptions,
    is_wanted: FileKind,
) -> Result<Vec<NotePath>, ScanError> {
    Ok(scan_files(root, options, &ScanArea::WHOLE, is_wanted)?.attachments)
}

/// Returns true for the files that a scan lists besides the notes.
type FileKind = fn(&Path) -> bool;

/// Scans `area` for files of notes, and lists the files that `is_wanted` accepts.
fn scan_files(
    root: &Path,
    options: &ScanOptions,
    area: &ScanArea,
    is_wanted: FileKind,
) -> Result<ScanResult, ScanError> {
    let mut walk = VaultWalk::new(root, options)?;
    let mut level = vec![PendingFolder::top(walk.root.clone(), area.part())];
    while !level.is_empty() {
        let mut inner = Vec::new();
        for folders in level.chunks(FOLDERS_AT_ONCE) {
            for (folder, listing) in folders.iter().zip(list(folders, options, is_wanted)) {
                match listing.and_then(|listing| walk.folder(folder, listing)) {
                    Ok(folders) => inner.extend(folders),
                    Err(source) if folder.path == walk.root => {
                        return Err(ScanError::Read { path: walk.root, source });
                    }
                    // It was deleted during the scan; the next scan will not see it.
                    Err(error) if is_gone(&error) => {}
                    Err(error) => {
                        walk.skip(&folder.path, true, format!("it cannot be read: {error}"), true);
                    }
                }
            }
        }
        level = inner;
    }
    let VaultWalk {
        found, attachments, mut skipped, has_path_aliases, leftover_temp_files, ..
    } = walk;
    skipped.sort();
    Ok(ScanResult {
        found: found.into_values().collect(),
        attachments,
        skipped,
        has_path_aliases,
        leftover_temp_files,
    })
}

fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Reads the file at `path` if it is below `root`.
///
/// Fails if it is outside, is not a regular file, or is larger than `max_bytes`.
pub fn read(root: &Path, path: &Path, max_bytes: u64) -> Result<Vec<u8>, ScanError> {
    let failed = |source| ScanError::Read { path: path.to_owned(), source };
    let file = open(root, path)?;
    let facts = file.metadata().map_err(failed)?;
    if !facts.is_file() {
        return Err(ScanError::NoFile { path: path.to_owned() });
    }
    // Reserve one byte more than the file has, so that a single read also finds its end.
    let length = usize::try_from(facts.len().min(max_bytes)).unwrap_or_default();
    let mut bytes = Vec::with_capacity(length + 1);
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > max_bytes {
        return Err(ScanError::TooLong { path: path.to_owned(), max_bytes });
    }
    Ok(bytes)
}

/// Opens the file at `path` if it is below `root`.
fn open(root: &Path, path: &Path) -> Result<File, ScanError> {
    open_unlinked(root, path).map_or_else(|| open_inside(root, path), Ok)
}

/// Opens `path` if it is below `root` and no component, including those of `root`, is a symbolic link.
///
/// One system call instead of one per folder, and no race between the check and the open.
/// `None` if this fails or the system does not support it; [`open_inside`] then opens the file or reports the error.
#[cfg(target_os = "linux")]
fn open_unlinked(root: &Path, path: &Path) -> Option<File> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fcntl_setfl, openat2};
    let is_plain = |below: &Path| below.components().all(|it| matches!(it, Component::Normal(_)));
    if !root.is_absolute() || !path.strip_prefix(root).is_ok_and(is_plain) {
        return None;
    }
    // The file type is checked after opening, so opening must neither wait for the writer of a pipe nor acquire a terminal.
    let how = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = openat2(CWD, path, how, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()?;
    // Reading may block again: some file systems would otherwise return "would block".
    fcntl_setfl(&opened, OFlags::empty()).ok()?;
    Some(File::from(opened))
}

#[cfg(not(target_os = "linux"))]
fn open_unlinked(_root: &Path, _path: &Path) -> Option<File> {
    None
}

/// Opens the file at `path`, following symbolic links, if it is a regular file below `root`; fails if a link on the way changes meanwhile.
fn open_inside(root: &Path, path: &Path) -> Result<File, ScanError> {
    let failed = |source| ScanError::Read { path: path.to_owned(), source };
    let target = real(path)?;
    // A prefix of a canonical path is canonical itself, unless it is empty.
    let is_inside = root.is_absolute() && target.starts_with(root);
    if !is_inside && !target.starts_with(real(root)?) {
        return Err(ScanError::Outside { path: path.to_owned() });
    }
    // Opening a pipe would wait for a writer.
    if !target.metadata().map_err(failed)?.is_file() {
        return Err(ScanError::NoFile { path: path.to_owned() });
    }
    vault_files::open(&target).map_err(failed)
}

/// A folder to scan.
struct PendingFolder {
    path: PathBuf,
    /// The canonical folders on the way to it, including itself.
    above: Vec<PathBuf>,
    /// The ignore rules of the folders above it.
    rules: Option<Arc<IgnoreRules>>,
    /// The part of it to scan.
    part: AreaPart,
}

impl PendingFolder {
    /// The vault's root folder.
    fn top(root: PathBuf, part: AreaPart) -> Self {
        Self { above: vec![root.clone()], path: root, rules: None, part }
    }

    fn list(&self) -> std::io::Result<FolderListing> {
        let AreaPart::Names(names) = &self.part else {
            let mut rules: RuleFilesPresent = [false; RULE_FILES.len()];
            let mut names = std::fs::read_dir(&self.path)?
                .map(|entry| {
                    let entry = entry?;
                    for (there, name) in rules.iter_mut().zip(RULE_FILES) {
                        *there |= entry.file_name().eq_ignore_ascii_case(name);
                    }
                    let kind = Some(entry.file_type()?);
                    Ok(FolderEntry { path: entry.path(), kind, part: AreaPart::All })
                })
                .collect::<std::io::Result<Vec<_>>>()?;
            // Entries of one folder differ only in their last component.
            names.sort_unstable_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
            return Ok(FolderListing { names, rules, has_path_aliases: false });
        };
        let mut has_path_aliases = false;
        let entry = |(name, part): (&OsString, &AreaPart)| {
            let path = self.path.join(name);
            let kind = path.symlink_metadata().ok().map(|facts| facts.file_type());
            let entry = FolderEntry { path, kind, part: part.clone() };
            // On a file system that ignores case or Unicode form, only a listing of the folder shows how names are spelled.
            let real = || entry.path.canonicalize();
            has_path_aliases |= !entry.is_link() && real().is_ok_and(|real| real != entry.path);
            entry
        };
        let names = names.iter().map(entry).collect();
        Ok(FolderListing { names, rules: NOT_LISTED, has_path_aliases })
    }
}

/// Which of [`RULE_FILES`] may be in a folder.
type RuleFilesPresent = [bool; RULE_FILES.len()];

/// For a folder that was not listed: all of them may be there.
const NOT_LISTED: RuleFilesPresent = [true; RULE_FILES.len()];

/// The entries of a folder to scan.
struct FolderListing {
    /// Sorted by name.
    names: Vec<FolderEntry>,
    rules: RuleFilesPresent,
    /// True if the file system spells a name differently.
    has_path_aliases: bool,
}

/// A name in a folder.
struct FolderEntry {
    path: PathBuf,
    /// File type, without following links; `None` if unknown.
    kind: Option<FileType>,
    /// The part to scan if it is a folder.
    part: AreaPart,
}

impl FolderEntry {
    fn is_link(&self) -> bool {
        self.kind.is_some_and(|kind| kind.is_symlink())
    }

    /// Returns the kind of the entry, following links, with as few system calls as possible.
    fn inspect(&self, options: &ScanOptions, is_wanted: FileKind) -> std::io::Result<EntryKind> {
        let is_note = is_note(&self.path, &options.other_files);
        let other = |is_file: bool| {
            if is_file && is_wanted(&self.path) { EntryKind::Attachment } else { EntryKind::Other }
        };
        match self.kind {
            Some(kind) if kind.is_dir() => return Ok(EntryKind::Folder),
            Some(kind) if !kind.is_symlink() && !is_note => return Ok(other(kind.is_file())),
            Some(_) | None => {}
        }
        let facts = self.path.metadata()?;
        Ok(if facts.is_dir() {
            EntryKind::Folder
        } else if is_note {
            EntryKind::Note {
                facts: file_facts(&facts),
                is_regular: facts.is_file(),
                has_other_names: has_other_names(&facts),
            }
        } else {
            other(facts.is_file())
        })
    }
}

/// The kind of an entry.
enum EntryKind {
    Folder,
    Note { facts: FileMetadata, is_regular: bool, has_other_names: bool },
    Attachment,
    Other,
}

/// Lists `folders` and reads the metadata of their entries, in parallel if there are many.
fn list(
    folders: &[PendingFolder],
    options: &ScanOptions,
    is_wanted: FileKind,
) -> Vec<std::io::Result<(FolderListing, Vec<std::io::Result<EntryKind>>)>> {
    let listings = on_all_cores(folders, PendingFolder::list);
    let names: Vec<&FolderEntry> =
        listings.iter().flatten().flat_map(|listing| &listing.names).collect();
    let mut kinds = on_all_cores(&names, |entry| entry.inspect(options, is_wanted)).into_iter();
    let mut with_kinds = |listing: FolderListing| {
        let kinds = kinds.by_ref().take(listing.names.len()).collect();
        (listing, kinds)
    };
    listings.into_iter().map(|listing| listing.map(&mut with_kinds)).collect()
}

/// Calls `ask` for each item on all cores; returns the results in order.
fn on_all_cores<Item: Sync, Answer: Send>(
    items: &[Item],
    ask: impl Fn(&Item) -> std::io::Result<Answer> + Sync,
) -> Vec<std::io::Result<Answer>> {
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut answers = Vec::with_capacity(items.len());
    let unknown = || Err(std::io::Error::other("reading its metadata failed"));
    let taken = parallel_map(
        items,
        &mut vec![(); n_cores],
        |_| 0,
        |(), item| ask(item),
        |_, answer| {
            answers.push(answer.unwrap_or_else(unknown));
            Ok::<(), Infallible>(())
        },
    );
    let Ok(()) = taken;
    answers
}

/// The ignore rules of one folder and of those above it.
struct IgnoreRules {
    above: Option<Arc<IgnoreRules>>,
    /// In the order of [`RULE_FILES`].
    files: [Gitignore; RULE_FILES.len()],
}

struct VaultWalk {
    root: PathBuf,
    include: Gitignore,
    exclude: Gitignore,
    max_file_bytes: u64,
    other_files: Vec<NoteKind>,
    /// Canonical folders that were entered through a link.
    linked: HashSet<PathBuf>,
    found: BTreeMap<NotePath, ScannedFile>,
    attachments: Vec<NotePath>,
    skipped: Vec<SkippedEntry>,
    has_path_aliases: bool,
    leftover_temp_files: Vec<PathBuf>,
}

impl VaultWalk {
    fn new(root: &Path, options: &ScanOptions) -> Result<Self, ScanError> {
        let root = real(root)?;
        Ok(Self {
            include: globs(&root, &options.include)?,
            exclude: globs(&root, &options.exclude)?,
            max_file_bytes: options.max_file_bytes,
            other_files: options.other_files.clone(),
            linked: HashSet::new(),
            found: BTreeMap::new(),
            attachments: Vec::new(),
            skipped: Vec::new(),
            has_path_aliases: false,
            leftover_temp_files: Vec::new(),
            root,
        })
    }

    /// Records the files of `folder` and returns its subfolders to scan.
    fn folder(
        &mut self,
        folder: &PendingFolder,
        (listing, kinds): (FolderListing, Vec<std::io::Result<EntryKind>>),
    ) -> std::io::Result<Vec<PendingFolder>> {
        self.has_path_aliases |= listing.has_path_aliases;
        let rules = self.rules(folder, listing.rules)?;
        let mut inner = Vec::new();
        for (entry, kind) in listing.names.into_iter().zip(kinds) {
            let (path, is_link) = (&entry.path, entry.is_link());
            let name = path.file_name().unwrap_or_default();
            if let Some(reason) = hidden(name) {
                self.leftover_temp_files
                    .extend(name.to_str().is_some_and(is_temp_file).then(|| path.clone()));
                if let Ok(EntryKind::Folder | EntryKind::Note { .. }) = kind {
                    let is_dir = matches!(kind, Ok(EntryKind::Folder));
                    self.skip(path, is_dir, reason.to_owned(), false);
                }
                continue;
            }
            match kind {
                Ok(EntryKind::Folder) => inner.extend(self.enter(folder, entry, rules.as_ref())),
                Ok(EntryKind::Note { facts, is_regular, has_other_names }) => {
                    self.has_path_aliases |= is_link || has_other_names;
                    self.file(entry, facts, is_regular, rules.as_deref());
                }
                // It was deleted after the folder was listed, or before it was requested.
                Err(error) if is_gone(&error) && !is_link => {}
                Err(error) if is_note(path, &self.other_files) => {
                    let reason = if is_link {
                        "it is a symbolic link whose target cannot be reached".to_owned()
                    } else {
                        format!("it cannot be read: {error}")
                    };
                    self.skip(path, false, reason, !is_link);
                }
                Ok(EntryKind::Attachment) => {
                    let is_kept_out = self.kept_out(path, false, rules.as_deref()).is_some();
                    if !is_kept_out && self.is_included(path) {
                        let path = self.vault_path(path);
                        self.attachments.extend(path);
                    }
                }
                Ok(EntryKind::Other) | Err(_) => {}
            }
        }
        Ok(inner)
    }

    /// Returns the folder `entry`, unless it is excluded.
    fn enter(
        &mut self,
        parent: &PendingFolder,
        entry: FolderEntry,
        rules: Option<&Arc<IgnoreRules>>,
    ) -> Option<PendingFolder> {
        let is_link = entry.is_link();
        let FolderEntry { path, kind: _, part } = entry;
        let mut above = parent.above.clone();
        let reason = if let Some(rule) = self.kept_out(&path, true, rules.map(Arc::as_ref)) {
            rule
        } else if path.to_str().is_none() {
            "its name is not valid Unicode; rename it".to_owned()
        } else if !is_link {
            above.extend(path.file_name().and_then(|name| Some(above.last()?.join(name))));
            return Some(PendingFolder { path, above, rules: rules.cloned(), part });
        } else {
            self.has_path_aliases = true;
            match path.canonicalize() {
                Ok(real) if !real.starts_with(&self.root) => {
                    "it is a symbolic link to a target outside the vault".to_owned()
                }
                Ok(real) if above.iter().any(|folder| folder.starts_with(&real)) => {
                    "it is a symbolic link to one of its own parent folders".to_owned()
                }
                // Links between many folders would open an exponential number of paths.
                Ok(real) if !self.linked.insert(real.clone()) => {
                    "it is a symbolic link to a folder that was already scanned through another link".to_owned()
                }
                Ok(real) => {
                    above.push(real);
                    return Some(PendingFolder { path, above, rules: rules.cloned(), part });
                }
                Err(error) => format!("it cannot be read: {error}"),
            }
        };
        self.skip(&path, true, reason, false);
        None
    }

    fn file(
        &mut self,
        entry: FolderEntry,
        facts: FileMetadata,
        is_regular: bool,
        rules: Option<&IgnoreRules>,
    ) {
        let is_link = entry.is_link();
        let file = entry.path;
        let leaves =
            || is_link && !file.canonicalize().is_ok_and(|real| real.starts_with(&self.root));
        let (reason, failed) = if let Some(rule) = self.kept_out(&file, false, rules) {
            (rule, false)
        } else if !self.is_included(&file) {
            ("no glob of `scan.include` matches it".to_owned(), false)
        } else if !is_regular {
            ("it is not a regular file".to_owned(), false)
        } else if leaves() {
            ("it is a symbolic link to a target outside the vault".to_owned(), false)
        } else if facts.size > self.max_file_bytes {
            let (size, max) = (facts.size, self.max_file_bytes);
            (format!("its {size} bytes exceed `scan.max_file_bytes` = {max}"), false)
        } else if let Some(path) = self.vault_path(&file) {
            return self.keep(ScannedFile { path, file, facts });
        } else {
            ("its name is not valid Unicode; rename it".to_owned(), true)
        };
        self.skip(&file, false, reason, failed);
    }

    /// Returns true if `scan.include` includes the file.
    fn is_included(&self, file: &Path) -> bool {
        self.include.is_empty() || self.include.matched_path_or_any_parents(file, false).is_ignore()
    }

    /// Keeps a file. If two names are equal in NFC, keeps the one spelled in NFC, or else the lower one.
    fn keep(&mut self, file: ScannedFile) {
        let rank =
            |file: &ScannedFile| (!file.file.ends_with(file.path.as_str()), file.file.clone());
        let loser = match self.found.entry(file.path.clone()) {
            Entry::Vacant(place) => {
                place.insert(file);
                return;
            }
            Entry::Occupied(mut place) if rank(&file) < rank(place.get()) => place.insert(file),
            Entry::Occupied(_) => file,
        };
        let reason =
            "another file has the same name in a different Unicode form; rename one of them"
                .to_owned();
        self.skip(&loser.file, false, reason, true);
    }

    /// Returns the ignore rules for `folder`. Fails if a rule file cannot be read, since files it excludes must not be indexed.
    fn rules(
        &mut self,
        folder: &PendingFolder,
        listed: RuleFilesPresent,
    ) -> std::io::Result<Option<Arc<IgnoreRules>>> {
        let mut any = false;
        let mut files = RULE_FILES.map(|_| Gitignore::empty());
        for ((rules, name), is_listed) in files.iter_mut().zip(RULE_FILES).zip(listed) {
            let path = folder.path.join(name);
            if !is_listed || !path.is_file() {
                continue;
            }
            let refused = |error: &dyn std::fmt::Display| {
                std::io::Error::other(format!("its rules in `{name}` cannot be read: {error}"))
            };
            // Like notes: a link must not show the text of a file outside the vault.
            let text = read(&self.root, &path, MAX_RULE_BYTES).map_err(|error| refused(&error))?;
            any = true;
            // A change to the link's target is reported under another path.
            self.has_path_aliases |= path.is_symlink();
            let mut builder = GitignoreBuilder::new(&folder.path);
            let text = String::from_utf8_lossy(&text);
            let mut invalid = None;
            for line in text.trim_start_matches('\u{feff}').lines() {
                invalid = invalid.or(builder.add_line(Some(path.clone()), line).err());
            }
            if let Some(error) = invalid {
                self.skip(&path, false, format!("some of its rules are invalid: {error}"), true);
            }
            *rules = builder.build().map_err(|error| refused(&error))?;
        }
        let above = folder.rules.clone();
        Ok(if any { Some(Arc::new(IgnoreRules { above, files })) } else { above })
    }

    /// Returns the rule that excludes `path`, as a reason.
    ///
    /// The first rule file that has a matching rule decides; within one kind of file, the nearest folder.
    fn kept_out(&self, path: &Path, is_dir: bool, rules: Option<&IgnoreRules>) -> Option<String> {
        if self.exclude.matched(path, is_dir).is_ignore() {
            return Some("a glob of `scan.exclude` matches it".to_owned());
        }
        for (kind, name) in RULE_FILES.iter().enumerate() {
            let mut next = rules;
            while let Some(folder) = next {
                match folder.files[kind].matched(path, is_dir) {
                    Match::Ignore(rule) => {
                        return Some(format!(
                            "the rule `{}` in a `{name}` file matches it",
                            rule.original()
                        ));
                    }
                    Match::Whitelist(_) => return None,
                    Match::None => next = folder.above.as_deref(),
                }
            }
        }
        None
    }

    fn skip(&mut self, path: &Path, is_dir: bool, reason: String, failed: bool) {
        let path = spelled(path.strip_prefix(&self.root).unwrap_or(path));
        let path = path + if is_dir { "/" } else { "" };
        self.skipped.push(SkippedEntry { path, reason, failed });
    }

    /// Returns the path in the vault: `/` between segments, NFC; `None` if the name is not valid Unicode.
    fn vault_path(&mut self, path: &Path) -> Option<NotePath> {
        let path = path.strip_prefix(&self.root).ok()?;
        let written = path.to_str()?;
        let spelled = spelled(path);
        self.has_path_aliases |= nfc(written) != written;
        Some(NotePath::new(spelled))
    }
}

/// Fails on the first invalid glob.
pub fn check_globs(globs: &[String]) -> Result<(), ScanError> {
    self::globs(Path::new("/"), globs).map(drop)
}

fn globs(root: &Path, globs: &[String]) -> Result<Gitignore, ScanError> {
    let failed = |glob: &str, error: &ignore::Error| ScanError::Glob {
        glob: glob.to_owned(),
        reason: error.to_string(),
    };
    let mut builder = GitignoreBuilder::new(root);
    builder.allow_unclosed_class(false);
    for glob in globs {
        builder.add_line(None, glob).map_err(|error| failed(glob, &error))?;
    }
    builder.build().map_err(|error| failed(&globs.join(", "), &error))
}

fn is_canvas(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case(canvas_rewrite::EXTENSION))
}

/// Returns true if a file is a note: a Markdown file, or one of the `other` kinds.
fn is_note(path: &Path, other: &[NoteKind]) -> bool {
    let has = |extension: &OsStr, kind: &NoteKind| {
        kind.extensions().iter().any(|known| extension.eq_ignore_ascii_case(known))
    };
    let mut kinds = std::iter::once(&NoteKind::Markdown).chain(other);
    path.extension().is_some_and(|extension| kinds.any(|kind| has(extension, kind)))
}

/// Returns true if the file has another hard link.
fn has_other_names(facts: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::nlink(facts) > 1;
    #[cfg(not(unix))]
    return false;
}

fn real(path: &Path) -> Result<PathBuf, ScanError> {
    path.canonicalize().map_err(|source| ScanError::Read { path: path.to_owned(), source })
}

fn file_facts(facts: &std::fs::Metadata) -> FileMetadata {
    let modified = facts.modified().ok();
    let modified_ns = modified.map_or(0, |time| match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    });
    #[cfg(unix)]
    let (inode, changed_ns) = {
        use std::os::unix::fs::MetadataExt as _;
        let seconds = facts.ctime().saturating_mul(1_000_000_000);
        (facts.ino(), seconds.saturating_add(facts.ctime_nsec()))
    };
    #[cfg(not(unix))]
    let (inode, changed_ns) = (0, 0);
    FileMetadata { size: facts.len(), modified_ns, changed_ns, inode, ..FileMetadata::default() }
}

#[cfg(test)]
mod tests;
