//! The slots of a table: what was written down, read when it is asked for, and what was edited since.

use std::borrow::Cow;
use std::io;
use std::sync::{Arc, OnceLock};

use bytestring::ByteString;
use imbl::Vector;
use weft_model::{Chunk, Diagnostic, Note, NoteId, TextHash};

use super::card::Texts;
use super::entry::Body;
use super::{Card, FileFacts, NoteEntry, Resolved, VaultId};
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

    /// The slots that hold nothing.
    pub(super) fn free(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|at| match &self.edited[*at] {
            Some(slot) => matches!(slot, Slot::Free),
            None => self.written.is_free(*at),
        })
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

    /// A part of what slot `at` holds, as it is written down.
    pub(super) fn part(&self, at: usize, part: Part) -> io::Result<Cow<'_, [u8]>> {
        match self.edited.get(at) {
            Some(Some(slot)) => slot.part(part),
            Some(None) | None => Ok(Cow::Borrowed(self.written.part(at, part))),
        }
    }
}

/// A part of a slot that is written down. Each has a column, in this order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// What [`facts_of`] a note says; a placeholder's vault; nothing for a free slot.
    Facts,
    Path,
    Title,
    /// The hashes of the chunks.
    Texts,
    /// What stands in no other column, as MessagePack.
    Rest,
    Body,
}

impl Part {
    pub(super) const ALL: [Self; 6] =
        [Self::Facts, Self::Path, Self::Title, Self::Texts, Self::Rest, Self::Body];
}

/// What stands in [`Part::Rest`].
type Rest<N, C, D, R> = (N, C, D, R);

impl Slot {
    fn part(&self, part: Part) -> io::Result<Cow<'_, [u8]>> {
        let (entry, resolved) = match (self, part) {
            (Self::Note(entry, resolved), _) => (entry, resolved),
            (Self::Placeholder(vault), Part::Facts) => {
                return Ok(Cow::Owned(vault.0.to_le_bytes().to_vec()));
            }
            (Self::Free | Self::Placeholder(_), _) => return Ok(Cow::Borrowed(&[])),
        };
        let NoteEntry { vault: _, note, body, chunks, file: _, diagnostics, version: _ } = &**entry;
        Ok(match part {
            Part::Facts => Cow::Owned(facts_of(entry)),
            Part::Path => Cow::Borrowed(note.path.as_str().as_bytes()),
            Part::Title => Cow::Borrowed(note.title.as_bytes()),
            Part::Texts => chunks.iter().flat_map(|chunk| chunk.hash.0.to_le_bytes()).collect(),
            Part::Rest => {
                let rest: Rest<&Note, &[Chunk], &[Diagnostic], &Resolved> =
                    (note, chunks, diagnostics, resolved);
                Cow::Owned(rmp_serde::to_vec(&rest).map_err(io::Error::other)?)
            }
            Part::Body => Cow::Borrowed(body.as_bytes()),
        })
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

    fn note(&self, at: usize, card: &Card<'_>) -> io::Result<Slot> {
        let Card { vault, path: _, title: _, file, version, texts: _ } = *card;
        let rest = rmp_serde::from_slice(self.part(at, Part::Rest)).map_err(io::Error::other)?;
        let (note, chunks, diagnostics, resolved): Rest<Note, _, _, Resolved> = rest;
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

/// The facts of a note as they are written down: vault, version, and its file's size, time, inode, hash and time of reading.
fn facts_of(entry: &NoteEntry) -> Vec<u8> {
    let FileFacts { size, modified_ns, inode, hash, read_ns } = entry.file;
    [
        &entry.vault.0.to_le_bytes()[..],
        &entry.version.to_le_bytes(),
        &size.to_le_bytes(),
        &modified_ns.to_le_bytes(),
        &inode.to_le_bytes(),
        &hash.0.to_le_bytes(),
        &read_ns.to_le_bytes(),
    ]
    .concat()
}

/// The facts of a note that were written down; nothing where there is none.
fn facts(mut bytes: &[u8]) -> Option<(VaultId, u64, FileFacts)> {
    let bytes = &mut bytes;
    let vault = VaultId(u16::from_le_bytes(take(bytes)?));
    let version = u64::from_le_bytes(take(bytes)?);
    let file = FileFacts {
        size: u64::from_le_bytes(take(bytes)?),
        modified_ns: i64::from_le_bytes(take(bytes)?),
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
