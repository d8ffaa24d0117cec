//! Why a tool has no answer, said so that a model knows what to do next.

use std::error::Error as _;

use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use weft_proto::with_own_names;

/// What went wrong, and what to try; a field that the sentence begins with has the name that `renamed` gives it.
pub(crate) fn of_status(status: &Status, renamed: &[(&str, &str)]) -> String {
    let said = &*with_own_names(status.message(), renamed);
    let info = status.get_details_error_info();
    let reason = info.as_ref().map_or("", |info| info.reason.as_str());
    match status.code() {
        Code::NotFound => {
            // Where there are near names, the sentence holds them.
            let is_near = info.as_ref().is_some_and(|info| info.metadata.contains_key("near_1"));
            let next = if is_near { "Call again with one of these, or find" } else { "Find" };
            format!("{said}. {next} its name with the tool `search`.")
        }
        Code::InvalidArgument => format!("{said}. Correct this argument and call again."),
        Code::Unavailable if status.source().is_some() => format!(
            "The notes cannot be reached: no daemon answers ({}). Tell the person to start one with `weft serve DIR`, then call again.",
            unreached(status)
        ),
        Code::Unavailable | Code::ResourceExhausted | Code::Aborted => {
            format!("{said}. Call again in a moment.")
        }
        Code::DeadlineExceeded => format!(
            "{said}. Call again, and ask for less: a smaller budget, fewer notes, fewer hops."
        ),
        Code::Unauthenticated | Code::PermissionDenied => format!(
            "{said}. Tell the person: the token that this server shows to the daemon (`--token-file` or `WEFT_TOKEN`) does not let it read."
        ),
        Code::FailedPrecondition if reason == "STALE_TOKEN" => {
            format!("{said}. Call again without `resume`, from the start.")
        }
        Code::Ok
        | Code::Cancelled
        | Code::Unknown
        | Code::AlreadyExists
        | Code::FailedPrecondition
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Internal
        | Code::DataLoss => format!("{said}. Tell the person; `weft doctor` says more."),
    }
}

/// What the transport said first, which names the place, and what lies at the bottom of that.
fn unreached(status: &Status) -> String {
    let mut said = Vec::new();
    let mut cause = status.source();
    while let Some(error) = cause {
        said.push(error.to_string());
        cause = error.source();
    }
    match &*said {
        [first, .., root] if root != first => format!("{first}: {root}"),
        said => said.join(": "),
    }
}

#[cfg(test)]
mod tests {
    use tonic_types::ErrorDetails;

    use super::*;

    #[test]
    fn each_problem_says_what_to_do() {
        let unknown = |near: &[&str]| {
            let near = (1..).zip(near).map(|(at, uri)| (format!("near_{at}"), (*uri).to_owned()));
            let details = ErrorDetails::with_error_info(
                "UNKNOWN_NOTE",
                "noteweft",
                near.collect::<std::collections::HashMap<_, _>>(),
            );
            Status::with_error_details(Code::NotFound, "nothing answers to `mos`", details)
        };
        for (status, expected) in [
            (unknown(&["moss", "most"]), "Call again with one of these"),
            (unknown(&[]), "Find its name with the tool `search`"),
            (Status::invalid_argument("`filter.after`: no date"), "Correct this argument"),
            (Status::unavailable("the index is still being opened"), "in a moment"),
            (Status::from_error("refused".into()), "`weft doctor`"),
            (Status::deadline_exceeded("late"), "ask for less"),
            (Status::unauthenticated("this daemon asks for a token"), "--token-file"),
        ] {
            let said = of_status(&status, &[]);
            assert!(said.contains(expected), "{said}");
            assert!(said.contains(status.message()), "{said}");
        }
    }
}
