//! Passages that only list links.

use weft_model::link::INLINE_TYPE;
use weft_model::{Heading, Link, LinkSource, NoteId, Span, Target, TargetSyntax, passages};

use super::*;

#[test]
fn words_of_a_list_of_links_weigh_less() {
    let listed = "moss grows on bark\n\n# Related\n\n- [[fern]]\n- [[sun dew]]";
    let own = "moss grows on fern\n\n# Related\n\n- [[bark]]\n- [[sun dew]]";
    let parts = [listed, own].map(headings_and_links);
    let documents =
        [listed, own].into_iter().zip(&parts).map(|(body, (headings, links))| KeywordDocument {
            passages: passages(body, headings),
            links,
            headings: vec!["Related"],
            ..document("a1", body)
        });
    let (mut writer, _) = KeywordWriter::in_memory(KeywordSettings::default()).unwrap();
    add_notes(&mut writer, documents);
    let reader = writer.commit(1).unwrap();
    assert_eq!(found(&reader, "fern"), [1, 0]);
    assert_eq!(found(&reader, "bark"), [0, 1]);
    assert_eq!(found(&reader, "+\"sun dew\""), [0, 1], "phrases of lists are found");
    let ids = [0, 1].map(NoteId::new);
    assert_eq!(reader.lengths(&ids), [8; 2], "they count towards the length");
    let query = reader.parse("fern", &QueryOptions::default()).unwrap();
    let frequencies = reader.term_frequencies(&query, &ids).unwrap();
    assert_eq!([frequencies.of(0), frequencies.of(1)], [&[0.25][..], &[1.0]]);
    let scored = reader.passages(&query, &ids).unwrap();
    let saturation = |note: usize, passage: usize| scored[note].passages[passage].saturations[0];
    assert!(saturation(0, 1) < saturation(1, 0) / 2.0, "{scored:?}");
    assert!(saturation(0, 0).abs() < f64::EPSILON, "{scored:?}");
    // They connect no notes, because the links do.
    assert!(reader.rare_terms(ids[0], 2).unwrap().iter().all(|term| term.term != "fern"));
}

/// Finds the lines that begin with `#`, and the wikilinks.
fn headings_and_links(body: &str) -> (Vec<Heading>, Vec<Link>) {
    let at = |byte: usize| u32::try_from(body[..byte].chars().count()).unwrap();
    let headings = body.match_indices("# ").map(|(start, _)| {
        let end = start + body[start..].find('\n').unwrap();
        Heading {
            level: 1,
            text: body[start + 2..end].to_owned(),
            span: Span::new(at(start), at(end)),
        }
    });
    let links = body.match_indices("[[").map(|(start, _)| {
        let end = start + body[start..].find("]]").unwrap();
        Link {
            kind: INLINE_TYPE.to_owned(),
            source: LinkSource::Inline,
            target: Target {
                name: body[start + 2..end].to_owned(),
                syntax: TargetSyntax::Wikilink,
            },
            fragment: None,
            display: None,
            span: Some(Span::new(at(start), at(end + 2))),
        }
    });
    (headings.collect(), links.collect())
}
