//! Writes on request: the writer changes a file, then scans it like any other.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};
use weft_index::notes::{Change, NoteEntry, VaultId};
use weft_model::text::nfc;
use weft_model::{Link, NoteKind, NotePath, TextHash};

use super::interrupted_move::NO_SPACE;
use super::move_preview::{MovePreview, qualified_path};
use super::vault_scans::ScanMode;
use super::vault_scans::WatchedVault;
use super::{Event, Writer};
use crate::canvas_rewrite::rewrite_canvas;
use crate::content_hash::hash_of;
use crate::link_rewrite::{RewrittenText, rewrite_links};
use crate::move_intent::{LinkEdit, MoveIntent, hash_hex};
use crate::parse::{ParsedFile, body_start, catch_parser_panic, parse_file};
use crate::scan::{self, ScanArea};
use crate::vault_home::{ChangeError, FileMove};
use crate::write_request::{
    Precondition, RewrittenLinks, WriteContent, WriteError, WriteOutcome, WriteRequest,
};
use crate::{IndexError, Rescan};

/// Maximum number of attempts to commit a write while other nodes change its files.
const COMMIT_ATTEMPTS: usize = 4;

/// Maximum number of puts that one scan indexes together.
const MAX_BATCHED_PUTS: usize = 64;

/// A file of a vault that a write refers to.
pub(super) struct FileTarget {
    /// Position of the vault among the watched ones.
    at: usize,
    vault: VaultId,
    path: NotePath,
    /// Canonical path of the file.
    pub(super) file: PathBuf,
    /// Path as named, which may be a symbolic link.
    named: PathBuf,
}

/// A file whose links must be rewritten.
struct LinkRewrite {
    path: NotePath,
    file: PathBuf,
    /// Hash of the bytes that `links` was made from.
    before: TextHash,
    links: RewrittenText,
}

/// Channel for the outcome of a write.
type WriteReply = Sender<Result<WriteOutcome, WriteError>>;

/// A file that was written and is not indexed yet.
struct PendingPut {
    target: FileTarget,
    /// True if the file did not exist before.
    created: bool,
    reply: WriteReply,
}

impl Writer {
    /// Executes a write and indexes its files.
    ///
    /// Puts that are queued behind it are batched: like a burst of saved files, many callers cost one generation.
    pub(super) fn handle_writes(
        &mut self,
        write: WriteRequest,
        reply: WriteReply,
        events: &Receiver<Event>,
    ) {
        if self.follows() {
            // Names and links are resolved in the newest state, whichever node wrote it.
            if let Err(error) = self.follow(false) {
                drop(reply.send(Err(error.into())));
                return;
            }
        } else {
            self.relocate_all();
        }
        let mut puts: Vec<PendingPut> = Vec::new();
        let mut next = Some((write, reply));
        while let Some((write, reply)) = next.take() {
            match write {
                WriteRequest::Put { vault, path, content, expected } => {
                    let vault = vault.as_deref();
                    let put = self
                        .retried(|writer| writer.put(vault, &path, &content, expected, &mut puts));
                    match put {
                        Ok((target, created)) => puts.push(PendingPut { target, created, reply }),
                        Err(error) => drop(reply.send(Err(error))),
                    }
                    if puts.len() < MAX_BATCHED_PUTS {
                        next = self.next_put(events);
                    }
                }
                // Names and links are resolved against an index that contains all earlier writes, so these are not batched.
                WriteRequest::Delete { name, expected } => {
                    let deleted = self.retried(|writer| writer.delete(&name, expected));
                    let _ = reply.send(deleted);
                }
                WriteRequest::Move { name, to, expected, rewrite_links } => {
                    let moved = self
                        .retried(|writer| writer.move_note(&name, &to, expected, rewrite_links));
                    let _ = reply.send(moved);
                }
            }
        }
        self.index_puts(&mut puts);
    }

    /// Repeats a write whose files another node changed meanwhile, so that its precondition is checked in the newest state.
    fn retried<T>(
        &mut self,
        mut write: impl FnMut(&mut Self) -> Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        for _ in 1..COMMIT_ATTEMPTS {
            match write(self) {
                Err(WriteError::Conflict { .. }) if self.follows() => self.follow(false)?,
                outcome => return outcome,
            }
        }
        write(self)
    }

    /// Returns the next queued event if it is a put; any other event is deferred.
    ///
    /// Applies all file changes reported before it.
    fn next_put(&mut self, events: &Receiver<Event>) -> Option<(WriteRequest, WriteReply)> {
        loop {
            let event = events.try_recv().ok()?;
            if let Event::Touched(vault, touched) = event {
                self.scans.touch(vault, touched);
            } else if let Event::Write(write @ WriteRequest::Put { .. }, reply) = event {
                return Some((write, reply));
            } else {
                self.deferred = Some(event);
                return None;
            }
        }
    }

    /// Indexes the written files, with one scan per vault, and replies to the callers.
    fn index_puts(&mut self, puts: &mut Vec<PendingPut>) {
        let mut scanned = BTreeSet::new();
        if puts.len() > 1 {
            for at in puts.iter().map(|put| put.target.at).collect::<BTreeSet<usize>>() {
                let here = puts.iter().filter(|put| put.target.at == at);
                let paths: Vec<NotePath> = here.map(|put| put.target.path.clone()).collect();
                // On failure each caller gets the outcome of its own scan below.
                if self.scan_written(at, &paths).is_ok() {
                    scanned.insert(at);
                }
            }
        }
        for PendingPut { target, created, reply } in puts.drain(..) {
            let outcome = if scanned.contains(&target.at) {
                self.outcome_of(&target, created, Vec::new())
            } else {
                let paths = std::slice::from_ref(&target.path);
                self.scan_outcome(&target, paths, created, Vec::new())
            };
            let _ = reply.send(Ok(outcome));
        }
    }

    /// Writes a file; returns its location, and whether it did not exist before.
    ///
    /// If the file is among the pending `puts`, those are indexed first, so that each caller gets the outcome of its own write.
    fn put(
        &mut self,
        vault: Option<&str>,
        path: &str,
        content: &WriteContent,
        expected: Precondition,
        puts: &mut Vec<PendingPut>,
    ) -> Result<(FileTarget, bool), WriteError> {
        let at = self.vault_named(vault.or_else(|| Some(self.split_vault(path)?.0)))?;
        self.check_vault_present(at)?;
        let target = self.file_target(at, "path", self.path_in_vault(at, "path", path)?)?;
        if puts.iter().any(|put| put.target.file == target.file) {
            self.index_puts(puts);
        }
        let old = self.read_file(&target.path, &target.file)?;
        let checked = check_precondition(&target.path, old.as_deref(), expected);
        let bytes = file_content(content, old.as_deref());
        // A retry of a write that was applied already succeeds, whatever it expected.
        if !bytes.as_ref().is_ok_and(|bytes| old.as_ref() == Some(bytes)) {
            checked?;
        }
        let bytes = bytes?;
        let max_bytes = self.settings.scan.max_file_bytes;
        if bytes.len() as u64 > max_bytes {
            let n = bytes.len();
            let reason = format!("{n} bytes exceed `scan.max_file_bytes` = {max_bytes}");
            return Err(WriteError::Invalid { field: "text", reason });
        }
        let written = match &old {
            Some(old) if *old == bytes => Ok(()),
            old => self.files.home.put(&target.file, old.as_deref().map(hash_of), &bytes),
        };
        written.map_err(|error| change_error(&target, error))?;
        Ok((target, old.is_none()))
    }

    fn delete(&mut self, name: &str, expected: Precondition) -> Result<WriteOutcome, WriteError> {
        let target = self.file_of_note(name)?;
        // A file that is already gone is not an error, whatever was expected: the scan detects that, and a retry succeeds.
        let old = self.read_file(&target.path, &target.file)?;
        if let Some(bytes) = &old {
            check_precondition(&target.path, Some(bytes), expected)?;
        }
        // For a symbolic link, the file behind it stays.
        let removed = self.files.home.remove(&target.named, old.as_deref().map(hash_of));
        removed.map_err(|error| change_error(&target, error))?;
        Ok(self.scan_outcome(&target, std::slice::from_ref(&target.path), false, Vec::new()))
    }

    fn move_note(
        &mut self,
        name: &str,
        to: &str,
        expected: Precondition,
        rewrite_links: bool,
    ) -> Result<WriteOutcome, WriteError> {
        // The intent of this move would overwrite that of an interrupted one.
        if self.finish_move(true)? {
            self.rescan(Rescan::default())?;
        }
        let from = self.file_of_note(name)?;
        if self.files.home.is_link(&from.named) {
            let root = &self.scans.vaults[from.at].root;
            let target = from.file.strip_prefix(root).unwrap_or(&from.file).display();
            let reason = format!(
                "`{}` is a symbolic link to `{target}`; move that note, or the link by hand",
                from.path
            );
            return Err(WriteError::Invalid { field: "name", reason });
        }
        let to = self.path_in_vault(from.at, "to", to)?;
        let to = scan::path_of_kind(to, from.path.kind())
            .map_err(|reason| WriteError::Invalid { field: "to", reason })?;
        let to = self.located(from.at, "to", to)?;
        let bytes = self.read_file(&from.path, &from.file)?;
        if bytes.is_none() && self.is_moved(&from, &to, expected)? {
            // A retry of a move that was made, but not indexed yet.
            let touched = [from.path, to.path.clone()];
            return Ok(self.scan_outcome(&to, &touched, false, Vec::new()));
        }
        check_precondition(&from.path, bytes.as_deref(), expected)?;
        let Some(bytes) = bytes else {
            return Err(WriteError::Conflict { path: from.path.to_string(), actual: None });
        };
        if from.path == to.path {
            return Ok(self.scan_outcome(&to, &[], false, Vec::new()));
        }
        // Another note, or the same file through a link or in another case.
        if self.read_file(&to.path, &to.file)?.is_some() {
            return Err(WriteError::AlreadyExists { path: to.path.to_string() });
        }
        if rewrite_links && let Some(preview) = self.move_preview(&from, &to.path, &bytes) {
            // The rewritten content must be the indexed content, so the affected files are scanned first.
            let paths: Vec<NotePath> = preview.affected_paths().map(NotePath::new).collect();
            self.scan_area(from.at, self.area_of(from.at, &paths), ScanMode::default())?;
        }
        let preview = self.move_preview(&from, &to.path, &bytes);
        let (mut rewrites, mut unchanged) = match &preview {
            Some(preview) if rewrite_links => self.link_rewrites(&from, preview)?,
            Some(preview) => (Vec::new(), preview.all_broken_links()),
            None => Default::default(),
        };
        for rewrite in self.canvas_rewrites(&from, &to.path, preview.as_ref())? {
            let RewrittenText { n_rewritten, n_not_rewritten, .. } = rewrite.links;
            if rewrite_links && n_rewritten > 0 {
                rewrites.push(rewrite);
            } else {
                unchanged.push(RewrittenLinks {
                    path: rewrite.path.to_string(),
                    n_rewritten: 0,
                    n_not_rewritten: n_rewritten + n_not_rewritten,
                });
            }
        }
        if let Some(committed) = self.commit_move(&from, &to, hash_of(&bytes), &rewrites) {
            committed.map_err(|error| change_error(&from, error))?;
            let edited = rewrites.iter().map(|rewrite| rewrite.path.clone());
            let touched: Vec<NotePath> =
                [from.path.clone(), to.path.clone()].into_iter().chain(edited).collect();
            let done = |LinkRewrite { path, links, .. }: &LinkRewrite| RewrittenLinks {
                path: path_after(path, &from, &to).to_string(),
                n_rewritten: links.n_rewritten,
                n_not_rewritten: links.n_not_rewritten,
            };
            let mut links: Vec<RewrittenLinks> = rewrites.iter().map(done).collect();
            links.extend(unchanged);
            links.sort_by(|a, b| a.path.cmp(&b.path));
            return Ok(self.scan_outcome(&to, &touched, false, links));
        }
        let edit = |LinkRewrite { path, before, links, .. }: &LinkRewrite| LinkEdit {
            path: path_after(path, &from, &to).to_string(),
            before: format!("{before:?}"),
            text: links.text.clone(),
        };
        let intent = MoveIntent {
            vault: self.scans.vaults[from.at].settings.name.clone(),
            from: from.path.to_string(),
            to: to.path.to_string(),
            hash: hash_hex(&bytes),
            edits: rewrites.iter().map(edit).collect(),
        };
        self.record_intent(Some(&intent))?;
        if let Err(error) = self.files.vaults.rename(&from.file, &to.file) {
            // If the target cannot be checked, assume that nothing was moved there.
            let is_untouched = from.file.is_file() && !matches!(to.file.try_exists(), Ok(true));
            // Otherwise the intent stays, and the move is finished before the next one or at the next start.
            if is_untouched || error.kind() == ErrorKind::AlreadyExists {
                self.record_intent(None)?;
            }
            return Err(io_error(&to, error));
        }
        let mut touched = vec![from.path.clone(), to.path.clone()];
        let mut links = unchanged;
        let mut failed = None;
        for (LinkRewrite { path, file, links: rewritten, .. }, edit) in
            rewrites.into_iter().zip(&intent.edits)
        {
            let (path, file) =
                if path == from.path { (to.path.clone(), to.file.clone()) } else { (path, file) };
            let is_done = edit.apply(&self.files.vaults, &file).unwrap_or_else(|source| {
                failed.get_or_insert((path.to_string(), source));
                false
            });
            let RewrittenText { n_rewritten, n_not_rewritten, .. } = rewritten;
            let (n_rewritten, n_not_rewritten) = if is_done {
                (n_rewritten, n_not_rewritten)
            } else {
                (0, n_not_rewritten + n_rewritten)
            };
            touched.push(path.clone());
            links.push(RewrittenLinks { path: path.to_string(), n_rewritten, n_not_rewritten });
        }
        links.sort_by(|a, b| a.path.cmp(&b.path));
        if failed.is_none()
            && let Err(error) = self.record_intent(None)
        {
            // Finishing the move a second time changes nothing.
            self.report_error(&error);
        }
        let outcome = self.scan_outcome(&to, &touched, false, links);
        let Some((path, source)) = failed else { return Ok(outcome) };
        // Disk space may become available later; other errors wait for the next move or the next start.
        let may_recover = NO_SPACE.contains(&source.kind());
        let [from, to] = [&from, &to].map(|target| target.path.to_string());
        let error = WriteError::MoveUnfinished { from, to, path, source };
        self.files.unfinished_move = may_recover.then(|| error.to_string());
        Err(error)
    }

    /// Returns true if the file at `to` has the expected content, and that of the note at `from` when it was indexed.
    fn is_moved(
        &self,
        from: &FileTarget,
        to: &FileTarget,
        expected: Precondition,
    ) -> Result<bool, WriteError> {
        let notes = &self.publication.newest().notes;
        let indexed = notes.at(from.vault, &from.path).and_then(|id| notes.entry(id));
        let moved = self.read_file(&to.path, &to.file)?;
        let is_expected = check_precondition(&to.path, moved.as_deref(), expected).is_ok();
        let hash = moved.as_deref().map(hash_of);
        Ok(is_expected && hash.is_some() && hash == indexed.map(|entry| entry.file.hash))
    }

    /// Moves a file and rewrites links in one transaction; `None` if its home has none.
    fn commit_move(
        &self,
        from: &FileTarget,
        to: &FileTarget,
        hash: TextHash,
        rewrites: &[LinkRewrite],
    ) -> Option<Result<(), ChangeError>> {
        let edits = rewrites.iter().map(|LinkRewrite { path, file, before, links }| {
            let file = if *path == from.path { &to.file } else { file };
            (&**file, *before, &*links.text)
        });
        let edits = edits.collect();
        self.files.home.commit_move(&FileMove { from: &from.file, to: &to.file, hash, edits })
    }

    /// Returns the files whose links must change so that each keeps its target when the note moves, and those in which no link can be changed. The affected files must have been scanned.
    fn link_rewrites(
        &mut self,
        from: &FileTarget,
        preview: &MovePreview,
    ) -> Result<(Vec<LinkRewrite>, Vec<RewrittenLinks>), WriteError> {
        let root = self.scans.vaults[from.at].root.clone();
        let (mut rewrites, mut unchanged) = (Vec::new(), Vec::new());
        for id in preview.affected_notes() {
            let before = &preview.before;
            // Links are rewritten in Markdown files only.
            let entry = before.entry(id).filter(|it| it.note.path.kind() == NoteKind::Markdown);
            let (Some(entry), true) = (entry, preview.is_in_vault(id)) else {
                unchanged.extend(preview.broken_links(id));
                continue;
            };
            let path = entry.note.path.clone();
            let location = self.files.home.writable(&root, &self.settings.scan, &path);
            let file = location.map_err(|error| self.unreadable_vault(from.at, &error))?.ok();
            let file = file.map(|location| location.real);
            let bytes =
                file.as_ref().map(|file| self.read_file(&path, file)).transpose()?.flatten();
            let (Some(file), Some(bytes)) = (file, bytes) else {
                unchanged.extend(preview.broken_links(id));
                continue;
            };
            let hash = hash_of(&bytes);
            let links = match String::from_utf8(bytes) {
                Ok(text) if hash == entry.file.hash => {
                    let update = |at: usize, link: &Link| preview.link_update(id, at, link);
                    let go_on = || self.scans.check_interrupted().is_ok();
                    let parse = &self.settings.parse;
                    catch_parser_panic(|| rewrite_links(&path, &text, parse, update, go_on))
                }
                // The file has another encoding, or was saved since the scan.
                Ok(_) | Err(_) => None,
            };
            match links {
                Some(Some(links)) if links.n_rewritten > 0 => {
                    rewrites.push(LinkRewrite { path, file, before: hash, links });
                }
                Some(Some(RewrittenText { n_rewritten, n_not_rewritten, .. })) => {
                    let path = preview.path_of(id);
                    unchanged.push(RewrittenLinks { path, n_rewritten, n_not_rewritten });
                }
                Some(None) => {}
                None => unchanged.extend(preview.broken_links(id)),
            }
        }
        Ok((rewrites, unchanged))
    }

    /// Returns the JSON Canvas documents of the vault that show the note or have links that must change, among those that the last scan found.
    fn canvas_rewrites(
        &self,
        from: &FileTarget,
        to: &NotePath,
        preview: Option<&MovePreview>,
    ) -> Result<Vec<LinkRewrite>, WriteError> {
        let moved_to = |shown: &str| {
            let is_moved = nfc(shown) == from.path.as_str();
            let text = to.to_string();
            is_moved.then_some(RewrittenText { text, n_rewritten: 1, n_not_rewritten: 0 })
        };
        let links_in = |document: &NotePath, text: &str| {
            // A text is read as a note beside the document.
            let path = NotePath::new(format!("{document}.md"));
            let preview = preview.filter(|_| text.contains('['))?;
            let update = |_, link: &Link| preview.link_update_in(&path, link);
            let go_on = || self.scans.check_interrupted().is_ok();
            let parse = &self.settings.parse;
            catch_parser_panic(|| rewrite_links(&path, text, parse, update, go_on)).flatten()
        };
        let mut rewrites = Vec::new();
        for path in self.scans.vaults[from.at].canvases() {
            // A document that cannot be read or written shows nothing that could be rewritten.
            let Ok(FileTarget { path, file, .. }) = self.located(from.at, "path", path.clone())
            else {
                continue;
            };
            let bytes = self.read_file(&path, &file)?;
            let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) else {
                continue;
            };
            let before = hash_of(text.as_bytes());
            let links = rewrite_canvas(&text, |kind, value| match kind {
                "file" => moved_to(value),
                "text" => links_in(&path, value),
                _ => None,
            });
            rewrites.extend(links.map(|links| LinkRewrite { path, file, before, links }));
        }
        Ok(rewrites)
    }

    /// Returns the notes before and after the move; `None` if the note is not indexed.
    fn move_preview(&self, from: &FileTarget, to: &NotePath, bytes: &[u8]) -> Option<MovePreview> {
        let before = self.publication.newest().notes.clone();
        let moved = before.at(from.vault, &from.path)?;
        let entry = before.entry(moved)?;
        let ParsedFile { note, files, .. } =
            catch_parser_panic(|| parse_file(to, bytes, &self.settings.parse))?;
        let entry = NoteEntry::new(from.vault, note, Vec::new(), entry.file, entry.version);
        let change = Change::Move(from.path.clone(), Arc::new(entry));
        let after = before.edited(&[change]).0;
        let (vault, root, to) = (from.vault, self.scans.vaults[from.at].root.clone(), to.clone());
        let logseq = self.settings.parse.logseq;
        Some(MovePreview { before, after, moved, files, vault, root, to, logseq })
    }

    /// Scans the touched files and returns the outcome of the write.
    ///
    /// The files have changed, so an error of the scan is part of the outcome: a client that took it for a failure would write again.
    fn scan_outcome(
        &mut self,
        target: &FileTarget,
        touched: &[NotePath],
        created: bool,
        links: Vec<RewrittenLinks>,
    ) -> WriteOutcome {
        let scanned = self.scan_written(target.at, touched);
        let outcome = self.outcome_of(target, created, links);
        let Err(error) = scanned else { return outcome };
        self.scans.vaults[target.at].retry();
        let bytes = self.files.home.content(&target.file).ok().flatten();
        WriteOutcome {
            // A commit has its number before this node publishes it; a folder has none until its change is published.
            generation: self.files.home.log().and_then(|log| log.head().ok()),
            hash: bytes.as_deref().map(hash_of),
            index_pending: Some(error.to_string()),
            ..outcome
        }
    }

    /// Scans written files and deletes the notes of removed ones.
    fn scan_written(&mut self, at: usize, paths: &[NotePath]) -> Result<(), IndexError> {
        let mode = ScanMode { deletes: true, ..ScanMode::default() };
        self.scan_area(at, self.area_of(at, paths), mode)
    }

    /// Returns the outcome of a write whose file was scanned.
    fn outcome_of(
        &self,
        target: &FileTarget,
        created: bool,
        links: Vec<RewrittenLinks>,
    ) -> WriteOutcome {
        let snapshot = self.publication.newest();
        let notes = &snapshot.notes;
        let note = notes.at(target.vault, &target.path);
        let shared = self.shared.lock();
        let unindexed = shared.unindexed.get(&target.vault);
        let unindexed = unindexed.and_then(|files| files.get(target.path.as_str()));
        let hash = note.and_then(|id| notes.summary(id)).map(|summary| summary.file.hash);
        WriteOutcome {
            generation: Some(snapshot.generation),
            vault: notes.vault(target.vault).map_or_else(String::new, |info| info.name.clone()),
            path: target.path.to_string(),
            uri: note.map(|id| notes.graph().uri(id).clone()),
            hash: hash.or_else(|| unindexed.map(|file| file.facts.hash)),
            created,
            not_indexed: unindexed.map(|file| file.reason.clone()),
            index_pending: None,
            links,
        }
    }

    fn area_of(&self, at: usize, paths: &[NotePath]) -> ScanArea {
        let root = &self.scans.vaults[at].root;
        let mut area = ScanArea::NOTHING;
        paths.iter().for_each(|path| area.touch(root, &root.join(path.as_str())));
        area
    }

    /// Returns the position of the vault `name`, or of the only vault.
    fn vault_named(&self, name: Option<&str>) -> Result<usize, WriteError> {
        let names = || {
            let vaults = self.scans.vaults.iter();
            let names: BTreeSet<String> =
                vaults.map(|vault| format!("`{}`", vault.settings.name)).collect();
            names.into_iter().collect::<Vec<_>>().join(", ")
        };
        let invalid = |reason: String| WriteError::Invalid { field: "vault", reason };
        match (name, self.scans.vaults.as_slice()) {
            (None, [_]) => Ok(0),
            (None, _) => Err(invalid(format!("required with several vaults: {}", names()))),
            (Some(name), _) => self.scans.position(name).ok_or_else(|| {
                invalid(format!("unknown vault `{name}`; known vaults: {}", names()))
            }),
        }
    }

    /// Fails if a vault has notes and no file of any: an empty folder may be the mount point of an unmounted disk, which would hide what is written there.
    pub(super) fn check_vault_present(&self, at: usize) -> Result<(), IndexError> {
        let WatchedVault { id, root, .. } = &self.scans.vaults[at];
        let n_notes = self.publication.newest().notes.vault_stats(*id).n_notes;
        let n_missing = self.shared.lock().missing.get(id).map_or(0, BTreeSet::len);
        if n_missing == 0 || n_missing < n_notes {
            return Ok(());
        }
        let reason = format!(
            "the files of all {n_notes} notes are missing; mount the disk again, or run `weft confirm-deletions` if they were deleted on purpose"
        );
        Err(IndexError::Vault { root: root.clone(), reason })
    }

    /// Returns the file at `path` in a vault; fails if no note can be written there.
    pub(super) fn file_target(
        &self,
        at: usize,
        field: &'static str,
        path: &str,
    ) -> Result<FileTarget, WriteError> {
        let path = scan::note_path(path).map_err(|reason| WriteError::Invalid { field, reason });
        self.located(at, field, path?)
    }

    /// Returns the file at a valid path in a vault; fails if a scan would not read it.
    pub(super) fn located(
        &self,
        at: usize,
        field: &'static str,
        path: NotePath,
    ) -> Result<FileTarget, WriteError> {
        let vault = &self.scans.vaults[at];
        let invalid = |reason| WriteError::Invalid { field, reason };
        let location = self.files.home.writable(&vault.root, &self.settings.scan, &path);
        let location = location.map_err(|error| self.unreadable_vault(at, &error))?;
        let scan::WritablePath { named, real: file } = location.map_err(invalid)?;
        Ok(FileTarget { at, vault: vault.id, path, file, named })
    }

    /// Splits `path` into the name of a vault and the path in it, if it begins with such a name.
    fn split_vault<'p>(&self, path: &'p str) -> Option<(&'p str, &'p str)> {
        let (vault, rest) = path.split_once(':')?;
        self.scans.position(vault).map(|_| (vault, rest))
    }

    /// Returns `path` without its vault prefix; fails if the prefix is not the vault at `at`.
    fn path_in_vault<'p>(
        &self,
        at: usize,
        field: &'static str,
        path: &'p str,
    ) -> Result<&'p str, WriteError> {
        let name = &self.scans.vaults[at].settings.name;
        match self.split_vault(path) {
            None => Ok(path),
            Some((vault, rest)) if vault == name => Ok(rest),
            Some((vault, _)) => {
                let reason =
                    format!("it names the vault `{vault}`, but the write goes to `{name}`");
                Err(WriteError::Invalid { field, reason })
            }
        }
    }

    fn file_of_note(&self, name: &str) -> Result<FileTarget, WriteError> {
        let notes = self.publication.newest().notes.clone();
        let (found, fragment) = notes.find_part(name);
        if let Some(fragment) = fragment {
            let reason = format!(
                "`{name}` names the part `{fragment}` of a note; name the whole note, without `#`"
            );
            return Err(WriteError::Invalid { field: "name", reason });
        }
        if found.candidates.len() > 1 {
            let has_several = notes.vaults().nth(1).is_some();
            let paths = found.candidates.iter();
            let paths = paths.filter_map(|id| qualified_path(&notes, *id, has_several));
            let paths: Vec<String> = paths.collect();
            let reason = format!(
                "`{name}` names several notes; use one of their paths: {}",
                paths.join(", ")
            );
            return Err(WriteError::Invalid { field: "name", reason });
        }
        let Some(entry) = found.note.and_then(|id| notes.entry(id)) else {
            if let Some(file) = self.unindexed_file(name) {
                return Ok(file);
            }
            let suggestions = notes.near_matches(name);
            return Err(WriteError::UnknownNote { name: name.to_owned(), suggestions });
        };
        let at = self.scans.vaults.iter().position(|vault| vault.id == entry.vault);
        let at = at.ok_or(IndexError::Stopped)?;
        self.check_vault_present(at)?;
        self.located(at, "name", entry.note.path.clone())
    }

    /// Returns the file at a path that no indexed note has, such as one whose note waits to be indexed.
    fn unindexed_file(&self, path: &str) -> Option<FileTarget> {
        let at = self.vault_named(self.split_vault(path).map(|(vault, _)| vault)).ok()?;
        let target =
            self.file_target(at, "name", self.path_in_vault(at, "name", path).ok()?).ok()?;
        let content = self.read_file(&target.path, &target.file).ok()?;
        content.is_some().then_some(target)
    }

    /// Reads the file at `path` in its vault; returns `None` if the file does not exist.
    fn read_file(&self, path: &NotePath, file: &Path) -> Result<Option<Vec<u8>>, WriteError> {
        let content = self.files.home.content(file);
        content.map_err(|source| WriteError::Io { path: path.to_string(), source })
    }

    fn unreadable_vault(&self, at: usize, error: &scan::ScanError) -> WriteError {
        IndexError::vault(self.scans.vaults[at].root.clone(), error).into()
    }
}

/// Returns the path of a file after the move of `from` to `to`.
fn path_after(path: &NotePath, from: &FileTarget, to: &FileTarget) -> NotePath {
    if *path == from.path { to.path.clone() } else { path.clone() }
}

/// Returns the bytes of a file that has the content `old` and is to have the given one.
fn file_content(content: &WriteContent, old: Option<&[u8]>) -> Result<Vec<u8>, WriteError> {
    let body = match content {
        WriteContent::Whole(text) => return Ok(text.clone().into_bytes()),
        WriteContent::Body(body) => body,
    };
    let panicked = || WriteError::Invalid {
        field: "body",
        reason: "the parser panicked on it; this is a bug".to_owned(),
    };
    let bytes = catch_parser_panic(|| below_frontmatter(old.unwrap_or_default(), body));
    bytes.unwrap_or_else(|| Err(panicked()))
}

/// Returns the frontmatter of `old` followed by `body`, such that the parser reads the same body back.
fn below_frontmatter(old: &[u8], body: &str) -> Result<Vec<u8>, WriteError> {
    let invalid = |reason: &str| WriteError::Invalid { field: "body", reason: reason.to_owned() };
    let start = body_start(old)
        .ok_or_else(|| invalid("the existing file is not UTF-8; put the whole text instead"))?;
    // A file may end with the line that closes its frontmatter, without a newline.
    for separator in ["", "\n"] {
        let front = [&old[..start], separator.as_bytes()].concat();
        let bytes = [&*front, body.as_bytes()].concat();
        if body_start(&bytes) == Some(front.len()) {
            return Ok(bytes);
        }
    }
    Err(invalid("its first lines would be parsed as frontmatter; begin it with an empty line"))
}

fn check_precondition(
    path: &NotePath,
    bytes: Option<&[u8]>,
    expected: Precondition,
) -> Result<(), WriteError> {
    let actual = bytes.map(hash_of);
    match expected {
        Precondition::Anything => Ok(()),
        Precondition::Nothing if actual.is_none() => Ok(()),
        Precondition::Hash(hash) if actual == Some(hash) => Ok(()),
        Precondition::Nothing => Err(WriteError::AlreadyExists { path: path.to_string() }),
        Precondition::Hash(_) => Err(WriteError::Conflict { path: path.to_string(), actual }),
    }
}

fn change_error(target: &FileTarget, error: ChangeError) -> WriteError {
    match error {
        ChangeError::Changed { actual } => {
            WriteError::Conflict { path: target.path.to_string(), actual }
        }
        ChangeError::Io(source) => io_error(target, source),
    }
}

fn io_error(target: &FileTarget, source: std::io::Error) -> WriteError {
    if source.kind() == ErrorKind::AlreadyExists {
        WriteError::AlreadyExists { path: target.path.to_string() }
    } else {
        WriteError::Io { path: target.path.to_string(), source }
    }
}
