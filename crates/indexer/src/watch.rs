//! The watcher: tells the writer that files changed, once per burst.

use std::path::PathBuf;
use std::time::Duration;

use notify_debouncer_full::notify::{self, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer};

/// Watches folders until it is dropped.
pub(crate) struct Watch {
    _debouncer: Debouncer<RecommendedWatcher, RecommendedCache>,
}

impl Watch {
    /// Calls `touched` after each burst of changes below `roots`, when nothing came for `debounce`.
    ///
    /// Reading a file is no change. An overflow or an error of the watcher counts as one: the writer looks for itself.
    pub(crate) fn start(
        roots: &[PathBuf],
        debounce: Duration,
        touched: impl Fn() + Send + 'static,
    ) -> Result<Self, notify::Error> {
        let handler = move |result: DebounceEventResult| {
            let relevant = match &result {
                Ok(events) => {
                    events.iter().any(|event| event.need_rescan() || !event.kind.is_access())
                }
                Err(errors) => {
                    tracing::warn!(?errors, "the watcher lost events; looking at every file");
                    true
                }
            };
            if relevant {
                touched();
            }
        };
        let mut debouncer = new_debouncer(debounce, None, handler)?;
        for root in roots {
            debouncer.watch(root, RecursiveMode::Recursive)?;
        }
        Ok(Self { _debouncer: debouncer })
    }
}
