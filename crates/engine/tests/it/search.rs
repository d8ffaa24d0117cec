//! Searches beside edits.

use weft_engine::{SearchMode, SearchRequest};

use crate::Vault;

#[test]
fn of_many_equals_those_are_found_that_a_rebuild_would_find() {
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
fn a_snippet_is_no_longer_than_asked_however_long_its_word_is() {
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
        assert!(snippet.start <= start && end == snippet.end, "{uri}: {:?}", snippet.matches);
    }
}

#[test]
fn a_query_without_a_word_says_so_and_one_of_exclusions_what_it_lacks() {
    let vault = Vault::new("=== a.md\nfern\n=== b.md\nmoss\n");
    for (query, told) in [
        ("\"\"", "query: it holds no word to look for"),
        ("+\"\"", "query: it holds no word to look for"),
        ("-moss", "query: it names nothing to look for; add words that need no `-`"),
        ("-rust", "query: it names nothing to look for; add words that need no `-`"),
    ] {
        let asked = SearchRequest { query: query.into(), limit: 5, ..SearchRequest::default() };
        assert_eq!(vault.engine.search(&asked).unwrap().degraded, [told], "{query}");
    }
}
