//! What the steps of a cheapest path cost.

use weft_graph::walk::EdgeRef;
use weft_index::Snapshot;
use weft_model::{NoteId, Value, fold};

use super::PathCosts;

/// The value of a note that costs nothing to enter.
pub const MOST_WORTH: u32 = 100;

/// What a step costs: its edge, and what the note it leads to lacks in value.
pub(super) fn price(
    snapshot: &Snapshot,
    costs: &PathCosts,
) -> impl Fn(EdgeRef, NoteId) -> u32 + use<> {
    let PathCosts { edges, value_property } = costs;
    let edges = *edges;
    let lacking = value_property.as_ref().map(|name| {
        let name = fold(name);
        let mut lacking = vec![MOST_WORTH; snapshot.notes.graph().n_slots()];
        for (id, _) in snapshot.notes.cards() {
            let Some(facets) = snapshot.notes.facets(id) else { continue };
            let mut properties = facets.properties.iter();
            if let Some((_, value)) = properties.find(|(key, _)| fold(key) == name) {
                lacking[id.index()] = MOST_WORTH - worth(value);
            }
        }
        lacking
    });
    move |edge, entered| {
        let lacking = lacking.as_ref().map_or(0, |lacking| lacking[entered.index()]);
        edges.of(edge.label).saturating_add(lacking)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped to 0..=100 before"
)]
fn worth(value: &Value) -> u32 {
    match value {
        Value::Number { text: _, value } => value.clamp(0.0, f64::from(MOST_WORTH)).round() as u32,
        Value::Null | Value::Bool { .. } | Value::Text(_) | Value::List(_) | Value::Map(_) => 0,
    }
}
