//! Embeds a batch of texts, and isolates those that the model rejects.

use weft_index::embedder::{EmbedError, Embedder, Role};
use weft_model::{NoteId, TextHash};

/// A chunk of a note, by its position among the chunks.
pub(crate) type ChunkRef = (NoteId, usize);

/// The result of embedding some texts.
pub(crate) struct EmbeddedBatch {
    pub(crate) texts: Vec<TextHash>,
    pub(crate) result: Result<Vec<Vec<f32>>, EmbedError>,
}

/// Embeds a batch; if the model fails on it, embeds its halves, so that one bad text does not affect the others.
pub(crate) fn embed(
    embedder: &dyn Embedder,
    batch: &[(TextHash, String)],
    results: &mut Vec<EmbeddedBatch>,
) {
    let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
    let result = embedder.embed(&texts, Role::Document);
    if let Err(EmbedError::Failed { .. }) = &result
        && batch.len() > 1
    {
        let (front, back) = batch.split_at(batch.len() / 2);
        embed(embedder, front, results);
        embed(embedder, back, results);
        return;
    }
    results.push(EmbeddedBatch { texts: batch.iter().map(|(hash, _)| *hash).collect(), result });
}
