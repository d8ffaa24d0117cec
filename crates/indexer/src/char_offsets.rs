//! Converts between byte offsets and character offsets.

use std::ops::Range;

use weft_model::Span;

/// Bytes between two samples; a lookup scans at most this many.
const STRIDE: usize = 512;

/// Converts byte offsets of a text to character offsets and back, each in constant time.
///
/// Takes `4 / 512` of the text's size, or nothing for ASCII, where both offsets are equal.
pub(crate) struct CharOffsets<'t> {
    text: &'t str,
    /// Number of characters that begin before each multiple of [`STRIDE`]; empty for ASCII.
    marks: Vec<u32>,
}

impl<'t> CharOffsets<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let mut marks = Vec::new();
        if !text.is_ascii() {
            let mut n_chars = 0;
            for stride in text.as_bytes().chunks(STRIDE) {
                marks.push(n_chars);
                n_chars += n_starts(stride);
            }
        }
        Self { text, marks }
    }

    /// Returns the number of characters that begin before `byte`.
    pub(crate) fn char_at(&self, byte: usize) -> u32 {
        let Some(last) = self.marks.len().checked_sub(1) else {
            return u32::try_from(byte).unwrap_or(u32::MAX);
        };
        let stride = (byte / STRIDE).min(last);
        self.marks[stride] + n_starts(&self.text.as_bytes()[stride * STRIDE..byte])
    }

    /// Returns the byte at which character `n` begins, or the text's length if there is no such character.
    pub(crate) fn byte_at(&self, n: u32) -> usize {
        if self.marks.is_empty() {
            return (n as usize).min(self.text.len());
        }
        let stride = self.marks.partition_point(|&before| before <= n).saturating_sub(1);
        let mut left = n - self.marks[stride];
        let bytes = self.text.as_bytes();
        (stride * STRIDE..bytes.len())
            .find(|&byte| {
                let found = is_start(bytes[byte]) && left == 0;
                left = left.saturating_sub(u32::from(is_start(bytes[byte])));
                found
            })
            .unwrap_or(bytes.len())
    }

    pub(crate) fn span(&self, bytes: Range<usize>) -> Span {
        Span::new(self.char_at(bytes.start), self.char_at(bytes.end))
    }

    pub(crate) fn bytes(&self, span: Span) -> Range<usize> {
        let start = self.byte_at(span.start);
        start..self.byte_at(span.end).max(start)
    }
}

/// Returns true if this byte begins a UTF-8 character.
const fn is_start(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

fn n_starts(bytes: &[u8]) -> u32 {
    bytes.iter().map(|&byte| u32::from(is_start(byte))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_agree_with_counting() {
        let mixed = "aé漢🌿z\n".repeat(300);
        let plain = "plain ascii\n".repeat(300);
        for text in ["", "a", "é", &mixed, &plain] {
            let offsets = CharOffsets::new(text);
            let mut n = 0;
            for (byte, _) in text.char_indices() {
                assert_eq!((offsets.char_at(byte), offsets.byte_at(n)), (n, byte));
                n += 1;
            }
            assert_eq!((offsets.char_at(text.len()), offsets.byte_at(n)), (n, text.len()));
            assert_eq!(offsets.byte_at(n + 1000), text.len());
        }
    }
}
