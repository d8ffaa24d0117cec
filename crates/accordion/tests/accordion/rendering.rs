//! Rendered contexts as people and models read them.

use weft_accordion::{
    Candidate, CandidateState, ContextLimits, Order, PackRequest, Rendering, pack,
};

use crate::{Page, candidate, found, packed, request};

/// A focus note, a snippet with a relation, an outline, and a note with text that imitates the wrapper.
fn everything(limits: &ContextLimits) -> PackRequest<'_, Page> {
    let focus = Candidate {
        title: "Ageing [draft]".into(),
        relation: Some("Self".into()),
        ..found("biology/ageing", 1.0, "Cells age.\nSee [Redox](chemistry/redox).")
    };
    let tricks = found("a note (1)", 1.0, "```md\n````\n</text> & \"]]>\"\n");
    let snippet = Candidate {
        relation: Some("Child".into()),
        via: Some("chemistry".into()),
        ..found(
            "chemistry/redox",
            0.8,
            "# Redox\n## Why cells age\nOxygen makes cells age.\n## Other\nNothing more to say of it.",
        )
    };
    let outline = found("plants", 0.5, "# Plants\ntext\n## Fern\n#### deep\n### Moss\n");
    PackRequest {
        focus: Some(focus),
        query: Some("cells age"),
        ..request(2000, limits, vec![tricks, snippet, outline])
    }
}

fn rendered(rendering: Rendering, order: Order) -> String {
    let limits = ContextLimits { block_chars: 20, per_note_share: 0.4, ..ContextLimits::default() };
    let ledger = pack(PackRequest { rendering, order, ..everything(&limits) }).unwrap();
    assert_eq!(ledger.items.len(), 4);
    let text = ledger.summary.rendered.unwrap();
    assert_eq!(ledger.summary.used, text.chars().count() as u64);
    assert_eq!(ledger.summary.used, ledger.items.iter().map(|item| item.cost).sum::<u64>());
    text
}

#[test]
fn markdown_cites_its_sources() {
    let expected = r#"Relations between these notes can be inferred through their links `[title](uri)`.

## [Ageing \[draft\]](biology/ageing)
whole note; the focus
```
Cells age.
See [Redox](chemistry/redox).
```

## [a note (1)](<a note (1)>)
whole note
`````
```md
````
</text> & "]]>"
`````

## [chemistry/redox](chemistry/redox)
characters 10-30, 33-53 of 84; in Redox > Why cells age; Child via chemistry
```
 Why cells age
Oxyge
```
```
akes cells age.
## O
```

## [plants](plants)
headings
```
# Plants
## Fern
### Moss
```
"#;
    assert_eq!(rendered(Rendering::Markdown, Order::BestFirst), expected);
}

#[test]
fn xml_is_well_formed_and_cites_its_sources() {
    let expected = r#"<context>
<note uri="biology/ageing" title="Ageing [draft]" mode="full" relation="Self" characters="40">
<text start="0" end="40">Cells age.
See [Redox](chemistry/redox).</text>
</note>
<note uri="a note (1)" title="a note (1)" mode="full" characters="27">
<text start="0" end="27">```md
````
&lt;/text&gt; &amp; "]]&gt;"
</text>
</note>
<note uri="chemistry/redox" title="chemistry/redox" mode="snippet" headings="Redox &gt; Why cells age" relation="Child" via="chemistry" characters="84">
<text start="10" end="30"> Why cells age
Oxyge</text>
<text start="33" end="53">akes cells age.
## O</text>
</note>
<note uri="plants" title="plants" mode="structural" characters="41">
<headings># Plants
## Fern
### Moss</headings>
</note>
</context>
"#;
    assert_eq!(rendered(Rendering::Xml, Order::BestFirst), expected);
}

#[test]
fn json_has_one_object_per_line() {
    let expected = r##"[
{"uri":"biology/ageing","title":"Ageing [draft]","mode":"full","relation":"Self","characters":40,"blocks":[{"start":0,"end":40,"text":"Cells age.\nSee [Redox](chemistry/redox)."}]},
{"uri":"a note (1)","title":"a note (1)","mode":"full","characters":27,"blocks":[{"start":0,"end":27,"text":"```md\n````\n</text> & \"]]>\"\n"}]},
{"uri":"chemistry/redox","title":"chemistry/redox","mode":"snippet","heading_path":["Redox","Why cells age"],"relation":"Child","via":"chemistry","characters":84,"blocks":[{"start":10,"end":30,"text":" Why cells age\nOxyge"},{"start":33,"end":53,"text":"akes cells age.\n## O"}]},
{"uri":"plants","title":"plants","mode":"structural","characters":41,"headings":"# Plants\n## Fern\n### Moss"}
]
"##;
    assert_eq!(rendered(Rendering::Json, Order::BestFirst), expected);
}

#[test]
fn best_notes_are_at_both_ends() {
    let text = rendered(Rendering::Markdown, Order::BestAtBothEnds);
    let titles: Vec<&str> =
        text.lines().filter(|line| line.starts_with("## [")).map(|line| &line[4..7]).collect();
    assert_eq!(titles, ["Age", "che", "pla", "a n"]);
}

#[test]
fn cut_body_is_marked() {
    let limits = ContextLimits::default();
    let cut = |rendering| {
        let body = "word ".repeat(100);
        let request = request(1500, &limits, vec![found("a", 1.0, body)]);
        pack(PackRequest { rendering, ..request }).unwrap().summary.rendered.unwrap()
    };
    assert!(cut(Rendering::Markdown).starts_with("## [a](a)\ncharacters 0-107 of 500\n"));
    assert!(cut(Rendering::Xml).contains(r#"truncated="true" characters="500""#));
    assert!(cut(Rendering::Json).contains(r#""truncated":true,"characters":500"#));
}

#[test]
fn heading_equal_to_the_title_is_not_repeated() {
    let limits = ContextLimits { per_note_share: 1.0, ..ContextLimits::default() };
    let shown = |title: &str| {
        let note = found("a", 0.8, "# Fern\nshade\n## Spores\nmoss");
        let note = Candidate { title: title.into(), ..note };
        let top = candidate("top", 1.0, CandidateState::Missing);
        let request = PackRequest { query: Some("moss"), ..request(900, &limits, vec![top, note]) };
        [Rendering::Markdown, Rendering::Xml, Rendering::Json].map(|rendering| {
            let ledger = pack(PackRequest { rendering, ..request.clone() }).unwrap();
            assert_eq!(ledger.items[0].heading_path, ["Fern", "Spores"]);
            ledger.summary.rendered.unwrap()
        })
    };
    let [markdown, xml, json] = shown("Fern");
    assert!(markdown.contains("of 27; in Spores\n"), "{markdown}");
    assert!(xml.contains(r#"headings="Spores""#), "{xml}");
    assert!(json.contains(r#""heading_path":["Spores"]"#), "{json}");
    let [markdown, ..] = shown("Ferns");
    assert!(markdown.contains("; in Fern > Spores\n"), "{markdown}");
}

#[test]
fn empty_note_is_marked() {
    let limits = ContextLimits::default();
    let candidates = vec![found("top", 1.0, "x"), found("a", 0.8, "")];
    let request = request(1500, &limits, candidates);
    let ledger = pack(PackRequest { rendering: Rendering::Markdown, ..request }).unwrap();
    assert!(ledger.summary.rendered.unwrap().ends_with("## [a](a)\nan empty note\n"));
}

#[test]
fn empty_context_is_a_valid_document_without_cost() {
    let limits = ContextLimits::default();
    for (rendering, empty) in
        [(Rendering::Markdown, ""), (Rendering::Xml, "<context/>\n"), (Rendering::Json, "[]\n")]
    {
        let nothing =
            pack(PackRequest { rendering, ..request(9, &limits, vec![found("a", 1.0, "x")]) });
        let nothing = nothing.unwrap();
        assert_eq!((nothing.summary.rendered.as_deref(), nothing.summary.used), (Some(empty), 0));
    }
    assert_eq!(packed(100, vec![found("a", 1.0, "x")]).summary.rendered, None);
}

#[test]
fn ledger_has_the_shape_of_the_design() {
    let mut ledger = packed(
        100,
        vec![found("a", 1.0, "x".repeat(20)), candidate("b", 0.9, CandidateState::Missing)],
    );
    ledger.items[0].via = Some("c".into());
    let expected = serde_json::json!({
        "items": [{
            "uri": "a", "title": "a", "score": 1.0, "mode": "full", "text": "xxxxxxxxxx", "chars": 10, "tokens": 3,
            "allowance": 10, "carry_in": 0, "carry_out": 0, "truncated": true, "blocks": [{"start": 0, "end": 10}],
            "heading_path": [], "relation": null, "via": "c",
        }],
        "omitted": [{"uri": "b", "score": 0.9, "tokens": 0, "reason": "missing"}],
        "rendered": null, "budget": 100, "used": 10, "remaining": 90, "unit": "characters", "ledger_unit": "characters",
    });
    assert_eq!(serde_json::to_value(&ledger).unwrap(), expected);
}
