//! Result of a run with its texts.

use std::borrow::Cow;

use weft_model::{NoteId, Tokens};

use super::answer::{Doughnut, FocusNote};
use super::cost::{Texts, delivered_details};
use super::relation::Relation;
use super::surroundings::Reason;
use crate::NoteGraph;

/// Result of a run with uris and texts.
///
/// The caller adds resume token and generation, which belong to the snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct View<'t> {
    /// Focus note.
    pub focus_note: FocusView<'t>,
    /// Notes of this page, most relevant first.
    pub related_notes: Vec<NoteView<'t>>,
    /// Budget for the related notes of this page.
    pub budget: Tokens,
    /// Tokens used by them.
    pub used: Tokens,
    /// Tokens left.
    pub remaining: Tokens,
    /// Tokens of the focus note; not part of the budget.
    pub focus_tokens: Tokens,
    /// Notes found that did not fit into the budget.
    pub skipped: Vec<SkippedView<'t>>,
    /// True if more notes would have been skipped than a page allows.
    pub skipped_truncated: bool,
}

/// A uri with its title: `[title](uri)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkView<'t> {
    /// Stable name.
    pub uri: &'t str,
    /// Name for readers.
    pub title: Cow<'t, str>,
}

/// The focus note with its complete details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FocusView<'t> {
    /// The note.
    pub link: LinkView<'t>,
    /// Details, never truncated.
    pub details: Cow<'t, str>,
    /// Parent.
    pub parent: Option<LinkView<'t>>,
    /// Object: the note that a reification is about.
    pub object: Option<LinkView<'t>>,
    /// Always [`Relation::Focus`].
    pub relation: Relation,
    /// Ancestors from the root to the parent.
    pub contextual_path: Vec<LinkView<'t>>,
    /// Fetched children, in sibling order.
    pub children: Vec<LinkView<'t>>,
    /// Fetched referring notes, by uri.
    pub referrings: Vec<LinkView<'t>>,
    /// Fetched siblings before it, in sibling order.
    pub prior_siblings: Vec<LinkView<'t>>,
    /// Fetched siblings after it, in sibling order.
    pub younger_siblings: Vec<LinkView<'t>>,
}

/// A related note with its details as delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct NoteView<'t> {
    /// The note.
    pub link: LinkView<'t>,
    /// Details, truncated as [`delivered_details`] describes.
    pub details: Cow<'t, str>,
    /// True if the details are truncated.
    pub truncated: bool,
    /// Parent.
    pub parent: Option<LinkView<'t>>,
    /// Object: the note that a reification is about.
    pub object: Option<LinkView<'t>>,
    /// Relation by which it was delivered.
    pub relation: Relation,
    /// Relations by which it was found later.
    pub also_relations: Vec<Relation>,
    /// Topic that it shares with the focus note, if that is why it is related, or one of the later relations.
    pub topic: Option<LinkView<'t>>,
    /// Similarity of its text in `0.0..=1.0`, if that is why it is related.
    pub similarity: Option<f64>,
    /// True if it is related by a folder without a note of its own.
    pub in_folder: bool,
    /// Cost in tokens.
    pub tokens: Tokens,
}

/// A note that did not fit into the budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedView<'t> {
    /// Stable name.
    pub uri: &'t str,
    /// Relation by which it was first found.
    pub relation: Relation,
    /// Cost in tokens if it had been delivered.
    pub tokens: Tokens,
}

impl<'t> View<'t> {
    /// Adds the texts to the ids of `answer`, which must come from `graph` and `texts`.
    #[must_use]
    pub fn new(answer: &Doughnut, graph: &'t NoteGraph, texts: &'t dyn Texts) -> Self {
        let link =
            |note: NoteId| LinkView { uri: graph.uri(note).as_str(), title: texts.title(note) };
        let links = |notes: &[NoteId]| notes.iter().copied().map(link).collect();
        let FocusNote {
            note: focus,
            parent,
            object,
            contextual_path,
            children,
            referrings,
            prior_siblings,
            younger_siblings,
        } = &answer.focus_note;
        Self {
            focus_note: FocusView {
                link: link(*focus),
                details: texts.details(*focus),
                parent: parent.map(link),
                object: object.map(link),
                relation: Relation::Focus,
                contextual_path: links(contextual_path),
                children: links(children),
                referrings: links(referrings),
                prior_siblings: links(prior_siblings),
                younger_siblings: links(younger_siblings),
            },
            related_notes: answer
                .related_notes
                .iter()
                .map(|related| {
                    let (details, truncated) =
                        delivered_details(texts.details(related.note), related.max_chars);
                    let (topic, similarity, in_folder) = match related.reason {
                        None => (related.also_topic, None, false),
                        Some(Reason::Topic(topic)) => (Some(topic), None, false),
                        Some(Reason::Similarity(similarity)) => {
                            (related.also_topic, Some(similarity), false)
                        }
                        Some(Reason::Folder) => (related.also_topic, None, true),
                    };
                    NoteView {
                        link: link(related.note),
                        details,
                        truncated,
                        parent: graph.parent(related.note).map(link),
                        object: graph.object(related.note).map(link),
                        relation: related.relation,
                        also_relations: related.also_relations.clone(),
                        topic: topic.map(link),
                        similarity,
                        in_folder,
                        tokens: related.tokens,
                    }
                })
                .collect(),
            budget: answer.budget,
            used: answer.used,
            remaining: answer.remaining,
            focus_tokens: answer.focus_tokens,
            skipped: answer
                .skipped
                .iter()
                .map(|skipped| SkippedView {
                    uri: graph.uri(skipped.note).as_str(),
                    relation: skipped.relation,
                    tokens: skipped.tokens,
                })
                .collect(),
            skipped_truncated: answer.skipped_truncated,
        }
    }
}
