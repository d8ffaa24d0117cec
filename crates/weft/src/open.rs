//! `weft open`: opens the file of a note in an editor, at the line of a heading, block or passage.

use std::path::Path;
use std::process::Command as Process;

use weft_daemon::Environment;
use weft_daemon::config::{Config, NoteOpener};
use weft_proto::noteweft::v1::{LocateNoteRequest, LocateNoteResponse};

use crate::cli::{Format, Global};
use crate::client::{Client, config};
use crate::commands::{aside, json, write, write_plain};
use crate::editor::{self, EditTarget};
use crate::failure::Failure;
use crate::print;

/// Maximum number of notes of the same name that an error lists.
const SHOWN_NAMES: usize = 5;

/// Opens a note, or prints its place.
pub(crate) async fn run(global: &Global, name: String, only_print: bool) -> Result<(), Failure> {
    if global.as_of.is_some() {
        return Err(Failure::usage("a past generation has no files to open; omit --as-of"));
    }
    let client = Client::open(global).await?;
    let request = LocateNoteRequest { name, ..LocateNoteRequest::default() };
    let found = locate(&client, request, global).await;
    // The editor may run for hours, and the index stays locked until the client is closed.
    client.close().await;
    let place = found?;
    aside(&print::warnings(&place.warnings));
    match global.format {
        Format::Json | Format::Records | Format::Graphml | Format::Dot => {
            write_plain(&json(&place)?)
        }
        Format::Human if only_print => write(&print::place(&place)),
        Format::Human => {
            let (config, _) = config(global, &global.vault, &[])?;
            open(&place, &config, &Environment::read())
        }
    }
}

/// Requests the place of a note; fails if the name is ambiguous.
async fn locate(
    client: &Client,
    request: LocateNoteRequest,
    global: &Global,
) -> Result<LocateNoteResponse, Failure> {
    let name = request.name.clone();
    let request = client.prepare(request, global).await?;
    let place = client.notes().locate_note(request).await?.into_inner();
    match ambiguity(&name, &place) {
        Some(failure) => Err(failure),
        None => Ok(place),
    }
}

/// Returns the failure for a name that several notes have.
fn ambiguity(name: &str, place: &LocateNoteResponse) -> Option<Failure> {
    let n_more = place.same_name.len().checked_sub(SHOWN_NAMES);
    let others = place.same_name.iter().take(SHOWN_NAMES).map(|other| &other.uri);
    let names: Vec<String> = std::iter::once(&place.uri)
        .chain(others)
        .map(|uri| format!("`{}`", print::harmless(uri)))
        .collect();
    if names.len() < 2 {
        return None;
    }
    let more = match n_more {
        Some(n @ 1..) => format!(" and {n} more"),
        Some(0) | None => String::new(),
    };
    let message =
        format!("`{}` names several notes: {}{more}", print::harmless(name), names.join(", "));
    Some(Failure::usage(message).hint("use one of these names"))
}

/// Opens the file of a note as the settings say, and waits for the program.
pub(crate) fn open(
    place: &LocateNoteResponse,
    config: &Config,
    environment: &Environment,
) -> Result<(), Failure> {
    if !Path::new(&place.file).exists() {
        let message = format!(
            "{} is not on this machine: the daemon reads it on another one",
            print::harmless(&place.file)
        );
        let hint = "`weft get` shows the note, and `weft put` replaces it";
        return Err(Failure::other(message).hint(hint));
    }
    let LocateNoteResponse { file, line, column, uri, vscode_url, obsidian_url, .. } = place;
    let target = EditTarget { file: file.clone(), line: *line, column: *column, uri: uri.clone() };
    let refused = |reason: String| Failure::from(config.refuse("open.with", reason));
    match config.settings.open.opener().map_err(refused)? {
        NoteOpener::Editor => match editor::of_environment(environment).map_err(Failure::usage)? {
            Some(command) => start(&editor::command_line(&command, &target)),
            None => Err(Failure::usage("no editor is known")
                .hint("set VISUAL or EDITOR, such as EDITOR=vim, or the setting `open.with`")),
        },
        NoteOpener::Command(command) => start(&editor::command_line(&command, &target)),
        NoteOpener::VsCode => match editor::find_program("code", environment) {
            Some(program) => {
                let command = [program.to_string_lossy().into_owned()];
                start(&editor::command_line(&command, &target))
            }
            None => follow(vscode_url),
        },
        NoteOpener::Obsidian => follow(obsidian_url),
    }
}

/// Opens a link with the program that the system registers for it.
fn follow(url: &str) -> Result<(), Failure> {
    let words: &[&str] = if cfg!(target_os = "macos") {
        &["open", url]
    } else if cfg!(windows) {
        &["rundll32", "url.dll,FileProtocolHandler", url]
    } else {
        &["xdg-open", url]
    };
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    start(&words).map_err(|failure| failure.hint(format!("open this link yourself: {url}")))
}

/// Runs a command line and waits for its end.
fn start(words: &[String]) -> Result<(), Failure> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Failure::usage("the command is empty"));
    };
    let shown = print::harmless(program);
    let ended = Process::new(program).args(arguments).status();
    let ended = ended.map_err(|error| {
        Failure::other(format!("cannot run `{shown}`: {error}"))
            .hint("set VISUAL or EDITOR, or the setting `open.with`")
    })?;
    if ended.success() {
        return Ok(());
    }
    Err(Failure::other(format!("`{shown}` failed: {ended}")))
}

#[cfg(test)]
mod tests {
    use weft_proto::noteweft::v1::NoteRef;

    use super::*;

    #[test]
    fn ambiguous_name_lists_the_notes() {
        let other = |n: usize| NoteRef { uri: format!("b{n}/moss"), title: "Moss".into() };
        let place = |n: usize| LocateNoteResponse {
            uri: "a/moss".into(),
            same_name: (0..n).map(other).collect(),
            ..LocateNoteResponse::default()
        };
        assert_eq!(ambiguity("moss", &place(0)), None);
        let failure = ambiguity("moss", &place(1)).unwrap();
        assert_eq!(failure.message, "`moss` names several notes: `a/moss`, `b0/moss`");
        assert_eq!(failure.code, 2);
        let message = ambiguity("moss", &place(7)).unwrap().message;
        assert!(message.ends_with("`b4/moss` and 2 more"), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn failed_program_is_reported() {
        let run =
            |words: &[&str]| start(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(run(&["true"]).is_ok());
        assert!(run(&["false"]).unwrap_err().message.starts_with("`false` failed: "));
        assert!(run(&["/no/such/editor", "x"]).unwrap_err().message.starts_with("cannot run"));
    }
}
