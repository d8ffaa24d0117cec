//! Hashes of files and of what is made of them.

use weft_model::TextHash;

/// The first 128 bits of the BLAKE3 hash of `bytes`: written in hexadecimal digits they are what `b3sum --length 16` prints.
pub(crate) fn hash_of(bytes: &[u8]) -> TextHash {
    let hash = blake3::hash(bytes);
    let (first, _) = hash.as_bytes().split_at(16);
    TextHash(u128::from_be_bytes(first.try_into().expect("sixteen bytes")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_the_one_that_others_print() {
        // Of nothing, by the test vectors of BLAKE3.
        assert_eq!(format!("{:?}", hash_of(b"")), "af1349b9f5f9a1a6a0404dea36dcc949");
    }
}
