//! Encoder: converts a note into the fields and terms the index stores.

use std::collections::HashSet;
use std::ops::Range;

use weft_model::id::folder_of;
use weft_model::{BodyPassage, Link, LinkPlaces, Note, passages};

use super::analyzer::{Analyzer, TokenKind};
use super::encoded_note::{EncodedNote, EncodedTerms};
use super::exact_form::{ExactForms, exact_forms};
use super::index_schema::{EXACT, SchemaFields, schema};
use super::language_detection::LanguageChoice;
use super::name_terms::{name_terms, names, section_terms};
use super::passage_list::PassageMarks;
use super::said_text::SaidText;
use super::term_buffer::TermBuffer;
use super::term_list::term_list;
use crate::notes::NoteEntry;

/// Input of the keyword index for one note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeywordDocument<'n> {
    /// Version of the note's text, chosen by the caller and returned by [`versions`](super::keyword_reader::KeywordReader::versions).
    pub version: u64,
    /// Title.
    pub title: &'n str,
    /// Aliases.
    pub aliases: Vec<&'n str>,
    /// Names of the note besides title and aliases. They weigh like aliases, but do not count towards the length.
    pub other_names: Vec<&'n str>,
    /// Path in its vault, without extension. With as many of its folders as are given, the file's name is a name of the note too; the words of the folders are searched with a low weight.
    pub path: &'n str,
    /// Headings of the body. They are part of the body too and add to its weight.
    pub headings: Vec<&'n str>,
    /// Tags, including those written in the body.
    pub tags: Vec<&'n str>,
    /// Texts of the frontmatter, searched with a low weight.
    pub properties: Vec<&'n str>,
    /// Body.
    pub body: &'n str,
    /// Passages of the body, in text order; the parts of it that are scored one by one.
    pub passages: Vec<BodyPassage>,
    /// Links of the note. Passages that only list links are searched with a low weight.
    pub links: &'n [Link],
}

impl<'n> KeywordDocument<'n> {
    /// Returns the document of a note.
    #[must_use]
    pub fn of(entry: &'n NoteEntry) -> Self {
        let Note { title, aliases, path, headings, tags, searched_texts, links, .. } = &entry.note;
        Self {
            version: entry.version,
            title,
            aliases: aliases.iter().map(String::as_str).collect(),
            other_names: entry.other_names(),
            path: path.without_extension(),
            headings: headings.iter().map(|heading| &*heading.text).collect(),
            tags: tags.iter().map(String::as_str).collect(),
            properties: searched_texts.iter().map(String::as_str).collect(),
            body: &entry.body,
            passages: passages(&entry.body, &entry.note.headings),
            links,
        }
    }
}

/// Converts notes into the form the index stores.
///
/// The output depends only on the note and the language choice. The encoder keeps caches, so use one per thread.
#[derive(Debug)]
pub struct KeywordEncoder {
    fields: SchemaFields,
    choice: LanguageChoice,
    analyzer: Analyzer,
    buffer: TermBuffer,
    terms: EncodedTerms,
}

impl KeywordEncoder {
    /// Creates an encoder with empty caches for indexes with this language choice.
    pub(super) fn new(choice: LanguageChoice) -> Self {
        let (_, fields) = schema();
        let (analyzer, buffer, terms) = Default::default();
        Self { fields, choice, analyzer, buffer, terms }
    }

    /// Encodes a note. `O(its text)`: nearly all of the work of indexing it.
    pub fn encode(&mut self, note: &KeywordDocument<'_>) -> EncodedNote {
        let Self { fields, choice, analyzer, buffer, terms } = self;
        let body = SaidText::of(note.body);
        let language = choice.of(note.title, body.text());
        let mut length = 0_u64;
        // A panic during the previous note may have left data behind.
        buffer.clear();
        analyzer.shrink_caches();
        terms.clear();
        let mut exact = ExactForms::default();
        let mut count_exact = |form: &str| exact.add(form);
        for part in [note.title].into_iter().chain(note.aliases.iter().copied()) {
            analyzer.analyze(part, language, |token| {
                length += u64::from(token.kind == TokenKind::Word);
                exact_forms(part, &token, &mut count_exact);
                buffer.push(&token);
            });
            buffer.end_part();
        }
        let lists = link_lists(note);
        let mut marks = PassageMarks::new(&note.passages, &lists);
        let (text, mut places) = (body.text(), body.places());
        analyzer.analyze(text, language, |token| {
            length += u64::from(token.kind == TokenKind::Word);
            exact_forms(text, &token, &mut count_exact);
            let written_at = places.start(token.start);
            marks.pass(&token, written_at, buffer.position(token.position));
            let next = lists.partition_point(|list| list.end <= written_at);
            let is_listed = lists.get(next).is_some_and(|list| list.start <= written_at);
            if is_listed {
                buffer.push(&token.without_word());
            } else {
                buffer.push(&token);
            }
        });
        let body_end = buffer.end();
        buffer.end_part();
        // Addresses and comments belong to no passage.
        for aside in body.asides().iter().map(|aside| &note.body[aside.clone()]) {
            analyzer.analyze(aside, language, |token| {
                length += u64::from(token.kind == TokenKind::Word);
                exact_forms(aside, &token, &mut count_exact);
                buffer.push(&token);
            });
            buffer.end_part();
        }
        let passages = marks.finish(note.body, body_end, buffer.position(0));
        for name in &note.other_names {
            analyzer.analyze(name, language, |token| {
                exact_forms(name, &token, &mut count_exact);
                buffer.push(&token);
            });
            buffer.end_part();
        }
        // A tag is indexed like any other word of the note, but is not counted again if the body contains it.
        let in_text = if note.tags.is_empty() { HashSet::new() } else { inline_tags(note.body) };
        for tag in note.tags.iter().filter(|tag| !in_text.contains(&tag.to_lowercase())) {
            analyzer.analyze(tag, language, |token| buffer.push(&token));
            buffer.end_part();
        }
        let folders: Vec<&str> = folder_of(note.path).split('/').collect();
        for weak in folders.iter().chain(&note.properties) {
            // They connect no notes, as rare words of a text do.
            analyzer.analyze(weak, language, |token| buffer.push(&token.without_word()));
            buffer.end_part();
        }
        let list = term_list(buffer.terms(), analyzer);
        buffer.end_field(analyzer, terms);
        terms.end_field(fields.text);
        let other_names = [&*note.aliases, &*note.other_names].concat();
        let listed: Vec<SaidText<'_>> =
            lists.iter().map(|list| SaidText::of(&note.body[list.clone()])).collect();
        let listed: Vec<&str> = listed.iter().map(SaidText::text).collect();
        let boosted = [
            &[note.title][..],
            &other_names,
            &note.headings,
            &note.tags,
            &folders,
            &note.properties,
            &listed,
        ];
        for (field, parts) in fields.repeated.into_iter().zip(boosted) {
            for part in parts {
                analyzer.analyze(part, language, |token| buffer.push(&token));
                buffer.end_part();
            }
            buffer.end_field(analyzer, terms);
            terms.end_field(field);
        }
        exact.append_to(terms);
        terms.end_field(fields.repeated[EXACT]);
        let own = name_terms(analyzer, names(note.title, &other_names, note.path), language);
        for name in &own {
            terms.push(name, &[0]);
        }
        terms.end_field(fields.names);
        for (name, at) in section_terms(analyzer, note.body, &note.passages, &own, language) {
            terms.push(&name, &at);
        }
        terms.end_field(fields.sections);
        let mut numbers = vec![
            (fields.version, note.version),
            (fields.length, length),
            (fields.language, language.code()),
        ];
        numbers.extend(passages.into_iter().map(|number| (fields.passages, number)));
        EncodedNote::new(terms, numbers.into_iter(), (fields.terms, list))
    }
}

/// Returns the places of the passages that only list links, without their headings, in text order.
fn link_lists(note: &KeywordDocument<'_>) -> Vec<Range<usize>> {
    if note.links.is_empty() {
        return Vec::new();
    }
    let places = LinkPlaces::new(note.body, note.links);
    let texts = note.passages.iter().map(BodyPassage::text_bytes);
    texts.filter(|text| places.is_list(note.body, text.clone())).collect()
}

/// Returns the tags written as `#tag` in `body`, in lower case; their words are already part of the text.
fn inline_tags(body: &str) -> HashSet<String> {
    let is_of_tag = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    let behind = memchr::memchr_iter(b'#', body.as_bytes()).map(|at| &body[at + 1..]);
    let tags = behind.map(|rest| &rest[..rest.find(|c| !is_of_tag(c)).unwrap_or(rest.len())]);
    tags.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use weft_model::passages;

    use super::super::language::Language;
    use super::super::term_list::read_term_list;
    use super::*;

    #[test]
    fn encoding_does_not_depend_on_earlier_notes() {
        // More terms than the caches keep.
        let words: Vec<String> = (0..70_000).map(|n| format!("w{n}")).collect();
        let long = words.join(" ");
        let encoder = || KeywordEncoder::new(LanguageChoice::default());
        let note = |body| KeywordDocument {
            version: 1,
            title: "fern",
            aliases: vec!["bracken"],
            other_names: vec!["polypody"],
            path: "plants/fern",
            headings: vec!["shade"],
            tags: vec!["green"],
            properties: vec!["canopy"],
            passages: passages(body, &[]),
            links: &[],
            body,
        };
        let small = |encoder: &mut KeywordEncoder| {
            format!("{:?}", encoder.encode(&note("a fern and a mossCap, a moss")))
        };
        let (expected, mut encoder) = (small(&mut encoder()), encoder());
        encoder.encode(&note(&long));
        assert_eq!(small(&mut encoder), expected);
        // Half a note, as a panic leaves it.
        let KeywordEncoder { analyzer, buffer, terms, .. } = &mut encoder;
        analyzer.analyze("lichen mossCap", Language::English, |token| buffer.push(&token));
        terms.push("lichen", &[3]);
        assert_eq!(small(&mut encoder), expected);
    }

    #[test]
    fn term_list_round_trips_in_order() {
        let note = KeywordDocument {
            title: "fern fernery",
            body: "the fern of fooBar #Shade #shades",
            passages: Vec::new(),
            tags: vec!["fern", "shade"],
            version: 1,
            path: "shades/ferns",
            ..KeywordDocument::default()
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
            // Its tag counts like any other word of the note.
            ("fern", 3, true),
            ("ferneri", 1, true),
            ("foo", 1, false),
            ("foobar", 1, true),
            ("of", 1, false),
            // One of the three is the tag, one the folder.
            ("shade", 3, true),
            ("the", 1, false),
        ];
        assert_eq!(
            read,
            expected.map(|(term, frequency, is_word)| (term.to_owned(), frequency, is_word))
        );
        for n_bytes in 1..bytes.len() {
            // A truncated list is refused, or ends at an entry's boundary; reading it never panics.
            let _is_whole = read_term_list(&bytes[..n_bytes], |_| {});
        }
        assert!(!read_term_list(&[5, 1, b'a', 2], |_| {}), "longer prefix than the previous term");
        assert!(!read_term_list(&[0xff; 12], |_| {}), "unterminated number");
    }
}
