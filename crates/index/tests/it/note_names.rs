//! Notes found by the names that people give.

use weft_model::{Note, NoteId, NotePath};

use crate::note_table::{VAULT, built, claiming, note};

#[test]
fn whole_name_is_tried_before_cutting_off_a_fragment() {
    let table = built([
        note("C.md"),
        note("C#.md"),
        note("lang/F#.md"),
        Note { title: "Title of a".into(), ..note("a.md") },
        note("a|b.md"),
        claiming("n.md", "u#1"),
    ]);
    let from = table.at(VAULT, &NotePath::new("lang/F#.md")).expect("there");
    let cases = [
        ("C#.md", Some("C#")),
        ("C#", Some("C#")),
        ("c#.MD", Some("C#")),
        ("F#", Some("lang/F#")),
        ("C", Some("C")),
        ("C#Types", Some("C")),
        ("a|b.md", Some("a|b")),
        ("a|c", Some("a")),
        ("a#x|y", Some("a")),
        ("u#1", Some("u#1")),
        ("[[C#]]", Some("C")),
        ("[[a|b]]", Some("a")),
        ("[[a#x#y|b]]", Some("a")),
        ("C##x", Some("C#")),
        ("#x", None),
        ("", None),
    ];
    for (text, expected) in cases {
        let uri = |id: Option<NoteId>| id.map(|id| table.graph().uri(id).as_str());
        assert_eq!(uri(table.find(text).note), expected, "{text}");
        assert_eq!(uri(table.find_from(text, from).note), expected, "{text} in a note");
    }
    for (text, expected) in [
        ("C#", None),
        ("C##x", Some("x")),
        ("C#Types", Some("Types")),
        ("C#", None),
        ("[[a#x#y|b]]", Some("x#y")),
        ("a#x#y", Some("x#y")),
        ("a#^b1|shown", Some("^b1")),
        ("u#1", None),
        ("u#1#2", Some("2")),
        ("a.md#x y", Some("x y")),
        ("Title of a#x", Some("x")),
        ("a#", None),
    ] {
        let (found, fragment) = table.find_part(text);
        assert_eq!((found.note.is_some(), fragment.as_deref()), (true, expected), "{text}");
    }
}

#[test]
fn titles_are_found_by_people_but_not_by_links() {
    let titled = |path: &str, title: &str| Note { title: title.into(), ..note(path) };
    let table = built([
        titled("a.md", "On Peat"),
        titled("b.md", "on peat"),
        titled("c.md", "Bogs: Wet"),
        titled("d.md", "Bogs: Wet"),
        titled("e.md", "a"),
        note("f.md"),
    ]);
    let uris = |text: &str| -> Vec<&str> {
        let found = table.find(text).candidates;
        found.iter().map(|id| table.graph().uri(*id).as_str()).collect()
    };
    for (text, expected) in [
        ("On Peat", &["a"][..]),
        ("on peat", &["b"]),
        (" ON PEAT ", &["a", "b"]),
        ("Bogs: Wet", &["c", "d"]),
        ("a", &["a"]),
        ("Peat", &[]),
        (" ", &[]),
    ] {
        assert_eq!(uris(text), expected, "{text:?}");
    }
    assert_eq!(table.find("On Peat").rule, Some("title"));
    assert_eq!(table.find_linked("On Peat").note, None);
    let from = table.at(VAULT, &NotePath::new("f.md")).expect("there");
    assert_eq!(table.find_from("On Peat", from).note, None);
}

#[test]
fn overlong_text_has_no_near_matches() {
    let long = "fern ".repeat(10_000);
    let table = built([note("fern.md"), Note { title: long.clone(), ..note("moss.md") }]);
    assert_eq!(table.near_matches("fren").len(), 1);
    assert!(table.near_matches(&long[..long.len() - 1]).is_empty());
}
