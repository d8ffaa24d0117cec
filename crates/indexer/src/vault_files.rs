//! Atomic changes of files in vaults.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use weft_index::Disk;

use crate::content_hash::digest_of;

/// Prefix and suffix of the names of temporary files, which scans do not index.
const TEMP_NAME: (&str, &str) = (".weft-", ".tmp");

/// Returns true if a file may be a temporary file; its full name identifies the store that wrote it.
pub(crate) fn is_temp_file(name: &str) -> bool {
    name.starts_with(TEMP_NAME.0) && name.ends_with(TEMP_NAME.1)
}

/// Reads a file; returns `None` if it does not exist.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
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
#[derive(Debug)]
pub(crate) struct VaultFiles {
    disk: Disk,
    /// Prefix of the names of its temporary files; only the holder of the store creates such files.
    temp_prefix: String,
    n_temp_files: Cell<u64>,
}

impl VaultFiles {
    /// Creates an instance for the holder of the store in this folder.
    pub(crate) fn new(disk: Disk, store: &Path) -> Self {
        let store = fs::canonicalize(store).unwrap_or_else(|_| store.to_owned());
        let store = digest_of(&[store.as_os_str().as_encoded_bytes()]);
        let temp_prefix = format!("{}{store:016x}-", TEMP_NAME.0);
        Self { disk, temp_prefix, n_temp_files: Cell::new(0) }
    }

    /// Replaces the content of the file at `path` by `bytes`; keeps its permissions.
    ///
    /// If this is interrupted, the file has either its old content or all of `bytes`.
    pub(crate) fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let temp = self.write_temp(path, bytes)?;
        if let Ok(facts) = fs::metadata(path) {
            fs::set_permissions(&temp.path, facts.permissions())?;
        }
        self.disk.rename(&temp.path, path)?;
        self.sync_folder(path)
    }

    /// Creates a file, and the folders above it. Fails with `AlreadyExists`, and changes nothing, if `path` exists.
    pub(crate) fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.create_parent(path)?;
        let temp = self.write_temp(path, bytes)?;
        self.link_exclusively(&temp.path, path)?;
        self.sync_folder(path)
    }

    /// Moves a file, and creates the folders above its new path. Fails with `AlreadyExists`, and changes nothing, if the new path exists.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.create_parent(to)?;
        self.link_exclusively(from, to)?;
        // The file may have both names now; if the old one cannot be removed, the new one is.
        self.unlink_old_name(from, to).inspect_err(|_| {
            if is_same_file(from, to).unwrap_or(false) {
                let _ = self.disk.remove_file(to);
            }
        })
    }

    /// Removes the name `from` of a file, if it still exists, once its name `to` is durable.
    pub(crate) fn unlink_old_name(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.sync_folder(to)?;
        self.disk.remove_file(from)?;
        self.sync_folder(from)
    }

    /// Renames a file over the placeholder at `to`.
    pub(crate) fn replace_placeholder(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)?;
        self.unlink_old_name(from, to)
    }

    /// Removes a file; a missing file or a missing parent folder is not an error.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_file(path)?;
        match self.sync_folder(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            synced => synced,
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
                match self.disk.remove_file(path) {
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
    fn link_exclusively(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self.disk.link(from, to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) => Ok(()),
            // On file systems without hard links, an empty placeholder reserves the name until the rename.
            Err(_) => {
                drop(self.disk.create_new(to)?);
                self.disk.rename(from, to).inspect_err(|_| {
                    // Otherwise an empty note would remain at the path.
                    let _ = self.disk.remove_file(to);
                })
            }
        }
    }

    fn create_parent(&self, path: &Path) -> io::Result<()> {
        path.parent().map_or(Ok(()), |folder| self.disk.create_folder(folder))
    }

    /// Makes changes of the folder of `path` durable.
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        path.parent().map_or(Ok(()), |folder| self.disk.sync_folder(folder))
    }

    /// Writes `bytes` durably to a temporary file in the folder of `path`.
    fn write_temp(&self, path: &Path, bytes: &[u8]) -> io::Result<TempFile<'_>> {
        let n = self.n_temp_files.replace(self.n_temp_files.get() + 1);
        let path = path.with_file_name(format!("{}{n}{}", self.temp_prefix, TEMP_NAME.1));
        let temp = TempFile { path, disk: &self.disk };
        // A file of an earlier holder may have this name; creating the file again also ensures that it is not a symbolic link.
        self.disk.remove_file(&temp.path)?;
        let mut file = self.disk.create_new(&temp.path)?;
        self.disk.write_all(&mut file, &temp.path, bytes)?;
        self.disk.sync(&file, &temp.path)?;
        Ok(temp)
    }
}

/// A temporary file that is removed on drop, unless it was renamed.
struct TempFile<'a> {
    path: PathBuf,
    disk: &'a Disk,
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        // After a rename there is no file to remove.
        let _ = self.disk.remove_file(&self.path);
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
        let at = |name: &str| folder.path().join(name);
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
        let at = |name: &str| folder.path().join(name);
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
        let path = folder.path().join("a.md");
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        files_of(Path::new("store")).replace(&path, b"two").unwrap();
        let facts = fs::metadata(&path).unwrap();
        assert_eq!((facts.permissions().mode() & 0o777, facts.len()), (0o640, 3));
    }
}
