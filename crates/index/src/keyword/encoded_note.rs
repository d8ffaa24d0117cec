//! Encoded notes: passed to tantivy through its own document interface, without a string per term.

use std::iter::Empty;
use std::ops::Range;
use std::slice::Iter;

use tantivy::schema::Field;
use tantivy::schema::document::{ReferenceValue, Value};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer, TokenizerManager};
use weft_model::NoteId;

use super::index_schema::{SchemaFields, TOKENIZER};

/// Capacity in bytes kept from note to note; larger notes are rare.
const KEPT_BYTES: usize = 1 << 20;

/// Continuation bit of a varint byte; the bits below it hold the number, lowest first.
const CONTINUATION: u8 = 0x40;

/// Note encoded by a `KeywordEncoder`, not yet assigned to a slot.
#[derive(Debug)]
pub struct EncodedNote {
    fields: Vec<(Field, FieldContent)>,
    /// Concatenated texts of its fields.
    texts: String,
    /// Term list.
    terms: Vec<u8>,
}

/// Content of a field of an [`EncodedNote`].
#[derive(Debug)]
enum FieldContent {
    Number(u64),
    /// Range of the texts.
    Text(Range<usize>),
    /// Term list.
    TermList,
}

impl EncodedNote {
    /// Creates a note with these texts, numbers and term list in their fields.
    pub(super) fn new(
        texts: &EncodedTerms,
        numbers: impl ExactSizeIterator<Item = (Field, u64)>,
        (field, terms): (Field, Vec<u8>),
    ) -> Self {
        let mut fields = Vec::with_capacity(texts.fields.len() + numbers.len() + 2);
        fields.extend(numbers.map(|(field, number)| (field, FieldContent::Number(number))));
        fields.push((field, FieldContent::TermList));
        fields.extend(
            texts.fields.iter().map(|(field, text)| (*field, FieldContent::Text(text.clone()))),
        );
        Self { fields, texts: texts.encoded.clone(), terms }
    }

    /// Assigns the note to a slot.
    pub(super) fn in_slot(mut self, fields: &SchemaFields, note: NoteId) -> Self {
        self.fields.push((fields.note, FieldContent::Number(u64::from(note.get()))));
        self
    }

    /// Returns the size of its texts and its term list; the rest is small.
    pub(super) fn n_bytes(&self) -> usize {
        self.texts.len() + self.terms.len()
    }

    /// Returns the term list.
    #[cfg(test)]
    pub(super) fn terms(&self) -> &[u8] {
        &self.terms
    }

    pub(super) fn values(&self) -> Values<'_> {
        Values { note: self, fields: self.fields.iter() }
    }
}

/// Iterator over the fields of a note and their values.
#[derive(Clone, Debug)]
pub(super) struct Values<'n> {
    note: &'n EncodedNote,
    fields: Iter<'n, (Field, FieldContent)>,
}

impl<'n> Iterator for Values<'n> {
    type Item = (Field, FieldValue<'n>);

    fn next(&mut self) -> Option<Self::Item> {
        let (field, content) = self.fields.next()?;
        let value = match content {
            FieldContent::Number(number) => FieldValue::Number(*number),
            FieldContent::Text(range) => FieldValue::Text(&self.note.texts[range.clone()]),
            FieldContent::TermList => FieldValue::Bytes(&self.note.terms),
        };
        Some((*field, value))
    }
}

/// Value of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldValue<'n> {
    Number(u64),
    /// In the encoding of [`EncodedTerms`].
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

/// Terms with their positions, field by field, decoded by [`EncodedTokens`].
///
/// A term is encoded as its length, its text, the number of positions, and the positions as deltas. Numbers are varints of bytes below 0x80, so that the whole is valid UTF-8.
#[derive(Debug, Default)]
pub(super) struct EncodedTerms {
    encoded: String,
    /// Range of each field.
    fields: Vec<(Field, Range<usize>)>,
}

impl EncodedTerms {
    pub(super) fn clear(&mut self) {
        self.encoded.clear();
        self.encoded.shrink_to(KEPT_BYTES);
        self.fields.clear();
    }

    /// Adds a term of the current field with its positions: at least one, in non-decreasing order.
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
        while number >= u64::from(CONTINUATION) {
            self.encoded.push(ascii(number | u64::from(CONTINUATION)));
            number >>= CONTINUATION.trailing_zeros();
        }
        self.encoded.push(ascii(number));
    }

    /// Ends a field, which consists of all terms since the previous field; a field without terms is left out.
    pub(super) fn end_field(&mut self, field: Field) {
        let start = self.fields.last().map_or(0, |(_, text)| text.end);
        if start < self.encoded.len() {
            self.fields.push((field, start..self.encoded.len()));
        }
    }
}

/// Returns the lowest seven bits as a character.
const fn ascii(bits: u64) -> char {
    (bits & 0x7f) as u8 as char
}

/// Tokenizer that decodes [`EncodedTerms`].
#[derive(Clone)]
pub(super) struct EncodedTokenizer;

impl Tokenizer for EncodedTokenizer {
    type TokenStream<'t> = EncodedTokens<'t>;

    fn token_stream<'t>(&'t mut self, text: &'t str) -> EncodedTokens<'t> {
        EncodedTokens { text, at: 0, n_left: 0, token: Token::default() }
    }
}

/// Returns the tokenizers that the schema refers to.
pub(super) fn tokenizers() -> TokenizerManager {
    let tokenizers = TokenizerManager::new();
    tokenizers.register(TOKENIZER, EncodedTokenizer);
    // Tantivy requests its default tokenizer by this name for fields without text.
    tokenizers.register("default", EncodedTokenizer);
    tokenizers
}

/// Decoded tokens, all positions of one term before the next term, so that tantivy finds the term it looked up for the previous position still cached.
pub(super) struct EncodedTokens<'t> {
    text: &'t str,
    /// Byte after what has been read.
    at: usize,
    /// Number of remaining positions of the term.
    n_left: usize,
    token: Token,
}

impl EncodedTokens<'_> {
    /// Advances to the next position. Returns `None` at the end or if the encoding is invalid.
    #[inline]
    fn next(&mut self) -> Option<()> {
        if self.n_left == 0 {
            let length = self.number()?;
            let start = self.at;
            self.at = start.checked_add(length)?;
            self.token.text.clear();
            self.token.text.push_str(self.text.get(start..self.at)?);
            self.n_left = self.number()?;
            self.token.position = 0;
        }
        self.n_left = self.n_left.checked_sub(1)?;
        self.token.position = self.token.position.checked_add(self.number()?)?;
        Some(())
    }

    #[inline]
    fn number(&mut self) -> Option<usize> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            self.at += 1;
            let bits = usize::from(byte & (CONTINUATION - 1));
            number |= bits.checked_shl(shift)?;
            if byte & CONTINUATION == 0 {
                return Some(number);
            }
            shift += CONTINUATION.trailing_zeros();
        }
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
            let (mut terms, mut tokenizer) = (Vec::new(), EncodedTokenizer);
            let mut stream = tokenizer.token_stream(text);
            while stream.advance() {
                terms.push((stream.token().text.clone(), stream.token().position));
            }
            fields.push((field, terms));
        }
        fields
    }

    fn encoded(texts: &EncodedTerms) -> EncodedNote {
        let number = |at| (Field::from_field_id(at), u64::from(at));
        EncodedNote::new(
            texts,
            [10, 11, 12].map(number).into_iter(),
            (Field::from_field_id(13), vec![1, 2]),
        )
    }

    #[test]
    fn terms_round_trip_through_the_tokenizer() {
        let mut texts = EncodedTerms::default();
        let [text, empty, names] = [0, 1, 2].map(Field::from_field_id);
        // Lengths around those that need another byte, with bytes that also occur in numbers.
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
    fn every_field_has_its_value() {
        let note = encoded(&EncodedTerms::default());
        let values: Vec<_> = note
            .values()
            .map(|(field, value)| (field.field_id(), value.as_u64(), value.as_bytes()))
            .collect();
        let expected = [
            (10, Some(10), None),
            (11, Some(11), None),
            (12, Some(12), None),
            (13, None, Some(&[1, 2][..])),
        ];
        assert_eq!((values, note.n_bytes()), (expected.to_vec(), 2));
    }

    #[test]
    fn invalid_encoding_yields_no_tokens() {
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
            let mut tokenizer = EncodedTokenizer;
            assert!(!tokenizer.token_stream(text).advance(), "{text}");
        }
    }
}
