//! Warnings about requested link types that no link has.

use std::collections::BTreeMap;

use weft_graph::walk::{EdgeFilter, HIERARCHY_TYPE};
use weft_graph::{KindId, NoteGraph};
use weft_model::link::INLINE_TYPE;
use weft_model::{Stop, Stopped, fold, similar_names};

use crate::filter::NOTES_PER_CHECK;
use crate::{Warning, WarningCode};

/// Returns a warning for each requested type that no link has and `inverse_names` does not contain: probably a typing error. `O(links)` if types are requested.
pub(super) fn unknown_types(
    graph: &NoteGraph,
    edges: &EdgeFilter,
    inverse_names: &BTreeMap<String, String>,
    stop: &Stop,
) -> Result<Vec<Warning>, Stopped> {
    let EdgeFilter { types, exclude_types, typed_only: _, inline_only: _ } = edges;
    if types.is_empty() && exclude_types.is_empty() {
        return Ok(Vec::new());
    }
    let used = used(graph, stop)?;
    let configured = inverse_names.iter().flat_map(|(kind, back)| [kind.as_str(), back.as_str()]);
    let known =
        || used.iter().copied().chain([INLINE_TYPE, HIERARCHY_TYPE]).chain(configured.clone());
    let requested = types.iter().chain(exclude_types);
    let unknown = requested.filter(|requested| !known().any(|kind| fold(kind) == fold(requested)));
    Ok(unknown.map(|requested| warning(requested, &used)).collect())
}

/// Returns the types that links have, by name. The graph also remembers types that are no longer used.
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

/// Warns that no link has a type, and suggests similar types of `used`, most similar first.
fn warning(requested: &str, used: &[&str]) -> Warning {
    // Property names usually contain no spaces.
    let plain = |kind: &str| fold(kind).replace([' ', '_'], "-");
    let normalized = plain(requested);
    let suggestions = similar_names::suggestions(
        used.iter().map(|kind| (similar_names::similarity(&plain(kind), &normalized), *kind)),
    );
    let suggestions: Vec<String> =
        suggestions.into_iter().map(|kind| format!("`{kind}`")).collect();
    let suggestions = match &*suggestions {
        [] => String::new(),
        suggestions => format!("; similar types: {}", suggestions.join(", ")),
    };
    Warning::new(
        WarningCode::UnknownLinkType,
        format!("no link has the type `{requested}`{suggestions}"),
    )
}
