//! Where the next page of a list begins, as a token that the list it came from takes, and no other.

use std::fmt::Debug;

use crate::EngineError;
use crate::resume::question;

/// The pages of one list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pages(u64);

impl Pages {
    /// The pages of the list that `parts` ask for: the call, and all that decides which items it has.
    pub(crate) fn of(parts: &impl Debug) -> Self {
        Self(question(parts))
    }

    /// A token for the page after `last`.
    pub(crate) fn token(self, last: &str) -> String {
        format!("{:016x}.{last}", question(&(self.0, last)))
    }

    /// What the page before ended with; nothing for the first page.
    ///
    /// Fails on a token of another list, and on one that was changed.
    pub(crate) fn after(self, token: &str) -> Result<Option<&str>, EngineError> {
        if token.is_empty() {
            return Ok(None);
        }
        let last = token.split_once('.').map(|(_, last)| last);
        let own = last.filter(|last| self.token(last) == token);
        own.map(Some).ok_or_else(foreign)
    }
}

/// A token that this list did not give.
pub(crate) fn foreign() -> EngineError {
    EngineError::InvalidArgument {
        field: "page_token",
        reason: "it is no `next_page_token` of this call with this filter; ask for the first page without one".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_belongs_to_its_list() {
        let (list, other) = (Pages::of(&("list", 1)), Pages::of(&("list", 2)));
        let token = list.token("a.b/c");
        assert_eq!(list.after(&token).unwrap(), Some("a.b/c"));
        assert_eq!(list.after("").unwrap(), None);
        for foreign in [&*token, "a.b/c", "x", ".", "0000000000000000.a"] {
            assert!(other.after(foreign).is_err(), "{foreign}");
        }
        let cut = &token[..token.len() - 1];
        assert!(list.after(cut).is_err(), "{cut}");
    }
}
