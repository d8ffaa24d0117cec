//! Domain errors to gRPC statuses, with details that programs can read.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::sync::Arc;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use weft_engine::EngineError;
use weft_index::StoreError;
use weft_index::embedder::EmbedError;
use weft_index::keyword::KeywordError;
use weft_indexer::{IndexError, WriteError};

use crate::access::Refusal;
use crate::front::code_name;
use crate::vaults::EarlierError;

/// The domain of every `ErrorInfo`.
const DOMAIN: &str = "noteweft";

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    /// The engine gives none.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The state that it is asked of cannot be had.
    #[error(transparent)]
    State(#[from] IndexError),
    /// Nor the one that this is compared with.
    #[error(transparent)]
    Earlier(#[from] EarlierError),
    /// What it names may be in a file that is not read yet.
    #[error("the files are not read yet")]
    Unread,
}

/// Why a question has no answer, as the wire says it.
pub(crate) fn of_question(error: &Unanswered) -> Status {
    match error {
        Unanswered::Engine(error) => of_engine(error),
        Unanswered::State(error) | Unanswered::Earlier(EarlierError::Index(error)) => {
            of_index(error)
        }
        Unanswered::Earlier(error @ EarlierError::Later { .. }) => {
            invalid("from", &error.to_string())
        }
        Unanswered::Earlier(error @ EarlierError::None { .. }) => {
            of(Code::FailedPrecondition, "NO_EARLIER_GENERATION", error.to_string())
        }
        Unanswered::Unread => opening(),
    }
}

/// Why the engine gives no answer, as the wire says it.
///
/// An unknown note's `ErrorInfo` carries the name and, as `near_1`, `near_2`, …, uris that resemble it, the nearest first.
pub(crate) fn of_engine(error: &EngineError) -> Status {
    let text = error.to_string();
    match error {
        EngineError::UnknownNote { name, near } => {
            let near = (1..).zip(near).map(|(at, uri)| (format!("near_{at}"), uri.to_string()));
            let metadata = near.chain([("name".to_owned(), name.clone())]);
            let mut details = info("UNKNOWN_NOTE", metadata);
            details.set_resource_info(
                "noteweft.v1.Note",
                shortened(name),
                "",
                "no note answers to this name",
            );
            told(Code::NotFound, text, details)
        }
        EngineError::InvalidArgument { field, reason } => invalid(field, reason),
        EngineError::NoVectors => of(Code::FailedPrecondition, "NO_VECTORS", text),
        EngineError::Keyword(KeywordError::Past { .. }) => {
            of(Code::FailedPrecondition, "PAST_GENERATION", text)
        }
        EngineError::Keyword(error) if error.needs_rebuild() => {
            let text = format!("{text}; it is made anew from the notes now, ask again in a moment");
            of(Code::Unavailable, "KEYWORD_INDEX", text)
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
            told(Code::FailedPrecondition, text, details)
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
        IndexError::Store(_) | IndexError::Keyword(_) if is_full(error) => full(&text),
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
            told(Code::NotFound, text, details)
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
            told(Code::Aborted, text, details)
        }
        WriteError::Taken { path } => {
            let details = info("PATH_TAKEN", [("path".to_owned(), path.clone())]);
            told(Code::AlreadyExists, text, details)
        }
        WriteError::Io { .. } | WriteError::HalfMoved { .. } if is_full(error) => full(&text),
        WriteError::Io { .. } | WriteError::HalfMoved { .. } => {
            of(Code::FailedPrecondition, "FILE_SYSTEM", text)
        }
        WriteError::Index(error) => of_index(error),
        WriteError::NotIndexed { .. } => of(Code::Unavailable, "NOT_INDEXED_YET", text),
    }
}

/// Whether a disk without room is what stands behind an error.
#[must_use]
pub fn is_full(error: &(dyn Error + 'static)) -> bool {
    let io = |error: &(dyn Error + 'static)| {
        // The word index shares what its library was told.
        let shared = || error.downcast_ref::<Arc<io::Error>>().map(AsRef::as_ref);
        let kind = error.downcast_ref::<io::Error>().or_else(shared).map(io::Error::kind);
        matches!(kind, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    };
    std::iter::successors(Some(error), |&error| error.source()).any(io)
}

/// The disk has no room for what was asked.
fn full(text: &str) -> Status {
    let text = format!("{text}; nothing is lost: make room on that disk and ask again");
    of(Code::ResourceExhausted, "DISK_FULL", text)
}

/// The caller stopped waiting for a write.
pub(crate) fn write_is_late() -> Status {
    let text = "the index was busy until the deadline passed; the write may still be done, so read before you write again";
    of(Code::DeadlineExceeded, "DEADLINE", text.to_owned())
}

/// What the library says in its own words and without details: its code, how its sentence begins, and then the code that says whose fault it is, the reason, and our sentence for the limit that was passed.
type Row = (Code, &'static str, Code, &'static str, Option<&'static str>);
const REWORDED: [Row; 6] = [
    (
        Code::ResourceExhausted,
        "Error decompressing: ",
        Code::ResourceExhausted,
        "REQUEST_TOO_LARGE",
        Some(TOO_LARGE_A_REQUEST),
    ),
    (Code::Internal, "failed to decode Protobuf", Code::InvalidArgument, "UNREADABLE", None),
    (Code::Internal, "Error decompressing", Code::InvalidArgument, "UNREADABLE", None),
    (Code::Internal, "protocol error", Code::InvalidArgument, "UNREADABLE", None),
    (
        Code::OutOfRange,
        "Error, decoded message length too large: ",
        Code::ResourceExhausted,
        "REQUEST_TOO_LARGE",
        Some(TOO_LARGE_A_REQUEST),
    ),
    (
        Code::OutOfRange,
        "Error, encoded message length too large: ",
        Code::ResourceExhausted,
        "ANSWER_TOO_LARGE",
        Some("the answer is larger than server.max_answer_bytes; ask for less of it"),
    ),
];

const TOO_LARGE_A_REQUEST: &str = "the request is larger than server.max_request_bytes";

/// Gives an error without details, which the library made of an answer to `call`, the code that says whose fault it is, and a reason: the library takes the blame itself, and leaves it at a sentence.
pub(crate) fn reword(headers: &mut http::HeaderMap, call: &str) {
    let is_error = headers.get("grpc-status").is_some_and(|code| code != "0");
    if !is_error || headers.contains_key("grpc-status-details-bin") {
        return;
    }
    let Some(said) = Status::from_header_map(headers) else { return };
    let text = said.message();
    let row =
        REWORDED.iter().find(|(own, start, ..)| *own == said.code() && text.starts_with(start));
    let status = match row {
        Some((_, start, code, reason, limit)) => {
            let found = &text[start.len()..];
            let text = limit.map_or_else(|| text.to_owned(), |limit| format!("{limit} ({found})"));
            of(*code, reason, text)
        }
        None if said.code() == Code::Unimplemented && text.is_empty() => {
            let details = info("UNKNOWN_CALL", [("call".to_owned(), call.to_owned())]);
            let text = format!("there is no call `{call}`; reflection names those that there are");
            told(Code::Unimplemented, text, details)
        }
        None => of(said.code(), code_name(said.code()), text.to_owned()),
    };
    for (name, value) in &status.into_http::<()>().into_parts().0.headers {
        // The head of an answer says already how it is written.
        if name != http::header::CONTENT_TYPE {
            headers.insert(name, value.clone());
        }
    }
}

/// A field of a request that cannot be used.
pub(crate) fn invalid(field: &str, reason: &str) -> Status {
    let mut details = info("INVALID_ARGUMENT", [("field".to_owned(), field.to_owned())]);
    details.add_bad_request_violation(field, shortened(reason));
    told(Code::InvalidArgument, format!("`{field}`: {reason}"), details)
}

/// The same error of a field, where that lies within `outer`.
pub(crate) fn within(outer: &str, status: Status) -> Status {
    let violations = status.get_details_bad_request().map(|bad| bad.field_violations);
    let Some(violation) = violations.and_then(|all| all.into_iter().next()) else { return status };
    let field = violation.field;
    let said = status.message();
    let reason = said.strip_prefix(&format!("`{field}`: ")).unwrap_or(said);
    invalid(&format!("{outer}.{field}"), reason)
}

/// Health was asked of a service that is none.
pub(crate) fn unknown_service(name: &str) -> Status {
    let details = info("UNKNOWN_SERVICE", [("service".to_owned(), name.to_owned())]);
    let text = format!("there is no service `{name}`; the whole daemon has the empty name");
    told(Code::NotFound, text, details)
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
            told(Code::ResourceExhausted, text, details)
        }
        Refusal::NotAllowed(principal) => of(
            Code::PermissionDenied,
            "READ_ONLY",
            format!("`{}` may only read, and this needs the right \"write\"", principal.name()),
        ),
    }
}

/// Too many questions wait already.
pub(crate) fn crowded(max_waiting: usize) -> Status {
    let text = format!("{max_waiting} questions wait already; ask again later");
    of(Code::ResourceExhausted, "TOO_MANY_WAITING", text)
}

/// Too many changes wait for the writer already.
pub(crate) fn busy_writing(max_waiting: usize) -> Status {
    let text = format!("{max_waiting} changes wait for the writer already; ask again later");
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

/// A generation of a run that ended suddenly is waited for, and the files were not all looked at in time.
pub(crate) fn recovering(wanted: u64) -> Status {
    let text = format!(
        "generation {wanted} is from before the last run ended suddenly, and the files were not all looked at since; ask again, and see `weft status` where that does not help"
    );
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
    told(code, text, info(reason, []))
}

/// Bytes of a caller's own words that are repeated to it: a status travels in headers, which clients refuse when they are large.
const MOST_REPEATED: usize = 512;

/// The beginning of a text, with a mark where it was cut.
fn shortened(text: &str) -> String {
    if text.len() <= MOST_REPEATED {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(MOST_REPEATED)])
}

fn told(code: Code, text: impl AsRef<str>, details: ErrorDetails) -> Status {
    Status::with_error_details(code, shortened(text.as_ref()), details)
}

fn info(reason: &str, metadata: impl IntoIterator<Item = (String, String)>) -> ErrorDetails {
    let shorter = metadata.into_iter().map(|(key, value)| (key, shortened(&value)));
    let metadata: HashMap<String, String> = shorter.collect();
    ErrorDetails::with_error_info(reason, DOMAIN, metadata)
}

#[cfg(test)]
mod tests {
    use weft_model::Uri;

    use super::*;

    #[test]
    fn no_status_outgrows_the_headers_of_a_client() {
        let long = "ü".repeat(100_000);
        for status in [
            of_engine(&EngineError::UnknownNote {
                name: long.clone(),
                near: vec![Uri::new(&*long); 5],
            }),
            invalid("query", &long),
            of_write(&WriteError::Taken { path: long.clone() }),
        ] {
            let headers = status.into_http::<()>().into_parts().0.headers;
            let n_bytes: usize =
                headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
            // What hyper's clients take by default.
            assert!(n_bytes < 16 << 10, "{n_bytes} bytes");
        }
    }

    #[test]
    fn a_disk_without_room_is_told_from_one_that_refuses() {
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
    }

    #[test]
    fn who_meets_damaged_words_is_told_to_ask_again() {
        let folder = || "store/keyword".into();
        let damaged = KeywordError::Corrupt { folder: folder(), detail: "x.term".into() };
        let failed = KeywordError::Failed { folder: folder(), detail: "a defect".into() };
        for (error, code, says) in
            [(damaged, Code::Unavailable, "ask again"), (failed, Code::Internal, "a defect")]
        {
            let status = of_engine(&EngineError::Keyword(error));
            assert_eq!(status.code(), code);
            assert!(status.message().contains(says), "{status}");
        }
    }

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
