//! The home of the vaults of a collection: what an index over the collection reads, follows and changes.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use weft_index::SharedGraph;
use weft_index::embedder::ModelIdentity;
use weft_index::notes::FileMetadata;
use weft_indexer::scan::{ScanArea, ScanError, ScanOptions, ScanResult, ScannedFile, SkippedEntry};
use weft_indexer::{
    ChangeError, ChangeLog, FileMove, LoggedGraph, TextVectors, VaultHome, VaultLocation,
};
use weft_model::{NoteKind, NotePath, TextHash};

use crate::log_lag::SeenHeads;
use crate::{
    ClusterError, Collection, Commit, CommitError, EmbeddingJob, Expected, FileChange, LogLag,
    NewContent,
};

/// Longest time that one wait for a commit takes.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// A failed commit that took longer is not repeated, because the database does not respond.
const MAX_REPEATED: Duration = Duration::from_secs(5);

/// Newest number that the log can have.
const NEWEST: u64 = i64::MAX.cast_unsigned();

/// A collection as the home of an index.
///
/// Listings and reads give the state at the number that the index pinned; writes and their checks use the newest one.
#[derive(Debug)]
pub struct CollectionHome {
    collection: Collection,
    pinned: AtomicU64,
    /// Name of this process as a holder of leases.
    holder: String,
    /// Interval between two looks at the head of the log.
    poll: Duration,
    /// Heads that were seen, from which the lag is computed.
    seen: Mutex<SeenHeads>,
}

impl CollectionHome {
    /// Creates the home of an index over `collection`, which asks for new commits at the interval `poll`.
    #[must_use]
    pub fn new(collection: Collection, poll: Duration) -> Self {
        let holder = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        let seen = Mutex::new(SeenHeads::new(Instant::now()));
        Self { collection, pinned: AtomicU64::new(0), holder, poll, seen }
    }

    /// Returns how far an index that serves the state `generation` is behind the log.
    #[must_use]
    pub fn lag(&self, generation: u64) -> LogLag {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.lag(generation, Instant::now())
    }

    /// Path that the roots of all vaults begin with; no file has it.
    fn base(&self) -> PathBuf {
        PathBuf::from(format!("collection:{}", self.collection.name()))
    }

    /// Splits a path below the root of a vault into the vault and the path in it.
    fn place(&self, file: &Path) -> io::Result<(String, String)> {
        let below = file.strip_prefix(self.base()).ok().and_then(Path::to_str);
        let place = below.map(|below| below.replace(std::path::MAIN_SEPARATOR, "/"));
        let place = place.as_deref().and_then(|place| place.split_once('/'));
        let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "it is not in the collection");
        let (vault, path) = place.ok_or_else(invalid)?;
        Ok((vault.to_owned(), path.to_owned()))
    }

    /// Returns the name of the vault with this root.
    fn vault(&self, root: &Path) -> io::Result<String> {
        Ok(self.place(&root.join("-"))?.0)
    }

    fn pinned(&self) -> u64 {
        self.pinned.load(Ordering::Acquire)
    }

    fn change(
        &self,
        file: &Path,
        old: Option<TextHash>,
        content: NewContent,
    ) -> io::Result<FileChange> {
        let (vault, path) = self.place(file)?;
        Ok(FileChange::new(&vault, &path, Expected::Content(old), content))
    }

    /// Commits changes. If the connection ends before the answer, a second attempt finds out whether the first one succeeded.
    fn commit(&self, changes: Vec<FileChange>) -> Result<(), ChangeError> {
        let batch = [0, 1].map(|n: u32| RandomState::new().hash_one(n).to_be_bytes());
        let batch = batch.concat().try_into().ok();
        let commit = Commit { batch, ..Commit::of(changes) };
        let started = Instant::now();
        let outcome = match self.collection.commit(&commit) {
            Err(CommitError::Cluster(ClusterError::Unavailable { .. }))
                if started.elapsed() < MAX_REPEATED =>
            {
                self.collection.commit(&commit)
            }
            outcome => outcome,
        };
        match outcome {
            Ok(_) => Ok(()),
            Err(CommitError::Conflict { actual, .. }) => Err(ChangeError::Changed { actual }),
            Err(error @ CommitError::Fenced { .. }) => Err(io::Error::other(error).into()),
            Err(CommitError::Cluster(error)) => Err(failed(error).into()),
        }
    }

    fn list_area(
        &self,
        root: &Path,
        options: &ScanOptions,
        area: &ScanArea,
    ) -> io::Result<ScanResult> {
        let paths = (!area.is_whole()).then(|| area.paths());
        let vault = self.vault(root)?;
        let files = self.collection.files(&vault, self.pinned(), paths.as_deref());
        let mut listed = ScanResult::default();
        for file in files.map_err(failed)? {
            if !options.reads(NoteKind::of(&file.path).unwrap_or_default()) {
                continue;
            }
            let (size, max) = (file.size, options.max_file_bytes);
            if size > max {
                let reason = format!("its {size} bytes exceed `scan.max_file_bytes` = {max}");
                listed.skipped.push(SkippedEntry { path: file.path, reason, failed: false });
                continue;
            }
            let facts = FileMetadata {
                size,
                modified_ns: file.modified_ns,
                // Tells two contents of the same size and time apart.
                inode: file.generation,
                ..FileMetadata::default()
            };
            let (path, file) = (NotePath::new(&*file.path), root.join(&file.path));
            listed.found.push(ScannedFile { path, file, facts });
        }
        Ok(listed)
    }
}

/// Returns an error of the database as one of the home: of the kind `NotConnected` if a retry may help.
fn failed(error: ClusterError) -> io::Error {
    let is_unavailable = matches!(error, ClusterError::Unavailable { .. });
    let kind = if is_unavailable { io::ErrorKind::NotConnected } else { io::ErrorKind::Other };
    io::Error::new(kind, error)
}

impl VaultHome for CollectionHome {
    fn locate(&self, root: &Path) -> VaultLocation {
        VaultLocation { root: root.to_owned(), identity: Some((0, 0)) }
    }

    fn list(
        &self,
        root: &Path,
        options: &ScanOptions,
        area: &ScanArea,
    ) -> Result<ScanResult, ScanError> {
        let listed = self.list_area(root, options, area);
        listed.map_err(|source| ScanError::Read { path: root.to_owned(), source })
    }

    fn read(&self, _root: &Path, file: &Path, max_bytes: u64) -> Result<Vec<u8>, ScanError> {
        let read = self.place(file).and_then(|(vault, path)| {
            self.collection.read(&vault, &path, self.pinned()).map_err(failed)
        });
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let bytes = read.and_then(|bytes| bytes.ok_or_else(missing));
        let bytes = bytes.map_err(|source| ScanError::Read { path: file.to_owned(), source })?;
        if bytes.len() as u64 > max_bytes {
            return Err(ScanError::TooLong { path: file.to_owned(), max_bytes });
        }
        Ok(bytes)
    }

    fn content(&self, file: &Path) -> io::Result<Option<Vec<u8>>> {
        let (vault, path) = self.place(file)?;
        self.collection.read(&vault, &path, NEWEST).map_err(failed)
    }

    fn put(&self, file: &Path, old: Option<TextHash>, bytes: &[u8]) -> Result<(), ChangeError> {
        self.commit(vec![self.change(file, old, NewContent::Bytes(bytes.to_vec()))?])
    }

    fn remove(&self, file: &Path, old: Option<TextHash>) -> Result<(), ChangeError> {
        self.commit(vec![self.change(file, old, NewContent::Removed)?])
    }

    fn commit_move(&self, moved: &FileMove<'_>) -> Option<Result<(), ChangeError>> {
        let FileMove { from, to, hash, edits } = moved;
        let commit = || {
            let mut changes = vec![self.change(from, Some(*hash), NewContent::Removed)?];
            let mut target = self.change(to, None, NewContent::Stored(*hash))?;
            for (file, before, text) in edits {
                let content = NewContent::Bytes(text.as_bytes().to_vec());
                if file == to {
                    target.content = content;
                } else {
                    changes.push(self.change(file, Some(*before), content)?);
                }
            }
            changes.push(target);
            self.commit(changes)
        };
        Some(commit())
    }

    fn log(&self) -> Option<&dyn ChangeLog> {
        Some(self)
    }
}

impl ChangeLog for CollectionHome {
    fn head(&self) -> io::Result<u64> {
        let asked = Instant::now();
        let head = self.collection.head().map_err(failed)?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.see(head, asked);
        if seen.lost_commits() {
            return Err(io::Error::other("it lacks commits that this node has applied"));
        }
        Ok(head)
    }

    fn floor(&self) -> io::Result<u64> {
        self.collection.floor().map_err(failed)
    }

    fn wait(&self, seen: u64) -> io::Result<u64> {
        let mut waited = Duration::ZERO;
        loop {
            let head = self.head()?;
            if head != seen || waited >= MAX_WAIT {
                return Ok(head);
            }
            std::thread::sleep(self.poll);
            waited += self.poll;
        }
    }

    fn pin(&self, generation: u64) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).pin(generation, Instant::now());
        self.pinned.store(generation, Ordering::Release);
    }

    fn vaults(&self, at: u64) -> io::Result<Vec<(String, PathBuf)>> {
        let mut names = self.collection.vaults(at).map_err(failed)?;
        // The collation of the database may order names in another way.
        names.sort_unstable();
        let vault = |name: String| {
            let root = self.base().join(&name);
            (name, root)
        };
        Ok(names.into_iter().map(vault).collect())
    }

    fn changes(&self, after: u64, upto: u64) -> io::Result<BTreeMap<String, Vec<String>>> {
        self.collection.changes(after, upto).map_err(failed)
    }

    fn vectors(
        &self,
        model: &ModelIdentity,
        texts: &[TextHash],
        upto: u64,
    ) -> io::Result<TextVectors> {
        self.collection.vectors(model, texts, upto).map_err(failed)
    }

    fn new_vectors(
        &self,
        model: &ModelIdentity,
        after: u64,
        upto: u64,
    ) -> io::Result<Vec<TextHash>> {
        self.collection.new_vectors(model, after, upto).map_err(failed)
    }

    fn request_vectors(
        &self,
        model: &ModelIdentity,
        texts: Vec<(TextHash, String)>,
    ) -> io::Result<()> {
        let hashes: Vec<TextHash> = texts.iter().map(|(hash, _)| *hash).collect();
        // Other nodes request the same texts, so the longer part of the request is sent only if it is needed.
        let missing = self.collection.texts_without_job(model, &hashes).map_err(failed)?;
        let missing: std::collections::HashSet<TextHash> = missing.into_iter().collect();
        let jobs = texts.into_iter().filter(|(hash, _)| missing.contains(hash));
        let jobs: Vec<EmbeddingJob> =
            jobs.map(|(hash, text)| EmbeddingJob { hash, text }).collect();
        if jobs.is_empty() {
            return Ok(());
        }
        self.collection.add_jobs(model, &jobs).map_err(failed)
    }

    fn graph(&self, model: &ModelIdentity, at: u64) -> io::Result<Option<u64>> {
        self.collection.graph(model, at).map_err(failed)
    }

    fn read_graph(&self, model: &ModelIdentity, commit: u64) -> io::Result<LoggedGraph> {
        self.collection.read_graph(model, commit).map_err(failed)
    }

    fn withdraw_graph(&self, model: &ModelIdentity, commit: u64) -> io::Result<bool> {
        self.collection.withdraw_graph(model, commit).map_err(failed)
    }

    fn share_graph(
        &self,
        model: &ModelIdentity,
        built_from: u64,
        present: Option<u64>,
        build: &mut dyn FnMut() -> io::Result<SharedGraph>,
    ) -> io::Result<bool> {
        self.collection.share_graph(model, built_from, present, &self.holder, build)
    }
}
