//! Edge cases of queries and vaults: each gives a bounded answer.

use weft_engine::{
    Activation, DisabledSignals, EngineError, Filter, MAX_SNIPPETS, Profile, PropertyMatch,
    SearchAnswer, SearchRequest, WarningCode, Weights,
};

use crate::bridge::WORDS;
use crate::vault::{Vault, messages, request, uris, vault, vault_of_words};

/// Searches in both profiles and checks that every score is within bounds.
fn asked(vault: &Vault, query: &str) -> [SearchAnswer; 2] {
    [Profile::Bridge, Profile::Classic].map(|profile| {
        let answer = vault.ask(&SearchRequest { profile: Some(profile), ..request(query) });
        for hit in &answer.hits {
            let parts = [
                hit.score,
                hit.signals.similarity,
                hit.signals.centrality,
                hit.signals.activation,
                hit.vector_score,
                hit.keyword_score,
                hit.name_score,
            ];
            assert!(parts.iter().all(|part| (0.0..=1.0).contains(part)), "{query}: {hit:?}");
        }
        answer
    })
}

#[test]
fn unusual_queries_have_bounded_answers() {
    let vault = vault(&[
        ("fern.md", "the fern and the moss 🌿 [[moss]]\n"),
        ("moss.md", "the moss\n"),
        ("stone.md", "grey\n"),
    ]);
    let long: String = (0..10_000).map(|at| format!("word{at} ")).collect();
    for query in
        ["the of and", "", "   ", "🌿", "zzyzx", "-fern", "+", "\"\"", &long, "\u{0}\u{202e}"]
    {
        for answer in asked(&vault, query) {
            let is_cut = answer.warnings.iter().any(|it| it.code == WarningCode::QueryTruncated);
            assert_eq!(is_cut, query.len() == long.len(), "{:?}", answer.warnings);
        }
    }
}

#[test]
fn ignored_parts_of_a_query_are_reported() {
    let vault = vault_of_words(&[("fern.md", "fern\n")]);
    let numbered = |sign: &str| -> String { (0..100).map(|at| format!("{sign}w{at} ")).collect() };
    let long: String = (0..20_000).map(|at| format!("w{at} ")).collect();
    let (text, words, exclusions) = (
        "the query is too long; only its first 64 KiB were read",
        "the query has too many words; only the 64 most selective were searched",
        "the query excludes too many words; only the first 64 were excluded",
    );
    for (name, query, expected) in [
        ("one word ten thousand times", "photosynthesis ".repeat(10_000), &[text][..]),
        ("a hundred words", numbered(""), &[words]),
        ("a hundred words to leave out", format!("fern {}", numbered("-")), &[exclusions]),
        ("pages", long, &[text, words]),
        ("a short one", "fern".to_owned(), &[]),
    ] {
        for answer in asked(&vault, &query) {
            assert_eq!(messages(&answer.warnings), expected, "{name}");
        }
    }
}

#[test]
fn rare_word_in_a_long_note_scores_as_in_its_passage() {
    let padding = "word ".repeat(2_000);
    let mut files: Vec<(String, String)> =
        (0..40).map(|at| (format!("n{at}.md"), "rivers and stones\n".to_owned())).collect();
    files.push(("noise.md".into(), format!("{padding} frond\n")));
    let vault = vault_of_words(&files);
    let [bridge, classic] = asked(&vault, "frond of a fern seen at dusk beside rivers");
    for answer in [bridge, classic] {
        let noise = answer.hits.iter().find(|hit| hit.uri.as_str() == "noise").unwrap();
        assert!(noise.score < 0.2, "{noise:?}");
    }
}

#[test]
fn small_and_unlinked_vaults_are_ranked() {
    let none = vault_of_words::<&str, &str>(&[]);
    assert!(asked(&none, "fern").iter().all(|answer| answer.hits.is_empty()));
    let three = vault_of_words(&[
        ("fern.md", "fern [[moss]]\n"),
        ("moss.md", "moss\n"),
        ("stone.md", "stone\n"),
    ]);
    for answer in asked(&three, "fern") {
        assert_eq!(uris(&answer)[0], "fern");
    }
    let lone = vault_of_words(&[("fern.md", "fern\n"), ("stone.md", "stone and fern and more\n")]);
    for answer in asked(&lone, "fern") {
        assert_eq!(uris(&answer), ["fern", "stone"]);
    }
}

#[test]
fn hub_does_not_outrank_matching_notes() {
    let mut files: Vec<(String, String)> = (0..5_000)
        .map(|at| (format!("n{at}.md"), format!("entry {at} of the [[hub]]\n")))
        .collect();
    files.push(("hub.md".into(), "everything is listed here\n".into()));
    files.push(("fern.md".into(), "the fern unrolls its fronds, see the [[hub]]\n".into()));
    let vault = vault_of_words(&files);
    let [bridge, classic] = asked(&vault, "how does a fern unroll its fronds");
    assert_eq!((uris(&bridge)[0], uris(&classic)[0]), ("fern", "fern"));
    let hub = bridge.hits.iter().find(|hit| hit.uri.as_str() == "hub").unwrap();
    // Only the one hit that links to the hub lifts it; 5,000 notes that do not match add nothing.
    assert!(hub.score < bridge.hits[0].score && hub.contributions.centrality <= 0.02, "{hub:?}");
}

/// Profile `classic` counts centrality and activation for up to 0.4 of the score, whatever the query; a setting halves that.
#[test]
fn classic_ranks_a_hub_of_many_hits_first() {
    let mut files: Vec<(String, String)> = (0..1_000)
        .map(|at| (format!("n{at}.md"), format!("entry about topic{} of the [[hub]]\n", at % 50)))
        .collect();
    files.push(("hub.md".into(), "every entry is listed here\n".into()));
    let mut vault = vault_of_words(&files);
    let [bridge, classic] = asked(&vault, "entry about topic7");
    assert!(uris(&bridge)[..20].iter().all(|uri| *uri != "hub"), "{:?}", uris(&bridge));
    let (hub, second) = (&classic.hits[0], &classic.hits[1]);
    assert_eq!(hub.uri.as_str(), "hub");
    assert!(hub.signals.similarity < 0.2 && second.signals.similarity > 0.4, "{hub:?} {second:?}");
    assert!(hub.contributions.centrality + hub.contributions.activation <= 0.4, "{hub:?}");

    vault.settings.classic.activation = Activation::HitShare;
    let [_, shares] = asked(&vault, "entry about topic7");
    assert!(uris(&shares)[..20].iter().all(|uri| *uri != "hub"), "{:?}", uris(&shares));
}

#[test]
fn score_parts_sum_to_the_score() {
    let mut state = 11_usize;
    let mut words = |n: usize| -> String {
        let mut word = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            WORDS[(state >> 33) % WORDS.len()]
        };
        (0..n).map(|_| word()).collect::<Vec<_>>().join(" ")
    };
    let files: Vec<(String, String)> = (0..30)
        .map(|at| {
            let (near, far) = ((at * 7 + 1) % 30, (at * at) % 30);
            (format!("n{at}.md"), format!("# {}\n{} [[n{near}]] [[n{far}]]\n", words(2), words(9)))
        })
        .collect();
    let mut vault = vault(&files);
    vault.settings.snippets = 0;
    let engine = vault.engine();
    for at in 0..1_000 {
        let profile = Some(if at % 2 == 0 { Profile::Bridge } else { Profile::Classic });
        let answer = engine.search(&SearchRequest { profile, ..request(&words(1 + at % 5)) });
        let answer = answer.unwrap();
        let weights = answer.explanation.unwrap().weights;
        assert!(!answer.hits.is_empty());
        for hit in &answer.hits {
            let (signals, parts) = (hit.signals, hit.contributions);
            let sum = parts.similarity + parts.centrality + parts.activation + parts.relevance;
            assert_eq!(sum.to_bits(), hit.score.to_bits(), "{hit:?}");
            let of = signals.activation * weights.gars.activation;
            assert_eq!(parts.activation.to_bits(), of.to_bits(), "{hit:?}");
            assert!((0.0..=1.0).contains(&hit.score), "{hit:?}");
        }
    }
}

#[test]
fn typo_tolerance_is_optional() {
    let vault = vault_of_words(&[("fern.md", "the fern unrolls\n"), ("moss.md", "the moss\n")]);
    let found = |query: &str, typo_tolerance: Option<bool>| -> Vec<String> {
        let answer = vault.ask(&SearchRequest { typo_tolerance, ..request(query) });
        uris(&answer).into_iter().map(str::to_owned).collect()
    };
    let cases: [(&str, &str, Option<bool>, &[&str]); 5] = [
        ("as configured", "fren", None, &[]),
        ("letters swapped", "fren", Some(true), &["fern"]),
        ("a letter too many", "unrollls", Some(true), &["fern"]),
        ("two edits", "frenn", Some(true), &[]),
        ("a word that notes hold stays itself", "moss", Some(true), &["moss"]),
    ];
    for (name, query, typo_tolerance, expected) in cases {
        assert_eq!(found(query, typo_tolerance), expected, "{name}");
    }
}

#[test]
fn number_of_snippets_follows_the_request() {
    let far = "words that nobody asked about, one after the other. ".repeat(20);
    let text = format!("# Shade\n\na fern here\n\n{far}\n\nand a fern there\n\n{far}\n\nFerns.\n");
    let vault = vault_of_words(&[("fern.md", text)]);
    let engine = vault.engine();
    let ask = |snippets| engine.search(&SearchRequest { snippets, ..request("fern") });
    for (snippets, expected) in
        [(None, 2), (Some(0), 0), (Some(1), 1), (Some(3), 3), (Some(100), 3)]
    {
        let answer = ask(snippets).unwrap();
        let found = &answer.hits[0].snippets;
        assert_eq!(found.len(), expected, "{snippets:?}");
        assert!(found.is_sorted_by(|one, next| one.end <= next.start), "in order, and apart");
        for snippet in found {
            let marked = snippet.matches.iter().map(|(start, end)| {
                let shown: Vec<char> = snippet.text.chars().collect();
                shown[*start as usize..*end as usize].iter().collect::<String>()
            });
            let marked: Vec<_> = marked.collect();
            assert!(matches!(&*marked.join(" "), "fern" | "Ferns"), "{marked:?} in {snippet:?}");
            assert_eq!(snippet.heading_path, ["Shade"]);
        }
    }
    let refused = ask(Some(MAX_SNIPPETS + 1)).unwrap_err().to_string();
    assert!(refused.contains("snippets") && refused.contains("101"), "{refused}");
}

#[test]
fn share_of_neighbors_counts_only_neighbors() {
    let mut vault = vault_of_words(&[
        ("Ontology/Shade.md", "a topic\n"),
        ("fern.md", "fern of the [[Ontology/Shade]]\n"),
        ("moss.md", "grows in the [[Ontology/Shade]]\n"),
    ]);
    vault.settings.profile = Profile::Classic;
    vault.settings.topics.siblings_activate = true;
    for (activation, is_lifted) in [(Activation::NoisyOr, true), (Activation::HitShare, false)] {
        vault.settings.classic.activation = activation;
        let answer = vault.search("fern");
        let moss = answer.hits.iter().find(|hit| hit.uri.as_str() == "moss");
        assert_eq!(moss.is_some_and(|hit| hit.signals.activation > 0.0), is_lifted);
        let floor = answer.explanation.unwrap().activation_floor;
        assert_eq!(floor > 0.0, is_lifted, "a share has no floor");
    }
}

#[test]
fn unmatched_filter_conditions_are_reported_or_rejected() {
    let undated = [("fern.md", "fern\n"), ("moss.md", "---\ndate: soon\n---\nfern\n")];
    let dated = ["2024-05-01", "[2024-05-01]", "1714521600000", "'1714521600'"];
    let by_date = Filter { after: Some("2024-04-30".into()), ..Filter::default() };
    let ask = |files: &[(&str, &str)], filter: Filter| {
        vault_of_words(files).engine().search(&SearchRequest { filter, ..request("fern") })
    };
    let answer = ask(&undated, by_date.clone()).unwrap();
    assert_eq!((answer.hits.len(), answer.warnings.len()), (0, 1));
    assert!(answer.warnings[0].message.contains("`date`, `created`, `modified` or `updated`"));
    for date in dated {
        let text = format!("---\ndate: soon\ncreated: {date}\n---\nfern\n");
        let answer = ask(&[("fern.md", &text)], by_date.clone()).unwrap();
        assert_eq!((answer.hits.len(), answer.warnings.len()), (1, 0), "{date}");
    }

    let noted = [
        ("fern.md", "---\ntags: [green]\ntype: plant\nheight: 3\n---\nfern\n"),
        ("moss.md", "---\ntags: [small]\n---\nfern\n"),
    ];
    let tagged = |tags: &[&str]| Filter {
        tags: tags.iter().map(ToString::to_string).collect(),
        ..Filter::default()
    };
    let of_type = |types: &[&str]| Filter {
        types: types.iter().map(ToString::to_string).collect(),
        ..Filter::default()
    };
    let with = |key: &str, value: &str| Filter {
        properties: vec![PropertyMatch {
            key: key.into(),
            value: value.into(),
            ..PropertyMatch::default()
        }],
        ..Filter::default()
    };
    for (filter, expected) in [
        (tagged(&["green", "gren"]), &["no note has the tag `gren`"][..]),
        (tagged(&["green", "small"]), &[]),
        (of_type(&["animal"]), &["no note has the type `animal`"]),
        (of_type(&["plant", "animal"]), &["no note has the type `animal`"]),
        (with("heigth", "3"), &["no note has the property `heigth`"]),
        (with("height", "4"), &[]),
    ] {
        let answer = ask(&noted, filter.clone()).unwrap();
        assert_eq!(messages(&answer.warnings), expected, "{filter:?}");
    }

    for tag in ["", "#", "#/", " "] {
        let filter = Filter { tags: vec![tag.to_owned()], ..Filter::default() };
        let error = ask(&undated, filter).expect_err("it names no tag");
        let EngineError::InvalidArgument { field, .. } = error else { panic!("{error}") };
        assert_eq!(field, "filter.tags");
    }
}

#[test]
fn invalid_weights_are_rejected_even_if_unused() {
    let engine = vault_of_words(&[("fern.md", "fern\n")]).engine();
    for graph in [false, true] {
        let weights = Some(Weights { similarity: f64::NAN, ..Weights::SIMILARITY });
        let disabled_signals = DisabledSignals { graph, ..DisabledSignals::default() };
        let error = engine.search(&SearchRequest { weights, disabled_signals, ..request("fern") });
        assert!(matches!(error, Err(EngineError::InvalidArgument { field: "weights", .. })));
    }
}
