//! The first items of a list in some order, without sorting the rest.

use std::cmp::Ordering;

/// Returns the first `n` of `items` in the given order, sorted. `O(items + n log n)`.
///
/// Equal items are in no particular order.
#[must_use]
pub fn first_n<T>(mut items: Vec<T>, n: usize, order: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    if items.len() > n {
        items.select_nth_unstable_by(n, &order);
        items.truncate(n);
    }
    items.sort_unstable_by(order);
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_items_are_sorted() {
        let items = [5, 1, 4, 1, 3];
        for n in 0..7 {
            let mut expected = items.to_vec();
            expected.sort_unstable();
            expected.truncate(n);
            assert_eq!(first_n(items.to_vec(), n, i32::cmp), expected, "{n}");
        }
    }
}
