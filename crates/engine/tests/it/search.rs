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
