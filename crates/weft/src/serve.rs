//! `weft serve`: the daemon in the foreground, and a first question.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use weft_daemon::config::Config;
use weft_daemon::{Daemon, ServeError};
use weft_proto::noteweft::v1::{Phase, SearchRequest, StatusRequest, StatusResponse};

use crate::asker::{Asker, config};
use crate::cli::{Format, Global};
use crate::commands::{render, write};
use crate::failure::Failure;
use crate::hint::Hint;
use crate::print;
use crate::progress::Progress;

/// Between two looks at how far the daemon is.
const PULSE: Duration = Duration::from_millis(100);

/// Serves until a signal comes, and asks `question` on the way.
pub(crate) async fn run(
    global: &Global,
    vaults: &[PathBuf],
    question: Option<&str>,
    socket: Option<String>,
) -> Result<(), Failure> {
    let address = global.addr.iter().map(|address| ("server.address", address.clone(), "--addr"));
    let socket = socket.into_iter().map(|path| ("server.socket", path, "--socket"));
    let more: Vec<_> = address.chain(socket).collect();
    let vaults = if vaults.is_empty() { &global.vault } else { vaults };
    let (config, paths) = config(global, vaults, &more)?;
    start_log(&config)?;
    let usual =
        config.settings.server.address == weft_daemon::config::ServerSettings::default().address;
    let daemon = Daemon::bind(config, paths).await?;
    let address = daemon.address().to_string();
    let socket = daemon.socket().map(|path| path.display().to_string());
    let hint = Hint::daemon((!usual).then_some(address.as_str()));

    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(daemon.run(async {
        // A sender that is gone means the end as well.
        drop(stopped.await);
    }));
    tokio::pin!(running);
    let greeting = greet(&address, socket.as_deref(), question, global.format, hint);
    let outcome = tokio::select! {
        ended = &mut running => return over(ended),
        () = signal() => Ok(()),
        greeted = greeting => match greeted {
            Ok(()) => tokio::select! {
                ended = &mut running => return over(ended),
                () = signal() => Ok(()),
            },
            Err(failure) => Err(failure),
        },
    };
    if outcome.is_ok() {
        say(&print::stopping());
    }
    let _ = stop.send(());
    // Where the daemon failed, its own reason says more than what the greeting met.
    over(running.await).and(outcome)
}

fn over(ended: Result<Result<(), ServeError>, tokio::task::JoinError>) -> Result<(), Failure> {
    match ended {
        Ok(outcome) => outcome.map_err(Failure::from),
        Err(_) => Err(Failure::other("the daemon came to a sudden end")),
    }
}

/// Waits until the daemon serves, says so, and asks `question` over its own socket.
async fn greet(
    address: &str,
    socket: Option<&str>,
    question: Option<&str>,
    format: Format,
    hint: Hint,
) -> Result<(), Failure> {
    let asker = Asker::connect(address, hint).await?;
    let mut progress = Progress::new();
    while !serves(&asker).await? {
        if let Ok(status) = asker.admin().status(StatusRequest {}).await {
            progress.show(&status.get_ref().into());
        }
        tokio::time::sleep(PULSE).await;
    }
    let status = match question {
        None => asker.admin().status(StatusRequest {}).await?.into_inner(),
        Some(_) => until_ready(&asker, &mut progress).await?,
    };
    progress.end();
    say(&print::serving(&status, address, socket));
    let Some(question) = question else {
        say(&print::next(&[&asker.hint.command(&["search", "a question in your own words"])]));
        return Ok(());
    };
    let request = SearchRequest { query: question.to_owned(), ..SearchRequest::default() };
    let answer = asker.search().search(request).await?.into_inner();
    write(&render(format, &answer, |answer| print::search(question, answer, &asker.hint))?)?;
    say(&print::stays(address));
    Ok(())
}

/// Whether the daemon says that it serves.
async fn serves(asker: &Asker) -> Result<bool, Failure> {
    let Some(channel) = asker.channel() else { return Ok(true) };
    let asked = HealthCheckRequest { service: String::new() };
    let health = HealthClient::new(channel).check(asked).await?.into_inner();
    Ok(health.status() == ServingStatus::Serving)
}

/// Waits until words, links and vectors are in.
async fn until_ready(asker: &Asker, progress: &mut Progress) -> Result<StatusResponse, Failure> {
    loop {
        let status = asker.admin().status(StatusRequest {}).await?.into_inner();
        if status.phase() == Phase::Ready && status.n_vectors_pending == 0 {
            return Ok(status);
        }
        progress.show(&(&status).into());
        tokio::time::sleep(PULSE).await;
    }
}

/// Returns at Ctrl-C or when the system asks to end.
async fn signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    drop(tokio::signal::ctrl_c().await);
}

/// Tells a person something beside the answer.
fn say(text: &str) {
    // A closed standard error must not end the daemon.
    drop(anstream::stderr().lock().write_all(text.as_bytes()));
}

fn start_log(config: &Config) -> Result<(), Failure> {
    let filter = &config.settings.log.filter;
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .map_err(|error| Failure::usage(format!("`log.filter`: {error}")))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    Ok(())
}
