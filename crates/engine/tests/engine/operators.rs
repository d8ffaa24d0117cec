//! `+required`, `-excluded` and phrases hold however a note is found.

use std::sync::Arc;

use weft_engine::{Profile, SearchMode, SearchRequest, WarningCode};
use weft_index::embedder::{Embedder as _, Role};
use weft_index::vector::{RowId, VectorParams, VectorSearch as _};
use weft_model::{Chunk, Span};

use crate::bridge::WORDS;
use crate::vault::{Directions, Vault, hit, request, uris, vault};

/// Notes about editors and snakes, connected by words, vectors, names and links.
fn editors() -> Vault {
    vault(&[
        ("editor.md", "# Editor\nan editor of lisp text, see [[tool]] and [[snake]]\n"),
        ("tool.md", "# Python editor\npython text in an editor, zyzzyva quux\n"),
        ("snake.md", "# Snakes\nsnake and python are alike, zyzzyva quux\n"),
        ("lisp.md", "# Lisp\nlisp is a language of lists, see [[editor]]\n"),
        ("stone.md", "# Stone\ngrey lists of text\n"),
    ])
}

/// Every retriever and every profile.
fn ways() -> impl Iterator<Item = SearchRequest> {
    let modes = [SearchMode::Hybrid, SearchMode::Vector, SearchMode::Keyword];
    let profiles = [Profile::Bridge, Profile::Classic];
    modes.into_iter().flat_map(move |mode| {
        profiles.map(|profile| SearchRequest { mode, profile: Some(profile), ..request("") })
    })
}

#[test]
fn operators_hold_however_a_note_is_found() {
    let vault = editors();
    let cases: &[(&str, &str, &[&str])] = &[
        ("an excluded word", "editor -python", &["editor", "lisp", "stone"]),
        ("in any form", "editor -pythons", &["editor", "lisp", "stone"]),
        ("a required word", "snake +lisp", &["editor", "lisp"]),
        ("a required name", "text +\"python editor\"", &["tool"]),
        ("an excluded name", "text -\"python editor\"", &["editor", "lisp", "snake", "stone"]),
        ("an excluded phrase", "lisp -\"lists of text\"", &["editor", "lisp", "tool", "snake"]),
        ("both", "text +editor -python", &["editor", "lisp"]),
        ("a required word that no note contains", "editor +xyzzy", &[]),
    ];
    for (name, query, allowed) in cases {
        for way in ways() {
            let (mode, profile) = (way.mode, way.profile);
            let answer = vault.ask(&SearchRequest { query: (*query).into(), ..way });
            let found = uris(&answer);
            let stray = found.iter().find(|uri| !allowed.contains(uri));
            assert_eq!(stray, None, "{name}, {mode:?}, {profile:?}");
            assert_eq!(found.is_empty(), allowed.is_empty(), "{name}, {mode:?}, {profile:?}");
        }
    }
}

#[test]
fn query_of_exclusions_finds_nothing_and_warns() {
    let vault = editors();
    for query in ["-python", "-python -\"an editor\"", "\"\""] {
        for way in ways() {
            let answer = vault.ask(&SearchRequest { query: query.into(), ..way });
            assert_eq!(uris(&answer), [""; 0], "{query}");
            assert!(answer.warnings.iter().any(|it| it.code == WarningCode::QueryEmpty), "{query}");
        }
    }
    assert_eq!(vault.search("editor -python").warnings, []);
}

#[test]
fn operators_and_excluded_words_are_not_embedded() {
    let vault = editors();
    let plain = vault.search("lisp editor");
    for query in ["+lisp editor", "lisp editor -python", "lisp \"editor\" -\"grey stone\""] {
        let answer = vault.search(query);
        let score = |answer| hit(answer, "editor").vector_score.to_bits();
        assert_eq!(score(&answer), score(&plain), "{query}");
    }
}

#[test]
fn vector_retriever_fills_its_limit_despite_long_notes() {
    let long = |word: &str| format!("{} fern\n\n", word.repeat(40)).repeat(200);
    let mut files =
        vec![("long0.md".to_owned(), long("fern ")), ("long1.md".to_owned(), long("moss fern "))];
    files.extend((0..12).map(|at| (format!("short{at:02}.md"), format!("fern and word{at}\n"))));
    let mut vault = vault(&files);
    let chunks = |uri: &str| {
        let id = vault.snapshot.notes.find(uri).note.unwrap();
        vault.snapshot.notes.entry(id).unwrap().chunks.len()
    };
    let n_chunks = [chunks("long0"), chunks("long1")];
    assert!(n_chunks.iter().all(|n| *n > 20), "they own all that is nearest: {n_chunks:?}");
    for n_wanted in [2, 5, 13, 50] {
        vault.settings.candidates_per_retriever = n_wanted;
        let limit = n_wanted - 1;
        for mode in [SearchMode::Vector, SearchMode::Hybrid] {
            let mut request = SearchRequest { mode, limit, ..request("fern") };
            request.disabled_signals.graph = true;
            let answer = vault.ask(&request);
            assert_eq!(answer.hits.len(), limit.min(14), "{:?}", uris(&answer));
            let pool = answer.explanation.unwrap().candidates;
            let by_vector = pool.iter().filter(|one| one.origin.name() != "keyword");
            assert_eq!(by_vector.count(), n_wanted.min(14), "{mode:?}");
        }
    }
}

#[test]
fn limit_above_the_retriever_limit_is_filled_and_truncation_reported() {
    let files: Vec<_> = (0..9).map(|at| (format!("note{at}.md"), "fern\n".to_owned())).collect();
    let mut vault = vault(&files);
    vault.settings.candidates_per_retriever = 2;
    for mode in [SearchMode::Keyword, SearchMode::Vector, SearchMode::Hybrid] {
        for (limit, n_hits, truncated) in
            [(1, 1, true), (8, 8, true), (9, 9, false), (50, 9, false)]
        {
            let mut request = SearchRequest { mode, limit, ..request("fern") };
            request.disabled_signals.graph = true;
            let answer = vault.ask(&request);
            assert_eq!((answer.hits.len(), answer.truncated), (n_hits, truncated), "{limit}");
        }
    }
}

#[test]
fn best_chunk_is_the_first_of_equal_ones() {
    let [grey, green] = ["grey stone ".repeat(90), "green moss ".repeat(300)];
    let long = format!("{grey}\n\n{green}\n\n{grey}\n");
    let vault = vault(&[("long.md", &*long), ("short.md", "some moss\n"), ("none.md", "fern\n")]);
    let answer = vault.ask(&SearchRequest { mode: SearchMode::Vector, ..request("green moss") });
    let entry = |uri: &str| {
        let id = vault.snapshot.notes.find(uri).note.unwrap();
        vault.snapshot.notes.entry(id).unwrap()
    };
    let chunks = &entry("long").chunks;
    let is_green = |chunk: &Chunk| !chunk.span.slice(&entry("long").body).contains("grey");
    let green: Vec<Span> = chunks.iter().filter(|one| is_green(one)).map(|one| one.span).collect();
    assert!(green.len() > 1 && !is_green(&chunks[0]), "{chunks:?}");
    assert_eq!(hit(&answer, "long").best_chunk, Some(green[0]));
    assert_eq!(hit(&answer, "short").best_chunk, Some(entry("short").chunks[0].span));
    let by_word = vault.ask(&SearchRequest { mode: SearchMode::Keyword, ..request("moss") });
    assert_eq!(hit(&by_word, "long").best_chunk, None);
}

#[test]
fn best_chunk_counts_in_exact_and_approximate_search() {
    let passages = |note: usize| -> String {
        let word = |at: usize| WORDS[(note * at * 7 + at) % WORDS.len()];
        (1..9).map(|at| format!("{} {} moss\n\n", word(at), word(at + 1)).repeat(60)).collect()
    };
    let files: Vec<(String, String)> =
        (0..60).map(|note| (format!("note{note:02}.md"), passages(note))).collect();
    let mut vault = vault(&files);
    vault.settings.candidates_per_retriever = 2;
    for is_exact in [true, false] {
        let vectors = vault.snapshot.vectors.as_mut().unwrap();
        if !is_exact {
            let (exact_below, exact_filter, ef) = (0, 0, 1);
            let params = VectorParams { exact_below, exact_filter, ef, ..VectorParams::default() };
            let index = vectors.index.with_params(params);
            vectors.index = index.with_graph(Arc::new(index.build_graph())).unwrap();
        }
        assert_eq!(vectors.index.is_exact(), is_exact);
        let (index, rows) = (vectors.index.clone(), vectors.rows.clone());
        for word in WORDS {
            let query = format!("{word} on moss");
            let mut request =
                SearchRequest { mode: SearchMode::Vector, limit: 1, ..request(&query) };
            request.disabled_signals.graph = true;
            let answer = vault.ask(&request);
            assert_eq!(answer.hits.len(), 1, "{query}");
            let query = Directions::new().embed(&[&query], Role::Query).unwrap().remove(0);
            for hit in &answer.hits {
                let id = vault.snapshot.notes.find(hit.uri.as_str()).note.unwrap();
                let own: Vec<RowId> = rows.of(id).iter().flatten().copied().collect();
                let cosines = index.similarities(&query, &own).unwrap();
                let best = f64::from(cosines.into_iter().fold(0.0, f32::max));
                assert_eq!(hit.vector_score.to_bits(), best.to_bits(), "{is_exact} {hit:?}");
            }
        }
    }
}
