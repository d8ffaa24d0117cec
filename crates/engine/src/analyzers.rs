//! Analyzers that know the words of earlier searches.

use std::sync::{Arc, Mutex, PoisonError};

use weft_index::keyword::Analyzer;

/// Analyzers that nobody uses now: as many as there were ever searches at once.
#[derive(Clone, Default)]
pub(crate) struct Analyzers(Arc<Mutex<Vec<Analyzer>>>);

impl Analyzers {
    /// Does `work` with an analyzer, with one that has seen words before where one is free.
    ///
    /// What it has seen makes it faster and changes nothing else.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Analyzer) -> T) -> T {
        let idle = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The lock is free again before the work begins.
        let taken = idle().pop();
        let mut analyzer = taken.unwrap_or_default();
        let done = work(&mut analyzer);
        analyzer.rest();
        idle().push(analyzer);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_are_used_at_once() {
        let analyzers = Analyzers::default();
        let n_idle = || analyzers.0.lock().unwrap().len();
        analyzers.with(|_| analyzers.with(|_| assert_eq!(n_idle(), 0)));
        assert_eq!(n_idle(), 2);
        analyzers.with(|_| assert_eq!(n_idle(), 1));
        assert_eq!(n_idle(), 2);
    }
}
