//! The note table: every note and placeholder of a snapshot, their names, resolved links and graph.
//!
//! A [`NoteTable`] is an immutable value.
//! [`NoteTable::edited`] gives the table after a batch of changes; it shares what did not change, re-resolves only the links that asked for a name that changed, and always equals the table built at once from the same notes (slots aside).

mod entry;
mod hierarchy;
mod names;
mod resolve;
mod table;
mod texts;

pub use entry::{Body, FileFacts, NoteEntry, VaultId, VaultInfo};
pub use resolve::Resolution;
pub use table::{Change, Delta, Issue, NoteTable, Resolved, StoredNotes};
