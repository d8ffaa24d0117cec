//! Doubt about the files: whoever reads them says when they are not as they were written.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::{KeywordError, Place};

/// Is told of the first doubt.
type Listener = Box<dyn Fn() + Send + Sync>;

/// Whether the files of an index may be damaged. Its writer and all its readers share one.
#[derive(Default)]
pub(super) struct Doubt {
    is_raised: AtomicBool,
    listener: OnceLock<Listener>,
}

impl Doubt {
    /// Tells `listener` of the first doubt, and of the first after each [`settle`](Self::settle). The first listener stays.
    pub(super) fn listen(&self, listener: impl Fn() + Send + Sync + 'static) {
        let _ = self.listener.set(Box::new(listener));
    }

    /// Says that files may be damaged.
    pub(super) fn raise(&self) {
        if !self.is_raised.swap(true, Ordering::AcqRel)
            && let Some(listener) = self.listener.get()
        {
            listener();
        }
    }

    /// Takes back all doubt so far: the files are about to be looked at.
    pub(super) fn settle(&self) {
        self.is_raised.store(false, Ordering::Release);
    }

    /// Reads what lies in `place`. The library panics over some damage: that is an error like any other, and each raises doubt.
    pub(super) fn guard<T>(
        &self,
        place: &Place,
        read: impl FnOnce() -> Result<T, KeywordError>,
    ) -> Result<T, KeywordError> {
        // What a panic leaves half done is not used again: room to work in goes with it, readers are made anew.
        let outcome = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
            Err(place.corrupt(format!("reading it broke off: {}", said(&*panic))))
        });
        if outcome.as_ref().is_err_and(KeywordError::needs_rebuild) {
            self.raise();
        }
        outcome
    }
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it did not say why")
}
