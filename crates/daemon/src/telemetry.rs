//! Logs on standard error, the audit file, and traces sent to a collector.
//!
//! Logs name notes by uri and path; they never contain the text of a note or a query.
//! Libraries log whole messages at detailed levels, so a fixed limit applies to them in addition to the configured filter.

mod audit;
mod traces;

use std::fmt::{self, Debug};
use std::io::IsTerminal as _;

use tracing::field::Field;
use tracing::{Level, Metadata};
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::{FilterExt as _, LevelFilter, filter_fn};
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, reload};

use weft_model::escape;

use crate::config::{Config, ConfigError, LogFormat};
use audit::Audit;
use traces::{Traces, is_own};

pub(crate) use traces::{REQUEST_SPAN, continue_trace, end_trace};

/// Target of the lines of the audit: refused requests, and requests that change notes or administer the daemon.
pub(crate) const AUDIT: &str = "weft_audit";

/// The telemetry of this process.
#[derive(Debug)]
pub struct Telemetry {
    filter: reload::Handle<EnvFilter, Registry>,
    audit: Option<Audit>,
    traces: Option<Traces>,
}

/// Starts logging, the audit and traces as configured. Must be called once, within a runtime.
///
/// Fails if a setting is invalid.
pub fn start(config: &Config) -> Result<Telemetry, ConfigError> {
    let (filter, handle) = reload::Layer::new(filter(config)?);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match config.settings.log.format {
        LogFormat::Text => {
            let lines = lines.with_ansi(std::io::stderr().is_terminal());
            lines.fmt_fields(debug_fn(write_field).delimited(" ")).boxed()
        }
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
    let bounded = filter_fn(may_log).with_max_level_hint(LevelFilter::TRACE);
    let log = tracing_subscriber::registry().with(lines.with_filter(filter.and(bounded)));
    log.with(record).with(spans).init();
    Ok(Telemetry { filter: handle, audit, traces })
}

/// Writes a field of a line of text. Names of notes may contain line breaks, which become visible.
fn write_field(out: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    let value = format!("{value:?}");
    let value = escape::one_line(&value);
    match field.name() {
        "message" => write!(out, "{value}"),
        name => write!(out, "{name}={value}"),
    }
}

impl Telemetry {
    /// Sends the remaining traces. Blocks until the collector has received them, or a timeout.
    pub fn end(self) {
        if let Some(traces) = self.traces {
            traces.end();
        }
    }

    /// Applies the log filter of `config`; its other log settings need a restart.
    ///
    /// Reopens the audit file, which may have been moved away for rotation.
    pub fn reload(&self, config: &Config) -> Result<(), ConfigError> {
        let filter = filter(config)?;
        if let Some(audit) = &self.audit {
            audit.reopen(config)?;
        }
        if let Err(error) = self.filter.reload(filter) {
            tracing::error!(%error, "cannot replace the log filter; it stays as it was");
        }
        Ok(())
    }
}

/// Returns whether an event may be logged, whatever the filter.
///
/// Libraries are limited to `info` and above: below it they repeat what they transfer, including notes and queries.
fn may_log(of: &Metadata<'_>) -> bool {
    is_own(of) || *of.level() <= Level::INFO
}

fn filter(config: &Config) -> Result<EnvFilter, ConfigError> {
    let filter = &config.settings.log.filter;
    EnvFilter::try_new(filter).map_err(|error| {
        config.refuse("log.filter", format!("`{filter}` contains an invalid directive: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Lines of a log in memory.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn names_cannot_begin_a_line_of_the_log() {
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = tracing_subscriber::fmt::layer().with_ansi(false).without_time();
        let layer = layer.fmt_fields(debug_fn(write_field).delimited(" "));
        let log = tracing_subscriber::registry().with(layer.with_writer(move || writer.clone()));
        tracing::subscriber::with_default(log, || {
            let name = "a\nFORGED\u{202e}.md";
            let error = std::io::Error::other(name);
            tracing::warn!(path = name, shown = %name, %error, n = 3, "cannot read {name}");
        });
        let log = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let name = "a\\nFORGED\\u{202e}.md";
        let fields = format!("cannot read {name} path=\"{name}\" shown={name} error={name} n=3\n");
        assert!(log.ends_with(&fields) && log.lines().count() == 1, "{log}");
    }
}
