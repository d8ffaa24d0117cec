//! Notifications to a service manager, by the protocol of sd_notify(3).

pub(crate) use sd_notify::{NotifyState, watchdog_enabled};

/// Environment variable that names the socket of the service manager.
pub(crate) const SOCKET: &str = "NOTIFY_SOCKET";

/// Sends `states` in one datagram; does nothing without a service manager.
pub(crate) fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "cannot notify the service manager");
    }
}

/// Returns the notifications that begin a reload.
pub(crate) fn reloading() -> Vec<NotifyState<'static>> {
    // Units of `Type=notify-reload` require the time.
    [NotifyState::Reloading].into_iter().chain(NotifyState::monotonic_usec_now()).collect()
}
