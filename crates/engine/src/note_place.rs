//! The place of a note, or of a part of it, for programs that open its file.

use weft_model::{TextHash, Uri};

use crate::notes::{reference, vault_of};
use crate::{Engine, EngineError, NoteRef, Warning, section, unknown};

/// Maximum number of other notes of the same name in an answer.
const MAX_SAME_NAME: usize = 1000;

/// Requests the place of a note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceRequest {
    /// The note, as in a [`NoteRequest`](crate::NoteRequest); a fragment selects a part.
    pub name: String,
    /// Character of the body; it takes precedence over the fragment.
    pub offset: Option<u32>,
}

/// The place of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceAnswer {
    /// Uri of the note.
    pub uri: Uri,
    /// Vault of the note.
    pub vault: String,
    /// Path of the note.
    pub path: String,
    /// The fragment of the requested name.
    pub fragment: Option<String>,
    /// Character of the body; `None` for the beginning of the file.
    pub offset: Option<u32>,
    /// Hash of the file's bytes when it was indexed.
    pub hash: TextHash,
    /// The first other notes that match the requested name, by vault and path.
    pub same_name: Vec<NoteRef>,
    /// A heading that the note has several times.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

impl Engine {
    /// Returns the place of a note and of the requested part.
    ///
    /// Fails as [`note`](Self::note) does.
    pub fn place(&self, request: &PlaceRequest) -> Result<PlaceAnswer, EngineError> {
        let PlaceRequest { name, offset } = request;
        let snapshot = self.snapshot();
        let notes = &snapshot.notes;
        let (found, fragment) = notes.find_part(name);
        let id = found.note.ok_or_else(|| unknown(&snapshot, name))?;
        let summary = notes.summary(id).ok_or_else(|| unknown(&snapshot, name))?;
        let mut warnings = Vec::new();
        let offset = match (offset, &fragment) {
            (Some(offset), _) => Some(*offset),
            (None, Some(fragment)) => Some(section(&snapshot, id, fragment, &mut warnings)?.start),
            (None, None) => None,
        };
        let others = found.candidates.iter().copied().filter(|other| *other != id);
        Ok(PlaceAnswer {
            uri: notes.graph().uri(id).clone(),
            vault: vault_of(&snapshot, id),
            path: summary.path.to_owned(),
            fragment,
            offset,
            hash: summary.file.hash,
            same_name: others.take(MAX_SAME_NAME).map(|id| reference(&snapshot, id)).collect(),
            warnings,
            generation: snapshot.generation,
        })
    }
}
