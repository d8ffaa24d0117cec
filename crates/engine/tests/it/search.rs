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
