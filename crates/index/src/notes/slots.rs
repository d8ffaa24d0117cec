//! The slots of a table: what was written down, read when it is asked for, and what was edited since.

use std::borrow::Cow;
use std::io;
use std::sync::{Arc, OnceLock};

use bytestring::ByteString;
use imbl::Vector;
use serde::{Deserialize, Serialize};
use weft_model::{Block, Chunk, Diagnostic, Heading, Link, Note, NoteId, NotePath, TextHash};

use super::card::Texts;
use super::entry::Body;
use super::{Card, Facets, FileFacts, NoteEntry, Resolved, VaultId};
use crate::columns::Column;

/// What a slot holds.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    Free,
    Note(Arc<NoteEntry>, Arc<Resolved>),
    /// A name that links of this vault, or to it, use and no note answers to.
    Placeholder(VaultId),
}

/// All slots. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    /// Nothing where a slot holds what was written down.
    edited: Vector<Option<Slot>>,
    written: Arc<Written>,
}

impl Slots {
    /// As they were written down.
    pub(super) fn of(written: Written) -> Self {
        let edited = written.read.iter().map(|_| None).collect();
        Self { edited, written: Arc::new(written) }
    }

    /// Whether slot `at` holds nothing.
    pub(super) fn is_free(&self, at: usize) -> bool {
        match self.edited.get(at) {
            Some(Some(slot)) => matches!(slot, Slot::Free),
            Some(None) | None => self.written.is_free(at),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.edited.len()
    }

    /// What slot `at` holds; nothing where there is no such slot. Reads what was written down, once.
    pub(super) fn get(&self, at: usize) -> Option<&Slot> {
        match self.edited.get(at)? {
            Some(slot) => Some(slot),
            None => self.written.slot(at),
        }
    }

    /// The same, if nothing must be read for it.
    pub(super) fn at_hand(&self, at: usize) -> Option<&Slot> {
        self.edited.get(at)?.as_ref().or_else(|| self.written.read.get(at)?.get())
    }

    pub(super) fn set(&mut self, at: usize, slot: Slot) {
        self.edited.set(at, Some(slot));
    }

    /// Adds a slot, and gives its place.
    pub(super) fn push(&mut self, slot: Slot) -> usize {
        self.edited.push_back(Some(slot));
        self.edited.len() - 1
    }

    /// The card of the note in slot `at`, which is not read for it.
    pub(super) fn card(&self, at: usize) -> Option<Card<'_>> {
        match self.edited.get(at)? {
            Some(Slot::Note(entry, _)) => Some(Card::of(entry)),
            Some(Slot::Free | Slot::Placeholder(_)) => None,
            None => self.written.card(at),
        }
    }

    /// The facets of the note in slot `at`, which is not read for them.
    pub(super) fn facets(&self, at: usize) -> Option<Facets<'_>> {
        match self.edited.get(at)? {
            Some(Slot::Note(entry, _)) => Some(Facets::of(&entry.note)),
            Some(Slot::Free | Slot::Placeholder(_)) => None,
            None => self.written.facets(at),
        }
    }

    /// A part of what slot `at` holds, as it is written down; made in `room` where it is not there as such.
    pub(super) fn part<'s>(
        &'s self,
        at: usize,
        part: Part,
        room: &'s mut Vec<u8>,
    ) -> io::Result<&'s [u8]> {
        match self.edited.get(at) {
            Some(Some(slot)) => slot.part(part, room),
            Some(None) | None => Ok(self.written.part(at, part)),
        }
    }
}

/// A part of a slot that is written down. Each has a column, in this order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// What [`put_facts`] writes of a note; a placeholder's vault; nothing for a free slot.
    Facts,
    Path,
    Title,
    /// The hashes of the chunks.
    Texts,
    /// Tags, type and properties, as MessagePack.
    Facets,
    /// What stands in no other column, as MessagePack.
    Rest,
    Body,
}

impl Part {
    pub(super) const ALL: [Self; 7] =
        [Self::Facts, Self::Path, Self::Title, Self::Texts, Self::Facets, Self::Rest, Self::Body];
}

/// What stands in [`Part::Rest`].
#[derive(Serialize, Deserialize)]
struct Rest<'s> {
    claimed_uri: Cow<'s, Option<String>>,
    aliases: Cow<'s, [String]>,
    order: Option<f64>,
    headings: Cow<'s, [Heading]>,
    blocks: Cow<'s, [Block]>,
    links: Cow<'s, [Link]>,
    chunks: Cow<'s, [Chunk]>,
    diagnostics: Cow<'s, [Diagnostic]>,
    resolved: Cow<'s, Resolved>,
    /// Stores of earlier builds do not hold it.
    #[serde(default)]
    dendron: bool,
}

impl Slot {
    /// The note that it holds.
    pub(super) const fn entry(&self) -> Option<&Arc<NoteEntry>> {
        match self {
            Self::Note(entry, _) => Some(entry),
            Self::Free | Self::Placeholder(_) => None,
        }
    }

    fn part<'s>(&'s self, part: Part, room: &'s mut Vec<u8>) -> io::Result<&'s [u8]> {
        room.clear();
        let (entry, resolved) = match (self, part) {
            (Self::Note(entry, resolved), _) => (entry, resolved),
            (Self::Placeholder(vault), Part::Facts) => {
                room.extend(vault.0.to_le_bytes());
                return Ok(room);
            }
            (Self::Free | Self::Placeholder(_), _) => return Ok(&[]),
        };
        let NoteEntry { vault: _, note, body, chunks, file: _, diagnostics, version: _ } = &**entry;
        let Note {
            path,
            claimed_uri,
            title,
            aliases,
            tags: _,
            note_type: _,
            properties: _,
            order,
            headings,
            blocks,
            dendron,
            links,
            body: _,
        } = note;
        match part {
            Part::Path => return Ok(path.as_str().as_bytes()),
            Part::Title => return Ok(title.as_bytes()),
            Part::Body => return Ok(body.as_bytes()),
            Part::Facts => put_facts(entry, room),
            Part::Texts => room.extend(chunks.iter().flat_map(|chunk| chunk.hash.0.to_le_bytes())),
            Part::Facets => {
                rmp_serde::encode::write(room, &Facets::of(note)).map_err(io::Error::other)?;
            }
            Part::Rest => {
                let rest = Rest {
                    claimed_uri: Cow::Borrowed(claimed_uri),
                    aliases: Cow::Borrowed(aliases),
                    order: *order,
                    headings: Cow::Borrowed(headings),
                    blocks: Cow::Borrowed(blocks),
                    links: Cow::Borrowed(links),
                    chunks: Cow::Borrowed(chunks),
                    diagnostics: Cow::Borrowed(diagnostics),
                    resolved: Cow::Borrowed(resolved),
                    dendron: *dendron,
                };
                rmp_serde::encode::write(room, &rest).map_err(io::Error::other)?;
            }
        }
        Ok(room)
    }
}

/// Slots as they were written down.
#[derive(Debug, Default)]
pub(super) struct Written {
    columns: [Column; Part::ALL.len()],
    /// What was read.
    read: Box<[OnceLock<Slot>]>,
}

impl Written {
    /// Slots whose parts stand in `columns`; nothing where these do not fit together.
    pub(super) fn new(columns: [Column; Part::ALL.len()]) -> Option<Self> {
        let n_slots = columns[0].len();
        let fits = columns.iter().all(|column| column.len() == n_slots);
        fits.then(|| Self { columns, read: (0..n_slots).map(|_| OnceLock::new()).collect() })
    }

    fn part(&self, at: usize, part: Part) -> &[u8] {
        self.columns[part as usize].get(at)
    }

    /// Whether slot `at` holds nothing.
    fn is_free(&self, at: usize) -> bool {
        self.part(at, Part::Facts).is_empty()
    }

    fn slot(&self, at: usize) -> Option<&Slot> {
        let read = self.read.get(at)?;
        Some(read.get_or_init(|| match self.card(at) {
            Some(card) => self.note(at, &card).unwrap_or_else(|error| {
                let path = card.path;
                tracing::error!(%error, path, "a note that was written down cannot be read");
                Slot::Free
            }),
            None => vault_of(self.part(at, Part::Facts)).map_or(Slot::Free, Slot::Placeholder),
        }))
    }

    fn card(&self, at: usize) -> Option<Card<'_>> {
        let (vault, version, file) = facts(self.part(at, Part::Facts))?;
        let text = |part| std::str::from_utf8(self.part(at, part)).unwrap_or_default();
        let (path, title) = (text(Part::Path), text(Part::Title));
        let (texts, _) = self.part(at, Part::Texts).as_chunks();
        Some(Card { vault, path, title, file, version, texts: Texts::Written(texts) })
    }

    fn facets(&self, at: usize) -> Option<Facets<'_>> {
        let bytes = self.part(at, Part::Facets);
        if bytes.is_empty() {
            return None;
        }
        let facets = rmp_serde::from_slice(bytes);
        facets.inspect_err(|error| tracing::error!(%error, at, "facets cannot be read")).ok()
    }

    fn note(&self, at: usize, card: &Card<'_>) -> io::Result<Slot> {
        let Card { vault, path, title, file, version, texts: _ } = *card;
        let facets =
            rmp_serde::from_slice(self.part(at, Part::Facets)).map_err(io::Error::other)?;
        let Facets { tags, note_type, properties } = facets;
        let rest = rmp_serde::from_slice(self.part(at, Part::Rest)).map_err(io::Error::other)?;
        let Rest {
            claimed_uri,
            aliases,
            order,
            headings,
            blocks,
            links,
            chunks,
            diagnostics,
            resolved,
            dendron,
        } = rest;
        let note = Note {
            path: NotePath::new(path),
            claimed_uri: claimed_uri.into_owned(),
            title: title.to_owned(),
            aliases: aliases.into_owned(),
            tags: tags.into_owned(),
            note_type: note_type.into_owned(),
            properties: properties.into_owned(),
            order,
            headings: headings.into_owned(),
            blocks: blocks.into_owned(),
            dendron,
            links: links.into_owned(),
            body: String::new(),
        };
        let (chunks, diagnostics) = (chunks.into_owned(), diagnostics.into_owned());
        let resolved = resolved.into_owned();
        let known = |target: &NoteId| !self.is_free(target.index());
        if !resolved.targets.iter().flatten().all(known) {
            return Err(io::Error::other("it links to a slot that holds nothing"));
        }
        let body = self.columns[Part::Body as usize].share(at);
        let body = Body::new(ByteString::try_from(body).map_err(io::Error::other)?);
        let entry = NoteEntry { vault, note, body, chunks, file, diagnostics, version };
        Ok(Slot::Note(Arc::new(entry), Arc::new(resolved)))
    }
}

/// Writes the facts of a note down: vault, version, and its file's size, times, inode, hash and time of reading.
fn put_facts(entry: &NoteEntry, bytes: &mut Vec<u8>) {
    let FileFacts { size, modified_ns, changed_ns, inode, hash, read_ns } = entry.file;
    bytes.extend(entry.vault.0.to_le_bytes());
    bytes.extend(entry.version.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(modified_ns.to_le_bytes());
    bytes.extend(changed_ns.to_le_bytes());
    bytes.extend(inode.to_le_bytes());
    bytes.extend(hash.0.to_le_bytes());
    bytes.extend(read_ns.to_le_bytes());
}

/// The facts of a note that were written down; nothing where there is none.
fn facts(mut bytes: &[u8]) -> Option<(VaultId, u64, FileFacts)> {
    let bytes = &mut bytes;
    let vault = VaultId(u16::from_le_bytes(take(bytes)?));
    let version = u64::from_le_bytes(take(bytes)?);
    let file = FileFacts {
        size: u64::from_le_bytes(take(bytes)?),
        modified_ns: i64::from_le_bytes(take(bytes)?),
        changed_ns: i64::from_le_bytes(take(bytes)?),
        inode: u64::from_le_bytes(take(bytes)?),
        hash: TextHash(u128::from_le_bytes(take(bytes)?)),
        read_ns: i64::from_le_bytes(take(bytes)?),
    };
    Some((vault, version, file))
}

fn vault_of(mut bytes: &[u8]) -> Option<VaultId> {
    take(&mut bytes).map(|vault| VaultId(u16::from_le_bytes(vault)))
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::super::{Change, NoteTable, VaultInfo};
    use super::*;

    fn n_read(table: &NoteTable) -> usize {
        table.slots.written.read.iter().filter(|slot| slot.get().is_some()).count()
    }

    #[test]
    fn a_note_is_read_when_it_is_asked_for_and_not_before() {
        let note = |path: &str| Note {
            path: NotePath::new(path),
            claimed_uri: None,
            title: "Fern".into(),
            aliases: vec!["bracken".into()],
            tags: vec!["green".into()],
            note_type: None,
            properties: [("due".into(), weft_model::Value::Null)].into(),
            order: None,
            headings: Vec::new(),
            blocks: Vec::new(),
            dendron: false,
            links: Vec::new(),
            body: "a fern".into(),
        };
        let entry = |path| {
            let facts = FileFacts { size: 6, modified_ns: -3, inode: 7, ..FileFacts::default() };
            let entry = NoteEntry::new(VaultId(0), note(path), Vec::new(), facts, 5);
            Change::Upsert(Arc::new(entry))
        };
        let table = NoteTable::new([VaultInfo::new("v", "/v")]);
        let table = table.edited(&["a/fern.md", "b/fern.md", "c.md"].map(entry)).0;
        let mut written = Vec::new();
        table.write(&mut written).unwrap();
        let table = NoteTable::read(&written.into(), Some(table.graph.clone())).unwrap();
        let paths: Vec<&str> = table.cards().map(|(_, card)| card.path).collect();
        assert_eq!(paths, ["a/fern.md", "b/fern.md", "c.md"]);
        assert_eq!(table.near_matches("brackn").len(), 3);
        let found = table.find("b/fern").note.unwrap();
        let card = table.card(found).unwrap();
        assert_eq!((card.title, card.version, card.file.size, card.file.inode), ("Fern", 5, 6, 7));
        let facets = table.facets(found).unwrap();
        assert_eq!((facets.properties.len(), &*facets.tags), (1, &["green".to_owned()][..]));
        assert_eq!(n_read(&table), 0);
        assert_eq!(&*table.entry(found).unwrap().body, "a fern");
        assert_eq!(n_read(&table), 1);
        let edited = table.edited(&[entry("a/fern.md")]).0;
        let mut again = Vec::new();
        edited.write(&mut again).unwrap();
        assert!(!again.is_empty() && n_read(&edited) <= 2, "the others were copied");
    }
}
