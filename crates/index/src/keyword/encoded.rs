//! Notes as they pass through the index's own door for documents, without a string per term.

use std::iter::Empty;
use std::ops::Range;
use std::slice::Iter;

use tantivy::schema::Field;
use tantivy::schema::document::{ReferenceValue, Value};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use weft_model::NoteId;

use super::schema::Fields;

/// Bytes for which room is kept from note to note; a note of more is rare.
const KEPT: usize = 1 << 20;

/// Set in a byte of a number where more follow; the bits below it are the number's, the lowest first.
const MORE: u8 = 0x40;

/// A note as a [`KeywordEncoder`](super::KeywordEncoder) made it ready, without its slot.
#[derive(Debug)]
pub struct EncodedNote {
    fields: Vec<(Field, Held)>,
    /// The texts of its fields, one after the other.
    texts: String,
    /// Its own list of terms.
    terms: Vec<u8>,
}

/// What a field of an [`EncodedNote`] holds.
#[derive(Debug)]
enum Held {
    Number(u64),
    /// This stretch of its texts.
    Text(Range<usize>),
    /// Its own list of terms.
    Terms,
}

impl EncodedNote {
    /// A note with these texts and numbers in their fields, and this list of terms.
    pub(super) fn new(
        texts: &TermTexts,
        numbers: [(Field, u64); 3],
        (field, terms): (Field, Vec<u8>),
    ) -> Self {
        let mut fields = Vec::with_capacity(texts.fields.len() + numbers.len() + 2);
        fields.extend(numbers.map(|(field, number)| (field, Held::Number(number))));
        fields.push((field, Held::Terms));
        fields.extend(texts.fields.iter().map(|(field, text)| (*field, Held::Text(text.clone()))));
        Self { fields, texts: texts.encoded.clone(), terms }
    }

    /// The same note in this slot.
    pub(super) fn in_slot(mut self, fields: &Fields, note: NoteId) -> Self {
        self.fields.push((fields.note, Held::Number(u64::from(note.get()))));
        self
    }

    /// What its texts and its list of terms take; the rest is small.
    pub(super) fn n_bytes(&self) -> usize {
        self.texts.len() + self.terms.len()
    }

    /// Its own list of terms.
    #[cfg(test)]
    pub(super) fn terms(&self) -> &[u8] {
        &self.terms
    }

    pub(super) fn values(&self) -> Values<'_> {
        Values { note: self, fields: self.fields.iter() }
    }
}

/// The fields of a note, and what they hold.
#[derive(Clone, Debug)]
pub(super) struct Values<'n> {
    note: &'n EncodedNote,
    fields: Iter<'n, (Field, Held)>,
}

impl<'n> Iterator for Values<'n> {
    type Item = (Field, FieldValue<'n>);

    fn next(&mut self) -> Option<Self::Item> {
        let (field, held) = self.fields.next()?;
        let value = match held {
            Held::Number(number) => FieldValue::Number(*number),
            Held::Text(range) => FieldValue::Text(&self.note.texts[range.clone()]),
            Held::Terms => FieldValue::Bytes(&self.note.terms),
        };
        Some((*field, value))
    }
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldValue<'n> {
    Number(u64),
    /// As [`TermTexts`] writes it.
    Text(&'n str),
    Bytes(&'n [u8]),
}

impl<'n> Value<'n> for FieldValue<'n> {
    type ArrayIter = Empty<Self>;
    type ObjectIter = Empty<(&'n str, Self)>;

    fn as_value(&self) -> ReferenceValue<'n, Self> {
        ReferenceValue::Leaf(match *self {
            Self::Number(number) => number.into(),
            Self::Text(text) => text.into(),
            Self::Bytes(bytes) => bytes.into(),
        })
    }
}

/// Terms with their positions, field by field, as [`EncodedTokens`] reads them back.
///
/// A term is its length, itself, how many positions it has, and the way from each to the next. Numbers are of bytes below 0x80, so that the whole is text.
#[derive(Debug, Default)]
pub(super) struct TermTexts {
    encoded: String,
    /// What each field takes of it.
    fields: Vec<(Field, Range<usize>)>,
}

impl TermTexts {
    pub(super) fn clear(&mut self) {
        self.encoded.clear();
        self.encoded.shrink_to(KEPT);
        self.fields.clear();
    }

    /// Adds a term of the field that is being written, with its positions: one at least, and none below the one before.
    pub(super) fn push(&mut self, term: &str, positions: &[u32]) {
        debug_assert!(!positions.is_empty() && positions.is_sorted());
        self.push_number(term.len() as u64);
        self.encoded.push_str(term);
        self.push_number(positions.len() as u64);
        let mut last = 0;
        for position in positions {
            self.push_number(u64::from(position - last));
            last = *position;
        }
    }

    fn push_number(&mut self, mut number: u64) {
        while number >= u64::from(MORE) {
            self.encoded.push(ascii(number | u64::from(MORE)));
            number >>= MORE.trailing_zeros();
        }
        self.encoded.push(ascii(number));
    }

    /// Ends a field, which takes everything since the last one ended; one without terms is left out.
    pub(super) fn end_field(&mut self, field: Field) {
        let start = self.fields.last().map_or(0, |(_, text)| text.end);
        if start < self.encoded.len() {
            self.fields.push((field, start..self.encoded.len()));
        }
    }
}

/// The lowest seven bits as a character.
const fn ascii(bits: u64) -> char {
    (bits & 0x7f) as u8 as char
}

/// Reads what [`TermTexts`] wrote.
#[derive(Clone)]
pub(super) struct Encoded;

impl Tokenizer for Encoded {
    type TokenStream<'t> = EncodedTokens<'t>;

    fn token_stream<'t>(&'t mut self, text: &'t str) -> EncodedTokens<'t> {
        EncodedTokens { rest: text, n_left: 0, token: Token::default() }
    }
}

/// The places of a term, and then those of the next: the library finds at hand what it looked up for the place before.
pub(super) struct EncodedTokens<'t> {
    rest: &'t str,
    /// Positions of the term that follow.
    n_left: usize,
    token: Token,
}

impl EncodedTokens<'_> {
    /// Goes on to the next place; nothing at the end, or where none was written so.
    #[inline]
    fn next(&mut self) -> Option<()> {
        if self.n_left == 0 {
            let length = self.number()?;
            let (term, rest) = self.rest.split_at_checked(length)?;
            self.token.text.clear();
            self.token.text.push_str(term);
            self.rest = rest;
            self.n_left = self.number()?;
            self.token.position = 0;
        }
        self.n_left = self.n_left.checked_sub(1)?;
        self.token.position = self.token.position.checked_add(self.number()?)?;
        Some(())
    }

    #[inline]
    fn number(&mut self) -> Option<usize> {
        let bytes = self.rest.as_bytes();
        let n_more = bytes.iter().take_while(|byte| **byte & MORE != 0).count();
        let number = bytes.get(..=n_more)?.iter().rev().fold(0, |number, byte| {
            number << MORE.trailing_zeros() | usize::from(byte & (MORE - 1))
        });
        self.rest = self.rest.get(n_more + 1..)?;
        Some(number)
    }
}

impl TokenStream for EncodedTokens<'_> {
    fn advance(&mut self) -> bool {
        self.next().is_some()
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = Vec<(Field, Vec<(String, usize)>)>;

    fn read(note: &EncodedNote) -> Read {
        let mut fields = Vec::new();
        for (field, value) in note.values() {
            let Some(text) = value.as_str() else { continue };
            let (mut terms, mut tokenizer) = (Vec::new(), Encoded);
            let mut stream = tokenizer.token_stream(text);
            while stream.advance() {
                terms.push((stream.token().text.clone(), stream.token().position));
            }
            fields.push((field, terms));
        }
        fields
    }

    fn encoded(texts: &TermTexts) -> EncodedNote {
        let number = |at| (Field::from_field_id(at), u64::from(at));
        EncodedNote::new(texts, [10, 11, 12].map(number), (Field::from_field_id(13), vec![1, 2]))
    }

    #[test]
    fn terms_pass_through_the_tokenizer() {
        let mut texts = TermTexts::default();
        let [text, empty, names] = [0, 1, 2].map(Field::from_field_id);
        // Of lengths about those at which another byte is needed, and with the bytes that numbers have.
        let odd = [1, 63, 64, 65, 4095, 4096, 5000].map(|n| "ö@\u{1}x".repeat(n));
        for round in 0..2 {
            texts.clear();
            let of_text: [(&str, &[u32]); 4] = [
                ("植物", &[1, 1, 7]),
                ("fern", &[0, 63, 127, 128, 4224, 1 << 20, u32::MAX]),
                ("", &[7]),
                ("植", &[1]),
            ];
            of_text.iter().for_each(|(term, positions)| texts.push(term, positions));
            texts.end_field(text);
            texts.end_field(empty);
            odd.iter().for_each(|term| texts.push(term, &[3]));
            texts.end_field(names);
            let each = |(term, positions): (&str, &[u32])| -> Vec<(String, usize)> {
                positions.iter().map(|position| (term.to_owned(), *position as usize)).collect()
            };
            let expected = vec![
                (text, of_text.into_iter().flat_map(each).collect()),
                (names, odd.iter().map(|term| (term.clone(), 3)).collect()),
            ];
            assert_eq!(read(&encoded(&texts)), expected, "round {round}");
        }
    }

    #[test]
    fn every_field_comes_with_what_it_holds() {
        let note = encoded(&TermTexts::default());
        let held: Vec<_> = note
            .values()
            .map(|(field, value)| (field.field_id(), value.as_u64(), value.as_bytes()))
            .collect();
        let expected = [
            (10, Some(10), None),
            (11, Some(11), None),
            (12, Some(12), None),
            (13, None, Some(&[1, 2][..])),
        ];
        assert_eq!((held, note.n_bytes()), (expected.to_vec(), 2));
    }

    #[test]
    fn what_nobody_wrote_so_holds_nothing() {
        let odd = [
            "\u{1}",
            "\u{41}",
            "\u{5}fern",
            "\u{1}ö\u{1}\u{1}",
            "\u{1}o",
            "\u{1}o\0",
            "öö",
            "fern",
        ];
        for text in odd {
            let mut tokenizer = Encoded;
            assert!(!tokenizer.token_stream(text).advance(), "{text}");
        }
    }
}
