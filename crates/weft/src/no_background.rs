//! In place of `background.rs` where the system is no Unix.

use weft_daemon::Paths;
use weft_daemon::config::Config;

use crate::cli::Global;
use crate::failure::Failure;

/// Refuses: the daemon is run by a service manager here.
#[expect(clippy::unused_async, reason = "it stands for one that waits")]
pub(crate) async fn start(
    _config: &Config,
    _paths: &Paths,
    _global: &Global,
) -> Result<(), Failure> {
    Err(Failure::usage("--detach needs a Unix; run `weft serve` under a service manager here"))
}

/// Refuses, likewise.
#[expect(clippy::unused_async, reason = "it stands for one that waits")]
pub(crate) async fn stop(_global: &Global) -> Result<String, Failure> {
    Err(Failure::usage("`stop` needs a Unix; end the daemon with Ctrl-C or its service manager"))
}
