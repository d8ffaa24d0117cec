//! Resume tokens: the progress of a walk over several pages, bound to its generation and request.

use std::fmt;

use weft_graph::doughnut::Resume;
use weft_model::Tokens;

use crate::EngineError;

/// The request field of a resume token.
const FIELD: &str = "resume_token";

/// The progress of a walk. Written as `generation.basis.seal.budget-budget-…`, with a hexadecimal seal and decimal numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResumeToken {
    /// Generation of the pages so far.
    pub(crate) generation: u64,
    /// Identifies what the pages so far compared texts by: the vectors of the focus note, and words.
    pub(crate) text_basis: usize,
    /// Fingerprint of the request and the pages so far.
    seal: u64,
    /// The pages so far.
    resume: Resume,
}

/// Fingerprint of a request: 64 bits of BLAKE3 over the `Debug` text of its parts.
///
/// It detects mixed-up and truncated tokens. It is not a secret: a forged token grants nothing that a request could not ask for.
pub(crate) fn fingerprint(parts: &impl fmt::Debug) -> u64 {
    let hash = blake3::hash(format!("{parts:?}").as_bytes());
    hash.as_bytes()[..8].iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

impl fmt::Display for ResumeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { generation, text_basis, seal, resume } = self;
        let budgets: Vec<String> =
            resume.budgets().iter().map(|budget| budget.get().to_string()).collect();
        write!(f, "{generation}.{text_basis}.{seal:016x}.{}", budgets.join("-"))
    }
}

impl ResumeToken {
    /// Creates the token of the page after `resume`. `fingerprint` is the fingerprint of everything that must stay the same on every page.
    pub(crate) fn new(
        generation: u64,
        text_basis: usize,
        fingerprint: u64,
        resume: Resume,
    ) -> Self {
        Self { generation, text_basis, seal: seal(fingerprint, &resume), resume }
    }

    /// Parses a token.
    pub(crate) fn read(text: &str) -> Result<Self, EngineError> {
        let parts = || {
            let (generation, rest) = text.split_once('.')?;
            let (text_basis, rest) = rest.split_once('.')?;
            let (seal, budgets) = rest.split_once('.')?;
            // A first page without a budget has an empty list.
            let budgets = (!budgets.is_empty()).then(|| budgets.split('-')).into_iter().flatten();
            Some(Self {
                generation: generation.parse().ok()?,
                text_basis: text_basis.parse().ok()?,
                seal: u64::from_str_radix(seal, 16).ok()?,
                resume: budgets
                    .map(|budget| budget.parse().map(Tokens::new).ok())
                    .collect::<Option<_>>()?,
            })
        };
        parts().ok_or_else(|| EngineError::InvalidArgument {
            field: FIELD,
            reason: "not a resume token; pass the token of the previous page unchanged".to_owned(),
        })
    }

    /// Returns the pages so far, if the token belongs to `fingerprint`.
    pub(crate) fn of(&self, fingerprint: u64) -> Result<&Resume, EngineError> {
        if self.seal == seal(fingerprint, &self.resume) {
            return Ok(&self.resume);
        }
        Err(EngineError::InvalidArgument {
            field: FIELD,
            reason: "the token belongs to another request or was changed; note, filter, options and estimator must stay the same on every page".to_owned(),
        })
    }
}

fn seal(requested: u64, resume: &Resume) -> u64 {
    fingerprint(&(requested, resume))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(budgets: &[u64]) -> ResumeToken {
        let resume = budgets.iter().copied().map(Tokens::new).collect();
        ResumeToken::new(42, 3, 0xab, resume)
    }

    #[test]
    fn token_round_trips() {
        for (budgets, pages) in [(&[][..], ""), (&[2000], "2000"), (&[2000, 15], "2000-15")] {
            let text = token(budgets).to_string();
            assert!(text.starts_with("42.3.") && text.ends_with(&format!(".{pages}")), "{text}");
            let read = ResumeToken::read(&text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(read, token(budgets));
        }
    }

    #[test]
    fn invalid_token_is_rejected() {
        for text in [
            "",
            "x",
            "42",
            "42.0",
            "42.0.ab",
            "42.x.ab.1",
            "42.0.xy.1",
            "42.0.ab.1-",
            "42.0.ab.-1",
            "42.0.ab.1.2",
            "-1.0.ab.1",
        ] {
            assert!(ResumeToken::read(text).is_err(), "{text}");
        }
        let one = token(&[1]);
        assert!(one.of(0xab).is_ok() && one.of(0xac).is_err());
        let forged = format!("{one}0");
        assert!(ResumeToken::read(&forged).is_ok_and(|forged| forged.of(0xab).is_err()));
    }

    #[test]
    fn fingerprint_depends_on_every_part() {
        let all = [("a", 1), ("b", 1), ("a", 2)].map(|parts| fingerprint(&parts));
        assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
        assert_eq!(fingerprint(&("a", 1)), all[0]);
    }
}
