//! Near-duplicates, suggested links, stale notes and broken links.

use weft_engine::EngineError;
use weft_engine::hygiene::{
    BrokenLinksRequest, ChangeSource, DuplicatesRequest, FixReason, MentionToLink,
    StaleNotesRequest, SuggestedLinksRequest,
};
use weft_model::{Span, TextHash};

use crate::Vault;

/// Returns `n` different words that start with `name`.
fn words(name: &str, n: usize) -> String {
    (0..n).map(|at| format!("{name}{at}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn copies_and_excerpts_are_duplicates() {
    let long = words("long", 100);
    let part: Vec<&str> = long.split(' ').skip(20).take(50).collect();
    let vault = Vault::new(&format!(
        "=== a.md\n{long}\n=== copy.md\n# Copy\n\n{}!\n=== part.md\nIntro.\n\n{} and more\n=== other.md\n{}\n=== short.md\nlong0 long1 long2\n",
        long.to_uppercase(),
        part.join("\n"),
        words("other", 80)
    ));
    let answer = vault.engine.duplicates(&DuplicatesRequest::default()).unwrap();
    let pairs: Vec<(&str, &str)> =
        answer.pairs.iter().map(|pair| (pair.note.uri.as_str(), pair.other.uri.as_str())).collect();
    assert_eq!(pairs, [("copy", "a"), ("a", "part"), ("copy", "part")]);
    assert_eq!((answer.total, answer.sampling, answer.truncated), (3, 1, false));
    let first = &answer.pairs[0];
    assert!((first.share - 1.0).abs() < 1e-9 && !first.identical, "{first:?}");
    let example = answer.pairs[1].example.as_ref().unwrap();
    assert!(example.text.starts_with("long20 long21"), "{example:?}");
    assert_eq!((example.n_words, example.line, example.other_line), (50, 1, 3));
    let paged = DuplicatesRequest { page_size: 1, ..DuplicatesRequest::default() };
    let page = vault.engine.duplicates(&paged).unwrap();
    let next = DuplicatesRequest { page_token: page.next_page_token, ..paged };
    assert_eq!(vault.engine.duplicates(&next).unwrap().pairs, answer.pairs[1..2]);
    let strict = DuplicatesRequest { min_share: Some(0.99), ..DuplicatesRequest::default() };
    assert_eq!(vault.engine.duplicates(&strict).unwrap().total, 1);
    for min_share in [0.0, 0.2, 1.1, f64::NAN] {
        let request =
            DuplicatesRequest { min_share: Some(min_share), ..DuplicatesRequest::default() };
        let refused = vault.engine.duplicates(&request);
        assert!(
            matches!(refused, Err(EngineError::InvalidArgument { field: "min_share", .. })),
            "{min_share}"
        );
    }
}

const MENTIONS: &str = "=== Water Clock.md\n---\naliases: [clepsydra]\n---\nIt drips.\n\
=== essay.md\n# Essay\n## Water Clock\nThe water clock drips. `Water Clock`, [Water Clock](x) and a Clepsydra.\nAnother water clock.\n\
=== linked.md\nThe water clock, see [[Water Clock]].\n\
=== Tasks.md\nT\n\
=== daily.md\nMany tasks. The Tasks plugin.\n\
=== list.md\n- Tasks begin this line.\n";

#[test]
fn mentions_in_plain_text_are_suggested_once() {
    let vault = Vault::new(MENTIONS);
    let answer = vault.engine.suggested_links(&SuggestedLinksRequest::default()).unwrap();
    let lines: Vec<String> = answer
        .links
        .iter()
        .map(|link| {
            format!(
                "{}:{} {} {} {}x",
                link.note.uri, link.line, link.text, link.link, link.n_mentions
            )
        })
        .collect();
    assert_eq!(
        lines,
        ["essay:3 water clock [[water clock]] 2x", "daily:1 Tasks [[Tasks]] 1x"],
        "the same note under another name counts as a further mention at most"
    );
    let one = SuggestedLinksRequest { note: Some("daily".into()), ..Default::default() };
    assert_eq!(vault.engine.suggested_links(&one).unwrap().total, 1);
    let link = &answer.links[0];
    assert_eq!(link.span, Span::new(27, 38));
    assert!(link.excerpt.contains("The water clock drips."), "{}", link.excerpt);
}

#[test]
fn linked_text_changes_only_the_mentions() {
    let vault = Vault::new(MENTIONS);
    let answer = vault.engine.suggested_links(&SuggestedLinksRequest::default()).unwrap();
    let link = &answer.links[0];
    let mention = MentionToLink { span: link.span, target: link.target.uri.to_string() };
    let text = |expected, mention: &MentionToLink| {
        vault.engine.linked_text("essay", expected, std::slice::from_ref(mention))
    };
    let linked = text(link.hash, &mention).unwrap();
    assert!(
        linked.body.starts_with(
            "# Essay\n## Water Clock\nThe [[water clock]] drips. `Water Clock`, [Water"
        ),
        "{}",
        linked.body
    );
    assert_eq!(
        (linked.path.as_str(), linked.links),
        ("essay.md", vec!["[[water clock]]".to_owned()])
    );
    let changed = text(TextHash(1), &mention);
    assert!(matches!(changed, Err(EngineError::Changed { .. })), "{changed:?}");
    let heading = MentionToLink { span: Span::new(11, 22), ..mention.clone() };
    let outside = MentionToLink { span: Span::new(10_000, 10_010), ..mention.clone() };
    let other_text = MentionToLink { span: Span::new(23, 26), ..mention };
    for mention in [heading, outside] {
        let refused = text(link.hash, &mention);
        assert!(
            matches!(refused, Err(EngineError::InvalidArgument { field: "mentions", .. })),
            "{mention:?}"
        );
    }
    let labelled = text(link.hash, &other_text).unwrap();
    assert_eq!(labelled.links, ["[[Water Clock|The]]"]);
}

#[test]
fn stale_notes_are_old_and_linked() {
    let vault = Vault::new(
        "=== old.md\n---\nupdated: 2020-01-01\n---\nOld\n\
         === older.md\n---\nmodified: 2010-01-01\n---\nOlder\n\
         === alone.md\n---\nupdated: 2000-01-01\n---\nAlone\n\
         === a.md\n---\nupdated: 2024-01-01\n---\n[[old]] [[older]]\n\
         === b.md\n---\nupdated: 2024-01-01\n---\n[[old]] [[older]] [[a]]\n\
         === c.md\n---\nupdated: 2024-01-01\n---\n[[old]] [[a]]\n",
    );
    let answer = vault.engine.stale_notes(&StaleNotesRequest::default()).unwrap();
    assert_eq!(answer.newest, "2024-01-01");
    let stale: Vec<(&str, &str, u32, u32)> = answer
        .notes
        .iter()
        .map(|note| (note.note.uri.as_str(), &*note.changed, note.age_days, note.n_linking))
        .collect();
    assert_eq!(stale, [("older", "2010-01-01", 5113, 2), ("old", "2020-01-01", 1461, 3)]);
    assert!(answer.notes.iter().all(|note| note.source == ChangeSource::Property));
    let score = 5113.0 / 365.25 * 3.0_f64.ln();
    assert!((answer.notes[0].score - score).abs() < 1e-9);
    let young = StaleNotesRequest { min_age_days: Some(0), ..StaleNotesRequest::default() };
    assert_eq!(vault.engine.stale_notes(&young).unwrap().total, 3);
    vault.put("d.md", "---\nupdated: 2999-01-01\n---\nA slip.\n");
    let answer = vault.engine.stale_notes(&StaleNotesRequest::default()).unwrap();
    assert!(*answer.newest < *"2999", "no note is as old as a slip makes it: {}", answer.newest);
}

#[test]
fn broken_links_name_the_likely_note() {
    let vault = Vault::new(
        "=== notes/Pendulum Clock.md\nP\n\
         === eip-1559.md\nE\n\
         === a.md\nFirst.\nSee [[old/pendulum-clock]] and [[Pendulm Clock]] and [[eip-1558]].\n\
         === b.md\n[[Pendulm Clock]] [[never written]]\n",
    );
    let answer = vault.engine.broken_links(&BrokenLinksRequest::default()).unwrap();
    let lines: Vec<String> = answer
        .links
        .iter()
        .map(|link| {
            let places: Vec<String> = link
                .places
                .iter()
                .map(|place| format!("{}:{}", place.note.uri, place.line.unwrap_or_default()))
                .collect();
            let fixes: Vec<String> = link
                .fixes
                .iter()
                .map(|fix| {
                    let reason = match fix.reason {
                        FixReason::SameName => "same",
                        FixReason::SimilarName => "similar",
                    };
                    format!("{} {reason}", fix.note.uri)
                })
                .collect();
            format!("{} <- {} => {}", link.target, places.join(" "), fixes.join(" "))
        })
        .collect();
    assert_eq!(
        lines,
        [
            "Pendulm Clock <- a:2 b:1 => notes/Pendulum Clock similar",
            "eip-1558 <- a:2 => ",
            "never written <- b:1 => ",
            "old/pendulum-clock <- a:2 => notes/Pendulum Clock same"
        ],
        "another number is another note"
    );
}

#[test]
fn fixes_of_a_broken_link_are_of_its_vault() {
    let vaults = Vault::several(&[
        ("clocks", "=== Pendulum Clock.md\nP\n=== a.md\n[[Pendulm Clock]] [[Sun Dial]]\n"),
        ("garden", "=== Sun-dial.md\nS\n=== b.md\n[[Sun Dail]] [[clocks:Pendulum-clok]]\n"),
    ]);
    let answer = vaults.engine.broken_links(&BrokenLinksRequest::default()).unwrap();
    let fixes: Vec<(&str, Vec<&str>)> = answer
        .links
        .iter()
        .map(|link| {
            let fixes = link.fixes.iter().map(|fix| fix.note.uri.as_str()).collect();
            (link.target.as_str(), fixes)
        })
        .collect();
    assert_eq!(
        fixes,
        [
            ("clocks:Pendulm Clock", vec!["clocks:Pendulum Clock"]),
            ("clocks:Pendulum-clok", vec!["clocks:Pendulum Clock"]),
            ("clocks:Sun Dial", vec![]),
            ("garden:Sun Dail", vec!["garden:Sun-dial"])
        ]
    );
}
