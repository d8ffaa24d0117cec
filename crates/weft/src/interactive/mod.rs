//! `weft search --interactive`: search as you type in the terminal, with a preview.
//!
//! [`screen`] holds the state and is changed by events only, [`view`] draws it, [`requests`] runs in the background, and one thread reads keys, so that no answer delays them.

mod line_editor;
mod preview;
mod requests;
mod screen;
mod terminal;
mod view;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use ratatui_crossterm::crossterm::event::{self, Event};
use tokio::runtime::Handle;
use weft_daemon::Environment;
use weft_daemon::config::Config;
use weft_proto::noteweft::v1::SearchRequest;

use crate::cli::{Format, Global};
use crate::client::{Client, Purpose, config};
use crate::commands::write_plain;
use crate::failure::Failure;
use crate::{open, serve};
use requests::Requests;
use screen::{Effect, Input, SearchScreen};
use terminal::AlternateScreenGuard;
use view::Theme;

/// Time to wait for a key before answers are drawn, while one is awaited and otherwise.
const POLL_BUSY: Duration = Duration::from_millis(10);
const POLL_IDLE: Duration = Duration::from_millis(100);

/// Time during which an answer to the selected note may arrive without being announced by [`SearchScreen::is_busy`].
const SETTLING: Duration = Duration::from_secs(1);

/// Searches interactively, starting with the query, filter and ranking of `request`.
pub(crate) async fn run(global: &Global, request: SearchRequest) -> Result<(), Failure> {
    if global.format != Format::Human {
        return Err(Failure::usage("--interactive cannot be combined with --format"));
    }
    let environment = Environment::read();
    AlternateScreenGuard::check(&environment)?;
    let purpose = if global.vault.is_empty() {
        Purpose::OneShot { wait: false }
    } else {
        // Files are watched, and vectors are computed in the background.
        Purpose::Session
    };
    let client = Client::open_for(global, purpose).await?;
    let outcome = session(&client, global, request, environment).await;
    client.close().await;
    match outcome? {
        Some(text) => write_plain(&text),
        None => Ok(()),
    }
}

/// Runs the search on a thread of its own; returns the text to print at the end.
async fn session(
    client: &Client,
    global: &Global,
    request: SearchRequest,
    environment: Environment,
) -> Result<Option<String>, Failure> {
    let (config, _) = config(global, &global.vault, &[])?;
    let request = client.prepare(request, global).await?;
    let (transport, runtime) = (client.transport(), Handle::current());
    let stopping = Arc::new(AtomicBool::new(false));
    let signal = {
        let stopping = Arc::clone(&stopping);
        tokio::spawn(async move {
            serve::stop_signal().await;
            stopping.store(true, Ordering::Relaxed);
        })
    };
    let work = tokio::task::spawn_blocking(move || {
        let (sender, events) = mpsc::channel();
        let requests = Requests::new(runtime, transport, sender);
        let session = Session {
            state: (request.min_generation, request.as_of),
            screen: SearchScreen::new(request),
            requests,
            events,
            config,
            environment,
        };
        session.run(&stopping)
    });
    let outcome = work.await;
    signal.abort();
    let outcome =
        outcome.map_err(|_| Failure::other("the interactive search ended unexpectedly"))?;
    outcome.map_err(|error| Failure::other(format!("cannot use the terminal: {error}")))
}

/// A running search.
struct Session {
    screen: SearchScreen,
    requests: Requests,
    events: Receiver<Input>,
    /// Minimum generation, and past generation, of all requests.
    state: (Option<u64>, Option<u64>),
    config: Config,
    environment: Environment,
}

impl Session {
    /// Runs until the person leaves or `stopping` is set; returns the text to print.
    fn run(mut self, stopping: &AtomicBool) -> io::Result<Option<String>> {
        let theme = Theme::new(self.environment.get("NO_COLOR").is_none());
        let mut terminal = AlternateScreenGuard::open()?;
        let mut effects = self.screen.start();
        let mut last_event = std::time::Instant::now();
        let mut is_changed = true;
        loop {
            for effect in std::mem::take(&mut effects) {
                if effect == Effect::Quit {
                    return Ok(None);
                }
                if let Effect::Print(text) = effect {
                    return Ok(Some(text));
                }
                effects.extend(self.perform(effect, &mut terminal)?);
            }
            if !effects.is_empty() {
                continue;
            }
            if is_changed {
                terminal.terminal.draw(|frame| view::draw(frame, &self.screen, theme))?;
            }
            if stopping.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let is_waiting = self.screen.is_busy() || last_event.elapsed() < SETTLING;
            (effects, is_changed) = self.next(if is_waiting { POLL_BUSY } else { POLL_IDLE })?;
            if is_changed {
                last_event = std::time::Instant::now();
            }
        }
    }

    /// Handles the keys and answers that arrive within `patience`; returns their effects, and whether the screen may have changed.
    fn next(&mut self, patience: Duration) -> io::Result<(Vec<Effect>, bool)> {
        let (mut effects, mut is_changed) = (Vec::new(), false);
        let mut patience = patience;
        // Keys that are already there are handled before the screen is drawn.
        while event::poll(patience)? {
            patience = Duration::ZERO;
            is_changed = true;
            match event::read()? {
                Event::Key(key) => effects.extend(self.screen.update(Input::Key(key))),
                Event::Paste(text) => effects.extend(self.screen.update(Input::Paste(text))),
                Event::Resize(..) | Event::FocusGained | Event::FocusLost | Event::Mouse(_) => {}
            }
            let ends = |effect: &Effect| {
                matches!(effect, Effect::Quit | Effect::Print(_) | Effect::Open(..))
            };
            if effects.iter().any(ends) {
                return Ok((effects, true));
            }
        }
        while let Ok(answer) = self.events.try_recv() {
            is_changed = true;
            effects.extend(self.screen.update(answer));
        }
        Ok((effects, is_changed))
    }

    /// Starts the work of an effect; returns further effects.
    fn perform(
        &mut self,
        effect: Effect,
        terminal: &mut AlternateScreenGuard,
    ) -> io::Result<Vec<Effect>> {
        match effect {
            Effect::Search(sequence, request) => self.requests.search(sequence, *request),
            Effect::List(sequence, request) => self.requests.list(sequence, *request),
            Effect::Load(uri) => self.requests.load(uri, self.state),
            Effect::Count(request) => self.requests.count(*request),
            Effect::Copy(text) => terminal.copy(&text)?,
            Effect::Open(uri, offset) => {
                let opened = match self.requests.locate(uri, offset) {
                    Ok(place) => {
                        terminal.lend(|| open::open(&place, &self.config, &self.environment))?
                    }
                    Err(failure) => Err(failure),
                };
                return Ok(self.screen.update(Input::Opened(opened)));
            }
            Effect::Print(_) | Effect::Quit => {}
        }
        Ok(Vec::new())
    }
}
