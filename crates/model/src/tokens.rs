//! Budgets: characters, tokens, and estimators of one from the other.

use serde::{Deserialize, Serialize};

/// Characters assumed per token.
///
/// Source: Graph RAG design, "Token Budget Management".
pub const CHARACTERS_PER_TOKEN: f64 = 3.75;

/// A number of Unicode scalar values.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Chars(pub u64);

impl Chars {
    /// Returns the number of characters of `text`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(text.chars().count() as u64)
    }
}

/// An estimated number of tokens. Estimates round up, so a budget is never overspent.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tokens(u64);

impl Tokens {
    /// No tokens.
    pub const ZERO: Self = Self(0);

    /// Returns `count` tokens.
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// Returns the count.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Subtracts `cost` and returns true if it fits in this budget; changes nothing otherwise.
    #[must_use]
    pub const fn try_spend(&mut self, cost: Self) -> bool {
        match self.0.checked_sub(cost.0) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }
}

/// Estimates the number of tokens of a text, rounding up.
///
/// Implementations are pure: the same text always costs the same.
pub trait Estimator: Send + Sync {
    /// Returns the estimated tokens of `text`; at least one, even for an empty text.
    fn estimate(&self, text: &str) -> Tokens;
}

/// `⌈characters / per_token⌉`, at least one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Characters {
    /// Characters per token; positive and finite.
    pub per_token: f64,
}

impl Default for Characters {
    fn default() -> Self {
        Self { per_token: CHARACTERS_PER_TOKEN }
    }
}

impl Characters {
    /// Returns the estimated tokens of a text of `length`; at least one.
    #[must_use]
    pub fn tokens(self, length: Chars) -> Tokens {
        per_unit(length.0, self.per_token)
    }

    /// Returns the characters that fit in `tokens`: `⌊tokens × per_token⌋`.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the product is not negative, and a budget beyond 2^53 only saturates"
    )]
    pub fn chars(self, tokens: Tokens) -> Chars {
        Chars((tokens.0 as f64 * self.per_token).floor() as u64)
    }
}

impl Estimator for Characters {
    fn estimate(&self, text: &str) -> Tokens {
        self.tokens(Chars::of(text))
    }
}

/// `⌈UTF-8 bytes / per_token⌉`, at least one: more accurate than characters for non-Latin text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bytes {
    /// Bytes per token; positive and finite.
    pub per_token: f64,
}

impl Default for Bytes {
    fn default() -> Self {
        Self { per_token: CHARACTERS_PER_TOKEN }
    }
}

impl Estimator for Bytes {
    fn estimate(&self, text: &str) -> Tokens {
        per_unit(text.len() as u64, self.per_token)
    }
}

/// One token per text, so that a budget counts texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unit;

impl Estimator for Unit {
    fn estimate(&self, _text: &str) -> Tokens {
        Tokens(1)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "texts are far below 2^52 units, and the quotient is not negative"
)]
fn per_unit(units: u64, per_token: f64) -> Tokens {
    Tokens(((units as f64 / per_token).ceil() as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_round_up_and_count_characters() {
        let characters = Characters::default();
        for (text, expected) in
            [("", 1), ("abc", 1), ("abcd", 2), ("漢字漢字", 2), ("fifteen letters", 4)]
        {
            assert_eq!(characters.estimate(text).get(), expected, "{text}");
        }
        assert_eq!(characters.chars(Tokens::new(5)), Chars(18));
        assert_eq!(characters.tokens(Chars(18)), Tokens::new(5));
        assert_eq!(Bytes::default().estimate("漢字漢字").get(), 4);
        assert_eq!(Unit.estimate("any text at all").get(), 1);
    }

    #[test]
    fn budget_is_never_overspent() {
        let mut budget = Tokens::new(5);
        assert!(budget.try_spend(Tokens::new(3)));
        assert!(!budget.try_spend(Tokens::new(3)));
        assert_eq!(budget, Tokens::new(2));
        assert!(budget.try_spend(Tokens::new(2)));
    }
}
