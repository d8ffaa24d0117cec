//! Atomic changes of files in vaults.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use weft_index::{Disk, PinnedFolder};

use crate::content_hash::digest_of;

/// Prefix and suffix of the names of temporary files, which scans do not index.
const TEMP_NAME: (&str, &str) = (".weft-", ".tmp");

/// Returns true if a file may be a temporary file; its full name identifies the store that wrote it.
pub(crate) fn is_temp_file(name: &str) -> bool {
    name.starts_with(TEMP_NAME.0) && name.ends_with(TEMP_NAME.1)
}

/// Reads the file at a canonical path; returns `None` if it does not exist.
///
/// Fails if a component of the path has become a symbolic link.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let read = |mut file: fs::File| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map(|_| bytes)
    };
    match open(path).and_then(read) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens the regular file at a canonical path for reading.
///
/// Fails if a component of the path has become a symbolic link.
pub(crate) fn open(path: &Path) -> io::Result<fs::File> {
    let FilePlace { folder, name } = FilePlace::of(path)?;
    let file = folder.open_file(name)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

/// A name in an open folder: the place of a file that no symbolic link can redirect.
struct FilePlace<'p> {
    folder: PinnedFolder,
    name: &'p OsStr,
}

impl<'p> FilePlace<'p> {
    /// Opens the folder of the file at a canonical path.
    fn of(path: &'p Path) -> io::Result<Self> {
        let (folder, name) = split(path)?;
        Ok(Self { folder: PinnedFolder::open(folder)?, name })
    }

    fn name(&self) -> (&PinnedFolder, &OsStr) {
        (&self.folder, self.name)
    }
}

/// Splits a path into its folder and its name.
fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "the path names no file");
    path.parent().zip(path.file_name()).ok_or_else(invalid)
}

/// Returns true if two paths lead to the same file; always false on systems that cannot tell.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let (a, b) = (fs::metadata(a)?, fs::metadata(b)?);
        Ok((a.dev(), a.ino()) == (b.dev(), b.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = (a, b);
        Ok(false)
    }
}

/// Changes files of vaults on behalf of the process that holds the lock of a store.
///
/// All paths are canonical. An operation fails if a component of a folder's path has become a symbolic link, and acts on the folder that was opened even if its path changes meanwhile.
#[derive(Debug)]
pub(crate) struct VaultFiles {
    disk: Disk,
    /// Prefix of the names of its temporary files; only the holder of the store creates such files.
    temp_prefix: String,
    n_temp_files: AtomicU64,
}

impl VaultFiles {
    /// Creates an instance for the holder of the store in this folder.
    pub(crate) fn new(disk: Disk, store: &Path) -> Self {
        let store = fs::canonicalize(store).unwrap_or_else(|_| store.to_owned());
        let store = digest_of(&[store.as_os_str().as_encoded_bytes()]);
        let temp_prefix = format!("{}{store:016x}-", TEMP_NAME.0);
        Self { disk, temp_prefix, n_temp_files: AtomicU64::new(0) }
    }

    /// Replaces the content of the file at `path` by `bytes`; keeps its permissions.
    ///
    /// If this is interrupted, the file has either its old content or all of `bytes`.
    pub(crate) fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.replace_if(path, bytes, || Ok(true)).map(drop)
    }

    /// Calls `is_unchanged` and replaces the content of the file if it returns true; returns its result.
    pub(crate) fn replace_if(
        &self,
        path: &Path,
        bytes: &[u8],
        is_unchanged: impl FnOnce() -> io::Result<bool>,
    ) -> io::Result<bool> {
        let place = FilePlace::of(path)?;
        let temp = self.write_temp(&place.folder, bytes)?;
        if !is_unchanged()? {
            return Ok(false);
        }
        if let Ok(old) = place.folder.open_file(place.name).and_then(|file| file.metadata()) {
            temp.file.set_permissions(old.permissions())?;
        }
        self.disk.rename_in(temp.name(), place.name())?;
        self.disk.sync_pinned(&place.folder)?;
        Ok(true)
    }

    /// Creates a file, and the folders above it. Fails with `AlreadyExists` if `path` exists; on failure nothing created remains.
    pub(crate) fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let (folder, name) = split(path)?;
        let (folder, created) = self.disk.create_pinned(folder)?;
        let place = FilePlace { folder, name };
        let written = self.write_temp(&place.folder, bytes).and_then(|temp| {
            self.link_exclusively(temp.name(), place.name())?;
            // The file has its name; an error from here on must not leave half of the change.
            self.disk.sync_pinned(&place.folder).inspect_err(|_| {
                let _ = self.disk.remove_file_in(&place.folder, place.name);
            })
        });
        written.inspect_err(|_| self.disk.remove_created(created))
    }

    /// Moves a file, and creates the folders above its new path. Fails with `AlreadyExists` if the new path exists; on failure nothing created remains.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let old = FilePlace::of(from)?;
        let (folder, name) = split(to)?;
        let (folder, created) = self.disk.create_pinned(folder)?;
        let new = FilePlace { folder, name };
        let moved = self.link_exclusively(old.name(), new.name()).and_then(|()| {
            // The file may have both names now; if the old one cannot be removed, the new one is.
            self.unlink_old(&old, &new).inspect_err(|_| {
                if is_same_file(from, to).unwrap_or(false) {
                    let _ = self.disk.remove_file_in(&new.folder, new.name);
                }
            })
        });
        moved.inspect_err(|_| self.disk.remove_created(created))
    }

    /// Removes the name `from` of a file, if it still exists, once its name `to` is durable.
    pub(crate) fn unlink_old_name(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.unlink_old(&FilePlace::of(from)?, &FilePlace::of(to)?)
    }

    fn unlink_old(&self, from: &FilePlace<'_>, to: &FilePlace<'_>) -> io::Result<()> {
        self.disk.sync_pinned(&to.folder)?;
        self.disk.remove_file_in(&from.folder, from.name)?;
        self.disk.sync_pinned(&from.folder)
    }

    /// Renames a file over the placeholder at `to`.
    pub(crate) fn replace_placeholder(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (FilePlace::of(from)?, FilePlace::of(to)?);
        self.disk.rename_in(from.name(), to.name())?;
        self.unlink_old(&from, &to)
    }

    /// Removes a file; a missing file or a missing parent folder is not an error.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = FilePlace::of(path).and_then(|place| {
            self.disk.remove_file_in(&place.folder, place.name)?;
            self.disk.sync_pinned(&place.folder)
        });
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Removes the temporary files among `paths` that an earlier holder of the store left behind.
    ///
    /// Only the current holder calls this, and not while it writes, so none of them is in use.
    pub(crate) fn remove_stale_temp_files(&self, paths: &[PathBuf]) {
        for path in paths {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_own = is_temp_file(name) && name.starts_with(&self.temp_prefix);
            let is_file = || fs::symlink_metadata(path).is_ok_and(|facts| facts.is_file());
            if is_own && is_file() {
                let removed = FilePlace::of(path)
                    .and_then(|place| self.disk.remove_file_in(&place.folder, place.name));
                match removed {
                    Ok(()) => {
                        tracing::info!(path = %path.display(), "removed the temporary file of an interrupted write")
                    }
                    Err(error) => {
                        tracing::warn!(path = %path.display(), %error, "cannot remove the temporary file of an interrupted write")
                    }
                }
            }
        }
    }

    /// Gives the file at `from` the name `to`, which must not exist; the old name may remain.
    fn link_exclusively(
        &self,
        from: (&PinnedFolder, &OsStr),
        to: (&PinnedFolder, &OsStr),
    ) -> io::Result<()> {
        match self.disk.link_in(from, to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) => Ok(()),
            // On file systems without hard links, an empty placeholder reserves the name until the rename.
            Err(_) => {
                drop(self.disk.create_new_in(to.0, to.1)?);
                self.disk.rename_in(from, to).inspect_err(|_| {
                    // Otherwise an empty note would remain at the path.
                    let _ = self.disk.remove_file_in(to.0, to.1);
                })
            }
        }
    }

    /// Writes `bytes` durably to a temporary file in `folder`.
    fn write_temp<'a>(
        &'a self,
        folder: &'a PinnedFolder,
        bytes: &[u8],
    ) -> io::Result<TempFile<'a>> {
        let n = self.n_temp_files.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!("{}{n}{}", self.temp_prefix, TEMP_NAME.1));
        // A file of an earlier holder may have this name; creating the file again also ensures that it is not a symbolic link.
        self.disk.remove_file_in(folder, &name)?;
        let file = self.disk.create_new_in(folder, &name)?;
        let path = folder.path().join(&name);
        let mut temp = TempFile { folder, name, file, disk: &self.disk };
        self.disk.write_all(&mut temp.file, &path, bytes)?;
        self.disk.sync(&temp.file, &path)?;
        Ok(temp)
    }
}

/// A temporary file that is removed on drop, unless it was renamed.
struct TempFile<'a> {
    folder: &'a PinnedFolder,
    name: OsString,
    file: fs::File,
    disk: &'a Disk,
}

impl TempFile<'_> {
    fn name(&self) -> (&PinnedFolder, &OsStr) {
        (self.folder, &self.name)
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        // After a rename there is no file to remove.
        let _ = self.disk.remove_file_in(self.folder, &self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn files_of(store: &Path) -> VaultFiles {
        VaultFiles::new(Disk::default(), store)
    }

    #[test]
    fn writes_never_overwrite_and_leave_no_temp_files() {
        let folder = tempfile::tempdir().unwrap();
        let files = files_of(Path::new("store"));
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        files.create(&at("deep/a.md"), b"one").unwrap();
        let error = files.create(&at("deep/a.md"), b"two").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        files.replace(&at("deep/a.md"), b"three").unwrap();
        files.create(&at("b.md"), b"other").unwrap();
        let error = files.rename(&at("deep/a.md"), &at("b.md")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(at("b.md")).unwrap(), b"other");
        files.rename(&at("deep/a.md"), &at("new/c.md")).unwrap();
        assert_eq!(fs::read(at("new/c.md")).unwrap(), b"three");
        assert_eq!(names(&at("deep")), [""; 0]);
        files.remove(&at("b.md")).unwrap();
        assert_eq!(names(folder.path()), ["deep", "new"]);
    }

    #[test]
    fn only_temp_files_of_the_same_store_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        let files = files_of(Path::new("store"));
        let own = files.temp_prefix.clone();
        let other = files_of(Path::new("another")).temp_prefix;
        let cases = [
            (format!("{own}7.tmp"), false),
            (format!("{own}8"), true),
            (format!("{other}7.tmp"), true),
            (".weft-7.tmp".to_owned(), true),
            ("moss.md".to_owned(), true),
        ];
        for (name, _) in &cases {
            fs::write(at(name), "moss").unwrap();
        }
        fs::create_dir(at(&format!("{own}9.tmp"))).unwrap();
        let listed: Vec<PathBuf> = names(folder.path()).iter().map(|name| at(name)).collect();
        files.remove_stale_temp_files(&listed);
        for (name, stays) in cases {
            assert_eq!(at(&name).exists(), stays, "{name}");
        }
        assert!(at(&format!("{own}9.tmp")).is_dir(), "it is a folder");
    }

    #[cfg(unix)]
    #[test]
    fn replaced_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("a.md");
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        files_of(Path::new("store")).replace(&path, b"two").unwrap();
        let facts = fs::metadata(&path).unwrap();
        assert_eq!((facts.permissions().mode() & 0o777, facts.len()), (0o640, 3));
    }

    /// Another process swaps a folder of the vault and a symbolic link to a folder outside while notes are put there.
    #[cfg(target_os = "linux")]
    #[test]
    fn no_file_is_written_outside_while_folder_and_link_are_swapped() {
        use std::sync::atomic::{AtomicBool, Ordering};

        use rustix::fs::{CWD, RenameFlags};

        use crate::scan::{ScanOptions, note_path, writable_path};

        // Five of eight operations are puts.
        const N_OPERATIONS: usize = 16_000;
        // A disk in memory makes each write durable at once.
        let memory = Path::new("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let folder = folder.unwrap();
        let home = folder.path().canonicalize().unwrap();
        let (vault, outside) = (home.join("vault"), home.join("outside"));
        fs::create_dir_all(vault.join("d")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret.md"), "outside").unwrap();
        let files = files_of(Path::new("store"));
        let is_over = AtomicBool::new(false);
        let (d, link) = (vault.join("d"), vault.join(".link"));
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        let swap = || {
            while !is_over.load(Ordering::Relaxed) {
                let exchange = RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(CWD, &d, CWD, &link, exchange).unwrap();
            }
        };
        let options = ScanOptions::default();
        let (mut n_written, mut n_refused, mut n_leaked) = (0, 0, 0);
        std::thread::scope(|scope| {
            scope.spawn(swap);
            for n in 0..N_OPERATIONS {
                // New files, new folders, replaced files, removed files and moved files.
                let path = match n % 4 {
                    0 => format!("d/new-{n}.md"),
                    1 => format!("d/deep-{}/new-{n}.md", n % 64),
                    _ => format!("d/race-{}.md", n % 64),
                };
                let path = note_path(&path).unwrap();
                let Ok(Ok(place)) = writable_path(&vault, &options, &path) else {
                    n_refused += 1;
                    continue;
                };
                let done = match n % 8 {
                    2 => files.remove(&place.named),
                    6 => files.rename(&place.real, &vault.join(format!("d/moved-{n}.md"))),
                    7 => read(&vault.join("d/secret.md"))
                        .map(|text| n_leaked += usize::from(text.is_some())),
                    _ => match files.create(&place.real, b"moss") {
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                            files.replace(&place.real, b"fern")
                        }
                        created => created,
                    },
                };
                *if done.is_ok() { &mut n_written } else { &mut n_refused } += 1;
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!((names(&outside), n_leaked), (vec!["secret.md".to_owned()], 0));
        assert_eq!(fs::read(outside.join("secret.md")).unwrap(), b"outside");
        assert!(n_written > 100 && n_refused > 100, "{n_written} done, {n_refused} refused");
    }
}
