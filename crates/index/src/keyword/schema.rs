//! What the index keeps of a note, and how its terms get there.
//!
//! `text` holds every term of a note with positions; the small fields say which of them stand in a prominent place.
//! `names` holds each name of a note as one term.
//! `terms` is the note's own list of terms, read back when the note is ranked from or replaced.

use std::collections::HashSet;

use tantivy::schema::{
    BytesOptions, FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TokenizerManager;

use super::encoded::{Encoded, EncodedNote, TermTexts};
use super::gathered::{Gathered, GatheredTerm};
use super::names::name_terms;
use super::{Analyzer, LanguageChoice, TokenKind};

/// Rises whenever the analysis or the fields change, so that an old index is built anew.
pub(super) const FORMAT: u32 = 6;

/// The name under which the index looks up [`Encoded`].
const TOKENIZER: &str = "weft";

/// Prominent places of a note. Their order is that of [`Fields::prominent`].
pub(super) const N_PROMINENT: usize = 4;

/// A note as the word index takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeywordDocument<'n> {
    /// Tells this text of this note from every other, in the caller's way; handed back by [`versions`](super::KeywordReader::versions).
    pub version: u64,
    /// The title.
    pub title: &'n str,
    /// Other names.
    pub aliases: Vec<&'n str>,
    /// Headings of the body; they weigh more there.
    pub headings: Vec<&'n str>,
    /// Tags, those of the body included.
    pub tags: Vec<&'n str>,
    /// The body.
    pub body: &'n str,
}

/// The fields of the index.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    pub(super) note: Field,
    pub(super) version: Field,
    pub(super) length: Field,
    pub(super) language: Field,
    pub(super) text: Field,
    /// Title, aliases, headings, tags.
    pub(super) prominent: [Field; N_PROMINENT],
    pub(super) names: Field,
    pub(super) terms: Field,
}

pub(super) const NOTE: &str = "note";
pub(super) const VERSION: &str = "version";
pub(super) const LENGTH: &str = "length";
pub(super) const LANGUAGE: &str = "language";

/// The schema, and its fields by name.
pub(super) fn schema() -> (Schema, Fields) {
    let terms_with = |option| {
        let indexing = TextFieldIndexing::default();
        let indexing =
            indexing.set_tokenizer(TOKENIZER).set_fieldnorms(false).set_index_option(option);
        TextOptions::default().set_indexing_options(indexing)
    };
    let mut builder = Schema::builder();
    let fields = Fields {
        note: builder.add_u64_field(NOTE, INDEXED | FAST),
        version: builder.add_u64_field(VERSION, FAST),
        length: builder.add_u64_field(LENGTH, FAST),
        language: builder.add_u64_field(LANGUAGE, FAST),
        text: builder.add_text_field("text", terms_with(IndexRecordOption::WithFreqsAndPositions)),
        prominent: ["title", "aliases", "headings", "tags"]
            .map(|name| builder.add_text_field(name, terms_with(IndexRecordOption::WithFreqs))),
        names: builder.add_text_field("names", terms_with(IndexRecordOption::Basic)),
        terms: builder.add_bytes_field("terms", BytesOptions::default().set_stored()),
    };
    (builder.build(), fields)
}

/// The tokenizers the schema names.
pub(super) fn tokenizers() -> TokenizerManager {
    let tokenizers = TokenizerManager::new();
    tokenizers.register(TOKENIZER, Encoded);
    // Fields that are no text ask for the library's default by this name.
    tokenizers.register("default", Encoded);
    tokenizers
}

/// Turns notes into what the index takes.
///
/// What comes out depends on the note and the choice of language alone; what an encoder keeps are shortcuts, so each thread has its own.
#[derive(Debug)]
pub struct KeywordEncoder {
    fields: Fields,
    choice: LanguageChoice,
    analyzer: Analyzer,
    gathered: Gathered,
    texts: TermTexts,
}

impl KeywordEncoder {
    /// An encoder that has seen nothing yet, for indexes of this choice.
    pub(super) fn new(choice: LanguageChoice) -> Self {
        let (_, fields) = schema();
        let (analyzer, gathered, texts) = Default::default();
        Self { fields, choice, analyzer, gathered, texts }
    }

    /// Makes a note ready for the index. `O(its text)`: nearly all of the work of indexing it.
    pub fn encode(&mut self, note: &KeywordDocument<'_>) -> EncodedNote {
        let Self { fields, choice, analyzer, gathered, texts } = self;
        let language = choice.of(note.title, note.body);
        let mut length = 0_u64;
        // A defect may have left something behind.
        gathered.clear();
        analyzer.rest();
        texts.clear();
        for part in [note.title].into_iter().chain(note.aliases.iter().copied()).chain([note.body])
        {
            analyzer.analyze(part, language, |token| {
                length += u64::from(token.kind == TokenKind::Word);
                gathered.take(&token);
            });
            gathered.end_part();
        }
        // A tag is found like any other word of the note, but is not counted again where it stands in the text.
        let in_text = if note.tags.is_empty() { HashSet::new() } else { marked(note.body) };
        for tag in note.tags.iter().filter(|tag| !in_text.contains(&tag.to_lowercase())) {
            analyzer.analyze(tag, language, |token| gathered.take(&token));
            gathered.end_part();
        }
        let terms = term_list(gathered.terms(), analyzer);
        gathered.end_field(analyzer, texts);
        texts.end_field(fields.text);
        let prominent = [&[note.title][..], &note.aliases, &note.headings, &note.tags];
        for (field, texts_of_field) in fields.prominent.into_iter().zip(prominent) {
            for part in texts_of_field {
                analyzer.analyze(part, language, |token| gathered.take(&token));
                gathered.end_part();
            }
            gathered.end_field(analyzer, texts);
            texts.end_field(field);
        }
        for name in name_terms(analyzer, note.title, &note.aliases, language) {
            texts.push(&name, &[0]);
        }
        texts.end_field(fields.names);
        let numbers = [
            (fields.version, note.version),
            (fields.length, length),
            (fields.language, language.code()),
        ];
        EncodedNote::new(texts, numbers, (fields.terms, terms))
    }
}

/// What stands behind a `#` in `body`, in lower case; a tag that does is one of its words.
fn marked(body: &str) -> HashSet<String> {
    let is_of_tag = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    let behind = body.match_indices('#').map(|(at, _)| &body[at + 1..]);
    let tags = behind.map(|rest| &rest[..rest.find(|c| !is_of_tag(c)).unwrap_or(rest.len())]);
    tags.map(str::to_lowercase).collect()
}

/// A note's terms in ascending order: shared prefix, rest, frequency and whether it is a word.
fn term_list(terms: &[GatheredTerm], analyzer: &Analyzer) -> Vec<u8> {
    let text = |term: &GatheredTerm| analyzer.term(term.number);
    let mut terms: Vec<(u64, &GatheredTerm)> =
        terms.iter().map(|term| (beginning(text(term)), term)).collect();
    // Nearly all differ in how they begin; the few that do not are put in order afterwards.
    terms.sort_unstable_by_key(|(begins, _)| *begins);
    for alike in terms.chunk_by_mut(|(left, _), (right, _)| left == right) {
        alike.sort_unstable_by(|(_, left), (_, right)| text(left).cmp(text(right)));
    }
    let mut bytes = Vec::with_capacity(terms.len() * 8);
    let mut previous: &[u8] = b"";
    for (_, gathered) in terms {
        let term = text(gathered).as_bytes();
        let n_shared = previous.iter().zip(term).take_while(|(left, right)| left == right).count();
        push_number(n_shared as u64, &mut bytes);
        push_number((term.len() - n_shared) as u64, &mut bytes);
        bytes.extend(&term[n_shared..]);
        let GatheredTerm { number: _, frequency, is_word } = gathered;
        push_number(u64::from(*frequency) << 1 | u64::from(*is_word), &mut bytes);
        previous = term;
    }
    bytes
}

/// The first eight bytes as a number that sorts as they do: most terms differ in it, and numbers are quicker to compare.
fn beginning(term: &str) -> u64 {
    let mut bytes = [0; 8];
    let n = term.len().min(bytes.len());
    bytes[..n].copy_from_slice(&term.as_bytes()[..n]);
    u64::from_be_bytes(bytes)
}

/// Appends `number` in seven-bit groups, lowest first.
fn push_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push((number & 0x7f) as u8);
}

/// One entry of a note's list of terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListedTerm<'t> {
    pub(super) term: &'t str,
    pub(super) frequency: u32,
    pub(super) is_word: bool,
}

/// Hands every entry of a list that [`KeywordEncoder`] wrote to `sink`; returns false where it is damaged.
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

#[cfg(test)]
mod tests {
    use super::super::Language;
    use super::*;

    #[test]
    fn what_an_encoder_met_before_changes_nothing() {
        // More terms than are remembered.
        let words: Vec<String> = (0..70_000).map(|n| format!("w{n}")).collect();
        let long = words.join(" ");
        let encoder = || KeywordEncoder::new(LanguageChoice::default());
        let note = |body| KeywordDocument {
            version: 1,
            title: "fern",
            aliases: vec!["bracken"],
            headings: vec!["shade"],
            tags: vec!["green"],
            body,
        };
        let small = |encoder: &mut KeywordEncoder| {
            format!("{:?}", encoder.encode(&note("a fern and a mossCap, a moss")))
        };
        let (expected, mut encoder) = (small(&mut encoder()), encoder());
        encoder.encode(&note(&long));
        assert_eq!(small(&mut encoder), expected);
        // Half a note, at which a defect stopped it.
        let KeywordEncoder { analyzer, gathered, texts, .. } = &mut encoder;
        analyzer.analyze("lichen mossCap", Language::English, |token| gathered.take(&token));
        texts.push("lichen", &[3]);
        assert_eq!(small(&mut encoder), expected);
    }

    #[test]
    fn a_term_list_reads_back_in_order() {
        let note = KeywordDocument {
            title: "fern fernery",
            body: "the fern of fooBar #Shade #shades",
            tags: vec!["fern", "shade"],
            version: 1,
            aliases: Vec::new(),
            headings: Vec::new(),
        };
        let note = KeywordEncoder::new(LanguageChoice::default()).encode(&note);
        let bytes = note.terms();
        let mut read = Vec::new();
        assert!(read_term_list(bytes, |entry| read.push((
            entry.term.to_owned(),
            entry.frequency,
            entry.is_word
        ))));
        let expected = [
            ("bar", 1, false),
            // Its tag counts like any other word of it.
            ("fern", 3, true),
            ("ferneri", 1, true),
            ("foo", 1, false),
            ("foobar", 1, true),
            ("of", 1, false),
            // One of these is the tag.
            ("shade", 2, true),
            ("the", 1, false),
        ];
        assert_eq!(
            read,
            expected.map(|(term, frequency, is_word)| (term.to_owned(), frequency, is_word))
        );
        for n_bytes in 1..bytes.len() {
            // A cut list is either refused or ends at an entry's border; it never panics.
            let _is_whole = read_term_list(&bytes[..n_bytes], |_| {});
        }
        assert!(!read_term_list(&[5, 1, b'a', 2], |_| {}), "shares more than there is");
        assert!(!read_term_list(&[0xff; 12], |_| {}), "endless number");
    }
}
