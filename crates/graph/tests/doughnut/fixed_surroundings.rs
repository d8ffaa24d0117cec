//! Surroundings of a focus note as plain lists.

use weft_graph::doughnut::{FolderSiblings, Surroundings};
use weft_model::NoteId;
use weft_testkit::Notebook;
use weft_testkit::doughnut_model::ModelSurroundings;

/// The notes around a focus note.
#[derive(Default)]
pub(crate) struct FixedSurroundings {
    pub(crate) linked: Vec<NoteId>,
    pub(crate) linked_hubs: Vec<NoteId>,
    pub(crate) folder: Option<(Vec<NoteId>, Vec<NoteId>)>,
    pub(crate) has_assumed_parent: bool,
    pub(crate) topic_siblings: Vec<(NoteId, NoteId)>,
    pub(crate) similar: Vec<(NoteId, f64)>,
    pub(crate) same_folder: Vec<NoteId>,
    pub(crate) unconnected: Vec<NoteId>,
    pub(crate) far_by_text: Vec<NoteId>,
    pub(crate) stubs: Vec<NoteId>,
}

impl FixedSurroundings {
    /// Converts the surroundings of the reference model.
    pub(crate) fn of(notebook: &Notebook, around: &ModelSurroundings) -> Self {
        let ModelSurroundings {
            linked,
            linked_hubs,
            folder,
            has_assumed_parent,
            topic_siblings,
            similar,
            same_folder,
            unconnected,
            far_by_text,
            stubs,
        } = around;
        let ids = |list: &[usize]| list.iter().map(|at| notebook.id(*at)).collect::<Vec<_>>();
        Self {
            linked: ids(linked),
            linked_hubs: ids(linked_hubs),
            folder: folder.as_ref().map(|(before, after)| (ids(before), ids(after))),
            has_assumed_parent: *has_assumed_parent,
            topic_siblings: topic_siblings
                .iter()
                .map(|(note, topic)| (notebook.id(*note), notebook.id(*topic)))
                .collect(),
            similar: similar.iter().map(|(note, score)| (notebook.id(*note), *score)).collect(),
            same_folder: ids(same_folder),
            unconnected: ids(unconnected),
            far_by_text: ids(far_by_text),
            stubs: ids(stubs),
        }
    }
}

impl Surroundings for FixedSurroundings {
    fn linked(&self) -> &[NoteId] {
        &self.linked
    }

    fn linked_hubs(&self) -> &[NoteId] {
        &self.linked_hubs
    }

    fn folder_siblings(&self) -> Option<FolderSiblings<'_>> {
        let (before, after) = self.folder.as_ref()?;
        Some(FolderSiblings { before, after })
    }

    fn has_assumed_parent(&self) -> bool {
        self.has_assumed_parent
    }

    fn topic_siblings(&self) -> &[(NoteId, NoteId)] {
        &self.topic_siblings
    }

    fn similar(&self) -> &[(NoteId, f64)] {
        &self.similar
    }

    fn same_folder(&self) -> &[NoteId] {
        &self.same_folder
    }

    fn is_connected(&self, note: NoteId, _: NoteId) -> bool {
        !self.unconnected.contains(&note)
    }

    fn is_near_by_text(&self, note: NoteId) -> bool {
        !self.far_by_text.contains(&note)
    }

    fn is_stub(&self, note: NoteId) -> bool {
        self.stubs.contains(&note)
    }
}
