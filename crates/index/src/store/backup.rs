//! Backup of one generation while the store is in use, and restore.
//!
//! The files of a generation are only appended to or replaced, so files opened for a backup keep their content.
//! ```text
//! backup.rmp    format version, generation, and path, length and crc32 of each file; written last
//! …             the store's files that the generation needs, under their paths
//! ```

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::disk::{self, Disk, FileChecksum};
use crate::open_file::OpenFile;

/// Newest backup format that this release reads and writes.
const FORMAT_VERSION: u32 = 1;

/// File that lists the content of a backup.
const MANIFEST_FILE: &str = "backup.rmp";

/// Maximum bytes of a part.
const PART_BYTES: usize = 256 << 10;

/// Extension of a folder while a store is being restored into it.
const RESTORING_EXTENSION: &str = ".restoring";

/// Open files of one generation. Their content does not change while the store is written.
#[derive(Debug)]
pub struct Backup {
    generation: u64,
    root: PathBuf,
    files: Vec<OpenFile>,
}

/// Part of a file of a backup. The parts of a file follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupPart {
    /// Path of the file relative to the store, with `/`.
    pub path: String,
    /// Next bytes of the file.
    pub bytes: Vec<u8>,
    /// In the last part, the crc32 of the whole file.
    pub crc32: Option<u32>,
}

impl Backup {
    pub(super) const fn new(generation: u64, root: PathBuf, files: Vec<OpenFile>) -> Self {
        Self { generation, root, files }
    }

    /// Returns the generation of the backup.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the total bytes of all files.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.n_bytes).sum()
    }

    /// Reads all files, ordered by path, and passes each part to `take` until that fails.
    pub fn read<E: From<StoreError>>(
        mut self,
        mut take: impl FnMut(BackupPart) -> Result<(), E>,
    ) -> Result<(), E> {
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        for OpenFile { path, mut file, n_bytes } in self.files {
            let failed = |source| StoreError::io("read", &path)(source);
            file.seek(SeekFrom::Start(0)).map_err(failed)?;
            let name = path.strip_prefix(&self.root).unwrap_or(&path);
            let parts: Vec<_> = name.iter().map(|name| name.to_string_lossy()).collect();
            let name = parts.join("/");
            let (mut sum, mut n_left) = (crc32fast::Hasher::new(), n_bytes);
            loop {
                let n = usize::try_from(n_left).unwrap_or(usize::MAX).min(PART_BYTES);
                let mut bytes = vec![0; n];
                file.read_exact(&mut bytes)
                    .map_err(|source| StoreError::io("read", &path)(source))?;
                sum.update(&bytes);
                n_left -= n as u64;
                let crc32 = (n_left == 0).then(|| sum.clone().finalize());
                take(BackupPart { path: name.clone(), bytes, crc32 })?;
                if n_left == 0 {
                    break;
                }
            }
        }
        Ok(())
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct BackupManifest {
    generation: u64,
    files: Vec<BackupFile>,
}

#[derive(Debug, Serialize, Deserialize)]
struct BackupFile {
    path: String,
    n_bytes: u64,
    crc32: u32,
}

/// Summary of a backup or a restore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupSummary {
    /// Generation of the backup.
    pub generation: u64,
    /// Number of files.
    pub n_files: usize,
    /// Total bytes of all files.
    pub n_bytes: u64,
}

/// Writes the parts of a backup into a folder. Dropping it before [`finish`](Self::finish) deletes the folder.
#[derive(Debug)]
pub struct BackupWriter {
    folder: PathBuf,
    files: Vec<BackupFile>,
    /// The current file: handle, path, running checksum and length.
    open: Option<(File, PathBuf, crc32fast::Hasher, u64)>,
    finished: bool,
}

impl BackupWriter {
    /// Creates a backup in `folder`, which must be empty or missing.
    pub fn create(folder: &Path) -> Result<Self, StoreError> {
        refuse_unless_empty(folder)?;
        let disk = Disk::default();
        disk.create_private_folder(folder).map_err(StoreError::io("create", folder))?;
        let (folder, files) = (folder.to_owned(), Vec::new());
        Ok(Self { folder, files, open: None, finished: false })
    }

    /// Writes the next part.
    ///
    /// Fails with [`StoreError::Damaged`] if its path leaves the folder or the checksum differs.
    pub fn take(&mut self, part: BackupPart) -> Result<(), StoreError> {
        let BackupPart { path, bytes, crc32 } = part;
        let disk = Disk::default();
        let (mut file, at, mut sum, n_before) = match self.open.take() {
            Some(open) => open,
            None => {
                let at = path_in(&self.folder, &path)?;
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
                self.files.push(BackupFile { path, n_bytes, crc32 });
            }
            Some(_) => return Err(damaged(&at, "its checksum differs")),
        }
        Ok(())
    }

    /// Completes the folder as a backup of `generation`.
    pub fn finish(mut self, generation: u64) -> Result<BackupSummary, StoreError> {
        if let Some((_, at, ..)) = &self.open {
            return Err(damaged(at, "it is incomplete"));
        }
        let manifest = BackupManifest { generation, files: std::mem::take(&mut self.files) };
        sync_names(&Disk::default(), &self.folder, &manifest.files)?;
        let path = self.folder.join(MANIFEST_FILE);
        let encoded = rmp_serde::to_vec(&FORMAT_VERSION)
            .and_then(|format| Ok([format, rmp_serde::to_vec(&manifest)?].concat()))
            .map_err(|error| damaged(&path, &error.to_string()))?;
        let written = Disk::default().replace(&path, &disk::sealed(&encoded));
        written.map_err(StoreError::io("write", &path))?;
        self.finished = true;
        Ok(summary_of(&manifest))
    }
}

impl Drop for BackupWriter {
    fn drop(&mut self) {
        if !self.finished {
            // A folder without the manifest is not a valid backup.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Restores the backup in `folder` to the folder `store`, which must be empty or missing.
///
/// Every file is verified against its checksum, and the store appears only once all are complete.
/// Its generations continue from one that no run of the original store can have reached.
pub fn restore(folder: &Path, store: &Path) -> Result<BackupSummary, StoreError> {
    let manifest = manifest(folder)?;
    refuse_unless_empty(store)?;
    // Beside the store, with an extension appended to its whole name.
    let mut restoring = store.as_os_str().to_owned();
    restoring.push(RESTORING_EXTENSION);
    let restoring = PathBuf::from(restoring);
    let disk = Disk::default();
    let copy = || {
        disk.remove_folder(&restoring).map_err(StoreError::io("remove", &restoring))?;
        disk.create_private_folder(&restoring).map_err(StoreError::io("create", &restoring))?;
        let mut part = vec![0; PART_BYTES];
        for BackupFile { path, n_bytes, crc32 } in &manifest.files {
            let (from, to) = (path_in(folder, path)?, path_in(&restoring, path)?);
            let mut file = match File::open(&from) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(damaged(&from, "it is missing"));
                }
                opened => opened.map_err(StoreError::io("read", &from))?,
            };
            let written = disk.create_folder(to.parent().unwrap_or(&restoring));
            let written = written.and_then(|()| disk.checksum_writer(&to));
            let mut written = written.map_err(StoreError::io("write", &to))?;
            loop {
                let n_bytes = file.read(&mut part).map_err(StoreError::io("read", &from))?;
                if n_bytes == 0 {
                    break;
                }
                written.write_all(&part[..n_bytes]).map_err(StoreError::io("write", &to))?;
            }
            let sum = written.finish().map_err(StoreError::io("write", &to))?;
            if sum != (FileChecksum { n_bytes: *n_bytes, crc32: *crc32 }) {
                return Err(damaged(&from, "its checksum differs"));
            }
        }
        sync_names(&disk, &restoring, &manifest.files)?;
        // Some systems do not rename over an empty folder.
        let _ = fs::remove_dir(store);
        disk.rename(&restoring, store).map_err(StoreError::io("rename", store))?;
        let parent = folder_of(store);
        disk.sync_folder(parent).map_err(StoreError::io("sync", parent))
    };
    copy().inspect_err(|_| drop(disk.remove_folder(&restoring)))?;
    Ok(summary_of(&manifest))
}

/// Makes the names of `files` and their folders below `root` durable.
fn sync_names(disk: &Disk, root: &Path, files: &[BackupFile]) -> Result<(), StoreError> {
    let above = files.iter().flat_map(|file| Path::new(&file.path).ancestors().skip(1));
    above.collect::<BTreeSet<&Path>>().into_iter().try_for_each(|below| {
        let folder = root.join(below);
        disk.sync_folder(&folder).map_err(StoreError::io("sync", &folder))
    })
}

/// Returns the parent folder of `path`; the current folder for a bare name.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn manifest(folder: &Path) -> Result<BackupManifest, StoreError> {
    let path = folder.join(MANIFEST_FILE);
    let bytes = disk::read(&path).map_err(StoreError::io("read", &path))?;
    let bytes = bytes.ok_or_else(|| StoreError::NotABackup { folder: folder.to_owned() })?;
    let mut bytes = disk::unsealed(&bytes).ok_or_else(|| damaged(&path, "its checksum differs"))?;
    let unreadable = |error: rmp_serde::decode::Error| damaged(&path, &error.to_string());
    let found: u32 = rmp_serde::from_read(&mut bytes).map_err(unreadable)?;
    if found > FORMAT_VERSION {
        return Err(StoreError::FutureVersion { store: folder.to_owned(), found });
    }
    rmp_serde::from_slice(bytes).map_err(unreadable)
}

fn summary_of(manifest: &BackupManifest) -> BackupSummary {
    let n_bytes = manifest.files.iter().map(|file| file.n_bytes).sum();
    BackupSummary { generation: manifest.generation, n_files: manifest.files.len(), n_bytes }
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

/// Returns the path of a file in `folder`; a received path must not leave it.
fn path_in(folder: &Path, path: &str) -> Result<PathBuf, StoreError> {
    let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if inside && !path.is_empty() && path != MANIFEST_FILE {
        Ok(folder.join(path))
    } else {
        Err(damaged(folder, &format!("`{path}` is not a file of a store")))
    }
}

fn damaged(path: &Path, reason: &str) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(path: &str, bytes: &[u8]) -> BackupPart {
        BackupPart { path: path.into(), bytes: bytes.into(), crc32: Some(crc32fast::hash(bytes)) }
    }

    fn backup(folder: &Path) -> BackupSummary {
        let mut writer = BackupWriter::create(folder).unwrap();
        writer.take(part("gen-4/notes.col", b"notes")).unwrap();
        writer.take(BackupPart { crc32: None, ..part("keyword/x", b"wo") }).unwrap();
        let end = BackupPart { bytes: b"rds".into(), ..part("keyword/x", b"words") };
        writer.take(end).unwrap();
        writer.finish(4).unwrap()
    }

    #[test]
    fn backup_round_trips_and_nothing_is_overwritten() {
        let home = tempfile::tempdir().unwrap();
        let (folder, store) = (home.path().join("backup"), home.path().join("deep/store"));
        let written = backup(&folder);
        assert_eq!(written, BackupSummary { generation: 4, n_files: 2, n_bytes: 10 });
        fs::create_dir_all(home.path().join("deep")).unwrap();
        assert_eq!(restore(&folder, &store).unwrap(), written);
        assert_eq!(fs::read(store.join("keyword/x")).unwrap(), b"words");
        assert!(matches!(restore(&folder, &store), Err(StoreError::NotEmpty { .. })));
        assert!(matches!(BackupWriter::create(&folder), Err(StoreError::NotEmpty { .. })));
        assert!(matches!(restore(&store, &folder), Err(StoreError::NotABackup { .. })));
    }

    #[test]
    fn damaged_backup_is_not_restored() {
        type Damage = fn(&Path);
        let cases: [(&str, Damage); 4] = [
            ("flipped", |at| fs::write(at.join("keyword/x"), b"wards").unwrap()),
            ("cut", |at| fs::write(at.join("keyword/x"), b"word").unwrap()),
            ("missing", |at| fs::remove_file(at.join("gen-4/notes.col")).unwrap()),
            ("its manifest", |at| {
                let mut bytes = fs::read(at.join(MANIFEST_FILE)).unwrap();
                bytes[3] ^= 1;
                fs::write(at.join(MANIFEST_FILE), bytes).unwrap();
            }),
        ];
        for (name, damage) in cases {
            let home = tempfile::tempdir().unwrap();
            let (folder, store) = (home.path().join("backup"), home.path().join("store"));
            backup(&folder);
            damage(&folder);
            let error = restore(&folder, &store).unwrap_err();
            assert!(matches!(error, StoreError::Damaged { .. }), "{name}: {error}");
            assert_eq!(
                fs::read_dir(home.path()).unwrap().count(),
                1,
                "{name}: the partial store is removed"
            );
        }
    }

    #[test]
    fn incomplete_or_escaping_backup_leaves_no_folder() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("backup");
        for path in ["../x", "/x", "", "a/../../x", MANIFEST_FILE] {
            let mut writer = BackupWriter::create(&folder).unwrap();
            assert!(writer.take(part(path, b"x")).is_err(), "{path}");
            drop(writer);
            assert!(!folder.exists(), "{path}");
        }
        let mut writer = BackupWriter::create(&folder).unwrap();
        writer.take(BackupPart { crc32: None, ..part("x", b"half") }).unwrap();
        assert!(matches!(writer.finish(1), Err(StoreError::Damaged { .. })));
        let mut writer = BackupWriter::create(&folder).unwrap();
        let wrong = BackupPart { crc32: Some(0), ..part("x", b"half") };
        assert!(matches!(writer.take(wrong), Err(StoreError::Damaged { .. })));
        drop(writer);
        assert!(!folder.exists());
    }
}
