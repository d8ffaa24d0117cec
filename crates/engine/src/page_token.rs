//! Page tokens, each bound to the list that it belongs to.

use std::fmt::Debug;

use crate::EngineError;
use crate::resume_token::fingerprint;

/// Default number of items per page.
const PAGE_SIZE: usize = 100;

/// Maximum number of items per page.
const MAX_PAGE_SIZE: usize = 1000;

/// Returns the number of items per page; 0 means the default.
pub(crate) fn page_size(requested: usize) -> Result<usize, EngineError> {
    if requested > MAX_PAGE_SIZE {
        let reason = format!("{requested} exceeds the maximum of {MAX_PAGE_SIZE} per page");
        return Err(EngineError::InvalidArgument { field: "page_size", reason });
    }
    Ok(if requested == 0 { PAGE_SIZE } else { requested })
}

/// Page tokens of one list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageTokens(u64);

impl PageTokens {
    /// Creates the tokens of the list identified by `parts`: the RPC and every parameter that selects its items.
    pub(crate) fn of(parts: &impl Debug) -> Self {
        Self(fingerprint(parts))
    }

    /// Returns the token of the page after the item `last`.
    pub(crate) fn token(self, last: &str) -> String {
        format!("{:016x}.{last}", fingerprint(&(self.0, last)))
    }

    /// Returns the last item of the previous page; `None` for the first page.
    ///
    /// Fails on a token of another list and on a modified token.
    pub(crate) fn after(self, token: &str) -> Result<Option<&str>, EngineError> {
        if token.is_empty() {
            return Ok(None);
        }
        let last = token.split_once('.').map(|(_, last)| last);
        let own = last.filter(|last| self.token(last) == token);
        own.map(Some).ok_or_else(foreign)
    }

    /// Returns the next `size` items of `left` and the token of the page after them, named by its last item; an empty token on the last page.
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

/// Returns the error for a token that does not belong to the list.
pub(crate) fn foreign() -> EngineError {
    EngineError::InvalidArgument {
        field: "page_token",
        reason:
            "not a `next_page_token` of this RPC and filter; request the first page without a token"
                .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_of_another_list_is_rejected() {
        let (list, other) = (PageTokens::of(&("list", 1)), PageTokens::of(&("list", 2)));
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
    fn only_pages_before_the_last_have_a_token() {
        let list = PageTokens::of(&"list");
        let cut = |n: usize| list.cut(0..n, 2, ToString::to_string);
        assert_eq!(cut(0), (vec![], String::new()));
        assert_eq!(cut(2), (vec![0, 1], String::new()));
        assert_eq!(cut(3), (vec![0, 1], list.token("1")));
    }
}
