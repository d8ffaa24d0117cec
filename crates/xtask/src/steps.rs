//! Steps of a check: programs that must succeed.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

/// An invocation of cargo.
pub(crate) struct Step<'a> {
    name: &'a str,
    arguments: &'a [&'a str],
    /// One environment variable and its value.
    environment: Option<(&'a str, &'a str)>,
    /// True if the step is skipped when cargo does not know the command.
    optional: bool,
}

/// Checks that a change must pass besides the tests.
pub(crate) const CHECK: &[Step<'_>] = &[
    Step::cargo("format", &["fmt", "--all", "--check"]),
    Step::cargo(
        "lints",
        &["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"],
    ),
    Step {
        environment: Some(("RUSTDOCFLAGS", "--deny warnings")),
        ..Step::cargo("documentation", &["doc", "--workspace", "--no-deps", "--locked"])
    },
    Step {
        optional: true,
        ..Step::cargo("licenses and sources", &["deny", "check", "licenses", "bans", "sources"])
    },
];

/// Returns the step that kills the daemon `kills` times under load.
pub(crate) const fn crash(kills: &str) -> Step<'_> {
    const ARGUMENTS: &[&str] =
        &["test", "--package", "weft", "--test", "weft", "crash", "--", "--nocapture"];
    Step { environment: Some(("WEFT_KILLS", kills)), ..Step::cargo("kills", ARGUMENTS) }
}

/// Returns the step that kills nodes and databases of a cluster `faults` times under load.
pub(crate) const fn drill(faults: &str) -> Step<'_> {
    const ARGUMENTS: &[&str] =
        &["test", "--workspace", "--test", "weft", "drill", "--", "--nocapture"];
    Step { environment: Some(("WEFT_DRILL", faults)), ..Step::cargo("drill", ARGUMENTS) }
}

/// Step that lets the disk fail at each operation of the store.
pub(crate) const EVERY_CHANGE: Step<'_> = Step {
    environment: Some(("WEFT_EVERY_CHANGE", "1")),
    ..Step::cargo(
        "changes",
        &["test", "--package", "weft-indexer", "--test", "it", "disk_failures"],
    )
};

impl<'a> Step<'a> {
    /// Returns a step that runs cargo with `arguments`.
    pub(crate) const fn cargo(name: &'a str, arguments: &'a [&'a str]) -> Self {
        Self { name, arguments, environment: None, optional: false }
    }
}

/// Runs every step, even after one has failed; returns true if all passed.
pub(crate) fn run_all(root: &Path, steps: &[Step<'_>]) -> anyhow::Result<bool> {
    let mut failed = Vec::new();
    for step in steps {
        if step.optional && !is_known(step.arguments)? {
            eprintln!("{}: skipped, `cargo {}` is not installed", step.name, step.arguments[0]);
        } else if !run(root, step)? {
            failed.push(step.name);
        }
    }
    match failed.as_slice() {
        [] => eprintln!("check: passed"),
        failed => eprintln!("check: failed in {}", failed.join(", ")),
    }
    Ok(failed.is_empty())
}

/// Runs one step; returns true if it passed.
pub(crate) fn run(root: &Path, step: &Step<'_>) -> anyhow::Result<bool> {
    eprintln!("{}: cargo {}", step.name, step.arguments.join(" "));
    let mut command = Command::new("cargo");
    command.args(step.arguments).envs(step.environment).current_dir(root);
    Ok(command.status().context("cannot start cargo")?.success())
}

/// Returns true if cargo knows the command.
fn is_known(arguments: &[&str]) -> anyhow::Result<bool> {
    let mut command = Command::new("cargo");
    command.args(&arguments[..1]).arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.status().context("cannot start cargo")?.success())
}
