//! Completions for shells and pages for `man`, made from the command line itself.

use std::path::Path;

use clap::CommandFactory as _;
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
