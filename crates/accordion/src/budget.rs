//! Budgets, and the unit in which texts are measured against them.

use serde::{Deserialize, Serialize};
use weft_model::tokens::Characters;
use weft_model::{Chars, Estimator, Tokens};

use crate::PackError;
use crate::limits::expect;

/// Budget of a context, in the unit chosen by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextBudget {
    /// Unicode scalar values.
    Characters(Chars),
    /// Tokens as counted by the [`Meter`].
    Tokens(Tokens),
}

impl ContextBudget {
    /// Returns the amount, in its own unit.
    #[must_use]
    pub const fn amount(self) -> u64 {
        match self {
            Self::Characters(chars) => chars.0,
            Self::Tokens(tokens) => tokens.get(),
        }
    }

    /// Returns the unit.
    #[must_use]
    pub const fn unit(self) -> BudgetUnit {
        match self {
            Self::Characters(_) => BudgetUnit::Characters,
            Self::Tokens(_) => BudgetUnit::Tokens,
        }
    }
}

/// Unit of the numbers of a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetUnit {
    /// Unicode scalar values.
    Characters,
    /// Tokens.
    Tokens,
}

/// Method of counting tokens.
#[derive(Clone, Copy)]
pub enum Meter<'e> {
    /// By length: the arithmetic runs in characters, and a budget of tokens is converted once.
    Characters(Characters),
    /// With an estimator: the arithmetic runs in its tokens.
    Estimator(&'e dyn Estimator),
}

impl Default for Meter<'_> {
    fn default() -> Self {
        Self::Characters(Characters::default())
    }
}

/// Converts between the unit of the budget and the unit of the arithmetic.
#[derive(Clone, Copy)]
pub(crate) struct Account<'e> {
    budget: ContextBudget,
    meter: Meter<'e>,
}

impl<'e> Account<'e> {
    pub(crate) fn new(budget: ContextBudget, meter: Meter<'e>) -> Result<Self, PackError> {
        if let Meter::Characters(Characters { per_token }) = meter {
            let usable = per_token.is_finite() && per_token > 0.0;
            expect("per_token", per_token, "a positive number of characters", usable)?;
        }
        Ok(Self { budget, meter })
    }

    /// Returns the budget as given.
    pub(crate) const fn budget(self) -> ContextBudget {
        self.budget
    }

    /// Returns the budget in the unit of the arithmetic.
    pub(crate) fn available(self) -> u64 {
        match (self.budget, self.meter) {
            (ContextBudget::Tokens(tokens), Meter::Characters(by_length)) => {
                by_length.chars(tokens).0
            }
            (ContextBudget::Tokens(tokens), Meter::Estimator(_)) => tokens.get(),
            (ContextBudget::Characters(chars), _) => chars.0,
        }
    }

    /// Returns the estimator whose tokens are the unit of the arithmetic; `None` if it runs in characters.
    ///
    /// The lengths of two texts add up to the length of both together. Token counts do not.
    pub(crate) fn estimator(self) -> Option<&'e dyn Estimator> {
        match (self.budget, self.meter) {
            (ContextBudget::Tokens(_), Meter::Estimator(estimator)) => Some(estimator),
            (ContextBudget::Tokens(_), Meter::Characters(_))
            | (ContextBudget::Characters(_), _) => None,
        }
    }

    /// Returns the unit of the arithmetic.
    pub(crate) fn unit(self) -> BudgetUnit {
        self.estimator().map_or(BudgetUnit::Characters, |_| BudgetUnit::Tokens)
    }

    /// Returns the cost of `text` in the unit of the arithmetic; an empty text is free.
    pub(crate) fn measure(self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        self.estimator().map_or_else(|| Chars::of(text).0, |by| by.estimate(text).get())
    }

    /// Returns about how many characters `amount` pays for, as the start of a search for a cut.
    pub(crate) fn likely_chars(self, amount: u64) -> u64 {
        match self.estimator() {
            Some(_) => Characters::default().chars(Tokens::new(amount)).0,
            None => amount,
        }
    }

    /// Returns about what a text of `n_chars` characters costs.
    pub(crate) fn likely_cost(self, n_chars: u64) -> u64 {
        match self.estimator() {
            Some(_) => n_chars * 10 / 38,
            None => n_chars,
        }
    }

    /// Returns the cost of `text` in tokens; an empty text is free.
    pub(crate) fn tokens(self, text: &str) -> Tokens {
        match self.meter {
            _ if text.is_empty() => Tokens::ZERO,
            Meter::Characters(by_length) => by_length.estimate(text),
            Meter::Estimator(estimator) => estimator.estimate(text),
        }
    }

    /// Returns the cost in tokens of `wrapper` around an unread text of `length`.
    ///
    /// An estimator needs the text, so the length is used instead.
    pub(crate) fn tokens_unread(self, wrapper: &str, length: Chars) -> Tokens {
        match self.meter {
            Meter::Characters(by_length) => match Chars::of(wrapper).0 + length.0 {
                0 => Tokens::ZERO,
                chars => by_length.tokens(Chars(chars)),
            },
            Meter::Estimator(_) => {
                let text =
                    if length.0 == 0 { 0 } else { Characters::default().tokens(length).get() };
                Tokens::new(self.tokens(wrapper).get() + text)
            }
        }
    }

    /// Converts a spent amount to the unit of the budget, rounded up.
    pub(crate) fn spent(self, used: u64) -> u64 {
        match (self.budget, self.meter) {
            (ContextBudget::Tokens(_), Meter::Characters(_)) if used == 0 => 0,
            // Rounding up a part of ⌊budget × per token⌋ stays within the budget, except for floating-point error.
            (ContextBudget::Tokens(budget), Meter::Characters(by_length)) => {
                by_length.tokens(Chars(used)).min(budget).get()
            }
            (ContextBudget::Tokens(_), Meter::Estimator(_)) | (ContextBudget::Characters(_), _) => {
                used
            }
        }
    }
}
