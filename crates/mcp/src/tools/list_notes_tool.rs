//! The `list_notes` tool.

use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tonic::Status;
use weft_model::escape::one_line;
use weft_proto::noteweft::v1::{
    Filter as WireFilter, ListNotesRequest, ListNotesResponse, NoteSummary,
};

use super::ToolRequest;
use super::shared_arguments::{NoteFilter, TitledNote, format_name};
use crate::bounded_arguments::{BoundedNumber, BoundedText, object};
use crate::output_text;
use crate::service_clients::Clients;

/// Maximum number of tags listed for a note.
const MAX_NAMED_TAGS: usize = 20;

/// The notes to list, and the page.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListNotesTool {
    /// Restricts the notes; all notes by default.
    #[serde(default, deserialize_with = "object")]
    filter: NoteFilter,
    /// Maximum number of notes per page.
    #[serde(default)]
    limit: BoundedNumber<1, 200, 50>,
    /// `next` of the previous page, with the same `filter`; unset for the first page.
    #[serde(default)]
    #[schemars(with = "BoundedText<1000>")]
    page: Option<BoundedText<1000>>,
}

/// A page of notes.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListNotesOutput {
    /// The notes, ordered by uri.
    notes: Vec<ListEntry>,
    /// Number of notes that match the filter, on all pages.
    total: u64,
    /// Page to request next, passed as `page`; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// True if the index holds no notes.
    #[serde(skip)]
    is_vault_empty: bool,
    /// Conditions that make the answer incomplete or possibly not what was meant; empty otherwise.
    warnings: Vec<output_text::OutputWarning>,
    /// The index generation that was used.
    generation: u64,
}

/// A note in a list.
#[derive(Debug, Serialize, JsonSchema)]
struct ListEntry {
    #[serde(flatten)]
    name: TitledNote,
    /// Its path within the folder of notes.
    path: String,
    /// Kind of its file, unless it is Markdown: `text`, `org` or `pdf`.
    #[serde(rename = "kind", skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Its first tags.
    tags: Vec<String>,
    /// Number of its tags.
    tag_count: usize,
}

impl ToolRequest for ListNotesTool {
    const NAME: &'static str = "list_notes";
    const TITLE: &'static str = "List notes";
    const DESCRIPTION: &'static str = "Lists the notes that match a filter, ordered by uri, with path, type and tags, in pages, and their total number. Returns no texts and no ranking. \
        Call it to count notes, or to list all notes of a folder, tag, type or property, all that link to a note (`linked_to`), or all that a note links to (`linked_from`). To find notes on a topic, call `search`.";
    const RENAMED: &'static [(&'static str, &'static str)] =
        &[("page_token", "page"), ("page_size", "limit")];
    type Output = ListNotesOutput;

    async fn run(self, clients: Clients) -> Result<ListNotesOutput, Status> {
        let Self { filter, limit: BoundedNumber(limit), page } = self;
        let filter = WireFilter::from(filter);
        let is_everything = filter == WireFilter::default();
        let request = ListNotesRequest {
            filter: Some(filter),
            page_size: Some(limit),
            page_token: page.map(|BoundedText(token)| token).unwrap_or_default(),
            ..ListNotesRequest::default()
        };
        let mut listed =
            ListNotesOutput::from(clients.notes().list_notes(request).await?.into_inner());
        listed.is_vault_empty = is_everything && listed.total == 0;
        Ok(listed)
    }
}

impl From<ListNotesResponse> for ListNotesOutput {
    fn from(answer: ListNotesResponse) -> Self {
        let ListNotesResponse { notes, next_page_token, total, generation, warnings } = answer;
        let row = |note: NoteSummary| {
            let NoteSummary { uri, vault: _, path, title, r#type, tags, kind } = note;
            ListEntry {
                name: TitledNote::new(uri, &title),
                path,
                format: format_name(kind),
                kind: r#type,
                tag_count: tags.len(),
                tags: tags.into_iter().take(MAX_NAMED_TAGS).collect(),
            }
        };
        Self {
            notes: notes.into_iter().map(row).collect(),
            total,
            next: (!next_page_token.is_empty()).then_some(next_page_token),
            is_vault_empty: false,
            warnings: output_text::OutputWarning::all(warnings),
            generation,
        }
    }
}

impl Display for ListNotesOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { notes, total, next, is_vault_empty, warnings, generation: _ } = self;
        f.write_str(&output_text::warnings(warnings))?;
        if *is_vault_empty {
            return f.write_str(output_text::NO_NOTES);
        }
        for ListEntry { name, path, format: _, kind, tags, tag_count } in notes {
            write!(f, "- {name}, {}", one_line(path))?;
            if let Some(kind) = kind {
                write!(f, ", type {}", output_text::line(kind))?;
            }
            for tag in tags {
                write!(f, " #{}", one_line(tag))?;
            }
            match tag_count - tags.len() {
                0 => writeln!(f)?,
                others => writeln!(f, " and {others} more tags")?,
            }
        }
        let n = notes.len();
        match next {
            _ if *total == 0 => f.write_str("No note matches the filter.\n"),
            Some(next) => writeln!(
                f,
                "{n} of {total} notes; for the next page, call again with the same `filter` and `page` = `{next}`."
            ),
            None if u64::try_from(n).is_ok_and(|n| n < *total) => {
                writeln!(f, "The last {n} of {total} notes.")
            }
            None => writeln!(f, "{} in total.", output_text::counted(n, "note")),
        }
    }
}
