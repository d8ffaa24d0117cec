//! Notes as they pass through the index's own door for documents, without a string per term.

use std::iter::Empty;
use std::ops::Range;
use std::slice::Iter;

use tantivy::schema::Field;
use tantivy::schema::document::{ReferenceValue, Value};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use weft_model::NoteId;

use super::schema::Fields;

/// Positions left free between title, aliases, body and tags, so that no phrase reaches across.
const FIELD_GAP: u32 = 16;

/// The widest step in position that is told; a wider one is made up for by the next.
const MAX_STEP: u32 = 0x1f;

/// Set in a byte of a length where more follow; the bits below it are the length's, the lowest first.
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
/// A term is a byte for the step in position, its length, and itself. Step and length are of bytes below 0x80, so that the whole is text.
#[derive(Debug, Default)]
pub(super) struct TermTexts {
    encoded: String,
    /// What each field takes of it.
    fields: Vec<(Field, Range<usize>)>,
    base: u32,
    last: u32,
}

impl TermTexts {
    pub(super) fn clear(&mut self) {
        (self.base, self.last) = (0, 0);
        self.encoded.clear();
        self.fields.clear();
    }

    /// Adds a term of the part that is being written, `position` from its beginning.
    pub(super) fn push(&mut self, term: &str, position: u32) {
        let position = self.base + position;
        let step = position.saturating_sub(self.last).min(MAX_STEP);
        self.last += step;
        self.encoded.push(ascii(u64::from(step)));
        let mut length = term.len() as u64;
        while length >= u64::from(MORE) {
            self.encoded.push(ascii(length | u64::from(MORE)));
            length >>= MORE.trailing_zeros();
        }
        self.encoded.push(ascii(length));
        self.encoded.push_str(term);
    }

    /// Ends a part of the field that is being written.
    pub(super) fn end_part(&mut self) {
        self.base = self.last + FIELD_GAP;
    }

    /// Ends a field, which takes everything since the last one ended; one without terms is left out.
    pub(super) fn end_field(&mut self, field: Field) {
        let start = self.fields.last().map_or(0, |(_, text)| text.end);
        if start < self.encoded.len() {
            self.fields.push((field, start..self.encoded.len()));
        }
        (self.base, self.last) = (0, 0);
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
        EncodedTokens { rest: text, token: Token { position: 0, ..Token::default() } }
    }
}

pub(super) struct EncodedTokens<'t> {
    rest: &'t str,
    token: Token,
}

impl EncodedTokens<'_> {
    /// Goes on to the next term; nothing at the end, or where none was written so.
    fn next(&mut self) -> Option<()> {
        let (&step, rest) = self.rest.as_bytes().split_first()?;
        let n_more = rest.iter().take_while(|byte| **byte & MORE != 0).count();
        let length = rest.get(..=n_more)?.iter().rev().fold(0, |length, byte| {
            length << MORE.trailing_zeros() | usize::from(byte & (MORE - 1))
        });
        let (term, rest) = self.rest.get(n_more + 2..)?.split_at_checked(length)?;
        self.token.position += usize::from(step);
        self.token.text.clear();
        self.token.text.push_str(term);
        self.rest = rest;
        Some(())
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
            for (term, position) in [("fern", 0), ("植物", 1), ("植", 1), ("", 7)] {
                texts.push(term, position);
            }
            texts.end_part();
            texts.push("body", 0);
            texts.end_field(text);
            texts.end_field(empty);
            odd.iter().for_each(|term| texts.push(term, 3));
            texts.end_field(names);
            let of_text = [("fern", 0), ("植物", 1), ("植", 1), ("", 7), ("body", 23)];
            let own = |(term, position): (&str, usize)| (term.to_owned(), position);
            let expected = vec![
                (text, of_text.map(own).to_vec()),
                (names, odd.iter().map(|term| (term.clone(), 3)).collect()),
            ];
            assert_eq!(read(&encoded(&texts)), expected, "round {round}");
        }
    }

    #[test]
    fn a_step_too_wide_is_made_up_for() {
        let mut texts = TermTexts::default();
        let field = Field::from_field_id(0);
        for (term, position) in [("a", 0), ("b", 300), ("c", 301)] {
            texts.push(term, position);
        }
        texts.end_field(field);
        let expected = [("a", 0), ("b", 31), ("c", 62)];
        let expected = expected.map(|(term, position)| (term.to_owned(), position)).to_vec();
        assert_eq!(read(&encoded(&texts)), [(field, expected)]);
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
        for text in ["\u{1}", "\u{1}\u{40}", "\u{1}\u{5}fern", "\u{1}\u{1}ö", "öö", "fern"] {
            let mut tokenizer = Encoded;
            assert!(!tokenizer.token_stream(text).advance(), "{text}");
        }
    }
}
