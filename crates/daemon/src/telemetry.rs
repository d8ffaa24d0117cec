//! What the daemon says of itself while it runs: structured logs on standard error.
//!
//! Logs name notes by uri and path; no text of a note and no query is ever in them.

use std::io::IsTerminal as _;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, reload};

use crate::config::{Config, ConfigError, LogFormat};

/// The running log. Dropping it changes nothing.
#[derive(Debug)]
pub struct Telemetry {
    filter: reload::Handle<EnvFilter, Registry>,
}

/// Starts the log of this process by the settings; to be called once.
///
/// Fails where a setting cannot be used.
pub fn start(config: &Config) -> Result<Telemetry, ConfigError> {
    let (filter, handle) = reload::Layer::new(filter(config)?);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match config.settings.log.format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogFormat::Json => {
            lines.json().flatten_event(true).with_current_span(true).with_span_list(false).boxed()
        }
    };
    tracing_subscriber::registry().with(lines.with_filter(filter)).init();
    Ok(Telemetry { filter: handle })
}

impl Telemetry {
    /// Logs by the filter of `config` from now on; its other log settings need a restart.
    pub fn reload(&self, config: &Config) -> Result<(), ConfigError> {
        let filter = filter(config)?;
        if let Err(error) = self.filter.reload(filter) {
            tracing::error!(%error, "the filter of the log stays as it was");
        }
        Ok(())
    }
}

fn filter(config: &Config) -> Result<EnvFilter, ConfigError> {
    let filter = &config.settings.log.filter;
    EnvFilter::try_new(filter).map_err(|error| {
        config.refuse("log.filter", format!("`{filter}` holds a directive that is none: {error}"))
    })
}
