//! Where the next page of a list begins, as a token that the list it came from takes, and no other.

use std::fmt::Debug;

use crate::EngineError;
use crate::resume::question;

/// Items of a page where the caller does not say.
const PAGE_SIZE: usize = 100;

/// Items of a page at most.
const MAX_PAGE_SIZE: usize = 1000;

/// Items of a page where `asked` are wanted; 0 says nothing of it.
pub(crate) fn page_size(asked: usize) -> Result<usize, EngineError> {
    if asked > MAX_PAGE_SIZE {
        let reason = format!("{asked} is more than {MAX_PAGE_SIZE} a page");
        return Err(EngineError::InvalidArgument { field: "page_size", reason });
    }
    Ok(if asked == 0 { PAGE_SIZE } else { asked })
}

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

    /// The next `size` of the items that are left, and the token for the page after them, by what `name` says of the last; an empty one where none are left.
    pub(crate) fn cut<T>(
        self,
        mut left: impl Iterator<Item = T>,
        size: usize,
        name: impl FnOnce(&T) -> String,
    ) -> (Vec<T>, String) {
        let page: Vec<T> = left.by_ref().take(size).collect();
        let last = page.last().filter(|_| left.next().is_some());
        let token = last.map(|last| self.token(&name(last))).unwrap_or_default();
        (page, token)
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

    #[test]
    fn a_page_before_the_last_names_its_end() {
        let list = Pages::of(&"list");
        let cut = |n: usize| list.cut(0..n, 2, ToString::to_string);
        assert_eq!(cut(0), (vec![], String::new()));
        assert_eq!(cut(2), (vec![0, 1], String::new()));
        assert_eq!(cut(3), (vec![0, 1], list.token("1")));
    }
}
