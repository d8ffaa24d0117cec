//! Corruption flag: raised by any reader of the index files that finds signs of damage.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::keyword_error::{IndexLocation, KeywordError};

/// Called when the flag is raised.
type Listener = Box<dyn Fn() + Send + Sync>;

/// Flag for possible damage to the files of an index. Its writer and all its readers share one.
#[derive(Default)]
pub(super) struct CorruptionFlag {
    is_raised: AtomicBool,
    listener: OnceLock<Listener>,
}

impl CorruptionFlag {
    /// Registers a listener that is called when the flag is raised for the first time, and for the first time after each [`clear`](Self::clear). Later listeners are ignored.
    pub(super) fn listen(&self, listener: impl Fn() + Send + Sync + 'static) {
        let _ = self.listener.set(Box::new(listener));
    }

    /// Raises the flag.
    pub(super) fn raise(&self) {
        if !self.is_raised.swap(true, Ordering::AcqRel)
            && let Some(listener) = self.listener.get()
        {
            listener();
        }
    }

    /// Clears the flag, before the files are verified.
    pub(super) fn clear(&self) {
        self.is_raised.store(false, Ordering::Release);
    }

    /// Runs a read of the index at `location`. Tantivy panics on some damage; the panic becomes an error, and every error of damage raises the flag.
    pub(super) fn guard<T>(
        &self,
        location: &IndexLocation,
        read: impl FnOnce() -> Result<T, KeywordError>,
    ) -> Result<T, KeywordError> {
        // State left half done by a panic is not reused: buffers are dropped with it, and readers are opened again.
        let mut outcome = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
            Err(location.corrupt(format!("a read panicked: {}", panic_message(&*panic))))
        });
        if location.truncation().is_raised() {
            outcome = Err(location.corrupt("a file was truncated while it was in use"));
        }
        if outcome.as_ref().is_err_and(KeywordError::needs_rebuild) {
            self.raise();
        }
        outcome
    }
}

/// Returns the message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}
