//! The watched vaults: which files are due for a scan, and when.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use weft_index::notes::{NoteTable, VaultId};
use weft_model::NotePath;

use super::RETRY;
use crate::file_watcher::{FileWatcher, Touched, WatchOptions, change_sender};
use crate::index_status::WatchState;
use crate::scan::{ScanArea, ScanError, ScanOptions, ScanResult};
use crate::vault_home::{VaultHome, VaultLocation};
use crate::{IndexError, VaultSettings};

/// A burst of changes is scanned after at most this many debounce intervals, even if it continues.
const MAX_BURST: u32 = 4;

/// Delay before retrying a watcher that failed to start.
const REWATCH: Duration = Duration::from_secs(60);

/// Delay after which a folder that appeared is scanned again.
const SETTLE: Duration = Duration::from_secs(2);

/// Options for a scan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScanMode {
    /// Reads every file again, even if it seems unchanged.
    pub(super) full: bool,
    /// Compares file contents even if sizes and times are unchanged, because a change was reported.
    pub(super) reported: bool,
    /// Deletes notes of the requested area whose files are missing, however many, because a caller requested it. A scan that is extended to more files does not delete those.
    pub(super) deletes: bool,
}

/// The watched vaults and the state of their scans.
pub(super) struct VaultScans {
    pub(super) vaults: Vec<WatchedVault>,
    /// Start of the last scan of all files; `None` if some of them could not be read since.
    pub(super) last_full: Option<Instant>,
    /// Set to abort running scans.
    interrupted: Arc<AtomicBool>,
}

impl VaultScans {
    pub(super) const fn new(interrupted: Arc<AtomicBool>) -> Self {
        Self { vaults: Vec::new(), last_full: None, interrupted }
    }

    /// Replaces the vaults by those of `settings`; a vault whose settings did not change keeps its state.
    pub(super) fn sync(&mut self, settings: &[VaultSettings], notes: &NoteTable, outdated: bool) {
        let mut old = std::mem::take(&mut self.vaults);
        for vault in settings {
            let id = notes.vaults().find(|(_, info)| info.name == vault.name).map(|(id, _)| id);
            let Some(id) = id else { continue };
            let known = old.iter().position(|known| known.id == id && known.settings == *vault);
            let known = known.map(|at| old.swap_remove(at));
            self.vaults
                .push(known.unwrap_or_else(|| WatchedVault::new(id, vault.clone(), outdated)));
        }
    }

    /// Returns true if a vault with exactly these settings is watched.
    pub(super) fn has(&self, settings: &VaultSettings) -> bool {
        self.vaults.iter().any(|known| known.settings == *settings)
    }

    /// Returns the position of the vault with this name.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.vaults.iter().position(|vault| vault.settings.name == name)
    }

    /// Records reported changes of a vault; ignores a vault that was removed.
    pub(super) fn touch(&mut self, vault: VaultId, touched: Touched) {
        if let Some(vault) = self.vaults.iter_mut().find(|known| known.id == vault) {
            vault.touch(touched);
        }
    }

    /// Fails if running scans must be aborted.
    pub(super) fn check_interrupted(&self) -> Result<(), IndexError> {
        if self.interrupted.load(Ordering::Relaxed) { Err(IndexError::Stopped) } else { Ok(()) }
    }

    /// Schedules a rescan of all files of all vaults after a delay.
    pub(super) fn retry_all(&mut self) {
        self.vaults.iter_mut().for_each(WatchedVault::retry);
    }

    /// Returns true if no vault waits for a retry.
    pub(super) fn none_failed(&self) -> bool {
        self.vaults.iter().all(|vault| vault.retry_at.is_none())
    }

    /// Returns true if every file was scanned since `moment` and no scan has to be repeated.
    pub(super) fn is_current_since(&self, moment: Instant) -> bool {
        self.vaults.iter().all(WatchedVault::is_scanned)
            && self.last_full.is_some_and(|scanned| scanned >= moment)
    }

    /// Returns true if entries of any vault may have been made with other settings.
    pub(super) fn any_outdated(&self) -> bool {
        self.vaults.iter().any(|vault| vault.outdated)
    }

    /// Returns true if entries of this vault may have been made with other settings.
    pub(super) fn is_outdated(&self, vault: VaultId) -> bool {
        self.vaults.iter().any(|known| known.id == vault && known.outdated)
    }

    /// Returns the time of the next scheduled scan or poll.
    pub(super) fn due_at(&self, debounce: Duration) -> Option<Instant> {
        self.vaults.iter().filter_map(|vault| vault.due_at(debounce)).min()
    }
}

/// A watched vault and its scheduled scans.
pub(crate) struct WatchedVault {
    pub(super) id: VaultId,
    /// The settings as given, compared to detect changes of them.
    pub(super) settings: VaultSettings,
    /// Canonical path at the last check; reported paths begin with it.
    pub(crate) root: PathBuf,
    pub(super) watcher: FileWatcher,
    /// Changes that were reported and not scanned yet.
    touched: ScanArea,
    /// First and last report of the current burst of changes.
    burst: Option<(Instant, Instant)>,
    /// New folders to scan again: files may have appeared in them before they were watched.
    settling: Option<(Instant, ScanArea)>,
    /// True if entries may have been made with other settings, so that every file must be read again.
    pub(super) outdated: bool,
    /// True if links let a change under one path appear under another path.
    has_path_aliases: bool,
    /// JSON Canvas documents at the last scan.
    canvases: BTreeSet<NotePath>,
    /// Identity of the folder at `root`; `None` if no folder exists, or before the first scan.
    identity: Option<(u64, u64)>,
    /// True if the watcher may have stopped, at least for some folders.
    unwatched: bool,
    /// When to retry a watcher that failed to start.
    rewatch_at: Option<Instant>,
    /// When to check that the folder still exists, or to scan all files if changes are not reported.
    poll_at: Option<Instant>,
    /// When to scan all files although changes are reported.
    full_rescan_at: Option<Instant>,
    /// When to repeat a failed scan.
    retry_at: Option<Instant>,
}

impl WatchedVault {
    /// Returns the JSON Canvas documents of the vault at the last scan.
    pub(super) const fn canvases(&self) -> &BTreeSet<NotePath> {
        &self.canvases
    }

    /// Replaces the documents at or below `paths`; the empty path is the whole vault.
    pub(super) fn set_canvases(&mut self, paths: &[String], found: Vec<NotePath>) {
        let is_below = |document: &NotePath, path: &String| {
            let rest = document.as_str().strip_prefix(path.as_str());
            rest.is_some_and(|rest| path.is_empty() || rest.is_empty() || rest.starts_with('/'))
        };
        self.canvases.retain(|document| !paths.iter().any(|path| is_below(document, path)));
        self.canvases.extend(found);
    }

    pub(crate) fn new(id: VaultId, settings: VaultSettings, outdated: bool) -> Self {
        Self {
            id,
            root: settings.root.clone(),
            settings,
            watcher: FileWatcher::default(),
            touched: ScanArea::NOTHING,
            burst: None,
            settling: None,
            outdated,
            has_path_aliases: false,
            canvases: BTreeSet::new(),
            identity: None,
            unwatched: false,
            rewatch_at: None,
            poll_at: None,
            full_rescan_at: None,
            retry_at: None,
        }
    }

    /// Updates the vault's location and returns true if its folder must be watched again.
    ///
    /// That is the case if the path leads to another folder than before (a changed link, a mounted or unmounted disk) or if the watcher may have stopped.
    pub(crate) fn relocate(&mut self, home: &dyn VaultHome) -> bool {
        let VaultLocation { root, identity } = home.locate(&self.settings.root);
        let is_other = (&root, identity) != (&self.root, self.identity);
        (self.root, self.identity) = (root, identity);
        is_other || std::mem::take(&mut self.unwatched)
    }

    /// Starts the watcher in place of the old one, and sends reported changes to `events` as `event` makes them of it; returns a notice for users if that differs from the options.
    pub(crate) fn watch<E: Send + 'static>(
        &mut self,
        home: &dyn VaultHome,
        options: &WatchOptions,
        events: &Sender<E>,
        event: impl Fn(Touched) -> E + Send + 'static,
    ) -> Option<String> {
        // Reported paths begin with the folder as it is now.
        self.relocate(home);
        let on_change = change_sender(events.clone(), self.root.clone(), event);
        // The old watcher is dropped first, so that the system does not count its folders twice.
        self.watcher = FileWatcher::default();
        let (watcher, notice) = home.watch(&self.root, options, Box::new(on_change));
        self.poll_at = match watcher.state {
            WatchState::Native | WatchState::Polling => Some(Instant::now() + options.poll()),
            WatchState::Off => None,
        };
        self.rewatch_at = notice.as_ref().map(|_| Instant::now() + REWATCH);
        self.watcher = watcher;
        notice
    }

    /// Returns true if it is time to check where the vault is.
    pub(crate) fn is_poll_due(&self, now: Instant) -> bool {
        self.poll_at.is_some_and(|due| due <= now)
    }

    /// Begins a check of where the vault is, which [`relocate`](Self::relocate) makes.
    pub(crate) fn begin_poll(&mut self) {
        self.unwatched |= self.rewatch_at.is_some_and(|due| due <= Instant::now());
    }

    /// Ends the check, given whether the vault is another folder than before; returns true if all its files must be scanned.
    pub(crate) fn end_poll(&mut self, is_other: bool, options: &WatchOptions) -> bool {
        self.poll_at = Some(Instant::now() + options.poll());
        // A vault that disappeared is scanned once now and again when it is back.
        is_other || self.watcher.state == WatchState::Polling
    }

    /// Lists the notes in `area`, or in the whole vault if links let changes appear under other paths; returns the listed area as well.
    pub(crate) fn list(
        &mut self,
        home: &dyn VaultHome,
        scan: &ScanOptions,
        watch: &WatchOptions,
        mut area: ScanArea,
    ) -> (ScanArea, Result<ScanResult, ScanError>) {
        let mut listed = home.list(&self.root, scan, &area);
        let has_aliases = listed.as_ref().is_ok_and(|listed| listed.has_path_aliases);
        if !area.is_whole() && (self.has_path_aliases || has_aliases) {
            area = ScanArea::WHOLE;
            listed = home.list(&self.root, scan, &area);
        }
        if area.is_whole() {
            self.clear_touched();
            let is_native = self.watcher.state == WatchState::Native;
            let interval = watch.full_rescan().filter(|_| is_native);
            self.full_rescan_at = interval.map(|interval| Instant::now() + interval);
            if let Ok(listed) = &listed {
                self.has_path_aliases = listed.has_path_aliases;
            }
        }
        (area, listed)
    }

    /// Records reported changes.
    pub(crate) fn touch(&mut self, touched: Touched) {
        match touched {
            Touched::Paths(paths) => {
                // An event on the folder itself may end its watch, and another folder may get its inode number.
                self.unwatched |= paths.contains(&self.root);
                paths.iter().for_each(|path| self.touched.touch(&self.root, path));
            }
            Touched::Overflow => self.touched = ScanArea::WHOLE,
            Touched::Lost => {
                self.touched = ScanArea::WHOLE;
                self.unwatched = true;
            }
        }
        if !self.touched.is_nothing() {
            let now = Instant::now();
            let since = self.burst.map_or(now, |(since, _)| since);
            self.burst = Some((since, now));
        }
    }

    /// Schedules a rescan of all files after a delay.
    pub(crate) fn retry(&mut self) {
        self.retry_at = Some(Instant::now() + RETRY);
    }

    /// Schedules a rescan of all files at once.
    pub(crate) fn scan_now(&mut self) {
        self.retry_at = Some(Instant::now());
    }

    /// Returns true if the files were scanned and no repetition is scheduled.
    pub(super) const fn is_scanned(&self) -> bool {
        !self.is_new() && self.retry_at.is_none()
    }

    /// Returns true before the first scan.
    pub(super) const fn is_new(&self) -> bool {
        self.identity.is_none()
    }

    /// Returns the time of the next scheduled scan or poll.
    pub(crate) fn due_at(&self, debounce: Duration) -> Option<Instant> {
        let burst = self.burst.map(|burst| burst_ends(burst, debounce));
        let settling = self.settling.as_ref().map(|(at, _)| *at);
        let due = [burst, settling, self.poll_at, self.full_rescan_at, self.retry_at];
        due.into_iter().flatten().min()
    }

    /// Removes and returns the area that is due for a scan.
    pub(crate) fn take_due(&mut self, now: Instant, debounce: Duration) -> ScanArea {
        let mut due = ScanArea::NOTHING;
        let is_due = |at: &mut Instant| *at <= now;
        if self.retry_at.take_if(is_due).or(self.full_rescan_at.take_if(is_due)).is_some() {
            due = ScanArea::WHOLE;
        }
        if self.burst.take_if(|burst| burst_ends(*burst, debounce) <= now).is_some() {
            let touched = std::mem::take(&mut self.touched);
            let folders = touched.folders(&self.root);
            if !folders.is_nothing() {
                self.settling = Some((now + SETTLE, folders));
            }
            due.join(touched);
        }
        if let Some((_, folders)) = self.settling.take_if(|(at, _)| *at <= now) {
            due.join(folders);
        }
        due
    }

    /// Drops all scheduled scans that a scan of the whole vault covers.
    pub(super) fn clear_touched(&mut self) {
        self.touched = ScanArea::NOTHING;
        (self.burst, self.settling, self.retry_at) = (None, None, None);
    }
}

/// Returns when to scan a burst of changes, given the times of its first and last report.
fn burst_ends((first, last): (Instant, Instant), debounce: Duration) -> Instant {
    (last + debounce).min(first + debounce.saturating_mul(MAX_BURST))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use weft_index::Disk;

    use super::*;
    use crate::vault_files::VaultFiles;
    use crate::vault_home::Folders;

    #[test]
    fn possibly_stopped_watcher_is_started_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let settings = VaultSettings { name: "vault".into(), root: root.clone() };
        let mut vault = WatchedVault::new(VaultId(0), settings, false);
        let files = VaultFiles::new(Disk::default(), folder.path());
        let home = Folders::new(Arc::new(files));
        assert!(vault.relocate(&home) && !vault.relocate(&home), "unchanged after the first check");
        for (touched, expected) in [
            (Touched::Paths(vec![root.join("note.md")]), false),
            (Touched::Overflow, false),
            (Touched::Paths(vec![root.join("note.md"), root.clone()]), true),
            (Touched::Lost, true),
        ] {
            let name = format!("{touched:?}");
            vault.touch(touched);
            assert_eq!(vault.relocate(&home), expected, "{name}");
            assert!(!vault.relocate(&home), "{name}");
        }
    }

    #[test]
    fn burst_is_one_scan_and_lost_events_scan_everything() {
        let root = Path::new("/vault");
        let settings = VaultSettings { name: "vault".into(), root: root.to_owned() };
        let debounce = Duration::from_secs(60);
        let touch = |vault: &mut WatchedVault, path: &str| {
            vault.touch(Touched::Paths(vec![root.join(path)]));
        };
        let mut vault = WatchedVault::new(VaultId(0), settings, false);
        for n in 0..100 {
            touch(&mut vault, &format!("note{n}.md"));
        }
        let now = Instant::now();
        assert!(vault.take_due(now, debounce).is_nothing(), "the burst may continue");
        let due = vault.take_due(now + debounce, debounce);
        assert_eq!((due.is_whole(), due.paths().len()), (false, 100));
        assert!(vault.take_due(now + debounce, debounce).is_nothing(), "scanned once");
        assert_eq!(vault.due_at(debounce), None);

        touch(&mut vault, "note1.md");
        vault.touch(Touched::Lost);
        touch(&mut vault, "note2.md");
        assert!(vault.take_due(Instant::now() + debounce, debounce).is_whole());

        // A burst that never ends is scanned all the same.
        touch(&mut vault, "note1.md");
        let (since, _) = vault.burst.expect("a burst");
        vault.burst = Some((since, since + debounce * MAX_BURST));
        let due = vault.take_due(since + debounce * MAX_BURST, debounce);
        assert_eq!(due.paths(), ["note1.md"]);
    }
}
