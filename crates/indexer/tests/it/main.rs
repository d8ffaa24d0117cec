//! Integration tests of the live index, from files to search results.

mod deletion_guard;
mod disk_failures;
mod doughnut_notebooks;
mod durability;
mod edit_script;
mod edit_sequences;
mod external_changes;
mod fixtures;
mod generation_diff;
mod hostile_inputs;
mod live_updates;
mod model_migration;
mod note_writes;
mod other_files;
mod rescans;
mod vault_home;
