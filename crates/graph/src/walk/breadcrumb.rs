//! Breadcrumbs: the names of the notes from a root down to a note.

use std::iter::successors;

/// Maximum number of names in a breadcrumb, so that a chain of thousands does not name each of them thousands of times.
const STEPS: usize = 8;

/// Returns the names of the notes above `note` joined by ` > `, outermost first; the nearest eight after `…` if there are more. `None` for a root.
///
/// `above` returns the next note towards the root, `None` at a root.
pub fn breadcrumb<'n, N: Copy>(
    note: N,
    above: impl Fn(N) -> Option<N>,
    name: impl Fn(N) -> &'n str,
) -> Option<String> {
    let mut names: Vec<&str> =
        successors(above(note), |&note| above(note)).take(STEPS + 1).map(name).collect();
    if let Some(farther) = names.get_mut(STEPS) {
        *farther = "…";
    }
    names.reverse();
    (!names.is_empty()).then(|| names.join(" > "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breadcrumb_keeps_the_nearest_names() {
        const NAMES: [&str; 11] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
        let cases = [
            (0, None),
            (1, Some("a")),
            (3, Some("a > b > c")),
            (8, Some("a > b > c > d > e > f > g > h")),
            (9, Some("… > b > c > d > e > f > g > h > i")),
            (10, Some("… > c > d > e > f > g > h > i > j")),
        ];
        for (at, expected) in cases {
            let found = breadcrumb(at, |at: usize| at.checked_sub(1), |at| NAMES[at]);
            assert_eq!(found.as_deref(), expected, "{at}");
        }
    }
}
