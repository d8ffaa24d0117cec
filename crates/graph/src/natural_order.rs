//! Natural order of names.

use std::cmp::Ordering;

/// Compares names with runs of ASCII digits as numbers: `note 2` before `note 10`.
///
/// The caller folds case.
/// Equal numbers with different leading zeros sort by length, so the order is total.
#[must_use]
pub fn natural_cmp(left: &str, right: &str) -> Ordering {
    let (mut a, mut b) = (left, right);
    let mut zeros = Ordering::Equal;
    loop {
        match (a.as_bytes().first(), b.as_bytes().first()) {
            (None, None) => return zeros,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                let (run_a, rest_a) = digits(a);
                let (run_b, rest_b) = digits(b);
                let (value_a, value_b) =
                    (run_a.trim_start_matches('0'), run_b.trim_start_matches('0'));
                let by_value = value_a.len().cmp(&value_b.len()).then_with(|| value_a.cmp(value_b));
                if by_value.is_ne() {
                    return by_value;
                }
                zeros = zeros.then_with(|| run_a.len().cmp(&run_b.len()));
                (a, b) = (rest_a, rest_b);
            }
            (Some(_), Some(_)) => {
                let (x, rest_a) = first_char(a);
                let (y, rest_b) = first_char(b);
                if x != y {
                    return x.cmp(&y);
                }
                (a, b) = (rest_a, rest_b);
            }
        }
    }
}

/// Maximum number of digits of a number that orders names; more are a date or an identifier.
const MAX_DIGITS: usize = 3;

/// Returns true if a name begins with a number that orders it among others: `01 introduction`.
pub(crate) fn begins_with_number(name: &str) -> bool {
    (1..=MAX_DIGITS).contains(&digits(name).0.len())
}

/// Returns true if two names have digits and are equal apart from them: `day 2` and `day 10`.
pub(crate) fn are_numbered_alike(left: &str, right: &str) -> bool {
    let has_digits = |name: &str| name.bytes().any(|byte| byte.is_ascii_digit());
    has_digits(left) && has_digits(right) && letters(left).eq(letters(right))
}

fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|letter| !letter.is_ascii_digit())
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn first_char(text: &str) -> (Option<char>, &str) {
    let mut chars = text.chars();
    (chars.next(), chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_by_their_beginning_or_alike() {
        assert!(are_numbered_alike("day 2", "day 10"));
        assert!(are_numbered_alike("2026-01-02", "2026-1-3"));
        assert!(!are_numbered_alike("day 2", "night 3") && !are_numbered_alike("day", "day 3"));
        assert!(begins_with_number("01 introduction") && begins_with_number("3"));
        assert!(!begins_with_number("2026 budget") && !begins_with_number("introduction"));
    }

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let sorted = [
            "", "1", "01", "2", "10", "a", "a 2 b", "a 2 c", "a 10 b", "a b", "é 1", "漢 2",
            "漢 11",
        ];
        for (i, left) in sorted.iter().enumerate() {
            for (j, right) in sorted.iter().enumerate() {
                assert_eq!(natural_cmp(left, right), i.cmp(&j), "{left:?} {right:?}");
            }
        }
    }
}
