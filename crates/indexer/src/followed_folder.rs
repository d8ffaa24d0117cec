//! A folder that is followed without an index: which of its files are due for a scan, by the schedule of a vault.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, after, select, unbounded};
use weft_index::Disk;
use weft_index::notes::{FileMetadata, VaultId};
use weft_model::NotePath;

use crate::file_watcher::{Touched, WatchOptions};
use crate::scan::{
    PathProblem, ScanArea, ScanError, ScanOptions, ScanResult, ScannedFile, WritablePath,
};
use crate::vault_files::{VaultFiles, is_same_file};
use crate::vault_home::{Folders, VaultHome as _};
use crate::writer::{WatchedVault, wall_clock_ns};
use crate::{VaultSettings, hash_of};

/// A folder of notes whose changes are followed.
///
/// Detects changes as the writer of an index does for a vault: by the same watcher, with the same delays, polls and full scans.
/// A caller repeats [`wait`](Self::wait) and [`scan`](Self::scan).
pub struct FollowedFolder {
    vault: WatchedVault,
    home: Folders,
    files: Arc<VaultFiles>,
    watch: WatchOptions,
    scan: ScanOptions,
    events: Sender<Touched>,
    touched: Receiver<Touched>,
    /// Folders that could not be read at the last scan; nothing below them is watched.
    unreadable: BTreeSet<String>,
    /// Notice about the watcher that was logged last.
    notice: Option<String>,
}

impl FollowedFolder {
    /// Starts to watch `root`; the whole folder is due for its first scan at once.
    #[must_use]
    pub fn new(root: &Path, watch: WatchOptions, scan: ScanOptions) -> Self {
        let settings = VaultSettings { name: String::new(), root: root.to_owned() };
        let files = Arc::new(VaultFiles::new(Disk::default(), root));
        let (events, touched) = unbounded();
        let mut folder = Self {
            vault: WatchedVault::new(VaultId(0), settings, false),
            home: Folders::new(Arc::clone(&files)),
            files,
            watch,
            scan,
            events,
            touched,
            unreadable: BTreeSet::new(),
            notice: None,
        };
        folder.start_watcher();
        folder.scan_now();
        folder
    }

    /// Makes the whole folder due at once.
    pub fn scan_now(&mut self) {
        self.vault.scan_now();
    }

    /// Makes the whole folder due after the delay with which a vault is tried again.
    pub fn retry(&mut self) {
        self.vault.retry();
    }

    /// Waits until an area is due for a scan, at most for `longest` and until a message on `stopped` or its end; returns the empty area then.
    pub fn wait(&mut self, stopped: &Receiver<()>, longest: Duration) -> ScanArea {
        let end = Instant::now() + longest;
        loop {
            let now = Instant::now();
            let mut area = self.vault.take_due(now, self.watch.debounce());
            if self.vault.is_poll_due(now) {
                self.vault.begin_poll();
                let is_other = self.relocate();
                if self.vault.end_poll(is_other, &self.watch) {
                    area = ScanArea::WHOLE;
                }
            }
            if !area.is_nothing() || now >= end {
                return area;
            }
            let due = self.vault.due_at(self.watch.debounce()).map_or(end, |due| due.min(end));
            select! {
                recv(stopped) -> _ => return ScanArea::NOTHING,
                recv(self.touched) -> touched => touched.into_iter().for_each(|it| self.vault.touch(it)),
                recv(after(due.saturating_duration_since(now))) -> _ => {}
            }
        }
    }

    /// Lists the notes in `area`, or in the whole folder if it is another one than before or if links let changes appear under other paths; returns the listed area as well.
    pub fn scan(&mut self, area: ScanArea) -> Result<(ScanArea, ScanResult), ScanError> {
        let area = if self.relocate() { ScanArea::WHOLE } else { area };
        let (area, scanned) = self.vault.list(&self.home, &self.scan, &self.watch, area);
        let scanned = scanned?;
        self.files.remove_stale_temp_files(&scanned.leftover_temp_files);
        if area.is_whole() {
            let failed = scanned.skipped.iter().filter(|it| it.failed && it.path.ends_with('/'));
            let unreadable = failed.map(|it| it.path.clone()).collect();
            if std::mem::replace(&mut self.unreadable, unreadable) != self.unreadable {
                self.start_watcher();
                // Changes between this scan and the start of the watcher were not reported.
                self.scan_now();
            }
        }
        Ok((area, scanned))
    }

    /// Reads a listed file; its metadata include the hash and the time of reading.
    pub fn read(&self, file: &ScannedFile) -> Result<(Vec<u8>, FileMetadata), ScanError> {
        let read_ns = wall_clock_ns();
        let bytes = self.home.read(&self.vault.root, &file.file, self.scan.max_file_bytes)?;
        let facts = FileMetadata { hash: hash_of(&bytes), read_ns, ..file.facts };
        Ok((bytes, facts))
    }

    /// Returns the place of a note's file, which may not exist; the inner error states why no note can be written there.
    pub fn place(&self, path: &NotePath) -> Result<Result<WritablePath, PathProblem>, ScanError> {
        self.home.writable(&self.vault.root, &self.scan, path)
    }

    /// Returns true if the folder itself can be read, whatever is in it.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        std::fs::read_dir(&self.vault.root).is_ok()
    }

    /// Returns the content of the file at a place; `None` if it does not exist.
    pub fn content(&self, place: &WritablePath) -> io::Result<Option<Vec<u8>>> {
        self.home.content(&place.real)
    }

    /// Returns true if both places are one file, as where names differ in case alone.
    #[must_use]
    pub fn is_same_file(&self, a: &WritablePath, b: &WritablePath) -> bool {
        is_same_file(&a.named, &b.named).unwrap_or(false)
    }

    /// Replaces the content of an existing file, unless it differs from `old` meanwhile; returns whether it did. If this is interrupted, the file has either content.
    pub fn replace(&self, place: &WritablePath, old: &[u8], bytes: &[u8]) -> io::Result<bool> {
        let is_unchanged = || Ok(self.content(place)?.as_deref() == Some(old));
        self.files.replace_if(&place.real, bytes, is_unchanged)
    }

    /// Creates a file, and the folders above it; fails with `AlreadyExists` if it exists.
    pub fn create(&self, place: &WritablePath, bytes: &[u8]) -> io::Result<()> {
        self.files.create(&place.real, bytes)
    }

    /// Removes a file. For a symbolic link, the file behind it stays.
    pub fn remove(&self, place: &WritablePath) -> io::Result<()> {
        self.files.remove(&place.named)
    }

    /// Updates the location of the folder; returns true if it is another one than before, which is watched then.
    fn relocate(&mut self) -> bool {
        let is_other = self.vault.relocate(&self.home);
        if is_other {
            self.start_watcher();
        }
        is_other
    }

    fn start_watcher(&mut self) {
        let notice = self.vault.watch(&self.home, &self.watch, &self.events, |touched| touched);
        if let Some(notice) = notice.as_ref().filter(|new| self.notice.as_ref() != Some(*new)) {
            tracing::warn!("{notice}");
        }
        self.notice = notice;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longest wait of a test; it ends as soon as the change is reported.
    const LONG: Duration = Duration::from_secs(60);

    fn scanned(folder: &mut FollowedFolder, area: ScanArea) -> (Vec<String>, Vec<String>) {
        let (area, scanned) = folder.scan(area).unwrap();
        let found = scanned.found.iter().map(|file| file.path.as_str().to_owned());
        (area.paths(), found.collect())
    }

    #[test]
    fn changes_are_due_after_the_first_scan() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        std::fs::write(root.join("fern.md"), "# Fern\n").unwrap();
        let (running, stopped) = crossbeam_channel::bounded(0);
        for mode in [crate::WatchMode::Auto, crate::WatchMode::Poll] {
            let watch = WatchOptions { mode, debounce_ms: 5, poll_ms: 100, ..Default::default() };
            let mut folder = FollowedFolder::new(&root, watch, ScanOptions::default());
            let first = folder.wait(&stopped, LONG);
            assert!(first.is_whole(), "{mode:?}");
            assert_eq!(scanned(&mut folder, first).1, ["fern.md"], "{mode:?}");
            std::fs::write(root.join("moss.md"), "# Moss\n").unwrap();
            let next = folder.wait(&stopped, LONG);
            assert!(scanned(&mut folder, next).1.contains(&"moss.md".to_owned()), "{mode:?}");
            std::fs::remove_file(root.join("moss.md")).unwrap();
        }
        let mut folder = FollowedFolder::new(
            &root,
            WatchOptions { enabled: false, ..WatchOptions::default() },
            ScanOptions::default(),
        );
        let first = folder.wait(&stopped, LONG);
        assert!(scanned(&mut folder, first).1.contains(&"fern.md".to_owned()));
        drop(running);
        assert!(folder.wait(&stopped, LONG).is_nothing(), "stopped");
    }
}
