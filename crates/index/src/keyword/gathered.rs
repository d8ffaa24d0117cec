//! The terms of a field as the text of a note gives them.

use super::encoded::TermTexts;
use super::{Analyzer, Token, TokenKind};

/// Positions left free between title, aliases, body and tags, so that no phrase reaches across.
const FIELD_GAP: u32 = 16;

/// Places for which room is kept from note to note; a text of more is rare.
const KEPT: usize = 1 << 16;

/// The terms of one field of one note: each once, with its places.
///
/// In the index the places of a term stand together. Here terms are numbers, which are quicker to bring together than the texts that the library would look up for each place.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// One more than where a term stands in `terms`, by the analyzer's numbers; zero where it does not.
    known: Vec<u32>,
    /// In the order in which they came.
    terms: Vec<GatheredTerm>,
    /// Where in `terms`, and the position, in the order of the text.
    places: Vec<(u32, u32)>,
    /// Parts of compounds with their places, until the words around them have theirs.
    parts: Vec<(u32, u32)>,
    /// Room to bring the positions of each term together.
    positions: Vec<u32>,
    base: u32,
    last: u32,
}

/// A term of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct GatheredTerm {
    /// The analyzer's.
    pub(super) number: u32,
    /// How often it occurs.
    pub(super) frequency: u32,
    /// Whether it is a word somewhere.
    pub(super) is_word: bool,
}

impl Gathered {
    /// Takes a token of the part that is being read.
    #[inline]
    pub(super) fn take(&mut self, token: &Token<'_>) {
        let plain = token.plain.map(|plain| plain.number);
        if token.kind == TokenKind::Part {
            let numbers = [Some(token.number), plain].into_iter().flatten();
            self.parts.extend(numbers.map(|number| (number, token.position)));
            return;
        }
        self.place(token.number, token.position, token.kind == TokenKind::Word);
        if let Some(plain) = plain {
            self.place(plain, token.position, false);
        }
    }

    #[inline]
    fn place(&mut self, number: u32, position: u32, is_word: bool) {
        let at = number as usize;
        if at >= self.known.len() {
            self.known.resize(at + 1, 0);
        }
        if self.known[at] == 0 {
            self.terms.push(GatheredTerm { number, frequency: 0, is_word });
            self.known[at] = u32::try_from(self.terms.len()).expect("a text has fewer terms");
        }
        let own = self.known[at] - 1;
        let term = &mut self.terms[own as usize];
        term.frequency += 1;
        term.is_word |= is_word;
        self.last = self.last.max(self.base.saturating_add(position));
        self.places.push((own, self.last));
    }

    /// Ends a part of the field, behind which the parts of its compounds stand.
    pub(super) fn end_part(&mut self) {
        self.base = self.last.saturating_add(FIELD_GAP);
        if !self.parts.is_empty() {
            let mut parts = std::mem::take(&mut self.parts);
            parts.drain(..).for_each(|(number, position)| self.place(number, position, false));
            self.parts = parts;
            self.base = self.last.saturating_add(FIELD_GAP);
        }
    }

    /// The terms so far, each once.
    pub(super) fn terms(&self) -> &[GatheredTerm] {
        &self.terms
    }

    /// Writes the field down, and begins another.
    pub(super) fn end_field(&mut self, analyzer: &Analyzer, texts: &mut TermTexts) {
        self.positions.resize(self.places.len(), 0);
        let mut end = 0;
        let starts = self.terms.iter().map(|term| {
            let start = end;
            end += term.frequency as usize;
            start
        });
        let mut next: Vec<usize> = starts.collect();
        for (own, position) in &self.places {
            let next = &mut next[*own as usize];
            self.positions[*next] = *position;
            *next += 1;
        }
        for (term, end) in self.terms.iter().zip(next) {
            let positions = &self.positions[end - term.frequency as usize..end];
            texts.push(analyzer.term(term.number), positions);
        }
        self.clear();
    }

    /// Forgets the field, and what room it took beyond that of most.
    pub(super) fn clear(&mut self) {
        let Self { known, terms, places, parts, positions, base, last } = self;
        for term in terms.drain(..) {
            known[term.number as usize] = 0;
        }
        // None of them is more than zero.
        known.truncate(KEPT);
        known.shrink_to(KEPT);
        terms.shrink_to(KEPT);
        places.clear();
        places.shrink_to(KEPT);
        parts.clear();
        parts.shrink_to(KEPT);
        positions.clear();
        positions.shrink_to(KEPT);
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

    use super::super::encoded::{Encoded, EncodedNote};
    use super::super::{Analyzer, Language};
    use super::*;

    /// The terms of a field of these parts, each with its positions.
    fn field(gathered: &mut Gathered, parts: &[&str]) -> Vec<(String, Vec<usize>)> {
        let (mut analyzer, mut texts) = (Analyzer::new(), TermTexts::default());
        for part in parts {
            analyzer.analyze(part, Language::Spanish, |token| gathered.take(&token));
            gathered.end_part();
        }
        gathered.end_field(&analyzer, &mut texts);
        let of = Field::from_field_id;
        texts.end_field(of(0));
        let note = EncodedNote::new(&texts, [(of(1), 0); 3], (of(2), Vec::new()));
        let mut terms: Vec<(String, Vec<usize>)> = Vec::new();
        for text in note.values().filter_map(|(_, value)| value.as_str()) {
            let mut tokenizer = Encoded;
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
        fn every_token_has_its_place(
            parts in prop::collection::vec("(azul|verde|foo_bar|fooBar|educación|educacion|漢字|1,000|(a_b ){12}|C\\+\\+|[ .]){0,12}", 0..4),
        ) {
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            let mut gathered: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for (term, positions) in field(&mut Gathered::default(), &parts) {
                prop_assert!(positions.is_sorted() && gathered.insert(term, positions).is_none());
            }

            let (mut analyzer, mut expected) = (Analyzer::new(), BTreeMap::new());
            let (mut base, mut last) = (0, 0);
            for part in parts {
                let mut tokens = Vec::new();
                analyzer.analyze(part, Language::Spanish, |token| {
                    let forms = [Some(token.term), token.plain.map(|plain| plain.term)];
                    let place = (token.kind == TokenKind::Part, token.position as usize);
                    tokens.extend(forms.into_iter().flatten().map(|form| (place, form.to_owned())));
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
    fn places_of_a_term_stand_together() {
        let mut gathered = Gathered::default();
        let own = |terms: &[(&str, &[usize])]| -> Vec<(String, Vec<usize>)> {
            terms.iter().map(|(term, positions)| ((*term).to_owned(), positions.to_vec())).collect()
        };
        for round in 0..2 {
            // Parts of compounds stand behind the part of the field, and without accents a word has another form.
            let terms = field(&mut gathered, &["bleu", "bleu vert foo_bar bleu"]);
            let expected = own(&[
                ("bleu", &[0, 16, 19]),
                ("vert", &[17]),
                ("foob", &[18]),
                ("foo", &[35]),
                ("bar", &[36]),
            ]);
            assert_eq!(terms, expected, "round {round}");
            let terms = field(&mut gathered, &["vert educación"]);
            let expected = own(&[("vert", &[0]), ("educ", &[1]), ("educacion", &[1])]);
            assert_eq!(terms, expected, "round {round}");
            assert_eq!(field(&mut gathered, &[]), []);
            // What a defect left behind is forgotten.
            Analyzer::new().analyze("la mitad", Language::Spanish, |token| gathered.take(&token));
            gathered.clear();
        }
    }
}
