//! Contexts: every filter condition for every source, all sources together, reproducible results.

use std::collections::BTreeSet;

use weft_engine::context::{
    ContextAnswer, ContextBudget, ContextRequest, FocusSource, LimitOverrides, OmissionReason,
    Rendering,
};
use weft_engine::walk::{Direction, FollowOptions, TreeWalkRequest};
use weft_engine::{Comparison, Filter, PropertyMatch, RelationSet};
use weft_model::Tokens;

use crate::Vault;
use crate::context::{BOOK, named, request};

/// A root with four notes below it, each different for filters.
pub(crate) const GARDEN: &str = "=== root.md
# Root
[[a]], [[b]], [[c]], [[d]]
=== a.md
---
parent: '[[root]]'
tags: [green/dark]
type: plant
date: 2024-05-01
place: bog
---
Shade for [[b]].
=== b.md
---
parent: '[[root]]'
tags: [red]
type: Stone
date: [2023-05-01]
stars: 10
---
Shade near the [[wall]].
=== below/c.md
---
parent: '[[root]]'
type: plant
stars: 9
---
Shade below.
=== d.md
---
parent: '[[root]]'
place: wall
---
Shade everywhere.
=== wall.md
Of stones.
";

/// Includes everything in full, so that only a filter omits a note.
fn generous() -> ContextRequest {
    let limits = LimitOverrides {
        full: Some(0.0),
        snippet: Some(0.0),
        structural: Some(0.0),
        per_note_share: Some(1.0),
        ..LimitOverrides::default()
    };
    ContextRequest { limits, ..request() }
}

fn uris<'a>(uris: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    uris.into_iter().map(str::to_owned).collect()
}

/// The notes below the root.
pub(crate) const ALL: [&str; 4] = ["a", "b", "below/c", "d"];

fn property(key: &str, comparison: Comparison, value: &str) -> Filter {
    let wanted = PropertyMatch { key: key.into(), comparison, value: value.into() };
    Filter { properties: vec![wanted], ..Filter::default() }
}

/// Every filter condition, and which notes below the root match it.
pub(crate) fn filters() -> Vec<(&'static str, Filter, &'static [&'static str])> {
    let one = |name: &str| vec![name.to_owned()];
    let none = Filter::default;
    vec![
        ("nothing", none(), &ALL),
        ("vault", Filter { vaults: one("vault"), ..none() }, &ALL),
        ("path", Filter { paths: one("below"), ..none() }, &["below/c"]),
        ("glob", Filter { paths: one("?.md"), ..none() }, &["a", "b", "d"]),
        ("tag and those below it", Filter { tags: one("green"), ..none() }, &["a"]),
        ("type", Filter { types: one("PLANT"), ..none() }, &["a", "below/c"]),
        ("a path from here", Filter { paths: one("./below/"), ..none() }, &["below/c"]),
        ("property", property("place", Comparison::Equal, "bog"), &["a"]),
        ("another property", property("place", Comparison::NotEqual, "bog"), &["d"]),
        ("a text before another", property("place", Comparison::Less, "c"), &["a"]),
        (
            "a number at least",
            property("stars", Comparison::GreaterOrEqual, "9"),
            &["b", "below/c"],
        ),
        ("a number below", property("stars", Comparison::Less, "10.0"), &["below/c"]),
        ("a date after", property("date", Comparison::Greater, "2023-05-01"), &["a"]),
        ("a date at most", property("date", Comparison::LessOrEqual, "2023-05-01"), &["b"]),
        ("after", Filter { after: Some("2024-01-01".into()), ..none() }, &["a"]),
        ("before", Filter { before: Some("2024-01-01".into()), ..none() }, &["b"]),
        ("linked to", Filter { linked_to: one("wall"), ..none() }, &["b"]),
        ("linked from", Filter { linked_from: one("a"), ..none() }, &["b"]),
        ("within", Filter { within: vec![("wall".into(), 2)], ..none() }, &["a", "b"]),
        ("excluded", Filter { excluded: one("a"), ..none() }, &["b", "below/c", "d"]),
        (
            "several at once",
            Filter { types: one("plant"), excluded: one("a"), ..none() },
            &["below/c"],
        ),
    ]
}

#[test]
fn filter_conditions_hold_for_every_source() {
    let vault = Vault::new(GARDEN);
    let all = ALL;
    let one = |name: &str| vec![name.to_owned()];
    let follow = FollowOptions { direction: Direction::Out, ..FollowOptions::default() };
    let sources = [
        ("query", ContextRequest { query: "shade".into(), ..generous() }),
        ("notes", ContextRequest { notes: all.map(|name| named(name, None)).into(), ..generous() }),
        (
            "walk",
            ContextRequest {
                walk: Some(TreeWalkRequest {
                    roots: one("root"),
                    follow,
                    ..TreeWalkRequest::default()
                }),
                ..generous()
            },
        ),
        (
            "focus",
            ContextRequest {
                focus: Some(FocusSource {
                    name: "root".into(),
                    relations: Some(RelationSet::Structure),
                    ..FocusSource::default()
                }),
                ..generous()
            },
        ),
    ];
    for (part, filter, passing) in &filters() {
        for (source, request) in &sources {
            let request = ContextRequest { filter: filter.clone(), ..request.clone() };
            let answer = vault.engine.context(&request).unwrap();
            let of_garden = |uri: &&str| all.contains(uri);
            let taken = answer.items.iter().map(|taken| taken.item.uri.as_str());
            assert_eq!(
                uris(taken.filter(of_garden)),
                uris(passing.iter().copied()),
                "{part}, {source}"
            );
            let others = answer.omitted.iter().map(|left| left.uri.as_str());
            let expected = match *source {
                // Named and walked notes are reported as omitted; a search or a focus note does not find them.
                "notes" | "walk" => uris(all.into_iter().filter(|uri| !passing.contains(uri))),
                _ => uris([]),
            };
            assert_eq!(uris(others.filter(of_garden)), expected, "{part}, {source}");
            assert!(
                answer.omitted.iter().all(|left| left.reason == OmissionReason::Filter),
                "{part}, {source}: {:?}",
                answer.omitted
            );
            let begins = matches!(*source, "walk" | "focus");
            let root = answer.items.iter().any(|taken| taken.item.uri.as_str() == "root");
            assert!(root || !begins, "where a source begins is exempt: {part}, {source}");
        }
    }
}

/// A focus, a walk and named notes, and a query that selects passages.
fn everything() -> ContextRequest {
    let follow = FollowOptions { direction: Direction::Out, ..FollowOptions::default() };
    let roots = vec!["elsewhere".to_owned()];
    ContextRequest {
        query: "thaw".into(),
        focus: Some(FocusSource {
            name: "Two".into(),
            relations: Some(RelationSet::Structure),
            ..FocusSource::default()
        }),
        walk: Some(TreeWalkRequest { roots, follow, ..TreeWalkRequest::default() }),
        notes: vec![named("Three", Some(0.8)), named("ghost", Some(0.3)), named("One", Some(0.9))],
        rendering: Rendering::Markdown,
        ..request()
    }
}

#[test]
fn all_sources_combine_in_one_context() {
    let vault = Vault::new(BOOK);
    let answer = vault.engine.context(&everything()).unwrap();
    let taken: Vec<String> = answer
        .items
        .iter()
        .map(|taken| {
            let item = &taken.item;
            let [relation, via] =
                [&item.relation, &item.via].map(|part| part.as_deref().unwrap_or("-"));
            format!("{} {} {relation} {via}", item.uri, item.score)
        })
        .collect();
    let expected = [
        "book/two 1 Self -",
        "book 1 Parent -",
        "elsewhere 1 - -",
        // The caller's score is higher than the score of its relation.
        "book/one 0.9 - -",
        // The named note wins among equal scores.
        "book/three 0.8 - -",
    ];
    assert_eq!(taken, expected);
    let left: Vec<String> = answer
        .omitted
        .iter()
        .map(|left| format!("{} {} {}", left.uri, left.score, left.reason.name()))
        .collect();
    let expected = [
        "book/one 0.8 duplicate",
        "book/three 0.8 duplicate",
        "book/two 0.8 duplicate",
        "ghost 0.3 missing",
    ];
    assert_eq!(left, expected);
}

/// The parts that callers compare: everything except the generation, which each index counts itself.
fn comparable(answer: ContextAnswer) -> impl PartialEq + std::fmt::Debug {
    let items: Vec<_> = answer.items.into_iter().map(|taken| taken.item).collect();
    (items, answer.omitted, answer.summary.rendered)
}

#[test]
fn threads_and_indexes_of_the_same_files_agree() {
    let requests = [
        everything(),
        ContextRequest { notes: vec![], ..everything() },
        ContextRequest {
            query: "thaw flood".into(),
            budget: Some(ContextBudget::Tokens(Tokens::new(60))),
            estimator: Some("bytes".into()),
            rendering: Rendering::Json,
            ..request()
        },
    ];
    let (vault, another) = (Vault::new(BOOK), Vault::new(BOOK));
    for request in &requests {
        let first = vault.engine.context(request).unwrap();
        std::thread::scope(|scope| {
            let ask = || scope.spawn(|| vault.engine.context(request).unwrap());
            let answers: Vec<_> = (0..8).map(|_| ask()).collect();
            for answer in answers {
                assert_eq!(answer.join().unwrap(), first);
            }
        });
        assert_eq!(comparable(another.engine.context(request).unwrap()), comparable(first));
    }
}

#[test]
fn texts_and_headings_come_from_the_snapshot() {
    let vault = Vault::new(
        "=== a.md\n# One\n```\n# no heading\n```\nText.\n\nTwo\n---\n### Three ###\n#### Four\n",
    );
    std::fs::remove_file(vault.folder.path().join("vault/a.md")).unwrap();
    let text = |score| {
        let notes = vec![named("a", Some(score)), named("top", Some(1.0))];
        let answer = vault.engine.context(&ContextRequest { notes, ..request() }).unwrap();
        answer.items[0].item.text.clone()
    };
    assert_eq!(text(0.5), "# One\nTwo\n---\n### Three ###");
    assert!(text(1.0).starts_with("# One\n```\n# no heading\n"));
}
