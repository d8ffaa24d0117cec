//! The scan: which files of a vault are notes, and why the others are not.
//!
//! Honours `.gitignore` (also outside a repository), `.ignore` and `.weftignore`, as far as they lie in the vault.
//! Notes and folders whose name begins with a dot, `.obsidian`, `.trash` and `.git` among them, and `node_modules` are listed and never looked into.
//! Nothing outside the vault's real folder is read, wherever a symbolic link leads.
//!
//! The folders are walked here and not by the `ignore` crate's walker, whose rules are used, because that one is silent about what it passes over.

mod area;
mod place;

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
use weft_index::notes::FileFacts;
use weft_model::NotePath;
use weft_model::id::MARKDOWN_EXTENSIONS;
use weft_model::text::nfc;

pub use area::Area;
use area::{Part, spelled};
pub use place::{Placed, Refusal, note_path, place};

use crate::files::is_beside;
use crate::in_order::in_order;

/// Files that hold rules, those that win first.
const RULE_FILES: [&str; 3] = [".weftignore", ".ignore", ".gitignore"];

/// Folders that are listed before the first of them is looked through: enough for all cores, few enough to hold their names.
const FOLDERS_AT_ONCE: usize = 1024;

/// Why notes and folders of this name are never looked into; nothing where they are.
fn hidden(name: &OsStr) -> Option<&'static str> {
    if name == "node_modules" {
        Some("what is named `node_modules` holds nobody's notes")
    } else {
        name.as_encoded_bytes().starts_with(b".").then_some("its name begins with a dot")
    }
}

/// Which files are read. Globs are written like lines of `.gitignore`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScanOptions {
    /// Globs of which a file, or a folder above it, must match one; none means all files.
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

/// A file that is not read, or a folder that is not entered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// Its path in the vault, with a `/` at the end for a folder; what is no Unicode is replaced.
    pub path: String,
    /// One sentence for a person.
    pub reason: String,
    /// Whether it should have been read and could not.
    pub failed: bool,
}

/// What lies in a vault, or in the area that was looked at, sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Files to be read.
    pub found: Vec<Found>,
    /// Markdown files and folders that are not, each with its reason.
    pub skipped: Vec<Skipped>,
    /// Whether one file can be seen under several paths, by links or by spellings of Unicode.
    ///
    /// Then a change under one path may show under another, so only a look at everything tells.
    pub entangled: bool,
    /// Files that look as though a write had put them beside their place, where they are not looked for by name.
    pub(crate) beside: Vec<PathBuf>,
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
    /// A file has become too long to be read.
    #[error("{} has more than {max_bytes} bytes", path.display())]
    TooLong {
        /// The path.
        path: PathBuf,
        /// Bytes it may have.
        max_bytes: u64,
    },
    /// A path leads to something that is no file, such as a pipe.
    #[error("{} is no regular file", path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
    },
}

/// Looks through `area` of the vault at `root`.
///
/// The same files give the same answer in the same order; the answer about an area is the part of the whole answer that lies in it.
/// Fails when the root itself cannot be read; a file or folder below it that cannot is listed and the rest goes on.
pub fn scan(root: &Path, options: &ScanOptions, area: &Area) -> Result<Scan, ScanError> {
    let mut walk = Walk::new(root, options)?;
    let mut level = vec![Folder::top(walk.root.clone(), area.part())];
    while !level.is_empty() {
        let mut inner = Vec::new();
        for folders in level.chunks(FOLDERS_AT_ONCE) {
            for (folder, listing) in folders.iter().zip(list(folders)) {
                match listing.and_then(|listing| walk.folder(folder, listing)) {
                    Ok(folders) => inner.extend(folders),
                    Err(source) if folder.path == walk.root => {
                        return Err(ScanError::Read { path: walk.root, source });
                    }
                    // It was there a moment ago; the next scan will not see it.
                    Err(error) if is_gone(&error) => {}
                    Err(error) => {
                        walk.skip(&folder.path, true, format!("it cannot be read: {error}"), true);
                    }
                }
            }
        }
        level = inner;
    }
    let Walk { found, mut skipped, entangled, beside, .. } = walk;
    skipped.sort();
    Ok(Scan { found: found.into_values().collect(), skipped, entangled, beside })
}

fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// The bytes of the file that `path` leads to, if it lies below `root`.
///
/// Fails where it lies outside, is no file, or has more than `max_bytes`.
pub fn read(root: &Path, path: &Path, max_bytes: u64) -> Result<Vec<u8>, ScanError> {
    let failed = |source| ScanError::Read { path: path.to_owned(), source };
    let file = match open_unlinked(root, path) {
        Some(file) => file,
        None => open_inside(root, path)?,
    };
    let facts = file.metadata().map_err(failed)?;
    if !facts.is_file() {
        return Err(ScanError::NoFile { path: path.to_owned() });
    }
    // Room for all of it and for finding its end, so that it is read at once.
    let length = usize::try_from(facts.len().min(max_bytes)).unwrap_or_default();
    let mut bytes = Vec::with_capacity(length + 1);
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > max_bytes {
        return Err(ScanError::TooLong { path: path.to_owned(), max_bytes });
    }
    Ok(bytes)
}

/// Opens `path` where it is written below `root` and no part of it, of `root` neither, is a symbolic link: then it lies there.
///
/// That is one question to the system in place of one for each folder on the way, and nothing can come between looking and opening.
/// Nothing where it cannot be opened so, or the system does not know how; then [`open_inside`] can, or says why not.
#[cfg(target_os = "linux")]
fn open_unlinked(root: &Path, path: &Path) -> Option<File> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fcntl_setfl, openat2};
    let is_plain = |below: &Path| below.components().all(|it| matches!(it, Component::Normal(_)));
    if !root.is_absolute() || !path.strip_prefix(root).is_ok_and(is_plain) {
        return None;
    }
    // What it is, is asked of what was opened; opening must neither wait for the writer of a pipe nor take a terminal.
    let how = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = openat2(CWD, path, how, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()?;
    // Reading may wait: some file systems would rather say that they have nothing yet.
    fcntl_setfl(&opened, OFlags::empty()).ok()?;
    Some(File::from(opened))
}

#[cfg(not(target_os = "linux"))]
fn open_unlinked(_root: &Path, _path: &Path) -> Option<File> {
    None
}

/// Opens what `path` leads to, over symbolic links, too, if it lies below `root` and is a file.
fn open_inside(root: &Path, path: &Path) -> Result<File, ScanError> {
    let failed = |source| ScanError::Read { path: path.to_owned(), source };
    let target = real(path)?;
    // What begins a real path is real itself, unless it is nothing.
    let is_inside = root.is_absolute() && target.starts_with(root);
    if !is_inside && !target.starts_with(real(root)?) {
        return Err(ScanError::Outside { path: path.to_owned() });
    }
    // Opening a pipe would wait for a writer.
    if !target.metadata().map_err(failed)?.is_file() {
        return Err(ScanError::NoFile { path: path.to_owned() });
    }
    File::open(&target).map_err(failed)
}

/// A folder to be entered.
struct Folder {
    path: PathBuf,
    /// The real folders on the way to it, itself included.
    above: Vec<PathBuf>,
    /// The rules of the folders above it.
    rules: Option<Arc<Rules>>,
    /// What of it is looked at.
    part: Part,
}

impl Folder {
    /// The vault's own folder.
    fn top(root: PathBuf, part: Part) -> Self {
        Self { above: vec![root.clone()], path: root, rules: None, part }
    }

    fn list(&self) -> std::io::Result<Listing> {
        let Part::Names(names) = &self.part else {
            let mut rules: RulesListed = [false; RULE_FILES.len()];
            let mut names = std::fs::read_dir(&self.path)?
                .map(|entry| {
                    let entry = entry?;
                    for (there, name) in rules.iter_mut().zip(RULE_FILES) {
                        *there |= entry.file_name().eq_ignore_ascii_case(name);
                    }
                    let kind = Some(entry.file_type()?);
                    Ok(Named { path: entry.path(), kind, part: Part::All })
                })
                .collect::<std::io::Result<Vec<_>>>()?;
            // In one folder they differ in their last part alone.
            names.sort_unstable_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
            return Ok(Listing { names, rules, entangled: false });
        };
        let mut entangled = false;
        let named = |(name, part): (&OsString, &Part)| {
            let path = self.path.join(name);
            let kind = path.symlink_metadata().ok().map(|facts| facts.file_type());
            let named = Named { path, kind, part: part.clone() };
            // Where case or spelling of names does not count, a folder's listing alone says how they are written.
            let real = || named.path.canonicalize();
            entangled |= !named.is_link() && real().is_ok_and(|real| real != named.path);
            named
        };
        let names = names.iter().map(named).collect();
        Ok(Listing { names, rules: NOT_LISTED, entangled })
    }
}

/// Which of [`RULE_FILES`] may be in a folder.
type RulesListed = [bool; RULE_FILES.len()];

/// Each of them may be in a folder that was not listed.
const NOT_LISTED: RulesListed = [true; RULE_FILES.len()];

/// What is to be looked at in a folder.
struct Listing {
    /// In order.
    names: Vec<Named>,
    rules: RulesListed,
    /// Whether a name is spelled otherwise than it was asked for.
    entangled: bool,
}

/// A name in a folder.
struct Named {
    path: PathBuf,
    /// What bears the name, links not followed; nothing where that is not known.
    kind: Option<FileType>,
    /// What is looked at if it is a folder.
    part: Part,
}

impl Named {
    fn is_link(&self) -> bool {
        self.kind.is_some_and(|kind| kind.is_symlink())
    }

    /// What bears the name, links followed; the file system is asked no more than must be.
    fn look(&self) -> std::io::Result<Seen> {
        match self.kind {
            Some(kind) if kind.is_dir() => return Ok(Seen::Folder),
            Some(kind) if !kind.is_symlink() && !is_markdown(&self.path) => return Ok(Seen::Other),
            Some(_) | None => {}
        }
        let facts = self.path.metadata()?;
        Ok(if facts.is_dir() {
            Seen::Folder
        } else if is_markdown(&self.path) {
            Seen::Markdown {
                facts: file_facts(&facts),
                is_regular: facts.is_file(),
                has_other_names: has_other_names(&facts),
            }
        } else {
            Seen::Other
        })
    }
}

/// What bears a name.
enum Seen {
    Folder,
    Markdown { facts: FileFacts, is_regular: bool, has_other_names: bool },
    Other,
}

/// What is to be looked at in each of `folders`, with what the file system says of it; on all cores where that is much.
fn list(folders: &[Folder]) -> Vec<std::io::Result<(Listing, Vec<std::io::Result<Seen>>)>> {
    let listings = on_all_cores(folders, Folder::list);
    let names: Vec<&Named> = listings.iter().flatten().flat_map(|listing| &listing.names).collect();
    let mut seen = on_all_cores(&names, |named| named.look()).into_iter();
    let mut with_seen = |listing: Listing| {
        let seen = seen.by_ref().take(listing.names.len()).collect();
        (listing, seen)
    };
    listings.into_iter().map(|listing| listing.map(&mut with_seen)).collect()
}

/// What `ask` says of each item, in order.
fn on_all_cores<Item: Sync, Answer: Send>(
    items: &[Item],
    ask: impl Fn(&Item) -> std::io::Result<Answer> + Sync,
) -> Vec<std::io::Result<Answer>> {
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut answers = Vec::with_capacity(items.len());
    let unknown = || Err(std::io::Error::other("looking at it failed"));
    let taken = in_order(
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

/// The rules of one folder and of those above it.
struct Rules {
    above: Option<Arc<Rules>>,
    /// In the order of [`RULE_FILES`].
    files: [Gitignore; RULE_FILES.len()],
}

struct Walk {
    root: PathBuf,
    include: Gitignore,
    exclude: Gitignore,
    max_file_bytes: u64,
    /// Real folders that were entered by way of a link.
    linked: HashSet<PathBuf>,
    found: BTreeMap<NotePath, Found>,
    skipped: Vec<Skipped>,
    entangled: bool,
    beside: Vec<PathBuf>,
}

impl Walk {
    fn new(root: &Path, options: &ScanOptions) -> Result<Self, ScanError> {
        let root = real(root)?;
        Ok(Self {
            include: globs(&root, &options.include)?,
            exclude: globs(&root, &options.exclude)?,
            max_file_bytes: options.max_file_bytes,
            linked: HashSet::new(),
            found: BTreeMap::new(),
            skipped: Vec::new(),
            entangled: false,
            beside: Vec::new(),
            root,
        })
    }

    /// Takes in the files of `folder` and gives the folders within it that are to be entered.
    fn folder(
        &mut self,
        folder: &Folder,
        (listing, seen): (Listing, Vec<std::io::Result<Seen>>),
    ) -> std::io::Result<Vec<Folder>> {
        self.entangled |= listing.entangled;
        let rules = self.rules(folder, listing.rules)?;
        let mut inner = Vec::new();
        for (named, seen) in listing.names.into_iter().zip(seen) {
            let (path, is_link) = (&named.path, named.is_link());
            let name = path.file_name().unwrap_or_default();
            if let Some(reason) = hidden(name) {
                self.beside.extend(name.to_str().is_some_and(is_beside).then(|| path.clone()));
                if let Ok(Seen::Folder | Seen::Markdown { .. }) = seen {
                    let is_dir = matches!(seen, Ok(Seen::Folder));
                    self.skip(path, is_dir, reason.to_owned(), false);
                }
                continue;
            }
            match seen {
                Ok(Seen::Folder) => inner.extend(self.enter(folder, named, rules.as_ref())),
                Ok(Seen::Markdown { facts, is_regular, has_other_names }) => {
                    self.entangled |= is_link || has_other_names;
                    self.file(named, facts, is_regular, rules.as_deref());
                }
                // It went since the folder was listed, or before it was asked for.
                Err(error) if is_gone(&error) && !is_link => {}
                Err(error) if is_markdown(path) => {
                    let reason = if is_link {
                        "it is a symbolic link that leads nowhere".to_owned()
                    } else {
                        format!("it cannot be read: {error}")
                    };
                    self.skip(path, false, reason, !is_link);
                }
                Ok(Seen::Other) | Err(_) => {}
            }
        }
        Ok(inner)
    }

    /// The folder `named`, unless it is kept out.
    fn enter(
        &mut self,
        parent: &Folder,
        named: Named,
        rules: Option<&Arc<Rules>>,
    ) -> Option<Folder> {
        let is_link = named.is_link();
        let Named { path, kind: _, part } = named;
        let mut above = parent.above.clone();
        let reason = if let Some(rule) = self.kept_out(&path, true, rules.map(Arc::as_ref)) {
            rule
        } else if path.to_str().is_none() {
            "its name is no Unicode".to_owned()
        } else if !is_link {
            above.extend(path.file_name().and_then(|name| Some(above.last()?.join(name))));
            return Some(Folder { path, above, rules: rules.cloned(), part });
        } else {
            self.entangled = true;
            match path.canonicalize() {
                Ok(real) if !real.starts_with(&self.root) => {
                    "it is a symbolic link that leaves the vault".to_owned()
                }
                Ok(real) if above.iter().any(|folder| folder.starts_with(&real)) => {
                    "it is a symbolic link to a folder above it".to_owned()
                }
                // Links between many folders would open paths without number.
                Ok(real) if !self.linked.insert(real.clone()) => {
                    "it is a symbolic link to a folder that another link has opened".to_owned()
                }
                Ok(real) => {
                    above.push(real);
                    return Some(Folder { path, above, rules: rules.cloned(), part });
                }
                Err(error) => format!("it cannot be read: {error}"),
            }
        };
        self.skip(&path, true, reason, false);
        None
    }

    fn file(&mut self, named: Named, facts: FileFacts, is_regular: bool, rules: Option<&Rules>) {
        let is_link = named.is_link();
        let file = named.path;
        let included = self.include.is_empty()
            || self.include.matched_path_or_any_parents(&file, false).is_ignore();
        let leaves =
            || is_link && !file.canonicalize().is_ok_and(|real| real.starts_with(&self.root));
        let (reason, failed) = if let Some(rule) = self.kept_out(&file, false, rules) {
            (rule, false)
        } else if !included {
            ("no glob of `scan.include` names it".to_owned(), false)
        } else if !is_regular {
            ("it is no regular file".to_owned(), false)
        } else if leaves() {
            ("it is a symbolic link that leaves the vault".to_owned(), false)
        } else if facts.size > self.max_file_bytes {
            let (size, max) = (facts.size, self.max_file_bytes);
            (format!("it has {size} bytes, more than `scan.max_file_bytes` = {max}"), false)
        } else if let Some(path) = self.vault_path(&file) {
            return self.keep(Found { path, file, facts });
        } else {
            ("its name is no Unicode".to_owned(), true)
        };
        self.skip(&file, false, reason, failed);
    }

    /// Keeps a file; of two whose names are one in NFC, the one that is spelled so, else the lower.
    fn keep(&mut self, file: Found) {
        let rank = |file: &Found| (!file.file.ends_with(file.path.as_str()), file.file.clone());
        let loser = match self.found.entry(file.path.clone()) {
            Entry::Vacant(place) => {
                place.insert(file);
                return;
            }
            Entry::Occupied(mut place) if rank(&file) < rank(place.get()) => place.insert(file),
            Entry::Occupied(_) => file,
        };
        let reason = "another file has its name in another spelling of Unicode".to_owned();
        self.skip(&loser.file, false, reason, true);
    }

    /// The rules that hold within `folder`; fails where some are there that cannot be read, since what they keep out must stay out.
    fn rules(
        &mut self,
        folder: &Folder,
        listed: RulesListed,
    ) -> std::io::Result<Option<Arc<Rules>>> {
        let mut any = false;
        let mut files = RULE_FILES.map(|_| Gitignore::empty());
        for ((rules, name), is_listed) in files.iter_mut().zip(RULE_FILES).zip(listed) {
            let path = folder.path.join(name);
            if !is_listed || !path.is_file() {
                continue;
            }
            // The library passes over what it cannot read.
            std::fs::read(&path).map_err(|error| {
                let reason = format!("its rules in `{name}` cannot be read: {error}");
                std::io::Error::new(error.kind(), reason)
            })?;
            any = true;
            // A change of what it leads to is announced under another path.
            self.entangled |= path.is_symlink();
            let (found, error) = Gitignore::new(&path);
            if let Some(error) = error {
                self.skip(&path, false, format!("not all of its rules can be used: {error}"), true);
            }
            *rules = found;
        }
        let above = folder.rules.clone();
        Ok(if any { Some(Arc::new(Rules { above, files })) } else { above })
    }

    /// The rule that keeps `path` out, as a reason.
    ///
    /// Of the kinds of files the one that says anything decides, of its folders the nearest.
    fn kept_out(&self, path: &Path, is_dir: bool, rules: Option<&Rules>) -> Option<String> {
        if self.exclude.matched(path, is_dir).is_ignore() {
            return Some("a glob of `scan.exclude` names it".to_owned());
        }
        for (kind, name) in RULE_FILES.iter().enumerate() {
            let mut next = rules;
            while let Some(folder) = next {
                match folder.files[kind].matched(path, is_dir) {
                    Match::Ignore(rule) => {
                        return Some(format!(
                            "the rule `{}` of a `{name}` names it",
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
        self.skipped.push(Skipped { path, reason, failed });
    }

    /// The path in the vault: `/` between segments, NFC; nothing for a name that is no Unicode.
    fn vault_path(&mut self, path: &Path) -> Option<NotePath> {
        let path = path.strip_prefix(&self.root).ok()?;
        let written = path.to_str()?;
        let spelled = spelled(path);
        self.entangled |= nfc(written) != written;
        Some(NotePath::new(spelled))
    }
}

/// Fails on the first of `globs` that is none.
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

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| {
        MARKDOWN_EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known))
    })
}

/// Whether the file can be reached by another name that is no symbolic link.
fn has_other_names(facts: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::nlink(facts) > 1;
    #[cfg(not(unix))]
    return false;
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
    let (inode, changed_ns) = {
        use std::os::unix::fs::MetadataExt as _;
        let seconds = facts.ctime().saturating_mul(1_000_000_000);
        (facts.ino(), seconds.saturating_add(facts.ctime_nsec()))
    };
    #[cfg(not(unix))]
    let (inode, changed_ns) = (0, 0);
    FileFacts { size: facts.len(), modified_ns, changed_ns, inode, ..FileFacts::default() }
}

#[cfg(test)]
mod tests;
