//! Types of links that a walk asks for and no link has.

use std::collections::BTreeMap;

use weft_graph::walk::{EdgeFilter, HIERARCHY_TYPE};
use weft_graph::{KindId, NoteGraph};
use weft_model::link::INLINE_TYPE;
use weft_model::{Stop, Stopped, fold, near};

use crate::filter::NOTES_PER_CHECK;

/// A line for each type that no link has and `inverse_names` does not hold: a slip of the hand rather than a question. `O(links)` where types are asked for.
pub(super) fn unmet(
    graph: &NoteGraph,
    edges: &EdgeFilter,
    inverse_names: &BTreeMap<String, String>,
    stop: &Stop,
) -> Result<Vec<String>, Stopped> {
    let EdgeFilter { types, exclude_types, typed_only: _, inline_only: _ } = edges;
    if types.is_empty() && exclude_types.is_empty() {
        return Ok(Vec::new());
    }
    let used = used(graph, stop)?;
    let configured = inverse_names.iter().flat_map(|(kind, back)| [kind.as_str(), back.as_str()]);
    let known =
        || used.iter().copied().chain([INLINE_TYPE, HIERARCHY_TYPE]).chain(configured.clone());
    let asked = types.iter().chain(exclude_types);
    let unknown = asked.filter(|asked| !known().any(|kind| fold(kind) == fold(asked)));
    Ok(unknown.map(|asked| line(asked, &used)).collect())
}

/// The types that links have, by name. The graph remembers also those of links that are gone.
fn used<'g>(graph: &'g NoteGraph, stop: &Stop) -> Result<Vec<&'g str>, Stopped> {
    let mut left: Vec<(KindId, &str)> = graph.kinds().collect();
    let mut used = Vec::new();
    for (at, id) in graph.ids().enumerate() {
        if at % NOTES_PER_CHECK == 0 {
            stop.check()?;
        }
        for half in graph.outgoing(id) {
            if let Some(at) = left.iter().position(|(kind, _)| *kind == half.kind) {
                used.push(left.swap_remove(at).1);
            }
        }
        if left.is_empty() {
            break;
        }
    }
    used.sort_unstable();
    Ok(used)
}

/// What is said of a type that no link has, with those of `used` that resemble it, the most alike first.
fn line(asked: &str, used: &[&str]) -> String {
    // Properties are written in one word as a rule.
    let plain = |kind: &str| fold(kind).replace([' ', '_'], "-");
    let wanted = plain(asked);
    let near = near::offered(used.iter().map(|kind| (near::alike(&plain(kind), &wanted), *kind)));
    let near: Vec<String> = near.into_iter().map(|kind| format!("`{kind}`")).collect();
    let near = match &*near {
        [] => String::new(),
        near => format!("; near it are {}", near.join(", ")),
    };
    format!("links: no link is of type `{asked}`{near}")
}
