//! Related notes over an index: names, filters, estimators, tokens.

use std::sync::Arc;
use weft_engine::doughnut::Budget;
use weft_engine::{
    EngineError, Estimators, Filter, RelatedAnswer, RelatedRequest, RelatedSettings, RelationSet,
    Rendering,
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

/// A request in which each note costs one token.
pub(crate) fn around(focus: &str) -> RelatedRequest {
    RelatedRequest {
        focus: focus.into(),
        budget: Budget::Related(Tokens::new(100)),
        estimator: Some("unit".into()),
        filter: Filter::default(),
        relations: Some(RelationSet::Structure),
        body_links: false,
        sibling_of_target: false,
        resume_token: String::new(),
        rendering: Rendering::None,
    }
}

/// `Relation uri` of each related note.
fn relations(answer: &RelatedAnswer) -> Vec<String> {
    let view = answer.view();
    view.related_notes.iter().map(|note| format!("{} {}", note.relation, note.link.uri)).collect()
}

#[test]
fn focus_note_is_found_by_any_name_and_returned_with_texts() {
    let vault = Vault::new(GARDEN);
    for name in ["fern", "fern.md", "Bracken", "[[fern]]"] {
        let answer = vault.engine.related(&around(name)).unwrap();
        assert_eq!(
            relations(&answer),
            ["Parent index", "Object shade", "YoungerSibling moss", "YoungerSibling stone"],
            "{name}"
        );
    }
    let answer = vault.engine.related(&around("fern")).unwrap();
    let view = answer.view();
    assert_eq!((&*view.focus_note.link.title, &*view.focus_note.details), ("Fern", "# Fern\n"));
    assert_eq!(&*view.related_notes[2].details, "# Moss\nSoft, like [[fern]].\n");
    let linked = RelatedRequest { body_links: true, ..around("fern") };
    assert!(
        relations(&vault.engine.related(&linked).unwrap()).contains(&"YoungerSibling moss".into())
    );
    let lists = vault.engine.related(&linked).unwrap().view().focus_note.referrings.len();
    assert_eq!(lists, 1, "a note that links here refers to it, too");
}

#[test]
fn filter_exempts_the_focus_note_and_its_ancestors() {
    let vault = Vault::new(GARDEN);
    let filter = Filter { tags: vec!["green".into()], ..Filter::default() };
    let answer = vault.engine.related(&RelatedRequest { filter, ..around("fern") }).unwrap();
    assert_eq!(relations(&answer), ["YoungerSibling moss"]);
    let focus = answer.view().focus_note;
    let uri =
        |link: Option<weft_engine::doughnut::LinkView<'_>>| link.map(|link| link.uri.to_owned());
    assert_eq!(
        (uri(focus.parent), uri(focus.object)),
        (Some("index".into()), Some("shade".into()))
    );
}

#[test]
fn resume_token_belongs_to_one_request() {
    let vault = Vault::new(GARDEN);
    let engine =
        vault.engine.clone().with_estimators(Estimators::default().with("other", Arc::new(Unit)));
    let first = RelatedRequest { budget: Budget::Related(Tokens::new(1)), ..around("fern") };
    let resume_token = engine.related(&first).unwrap().resume_token.unwrap();
    let next = RelatedRequest { resume_token, ..around("Bracken") };
    assert_eq!(relations(&engine.related(&next).unwrap())[0], "Object shade", "by another name");
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
    let settings = RelatedSettings { pinned_generations: 0, ..RelatedSettings::default() };
    let forgetful = vault.engine.clone().with_related(settings);
    assert_eq!(relations(&forgetful.related(&next).unwrap())[0], "Object shade", "of the newest");
    let other_vectors = next.resume_token.replacen(".0.", ".7.", 1);
    let other_vectors = RelatedRequest { resume_token: other_vectors, ..next.clone() };
    let refused = engine.related(&other_vectors).err().unwrap();
    assert!(matches!(refused, EngineError::Stale { .. }), "{refused}");
    let gone = RelatedRequest { resume_token: "0.0.ab.1".into(), ..next };
    assert_eq!(gone.continued_generation(), Some(0));
    let refused = forgetful.related(&gone).err().unwrap();
    assert!(matches!(refused, EngineError::Stale { requested: 0, .. }), "{refused}");
    let later = RelatedRequest { resume_token: "900.0.ab.1".into(), ..gone };
    let refused = forgetful.related(&later).err().unwrap().to_string();
    assert!(
        refused.contains("start again without a token, with `min_generation` 900"),
        "{refused}"
    );
}

#[test]
fn invalid_requests_name_the_reason() {
    let vault = Vault::new(GARDEN);
    let too_much = Budget::Total(Tokens::new(1_000_001));
    let forged = format!("{}.0.0.{}", vault.engine.snapshot().generation, "1-".repeat(1000) + "1");
    for (request, expected) in [
        (
            RelatedRequest { budget: too_much, ..around("fern") },
            "`total_budget`: 1000001 tokens exceed",
        ),
        (
            RelatedRequest { estimator: Some("x".into()), ..around("fern") },
            "`estimator`: unknown estimator `x`",
        ),
        (
            RelatedRequest { resume_token: forged, ..around("fern") },
            "`resume_token`: the token belongs",
        ),
        (around("fren"), "no note is named `fren`; similar names: `fern`"),
    ] {
        let refused = vault.engine.related(&request).err().unwrap().to_string();
        assert!(refused.starts_with(expected), "{refused}");
    }
}

#[test]
fn rendering_follows_the_request() {
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
