//! The searchable state, from outside.

mod notes;
mod words;
