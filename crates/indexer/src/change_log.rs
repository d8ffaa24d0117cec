//! Logs of homes: every state of the vaults has a number, which becomes the generation of its snapshot.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use weft_index::embedder::ModelIdentity;
use weft_model::TextHash;

/// Vectors of texts; an empty one means that the model rejects the text.
pub type TextVectors = Vec<(TextHash, Vec<f32>)>;

/// The log of a [home](crate::VaultHome).
///
/// An index over a home with a log follows it: it publishes the state at a number of the log under this number, with exactly the vectors that commits up to it stored.
/// Snapshots of one number are therefore equal on all nodes. The mass-deletion guard does not apply, and the model of the index embeds only queries.
pub trait ChangeLog: Send + Sync {
    /// Returns the number of the newest commit.
    fn head(&self) -> io::Result<u64>;

    /// Waits until the newest commit is another than `seen`, for up to a second, and returns its number.
    fn wait(&self, seen: u64) -> io::Result<u64>;

    /// Makes the home list and read the state at a number from now on.
    fn pin(&self, generation: u64);

    /// Returns the names and roots of the vaults at a number, ordered by name. Vaults are never removed.
    fn vaults(&self, at: u64) -> io::Result<Vec<(String, PathBuf)>>;

    /// Returns the paths of each vault that the commits after `after` and up to `upto` changed.
    fn changes(&self, after: u64, upto: u64) -> io::Result<BTreeMap<String, Vec<String>>>;

    /// Returns those vectors of `texts` that commits up to `upto` stored.
    fn vectors(
        &self,
        model: &ModelIdentity,
        texts: &[TextHash],
        upto: u64,
    ) -> io::Result<TextVectors>;

    /// Returns the texts whose vectors the commits after `after` and up to `upto` stored.
    fn new_vectors(
        &self,
        model: &ModelIdentity,
        after: u64,
        upto: u64,
    ) -> io::Result<Vec<TextHash>>;

    /// Requests vectors for texts. A later commit stores each, whichever node computes it; texts that were requested before cost little.
    fn request_vectors(
        &self,
        model: &ModelIdentity,
        texts: Vec<(TextHash, String)>,
    ) -> io::Result<()>;
}
