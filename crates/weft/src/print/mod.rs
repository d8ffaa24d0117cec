//! Answers as text for people. Pure: styles are always written, and taken out where they cannot be seen.

mod bench;
mod context;
mod diff;
mod eval;
mod eval_context;
mod index;
mod notes;
mod related;
mod search;
mod siblings;
mod text;
mod walk;
mod why_not;
mod write;

use std::fmt::Write as _;

use crate::doctor::{Check, Outcome};
use crate::failure::Failure;

pub(crate) use bench::bench;
pub(crate) use context::{context, ledger};
pub(crate) use diff::diff;
pub(crate) use eval::{evaluation, tuning};
pub(crate) use eval_context::context_evaluation;
pub(crate) use index::{backup, confirmed, coverage, doing, restored, serves, serving, status};
pub(crate) use notes::{list, note, resolved};
pub(crate) use related::{account, related};
pub(crate) use search::search;
pub(crate) use siblings::siblings;
pub(crate) use text::{counted, harmless};
pub(crate) use walk::{cycles, neighbors, orphans, path, subgraph, tree, unresolved};
pub(crate) use why_not::why_not;
pub(crate) use write::{deleted, moved, put};

use text::{BAD, DIM, FAINT_TITLE, GOOD, NOTICE, STRONG, paint};

/// What `weft` alone says.
pub(crate) fn welcome() -> String {
    let mut out =
        format!("{} finds your notes by meaning, by word and by link.\n\n", paint(STRONG, "weft"));
    for (command, what) in [
        ("weft serve ~/notes", "index a folder, watch it, answer over gRPC"),
        ("weft search \"why do cells age\"", "ask the running daemon"),
        ("weft search \"…\" --vault ~/notes", "ask without a daemon"),
        ("weft related NOTE", "read what surrounds a note, within a budget"),
        ("weft context \"…\" --budget 2000", "a text for a model that fits a budget"),
        ("weft get NOTE", "read a note with its links"),
        ("weft tree NOTE", "what lies around it, link by link"),
        ("weft mcp", "tools for an agent (docs/mcp.md)"),
        ("weft status", "how the index is"),
        ("weft doctor", "what would stand in the way"),
        ("weft help", "all commands; weft help COMMAND for one"),
    ] {
        let _ = writeln!(out, "  {}  {what}", paint(FAINT_TITLE, &text::padded(command, 34)));
    }
    out
}

/// An error with what to try.
pub(crate) fn failure(failure: &Failure) -> String {
    let Failure { code: _, message, hints } = failure;
    let mut lines = message.lines();
    let mut out = format!("{} {}\n", paint(BAD, "error:"), lines.next().unwrap_or_default());
    for line in lines {
        let _ = writeln!(out, "       {line}");
    }
    for hint in hints {
        let _ = writeln!(out, "{}  {hint}", paint(DIM, "hint:"));
    }
    out
}

/// Something that makes an answer worth less.
pub(crate) fn warning(what: &str) -> String {
    format!("{} {}\n", paint(NOTICE, "warning:"), harmless(what))
}

/// What an answer lacks, a line each.
pub(crate) fn degraded(reasons: &[String]) -> String {
    let line = |what: &String| format!("{} {}\n", paint(NOTICE, "degraded:"), harmless(what));
    reasons.iter().map(line).collect()
}

/// Commands to try next.
pub(crate) fn next(commands: &[&str]) -> String {
    let mut out = String::new();
    for command in commands {
        let _ = writeln!(out, "{} {command}", paint(DIM, "next:"));
    }
    out
}

/// What `serve --ask` says below its answer.
pub(crate) fn stays(address: &str) -> String {
    format!("{}\n", paint(DIM, &format!("Serving at {address} until Ctrl-C.")))
}

/// What `serve` says when a signal came.
pub(crate) fn stopping() -> String {
    format!("{}\n", paint(DIM, "Stopping: running questions finish, the index is written down."))
}

/// What `serve --detach` says when the daemon serves.
pub(crate) fn detached(
    status: &str,
    process: Option<u32>,
    log: &std::path::Path,
    stop: &str,
) -> String {
    let process = process.map(|id| format!("process {id}, ")).unwrap_or_default();
    let about = paint(DIM, &format!("({process}log in {})", log.display()));
    format!("{status}\n{about}\n{}", next(&[stop]))
}

/// What `stop` says when the daemon is gone.
pub(crate) fn stopped(socket: &str, process: i32) -> String {
    format!("the daemon at {socket} has stopped {}\n", paint(DIM, &format!("(process {process})")))
}

/// The checks of `doctor`.
pub(crate) fn checks(checks: &[Check]) -> String {
    let mut out = String::new();
    for Check { name, outcome, message, advice } in checks {
        let mark = match outcome {
            Outcome::Good => paint(GOOD, "✓"),
            Outcome::Notice => paint(NOTICE, "!"),
            Outcome::Bad => paint(BAD, "✗"),
        };
        let _ = writeln!(out, "{mark} {} {}", text::padded(name, 9), text::hung(message, 12));
        if let Some(advice) = advice {
            let advice = text::hung(&format!("→ {advice}"), 12);
            let _ = writeln!(out, "{:12}{}", "", paint(DIM, &advice));
        }
    }
    out
}

/// The settings of `config show`: key, value and origin.
pub(crate) fn settings<'s>(
    rows: impl Iterator<Item = (&'s str, String, &'s str)>,
    with_origin: bool,
) -> String {
    let mut out = String::new();
    for (key, value, origin) in rows {
        let _ = write!(out, "{} = {value}", paint(FAINT_TITLE, key));
        if with_origin {
            let _ = write!(out, "  {}", paint(DIM, &format!("({origin})")));
        }
        out.push('\n');
    }
    out
}
