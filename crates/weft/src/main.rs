//! `weft`: a search engine for Markdown notes, as a daemon and on the command line.
#![forbid(unsafe_code)]

#[cfg_attr(not(unix), path = "no_background.rs")]
mod background;
mod backup;
mod bench;
mod cli;
mod cli_request;
mod client;
mod cluster;
mod commands;
mod connection;
mod context;
mod doctor;
mod editor;
mod eval;
mod export;
mod failure;
mod flags;
mod handover;
mod hint;
mod hygiene;
mod interactive;
mod manual;
mod open;
mod percentile;
mod print;
mod progress;
mod ranking;
mod records;
mod related;
mod serve;
#[cfg_attr(not(unix), path = "no_service_manager.rs")]
mod service_manager;
mod walk;
mod write;

use std::io::Write as _;
use std::process::ExitCode;

use crate::cli::Cli;
use crate::failure::Failure;

/// Allocator of the whole program.
///
/// Notes are freed on other threads than those that allocated them, and each commit runs on its own thread. In both cases glibc's allocator is slower or keeps more memory afterwards.
#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Makes the allocator return memory to the system on its own thread, instead of interrupting other work, above all at the end of each thread.
fn purge_in_background() {
    #[cfg(unix)]
    {
        use tikv_jemalloc_ctl::{background_thread, max_background_threads};
        // One thread, started now: otherwise jemalloc starts more of them later, and retries forever if the system has no thread to give.
        let one = max_background_threads::write(1);
        if one.and_then(|()| background_thread::write(true)).is_err() {
            // Otherwise jemalloc would rely on a background thread that does not exist.
            let _ = background_thread::write(false);
        }
    }
}

/// Turns exceeding the file size limit of the process (`ulimit -f`) into an error like that of a full disk, instead of a silent exit.
fn outlive_limits() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        /// Number of SIGXFSZ on Linux, macOS and the BSDs.
        const FILE_TOO_LARGE: i32 = 25;
        // Registering a handler once disables the default action for the rest of the process.
        let _ = signal(SignalKind::from_raw(FILE_TOO_LARGE));
    }
}

fn main() -> ExitCode {
    // Before anything else: the memory that the process has by then is not limited.
    if let Some(succeeded) = weft_daemon::run_as_child(std::env::args_os().skip(1)) {
        return if succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
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
    // Blocking tasks have been asked to stop, so there is nothing to wait for.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => fail(&failure),
    }
}

/// Prints the failure to standard error and returns the exit code. Standard output stays empty.
fn fail(failure: &Failure) -> ExitCode {
    let mut out = anstream::stderr().lock();
    // If standard error is closed, there is no other place to report to.
    drop(write!(out, "{}", print::failure(failure)));
    ExitCode::from(failure.code)
}
