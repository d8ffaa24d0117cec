//! Text that a note adds to the response, and its cost in tokens.

use std::borrow::Cow;
use std::fmt::Write as _;

use weft_model::{Estimator, NoteId, Tokens, text::byte_of_char};

use super::relation::Relation;
use super::rings::Member;
use super::surroundings::Reason;
use crate::NoteGraph;

/// Maximum number of characters of a related note's details.
///
/// Source: Graph RAG design, "Data Structures".
pub const TRUNCATE_LENGTH: usize = 1000;

/// Replaces the details beyond [`TRUNCATE_LENGTH`].
pub const ELLIPSIS: &str = "...";

/// Titles and details of notes, which the graph does not hold.
///
/// Called only for the focus note, for notes considered, and for the notes those link to.
pub trait Texts {
    /// Returns the title of `note`.
    fn title(&self, note: NoteId) -> Cow<'_, str>;
    /// Returns the complete details of `note`.
    fn details(&self, note: NoteId) -> Cow<'_, str>;
}

/// Returns the delivered details of a related note, and true if they were truncated.
///
/// Details of more than [`TRUNCATE_LENGTH`] characters (Unicode scalar values) are cut to that length and end in [`ELLIPSIS`].
#[must_use]
pub fn delivered_details(details: Cow<'_, str>) -> (Cow<'_, str>, bool) {
    let (start, rest) = delivered_parts(&details);
    if rest.is_empty() { (details, false) } else { (Cow::Owned([start, rest].concat()), true) }
}

/// Returns the delivered part of `details`, and the ellipsis if that is not all.
fn delivered_parts(details: &str) -> (&str, &'static str) {
    let end = byte_of_char(details, TRUNCATE_LENGTH);
    (&details[..end], if end < details.len() { ELLIPSIS } else { "" })
}

/// Returns a similarity as it is delivered: `0.83`.
pub(super) fn two_digits(similarity: f64) -> String {
    format!("{similarity:.2}")
}

/// Computes the costs of notes; one buffer is reused for all.
pub(super) struct Costs<'a> {
    graph: &'a NoteGraph,
    texts: &'a dyn Texts,
    estimator: &'a dyn Estimator,
    text: String,
}

impl<'a> Costs<'a> {
    pub(super) const fn new(
        graph: &'a NoteGraph,
        texts: &'a dyn Texts,
        estimator: &'a dyn Estimator,
    ) -> Self {
        Self { graph, texts, estimator, text: String::new() }
    }

    /// Returns the tokens of a related note, and true if its details are truncated.
    pub(super) fn of(&mut self, member: Member) -> (Tokens, bool) {
        let details = self.texts.details(member.note);
        let (start, rest) = delivered_parts(&details);
        self.text.clear();
        self.bare(member.note, [start, rest], member.relation);
        if member.fills.is_some() {
            self.link(member.note);
        }
        match member.reason {
            Some(Reason::Topic(topic)) => self.link(topic),
            Some(Reason::Similarity(similarity)) => self.text.push_str(&two_digits(similarity)),
            Some(Reason::Folder) | None => {}
        }
        (self.estimator.estimate(&self.text), !rest.is_empty())
    }

    /// Returns the tokens of the focus note with its complete details, its path, and the `listed` notes of its lists.
    pub(super) fn of_focus(
        &mut self,
        focus: NoteId,
        path: &[NoteId],
        listed: impl Iterator<Item = NoteId>,
    ) -> Tokens {
        self.text.clear();
        self.bare(focus, [&*self.texts.details(focus), ""], Relation::Focus);
        path.iter().copied().chain(listed).for_each(|note| self.link(note));
        self.estimator.estimate(&self.text)
    }

    /// Returns the minimum tokens of any note: one without title, uri, details, parent and object, and in no list.
    pub(super) fn least(&self) -> Tokens {
        self.estimator.estimate(&format!("[](){}", Relation::Parent))
    }

    fn bare(&mut self, note: NoteId, details: [&str; 2], relation: Relation) {
        self.link(note);
        self.text.extend(details);
        self.text.push_str(relation.name());
        let around = [self.graph.parent(note), self.graph.object(note)];
        around.into_iter().flatten().for_each(|other| self.link(other));
    }

    fn link(&mut self, note: NoteId) {
        let (title, uri) = (self.texts.title(note), self.graph.uri(note));
        write!(self.text, "[{title}]({uri})").expect("writing to a string");
    }
}
