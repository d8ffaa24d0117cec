//! Profile `bridge`.

use proptest::prelude::*;
use weft_engine::{Connection, Filter, Profile, SearchRequest, Weights, Without};
use weft_index::keyword::{KeywordSettings, Scoring};

use crate::oracle::recipe;
use crate::vault::{Vault, built, hit, request, uris, vault, vault_of_words};

/// Words that stand for themselves: no endings, no function words.
pub(crate) const WORDS: [&str; 24] = [
    "fern", "moss", "shade", "rock", "river", "stone", "bark", "leaf", "root", "soil", "rain",
    "wind", "salt", "sand", "clay", "mist", "frost", "dusk", "dawn", "brook", "cliff", "heath",
    "marsh", "grove",
];

/// Any small vault: each note has a title, perhaps an alias, words, and links.
pub(crate) fn any_vault() -> impl Strategy<Value = Vec<(String, String)>> {
    let words = |n| proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), n);
    let note =
        (words(1..3), words(0..2), words(0..14), proptest::collection::vec(0..24_usize, 0..4));
    proptest::collection::vec(note, 1..24).prop_map(|notes| {
        notes
            .into_iter()
            .enumerate()
            .map(|(at, (title, alias, body, links))| {
                let links: Vec<String> = links.iter().map(|to| format!("[[n{to}]]")).collect();
                let text = format!(
                    "---\ntitle: {}\naliases: [{}]\n---\n{} {}\n",
                    title.join(" "),
                    alias.join(" "),
                    body.join(" "),
                    links.join(" ")
                );
                (format!("n{at}.md"), text)
            })
            .collect()
    })
}

/// The recipe counts every occurrence once, wherever it stands.
fn plain(files: &[(String, String)]) -> Vault {
    let scoring =
        Scoring { title: 1.0, aliases: 1.0, headings: 1.0, tags: 1.0, ..Scoring::default() };
    built(files, KeywordSettings { scoring, ..KeywordSettings::default() }, true)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn signals_are_those_of_the_recipe(
        files in any_vault(),
        query in proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), 1..6),
    ) {
        let vault = plain(&files);
        let query = query.join(" ");
        let expected = recipe(&vault, &query);
        let answer = vault.search(&query);
        for (uri, expected) in &expected {
            let Some(hit) = answer.hits.iter().find(|hit| hit.uri.as_str() == uri) else {
                prop_assert!(expected.similarity <= 0.0 && expected.activation <= 0.0, "{uri} is missing");
                continue;
            };
            prop_assert!((hit.signals.similarity - expected.similarity).abs() < 1e-6, "{uri} {hit:?} {expected:?}");
            prop_assert!((hit.signals.activation - expected.activation).abs() < 1e-6, "{uri} {hit:?} {expected:?}");
        }
    }

    #[test]
    fn scores_are_bounded_ordered_and_the_sum_of_their_parts(
        files in any_vault(),
        query in proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), 1..6),
        limit in 1..12_usize,
        central in 0_u8..3,
    ) {
        let vault = vault(&files);
        let weights = Weights { similarity: 1.0, centrality: f64::from(central), activation: 1.0 };
        let request = SearchRequest { weights: Some(weights), ..request(&query.join(" ")) };
        let answer = vault.ask(&request);
        prop_assert_eq!(&answer.hits, &vault.ask(&request).hits, "again");
        let first = vault.ask(&SearchRequest { limit, ..request });
        prop_assert_eq!(&first.hits, &answer.hits[..limit.min(answer.hits.len())]);
        prop_assert_eq!(first.truncated, answer.hits.len() > limit);
        for hit in &answer.hits {
            let sum = hit.contributions.similarity + hit.contributions.centrality + hit.contributions.activation;
            prop_assert_eq!(sum.to_bits(), hit.score.to_bits());
            for part in [hit.score, hit.signals.similarity, hit.signals.centrality, hit.signals.activation] {
                prop_assert!((0.0..=1.0).contains(&part), "{hit:?}");
            }
            if let Some(via) = &hit.via {
                let better = answer.hits.iter().find(|other| other.uri == via.uri).unwrap();
                prop_assert!(better.signals.similarity > hit.signals.similarity, "{hit:?}");
                prop_assert!(better.score - better.contributions.centrality >= hit.score - hit.contributions.centrality);
            }
        }
        for pair in answer.hits.windows(2) {
            prop_assert!(pair[0].score > pair[1].score || pair[0].score.to_bits() == pair[1].score.to_bits() && pair[0].uri < pair[1].uri);
        }
    }
}

#[test]
fn a_note_one_link_away_from_the_best_hit_comes_next() {
    let mut files = vec![
        (
            "harrison.md".to_owned(),
            "John Harrison made the [[watch]] that sailors took along.\n".to_owned(),
        ),
        (
            "watch.md".to_owned(),
            "A small clock of brass, finished after nineteen years.\n".to_owned(),
        ),
    ];
    files.extend(
        (0..30)
            .map(|at| (format!("other{at}.md"), format!("Nothing to do with it, number {at}.\n"))),
    );
    let vault = vault_of_words(&files);
    let answer = vault.search("which clock did Harrison make for sailors");
    assert_eq!(uris(&answer)[..2], ["harrison", "watch"]);
    let watch = hit(&answer, "watch");
    let via = watch.via.as_ref().unwrap();
    assert_eq!((via.uri.as_str(), via.kind), ("harrison", Connection::Link));
    assert!(via.remainder > 0.0 && watch.signals.activation > 0.0);

    let lone = vault.ask(&SearchRequest {
        without: Without { graph: true, ..Without::default() },
        ..request("which clock did Harrison make for sailors")
    });
    for hit in &lone.hits {
        assert!(hit.via.is_none() && hit.signals.activation.abs() < f64::EPSILON);
        assert_eq!(hit.score.to_bits(), hit.signals.similarity.to_bits());
    }
}

#[test]
fn a_query_that_is_a_name_gives_its_note_one() {
    let vault = vault(&[
        ("a.md", "---\ntitle: Mercury (planet)\naliases: [morning star]\n---\nclose to the sun\n"),
        ("b.md", "the morning star and mercury, mercury, mercury\n"),
    ]);
    for query in ["Mercury", "the morning star"] {
        let answer = vault.search(query);
        assert!((hit(&answer, "a").signals.similarity - 1.0).abs() < 1e-12, "{query}");
        assert!(hit(&answer, "b").signals.similarity < 1.0);
    }
    let without = Without { names: true, ..Without::default() };
    let answer = vault.ask(&SearchRequest { without, ..request("Mercury") });
    assert!(
        hit(&answer, "a").signals.similarity < 1.0
            && hit(&answer, "a").name_score.abs() < f64::EPSILON
    );
}

#[test]
fn the_work_around_a_hub_is_bounded_and_said() {
    let mut files = vec![("hub.md".to_owned(), "index of gardens\n".to_owned())];
    files.extend(
        (0..300).map(|at| (format!("leaf{at:03}.md"), format!("leaf {at} of the [[hub]]\n"))),
    );
    files.push(("far.md".to_owned(), "gardens again, see the [[hub]]\n".to_owned()));
    let mut vault = vault_of_words(&files);
    vault.settings.fanout = 50;
    let answer = vault.search("index of gardens");
    assert_eq!(answer.capped.iter().map(|uri| uri.as_str()).collect::<Vec<_>>(), ["hub"]);
    assert!(hit(&answer, "far").via.is_some(), "hits are never cut");
    assert!(answer.hits.len() <= 53, "{}", answer.hits.len());
    assert_eq!(uris(&answer)[0], "hub");
}

#[test]
fn links_to_what_a_filter_keeps_out_take_no_room_of_others() {
    let mut files = vec![("hub.md".to_owned(), "index of gardens #late\n".to_owned())];
    files.extend((0..300).map(|at| {
        let tag = if at < 270 { "" } else { "#late" };
        (format!("leaf{at:03}.md"), format!("leaf {at} of the [[hub]] {tag}\n"))
    }));
    let mut vault = vault_of_words(&files);
    let filter = Filter { tags: vec!["late".into()], ..Filter::default() };
    for profile in [Profile::Bridge, Profile::Classic] {
        for (fanout, n_leaves, is_cut) in [(50, 30, false), (20, 20, true), (4, 0, true)] {
            (vault.settings.profile, vault.settings.fanout) = (profile, fanout);
            let filter = filter.clone();
            let answer = vault.ask(&SearchRequest { filter, ..request("index of gardens") });
            let told = format!("{profile:?}, {fanout}");
            assert_eq!(answer.hits.len(), 1 + n_leaves, "{told}");
            assert_eq!(!answer.capped.is_empty(), is_cut, "{told}");
        }
    }
}

#[test]
fn of_many_notes_of_one_name_the_best_are_ranked() {
    let files: Vec<(String, String)> = (0..300)
        .map(|at| {
            let more = if at == 250 { "meeting meeting" } else { "" };
            (format!("m{at:03}.md"), format!("---\ntitle: Meeting\n---\nminutes {more}\n"))
        })
        .collect();
    let mut vault = vault_of_words(&files);
    let without = Without { graph: true, ..Without::default() };
    for (k, is_told) in [(300, false), (10, true)] {
        vault.settings.candidates_per_leg = k;
        let answer = vault.ask(&SearchRequest { without, limit: k - 1, ..request("meeting") });
        let expected: Vec<String> = (0..300)
            .filter(|at| k == 300 || *at < 9 || *at == 250)
            .map(|at| format!("m{at:03}"))
            .collect();
        let pool = answer.explanation.unwrap().pool;
        let ranked: Vec<&str> = pool.iter().map(|one| one.uri.as_str()).collect();
        assert_eq!(ranked, expected, "{k}");
        let told = answer.degraded.iter().filter(|what| what.starts_with("names: "));
        assert_eq!(told.count() == 1, is_told, "{:?}", answer.degraded);
    }
}
