//! The steps of a check: other programs that must succeed.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

/// A call of cargo.
pub(crate) struct Step<'a> {
    name: &'a str,
    arguments: &'a [&'a str],
    /// One variable of the environment, and its value.
    environment: Option<(&'a str, &'a str)>,
    /// Whether it is left out where cargo does not know the command.
    optional: bool,
}

/// What a change must pass besides the tests.
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
        ..Step::cargo("licences and sources", &["deny", "check", "licenses", "bans", "sources"])
    },
];

/// The daemon, killed `kills` times while everything changes.
pub(crate) const fn crash(kills: &str) -> Step<'_> {
    const ARGUMENTS: &[&str] =
        &["test", "--package", "weft", "--test", "weft", "crash", "--", "--nocapture"];
    Step { environment: Some(("WEFT_KILLS", kills)), ..Step::cargo("kills", ARGUMENTS) }
}

/// A store whose disk fails at each of its changes.
pub(crate) const EVERY_CHANGE: Step<'_> = Step {
    environment: Some(("WEFT_EVERY_CHANGE", "1")),
    ..Step::cargo("changes", &["test", "--package", "weft-indexer", "--test", "it", "trouble"])
};

/// What packages hold beside the program: pages for `man` and completions, written by the program itself.
pub(crate) const DIST: &[Step<'_>] = &[
    Step::cargo(
        "pages",
        &["run", "--release", "--locked", "--package", "weft", "--", "man", "target/dist/man"],
    ),
    Step::cargo(
        "bash",
        &[
            "run",
            "--release",
            "--locked",
            "--package",
            "weft",
            "--",
            "completions",
            "bash",
            COMPLETIONS,
        ],
    ),
    Step::cargo(
        "zsh",
        &[
            "run",
            "--release",
            "--locked",
            "--package",
            "weft",
            "--",
            "completions",
            "zsh",
            COMPLETIONS,
        ],
    ),
    Step::cargo(
        "fish",
        &[
            "run",
            "--release",
            "--locked",
            "--package",
            "weft",
            "--",
            "completions",
            "fish",
            COMPLETIONS,
        ],
    ),
];

const COMPLETIONS: &str = "target/dist/completions";

impl<'a> Step<'a> {
    /// A call of cargo with `arguments`.
    pub(crate) const fn cargo(name: &'a str, arguments: &'a [&'a str]) -> Self {
        Self { name, arguments, environment: None, optional: false }
    }
}

/// Runs every step, also after one has failed; true where all passed.
pub(crate) fn run_all(root: &Path, steps: &[Step<'_>]) -> anyhow::Result<bool> {
    let mut failed = Vec::new();
    for step in steps {
        if step.optional && !is_known(step.arguments)? {
            eprintln!("{}: left out, `cargo {}` is not installed", step.name, step.arguments[0]);
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

/// Runs one step; whether it passed.
pub(crate) fn run(root: &Path, step: &Step<'_>) -> anyhow::Result<bool> {
    eprintln!("{}: cargo {}", step.name, step.arguments.join(" "));
    let mut command = Command::new("cargo");
    command.args(step.arguments).envs(step.environment).current_dir(root);
    Ok(command.status().context("cargo cannot be started")?.success())
}

/// Whether cargo knows the command that `arguments` begin with.
fn is_known(arguments: &[&str]) -> anyhow::Result<bool> {
    let mut command = Command::new("cargo");
    command.args(&arguments[..1]).arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.status().context("cargo cannot be started")?.success())
}
