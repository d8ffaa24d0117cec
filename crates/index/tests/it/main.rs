//! The searchable state, from outside.

mod notes;
