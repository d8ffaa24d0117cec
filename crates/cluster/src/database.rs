//! The database: a pool of connections and the runtime that drives them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime as PoolRuntime,
};
use tokio::runtime::{Builder, Runtime};

use crate::error::TaskError;
use crate::migrations::{SCHEMA_VERSION, migrate, schema_version};
use crate::tls::PostgresTls;
use crate::{ClusterError, Dsn};

/// Maximum number of connections: the writer, its readers, the embedding thread and the poll.
const CONNECTIONS: usize = 8;

/// Time after which an operation fails, so that no thread waits forever for a host that vanished.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A database of PostgreSQL.
pub struct Database {
    pool: Pool,
    /// Host and name, for errors.
    place: String,
    /// `None` while it is dropped.
    runtime: Option<Runtime>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({})", self.place)
    }
}

impl Database {
    /// Connects to a database; fails if it cannot be reached.
    pub fn connect(dsn: &Dsn) -> Result<Arc<Self>, ClusterError> {
        let place = dsn.to_string();
        let unavailable =
            |reason: String| ClusterError::Unavailable { place: place.clone(), reason };
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("weft-postgres")
            .enable_all()
            .build()
            .map_err(|error| unavailable(error.to_string()))?;
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(dsn.config.clone(), PostgresTls::new(dsn)?, manager);
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(PoolRuntime::Tokio1)
            .wait_timeout(Some(TIMEOUT))
            .create_timeout(Some(TIMEOUT))
            .build()
            .map_err(|error| unavailable(error.to_string()))?;
        let database = Arc::new(Self { pool, place: place.clone(), runtime: Some(runtime) });
        database.run("connect", async { database.client().await.map(drop) })?;
        Ok(database)
    }

    /// Host and name of the database.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Creates the tables, or updates those of an earlier release; several processes may do so at once.
    pub fn migrate(&self) -> Result<(), ClusterError> {
        self.run("create its tables", async {
            let mut client = self.client().await?;
            let found = migrate(&mut client).await?;
            self.check_schema(found)
        })
    }

    /// Fails if the tables are not those of this release.
    pub(crate) async fn require_schema(&self, client: &Object) -> Result<(), TaskError> {
        self.check_schema(schema_version(client).await?)
    }

    fn check_schema(&self, found: i32) -> Result<(), TaskError> {
        let (known, place) = (SCHEMA_VERSION, self.place.clone());
        match found.cmp(&known) {
            std::cmp::Ordering::Less => Err(ClusterError::OldSchema { place, found, known }.into()),
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Greater => {
                Err(ClusterError::NewSchema { place, found, known }.into())
            }
        }
    }

    pub(crate) async fn client(&self) -> Result<Object, TaskError> {
        Ok(self.pool.get().await?)
    }

    /// Waits for `work`; an error says that the database refused to do `action`.
    pub(crate) fn run<T>(
        &self,
        action: &'static str,
        work: impl Future<Output = Result<T, TaskError>>,
    ) -> Result<T, ClusterError> {
        let runtime = self.runtime.as_ref().expect("it is set until the drop");
        runtime.block_on(async {
            match tokio::time::timeout(TIMEOUT, work).await {
                Ok(outcome) => outcome.map_err(|failure| failure.of(action, &self.place)),
                Err(_) => {
                    let reason = format!("no response within {} seconds", TIMEOUT.as_secs());
                    Err(ClusterError::Unavailable { place: self.place.clone(), reason })
                }
            }
        })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Waiting for the runtime is not allowed if the last owner is an asynchronous task.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
