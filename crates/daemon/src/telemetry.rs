//! What the daemon says of itself while it runs: structured logs on standard error, the audit in a file, traces to a collector.
//!
//! Logs name notes by uri and path; no text of a note and no query is ever in them.
//! The libraries below us write down whole messages where they are asked for details, so their bound stands beside the filter of the settings.

mod audit;
mod traces;

use std::io::IsTerminal as _;

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterExt as _, LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, reload};

use crate::config::{Config, ConfigError, LogFormat};
use crate::front::AUDIT;
use audit::Audit;
use traces::Traces;

pub(crate) use traces::{continue_trace, end_trace};

/// The running log.
#[derive(Debug)]
pub struct Telemetry {
    filter: reload::Handle<EnvFilter, Registry>,
    audit: Option<Audit>,
    traces: Option<Traces>,
}

/// Starts the log of this process by the settings; to be called once, within a runtime.
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
    let audit = config.settings.log.audit.clone().map(|path| Audit::open(config, path));
    let audit = audit.transpose()?;
    let record = audit.clone().map(|audit| {
        let lines = tracing_subscriber::fmt::layer().json().flatten_event(true);
        let lines = lines.with_span_list(false).with_target(false).with_level(false);
        lines.with_writer(audit).with_filter(filter_fn(|of| of.target() == AUDIT))
    });
    let traces = Traces::start(config)?;
    let spans = traces.as_ref().map(Traces::layer);
    let bounded = filter_fn(may_say).with_max_level_hint(LevelFilter::TRACE);
    let log = tracing_subscriber::registry().with(lines.with_filter(filter.and(bounded)));
    log.with(record).with(spans).init();
    Ok(Telemetry { filter: handle, audit, traces })
}

impl Telemetry {
    /// Sends what is still to be sent. Blocks until the collector has it or takes too long.
    pub fn end(self) {
        if let Some(traces) = self.traces {
            traces.end();
        }
    }

    /// Logs by the filter of `config` from now on; its other log settings need a restart.
    ///
    /// The audit goes on in a new file where its old one was moved away.
    pub fn reload(&self, config: &Config) -> Result<(), ConfigError> {
        let filter = filter(config)?;
        if let Some(audit) = &self.audit {
            audit.reopen(config)?;
        }
        if let Err(error) = self.filter.reload(filter) {
            tracing::error!(%error, "the filter of the log stays as it was");
        }
        Ok(())
    }
}

/// Whether the code is this program's own, by the target of what it says.
fn is_own(of: &Metadata<'_>) -> bool {
    of.target().starts_with("weft")
}

/// Whether something may stand in a log, whatever the filter says: of libraries only what they say to operators, for below that they repeat what they carry, notes and queries included.
fn may_say(of: &Metadata<'_>) -> bool {
    is_own(of) || *of.level() <= Level::INFO
}

fn filter(config: &Config) -> Result<EnvFilter, ConfigError> {
    let filter = &config.settings.log.filter;
    EnvFilter::try_new(filter).map_err(|error| {
        config.refuse("log.filter", format!("`{filter}` holds a directive that is none: {error}"))
    })
}
