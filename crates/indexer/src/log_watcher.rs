//! Watches the log of a home, and wakes the writer when it has news.

use std::sync::Weak;
use std::time::Duration;

use crossbeam_channel::Sender;

use crate::vault_home::VaultHome;
use crate::writer::Event;

/// Pause after the log could not be read.
const PAUSE: Duration = Duration::from_secs(1);

/// Sends an event whenever the log of a home has another newest commit, and when its state of failure changes; ends when `alive` is dropped.
pub(crate) fn watch_log(home: &dyn VaultHome, events: &Sender<Event>, alive: &Weak<()>) {
    let Some(log) = home.log() else { return };
    let (mut seen, mut failed) = (0, false);
    while alive.strong_count() > 0 {
        let waited = log.wait(seen);
        let is_news = match &waited {
            Ok(head) => *head != seen || failed,
            Err(_) => !failed,
        };
        failed = waited.is_err();
        seen = waited.unwrap_or(seen);
        // A stopped writer needs no news.
        if is_news && events.send(Event::LogMoved).is_err() {
            return;
        }
        if failed {
            std::thread::sleep(PAUSE);
        }
    }
}
