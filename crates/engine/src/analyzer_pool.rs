//! A pool of analyzers with warm token caches.

use std::sync::{Arc, Mutex, PoisonError};

use weft_index::keyword::Analyzer;

/// Idle analyzers, at most as many as there were concurrent searches.
#[derive(Clone, Default)]
pub(crate) struct AnalyzerPool(Arc<Mutex<Vec<Analyzer>>>);

impl AnalyzerPool {
    /// Runs `work` with an idle analyzer, or a new one if none is idle.
    ///
    /// The token cache of an analyzer affects speed only.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Analyzer) -> T) -> T {
        let idle = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Releases the lock before the work starts.
        let taken = idle().pop();
        let mut analyzer = taken.unwrap_or_default();
        let done = work(&mut analyzer);
        analyzer.shrink_caches();
        idle().push(analyzer);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_grows_to_concurrent_use() {
        let analyzers = AnalyzerPool::default();
        let n_idle = || analyzers.0.lock().unwrap().len();
        analyzers.with(|_| analyzers.with(|_| assert_eq!(n_idle(), 0)));
        assert_eq!(n_idle(), 2);
        analyzers.with(|_| assert_eq!(n_idle(), 1));
        assert_eq!(n_idle(), 2);
    }
}
