//! Nodes instead of a daemon over a folder: the same tests over a collection of PostgreSQL.
//!
//! `WEFT_TEST_NODES` sets the number of nodes. Each test has a collection of its own, and all tests of a process share one server.

use std::path::{Path, PathBuf};

use weft_cluster::{Collection, Database, Dsn, PushOptions};
use weft_daemon::config::{Config, Vault};

use crate::Failure;

/// Returns the number of nodes that serve the tests; `None` if a daemon serves a folder.
#[expect(clippy::disallowed_methods, reason = "the environment selects what serves the tests")]
pub(crate) fn n_nodes() -> Option<usize> {
    std::env::var("WEFT_TEST_NODES").ok()?.parse().ok().filter(|n| *n > 0)
}

/// Returns true if the test cannot run over more than `max` nodes and there are more; prints the reason.
///
/// A test without a reason to be skipped runs over any number of nodes.
#[must_use]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub fn is_skipped_over(max: usize, reason: &str) -> bool {
    let is_skipped = n_nodes().is_some_and(|n| n > max);
    if is_skipped {
        let thread = std::thread::current();
        eprintln!("skipped over nodes: {}: {reason}", thread.name().unwrap_or("a test"));
    }
    is_skipped
}

/// A collection filled from the folder that a test names as its vault.
pub(crate) struct TestCollection {
    collection: Collection,
    vault: String,
    postgres: PathBuf,
    options: PushOptions,
}

impl TestCollection {
    /// Creates a collection with the name `name` and pushes `folder` into it.
    pub(crate) fn of(folder: &Path, name: &str, config: &Config) -> Result<Self, Failure> {
        let postgres = dsn_file().ok_or("PostgreSQL is not installed")?;
        let database = Database::connect(&Dsn::read(&postgres)?)?;
        database.migrate()?;
        let vault = Vault { name: None, root: folder.to_owned() }.name();
        let collection = Collection::create(&database, name, &[&vault])?;
        let options = PushOptions {
            scan: config.settings.scan.clone(),
            deletion_guard: config.settings.deletion_guard,
            removes_any: true,
            holder: "the test".to_owned(),
            machine: "the test".to_owned(),
        };
        let filled = Self { collection, vault, postgres, options };
        filled.push(folder)?;
        Ok(filled)
    }

    /// Returns the settings of a node.
    pub(crate) fn settings(&self, id: &str) -> [(String, String); 4] {
        [
            ("collection", self.collection.name().to_owned()),
            ("postgres", self.postgres.to_string_lossy().into_owned()),
            ("node", id.to_owned()),
            ("poll_ms", "10".to_owned()),
        ]
        .map(|(key, value)| (format!("cluster.{key}"), value))
    }

    /// Makes the vault equal to `folder`; returns the number of the last commit.
    pub(crate) fn push(&self, folder: &Path) -> Result<u64, Failure> {
        Ok(self.collection.push(folder, &self.vault, &self.options)?.generation)
    }

    /// Returns the text of a file of the vault.
    pub(crate) fn text(&self, path: &str) -> Result<String, Failure> {
        let bytes = self.collection.read(&self.vault, path, self.collection.head()?)?;
        Ok(String::from_utf8(bytes.ok_or("no such file in the vault")?)?)
    }
}

/// Returns the file with the connection string of the server that all tests of this process share.
fn dsn_file() -> Option<PathBuf> {
    #[cfg(unix)]
    let file = weft_testkit::Postgres::shared().map(|server| server.dsn_file());
    #[cfg(not(unix))]
    let file = None;
    file
}
