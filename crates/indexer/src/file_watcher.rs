//! The file watcher: reports changed files to the writer, or that it must scan for changes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::Sender;
use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use serde::{Deserialize, Serialize};
use weft_model::settings::Problems;

use crate::index_status::WatchState;

/// Maximum number of events that wait for their receiver before further changes are reported as an overflow.
const MAX_QUEUED_EVENTS: usize = 8192;

/// Options for detecting changed files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WatchOptions {
    /// True if changes are detected without a request.
    pub enabled: bool,
    /// How changes are detected.
    pub mode: WatchMode,
    /// Quiet time after a burst of changes before it is scanned, in milliseconds, 0 to 60,000; a burst that continues is scanned after four times as long.
    pub debounce_ms: u64,
    /// Interval between two scans of all files if changes are not reported, in milliseconds, 100 to 3,600,000.
    pub poll_ms: u64,
    /// Interval between two scans of all files even if changes are reported, in milliseconds, 1,000 to 86,400,000; 0 disables them.
    ///
    /// The system does not report files of a disk that is mounted below the folder, nor changes behind a symbolic link into a folder that is not watched.
    pub full_rescan_ms: u64,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            enabled: true,
            mode: WatchMode::Auto,
            debounce_ms: 100,
            poll_ms: 2_000,
            full_rescan_ms: 600_000,
        }
    }
}

impl WatchOptions {
    /// Returns the invalid values.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { enabled: _, mode: _, debounce_ms, poll_ms, full_rescan_ms } = *self;
        let mut problems = Problems::default();
        problems.within("debounce_ms", debounce_ms, 0..=60_000);
        problems.within("poll_ms", poll_ms, 100..=3_600_000);
        let is_valid = full_rescan_ms == 0 || (1_000..=86_400_000).contains(&full_rescan_ms);
        problems.check(is_valid, "full_rescan_ms", "must be 0, for never, or 1000 to 86400000");
        problems
    }

    /// Quiet time after a burst of changes.
    pub(crate) const fn debounce(&self) -> Duration {
        Duration::from_millis(self.debounce_ms)
    }

    /// Interval between two polls.
    pub(crate) const fn poll(&self) -> Duration {
        Duration::from_millis(self.poll_ms)
    }

    /// Interval between two scans of all files even if changes are reported; `None` if disabled.
    pub(crate) fn full_rescan(&self) -> Option<Duration> {
        (self.full_rescan_ms > 0).then(|| Duration::from_millis(self.full_rescan_ms))
    }
}

/// How changes are detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WatchMode {
    /// By events of the operating system if the file system supports them, else by polling.
    #[default]
    Auto,
    /// By events of the operating system only.
    Native,
    /// By scanning all files periodically.
    Poll,
}

/// Changes reported by a watcher.
#[derive(Debug)]
pub enum Touched {
    /// These paths changed, or files below them.
    Paths(Vec<PathBuf>),
    /// More changes than are kept; any file may have changed.
    Overflow,
    /// Events were lost; any file may have changed, and new folders may not be watched.
    Lost,
}

/// Watches one folder until it is dropped; the default watches nothing.
#[derive(Debug, Default)]
pub struct FileWatcher {
    /// How changes are detected.
    pub(crate) state: WatchState,
    /// Kept alive while changes are reported.
    _watcher: Option<RecommendedWatcher>,
}

impl FileWatcher {
    /// Starts to call `on_change` for changes below `root`; returns a notice for users if that differs from the options.
    ///
    /// Reading a file is not a change. Paths begin with `root` as given.
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
            WatchMode::Poll => return (by(WatchState::Polling), None),
            WatchMode::Auto if is_unreliable(root) => return (by(WatchState::Polling), None),
            WatchMode::Auto | WatchMode::Native => {}
        }
        // A missing folder is polled until it exists again.
        if !root.is_dir() {
            return (by(WatchState::Polling), None);
        }
        match native(root, on_change) {
            Ok(watcher) => (Self { state: WatchState::Native, _watcher: Some(watcher) }, None),
            Err(error) => {
                let root = root.display();
                let (state, then) = match mode {
                    WatchMode::Auto => (WatchState::Polling, "its files are polled instead"),
                    WatchMode::Native | WatchMode::Poll => (
                        WatchState::Off,
                        "run `weft reindex` after changes, or set watch.mode to auto",
                    ),
                };
                (
                    by(state),
                    Some(format!("{root} cannot be watched ({}); {then}.", watch_error(&error))),
                )
            }
        }
    }
}

/// Returns a callback that sends changes of the folder `root` to `events`, each as the event that `event` makes of it.
///
/// While the queue is full, it sends one overflow instead; a change that may end a watch is sent even then, once.
pub(crate) fn change_sender<E: Send + 'static>(
    events: Sender<E>,
    root: PathBuf,
    event: impl Fn(Touched) -> E + Send + 'static,
) -> impl Fn(Touched) + Send + 'static {
    let (sent_overflow, sent_lost) = (AtomicBool::new(false), AtomicBool::new(false));
    move |touched| {
        let has_room = events.len() < MAX_QUEUED_EVENTS;
        let touched = if has_room {
            sent_overflow.store(false, Ordering::Relaxed);
            sent_lost.store(false, Ordering::Relaxed);
            touched
        } else {
            let may_end_watch = match &touched {
                Touched::Paths(paths) => paths.contains(&root),
                Touched::Overflow => false,
                Touched::Lost => true,
            };
            let (was_sent, summary) = if may_end_watch {
                (&sent_lost, Touched::Lost)
            } else {
                (&sent_overflow, Touched::Overflow)
            };
            if was_sent.swap(true, Ordering::Relaxed) {
                return;
            }
            summary
        };
        // A receiver that stopped needs no changes.
        let _ = events.send(event(touched));
    }
}

/// Returns why a folder cannot be watched, and a remedy if one is known.
fn watch_error(error: &notify::Error) -> String {
    match error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "the limit of watched folders is reached; raise it with sysctl fs.inotify.max_user_watches".to_owned()
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
            tracing::warn!(%error, "the watcher lost events; scanning every file");
            on_change(Touched::Lost);
        }
    };
    // The target of a symbolic link is watched at its own location, if that is in the vault.
    let config = notify::Config::default().with_follow_symlinks(false);
    let mut watcher = RecommendedWatcher::new(handler, config)?;
    watch_readable(&mut watcher, root)?;
    Ok(watcher)
}

/// Watches a folder and everything below it, except unreadable folders, which scans report, and folders that disappear meanwhile.
///
/// Fails if `folder` itself cannot be watched.
fn watch_readable(watcher: &mut RecommendedWatcher, folder: &Path) -> notify::Result<()> {
    let outcome = watcher.watch(folder, RecursiveMode::Recursive);
    let is_below = |error: &notify::Error| {
        is_skippable(&error.kind) && error.paths.iter().any(|path| path != folder)
    };
    // At this point the folder itself is watched, and so are the subfolders listed before the unreadable one.
    match outcome {
        Err(error) if is_below(&error) => {}
        outcome => return outcome,
    }
    for entry in std::fs::read_dir(folder).map_err(notify::Error::io)?.flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        match is_folder.then(|| watch_readable(watcher, &entry.path())) {
            Some(Err(error)) if !is_skippable(&error.kind) => return Err(error),
            Some(Ok(()) | Err(_)) | None => {}
        }
    }
    Ok(())
}

/// Returns true if the error concerns a single folder, so that other folders can be watched.
fn is_skippable(kind: &notify::ErrorKind) -> bool {
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

/// Returns the identity of the folder at a path, which changes if a disk is mounted or unmounted; `None` if there is no folder.
pub(crate) fn folder_identity(root: &Path) -> Option<(u64, u64)> {
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

/// File systems that do not report changes made elsewhere: network file systems, and folders shared with containers or virtual machines.
const UNRELIABLE_FILE_SYSTEMS: &[&str] = &[
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

/// Returns true if changes below `path` may not be reported; false if unknown.
fn is_unreliable(path: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let kind = path.to_str().and_then(|path| file_system(&mounts, path));
    kind.is_some_and(|kind| UNRELIABLE_FILE_SYSTEMS.contains(&kind) || kind.starts_with("fuse."))
}

/// Returns the type of the file system of `path`, according to Linux's list of mounts.
fn file_system<'m>(mounts: &'m str, path: &str) -> Option<&'m str> {
    let mounted = mounts.lines().filter_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mount = mount.split(' ').nth(4)?;
        // The list escapes four characters by their octal codes.
        let mount = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
            .iter()
            .fold(mount.to_owned(), |mount, (code, text)| mount.replace(code, text));
        let contains = mount == "/"
            || path
                .strip_prefix(&mount)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        contains.then(|| (mount.len(), kind.split(' ').next().unwrap_or_default()))
    });
    // The last of several mounts at one path hides the others.
    mounted.max_by_key(|(n, _)| *n).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_system_is_that_of_the_nearest_mount() {
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
    fn read_access_is_not_a_change() {
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

    #[test]
    fn queued_changes_are_bounded_during_a_long_scan() {
        let (events, received) = crossbeam_channel::unbounded();
        let send = change_sender(events, "/vault".into(), |touched| touched);
        let touch = || send(Touched::Paths(vec!["/vault/note.md".into()]));
        for _ in 0..2 {
            (0..3 * MAX_QUEUED_EVENTS).for_each(|_| touch());
            for _ in 0..2 {
                send(Touched::Paths(vec!["/vault".into()]));
                send(Touched::Lost);
            }
            let all: Vec<Touched> = received.try_iter().collect();
            assert_eq!(all.len(), MAX_QUEUED_EVENTS + 2);
            let [.., overflow, lost] = &all[..] else { panic!("{}", all.len()) };
            assert!(matches!(overflow, Touched::Overflow));
            assert!(matches!(lost, Touched::Lost));
        }
        touch();
        assert!(matches!(received.try_recv(), Ok(Touched::Paths(_))));
    }
}
