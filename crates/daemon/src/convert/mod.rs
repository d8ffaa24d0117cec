//! Domain types to messages of the contract, and requests back, one file per service.
//!
//! Every conversion names every field, so a new one asks here for its place on the wire.

pub(crate) mod admin;
pub(crate) mod context;
pub(crate) mod graph;
pub(crate) mod notes;
pub(crate) mod related;
pub(crate) mod search;
pub(crate) mod siblings;
pub(crate) mod walk;
pub(crate) mod why_not;
pub(crate) mod write;

use tonic::Status;
use weft_engine as engine;
use weft_model::LinkSource;
use weft_proto::noteweft::v1 as wire;

use crate::status::invalid;

/// The name of a note, where there is one.
pub(crate) fn named(field: &str, name: String) -> Result<String, Status> {
    if name.trim().is_empty() {
        return Err(invalid(
            field,
            "say which note: a uri, a path, anything a link would find, or a title",
        ));
    }
    Ok(name)
}

/// Names of notes, each of which is one.
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
    } = filter.unwrap_or_default();
    if let Some(place) = within.iter().find(|place| place.hops == 0) {
        let reason = format!("`{}` needs at least 1 hop", place.note);
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
    })
}

fn property(property: wire::PropertyMatch) -> Result<engine::PropertyMatch, Status> {
    let wire::PropertyMatch { key, value, comparison } = property;
    let comparison = match wire::Comparison::try_from(comparison) {
        Ok(wire::Comparison::Unspecified | wire::Comparison::Equal) => engine::Comparison::Equal,
        Ok(wire::Comparison::NotEqual) => engine::Comparison::NotEqual,
        Ok(wire::Comparison::Less) => engine::Comparison::Less,
        Ok(wire::Comparison::AtMost) => engine::Comparison::AtMost,
        Ok(wire::Comparison::Greater) => engine::Comparison::Greater,
        Ok(wire::Comparison::AtLeast) => engine::Comparison::AtLeast,
        Err(_) => {
            let reason = format!("{comparison} is no comparison");
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
        Err(_) => Err(invalid("rendering", &format!("{number} is no rendering"))),
    }
}

fn not_negative(field: &str, number: i64) -> Result<u64, Status> {
    let reason = || format!("{number} is less than nothing; 0 is the least");
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
