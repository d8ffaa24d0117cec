//! Vaults in PostgreSQL: the log of a collection, shared vectors, leases and nodes.
//!
//! A collection is a set of vaults with one log. Every commit gets the next number of the log, and nodes follow the log, so each number stands for one state on every node.
//! The numbers are dense and become visible in order, because a commit raises the collection's head under the lock of its row: a reader that polls the head misses nothing.
//!
//! All functions block, and must not be called by a thread that runs asynchronous tasks.
//!
//! ```no_run
//! use weft_cluster::{Collection, Commit, Database, Dsn, FileChange};
//!
//! let dsn = Dsn::read("/etc/noteweft/postgres.dsn".as_ref())?;
//! let database = Database::connect(&dsn)?;
//! database.migrate()?;
//! let notes = Collection::create(&database, "team", &["notes"])?;
//! let fern = FileChange::put("notes", "fern.md", b"# Fern\n".to_vec());
//! let generation = notes.commit(&Commit::of(vec![fern]))?;
//! assert_eq!(notes.changes(0, generation)?["notes"], ["fern.md"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod checkpoint;
mod collection;
mod collection_home;
mod database;
mod digest_check;
mod dsn;
mod embedding_jobs;
mod error;
mod export;
mod folder_id;
mod graphs;
mod lease;
mod log;
mod log_lag;
mod migrations;
mod mirror;
mod node;
mod nodes;
mod old_versions;
mod push;
mod received_changes;
mod roles;
mod shared_vectors;
mod tls;
mod transfer;
mod verify;

pub use checkpoint::CheckpointWriter;
pub use collection::{Collection, CollectionStatus, SharedSetting};
pub use collection_home::CollectionHome;
pub use database::Database;
pub use digest_check::Agreement;
pub use dsn::Dsn;
pub use embedding_jobs::EmbeddingJob;
pub use error::{ClusterError, CommitError};
pub use export::{ExportReport, ImportReport};
pub use folder_id::FolderId;
pub use graphs::GraphStatus;
pub use lease::Lease;
pub use log::{Commit, Expected, FileChange, LoggedFile, NewContent};
pub use log_lag::LogLag;
pub use mirror::{PushOptions, PushReport};
pub use node::{NodeState, NodeThreads};
pub use nodes::{NodeReport, NodeStatus};
pub use old_versions::{NeededVectors, RemovedVersions};
pub use push::PushEvent;
pub use received_changes::{FolderConflict, ReceivedReport};
pub use transfer::{PullReport, TransferError};
