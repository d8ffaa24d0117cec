//! The note table: every note and placeholder of a snapshot, their names, resolved links and graph.
//!
//! A [`NoteTable`] is an immutable value.
//! [`NoteTable::edited`] gives the table after a batch of changes; it shares what did not change, re-resolves only the links that asked for a name that changed, and always equals the table built at once from the same notes (slots aside).

mod card;
mod directory;
mod edit;
mod entry;
mod find;
mod hierarchy;
mod issues;
mod meanings;
mod names;
mod placeholder;
mod places;
mod resolve;
mod slots;
mod spill;
mod stored;
mod table;
mod tally;
mod texts;
mod uris;

pub use card::{Card, Facets};
pub use edit::{Change, Delta, Edit};
pub use entry::{Body, FileFacts, NoteEntry, VaultId, VaultInfo};
pub use issues::Issue;
pub use resolve::Resolution;
pub use spill::Spill;
pub use stored::Unfit;
pub use table::{NoteTable, Resolved};
pub use tally::Tally;
