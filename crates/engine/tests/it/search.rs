//! Searches after edits.

use weft_engine::{SearchMode, SearchRequest};

use crate::{Vault, messages};

#[test]
fn ties_are_broken_as_after_a_rebuild() {
    let files = |numbers: std::ops::Range<u32>| -> String {
        numbers.map(|at| format!("=== p{at:03}.md\na fern\n")).collect()
    };
    let grown = Vault::new(&files(100..350));
    for at in 0..100 {
        grown.put(&format!("p{at:03}.md"), "a fern\n");
    }
    let built = Vault::new(&files(0..350));
    let first = |vault: &Vault, limit: usize| -> Vec<String> {
        let mode = SearchMode::Keyword;
        let asked = SearchRequest { query: "fern".into(), limit, mode, ..SearchRequest::default() };
        let hits = vault.engine.search(&asked).unwrap().hits;
        hits.iter().map(|hit| hit.uri.to_string()).collect()
    };
    for limit in [1, 5, 250] {
        let found = first(&grown, limit);
        assert_eq!(found[0], "p000", "{limit}");
        assert_eq!(found, first(&built, limit), "{limit}");
    }
}

#[test]
fn snippet_length_holds_for_long_words() {
    let vault = Vault::new(&format!(
        "=== han.md\n前{}\n=== blob.md\nintro qwertz{} outro\n",
        "哈".repeat(400),
        "x".repeat(18_000)
    ));
    for (query, uri) in [("哈哈", "han"), (&*format!("qwertz{}", "x".repeat(58)), "blob")] {
        let mode = SearchMode::Keyword;
        let asked = SearchRequest {
            query: query.into(),
            limit: 5,
            snippets: Some(1),
            mode,
            ..SearchRequest::default()
        };
        let hits = vault.engine.search(&asked).unwrap().hits;
        assert_eq!(hits[0].uri.as_str(), uri);
        let snippet = &hits[0].snippets[0];
        let n_chars = snippet.text.chars().count();
        assert!((200..=240).contains(&n_chars), "{uri}: {n_chars}");
        let (start, end) = snippet.matches[0];
        assert!(start < end && end as usize == n_chars, "{uri}: {:?}", snippet.matches);
    }
}

#[test]
fn snippet_is_of_the_passage_with_the_most_words() {
    let filler = "Sand and gravel lie under the road for a mile or more. ".repeat(12);
    let vault = Vault::new(&format!(
        "=== long.md\n# Notes\n\nThe moss is green.\n\n{filler}\n\nFerns grow in shade.\n\n{filler}\n\nThe moss of the fern is wet.\n\nMore moss follows.\n\n{filler}\n\nMoss again.\n\n{filler}\n\nA fern.\n"
    ));
    let found = |query: &str, snippets: usize| {
        let asked = SearchRequest {
            query: query.into(),
            limit: 1,
            snippets: Some(snippets),
            mode: SearchMode::Keyword,
            ..SearchRequest::default()
        };
        vault.engine.search(&asked).unwrap().hits.remove(0).snippets
    };
    let snippets = found("moss fern", 1);
    let text = &snippets[0].text;
    assert!(text.contains("The moss of the fern is wet."), "{text}");
    // Words of the passage after it are marked as well.
    let marked: Vec<String> = snippets[0]
        .matches
        .iter()
        .map(|(start, end)| text.chars().take(*end as usize).skip(*start as usize).collect())
        .collect();
    assert_eq!(marked, ["moss", "fern", "moss"], "{text}");
    let texts: Vec<String> = found("moss fern", 3).into_iter().map(|it| it.text).collect();
    assert!(texts[0].contains("green") && texts[2].contains("wet"), "in text order: {texts:?}");
    assert!(found("long", 1)[0].text.starts_with("Notes"), "only the title matches");
}

#[test]
fn empty_query_is_reported_with_its_reason() {
    let vault = Vault::new("=== a.md\nfern\n=== b.md\nmoss\n");
    for (query, expected) in [
        ("\"\"", "the query has no word to search for"),
        ("+\"\"", "the query has no word to search for"),
        ("-moss", "the query only excludes; add a term to search for"),
        ("-rust", "the query only excludes; add a term to search for"),
    ] {
        let asked = SearchRequest { query: query.into(), limit: 5, ..SearchRequest::default() };
        assert_eq!(messages(&vault.engine.search(&asked).unwrap().warnings), [expected], "{query}");
    }
}
