//! The arithmetic of the accordion: the allowance of each note, and what it leaves to the next one.

use crate::ContextLimits;

/// The running account of one context, in the unit of the arithmetic.
///
/// ```
/// use weft_accordion::{ContextLimits, Plan};
///
/// let mut plan = Plan::new(1000, &ContextLimits::default());
/// assert_eq!(plan.room(), 100);
/// // A short note leaves its unused allowance to the next one.
/// plan.take(30);
/// assert_eq!((plan.room(), plan.left()), (170, 970));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    budget: u64,
    soft: u64,
    used: u64,
    carry: u64,
}

impl Plan {
    /// Creates an account of `budget`; `soft = ⌊per-note share × budget⌋`.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a share of the budget is neither negative nor above it, and saturates beyond 2^53"
    )]
    pub fn new(budget: u64, limits: &ContextLimits) -> Self {
        let soft = (limits.per_note_share * budget as f64).floor() as u64;
        Self { budget, soft, used: 0, carry: 0 }
    }

    /// Returns the account with a maximum of `budget`; the soft limit stays the same.
    #[must_use]
    pub const fn within(self, budget: u64) -> Self {
        Self { budget, ..self }
    }

    /// Returns the budget.
    #[must_use]
    pub const fn budget(&self) -> u64 {
        self.budget
    }

    /// Returns the spent amount.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// Returns the remaining amount.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.budget - self.used
    }

    /// Returns the unused allowance of earlier notes.
    #[must_use]
    pub const fn carry(&self) -> u64 {
        self.carry
    }

    /// Returns the maximum cost of the next note, wrapper included: `min(soft + carry, budget − used)`.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.soft.saturating_add(self.carry).min(self.left())
    }

    /// Spends `cost`, which must not exceed the remaining amount: `carry = max(0, soft + carry − cost)`.
    pub const fn take(&mut self, cost: u64) {
        debug_assert!(cost <= self.left());
        self.used += cost;
        self.carry = self.soft.saturating_add(self.carry).saturating_sub(cost);
    }
}
