//! Logs of homes: every state of the vaults has a number, which becomes the generation of its snapshot.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use weft_index::embedder::ModelIdentity;
use weft_model::TextHash;

/// Vectors of texts; an empty one means that the model rejects the text.
pub type TextVectors = Vec<(TextHash, Vec<f32>)>;

/// A vector graph that a commit shares.
#[derive(Debug)]
pub enum LoggedGraph {
    /// Bytes of a [`SharedGraph`](weft_index::SharedGraph).
    Bytes(Vec<u8>),
    /// A later release built it.
    Foreign,
    /// Its bytes are damaged, removed, or in a format of an earlier release.
    Unusable,
}

/// The log of a [home](crate::VaultHome).
///
/// An index over a home with a log follows it: it publishes the state at a number of the log under this number, with exactly the vectors that commits up to it stored.
/// Snapshots of one number are therefore equal on all nodes. The mass-deletion guard does not apply, and the model of the index embeds only queries.
pub trait ChangeLog: Send + Sync {
    /// Returns the number of the newest commit.
    fn head(&self) -> io::Result<u64>;

    /// Returns the first number whose state can be read. Changes up to it cannot be listed any more.
    fn floor(&self) -> io::Result<u64>;

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

    /// Returns the commit whose vector graph searches use at a number; `None` if they compare vectors exactly.
    fn graph(&self, model: &ModelIdentity, at: u64) -> io::Result<Option<u64>>;

    /// Reads the vector graph that a commit shares.
    fn read_graph(&self, model: &ModelIdentity, commit: u64) -> io::Result<LoggedGraph>;

    /// Commits that the graph of `commit` is not used any more; returns false if another one is used by now, or none.
    fn withdraw_graph(&self, model: &ModelIdentity, commit: u64) -> io::Result<bool>;

    /// Builds and commits a vector graph of the state at `built_from`, to replace that of the commit `present`.
    ///
    /// Calls `build` and returns true unless another node builds one or committed another graph. Takes as long as the build, so this is called on its own thread.
    fn share_graph(
        &self,
        model: &ModelIdentity,
        built_from: u64,
        present: Option<u64>,
        build: &mut dyn FnMut() -> io::Result<weft_index::SharedGraph>,
    ) -> io::Result<bool>;
}
