//! Error messages for models: what failed and what to do next.

use std::error::Error as _;

use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use weft_model::escape;
use weft_proto::rename_field;

/// Formats a status as a message with advice; renames the field at its start as `renamed` says.
pub(crate) fn of_status(status: &Status, renamed: &[(&str, &str)]) -> String {
    let message = &*rename_field(status.message(), renamed);
    let message = escape::one_line(message);
    let info = status.get_details_error_info();
    let reason = info.as_ref().map_or("", |info| info.reason.as_str());
    match status.code() {
        Code::NotFound if reason == "UNKNOWN_FRAGMENT" => {
            format!("{message}. Call again with one of its headings, or without `#`.")
        }
        Code::NotFound => {
            // The message lists similar names, if there are any.
            let is_near = info.as_ref().is_some_and(|info| info.metadata.contains_key("near_1"));
            let next = if is_near { "Call again with one of these, or find" } else { "Find" };
            format!("{message}. {next} its name with the tool `search`.")
        }
        Code::InvalidArgument => format!("{message}. Correct this argument and call again."),
        Code::Unavailable if status.source().is_some() => format!(
            "The notes cannot be reached: no daemon is running ({}). Ask the user to start one with `weft serve DIR`, then call again.",
            transport_error(status)
        ),
        Code::Aborted if reason == "CONTENT_CHANGED" => format!(
            "{message}. To replace this note, read it with `get_note` and pass its `hash`; for a new note, choose another path."
        ),
        Code::Unavailable | Code::ResourceExhausted | Code::Aborted => {
            format!("{message}. Call again in a moment.")
        }
        Code::DeadlineExceeded => format!(
            "{message}. Call again and request less: a smaller budget, fewer notes, fewer hops."
        ),
        Code::Unauthenticated | Code::PermissionDenied => format!(
            "{message}. Tell the user that the token of this server (`--token-file` or `WEFT_TOKEN`) does not permit this."
        ),
        Code::FailedPrecondition if reason == "STALE_TOKEN" => {
            format!("{message}. Call again without `resume` to start over.")
        }
        Code::Ok
        | Code::Cancelled
        | Code::Unknown
        | Code::AlreadyExists
        | Code::FailedPrecondition
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Internal
        | Code::DataLoss => format!("{message}. Tell the user; `weft doctor` reports details."),
    }
}

/// Returns the outermost error of the transport, which names the address, and the root cause.
fn transport_error(status: &Status) -> String {
    let mut message = Vec::new();
    let mut cause = status.source();
    while let Some(error) = cause {
        message.push(error.to_string());
        cause = error.source();
    }
    match &*message {
        [first, .., root] if root != first => format!("{first}: {root}"),
        message => message.join(": "),
    }
}

#[cfg(test)]
mod tests {
    use tonic_types::ErrorDetails;

    use super::*;

    #[test]
    fn every_error_says_what_to_do() {
        let unknown = |near: &[&str]| {
            let near = (1..).zip(near).map(|(at, uri)| (format!("near_{at}"), (*uri).to_owned()));
            let details = ErrorDetails::with_error_info(
                "UNKNOWN_NOTE",
                "noteweft",
                near.collect::<std::collections::HashMap<_, _>>(),
            );
            Status::with_error_details(Code::NotFound, "no note is named `mos`", details)
        };
        for (status, expected) in [
            (unknown(&["moss", "most"]), "Call again with one of these"),
            (unknown(&[]), "Find its name with the tool `search`"),
            (Status::invalid_argument("`filter.after`: no date"), "Correct this argument"),
            (Status::unavailable("the index is still opening"), "in a moment"),
            (Status::from_error("refused".into()), "`weft doctor`"),
            (Status::deadline_exceeded("late"), "request less"),
            (Status::unauthenticated("this daemon requires a token"), "--token-file"),
        ] {
            let message = of_status(&status, &[]);
            assert!(message.contains(expected), "{message}");
            assert!(message.contains(status.message()), "{message}");
        }
    }
}
