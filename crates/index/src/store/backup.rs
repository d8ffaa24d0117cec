//! A copy of one generation, taken while the store is in use, and a store made of it.
//!
//! What a generation consists of is appended to or replaced, never changed, so files that are held open stay what they were.
//! ```text
//! backup.rmp    format version, generation, and path, length and crc32 of each file; written last
//! …             the files of the store that the generation needs, under their paths
//! ```

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::disk::{self, Disk, FileSum};

/// The newest format of a backup that this release writes and reads.
const FORMAT_VERSION: u32 = 1;

/// The file that says what a backup holds.
const LIST: &str = "backup.rmp";

/// Bytes of a piece.
const PIECE_BYTES: usize = 256 << 10;

/// The extension of a folder that is not a store yet.
const UNFINISHED: &str = ".restoring";

/// A file of the store, held open as it is now.
#[derive(Debug)]
pub(crate) struct Held {
    path: PathBuf,
    file: File,
    n_bytes: u64,
}

impl Held {
    /// Holds the first `n_bytes` of the file at `path`, or all it has.
    pub(crate) fn open(path: PathBuf, n_bytes: Option<u64>) -> io::Result<Self> {
        let file = File::open(&path)?;
        let n_bytes = n_bytes.map_or_else(|| Ok(file.metadata()?.len()), Ok::<_, io::Error>)?;
        Ok(Self { path, file, n_bytes })
    }
}

/// The files of one generation, held open: they stay what they are while the store goes on.
#[derive(Debug)]
pub struct Backup {
    generation: u64,
    root: PathBuf,
    files: Vec<Held>,
}

/// Part of a file of a backup. The pieces of a file follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The file, relative to the store, with `/`.
    pub path: String,
    /// Its next bytes.
    pub bytes: Vec<u8>,
    /// On its last piece, the crc32 of the whole file.
    pub crc32: Option<u32>,
}

impl Backup {
    pub(super) const fn new(generation: u64, root: PathBuf, files: Vec<Held>) -> Self {
        Self { generation, root, files }
    }

    /// The generation it holds.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Bytes of all files.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.n_bytes).sum()
    }

    /// Reads all files, by path, and gives each piece to `take` until that fails.
    pub fn read<E: From<StoreError>>(
        mut self,
        mut take: impl FnMut(Piece) -> Result<(), E>,
    ) -> Result<(), E> {
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        for Held { path, mut file, n_bytes } in self.files {
            let failed = |source| StoreError::io("read", &path)(source);
            file.seek(SeekFrom::Start(0)).map_err(failed)?;
            let name = path.strip_prefix(&self.root).unwrap_or(&path);
            let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
            let name = parts.join("/");
            let (mut sum, mut n_left) = (crc32fast::Hasher::new(), n_bytes);
            loop {
                let n = usize::try_from(n_left).unwrap_or(usize::MAX).min(PIECE_BYTES);
                let mut bytes = vec![0; n];
                file.read_exact(&mut bytes)
                    .map_err(|source| StoreError::io("read", &path)(source))?;
                sum.update(&bytes);
                n_left -= n as u64;
                let crc32 = (n_left == 0).then(|| sum.clone().finalize());
                take(Piece { path: name.clone(), bytes, crc32 })?;
                if n_left == 0 {
                    break;
                }
            }
        }
        Ok(())
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct List {
    generation: u64,
    files: Vec<Listed>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Listed {
    path: String,
    n_bytes: u64,
    crc32: u32,
}

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The generation.
    pub generation: u64,
    /// Files.
    pub n_files: usize,
    /// Bytes of all files.
    pub n_bytes: u64,
}

/// Writes the pieces of a backup into a folder. It is none before it is [finished](Self::finish), and goes unless it is.
#[derive(Debug)]
pub struct BackupWriter {
    folder: PathBuf,
    files: Vec<Listed>,
    /// The file whose pieces come, and what came of it.
    open: Option<(File, PathBuf, crc32fast::Hasher, u64)>,
    finished: bool,
}

impl BackupWriter {
    /// Begins one in `folder`, where nothing may be yet.
    pub fn create(folder: &Path) -> Result<Self, StoreError> {
        refuse_unless_empty(folder)?;
        let disk = Disk::default();
        disk.create_private_folder(folder).map_err(StoreError::io("create", folder))?;
        let (folder, files) = (folder.to_owned(), Vec::new());
        Ok(Self { folder, files, open: None, finished: false })
    }

    /// Takes the next piece.
    ///
    /// Fails with [`StoreError::Damaged`] where it leads out of the folder or is not what was read.
    pub fn take(&mut self, piece: Piece) -> Result<(), StoreError> {
        let Piece { path, bytes, crc32 } = piece;
        let disk = Disk::default();
        let (mut file, at, mut sum, n_before) = match self.open.take() {
            Some(open) => open,
            None => {
                let at = place(&self.folder, &path)?;
                disk.create_folder(at.parent().unwrap_or(&self.folder))
                    .map_err(StoreError::io("create", &at))?;
                let file = disk.create_new(&at).map_err(StoreError::io("create", &at))?;
                (file, at, crc32fast::Hasher::new(), 0)
            }
        };
        disk.write_all(&mut file, &at, &bytes).map_err(StoreError::io("write", &at))?;
        sum.update(&bytes);
        let n_bytes = n_before + bytes.len() as u64;
        match crc32 {
            None => self.open = Some((file, at, sum, n_bytes)),
            Some(crc32) if crc32 == sum.finalize() => {
                disk.sync(&file, &at).map_err(StoreError::io("sync", &at))?;
                self.files.push(Listed { path, n_bytes, crc32 });
            }
            Some(_) => return Err(damaged(&at, "its checksum differs")),
        }
        Ok(())
    }

    /// Makes the folder a backup of `generation`.
    pub fn finish(mut self, generation: u64) -> Result<Copied, StoreError> {
        if let Some((_, at, ..)) = &self.open {
            return Err(damaged(at, "its end did not come"));
        }
        let list = List { generation, files: std::mem::take(&mut self.files) };
        sync_names(&Disk::default(), &self.folder, &list.files)?;
        let path = self.folder.join(LIST);
        let encoded = rmp_serde::to_vec(&FORMAT_VERSION)
            .and_then(|format| Ok([format, rmp_serde::to_vec(&list)?].concat()))
            .map_err(|error| damaged(&path, &error.to_string()))?;
        let written = Disk::default().replace(&path, &disk::sealed(&encoded));
        written.map_err(StoreError::io("write", &path))?;
        self.finished = true;
        Ok(copied(&list))
    }
}

impl Drop for BackupWriter {
    fn drop(&mut self) {
        if !self.finished {
            // What is left is no backup, and says so.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Makes the folder `store`, where nothing may be yet, a store of what the backup in `folder` holds.
///
/// Every file is compared with its checksum, and there is no store before all are in.
/// Its generations go on where no run of the original can have come.
pub fn restore(folder: &Path, store: &Path) -> Result<Copied, StoreError> {
    let list = list(folder)?;
    refuse_unless_empty(store)?;
    // Beside the store, under a name that holds all of its own.
    let mut unfinished = store.as_os_str().to_owned();
    unfinished.push(UNFINISHED);
    let unfinished = PathBuf::from(unfinished);
    let disk = Disk::default();
    let copy = || {
        disk.remove_folder(&unfinished).map_err(StoreError::io("remove", &unfinished))?;
        disk.create_private_folder(&unfinished).map_err(StoreError::io("create", &unfinished))?;
        let mut piece = vec![0; PIECE_BYTES];
        for Listed { path, n_bytes, crc32 } in &list.files {
            let (from, to) = (place(folder, path)?, place(&unfinished, path)?);
            let mut file = match File::open(&from) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(damaged(&from, "it is missing"));
                }
                opened => opened.map_err(StoreError::io("read", &from))?,
            };
            let written = disk.create_folder(to.parent().unwrap_or(&unfinished));
            let written = written.and_then(|()| disk.outlet(&to));
            let mut written = written.map_err(StoreError::io("write", &to))?;
            loop {
                let n_bytes = file.read(&mut piece).map_err(StoreError::io("read", &from))?;
                if n_bytes == 0 {
                    break;
                }
                written.write_all(&piece[..n_bytes]).map_err(StoreError::io("write", &to))?;
            }
            let sum = written.finish().map_err(StoreError::io("write", &to))?;
            if sum != (FileSum { n_bytes: *n_bytes, crc32: *crc32 }) {
                return Err(damaged(&from, "its checksum differs"));
            }
        }
        sync_names(&disk, &unfinished, &list.files)?;
        // An empty folder stands in the way on some systems.
        let _ = fs::remove_dir(store);
        disk.rename(&unfinished, store).map_err(StoreError::io("rename", store))?;
        let parent = folder_of(store);
        disk.sync_folder(parent).map_err(StoreError::io("sync", parent))
    };
    copy().inspect_err(|_| drop(disk.remove_folder(&unfinished)))?;
    Ok(copied(&list))
}

/// Makes the names durable that `files` and their folders have below `root`.
fn sync_names(disk: &Disk, root: &Path, files: &[Listed]) -> Result<(), StoreError> {
    let above = files.iter().flat_map(|file| Path::new(&file.path).ancestors().skip(1));
    above.collect::<BTreeSet<&Path>>().into_iter().try_for_each(|below| {
        let folder = root.join(below);
        disk.sync_folder(&folder).map_err(StoreError::io("sync", &folder))
    })
}

/// The folder in which `path` lies; a bare name lies in the present one.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn list(folder: &Path) -> Result<List, StoreError> {
    let path = folder.join(LIST);
    let bytes = disk::read(&path).map_err(StoreError::io("read", &path))?;
    let bytes = bytes.ok_or_else(|| StoreError::NoBackup { folder: folder.to_owned() })?;
    let mut bytes = disk::unsealed(&bytes).ok_or_else(|| damaged(&path, "its checksum differs"))?;
    let unreadable = |error: rmp_serde::decode::Error| damaged(&path, &error.to_string());
    let found: u32 = rmp_serde::from_read(&mut bytes).map_err(unreadable)?;
    if found > FORMAT_VERSION {
        return Err(StoreError::FutureVersion { store: folder.to_owned(), found });
    }
    rmp_serde::from_slice(bytes).map_err(unreadable)
}

fn copied(list: &List) -> Copied {
    let n_bytes = list.files.iter().map(|file| file.n_bytes).sum();
    Copied { generation: list.generation, n_files: list.files.len(), n_bytes }
}

fn refuse_unless_empty(folder: &Path) -> Result<(), StoreError> {
    match fs::read_dir(folder) {
        Ok(entries) => match entries.count() {
            0 => Ok(()),
            _ => Err(StoreError::NotEmpty { folder: folder.to_owned() }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreError::io("read", folder)(error)),
    }
}

/// The place of a file in `folder`; whoever sent its path may not lead out of it.
fn place(folder: &Path, path: &str) -> Result<PathBuf, StoreError> {
    let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if inside && !path.is_empty() && path != LIST {
        Ok(folder.join(path))
    } else {
        Err(damaged(folder, &format!("`{path}` is no file of a store")))
    }
}

fn damaged(path: &Path, reason: &str) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(path: &str, bytes: &[u8]) -> Piece {
        Piece { path: path.into(), bytes: bytes.into(), crc32: Some(crc32fast::hash(bytes)) }
    }

    fn backup(folder: &Path) -> Copied {
        let mut writer = BackupWriter::create(folder).unwrap();
        writer.take(piece("gen-4/notes.col", b"notes")).unwrap();
        writer.take(Piece { crc32: None, ..piece("keyword/x", b"wo") }).unwrap();
        let end = Piece { bytes: b"rds".into(), ..piece("keyword/x", b"words") };
        writer.take(end).unwrap();
        writer.finish(4).unwrap()
    }

    #[test]
    fn what_was_copied_comes_back_and_nothing_is_overwritten() {
        let home = tempfile::tempdir().unwrap();
        let (folder, store) = (home.path().join("backup"), home.path().join("deep/store"));
        let written = backup(&folder);
        assert_eq!(written, Copied { generation: 4, n_files: 2, n_bytes: 10 });
        fs::create_dir_all(home.path().join("deep")).unwrap();
        assert_eq!(restore(&folder, &store).unwrap(), written);
        assert_eq!(fs::read(store.join("keyword/x")).unwrap(), b"words");
        assert!(matches!(restore(&folder, &store), Err(StoreError::NotEmpty { .. })));
        assert!(matches!(BackupWriter::create(&folder), Err(StoreError::NotEmpty { .. })));
        assert!(matches!(restore(&store, &folder), Err(StoreError::NoBackup { .. })));
    }

    #[test]
    fn damage_is_found_before_there_is_a_store() {
        type Damage = fn(&Path);
        let cases: [(&str, Damage); 4] = [
            ("flipped", |at| fs::write(at.join("keyword/x"), b"wards").unwrap()),
            ("cut", |at| fs::write(at.join("keyword/x"), b"word").unwrap()),
            ("missing", |at| fs::remove_file(at.join("gen-4/notes.col")).unwrap()),
            ("its list", |at| {
                let mut bytes = fs::read(at.join(LIST)).unwrap();
                bytes[3] ^= 1;
                fs::write(at.join(LIST), bytes).unwrap();
            }),
        ];
        for (name, damage) in cases {
            let home = tempfile::tempdir().unwrap();
            let (folder, store) = (home.path().join("backup"), home.path().join("store"));
            backup(&folder);
            damage(&folder);
            let error = restore(&folder, &store).unwrap_err();
            assert!(matches!(error, StoreError::Damaged { .. }), "{name}: {error}");
            assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "{name}: nothing is left");
        }
    }

    #[test]
    fn a_backup_that_breaks_off_or_leads_elsewhere_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("backup");
        for path in ["../x", "/x", "", "a/../../x", LIST] {
            let mut writer = BackupWriter::create(&folder).unwrap();
            assert!(writer.take(piece(path, b"x")).is_err(), "{path}");
            drop(writer);
            assert!(!folder.exists(), "{path}");
        }
        let mut writer = BackupWriter::create(&folder).unwrap();
        writer.take(Piece { crc32: None, ..piece("x", b"half") }).unwrap();
        assert!(matches!(writer.finish(1), Err(StoreError::Damaged { .. })));
        let mut writer = BackupWriter::create(&folder).unwrap();
        let wrong = Piece { crc32: Some(0), ..piece("x", b"half") };
        assert!(matches!(writer.take(wrong), Err(StoreError::Damaged { .. })));
        drop(writer);
        assert!(!folder.exists());
    }
}
