//! The events that wake the writer.

use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::Sender;
use weft_index::Backup;
use weft_index::notes::VaultId;
use weft_index::vector::FrozenGraph;

use crate::file_watcher::Touched;
use crate::model_migration::MigratedModel;
use crate::write_request::{WriteError, WriteOutcome, WriteRequest};
use crate::{ConfirmedDeletions, IndexError, Rescan, VaultSettings};

/// Channel for the generation that contains the requested changes.
pub(crate) type GenerationReply = Sender<Result<u64, IndexError>>;

/// A reason for the writer to wake up.
pub(crate) enum Event {
    /// Files of a vault changed, or may have changed.
    Touched(VaultId, Touched),
    /// A caller requests a rescan of every file.
    Rescan(Rescan, GenerationReply),
    /// A caller waits until all changes before an instant are indexed.
    IndexSince(Instant, GenerationReply),
    /// A caller waits until all changes before an instant are indexed and persisted.
    Flush(Instant, GenerationReply),
    /// A caller replaces the list of vaults.
    SetVaults(Vec<VaultSettings>, GenerationReply),
    /// A caller requests a backup of the index.
    Backup(Sender<Result<Backup, IndexError>>),
    /// A caller confirms that the missing files of one vault, or of all, were deleted.
    ConfirmDeletions(Option<String>, Sender<Result<(Vec<ConfirmedDeletions>, u64), IndexError>>),
    /// A caller writes to a vault.
    Write(WriteRequest, Sender<Result<WriteOutcome, WriteError>>),
    /// The log of the home has a new commit, or can be read again, or not any more.
    ///
    /// The mark is dropped before the log is read: news that arrives later is a further event.
    LogMoved(Arc<()>),
    /// The embedding thread finished a batch, which the backlog holds.
    Embedded,
    /// A background thread built a vector graph for the pipeline with this number.
    GraphBuilt(u64, FrozenGraph),
    /// A background thread ended its attempt to build and share a vector graph for the pipeline with this number.
    SharingEnded(u64),
    /// The next model has vectors for all notes.
    MigrationFinished(Box<MigratedModel>),
    /// A background checkpoint ended.
    CheckpointDone,
    /// A reader of the keyword index met possible corruption.
    KeywordsSuspect,
    /// Shutdown: persist the current state and end.
    Stop,
}
