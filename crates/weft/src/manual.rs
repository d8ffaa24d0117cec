//! Shell completions and manual pages, generated from the command line definitions.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::Failure;

/// Generates the completion script for `shell`.
pub(crate) fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "weft", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Writes the completion script into `folder`, which is created if missing, and returns its path.
pub(crate) fn completions_into(shell: Shell, folder: &Path) -> Result<String, Failure> {
    let failed = |error| Failure::other(format!("cannot write to {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let path = clap_complete::generate_to(shell, &mut Cli::command(), "weft", folder);
    Ok(format!("{}\n", path.map_err(failed)?.display()))
}

/// Generates the manual page of `weft` itself, in roff.
pub(crate) fn page() -> Result<String, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(|error| Failure::other(format!("cannot write the page: {error}")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// Writes a manual page for `weft` and each of its commands into `folder`, which is created if missing, and returns a message.
pub(crate) fn pages(folder: &Path) -> Result<String, Failure> {
    let failed = |error| Failure::other(format!("cannot write to {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    // `help` repeats every command; separate pages for these would be duplicates.
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, folder).map_err(failed)?;
    Ok(format!("wrote the manual pages to {}\n", folder.display()))
}

/// Generates a Markdown page of all commands and flags; deterministic.
pub(crate) fn markdown() -> String {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let mut page = "# Commands\n\n\
        `weft help COMMAND` prints the same in a terminal, `weft man DIR` writes manual pages.\n\
        Exit codes: 0 success, 2 usage error, 3 not found, 4 request refused, 5 no daemon reachable, 1 any other error.\n\
        Answers go to standard output, progress and errors to standard error.\n"
        .to_owned();
    for command in root.get_subcommands() {
        section(&mut page, command, "weft");
    }
    page.push_str("\n## Global flags\n");
    arguments(&mut page, root.get_arguments().filter(|arg| arg.is_global_set()));
    page
}

/// Writes the section of a command, with usage and arguments, and the sections of its subcommands.
fn section(page: &mut String, command: &Command, above: &str) {
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
        section(page, below, &name);
    }
}

/// Writes a table of arguments; nothing without arguments.
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
            notes.push(format!("Environment variable `{}`.", variable.to_string_lossy()));
        }
        let what = [vec![sentence(&help)], notes].concat().join(" ").replace('|', "\\|");
        let _ = writeln!(rows, "| `{}` | {what} |", argument.to_string().replace('|', "\\|"));
    }
    if !rows.is_empty() {
        let _ = write!(page, "\n| Argument | Description |\n|---|---|\n{rows}");
    }
}

/// Joins `text` into one line that ends in punctuation.
fn sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() || text.ends_with(['.', '?', '!']) { text } else { text + "." }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn completion_scripts_contain_the_commands() {
        for shell in Shell::value_variants() {
            let script = completions(*shell);
            assert!(script.contains("resolve") && script.contains("weft"), "{shell}");
        }
    }

    #[test]
    fn command_reference_is_current() {
        let page = include_str!("../../../docs/commands.md");
        assert!(page == markdown(), "run `cargo xtask docs` and commit docs/commands.md");
    }

    #[test]
    fn each_command_has_a_manual_page() {
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
