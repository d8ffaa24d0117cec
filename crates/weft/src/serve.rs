//! `weft serve`: the daemon in the foreground, and a first question.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use weft_daemon::config::{Config, LogFormat, ServerSettings};
use weft_daemon::telemetry::{self, Telemetry};
use weft_daemon::{Control, Daemon, Environment, Reloaded, ServeError};
use weft_proto::noteweft::v1::{Phase, SearchRequest, StatusRequest, StatusResponse};

use crate::asker::{Asker, config_to_serve};
use crate::background;
use crate::cli::{Format, Global};
use crate::commands::{render, write_as};
use crate::failure::Failure;
use crate::hint::Hint;
use crate::notify::{Notice, Notifier};
use crate::print;
use crate::progress::Progress;

/// Between two looks at how far the daemon is.
const PULSE: Duration = Duration::from_millis(100);

/// Between two lines to the service manager while the daemon starts, and how long each lets the start go on.
const TOLD_APART: Duration = Duration::from_secs(1);

/// How often a service manager may hear what is served.
const STATUS_APART: Duration = Duration::from_secs(10);
const START_GOES_ON: Duration = Duration::from_secs(60);

/// Serves until a signal comes, and asks `question` on the way.
pub(crate) async fn run(
    global: &Global,
    vaults: &[PathBuf],
    question: Option<&str>,
    socket: Option<String>,
    detach: bool,
) -> Result<(), Failure> {
    let read = || {
        let address =
            global.own_address().map(|address| ("server.address", address.clone(), "--addr"));
        let socket = socket.iter().map(|path| ("server.socket", path.clone(), "--socket"));
        let more: Vec<_> = address.into_iter().chain(socket).collect();
        let vaults = if vaults.is_empty() { &global.vault } else { vaults };
        config_to_serve(global, vaults, &more)
    };
    let (config, paths) = read()?;
    if detach {
        return background::start(&config, &paths, global).await;
    }
    let hangups = Hangups::new();
    // Where a program reads the log, it holds nothing else.
    let tells_people = config.settings.log.format != LogFormat::Json;
    let notifier = Notifier::new(&Environment::read());
    let telemetry = telemetry::start(&config)?;
    let daemon = Daemon::bind(config, paths).await?;
    let address = daemon.address().to_string();
    let socket = daemon.socket().map(|path| path.display().to_string());
    let place = daemon.place();
    let is_usual = place == ServerSettings::default().address;
    let hint = Hint::daemon((!is_usual).then_some(place.as_str()));
    let asker = Asker::beside(&daemon, hint);
    let (serving, control) = (daemon.serving(), daemon.control());

    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(daemon.run(async {
        // A sender that is gone means the end as well.
        drop(stopped.await);
    }));
    tokio::pin!(running);
    let attend = async {
        let place = Place { address: &address, socket: socket.as_deref(), tells_people };
        greet(&asker, serving, &place, question, global.format, &notifier).await?;
        tokio::select! {
            () = keep_telling(&notifier) => {}
            () = keep_told(&asker, &notifier, &address) => {}
            () = reread(hangups, read, &control, &telemetry, &notifier) => {}
        }
        Ok(())
    };
    let outcome = tokio::select! {
        ended = &mut running => return over(ended),
        () = signal() => Ok(()),
        outcome = attend => outcome,
    };
    notifier.tell(&[Notice::Stopping]);
    if outcome.is_ok() && tells_people {
        say(&print::stopping());
    }
    let _ = stop.send(());
    // Where the daemon failed, its own reason says more than what the greeting met.
    let outcome = over(running.await).and(outcome);
    drop(tokio::task::spawn_blocking(move || telemetry.end()).await);
    outcome
}

fn over(ended: Result<Result<(), ServeError>, tokio::task::JoinError>) -> Result<(), Failure> {
    match ended {
        Ok(outcome) => outcome.map_err(Failure::from),
        Err(_) => Err(Failure::other("the daemon came to a sudden end")),
    }
}

/// Where a daemon listens.
struct Place<'a> {
    address: &'a str,
    socket: Option<&'a str>,
    /// Whether people read what it says.
    tells_people: bool,
}

impl Place<'_> {
    /// Tells a person something beside the answer.
    fn say(&self, text: &str) {
        if self.tells_people {
            say(text);
        }
    }
}

/// Waits until the daemon serves, says so, and asks `question`.
async fn greet(
    asker: &Asker,
    mut serving: watch::Receiver<bool>,
    place: &Place<'_>,
    question: Option<&str>,
    format: Format,
    notifier: &Notifier,
) -> Result<(), Failure> {
    let mut progress = Progress::new();
    let mut told = None;
    while !*serving.borrow_and_update() {
        let status = asker.admin().status(StatusRequest {}).await;
        if let Ok(status) = &status {
            progress.show(&status.get_ref().into());
        }
        if told.is_none_or(|told: Instant| told.elapsed() >= TOLD_APART) {
            let doing = status.map_or_else(
                |_| "opening the store".to_owned(),
                |status| print::doing(status.get_ref()),
            );
            notifier.tell(&[Notice::Extend(START_GOES_ON), Notice::Status(doing)]);
            told = Some(Instant::now());
        }
        // The daemon's end is noticed by whoever runs it.
        let _ = tokio::time::timeout(PULSE, serving.changed()).await;
    }
    let status = asker.admin().status(StatusRequest {}).await?.into_inner();
    notifier.tell(&[Notice::Ready, Notice::Status(print::serves(&status, place.address))]);
    let status = match question {
        None => status,
        Some(_) => until_ready(asker, &mut progress).await?,
    };
    progress.end();
    place.say(&print::serving(&status, place.address, place.socket));
    let Some(question) = question else {
        place
            .say(&print::next(&[&asker.hint.command(&["search", "a question in your own words"])]));
        return Ok(());
    };
    let request = SearchRequest { query: question.to_owned(), ..SearchRequest::default() };
    let answer = asker.search().search(request).await?.into_inner();
    let text = render(format, &answer, |answer| print::search(question, answer, &asker.hint))?;
    write_as(format, &text)?;
    place.say(&print::stays(place.address));
    Ok(())
}

/// Gives signs of life where they are expected, twice as often as asked for; never returns.
async fn keep_telling(notifier: &Notifier) {
    let Some(expected) = notifier.watchdog else { return std::future::pending().await };
    let mut pulse = tokio::time::interval(expected / 2);
    loop {
        pulse.tick().await;
        notifier.tell(&[Notice::Alive]);
    }
}

/// Tells the service manager what is served, and what is wrong, where that is another than it was told last; never returns.
async fn keep_told(asker: &Asker, notifier: &Notifier, address: &str) {
    if !notifier.is_heard() {
        return std::future::pending().await;
    }
    let mut told = String::new();
    let mut pulse = tokio::time::interval(STATUS_APART);
    loop {
        pulse.tick().await;
        let Ok(status) = asker.admin().status(StatusRequest {}).await else { continue };
        let line = print::serves(status.get_ref(), address);
        if line != told {
            notifier.tell(&[Notice::Status(line.clone())]);
            told = line;
        }
    }
}

/// Reads the settings again at each SIGHUP; what cannot be used leaves everything as it was. Never returns.
async fn reread(
    mut hangups: Hangups,
    read: impl Fn() -> Result<(Config, weft_daemon::Paths), Failure>,
    control: &Control,
    telemetry: &Telemetry,
    notifier: &Notifier,
) {
    loop {
        hangups.next().await;
        notifier.tell(&[Notice::Reloading]);
        let outcome = async {
            let (next, _) = read()?;
            let reloaded = control.reload(&next).await?;
            telemetry.reload(&next)?;
            Ok::<_, Failure>((reloaded, next))
        }
        .await;
        match outcome {
            Ok((Reloaded { taken, needs_restart }, next)) => {
                if taken.iter().any(|key| key == "vaults") && next.settings.store.path.is_none() {
                    tracing::warn!(
                        "the next start looks for the index of these vaults elsewhere; set store.path so that it stays one index"
                    );
                }
                let (taken, needs_restart) = (listed(&taken), listed(&needs_restart));
                tracing::warn!(taken, needs_restart, "the settings were read again");
            }
            Err(failure) => {
                tracing::error!(error = failure.message, "the settings stay as they were");
            }
        }
        notifier.tell(&[Notice::Ready]);
    }
}

/// Keys as one field of a log.
fn listed(keys: &[String]) -> String {
    if keys.is_empty() { "none".to_owned() } else { keys.join(", ") }
}

/// The SIGHUPs of this process from when it was made; from then on none ends the process.
struct Hangups {
    #[cfg(unix)]
    signals: Option<tokio::signal::unix::Signal>,
}

impl Hangups {
    fn new() -> Self {
        Self {
            #[cfg(unix)]
            signals: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok(),
        }
    }

    /// Returns at the next one; never where the system has none.
    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signals) = &mut self.signals
            && signals.recv().await.is_some()
        {
            return;
        }
        std::future::pending().await
    }
}

/// Waits until words, links and vectors are in.
pub(crate) async fn until_ready(
    asker: &Asker,
    progress: &mut Progress,
) -> Result<StatusResponse, Failure> {
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
pub(crate) async fn signal() {
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
pub(crate) fn say(text: &str) {
    // A closed standard error must not end the daemon.
    drop(anstream::stderr().lock().write_all(text.as_bytes()));
}
