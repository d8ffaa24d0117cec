//! Files to the next snapshot: what lies in a vault, what each file says, and how it is cut for the model.
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

mod board;
pub mod chunk;
mod coverage;
mod depth;
pub mod embed;
mod files;
mod fuse;
mod hash;
mod in_order;
mod indexer;
mod moving;
mod offsets;
mod open;
pub mod parse;
mod past;
mod plain;
mod priority;
mod retarget;
pub mod scan;
mod settings;
mod status;
mod succession;
mod vaults;
mod watch;
mod write;
mod writer;

pub use fuse::{Confirmed, FuseOptions};
pub use indexer::Indexer;
pub use settings::{IndexError, IndexSettings, Rescan, VaultSettings};
pub use status::{FileCoverage, FileState, IndexStatus, NextModel, Phase, VaultStatus, WatchState};
pub use succession::Model;
pub use watch::{WatchMode, WatchOptions};
pub use write::{Content, Expected, RewrittenLinks, Write, WriteError, Wrote};
