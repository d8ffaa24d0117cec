//! The searchable state: snapshot, notes, keyword, vector, store, and the embedder trait.
//!
//! A [`Snapshot`] holds everything a question needs, of one generation; a [`Reader`] gives out the newest.
//! The parts are immutable values that share what did not change, so publishing costs what an edit touched.
//! A [`Store`] writes them down.
#![deny(unsafe_code)]

mod columns;
mod disk;
pub mod embedder;
pub mod keyword;
mod map;
pub mod notes;
mod rows;
mod snapshot;
mod store;
pub mod vector;

pub use disk::{Disk, Gate, Step};
pub use rows::NoteRows;
pub use snapshot::{Awaited, Publisher, Reader, Reading, Snapshot, Vectors};
pub use store::{Backup, BackupWriter, Copied, Piece, inspect, restore};
pub use store::{
    Checkpoint, Checkpoints, MODEL, Newest, Resumed, Shelf, ShelfReport, Store, StoreError,
};
