//! An answer with its texts.

use std::borrow::Cow;

use weft_model::{NoteId, Tokens};

use super::answer::{Doughnut, FocusNote};
use super::cost::{Texts, delivered_details};
use super::relation::Relation;
use crate::NoteGraph;

/// An answer with uris and texts.
///
/// Resume token and generation are added by whoever knows the snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View<'t> {
    /// The note in the middle.
    pub focus_note: FocusView<'t>,
    /// The notes of this page, best first.
    pub related_notes: Vec<NoteView<'t>>,
    /// What related notes of this page could cost.
    pub budget: Tokens,
    /// What they cost.
    pub used: Tokens,
    /// What is left.
    pub remaining: Tokens,
    /// What the focus note costs; not part of the budget.
    pub focus_tokens: Tokens,
    /// Notes met and too large for what was left.
    pub skipped: Vec<SkippedView<'t>>,
    /// Whether more would have been skipped than a page may.
    pub skipped_more: bool,
}

/// A uri with its title: `[title](uri)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkView<'t> {
    /// The stable name.
    pub uri: &'t str,
    /// The name for readers.
    pub title: Cow<'t, str>,
}

/// The focus note with its whole details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FocusView<'t> {
    /// The note.
    pub link: LinkView<'t>,
    /// Never cut.
    pub details: Cow<'t, str>,
    /// The note above it.
    pub parent: Option<LinkView<'t>>,
    /// The note it is a reification about.
    pub object: Option<LinkView<'t>>,
    /// Always [`Relation::Focus`].
    pub relation: Relation,
    /// From the root to the parent.
    pub contextual_path: Vec<LinkView<'t>>,
    /// Children fetched, in sibling order.
    pub children: Vec<LinkView<'t>>,
    /// Referring notes fetched, by uri.
    pub referrings: Vec<LinkView<'t>>,
    /// Siblings before it that were fetched, in sibling order.
    pub prior_siblings: Vec<LinkView<'t>>,
    /// Siblings after it that were fetched, in sibling order.
    pub younger_siblings: Vec<LinkView<'t>>,
}

/// A related note with its details as delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteView<'t> {
    /// The note.
    pub link: LinkView<'t>,
    /// Cut as [`delivered_details`] says.
    pub details: Cow<'t, str>,
    /// Whether they are cut.
    pub truncated: bool,
    /// The note above it.
    pub parent: Option<LinkView<'t>>,
    /// The note it is a reification about.
    pub object: Option<LinkView<'t>>,
    /// The relation by which it was delivered.
    pub relation: Relation,
    /// Relations by which it was met later.
    pub also_relations: Vec<Relation>,
    /// What it cost.
    pub tokens: Tokens,
}

/// A note that did not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedView<'t> {
    /// The stable name.
    pub uri: &'t str,
    /// The relation by which it was first met.
    pub relation: Relation,
    /// What it would have cost.
    pub tokens: Tokens,
}

impl<'t> View<'t> {
    /// Puts the texts to the ids of `answer`, which comes from `graph` and `texts`.
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
                    let (details, truncated) = delivered_details(texts.details(related.note));
                    NoteView {
                        link: link(related.note),
                        details,
                        truncated,
                        parent: graph.parent(related.note).map(link),
                        object: graph.object(related.note).map(link),
                        relation: related.relation,
                        also_relations: related.also_relations.clone(),
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
            skipped_more: answer.skipped_more,
        }
    }
}
