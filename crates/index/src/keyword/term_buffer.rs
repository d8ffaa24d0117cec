//! Term buffer: collects the terms of a field with their positions, in text order.

use super::analyzer::{Analyzer, Token, TokenKind};
use super::encoded_note::EncodedTerms;

/// Gap in positions between title, aliases, body and tags, so that no phrase matches across them.
const FIELD_GAP: u32 = 16;

/// Capacity kept from note to note, in positions; longer texts are rare.
const KEPT_CAPACITY: usize = 1 << 16;

/// Terms of one field of one note, each once, with its positions.
///
/// The index stores the positions of a term together. Grouping by term number here is faster than letting tantivy look up the text of the term for each position.
#[derive(Debug, Default)]
pub(super) struct TermBuffer {
    /// One more than the index in `terms` of each analyzer term number; zero if absent.
    index: Vec<u32>,
    /// In order of first occurrence.
    terms: Vec<BufferedTerm>,
    /// Index in `terms` and position, in text order.
    occurrences: Vec<(u32, u32)>,
    /// Compound parts with their positions, held back until the words of the field part have theirs.
    parts: Vec<(u32, u32)>,
    /// Buffer for grouping the positions by term.
    positions: Vec<u32>,
    base: u32,
    last: u32,
}

/// Term of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferedTerm {
    /// Number in the analyzer.
    pub(super) number: u32,
    /// Number of occurrences.
    pub(super) frequency: u32,
    /// True if any occurrence is a word.
    pub(super) is_word: bool,
}

impl TermBuffer {
    /// Adds a token of the current part.
    #[inline]
    pub(super) fn push(&mut self, token: &Token<'_>) {
        if token.kind == TokenKind::Part {
            let numbers = [Some(token.number), token.folded].into_iter().flatten();
            self.parts.extend(numbers.map(|number| (number, token.position)));
            return;
        }
        self.add(token.number, token.position, token.kind == TokenKind::Word);
        if let Some(folded) = token.folded {
            self.add(folded, token.position, false);
        }
    }

    #[inline]
    fn add(&mut self, number: u32, position: u32, is_word: bool) {
        let at = number as usize;
        if at >= self.index.len() {
            self.index.resize(at + 1, 0);
        }
        if self.index[at] == 0 {
            self.terms.push(BufferedTerm { number, frequency: 0, is_word });
            self.index[at] = u32::try_from(self.terms.len()).expect("a text has fewer terms");
        }
        let own = self.index[at] - 1;
        let term = &mut self.terms[own as usize];
        term.frequency += 1;
        term.is_word |= is_word;
        self.last = self.last.max(self.base.saturating_add(position));
        self.occurrences.push((own, self.last));
    }

    /// Returns the position in the field of a token of the current part.
    pub(super) const fn position(&self, in_part: u32) -> u32 {
        self.base.saturating_add(in_part)
    }

    /// Returns the position after the tokens so far.
    pub(super) const fn end(&self) -> u32 {
        self.last.saturating_add(1)
    }

    /// Ends a part of the field and appends the held-back compound parts.
    pub(super) fn end_part(&mut self) {
        self.base = self.last.saturating_add(FIELD_GAP);
        if !self.parts.is_empty() {
            let mut parts = std::mem::take(&mut self.parts);
            parts.drain(..).for_each(|(number, position)| self.add(number, position, false));
            self.parts = parts;
            self.base = self.last.saturating_add(FIELD_GAP);
        }
    }

    /// Returns the terms so far, each once.
    pub(super) fn terms(&self) -> &[BufferedTerm] {
        &self.terms
    }

    /// Appends the field to `encoded` and starts the next one.
    pub(super) fn end_field(&mut self, analyzer: &Analyzer, encoded: &mut EncodedTerms) {
        self.positions.resize(self.occurrences.len(), 0);
        let mut end = 0;
        let starts = self.terms.iter().map(|term| {
            let start = end;
            end += term.frequency as usize;
            start
        });
        let mut next: Vec<usize> = starts.collect();
        for (own, position) in &self.occurrences {
            let next = &mut next[*own as usize];
            self.positions[*next] = *position;
            *next += 1;
        }
        for (term, end) in self.terms.iter().zip(next) {
            let positions = &self.positions[end - term.frequency as usize..end];
            encoded.push(analyzer.term(term.number), positions);
        }
        self.clear();
    }

    /// Discards the field and any capacity beyond the usual.
    pub(super) fn clear(&mut self) {
        let Self { index, terms, occurrences, parts, positions, base, last } = self;
        for term in terms.drain(..) {
            index[term.number as usize] = 0;
        }
        // All entries are zero now.
        index.truncate(KEPT_CAPACITY);
        index.shrink_to(KEPT_CAPACITY);
        terms.shrink_to(KEPT_CAPACITY);
        occurrences.clear();
        occurrences.shrink_to(KEPT_CAPACITY);
        parts.clear();
        parts.shrink_to(KEPT_CAPACITY);
        positions.clear();
        positions.shrink_to(KEPT_CAPACITY);
        (*base, *last) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use tantivy::schema::Field;
    use tantivy::schema::document::Value as _;
    use tantivy::tokenizer::{TokenStream as _, Tokenizer as _};

    use super::super::encoded_note::{EncodedNote, EncodedTokenizer};
    use super::super::language::Language;
    use super::*;

    /// Returns the terms of a field with these parts, each with its positions.
    fn field(buffer: &mut TermBuffer, parts: &[&str]) -> Vec<(String, Vec<usize>)> {
        let (mut analyzer, mut texts) = (Analyzer::new(), EncodedTerms::default());
        for part in parts {
            analyzer.analyze(part, Language::Spanish, |token| buffer.push(&token));
            buffer.end_part();
        }
        buffer.end_field(&analyzer, &mut texts);
        let of = Field::from_field_id;
        texts.end_field(of(0));
        let note = EncodedNote::new(&texts, [(of(1), 0); 3].into_iter(), (of(2), Vec::new()));
        let mut terms: Vec<(String, Vec<usize>)> = Vec::new();
        for text in note.values().filter_map(|(_, value)| value.as_str()) {
            let mut tokenizer = EncodedTokenizer;
            let mut places = tokenizer.token_stream(text);
            while places.advance() {
                let token = places.token();
                match terms.last_mut().filter(|(term, _)| *term == token.text) {
                    Some((_, positions)) => positions.push(token.position),
                    None => terms.push((token.text.clone(), vec![token.position])),
                }
            }
        }
        terms
    }

    proptest! {
        #[test]
        fn every_token_keeps_its_position(
            parts in prop::collection::vec("(azul|verde|foo_bar|fooBar|educación|educacion|漢字|1,000|(a_b ){12}|C\\+\\+|[ .]){0,12}", 0..4),
        ) {
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            let mut gathered: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for (term, positions) in field(&mut TermBuffer::default(), &parts) {
                prop_assert!(positions.is_sorted() && gathered.insert(term, positions).is_none());
            }

            let (mut analyzer, mut expected) = (Analyzer::new(), BTreeMap::new());
            let (mut base, mut last) = (0, 0);
            for part in parts {
                let mut tokens = Vec::new();
                analyzer.analyze(part, Language::Spanish, |token| {
                    let place = (token.kind == TokenKind::Part, token.position as usize);
                    tokens.extend(token.terms().map(|form| (place, form.to_owned())));
                });
                for is_part in [false, true] {
                    let own = tokens.iter().filter(|((part, _), _)| *part == is_part);
                    for ((_, position), term) in own.clone() {
                        last = base + position;
                        expected.entry(term.clone()).or_insert_with(Vec::new).push(last);
                    }
                    if !is_part || own.count() > 0 {
                        base = last + FIELD_GAP as usize;
                    }
                }
            }
            prop_assert_eq!(gathered, expected);
        }
    }

    #[test]
    fn positions_are_grouped_by_term() {
        let mut buffer = TermBuffer::default();
        let own = |terms: &[(&str, &[usize])]| -> Vec<(String, Vec<usize>)> {
            terms.iter().map(|(term, positions)| ((*term).to_owned(), positions.to_vec())).collect()
        };
        for round in 0..2 {
            // Compound parts follow the field part, and an accented word has a folded form too.
            let terms = field(&mut buffer, &["bleu", "bleu vert foo_bar bleu"]);
            let expected = own(&[
                ("bleu", &[0, 16, 19]),
                ("vert", &[17]),
                ("foob", &[18]),
                ("foo", &[35]),
                ("bar", &[36]),
            ]);
            assert_eq!(terms, expected, "round {round}");
            let terms = field(&mut buffer, &["vert educación"]);
            let expected = own(&[("vert", &[0]), ("educ", &[1]), ("educacion", &[1])]);
            assert_eq!(terms, expected, "round {round}");
            assert_eq!(field(&mut buffer, &[]), []);
            // Data left behind by a panic is discarded.
            Analyzer::new().analyze("la mitad", Language::Spanish, |token| buffer.push(&token));
            buffer.clear();
        }
    }
}
