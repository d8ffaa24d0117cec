//! The indexer: scans and watches vaults, parses notes, embeds them, and publishes snapshots.
//!
//! ```
//! use weft_indexer::parse::{ParseOptions, parse};
//! use weft_model::NotePath;
//!
//! let (note, diagnostics) = parse(
//!     &NotePath::new("plants/fern.md"),
//!     b"---\ntopics: [[Botany]]\n---\n# Fern\nSee [[moss|the moss]].\n",
//!     &ParseOptions::default(),
//! );
//! assert!(diagnostics.is_empty());
//! assert_eq!((&*note.title, note.links.len()), ("Fern", 2));
//! assert_eq!(note.links[0].kind, "topics");
//! assert_eq!(note.links[1].display.as_deref(), Some("the moss"));
//! ```
#![forbid(unsafe_code)]

mod canvas_rewrite;
mod change_log;
mod char_offsets;
pub mod chunk;
mod content_hash;
mod coverage_report;
mod deletion_decision;
mod deletion_guard;
pub mod embed;
mod file_position;
mod file_watcher;
mod followed_folder;
mod index_settings;
mod index_status;
mod indexer;
mod link_rewrite;
mod log_watcher;
mod model_migration;
mod move_intent;
mod nesting_limit;
mod parallel_map;
pub mod parse;
mod past_snapshots;
pub mod pdf;
mod plain_text;
mod retry_delay;
pub mod scan;
mod secret_file;
mod shared_status;
mod startup;
mod thread_priority;
mod vault_changes;
mod vault_files;
mod vault_home;
mod vault_image;
mod vault_languages;
mod write_request;
mod writer;

pub use change_log::{ChangeLog, LoggedGraph, TextVectors};
pub use content_hash::hash_of;
pub use deletion_decision::{DeletionDecision, MissingNotes};
pub use deletion_guard::{ConfirmedDeletions, DeletionGuardOptions};
pub use embed::Model;
pub use file_position::{FilePosition, FilePositionError, file_position};
pub use file_watcher::{FileWatcher, Touched, WatchMode, WatchOptions};
pub use followed_folder::FollowedFolder;
pub use index_settings::{IndexError, IndexSettings, Rescan, VaultSettings};
pub use index_status::{
    FileCoverage, FileState, IndexStatus, NextModel, Phase, VaultStatus, WatchState,
};
pub use indexer::Indexer;
pub use pdf::PdfSettings;
pub use secret_file::read_secret_file;
pub use vault_home::{ChangeError, FileMove, OnChange, VaultHome, VaultLocation};
pub use vault_image::{ImageKind, VaultImage, VaultImageError, vault_image};
pub use write_request::{
    Precondition, RewrittenLinks, WriteContent, WriteError, WriteOutcome, WriteRequest,
};
