//! Costs of the steps of a cheapest path.

use std::cell::RefCell;

use weft_graph::walk::{EdgeCosts, EdgeRef};
use weft_index::Snapshot;
use weft_model::{NoteId, NoteMap, Value, fold};

use crate::filter::value_of;

/// The value of a note that costs nothing to enter.
pub const MAX_NOTE_VALUE: u32 = 100;

/// Costs of the steps of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathCosts {
    /// Costs of edges.
    pub edges: EdgeCosts,
    /// Property with the value of a note, 0 to [`MAX_NOTE_VALUE`]; entering a note costs the difference to that maximum.
    pub value_property: Option<String>,
}

/// Returns the cost function of a step: the cost of its edge, plus the missing value of the note it leads to.
pub(super) fn step_costs(
    snapshot: &Snapshot,
    costs: &PathCosts,
) -> impl Fn(EdgeRef, NoteId) -> u32 {
    let PathCosts { edges, value_property } = costs;
    let edges = *edges;
    let property = value_property.as_ref().map(|name| fold(name));
    // Cached, because a note is entered by many edges.
    let known: RefCell<NoteMap<u32>> = RefCell::default();
    let lacking = move |id| {
        let Some(property) = &property else { return 0 };
        *known.borrow_mut().entry(id).or_insert_with(|| {
            let facets = snapshot.notes.facets(id);
            let value = facets.and_then(|it| value_of(&it, property).map(note_value)).unwrap_or(0);
            MAX_NOTE_VALUE - value
        })
    };
    move |edge, entered| edges.of(edge.label).saturating_add(lacking(entered))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped to 0..=100 before"
)]
fn note_value(value: &Value) -> u32 {
    let number = match value {
        Value::Number { text: _, value } => *value,
        // A quoted number counts as a number, as in filters.
        Value::Text(text) => {
            text.trim().parse().ok().filter(|it: &f64| it.is_finite()).unwrap_or(0.0)
        }
        Value::Null | Value::Bool { .. } | Value::List(_) | Value::Map(_) => 0.0,
    };
    number.clamp(0.0, f64::from(MAX_NOTE_VALUE)).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_values_are_read() {
        let text = |text: &str| Value::Text(text.into());
        let number = |value| Value::Number { text: String::new(), value };
        for (value, expected) in [
            (number(95.4), 95),
            (number(-3.0), 0),
            (number(1e9), MAX_NOTE_VALUE),
            (text(" 95 "), 95),
            (text("much"), 0),
            (text("inf"), 0),
            (Value::Null, 0),
        ] {
            assert_eq!(note_value(&value), expected, "{value:?}");
        }
    }
}
