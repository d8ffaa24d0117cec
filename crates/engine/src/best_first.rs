//! The best notes by score, with ties decided by uri.

use weft_graph::NoteGraph;
use weft_model::{NoteId, first_n};

/// Returns the first `n` of `items`, best score first, ties by the uri of the note, then by `T`. `O(items + n log n)`.
///
/// Ids depend on the history of the index, so they never decide. Finding a uri takes longer than comparing scores: uris are read only of items whose score is among the first `n`.
pub(crate) fn best_first<T: Ord>(
    graph: &NoteGraph,
    mut items: Vec<(f64, NoteId, T)>,
    n: usize,
) -> Vec<(f64, NoteId, T)> {
    if n == 0 {
        return Vec::new();
    }
    if items.len() > n {
        let (_, (least, ..), _) = items.select_nth_unstable_by(n - 1, |a, b| b.0.total_cmp(&a.0));
        let least = *least;
        items.retain(|(score, ..)| score.total_cmp(&least).is_ge());
    }
    let named: Vec<_> = items.into_iter().map(|item| (graph.uri(item.1), item)).collect();
    let best = first_n(named, n, |(uri, item), (other_uri, other)| {
        let by_score = other.0.total_cmp(&item.0);
        by_score.then_with(|| uri.cmp(other_uri)).then_with(|| item.2.cmp(&other.2))
    });
    best.into_iter().map(|(_, item)| item).collect()
}
