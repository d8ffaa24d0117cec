//! The way by which a walk came to a note.

use std::iter::successors;

/// Notes of a way that are named: a chain of thousands would name each of them thousands of times.
const STEPS: usize = 8;

/// The names of the notes above `note` with ` > ` between them, outermost first; of more than eight the nearest, after `…`. Nothing for a root.
///
/// `above` leads a step back, and to nothing from a root.
pub fn way<'n, N: Copy>(
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
    fn a_way_names_the_nearest() {
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
            let found = way(at, |at: usize| at.checked_sub(1), |at| NAMES[at]);
            assert_eq!(found.as_deref(), expected, "{at}");
        }
    }
}
