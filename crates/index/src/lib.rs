//! The searchable state: snapshot, notes, keyword index, vector index, store, and the traits of embedders and rerankers.
//!
//! A [`Snapshot`] holds everything a query needs, of one generation; a [`Reader`] returns the newest.
//! The parts are immutable values with structural sharing, so publishing costs only what an edit changed.
//! A [`Store`] persists them.
#![deny(unsafe_code)]

mod byte_columns;
mod calibration;
#[cfg(any(not(unix), test))]
mod checked_folder;
mod disk;
pub mod embedder;
mod file_lock;
pub mod keyword;
mod mapped_file;
mod note_rows;
pub mod notes;
mod open_file;
mod pinned_folder;
pub mod reranker;
mod snapshot;
mod store;
mod truncated_maps;
pub mod vector;

pub use disk::{Disk, DiskOperation, FaultInjector, create_private_folder};
pub use note_rows::NoteRows;
pub use pinned_folder::{CreatedFolders, PinnedFolder};
pub use snapshot::{LoadingVectors, Publisher, Reader, Snapshot, VectorLoadGuard, Vectors};
pub use store::{Backup, BackupPart, BackupSummary, BackupWriter, inspect, restore};
pub use store::{
    Checkpoint, Checkpoints, EmbeddingStore, EmbeddingStoreReport, LatestCheckpoint,
    MODEL_CHOICE_FILE, MODEL_SETTINGS_FILE, ResumePoint, SharedGraph, SharedGraphSource, Store,
    StoreError,
};
pub use truncated_maps::TruncatedFile;
