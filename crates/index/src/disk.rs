//! Changes of files, and the one place that they pass.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A file or folder is made.
    Create,
    /// Bytes are written into a file.
    Write,
    /// A file is given another length.
    Resize,
    /// What was written is made durable.
    Sync,
    /// A file or folder gets another name.
    Rename,
    /// A file or folder is removed.
    Remove,
}

impl Step {
    /// Whether a disk without room refuses it.
    #[must_use]
    pub const fn takes_room(self) -> bool {
        match self {
            Self::Create | Self::Write | Self::Resize => true,
            Self::Sync | Self::Rename | Self::Remove => false,
        }
    }
}

/// Stands before the changes of a disk, so that a test can say what a disk would.
pub trait Gate: Send + Sync {
    /// Lets a change of `path` come about, or says what the file system is to have answered.
    fn pass(&self, step: Step, path: &Path) -> io::Result<()>;
}

/// A disk: every change of the store's files is made here. Cloning shares the gate.
///
/// Nothing stands before the changes unless a test puts a [`Gate`] there.
#[derive(Clone, Default)]
pub struct Disk(Option<Arc<dyn Gate>>);

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_gated() { "Disk behind a gate" } else { "Disk" })
    }
}

impl Disk {
    /// A disk whose changes pass `gate`.
    #[must_use]
    pub fn behind(gate: Arc<dyn Gate>) -> Self {
        Self(Some(gate))
    }

    /// Whether a gate stands before the changes.
    pub(crate) const fn is_gated(&self) -> bool {
        self.0.is_some()
    }

    /// Asks whether a change may come about that somebody else makes.
    pub(crate) fn pass(&self, step: Step, path: &Path) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |gate| gate.pass(step, path))
    }

    /// Makes a folder and those above it, unless they are there; their names are durable, for without them nothing in them is.
    pub fn create_folder(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        self.pass(Step::Create, path)?;
        let above = || path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        let n_made = above().take_while(|above| !above.is_dir()).count();
        fs::create_dir_all(path)?;
        above().take(n_made + 1).try_for_each(|above| self.sync_folder(above))
    }

    /// The same, but that nobody else may look into what is made.
    pub(crate) fn create_private_folder(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        self.pass(Step::Create, path)?;
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(path)
    }

    /// Makes an empty file that is read and written; fails where something is at `path`.
    pub fn create_new(&self, path: &Path) -> io::Result<File> {
        self.pass(Step::Create, path)?;
        File::options().read(true).write(true).create_new(true).open(path)
    }

    /// Makes an empty file without a name in `folder`, to be read and written; it goes with the last who holds or maps it.
    pub(crate) fn create_nameless(&self, folder: &Path) -> io::Result<File> {
        self.pass(Step::Create, folder)?;
        // A crash before its name is taken from it leaves it with that of what is not in its place yet.
        let named = tempfile::Builder::new().suffix(&format!(".{STAGED}")).tempfile_in(folder)?;
        Ok(named.into_file())
    }

    /// Writes `bytes` at the place where `file`, which lies at `path`, stands.
    ///
    /// A write that a gate refuses has come half way.
    pub fn write_all(&self, file: &mut File, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.pass(Step::Write, path) {
            file.write_all(&bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        file.write_all(bytes)
    }

    /// Gives `file`, which lies at `path`, another length.
    pub fn set_len(&self, file: &File, path: &Path, n_bytes: u64) -> io::Result<()> {
        self.pass(Step::Resize, path)?;
        file.set_len(n_bytes)
    }

    /// Makes what was written into `file`, which lies at `path`, durable.
    pub fn sync(&self, file: &File, path: &Path) -> io::Result<()> {
        self.pass(Step::Sync, path)?;
        file.sync_data()
    }

    /// Makes the names in a folder durable; a no-op where folders cannot be opened.
    pub fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.pass(Step::Sync, folder)?;
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    }

    /// Gives a file or folder another name, in place of a file that has it.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.pass(Step::Rename, to)?;
        fs::rename(from, to)
    }

    /// Gives the file at `from` a second name, which nothing may have.
    pub fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.pass(Step::Create, to)?;
        fs::hard_link(from, to)
    }

    /// Removes a file; one that is not there is no error.
    pub fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.pass(Step::Remove, path)?;
        absent_is_removed(fs::remove_file(path))
    }

    /// Removes a folder with all it holds; one that is not there is no error.
    pub fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.pass(Step::Remove, path)?;
        absent_is_removed(fs::remove_dir_all(path))
    }

    /// Makes the file at `path` hold `bytes`, durably. Whoever reads it meanwhile may see some of them.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.pass(Step::Create, path)?;
        let mut file = File::create(path)?;
        self.write_all(&mut file, path, bytes)?;
        self.sync(&file, path)
    }

    /// Begins a file at `path`, in place of one that is there. Whoever reads it meanwhile may see some of it.
    pub(crate) fn outlet<'d>(&'d self, path: &'d Path) -> io::Result<Outlet<'d>> {
        self.pass(Step::Create, path)?;
        let file = File::create(path)?;
        let sum = FileSum { n_bytes: 0, crc32: 0 };
        let (buffer, hasher) = (Vec::with_capacity(PIECE_BYTES), crc32fast::Hasher::new());
        Ok(Outlet { disk: self, path, file, buffer, hasher, sum })
    }

    /// Puts a file of `bytes` in the place of the one at `path`: whoever reads it sees the old bytes or the new ones.
    ///
    /// The bytes are durable; that they are the ones in place is so after [`sync_folder`](Self::sync_folder).
    pub fn swap(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.swap_written(path, |beside| self.write(beside, bytes))
    }

    /// The same, but that the bytes are durable only when somebody has made them so.
    pub(crate) fn swap_for_now(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.swap_written(path, |beside| {
            self.pass(Step::Create, beside)?;
            self.write_all(&mut File::create(beside)?, beside, bytes)
        })
    }

    /// Puts what `write` makes beside `path` in its place, or takes it away: a disk that is full needs the room.
    fn swap_written(
        &self,
        path: &Path,
        write: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let beside = beside(path);
        let swapped = write(&beside).and_then(|()| self.rename(&beside, path));
        // Where it cannot be taken away, either, the next start does it.
        swapped.inspect_err(|_| drop(self.remove_file(&beside)))
    }

    /// The same, durably.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.swap(path, bytes)?;
        self.sync_folder(path.parent().unwrap_or(Path::new(".")))
    }
}

/// Bytes that are written at once.
const PIECE_BYTES: usize = 1 << 20;

/// A file that is written piece by piece.
#[derive(Debug)]
pub(crate) struct Outlet<'d> {
    disk: &'d Disk,
    path: &'d Path,
    file: File,
    buffer: Vec<u8>,
    hasher: crc32fast::Hasher,
    sum: FileSum,
}

/// What tells whether a file is what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileSum {
    pub(crate) n_bytes: u64,
    pub(crate) crc32: u32,
}

impl Outlet<'_> {
    /// Makes everything durable, and tells what was written.
    pub(crate) fn finish(mut self) -> io::Result<FileSum> {
        self.flush()?;
        self.disk.sync(&self.file, self.path)?;
        Ok(FileSum { crc32: self.hasher.finalize(), ..self.sum })
    }
}

impl io::Write for Outlet<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > PIECE_BYTES {
            self.flush()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.disk.write_all(&mut self.file, self.path, &self.buffer)?;
        self.hasher.update(&self.buffer);
        self.sum.n_bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

/// Bytes for which the disk of a folder has room; as many as there can be where the system does not tell.
pub(crate) fn room(folder: &Path) -> io::Result<u64> {
    #[cfg(unix)]
    {
        let facts = rustix::fs::statvfs(folder)?;
        Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        Ok(u64::MAX)
    }
}

/// The extension of files that are not in their place yet.
pub(crate) const STAGED: &str = "new";

/// A name beside `path`, one of its own for each: two threads may put files in the same place, one after the other.
fn beside(path: &Path) -> PathBuf {
    let n = N_STAGED.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{n}.{STAGED}"))
}

/// Files that this process has put beside their place so far.
static N_STAGED: AtomicU64 = AtomicU64::new(0);

fn absent_is_removed(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// The file's bytes; nothing where there is no such file.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the file system says of a file: whoever changes it changes this, unless he means to hide it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    n_bytes: u64,
    modified: Option<SystemTime>,
}

impl Facts {
    /// Nothing where there is no such file.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self { n_bytes: metadata.len(), modified: metadata.modified().ok() })
    }

    /// Whether a file has lost bytes since: where it is mapped, reading those ends the process.
    pub(crate) fn is_cut(before: Option<Self>, now: Option<Self>) -> bool {
        before.zip(now).is_some_and(|(before, now)| now.n_bytes < before.n_bytes)
    }
}

/// Whether a folder lies where a file is looked for, or the other way round.
pub(crate) fn is_misplaced(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory)
}

/// `bytes` with their checksum behind them.
pub(crate) fn sealed(bytes: &[u8]) -> Vec<u8> {
    [bytes, &crc32fast::hash(bytes).to_le_bytes()].concat()
}

/// The bytes that were sealed; nothing where the checksum differs.
pub(crate) fn unsealed(bytes: &[u8]) -> Option<&[u8]> {
    let (bytes, sum) = bytes.split_last_chunk()?;
    (crc32fast::hash(bytes) == u32::from_le_bytes(*sum)).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk on which files can be made and not filled.
    struct Full;

    impl Gate for Full {
        fn pass(&self, step: Step, _: &Path) -> io::Result<()> {
            if step == Step::Write { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
    }

    #[test]
    fn what_has_no_room_takes_none() {
        let folder = tempfile::tempdir().unwrap();
        let (path, disk) = (folder.path().join("file"), Disk::behind(Arc::new(Full)));
        fs::write(&path, "old").unwrap();
        for put in [Disk::swap, Disk::swap_for_now, Disk::replace] {
            let error = put(&disk, &path, b"new and longer").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
            assert_eq!(fs::read(&path).unwrap(), b"old");
        }
    }
}
