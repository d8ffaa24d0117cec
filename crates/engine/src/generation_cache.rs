//! A small cache of values that are valid for one generation.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A bounded cache of values by generation and key. The least recently used entry is evicted first.
pub(crate) struct GenerationCache<K, V> {
    capacity: usize,
    /// Least recently used first.
    entries: Mutex<VecDeque<CacheEntry<K, V>>>,
}

struct CacheEntry<K, V> {
    generation: u64,
    key: K,
    value: Arc<V>,
}

impl<K: PartialEq, V> GenerationCache<K, V> {
    /// Creates a cache of at most `capacity` entries.
    pub(crate) const fn new(capacity: usize) -> Self {
        Self { capacity, entries: Mutex::new(VecDeque::new()) }
    }

    /// Returns the value of `key` in `generation`, if it is cached.
    pub(crate) fn get(&self, generation: u64, key: &K) -> Option<Arc<V>> {
        let mut entries = self.lock();
        let entry = take(&mut entries, generation, key)?;
        let value = Arc::clone(&entry.value);
        entries.push_back(entry);
        Some(value)
    }

    /// Caches `value`, in place of an older value of the same generation and key.
    pub(crate) fn insert(&self, generation: u64, key: K, value: Arc<V>) {
        let mut entries = self.lock();
        drop(take(&mut entries, generation, &key));
        self.push(&mut entries, CacheEntry { generation, key, value });
    }

    /// Returns the value of `key` in `generation`, computed first if it is not cached. The cache is locked meanwhile.
    pub(crate) fn get_or_insert_with(
        &self,
        generation: u64,
        key: K,
        compute: impl FnOnce() -> V,
    ) -> Arc<V> {
        let mut entries = self.lock();
        let cached = take(&mut entries, generation, &key);
        let entry =
            cached.unwrap_or_else(|| CacheEntry { generation, key, value: Arc::new(compute()) });
        let value = Arc::clone(&entry.value);
        self.push(&mut entries, entry);
        value
    }

    fn push(&self, entries: &mut VecDeque<CacheEntry<K, V>>, entry: CacheEntry<K, V>) {
        entries.push_back(entry);
        let n_over = entries.len().saturating_sub(self.capacity);
        entries.drain(..n_over);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<CacheEntry<K, V>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the entry of `key` in `generation`.
fn take<K: PartialEq, V>(
    entries: &mut VecDeque<CacheEntry<K, V>>,
    generation: u64,
    key: &K,
) -> Option<CacheEntry<K, V>> {
    let at = entries.iter().position(|it| it.generation == generation && it.key == *key)?;
    entries.remove(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_used_entry_is_evicted() {
        let cache = GenerationCache::new(3);
        let kept = Arc::new(0);
        cache.insert(1, "kept", Arc::clone(&kept));
        cache.insert(1, "evicted", Arc::new(1));
        for (key, value) in [("a", 2), ("b", 3)] {
            cache.insert(2, key, Arc::new(value));
            assert!(Arc::ptr_eq(&cache.get(1, &"kept").expect("just used"), &kept));
        }
        assert_eq!(cache.get(2, &"kept"), None, "another generation");
        assert_eq!(cache.get(1, &"evicted"), None);
        assert_eq!(cache.get(2, &"a").as_deref(), Some(&2));
    }

    #[test]
    fn concurrent_inserts_of_one_key_leave_the_last_value() {
        let cache = GenerationCache::new(3);
        cache.insert(1, "same", Arc::new(1));
        cache.insert(1, "same", Arc::new(2));
        assert_eq!(cache.get(1, &"same").as_deref(), Some(&2));
        assert_eq!(cache.lock().len(), 1);
    }
}
