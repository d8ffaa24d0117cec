//! Replacement of `background.rs` on systems other than Unix.

use weft_daemon::Paths;
use weft_daemon::config::Config;

use crate::cli::Global;
use crate::failure::Failure;

/// Fails: on this system a service manager must run the daemon.
#[expect(clippy::unused_async, reason = "same signature as on Unix")]
pub(crate) async fn start(
    _config: &Config,
    _paths: &Paths,
    _global: &Global,
) -> Result<(), Failure> {
    Err(Failure::usage("--detach requires Unix; run `weft serve` under a service manager"))
}

/// Fails: on this system a daemon cannot be found by its socket.
#[expect(clippy::unused_async, reason = "same signature as on Unix")]
pub(crate) async fn stop(_global: &Global) -> Result<String, Failure> {
    Err(Failure::usage("`stop` requires Unix; stop the daemon with Ctrl-C or its service manager"))
}
