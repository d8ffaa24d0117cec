//! The `write_note` tool, which is listed only if the server was started with permission to write.

use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tonic::Status;
use weft_model::escape::one_line;
use weft_proto::noteweft::v1::{PutNoteRequest, PutNoteResponse};

use super::{ToolEffect, ToolRequest};
use crate::bounded_arguments::BoundedText;
use crate::service_clients::Clients;

/// Maximum length of a text in characters.
const MAX_TEXT_CHARS: usize = 200_000;

/// The note to write.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteNoteTool {
    /// Path of the file within the folder of notes, ending in `.md`, such as `journal/2026-11-26.md`; `vault:path` refers to one of several folders.
    path: BoundedText<1000>,
    /// Markdown: the whole file of a new note, with YAML frontmatter between `---` lines if it has properties; the whole text below the frontmatter of an existing one, whose frontmatter is kept.
    text: BoundedText<MAX_TEXT_CHARS>,
    /// To replace the text of an existing note: its `hash` from `get_note`. Unset for a new note.
    #[serde(default)]
    #[schemars(with = "BoundedText<32>")]
    hash: Option<BoundedText<32>>,
}

/// The written note.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WriteNoteOutput {
    /// Uri of the note; absent if the file excludes itself from the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Its path within the folder of notes.
    path: String,
    /// True if the file did not exist before.
    created: bool,
    /// Why the note cannot be found yet, or at all; absent if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_indexed: Option<String>,
    /// An index generation that contains the note; 0 if none is known yet.
    generation: u64,
}

impl ToolRequest for WriteNoteTool {
    const NAME: &'static str = "write_note";
    const TITLE: &'static str = "Write a note";
    const DESCRIPTION: &'static str = "Creates a note, or replaces the text of one that was read whole with `get_note` and has not changed since. \
        Call it only if the user asks for a change of their notes, and say what was written.";
    const RENAMED: &'static [(&'static str, &'static str)] =
        &[("expected_hash", "hash"), ("body", "text")];
    const EFFECT: ToolEffect = ToolEffect::Overwrites;
    type Output = WriteNoteOutput;

    async fn run(self, clients: Clients) -> Result<WriteNoteOutput, Status> {
        let Self { path: BoundedText(path), text: BoundedText(text), hash } = self;
        let (text, body) = if hash.is_some() { (None, Some(text)) } else { (Some(text), None) };
        // An empty hash means that there must be no file.
        let expected_hash = Some(hash.map(|BoundedText(hash)| hash).unwrap_or_default());
        let request =
            PutNoteRequest { path, text, body, expected_hash, ..PutNoteRequest::default() };
        let answer = clients.notes().put_note(request).await?.into_inner();
        let PutNoteResponse { path, uri, created, not_indexed, index_pending, generation, .. } =
            answer;
        let not_indexed = not_indexed.or(index_pending);
        Ok(WriteNoteOutput { note: uri, path, created, not_indexed, generation })
    }
}

impl Display for WriteNoteOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { note, path, created, not_indexed, generation: _ } = self;
        let done = if *created { "Created" } else { "Replaced" };
        write!(f, "{done} {}", one_line(path))?;
        if let Some(note) = note {
            write!(f, " (`{}`)", one_line(note))?;
        }
        f.write_str(".\n")?;
        match not_indexed {
            Some(reason) => writeln!(f, "It cannot be found: {}.", one_line(reason)),
            None => Ok(()),
        }
    }
}
