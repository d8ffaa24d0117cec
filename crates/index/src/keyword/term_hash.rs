//! Hashes of terms.

use std::hash::{DefaultHasher, Hasher as _};

/// Hashes a term. Stable within a process, never persisted.
pub(super) fn hash(term: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(term);
    hasher.finish()
}
