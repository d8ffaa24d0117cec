//! The longest text that fits: a search for the largest number that satisfies a condition.

/// Returns the largest `n` in `1..=limit` that fits, or 0 if none does.
///
/// Doubles from `guess`, then bisects, so the cost depends on the result rather than on `limit`.
/// The result always fits; it is the largest one if everything shorter than a fitting `n` fits too.
#[must_use]
pub fn longest(limit: usize, guess: usize, mut fits: impl FnMut(usize) -> bool) -> usize {
    if limit == 0 {
        return 0;
    }
    let (mut fitting, mut probe) = (0, guess.clamp(1, limit));
    while fits(probe) {
        fitting = probe;
        if probe == limit {
            return limit;
        }
        probe = probe.saturating_mul(2).min(limit);
    }
    let mut too_long = probe;
    while too_long - fitting > 1 {
        let middle = fitting.midpoint(too_long);
        if fits(middle) {
            fitting = middle;
        } else {
            too_long = middle;
        }
    }
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_fit_is_found_from_any_guess() {
        for fit in 0..40 {
            for guess in 0..50 {
                let mut n_tries = 0;
                let found = longest(33, guess, |n| {
                    n_tries += 1;
                    n <= fit
                });
                assert_eq!(found, fit.min(33), "guess {guess}");
                assert!(n_tries <= 12, "{n_tries} tries from {guess}");
            }
        }
    }

    #[test]
    fn result_fits_even_if_fitting_is_not_monotonic() {
        let fits = |n: usize| n % 7 != 3;
        for limit in 1..100 {
            let found = longest(limit, limit / 2, fits);
            assert!(found == 0 || fits(found));
        }
    }
}
