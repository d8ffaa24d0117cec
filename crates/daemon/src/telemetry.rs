//! What the daemon says of itself while it runs: structured logs on standard error, and the audit in a file.
//!
//! Logs name notes by uri and path; no text of a note and no query is ever in them.

use std::fs::File;
use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, reload};

use crate::config::{Config, ConfigError, LogFormat};
use crate::front::AUDIT;

/// The running log. Dropping it changes nothing.
#[derive(Debug)]
pub struct Telemetry {
    filter: reload::Handle<EnvFilter, Registry>,
    audit: Option<Audit>,
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
    let audit = config.settings.log.audit.clone().map(|path| Audit::open(config, path));
    let audit = audit.transpose()?;
    let record = audit.clone().map(|audit| {
        let lines = tracing_subscriber::fmt::layer().json().flatten_event(true);
        let lines = lines.with_span_list(false).with_target(false).with_level(false);
        lines.with_writer(audit).with_filter(filter_fn(|of| of.target() == AUDIT))
    });
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(record).init();
    Ok(Telemetry { filter: handle, audit })
}

impl Telemetry {
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

/// The file of the audit, to whose end lines are added.
#[derive(Clone, Debug)]
struct Audit {
    path: Arc<PathBuf>,
    file: Arc<Mutex<File>>,
}

impl Audit {
    fn open(config: &Config, path: PathBuf) -> Result<Self, ConfigError> {
        let file = Arc::new(Mutex::new(appending(config, &path)?));
        Ok(Self { path: Arc::new(path), file })
    }

    fn reopen(&self, config: &Config) -> Result<(), ConfigError> {
        let file = appending(config, &self.path)?;
        *self.lock() = file;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, File> {
        // A line is written in one call, so no panic leaves half of one.
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn appending(config: &Config, path: &PathBuf) -> Result<File, ConfigError> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.create(true).append(true).open(path).map_err(|error| {
        config.refuse("log.audit", format!("cannot write {}: {error}", path.display()))
    })
}

impl<'a> MakeWriter<'a> for Audit {
    type Writer = AuditLine<'a>;

    fn make_writer(&'a self) -> AuditLine<'a> {
        AuditLine(self.lock())
    }
}

/// The right to add a line.
struct AuditLine<'a>(MutexGuard<'a, File>);

impl Write for AuditLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

fn filter(config: &Config) -> Result<EnvFilter, ConfigError> {
    let filter = &config.settings.log.filter;
    EnvFilter::try_new(filter).map_err(|error| {
        config.refuse("log.filter", format!("`{filter}` holds a directive that is none: {error}"))
    })
}
