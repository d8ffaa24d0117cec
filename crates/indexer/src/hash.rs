//! Hashes of files and of what is made of them.

/// The hash of a file's bytes.
pub(crate) fn hash_of(bytes: &[u8]) -> u128 {
    let hash = blake3::hash(bytes);
    let (first, _) = hash.as_bytes().split_at(16);
    u128::from_le_bytes(first.try_into().expect("sixteen bytes"))
}

/// A digest of `parts`, one after another.
pub(crate) fn digest_of(parts: &[&[u8]]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    let digest = hasher.finalize();
    let (first, _) = digest.as_bytes().split_at(8);
    u64::from_le_bytes(first.try_into().expect("eight bytes"))
}
