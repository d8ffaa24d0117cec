//! Maps each note to the rows that hold its vectors.

use smallvec::SmallVec;
use weft_model::NoteId;

use crate::vector::RowId;

/// The row of each chunk of each note, in order; `None` for a chunk whose vector is pending.
///
/// Cloning shares everything, and a change copies some dozens of entries. Looking up a note is `O(log notes)`, a few steps.
#[derive(Clone, Debug, Default)]
pub struct NoteRows(imbl::Vector<ChunkRows>);

/// Rows of one note. One or two rows, as of short notes, are stored inline.
type ChunkRows = SmallVec<[Option<RowId>; 2]>;

impl NoteRows {
    /// Returns the rows of a note's chunks; empty for a note without rows.
    #[must_use]
    pub fn of(&self, note: NoteId) -> &[Option<RowId>] {
        self.0.get(note.index()).map_or(&[], |rows| rows)
    }

    /// Replaces the rows of a note; an empty slice removes them.
    pub fn set(&mut self, note: NoteId, rows: &[Option<RowId>]) {
        let missing = (note.index() + 1).saturating_sub(self.0.len());
        if !rows.is_empty() {
            self.0.extend(std::iter::repeat_n(ChunkRows::new(), missing));
        }
        if let Some(place) = self.0.get_mut(note.index()) {
            *place = rows.into();
        }
    }

    /// Returns the notes that have rows, ascending, with their rows.
    pub fn iter(&self) -> impl Iterator<Item = (NoteId, &[Option<RowId>])> {
        let all = (0..).map(NoteId::new).zip(&self.0).map(|(id, rows)| (id, rows.as_slice()));
        all.filter(|(_, rows)| !rows.is_empty())
    }

    /// Returns the rows of all notes.
    pub fn rows(&self) -> impl Iterator<Item = RowId> {
        self.iter().flat_map(|(_, rows)| rows).copied().flatten()
    }

    /// Replaces each row by `change` of it. `O(rows)`.
    pub fn change(&mut self, change: impl Fn(RowId) -> Option<RowId>) {
        for row in self.0.iter_mut().flatten() {
            *row = row.and_then(&change);
        }
    }
}

impl FromIterator<(NoteId, Vec<Option<RowId>>)> for NoteRows {
    /// Collects the rows of notes, in any order.
    fn from_iter<I: IntoIterator<Item = (NoteId, Vec<Option<RowId>>)>>(notes: I) -> Self {
        let mut all: Vec<ChunkRows> = Vec::new();
        for (note, rows) in notes.into_iter().filter(|(_, rows)| !rows.is_empty()) {
            all.resize(all.len().max(note.index() + 1), ChunkRows::new());
            all[note.index()] = ChunkRows::from_slice(&rows);
        }
        Self(all.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_replaces_rows_and_clones_keep_theirs() {
        let (note, row) = (NoteId::new, |row| Some(RowId::new(row)));
        let mut rows = NoteRows::default();
        assert!(rows.of(note(3)).is_empty());
        rows.set(note(3), &[]);
        rows.set(note(200), &[row(5), None]);
        rows.set(note(3), &[row(9)]);
        let before = rows.clone();
        rows.set(note(3), &[row(1), row(2)]);
        assert_eq!(before.of(note(3)), [row(9)], "the clone is unchanged");
        assert_eq!(rows.of(note(3)), [row(1), row(2)]);
        assert_eq!(rows.of(note(200)), [row(5), None]);
        assert!(rows.of(note(201)).is_empty());
        let all: Vec<(NoteId, Vec<_>)> =
            rows.iter().map(|(id, rows)| (id, rows.to_vec())).collect();
        assert_eq!(all, [(note(3), vec![row(1), row(2)]), (note(200), vec![row(5), None])]);
        assert_eq!(all.into_iter().rev().collect::<NoteRows>().0, rows.0);
        rows.change(|row| (row.get() != 1).then(|| RowId::new(row.get() * 2)));
        assert_eq!(rows.of(note(3)), [None, row(4)]);
        assert_eq!(rows.rows().map(RowId::get).collect::<Vec<_>>(), [4, 10]);
        rows.set(note(3), &[]);
        assert!(rows.of(note(3)).is_empty());
        assert_eq!(rows.iter().count(), 1);
    }
}
