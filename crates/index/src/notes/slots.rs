//! The slots of a table: stored data, loaded lazily, and later edits.

use std::borrow::Cow;
use std::io;
use std::sync::{Arc, OnceLock};

use bytestring::ByteString;
use imbl::Vector;
use serde::{Deserialize, Serialize};
use weft_model::{Block, Chunk, Diagnostic, Heading, Link, Note, NoteId, NotePath, TextHash};

use super::note_entry::Body;
use super::note_summary::ChunkHashes;
use super::{Facets, FileMetadata, NoteEntry, NoteSummary, ResolvedNote, VaultId};
use crate::byte_columns::Column;

/// Content of a slot.
#[derive(Clone, Debug)]
pub(super) enum TableSlot {
    Free,
    Note(Arc<NoteEntry>, Arc<ResolvedNote>),
    /// A name that no note has and that links refer to in this vault.
    Placeholder(VaultId),
}

/// All slots. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    /// Edited slots; `None` if the stored slot is unchanged.
    overlay: Vector<Option<TableSlot>>,
    stored: Arc<StoredSlots>,
}

impl Slots {
    /// Creates slots without edits.
    pub(super) fn of(stored: StoredSlots) -> Self {
        let overlay = stored.loaded.iter().map(|_| None).collect();
        Self { overlay, stored: Arc::new(stored) }
    }

    /// True if slot `at` is free.
    pub(super) fn is_free(&self, at: usize) -> bool {
        match self.overlay.get(at) {
            Some(Some(slot)) => matches!(slot, TableSlot::Free),
            Some(None) | None => self.stored.is_free(at),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.overlay.len()
    }

    /// Returns the content of slot `at`; `None` if there is no such slot. A stored slot is loaded once.
    pub(super) fn get(&self, at: usize) -> Option<&TableSlot> {
        match self.overlay.get(at)? {
            Some(slot) => Some(slot),
            None => self.stored.slot(at),
        }
    }

    /// Returns the content of slot `at` if it is in memory.
    pub(super) fn get_loaded(&self, at: usize) -> Option<&TableSlot> {
        self.overlay.get(at)?.as_ref().or_else(|| self.stored.loaded.get(at)?.get())
    }

    pub(super) fn set(&mut self, at: usize, slot: TableSlot) {
        self.overlay.set(at, Some(slot));
    }

    /// Adds a slot and returns its index.
    pub(super) fn push(&mut self, slot: TableSlot) -> usize {
        self.overlay.push_back(Some(slot));
        self.overlay.len() - 1
    }

    /// Returns the summary of the note in slot `at`, without loading the note.
    pub(super) fn summary(&self, at: usize) -> Option<NoteSummary<'_>> {
        match self.overlay.get(at)? {
            Some(TableSlot::Note(entry, _)) => Some(NoteSummary::of(entry)),
            Some(TableSlot::Free | TableSlot::Placeholder(_)) => None,
            None => self.stored.summary(at),
        }
    }

    /// Returns the facets of the note in slot `at`, without loading the note.
    pub(super) fn facets(&self, at: usize) -> Option<Facets<'_>> {
        match self.overlay.get(at)? {
            Some(TableSlot::Note(entry, _)) => Some(Facets::of(&entry.note)),
            Some(TableSlot::Free | TableSlot::Placeholder(_)) => None,
            None => self.stored.facets(at),
        }
    }

    /// Returns the body of the note in slot `at`, without loading the note.
    pub(super) fn body(&self, at: usize) -> Option<&str> {
        match self.overlay.get(at)? {
            Some(TableSlot::Note(entry, _)) => Some(&entry.body),
            Some(TableSlot::Free | TableSlot::Placeholder(_)) => None,
            None => {
                self.stored.summary(at)?;
                std::str::from_utf8(self.stored.part(at, SlotColumn::Body)).ok()
            }
        }
    }

    /// Returns a column of slot `at` as it is stored, encoded into `buffer` if it is not available as such.
    pub(super) fn part<'s>(
        &'s self,
        at: usize,
        part: SlotColumn,
        buffer: &'s mut Vec<u8>,
    ) -> io::Result<&'s [u8]> {
        match self.overlay.get(at) {
            Some(Some(slot)) => slot.part(part, buffer),
            Some(None) | None => Ok(self.stored.part(at, part)),
        }
    }
}

/// A stored column of the slots, in file order.
#[derive(Clone, Copy, Debug)]
pub(super) enum SlotColumn {
    /// Output of [`write_metadata`] for a note; the vault of a placeholder; empty for a free slot.
    Metadata,
    Path,
    Title,
    /// Hashes of the chunks.
    ChunkHashes,
    /// Tags, type and properties, as MessagePack.
    Facets,
    /// All other fields, as MessagePack.
    Rest,
    Body,
}

impl SlotColumn {
    pub(super) const ALL: [Self; 7] = [
        Self::Metadata,
        Self::Path,
        Self::Title,
        Self::ChunkHashes,
        Self::Facets,
        Self::Rest,
        Self::Body,
    ];
}

/// Content of [`SlotColumn::Rest`].
#[derive(Serialize, Deserialize)]
struct RemainingFields<'s> {
    claimed_uri: Cow<'s, Option<String>>,
    aliases: Cow<'s, [String]>,
    searched_texts: Cow<'s, [String]>,
    order: Option<f64>,
    headings: Cow<'s, [Heading]>,
    blocks: Cow<'s, [Block]>,
    links: Cow<'s, [Link]>,
    chunks: Cow<'s, [Chunk]>,
    diagnostics: Cow<'s, [Diagnostic]>,
    resolved: Cow<'s, ResolvedNote>,
    /// Missing in stores of earlier builds.
    #[serde(default)]
    dendron: bool,
}

impl TableSlot {
    /// Returns the note in this slot.
    pub(super) const fn entry(&self) -> Option<&Arc<NoteEntry>> {
        match self {
            Self::Note(entry, _) => Some(entry),
            Self::Free | Self::Placeholder(_) => None,
        }
    }

    fn part<'s>(&'s self, part: SlotColumn, buffer: &'s mut Vec<u8>) -> io::Result<&'s [u8]> {
        buffer.clear();
        let (entry, resolved) = match (self, part) {
            (Self::Note(entry, resolved), _) => (entry, resolved),
            (Self::Placeholder(vault), SlotColumn::Metadata) => {
                buffer.extend(vault.0.to_le_bytes());
                return Ok(buffer);
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
            searched_texts,
            order,
            headings,
            blocks,
            dendron,
            links,
            body: _,
        } = note;
        match part {
            SlotColumn::Path => return Ok(path.as_str().as_bytes()),
            SlotColumn::Title => return Ok(title.as_bytes()),
            SlotColumn::Body => return Ok(body.as_bytes()),
            SlotColumn::Metadata => write_metadata(entry, buffer),
            SlotColumn::ChunkHashes => {
                buffer.extend(chunks.iter().flat_map(|chunk| chunk.hash.0.to_le_bytes()))
            }
            SlotColumn::Facets => {
                rmp_serde::encode::write(buffer, &Facets::of(note)).map_err(io::Error::other)?;
            }
            SlotColumn::Rest => {
                let rest = RemainingFields {
                    claimed_uri: Cow::Borrowed(claimed_uri),
                    aliases: Cow::Borrowed(aliases),
                    searched_texts: Cow::Borrowed(searched_texts),
                    order: *order,
                    headings: Cow::Borrowed(headings),
                    blocks: Cow::Borrowed(blocks),
                    links: Cow::Borrowed(links),
                    chunks: Cow::Borrowed(chunks),
                    diagnostics: Cow::Borrowed(diagnostics),
                    resolved: Cow::Borrowed(resolved),
                    dendron: *dendron,
                };
                rmp_serde::encode::write(buffer, &rest).map_err(io::Error::other)?;
            }
        }
        Ok(buffer)
    }
}

/// Stored slots.
#[derive(Debug, Default)]
pub(super) struct StoredSlots {
    columns: [Column; SlotColumn::ALL.len()],
    /// Loaded slots.
    loaded: Box<[OnceLock<TableSlot>]>,
}

impl StoredSlots {
    /// Creates slots from `columns`; `None` if these differ in length.
    pub(super) fn new(columns: [Column; SlotColumn::ALL.len()]) -> Option<Self> {
        let n_slots = columns[0].len();
        let fits = columns.iter().all(|column| column.len() == n_slots);
        fits.then(|| Self { columns, loaded: (0..n_slots).map(|_| OnceLock::new()).collect() })
    }

    fn part(&self, at: usize, part: SlotColumn) -> &[u8] {
        self.columns[part as usize].get(at)
    }

    /// True if slot `at` is free.
    fn is_free(&self, at: usize) -> bool {
        self.part(at, SlotColumn::Metadata).is_empty()
    }

    fn slot(&self, at: usize) -> Option<&TableSlot> {
        let loaded = self.loaded.get(at)?;
        Some(loaded.get_or_init(|| {
            match self.summary(at) {
                Some(summary) => self.note(at, &summary).unwrap_or_else(|error| {
                    let path = summary.path;
                    tracing::error!(%error, path, "cannot decode a stored note");
                    TableSlot::Free
                }),
                None => vault_of(self.part(at, SlotColumn::Metadata))
                    .map_or(TableSlot::Free, TableSlot::Placeholder),
            }
        }))
    }

    fn summary(&self, at: usize) -> Option<NoteSummary<'_>> {
        let (vault, version, file) = read_metadata(self.part(at, SlotColumn::Metadata))?;
        let text = |part| std::str::from_utf8(self.part(at, part)).unwrap_or_default();
        let (path, title) = (text(SlotColumn::Path), text(SlotColumn::Title));
        let (hashes, _) = self.part(at, SlotColumn::ChunkHashes).as_chunks();
        Some(NoteSummary { vault, path, title, file, version, hashes: ChunkHashes::Stored(hashes) })
    }

    fn facets(&self, at: usize) -> Option<Facets<'_>> {
        let bytes = self.part(at, SlotColumn::Facets);
        if bytes.is_empty() {
            return None;
        }
        let facets = rmp_serde::from_slice(bytes);
        facets
            .inspect_err(
                |error| tracing::error!(%error, at, "cannot decode the facets of a stored note"),
            )
            .ok()
    }

    fn note(&self, at: usize, summary: &NoteSummary<'_>) -> io::Result<TableSlot> {
        let NoteSummary { vault, path, title, file, version, hashes: _ } = *summary;
        let facets =
            rmp_serde::from_slice(self.part(at, SlotColumn::Facets)).map_err(io::Error::other)?;
        let Facets { tags, note_type, properties } = facets;
        let rest =
            rmp_serde::from_slice(self.part(at, SlotColumn::Rest)).map_err(io::Error::other)?;
        let RemainingFields {
            claimed_uri,
            aliases,
            searched_texts,
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
            searched_texts: searched_texts.into_owned(),
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
            return Err(io::Error::other("it links to a free slot"));
        }
        let body = self.columns[SlotColumn::Body as usize].share(at);
        let body = Body::new(ByteString::try_from(body).map_err(io::Error::other)?);
        let entry = NoteEntry { vault, note, body, chunks, file, diagnostics, version };
        Ok(TableSlot::Note(Arc::new(entry), Arc::new(resolved)))
    }
}

/// Encodes vault and version of a note, and its file's size, times, inode, hash and time of reading.
fn write_metadata(entry: &NoteEntry, bytes: &mut Vec<u8>) {
    let FileMetadata { size, modified_ns, changed_ns, inode, hash, read_ns } = entry.file;
    bytes.extend(entry.vault.0.to_le_bytes());
    bytes.extend(entry.version.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(modified_ns.to_le_bytes());
    bytes.extend(changed_ns.to_le_bytes());
    bytes.extend(inode.to_le_bytes());
    bytes.extend(hash.0.to_le_bytes());
    bytes.extend(read_ns.to_le_bytes());
}

/// Decodes the metadata of a note; `None` if the slot holds no note.
fn read_metadata(mut bytes: &[u8]) -> Option<(VaultId, u64, FileMetadata)> {
    let bytes = &mut bytes;
    let vault = VaultId(u16::from_le_bytes(take(bytes)?));
    let version = u64::from_le_bytes(take(bytes)?);
    let file = FileMetadata {
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

    fn n_loaded(table: &NoteTable) -> usize {
        table.slots.stored.loaded.iter().filter(|slot| slot.get().is_some()).count()
    }

    #[test]
    fn stored_notes_are_loaded_on_first_use() {
        let note = |path: &str| Note {
            path: NotePath::new(path),
            claimed_uri: None,
            title: "Fern".into(),
            aliases: vec!["bracken".into()],
            tags: vec!["green".into()],
            note_type: None,
            properties: [("due".into(), weft_model::Value::Null)].into(),
            searched_texts: Vec::new(),
            order: None,
            headings: Vec::new(),
            blocks: Vec::new(),
            dendron: false,
            links: Vec::new(),
            body: "a fern".into(),
        };
        let entry = |path| {
            let facts =
                FileMetadata { size: 6, modified_ns: -3, inode: 7, ..FileMetadata::default() };
            let entry = NoteEntry::new(VaultId(0), note(path), Vec::new(), facts, 5);
            Change::Upsert(Arc::new(entry))
        };
        let table = NoteTable::new([VaultInfo::new("v", "/v")]);
        let table = table.edited(&["a/fern.md", "b/fern.md", "c.md"].map(entry)).0;
        let mut encoded = Vec::new();
        table.write(&mut encoded).unwrap();
        let table = NoteTable::read(&encoded.into(), Some(table.graph.clone())).unwrap();
        let paths: Vec<&str> = table.summaries().map(|(_, summary)| summary.path).collect();
        assert_eq!(paths, ["a/fern.md", "b/fern.md", "c.md"]);
        assert_eq!(table.near_matches("brackn").len(), 3);
        let found = table.find("b/fern").note.unwrap();
        let summary = table.summary(found).unwrap();
        assert_eq!(
            (summary.title, summary.version, summary.file.size, summary.file.inode),
            ("Fern", 5, 6, 7)
        );
        let facets = table.facets(found).unwrap();
        assert_eq!((facets.properties.len(), &*facets.tags), (1, &["green".to_owned()][..]));
        assert_eq!(n_loaded(&table), 0);
        assert_eq!(&*table.entry(found).unwrap().body, "a fern");
        assert_eq!(n_loaded(&table), 1);
        let edited = table.edited(&[entry("a/fern.md")]).0;
        let mut again = Vec::new();
        edited.write(&mut again).unwrap();
        assert!(
            !again.is_empty() && n_loaded(&edited) <= 2,
            "other notes are copied without loading"
        );
    }
}
