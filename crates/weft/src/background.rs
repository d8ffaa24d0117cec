//! A background daemon without a service manager: `serve --detach` starts it, `stop` ends it.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde::Serialize;
use tokio::net::{UnixDatagram, UnixStream};
use weft_daemon::config::{Config, Sources};
use weft_daemon::{Environment, Paths, create_private_folder};

use crate::cli::Global;
use crate::client::config;
use crate::commands::{aside, render};
use crate::connection::{port, socket};
use crate::failure::Failure;
use crate::hint::Hint;
use crate::serve::{not_bound, say};
use crate::{print, service_manager};

/// Time for a daemon to exit, in addition to the time it grants running requests.
const EXIT_GRACE: Duration = Duration::from_secs(10);

/// Interval of checks whether a daemon has exited.
const EXIT_POLL: Duration = Duration::from_millis(20);

/// Interval between status lines during a slow start.
const STATUS_LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Number of log lines shown if the daemon did not start.
const LOG_LINES: usize = 20;

/// Starts this command without `--detach` in the background, and returns once the daemon is ready.
///
/// The daemon writes to a log file; if it exits before it is ready, the end of the log is shown.
pub(crate) async fn start(config: &Config, paths: &Paths, global: &Global) -> Result<(), Failure> {
    let failed = |action: &str, path: &Path, error: std::io::Error| {
        Failure::other(format!("cannot {action} {}: {error}", path.display()))
    };
    let name = port(&config.settings.server.address).filter(|port| *port != 0);
    let name = name.map_or_else(|| "weft".to_owned(), |port| port.to_string());
    // The log at this port belongs to the daemon that is running.
    if let Err(error) = weft_daemon::check_port(config, paths) {
        return Err(not_bound(error).await);
    }
    let Some(state) = paths.state() else {
        let message = "the log of a daemon in the background needs a folder of this user";
        return Err(Failure::usage(message).hint("set HOME or XDG_STATE_HOME"));
    };
    let log = state.join(format!("{name}.log"));
    create_private_folder(state).map_err(|error| {
        let message = format!("cannot create {}: {error}", state.display());
        Failure::no_folder(message, &error).hint("set XDG_STATE_HOME to a writable folder")
    })?;
    let mut options = std::fs::OpenOptions::new();
    let sink = options.create(true).append(true).mode(0o600).open(&log);
    let sink = sink.map_err(|error| failed("write", &log, error))?;
    let log_start = sink.metadata().map_or(0, |facts| facts.len());

    let notify_socket = state.join(format!("start-{}.sock", std::process::id()));
    let listening = UnixDatagram::bind(&notify_socket)
        .map_err(|error| failed("listen on", &notify_socket, error))?;
    let mut child = spawn(sink, &notify_socket)?;
    let outcome = tokio::select! {
        ended = child.wait() => {
            let code = ended.ok().and_then(|status| status.code()).unwrap_or(1);
            let text = std::fs::read(&log).unwrap_or_default();
            let text = text.get(usize::try_from(log_start).unwrap_or(0)..).unwrap_or_default();
            Err(Failure::daemon_exited(code, &tail(&String::from_utf8_lossy(text))))
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
    // It may have been removed already, and nothing else uses it.
    let _ = std::fs::remove_file(&notify_socket);
    let status = outcome?;
    let socket = config.settings.server.socket.as_str();
    let given = global.own_address().map(String::as_str);
    // Only the daemon knows a port chosen by the system.
    let chosen = || status.rsplit_once(" at ").map(|(_, place)| place.trim());
    let address = match given {
        Some(given) if given.ends_with(":0") => chosen().or(Some(given)),
        _ => given,
    };
    let hint = Hint::daemon(address);
    let stop = match (socket, child.id()) {
        // Without a socket, the process can only be found by its id.
        ("none", Some(process)) => format!("kill {process}"),
        ("none" | "auto", _) => hint.command("stop", &[], &[]),
        (path, _) => Hint::daemon(Some(&format!("unix:{path}"))).command("stop", &[], &[]),
    };
    let scheme = if config.settings.tls.certificate.is_some() { "https" } else { "http" };
    let place = chosen().and_then(|place| place.parse().ok()).map(weft_daemon::nearby);
    let page = place.map(|place| print::page(&format!("{scheme}://{place}"))).unwrap_or_default();
    let about = print::detached(&status, child.id(), &log);
    say(&(about + &page + &print::next(&[&hint.first_search(), &stop])));
    Ok(())
}

fn spawn(sink: std::fs::File, notify_socket: &Path) -> Result<tokio::process::Child, Failure> {
    let failed = |error: std::io::Error| Failure::other(format!("cannot start a process: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let arguments = std::env::args_os().skip(1).filter(|argument| argument != "--detach");
    let mut command = tokio::process::Command::new(program);
    command
        .args(arguments)
        .env(service_manager::SOCKET, notify_socket)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(sink)
        // Ctrl-C in this terminal must not reach the daemon.
        .process_group(0);
    command.spawn().map_err(failed)
}

/// Waits for the daemon's ready notification and returns its last status line.
async fn until_ready(listening: &UnixDatagram, log: &Path) -> String {
    let mut status = String::new();
    let mut shown = Instant::now();
    let mut buffer = [0; 4096];
    loop {
        // On an error the daemon's exit, which is awaited as well, ends the wait.
        let Ok(n) = listening.recv(&mut buffer).await else {
            std::future::pending::<()>().await;
            continue;
        };
        let text = String::from_utf8_lossy(&buffer[..n]);
        if let Some(line) = text.lines().find_map(|line| line.strip_prefix("STATUS=")) {
            line.clone_into(&mut status);
        }
        if text.lines().any(|line| line == "READY=1") {
            return status;
        }
        if shown.elapsed() >= STATUS_LINE_INTERVAL {
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

/// Signals the daemon at the address of the flags or the settings to stop, and waits until it has exited.
///
/// The kernel reports the process that listens on the daemon's Unix socket, so no PID file can be stale.
pub(crate) async fn stop(global: &Global) -> Result<String, Failure> {
    let (config, paths) = match config(global, &global.vault, &[]) {
        Ok(found) => found,
        // Invalid settings must not prevent stopping a daemon.
        Err(failure) => {
            let defaults = Config::load(&Sources::default(), &Environment::from_pairs(&[]));
            let defaults = defaults.map_err(|_| failure.clone())?;
            // A TOML syntax error spans several lines; the first one names the problem.
            let why = failure.message.lines().next().unwrap_or_default();
            aside(&print::warning(&format!("{why}; using the default settings")));
            (defaults, Paths::new(&Environment::read()))
        }
    };
    let server = &config.settings.server;
    let address = global.addr.as_ref().unwrap_or(&server.address);
    let socket = socket(address, &server.socket, &paths).ok_or_else(|| {
        Failure::usage(format!("no Unix socket is known for {address}, and `weft stop` needs it to find the process"))
            .hint("name the socket with --addr unix:PATH; stop a daemon without a socket with `kill` or its service manager")
    })?;
    let unreachable = |error: std::io::Error| {
        Failure::nothing_to_stop(&socket.display().to_string(), &error.to_string())
    };
    let stream = UnixStream::connect(&socket).await.map_err(unreachable)?;
    let pid = stream.peer_cred().map_err(unreachable)?.pid();
    let pid = pid.and_then(|pid| to_pid(pid.unsigned_abs())).ok_or_else(|| {
        Failure::other(format!("cannot determine which process listens on {}", socket.display()))
    })?;
    drop(stream);
    rustix::process::kill_process(pid, Signal::TERM)
        .map_err(|error| Failure::other(format!("cannot signal process {pid:?}: {error}")))?;
    let until = Instant::now() + Duration::from_millis(server.shutdown_ms) + EXIT_GRACE;
    // A daemon removes its socket last.
    while socket.exists() && rustix::process::test_kill_process(pid).is_ok() {
        if Instant::now() >= until {
            return Err(Failure::other(format!(
                "the daemon (process {}) was asked to stop but is still running",
                pid.as_raw_nonzero()
            )));
        }
        tokio::time::sleep(EXIT_POLL).await;
    }
    let answer =
        StoppedDaemon { socket: socket.display().to_string(), process: pid.as_raw_nonzero().get() };
    render(global.format, &answer, |StoppedDaemon { socket, process }| {
        print::stopped(socket, *process)
    })
}

/// The daemon that `stop` ended.
#[derive(Serialize)]
struct StoppedDaemon {
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
    fn tail_keeps_last_lines_of_log() {
        let text: String = (0..100).map(|n| format!("{n}\n")).collect();
        let tail = tail(&text);
        assert!(tail.starts_with("80\n") && tail.ends_with("\n99"));
    }
}
