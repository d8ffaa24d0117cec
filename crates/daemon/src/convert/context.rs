//! Messages of ContextService.

use tonic::Status;
use weft_engine::context::{self, ContextBudget};
use weft_engine::walk::TreeWalkRequest;
use weft_model::{Chars, Span, Tokens};
use weft_proto::noteweft::v1 as wire;

use super::notes::object_of;
use super::related::{requested_relations, used_relations};
use super::search::{own_profile, own_weights, own_without, search_mode};
use super::walk::tree_request;
use super::{filter, named, not_negative, rendering, size};
use crate::status::{invalid, within};

pub(crate) fn assemble_request(
    request: wire::AssembleRequest,
) -> Result<context::ContextRequest, Status> {
    let wire::AssembleRequest {
        query,
        notes,
        filter: restriction,
        mode,
        limit,
        budget,
        budget_chars,
        estimator,
        rendering: form,
        order,
        focus: focus_source,
        walk,
        limits,
        profile,
        weights,
        no_graph,
        disabled_signals,
        typo_tolerance,
        notes_only,
        rerank,
        packing,
        citations,
        explain,
        min_generation: _,
        as_of: _,
    } = request;
    let budget = match (budget, budget_chars) {
        (None, None) => None,
        (Some(n), None) => Some(ContextBudget::Tokens(Tokens::new(not_negative("budget", n)?))),
        (None, Some(n)) => Some(ContextBudget::Characters(Chars(not_negative("budget_chars", n)?))),
        (Some(_), Some(_)) => {
            let reason = "set the budget in tokens or in characters, not both";
            return Err(invalid("budget_chars", reason));
        }
    };
    let rendering = if form == i32::from(wire::Rendering::Unspecified) {
        context::Rendering::Markdown
    } else {
        rendering(form)?
    };
    let order = match wire::ContextOrder::try_from(order) {
        Ok(wire::ContextOrder::Unspecified | wire::ContextOrder::BestFirst) => {
            context::Order::BestFirst
        }
        Ok(wire::ContextOrder::BothEnds) => context::Order::BestAtBothEnds,
        Err(_) => return Err(invalid("order", &format!("{order} is not a valid order"))),
    };
    let focus = |focus| {
        let wire::FocusSource { note, body_links, sibling_of_target, relations } = focus;
        let name = named("focus.note", note)?;
        let relations = requested_relations("focus.relations", relations)?;
        Ok::<_, Status>(context::FocusSource { name, relations, body_links, sibling_of_target })
    };
    Ok(context::ContextRequest {
        query,
        focus: focus_source.map(focus).transpose()?,
        walk: walk.map(walk_request).transpose()?,
        notes: notes.into_iter().map(named_note).collect::<Result<_, _>>()?,
        notes_only,
        filter: filter(restriction)?,
        mode: search_mode(mode)?,
        profile: own_profile(profile)?,
        weights: weights.map(own_weights),
        disabled_signals: own_without(no_graph, disabled_signals.unwrap_or_default()),
        typo_tolerance,
        rerank,
        limit: limit.map(size),
        budget,
        estimator,
        packing: packing_profile(packing)?,
        citations: citations_form(citations)?,
        explain,
        limits: limits.map(limit_overrides).transpose()?.unwrap_or_default(),
        rendering,
        order,
    })
}

fn packing_profile(profile: i32) -> Result<Option<context::PackingProfile>, Status> {
    match wire::PackingProfile::try_from(profile) {
        Ok(wire::PackingProfile::Unspecified) => Ok(None),
        Ok(wire::PackingProfile::Evidence) => Ok(Some(context::PackingProfile::Evidence)),
        Ok(wire::PackingProfile::Classic) => Ok(Some(context::PackingProfile::Classic)),
        Ok(wire::PackingProfile::Plain) => Ok(Some(context::PackingProfile::Plain)),
        Err(_) => Err(invalid("packing", &format!("{profile} is not a valid profile"))),
    }
}

fn citations_form(form: i32) -> Result<Option<context::Citations>, Status> {
    match wire::Citations::try_from(form) {
        Ok(wire::Citations::Unspecified) => Ok(None),
        Ok(wire::Citations::Inline) => Ok(Some(context::Citations::Inline)),
        Ok(wire::Citations::List) => Ok(Some(context::Citations::List)),
        Err(_) => Err(invalid("citations", &format!("{form} is not a valid form"))),
    }
}

fn limit_overrides(limits: wire::ContextLimits) -> Result<context::LimitOverrides, Status> {
    let wire::ContextLimits { bands, per_note_share, block_chars, structural_cap, outline_depth } =
        limits;
    let wire::ContextBands { full, snippet, structural } = bands.unwrap_or_default();
    let level = |depth: u32| {
        let reason = format!("{depth} is not a heading level; must be 1 to 6");
        u8::try_from(depth).map_err(|_| invalid("limits.outline_depth", &reason))
    };
    Ok(context::LimitOverrides {
        full,
        snippet,
        structural,
        per_note_share,
        block_chars,
        structural_cap: structural_cap.map(size),
        outline_depth: outline_depth.map(level).transpose()?,
    })
}

fn named_note(note: wire::ContextNote) -> Result<context::NamedNote, Status> {
    let wire::ContextNote { name, score, distance, relation, via } = note;
    let (name, distance) = (named("notes.name", name)?, distance.map(size));
    Ok(context::NamedNote { name, score, distance, relation, via })
}

/// Converts a complete answer.
pub(crate) fn assemble_response(answer: context::ContextAnswer) -> wire::AssembleResponse {
    let context::ContextAnswer { items, omitted, summary } = answer;
    wire::AssembleResponse {
        items: items.into_iter().map(item).collect(),
        omitted: omitted.into_iter().map(self::omitted).collect(),
        ..end(summary)
    }
}

/// Converts a tree walk that adds candidates to a context; it uses the state of the context.
fn walk_request(request: wire::TreeRequest) -> Result<TreeWalkRequest, Status> {
    let states = [("as_of", request.as_of), ("min_generation", request.min_generation)];
    if let Some((name, _)) = states.into_iter().find(|(_, asked)| asked.is_some()) {
        let reason = format!("not allowed here; set `{name}` of the context");
        return Err(invalid(&format!("walk.{name}"), &reason));
    }
    tree_request(request).map_err(|status| within("walk", status))
}

/// Converts one rendered note of a stream.
pub(crate) fn piece(piece: context::ContextPiece, generation: u64) -> wire::AssembleResponse {
    let nothing = wire::AssembleResponse { generation, ..wire::AssembleResponse::default() };
    match piece {
        context::ContextPiece::Item(taken) => {
            wire::AssembleResponse { items: vec![item(*taken)], ..nothing }
        }
        context::ContextPiece::Omitted(candidate) => {
            wire::AssembleResponse { omitted: vec![omitted(candidate)], ..nothing }
        }
    }
}

/// Converts the last message of a stream.
pub(crate) fn end(summary: context::ContextSummary) -> wire::AssembleResponse {
    let context::ContextSummary {
        rendered,
        budget,
        used,
        remaining,
        unit: own_unit,
        ledger_unit,
        estimator,
        generation,
        truncated_by,
        warnings,
        packing,
        passages,
        relations,
    } = summary;
    let packing = match packing {
        context::PackingProfile::Evidence => wire::PackingProfile::Evidence,
        context::PackingProfile::Classic => wire::PackingProfile::Classic,
        context::PackingProfile::Plain => wire::PackingProfile::Plain,
    };
    wire::AssembleResponse {
        items: Vec::new(),
        omitted: Vec::new(),
        rendered,
        budget,
        used,
        remaining,
        unit: unit(own_unit).into(),
        generation,
        truncated_by: truncated_by.into_iter().map(|source| source.name().to_owned()).collect(),
        warnings: super::warnings(warnings),
        ledger_unit: unit(ledger_unit).into(),
        estimator,
        packing: packing.into(),
        passages: passages.into_iter().map(passage_report).collect(),
        relations: relations.map(used_relations).unwrap_or_default().into(),
    }
}

fn passage_report(report: context::PassageReport) -> wire::PassageReport {
    let context::PassageReport { uri, span, heading_path, evidence, value, tokens, outcome } =
        report;
    let outcome = match outcome {
        context::PassageOutcome::Included => wire::PassageOutcome::Included,
        context::PassageOutcome::Cut => wire::PassageOutcome::Cut,
        context::PassageOutcome::Budget => wire::PassageOutcome::Budget,
        context::PassageOutcome::Duplicate => wire::PassageOutcome::Duplicate,
    };
    wire::PassageReport {
        uri: uri.to_string(),
        span: Some(wire_span(span)),
        heading_path,
        evidence,
        value,
        tokens: tokens.get(),
        outcome: outcome.into(),
    }
}

pub(super) const fn wire_span(Span { start, end }: Span) -> wire::Span {
    wire::Span { start, end }
}

const fn unit(unit: context::BudgetUnit) -> wire::BudgetUnit {
    match unit {
        context::BudgetUnit::Characters => wire::BudgetUnit::Characters,
        context::BudgetUnit::Tokens => wire::BudgetUnit::Tokens,
    }
}

fn item(taken: context::ContextItem) -> wire::ContextItem {
    let context::ContextItem { item, properties } = taken;
    let context::Item {
        uri,
        title,
        score,
        mode,
        text,
        chars,
        tokens,
        allowance,
        cost,
        carry_in,
        carry_out,
        truncated,
        blocks,
        heading_path,
        passages,
        relation,
        via,
    } = item;
    let passages = passages.into_iter().map(|passage| {
        let context::ShownPassage { span, first_line, last_line, heading_path, evidence } = passage;
        let span = Some(wire_span(span));
        wire::ContextPassage { span, first_line, last_line, heading_path, evidence }
    });
    let mode = match mode {
        context::Mode::Full => wire::ContextMode::Full,
        context::Mode::Snippet => wire::ContextMode::Snippet,
        context::Mode::Structural => wire::ContextMode::Structural,
    };
    wire::ContextItem {
        uri: uri.to_string(),
        title,
        score,
        mode: mode.into(),
        text,
        chars: chars.0,
        tokens: tokens.get(),
        cost,
        allowance,
        carry_in,
        carry_out,
        truncated,
        blocks: blocks.into_iter().map(wire_span).collect(),
        passages: passages.collect(),
        heading_path,
        relation,
        via,
        properties: Some(object_of(properties)),
    }
}

fn omitted(candidate: context::OmittedNote) -> wire::OmittedNote {
    let context::OmittedNote { uri, score, tokens, reason } = candidate;
    let reason = match reason {
        context::OmissionReason::Missing => wire::OmissionReason::Missing,
        context::OmissionReason::BelowThreshold => wire::OmissionReason::BelowThreshold,
        context::OmissionReason::Budget => wire::OmissionReason::Budget,
        context::OmissionReason::StructuralCap => wire::OmissionReason::StructuralCap,
        context::OmissionReason::Filter => wire::OmissionReason::Filter,
        context::OmissionReason::Duplicate => wire::OmissionReason::Duplicate,
    };
    wire::OmittedNote { uri: uri.to_string(), score, tokens: tokens.get(), reason: reason.into() }
}
