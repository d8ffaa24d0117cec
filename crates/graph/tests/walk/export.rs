//! Export of the whole graph.

use weft_graph::walk::export::{ExportFormat, NoteFields, write};

use super::text_graph::{Vault, name, vault};

fn export_text(vault: &Vault, format: ExportFormat) -> String {
    let tags = ["x".to_owned(), "y\"z".to_owned()];
    let fields = |id| match name(&vault.graph, id).as_str() {
        "a" => NoteFields {
            title: Some("A \"&\\\n<1>"),
            path: Some("a.md"),
            note_type: Some("idea"),
            tags: &tags,
        },
        "b" => NoteFields { title: Some("B"), path: Some("b.md"), ..NoteFields::default() },
        _ => NoteFields::default(),
    };
    let mut text = String::new();
    write(&vault.graph, format, 42, fields, &mut text).expect("a string");
    text
}

const VAULT: &str = "b supports a; b ~ a; a ~ ?ghost";

#[test]
fn json_has_the_documented_shape() {
    let expected = r#"{"nodes":[
{"id":"a","title":"A \"&\\\n<1>","path":"a.md","type":"idea","tags":["x","y\"z"],"placeholder":false},
{"id":"b","title":"B","path":"b.md","type":null,"tags":[],"placeholder":false},
{"id":"ghost","title":null,"path":null,"type":null,"tags":[],"placeholder":true}],
"edges":[
{"from":"a","to":"ghost","type":"related","source":"inline"},
{"from":"b","to":"a","type":"related","source":"inline"},
{"from":"b","to":"a","type":"supports","source":"typed"}],
"generation":42}
"#;
    assert_eq!(export_text(&vault(VAULT), ExportFormat::Json), expected);
}

#[test]
fn graphml_declares_its_keys() {
    let text = export_text(&vault(VAULT), ExportFormat::GraphMl);
    assert!(text.contains(
        "<node id=\"a\"><data key=\"title\">A &#34;&#38;\\&#10;&#60;1&#62;</data><data key=\"path\">a.md</data>\
         <data key=\"note_type\">idea</data><data key=\"tags\">x,y&#34;z</data><data key=\"placeholder\">false</data></node>"
    ));
    assert!(text.contains("<edge source=\"b\" target=\"a\"><data key=\"type\">supports</data><data key=\"source\">typed</data></edge>"));
    for used in text.split("<data key=\"").skip(1) {
        let key = used.split('"').next().expect("a key");
        assert!(text.contains(&format!("<key id=\"{key}\" ")), "{key} is not declared");
    }
}

#[test]
fn dot_dashes_placeholders_and_inline_edges() {
    let expected = r#"digraph vault {
  "a" [label="A \"&\\\n<1>"];
  "b" [label="B"];
  "ghost" [label="ghost", style=dashed];
  "a" -> "ghost" [label="related", style=dashed];
  "b" -> "a" [label="related", style=dashed];
  "b" -> "a" [label="supports"];
}
"#;
    assert_eq!(export_text(&vault(VAULT), ExportFormat::Dot), expected);
}

#[test]
fn unsupported_characters_are_replaced_or_escaped() {
    let control = vault("a\u{1}b");
    assert!(export_text(&control, ExportFormat::Json).contains(r#""id":"a\u0001b""#));
    assert!(export_text(&control, ExportFormat::GraphMl).contains("<node id=\"a\u{fffd}b\">"));
    assert!(export_text(&control, ExportFormat::Dot).contains(r#""a\u{1}b""#));
    let hidden = vault("a\u{202e}b");
    assert!(export_text(&hidden, ExportFormat::Json).contains(r#""id":"a\u202eb""#));
    assert!(export_text(&hidden, ExportFormat::GraphMl).contains("<node id=\"a&#8238;b\">"));
    assert!(export_text(&hidden, ExportFormat::Dot).contains(r#""a\u{202e}b""#));
}

#[test]
fn formats_are_found_by_name() {
    for format in ExportFormat::ALL {
        assert_eq!(ExportFormat::from_name(format.name()), Some(format));
    }
    assert_eq!(ExportFormat::from_name("svg"), None);
}
