//! The domain model of a note: identifiers, notes, links, chunks, tokens.
//!
//! The vocabulary shared by all other crates.
//! No IO, no async, no protobuf: only values that can be compared, ordered and serialized.
//!
//! ```
//! use weft_model::{Estimator, NotePath, Tokens, tokens::Characters};
//!
//! let path = NotePath::new("biology/ageing.md");
//! assert_eq!((path.stem(), path.folder()), ("ageing", "biology"));
//! assert_eq!(Characters::default().estimate("sixteen letters."), Tokens::new(5));
//! ```
#![forbid(unsafe_code)]

pub mod chunk;
pub mod date;
pub mod displayed_text;
pub mod encoded_data;
pub mod entities;
pub mod escape;
pub mod first_n;
pub mod fragment;
pub mod id;
pub mod link;
pub mod link_definition;
pub mod link_list;
pub mod longest;
pub mod note;
pub mod note_kind;
pub mod note_set;
pub mod passage;
pub mod redact;
pub mod settings;
pub mod shingles;
pub mod similar_names;
pub mod stop;
pub mod text;
pub mod tokens;

pub use chunk::{Chunk, TextHash};
pub use displayed_text::{BodyDisplay, DisplayedText, displayed_text, is_delimiter_row};
pub use first_n::first_n;
pub use id::{NoteId, NoteMap, NotePath, Uri};
pub use link::{Link, LinkSource, Target, TargetSyntax};
pub use link_definition::is_link_definition;
pub use link_list::LinkPlaces;
pub use longest::longest;
pub use note::{Block, Diagnostic, Heading, Note, Severity, Value};
pub use note_kind::NoteKind;
pub use note_set::{NoteBits, NoteSet};
pub use passage::{BodyPassage, PassageHeading, passages};
pub use redact::redact_urls;
pub use stop::{Stop, Stopped};
pub use text::{Span, fold};
pub use tokens::{Chars, Estimator, Tokens};
