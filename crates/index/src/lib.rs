//! The searchable state: snapshot, notes, keyword, vector, store, and the embedder trait.
#![forbid(unsafe_code)]

pub mod embedder;
