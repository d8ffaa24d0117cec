//! Renders answers as text for people. Rendering is pure: styles are always written, and stripped on output that is not a terminal.

mod bench;
mod cluster;
mod context;
mod diff;
mod eval;
mod eval_context;
mod facets;
mod hygiene;
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

use weft_proto::noteweft::v1::Warning;

use crate::doctor::{Check, CheckOutcome};
use crate::failure::Failure;

pub(crate) use bench::bench;
pub(crate) use cluster::{collection, exported, imported, nodes, pulled, pushed, received};
pub(crate) use context::{context, ledger};
pub(crate) use diff::diff;
pub(crate) use eval::{evaluation, tuning};
pub(crate) use eval_context::context_evaluation;
pub(crate) use facets::facets;
pub(crate) use hygiene::{broken_links, duplicates, stale_notes, suggested_links, written_links};
pub(crate) use index::{
    activity, backup, checkpoint, confirmed, coverage, has_no_notes, no_notes, notices, of_server,
    restored, serving, status, status_line,
};
pub(crate) use notes::{list, note, place, resolved};
pub(crate) use related::{related, related_ledger};
pub(crate) use search::search;
pub(crate) use siblings::siblings;
pub(crate) use text::{counted, harmless, harmless_lines};
pub(crate) use walk::{cycles, neighbors, orphans, path, subgraph, tree, unresolved};
pub(crate) use why_not::why_not;
pub(crate) use write::{deleted, moved, put};

use text::{BAD, DIM, FAINT_TITLE, GOOD, NOTICE, STRONG, paint};

/// Returns the text of `weft` without a command.
pub(crate) fn welcome() -> String {
    let mut out = format!(
        "{} searches your notes by meaning, by keyword and by link.\n\n",
        paint(STRONG, "weft")
    );
    for (command, what) in [
        ("weft serve ~/notes", "index a vault, watch it, serve it over gRPC"),
        ("weft search \"why do cells age\"", "query the running daemon"),
        ("weft search \"…\" --vault ~/notes", "query without a daemon"),
        ("weft related NOTE", "notes around a note, within a token budget"),
        ("weft context \"…\" --budget 2000", "a context for a model, within a budget"),
        ("weft get NOTE", "show a note with its links"),
        ("weft open NOTE", "open it in your editor"),
        ("weft tree NOTE", "its neighborhood, link by link"),
        ("weft mcp", "serve tools to an agent (docs/mcp.md)"),
        ("weft status", "show the status of the index"),
        ("weft doctor", "check the setup and suggest fixes"),
        ("weft help", "list all commands; weft help COMMAND for one"),
    ] {
        let _ = writeln!(out, "  {}  {what}", paint(FAINT_TITLE, &text::padded(command, 34)));
    }
    out
}

/// Formats an error and its hints.
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

/// Formats one warning.
pub(crate) fn warning(what: &str) -> String {
    format!("{} {}\n", paint(NOTICE, "warning:"), harmless(what))
}

/// Formats the warnings of an answer, one line each.
pub(crate) fn warnings(warnings: &[Warning]) -> String {
    warnings.iter().map(|it| warning(&it.message)).collect()
}

/// Formats suggested next commands.
pub(crate) fn next(commands: &[&str]) -> String {
    let mut out = String::new();
    for command in commands {
        let _ = writeln!(out, "{} {command}", paint(DIM, "next:"));
    }
    out
}

/// Formats the line with the address of the page.
pub(crate) fn page(address: &str) -> String {
    format!("{} {address}\n", paint(DIM, "page:"))
}

/// Formats the line that `serve --ask` prints below its answer.
pub(crate) fn still_serving(address: &str) -> String {
    format!("{}\n", paint(DIM, &format!("Serving at {address} until Ctrl-C.")))
}

/// Formats the line that `serve` prints on a stop signal.
pub(crate) fn stopping() -> String {
    format!("{}\n", paint(DIM, "Stopping: finishing running requests and persisting the index."))
}

/// Formats the output of `serve --detach` once the daemon is ready.
pub(crate) fn detached(status: &str, process: Option<u32>, log: &std::path::Path) -> String {
    let process = process.map(|id| format!("process {id}, ")).unwrap_or_default();
    let about = paint(DIM, &format!("({process}log in {})", log.display()));
    format!("{status}\n{about}\n")
}

/// Formats the output of `stop` once the daemon has exited.
pub(crate) fn stopped(socket: &str, process: i32) -> String {
    format!("the daemon at {socket} has stopped {}\n", paint(DIM, &format!("(process {process})")))
}

/// Formats the checks of `doctor`.
pub(crate) fn checks(checks: &[Check]) -> String {
    let mut out = String::new();
    for Check { name, outcome, message, advice } in checks {
        let mark = match outcome {
            CheckOutcome::Good => paint(GOOD, "✓"),
            CheckOutcome::Notice => paint(NOTICE, "!"),
            CheckOutcome::Bad => paint(BAD, "✗"),
        };
        let _ = writeln!(out, "{mark} {} {}", text::padded(name, 9), text::hanging(message, 12));
        if let Some(advice) = advice {
            let advice = text::hanging(&format!("→ {advice}"), 12);
            let _ = writeln!(out, "{:12}{}", "", paint(DIM, &advice));
        }
    }
    out
}

/// Formats the settings of `config show`: key, value and origin.
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
