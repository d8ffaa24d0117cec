//! Profile `bridge`.

use proptest::prelude::*;
use weft_engine::{
    Connection, DisabledSignals, Filter, Profile, SearchRequest, WarningCode, Weights,
};
use weft_index::keyword::{KeywordSettings, Scoring};

use crate::oracle::recipe;
use crate::vault::{Vault, built, hit, request, uris, vault, vault_of_words};

/// Words that are their own stems and are not stop words.
pub(crate) const WORDS: [&str; 24] = [
    "fern", "moss", "shade", "rock", "river", "stone", "bark", "leaf", "root", "soil", "rain",
    "wind", "salt", "sand", "clay", "mist", "frost", "dusk", "dawn", "brook", "cliff", "heath",
    "marsh", "grove",
];

/// Generates small vaults: each note has a title, perhaps an alias, words, and links.
///
/// Every body has a word of its own, because the recipe does not know lists of links.
pub(crate) fn any_vault() -> impl Strategy<Value = Vec<(String, String)>> {
    let words = |n| proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), n);
    let note =
        (words(1..3), words(0..2), words(1..14), proptest::collection::vec(0..24_usize, 0..4));
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

/// The recipe counts every occurrence once, in any field.
fn plain(files: &[(String, String)]) -> Vault {
    let scoring =
        Scoring { title: 1.0, aliases: 1.0, headings: 1.0, tags: 1.0, ..Scoring::default() };
    built(files, KeywordSettings { scoring, ..KeywordSettings::default() }, true)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn signals_equal_those_of_the_recipe(
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
    fn scores_are_bounded_ordered_and_sums_of_their_parts(
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
fn connections_count_less_among_many_similar_hits() {
    let full = 2.0 * 0.4 / 3.0_f64.log2();
    for (n_similar, similar_hits, weight) in
        [(20, 50, 1.0), (100, 50, 0.25), (100, 200, 1.0), (300, 50, 0.0625)]
    {
        let mut files = vec![
            ("n000.md".to_owned(), "fern moss shade [[target]]\n".to_owned()),
            ("target.md".to_owned(), "other words\n".to_owned()),
        ];
        files.extend(
            (1..n_similar).map(|at| (format!("n{at:03}.md"), format!("fern moss shade x{at}\n"))),
        );
        let mut vault = vault_of_words(&files);
        vault.settings.bridge.similar_hits = similar_hits;
        let answer = vault.search("fern moss shade");
        let found = answer.explanation.as_ref().unwrap().connection_weight;
        assert!((found - weight).abs() < 1e-12, "{n_similar}, {similar_hits}: {found}");
        let strength = hit(&answer, "target").via.as_ref().unwrap().strength;
        assert!((strength - full * weight).abs() < 1e-9, "{n_similar}: {strength}");
    }
}

#[test]
fn passage_of_a_long_note_must_share_words_and_answer() {
    let note = |first: &str, second: &str| format!("## One\n\n{first}\n\n## Two\n\n{second}\n");
    let vault = vault_of_words(&[
        ("hit.md", "The old lighthouse was designed by Quillfeather.\n".to_owned()),
        ("both.md", note("Quillfeather was born in Bergen.", "Bees need a warm hive.")),
        ("apart.md", note("Quillfeather kept bees in a hive.", "A child was born in Bergen.")),
        ("other.md", note("Rain and wind.", "Salt and sand.")),
    ]);
    let answer = vault.search("where was the designer of the lighthouse born");
    let activation = |uri| hit(&answer, uri).signals.activation;
    assert!(activation("both") > 0.0, "{answer:?}");
    assert!(activation("apart") < 0.5 * activation("both"), "{answer:?}");
}

#[test]
fn section_is_named_by_its_heading() {
    let note = |heading: &str| {
        format!(
            "# Log\n\nNotes of a week.\n\n## {heading}\n\nThey form among rocks where the sea goes out.\n\n## Kelp\n\nA brown weed.\n"
        )
    };
    let other = "# Other\n\nThe tidal range is wide.\n\n## Ponds\n\nIn pools of rain.\n".to_owned();
    let vault = vault_of_words(&[
        ("log.md".to_owned(), note("Tidal pools")),
        ("other.md".to_owned(), other.clone()),
    ]);
    let answer = vault.search("who studies tidal pools");
    let (log, other_hit) = (hit(&answer, "log"), hit(&answer, "other"));
    assert!(log.name_score > 0.0 && log.name.as_deref() == Some("Tidal pools"), "{log:?}");
    assert!(other_hit.name_score.abs() < f64::EPSILON, "{other_hit:?}");
    let named = DisabledSignals { names: true, ..DisabledSignals::default() };
    let unnamed = vault.ask(&SearchRequest { disabled_signals: named, ..request("tidal pools") });
    assert!(hit(&unnamed, "log").name_score.abs() < f64::EPSILON);
    // A heading of many notes is part of a form.
    let form: Vec<(String, String)> =
        (0..31).map(|at| (format!("n{at}.md"), note("Tidal pools"))).collect();
    let answer = vault_of_words(&form).search("who studies tidal pools");
    assert!(answer.hits.iter().all(|hit| hit.name_score.abs() < f64::EPSILON), "{answer:?}");
}

#[test]
fn name_in_the_text_of_a_hit_connects_like_a_link() {
    let noise = (0..60).map(|at| {
        let people = if at % 2 == 0 { "people" } else { "society" };
        (format!("other{at}.md"), format!("Number {at} is about {people} and the sea.\n"))
    });
    let note = |heading: &str, text: &str| {
        format!("## Kelp\n\nA brown weed by the sea.\n\n## {heading}\n\n{text}\n")
    };
    let (named, text) = ("People of the Sea Society", "Its first president was Hall.");
    let hit_text = "The journal Tides is published by the people of the sea society.\n".to_owned();
    let cases = [
        ("a note", format!("# {named}\n\n{text}\n"), true),
        ("a section", note(named, text), true),
        ("another section", note("Society of the Sea", text), false),
    ];
    for (name, target, is_reached) in cases {
        let mut files =
            vec![("tides.md".to_owned(), hit_text.clone()), ("t.md".to_owned(), target)];
        files.extend(noise.clone());
        let vault = vault_of_words(&files);
        let answer = vault.search("president of the publisher of the journal Tides");
        let target = hit(&answer, "t");
        let via = target.via.as_ref().map(|via| (via.uri.as_str(), via.connection));
        let expected = is_reached.then_some(("tides", Connection::SharedWords));
        assert_eq!(via, expected, "{name}: {target:?}");
        let disabled_signals = DisabledSignals { shared_words: true, ..DisabledSignals::default() };
        let asked = request("president of the publisher of the journal Tides");
        let without = vault.ask(&SearchRequest { disabled_signals, ..asked });
        assert!(hit(&without, "t").via.is_none(), "{name}");
    }
}

#[test]
fn note_linked_with_the_best_hit_ranks_second() {
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
    assert_eq!((via.uri.as_str(), via.connection), ("harrison", Connection::Link));
    assert!(via.remainder > 0.0 && watch.signals.activation > 0.0);

    let lone = vault.ask(&SearchRequest {
        disabled_signals: DisabledSignals { graph: true, ..DisabledSignals::default() },
        ..request("which clock did Harrison make for sailors")
    });
    for hit in &lone.hits {
        assert!(hit.via.is_none() && hit.signals.activation.abs() < f64::EPSILON);
        assert_eq!(hit.score.to_bits(), hit.signals.similarity.to_bits());
    }
}

#[test]
fn query_equal_to_a_name_gives_full_similarity() {
    let vault = vault(&[
        ("a.md", "---\ntitle: Mercury (planet)\naliases: [morning star]\n---\nclose to the sun\n"),
        ("b.md", "the morning star and mercury, mercury, mercury\n"),
    ]);
    for query in ["Mercury", "the morning star"] {
        let answer = vault.search(query);
        assert!((hit(&answer, "a").signals.similarity - 1.0).abs() < 1e-12, "{query}");
        assert!(hit(&answer, "b").signals.similarity < 1.0);
    }
    let disabled_signals = DisabledSignals { names: true, ..DisabledSignals::default() };
    let answer = vault.ask(&SearchRequest { disabled_signals, ..request("Mercury") });
    assert!(
        hit(&answer, "a").signals.similarity < 1.0
            && hit(&answer, "a").name_score.abs() < f64::EPSILON
    );
}

#[test]
fn expansion_of_a_hub_is_bounded_and_reported() {
    let mut files = vec![("hub.md".to_owned(), "index of gardens\n".to_owned())];
    files.extend(
        (0..300).map(|at| (format!("leaf{at:03}.md"), format!("leaf {at} of the [[hub]]\n"))),
    );
    files.push(("far.md".to_owned(), "gardens again, see the [[hub]]\n".to_owned()));
    let mut vault = vault_of_words(&files);
    vault.settings.fanout = 50;
    let answer = vault.search("index of gardens");
    assert_eq!(answer.fanout_limited.iter().map(|uri| uri.as_str()).collect::<Vec<_>>(), ["hub"]);
    assert!(hit(&answer, "far").via.is_some(), "hits are never limited");
    assert!(answer.hits.len() <= 53, "{}", answer.hits.len());
    assert_eq!(uris(&answer)[0], "hub");
}

#[test]
fn links_to_filtered_notes_do_not_count_against_the_fanout() {
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
            let reported = format!("{profile:?}, {fanout}");
            assert_eq!(answer.hits.len(), 1 + n_leaves, "{reported}");
            assert_eq!(!answer.fanout_limited.is_empty(), is_cut, "{reported}");
        }
    }
}

#[test]
fn best_of_many_notes_with_one_name_are_ranked() {
    let files: Vec<(String, String)> = (0..300)
        .map(|at| {
            let more = if at == 250 { "meeting meeting" } else { "" };
            (format!("m{at:03}.md"), format!("---\ntitle: Meeting\n---\nminutes {more}\n"))
        })
        .collect();
    let mut vault = vault_of_words(&files);
    let disabled_signals = DisabledSignals { graph: true, ..DisabledSignals::default() };
    for (k, is_reported) in [(300, false), (10, true)] {
        vault.settings.candidates_per_retriever = k;
        let answer =
            vault.ask(&SearchRequest { disabled_signals, limit: k - 1, ..request("meeting") });
        let expected: Vec<String> = (0..300)
            .filter(|at| k == 300 || *at < 9 || *at == 250)
            .map(|at| format!("m{at:03}"))
            .collect();
        let pool = answer.explanation.unwrap().candidates;
        let ranked: Vec<&str> = pool.iter().map(|one| one.uri.as_str()).collect();
        assert_eq!(ranked, expected, "{k}");
        let reported =
            answer.warnings.iter().filter(|it| it.code == WarningCode::CandidatesLimited);
        assert_eq!(reported.count() == 1, is_reported, "{:?}", answer.warnings);
    }
}
