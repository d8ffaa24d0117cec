//! Completions for shells and pages for `man`, made from the command line itself.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::Failure;

/// The script that completes commands and flags in `shell`.
pub(crate) fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "weft", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Writes that script into `folder`, which is made if need be; says what was written.
pub(crate) fn completions_into(shell: Shell, folder: &Path) -> Result<String, Failure> {
    let failed = |error| Failure::other(format!("cannot write to {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let path = clap_complete::generate_to(shell, &mut Cli::command(), "weft", folder);
    Ok(format!("{}\n", path.map_err(failed)?.display()))
}

/// The page about `weft` itself, in roff.
pub(crate) fn page() -> Result<String, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(|error| Failure::other(format!("cannot write the page: {error}")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// Writes a page for `weft` and each of its commands into `folder`, which is made if need be; says what was written.
pub(crate) fn pages(folder: &Path) -> Result<String, Failure> {
    let failed = |error| Failure::other(format!("cannot write to {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    // `help` repeats every command; a page for each of those says nothing new.
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, folder).map_err(failed)?;
    Ok(format!("the pages are in {}\n", folder.display()))
}

/// All commands and flags as one page of Markdown; always the same.
pub(crate) fn markdown() -> String {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let mut page = "# Commands\n\n\
        `weft help COMMAND` says the same at the prompt, `weft man DIR` writes pages for `man`.\n\
        Exit codes: 0 answered, 2 usage, 3 not found, 4 refused, 5 no daemon, 1 anything else.\n\
        Answers go to standard output, progress and errors to standard error.\n"
        .to_owned();
    for command in root.get_subcommands() {
        chapter(&mut page, command, "weft");
    }
    page.push_str("\n## Flags of every command\n");
    arguments(&mut page, root.get_arguments().filter(|arg| arg.is_global_set()));
    page
}

/// What a command does, how it is called, and what goes with it; then the same of those below it.
fn chapter(page: &mut String, command: &Command, above: &str) {
    let name = format!("{above} {}", command.get_name());
    let _ = writeln!(page, "\n## {name}");
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        let _ = writeln!(page, "\n{}", sentence(&about.to_string()));
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let _ = writeln!(page, "\n```text\n{usage}\n```");
    arguments(page, command.get_arguments().filter(|arg| !arg.is_global_set()));
    for below in command.get_subcommands() {
        chapter(page, below, &name);
    }
}

/// Rows of a table; nothing where there are none.
fn arguments<'a>(page: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    let mut rows = String::new();
    for argument in arguments
        .filter(|arg| !arg.is_hide_set() && arg.get_id() != "help" && arg.get_id() != "version")
    {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let mut notes = Vec::new();
        let values = argument.get_possible_values();
        if argument.get_action().takes_values() && !values.is_empty() {
            let values: Vec<String> =
                values.iter().map(|value| format!("`{}`", value.get_name())).collect();
            notes.push(format!("One of {}.", values.join(", ")));
        }
        let defaults: Vec<String> = argument
            .get_default_values()
            .iter()
            .map(|value| format!("`{}`", value.to_string_lossy()))
            .collect();
        if argument.get_action().takes_values()
            && !defaults.is_empty()
            && !argument.is_hide_default_value_set()
        {
            notes.push(format!("Default {}.", defaults.join(", ")));
        }
        if let Some(variable) = argument.get_env() {
            notes.push(format!("Variable `{}`.", variable.to_string_lossy()));
        }
        let what = [vec![sentence(&help)], notes].concat().join(" ").replace('|', "\\|");
        let _ = writeln!(rows, "| `{}` | {what} |", argument.to_string().replace('|', "\\|"));
    }
    if !rows.is_empty() {
        let _ = write!(page, "\n| Argument | What it is |\n|---|---|\n{rows}");
    }
}

/// `text` on one line, with a full stop.
fn sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() || text.ends_with(['.', '?', '!']) { text } else { text + "." }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_shell_gets_a_script_that_knows_the_commands() {
        for shell in Shell::value_variants() {
            let script = completions(*shell);
            assert!(script.contains("resolve") && script.contains("weft"), "{shell}");
        }
    }

    #[test]
    fn the_page_of_commands_is_current() {
        let page = include_str!("../../../docs/commands.md");
        assert!(page == markdown(), "run `cargo xtask docs` and commit docs/commands.md");
    }

    #[test]
    fn each_command_has_its_page() {
        let folder = tempfile::tempdir().unwrap();
        pages(folder.path()).unwrap();
        for command in Cli::command().get_subcommands() {
            let file = folder.path().join(format!("weft-{}.1", command.get_name()));
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            assert!(text.contains(".TH"), "{}", file.display());
        }
        assert!(page().unwrap().contains(".TH"));
    }
}
