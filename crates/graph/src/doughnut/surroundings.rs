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
    /// Returns the notes that the focus note links to, except hubs: typed links first, then in the order of its text.
    fn linked(&self) -> &[NoteId];
    /// Returns the hubs that the focus note links to, in the same order. They come after all other notes.
    fn linked_hubs(&self) -> &[NoteId];
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
    /// Returns true if a note is linked with the focus note, or numbered like `peer`.
    fn is_connected(&self, note: NoteId, peer: NoteId) -> bool;
    /// Returns true if the text of a note is one of the nearest, or too few texts are similar at all for that to say anything.
    fn is_near_by_text(&self, note: NoteId) -> bool;
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

/// Notes that a relation leaves out because nothing but their place or a topic relates them to the focus note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// It leaves out none.
    Nothing,
    /// It leaves out notes that are neither connected nor near by their texts.
    Far,
    /// It leaves out notes that are not connected. If their texts are similar, another relation finds them.
    Unconnected,
    /// It leaves out notes that are not connected if similar notes are known, which say more.
    LessThanSimilar,
}

impl LeftOut {
    /// Returns true if `note` is left out; `peer` is the note that it is a sibling of.
    pub(super) fn contains(
        self,
        note: NoteId,
        peer: NoteId,
        surroundings: &dyn Surroundings,
    ) -> bool {
        match self {
            Self::Nothing => false,
            Self::Far => {
                !surroundings.is_connected(note, peer) && !surroundings.is_near_by_text(note)
            }
            Self::Unconnected => !surroundings.is_connected(note, peer),
            Self::LessThanSimilar => {
                !surroundings.is_connected(note, peer) && !surroundings.similar().is_empty()
            }
        }
    }
}
