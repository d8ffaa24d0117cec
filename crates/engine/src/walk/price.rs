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
    let number = match value {
        Value::Number { text: _, value } => *value,
        // A number in quotes is one, as it is for filters.
        Value::Text(text) => {
            text.trim().parse().ok().filter(|it: &f64| it.is_finite()).unwrap_or(0.0)
        }
        Value::Null | Value::Bool { .. } | Value::List(_) | Value::Map(_) => 0.0,
    };
    number.clamp(0.0, f64::from(MOST_WORTH)).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_worth_what_they_say() {
        let text = |text: &str| Value::Text(text.into());
        let number = |value| Value::Number { text: String::new(), value };
        for (value, expected) in [
            (number(95.4), 95),
            (number(-3.0), 0),
            (number(1e9), MOST_WORTH),
            (text(" 95 "), 95),
            (text("much"), 0),
            (text("inf"), 0),
            (Value::Null, 0),
        ] {
            assert_eq!(worth(&value), expected, "{value:?}");
        }
    }
}
