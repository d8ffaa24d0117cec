//! Conversion between domain types and messages of the contract, one file per service.
//!
//! Every conversion names every field, so a new field is a compile error until it is converted.

pub(crate) mod admin;
pub(crate) mod context;
pub(crate) mod facets;
pub(crate) mod graph;
pub(crate) mod hygiene;
pub(crate) mod notes;
mod open_links;
pub(crate) mod related;
pub(crate) mod search;
pub(crate) mod siblings;
pub(crate) mod walk;
pub(crate) mod why_not;
pub(crate) mod write;

use tonic::Status;
use weft_engine as engine;
use weft_model::{LinkSource, NoteKind};
use weft_proto::noteweft::v1 as wire;

use crate::status::invalid;

/// Checks that the name of a note is not empty.
pub(crate) fn named(field: &str, name: String) -> Result<String, Status> {
    if name.trim().is_empty() {
        return Err(invalid(field, "must name a note: a uri, a path, a link target, or a title"));
    }
    Ok(name)
}

/// Checks that no name of a list is empty.
fn all_named(field: &str, names: Vec<String>) -> Result<Vec<String>, Status> {
    names.into_iter().map(|name| named(field, name)).collect()
}

pub(crate) fn filter(filter: Option<wire::Filter>) -> Result<engine::Filter, Status> {
    let wire::Filter {
        vaults,
        paths,
        tags,
        types,
        properties,
        after,
        before,
        linked_to,
        linked_from,
        within,
        excluded,
        kinds,
    } = filter.unwrap_or_default();
    if let Some(place) = within.iter().find(|place| place.hops == 0) {
        let reason = format!("`{}`: must be at least 1 hop", place.note);
        return Err(invalid("filter.within.hops", &reason));
    }
    Ok(engine::Filter {
        vaults,
        paths,
        tags,
        types,
        properties: properties.into_iter().map(property).collect::<Result<_, _>>()?,
        after,
        before,
        linked_to: all_named("filter.linked_to", linked_to)?,
        linked_from: all_named("filter.linked_from", linked_from)?,
        within: within
            .into_iter()
            .map(|wire::Within { note, hops }| Ok((named("filter.within.note", note)?, hops)))
            .collect::<Result<_, Status>>()?,
        excluded: all_named("filter.excluded", excluded)?,
        kinds: kinds.into_iter().map(note_kind).collect::<Result<_, _>>()?,
    })
}

fn note_kind(number: i32) -> Result<NoteKind, Status> {
    match wire::NoteKind::try_from(number) {
        Ok(wire::NoteKind::Markdown) => Ok(NoteKind::Markdown),
        Ok(wire::NoteKind::Text) => Ok(NoteKind::Text),
        Ok(wire::NoteKind::Org) => Ok(NoteKind::Org),
        Ok(wire::NoteKind::Pdf) => Ok(NoteKind::Pdf),
        Ok(wire::NoteKind::Unspecified) | Err(_) => {
            Err(invalid("filter.kinds", &format!("{number} is not a valid kind of notes")))
        }
    }
}

/// Returns the kind of the note at `path`, as the number of the contract.
fn kind_of(path: &str) -> i32 {
    match NoteKind::of(path).unwrap_or_default() {
        NoteKind::Markdown => wire::NoteKind::Markdown,
        NoteKind::Text => wire::NoteKind::Text,
        NoteKind::Org => wire::NoteKind::Org,
        NoteKind::Pdf => wire::NoteKind::Pdf,
    }
    .into()
}

/// Converts the warnings of an answer.
pub(crate) fn warnings(warnings: Vec<engine::Warning>) -> Vec<wire::Warning> {
    let convert = |engine::Warning { code, message }| wire::Warning {
        code: code.as_str().to_owned(),
        message,
    };
    warnings.into_iter().map(convert).collect()
}

fn property(property: wire::PropertyMatch) -> Result<engine::PropertyMatch, Status> {
    let wire::PropertyMatch { key, value, comparison } = property;
    let comparison = match wire::Comparison::try_from(comparison) {
        Ok(wire::Comparison::Unspecified | wire::Comparison::Equal) => engine::Comparison::Equal,
        Ok(wire::Comparison::NotEqual) => engine::Comparison::NotEqual,
        Ok(wire::Comparison::Less) => engine::Comparison::Less,
        Ok(wire::Comparison::LessOrEqual) => engine::Comparison::LessOrEqual,
        Ok(wire::Comparison::Greater) => engine::Comparison::Greater,
        Ok(wire::Comparison::GreaterOrEqual) => engine::Comparison::GreaterOrEqual,
        Err(_) => {
            let reason = format!("{comparison} is not a valid comparison");
            return Err(invalid("filter.properties.comparison", &reason));
        }
    };
    Ok(engine::PropertyMatch { key, comparison, value })
}

fn rendering(number: i32) -> Result<engine::Rendering, Status> {
    match wire::Rendering::try_from(number) {
        Ok(wire::Rendering::Unspecified | wire::Rendering::None) => Ok(engine::Rendering::None),
        Ok(wire::Rendering::Markdown) => Ok(engine::Rendering::Markdown),
        Ok(wire::Rendering::Xml) => Ok(engine::Rendering::Xml),
        Ok(wire::Rendering::Json) => Ok(engine::Rendering::Json),
        Err(_) => Err(invalid("rendering", &format!("{number} is not a valid rendering"))),
    }
}

fn not_negative(field: &str, number: i64) -> Result<u64, Status> {
    let reason = || format!("{number} is negative; must be at least 0");
    u64::try_from(number).map_err(|_| invalid(field, &reason()))
}

fn size(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

const fn source(source: LinkSource) -> wire::LinkSource {
    match source {
        LinkSource::Typed => wire::LinkSource::Typed,
        LinkSource::Inline => wire::LinkSource::Inline,
    }
}

const fn count(n: usize) -> u64 {
    n as u64
}
