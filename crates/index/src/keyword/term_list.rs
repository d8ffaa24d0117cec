//! Term list of a note: all its terms with their frequencies, front-coded, stored with the document.

use super::analyzer::Analyzer;
use super::term_buffer::BufferedTerm;

/// Encodes the terms of a note in ascending order. Each entry holds the length of the prefix shared with the previous term, the rest of the term, its frequency, and whether it occurs as a word.
pub(super) fn term_list(terms: &[BufferedTerm], analyzer: &Analyzer) -> Vec<u8> {
    let text = |term: &BufferedTerm| analyzer.term(term.number);
    let mut terms: Vec<(u64, &BufferedTerm)> =
        terms.iter().map(|term| (leading_bytes(text(term)), term)).collect();
    // Nearly all terms differ in their first eight bytes; the few that do not are sorted afterwards.
    terms.sort_unstable_by_key(|(leading, _)| *leading);
    for equal in terms.chunk_by_mut(|(left, _), (right, _)| left == right) {
        equal.sort_unstable_by(|(_, left), (_, right)| text(left).cmp(text(right)));
    }
    let mut bytes = Vec::with_capacity(terms.len() * 8);
    let mut previous: &[u8] = b"";
    for (_, buffered) in terms {
        let term = text(buffered).as_bytes();
        let n_shared = previous.iter().zip(term).take_while(|(left, right)| left == right).count();
        push_number(n_shared as u64, &mut bytes);
        push_number((term.len() - n_shared) as u64, &mut bytes);
        bytes.extend(&term[n_shared..]);
        let BufferedTerm { number: _, frequency, is_word } = buffered;
        push_number(u64::from(*frequency) << 1 | u64::from(*is_word), &mut bytes);
        previous = term;
    }
    bytes
}

/// Returns the first eight bytes as a number with the same order. Most terms differ in it, and numbers are quicker to compare.
fn leading_bytes(term: &str) -> u64 {
    let mut bytes = [0; 8];
    let n = term.len().min(bytes.len());
    bytes[..n].copy_from_slice(&term.as_bytes()[..n]);
    u64::from_be_bytes(bytes)
}

/// Appends `number` as a varint: seven-bit groups, lowest first.
fn push_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push((number & 0x7f) as u8);
}

/// Entry of a note's term list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListedTerm<'t> {
    pub(super) term: &'t str,
    pub(super) frequency: u32,
    pub(super) is_word: bool,
}

/// Decodes a list written by [`term_list`] and passes each entry to `sink`. Returns false if the list is corrupt.
pub(super) fn read_term_list(mut bytes: &[u8], mut sink: impl FnMut(ListedTerm<'_>)) -> bool {
    let mut term = Vec::new();
    while !bytes.is_empty() {
        let Some(entry) = read_entry(&mut bytes, &mut term) else { return false };
        sink(entry);
    }
    true
}

fn read_entry<'t>(bytes: &mut &[u8], term: &'t mut Vec<u8>) -> Option<ListedTerm<'t>> {
    let n_shared = usize::try_from(read_number(bytes)?).ok().filter(|n| *n <= term.len())?;
    let n_own = usize::try_from(read_number(bytes)?).ok()?;
    let (own, rest) = bytes.split_at_checked(n_own)?;
    *bytes = rest;
    term.truncate(n_shared);
    term.extend(own);
    let count = read_number(bytes)?;
    let frequency = u32::try_from(count >> 1).ok()?;
    Some(ListedTerm { term: std::str::from_utf8(term).ok()?, frequency, is_word: count & 1 == 1 })
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
