//! Watches the log of a home, and wakes the writer when it has news.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crossbeam_channel::Sender;

use crate::vault_home::VaultHome;
use crate::writer::Event;

/// Pause after the log could not be read.
const PAUSE: Duration = Duration::from_secs(1);

/// Sends an event when the log of a home has another newest commit, and when its state of failure changes; ends when `alive` is dropped.
///
/// At most one event is queued: however many commits were made meanwhile, the writer follows them at once, and no other event waits behind them.
pub(crate) fn watch_log(home: &dyn VaultHome, events: &Sender<Event>, alive: &Weak<()>) {
    if let Some(log) = home.log() {
        report_news(|seen| log.wait(seen), events, alive);
    }
}

/// Sends the events of [`watch_log`]; `wait` returns the newest commit once it is another than the given one.
fn report_news(
    mut wait: impl FnMut(u64) -> io::Result<u64>,
    events: &Sender<Event>,
    alive: &Weak<()>,
) {
    let (mut seen, mut failed, mut queued) = (0, false, Weak::new());
    while alive.strong_count() > 0 {
        let waited = wait(seen);
        let is_news = match &waited {
            Ok(head) => *head != seen || failed,
            Err(_) => !failed,
        };
        failed = waited.is_err();
        seen = waited.unwrap_or(seen);
        if is_news && queued.strong_count() == 0 {
            let mark = Arc::new(());
            queued = Arc::downgrade(&mark);
            // A stopped writer needs no news.
            if events.send(Event::LogMoved(mark)).is_err() {
                return;
            }
        }
        if failed {
            std::thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_during_a_long_task_of_the_writer_queue_one_event() {
        let (events, queue) = crossbeam_channel::unbounded();
        let mut alive = Some(Arc::new(()));
        let mut heads = 0..100;
        let watched = Arc::downgrade(alive.as_ref().unwrap());
        let mut n_handled = 0;
        let wait = |seen| {
            assert!(queue.len() <= 1, "{} events are queued at {seen}", queue.len());
            // The writer takes one at every tenth commit.
            if seen % 10 == 9 {
                n_handled += queue.try_iter().count();
            }
            if heads.next().is_none() {
                alive = None;
            }
            Ok(seen + 1)
        };
        report_news(wait, &events, &watched);
        // The last commit is never left without an event.
        assert_eq!((n_handled, queue.len()), (10, 1));
    }
}
