//! Files of a vault, written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The file's bytes; nothing where there is none.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Puts `bytes` in the place of what is at `path`, with its permissions.
///
/// Whenever this is interrupted, the file holds what it held or all of `bytes`.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = Beside::new(path, bytes)?;
    if let Ok(facts) = fs::metadata(path) {
        fs::set_permissions(&beside.path, facts.permissions())?;
    }
    fs::rename(&beside.path, path)?;
    sync_folder(path)
}

/// Writes a new file, with the folders above it. Fails with `AlreadyExists` when something is at `path`, which stays as it is.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_folder(path)?;
    let beside = Beside::new(path, bytes)?;
    claim(&beside.path, path)?;
    sync_folder(path)
}

/// Moves a file, and makes the folders above its new place. Fails with `AlreadyExists` when something is there, which stays as it is.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    make_folder(to)?;
    claim(from, to)?;
    // A file that was given a second name has still its first.
    match fs::remove_file(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        removed => removed?,
    }
    sync_folder(to)?;
    sync_folder(from)
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    sync_folder(path)
}

/// Gives the file at `from` the name `to`, which nothing may have; the old name may stay.
fn claim(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) => Ok(()),
        // Where files have one name only, an empty file holds the place until the right one takes it.
        Err(_) => {
            File::create_new(to)?;
            fs::rename(from, to)
        }
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Makes the names beside `path` durable; a no-op where folders cannot be opened.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        Some(_) | None => Ok(()),
    }
}

/// A durable file in the same folder that no scan looks at; goes unless it was renamed.
struct Beside {
    path: PathBuf,
}

impl Beside {
    fn new(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let n = COUNTER.fetch_add(1, Ordering::Relaxed);
        let beside = path.with_file_name(format!(".weft-{}-{n}.tmp", std::process::id()));
        // What a process of the same number left behind is nobody's.
        let mut file = File::create(&beside)?;
        let beside = Self { path: beside };
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(beside)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        let _ = fs::remove_file(&self.path);
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

    #[test]
    fn nothing_is_overwritten_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        create(&at("deep/a.md"), b"one").unwrap();
        let error = create(&at("deep/a.md"), b"two").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        replace(&at("deep/a.md"), b"three").unwrap();
        create(&at("b.md"), b"other").unwrap();
        let error = rename(&at("deep/a.md"), &at("b.md")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(at("b.md")).unwrap(), b"other");
        rename(&at("deep/a.md"), &at("new/c.md")).unwrap();
        assert_eq!(fs::read(at("new/c.md")).unwrap(), b"three");
        assert_eq!(names(&at("deep")), [""; 0]);
        remove(&at("b.md")).unwrap();
        assert_eq!(names(folder.path()), ["deep", "new"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.md");
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, b"two").unwrap();
        let facts = fs::metadata(&path).unwrap();
        assert_eq!((facts.permissions().mode() & 0o777, facts.len()), (0o640, 3));
    }
}
