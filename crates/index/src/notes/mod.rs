//! The note table: every note and placeholder of a snapshot, their names, resolved links and graph.
//!
//! A [`NoteTable`] is an immutable value.
//! [`NoteTable::edited`] returns the table after a batch of changes: it shares unchanged data, re-resolves only the links that look up a changed name, and always equals the table built at once from the same notes (except for slot numbers).

mod backing_file;
mod find;
mod folder_place;
mod graph_texts;
mod hierarchy;
mod issues;
mod likely_targets;
mod link_names;
mod link_targets;
mod name_index;
mod note_entry;
mod note_summary;
mod note_table;
mod path_index;
mod path_segments;
mod placeholder;
mod resolve;
mod slots;
mod spill;
mod table_edit;
mod table_file;
mod uris;
mod vault_stats;

pub(crate) use backing_file::BackingFile;
pub use folder_place::FolderPlace;
pub use issues::Issue;
pub use likely_targets::{LikelyTarget, LikelyTargets};
pub use note_entry::{Body, FileMetadata, NoteEntry, ResolvedNote, VaultId, VaultInfo};
pub use note_summary::{Facets, NoteSummary};
pub use note_table::NoteTable;
pub use resolve::{LinkContext, Resolution};
pub use spill::Spill;
pub use table_edit::{Change, Delta, TableEdit};
pub use table_file::TableFormatError;
pub use vault_stats::VaultStats;
