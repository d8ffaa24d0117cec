//! Tests of the keyword index through its public interface.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use weft_model::{NoteId, NoteSet, passages};

use super::*;
use crate::disk::{self, Disk, FaultInjector};

mod languages;
mod link_lists;
mod passage_words;

/// Title and body of a test note.
type Text = (&'static str, &'static str);

fn document<'n>(title: &'n str, body: &'n str) -> KeywordDocument<'n> {
    let passages = passages(body, &[]);
    KeywordDocument { version: 1, title, body, passages, ..KeywordDocument::default() }
}

/// Adds these notes, starting at slot 0.
fn add_notes<'n>(writer: &mut KeywordWriter, notes: impl IntoIterator<Item = KeywordDocument<'n>>) {
    for (note, document) in (0..).map(NoteId::new).zip(notes) {
        writer.upsert(note, writer.encoder().encode(&document)).unwrap();
    }
}

fn indexed(settings: KeywordSettings, notes: &[Text]) -> KeywordReader {
    let (mut writer, _) = KeywordWriter::in_memory(settings).unwrap();
    add_notes(&mut writer, notes.iter().map(|(title, body)| document(title, body)));
    writer.commit(1).unwrap()
}

fn reader(notes: &[Text]) -> KeywordReader {
    indexed(KeywordSettings::default(), notes)
}

fn search(reader: &KeywordReader, query: &str, options: &QueryOptions) -> Vec<u32> {
    let query = reader.parse(query, options).unwrap();
    reader.search(&query, 10, &NoteSet::All).unwrap().iter().map(|hit| hit.note.get()).collect()
}

fn found(reader: &KeywordReader, query: &str) -> Vec<u32> {
    search(reader, query, &QueryOptions::default())
}

/// Like [`found`], in ascending order, for cases in which the order is irrelevant.
fn found_set(reader: &KeywordReader, query: &str) -> Vec<u32> {
    let mut notes = found(reader, query);
    notes.sort_unstable();
    notes
}

#[test]
fn queries_find_the_expected_notes() {
    let reader = reader(&[
        ("Fern", "Ferns grow in the shade of the old wall, soft and green"),
        ("Moss", "Moss is green and soft; it likes shade too"),
        ("Rust", "The language Rust; HTTPServer2 and foo_bar, C++ beside it, v1.2 of EIP-1193"),
        ("水", "水土不服 在阴影下生长的蕨类植物"),
        ("Who", "to be or not to be"),
        ("GitHub", "a place for repositories"),
    ]);
    let cases: &[(&str, &str, &[u32])] = &[
        ("any word", "fern moss", &[0, 1]),
        ("stems", "growing", &[0]),
        ("phrase", "\"soft and green\"", &[0]),
        ("phrase beside a word", "moss \"soft and green\"", &[0, 1]),
        ("an unmatched phrase is searched as words", "\"green ferns\"", &[0, 1]),
        ("a required phrase without a match", "+\"green ferns\"", &[]),
        ("required", "green +moss", &[1]),
        ("excluded", "green -moss", &[0]),
        ("excluded phrase", "green -\"soft and green\"", &[1]),
        ("exclusions only", "-moss", &[]),
        ("a required word of several tokens", "green +eip-1193", &[2]),
        (
            "an excluded word of several tokens is a phrase",
            "green language -soft-shade",
            &[0, 1, 2],
        ),
        ("an unindexed compound excludes nothing", "green -fooShade", &[0, 1]),
        ("stop words only", "to be", &[4]),
        ("required stop word", "green +too", &[1]),
        ("phrase of stop words", "\"or not to be\"", &[4]),
        ("camel case", "HTTPServer2", &[2]),
        ("its parts", "server2", &[2]),
        ("its lower case", "httpserver2", &[2]),
        ("snake case as camel case", "fooBar", &[2]),
        ("an unindexed compound is searched as its parts", "fooShade", &[0, 1, 2]),
        ("an indexed compound, not its parts", "gitHub", &[5]),
        ("signs", "c++", &[2]),
        ("version", "v1.2", &[2]),
        ("identifier", "eip-1193", &[2]),
        ("one character", "水", &[3]),
        ("one character inside a run", "蕨", &[3]),
        ("Chinese word", "植物", &[3]),
        ("Chinese phrase", "\"蕨类植物\"", &[3]),
        ("nothing", "", &[]),
        ("signs only", "+ - \"\" \"", &[]),
        ("unknown", "xyzzy", &[]),
        ("required unknown word", "green +xyzzy", &[]),
    ];
    for (name, query, expected) in cases {
        assert_eq!(found_set(&reader, query), *expected, "{name}");
    }
}

#[test]
fn phrase_matches_compounds_in_any_spelling() {
    let reader = reader(&[
        ("a", "use GitHub Pages today"),
        ("b", "use github pages today"),
        ("c", "use Github-PAGES today"),
        ("d", "use git, hub and pages today"),
        ("e", "my iPhone15 case; XMLHttpRequest object"),
        ("f", "my iphone15 case; xmlhttprequest object"),
        ("g", "of 1.2.3 and 1.2.4 and 1.2.5 and 1.2.6 the ferrySlip"),
    ]);
    for (query, expected) in [
        ("+\"github pages\"", &[0, 1, 2][..]),
        ("+\"GitHub Pages\"", &[0, 1, 2]),
        ("+\"use GitHub pages today\"", &[0, 1, 2]),
        ("today -\"github pages\"", &[3]),
        ("+\"iphone15 case\"", &[4, 5]),
        ("+\"iPhone15 case\"", &[4, 5]),
        ("+\"XMLHttpRequest object\"", &[4, 5]),
        ("+\"git hub\"", &[0, 3]),
        ("+\"hub pages\"", &[]),
        ("+\"http request\"", &[4]),
        ("+\"15 xml\"", &[]),
        ("+\"ferry slip\"", &[6]),
    ] {
        assert_eq!(found_set(&reader, query), *expected, "{query}");
    }
}

/// The required and excluded parts of a query yield a note set, which also filters retrievers other than the keyword retriever.
#[test]
fn required_and_excluded_parts_filter_notes() {
    let reader = reader(&[
        ("Fern", "soft and green"),
        ("Moss", "green and soft ferns"),
        ("Rust", "neither of them; e-mail and mail"),
    ]);
    let cases: &[(&str, &str, Option<&[u32]>)] = &[
        ("words admit everything", "fern \"soft and green\"", None),
        ("required, in any form", "+fern", Some(&[0, 1])),
        ("two required words", "+fern +moss", Some(&[1])),
        ("the same word twice", "+fern +ferns", Some(&[0, 1])),
        ("excluded", "fern -moss", Some(&[0, 2])),
        ("required and excluded", "+soft -moss", Some(&[0])),
        ("a required phrase", "+\"soft and green\"", Some(&[0])),
        ("an excluded phrase", "-\"soft and green\"", Some(&[1, 2])),
        ("a phrase alone", " \"soft and green\" ", Some(&[0])),
        ("a phrase alone, with an exclusion", "\"soft and green\" -rust", Some(&[0])),
        ("a phrase alone, of one word", "\"mail\"", Some(&[2])),
        ("a phrase that no note contains", "\"green ferns\"", None),
        ("a word in quotes that no note contains", "\"xyzzy\"", None),
        ("two phrases alone", "\"green and soft\" \"soft ferns\"", Some(&[1])),
        ("two phrases alone, one of one word", "\"soft and green\" \"fern\" -rust", Some(&[0])),
        ("the same phrase twice", "\"soft and green\" \"soft and green\"", Some(&[0])),
        ("two phrases that no note contains together", "\"soft and green\" \"and mail\"", None),
        ("two phrases of which one is unknown", "\"soft and green\" \"xyzzy\"", None),
        ("two phrases and a word", "\"soft and green\" \"e-mail\" of", None),
        ("a required phrase and another", "+\"soft and green\" \"and mail\"", Some(&[0])),
        ("a required word of two tokens", "+e-mail", Some(&[2])),
        ("an excluded word of two tokens is a phrase", "-e-ferns", Some(&[0, 1, 2])),
        ("a required unknown word", "fern +xyzzy", Some(&[])),
    ];
    let typos = QueryOptions { typo_tolerance: true, ..QueryOptions::default() };
    for (name, text, expected) in cases {
        for options in [QueryOptions::default(), typos] {
            let query = reader.parse(text, &options).unwrap();
            let admitted = match query.admitted() {
                NoteSet::All => None,
                NoteSet::Only(notes) => Some(notes.iter().map(NoteId::get).collect::<Vec<_>>()),
            };
            assert_eq!(admitted.as_deref(), *expected, "{name}");
        }
    }
    let is_missing =
        |text: &str| reader.parse(text, &QueryOptions::default()).unwrap().n_missing_phrases();
    for (text, expected) in [
        ("\"green ferns\"", 1),
        ("\"green ferns\" -rust", 1),
        ("\"xyzzy\"", 1),
        ("\"soft and green\"", 0),
        ("fern \"green ferns\"", 0),
        ("+\"green ferns\"", 0),
        ("\"\"", 0),
        ("\"soft and green\" \"and mail\"", 2),
        ("\"soft and green\" \"xyzzy\" \"fern\"", 3),
        ("\"soft and green\" \"fern\"", 0),
    ] {
        assert_eq!(is_missing(text), expected, "{text}");
    }
    let admits = |text: &str| reader.parse(text, &typos).unwrap().admitted().len();
    assert_eq!(admits("-fren"), Some(3), "exclusions are not expanded");
    assert_eq!(admits("+fren"), Some(2));
    let many = |sign: &str, n: usize| -> QueryTruncation {
        let text: String = (0..n).map(|n| format!("{sign}\"soft p{n}\" ")).collect();
        reader.parse(&text, &QueryOptions::default()).unwrap().truncation()
    };
    assert_eq!(many("-", 64), QueryTruncation::default());
    assert_eq!(many("-", 65), QueryTruncation { exclusions: true, ..QueryTruncation::default() });
    assert_eq!(
        many("+", MAX_PHRASES + 1),
        QueryTruncation { phrases: true, ..QueryTruncation::default() }
    );
    let (mut query, notes) = (reader.parse("soft -moss", &typos).unwrap(), [NoteId::new(1)]);
    assert!(reader.scores(&query, &notes).unwrap()[0] <= 0.0);
    query.admit(notes[0]);
    assert!(reader.scores(&query, &notes).unwrap()[0] > 0.0, "admitted explicitly");
}

#[test]
fn tag_occurrence_counts_with_its_weight() {
    let scoring = Scoring { b: 0.0, ..Scoring::default() };
    for (tags, expected) in [(1.5, [2.5, 1.5, 1.0, 1.5]), (0.0, [1.0, 0.0, 1.0, 0.0])] {
        let settings =
            KeywordSettings { scoring: Scoring { tags, ..scoring }, ..KeywordSettings::default() };
        let (mut writer, _) = KeywordWriter::in_memory(settings).unwrap();
        let tagged = |title, body| KeywordDocument { tags: vec!["bakop"], ..document(title, body) };
        add_notes(
            &mut writer,
            [
                tagged("one", "bakop here is some text"),
                tagged("two", "nothing here is some text"),
                document("three", "bakop here is some text"),
                tagged("four", "#bakop here is some text"),
            ],
        );
        let reader = writer.commit(1).unwrap();
        let query = reader.parse("bakop", &QueryOptions::default()).unwrap();
        let mut counts = [0.0; 4];
        for hit in reader.search(&query, 10, &NoteSet::All).unwrap() {
            // `score = idf · f · (k1 + 1) / (f + k1)` for notes of equal length, divided by its maximum.
            let share = hit.score / query.max_score();
            counts[hit.note.get() as usize] = scoring.k1 * share / (1.0 - share);
        }
        for (count, expected) in counts.into_iter().zip(expected) {
            assert!((count - expected).abs() < 1e-6, "{tags}: {counts:?}");
        }
    }
}

#[test]
fn long_phrase_is_matched_to_its_end() {
    let words: Vec<String> = (0..100).map(|at| format!("w{at}x")).collect();
    let body: &'static str = words.join(" ").leak();
    let reader = reader(&[("a", body)]);
    let wrong = format!("{} wrong words here", words[..64].join(" "));
    assert_eq!(found(&reader, &format!("+\"{wrong}\"")), [0; 0]);
    assert_eq!(found(&reader, &format!("w1x -\"{wrong}\"")), [0]);
    assert_eq!(found(&reader, &format!("+\"{body}\"")), [0]);
}

#[test]
fn boosted_fields_weigh_more() {
    let (mut writer, _) = KeywordWriter::in_memory(KeywordSettings::default()).unwrap();
    let plain = document("a1", "fern b1 c1 d1 e1 f1 g1");
    let title = document("fern", "a1 b1 c1 d1 e1 f1 g1");
    let heading =
        KeywordDocument { headings: vec!["fern"], ..document("a1", "fern b1 c1 d1 e1 f1 g1") };
    let tagged =
        KeywordDocument { tags: vec!["plants/fern"], ..document("a1", "b1 c1 d1 e1 f1 g1 h1 i1") };
    let alias = KeywordDocument { aliases: vec!["fern"], ..document("a1", "b1 c1 d1 e1 f1 g1") };
    add_notes(&mut writer, [plain, title, heading, tagged, alias]);
    let reader = writer.commit(1).unwrap();
    assert_eq!(found(&reader, "fern"), [1, 4, 2, 3, 0]);
    assert_eq!(found(&reader, "plants"), [3], "tags are searchable");
    assert_eq!(reader.lengths(&[NoteId::new(3)]), [9], "tags do not count towards the length");
}

#[test]
fn said_words_are_found() {
    let reader = reader(&[
        ("Fan", r"tp\_fan reads AT&amp;T, caf&eacute;, Mr.&nbsp;Smith"),
        (
            "Water",
            "**un**important H<sub>2</sub>O of a [linked phrase](https://example.org/source) here",
        ),
        ("Data", "![x](data:image/png;base64,QUJDREVGR0g=) after"),
    ]);
    for (query, expected) in [
        ("+tp_fan", &[0][..]),
        ("eacute", &[]),
        ("café", &[0]),
        ("+\"mr smith\"", &[0]),
        ("amp", &[]),
        ("unimportant", &[1]),
        ("H2O", &[1]),
        ("sub", &[]),
        ("+\"linked phrase here\"", &[1]),
        ("example.org source", &[1]),
        ("base64", &[]),
        ("after", &[2]),
    ] {
        assert_eq!(found(&reader, query), expected, "{query}");
    }
}

#[test]
fn word_as_typed_ranks_above_other_spellings() {
    let reader = reader(&[
        ("", "the tea of the house, the pot, the the the"),
        ("", "un thé vert"),
        ("", "ano ano ano"),
        ("", "un año"),
        ("", "a net, the net"),
        ("", "the .NET runtime"),
        ("", "NET of taxes"),
        ("", "at home, home and home"),
        ("", "set $HOME first"),
        ("", "ano nuevo, ano nuevo"),
        ("", "feliz año nuevo a todos"),
    ]);
    for (query, expected) in [
        ("+thé", &[1][..]),
        ("año", &[3, 10, 2]),
        ("año nuevo", &[10, 9]),
        ("\"año nuevo\"", &[10, 9]),
        ("+año +nuevo feliz", &[10, 9]),
        (".net runtime framework", &[5]),
        (".NET", &[5, 6, 4]),
        ("$HOME", &[8, 7]),
        ("ano", &[2, 9, 3]),
    ] {
        let notes = found(&reader, query);
        assert_eq!(&notes[..expected.len()], expected, "{query}");
    }
}

#[test]
fn prefix_stands_for_its_terms() {
    let reader = reader(&[
        ("", "a barometer on the wall"),
        ("", "barometric pressure and the weather"),
        ("", "the bar is open"),
        ("", "running shoes"),
        ("", "Äpfel im Garten"),
    ]);
    for (query, expected) in [
        ("barom*", &[0, 1][..]),
        ("+barom* pressure", &[0, 1]),
        ("pressure -barom*", &[]),
        ("barom", &[]),
        ("\"barom*\"", &[]),
        ("*barom*", &[]),
        ("äpf*", &[4]),
        ("b*", &[]),
    ] {
        assert_eq!(found_set(&reader, query), expected, "{query}");
    }
    let typing = QueryOptions { prefix_last_word: true, ..QueryOptions::default() };
    for (query, expected) in [
        ("barom", &[0, 1][..]),
        ("weather barom", &[0, 1]),
        ("barom ", &[]),
        ("barom weather", &[1]),
        ("runnin", &[3]),
        ("barometer", &[0]),
    ] {
        let mut notes = search(&reader, query, &typing);
        notes.sort_unstable();
        assert_eq!(notes, expected, "{query}");
    }
    let query = reader.parse("barom*", &QueryOptions::default()).unwrap();
    assert_eq!(query.terms()[0].expansions, ["baromet", "barometr"]);
}

#[test]
fn typo_tolerance_finds_words_one_edit_away() {
    let reader =
        reader(&[("", "photosynthesis of ferns"), ("", "photography"), ("", "папоротник")]);
    let tolerant = QueryOptions { typo_tolerance: true, ..QueryOptions::default() };
    for (query, expected) in [("photosyntesis", 0), ("photograpyh", 1), ("папоротнк", 2)] {
        assert_eq!(search(&reader, query, &tolerant), [expected], "{query}");
        assert!(found(&reader, query).is_empty(), "{query}");
    }
    assert!(search(&reader, "phoosyntesis", &tolerant).is_empty(), "two edits");
    let unexpanded = QueryOptions { max_expansions: 0, ..tolerant };
    assert!(search(&reader, "photosyntesis", &unexpanded).is_empty());
    let read = |n_unknown: usize| {
        let text: String = (0..n_unknown).map(|n| format!("unknown{n} ")).collect();
        reader.parse(&(text + "photosyntesis"), &tolerant).unwrap()
    };
    let n_forms = |query: &KeywordQuery| query.terms().last().map(|term| term.alternatives.len());
    let (all, most) = (read(MAX_TYPO_WORDS - 1), read(MAX_TYPO_WORDS));
    assert_eq!((all.truncation(), n_forms(&all)), (QueryTruncation::default(), Some(2)));
    assert_eq!(most.truncation(), QueryTruncation { mistyped: true, ..QueryTruncation::default() });
    assert_eq!(n_forms(&most), Some(1), "only its own stem");
}

#[test]
fn long_queries_keep_the_words_of_highest_weight() {
    let reader = reader(&[("", "common rare"), ("", "common"), ("", "common")]);
    let options = QueryOptions { max_terms: 1, ..QueryOptions::default() };
    let query = reader.parse("common rare", &options).unwrap();
    let words = QueryTruncation { words: true, ..QueryTruncation::default() };
    assert_eq!(query.truncation(), words);
    assert_eq!(
        query.terms().iter().map(|term| term.surface.as_str()).collect::<Vec<_>>(),
        ["rare"]
    );
    assert_eq!(reader.parse("rare", &options).unwrap().truncation(), QueryTruncation::default());
    assert_eq!(
        reader.parse("rare -a1 -a2", &options).unwrap().truncation(),
        QueryTruncation { exclusions: true, ..QueryTruncation::default() }
    );
    let page = "word ".repeat(20_000);
    assert_eq!(
        reader.parse(&page, &QueryOptions::default()).unwrap().truncation(),
        QueryTruncation { text: true, ..QueryTruncation::default() },
        "longer than the byte limit, with one distinct word"
    );
    let words: String = (0..3000).map(|n| format!("w{n} +m{n} -x{n} \"p{n} q{n}\" ")).collect();
    assert!(reader.parse(&words, &QueryOptions::default()).unwrap().terms().len() <= 64);
}

#[test]
fn statistics_match_the_formulas() {
    let reader = reader(&[("fern", "fern moss the moss"), ("moss", "bark bark"), ("bark", "")]);
    let ids = [0, 1, 2].map(NoteId::new);
    assert_eq!(reader.lengths(&ids), [4, 3, 1]);
    assert!((reader.mean_length() - 8.0 / 3.0).abs() < 1e-12);
    assert!((reader.idf(2) - (1.0_f64 + (3.0 - 2.0 + 0.5) / 2.5).ln()).abs() < 1e-12);
    assert!(
        (reader.saturation(2.0, 4) - 2.0 / (2.0 + 1.2 * (0.25 + 0.75 * 4.0 / (8.0 / 3.0)))).abs()
            < 1e-12
    );
    let query = reader.parse("moss bark moss xyzzy", &QueryOptions::default()).unwrap();
    let terms: Vec<_> = query
        .terms()
        .iter()
        .map(|term| (term.surface.as_str(), term.count, term.n_notes))
        .collect();
    assert_eq!(terms, [("moss", 2, 2), ("bark", 1, 2), ("xyzzy", 1, 0)]);
    let frequencies =
        reader.term_frequencies(&query, &[ids[1], NoteId::new(99), ids[0], ids[1]]).unwrap();
    assert_eq!(
        [0, 1, 2, 3].map(|at| frequencies.of(at).to_vec()),
        [[1.0, 2.0, 0.0], [0.0; 3], [2.0, 0.0, 0.0], [1.0, 2.0, 0.0]]
    );
    assert_eq!(reader.n_notes_with("bark").unwrap(), 2);
    let rare = reader.rare_terms(ids[0], 2).unwrap();
    assert_eq!(rare, [NoteTerm { term: "moss".to_owned(), frequency: 2, n_notes: 2 }]);
    let mut notes = reader.notes_with(&["moss", "xyzzy"]).unwrap();
    notes[0].sort_unstable();
    let with = |note, frequency, length| NoteWithTerm { note, frequency, length };
    assert_eq!(notes, [vec![with(ids[0], 2, 4), with(ids[1], 1, 3)], vec![]]);
    assert_eq!(reader.lengths(&[ids[1], NoteId::new(99)]), [3, 0]);
    // Without boosts the score equals the formula.
    let flat = Scoring { title: 1.0, ..Scoring::default() };
    let reader = indexed(
        KeywordSettings { scoring: flat, ..KeywordSettings::default() },
        &[("fern", "fern moss the moss"), ("moss", "bark bark"), ("bark", "")],
    );
    let query = reader.parse("moss bark moss", &QueryOptions::default()).unwrap();
    let expected = reader.idf(2) * (2.0 * reader.saturation(1.0, 3) + reader.saturation(2.0, 3));
    let scores = reader.scores(&query, &[ids[1]]).unwrap();
    assert!((scores[0] - expected).abs() < 1e-12, "{scores:?} {expected}");
    assert!((query.max_score() - 3.0 * reader.idf(2)).abs() < 1e-12);
}

#[test]
fn query_is_rejected_by_another_reader() {
    let (left, right) = (reader(&[("", "fern")]), reader(&[("", "fern")]));
    let query = left.parse("fern", &QueryOptions::default()).unwrap();
    assert!(matches!(
        right.search(&query, 1, &NoteSet::All),
        Err(KeywordError::ForeignQuery { .. })
    ));
    assert!(matches!(right.scores(&query, &[]), Err(KeywordError::ForeignQuery { .. })));
    assert_eq!(
        left.clone().search(&query, 1, &NoteSet::All).unwrap().len(),
        1,
        "a clone counts as the same reader"
    );
}

#[test]
fn reopened_index_equals_the_last_commit() {
    let folder = tempfile::tempdir().unwrap();
    let notes: [Text; 3] = [("Fern", "green shade"), ("Moss", "green green"), ("水", "植物")];
    let (mut writer, empty) =
        KeywordWriter::open_or_create(&Disk::default(), folder.path(), KeywordSettings::default())
            .unwrap();
    assert_eq!((empty.generation(), empty.n_notes()), (0, 0));
    assert!(found(&empty, "green").is_empty());
    for (generation, (title, body)) in (1..).zip(notes) {
        let note = NoteId::new(u32::try_from(generation).unwrap());
        let text = KeywordDocument { version: generation * 10, ..document(title, body) };
        writer.upsert(note, writer.encoder().encode(&text)).unwrap();
        writer.commit(generation).unwrap();
    }
    [3, 77].into_iter().for_each(|note| writer.delete(NoteId::new(note)).unwrap());
    let before = writer.commit(9).unwrap();
    writer.delete(NoteId::new(1)).unwrap();
    drop(writer);
    let (_, after) =
        KeywordWriter::open_or_create(&Disk::default(), folder.path(), KeywordSettings::default())
            .unwrap();
    assert_eq!(after.generation(), 9);
    assert_eq!(scored(&after, "green shade"), scored(&before, "green shade"));
    let mut versions = after.versions().unwrap();
    versions.sort_unstable();
    assert_eq!(versions, [(NoteId::new(1), 10), (NoteId::new(2), 20)]);
    assert_eq!(after.languages_of(&[NoteId::new(1)]).unwrap(), [Some(Language::English)]);
    assert!(after.contains(NoteId::new(2)) && !after.contains(NoteId::new(3)));
}

/// Returns the notes found and the bits of their scores.
fn scored(reader: &KeywordReader, query: &str) -> Vec<(u32, u64)> {
    let query = reader.parse(query, &QueryOptions::default()).unwrap();
    let hits = reader.search(&query, 100, &NoteSet::All).unwrap();
    hits.iter().map(|hit| (hit.note.get(), hit.score.to_bits())).collect()
}

fn filled(folder: &Path) -> KeywordWriter {
    let (mut writer, _) =
        KeywordWriter::open_or_create(&Disk::default(), folder, KeywordSettings::default())
            .unwrap();
    add_notes(&mut writer, [document("Fern", "uniquesecret"), document("Moss", "green")]);
    writer.commit(3).unwrap();
    writer
}

fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn compacting_removes_deleted_text_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = filled(folder.path());
    // Terms are front-coded, so only the end of the word is sure to appear as plain bytes.
    let holds_secret = || {
        files(folder.path()).iter().any(|file| {
            let bytes = std::fs::read(file).unwrap();
            bytes.windows(12).any(|window| window == b"uniquesecret")
        })
    };
    assert!(holds_secret());
    writer.delete(NoteId::new(0)).unwrap();
    writer.commit(4).unwrap();
    let reader = writer.compact(4).unwrap();
    assert!(!holds_secret());
    assert_eq!((reader.generation(), reader.n_notes()), (4, 1));
    assert_eq!(found(&reader, "green"), [1]);
    writer.delete(NoteId::new(1)).unwrap();
    assert_eq!(writer.compact(5).unwrap().generation(), 5);
    drop(writer);
    let (_, reader) =
        KeywordWriter::open_or_create(&Disk::default(), folder.path(), KeywordSettings::default())
            .unwrap();
    assert_eq!((reader.generation(), reader.n_notes()), (5, 0));
}

#[test]
fn second_writer_of_a_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let writer = filled(folder.path());
    for attempt in [KeywordWriter::open_or_create, KeywordWriter::recreate] {
        match attempt(&Disk::default(), folder.path(), KeywordSettings::default()) {
            Err(KeywordError::Locked { folder: named }) => assert_eq!(named, folder.path()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(found(writer.reader(), "green"), [1]);
    drop(writer);
    let (_, reader) =
        KeywordWriter::open_or_create(&Disk::default(), folder.path(), KeywordSettings::default())
            .unwrap();
    assert_eq!(reader.n_notes(), 2);
}

/// Counts changes, and delays the creation of each file while `is_slow` is set.
#[derive(Default)]
struct SlowDisk {
    is_slow: AtomicBool,
    n_changes: AtomicUsize,
}

impl FaultInjector for SlowDisk {
    fn check(&self, step: disk::DiskOperation, _: &Path) -> std::io::Result<()> {
        if step == disk::DiskOperation::Create && self.is_slow.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.n_changes.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// A merge that outlives its writer deletes files that the next writer still reads.
#[test]
fn dropping_the_writer_waits_for_merges() {
    let folder = tempfile::tempdir().unwrap();
    let injector = Arc::new(SlowDisk::default());
    let disk = Disk::with_faults(Arc::clone(&injector) as Arc<dyn FaultInjector>);
    let settings = KeywordSettings { merge_factor: 2, ..KeywordSettings::default() };
    let (mut writer, _) = KeywordWriter::open_or_create(&disk, folder.path(), settings).unwrap();
    for (note, generation) in (0..2).zip(1..) {
        injector.is_slow.store(note == 1, Ordering::SeqCst);
        writer
            .upsert(NoteId::new(note), writer.encoder().encode(&document("Fern", "green")))
            .unwrap();
        writer.commit(generation).unwrap();
    }
    let n_committed = injector.n_changes.load(Ordering::SeqCst);
    drop(writer);
    let n_ended = injector.n_changes.load(Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(200));
    assert!(n_ended > n_committed, "a merge was running");
    assert_eq!(injector.n_changes.load(Ordering::SeqCst), n_ended);
    let (_, reader) = KeywordWriter::open_or_create(&disk, folder.path(), settings).unwrap();
    assert_eq!(found_set(&reader, "green"), [0, 1]);
}

#[test]
fn damage_is_detected_and_the_index_recreated() {
    let segment_file = |folder: &Path, extension: &str| {
        files(folder)
            .into_iter()
            .find(|file| file.extension().is_some_and(|found| found == extension))
            .unwrap()
    };
    type Damage = fn(&Path);
    let flip: Damage = |file| {
        let mut bytes = std::fs::read(file).unwrap();
        bytes[3] ^= 1;
        std::fs::write(file, bytes).unwrap();
    };
    let cases: &[(&str, Option<&str>, Damage)] = &[
        ("a flipped byte of the postings", Some("idx"), flip),
        ("a flipped byte of the columns", Some("fast"), flip),
        ("a flipped byte of the dictionary", Some("term"), flip),
        ("a truncated file", Some("term"), |file| {
            let bytes = std::fs::read(file).unwrap();
            std::fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("an empty file", Some("fast"), |file| std::fs::write(file, b"").unwrap()),
        ("a missing file", Some("store"), |file| std::fs::remove_file(file).unwrap()),
        ("an invalid segment list", None, |folder| {
            std::fs::write(folder.join("meta.json"), b"{]").unwrap()
        }),
    ];
    for (name, extension, damage) in cases {
        let folder = tempfile::tempdir().unwrap();
        drop(filled(folder.path()));
        damage(&extension.map_or(folder.path().to_path_buf(), |extension| {
            segment_file(folder.path(), extension)
        }));
        let opened = KeywordWriter::open_or_create(
            &Disk::default(),
            folder.path(),
            KeywordSettings::default(),
        );
        let error = opened.expect_err(name);
        assert!(matches!(error, KeywordError::Corrupt { .. }), "{name}: {error:?}");
        let keep = folder.path().join("keep.txt");
        std::fs::write(&keep, b"not ours").unwrap();
        let (_writer, reader) =
            KeywordWriter::recreate(&Disk::default(), folder.path(), KeywordSettings::default())
                .unwrap();
        assert_eq!((reader.n_notes(), reader.generation()), (0, 0), "{name}");
        assert!(keep.exists(), "{name}");
    }
}

#[test]
fn index_with_another_analysis_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path()));
    let german = KeywordSettings {
        language: LanguageChoice::Fixed(Language::German),
        ..KeywordSettings::default()
    };
    match KeywordWriter::open_or_create(&Disk::default(), folder.path(), german) {
        Err(KeywordError::Incompatible { expected, .. }) => {
            assert!(expected.contains("German"), "{expected}")
        }
        other => panic!("{other:?}"),
    }
    let heavier = Scoring { title: 9.0, ..Scoring::default() };
    let heavier = KeywordSettings { scoring: heavier, ..KeywordSettings::default() };
    KeywordWriter::open_or_create(&Disk::default(), folder.path(), heavier).unwrap();
}

/// Words with shared stems, compounds, stop words and a script without spaces.
const WORDS: &[&str] = &[
    "fern",
    "ferns",
    "папоротник",
    "moss",
    "shade",
    "the",
    "of",
    "growing",
    "grows",
    "fooBar",
    "foo",
    "植物学",
    "水",
    "rust",
    "bark",
    "v1.2",
];

fn any_text(n: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), 0..n)
        .prop_map(|words| words.join(" "))
}

fn any_query() -> impl Strategy<Value = String> {
    let word = || proptest::sample::select(WORDS.to_vec());
    let clause = prop_oneof![
        4 => word().prop_map(str::to_owned),
        1 => word().prop_map(|word| format!("+{word}")),
        1 => word().prop_map(|word| format!("-{word}")),
        2 => any_text(4).prop_map(|text| format!("\"{text}\"")),
    ];
    proptest::collection::vec(clause, 0..6).prop_map(|clauses| clauses.join(" "))
}

#[derive(Clone, Debug)]
enum EditStep {
    Upsert(u32, String, String),
    Delete(u32),
    Commit,
    Compact,
}

fn any_steps() -> impl Strategy<Value = Vec<EditStep>> {
    let step = prop_oneof![
        6 => (0..12_u32, any_text(4), any_text(30)).prop_map(|(note, title, body)| EditStep::Upsert(note, title, body)),
        3 => (0..12_u32).prop_map(EditStep::Delete),
        3 => Just(EditStep::Commit),
        1 => Just(EditStep::Compact),
    ];
    proptest::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// After any sequence of edits, every result is bit for bit that of a fresh index of the remaining notes.
    #[test]
    fn edited_index_equals_a_fresh_index(steps in any_steps(), queries in proptest::collection::vec(any_query(), 4)) {
        let settings = KeywordSettings { heap_bytes_per_thread: 15_000_000, ..KeywordSettings::default() };
        let (mut writer, _) = KeywordWriter::in_memory(settings).unwrap();
        let mut live = BTreeMap::new();
        for step in &steps {
            match step {
                EditStep::Upsert(note, title, body) => {
                    writer.upsert(NoteId::new(*note), writer.encoder().encode(&document(title, body))).unwrap();
                    live.insert(*note, (title, body));
                }
                EditStep::Delete(note) => {
                    writer.delete(NoteId::new(*note)).unwrap();
                    live.remove(note);
                }
                // Queries in between fill the caches that later readers reuse.
                EditStep::Commit => drop(writer.commit(7).unwrap().n_notes_with("fern").unwrap()),
                EditStep::Compact => drop(writer.compact(7).unwrap()),
            }
        }
        let edited = writer.commit(8).unwrap();
        let (mut writer, _) = KeywordWriter::in_memory(settings).unwrap();
        for (note, (title, body)) in &live {
            writer.upsert(NoteId::new(*note), writer.encoder().encode(&document(title, body))).unwrap();
        }
        let fresh = writer.commit(8).unwrap();

        let all: Vec<NoteId> = (0..14).map(NoteId::new).collect();
        prop_assert_eq!(edited.n_notes(), live.len());
        prop_assert_eq!(edited.languages(), fresh.languages());
        prop_assert_eq!(edited.mean_length().to_bits(), fresh.mean_length().to_bits());
        for note in &all {
            prop_assert_eq!(edited.rare_terms(*note, 5).unwrap(), fresh.rare_terms(*note, 5).unwrap());
        }
        for text in &queries {
            let hits = scored(&edited, text);
            prop_assert_eq!(&hits, &scored(&fresh, text), "{}", text);
            let query = edited.parse(text, &QueryOptions::default()).unwrap();
            let in_fresh = fresh.parse(text, &QueryOptions::default()).unwrap();
            prop_assert_eq!(edited.mentions(&query).unwrap(), fresh.mentions(&in_fresh).unwrap());
            let found: Vec<NoteId> = hits.iter().map(|(note, _)| NoteId::new(*note)).collect();
            // Scores of given notes equal those of the search, and are zero for all others.
            let scores = edited.scores(&query, &all).unwrap();
            for (note, score) in all.iter().zip(&scores) {
                let hit = hits.iter().find(|(hit, _)| *hit == note.get()).map_or(0, |(_, bits)| *bits);
                prop_assert_eq!(score.to_bits(), hit, "{}", text);
                prop_assert!(*score <= query.max_score());
            }
            // Truncating and filtering keep the order.
            let first = edited.search(&query, 2, &NoteSet::All).unwrap();
            prop_assert!(first.iter().map(|hit| hit.note).eq(found.iter().copied().take(2)));
            let even: NoteSet = all.iter().copied().filter(|note| note.get() % 2 == 0).collect();
            let filtered = edited.search(&query, 100, &even).unwrap();
            prop_assert!(filtered.iter().map(|hit| hit.note).eq(found.iter().copied().filter(|note| even.contains(*note))));
        }
    }
}

#[test]
fn large_filter_is_applied_during_the_search() {
    let bodies: Vec<String> = (0..1500).map(|n| "fern ".repeat(1 + n % 7)).collect();
    let (mut writer, _) =
        KeywordWriter::in_memory(KeywordSettings { threads: 2, ..KeywordSettings::default() })
            .unwrap();
    add_notes(&mut writer, bodies.iter().map(|body| document("", body)));
    let reader = writer.commit(1).unwrap();
    let query = reader.parse("fern", &QueryOptions::default()).unwrap();
    let filter: NoteSet = (0..1500).filter(|note| note % 7 != 6).map(NoteId::new).collect();
    let hits = reader.search(&query, 20, &filter).unwrap();
    assert_eq!(hits.len(), 20);
    let all = reader.search(&query, 1500, &NoteSet::All).unwrap();
    let expected: Vec<_> =
        all.into_iter().filter(|hit| filter.contains(hit.note)).take(20).collect();
    assert_eq!(hits, expected);
}

/// Skipping long posting lists of light words does not change the result.
#[test]
fn skipping_posting_lists_keeps_the_exact_top_k() {
    let words = [("fern", 80), ("moss", 20), ("bark", 4), ("heath", 1)];
    let body = |note: u64| {
        let drawn = |what: &str| term_hash::hash(format!("{note} {what}").as_bytes());
        let mut body = "shade ".repeat(usize::try_from(drawn("") % 20).unwrap());
        for (word, percent) in words {
            if drawn(word) % 100 < percent {
                let n_times = 1 + drawn(word) / 100 % 4;
                body += &format!("{word} ").repeat(usize::try_from(n_times).unwrap());
            }
        }
        body
    };
    let bodies: Vec<String> = (0..6000).map(body).collect();
    // A word weighs less in a title than in the text.
    let scoring = Scoring { title: 0.3, ..Scoring::default() };
    let settings = KeywordSettings { threads: 1, scoring, ..KeywordSettings::default() };
    let (mut writer, _) = KeywordWriter::in_memory(settings).unwrap();
    let titles = ["Fern", "Moss heath", "", "", "", ""];
    let notes = titles.iter().cycle().zip(&bodies).map(|(title, body)| document(title, body));
    add_notes(&mut writer, notes);
    writer.commit(1).unwrap();
    for note in (0..6000).step_by(5).map(NoteId::new) {
        writer.upsert(note, writer.encoder().encode(&document("Bark", "fern moss"))).unwrap();
    }
    (0..500).for_each(|note| writer.delete(NoteId::new(note)).unwrap());
    let reader = writer.commit(2).unwrap();
    let all: Vec<NoteId> = (0..6000).map(NoteId::new).collect();
    let most: NoteSet = all.iter().copied().filter(|note| note.get() % 3 > 0).collect();
    for text in [
        "fern",
        "fern moss bark heath",
        "heath fern",
        "heath heath \"fern moss\"",
        "fern fern fern fern fern fern heath",
        "+fern bark moss",
    ] {
        let query = reader.parse(text, &QueryOptions::default()).unwrap();
        let scores = reader.scores(&query, &all).unwrap();
        for filter in [&NoteSet::All, &most] {
            let scored = all
                .iter()
                .zip(&scores)
                .filter(|(note, score)| filter.contains(**note) && **score > 0.0);
            let mut expected: Vec<(NoteId, f64)> =
                scored.map(|(note, score)| (*note, *score)).collect();
            expected.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
            for k in [1, 10, 100, 1000] {
                let hits = reader.search(&query, k, filter).unwrap();
                let hits: Vec<(NoteId, f64)> =
                    hits.iter().map(|hit| (hit.note, hit.score)).collect();
                assert_eq!(hits, expected[..k.min(expected.len())], "{text}, {k}");
            }
        }
    }
}
