//! Integration tests of the index.

mod keyword_external_changes;
mod note_names;
mod note_table;
