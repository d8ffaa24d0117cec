//! Contexts: the sources of their notes, and the details of each note.

use std::ops::ControlFlow;
use weft_engine::context::{
    Bands, ContextAnswer, ContextBudget, ContextLimits, ContextPiece, ContextRequest,
    ContextSettings, ContextSource, DefaultScores, FocusSource, LimitOverrides, Mode, NamedNote,
    Order, PackingProfile, Rendering,
};
use weft_engine::walk::{Direction, FollowOptions, TreeLimits, TreeWalkRequest};
use weft_engine::{
    DisabledSignals, EngineError, Filter, Profile, RelationSet, SearchMode, SearchRequest, Weights,
};
use weft_model::Chars;
use weft_model::settings::Problems;

use crate::{Vault, messages};

const PLANTS: &str = "=== fern.md
---
type: plant
tags: [green, shade]
---
# Fern
Ferns like the shade.
=== moss.md
# Moss
Soft and green, moss likes the shade, too.
=== copies/moss.md
# Moss
Soft and green, moss likes the shade, too.
=== stone.md
# Stone
## Kinds
Hard and grey. See [[lichen]].
=== empty/one.md
=== empty/two.md
";

pub(crate) fn request() -> ContextRequest {
    ContextRequest {
        query: String::new(),
        focus: None,
        walk: None,
        notes: vec![],
        notes_only: false,
        filter: Filter::default(),
        mode: SearchMode::Hybrid,
        profile: None,
        weights: None,
        disabled_signals: DisabledSignals::default(),
        typo_tolerance: None,
        rerank: None,
        limit: None,
        budget: Some(ContextBudget::Characters(Chars(10_000))),
        estimator: None,
        packing: Some(PackingProfile::Classic),
        citations: None,
        explain: false,
        limits: LimitOverrides::default(),
        rendering: Rendering::None,
        order: Order::BestFirst,
    }
}

pub(crate) fn named(name: &str, score: Option<f64>) -> NamedNote {
    NamedNote { name: name.into(), score, ..NamedNote::default() }
}

/// The decision about each note, included ones first: `uri mode` or `uri reason`.
fn decisions(answer: &ContextAnswer) -> Vec<String> {
    let taken = answer.items.iter().map(|taken| (&taken.item.uri, taken.item.mode.name()));
    let others = answer.omitted.iter().map(|left| (&left.uri, left.reason.name()));
    taken.chain(others).map(|(uri, fate)| format!("{uri} {fate}")).collect()
}

fn plants() -> Filter {
    Filter { types: vec!["plant".into()], ..Filter::default() }
}

#[test]
fn query_adds_its_hits() {
    let vault = Vault::new(PLANTS);
    for (filter, in_context, omitted) in [
        (Filter::default(), vec!["copies/moss", "fern"], vec!["moss"]),
        (plants(), vec!["fern"], vec![]),
    ] {
        let request = ContextRequest { query: "shade".into(), filter, ..request() };
        let answer = vault.engine.context(&request).unwrap();
        let mut uris: Vec<&str> =
            answer.items.iter().map(|taken| taken.item.uri.as_str()).collect();
        uris.sort_unstable();
        assert_eq!(uris, in_context);
        let others: Vec<&str> = answer.omitted.iter().map(|left| left.uri.as_str()).collect();
        assert_eq!(others, omitted, "a copy is a duplicate, whatever its place");
    }
}

#[test]
fn named_notes_are_candidates_as_given() {
    let vault = Vault::new(PLANTS);
    let filter = plants();
    let cases: &[(&str, ContextRequest, &[&str])] = &[
        (
            "named notes, by any name; the query finds nothing more",
            ContextRequest {
                query: "shade".into(),
                notes: vec![named("Stone", None), named("fern.md", Some(0.8))],
                ..request()
            },
            &["stone full", "fern snippet"],
        ),
        (
            "unknown ones and placeholders are missing and count for the top",
            ContextRequest {
                notes: vec![
                    named("stone", Some(1.0)),
                    named("lichen", Some(2.0)),
                    named("no such", None),
                ],
                ..request()
            },
            &["stone structural", "lichen missing", "no such missing"],
        ),
        (
            "named ones that do not pass are left out",
            ContextRequest {
                notes: vec![named("stone", None), named("fern", None)],
                filter,
                ..request()
            },
            &["fern full", "stone filter"],
        ),
        (
            "the same note twice counts once, with its highest score",
            ContextRequest {
                notes: vec![named("fern", Some(0.5)), named("fern.md", Some(1.0))],
                ..request()
            },
            &["fern full", "fern duplicate"],
        ),
        (
            "equal texts count once, empty notes are not copies",
            ContextRequest {
                notes: ["moss", "copies/moss", "empty/one", "empty/two"]
                    .map(|name| named(name, None))
                    .into(),
                ..request()
            },
            &["copies/moss full", "empty/one full", "empty/two full", "moss duplicate"],
        ),
        (
            "an omitted note has no duplicates",
            ContextRequest {
                notes: vec![named("moss", Some(1.0)), named("copies/moss", Some(0.9))],
                filter: Filter { paths: vec!["copies".into()], ..Filter::default() },
                ..request()
            },
            &["copies/moss full", "moss filter"],
        ),
    ];
    for (name, request, expected) in cases {
        let answer = vault.engine.context(request).unwrap();
        assert_eq!(decisions(&answer), *expected, "{name}");
    }
}

/// A notebook: a chapter with three sections, one of which is linked from another note.
pub(crate) const BOOK: &str = "=== book.md
# Book
=== book/one.md
# One
First of all, ice.
=== book/two.md
# Two
Then the thaw.
=== book/three.md
# Three
At last the flood.
=== elsewhere.md
# Elsewhere
After the thaw, see [[book/two]].
";

fn around(name: &str) -> ContextRequest {
    let relations = Some(RelationSet::Structure);
    let focus = FocusSource { name: name.into(), relations, ..FocusSource::default() };
    ContextRequest { focus: Some(focus), ..request() }
}

#[test]
fn focus_note_comes_first_and_related_notes_by_level() {
    let vault = Vault::new(BOOK);
    let shown = |request: &ContextRequest| -> Vec<String> {
        let answer = vault.engine.context(request).unwrap();
        let shown = answer.items.iter().map(|taken| {
            let item = &taken.item;
            let relation = item.relation.as_deref().unwrap_or("-");
            format!("{} {} {} {relation}", item.uri, item.mode.name(), item.score)
        });
        shown
            .chain(answer.omitted.iter().map(|left| format!("{} {}", left.uri, left.reason.name())))
            .collect()
    };
    let surrounded = [
        "book/two full 1 Self",
        "book full 1 Parent",
        "book/one snippet 0.8 PriorSibling",
        "book/three snippet 0.8 PriorSibling",
    ];
    assert_eq!(shown(&around("Two")), surrounded);

    let mut linked = around("Two");
    linked.focus.as_mut().unwrap().body_links = true;
    assert_eq!(
        shown(&linked)[2..],
        [
            "book/one snippet 0.8 PriorSibling",
            "book/three snippet 0.8 PriorSibling",
            "elsewhere snippet 0.8 ReferringNote"
        ]
    );

    let narrow = Filter { paths: vec!["book/one.md".into()], ..Filter::default() };
    let narrow = ContextRequest { filter: narrow, ..around("Two") };
    assert_eq!(shown(&narrow), ["book/two full 1 Self", "book/one snippet 0.8 PriorSibling"]);

    let few = ContextRequest { limit: Some(1), ..around("Two") };
    let few = vault.engine.context(&few).unwrap();
    assert_eq!((few.items.len(), few.summary.truncated_by), (2, vec![ContextSource::Focus]));

    let unknown = vault.engine.context(&around("Tow"));
    assert!(matches!(unknown, Err(EngineError::UnknownNote { .. })), "{unknown:?}");
}

/// A chain of links with a branch, and a link from outside to its start.
const CHAIN: &str = "=== a.md
---
supports: '[[b]]'
---
Starts.
=== b.md
Goes on to [[c]] and [[z]].
=== c.md
---
type: plant
---
Goes on to [[d]].
=== d.md
Ends.
=== z.md
Ends, too.
";

#[test]
fn walk_adds_notes_by_distance_with_their_paths() {
    let vault = Vault::new(CHAIN);
    let from = |roots: &[&str], limits, filter| {
        let roots = roots.iter().map(|&root| root.to_owned()).collect();
        let follow = FollowOptions { direction: Direction::Out, ..FollowOptions::default() };
        let walk = TreeWalkRequest { roots, follow, limits, ..TreeWalkRequest::default() };
        vault.engine.context(&ContextRequest { walk: Some(walk), filter, ..request() })
    };
    let shown = |answer: &ContextAnswer| -> Vec<String> {
        let taken = answer.items.iter().map(|taken| {
            let item = &taken.item;
            let (relation, via) = (item.relation.as_deref(), item.via.as_deref());
            let way = [relation, via].map(|part| part.unwrap_or("-")).join(" ");
            format!("{} {} {} {way}", item.uri, item.score, item.mode.name())
        });
        let others =
            answer.omitted.iter().map(|left| format!("{} {}", left.uri, left.reason.name()));
        taken.chain(others).collect()
    };
    let all = from(&["a"], TreeLimits::default(), Filter::default()).unwrap();
    let expected = [
        "a 1 full - -",
        "b 0.8 snippet supports a",
        "c 0.5 structural related a > b",
        "z 0.5 structural related a > b",
        "d 0.35 structural related a > b > c",
    ];
    assert_eq!(
        (shown(&all), all.summary.truncated_by),
        (expected.map(str::to_owned).into(), vec![])
    );

    let near = TreeLimits { max_hops: Some(1), ..TreeLimits::default() };
    let near = from(&["a", "d"], near, Filter::default()).unwrap();
    let expected = ["a 1 full - -", "d 1 full - -", "b 0.8 snippet supports a"];
    assert_eq!(shown(&near), expected);
    assert_eq!(near.summary.truncated_by, [ContextSource::Walk]);

    // A filtered note is omitted but does not end the walk; the root is exempt.
    let plants = from(&["a"], TreeLimits::default(), plants()).unwrap();
    let expected =
        ["a 1 full - -", "c 0.5 structural related a > b", "b filter", "z filter", "d filter"];
    assert_eq!(shown(&plants), expected);

    assert!(matches!(
        from(&["nowhere"], TreeLimits::default(), Filter::default()),
        Err(EngineError::UnknownNote { .. })
    ));
}

#[test]
fn context_ranks_as_the_equal_search() {
    let vault = Vault::new(BOOK);
    // A name, a word of linked notes, and a word that no note contains.
    let query = "elsewhere thaw flod";
    let usual = ContextRequest { query: query.into(), ..request() };
    let weights = Weights { similarity: 0.2, centrality: 0.5, activation: 0.3 };
    let no_graph = DisabledSignals { graph: true, ..DisabledSignals::default() };
    let no_names = DisabledSignals { names: true, ..DisabledSignals::default() };
    let ranked = |asked: &ContextRequest| -> Vec<(String, f64)> {
        let answer = vault.engine.context(asked).unwrap();
        let taken = answer.items.iter().map(|taken| (taken.item.uri.to_string(), taken.item.score));
        let others = answer.omitted.iter().map(|left| (left.uri.to_string(), left.score));
        taken.chain(others).collect()
    };
    let by_default = ranked(&usual);
    for (name, asked) in [
        ("classic", ContextRequest { profile: Some(Profile::Classic), ..usual.clone() }),
        ("weights", ContextRequest { weights: Some(weights), ..usual.clone() }),
        ("no graph", ContextRequest { disabled_signals: no_graph, ..usual.clone() }),
        ("without names", ContextRequest { disabled_signals: no_names, ..usual.clone() }),
        ("typo_tolerance", ContextRequest { typo_tolerance: Some(true), ..usual.clone() }),
    ] {
        let ContextRequest { profile, weights, disabled_signals, typo_tolerance, .. } =
            asked.clone();
        let search = SearchRequest {
            query: query.into(),
            limit: 50,
            profile,
            weights,
            disabled_signals,
            typo_tolerance,
            ..SearchRequest::default()
        };
        let hits = vault.engine.search(&search).unwrap().hits;
        let hits: Vec<(String, f64)> =
            hits.into_iter().map(|hit| (hit.uri.to_string(), hit.score)).collect();
        assert_eq!(ranked(&asked), hits, "{name}");
        assert_ne!(hits, by_default, "{name}: it would not be missed");
    }

    // Invalid weights are rejected even if the query finds nothing.
    let none = Some(Weights { similarity: -1.0, centrality: 0.0, activation: 0.0 });
    for asked in [usual, ContextRequest { notes: vec![named("book", None)], ..request() }] {
        assert!(matches!(
            vault.engine.context(&ContextRequest { weights: none, ..asked }),
            Err(EngineError::InvalidArgument { field: "weights", .. })
        ));
    }
}

#[test]
fn highest_score_of_several_sources_counts() {
    let vault = Vault::new(BOOK);
    let asked = ContextRequest { query: "thaw".into(), ..around("Two") };
    let answer = vault.engine.context(&asked).unwrap();
    let alone = ContextRequest { query: "thaw".into(), ..request() };
    let alone = vault.engine.context(&alone).unwrap();
    assert_eq!(answer.items[0].item.uri.as_str(), "book/two", "the focus note comes first");
    // The query also finds the focus note and another note, which scores in proportion to a fair hit.
    let omitted: Vec<String> =
        answer.omitted.iter().map(|left| format!("{} {}", left.uri, left.reason.name())).collect();
    assert!(omitted.contains(&"book/two duplicate".to_owned()), "{omitted:?}");
    let score = |answer: &ContextAnswer| {
        let found = answer.items.iter().find(|taken| taken.item.uri.as_str() == "elsewhere");
        found.map(|taken| taken.item.score).unwrap()
    };
    let best = alone.items[0].item.score;
    assert!(best < 0.4, "a query alone ranks by its own scores: {best}");
    // A weak hit is not lifted to the score of a named note.
    assert!((score(&answer) - score(&alone) / 0.4).abs() < 1e-12);

    let named = vec![named("book/one", Some(0.9)), named("book", Some(0.2))];
    let both = ContextRequest { notes: named, ..asked };
    let answer = vault.engine.context(&both).unwrap();
    let scores: Vec<(&str, f64)> =
        answer.items.iter().map(|taken| (taken.item.uri.as_str(), taken.item.score)).collect();
    let expected = [("book/two", 1.0), ("book", 1.0), ("book/one", 0.9), ("book/three", 0.8)];
    assert_eq!(scores, expected, "the query only steers where notes are named");
    assert_eq!(answer.omitted.len(), 2, "each of both once more");
}

#[test]
fn score_defaults_to_that_of_the_distance() {
    let vault = Vault::new(PLANTS);
    let at = |name: &str, distance| NamedNote { distance, ..named(name, None) };
    let request = ContextRequest {
        notes: vec![
            at("moss", Some(1)),
            at("stone", Some(2)),
            at("fern", Some(9)),
            at("empty/one", None),
        ],
        ..request()
    };
    let modes = |answer: &ContextAnswer| -> Vec<(f64, Mode)> {
        answer.items.iter().map(|taken| (taken.item.score, taken.item.mode)).collect()
    };
    let expected = [
        (1.0, Mode::Full),
        (0.8, Mode::Snippet),
        (0.5, Mode::Structural),
        (0.35, Mode::Structural),
    ];
    assert_eq!(modes(&vault.engine.context(&request).unwrap()), expected);

    let scores = DefaultScores { by_distance: [1.0; 4], named: 0.9 };
    let engine =
        vault.engine.with_contexts(ContextSettings { scores, ..ContextSettings::default() });
    let expected = [(1.0, Mode::Full), (1.0, Mode::Full), (1.0, Mode::Full), (0.9, Mode::Full)];
    assert_eq!(modes(&engine.context(&request).unwrap()), expected);
}

#[test]
fn request_overrides_limits() {
    let vault = Vault::new(PLANTS);
    let fates_with = |limits| {
        let notes = vec![named("fern", None), named("moss", Some(0.8)), named("stone", Some(0.5))];
        decisions(&vault.engine.context(&ContextRequest { notes, limits, ..request() }).unwrap())
    };
    let none = LimitOverrides::default();
    let cases: &[(&str, LimitOverrides, [&str; 3])] = &[
        ("as set", none, ["fern full", "moss snippet", "stone structural"]),
        (
            "bands",
            LimitOverrides { full: Some(0.8), snippet: Some(0.6), structural: Some(0.6), ..none },
            ["fern full", "moss full", "stone below_threshold"],
        ),
        (
            "cap",
            LimitOverrides { structural_cap: Some(0), ..none },
            ["fern full", "moss snippet", "stone structural_cap"],
        ),
        (
            "share",
            LimitOverrides { per_note_share: Some(0.0), ..none },
            ["fern budget", "moss budget", "stone budget"],
        ),
    ];
    for (name, limits, expected) in cases {
        assert_eq!(fates_with(*limits), *expected, "{name}");
    }
    let text = |limits| {
        let notes = vec![named("fern", None), named("moss", Some(0.8)), named("stone", Some(0.5))];
        let request = ContextRequest { query: "green".into(), notes, limits, ..request() };
        let answer = vault.engine.context(&request).unwrap();
        answer.items[1..].iter().map(|taken| taken.item.text.clone()).collect::<Vec<_>>()
    };
    let small = LimitOverrides { block_chars: Some(9), outline_depth: Some(1), ..none };
    assert_eq!(text(small), ["d green, ", "# Stone"]);
}

#[test]
fn item_names_its_source_and_excludes_frontmatter() {
    let vault = Vault::new(PLANTS);
    let fern = NamedNote {
        relation: Some("Child".into()),
        via: Some("moss".into()),
        ..named("fern", None)
    };
    let answer = vault.engine.context(&ContextRequest { notes: vec![fern], ..request() }).unwrap();
    let taken = &answer.items[0];
    assert_eq!(taken.item.text, "# Fern\nFerns like the shade.\n");
    assert_eq!(
        (taken.item.relation.as_deref(), taken.item.via.as_deref()),
        (Some("Child"), Some("moss"))
    );
    let properties: Vec<&str> = taken.properties.keys().map(String::as_str).collect();
    assert_eq!(properties, ["tags", "type"]);
    assert_eq!(answer.summary.generation, vault.engine.snapshot().generation);
}

#[test]
fn operators_select_notes_and_plain_words_select_passages() {
    let filler = "Nothing of interest grows here. ".repeat(40);
    let vault = Vault::new(&format!("=== a.md\n{filler}\nA soft green cushion of moss.\n{filler}"));
    let answer = vault.engine.context(&ContextRequest {
        query: "\"soft green\" -desert +moss".into(),
        notes: vec![named("a", Some(0.8)), named("none", None)],
        ..request()
    });
    let text = &answer.unwrap().items[0].item.text;
    assert!(text.contains("soft green cushion of moss"), "{text}");
}

#[test]
fn best_chunk_is_shown_without_a_match() {
    let quiet = "Nothing of interest grows here. ".repeat(20);
    let vault = Vault::with_vectors(&format!(
        "=== a.md\n{quiet}\n\nzzz zzz zzzz zz zzz.\n\n{quiet}\n=== b.md\nzebra zzzz\n"
    ));
    let bands = Bands { full: 1.0, snippet: 0.0, structural: 0.0 };
    let limits = ContextLimits { bands, ..ContextLimits::default() };
    let settings = ContextSettings { limits, ..ContextSettings::default() };
    let engine = vault.engine.with_contexts(settings);
    let answer = engine
        .context(&ContextRequest { query: "zzzzz".into(), mode: SearchMode::Vector, ..request() })
        .unwrap();
    let a = answer.items.iter().find(|taken| taken.item.uri.as_str() == "a").unwrap();
    assert_eq!(a.item.mode, Mode::Snippet);
    assert!(a.item.text.contains("zzz"), "{:?}", a.item);
}

#[test]
fn streamed_pieces_equal_the_answer() {
    let vault = Vault::new(PLANTS);
    for estimator in ["chars", "bytes"] {
        let request = ContextRequest {
            query: "shade grey".into(),
            estimator: Some(estimator.into()),
            rendering: Rendering::Markdown,
            ..request()
        };
        let whole = vault.engine.context(&request).unwrap();
        let (mut items, mut omitted) = (vec![], vec![]);
        let summary = vault.engine.stream_context(&request, |piece, generation| {
            assert_eq!(generation, whole.summary.generation);
            match piece {
                ContextPiece::Item(item) => items.push(*item),
                ContextPiece::Omitted(candidate) => omitted.push(candidate),
            }
            ControlFlow::Continue(())
        });
        let joined = ContextAnswer { items, omitted, summary: summary.unwrap() };
        assert_eq!(joined, whole);
        assert_eq!(vault.engine.context(&request).unwrap(), whole, "same question, same answer");
        assert_eq!(whole.summary.estimator, estimator);
        assert!(!whole.items.is_empty() && !whole.omitted.is_empty());
    }
    let request = ContextRequest { query: "shade".into(), ..request() };
    let mut n_heard = 0;
    let ended = vault.engine.stream_context(&request, |_, _| {
        n_heard += 1;
        ControlFlow::Break(())
    });
    assert!(matches!(ended, Err(EngineError::Cancelled)) && n_heard == 1);
}

#[test]
fn sources_with_more_notes_are_reported() {
    let vault = Vault::new(PLANTS);
    let truncated_by = |limit| {
        let request = ContextRequest { query: "shade".into(), limit: Some(limit), ..request() };
        vault.engine.context(&request).unwrap().summary.truncated_by
    };
    assert_eq!(truncated_by(1), [ContextSource::Query]);
    assert_eq!(truncated_by(3), []);
}

#[test]
fn invalid_requests_name_their_field() {
    let vault = Vault::new(PLANTS);
    let many = vec![named("fern", None); 10_001];
    let cases = [
        ("query", ContextRequest { query: " ".into(), ..request() }),
        ("notes", ContextRequest { notes: many, ..request() }),
        ("notes.score", ContextRequest { notes: vec![named("fern", Some(f64::NAN))], ..request() }),
        ("limit", ContextRequest { query: "x".into(), limit: Some(0), ..request() }),
        (
            "estimator",
            ContextRequest { query: "x".into(), estimator: Some("gpt".into()), ..request() },
        ),
    ];
    for (expected, request) in cases {
        match vault.engine.context(&request) {
            Err(EngineError::InvalidArgument { field, .. }) => assert_eq!(field, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
    let limits: &[(&str, LimitOverrides)] = &[
        ("limits.bands.full", LimitOverrides { full: Some(1.1), ..LimitOverrides::default() }),
        (
            "limits.bands.snippet",
            LimitOverrides { snippet: Some(0.95), ..LimitOverrides::default() },
        ),
        (
            "limits.bands.structural",
            LimitOverrides { structural: Some(-0.1), ..LimitOverrides::default() },
        ),
        (
            "limits.per_note_share",
            LimitOverrides { per_note_share: Some(f64::NAN), ..LimitOverrides::default() },
        ),
        (
            "limits.block_chars",
            LimitOverrides { block_chars: Some(0), ..LimitOverrides::default() },
        ),
        (
            "limits.outline_depth",
            LimitOverrides { outline_depth: Some(7), ..LimitOverrides::default() },
        ),
    ];
    for (expected, limits) in limits {
        let request = ContextRequest { query: "x".into(), limits: *limits, ..request() };
        match vault.engine.context(&request) {
            Err(EngineError::InvalidArgument { field, .. }) => assert_eq!(field, *expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
}

#[test]
fn all_settings_out_of_range_are_named() {
    let mut settings = ContextSettings { candidates: 0, ..ContextSettings::default() };
    settings.scores.named = f64::INFINITY;
    settings.limits.block_chars = 0;
    settings.limits.bands.full = 2.0;
    let keys: Vec<String> = settings.problems().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["candidates", "scores.named", "limits.bands.full", "limits.block_chars"]);
    assert_eq!(ContextSettings::default().problems(), Problems::default());
}

#[test]
fn ambiguous_name_is_reported_for_each_source() {
    let vault = Vault::new("=== dup1.md\n# Dup\nshade\n=== dup2.md\n# Dup\n");
    let line = "`Dup` is ambiguous: `dup1` was used, not `dup2`";
    let focus = FocusSource { name: "Dup".into(), ..FocusSource::default() };
    let walk = TreeWalkRequest { roots: vec!["Dup".into()], ..TreeWalkRequest::default() };
    let notes = vec![named("Dup", None)];
    for request in [
        ContextRequest { focus: Some(focus), ..request() },
        ContextRequest { walk: Some(walk.clone()), ..request() },
        ContextRequest { walk: Some(walk), query: "shade".into(), ..request() },
        ContextRequest { notes, ..request() },
    ] {
        let warnings = vault.engine.context(&request).unwrap().summary.warnings;
        assert_eq!(messages(&warnings), [line]);
    }
}
