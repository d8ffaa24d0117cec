//! Text that a note adds to the response, and its cost in tokens.

use std::borrow::Cow;
use std::fmt::Write as _;

use weft_model::text::{byte_of_char, clean_cut};
use weft_model::{Estimator, NoteId, Tokens, longest};

use super::relation::Relation;
use super::rings::Member;
use super::surroundings::Reason;
use crate::NoteGraph;

/// Maximum number of characters of a related note's details.
///
/// Source: Graph RAG design, "Data Structures".
pub const TRUNCATE_LENGTH: usize = 1000;

/// Minimum number of characters that remain of details that are cut to the rest of a budget: with its name and relation, such a note costs about 80 tokens.
const MIN_CUT_LENGTH: usize = 200;

/// Replaces the details that are cut.
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
/// Details of more than `max_chars` characters (Unicode scalar values), at most [`TRUNCATE_LENGTH`], are cut to that length and end in [`ELLIPSIS`].
#[must_use]
pub fn delivered_details(details: Cow<'_, str>, max_chars: usize) -> (Cow<'_, str>, bool) {
    let (start, rest) = delivered_parts(&details, max_chars);
    if rest.is_empty() { (details, false) } else { (Cow::Owned([start, rest].concat()), true) }
}

/// Returns the delivered part of `details`, and the ellipsis if that is not all.
fn delivered_parts(details: &str, max_chars: usize) -> (&str, &'static str) {
    let end = byte_of_char(details, max_chars);
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
        let parts = delivered_parts(&details, TRUNCATE_LENGTH);
        (self.of_parts(member, parts), !parts.1.is_empty())
    }

    /// Returns the number of characters of a note's details that `budget` pays for, ending with a sentence or word, and the tokens of the note cut to them; `None` if fewer than [`MIN_CUT_LENGTH`] fit.
    ///
    /// The budget must be too small for the note as it is delivered otherwise.
    pub(super) fn cut(&mut self, member: Member, budget: Tokens) -> Option<(usize, Tokens)> {
        let details = self.texts.details(member.note);
        let mut tokens =
            |max_chars: usize| self.of_parts(member, delivered_parts(&details, max_chars));
        // All of the delivered details would exceed the budget.
        let n_chars = details.chars().take(TRUNCATE_LENGTH).count();
        let further = n_chars.checked_sub(MIN_CUT_LENGTH + 1)?;
        if tokens(MIN_CUT_LENGTH) > budget {
            return None;
        }
        let n_further = longest(further, further / 2, |n| tokens(MIN_CUT_LENGTH + n) <= budget);
        let max_chars = clean_cut(&details, MIN_CUT_LENGTH + n_further);
        let tokens = tokens(max_chars);
        (tokens <= budget).then_some((max_chars, tokens))
    }

    fn of_parts(&mut self, member: Member, (start, rest): (&str, &str)) -> Tokens {
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
        self.estimator.estimate(&self.text)
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
