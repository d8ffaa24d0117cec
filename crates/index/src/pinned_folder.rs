//! Folders that are opened once, so that changes in them cannot be redirected by a symbolic link.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use rustix::fs::{AtFlags, Mode, OFlags};

#[cfg(not(unix))]
use crate::checked_folder;
use crate::disk::{Disk, DiskOperation, ignore_not_found};

/// An open folder. Names in it refer to the same folder whatever happens to its path.
///
/// On systems other than Unix, names are appended to its path instead, and each change is checked (`checked_folder`).
#[derive(Debug)]
pub struct PinnedFolder {
    path: PathBuf,
    #[cfg(unix)]
    folder: File,
}

impl PinnedFolder {
    /// Opens the folder at `path`, an absolute path; fails if a component of it is a symbolic link.
    pub fn open(path: &Path) -> io::Result<Self> {
        #[cfg(not(unix))]
        checked_folder::check(path)?;
        Ok(Self {
            path: path.to_owned(),
            #[cfg(unix)]
            folder: open_without_links(path, OFlags::RDONLY | OFlags::DIRECTORY)?,
        })
    }

    /// Returns the path at which it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path at which `name` is expected.
    fn at(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// Opens the file `name` for reading; fails if it is a symbolic link.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        #[cfg(unix)]
        {
            self.open_at(name, OFlags::RDONLY | OFlags::NONBLOCK)
        }
        #[cfg(not(unix))]
        {
            checked_folder::open_file(&self.at(name))
        }
    }

    /// Opens the folder `name` in it; fails if that is a symbolic link.
    fn open_folder(&self, name: &OsStr) -> io::Result<Self> {
        #[cfg(not(unix))]
        checked_folder::check(&self.at(name))?;
        Ok(Self {
            path: self.at(name),
            #[cfg(unix)]
            folder: self.open_at(name, OFlags::RDONLY | OFlags::DIRECTORY)?,
        })
    }

    #[cfg(unix)]
    fn open_at(&self, name: &OsStr, how: OFlags) -> io::Result<File> {
        let how = how | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
        Ok(rustix::fs::openat(&self.folder, name, how, Mode::empty())?.into())
    }
}

/// Opens an absolute path of which no component may be a symbolic link.
///
/// Linux does this in one system call; elsewhere, and where that call is not available, each folder on the way is opened in turn.
#[cfg(unix)]
fn open_without_links(path: &Path, how: OFlags) -> io::Result<File> {
    let how = how | OFlags::CLOEXEC | OFlags::NOCTTY;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, ResolveFlags, openat2};
        use rustix::io::Errno;
        match openat2(CWD, path, how, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Sandboxes deny system calls that they do not know.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return Ok(opened?.into()),
        }
    }
    open_step_by_step(path, how)
}

/// Opens an absolute path like [`open_without_links`], one component after the other.
#[cfg(unix)]
fn open_step_by_step(path: &Path, how: OFlags) -> io::Result<File> {
    use std::path::Component;
    // A folder on the way need not be readable.
    #[cfg(target_os = "linux")]
    let on_the_way = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    #[cfg(not(target_os = "linux"))]
    let on_the_way = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut names = path.components();
    if names.next() != Some(Component::RootDir) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is not absolute"));
    }
    let mut names = names.peekable();
    let first = if names.peek().is_some() { on_the_way } else { how };
    let mut opened = rustix::fs::open("/", first, Mode::empty())?;
    while let Some(name) = names.next() {
        let Component::Normal(name) = name else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is not canonical"));
        };
        let flags = if names.peek().is_some() { on_the_way } else { how | OFlags::NOFOLLOW };
        opened = rustix::fs::openat(&opened, name, flags, Mode::empty())?;
    }
    Ok(opened.into())
}

/// Folders that were created for a file, outermost first.
#[derive(Debug, Default)]
pub struct CreatedFolders(Vec<(PinnedFolder, std::ffi::OsString)>);

/// Operations in pinned folders.
impl Disk {
    /// Opens the folder at `path`, an absolute path, and creates it and its missing parents durably; also returns what it created.
    ///
    /// Fails if a component of the path is a symbolic link. On failure nothing created remains.
    pub fn create_pinned(&self, path: &Path) -> io::Result<(PinnedFolder, CreatedFolders)> {
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let mut missing = Vec::new();
        let mut nearest = path;
        let mut folder = loop {
            match (PinnedFolder::open(nearest), nearest.parent(), nearest.file_name()) {
                (Err(error), Some(parent), Some(name)) if is_missing(&error) => {
                    missing.push(name);
                    nearest = parent;
                }
                (opened, ..) => break opened?,
            }
        };
        let mut created = CreatedFolders::default();
        while let Some(name) = missing.pop() {
            let made = self.create_folder_in(&folder, name);
            let is_new = matches!(made, Ok(true));
            let opened = made.and_then(|_| {
                self.sync_pinned(&folder)?;
                folder.open_folder(name)
            });
            match opened {
                Ok(inner) => {
                    let outer = std::mem::replace(&mut folder, inner);
                    created.0.extend(is_new.then(|| (outer, name.to_owned())));
                }
                Err(error) => {
                    created.0.extend(is_new.then(|| (folder, name.to_owned())));
                    self.remove_created(created);
                    return Err(error);
                }
            }
        }
        Ok((folder, created))
    }

    /// Removes the folders that [`create_pinned`](Self::create_pinned) created, unless they contain something by now.
    pub fn remove_created(&self, created: CreatedFolders) {
        for (folder, name) in created.0.into_iter().rev() {
            let removed = self.check_fault(DiskOperation::Remove, &folder.at(&name));
            #[cfg(unix)]
            let removed = removed.and_then(|()| {
                Ok(rustix::fs::unlinkat(&folder.folder, &*name, AtFlags::REMOVEDIR)?)
            });
            #[cfg(not(unix))]
            let removed = removed.and_then(|()| checked_folder::remove_folder(&folder.at(&name)));
            if removed.is_err() {
                return;
            }
        }
    }

    /// Creates the folder `name`; returns false if another process has created it meanwhile.
    fn create_folder_in(&self, folder: &PinnedFolder, name: &OsStr) -> io::Result<bool> {
        self.check_fault(DiskOperation::Create, &folder.at(name))?;
        #[cfg(unix)]
        let created = rustix::fs::mkdirat(&folder.folder, name, Mode::from_raw_mode(0o777))
            .map_err(io::Error::from);
        #[cfg(not(unix))]
        let created = checked_folder::create_folder(&folder.at(name));
        match created {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            created => Ok(created.is_ok()),
        }
    }

    /// Creates an empty file `name` for reading and writing; fails if the name exists.
    pub fn create_new_in(&self, folder: &PinnedFolder, name: &OsStr) -> io::Result<File> {
        self.check_fault(DiskOperation::Create, &folder.at(name))?;
        #[cfg(unix)]
        {
            let how = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(0o666);
            Ok(rustix::fs::openat(&folder.folder, name, how, mode)?.into())
        }
        #[cfg(not(unix))]
        {
            checked_folder::create_new(&folder.at(name))
        }
    }

    /// Renames a file, replacing a file of that name.
    pub fn rename_in(
        &self,
        (from, old): (&PinnedFolder, &OsStr),
        (to, new): (&PinnedFolder, &OsStr),
    ) -> io::Result<()> {
        self.check_fault(DiskOperation::Rename, &to.at(new))?;
        #[cfg(unix)]
        {
            Ok(rustix::fs::renameat(&from.folder, old, &to.folder, new)?)
        }
        #[cfg(not(unix))]
        {
            checked_folder::rename(&from.at(old), &to.at(new))
        }
    }

    /// Gives a file a second name, which must not exist.
    pub fn link_in(
        &self,
        (from, old): (&PinnedFolder, &OsStr),
        (to, new): (&PinnedFolder, &OsStr),
    ) -> io::Result<()> {
        self.check_fault(DiskOperation::Create, &to.at(new))?;
        #[cfg(unix)]
        {
            Ok(rustix::fs::linkat(&from.folder, old, &to.folder, new, AtFlags::empty())?)
        }
        #[cfg(not(unix))]
        {
            checked_folder::hard_link(&from.at(old), &to.at(new))
        }
    }

    /// Removes the file `name`; a missing file is not an error. A symbolic link is removed, not what it refers to.
    pub fn remove_file_in(&self, folder: &PinnedFolder, name: &OsStr) -> io::Result<()> {
        self.check_fault(DiskOperation::Remove, &folder.at(name))?;
        #[cfg(unix)]
        let removed =
            rustix::fs::unlinkat(&folder.folder, name, AtFlags::empty()).map_err(io::Error::from);
        #[cfg(not(unix))]
        let removed = checked_folder::remove_file(&folder.at(name));
        ignore_not_found(removed)
    }

    /// Makes the names in a folder durable; a no-op on systems where folders cannot be opened.
    pub fn sync_pinned(&self, folder: &PinnedFolder) -> io::Result<()> {
        self.check_fault(DiskOperation::Sync, &folder.path)?;
        #[cfg(unix)]
        folder.folder.sync_all()?;
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::symlink;

    use super::*;

    fn real(folder: &tempfile::TempDir) -> PathBuf {
        folder.path().canonicalize().expect("a folder")
    }

    #[test]
    fn links_on_the_way_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| real(&folder).join(path);
        std::fs::create_dir_all(at("a/b")).unwrap();
        symlink("a", at("link")).unwrap();
        symlink("b", at("a/last")).unwrap();
        for open in [open_without_links, open_step_by_step] {
            let open = |path: &str| open(&at(path), OFlags::RDONLY | OFlags::DIRECTORY);
            for (path, is_open) in [
                ("", true),
                ("a/b", true),
                ("link", false),
                ("link/b", false),
                ("a/last", false),
                ("a/none", false),
            ] {
                assert_eq!(open(path).is_ok(), is_open, "{path}");
            }
        }
        let how = OFlags::RDONLY | OFlags::DIRECTORY;
        assert!(open_step_by_step(Path::new("/"), how).is_ok());
        assert!(open_step_by_step(Path::new("a"), how).is_err());
    }

    #[test]
    fn names_stay_in_the_folder_that_was_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| real(&folder).join(path);
        std::fs::create_dir_all(at("inside")).unwrap();
        std::fs::create_dir_all(at("outside")).unwrap();
        let (disk, name) = (Disk::default(), OsStr::new("x.md"));
        let pinned = PinnedFolder::open(&at("inside")).unwrap();
        std::fs::rename(at("inside"), at("moved")).unwrap();
        symlink("outside", at("inside")).unwrap();
        disk.create_new_in(&pinned, name).unwrap().write_all(b"moss").unwrap();
        disk.link_in((&pinned, name), (&pinned, OsStr::new("y.md"))).unwrap();
        disk.rename_in((&pinned, name), (&pinned, OsStr::new("z.md"))).unwrap();
        disk.remove_file_in(&pinned, OsStr::new("y.md")).unwrap();
        disk.sync_pinned(&pinned).unwrap();
        assert_eq!(std::fs::read(at("moved/z.md")).unwrap(), b"moss");
        assert_eq!(std::fs::read_dir(at("outside")).unwrap().count(), 0);
        symlink("z.md", at("moved/link.md")).unwrap();
        assert!(pinned.open_file(OsStr::new("link.md")).is_err());
        let mut text = String::new();
        pinned.open_file(OsStr::new("z.md")).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "moss");
    }

    #[test]
    fn created_folders_are_removed_if_they_stay_empty() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| real(&folder).join(path);
        let disk = Disk::default();
        let (pinned, created) = disk.create_pinned(&at("a/b/c")).unwrap();
        assert_eq!(pinned.path(), at("a/b/c"));
        std::fs::write(at("a/note.md"), "mine").unwrap();
        disk.remove_created(created);
        assert!(at("a/note.md").exists() && !at("a/b").exists());
        let (_, created) = disk.create_pinned(&at("a")).unwrap();
        disk.remove_created(created);
        assert!(at("a").exists(), "it existed before");
        symlink("a", at("link")).unwrap();
        assert!(disk.create_pinned(&at("link/new")).is_err());
        assert!(!at("a/new").exists());
    }
}
