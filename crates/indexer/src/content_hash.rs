//! Hashes of files and derived content.

use weft_model::TextHash;

/// Returns the first 128 bits of the BLAKE3 hash of `bytes`. In hexadecimal they equal the output of `b3sum --length 16`.
#[must_use]
pub fn hash_of(bytes: &[u8]) -> TextHash {
    let hash = blake3::hash(bytes);
    let (first, _) = hash.as_bytes().split_at(16);
    TextHash(u128::from_be_bytes(first.try_into().expect("sixteen bytes")))
}

/// Returns a 64-bit digest of the concatenated `parts`.
pub(crate) fn digest_of(parts: &[&[u8]]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    let digest = hasher.finalize();
    let (first, _) = digest.as_bytes().split_at(8);
    u64::from_le_bytes(first.try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_equals_b3sum_output() {
        // The hash of empty input in the BLAKE3 test vectors.
        assert_eq!(format!("{:?}", hash_of(b"")), "af1349b9f5f9a1a6a0404dea36dcc949");
    }
}
