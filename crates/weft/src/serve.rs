//! `weft serve`: the daemon in the foreground, with an optional first query.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use weft_daemon::config::{LogFormat, ServerSettings};
use weft_daemon::telemetry::{self, Telemetry};
use weft_daemon::{ConfigReload, Control, Daemon, Environment, Reloaded, ServeError};
use weft_proto::noteweft::v1::{Phase, SearchRequest, StatusRequest, StatusResponse};

use crate::background;
use crate::cli::{Format, Global};
use crate::client::{Client, Purpose, config_to_reload, config_to_serve};
use crate::commands::{render, write_as};
use crate::connection::ClientCredentials;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::print;
use crate::progress::Progress;
use crate::service_manager::{self, NotifyState, notify};

/// Timeout for the status of a daemon that uses the address.
const OWNER_TIMEOUT: Duration = Duration::from_secs(2);

/// Interval of checks on the progress of the daemon.
const STATUS_POLL: Duration = Duration::from_millis(100);

/// Interval between status lines sent to the service manager while the daemon starts.
const START_STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// Time by which each of these lines extends the start timeout, in microseconds: one minute.
const START_EXTENSION_US: u32 = 60_000_000;

/// Interval between status lines sent to the service manager while the daemon serves.
const STATUS_INTERVAL: Duration = Duration::from_secs(10);

/// Serves until a signal arrives, and runs the search `question` once the index is ready.
pub(crate) async fn run(
    global: &Global,
    vaults: &[PathBuf],
    question: Option<&str>,
    (socket, collection): (Option<String>, Vec<(&'static str, String, &'static str)>),
    detach: bool,
) -> Result<(), Failure> {
    let address = global.own_address().map(|address| ("server.address", address.clone(), "--addr"));
    let socket = socket.iter().map(|path| ("server.socket", path.clone(), "--socket"));
    let more: Vec<_> = address.into_iter().chain(socket).chain(collection).collect();
    let vaults = if vaults.is_empty() { &global.vault } else { vaults };
    let (config, paths) = config_to_serve(global, vaults, &more)?;
    let read = || config_to_reload(global, vaults, &more);
    if detach {
        return background::start(&config, &paths, global).await;
    }
    let hangups = HangupSignals::new();
    // With the JSON log format, standard error contains log records only.
    let prints_messages = config.settings.log.format != LogFormat::Json;
    let telemetry = telemetry::start(&config)?;
    weft_daemon::raise_open_file_limit();
    let daemon = match Daemon::bind(config, paths) {
        Ok(daemon) => daemon,
        Err(error) => return Err(not_bound(error).await),
    };
    let address = daemon.address().to_string();
    let socket = daemon.socket().map(|path| path.display().to_string());
    let (place, page) = (daemon.place(), daemon.page());
    let is_usual = place == ServerSettings::default().address;
    let hint = Hint::daemon((!is_usual).then_some(place.as_str()));
    let client = Client::in_daemon(&daemon, hint);
    let (serving, control) = (daemon.serving(), daemon.control());

    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(daemon.run(async {
        // A dropped sender ends it as well.
        drop(stopped.await);
    }));
    tokio::pin!(running);
    let session = async {
        let output = ServeOutput {
            address: &address,
            socket: socket.as_deref(),
            page: &page,
            prints_messages,
        };
        announce(&client, serving, &output, question, global.format).await?;
        tokio::select! {
            () = feed_watchdog() => {}
            () = report_status(&client, &address) => {}
            () = reload_on_hangup(hangups, read, &control, &telemetry) => {}
        }
        Ok(())
    };
    let outcome = tokio::select! {
        ended = &mut running => return daemon_outcome(ended),
        () = stop_signal() => Ok(()),
        outcome = session => outcome,
    };
    notify(&[NotifyState::Stopping]);
    if outcome.is_ok() && prints_messages {
        say(&print::stopping());
    }
    let _ = stop.send(());
    // If the daemon failed, its own error is more precise than that of the client.
    let outcome = daemon_outcome(running.await).and(outcome);
    drop(tokio::task::spawn_blocking(move || telemetry.end()).await);
    outcome
}

/// Describes why no socket was bound, with the vaults that another daemon of this user serves at the address.
pub(crate) async fn not_bound(error: ServeError) -> Failure {
    let ServeError::AddressInUse { socket: Some(socket), .. } = &error else {
        return error.into();
    };
    let address = format!("unix:{}", socket.display());
    let ask = async {
        let purpose = Purpose::OneShot { wait: false };
        let credentials = ClientCredentials::default();
        let client = Client::connect(&address, &credentials, purpose, Hint::daemon(None)).await;
        Some(client.ok()?.admin().status(StatusRequest {}).await.ok()?.into_inner().vaults)
    };
    let vaults = tokio::time::timeout(OWNER_TIMEOUT, ask).await.ok().flatten().unwrap_or_default();
    let failure = Failure::from(error);
    if vaults.is_empty() {
        return failure;
    }
    let roots: Vec<String> = vaults.iter().map(|vault| print::harmless(&vault.root)).collect();
    failure.hint(format!("that daemon serves {}", roots.join(", ")))
}

fn daemon_outcome(
    ended: Result<Result<(), ServeError>, tokio::task::JoinError>,
) -> Result<(), Failure> {
    match ended {
        Ok(outcome) => outcome.map_err(Failure::from),
        Err(_) => Err(Failure::other("the daemon ended unexpectedly")),
    }
}

/// Listening addresses of a daemon, and whether to print messages.
struct ServeOutput<'a> {
    address: &'a str,
    socket: Option<&'a str>,
    /// Address of the page.
    page: &'a str,
    /// True if messages for people are printed.
    prints_messages: bool,
}

impl ServeOutput<'_> {
    /// Prints a message for people to standard error.
    fn say(&self, text: &str) {
        if self.prints_messages {
            say(text);
        }
    }
}

/// Waits until the daemon is ready, announces it, and runs the search `question`.
async fn announce(
    client: &Client,
    mut serving: watch::Receiver<bool>,
    output: &ServeOutput<'_>,
    question: Option<&str>,
    format: Format,
) -> Result<(), Failure> {
    let mut progress = Progress::new();
    let mut last_status = None;
    while !*serving.borrow_and_update() {
        let status = client.admin().status(StatusRequest {}).await;
        if let Ok(status) = &status {
            progress.show(&status.get_ref().into());
        }
        if last_status.is_none_or(|at: Instant| at.elapsed() >= START_STATUS_INTERVAL) {
            let activity = status.map_or_else(
                |_| "opening the store".to_owned(),
                |status| print::activity(status.get_ref()),
            );
            notify(&[
                NotifyState::ExtendTimeoutUsec(START_EXTENSION_US),
                NotifyState::Status(&one_line(&activity)),
            ]);
            last_status = Some(Instant::now());
        }
        // The caller detects the end of the daemon.
        let _ = tokio::time::timeout(STATUS_POLL, serving.changed()).await;
    }
    let status = client.admin().status(StatusRequest {}).await?.into_inner();
    let line = one_line(&print::status_line(&status, output.address));
    notify(&[NotifyState::Ready, NotifyState::Status(&line)]);
    let status = match question {
        None => status,
        Some(_) => until_ready(client, &mut progress).await?,
    };
    progress.end();
    output.say(&print::serving(&status, output.address, output.socket));
    let Some(question) = question else {
        output.say(&print::page(output.page));
        output.say(&print::next(&[&client.hint.first_search()]));
        return Ok(());
    };
    let request = SearchRequest { query: question.to_owned(), ..SearchRequest::default() };
    let answer = client.search().search(request).await?.into_inner();
    let text = render(format, &answer, |answer| print::search(question, answer, &client.hint))?;
    write_as(format, &text)?;
    output.say(&print::still_serving(output.address));
    Ok(())
}

/// Sends watchdog notifications at twice the required rate; never returns.
async fn feed_watchdog() {
    let Some(expected) = service_manager::watchdog_enabled() else {
        return std::future::pending().await;
    };
    let mut ticks = tokio::time::interval(expected / 2);
    loop {
        ticks.tick().await;
        notify(&[NotifyState::Watchdog]);
    }
}

/// Sends the status line to the service manager whenever it changes; never returns.
async fn report_status(client: &Client, address: &str) {
    if Environment::read().get(service_manager::SOCKET).is_none() {
        return std::future::pending().await;
    }
    let mut last_line = String::new();
    let mut ticks = tokio::time::interval(STATUS_INTERVAL);
    loop {
        ticks.tick().await;
        let Ok(status) = client.admin().status(StatusRequest {}).await else { continue };
        let line = one_line(&print::status_line(status.get_ref(), address));
        if line != last_line {
            notify(&[NotifyState::Status(&line)]);
            last_line = line;
        }
    }
}

/// Reloads the settings at each SIGHUP; invalid settings change nothing except credentials. Never returns.
async fn reload_on_hangup(
    mut hangups: HangupSignals,
    read: impl Fn() -> ConfigReload,
    control: &Control,
    telemetry: &Telemetry,
) {
    loop {
        hangups.next().await;
        notify(&service_manager::reloading());
        let outcome = async {
            let reloaded = control.reload(read()).await?;
            let next = control.config();
            telemetry.reload(&next)?;
            Ok::<_, Failure>((reloaded, next))
        }
        .await;
        match outcome {
            Ok((Reloaded { taken, needs_restart }, next)) => {
                if taken.iter().any(|key| key == "vaults") && next.settings.store.path.is_none() {
                    tracing::warn!(
                        "the folder of the index depends on the vaults, so the next start uses a new index; set store.path to keep this one"
                    );
                }
                let (taken, needs_restart) = (listed(&taken), listed(&needs_restart));
                tracing::warn!(applied = taken, needs_restart, "reloaded the settings");
            }
            Err(failure) => {
                tracing::error!(
                    error = failure.message,
                    "cannot reload the settings; credentials were reloaded, and all other settings stay in force"
                );
            }
        }
        notify(&[NotifyState::Ready]);
    }
}

/// Joins the lines of `text`: a line break would begin another notification.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Joins keys into one field of a log record.
fn listed(keys: &[String]) -> String {
    if keys.is_empty() { "none".to_owned() } else { keys.join(", ") }
}

/// SIGHUP signals received since creation; from then on SIGHUP does not end the process.
struct HangupSignals {
    #[cfg(unix)]
    signals: Option<tokio::signal::unix::Signal>,
}

impl HangupSignals {
    fn new() -> Self {
        Self {
            #[cfg(unix)]
            signals: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok(),
        }
    }

    /// Waits for the next signal; forever if the system has none.
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

/// Waits until keyword index, links and vectors are complete.
pub(crate) async fn until_ready(
    client: &Client,
    progress: &mut Progress,
) -> Result<StatusResponse, Failure> {
    loop {
        let status = client.admin().status(StatusRequest {}).await?.into_inner();
        if status.phase() == Phase::Ready && status.pending_vector_count == 0 {
            return Ok(status);
        }
        progress.show(&(&status).into());
        tokio::time::sleep(STATUS_POLL).await;
    }
}

/// Waits for Ctrl-C or a termination signal.
pub(crate) async fn stop_signal() {
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

/// Prints a message for people to standard error.
pub(crate) fn say(text: &str) {
    // A closed standard error must not end the daemon.
    drop(anstream::stderr().lock().write_all(text.as_bytes()));
}
