//! Notebooks: small hierarchies of notes as values, from a drawing or a seed.

use std::borrow::Cow;

use weft_graph::doughnut::Texts;
use weft_graph::{NodeSpec, NoteGraph};
use weft_model::{LinkSource, NoteId, link::INLINE_TYPE};

use crate::Random;

/// Notes that form hierarchies and may be reifications.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notebook {
    /// The notes. Positions identify them within the notebook.
    pub notes: Vec<NotebookEntry>,
}

/// One note of a notebook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NotebookEntry {
    /// Uri, unique in the notebook.
    pub uri: String,
    /// Title.
    pub title: String,
    /// Text.
    pub details: String,
    /// Position of the parent.
    pub parent: Option<usize>,
    /// Position of the object: the note that a reification is about.
    pub object: Option<usize>,
    /// Number among its siblings. Numbered notes come first, ties sort by uri.
    pub order: Option<f64>,
    /// Positions of the notes that its text links to.
    pub links: Vec<usize>,
}

impl Notebook {
    /// Parses a drawing: one note per line, below the nearest less indented note, siblings in line order.
    ///
    /// A line has the form `uri -> object ~> linked, linked: details`; all parts except the first are optional. Titles are uris.
    ///
    /// # Panics
    ///
    /// Panics if an arrow points to a uri without a line.
    #[must_use]
    pub fn drawn(drawing: &str) -> Self {
        let lines: Vec<&str> = drawing.lines().filter(|line| !line.trim().is_empty()).collect();
        let uri = |line: &str| {
            let end = ["->", "~>", ": "].iter().filter_map(|mark| line.find(mark)).min();
            line[..end.unwrap_or(line.len())].trim().to_owned()
        };
        let uris: Vec<String> = lines.iter().map(|line| uri(line)).collect();
        let position = |uri: &str| {
            let found = uris.iter().position(|known| known == uri.trim());
            found.unwrap_or_else(|| panic!("no line for `{uri}`"))
        };
        let mut above: Vec<(usize, usize)> = Vec::new();
        let mut notes = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let indent = line.len() - line.trim_start().len();
            above.retain(|(other, _)| *other < indent);
            let (head, details) = line.split_once(": ").unwrap_or((line, ""));
            let (head, links) = head.split_once("~>").unwrap_or((head, ""));
            let object = head.split_once("->").map(|(_, object)| position(object));
            notes.push(NotebookEntry {
                uri: uris[at].clone(),
                title: uris[at].clone(),
                details: details.to_owned(),
                parent: above.last().map(|(_, note)| *note),
                object,
                order: Some(at as f64),
                links: links
                    .split(',')
                    .filter(|uri| !uri.trim().is_empty())
                    .map(position)
                    .collect(),
            });
            above.push((indent, at));
        }
        Self { notes }
    }

    /// Generates a notebook of up to `max_notes` notes with unusual cases: cycles, notes that are their own object, equal numbers, long texts.
    ///
    /// The same state of `random` gives the same notebook.
    pub fn random(random: &mut Random, max_notes: usize) -> Self {
        let n_notes = 1 + random.below(max_notes);
        let mut names: Vec<usize> = (0..n_notes).collect();
        for at in (1..n_notes).rev() {
            names.swap(at, random.below(at + 1));
        }
        let notes = (0..n_notes).map(|at| {
            let parent = match random.below(20) {
                0 => Some(random.below(n_notes)),
                1..=3 => None,
                _ if at == 0 => None,
                _ => Some(random.below(at)),
            };
            let n_chars = match random.below(12) {
                0 => 998 + random.below(5),
                1 => random.below(3000),
                _ => random.below(40),
            };
            let letter = if random.below(4) == 0 { "漢" } else { "x" };
            let n_links = random.below(8).saturating_sub(5);
            NotebookEntry {
                uri: format!("n{}", char::from(b'a' + u8::try_from(names[at] % 26).unwrap_or(0)))
                    .repeat(1 + names[at] / 26),
                title: ["Fern", "Moss", "", "羊歯"][random.below(4)].to_owned(),
                details: letter.repeat(n_chars),
                parent,
                object: (random.below(3) == 0).then(|| random.below(n_notes)),
                order: (random.below(2) == 0).then(|| random.below(3) as f64),
                links: (0..n_links).map(|_| random.below(n_notes)).collect(),
            }
        });
        Self { notes: notes.collect() }
    }

    /// Builds the graph of the notebook. Ids run in the opposite order of positions, so that no result can depend on them.
    #[must_use]
    pub fn graph(&self) -> NoteGraph {
        NoteGraph::build(self.notes.iter().enumerate().map(|(at, note)| {
            let links = note.links.iter();
            let spec = NodeSpec {
                parent: note.parent.map(|parent| self.id(parent)),
                object: note.object.map(|object| self.id(object)),
                order: note.order,
                links: links
                    .map(|to| (self.id(*to), INLINE_TYPE.into(), LinkSource::Inline))
                    .collect(),
                ..NodeSpec::note(&note.uri)
            };
            (self.id(at), spec)
        }))
    }

    /// Returns the id of the note at `position`.
    ///
    /// # Panics
    ///
    /// Panics if the notebook has no such position.
    #[must_use]
    pub fn id(&self, position: usize) -> NoteId {
        let reversed = self.notes.len() - 1 - position;
        NoteId::new(u32::try_from(reversed).expect("a notebook has fewer than 2^32 notes"))
    }

    /// Returns the position of `note`, which comes from [`graph`](Self::graph).
    #[must_use]
    pub fn position(&self, note: NoteId) -> usize {
        self.notes.len() - 1 - note.index()
    }

    /// Returns the position of the note with the given uri.
    ///
    /// # Panics
    ///
    /// Panics if no note has it.
    #[must_use]
    pub fn find(&self, uri: &str) -> usize {
        let found = self.notes.iter().position(|note| note.uri == uri);
        found.unwrap_or_else(|| panic!("no note `{uri}`"))
    }

    /// Returns the note with the given uri for modification.
    ///
    /// # Panics
    ///
    /// Panics if no note has it.
    pub fn note_mut(&mut self, uri: &str) -> &mut NotebookEntry {
        let at = self.find(uri);
        &mut self.notes[at]
    }
}

impl Texts for Notebook {
    fn title(&self, note: NoteId) -> Cow<'_, str> {
        Cow::Borrowed(&self.notes[self.position(note)].title)
    }

    fn details(&self, note: NoteId) -> Cow<'_, str> {
        Cow::Borrowed(&self.notes[self.position(note)].details)
    }
}
