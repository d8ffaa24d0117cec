//! Resume tokens: where a run stands, bound to the generation and the question it belongs to.

use std::fmt;

use weft_graph::doughnut::Resume;
use weft_model::Tokens;

use crate::EngineError;

/// The field of a request that holds a token.
const FIELD: &str = "resume_token";

/// Where a run stands. Written as `generation.seal.budget-budget-…`, in decimal, hexadecimal and decimal numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResumeToken {
    /// The generation of the pages so far.
    pub(crate) generation: u64,
    /// What was asked, with the pages so far.
    seal: u64,
    /// The pages so far.
    resume: Resume,
}

/// A question as a token remembers it: 64 bits of BLAKE3 over what `Debug` writes of all its parts.
///
/// It tells apart questions that were mixed up and tokens that were cut; it keeps nothing secret, as a forged token asks for nothing that cannot be asked anyway.
pub(crate) fn question(parts: &impl fmt::Debug) -> u64 {
    let hash = blake3::hash(format!("{parts:?}").as_bytes());
    hash.as_bytes()[..8].iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

impl fmt::Display for ResumeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { generation, seal, resume } = self;
        let budgets: Vec<String> =
            resume.budgets().iter().map(|budget| budget.get().to_string()).collect();
        write!(f, "{generation}.{seal:016x}.{}", budgets.join("-"))
    }
}

impl ResumeToken {
    /// A token for the page after those of `resume`, which answer `question`: what was asked, and what may not change from page to page.
    pub(crate) fn new(generation: u64, question: u64, resume: Resume) -> Self {
        Self { generation, seal: seal(question, &resume), resume }
    }

    /// Reads a token that an answer gave out.
    pub(crate) fn read(text: &str) -> Result<Self, EngineError> {
        let parts = || {
            let (generation, rest) = text.split_once('.')?;
            let (seal, budgets) = rest.split_once('.')?;
            // A first page without a budget leaves none.
            let budgets = (!budgets.is_empty()).then(|| budgets.split('-')).into_iter().flatten();
            Some(Self {
                generation: generation.parse().ok()?,
                seal: u64::from_str_radix(seal, 16).ok()?,
                resume: budgets
                    .map(|budget| budget.parse().map(Tokens::new).ok())
                    .collect::<Option<_>>()?,
            })
        };
        parts().ok_or_else(|| EngineError::InvalidArgument {
            field: FIELD,
            reason: "it is not a token that an answer gave out; repeat the one of the page before as it is".to_owned(),
        })
    }

    /// The pages so far, if they belong to `question`.
    pub(crate) fn of(&self, question: u64) -> Result<&Resume, EngineError> {
        if self.seal == seal(question, &self.resume) {
            return Ok(&self.resume);
        }
        Err(EngineError::InvalidArgument {
            field: FIELD,
            reason: "it continues another question, or was changed: note, filter, options and estimator stay the same on every page".to_owned(),
        })
    }
}

fn seal(asked: u64, resume: &Resume) -> u64 {
    question(&(asked, resume))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(budgets: &[u64]) -> ResumeToken {
        let resume = budgets.iter().copied().map(Tokens::new).collect();
        ResumeToken::new(42, 0xab, resume)
    }

    #[test]
    fn a_token_is_read_as_it_was_written() {
        for (budgets, pages) in [(&[][..], ""), (&[2000], "2000"), (&[2000, 15], "2000-15")] {
            let text = token(budgets).to_string();
            assert!(text.starts_with("42.") && text.ends_with(&format!(".{pages}")), "{text}");
            let read = ResumeToken::read(&text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(read, token(budgets));
        }
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for text in
            ["", "x", "42", "42.ab", "42.xy.1", "42.ab.1-", "42.ab.-1", "42.ab.1.2", "-1.ab.1"]
        {
            assert!(ResumeToken::read(text).is_err(), "{text}");
        }
        let one = token(&[1]);
        assert!(one.of(0xab).is_ok() && one.of(0xac).is_err());
        let forged = format!("{one}0");
        assert!(ResumeToken::read(&forged).is_ok_and(|forged| forged.of(0xab).is_err()));
    }

    #[test]
    fn questions_differ_in_every_part() {
        let all = [("a", 1), ("b", 1), ("a", 2)].map(|parts| question(&parts));
        assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
        assert_eq!(question(&("a", 1)), all[0]);
    }
}
