//! `weft`: a search engine for a folder of Markdown notes, as a daemon and at the prompt.
#![forbid(unsafe_code)]

mod asker;
#[cfg_attr(not(unix), path = "no_background.rs")]
mod background;
mod backup;
mod bench;
mod cli;
mod commands;
mod context;
mod doctor;
mod eval;
mod export;
mod failure;
mod flags;
mod handover;
mod hint;
mod manual;
mod notify;
mod percentile;
mod print;
mod progress;
mod question;
mod ranking;
mod reach;
mod records;
mod related;
mod serve;
mod walk;
mod write;

use std::io::Write as _;
use std::process::ExitCode;

use crate::cli::Cli;
use crate::failure::Failure;

/// The allocator of the whole program.
///
/// What notes are made of is let go on other threads than made it, and each commit has a thread of its own: glibc's is slower at the one, and keeps more after the other.
#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Lets the allocator give memory back to the system on a thread of its own, and not in the middle of what another does: at the end of each thread, above all.
fn purge_in_background() {
    #[cfg(unix)]
    {
        use tikv_jemalloc_ctl::{background_thread, max_background_threads};
        // One, at once: it would start others later, over and over where the system has none to give.
        let one = max_background_threads::write(1);
        if one.and_then(|()| background_thread::write(true)).is_err() {
            // It would go on as if there were one that gives memory back.
            let _ = background_thread::write(false);
        }
    }
}

/// Lets a file that grows beyond the limit of its process (`ulimit -f`) be an error like that of a full disk, and no end without a word.
fn outlive_limits() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        /// The number of SIGXFSZ on Linux, macOS and the BSDs.
        const FILE_TOO_LARGE: i32 = 25;
        // Who listens for a signal once is not ended by it any more.
        let _ = signal(SignalKind::from_raw(FILE_TOO_LARGE));
    }
}

fn main() -> ExitCode {
    let cli = Cli::read();
    purge_in_background();
    let runtime = match weft_daemon::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&Failure::other(format!("cannot start: {error}"))),
    };
    let outcome = runtime.block_on(async {
        outlive_limits();
        commands::run(cli).await
    });
    // What still blocks has been told to stop; nothing is left to wait for.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => fail(&failure),
    }
}

/// Tells a person why there is no answer. Standard output stays empty.
fn fail(failure: &Failure) -> ExitCode {
    let mut out = anstream::stderr().lock();
    // Nobody is left to tell when standard error is closed.
    drop(write!(out, "{}", print::failure(failure)));
    ExitCode::from(failure.code)
}
