//! Tests of passages with the words of a query.

use weft_model::{Heading, NoteId, Span, passages};

use super::*;

#[test]
fn words_of_a_query_are_found_by_passage() {
    let body = "moss and fern\n\n# Ferns\n\nbark <!-- moss -->";
    let headings = [Heading { level: 1, text: "Ferns".into(), span: Span::new(15, 22) }];
    let note = KeywordDocument {
        passages: passages(body, &headings),
        headings: vec!["Ferns"],
        tags: vec!["moss"],
        ..document("moss", body)
    };
    let (mut writer, _) = KeywordWriter::in_memory(KeywordSettings::default()).unwrap();
    add_notes(&mut writer, [note, document("other", "bark")]);
    let reader = writer.commit(1).unwrap();
    let query = reader.parse("moss fern", &QueryOptions::default()).unwrap();
    let idf: Vec<f64> = query.terms().iter().map(|term| term.idf).collect();
    let found = reader.passage_words(&query, &[1, 0, 7].map(NoteId::new)).unwrap();
    let texts = found[1].iter().map(|it| it.span.slice(body));
    assert_eq!(Vec::from_iter(texts), ["moss and fern", "# Ferns\n\nbark <!-- moss -->"]);
    let weights = found[1].iter().map(|it| it.weight);
    assert_eq!(
        Vec::from_iter(weights),
        [idf[0] + idf[1], idf[1]],
        "titles, tags and comments do not count"
    );
    let moss = reader.parse("moss", &QueryOptions::default()).unwrap();
    let scored = &reader.passages(&moss, &[NoteId::new(0)]).unwrap()[0].passages;
    let own = scored.iter().map(|passage| passage.has_query_words);
    assert_eq!(Vec::from_iter(own), [true, false], "the tag and the comment do not count");
    assert!(scored.iter().all(|passage| passage.score > 0.0), "the tag counts for the score");
    assert!(found[0].iter().all(|it| it.weight <= 0.0) && found[2].is_empty());
}
