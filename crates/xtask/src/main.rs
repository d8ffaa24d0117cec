//! `cargo xtask`: what keeps the house in order.
//!
//! `check` is all that a change must pass besides the tests: format, lints, documentation, dependencies, layers, tidiness.
//! Layers and tidiness are tests of this package too, so `cargo test --workspace` guards them.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "people read what this program says"
)]

mod bench;
mod docs;
mod layers;
mod manifest;
#[cfg(test)]
mod package;
mod steps;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask check            everything but the tests
       cargo xtask tidy             layers and tidiness alone, in a second
       cargo xtask crash [KILLS]    the daemon, killed so often (200), and a disk that fails at every change
       cargo xtask bench [ARGS]     the benches, with arguments for cargo bench; then a table of what they measured
       cargo xtask docs             the pages that are made of the program: commands and settings
       cargo xtask dist             what goes into packages beside the program, into target/dist";

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = root();
    let passed = match arguments.as_slice() {
        ["check"] => {
            let in_order = tidy(root)?;
            steps::run_all(root, steps::CHECK)? && in_order
        }
        ["tidy"] => tidy(root)?,
        ["bench", rest @ ..] => bench::run(root, &target(root).join("criterion"), rest)?,
        ["docs"] => {
            docs::write(root)?;
            true
        }
        ["crash", kills @ ..] if kills.len() < 2 => {
            let kills = kills.first().copied().unwrap_or("200");
            steps::run(root, &steps::crash(kills))? && steps::run(root, &steps::EVERY_CHANGE)?
        }
        ["dist"] => steps::run_all(root, steps::DIST)?,
        _ => {
            eprintln!("{USAGE}");
            return Ok(ExitCode::from(2));
        }
    };
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The folder of the workspace.
fn root() -> &'static Path {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.ancestors().nth(2).expect("this package lies two folders below the workspace")
}

/// Where cargo builds.
#[expect(clippy::disallowed_methods, reason = "cargo asks the environment, too")]
fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Says every breach of layers and tidiness, and every broken link; true where there is none.
fn tidy(root: &Path) -> anyhow::Result<bool> {
    let mut breaches = layers::breaches(&manifest::members(root)?);
    let files = tidy::tracked(root)?;
    breaches.extend(tidy::breaches(&files));
    breaches.extend(docs::broken_links(root, &files));
    for breach in &breaches {
        eprintln!("{breach}");
    }
    eprintln!("tidy: {} breaches", breaches.len());
    Ok(breaches.is_empty())
}
