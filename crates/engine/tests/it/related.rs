//! Related notes over an index: names, filters, ways to count, tokens.

use std::sync::Arc;
use weft_engine::doughnut::Budget;
use weft_engine::{
    EngineError, Estimators, Filter, RelatedAnswer, RelatedRequest, RelatedSettings, Rendering,
};
use weft_model::Tokens;
use weft_model::tokens::Unit;

use crate::Vault;

const GARDEN: &str = "=== index.md
# Garden
=== fern.md
---
aliases: [bracken]
object: [[shade]]
---
# Fern
=== moss.md
---
tags: [green]
---
# Moss
Soft, like [[fern]].
=== stone.md
# Stone
=== shade.md
# Shade
";

/// One note costs one token.
pub(crate) fn around(focus: &str) -> RelatedRequest {
    RelatedRequest {
        focus: focus.into(),
        budget: Budget::Related(Tokens::new(100)),
        estimator: Some("unit".into()),
        filter: Filter::default(),
        body_links: false,
        sibling_of_target: false,
        resume_token: String::new(),
        rendering: Rendering::None,
    }
}

/// `Relation uri` of each related note.
fn told(answer: &RelatedAnswer) -> Vec<String> {
    let view = answer.view();
    view.related_notes.iter().map(|note| format!("{} {}", note.relation, note.link.uri)).collect()
}

#[test]
fn a_note_is_found_by_any_name_and_told_with_its_texts() {
    let vault = Vault::new(GARDEN);
    for name in ["fern", "fern.md", "Bracken", "[[fern]]"] {
        let answer = vault.engine.related(&around(name)).unwrap();
        assert_eq!(
            told(&answer),
            ["Parent index", "Object shade", "YoungerSibling moss", "YoungerSibling stone"],
            "{name}"
        );
    }
    let answer = vault.engine.related(&around("fern")).unwrap();
    let view = answer.view();
    assert_eq!((&*view.focus_note.link.title, &*view.focus_note.details), ("Fern", "# Fern\n"));
    assert_eq!(&*view.related_notes[2].details, "# Moss\nSoft, like [[fern]].\n");
    let linked = RelatedRequest { body_links: true, ..around("fern") };
    assert!(told(&vault.engine.related(&linked).unwrap()).contains(&"YoungerSibling moss".into()));
    let lists = vault.engine.related(&linked).unwrap().view().focus_note.referrings.len();
    assert_eq!(lists, 1, "a note that links here refers to it, too");
}

#[test]
fn a_filter_takes_notes_away_and_leaves_what_the_note_itself_says() {
    let vault = Vault::new(GARDEN);
    let filter = Filter { tags: vec!["green".into()], ..Filter::default() };
    let answer = vault.engine.related(&RelatedRequest { filter, ..around("fern") }).unwrap();
    assert_eq!(told(&answer), ["YoungerSibling moss"]);
    let focus = answer.view().focus_note;
    let uri =
        |link: Option<weft_engine::doughnut::LinkView<'_>>| link.map(|link| link.uri.to_owned());
    assert_eq!(
        (uri(focus.parent), uri(focus.object)),
        (Some("index".into()), Some("shade".into()))
    );
}

#[test]
fn a_token_belongs_to_one_question() {
    let vault = Vault::new(GARDEN);
    let engine =
        vault.engine.clone().with_estimators(Estimators::default().with("other", Arc::new(Unit)));
    let first = RelatedRequest { budget: Budget::Related(Tokens::new(1)), ..around("fern") };
    let resume_token = engine.related(&first).unwrap().resume_token.unwrap();
    let next = RelatedRequest { resume_token, ..around("Bracken") };
    assert_eq!(told(&engine.related(&next).unwrap())[0], "Object shade", "by another name");
    let filter = Filter { tags: vec!["green".into()], ..Filter::default() };
    for other in [
        RelatedRequest { focus: "moss".into(), ..next.clone() },
        RelatedRequest { filter, ..next.clone() },
        RelatedRequest { body_links: true, ..next.clone() },
        RelatedRequest { sibling_of_target: true, ..next.clone() },
        RelatedRequest { estimator: Some("other".into()), ..next.clone() },
    ] {
        let refused = engine.related(&other).err().unwrap();
        let EngineError::InvalidArgument { field, .. } = refused else { panic!("{refused}") };
        assert_eq!(field, "resume_token", "{other:?}");
    }
    let settings = RelatedSettings { held_generations: 0, ..RelatedSettings::default() };
    let forgetful = vault.engine.clone().with_related(settings);
    assert_eq!(told(&forgetful.related(&next).unwrap())[0], "Object shade", "of the newest");
    let gone = RelatedRequest { resume_token: "0.ab.1".into(), ..next };
    let refused = forgetful.related(&gone).err().unwrap();
    assert!(matches!(refused, EngineError::Stale { asked: 0, .. }), "{refused}");
}

#[test]
fn what_cannot_be_asked_says_why() {
    let vault = Vault::new(GARDEN);
    let too_much = Budget::Window(Tokens::new(1_000_001));
    let forged = format!("{}.0.{}", vault.engine.snapshot().generation, "1-".repeat(1000) + "1");
    for (request, expected) in [
        (
            RelatedRequest { budget: too_much, ..around("fern") },
            "`window`: 1000001 tokens are more",
        ),
        (RelatedRequest { estimator: Some("x".into()), ..around("fern") }, "`estimator`: `x` is"),
        (RelatedRequest { resume_token: forged, ..around("fern") }, "`resume_token`: it continues"),
        (around("fren"), "no note is named `fren`; near it are `fern`"),
    ] {
        let refused = vault.engine.related(&request).err().unwrap().to_string();
        assert!(refused.starts_with(expected), "{refused}");
    }
}

#[test]
fn an_answer_is_written_in_the_form_asked_for() {
    let vault = Vault::new(GARDEN);
    for (rendering, start) in [
        (Rendering::None, None),
        (Rendering::Markdown, Some("The notes below")),
        (Rendering::Xml, Some("<context>")),
        (Rendering::Json, Some("{\"explanation\":")),
    ] {
        let answer = vault.engine.related(&RelatedRequest { rendering, ..around("fern") }).unwrap();
        let text = answer.rendered.as_deref();
        assert_eq!(text.is_some(), start.is_some(), "{rendering:?}");
        assert!(text.unwrap_or_default().starts_with(start.unwrap_or_default()), "{rendering:?}");
    }
}
