//! Errors of the database and of commits.

use std::path::PathBuf;

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;
use weft_model::TextHash;

/// Reason why a collection cannot be used. No message contains the connection string.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The file with the connection string, or a file that it names, cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A connection string is given as the path of the file that contains it. It is not shown, since it may contain a password.
    #[error(
        "this is a connection string, where the path of a file with it is expected: write it into a file that only you can read, and give the path of the file"
    )]
    DsnAsPath,
    /// The connection string is invalid. Its parts are not shown, since they may be secret.
    #[error(
        "{} is not a connection string of PostgreSQL; write one line such as `host=db.example dbname=noteweft user=node password=…` or `postgresql://node:…@db.example/noteweft`",
        path.display()
    )]
    Dsn {
        /// The file.
        path: PathBuf,
    },
    /// A file of certificates is invalid.
    #[error("{} contains no usable certificate: {reason}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Reason why it is invalid.
        reason: String,
    },
    /// The database cannot be reached, or it ended the connection. A retry may help.
    #[error("PostgreSQL at {place} cannot be reached: {reason}")]
    Unavailable {
        /// Host and name of the database.
        place: String,
        /// The cause.
        reason: String,
    },
    /// The database refused a statement.
    #[error("PostgreSQL at {place} refused to {action}: {reason}")]
    Refused {
        /// Host and name of the database.
        place: String,
        /// The intended action.
        action: &'static str,
        /// Message of the database.
        reason: String,
    },
    /// A row contains something that no release writes.
    #[error("the database at {place} is damaged: {reason}; run `weft cluster verify`")]
    Damaged {
        /// Host and name of the database.
        place: String,
        /// Description of the row.
        reason: String,
    },
    /// The database has no tables of ours, or those of an earlier release.
    #[error(
        "the database at {place} has schema {found}, and this release needs {known}; run `weft cluster init` with a role that may create tables"
    )]
    OldSchema {
        /// Host and name of the database.
        place: String,
        /// Version in the database; 0 without tables.
        found: i32,
        /// Version of this release.
        known: i32,
    },
    /// A later release changed the tables.
    #[error(
        "the database at {place} has schema {found}, and this release knows {known}; upgrade this node"
    )]
    NewSchema {
        /// Host and name of the database.
        place: String,
        /// Version in the database.
        found: i32,
        /// Version of this release.
        known: i32,
    },
    /// No collection has the name.
    #[error("unknown collection `{name}`; known collections: {}", listed(known))]
    UnknownCollection {
        /// The name.
        name: String,
        /// The existing names, ascending.
        known: Vec<String>,
    },
    /// A name is empty or contains a character that it cannot have.
    #[error(
        "`{name}` is not a name of a {what}: use letters, digits, `-`, `_` and `.`, at most 64"
    )]
    Name {
        /// A collection or a vault.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The nodes of a collection must have the same settings.
    #[error(
        "the settings of this node differ from those of the collection `{name}`, so its answers would differ: {difference}; give all nodes the same settings"
    )]
    Settings {
        /// The collection.
        name: String,
        /// The first difference.
        difference: String,
    },
    /// A role of the database cannot be bound to a collection.
    #[error("the role `{role}` cannot be bound to a collection: {reason}")]
    Role {
        /// Name of the role.
        role: String,
        /// Reason why it cannot.
        reason: &'static str,
    },
    /// No node has the id.
    #[error("no node has the id `{id}`; `weft cluster nodes` lists them")]
    UnknownNode {
        /// The id.
        id: String,
    },
}

/// Reason why nothing was committed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// A file does not have the expected content.
    #[error("`{path}` in `{vault}` was changed by another writer; read it again")]
    Conflict {
        /// Name of the vault.
        vault: String,
        /// Path in the vault.
        path: String,
        /// Hash of its present content; `None` if there is no file.
        actual: Option<TextHash>,
    },
    /// Another process holds the lease now.
    #[error("the lease `{role}` was taken by another process")]
    Fenced {
        /// Role of the lease.
        role: String,
    },
    /// The database failed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none; create one with `weft cluster init`".to_owned();
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// A failure inside a task, before it is known what failed.
pub(crate) enum TaskError {
    Pool(PoolError),
    Postgres(tokio_postgres::Error),
    /// A damaged row.
    Damaged(String),
    Cluster(ClusterError),
}

impl From<PoolError> for TaskError {
    fn from(error: PoolError) -> Self {
        Self::Pool(error)
    }
}

impl From<tokio_postgres::Error> for TaskError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

impl From<ClusterError> for TaskError {
    fn from(error: ClusterError) -> Self {
        Self::Cluster(error)
    }
}

impl TaskError {
    /// Returns the error of an `action` on the database at `place`.
    pub(crate) fn of(self, action: &'static str, place: &str) -> ClusterError {
        let place = place.to_owned();
        let error = match self {
            Self::Cluster(error) => return error,
            Self::Damaged(reason) => return ClusterError::Damaged { place, reason },
            Self::Pool(PoolError::Backend(error)) | Self::Postgres(error) => error,
            Self::Pool(error) => {
                return ClusterError::Unavailable { place, reason: error.to_string() };
            }
        };
        let reason = described(&error);
        if is_refusal(&error) {
            ClusterError::Refused { place, action, reason }
        } else {
            ClusterError::Unavailable { place, reason }
        }
    }
}

/// Returns true if the server answered and a retry would be refused in the same way.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    const TRANSIENT: [SqlState; 6] = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    error.code().is_some_and(|code| !TRANSIENT.contains(code))
}

/// Returns the message of an error with its causes; those of `tokio-postgres` name only their kind.
fn described(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().to_owned();
    }
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let text = error.to_string();
        if !reason.contains(&text) {
            reason = format!("{reason}: {text}");
        }
        cause = error.source();
    }
    reason
}
