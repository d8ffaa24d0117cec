//! `cargo xtask`: checks and tasks of the workspace.
//!
//! `check` runs every check that a change must pass besides the tests: format, lints, documentation, dependencies, layers, rules for files.
//! Layers and rules for files are also tests of this package, so `cargo test --workspace` covers them.
#![forbid(unsafe_code)]
#![expect(clippy::print_stderr, clippy::print_stdout, reason = "this program prints for people")]

mod bench;
mod dist;
mod docs;
mod import_cycles;
mod layers;
mod manifest;
mod rust_source;
mod steps;
mod tidy;
mod type_names;
mod unigram_table;
mod wording;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask check            every check except the tests
       cargo xtask tidy             only layers and rules for files, in a second
       cargo xtask crash [KILLS]    kills the daemon KILLS times (default 200), then fails every disk operation once
       cargo xtask drill [FAULTS]   kills nodes and databases of a cluster FAULTS times (default 200)
       cargo xtask bench [ARGS]     runs the benches with arguments for cargo bench, then prints a table
       cargo xtask docs             generates the pages of commands and settings
       cargo xtask dist [--binary PATH] [--out DIR]
                                    builds a release, or takes the program at PATH, and packs it into target/dist or DIR
       cargo xtask unigram-table TOKENIZER_JSON TABLE
                                    writes the compact table of a unigram tokenizer";

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = root();
    let passed = match arguments.as_slice() {
        ["check"] => {
            let is_tidy = tidy(root)?;
            steps::run_all(root, steps::CHECK)? && is_tidy
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
        ["drill", faults @ ..] if faults.len() < 2 => {
            steps::run(root, &steps::drill(faults.first().copied().unwrap_or("200")))?
        }
        ["unigram-table", source, table] => {
            unigram_table::write(Path::new(source), Path::new(table))?;
            true
        }
        ["dist", rest @ ..] => match dist::Options::parse(rest) {
            Some(options) => dist::run(root, &target(root), &options)?,
            None => return usage(),
        },
        _ => return usage(),
    };
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints how to call this program, and returns the exit code for arguments that it does not understand.
fn usage() -> anyhow::Result<ExitCode> {
    eprintln!("{USAGE}");
    Ok(ExitCode::from(2))
}

/// Returns the folder of the workspace.
fn root() -> &'static Path {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.ancestors().nth(2).expect("this package is two folders below the workspace")
}

/// Returns cargo's target folder.
#[expect(clippy::disallowed_methods, reason = "cargo reads the same variable")]
fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Prints every breach of layers and rules, and every broken link; returns true if it finds no breach.
fn tidy(root: &Path) -> anyhow::Result<bool> {
    let mut breaches = layers::breaches(&manifest::members(root)?);
    let files = tidy::tracked(root)?;
    breaches.extend(tidy::breaches(&files));
    breaches.extend(docs::broken_links(root, &files));
    let sources = rust_source::sources(&files);
    breaches.extend(import_cycles::breaches(&sources));
    breaches.extend(type_names::breaches(&sources));
    for breach in &breaches {
        eprintln!("{breach}");
    }
    eprintln!("tidy: {} breaches", breaches.len());
    Ok(breaches.is_empty())
}
