//! Line records.

use proptest::prelude::*;
use weft_graph::walk::records::{EdgeRecord, Field, NoteRecord, RecordHeader, records};
use weft_model::Chars;

fn header() -> RecordHeader {
    RecordHeader {
        mode: "tree".into(),
        fields: vec![
            ("root", Field::Text("a".into())),
            ("direction", Field::Word("both".into())),
            ("max_hops", Field::Word("3".into())),
        ],
        truncated: false,
    }
}

const HEAD: &str =
    "H weft=1 records=1 mode=tree root=\"a\" direction=both max_hops=3 truncated=false\n";

#[test]
fn each_record_is_one_line() {
    let tags = ["bio".to_owned(), "a,b".to_owned()];
    let notes = [
        NoteRecord {
            id: "a",
            note_type: Some("idea"),
            title: "The \"A\"",
            tags: &tags,
            summary: Some("Two\nlines \\ one"),
        },
        NoteRecord { id: "my note", title: "", ..NoteRecord::default() },
        NoteRecord { id: "-", note_type: Some("-"), title: "-", ..NoteRecord::default() },
    ];
    let edges = [EdgeRecord { from: "a", kind: "see also", to: "my note", source: "typed" }];
    let expected = [
        HEAD,
        "N a idea \"The \\\"A\\\"\" tags=bio,a\\,b\n",
        "S a Two\\nlines \\\\ one\n",
        "N my\\ note - \"\" tags=\n",
        "N \\- \\- \"-\" tags=\n",
        "E a see\\ also my\\ note typed\n",
    ];
    assert_eq!(records(&header(), notes, edges, None), expected.concat());
    assert_eq!(records(&header(), [], [], None), HEAD);
}

#[test]
fn field_text_cannot_end_the_field_or_line() {
    for (raw, bare) in [
        ("tab\there", "tab\\there"),
        ("cr\r\nlf", "cr\\r\\nlf"),
        ("wide\u{a0}space", "wide\\\u{a0}space"),
        ("bell\u{7}", "bell\\u{7}"),
        ("line\u{2028}end", "line\\u{2028}end"),
        ("q\"q", "q\\\"q"),
        ("漢🌿", "漢🌿"),
    ] {
        let edge = EdgeRecord { from: raw, kind: "k", to: "t", source: "inline" };
        let text = records(&header(), [], [edge], None);
        assert_eq!(text.strip_prefix(HEAD), Some(&*format!("E {bare} k t inline\n")));
    }
}

#[test]
fn truncation_is_reported_in_the_header() {
    let note = |id| NoteRecord { id, title: "漢字", ..NoteRecord::default() };
    let whole = records(&header(), [note("a"), note("b")], [], None);
    let n_chars = Chars::of(&whole).0;
    let within = |n| records(&header(), [note("a"), note("b")], [], Some(Chars(n)));
    assert_eq!(within(n_chars), whole, "reached exactly");
    let head = HEAD.replace("false", "true");
    let one = format!("{head}N a - \"漢字\" tags=\n");
    assert_eq!(within(n_chars - 1), one);
    assert_eq!(within(Chars::of(&one).0), one);
    assert_eq!(within(Chars::of(&one).0 - 1), head);
    assert_eq!(within(Chars::of(&head).0 - 1), "");
    let cut = RecordHeader { truncated: true, ..header() };
    assert!(records(&cut, [], [], None).ends_with("truncated=true\n"));
}

/// Splits a line of unquoted fields, as a script would.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' => fields.push(String::new()),
            '\\' => {
                let field = fields.last_mut().expect("never empty");
                match chars.next() {
                    Some('n') => field.push('\n'),
                    Some('r') => field.push('\r'),
                    Some('t') => field.push('\t'),
                    Some('u') => {
                        let digits: String =
                            chars.by_ref().take_while(|c| *c != '}').skip(1).collect();
                        let number = u32::from_str_radix(&digits, 16).expect("hexadecimal");
                        field.push(char::from_u32(number).expect("a character"));
                    }
                    Some(c) => field.push(c),
                    None => panic!("a backslash ends the line"),
                }
            }
            c => fields.last_mut().expect("never empty").push(c),
        }
    }
    fields
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_round_trips(from in "\\PC{1,8}|[\\n\\r\\t \\\\\",u{}\u{85}\u{2028}-]{1,6}", to in any::<String>()) {
        prop_assume!(!to.is_empty());
        let text = records(&header(), [], [EdgeRecord { from: &from, kind: "k", to: &to, source: "s" }], None);
        let rest = text.strip_prefix(HEAD).expect("the header");
        let line = rest.strip_suffix('\n').expect("an end of line");
        prop_assert_eq!(fields(line), ["E", &from, "k", &to, "s"]);
        prop_assert_eq!(line.lines().count(), 1);
    }

    #[test]
    fn max_chars_is_never_exceeded(titles in prop::collection::vec("\\PC{0,9}", 0..5), limit in 0..400_u64) {
        let notes = || titles.iter().map(|title| NoteRecord { id: "n", title, ..NoteRecord::default() });
        let whole = records(&header(), notes(), [], None);
        let cut = records(&header(), notes(), [], Some(Chars(limit)));
        prop_assert!(Chars::of(&cut).0 <= limit);
        let fits = Chars::of(&whole).0 <= limit;
        prop_assert_eq!(fits, cut == whole);
        prop_assert_eq!(fits, cut.starts_with(HEAD));
        for (line, expected) in cut.lines().zip(whole.lines()).skip(1) {
            prop_assert_eq!(line, expected);
        }
    }
}
