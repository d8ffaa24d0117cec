//! Tables of whole files and what is parsed from them, and properties for arbitrary files.

use proptest::prelude::*;
use weft_model::{Link, LinkSource, Note, NotePath, Severity, TargetSyntax};

use super::*;

mod dialects;

fn read(text: &str) -> Note {
    read_as("notes/moss.md", text, &ParseOptions::default()).0
}

fn read_as(path: &str, text: &str, options: &ParseOptions) -> (Note, Vec<Diagnostic>) {
    parse(&NotePath::new(path), text.as_bytes(), options)
}

fn codes(bytes: &[u8]) -> Vec<String> {
    let (_, diagnostics) = parse(&NotePath::new("a.md"), bytes, &ParseOptions::default());
    diagnostics.into_iter().map(|diagnostic| diagnostic.code).collect()
}

/// Formats a link as one line: `type: name#fragment (display)`, with the syntax if it is not plain.
fn line(link: &Link) -> String {
    let mut line = format!("{}: {}", link.kind, link.target.name);
    if let Some(fragment) = &link.fragment {
        line += &format!("#{fragment}");
    }
    if let Some(display) = &link.display {
        line += &format!(" ({display})");
    }
    match link.target.syntax {
        TargetSyntax::Wikilink | TargetSyntax::Markdown => {}
        TargetSyntax::Listed => line += " listed",
        TargetSyntax::Tentative => line += " tentative",
        TargetSyntax::WikilinkToFile | TargetSyntax::MarkdownToFile => line += " file",
        TargetSyntax::WikilinkInVault => line += " in vault",
    }
    line
}

fn lines(text: &str) -> Vec<String> {
    read(text).links.iter().map(line).collect()
}

fn inline(text: &str) -> Vec<String> {
    lines(text).iter().map(|line| line.trim_start_matches("related: ").to_owned()).collect()
}

#[test]
fn inline_links_are_found_only_in_rendered_prose() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("a wikilink", "see [[Fern]].", &["Fern"]),
        ("with display", "[[Fern|the *fern*]]", &["Fern (the fern)"]),
        ("with heading", "[[Fern#Soil|x]] [[Fern#^b1]]", &["Fern#Soil (x)", "Fern#^b1"]),
        ("an embed", "![[Fern#Soil]] ![](a/fern.md)", &["Fern#Soil", "a/fern"]),
        ("within the note", "[[#Soil]] [x](#soil)", &[]),
        (
            "a table, bar escaped or not",
            "| a |\n|---|\n| [[Fern\\|f]] [[Moss|m]] |",
            &["Fern (f)", "Moss (m)"],
        ),
        (
            "table cells are separate",
            "| a | b |\n|---|---|\n| ` | [[A]] |\n| $HOME | [[B]] |\n| US$ | ` [[C]] |\n| 9%% | [[D]] |\n| 8%% | `[[E]]` |",
            &["A", "B", "C", "D"],
        ),
        ("a code span over lines of prose", "a ` | [[A]]\n| ` [[B]]", &["B"]),
        (
            "a Markdown link",
            "[the **fern**](<b c.md>) [x](d%20e.md#f%20g \"t\")",
            &["b c (the fern)", "d e#f g (x)"],
        ),
        (
            "a reference link",
            "[f][1] and [1]\n\n[1]: ../fern.md \"t\"",
            &["../fern (f)", "../fern (1)"],
        ),
        (
            "addresses",
            "[x](https://a.org) <https://b.org> [y](mailto:z@a.org) [[http://c.org]]",
            &[],
        ),
        ("attachments", "![[a.png]] ![x](b.jpg) [c](d.pdf) [[e.canvas]]", &[]),
        ("names with dots", "[[v1.2]] [[Dr. No]] [[Node.js]]", &["v1.2", "Dr. No", "Node.js"]),
        ("escaped", r"\[[Fern]] [\[Fern]] \![[Moss]]", &["Moss"]),
        ("unclosed before closed", "[[Fern and [[Moss]]", &["Moss"]),
        ("three brackets", "[[[Moss]]]", &["Moss"]),
        ("numbers in brackets", "[[1, 2], [3, 4]]", &[]),
        ("a bracket without its pair", "[[Sq]uare]] [[Sq[uare]]", &["Sq]uare"]),
        (
            "brackets at the end of a name",
            "[[Notes [draft]]] [[a[0]]], [[a[b[0]]]]] ![[a [b]]]",
            &["Notes [draft]", "a[0]", "a[b[0]]", "a [b]"],
        ),
        (
            "brackets before a bar and after it",
            "[[Notes [draft]|d]] [[Fern|a [b]]] [[Fern|a]b]]",
            &["Notes [draft] (d)", "Fern (a [b])", "Fern (a]b)"],
        ),
        ("a link of Org mode", "[[file.org][label]] [[label][[Fern]]]", &["Fern"]),
        ("an address after brackets", "[[a[0]]](b.md) [[a[1]]] (b.md)", &["b (a[0])", "a[1]"]),
        (
            "a query",
            "[a](b.md?x=1#y) [c](d.png?raw=1)",
            &["b.md?x=1#y (a)", "d.png?raw=1 (c) file"],
        ),
        ("empty", "[[]] [[ ]] [x]() [[|y]]", &[]),
        ("over two lines", "[[Fern\nMoss]]", &[]),
        ("inline code", "`[[Fern]]` ``[[Moss]] ` [a](b.md)``", &[]),
        ("quotes as TeX writes them", "``so'' [[Fern]] the``so''", &["Fern"]),
        (
            "HTML code",
            "a <code>[[Fern]]</code> <pre>[[Moss]]</pre> [[Yew]] <code>[[Oak]]",
            &["Yew", "Oak"],
        ),
        ("within an HTML block", "<div>\n%% [[Fern]] %%\n$[[Moss]]$ [[Yew]]\n</div>", &["Yew"]),
        ("delimiters in HTML code", "<code>%%</code> [[Fern]] <code>%%</code>", &["Fern"]),
        ("fenced code", "```\n[[Fern]]\n```\n~~~md\n[[Moss]]\n~~~", &[]),
        ("a fence never closed", "```\n[[Fern]]", &[]),
        ("indented code", "text\n\n    [[Fern]]\n", &[]),
        (
            "an outline under a heading",
            "## Parts\n\t- [[Fern]]\n\t\t- [[Moss]] #soft\n",
            &["Fern", "Moss"],
        ),
        (
            "HTML comments",
            "<!-- [[Fern]] --> [[Oak]]\n\na <!-- [[Moss]]\n[[Ivy]] --> [[Elm]]",
            &["Oak", "Elm"],
        ),
        ("an HTML comment over blocks", "<!--\n\n[[Fern]]\n\n-->\n[[Oak]]", &["Oak"]),
        ("an HTML attribute", "a <span title=\"[[Fern]]\">[[Oak]]</span>", &["Oak"]),
        (
            "an HTML block",
            "<details title=\"[[Fern]]\">\n  <b>[[Oak]]</b>\n</details>\n\n<pre>\n[[Ivy]]\n\n[[Elm]]\n</pre>",
            &["Oak"],
        ),
        ("a comment", "a %%[[Fern]]%% [[Oak]]", &["Oak"]),
        ("a block comment", "%%\n[[Fern]]\n\n- [[Moss]]\n%%\n\n[[Oak]]", &["Oak"]),
        ("percent signs in two paragraphs", "100%% of [[Fern]]\n\n20%% more", &["Fern"]),
        ("percent signs in code", "`%%` [[Fern]] `%%`", &["Fern"]),
        ("math", "$a_[[Fern]]$ and $$\n[[Moss]]\n$$ [[Oak]]", &["Oak"]),
        ("display math over blocks", "$$\na\n\n[[Fern]]\n$$\n[[Oak]]", &["Oak"]),
        (
            "prices",
            "$5 for [[Fern]] and $6; US$5 for [[Moss]] (US$6); a$ [[Oak]] $b",
            &["Fern", "Moss", "Oak"],
        ),
        ("escaped dollars", r"\$a [[Fern]]\$", &["Fern"]),
        ("a link defined twice", "[[Fern]] [[Fern]]", &["Fern", "Fern"]),
        (
            "Foam's definitions",
            "[[fern]] ![[fern|f]] [[moss#x]]\n\n> [[Fern]]\n\n[fern]: plants/fern.md \"Fern\"\n[fern|f]: fern\n[moss#x]: a/moss.md#x\n",
            &["plants/fern (fern)", "fern (f)", "a/moss#x (moss#x)", "plants/fern (Fern)"],
        ),
        ("a citation defined", "[[1]] [[2]]\n\n[1]: https://a.org\n", &["2"]),
        (
            "a citation",
            "[[1]](https://a.org) [[2]](#n) [[3]](b.md) the [[wolf]](s)",
            &["b (3)", "wolf"],
        ),
        (
            "Logseq",
            "[text]([[Fern]]) ((634fb3ee)) [x](((634fb3ee))) #[[two words]]",
            &["Fern", "two words"],
        ),
        ("a footnote", "a[^1]\n\n[^1]: see [[Fern]]", &["Fern"]),
        ("a link around a picture", "[![alt](p.png)](fern.md)", &["fern"]),
        ("in order", "[[b]] [x](a.md) ![[c]]", &["b", "a (x)", "c"]),
        ("backslashes and absolute paths", "[[a\\b]] [x](/c/d.md)", &["a/b", "/c/d (x)"]),
        ("decomposed letters", "[[Mo\u{308}wen]]", &["Möwen"]),
        ("windows line ends", "[[Fern]]\r\n\r\n[[Moss]]\r\n", &["Fern", "Moss"]),
        (
            "in headings, quotes, lists",
            "# [[A]]\n> [[B]]\n\n1. [[C]]\n   - [ ] [[D]]",
            &["A", "B", "C", "D"],
        ),
    ];
    for (name, text, expected) in cases {
        let found = inline(text);
        let found = found.iter().map(|found| match found.split_once(" (") {
            // A Markdown link's text is its display; compare it only if the table names it.
            Some((target, _)) if !expected.contains(&found.as_str()) => target,
            Some(_) | None => found,
        });
        assert_eq!(found.collect::<Vec<_>>(), *expected, "{name}");
    }
}

#[test]
fn spans_count_characters_of_body() {
    let note = read("---\ntitle: é\n---\né 漢 [[Fern|f]] 🌿 [x](y.md)\n\n- a\n  - b ^b1\n");
    let slices = note.links.iter().filter_map(|link| link.span).map(|span| span.slice(&note.body));
    assert_eq!(slices.collect::<Vec<_>>(), ["[[Fern|f]]", "[x](y.md)"]);
    let brackets = read("# é [[a[0]]]]\n");
    assert_eq!(brackets.links[0].span.map(|span| span.slice(&brackets.body)), Some("[[a[0]]]"));
    assert_eq!(brackets.headings[0].text, "é a[0]]");
    assert!(note.links.iter().all(|link| link.source == LinkSource::Inline));
    assert_eq!(note.blocks[0].span.slice(&note.body), "  - b ^b1");
}

#[test]
fn typed_links_come_from_every_property() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("quoted", "topics: \"[[Botany]]\"", &["topics: Botany"]),
        ("unquoted", "topics: [[Botany]]", &["topics: Botany"]),
        ("with display", "topics: [[Botany|plants]]", &["topics: Botany (plants)"]),
        ("with a comma", "topics: [[Botany, old]]", &["topics: Botany, old"]),
        (
            "with brackets",
            "topics: [[Notes [draft]]]\nsee: \"[[a[0]]], [[Sq]uare]]\"\nup: [[Sq]uare]]",
            &["topics: Notes [draft]", "see: a[0]", "see: Sq]uare", "up: Sq]uare"],
        ),
        ("a list in brackets", "topics: [\"[[A]]\", [[B]], plain]", &["topics: A", "topics: B"]),
        (
            "a list in lines",
            "topics:\n  - [[A]]\n  - '[[B#C]]'\n  - plain",
            &["topics: A", "topics: B#C"],
        ),
        (
            "several in one string",
            "topics: \"[[A]], [[B]] [[C]]\"",
            &["topics: A", "topics: B", "topics: C"],
        ),
        ("several that YAML rejects", "topics: [[A]], [[B]]", &["topics: A", "topics: B"]),
        ("several in quotes", "topics: \"[[A]]\", \"[[B]]\"", &["topics: A", "topics: B"]),
        ("within text", "about: \"see [[A]] there\"", &[]),
        ("Markdown", "topics: \"[a](b%20c.md)\"", &["topics: b c (a)"]),
        ("an address", "topics: \"[a](https://b.org)\"", &[]),
        ("plain text", "topics: Botany", &[]),
        ("an attachment", "cover: [[a.png]]", &[]),
        ("parent as text", "parent: Plants", &["parent: Plants tentative"]),
        ("parent as link", "up: [[Plants]]", &["up: Plants"]),
        ("a colon in a name", "parent: \"Data: a\"", &["parent: Data: a tentative"]),
        ("a number", "parent: 1.10", &["parent: 1.10 tentative"]),
        (
            "an address under source",
            "source: https://a.org/x#y.md",
            &["source: https://a.org/x#y.md tentative"],
        ),
        ("a link to an address under source", "source: \"[a](https://a.org)\"", &[]),
        (
            "object and target",
            "object: a.md\ntarget: production",
            &["object: a tentative", "target: production tentative"],
        ),
        (
            "the list of links",
            "links:\n  - {type: supports, id: a/b.md}\n  - {type: refutes, target: \"[[C#D]]\"}\n  - to: E\n  - F\n  - \"[[G]]\"",
            &[
                "supports: a/b listed",
                "refutes: C#D",
                "links: E listed",
                "links: F listed",
                "links: G",
            ],
        ),
        ("unquoted in the list", "links:\n  - type: cites\n    target: [[A]]", &["cites: A"]),
        (
            "an address in the list",
            "links: [{id: \"https://a.org\"}]",
            &["links: https://a.org tentative"],
        ),
        (
            "nested",
            "relations:\n  supports: [[b]]\n  refutes: [\"[[c]]\", d]\n  of:\n    - {by: [[e]], in: f}\n    - [[[g]]]",
            &["by: e", "of: g", "refutes: c", "supports: b"],
        ),
        (
            "nested names of places",
            "cards:\n  - target: [[a]]\n    parent: b\nsource: {page: [[c]], id: d}",
            &["cards: a", "page: c"],
        ),
        ("order of keys", "z: [[A]]\na: [[B]]", &["z: A", "a: B"]),
    ];
    for (name, yaml, expected) in cases {
        assert_eq!(lines(&format!("---\n{yaml}\n---\n")), *expected, "{name}");
    }
    let note = read("---\nz: [[A]]\n---\n[[B]]\n");
    assert_eq!(
        note.links.iter().map(|link| link.span.is_some()).collect::<Vec<_>>(),
        [false, true]
    );
    assert_eq!(codes(b"---\nlinks: [{type: x}, [], {id: a}]\n---\n"), [code::LINK_ENTRY.name; 2]);
}

#[test]
fn body_is_kept_byte_for_byte() {
    let cases = [
        ("plain", "---\na: 1\n---\n# x\n", "# x\n"),
        ("blank lines", "---\na: 1\n---\n\n  x \n\n", "\n  x \n\n"),
        ("windows line ends", "---\r\na: 1\r\n---\r\nx\r\n", "x\r\n"),
        ("dots", "---\na: 1\n...\nx", "x"),
        ("frontmatter only", "---\na: 1\n---", ""),
        ("empty", "---\n---\nx", "x"),
        ("a byte order mark", "\u{feff}---\na: 1\n---\nx", "x"),
        ("a byte order mark alone", "\u{feff}x", "x"),
        ("no frontmatter", "x\n---\na: 1\n---\n", "x\n---\na: 1\n---\n"),
        ("four dashes", "----\na: 1\n---\n", "----\na: 1\n---\n"),
        ("never closed", "---\na: 1\nx", "---\na: 1\nx"),
        ("prose between rules", "---\nSome prose.\n---\nx", "---\nSome prose.\n---\nx"),
        ("broken", "---\na: [\n---\nx", "x"),
        ("a rule later", "---\na: 1\n---\nx\n---\ny", "x\n---\ny"),
    ];
    for (name, text, body) in cases {
        assert_eq!(read(text).body, body, "{name}");
    }
}

#[test]
fn title_comes_from_first_source_that_has_one() {
    let cases = [
        ("frontmatter", "a/b.md", "---\ntitle: \" T\n  u \"\n---\n# H", "T u"),
        ("a number", "a/b.md", "---\ntitle: 1.10\n---\n", "1.10"),
        ("heading", "a/b.md", "\n# One `x` [[y|z]]\n# Two", "One x z"),
        ("heading below text", "a/b.md", "text\n\n# One", "b"),
        ("heading below another", "a/b.md", "## two\n# One", "b"),
        ("heading below comments", "a/b.md", "<!-- a > b -->\n%% x %%\n# One", "One"),
        ("heading below tags", "a/b.md", "<p align=\"right\">\n<img src=x>\n</p>\n\n# One", "One"),
        ("heading below a rule", "a/b.md", "* * *\n# One", "One"),
        ("heading below a sign", "a/b.md", "100 %\n\n# One", "b"),
        ("drawing", "a/b.md", "---\nexcalidraw-plugin: parsed\n---\n# Excalidraw Data", "b"),
        ("board", "a/b.md", "---\nkanban-plugin: board\n---\n# Done", "b"),
        ("setext", "a/b.md", "One\ntwo\n===\n", "One two"),
        ("an empty heading", "a/b.md", "#\n# One", "One"),
        ("attributes", "a/b.md", "# One { #one }", "One"),
        ("in code", "a/b.md", "```\n# No\n```\n", "b"),
        ("in a quote", "a/b.md", "> # No\n", "b"),
        ("in a comment", "a/b.md", "%%\n# No\n%%\n", "b"),
        ("file", "a/v1.2.md", "text", "v1.2"),
        ("folder", "a/b c/index.md", "text", "b c"),
        ("folder, in capitals", "a/README.md", "text", "a"),
        ("no folder", "README.md", "text", "README"),
        ("a list", "a/b.md", "---\ntitle: [x]\n---\n", "b"),
        ("a relation", "a/b.md", "---\ntype: Relationship\nrelation: part of\n---\n# H", "part of"),
        (
            "a relation with a title",
            "a/b.md",
            "---\ntype: relationship\nrelation: r\ntitle: T\n---\n",
            "T",
        ),
        ("a relation of another type", "a/b.md", "---\ntype: Note\nrelation: r\n---\n", "b"),
    ];
    for (name, path, text, title) in cases {
        assert_eq!(read_as(path, text, &ParseOptions::default()).0.title, title, "{name}");
    }
}

#[test]
fn names_tags_and_order_come_from_frontmatter() {
    let note = read(
        "---\nid: 1.10\naliases: [A, 2, A]\ntags: \"#x, y/z  w\"\ntype: [[Person]]\nnav_order: high\nweight: \"2.5\"\n---\n#w #v",
    );
    assert_eq!(note.claimed_uri.as_deref(), Some("1.10"));
    assert_eq!(note.aliases, ["A", "2"]);
    assert_eq!(note.tags, ["x", "y/z", "w", "v"]);
    assert_eq!(note.note_type.as_deref(), Some("Person"));
    assert_eq!(note.order, Some(2.5));
    assert_eq!(read("---\ntags: caf\u{e9}\n---\n#cafe\u{301}").tags, ["caf\u{e9}"]);
    let cases = [
        ("uri before id", "id: a\nuri: b", Some("b")),
        ("an empty uri", "id: a\nuri: ''", Some("a")),
        ("a date", "id: 2024-01-05", Some("2024-01-05")),
        ("a decomposed accent", "id: Cafe\u{301}", Some("Caf\u{e9}")),
        ("leading zeros", "id: 007", Some("007")),
        ("a boolean", "id: TRUE", Some("TRUE")),
        ("nothing", "id:", None),
        ("any case", "ID: a", Some("a")),
        ("a number of another program", "note_id: 12", Some("12")),
        ("id before it", "note_id: 12\nid: a", Some("a")),
    ];
    for (name, yaml, uri) in cases {
        let note = read(&format!("---\n{yaml}\n---\n"));
        assert_eq!(note.claimed_uri.as_deref(), uri, "{name}");
    }
    let inner =
        read_as("Sky/Moon/__index.md", "---\nalias: Luna\n---\n", &ParseOptions::default()).0;
    assert_eq!(inner.aliases, ["Luna", "Moon"]);
    for (yaml, aliases) in [
        ("aliases: Smith, John", &["Smith", "John", "Smith, John"][..]),
        ("aliases: ['Smith, John']", &["Smith, John"]),
        ("alias: [[X|Y]]", &["Y"]),
        ("alias: E\u{301}x", &["\u{c9}x"]),
    ] {
        assert_eq!(read(&format!("---\n{yaml}\n---\n")).aliases, aliases, "{yaml}");
    }
    for (yaml, tags) in [("[#proj, #idea]", ["proj", "idea"]), ("[to do, #b]", ["to do", "b"])] {
        assert_eq!(read(&format!("---\ntags: {yaml}\n---\n")).tags, tags, "{yaml}");
    }
    assert_eq!(read("---\ntags: [to read, '#a/']\ntag: b\n---\n").tags, ["to read", "a", "b"]);
}

#[test]
fn inline_tags_are_words_of_any_script() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("plain", "a #moss, #fern/soil. #a-b_c", &["moss", "fern/soil", "a-b_c"]),
        ("scripts", "#мох #苔 #हिन्दी #été #🌿", &["мох", "苔", "हिन्दी", "été", "🌿"]),
        ("keycaps", "#️⃣ #\u{20e3} #❤️ #हि", &["❤️", "हि"]),
        (
            "emoji",
            "#🏴\u{E0067}\u{E007F} #⏰ #⌛ #foo⏰ #▶️/a #◾ #↩️ #x™ #㊗️ #⌘ #a→b #wow‼",
            &[
                "🏴\u{E0067}\u{E007F}",
                "⏰",
                "⌛",
                "foo⏰",
                "▶️/a",
                "◾",
                "↩️",
                "x™",
                "㊗️",
                "⌘",
                "a",
                "wow",
            ],
        ),
        ("in cells", "|#a|b #c|\n|-|-|\n|#d|#e|\n\nno |#f|", &["a", "c", "d", "e"]),
        ("digits", "#12 #1/2 #12a #2024-01", &["12a", "2024-01"]),
        ("not after a letter", "a#b (#c) x#", &[]),
        ("at the front", "#a\n#b\n> #c\n>#d\n\n- #e\n- **#f**", &["a", "b", "c", "d", "e", "f"]),
        ("headings", "# a\n## #b", &["b"]),
        ("in HTML code", "<code>#a</code>", &[]),
        ("in a comment within HTML", "<div>\n%% #a %% #b\n</div>", &["b"]),
        ("in code", "`#a` \n\n```\n#b\n```\n\n    #c", &[]),
        (
            "in links and addresses",
            "[#a](b.md) [[x#y]] [[z| #w]] <https://a.org#b> https://a.org/#c",
            &[],
        ),
        ("escaped", r"\#a", &[]),
        ("in comments and math", "%% #a %% $#c$ #d", &["d"]),
        (
            "attributes",
            "## A { #a }\n\ntext\n{: #b k=\"x y\" }\n\n::: {.c #d}\n[e]{ #e_e_ - } #f\n:::",
            &["f"],
        ),
        ("braces around more", "{ #a and #b } {#c { #d\n} { #e", &["a", "b", "d", "e"]),
        ("repeats", "#a #a #A", &["a", "A"]),
        ("a slash at the end", "#a/ #/b", &["a"]),
    ];
    for (name, text, expected) in cases {
        assert_eq!(read(text).tags, *expected, "{name}");
    }
}

#[test]
fn headings_cover_their_source_lines() {
    let note =
        read("---\na: 1\n---\n  ## One ##\r\ntext\nTwo\n words\n---\n- ### Three\n\n#no\n# ");
    let found = note
        .headings
        .iter()
        .map(|heading| (heading.level, heading.text.as_str(), heading.span.slice(&note.body)));
    let expected = [
        (2, "One", "  ## One ##"),
        (2, "text Two words", "text\nTwo\n words\n---"),
        (3, "Three", "- ### Three"),
        (1, "", "# "),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);

    // A carriage return alone also ends a line.
    let note = read("# One\rtext\r\rTwo\r---\rmore ^p1\r## Three");
    let found = note.headings.iter().map(|heading| heading.span.slice(&note.body));
    assert_eq!(found.collect::<Vec<_>>(), ["# One", "Two\r---", "## Three"]);
    assert_eq!(note.blocks[0].span.slice(&note.body), "more ^p1");
}

#[test]
fn headings_contain_rendered_text() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("a comment within", "# Plan %%secret%% now", &["Plan now"]),
        ("a comment alone", "# %%secret%%\n%%draft%%\n---", &[]),
        ("a comment before", "%%draft%% Other\n---", &["Other"]),
        ("within a comment", "%%\n# One\n%%\n# Two", &["Two"]),
        ("beside an escape", r"# A \* b %%c%%", &["A * b"]),
        ("math", "# The $E=mc^2$ law\n\n$x$ and y\n===", &["The $E=mc^2$ law", "$x$ and y"]),
        ("code", "# The `code` of <code>x</code>", &["The code of x"]),
        ("the name of a block", "# Head ^h1\n## x^2\n### Both ^h2 {#id}", &["Head", "x^2", "Both"]),
        (
            "braces",
            "# The set {x=1}\n# In {.css}\n# Not {.css",
            &["The set {x=1}", "In", "Not {.css"],
        ),
    ];
    for (name, text, expected) in cases {
        let note = read(text);
        let found: Vec<&str> = note.headings.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(found, *expected, "{name}");
    }
}

#[test]
fn blocks_are_named_at_their_end() {
    let note = read(
        "one\ntwo ^p1\n\n- a ^l1\n  - b ^l2\n- c\n\n| t |\n|---|\n\n^t1\n\nno ^x y\n\n`^c` ^bad_id\n\n> q ^q1\n",
    );
    let found = note.blocks.iter().map(|block| (block.id.as_str(), block.span.slice(&note.body)));
    let expected = [
        ("p1", "one\ntwo ^p1"),
        ("l1", "- a ^l1"),
        ("l2", "  - b ^l2"),
        ("t1", "| t |\n|---|\n\n^t1"),
        ("q1", "> q ^q1"),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn block_ids_work_after_hidden_ranges() {
    for (text, id) in [
        ("$E=mc^2$ is famous ^eq1", "eq1"),
        ("$$\nx\n$$\n\n^m1", "m1"),
        ("%%todo%% text ^t1", "t1"),
        ("<code>x</code> text ^k1", "k1"),
    ] {
        let blocks = read(text).blocks;
        assert_eq!(blocks.iter().map(|block| &*block.id).collect::<Vec<_>>(), [id], "{text}");
    }
    assert_eq!(read("%%\ntext ^hidden\n%%").blocks, []);
}

#[test]
fn problems_of_a_file_are_reported() {
    let long = "a word ".repeat(LONG_BODY / 7 + 1);
    let headed = format!("{long}\n## x\n");
    let cases: &[(&str, &[u8], &[DiagnosticCode])] = &[
        ("nothing", b"# x", &[]),
        ("latin 1", b"caf\xe9", &[code::NOT_UTF_8]),
        ("utf-16", b"\xff\xfe#\0 \0x\0", &[code::UTF_16]),
        ("utf-16, big endian", b"\xfe\xff\0#\0 \0x", &[code::UTF_16]),
        ("an odd number of bytes", b"\xff\xfe#\0 ", &[code::NOT_UTF_8]),
        ("nul", b"a\0b", &[code::NUL_CHARACTERS]),
        ("never closed", b"---\na: 1\n", &[code::UNCLOSED_FRONTMATTER]),
        ("a rule", b"---\ntext\n", &[]),
        ("TOML", b"+++\ndate = 2024-02-03\n+++\ntext\n", &[code::TOML_FRONTMATTER]),
        ("pluses", b"+++\ntext\n", &[]),
        ("prose", b"---\nprose\n---\n", &[code::FRONTMATTER_NO_MAPPING]),
        ("broken", b"---\na: [\nb: 1\n---\n", &[code::BROKEN_FRONTMATTER]),
        ("twice", b"---\na: 1\na: 2\n---\n", &[code::DUPLICATE_KEY]),
        (
            "no date",
            b"---\ndate: some day\ncreated: 10.3.2024\nupdated: 2024-03-10\n---\n",
            &[code::UNREADABLE_DATE; 2],
        ),
        ("a list as id", b"---\nid: [a]\n---\n", &[code::NO_SCALAR]),
        ("an open comment", b"---\na: 1\n---\nx\n\n%% y\n", &[code::OPEN_COMMENT]),
        ("long", long.as_bytes(), &[code::NO_HEADINGS]),
        ("long with a heading", headed.as_bytes(), &[]),
        ("not so long", &long.as_bytes()[..LONG_BODY - 1], &[]),
    ];
    for (name, bytes, expected) in cases {
        let expected = expected.iter().map(|code| code.name).collect::<Vec<_>>();
        assert_eq!(codes(bytes), expected, "{name}");
    }
    let text = b"---\na: 1\n---\nx\n\n%% y\n";
    let (_, diagnostics) = parse(&NotePath::new("a.md"), text, &ParseOptions::default());
    assert_eq!((diagnostics[0].line, diagnostics[0].severity), (Some(6), Severity::Notice));
    let (note, _) = parse(&NotePath::new("a.md"), b"\xff\xfe#\0 \0x\0", &ParseOptions::default());
    assert_eq!(note.title, "x");
}

#[test]
fn indexed_false_keeps_a_note_out() {
    for (yaml, expected) in [
        ("indexed: false", true),
        ("Indexed: 'no'", true),
        ("indexed: true", false),
        ("a: b", false),
    ] {
        assert_eq!(is_excluded(&read(&format!("---\n{yaml}\n---\n"))), expected, "{yaml}");
    }
}

#[test]
fn deep_and_long_input_is_parsed_quickly() {
    let plain = &ParseOptions::default();
    let logseq = &ParseOptions { logseq: true, ..plain.clone() };
    let dendron = &ParseOptions { dendron: true, ..plain.clone() };
    let cases = [
        ("quotes", plain, "> ".repeat(50_000) + "[[a]]\n" + &"b\n".repeat(50_000)),
        ("lists", plain, "- ".repeat(50_000) + "[[a]]\n" + &"b\n".repeat(50_000)),
        ("brackets", plain, "[".repeat(200_000) + &"]".repeat(200_000)),
        ("wikilinks", plain, "[[a]] ".repeat(100_000)),
        ("wikilinks before parentheses", plain, "[[a]](".repeat(50_000)),
        ("labels", dendron, "[[a|".repeat(100_000) + &"b]]".repeat(100_000)),
        ("images", plain, "![".repeat(100_000) + &"](a.md)".repeat(100)),
        ("emphasis", plain, "*a _b ".repeat(50_000)),
        ("comments", plain, "%%\n\n".repeat(50_000)),
        ("dollars", plain, "$a ".repeat(100_000)),
        ("one line", plain, "word ".repeat(400_000)),
        ("yaml", plain, format!("---\na: {}\n---\n", "[".repeat(200_000))),
        ("yaml maps", plain, format!("---\n{}---\n", "k: v: w\n".repeat(20_000))),
        ("links in yaml", plain, format!("---\na: [{}]\n---\n", "[[b]], ".repeat(20_000))),
        ("headings and comments", plain, "# a\n\n%%x%%\n\n".repeat(100_000)),
        ("attributes never closed", plain, "{ #a ".repeat(100_000)),
        ("tags never closed", logseq, "#[[".repeat(350_000)),
        ("tags closed once", logseq, "#[[".repeat(350_000) + "a]]"),
    ];
    for (name, options, text) in cases {
        let (note, _) = read_as("moss.md", &text, options);
        assert!(note.links.iter().all(|link| !link.target.name.is_empty()), "{name}");
    }
    assert_eq!(read(&"[[a]] ".repeat(100_000)).links.len(), 100_000);
}

/// Invariants of every parsed note.
fn is_sound(note: &Note) -> Result<(), TestCaseError> {
    let n_chars = u32::try_from(note.body.chars().count()).unwrap_or(u32::MAX);
    let spans = note.links.iter().filter_map(|link| link.span);
    let spans = spans.chain(note.headings.iter().map(|heading| heading.span));
    for span in spans.chain(note.blocks.iter().map(|block| block.span)) {
        prop_assert!(span.start <= span.end && span.end <= n_chars, "{:?}", span);
    }
    for link in &note.links {
        prop_assert!(!link.target.name.is_empty() && !link.kind.is_empty());
        prop_assert_eq!(link.span.is_some(), link.source == LinkSource::Inline);
    }
    let inline = note.links.iter().filter_map(|link| link.span).collect::<Vec<_>>();
    prop_assert!(inline.is_sorted_by_key(|span| span.start));
    prop_assert!(note.links.is_sorted_by_key(|link| link.source));
    prop_assert!(note.headings.windows(2).all(|pair| pair[0].span.end < pair[1].span.start));
    prop_assert!(!note.title.is_empty() && note.order.is_none_or(f64::is_finite));
    Ok(())
}

/// Returns the part of `text` after the longest start that is `(char | balanced)*` by the grammar of a wikilink's name; `None` if a `[` is not closed.
fn after_balanced(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c| !matches!(c, '[' | ']'));
        match rest.strip_prefix('[') {
            Some(inner) => rest = after_balanced(inner)?.strip_prefix(']')?,
            None => return Some(rest),
        }
    }
}

/// Returns the names of the wikilinks in a line of letters and brackets, by the grammar: the innermost `[[` begins a link, and the first `]]` ends it, except for brackets that the name needs.
fn names_by_grammar(line: &str) -> Vec<String> {
    let is_name = |text: &str| after_balanced(text).is_some_and(|rest| !rest.contains('['));
    let (mut names, mut opened, mut at) = (Vec::new(), Vec::new(), 0);
    while at < line.len() {
        if line[at..].starts_with("[[") {
            opened.push(at + "[[".len());
        } else if line[at..].starts_with("]]")
            && let Some(start) = opened.pop_if(|start| *start <= at)
            && start < at
        {
            let closing = &line[at..];
            let n_spare = closing.len() - closing.trim_start_matches(']').len() - "]]".len();
            let mut ends = at..=at + n_spare;
            let name = ends.find(|end| is_name(&line[start..*end])).map(|end| &line[start..end]);
            names.extend(name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()));
            opened.clear();
            at += "]".len();
        }
        at += 1;
    }
    names
}

fn markdownish() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "---\n", "a: ", "- ", "[[", "]]", "|", "#", "^x", "](", ")", "[", "!", "`", "```\n", "%%",
        "$", "$$", "<!--", "-->", "<b a=\"", ">", "\n", "\n\n", "    ", "\t", "word", "漢字",
        "e\u{301}", "🌿", "::", "\\", "{", "}", "\"", "'", "&amp;", "*", "_", "===\n", "x.md",
        "[^1]", ": ", "links:\n", "\r\n", "\r", "# ", "\u{feff}", "!!! a",
    ]);
    prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_can_be_parsed(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let (note, _) = parse(&NotePath::new("a.md"), &bytes, &ParseOptions::default());
        is_sound(&note)?;
    }

    /// YAML reads words of comments, tags and anchors itself, so no byte between words begins one.
    #[test]
    fn every_word_of_any_frontmatter_is_kept(
        gaps in prop::collection::vec(
            prop::collection::vec(any::<u8>().prop_filter("YAML", |byte| !b"#!&".contains(byte)), 0..5),
            16,
        )
    ) {
        let words: Vec<String> = (b'a'..).zip(&gaps).map(|(n, _)| format!("moss{}", char::from(n))).collect();
        let mut file = b"---\n".to_vec();
        for (gap, word) in gaps.iter().zip(&words) {
            file.extend_from_slice(gap);
            file.extend_from_slice(word.as_bytes());
        }
        file.extend_from_slice(b"\n---\nbody\n");
        let (note, _) = parse(&NotePath::new("a.md"), &file, &ParseOptions::default());
        let kept = format!("{}{:?}{:?}", note.body, note.searched_texts, note.properties);
        let lost: Vec<&String> = words.iter().filter(|word| !kept.contains(&**word)).collect();
        prop_assert!(lost.is_empty(), "{lost:?} of {:?}", String::from_utf8_lossy(&file));
    }

    #[test]
    fn wikilinks_follow_the_grammar_of_their_brackets(line in r"a(\[\[|\]\]|[\[\]ab ]){0,16}") {
        let note = read(&line);
        let names: Vec<String> = note.links.iter().map(|link| link.target.name.clone()).collect();
        prop_assert_eq!(names, names_by_grammar(&line));
        is_sound(&note)?;
    }

    #[test]
    fn any_text_can_be_parsed(text in any::<String>()) {
        let note = read(&text);
        is_sound(&note)?;
        prop_assert!(text.ends_with(&note.body));
    }

    #[test]
    fn any_markdown_can_be_parsed(text in markdownish(), logseq: bool, dendron: bool, admonitions: bool) {
        let options = ParseOptions {
            logseq,
            dendron,
            admonitions,
            zettel_ids: true,
            ..ParseOptions::default()
        };
        let (note, diagnostics) = read_as("journals/2023_01_05.md", &text, &options);
        is_sound(&note)?;
        prop_assert!(text.ends_with(&note.body));
        prop_assert_eq!((note, diagnostics), read_as("journals/2023_01_05.md", &text, &options));
    }

    #[test]
    fn frontmatter_never_reaches_the_body(yaml in "[ -~\n]{0,80}", body in "[ -~\n]{0,40}") {
        prop_assume!(!yaml.lines().any(|line| matches!(line.trim_end(), "---" | "...")));
        let note = read(&format!("---\nkey: value\n{yaml}\n---\n{body}"));
        is_sound(&note)?;
        prop_assert_eq!(note.body, body);
    }
}

#[test]
fn text_of_properties_is_searched() {
    let text = "---\ntitle: T\nauthor: Ursula Marsh\nRating: 5\ndate: 2024-05-01\nby: {a: x, b: [y, true]}\ntags: [t]\nCSSClass: wide\nsource: \"[[Fern]]\"\n---\n";
    let (note, _) = read_as("a.md", text, &ParseOptions::default());
    assert_eq!(note.searched_texts, ["Ursula Marsh", "2024-05-01", "x", "y", "[[Fern]]"]);
    let options =
        ParseOptions { unsearched_properties: vec!["Author".into()], ..ParseOptions::default() };
    let (note, _) = read_as("a.md", text, &options);
    assert_eq!(note.searched_texts, ["2024-05-01", "x", "y", "wide", "[[Fern]]"]);
    let (note, _) = read_as("a.md", "---\na: @b\nloose badger\n---\n", &ParseOptions::default());
    assert_eq!(note.searched_texts, ["@b", "loose badger"]);
}

#[test]
fn block_without_properties_is_body() {
    for block in ["**OAK HOUSE**", "> quote", "a line with [[plan]]", "- [[plan]]"] {
        let text = format!("---\n{block}\n---\nthe rest\n");
        let (note, diagnostics) = read_as("a.md", &text, &ParseOptions::default());
        assert_eq!(note.body, text, "{block}");
        let links = note.links.iter().map(|link| &*link.target.name).collect::<Vec<_>>();
        assert_eq!(links.concat(), if block.contains("plan") { "plan" } else { "" }, "{block}");
        assert_eq!(diagnostics.len(), 1, "{block}");
    }
}

#[test]
fn unreadable_date_is_reported() {
    for (yaml, expected) in [
        ("date: 2024-05-09", None),
        ("created: 1715212800", None),
        ("updated: [soon, 2024-05-09]", None),
        ("date:", None),
        ("due: soon", None),
        ("Date: soon", Some("`date: soon`")),
        ("modified: 2024-13-45", Some("`modified: 2024-13-45`")),
    ] {
        let text = format!("---\n{yaml}\n---\n");
        let (_, diagnostics) = read_as("a.md", &text, &ParseOptions::default());
        let messages: Vec<&str> = diagnostics.iter().map(|found| &*found.message).collect();
        match expected {
            Some(named) => {
                assert!(messages.len() == 1 && messages[0].starts_with(named), "{messages:?}")
            }
            None => assert!(messages.is_empty(), "{yaml}: {messages:?}"),
        }
    }
}
