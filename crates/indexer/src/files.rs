//! Files of a vault, written whole or not at all.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use weft_index::Disk;

use crate::hash::digest_of;

/// How the names of files begin that are not in their place yet, and how they end; no scan takes them for notes.
const BESIDE: (&str, &str) = (".weft-", ".tmp");

/// Whether a file may be one that was not put in its place: its writer, which its name tells, knows.
pub(crate) fn is_beside(name: &str) -> bool {
    name.starts_with(BESIDE.0) && name.ends_with(BESIDE.1)
}

/// The file's bytes; nothing where there is none.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether two names are those of one file; where that cannot be told, they are not.
pub(crate) fn is_one_file(a: &Path, b: &Path) -> io::Result<bool> {
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

/// Changes files of vaults for the one process that holds a store.
#[derive(Debug)]
pub(crate) struct Files {
    disk: Disk,
    /// How the names of its files begin that are not in their place yet: only who holds the store makes such.
    beside: String,
    n_beside: Cell<u64>,
}

impl Files {
    /// For the holder of the store in this folder.
    pub(crate) fn new(disk: Disk, store: &Path) -> Self {
        let store = fs::canonicalize(store).unwrap_or_else(|_| store.to_owned());
        let store = digest_of(&[store.as_os_str().as_encoded_bytes()]);
        let beside = format!("{}{store:016x}-", BESIDE.0);
        Self { disk, beside, n_beside: Cell::new(0) }
    }

    /// Puts `bytes` in the place of what is at `path`, with its permissions.
    ///
    /// Whenever this is interrupted, the file holds what it held or all of `bytes`.
    pub(crate) fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let beside = self.beside(path, bytes)?;
        if let Ok(facts) = fs::metadata(path) {
            fs::set_permissions(&beside.path, facts.permissions())?;
        }
        self.disk.rename(&beside.path, path)?;
        self.sync_folder(path)
    }

    /// Writes a new file, with the folders above it. Fails with `AlreadyExists` when something is at `path`, which stays as it is.
    pub(crate) fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.make_folder(path)?;
        let beside = self.beside(path, bytes)?;
        self.claim(&beside.path, path)?;
        self.sync_folder(path)
    }

    /// Moves a file, and makes the folders above its new place. Fails with `AlreadyExists` when something is there, which stays as it is.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.make_folder(to)?;
        self.claim(from, to)?;
        // A file that was given a second name has still its first; where it cannot lose that, it keeps that alone.
        self.lose_name(from, to).inspect_err(|_| {
            if is_one_file(from, to).unwrap_or(false) {
                let _ = self.disk.remove_file(to);
            }
        })
    }

    /// Takes the name `from` of a file away, if it has it still, as soon as its name `to` is durable.
    pub(crate) fn lose_name(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.sync_folder(to)?;
        self.disk.remove_file(from)?;
        self.sync_folder(from)
    }

    /// Gives a file another name, in place of one that has it.
    pub(crate) fn take_place(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)?;
        self.lose_name(from, to)
    }

    /// Removes a file; one that is not there is no error, nor is a folder that went with it.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_file(path)?;
        match self.sync_folder(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            synced => synced,
        }
    }

    /// Removes the files among `paths` that an earlier holder of the store did not live to put in their place.
    ///
    /// Only the holder calls this, and not while it writes; so nobody is at work on them.
    pub(crate) fn remove_left_over(&self, paths: &[PathBuf]) {
        for path in paths {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_own = is_beside(name) && name.starts_with(&self.beside);
            let is_file = || fs::symlink_metadata(path).is_ok_and(|facts| facts.is_file());
            if is_own && is_file() {
                match self.disk.remove_file(path) {
                    Ok(()) => {
                        tracing::info!(path = %path.display(), "what an interrupted write left is removed")
                    }
                    Err(error) => {
                        tracing::warn!(path = %path.display(), %error, "what an interrupted write left stays")
                    }
                }
            }
        }
    }

    /// Gives the file at `from` the name `to`, which nothing may have; the old name may stay.
    fn claim(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self.disk.link(from, to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) => Ok(()),
            // Where files have one name only, an empty file holds the place until the right one takes it.
            Err(_) => {
                drop(self.disk.create_new(to)?);
                self.disk.rename(from, to).inspect_err(|_| {
                    // Else an empty note would stand where one was to be.
                    let _ = self.disk.remove_file(to);
                })
            }
        }
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        path.parent().map_or(Ok(()), |folder| self.disk.create_folder(folder))
    }

    /// Makes the names beside `path` durable.
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        path.parent().map_or(Ok(()), |folder| self.disk.sync_folder(folder))
    }

    /// A durable file of `bytes` in the folder of `path`, which no scan takes for a note.
    fn beside(&self, path: &Path, bytes: &[u8]) -> io::Result<Beside<'_>> {
        let n = self.n_beside.replace(self.n_beside.get() + 1);
        let beside = path.with_file_name(format!("{}{n}{}", self.beside, BESIDE.1));
        let beside = Beside { path: beside, disk: &self.disk };
        // What an earlier holder left under this name goes; made anew, it is no link that leads elsewhere.
        self.disk.remove_file(&beside.path)?;
        let mut file = self.disk.create_new(&beside.path)?;
        self.disk.write_all(&mut file, &beside.path, bytes)?;
        self.disk.sync(&file, &beside.path)?;
        Ok(beside)
    }
}

/// A file that goes unless it was renamed.
struct Beside<'a> {
    path: PathBuf,
    disk: &'a Disk,
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
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

    fn files_of(store: &Path) -> Files {
        Files::new(Disk::default(), store)
    }

    #[test]
    fn nothing_is_overwritten_and_nothing_is_left_behind() {
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
    fn only_files_of_the_same_store_that_are_not_in_their_place_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let files = files_of(Path::new("store"));
        let own = files.beside.clone();
        let other = files_of(Path::new("another")).beside;
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
        files.remove_left_over(&listed);
        for (name, stays) in cases {
            assert_eq!(at(&name).exists(), stays, "{name}");
        }
        assert!(at(&format!("{own}9.tmp")).is_dir(), "it is no file");
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_permissions() {
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
