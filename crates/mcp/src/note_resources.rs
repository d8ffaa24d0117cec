//! Resources: notes by address, for hosts that attach them to a conversation.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::ErrorData;
use rmcp::model::{
    ErrorCode, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use tonic::{Code, Status};
use weft_model::{Span as ModelSpan, escape};
use weft_proto::noteweft::v1::{
    AssembleRequest, GetNoteRequest, GetNoteResponse, ListNotesRequest, ListNotesResponse,
    NoteSummary, Rendering, Span,
};

use crate::error_text;
use crate::output_text;
use crate::service_clients::Clients;

/// Beginning of the address of a note; its uri follows.
const NOTE: &str = "noteweft://note/";

/// Beginning of the address of a context; the question follows.
const CONTEXT: &str = "noteweft://context/";

/// Media type of all resources.
const MARKDOWN: &str = "text/markdown";

/// Number of notes on a page of the list.
const PAGE_SIZE: u32 = 200;

/// Maximum number of tokens of a note; the tool `get_note` reads the rest.
pub(crate) const MAX_NOTE_TOKENS: u32 = 20_000;

/// Number of tokens of a context.
pub(crate) const CONTEXT_TOKENS: i64 = 4_000;

/// Characters of a uri that are encoded in an address; `/` separates its segments.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'/').remove(b'_').remove(b'~').remove(b':');

/// Returns the address of a note.
pub(crate) fn address(uri: &str) -> String {
    format!("{NOTE}{}", utf8_percent_encode(uri, ENCODED))
}

/// Returns the templates of addresses.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let note = ResourceTemplate::new(format!("{NOTE}{{+uri}}"), "note")
        .with_title("Note")
        .with_description(format!("The text of a note, by its uri, path or title; up to {MAX_NOTE_TOKENS} tokens. `%23Heading` or `%23%5Eblock` at the end selects a part."))
        .with_mime_type(MARKDOWN);
    let context = ResourceTemplate::new(format!("{CONTEXT}{{question}}"), "context")
        .with_title("Context for a question")
        .with_description(format!("The passages of the notes that answer a question best, with their sources, within {CONTEXT_TOKENS} tokens."))
        .with_mime_type(MARKDOWN);
    vec![note, context]
}

/// Returns a page of the notes, by uri.
pub(crate) async fn list(
    clients: &Clients,
    cursor: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let request = ListNotesRequest {
        page_size: Some(PAGE_SIZE),
        page_token: cursor.unwrap_or_default(),
        ..ListNotesRequest::default()
    };
    let answer = clients.notes().list_notes(request).await;
    let answer = answer.map_err(|status| refused("cursor", &status))?.into_inner();
    let ListNotesResponse { notes, next_page_token, .. } = answer;
    let mut page = ListResourcesResult::with_all_items(notes.iter().map(resource).collect());
    page.next_cursor = (!next_page_token.is_empty()).then_some(next_page_token);
    Ok(page)
}

fn resource(note: &NoteSummary) -> Resource {
    let NoteSummary { uri, path, title, .. } = note;
    Resource::new(address(uri), escape::one_line(uri).into_owned())
        .with_title(output_text::line(title))
        .with_description(escape::one_line(path).into_owned())
        .with_mime_type(MARKDOWN)
}

/// Reads the resource at an address.
pub(crate) async fn read(clients: &Clients, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let text = match (uri.strip_prefix(NOTE), uri.strip_prefix(CONTEXT)) {
        (Some(name), _) => note(clients, &decoded(uri, name)?).await,
        (None, Some(question)) => context(clients, decoded(uri, question)?).await,
        (None, None) => {
            let message = format!(
                "`{}` is not an address of a resource; addresses begin with {NOTE} or {CONTEXT}",
                escape::one_line(uri)
            );
            return Err(ErrorData::resource_not_found(message, None));
        }
    };
    let text = text.map_err(|status| refused("uri", &status))?;
    let contents = ResourceContents::text(text, uri).with_mime_type(MARKDOWN);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// Decodes the part of an address after its prefix.
fn decoded(uri: &str, encoded: &str) -> Result<String, ErrorData> {
    let text = percent_decode_str(encoded).decode_utf8();
    let text = text.map_err(|_| {
        let message = format!("`{}` does not encode UTF-8", escape::one_line(uri));
        ErrorData::invalid_params(message, None)
    })?;
    Ok(text.into_owned())
}

/// Returns the text of a note, or of the part that its name selects, up to [`MAX_NOTE_TOKENS`].
async fn note(clients: &Clients, name: &str) -> Result<String, Status> {
    let request =
        GetNoteRequest { name: name.to_owned(), max_links: Some(1), ..GetNoteRequest::default() };
    let answer = clients.notes().get_note(request).await?.into_inner();
    let GetNoteResponse { uri, title, path, body, section, .. } = answer;
    let part = match section {
        Some(Span { start, end }) => ModelSpan::new(start, end).slice(&body),
        None => &body,
    };
    let shown = output_text::head(part, output_text::characters(MAX_NOTE_TOKENS));
    let mut text = format!(
        "<!-- {} ({}) -->\n",
        comment(&output_text::line(&title)),
        comment(&escape::one_line(&path))
    );
    text.push_str(shown);
    if shown.len() < part.len() {
        let next = shown.chars().count();
        text.push_str(&format!(
            "\n\n<!-- Truncated after {next} characters; the tool `get_note` reads the rest of `{}`. -->\n",
            comment(&escape::one_line(&uri))
        ));
    }
    Ok(text)
}

/// Returns a text that cannot end an HTML comment.
fn comment(text: &str) -> String {
    text.replace("--", "- -").replace('>', "›")
}

/// Returns the context for a question.
async fn context(clients: &Clients, query: String) -> Result<String, Status> {
    let request = AssembleRequest {
        query,
        budget: Some(CONTEXT_TOKENS),
        rendering: Rendering::Markdown.into(),
        ..AssembleRequest::default()
    };
    Ok(clients.contexts().assemble(request).await?.into_inner().rendered.unwrap_or_default())
}

/// Converts a refused request to an error of the protocol.
fn refused(field: &'static str, status: &Status) -> ErrorData {
    let fields = [("name", field), ("page_token", field), ("query", field)];
    let message = error_text::of_status(status, &fields);
    if status.code() == Code::NotFound {
        ErrorData::resource_not_found(message, None)
    } else if status.code() == Code::InvalidArgument {
        ErrorData::invalid_params(message, None)
    } else {
        ErrorData::new(ErrorCode::INTERNAL_ERROR, message, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_encodes_the_uri_and_keeps_its_segments() {
        for (uri, expected) in [
            ("plants/fern", "noteweft://note/plants/fern"),
            ("work:a b", "noteweft://note/work:a%20b"),
            ("ü#?%", "noteweft://note/%C3%BC%23%3F%25"),
        ] {
            assert_eq!(address(uri), expected);
            assert_eq!(decoded("", &expected[NOTE.len()..]).unwrap(), uri);
        }
        assert!(decoded("x", "%FF").is_err());
    }

    #[test]
    fn comment_cannot_be_closed() {
        assert_eq!(comment("a --> b"), "a - -› b");
    }
}
