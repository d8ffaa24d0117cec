//! Surroundings of a focus note that the graph does not hold: its folder, the order of its links, topics, and similar texts.

use weft_model::NoteId;

/// Relations by which notes are found.
#[derive(Clone, Copy)]
pub enum Relations<'a> {
    /// Those of the Graph RAG design: parents, children, siblings and objects.
    Structure,
    /// In addition, links in both directions, folders without a note of their own, topics, and similar texts.
    Auto(&'a dyn Surroundings),
}

/// Notes around the focus note, found by its folder, links, topics and text.
///
/// The run reads each list when a relation first needs it, so an implementation can compute them lazily. All lists must stay the same during a run and exclude placeholders.
pub trait Surroundings {
    /// Returns the notes that the focus note links to: typed links first, then in the order of its text.
    fn linked(&self) -> &[NoteId];
    /// Returns the notes around it in its folder, if its place is a folder without a note of its own. They replace the siblings of the graph.
    fn folder_siblings(&self) -> Option<FolderSiblings<'_>>;
    /// Returns true if its parent is only assumed: the note of the vault's root, or of a folder further up because those between have no note of their own, without a link between the two. It and the notes above it come after all others then, and its siblings relate to nothing.
    fn has_assumed_parent(&self) -> bool;
    /// Returns the notes that share topics with it but are not linked with it, those that share most first, each with the topic that connects them best.
    fn topic_siblings(&self) -> &[(NoteId, NoteId)];
    /// Returns the notes with the most similar texts, most similar first, each with its similarity in `0.0..=1.0`.
    fn similar(&self) -> &[(NoteId, f64)];
    /// Returns the notes nearest in its folder, nearest first, for a folder too large for [`folder_siblings`](Self::folder_siblings).
    fn same_folder(&self) -> &[NoteId];
    /// Returns true if a note has almost no text of its own, so that it comes after the others of its relation.
    fn is_stub(&self, note: NoteId) -> bool;
}

/// Notes of a folder before and after the focus note, in sibling order.
#[derive(Clone, Copy, Debug)]
pub struct FolderSiblings<'a> {
    /// Notes before it.
    pub before: &'a [NoteId],
    /// Notes after it.
    pub after: &'a [NoteId],
}

/// Reason why a note is related, as far as its relation does not say it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// It is in the same folder, which has no note of its own.
    Folder,
    /// It shares this topic, possibly a placeholder.
    Topic(NoteId),
    /// Its text is similar to this degree, in `0.0..=1.0`.
    Similarity(f64),
}
