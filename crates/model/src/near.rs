//! Names that nearly are what somebody wrote.

/// Names less alike than this are not offered.
const LEAST_ALIKE: f64 = 0.75;

/// Names that are offered at most.
const OFFERED: usize = 5;

/// How alike two names are, 0 to 1, by Jaro and Winkler: a common beginning counts more. Case counts, too.
#[must_use]
pub fn alike(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(a, b)
}

/// Those worth offering of names that are so much [`alike`] what was written: a few, the most alike first, ties by name.
#[must_use]
pub fn offered<N: Ord>(names: impl IntoIterator<Item = (f64, N)>) -> Vec<N> {
    let names = names.into_iter().filter(|(alike, _)| *alike >= LEAST_ALIKE);
    let mut near: Vec<(f64, N)> = names.collect();
    near.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.cmp(right)));
    near.into_iter().take(OFFERED).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_are_offered_and_what_is_not_alike_is_none() {
        let scored = [(0.8, "c"), (0.74, "x"), (0.9, "d"), (0.8, "b"), (1.0, "e"), (0.75, "f")];
        assert_eq!(offered(scored), ["e", "d", "b", "c", "f"]);
        assert_eq!(offered([(0.8, 3), (0.8, 1), (0.8, 2), (0.8, 6), (0.8, 5), (0.8, 4)]).len(), 5);
        assert!(alike("suports", "supports") > alike("suports", "extends"));
    }
}
