//! Writes that were asked for: a file is written, and then looked at like any other.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};
use weft_index::notes::{Change, NoteEntry, NoteTable, VaultId};
use weft_model::id::{MARKDOWN_EXTENSIONS, folder_of, segments, without_markdown_extension};
use weft_model::text::folds_to;
use weft_model::{Link, NoteId, NotePath, Target, TargetSyntax, TextHash, fold};

use super::half_moved::NO_ROOM;
use super::look::{How, Watched};
use super::{Event, Writer};
use crate::files::is_one_file;
use crate::hash::hash_of;
use crate::moving::{Edit, Moving, digits};
use crate::parse::{Reading, body_start, logseq, read, unless_stopped};
use crate::retarget::{Fate, Retargeted, retarget};
use crate::scan::{self, Area};
use crate::write::{Content, Expected, RewrittenLinks, Write, WriteError, Wrote};
use crate::{IndexError, Rescan, files};

/// Files that are put before the index is brought in line with them, at most.
const PUTS_TOGETHER: usize = 64;

/// A file of a vault, as a write needs it.
pub(super) struct Spot {
    /// The vault's place among those that are looked after.
    at: usize,
    vault: VaultId,
    path: NotePath,
    /// Where it really lies.
    pub(super) file: PathBuf,
    /// As it is named, which may be a link.
    named: PathBuf,
}

/// A file whose links are to be rewritten.
struct Rewrite {
    path: NotePath,
    file: PathBuf,
    /// The bytes that `links` was made of.
    before: TextHash,
    links: Retargeted,
}

/// The notes as they are, and as they will be when one of them has moved.
struct Prospect {
    before: NoteTable,
    after: NoteTable,
    moved: NoteId,
    /// Its links to files that are no notes.
    files: Vec<Link>,
    vault: VaultId,
    root: PathBuf,
    to: NotePath,
    /// Whether pages are called as in Logseq.
    logseq: bool,
}

/// How a link holds the note it means, from the loosest way to the firmest.
///
/// A Markdown link that holds a file by its path is followed by readers that know no names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hold {
    /// By a name, or any way that no other reader knows.
    Name,
    /// By the path from the vault's root.
    Root,
    /// By the path from the linking note.
    Relative,
}

impl Hold {
    /// How a link of `from` holds `note`; nothing where it means another, or none.
    fn of(notes: &NoteTable, from: NoteId, target: &Target, note: NoteId) -> Option<Self> {
        let found = notes.target_from(target, from);
        if found.note != Some(note) {
            return None;
        }
        let is_path = || {
            let path = notes.card(note).map(|card| without_markdown_extension(card.path));
            path.is_some_and(|path| folds_to(path, &fold(&target.name)))
        };
        Some(match found.rule.filter(|_| target.syntax.is_markdown()) {
            Some("relative") => Self::Relative,
            Some("path") => Self::Root,
            Some("uri") if is_path() => Self::Root,
            Some(_) | None => Self::Name,
        })
    }
}

impl Prospect {
    /// The note that a link means and will mean no more, or hold less firmly, if it stays as it is; and how it holds it.
    fn lost(&self, id: NoteId, at: usize, link: &Link) -> Option<(NoteId, Hold)> {
        let meant = self.before.resolved(id)?.targets.get(at).copied().flatten()?;
        let was = Hold::of(&self.before, id, &link.target, meant)?;
        (Hold::of(&self.after, id, &link.target, meant) < Some(was)).then_some((meant, was))
    }

    /// What becomes of a link, by its place among all of its note, those to files that are no notes last.
    fn fate(&self, id: NoteId, at: usize, link: &Link) -> Fate {
        let lost = self.lost(id, at, link);
        let renamed = match lost {
            Some((meant, hold)) => {
                let page = self.page(meant, &link.target.name);
                spelling(&self.after, id, meant, (&link.target, page), hold)
            }
            None => self.refiled(id, at, link),
        };
        match renamed {
            Some(name) => Fate::Renamed(name),
            None if lost.is_some() => Fate::Lost,
            None => Fate::Kept,
        }
    }

    /// The name that Logseq gives the moved page, in the manner of the one it had, where a link called it by that.
    fn page(&self, meant: NoteId, name: &str) -> Option<String> {
        let card = self.before.card(meant).filter(|_| self.logseq && meant == self.moved)?;
        let old = logseq::names(&NotePath::new(card.path));
        let manner = old.iter().position(|old| folds_to(old, &fold(name)))?;
        let mut new = logseq::names(&self.to);
        Some(new.swap_remove(if manner < new.len() { manner } else { 0 }))
    }

    /// The path of the file that a link of the moved note leads to, where that is no note and another from there.
    fn refiled(&self, id: NoteId, at: usize, link: &Link) -> Option<String> {
        let Target { name, syntax } = &link.target;
        let folders = [self.before.card(id)?.path, self.to.as_str()].map(folder_of);
        let meant = self.before.resolved(id)?.targets.get(at).copied().flatten();
        let is_path = match syntax {
            TargetSyntax::Markdown | TargetSyntax::MarkdownToFile => !name.starts_with('/'),
            // What another one names is found wherever it lies.
            TargetSyntax::Wikilink | TargetSyntax::WikilinkToFile => is_dotted(name),
            TargetSyntax::Listed | TargetSyntax::Tentative | TargetSyntax::WikilinkInVault => false,
        };
        if id != self.moved || !is_path || meant.is_some_and(|note| self.before.is_note(note)) {
            return None;
        }
        let target = segments(folders[0], name).join("/");
        // Some programs write a path from the root, or a mere name, likewise.
        let extensions = [""].into_iter().chain(MARKDOWN_EXTENSIONS.iter().copied());
        let mut files = extensions.map(|extension| {
            let dot = if extension.is_empty() { "" } else { "." };
            self.root.join(format!("{target}{dot}{extension}"))
        });
        let is_there = is_dotted(name) || files.any(|file| file.exists());
        let now = relative(folders[1], &target);
        // What led nowhere must not lead to a note of that name.
        let means_note = || {
            let target = Target { name: now.clone(), syntax: *syntax };
            self.after.target_from(&target, id).note.is_some_and(|note| self.after.is_note(note))
        };
        let now = if name.starts_with("./") || means_note() { dotted(now) } else { now };
        (is_there && !target.is_empty() && segments(folders[1], name).join("/") != target)
            .then_some(now)
    }

    /// The links of a note that will lead elsewhere as they are; nothing without any.
    fn losing(&self, id: NoteId) -> Option<RewrittenLinks> {
        let entry = self.before.entry(id)?;
        let files = self.files.iter().filter(|_| id == self.moved);
        let links = entry.note.links.iter().chain(files).enumerate();
        let n_left = links.filter(|(at, link)| self.fate(id, *at, link) != Fate::Kept).count();
        (n_left > 0).then(|| RewrittenLinks { path: self.path_of(id), n_links: 0, n_left })
    }

    /// The notes whose links may mean something else: those that link to the moved one, or will, and itself; by vault and path.
    fn concerned(&self) -> Vec<NoteId> {
        let inbound = |notes: &NoteTable| notes.graph().inbound(self.moved).to_vec();
        let others = [inbound(&self.before), inbound(&self.after)].concat();
        let ids = others.iter().map(|half| half.other).chain([self.moved]);
        let place = |id: NoteId| self.before.card(id).map(|card| ((card.vault, card.path), id));
        let places: BTreeMap<_, NoteId> = ids.filter_map(place).collect();
        places.into_values().collect()
    }

    fn is_here(&self, id: NoteId) -> bool {
        self.before.card(id).is_some_and(|card| card.vault == self.vault)
    }

    /// The path of a note's file when the note has moved; with its vault before it, where that is another.
    fn path_of(&self, id: NoteId) -> String {
        if id == self.moved {
            return self.to.to_string();
        }
        place_of(&self.before, id, !self.is_here(id)).unwrap_or_default()
    }
}

/// The path of a note's file, with its vault before it where that is to be said.
fn place_of(notes: &NoteTable, id: NoteId, with_vault: bool) -> Option<String> {
    let card = notes.card(id)?;
    Some(match notes.vault(card.vault).filter(|_| with_vault) {
        Some(vault) => format!("{}:{}", vault.name, card.path),
        None => card.path.to_owned(),
    })
}

/// Where a write is answered.
type Reply = Sender<Result<Wrote, WriteError>>;

/// A file that was put, and is not in the index yet.
struct Put {
    spot: Spot,
    /// Whether there was no file before.
    created: bool,
    reply: Reply,
}

impl Writer {
    /// Does a write, and brings the index in line with it.
    ///
    /// What is put meanwhile comes along: many callers cost one generation, as a burst of saved files does.
    pub(super) fn write_with(&mut self, write: Write, reply: Reply, events: &Receiver<Event>) {
        self.find_all();
        let mut puts: Vec<Put> = Vec::new();
        let mut next = Some((write, reply));
        while let Some((write, reply)) = next.take() {
            match write {
                Write::Put { vault, path, content, expected } => {
                    match self.put(vault.as_deref(), &path, content, expected, &mut puts) {
                        Ok((spot, created)) => puts.push(Put { spot, created, reply }),
                        Err(error) => drop(reply.send(Err(error))),
                    }
                    if puts.len() < PUTS_TOGETHER {
                        next = self.next_put(events);
                    }
                }
                // Of names and links the index must know all that was before.
                Write::Delete { name, expected } => {
                    let _ = reply.send(self.delete(&name, expected));
                }
                Write::Move { name, to, expected, rewrite_links } => {
                    let _ = reply.send(self.move_note(&name, &to, expected, rewrite_links));
                }
            }
        }
        self.take_in_puts(&mut puts);
    }

    /// The next event, where it has come and puts a file; another one is held for its turn, with all announced changes before it taken in.
    fn next_put(&mut self, events: &Receiver<Event>) -> Option<(Write, Reply)> {
        loop {
            let event = events.try_recv().ok()?;
            if let Event::Touched(vault, touched) = event {
                self.touch(vault, touched);
            } else if let Event::Write(write @ Write::Put { .. }, reply) = event {
                return Some((write, reply));
            } else {
                self.held = Some(event);
                return None;
            }
        }
    }

    /// Brings the index in line with what was put, by one look for each vault, and tells the callers.
    fn take_in_puts(&mut self, puts: &mut Vec<Put>) {
        let mut looked = BTreeSet::new();
        if puts.len() > 1 {
            for at in puts.iter().map(|put| put.spot.at).collect::<BTreeSet<usize>>() {
                let here = puts.iter().filter(|put| put.spot.at == at);
                let paths: Vec<NotePath> = here.map(|put| put.spot.path.clone()).collect();
                // Where this fails, each caller's own look tells why.
                if self.look_at(at, &paths).is_ok() {
                    looked.insert(at);
                }
            }
        }
        for Put { spot, created, reply } in puts.drain(..) {
            let answer = if looked.contains(&spot.at) {
                Ok(self.told(&spot, created, Vec::new()))
            } else {
                self.wrote(&spot, std::slice::from_ref(&spot.path), created, Vec::new())
            };
            let _ = reply.send(answer);
        }
    }

    /// Puts a file; gives its place, and whether there was none before. A file that is among `puts` already is taken in first, so that each caller is told of its own.
    fn put(
        &mut self,
        vault: Option<&str>,
        path: &str,
        content: Content,
        expected: Expected,
        puts: &mut Vec<Put>,
    ) -> Result<(Spot, bool), WriteError> {
        let at = self.vault_named(vault.or_else(|| Some(self.split(path)?.0)))?;
        self.is_there(at)?;
        let spot = self.spot(at, "path", self.within(at, "path", path)?)?;
        if puts.iter().any(|put| put.spot.file == spot.file) {
            self.take_in_puts(puts);
        }
        let old = bytes_at(&spot.path, &spot.file)?;
        check(&spot.path, old.as_deref(), expected)?;
        let bytes = match (content, &old) {
            (Content::Whole(text), _) => text.into_bytes(),
            (Content::Body(body), old) => {
                let old = old.as_deref().unwrap_or_default();
                let defect = || WriteError::Invalid {
                    field: "body",
                    reason: "reading it stopped the reader; this is a defect".to_owned(),
                };
                unless_stopped(|| below_frontmatter(old, &body)).unwrap_or_else(|| Err(defect()))?
            }
        };
        let max_bytes = self.settings.scan.max_file_bytes;
        if bytes.len() as u64 > max_bytes {
            let n = bytes.len();
            let reason = format!("{n} bytes are more than `scan.max_file_bytes` = {max_bytes}");
            return Err(WriteError::Invalid { field: "text", reason });
        }
        let written = match &old {
            Some(old) if *old == bytes => Ok(()),
            Some(_) => self.files.replace(&spot.file, &bytes),
            None => self.files.create(&spot.file, &bytes),
        };
        written.map_err(|error| refused(&spot, error))?;
        Ok((spot, old.is_none()))
    }

    fn delete(&mut self, name: &str, expected: Expected) -> Result<Wrote, WriteError> {
        let spot = self.spot_of_note(name)?;
        check(&spot.path, bytes_at(&spot.path, &spot.file)?.as_deref(), expected)?;
        // One that went by itself is no error: the look will see that. Of a link, what it leads to stays.
        self.files.remove(&spot.named).map_err(|error| refused(&spot, error))?;
        self.wrote(&spot, std::slice::from_ref(&spot.path), false, Vec::new())
    }

    fn move_note(
        &mut self,
        name: &str,
        to: &str,
        expected: Expected,
        rewrite_links: bool,
    ) -> Result<Wrote, WriteError> {
        // What an error has left half done would be forgotten with the next.
        if self.finish_move(true)? {
            self.rescan(Rescan::default())?;
        }
        let from = self.spot_of_note(name)?;
        if from.named.is_symlink() {
            let root = &self.vaults[from.at].root;
            let target = from.file.strip_prefix(root).unwrap_or(&from.file).display();
            let reason = format!(
                "`{}` is a symbolic link to `{target}`; move that note, or the link by hand",
                from.path
            );
            return Err(WriteError::Invalid { field: "name", reason });
        }
        let to = self.spot(from.at, "to", self.within(from.at, "to", to)?)?;
        let bytes = bytes_at(&from.path, &from.file)?;
        check(&from.path, bytes.as_deref(), expected)?;
        let Some(bytes) = bytes else {
            return Err(WriteError::Conflict { path: from.path.to_string(), actual: None });
        };
        if from.path == to.path {
            return self.wrote(&to, &[], false, Vec::new());
        }
        // By way of a link, or in another case: the file has one name only.
        if is_one_file(&from.file, &to.file).unwrap_or(false) {
            return Err(WriteError::Taken { path: to.path.to_string() });
        }
        let (rewrites, left) = if rewrite_links {
            self.rewrites(&from, &to.path, &bytes)?
        } else {
            (Vec::new(), self.losing(&from, &to.path, &bytes))
        };
        let name_after =
            |path: &NotePath| if *path == from.path { to.path.clone() } else { path.clone() };
        let edit = |Rewrite { path, before, links, .. }: &Rewrite| Edit {
            path: name_after(path).to_string(),
            before: format!("{before:?}"),
            text: links.text.clone(),
        };
        let moving = Moving {
            vault: self.vaults[from.at].settings.name.clone(),
            from: from.path.to_string(),
            to: to.path.to_string(),
            hash: digits(&bytes),
            edits: rewrites.iter().map(edit).collect(),
        };
        self.intend(Some(&moving))?;
        if let Err(error) = self.files.rename(&from.file, &to.file) {
            // Where nobody can see it, nobody can have put it.
            let is_untouched = from.file.is_file() && !matches!(to.file.try_exists(), Ok(true));
            // What is half done is finished before the next move, or at the next start.
            if is_untouched || error.kind() == ErrorKind::AlreadyExists {
                self.intend(None)?;
            }
            return Err(refused(&to, error));
        }
        let mut touched = vec![from.path.clone(), to.path.clone()];
        let mut links = left;
        let mut trouble = None;
        for (Rewrite { path, file, links: Retargeted { n_links, n_left, .. }, .. }, edit) in
            rewrites.into_iter().zip(&moving.edits)
        {
            let (path, file) =
                if path == from.path { (to.path.clone(), to.file.clone()) } else { (path, file) };
            let is_done = edit.apply(&self.files, &file).unwrap_or_else(|source| {
                trouble.get_or_insert((path.to_string(), source));
                false
            });
            let (n_links, n_left) = if is_done { (n_links, n_left) } else { (0, n_left + n_links) };
            touched.push(path.clone());
            links.push(RewrittenLinks { path: path.to_string(), n_links, n_left });
        }
        links.sort_by(|a, b| a.path.cmp(&b.path));
        if trouble.is_none()
            && let Err(error) = self.intend(None)
        {
            // Finished twice is finished.
            self.report(&error);
        }
        let wrote = self.wrote(&to, &touched, false, links);
        let Some((path, source)) = trouble else { return wrote };
        // Room may come by itself; what else it was waits for the next move, or the next start.
        let may_end = NO_ROOM.contains(&source.kind());
        let [from, to] = [&from, &to].map(|spot| spot.path.to_string());
        let error = WriteError::HalfMoved { from, to, path, source };
        self.half_moved = may_end.then(|| error.to_string());
        Err(error)
    }

    /// The files whose links must change so that each means what it meant, when the note moves; and those of which none can be changed.
    fn rewrites(
        &mut self,
        from: &Spot,
        to: &NotePath,
        bytes: &[u8],
    ) -> Result<(Vec<Rewrite>, Vec<RewrittenLinks>), WriteError> {
        let Some(prospect) = self.prospect(from, to, bytes) else { return Ok(Default::default()) };
        // What is rewritten must be what is indexed.
        let cards = prospect.concerned().into_iter().filter_map(|id| prospect.before.card(id));
        let here = cards.filter(|card| card.vault == from.vault);
        let paths: Vec<NotePath> = here.map(|card| NotePath::new(card.path)).collect();
        self.look(from.at, self.area(from.at, &paths), How::default())?;
        let Some(prospect) = self.prospect(from, to, bytes) else { return Ok(Default::default()) };
        let root = self.vaults[from.at].root.clone();
        let (mut rewrites, mut left) = (Vec::new(), Vec::new());
        for id in prospect.concerned() {
            let before = &prospect.before;
            let (Some(entry), true) = (before.entry(id), prospect.is_here(id)) else {
                left.extend(prospect.losing(id));
                continue;
            };
            let path = entry.note.path.clone();
            let placed = scan::place(&root, &self.settings.scan, &path);
            let file = placed.map_err(|error| self.unreadable(from.at, &error))?.ok();
            let file = file.map(|placed| placed.real);
            let bytes = file.as_ref().map(|file| bytes_at(&path, file)).transpose()?.flatten();
            let (Some(file), Some(bytes)) = (file, bytes) else {
                left.extend(prospect.losing(id));
                continue;
            };
            let hash = hash_of(&bytes);
            let links = match String::from_utf8(bytes) {
                Ok(text) if hash == entry.file.hash => {
                    let fate = |at: usize, link: &Link| prospect.fate(id, at, link);
                    let go_on = || self.go_on().is_ok();
                    let parse = &self.settings.parse;
                    unless_stopped(|| retarget(&path, &text, parse, fate, go_on))
                }
                // It is in another encoding, or was saved this instant.
                Ok(_) | Err(_) => None,
            };
            match links {
                Some(Some(links)) if links.n_links > 0 => {
                    rewrites.push(Rewrite { path, file, before: hash, links });
                }
                Some(Some(Retargeted { n_links, n_left, .. })) => {
                    left.push(RewrittenLinks { path: prospect.path_of(id), n_links, n_left });
                }
                Some(None) => {}
                None => left.extend(prospect.losing(id)),
            }
        }
        Ok((rewrites, left))
    }

    /// The files with links that will mean something else, when the note moves and nothing is rewritten.
    fn losing(&self, from: &Spot, to: &NotePath, bytes: &[u8]) -> Vec<RewrittenLinks> {
        let prospect = self.prospect(from, to, bytes);
        let losing = |prospect: Prospect| -> Vec<RewrittenLinks> {
            prospect.concerned().into_iter().filter_map(|id| prospect.losing(id)).collect()
        };
        prospect.map(losing).unwrap_or_default()
    }

    /// What will be, when the note moves; nothing where it is not indexed.
    fn prospect(&self, from: &Spot, to: &NotePath, bytes: &[u8]) -> Option<Prospect> {
        let before = self.publisher.newest().notes.clone();
        let moved = before.at(from.vault, &from.path)?;
        let entry = before.entry(moved)?;
        let Reading { note, files, .. } = unless_stopped(|| read(to, bytes, &self.settings.parse))?;
        let entry = NoteEntry::new(from.vault, note, Vec::new(), entry.file, entry.version);
        let change = Change::Move(from.path.clone(), Arc::new(entry));
        let after = before.edited(&[change]).0;
        let (vault, root, to) = (from.vault, self.vaults[from.at].root.clone(), to.clone());
        let logseq = self.settings.parse.logseq;
        Some(Prospect { before, after, moved, files, vault, root, to, logseq })
    }

    /// Looks at what was touched, and tells what is there now.
    fn wrote(
        &mut self,
        spot: &Spot,
        touched: &[NotePath],
        created: bool,
        links: Vec<RewrittenLinks>,
    ) -> Result<Wrote, WriteError> {
        if let Err(source) = self.look_at(spot.at, touched) {
            self.vaults[spot.at].retry();
            return Err(WriteError::NotIndexed { path: spot.path.to_string(), source });
        }
        Ok(self.told(spot, created, links))
    }

    /// Looks at what was written, and lets go what was removed.
    fn look_at(&mut self, at: usize, paths: &[NotePath]) -> Result<(), IndexError> {
        self.look(at, self.area(at, paths), How { lets_go: true, ..How::default() })
    }

    /// What is at a place that was written to and looked at.
    fn told(&self, spot: &Spot, created: bool, links: Vec<RewrittenLinks>) -> Wrote {
        let snapshot = self.publisher.newest();
        let notes = &snapshot.notes;
        let note = notes.at(spot.vault, &spot.path);
        let board = self.board.lock();
        let absent = board.absent.get(&spot.vault).and_then(|all| all.get(spot.path.as_str()));
        let hash = note.and_then(|id| notes.card(id)).map(|card| card.file.hash);
        Wrote {
            generation: snapshot.generation,
            vault: notes.vault(spot.vault).map_or_else(String::new, |info| info.name.clone()),
            path: spot.path.to_string(),
            uri: note.map(|id| notes.graph().uri(id).clone()),
            hash: hash.or_else(|| absent.map(|file| file.facts.hash)),
            created,
            not_indexed: absent.map(|file| file.reason.clone()),
            links,
        }
    }

    fn area(&self, at: usize, paths: &[NotePath]) -> Area {
        let root = &self.vaults[at].root;
        let mut area = Area::NOTHING;
        paths.iter().for_each(|path| area.touch(root, &root.join(path.as_str())));
        area
    }

    /// The place of the vault `name`, or of the only one.
    fn vault_named(&self, name: Option<&str>) -> Result<usize, WriteError> {
        let names = || {
            let names: BTreeSet<&str> =
                self.vaults.iter().map(|vault| vault.settings.name.as_str()).collect();
            names.into_iter().collect::<Vec<_>>().join(", ")
        };
        let invalid = |reason: String| WriteError::Invalid { field: "vault", reason };
        match (name, self.vaults.as_slice()) {
            (None, [_]) => Ok(0),
            (None, _) => Err(invalid(format!("say into which vault to write: {}", names()))),
            (Some(name), vaults) => {
                let found = vaults.iter().position(|vault| vault.settings.name == name);
                found.ok_or_else(|| {
                    invalid(format!("`{name}` is no vault; the vaults are {}", names()))
                })
            }
        }
    }

    /// Fails where a vault has notes and the file of none: an empty folder lies where its disk is not mounted, and what is written there is lost to it.
    pub(super) fn is_there(&self, at: usize) -> Result<(), IndexError> {
        let Watched { id, root, .. } = &self.vaults[at];
        let n_notes = self.publisher.newest().notes.tally(*id).n_notes;
        let n_missing = self.board.lock().missing.get(id).map_or(0, BTreeSet::len);
        if n_missing == 0 || n_missing < n_notes {
            return Ok(());
        }
        let reason = format!(
            "none of its {n_notes} notes has a file any more; if its disk is away, bring it back, and if the files are to be gone, confirm that with `weft confirm`"
        );
        Err(IndexError::Vault { root: root.clone(), reason })
    }

    pub(super) fn spot(
        &self,
        at: usize,
        field: &'static str,
        path: &str,
    ) -> Result<Spot, WriteError> {
        let vault = &self.vaults[at];
        let invalid = |reason| WriteError::Invalid { field, reason };
        let path = scan::note_path(path).map_err(invalid)?;
        let placed = scan::place(&vault.root, &self.settings.scan, &path);
        let file = placed.map_err(|error| self.unreadable(at, &error))?.map_err(invalid)?;
        let scan::Placed { named, real: file } = file;
        Ok(Spot { at, vault: vault.id, path, file, named })
    }

    /// The name of a vault and the path in it, where `path` begins with that name.
    fn split<'p>(&self, path: &'p str) -> Option<(&'p str, &'p str)> {
        let (vault, rest) = path.split_once(':')?;
        let is_served = self.vaults.iter().any(|served| served.settings.name == vault);
        is_served.then_some((vault, rest))
    }

    /// `path` without the name of its vault, which is the one at `at`.
    fn within<'p>(
        &self,
        at: usize,
        field: &'static str,
        path: &'p str,
    ) -> Result<&'p str, WriteError> {
        let name = &self.vaults[at].settings.name;
        match self.split(path) {
            None => Ok(path),
            Some((vault, rest)) if vault == name => Ok(rest),
            Some((vault, _)) => {
                let reason =
                    format!("this writes into the vault `{name}`, and `{vault}` is another");
                Err(WriteError::Invalid { field, reason })
            }
        }
    }

    fn spot_of_note(&self, name: &str) -> Result<Spot, WriteError> {
        let notes = self.publisher.newest().notes.clone();
        let found = notes.find(name);
        if found.candidates.len() > 1 {
            let has_several = notes.vaults().nth(1).is_some();
            let places =
                found.candidates.iter().filter_map(|id| place_of(&notes, *id, has_several));
            let paths: Vec<String> = places.collect();
            let reason = format!(
                "several notes answer to `{name}`; say by its path which one: {}",
                paths.join(", ")
            );
            return Err(WriteError::Invalid { field: "name", reason });
        }
        let Some(entry) = found.note.and_then(|id| notes.entry(id)) else {
            let near = notes.near_matches(name);
            return Err(WriteError::UnknownNote { name: name.to_owned(), near });
        };
        let at = self.vaults.iter().position(|vault| vault.id == entry.vault);
        let at = at.ok_or(IndexError::Stopped)?;
        self.is_there(at)?;
        self.spot(at, "name", entry.note.path.as_str())
    }

    fn unreadable(&self, at: usize, error: &scan::ScanError) -> WriteError {
        IndexError::vault(self.vaults[at].root.clone(), error).into()
    }
}

/// The bytes of `old` with `body` below its frontmatter, from which a reader takes that same body.
fn below_frontmatter(old: &[u8], body: &str) -> Result<Vec<u8>, WriteError> {
    let invalid = |reason: &str| WriteError::Invalid { field: "body", reason: reason.to_owned() };
    let start = body_start(old)
        .ok_or_else(|| invalid("the file there is no UTF-8; put its whole text instead"))?;
    // A file may end with the line that closes its frontmatter.
    for between in ["", "\n"] {
        let front = [&old[..start], between.as_bytes()].concat();
        let bytes = [&*front, body.as_bytes()].concat();
        if body_start(&bytes) == Some(front.len()) {
            return Ok(bytes);
        }
    }
    Err(invalid("its beginning would be read as frontmatter; begin it with an empty line"))
}

/// The bytes of the file at `path` in its vault; nothing where there is none.
fn bytes_at(path: &NotePath, file: &Path) -> Result<Option<Vec<u8>>, WriteError> {
    files::read(file).map_err(|source| WriteError::Io { path: path.to_string(), source })
}

fn check(path: &NotePath, bytes: Option<&[u8]>, expected: Expected) -> Result<(), WriteError> {
    let actual = bytes.map(hash_of);
    match expected {
        Expected::Anything => Ok(()),
        Expected::Nothing if actual.is_none() => Ok(()),
        Expected::Hash(hash) if actual == Some(hash) => Ok(()),
        Expected::Nothing => Err(WriteError::Taken { path: path.to_string() }),
        Expected::Hash(_) => Err(WriteError::Conflict { path: path.to_string(), actual }),
    }
}

fn refused(spot: &Spot, source: std::io::Error) -> WriteError {
    if source.kind() == ErrorKind::AlreadyExists {
        WriteError::Taken { path: spot.path.to_string() }
    } else {
        WriteError::Io { path: spot.path.to_string(), source }
    }
}

/// A name by which a link of `from` means `target`, in the manner of the one it had and as firmly, where one does, else by that of its `page`; nothing where none means it.
fn spelling(
    notes: &NoteTable,
    from: NoteId,
    target: NoteId,
    (old, page): (&Target, Option<String>),
    hold: Hold,
) -> Option<String> {
    let path = &notes.entry(target)?.note.path;
    let folder = notes.entry(from)?.note.path.folder();
    let bare = path.without_extension();
    let in_vault = old.syntax == TargetSyntax::WikilinkInVault;
    let (vault, name) = old.name.split_once(':').filter(|_| in_vault).unzip();
    let name = name.unwrap_or(&old.name);
    let relative = relative(folder, bare);
    let rooted = format!("/{bare}");
    let manners = if is_dotted(name) {
        [dotted(relative), rooted, bare.to_owned()]
    } else if name.starts_with('/') {
        [rooted, bare.to_owned(), relative]
    } else if old.syntax.is_markdown() && hold == Hold::Root {
        [bare.to_owned(), relative, rooted]
    } else if old.syntax.is_markdown() {
        [relative, rooted, bare.to_owned()]
    } else if name.contains('/') {
        [bare.to_owned(), rooted, relative]
    } else {
        [path.stem().to_owned(), bare.to_owned(), rooted]
    };
    let held = |name: String| {
        let name = match vault {
            Some(vault) => format!("{vault}:{name}"),
            None => name,
        };
        let named = Target { name, syntax: old.syntax };
        Some((Hold::of(notes, from, &named, target)?.min(hold), named.name))
    };
    // Of those that hold it equally well the last is the greatest.
    let names = page.into_iter().chain(manners).rev().filter_map(held);
    names.max_by_key(|(hold, _)| *hold).map(|(_, name)| name)
}

/// Whether a name says that it is a path from the linking note.
fn is_dotted(name: &str) -> bool {
    name.starts_with("./") || name.starts_with("../")
}

/// A path from the linking note, so that it says that it is one.
fn dotted(relative: String) -> String {
    if is_dotted(&relative) { relative } else { format!("./{relative}") }
}

/// `path` seen from `folder`, both from the vault's root.
fn relative(folder: &str, path: &str) -> String {
    let folder: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let path: Vec<&str> = path.split('/').collect();
    let n_same = folder
        .iter()
        .zip(&path[..path.len().saturating_sub(1)])
        .take_while(|(a, b)| a == b)
        .count();
    let up = std::iter::repeat_n("..", folder.len() - n_same);
    up.chain(path[n_same..].iter().copied()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn a_path_is_seen_from_any_folder() {
        for (folder, path, expected) in [
            ("", "a/b", "a/b"),
            ("a", "a/b", "b"),
            ("a/c", "a/b", "../b"),
            ("a/c/d", "b", "../../../b"),
            ("a", "a", "../a"),
            ("a/b", "a/b/c/d", "c/d"),
        ] {
            assert_eq!(relative(folder, path), expected, "{folder} {path}");
        }
    }
}
