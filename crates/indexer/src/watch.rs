//! The watcher: tells the writer which files changed, or that it must look for itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use serde::{Deserialize, Serialize};
use weft_model::settings::Problems;

use crate::status::WatchState;

/// How changed files are noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WatchOptions {
    /// Whether changes are noticed at all without being asked for.
    pub enabled: bool,
    /// By what.
    pub mode: WatchMode,
    /// How long a burst of changes must be over before it is read, in milliseconds, 0 to 60,000; after four times that it is read anyway.
    pub debounce_ms: u64,
    /// How long to wait between two looks at all files where changes are not announced, in milliseconds, 100 to 3,600,000.
    pub poll_ms: u64,
    /// How long to wait between two looks at all files where changes are announced, in milliseconds, 1,000 to 86,400,000; 0 for none.
    ///
    /// Nobody announces what comes with a disk that is mounted below the folder, nor what changes behind a link into a folder that is not watched.
    pub sweep_ms: u64,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            enabled: true,
            mode: WatchMode::Auto,
            debounce_ms: 100,
            poll_ms: 2_000,
            sweep_ms: 600_000,
        }
    }
}

impl WatchOptions {
    /// What of it cannot be used.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { enabled: _, mode: _, debounce_ms, poll_ms, sweep_ms } = *self;
        let mut problems = Problems::default();
        problems.within("debounce_ms", debounce_ms, 0..=60_000);
        problems.within("poll_ms", poll_ms, 100..=3_600_000);
        let sweeps = sweep_ms == 0 || (1_000..=86_400_000).contains(&sweep_ms);
        problems.check(sweeps, "sweep_ms", "must be 0, for never, or 1000 to 86400000");
        problems
    }

    /// How long a burst of changes must be over.
    pub(crate) const fn debounce(&self) -> Duration {
        Duration::from_millis(self.debounce_ms)
    }

    /// How long to wait between two looks.
    pub(crate) const fn poll(&self) -> Duration {
        Duration::from_millis(self.poll_ms)
    }

    /// How long to wait between two looks although changes are announced; nothing for no such look.
    pub(crate) fn sweep(&self) -> Option<Duration> {
        (self.sweep_ms > 0).then(|| Duration::from_millis(self.sweep_ms))
    }
}

/// By what changes are noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WatchMode {
    /// By the system's announcements where the file system makes them, else by looking.
    #[default]
    Auto,
    /// By the system's announcements alone.
    Native,
    /// By looking at all files from time to time.
    Poll,
}

/// What a watcher has to say.
#[derive(Debug)]
pub(crate) enum Touched {
    /// These paths changed, or what lies below them.
    Paths(Vec<PathBuf>),
    /// More than anybody remembers; anything may have changed.
    Much,
    /// Announcements were lost; anything may have changed, and new folders may not be watched.
    Lost,
}

/// Watches one folder until it is dropped.
#[derive(Default)]
pub(crate) struct Watch {
    /// How changes are noticed.
    pub(crate) state: WatchState,
    /// Lives as long as changes are announced.
    _watcher: Option<RecommendedWatcher>,
}

impl Watch {
    /// Calls `on_change` at each change below `root`, or says that somebody must look; with a line for a person where that is not as asked for.
    ///
    /// Reading a file is no change. Paths begin with `root` as given.
    pub(crate) fn start(
        root: &Path,
        options: &WatchOptions,
        on_change: impl Fn(Touched) + Send + 'static,
    ) -> (Self, Option<String>) {
        let WatchOptions { enabled, mode, .. } = options;
        let by = |state| Self { state, _watcher: None };
        if !enabled {
            return (by(WatchState::Off), None);
        }
        match mode {
            WatchMode::Poll => return (by(WatchState::Polled), None),
            WatchMode::Auto if is_silent(root) => return (by(WatchState::Polled), None),
            WatchMode::Auto | WatchMode::Native => {}
        }
        // One that is gone is missed and asked for again; there is nothing to say of its changes.
        if !root.is_dir() {
            return (by(WatchState::Polled), None);
        }
        match native(root, on_change) {
            Ok(watcher) => (Self { state: WatchState::Announced, _watcher: Some(watcher) }, None),
            Err(error) => {
                let root = root.display();
                let (state, then) = match mode {
                    WatchMode::Auto => (WatchState::Polled, "its files are looked at instead"),
                    WatchMode::Native | WatchMode::Poll => (
                        WatchState::Off,
                        "run `weft reindex` after changes, or set watch.mode to auto",
                    ),
                };
                (by(state), Some(format!("{root} cannot be watched ({}); {then}.", told(&error))))
            }
        }
    }
}

/// Why a folder cannot be watched, with what would help where that is known.
fn told(error: &notify::Error) -> String {
    match error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "the system lets this user watch no more folders; sysctl fs.inotify.max_user_watches raises that".to_owned()
        }
        notify::ErrorKind::Generic(_)
        | notify::ErrorKind::Io(_)
        | notify::ErrorKind::PathNotFound
        | notify::ErrorKind::WatchNotFound
        | notify::ErrorKind::InvalidConfig(_) => error.to_string(),
    }
}

fn native(
    root: &Path,
    on_change: impl Fn(Touched) + Send + 'static,
) -> notify::Result<RecommendedWatcher> {
    let handler = move |event: notify::Result<notify::Event>| match event {
        Ok(event) if event.need_rescan() => on_change(Touched::Lost),
        Ok(event) if is_change(event.kind) => on_change(Touched::Paths(event.paths)),
        Ok(_) => {}
        Err(error) => {
            tracing::warn!(%error, "the watcher lost changes; looking at every file");
            on_change(Touched::Lost);
        }
    };
    // What a link leads to is watched where it lies, if it lies in the vault.
    let config = notify::Config::default().with_follow_symlinks(false);
    let mut watcher = RecommendedWatcher::new(handler, config)?;
    watch_open(&mut watcher, root)?;
    Ok(watcher)
}

/// Watches a folder with all below it but the folders that are closed to this user, or went meanwhile: a look tells of those.
///
/// Fails where `folder` itself cannot be watched.
fn watch_open(watcher: &mut RecommendedWatcher, folder: &Path) -> notify::Result<()> {
    let outcome = watcher.watch(folder, RecursiveMode::Recursive);
    let is_below = |error: &notify::Error| {
        is_passed_over(&error.kind) && error.paths.iter().any(|path| path != folder)
    };
    // The folder is watched by then, and so is what comes into it; of those in it, what stood before the closed one.
    match outcome {
        Err(error) if is_below(&error) => {}
        outcome => return outcome,
    }
    for entry in std::fs::read_dir(folder).map_err(notify::Error::io)?.flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        match is_folder.then(|| watch_open(watcher, &entry.path())) {
            Some(Err(error)) if !is_passed_over(&error.kind) => return Err(error),
            Some(Ok(()) | Err(_)) | None => {}
        }
    }
    Ok(())
}

/// Whether a folder that cannot be watched for this reason keeps no other from it.
fn is_passed_over(kind: &notify::ErrorKind) -> bool {
    match kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => matches!(
            error.kind(),
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::NotFound
        ),
        notify::ErrorKind::Generic(_)
        | notify::ErrorKind::WatchNotFound
        | notify::ErrorKind::InvalidConfig(_)
        | notify::ErrorKind::MaxFilesWatch => false,
    }
}

const fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(kind) => matches!(kind, AccessKind::Close(AccessMode::Write)),
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}

/// Which folder a path leads to at the moment: another one after a disk was taken out or put in. Nothing where it leads nowhere.
pub(crate) fn identity(root: &Path) -> Option<(u64, u64)> {
    let facts = std::fs::metadata(root).ok().filter(std::fs::Metadata::is_dir)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Some((facts.dev(), facts.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = facts;
        Some((0, 0))
    }
}

/// File systems whose changes may come from elsewhere, unannounced: networks, and folders shared with containers or virtual machines.
const SILENT: &[&str] = &[
    "9p",
    "afs",
    "ceph",
    "cifs",
    "fakeowner",
    "glusterfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "prl_fs",
    "smb3",
    "smbfs",
    "vboxsf",
    "virtiofs",
    "vmhgfs",
];

/// Whether changes below `path` may come unannounced. False where that is not known.
fn is_silent(path: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let kind = path.to_str().and_then(|path| file_system(&mounts, path));
    kind.is_some_and(|kind| SILENT.contains(&kind) || kind.starts_with("fuse."))
}

/// The kind of file system that `path` lies on, by Linux's list of mounts.
fn file_system<'m>(mounts: &'m str, path: &str) -> Option<&'m str> {
    let mounted = mounts.lines().filter_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let place = place.split(' ').nth(4)?;
        // The list writes four characters as their octal codes.
        let place = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
            .iter()
            .fold(place.to_owned(), |place, (code, text)| place.replace(code, text));
        let holds = place == "/"
            || path
                .strip_prefix(&place)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        holds.then(|| (place.len(), kind.split(' ').next().unwrap_or_default()))
    });
    // Of mounts at one place the last hides the others.
    mounted.max_by_key(|(n, _)| *n).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_tells_the_file_system() {
        let mounts = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /mnt/my\\040notes rw shared:7 - nfs4 server:/notes rw
31 22 0:41 / /mnt/my\\040notes/usb rw - vfat /dev/sdb1 rw
32 22 0:42 / /mnt/twice rw - ext4 /dev/sdc rw
33 22 0:43 / /mnt/twice rw - fuse.sshfs me@there:/ rw
";
        for (path, expected) in [
            ("/home/me", "ext4"),
            ("/mnt/my notes", "nfs4"),
            ("/mnt/my notes/a", "nfs4"),
            ("/mnt/my notes/usb/b", "vfat"),
            ("/mnt/my notesbook", "ext4"),
            ("/mnt/twice/x", "fuse.sshfs"),
        ] {
            assert_eq!(file_system(mounts, path), Some(expected), "{path}");
        }
        assert_eq!(file_system("nonsense", "/"), None);
    }

    #[test]
    fn reading_is_no_change() {
        use notify::event::{CreateKind, DataChange, ModifyKind};
        for (kind, expected) in [
            (EventKind::Access(AccessKind::Open(AccessMode::Any)), false),
            (EventKind::Access(AccessKind::Close(AccessMode::Read)), false),
            (EventKind::Access(AccessKind::Close(AccessMode::Write)), true),
            (EventKind::Create(CreateKind::File), true),
            (EventKind::Modify(ModifyKind::Data(DataChange::Any)), true),
        ] {
            assert_eq!(is_change(kind), expected, "{kind:?}");
        }
    }
}
