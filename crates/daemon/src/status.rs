//! Domain errors to gRPC statuses, with details that programs can read.

use std::collections::HashMap;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use weft_engine::EngineError;
use weft_index::StoreError;
use weft_index::embedder::EmbedError;
use weft_index::keyword::KeywordError;
use weft_indexer::{IndexError, WriteError};

use crate::access::Refusal;

/// The domain of every `ErrorInfo`.
const DOMAIN: &str = "noteweft";

/// Why a question has no answer, as the wire says it.
///
/// An unknown note's `ErrorInfo` carries the name and, as `near_1`, `near_2`, …, uris that resemble it, the nearest first.
pub(crate) fn of_engine(error: &EngineError) -> Status {
    let text = error.to_string();
    match error {
        EngineError::UnknownNote { name, near } => {
            let near = (1..).zip(near).map(|(at, uri)| (format!("near_{at}"), uri.to_string()));
            let metadata = near.chain([("name".to_owned(), name.clone())]);
            let mut details = info("UNKNOWN_NOTE", metadata);
            details.set_resource_info("noteweft.v1.Note", name, "", "no note answers to this name");
            Status::with_error_details(Code::NotFound, text, details)
        }
        EngineError::InvalidArgument { field, reason } => invalid(field, reason),
        EngineError::NoVectors => of(Code::FailedPrecondition, "NO_VECTORS", text),
        EngineError::Keyword(KeywordError::Past { .. }) => {
            of(Code::FailedPrecondition, "PAST_GENERATION", text)
        }
        EngineError::Keyword(_) => of(Code::Internal, "KEYWORD_INDEX", text),
        EngineError::Vector(_) => of(Code::Internal, "VECTOR_INDEX", text),
        EngineError::Embed(EmbedError::Unavailable { .. }) => {
            of(Code::Unavailable, "MODEL_UNAVAILABLE", text)
        }
        EngineError::Embed(EmbedError::Failed { .. }) => of(Code::Internal, "MODEL_FAILED", text),
        EngineError::Stale { asked, newest } => {
            let numbers = [("asked", asked), ("newest", newest)];
            let numbers = numbers.map(|(name, number)| (name.to_owned(), number.to_string()));
            let details = info("STALE_TOKEN", numbers);
            Status::with_error_details(Code::FailedPrecondition, text, details)
        }
        EngineError::Cancelled => of(Code::Cancelled, "CANCELLED", text),
        EngineError::DeadlineExceeded => of(Code::DeadlineExceeded, "DEADLINE", text),
    }
}

/// Why the index could not do what was asked, as the wire says it.
pub(crate) fn of_index(error: &IndexError) -> Status {
    let text = error.to_string();
    match error {
        IndexError::Store(StoreError::Locked { .. }) => {
            of(Code::FailedPrecondition, "STORE_LOCKED", text)
        }
        IndexError::Store(_) => of(Code::Internal, "STORE", text),
        IndexError::Keyword(_) => of(Code::Internal, "KEYWORD_INDEX", text),
        IndexError::Embed(_) => of(Code::Internal, "MODEL_FAILED", text),
        IndexError::Vault { .. } => of(Code::FailedPrecondition, "VAULT", text),
        IndexError::UnknownVault { known, .. } => {
            let details = info("UNKNOWN_VAULT", [("vaults".to_owned(), known.join(","))]);
            Status::with_error_details(Code::NotFound, text, details)
        }
        IndexError::UnknownGeneration { stored, .. } => {
            let stored = stored.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            let details = info("UNKNOWN_GENERATION", [("stored".to_owned(), stored)]);
            Status::with_error_details(Code::NotFound, text, details)
        }
        IndexError::Stopped => of(Code::Unavailable, "STOPPING", text),
    }
}

/// Why something was not written, as the wire says it.
pub(crate) fn of_write(error: &WriteError) -> Status {
    let text = error.to_string();
    match error {
        WriteError::Invalid { field, reason } => invalid(field, reason),
        WriteError::UnknownNote { name, near } => {
            of_engine(&EngineError::UnknownNote { name: name.clone(), near: near.clone() })
        }
        WriteError::Conflict { path, actual } => {
            let hash = actual.map(|hash| ("actual_hash".to_owned(), format!("{hash:?}")));
            let metadata = hash.into_iter().chain([("path".to_owned(), path.clone())]);
            let details = info("CONTENT_CHANGED", metadata);
            Status::with_error_details(Code::Aborted, text, details)
        }
        WriteError::Taken { path } => {
            let details = info("PATH_TAKEN", [("path".to_owned(), path.clone())]);
            Status::with_error_details(Code::AlreadyExists, text, details)
        }
        WriteError::Io { .. } => of(Code::FailedPrecondition, "FILE_SYSTEM", text),
        WriteError::Index(error) => of_index(error),
        WriteError::NotIndexed { .. } => of(Code::Unavailable, "NOT_INDEXED_YET", text),
    }
}

/// The caller stopped waiting for a write.
pub(crate) fn write_is_late() -> Status {
    let text = "the index was busy until the deadline passed; the write may still be done, so read before you write again";
    of(Code::DeadlineExceeded, "DEADLINE", text.to_owned())
}

/// Says of a request that is no message of the contract whose fault that is: the library calls it its own.
pub(crate) fn name_malformed<B>(response: &mut http::Response<B>) {
    const STATUS: &str = "grpc-status";
    let headers = response.headers_mut();
    let is_internal = headers.get(STATUS).is_some_and(|code| code.as_bytes() == b"13");
    let message = headers.get("grpc-message").and_then(|message| message.to_str().ok());
    if is_internal && message.is_some_and(|message| message.starts_with(MALFORMED)) {
        let code = http::HeaderValue::from(Code::InvalidArgument as i32);
        headers.insert(STATUS, code);
    }
}

/// How the library begins its word on bytes that are no message, as it travels.
const MALFORMED: &str = "failed%20to%20decode%20Protobuf%20message";

/// A field of a request that cannot be used.
pub(crate) fn invalid(field: &str, reason: &str) -> Status {
    let mut details = info("INVALID_ARGUMENT", [("field".to_owned(), field.to_owned())]);
    details.add_bad_request_violation(field, reason);
    Status::with_error_details(Code::InvalidArgument, format!("`{field}`: {reason}"), details)
}

/// The index is still being opened.
pub(crate) fn opening() -> Status {
    of(
        Code::Unavailable,
        "OPENING",
        "the index is still being opened; ask again in a moment".to_owned(),
    )
}

/// A caller that is turned away before its question is looked at.
pub(crate) fn of_refusal(refusal: &Refusal) -> Status {
    match refusal {
        Refusal::Nobody => of(
            Code::Unauthenticated,
            "NO_TOKEN",
            "this daemon asks for a token: send `authorization: Bearer …`".to_owned(),
        ),
        Refusal::UnknownToken => of(
            Code::Unauthenticated,
            "UNKNOWN_TOKEN",
            "the token is none that this daemon knows".to_owned(),
        ),
        Refusal::TooOften(_, wait) => {
            let text = format!(
                "too many requests from this caller; come back in {} ms, or ask whoever runs the daemon for a larger access.requests_per_second",
                wait.as_millis()
            );
            let mut details = info("TOO_OFTEN", []);
            details.set_retry_info(Some(*wait));
            Status::with_error_details(Code::ResourceExhausted, text, details)
        }
        Refusal::NotAllowed(principal) => of(
            Code::PermissionDenied,
            "READ_ONLY",
            format!("`{}` may read, and not do this", principal.name()),
        ),
    }
}

/// Too many questions wait already.
pub(crate) fn crowded(max_waiting: usize) -> Status {
    let text = format!("{max_waiting} questions wait already; ask again later");
    of(Code::ResourceExhausted, "TOO_MANY_WAITING", text)
}

/// Too many streams are open already.
pub(crate) fn too_many_streams(max_streams: usize) -> Status {
    let text = format!(
        "{max_streams} streams and waiting questions are open already; end some, or raise server.max_streams"
    );
    of(Code::ResourceExhausted, "TOO_MANY_STREAMS", text)
}

/// A generation was not reached before the deadline.
pub(crate) fn not_reached(wanted: u64, newest: u64) -> Status {
    let text = format!("generation {wanted} was not reached in time; the newest one is {newest}");
    of(Code::DeadlineExceeded, "DEADLINE", text)
}

/// The daemon is about to stop.
pub(crate) fn stopping() -> Status {
    of(Code::Unavailable, "STOPPING", "the daemon stops".to_owned())
}

/// A question's computation came to a sudden end.
pub(crate) fn broken() -> Status {
    of(
        Code::Internal,
        "PANIC",
        "the question could not be computed; the daemon's log says more".to_owned(),
    )
}

fn of(code: Code, reason: &str, text: String) -> Status {
    Status::with_error_details(code, text, info(reason, []))
}

fn info(reason: &str, metadata: impl IntoIterator<Item = (String, String)>) -> ErrorDetails {
    let metadata: HashMap<String, String> = metadata.into_iter().collect();
    ErrorDetails::with_error_info(reason, DOMAIN, metadata)
}

#[cfg(test)]
mod tests {
    use weft_model::Uri;

    use super::*;

    #[test]
    fn near_matches_and_fields_travel_as_details() {
        let near = vec![Uri::new("moss"), Uri::new("mess")];
        let status = of_engine(&EngineError::UnknownNote { name: "mosss".into(), near });
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
