//! The arithmetic of the accordion: what each note may cost, and what it leaves to the next.

use crate::Limits;

/// The running account of one context, in the unit of the arithmetic.
///
/// ```
/// use weft_accordion::{Limits, Plan};
///
/// let mut plan = Plan::new(1000, &Limits::default());
/// assert_eq!(plan.room(), 100);
/// // A small note leaves its room to the next.
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
    /// An account of `budget`, nothing spent; `soft = ⌊soft ratio × budget⌋`.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a share of the budget is neither negative nor above it, and saturates beyond 2^53"
    )]
    pub fn new(budget: u64, limits: &Limits) -> Self {
        let soft = (limits.soft_ratio * budget as f64).floor() as u64;
        Self { budget, soft, used: 0, carry: 0 }
    }

    /// The same account with at most `budget` to spend; the soft limit stays.
    #[must_use]
    pub const fn within(self, budget: u64) -> Self {
        Self { budget, ..self }
    }

    /// The most that may still be spent.
    #[must_use]
    pub const fn budget(&self) -> u64 {
        self.budget
    }

    /// What was spent.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// What is left.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.budget - self.used
    }

    /// What earlier notes left to the next one.
    #[must_use]
    pub const fn carry(&self) -> u64 {
        self.carry
    }

    /// What the next note may cost, wrapper included: `min(soft + carry, budget − used)`.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.soft.saturating_add(self.carry).min(self.left())
    }

    /// Pays `cost`, at most what is left: `carry = max(0, soft + carry − cost)`.
    pub const fn take(&mut self, cost: u64) {
        debug_assert!(cost <= self.left());
        self.used += cost;
        self.carry = self.soft.saturating_add(self.carry).saturating_sub(cost);
    }
}
