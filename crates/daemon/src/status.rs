//! Conversion of domain errors to gRPC statuses, with machine-readable details.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::sync::Arc;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use weft_engine::{EngineError, PlaceAnswer};
use weft_index::StoreError;
use weft_index::embedder::EmbedError;
use weft_index::keyword::KeywordError;
use weft_indexer::{FilePositionError, IndexError, WriteError};
use weft_model::TextHash;

use crate::access::AccessRefusal;
use crate::fair_share::NoPlace;
use crate::grpc_code::code_name;
use crate::net::SURPLUS_TIME;
use crate::vaults::EarlierError;

/// Domain of every `ErrorInfo`.
const DOMAIN: &str = "noteweft";

/// Reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The requested state is not available.
    #[error(transparent)]
    State(#[from] IndexError),
    /// The state to compare with is not available.
    #[error(transparent)]
    Earlier(#[from] EarlierError),
    /// The requested note may be in a file that has not been scanned yet.
    #[error("the files have not been scanned yet")]
    Unread,
    /// A file of that name is not indexed.
    #[error("no note is named `{name}`: the file `{path}` is not indexed: {reason}")]
    NotIndexed {
        /// The requested name.
        name: String,
        /// Path of the file, with the vault if there are several.
        path: String,
        /// Reason why it is not indexed.
        reason: String,
    },
}

/// Converts the error of a request to a status.
pub(crate) fn of_request(error: &RequestError) -> Status {
    match error {
        RequestError::Engine(error) => of_engine(error),
        RequestError::State(error) | RequestError::Earlier(EarlierError::Index(error)) => {
            of_index(error)
        }
        RequestError::Earlier(error @ EarlierError::Later { .. }) => {
            invalid("from_generation", &error.to_string())
        }
        RequestError::Earlier(error @ EarlierError::None { .. }) => {
            with_reason(Code::FailedPrecondition, "NO_EARLIER_GENERATION", error.to_string())
        }
        RequestError::Unread => opening(),
        RequestError::NotIndexed { name, path, reason } => {
            let names = [("name", name), ("file", path), ("file_reason", reason)];
            let metadata = names.map(|(key, value)| (key.to_owned(), value.clone()));
            let mut details = info("UNKNOWN_NOTE", metadata);
            let resource = truncated(name);
            details.set_resource_info("noteweft.v1.Note", resource, "", "its file is not indexed");
            status(Code::NotFound, error.to_string(), details)
        }
    }
}

/// Converts an error of the engine to a status.
///
/// The `ErrorInfo` of an unknown note carries its name, and similar uris as `near_1`, `near_2`, …, the most similar first; see also [`RequestError::NotIndexed`].
pub(crate) fn of_engine(error: &EngineError) -> Status {
    let text = error.to_string();
    match error {
        EngineError::UnknownNote { name, suggestions } => {
            let near =
                (1..).zip(suggestions).map(|(at, uri)| (format!("near_{at}"), uri.to_string()));
            let metadata = near.chain([("name".to_owned(), name.clone())]);
            let mut details = info("UNKNOWN_NOTE", metadata);
            details.set_resource_info(
                "noteweft.v1.Note",
                truncated(name),
                "",
                "no note has this name",
            );
            status(Code::NotFound, text, details)
        }
        EngineError::UnknownFragment { uri, fragment, parts: _ } => {
            let names = [("note", uri.to_string()), ("fragment", fragment.clone())];
            let details = info("UNKNOWN_FRAGMENT", names.map(|(key, name)| (key.to_owned(), name)));
            status(Code::NotFound, text, details)
        }
        EngineError::InvalidArgument { field, reason } => invalid(field, reason),
        EngineError::NoVectors => with_reason(Code::FailedPrecondition, "NO_VECTORS", text),
        EngineError::Keyword(KeywordError::Unloaded { .. }) => {
            with_reason(Code::FailedPrecondition, "PAST_GENERATION", text)
        }
        EngineError::Keyword(error) if error.needs_rebuild() => {
            let text = format!("{text}; it is being rebuilt from the notes, try again in a moment");
            with_reason(Code::Unavailable, "KEYWORD_INDEX", text)
        }
        EngineError::Keyword(_) => with_reason(Code::Internal, "KEYWORD_INDEX", text),
        EngineError::Truncated(_) => {
            let text = format!("{text}; it is being rebuilt from the notes, try again in a moment");
            with_reason(Code::Unavailable, "STORE", text)
        }
        EngineError::Vector(_) => with_reason(Code::Internal, "VECTOR_INDEX", text),
        EngineError::Embed(EmbedError::Unavailable { .. }) => {
            with_reason(Code::Unavailable, "MODEL_UNAVAILABLE", text)
        }
        EngineError::Embed(EmbedError::Failed { .. }) => {
            with_reason(Code::Internal, "MODEL_FAILED", text)
        }
        EngineError::Stale { requested, newest } => {
            let numbers = [("asked", requested), ("newest", newest)];
            let numbers = numbers.map(|(name, number)| (name.to_owned(), number.to_string()));
            let details = info("STALE_TOKEN", numbers);
            status(Code::FailedPrecondition, text, details)
        }
        EngineError::Changed { path, actual } => content_changed(text, path, Some(*actual)),
        EngineError::Cancelled => with_reason(Code::Cancelled, "CANCELLED", text),
        EngineError::DeadlineExceeded => with_reason(Code::DeadlineExceeded, "DEADLINE", text),
    }
}

/// Converts an error of the index to a status.
pub(crate) fn of_index(error: &IndexError) -> Status {
    let text = error.to_string();
    match error {
        IndexError::Store(StoreError::Locked { .. }) => {
            with_reason(Code::FailedPrecondition, "STORE_LOCKED", text)
        }
        IndexError::Store(_) | IndexError::Keyword(_) if is_full(error) => disk_full(&text),
        IndexError::Store(_) => with_reason(Code::Internal, "STORE", text),
        IndexError::Keyword(_) => with_reason(Code::Internal, "KEYWORD_INDEX", text),
        IndexError::Embed(_) => with_reason(Code::Internal, "MODEL_FAILED", text),
        IndexError::Vault { .. } => with_reason(Code::FailedPrecondition, "VAULT", text),
        IndexError::UnknownVault { known, .. } => {
            let details = info("UNKNOWN_VAULT", [("vaults".to_owned(), known.join(","))]);
            Status::with_error_details(Code::NotFound, text, details)
        }
        IndexError::UnknownGeneration { stored, .. } => {
            let stored = stored.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            let details = info("UNKNOWN_GENERATION", [("stored".to_owned(), stored)]);
            status(Code::NotFound, text, details)
        }
        IndexError::ModelIsSet => with_reason(Code::FailedPrecondition, "MODEL_IS_SET", text),
        IndexError::Log { .. } => with_reason(Code::Unavailable, "LOG", text),
        IndexError::Stopped => with_reason(Code::Unavailable, "STOPPING", text),
    }
}

/// Returns the status for a file whose content is not the expected one.
fn content_changed(text: String, path: &str, actual: Option<TextHash>) -> Status {
    let hash = actual.map(|hash| ("actual_hash".to_owned(), format!("{hash:?}")));
    let metadata = hash.into_iter().chain([("path".to_owned(), path.to_owned())]);
    status(Code::Aborted, text, info("CONTENT_CHANGED", metadata))
}

/// Converts an error of a write to a status.
pub(crate) fn of_write(error: &WriteError) -> Status {
    let text = error.to_string();
    match error {
        WriteError::Invalid { field, reason } => invalid(field, reason),
        WriteError::UnknownNote { name, suggestions } => of_engine(&EngineError::UnknownNote {
            name: name.clone(),
            suggestions: suggestions.clone(),
        }),
        WriteError::Conflict { path, actual } => content_changed(text, path, *actual),
        WriteError::AlreadyExists { path } => {
            let details = info("PATH_TAKEN", [("path".to_owned(), path.clone())]);
            status(Code::AlreadyExists, text, details)
        }
        WriteError::Io { .. } | WriteError::MoveUnfinished { .. } if is_full(error) => {
            disk_full(&text)
        }
        WriteError::Io { .. } | WriteError::MoveUnfinished { .. } if is_disconnected(error) => {
            with_reason(Code::Unavailable, "LOG", text)
        }
        WriteError::Io { .. } | WriteError::MoveUnfinished { .. } => {
            with_reason(Code::FailedPrecondition, "FILE_SYSTEM", text)
        }
        WriteError::Index(error) => of_index(error),
    }
}

/// Converts an error of a file that a person wants to open.
pub(crate) fn of_file(error: &FilePositionError) -> Status {
    with_reason(Code::FailedPrecondition, "FILE_SYSTEM", error.to_string())
}

/// Builds the status for a note without a file: a node of a collection has no files.
pub(crate) fn no_file(place: &PlaceAnswer, collection: &str) -> Status {
    let PlaceAnswer { uri, vault, path, .. } = place;
    let names = [("note", uri.to_string()), ("vault", vault.clone()), ("path", path.clone())];
    let details = info("NO_FILE", names.map(|(key, name)| (key.to_owned(), name)));
    let text = format!(
        "`{uri}` is a note of the collection `{collection}`, which keeps it in PostgreSQL and not in a file; to open it, write its vault `{vault}` into a folder with `weft pull DIR --name {vault}`, or read it with GetNote"
    );
    status(Code::FailedPrecondition, text, details)
}

/// Builds the status for a note whose vault is no longer configured.
pub(crate) fn vault_removed(vault: &str) -> Status {
    let text = format!("the vault `{vault}` is no longer served; try again in a moment");
    with_reason(Code::Unavailable, "VAULT", text)
}

/// Returns whether a full disk is the cause of an error.
#[must_use]
pub fn is_full(error: &(dyn Error + 'static)) -> bool {
    has_kind(error, &[io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded])
}

/// Returns whether the cause of an error is that the database of a collection cannot be reached.
pub(crate) fn is_disconnected(error: &(dyn Error + 'static)) -> bool {
    has_kind(error, &[io::ErrorKind::NotConnected])
}

/// Returns true if the cause of an error is an I/O error of one of these kinds.
fn has_kind(error: &(dyn Error + 'static), kinds: &[io::ErrorKind]) -> bool {
    let io = |error: &(dyn Error + 'static)| {
        // The keyword index shares the error of its library.
        let shared = || error.downcast_ref::<Arc<io::Error>>().map(AsRef::as_ref);
        let kind = error.downcast_ref::<io::Error>().or_else(shared).map(io::Error::kind);
        kind.is_some_and(|kind| kinds.contains(&kind))
    };
    std::iter::successors(Some(error), |&error| error.source()).any(io)
}

/// Builds the status for a full disk.
fn disk_full(text: &str) -> Status {
    let text = format!("{text}; no data was lost: free space on that disk and try again");
    with_reason(Code::ResourceExhausted, "DISK_FULL", text)
}

/// Builds the status for a write that outlasted its deadline.
pub(crate) fn write_deadline_exceeded() -> Status {
    let text = "the deadline passed while the index was busy; the write may still be applied, so read the note before you write again";
    with_reason(Code::DeadlineExceeded, "DEADLINE", text.to_owned())
}

/// An error as tonic reports it, and its replacement: tonic's code, the start of its message, our code, our reason, and our message, which the rest of tonic's follows in parentheses.
type LibraryError = (Code, &'static str, Code, &'static str, &'static str);
const LIBRARY_ERRORS: [LibraryError; 9] = [
    (
        Code::ResourceExhausted,
        "Error decompressing: ",
        Code::ResourceExhausted,
        "REQUEST_TOO_LARGE",
        REQUEST_TOO_LARGE,
    ),
    (
        Code::Internal,
        "failed to decode Protobuf message: ",
        Code::InvalidArgument,
        "UNREADABLE",
        "the request is not a message of this call",
    ),
    (
        Code::Internal,
        "Unexpected EOF decoding stream",
        Code::InvalidArgument,
        "UNREADABLE",
        "the request ends within a message",
    ),
    (
        Code::Internal,
        "Missing request message",
        Code::InvalidArgument,
        "UNREADABLE",
        "the request contains no message",
    ),
    (
        Code::Internal,
        "Error decompressing: ",
        Code::InvalidArgument,
        "UNREADABLE",
        "the request cannot be decompressed",
    ),
    (
        Code::Internal,
        "protocol error: ",
        Code::InvalidArgument,
        "UNREADABLE",
        "the request is not valid gRPC",
    ),
    (
        Code::Internal,
        "tonic-web: ",
        Code::InvalidArgument,
        "UNREADABLE",
        "the request is not valid gRPC-web",
    ),
    (
        Code::OutOfRange,
        "Error, decoded message length too large: ",
        Code::ResourceExhausted,
        "REQUEST_TOO_LARGE",
        REQUEST_TOO_LARGE,
    ),
    (
        Code::OutOfRange,
        "Error, encoded message length too large: ",
        Code::ResourceExhausted,
        "ANSWER_TOO_LARGE",
        "the response is larger than server.max_response_bytes; request less, such as a smaller limit",
    ),
];

const REQUEST_TOO_LARGE: &str = "the request is larger than server.max_request_bytes";

/// Replaces an error that tonic built without details: sets the code that names the party at fault, a reason, and a message.
///
/// tonic reports malformed requests as internal errors, without details.
pub(crate) fn replace_library_error(headers: &mut http::HeaderMap, call: &str) {
    let is_error = headers.get("grpc-status").is_some_and(|code| code != "0");
    if !is_error || headers.contains_key("grpc-status-details-bin") {
        return;
    }
    let Some(reported) = Status::from_header_map(headers) else { return };
    let text = reported.message();
    let row = LIBRARY_ERRORS
        .iter()
        .find(|(own, start, ..)| *own == reported.code() && text.starts_with(start));
    let status = match row {
        Some((_, start, code, reason, message)) => {
            let found = &text[start.len()..];
            let text = if found.len() <= ".".len() {
                (*message).to_owned()
            } else {
                format!("{message} ({found})")
            };
            with_reason(*code, reason, text)
        }
        None if reported.code() == Code::Unimplemented && text.is_empty() => {
            let details = info("UNKNOWN_CALL", [("call".to_owned(), call.to_owned())]);
            let text = format!("unknown method `{call}`; server reflection lists all methods");
            status(Code::Unimplemented, text, details)
        }
        None => with_reason(reported.code(), code_name(reported.code()), text.to_owned()),
    };
    for (name, value) in &status.into_http::<()>().into_parts().0.headers {
        // The head of the response already sets its content type.
        if name != http::header::CONTENT_TYPE {
            headers.insert(name, value.clone());
        }
    }
}

/// Builds the status for an invalid field of a request.
pub(crate) fn invalid(field: &str, reason: &str) -> Status {
    let mut details = info("INVALID_ARGUMENT", [("field".to_owned(), field.to_owned())]);
    details.add_bad_request_violation(field, truncated(reason));
    status(Code::InvalidArgument, format!("`{field}`: {reason}"), details)
}

/// Prefixes the field of an [`invalid`] status with `outer`, the field that contains it.
pub(crate) fn within(outer: &str, status: Status) -> Status {
    let violations = status.get_details_bad_request().map(|bad| bad.field_violations);
    let Some(violation) = violations.and_then(|all| all.into_iter().next()) else { return status };
    let field = violation.field;
    let reported = status.message();
    let reason = reported.strip_prefix(&format!("`{field}`: ")).unwrap_or(reported);
    invalid(&format!("{outer}.{field}"), reason)
}

/// Builds the status for a health check of an unknown service.
pub(crate) fn unknown_service(name: &str) -> Status {
    let details = info("UNKNOWN_SERVICE", [("service".to_owned(), name.to_owned())]);
    let text = format!("unknown service `{name}`; use the empty name for the whole daemon");
    status(Code::NotFound, text, details)
}

/// Builds the status for a request that arrives while the index is opening.
pub(crate) fn opening() -> Status {
    with_reason(
        Code::Unavailable,
        "OPENING",
        "the index is still opening; try again in a moment".to_owned(),
    )
}

/// Builds the status for a request to a node that has not read the whole collection yet.
pub(crate) fn catching_up(n_done: usize, n_total: usize) -> Status {
    with_reason(
        Code::Unavailable,
        "OPENING",
        format!(
            "this node is still reading the collection: {n_done} of {n_total} notes; ask another node, or try again in a moment"
        ),
    )
}

/// Builds the status for a request that was refused before it was processed.
pub(crate) fn of_refusal(refusal: &AccessRefusal) -> Status {
    match refusal {
        AccessRefusal::NoCredential => with_reason(
            Code::Unauthenticated,
            "NO_TOKEN",
            "this daemon requires a token: send `authorization: Bearer …`".to_owned(),
        ),
        AccessRefusal::UnknownToken => {
            with_reason(Code::Unauthenticated, "UNKNOWN_TOKEN", "unknown token".to_owned())
        }
        AccessRefusal::RateLimited(_, wait) => {
            let text = format!(
                "too many requests from this client; retry in {} ms, or raise access.requests_per_second in the daemon's settings",
                wait.as_millis()
            );
            let mut details = info("TOO_OFTEN", []);
            details.set_retry_info(Some(*wait));
            status(Code::ResourceExhausted, text, details)
        }
        AccessRefusal::NoRoom => {
            let text = format!(
                "all connections of this daemon are busy; retry in {} ms, or raise server.max_connections and server.max_connections_per_address",
                SURPLUS_TIME.as_millis()
            );
            let mut details = info("TOO_MANY_CONNECTIONS", []);
            details.set_retry_info(Some(SURPLUS_TIME));
            status(Code::ResourceExhausted, text, details)
        }
        AccessRefusal::OtherCollection(principal) => with_reason(
            Code::PermissionDenied,
            "OTHER_COLLECTION",
            format!(
                "`{}` is bound to collections that this daemon does not serve",
                principal.name()
            ),
        ),
        AccessRefusal::Forbidden(principal) => with_reason(
            Code::PermissionDenied,
            "READ_ONLY",
            format!(
                "`{}` may only read; this method requires the permission \"write\"",
                principal.name()
            ),
        ),
    }
}

/// Builds the status for a full request queue.
pub(crate) fn queue_full(max_queued_requests: usize, error: NoPlace) -> Status {
    let taken = taken(error, max_queued_requests, "requests", "are queued already");
    with_reason(Code::ResourceExhausted, "TOO_MANY_WAITING", taken + "; try again later")
}

/// Builds the status for a full queue of changes.
pub(crate) fn write_queue_full(max_queued: usize, error: NoPlace) -> Status {
    let taken = taken(error, max_queued, "changes", "wait for the writer already");
    with_reason(Code::ResourceExhausted, "TOO_MANY_WAITING", taken + "; try again later")
}

/// Builds the status for too many open streams.
pub(crate) fn too_many_streams(max_streams: usize, error: NoPlace) -> Status {
    let taken = taken(error, max_streams, "streams and waiting requests", "are open already");
    let text = taken + "; close some, or raise server.max_streams";
    with_reason(Code::ResourceExhausted, "TOO_MANY_STREAMS", text)
}

/// States that the places for `what` are taken: all of them, or those that one client can have.
fn taken(error: NoPlace, max: usize, what: &str, state: &str) -> String {
    match error.own_limit {
        None => format!("{max} {what} {state}"),
        Some(n) => format!("{n} {what} of this client {state}, which is the limit for one client"),
    }
}

/// Builds the status for a generation that was not reached before the deadline.
pub(crate) fn generation_not_reached(wanted: u64, newest: u64) -> Status {
    let text =
        format!("generation {wanted} was not reached before the deadline; the newest is {newest}");
    with_reason(Code::DeadlineExceeded, "DEADLINE", text)
}

/// Builds the status for a generation of an earlier run that ended abnormally, if the scan did not finish before the deadline.
pub(crate) fn recovering(wanted: u64) -> Status {
    let text = format!(
        "generation {wanted} predates the last run, which ended abnormally, and not all files have been scanned since; try again, or check `weft status`"
    );
    with_reason(Code::DeadlineExceeded, "DEADLINE", text)
}

/// Builds the status for a request that arrives while the daemon is stopping.
pub(crate) fn stopping() -> Status {
    with_reason(Code::Unavailable, "STOPPING", "the daemon is stopping".to_owned())
}

/// Builds the status for a request whose computation panicked.
pub(crate) fn panicked() -> Status {
    with_reason(
        Code::Internal,
        "PANIC",
        "the request failed with an internal error; see the daemon's log".to_owned(),
    )
}

fn with_reason(code: Code, reason: &str, text: String) -> Status {
    status(code, text, info(reason, []))
}

/// Maximum number of bytes of client input repeated in a status: statuses travel in headers, and clients refuse large ones.
const MAX_REPEATED_BYTES: usize = 512;

/// Returns the start of `text`, with an ellipsis if it was cut.
fn truncated(text: &str) -> String {
    if text.len() <= MAX_REPEATED_BYTES {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(MAX_REPEATED_BYTES)])
}

fn status(code: Code, text: impl AsRef<str>, details: ErrorDetails) -> Status {
    Status::with_error_details(code, truncated(text.as_ref()), details)
}

fn info(reason: &str, metadata: impl IntoIterator<Item = (String, String)>) -> ErrorDetails {
    let shorter = metadata.into_iter().map(|(key, value)| (key, truncated(&value)));
    let metadata: HashMap<String, String> = shorter.collect();
    ErrorDetails::with_error_info(reason, DOMAIN, metadata)
}

#[cfg(test)]
mod tests {
    use weft_model::Uri;

    use super::*;

    #[test]
    fn statuses_fit_into_client_header_limits() {
        let long = "ü".repeat(100_000);
        for status in [
            of_engine(&EngineError::UnknownNote {
                name: long.clone(),
                suggestions: vec![Uri::new(&*long); 5],
            }),
            invalid("query", &long),
            of_write(&WriteError::AlreadyExists { path: long.clone() }),
        ] {
            let headers = status.into_http::<()>().into_parts().0.headers;
            let n_bytes: usize =
                headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
            // Default limit of hyper's clients.
            assert!(n_bytes < 16 << 10, "{n_bytes} bytes");
        }
    }

    #[test]
    fn full_disk_and_lost_database_have_their_own_codes() {
        let refused = |kind: io::ErrorKind| {
            let write = WriteError::Io { path: "moss.md".into(), source: kind.into() };
            let source = kind.into();
            let index = StoreError::Io { action: "write", path: "store".into(), source };
            let source = Arc::new(kind.into());
            let words = KeywordError::Io { folder: "store/keyword".into(), source };
            [of_write(&write), of_index(&index.into()), of_index(&words.into())]
                .map(|status| status.code())
        };
        let full = [Code::ResourceExhausted; 3];
        assert_eq!(refused(io::ErrorKind::StorageFull), full);
        assert_eq!(refused(io::ErrorKind::QuotaExceeded), full);
        let other = [Code::FailedPrecondition, Code::Internal, Code::Internal];
        assert_eq!(refused(io::ErrorKind::PermissionDenied), other);
        assert_eq!(refused(io::ErrorKind::NotConnected)[0], Code::Unavailable, "the database");
    }

    #[test]
    fn corrupt_keyword_index_is_unavailable_with_retry_hint() {
        let folder = || "store/keyword".into();
        let damaged = KeywordError::Corrupt { folder: folder(), detail: "x.term".into() };
        let failed = KeywordError::Failed { folder: folder(), detail: "a defect".into() };
        for (error, code, says) in
            [(damaged, Code::Unavailable, "try again"), (failed, Code::Internal, "a defect")]
        {
            let status = of_engine(&EngineError::Keyword(error));
            assert_eq!(status.code(), code);
            assert!(status.message().contains(says), "{status}");
        }
    }

    #[test]
    fn suggestions_and_fields_are_in_details() {
        let suggestions = vec![Uri::new("moss"), Uri::new("mess")];
        let status = of_engine(&EngineError::UnknownNote { name: "mosss".into(), suggestions });
        assert_eq!(status.code(), Code::NotFound);
        let info = status.get_details_error_info().unwrap();
        assert_eq!(
            (info.reason.as_str(), info.metadata["near_2"].as_str()),
            ("UNKNOWN_NOTE", "mess")
        );
        let status =
            of_engine(&EngineError::InvalidArgument { field: "limit", reason: "too much".into() });
        let request = status.get_details_bad_request().unwrap();
        assert_eq!(request.field_violations[0].field, "limit");
        assert_eq!(status.code(), Code::InvalidArgument);
    }
}
