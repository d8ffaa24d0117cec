//! Replacement of `service_manager.rs` on systems without Unix sockets.

use std::time::Duration;

/// Environment variable that names the socket of the service manager.
pub(crate) const SOCKET: &str = "NOTIFY_SOCKET";

/// State of the daemon.
#[expect(dead_code, reason = "there is no service manager to read it")]
pub(crate) enum NotifyState<'a> {
    Ready,
    Stopping,
    Status(&'a str),
    Watchdog,
    ExtendTimeoutUsec(u32),
}

/// Does nothing.
pub(crate) const fn notify(_: &[NotifyState<'_>]) {}

/// Returns nothing to send.
pub(crate) const fn reloading() -> Vec<NotifyState<'static>> {
    Vec::new()
}

/// Returns `None`: no watchdog is enabled.
pub(crate) const fn watchdog_enabled() -> Option<Duration> {
    None
}
