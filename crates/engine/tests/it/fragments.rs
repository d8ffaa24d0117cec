//! Names with a fragment: `note#Heading` and `note#^block`.

use weft_engine::context::{ContextRequest, FocusSource};
use weft_engine::{
    EngineError, NoteRequest, RelatedRequest, RelationSet, Rendering, ResolveRequest, WarningCode,
};
use weft_model::Span;

use crate::Vault;
use crate::context::{named, request};
use crate::related::around;

const GARDEN: &str = "=== S.md
---
tags: [green]
---
# A
## Setup
first
# B
## Setup
é second
### Linux
penguin ^p1

## Open items #urgent
hurry
=== C#.md
## Tips
sharp
=== moss.md
[[S#B#Setup]] [[S#Setup]] [[S#Nope]] [[S#^p1]] [[S#^p2]] [[later#x]] [[/Pear]] [[/nowhere]]
=== Deep/Pear.md
";

fn note(vault: &Vault, name: &str) -> Result<(String, Vec<String>), EngineError> {
    let request = NoteRequest { name: name.into(), ..NoteRequest::default() };
    let answer = vault.engine.note(&request)?;
    let warnings = answer.warnings.iter().map(|warning| warning.message.clone()).collect();
    let part = answer.section.map_or(&*answer.body, |section: Span| section.slice(&answer.body));
    Ok((part.to_owned(), warnings))
}

#[test]
fn fragment_selects_a_part_of_the_note() {
    let vault = Vault::new(GARDEN);
    for (name, expected) in [
        ("S#B#Setup", "## Setup\né second\n### Linux\npenguin ^p1\n\n"),
        ("S.md#setup-1", "## Setup\né second\n### Linux\npenguin ^p1\n\n"),
        ("[[S#Linux|x]]", "### Linux\npenguin ^p1\n\n"),
        ("S#^p1", "penguin ^p1"),
        ("S#Open items #urgent", "## Open items #urgent\nhurry\n"),
        ("S#Open items urgent", "## Open items #urgent\nhurry\n"),
        ("C##Tips", "## Tips\nsharp\n"),
        ("C#", "## Tips\nsharp\n"),
    ] {
        assert_eq!(note(&vault, name).unwrap(), (expected.to_owned(), vec![]), "{name}");
    }
    let (part, warnings) = note(&vault, "S#Setup").unwrap();
    assert_eq!(part, "## Setup\nfirst\n");
    assert_eq!(
        warnings,
        ["`Setup` is the text of 2 headings of `S`: the first was used, not `S#setup-1`"]
    );
}

#[test]
fn unknown_fragment_never_means_the_whole_note() {
    let vault = Vault::new(GARDEN);
    for fragment in ["Nope", "Nope#Setup", "^p2", "setup-2", "Linux#Setup"] {
        let error = note(&vault, &format!("S#{fragment}")).unwrap_err();
        assert!(matches!(&error, EngineError::UnknownFragment { .. }), "{error}");
        let parts = if fragment == "^p2" { "blocks include `^p1`" } else { "headings include `A`" };
        let message = format!("`S` has no heading or block `{fragment}`; its {parts}");
        assert!(error.to_string().starts_with(&message), "{error}");
    }
}

#[test]
fn resolved_name_reports_unknown_and_repeated_fragments() {
    let vault = Vault::new(GARDEN);
    for from in [None, Some("moss".to_owned())] {
        for (target, expected) in [
            ("S", &[][..]),
            ("S#Linux", &[]),
            ("S.md#Open%20items%20urgent", &[]),
            ("S#^p1", &[]),
            ("C#", &[]),
            ("S#Nope", &[WarningCode::UnknownFragment]),
            ("S#^p2", &[WarningCode::UnknownFragment]),
            ("S#Setup", &[WarningCode::AmbiguousName]),
            ("later#x", &[]),
        ] {
            let request = ResolveRequest { target: target.to_owned(), from: from.clone() };
            let answer = vault.engine.resolve(&request).unwrap();
            let codes: Vec<WarningCode> = answer.warnings.iter().map(|it| it.code).collect();
            assert_eq!(codes, expected, "{target} from {from:?}");
        }
    }
}

#[test]
fn context_contains_only_named_parts() {
    let vault = Vault::new(GARDEN);
    let texts = |request: &ContextRequest| {
        let answer = vault.engine.context(request).unwrap();
        let body = note(&vault, "S").unwrap().0;
        for item in &answer.items {
            let blocks = item.item.blocks.iter().map(|block| block.slice(&body));
            assert_eq!(blocks.collect::<String>(), item.item.text, "blocks are ranges of the body");
        }
        let codes: Vec<WarningCode> =
            answer.summary.warnings.iter().map(|warning| warning.code).collect();
        (answer.items.into_iter().map(|item| item.item.text).collect::<Vec<_>>(), codes)
    };
    let of_notes = |names: &[&str]| {
        let notes = names.iter().map(|name| named(name, None)).collect();
        texts(&ContextRequest { notes, ..request() })
    };
    let linux = "### Linux\npenguin ^p1\n\n";
    assert_eq!(of_notes(&["S#Linux"]), (vec![linux.to_owned()], vec![]));
    let (hull, _) = of_notes(&["S#B#Setup", "S#^p1"]);
    assert_eq!(hull, [format!("## Setup\né second\n{linux}")]);
    let (whole, codes) = of_notes(&["S#Nope"]);
    assert!(whole[0].starts_with("# A\n"), "{whole:?}");
    assert_eq!(codes, [WarningCode::UnknownFragment]);
    assert!(of_notes(&["S#Linux", "S"]).0[0].starts_with("# A\n"), "the whole was named, too");
    assert_eq!(of_notes(&["S#Setup"]).1, [WarningCode::AmbiguousName]);
    let relations = Some(RelationSet::Structure);
    let focus = Some(FocusSource { name: "S#Linux".into(), relations, ..FocusSource::default() });
    let query = "penguin".to_owned();
    for request in [
        ContextRequest { focus: focus.clone(), ..request() },
        ContextRequest { focus, query, ..request() },
    ] {
        assert_eq!(texts(&request).0[0], linux);
    }
}

#[test]
fn related_notes_begin_with_the_named_part() {
    let vault = Vault::new(GARDEN);
    let details = |focus: &str| {
        let request = RelatedRequest { rendering: Rendering::Markdown, ..around(focus) };
        let answer = vault.engine.related(&request).unwrap();
        let details = answer.view().focus_note.details.into_owned();
        assert!(answer.rendered.unwrap().contains(&details), "{focus}");
        (details, answer.warnings.into_iter().map(|warning| warning.code).collect::<Vec<_>>())
    };
    assert_eq!(details("S#Linux"), ("### Linux\npenguin ^p1\n\n".to_owned(), vec![]));
    let (whole, codes) = details("S#Nope");
    assert!(whole.starts_with("# A\n") && codes == [WarningCode::UnknownFragment]);
}

#[test]
fn links_to_missing_parts_and_from_the_root_are_diagnostics() {
    let vault = Vault::new(GARDEN);
    let coverage = vault.indexer.coverage();
    let moss = coverage.iter().find(|file| file.path == "moss.md").unwrap();
    let found: Vec<_> = moss
        .diagnostics
        .iter()
        .map(|found| (found.code.as_str(), found.message.split("` ").next().unwrap()))
        .collect();
    assert_eq!(
        found,
        [
            ("ambiguous-fragment", "The link `S#Setup"),
            ("unknown-fragment", "The link `S#Nope"),
            ("unknown-fragment", "The link `S#^p2"),
            ("nothing-at-root", "The link `/Pear"),
        ]
    );
}
