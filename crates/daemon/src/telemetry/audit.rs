//! The audit file.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

use crate::config::{Config, ConfigError};

/// The audit file; lines are appended.
#[derive(Clone, Debug)]
pub(super) struct Audit {
    path: Arc<PathBuf>,
    file: Arc<Mutex<File>>,
}

impl Audit {
    /// Opens the file; creates it readable by its owner only.
    pub(super) fn open(config: &Config, path: PathBuf) -> Result<Self, ConfigError> {
        let file = Arc::new(Mutex::new(appending(config, &path)?));
        Ok(Self { path: Arc::new(path), file })
    }

    /// Reopens the file, which may have been moved away for rotation.
    pub(super) fn reopen(&self, config: &Config) -> Result<(), ConfigError> {
        let file = appending(config, &self.path)?;
        *self.lock() = file;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, File> {
        // A line is written in one call, so a panic cannot leave part of one.
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn appending(config: &Config, path: &Path) -> Result<File, ConfigError> {
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

/// Exclusive access to the file, to append a line.
pub(super) struct AuditLine<'a>(MutexGuard<'a, File>);

impl Write for AuditLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}
