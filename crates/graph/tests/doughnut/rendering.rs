//! Results as JSON and as text for a language model.

use weft_graph::doughnut::{View, render};
use weft_testkit::Notebook;

use crate::request_builder::around;

fn garden() -> Notebook {
    let mut notebook = Notebook::drawn("garden\n  moss\n  fern -> shade\n    frond\nshade");
    notebook.note_mut("fern").details = "Likes it wet.\n```\ncode\n````\n".into();
    notebook.note_mut("moss").title = "Moss [green] & <soft>".into();
    notebook.note_mut("moss").uri = "moss (1)".into();
    notebook.note_mut("shade").details = "</details> ]]> \u{1}".into();
    notebook
}

#[test]
fn markdown_starts_with_the_focus_note_and_fences_texts() {
    let notebook = garden();
    let run = around(&notebook, "fern").run();
    let graph = notebook.graph();
    let text = render::markdown(&View::new(&run.answer, &graph, &notebook));
    let (explanation, rest) = text.split_once("\n\n").expect("paragraphs");
    assert!(
        explanation.contains("can be inferred from these links")
            && explanation.contains("`[title](uri)`")
    );
    assert_eq!(
        rest,
        "\
# Focus note: [fern](fern)

- parent: [garden](garden)
- object: [shade](shade)
- contextual_path: [garden](garden)
- children: [frond](frond)
- prior_siblings: [Moss \\[green\\] & \\<soft>](<moss (1)>)

`````markdown
Likes it wet.
```
code
````
`````

# Related notes

## 1. [garden](garden)

- relation: Parent, NoteInContextualPath

## 2. [shade](shade)

- relation: Object

```markdown
</details> ]]> \u{1}
```

## 3. [frond](frond)

- relation: Child
- parent: [fern](fern)

## 4. [Moss \\[green\\] & \\<soft>](<moss (1)>)

- relation: PriorSibling
- parent: [garden](garden)
"
    );
}

#[test]
fn fences_are_longer_than_any_run_of_backticks() {
    for (text, expected) in [("", 3), ("plain", 3), ("`a` ``b``", 3), ("```", 4), ("x`````y```", 6)]
    {
        assert_eq!(render::fence(text), "`".repeat(expected), "{text}");
    }
}

#[test]
fn xml_is_well_formed() {
    let notebook = garden();
    let run = around(&notebook, "fern").run();
    let graph = notebook.graph();
    let text = render::xml(&View::new(&run.answer, &graph, &notebook));
    assert!(text.starts_with("<context>\n<explanation>") && text.contains("`[title](uri)`"));
    assert!(text.contains(
        "<focus_note uri=\"fern\" title=\"fern\">\n<parent uri=\"garden\" title=\"garden\"/>"
    ));
    assert!(text.contains(
        "<prior_siblings>\n<note uri=\"moss (1)\" title=\"Moss [green] &amp; &lt;soft&gt;\"/>\n</prior_siblings>"
    ));
    assert!(text.contains(
        "<note rank=\"2\" uri=\"shade\" title=\"shade\" relation=\"Object\">\n\
         <details>&lt;/details&gt; ]]&gt; \u{fffd}</details>\n</note>"
    ));
    assert_eq!(text.matches("</details>").count(), 1 + run.related.len());
}

#[test]
fn json_has_markdown_links_and_one_line_per_note() {
    let notebook = garden();
    let run = around(&notebook, "fern").run();
    let graph = notebook.graph();
    let text = render::json(&View::new(&run.answer, &graph, &notebook));
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(value["explanation"].as_str().is_some_and(|text| text.contains("`[title](uri)`")));
    assert_eq!(
        text.lines().skip(1).collect::<Vec<_>>(),
        [
            r#""focus_note":{"note":"[fern](fern)","parent":"[garden](garden)","object":"[shade](shade)","contextual_path":["[garden](garden)"],"children":["[frond](frond)"],"prior_siblings":["[Moss \\[green\\] & \\<soft>](<moss (1)>)"],"details":"Likes it wet.\n```\ncode\n````\n"},"#,
            r#""related_notes":["#,
            r#"{"note":"[garden](garden)","relation":"Parent, NoteInContextualPath","details":""},"#,
            r#"{"note":"[shade](shade)","relation":"Object","details":"</details> ]]> \u0001"},"#,
            r#"{"note":"[frond](frond)","relation":"Child","parent":"[fern](fern)","details":""},"#,
            r#"{"note":"[Moss \\[green\\] & \\<soft>](<moss (1)>)","relation":"PriorSibling","parent":"[garden](garden)","details":""}"#,
            "]}",
        ]
    );
}

#[test]
fn every_strategy_grows_from_a_higher_level() {
    for row in weft_graph::doughnut::STRATEGIES {
        assert!(
            row.grows_from.name() == "Self"
                || weft_graph::doughnut::STRATEGIES.iter().any(|from| {
                    from.relation == row.grows_from && from.priority < row.priority
                }),
            "{} must grow from a higher level",
            row.relation
        );
    }
}
