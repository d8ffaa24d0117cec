//! Messages of GraphService about related notes.

use tonic::Status;
use weft_engine as engine;
use weft_engine::doughnut::{Budget, FocusView, LinkView, NoteView, Relation, SkippedView, View};
use weft_model::Tokens;
use weft_proto::noteweft::v1 as wire;

use super::{filter, named, rendering};
use crate::status::invalid;

/// Default budget for related notes, in tokens.
const BUDGET: Tokens = Tokens::new(2000);

pub(crate) fn related_request(
    request: wire::RelatedRequest,
) -> Result<engine::RelatedRequest, Status> {
    let wire::RelatedRequest {
        focus,
        budget,
        total_budget,
        estimator,
        filter: restriction,
        body_links,
        sibling_of_target,
        resume_token,
        rendering: form,
        relations,
        min_generation: _,
        as_of: _,
    } = request;
    let budget = match (budget, total_budget) {
        (None, None) => Budget::Related(BUDGET),
        (Some(budget), None) => Budget::Related(tokens("budget", budget)?),
        (None, Some(total_budget)) => Budget::Total(tokens("total_budget", total_budget)?),
        (Some(_), Some(_)) => {
            return Err(invalid("total_budget", "excludes `budget`; set one of them"));
        }
    };
    Ok(engine::RelatedRequest {
        focus: named("focus", focus)?,
        budget,
        estimator,
        filter: filter(restriction)?,
        relations: requested_relations("relations", relations)?,
        body_links,
        sibling_of_target,
        resume_token,
        rendering: rendering(form)?,
    })
}

/// Converts the requested relations; `None` for those of the settings.
pub(super) fn requested_relations(
    field: &str,
    number: i32,
) -> Result<Option<engine::RelationSet>, Status> {
    match wire::RelationSet::try_from(number) {
        Ok(wire::RelationSet::Unspecified) => Ok(None),
        Ok(wire::RelationSet::Auto) => Ok(Some(engine::RelationSet::Auto)),
        Ok(wire::RelationSet::Structure) => Ok(Some(engine::RelationSet::Structure)),
        Err(_) => Err(invalid(field, &format!("{number} is not a valid set of relations"))),
    }
}

/// Converts the relations that were used.
pub(super) const fn used_relations(relations: engine::RelationSet) -> wire::RelationSet {
    match relations {
        engine::RelationSet::Auto => wire::RelationSet::Auto,
        engine::RelationSet::Structure => wire::RelationSet::Structure,
    }
}

fn tokens(field: &str, number: i64) -> Result<Tokens, Status> {
    super::not_negative(field, number).map(Tokens::new)
}

pub(crate) fn related_response(answer: &engine::RelatedAnswer) -> wire::RelatedResponse {
    let View {
        focus_note: focus,
        related_notes,
        budget,
        used,
        remaining,
        focus_tokens,
        skipped,
        skipped_truncated,
    } = answer.view();
    let engine::RelatedAnswer { found: _, texts, resume_token, relations, rendered, warnings } =
        answer;
    wire::RelatedResponse {
        focus_note: Some(focus_note(focus)),
        related_notes: related_notes.into_iter().map(related_note).collect(),
        budget: budget.get(),
        used: used.get(),
        remaining: remaining.get(),
        focus_tokens: focus_tokens.get(),
        skipped: skipped.into_iter().map(skipped_note).collect(),
        skipped_truncated,
        resume_token: resume_token.clone(),
        generation: texts.snapshot.generation,
        rendered: rendered.clone(),
        warnings: super::warnings(warnings.clone()),
        relations: used_relations(*relations).into(),
    }
}

fn focus_note(focus: FocusView<'_>) -> wire::FocusNote {
    let FocusView {
        link: LinkView { uri, title },
        details,
        parent,
        object,
        relation: own,
        contextual_path,
        children,
        referrings,
        prior_siblings,
        younger_siblings,
    } = focus;
    let links = |links: Vec<LinkView<'_>>| links.into_iter().map(link).collect();
    wire::FocusNote {
        uri: uri.to_owned(),
        title: title.into_owned(),
        details: details.into_owned(),
        parent: parent.map(link),
        object: object.map(link),
        relation: relation(own).into(),
        contextual_path: links(contextual_path),
        children: links(children),
        referrings: links(referrings),
        prior_siblings: links(prior_siblings),
        younger_siblings: links(younger_siblings),
    }
}

fn related_note(note: NoteView<'_>) -> wire::RelatedNote {
    let NoteView {
        link: LinkView { uri, title },
        details,
        truncated,
        parent,
        object,
        relation: first,
        also_relations,
        topic,
        similarity,
        in_folder,
        tokens,
    } = note;
    wire::RelatedNote {
        uri: uri.to_owned(),
        title: title.into_owned(),
        details: details.into_owned(),
        truncated,
        parent: parent.map(link),
        object: object.map(link),
        relation: relation(first).into(),
        topic: topic.map(link),
        similarity,
        in_folder,
        also_relations: also_relations.into_iter().map(|also| relation(also).into()).collect(),
        tokens: tokens.get(),
    }
}

fn skipped_note(skipped: SkippedView<'_>) -> wire::SkippedNote {
    let SkippedView { uri, relation: first, tokens } = skipped;
    wire::SkippedNote {
        uri: uri.to_owned(),
        relation: relation(first).into(),
        tokens: tokens.get(),
    }
}

fn link(link: LinkView<'_>) -> wire::NoteRef {
    let LinkView { uri, title } = link;
    wire::NoteRef { uri: uri.to_owned(), title: title.into_owned() }
}

const fn relation(relation: Relation) -> wire::Relation {
    match relation {
        Relation::Focus => wire::Relation::Self_,
        Relation::Parent => wire::Relation::Parent,
        Relation::Object => wire::Relation::Object,
        Relation::Child => wire::Relation::Child,
        Relation::PriorSibling => wire::Relation::PriorSibling,
        Relation::YoungerSibling => wire::Relation::YoungerSibling,
        Relation::ReferringNote => wire::Relation::ReferringNote,
        Relation::NoteInContextualPath => wire::Relation::NoteInContextualPath,
        Relation::NoteInObjectContextualPath => wire::Relation::NoteInObjectContextualPath,
        Relation::ReifiedChildObject => wire::Relation::ReifiedChildObject,
        Relation::ParentSibling => wire::Relation::ParentSibling,
        Relation::ObjectParentSibling => wire::Relation::ObjectParentSibling,
        Relation::ReferringSubject => wire::Relation::ReferringSubject,
        Relation::SiblingOfTarget => wire::Relation::SiblingOfTarget,
        Relation::ParentSiblingChild => wire::Relation::ParentSiblingChild,
        Relation::ObjectParentSiblingChild => wire::Relation::ObjectParentSiblingChild,
        Relation::NoteInReferringContextualPath => wire::Relation::NoteInReferringContextualPath,
        Relation::ReferringCousin => wire::Relation::ReferringCousin,
        Relation::Linked => wire::Relation::Linked,
        Relation::LinkedFrom => wire::Relation::LinkedFrom,
        Relation::TopicSibling => wire::Relation::TopicSibling,
        Relation::Similar => wire::Relation::Similar,
        Relation::SameFolder => wire::Relation::SameFolder,
    }
}
