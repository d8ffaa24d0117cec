//! `+must`, `-not` and phrases hold for every way in which a note is found.

use weft_engine::{Profile, SearchMode, SearchRequest};

use crate::vault::{Vault, hit, request, uris, vault};

/// Notes about editors and snakes, linked, so that words, vectors, names and links all lead from one to another.
fn editors() -> Vault {
    vault(&[
        ("editor.md", "# Editor\nan editor of lisp text, see [[tool]] and [[snake]]\n"),
        ("tool.md", "# Python editor\npython text in an editor, zyzzyva quux\n"),
        ("snake.md", "# Snakes\nsnake and python are alike, zyzzyva quux\n"),
        ("lisp.md", "# Lisp\nlisp is a language of lists, see [[editor]]\n"),
        ("stone.md", "# Stone\ngrey lists of text\n"),
    ])
}

/// Every leg and every profile.
fn ways() -> impl Iterator<Item = SearchRequest> {
    let modes = [SearchMode::Hybrid, SearchMode::Vector, SearchMode::Keyword];
    let profiles = [Profile::Bridge, Profile::Classic];
    modes.into_iter().flat_map(move |mode| {
        profiles.map(|profile| SearchRequest { mode, profile: Some(profile), ..request("") })
    })
}

#[test]
fn no_way_leads_past_an_operator() {
    let vault = editors();
    let cases: &[(&str, &str, &[&str])] = &[
        ("an excluded word", "editor -python", &["editor", "lisp", "stone"]),
        ("in any form", "editor -pythons", &["editor", "lisp", "stone"]),
        ("a required word", "snake +lisp", &["editor", "lisp"]),
        ("a required name", "text +\"python editor\"", &["tool"]),
        ("an excluded name", "text -\"python editor\"", &["editor", "lisp", "snake", "stone"]),
        ("an excluded phrase", "lisp -\"lists of text\"", &["editor", "lisp", "tool", "snake"]),
        ("both", "text +editor -python", &["editor", "lisp"]),
        ("required, and nobody has it", "editor +xyzzy", &[]),
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
fn exclusions_alone_find_nothing_and_say_so() {
    let vault = editors();
    for query in ["-python", "-python -\"an editor\"", "\"\""] {
        for way in ways() {
            let answer = vault.ask(&SearchRequest { query: query.into(), ..way });
            assert_eq!(uris(&answer), [""; 0], "{query}");
            assert!(answer.degraded.iter().any(|said| said.starts_with("query: ")), "{query}");
        }
    }
    assert_eq!(vault.search("editor -python").degraded, [""; 0]);
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
fn a_leg_brings_notes_however_long_they_are() {
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
    for n_wanted in [1, 5, 13, 50] {
        vault.settings.candidates_per_leg = n_wanted;
        let mut request = SearchRequest { mode: SearchMode::Vector, ..request("fern") };
        request.without.graph = true;
        let answer = vault.ask(&request);
        assert_eq!(answer.hits.len(), n_wanted.min(14), "{:?}", uris(&answer));
        let all = vault.ask(&SearchRequest { mode: SearchMode::Hybrid, ..request });
        let by_vector = all.hits.iter().filter(|hit| hit.origin.name() != "keyword");
        assert_eq!(by_vector.count(), n_wanted.min(14));
    }
}
