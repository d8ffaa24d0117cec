//! A daemon in the background where no service manager runs: `serve --detach` starts one, `stop` ends it.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde::Serialize;
use tokio::net::{UnixDatagram, UnixStream};
use weft_daemon::config::{Config, Sources};
use weft_daemon::{Environment, Paths};

use crate::asker::config;
use crate::cli::Global;
use crate::commands::{aside, render};
use crate::failure::Failure;
use crate::hint::Hint;
use crate::reach::{port, socket};
use crate::serve::say;
use crate::{notify, print};

/// How long to let a daemon end beyond what it lets running questions go on.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two looks at whether a daemon is gone.
const PULSE: Duration = Duration::from_millis(20);

/// Between two lines about a start that takes its time.
const LINES_APART: Duration = Duration::from_secs(10);

/// Lines of a daemon's log that are shown where it did not start.
const LOG_LINES: usize = 20;

/// Starts this same command without `--detach` in the background, and returns when it serves.
///
/// What the daemon says goes into a log; where it ends before it serves, the end of that log is shown.
pub(crate) async fn start(config: &Config, paths: &Paths, global: &Global) -> Result<(), Failure> {
    let failed = |action: &str, path: &Path, error: std::io::Error| {
        Failure::other(format!("cannot {action} {}: {error}", path.display()))
    };
    let name = port(&config.settings.server.address).filter(|port| *port != 0);
    let name = name.map_or_else(|| "weft".to_owned(), |port| port.to_string());
    let log = paths.state().join(format!("{name}.log"));
    std::fs::create_dir_all(paths.state())
        .map_err(|error| failed("create", paths.state(), error))?;
    let mut options = std::fs::OpenOptions::new();
    let sink = options.create(true).append(true).open(&log);
    let sink = sink.map_err(|error| failed("write", &log, error))?;
    let already = sink.metadata().map_or(0, |facts| facts.len());

    let ear = paths.state().join(format!("start-{}.sock", std::process::id()));
    let listening = UnixDatagram::bind(&ear).map_err(|error| failed("listen on", &ear, error))?;
    let mut child = spawn(sink, &ear)?;
    let outcome = tokio::select! {
        ended = child.wait() => {
            let code = ended.ok().and_then(|status| status.code()).unwrap_or(1);
            let text = std::fs::read(&log).unwrap_or_default();
            let text = text.get(usize::try_from(already).unwrap_or(0)..).unwrap_or_default();
            Err(Failure::ended(code, &tail(&String::from_utf8_lossy(text))))
        }
        status = until_ready(&listening, &log) => Ok(status),
        () = interrupted() => {
            if let Some(pid) = child.id().and_then(to_pid) {
                let _ = rustix::process::kill_process(pid, Signal::TERM);
            }
            drop(child.wait().await);
            Err(Failure::interrupted())
        }
    };
    // It may be gone already, and nothing else uses it.
    let _ = std::fs::remove_file(&ear);
    let status = outcome?;
    let socket = config.settings.server.socket.as_str();
    let stop = match (socket, child.id()) {
        // Without a socket nobody else knows the process.
        ("none", Some(process)) => format!("kill {process}"),
        ("none" | "auto", _) => {
            let address = global.own_address().map(String::as_str);
            // A port that the system chose is told by the daemon alone.
            let told = || status.rsplit_once(" at ").map(|(_, place)| place.trim());
            let address = match address {
                Some(asked) if asked.ends_with(":0") => told().or(address),
                _ => address,
            };
            Hint::daemon(address).command(&["stop"])
        }
        (path, _) => Hint::daemon(Some(&format!("unix:{path}"))).command(&["stop"]),
    };
    say(&print::detached(&status, child.id(), &log, &stop));
    Ok(())
}

fn spawn(sink: std::fs::File, ear: &Path) -> Result<tokio::process::Child, Failure> {
    let failed = |error: std::io::Error| Failure::other(format!("cannot start a process: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let arguments = std::env::args_os().skip(1).filter(|argument| argument != "--detach");
    let mut command = tokio::process::Command::new(program);
    command
        .args(arguments)
        .env(notify::SOCKET, ear)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(sink)
        // Ctrl-C at this terminal is not meant for it.
        .process_group(0);
    command.spawn().map_err(failed)
}

/// Waits for the notice that the daemon serves; gives the last status it told.
async fn until_ready(listening: &UnixDatagram, log: &Path) -> String {
    let mut status = String::new();
    let mut shown = Instant::now();
    let mut buffer = [0; 4096];
    loop {
        // An error here ends with the daemon, which is waited for as well.
        let Ok(n) = listening.recv(&mut buffer).await else {
            std::future::pending::<()>().await;
            continue;
        };
        let text = String::from_utf8_lossy(&buffer[..n]);
        if let Some(told) = text.lines().find_map(|line| line.strip_prefix("STATUS=")) {
            told.clone_into(&mut status);
        }
        if text.lines().any(|line| line == "READY=1") {
            return status;
        }
        if shown.elapsed() >= LINES_APART {
            shown = Instant::now();
            say(&format!("{status} (log: {})\n", log.display()));
        }
    }
}

async fn interrupted() {
    drop(tokio::signal::ctrl_c().await);
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

/// Asks the daemon at the address of the flags or the settings to end, and waits until it has.
///
/// The kernel tells which process listens on the daemon's Unix socket, so there is no number in a file that could be wrong.
pub(crate) async fn stop(global: &Global) -> Result<String, Failure> {
    let (config, paths) = match config(global, &global.vault, &[]) {
        Ok(found) => found,
        // A mistake in the settings must not keep a daemon from being ended.
        Err(failure) => {
            let usual = Config::load(&Sources::default(), &Environment::from_pairs(&[]));
            let usual = usual.map_err(|_| failure.clone())?;
            // What is no TOML is shown as a picture; its first line says so.
            let why = failure.message.lines().next().unwrap_or_default();
            aside(&print::warning(&format!("{why}; the usual settings are taken")));
            (usual, Paths::new(&Environment::read()))
        }
    };
    let server = &config.settings.server;
    let address = global.addr.as_ref().unwrap_or(&server.address);
    let socket = socket(address, &server.socket, &paths).ok_or_else(|| {
        Failure::usage(format!("no Unix socket belongs to {address}, and by that alone `weft stop` knows the process"))
            .hint("name another socket with --addr unix:PATH; end a daemon without one with `kill`, or by its service manager")
    })?;
    let unreachable = |error: std::io::Error| {
        Failure::unreachable(&socket.display().to_string(), &error.to_string())
    };
    let stream = UnixStream::connect(&socket).await.map_err(unreachable)?;
    let pid = stream.peer_cred().map_err(unreachable)?.pid();
    let pid = pid.and_then(|pid| to_pid(pid.unsigned_abs())).ok_or_else(|| {
        Failure::other(format!("this system does not say who listens on {}", socket.display()))
    })?;
    drop(stream);
    rustix::process::kill_process(pid, Signal::TERM)
        .map_err(|error| Failure::other(format!("cannot signal process {pid:?}: {error}")))?;
    let until = Instant::now() + Duration::from_millis(server.shutdown_ms) + PATIENCE;
    // Its socket is the last thing that a daemon takes away.
    while socket.exists() && rustix::process::test_kill_process(pid).is_ok() {
        if Instant::now() >= until {
            return Err(Failure::other(format!(
                "the daemon (process {}) was told to stop and still runs",
                pid.as_raw_nonzero()
            )));
        }
        tokio::time::sleep(PULSE).await;
    }
    let answer =
        Stopped { socket: socket.display().to_string(), process: pid.as_raw_nonzero().get() };
    render(global.format, &answer, |Stopped { socket, process }| print::stopped(socket, *process))
}

/// The daemon that `stop` ended.
#[derive(Serialize)]
struct Stopped {
    socket: String,
    process: i32,
}

fn to_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_its_last_lines() {
        let text: String = (0..100).map(|n| format!("{n}\n")).collect();
        let tail = tail(&text);
        assert!(tail.starts_with("80\n") && tail.ends_with("\n99"));
    }
}
