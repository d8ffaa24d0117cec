//! Budgets, and the unit in which texts are measured against them.

use serde::{Deserialize, Serialize};
use weft_model::tokens::Characters;
use weft_model::{Chars, Estimator, Tokens};

use crate::PackError;
use crate::limits::expect;

/// What a context may cost, in the unit the caller thinks in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Unicode scalar values.
    Characters(Chars),
    /// Tokens as the [`Meter`] counts them.
    Tokens(Tokens),
}

impl Budget {
    /// The amount, in its own unit.
    #[must_use]
    pub const fn amount(self) -> u64 {
        match self {
            Self::Characters(chars) => chars.0,
            Self::Tokens(tokens) => tokens.get(),
        }
    }

    /// The unit.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Self::Characters(_) => Unit::Characters,
            Self::Tokens(_) => Unit::Tokens,
        }
    }
}

/// What a number of a ledger counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Unicode scalar values.
    Characters,
    /// Tokens.
    Tokens,
}

/// How tokens are counted.
#[derive(Clone, Copy)]
pub enum Meter<'e> {
    /// By length: the arithmetic runs in characters, and a budget of tokens is converted once.
    Characters(Characters),
    /// By an estimator: a budget of tokens is spent in its tokens.
    Estimator(&'e dyn Estimator),
}

impl Default for Meter<'_> {
    fn default() -> Self {
        Self::Characters(Characters::default())
    }
}

/// The unit of the arithmetic, and the ways into and out of it.
#[derive(Clone, Copy)]
pub(crate) struct Account<'e> {
    budget: Budget,
    meter: Meter<'e>,
}

impl<'e> Account<'e> {
    pub(crate) fn new(budget: Budget, meter: Meter<'e>) -> Result<Self, PackError> {
        if let Meter::Characters(Characters { per_token }) = meter {
            let usable = per_token.is_finite() && per_token > 0.0;
            expect("per_token", per_token, "a positive number of characters", usable)?;
        }
        Ok(Self { budget, meter })
    }

    /// The budget as it was given.
    pub(crate) const fn budget(self) -> Budget {
        self.budget
    }

    /// The budget in the unit of the arithmetic.
    pub(crate) fn available(self) -> u64 {
        match (self.budget, self.meter) {
            (Budget::Tokens(tokens), Meter::Characters(by_length)) => by_length.chars(tokens).0,
            (Budget::Tokens(tokens), Meter::Estimator(_)) => tokens.get(),
            (Budget::Characters(chars), _) => chars.0,
        }
    }

    /// The estimator in whose tokens the arithmetic runs; nothing where it runs in characters.
    ///
    /// Characters of two texts add up to those of both together. Nothing of the kind holds for tokens.
    pub(crate) fn estimator(self) -> Option<&'e dyn Estimator> {
        match (self.budget, self.meter) {
            (Budget::Tokens(_), Meter::Estimator(estimator)) => Some(estimator),
            (Budget::Tokens(_), Meter::Characters(_)) | (Budget::Characters(_), _) => None,
        }
    }

    /// The unit of the arithmetic.
    pub(crate) fn unit(self) -> Unit {
        self.estimator().map_or(Unit::Characters, |_| Unit::Tokens)
    }

    /// What `text` costs in the unit of the arithmetic; an empty text is free.
    pub(crate) fn measure(self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        self.estimator().map_or_else(|| Chars::of(text).0, |by| by.estimate(text).get())
    }

    /// About how many characters `amount` of the arithmetic pays for: where to start looking for a cut.
    pub(crate) fn likely_chars(self, amount: u64) -> u64 {
        match self.estimator() {
            Some(_) => Characters::default().chars(Tokens::new(amount)).0,
            None => amount,
        }
    }

    /// What `text` costs in tokens; an empty text is free.
    pub(crate) fn tokens(self, text: &str) -> Tokens {
        match self.meter {
            _ if text.is_empty() => Tokens::ZERO,
            Meter::Characters(by_length) => by_length.estimate(text),
            Meter::Estimator(estimator) => estimator.estimate(text),
        }
    }

    /// What `wrapper` around an unread text of `length` would cost in tokens.
    ///
    /// An estimator cannot be asked about a text nobody has read, so its length decides.
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

    /// A spent amount of the arithmetic in the unit asked for, rounded up.
    pub(crate) fn spent(self, used: u64) -> u64 {
        match (self.budget, self.meter) {
            (Budget::Tokens(_), Meter::Characters(_)) if used == 0 => 0,
            // Rounding up a part of ⌊budget × per token⌋ stays within the budget, up to the last bit of a float.
            (Budget::Tokens(budget), Meter::Characters(by_length)) => {
                by_length.tokens(Chars(used)).min(budget).get()
            }
            (Budget::Tokens(_), Meter::Estimator(_)) | (Budget::Characters(_), _) => used,
        }
    }
}
