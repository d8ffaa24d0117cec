//! The tool `list_notes`.

use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tonic::Status;
use weft_proto::noteweft::v1::{
    Filter as Restriction, ListNotesRequest, ListNotesResponse, NoteSummary,
};

use super::Question;
use super::args::{Filter, Note};
use crate::bounds::{Number, Text, object};
use crate::clients::Clients;
use crate::text;

/// Tags of a note that are named; the others are counted.
const NAMED_TAGS: usize = 20;

/// Which notes, and which page of them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListNotes {
    /// Only some notes; all without it.
    #[serde(default, deserialize_with = "object")]
    filter: Filter,
    /// Notes of a page at most.
    #[serde(default)]
    limit: Number<1, 200, 50>,
    /// The `next` of the page before, called with the same `filter`; none for the first page.
    #[serde(default)]
    #[schemars(with = "Text<1000>")]
    page: Option<Text<1000>>,
}

/// A page of notes.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Listed {
    /// By uri.
    notes: Vec<Row>,
    /// How many notes the filter lets through, on all pages.
    total: u64,
    /// Give it as `page` to get the next notes; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Whether there is no note at all.
    #[serde(skip)]
    is_vault_empty: bool,
    /// What of the filter no note has, and how far the files are read where they are read for the first time.
    degraded: Vec<String>,
    /// The state of the index that answered.
    generation: u64,
}

/// A note of a list.
#[derive(Debug, Serialize, JsonSchema)]
struct Row {
    #[serde(flatten)]
    name: Note,
    /// Its path in the folder of notes.
    path: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Its first tags.
    tags: Vec<String>,
    /// How many there are.
    n_tags: usize,
}

impl Question for ListNotes {
    const NAME: &'static str = "list_notes";
    const TITLE: &'static str = "List notes";
    const DESCRIPTION: &'static str = "Lists the notes that a filter lets through, by uri, with path, type and tags, a page at a time, and says how many there are on all pages; no texts, and no ranking. \
        Call it to count notes, or to see all of a folder, tag, type or property, all that link to a note (`linked_to`) or that it links to (`linked_from`). To find notes on a matter, call `search`.";
    const RENAMED: &'static [(&'static str, &'static str)] =
        &[("page_token", "page"), ("page_size", "limit")];
    type Answer = Listed;

    async fn ask(self, clients: Clients) -> Result<Listed, Status> {
        let Self { filter, limit: Number(limit), page } = self;
        let filter = Restriction::from(filter);
        let is_everything = filter == Restriction::default();
        let request = ListNotesRequest {
            filter: Some(filter),
            page_size: Some(limit),
            page_token: page.map(|Text(token)| token).unwrap_or_default(),
            ..ListNotesRequest::default()
        };
        let mut listed = Listed::from(clients.notes().list_notes(request).await?.into_inner());
        listed.is_vault_empty = is_everything && listed.total == 0;
        Ok(listed)
    }
}

impl From<ListNotesResponse> for Listed {
    fn from(answer: ListNotesResponse) -> Self {
        let ListNotesResponse { notes, next_page_token, total, generation, degraded } = answer;
        let row = |note: NoteSummary| {
            let NoteSummary { uri, vault: _, path, title, r#type: kind, tags } = note;
            Row {
                name: Note::new(uri, &title),
                path,
                kind,
                n_tags: tags.len(),
                tags: tags.into_iter().take(NAMED_TAGS).collect(),
            }
        };
        Self {
            notes: notes.into_iter().map(row).collect(),
            total,
            next: (!next_page_token.is_empty()).then_some(next_page_token),
            is_vault_empty: false,
            degraded,
            generation,
        }
    }
}

impl Display for Listed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { notes, total, next, is_vault_empty, degraded, generation: _ } = self;
        f.write_str(&text::degraded(degraded))?;
        if *is_vault_empty {
            return f.write_str(text::NO_NOTES);
        }
        for Row { name, path, kind, tags, n_tags } in notes {
            write!(f, "- {name}, {path}")?;
            if let Some(kind) = kind {
                write!(f, ", type {}", text::line(kind))?;
            }
            for tag in tags {
                write!(f, " #{tag}")?;
            }
            match n_tags - tags.len() {
                0 => writeln!(f)?,
                others => writeln!(f, " and {others} more tags")?,
            }
        }
        let n = notes.len();
        match next {
            _ if *total == 0 => f.write_str("No note passes the filter.\n"),
            Some(next) => writeln!(
                f,
                "{n} of {total} notes; for the next, call again with the same `filter` and `page` = `{next}`."
            ),
            None if u64::try_from(n).is_ok_and(|n| n < *total) => {
                writeln!(f, "The last {n} of {total} notes.")
            }
            None => writeln!(f, "{} in all.", text::counted(n, "note")),
        }
    }
}
