//! Texts before and after links are rewritten.

use super::*;

fn moved(text: &str, from: &str, to: &str) -> (String, usize, usize) {
    moved_as(text, from, to, &ParseOptions::default())
}

fn moved_as(text: &str, from: &str, to: &str, options: &ParseOptions) -> (String, usize, usize) {
    let update = |_, link: &Link| {
        if link.target.name == from { LinkUpdate::Rename(to.to_owned()) } else { LinkUpdate::Keep }
    };
    let path = NotePath::new("x.md");
    match rewrite_links(&path, text, options, update, || true) {
        Some(RewrittenText { text, n_rewritten, n_not_rewritten }) => {
            (text, n_rewritten, n_not_rewritten)
        }
        None => (text.to_owned(), 0, 0),
    }
}

#[test]
fn links_are_rewritten_in_every_syntax_and_nothing_else() {
    let cases = [
        ("wikilink", "see [[moss]].", "see [[fern]].", 1),
        ("with all its parts", "![[moss#Wet|the moss]]", "![[fern#Wet|the moss]]", 1),
        ("with an extension", "[[moss.md|m]] moss", "[[fern.md|m]] moss", 1),
        ("several", "[[moss]] [[stone]] [[moss#a]]", "[[fern]] [[stone]] [[fern#a]]", 2),
        ("markdown", "[moss](moss.md \"moss\")", "[moss](fern.md \"moss\")", 1),
        (
            "spaces inside",
            "[[ moss ]] [a]( moss.md ) [[moss |m]]",
            "[[ fern ]] [a]( fern.md ) [[fern |m]]",
            3,
        ),
        (
            "in a table",
            "| a |\n|-|\n| [[moss\\|m]] ![[moss#^b]] |",
            "| a |\n|-|\n| [[fern\\|m]] ![[fern#^b]] |",
            2,
        ),
        (
            "a picture as the text",
            "[![moss](moss.md)](moss.md#x)",
            "[![moss](fern.md)](fern.md#x)",
            2,
        ),
        ("a folder", "[a](moss/) [b](moss)", "[a](fern/) [b](fern)", 2),
        ("an escape", "[a](mo\\ss.md) [b](m&#111;ss.md)", "[a](mo\\ss.md) [b](fern.md)", 1),
        ("brackets before an address", "[[1]](moss.md#x)", "[[1]](fern.md#x)", 1),
        (
            "a repeated definition",
            "[a][m] [M]\n\n[m]: moss.md\n[m]: moss.md\n",
            "[a][m] [M]\n\n[m]: fern.md\n[m]: moss.md\n",
            2,
        ),
        (
            "an aliased value",
            "---\ntitle: moss\nup: &m moss # moss\nparent: *m\nmoss: moss\n---\n",
            "---\ntitle: moss\nup: &m fern # moss\nparent: *m\nmoss: moss\n---\n",
            2,
        ),
        (
            "a fragment of a value",
            "---\nup: moss.md#wet\nsee: [[moss]]\n---\n",
            "---\nup: fern.md#wet\nsee: [[fern]]\n---\n",
            2,
        ),
        (
            "links in a list of links",
            "---\nsee: [[[moss]], [[stone]], \"[[moss]]\"]\n---\n",
            "---\nsee: [[[fern]], [[stone]], \"[[fern]]\"]\n---\n",
            2,
        ),
        (
            "broken YAML",
            "---\ntitle: Dune: Two\nup: moss\nsee: [[moss]], [[stone]]\n---\n",
            "---\ntitle: Dune: Two\nup: fern\nsee: [[fern]], [[stone]]\n---\n",
            2,
        ),
        ("in angles", "[a](<moss.md#b>)", "[a](<fern.md#b>)", 1),
        ("brackets of the text", "[[moss|a [b]]] [[moss]]]", "[[fern|a [b]]] [[fern]]]", 2),
        ("reference", "[a][m]\n\n[m]: moss.md\n", "[a][m]\n\n[m]: fern.md\n", 1),
        (
            "one definition for two",
            "[a][m] [b][m]\n\n[m]: moss.md\n",
            "[a][m] [b][m]\n\n[m]: fern.md\n",
            2,
        ),
        ("code", "`[[moss]]` [[moss]]", "`[[moss]]` [[fern]]", 1),
        ("an accent before it", "Añejo [[moss]]", "Añejo [[fern]]", 1),
        (
            "frontmatter",
            "---\ntopics: \"[[moss]]\"\nmoss: no\n---\n",
            "---\ntopics: \"[[fern]]\"\nmoss: no\n---\n",
            1,
        ),
        (
            "frontmatter, a list",
            "---\ntopics:\n  - \"[[moss|m]]\"\n  - moss\n---\n",
            "---\ntopics:\n  - \"[[fern|m]]\"\n  - moss\n---\n",
            1,
        ),
        (
            "frontmatter, plain",
            "---\ntitle: moss\nparent: moss\n---\n",
            "---\ntitle: moss\nparent: fern\n---\n",
            1,
        ),
        (
            "properties with the same link",
            "---\nup: \"[[moss]]\"\nsee: \"[[moss]]\"\n---\n",
            "---\nup: \"[[fern]]\"\nsee: \"[[fern]]\"\n---\n",
            2,
        ),
        (
            "entries with the same link",
            "---\nlinks: [{id: moss}, {to: moss}, {type: a, id: moss}]\n---\n",
            "---\nlinks: [{id: fern}, {to: fern}, {type: a, id: fern}]\n---\n",
            3,
        ),
        (
            "definitions of the same",
            "[a][1] [b][2]\n\n[1]: moss.md\n[2]: moss.md#h\n",
            "[a][1] [b][2]\n\n[1]: fern.md\n[2]: fern.md#h\n",
            2,
        ),
        (
            "frontmatter, entries of links",
            "---\nlinks: [{type: supports, id: moss}]\n---\nmoss\n",
            "---\nlinks: [{type: supports, id: fern}]\n---\nmoss\n",
            1,
        ),
        (
            "CRLF and a mark at the start",
            "\u{feff}---\r\nup: \"[[moss]]\"\r\n---\r\n[[moss]]\r\n",
            "\u{feff}---\r\nup: \"[[fern]]\"\r\n---\r\n[[fern]]\r\n",
            2,
        ),
    ];
    for (name, text, expected, n_rewritten) in cases {
        assert_eq!(moved(text, "moss", "fern"), (expected.to_owned(), n_rewritten, 0), "{name}");
    }
}

#[test]
fn dendron_label_stays_first() {
    let options = ParseOptions { dendron: true, ..ParseOptions::default() };
    let cases = [
        ("a label", "[[a.moss|a.moss#wet]] [[a.moss]]", "[[a.moss|b.fern#wet]] [[b.fern]]", 2),
        ("a reference", "![[m|a.moss#wet,1:#dry]]", "![[m|b.fern#wet,1:#dry]]", 1),
        ("spaces", "[[ m | a.moss ]]", "[[ m | b.fern ]]", 1),
        ("a table", "| a |\n|-|\n| [[m\\|a.moss]] |", "| a |\n|-|\n| [[m\\|b.fern]] |", 1),
        (
            "frontmatter",
            "---\nup: \"[[a.moss|a.moss]]\"\nsee: [[m|a.moss]]\nfar: a.moss\n---\n",
            "---\nup: \"[[a.moss|b.fern]]\"\nsee: [[m|b.fern]]\nfar: a.moss\n---\n",
            2,
        ),
        ("Markdown", "[a.moss](a.moss.md)", "[a.moss](b.fern.md)", 1),
    ];
    for (name, text, expected, n_rewritten) in cases {
        let found = moved_as(text, "a.moss", "b.fern", &options);
        assert_eq!(found, (expected.to_owned(), n_rewritten, 0), "{name}");
    }
    let found = moved_as("[[m|dendron://v/a.moss#x]]", "v:a.moss", "v:b.fern", &options);
    assert_eq!(found, ("[[m|dendron://v/b.fern#x]]".to_owned(), 1, 0));
    let found = moved_as("[[dendron://v/a.moss]]", "v:a.moss", "b.fern", &options);
    assert_eq!(found.1, 0, "it would lose its vault");
}

#[test]
fn name_is_encoded_for_its_syntax() {
    let cases = [
        ("[a](moss.md)", "a b/(c)", "[a](a%20b/%28c%29.md)", 1, 0),
        ("[a](<moss.md>)", "a b/c", "[a](<a b/c.md>)", 1, 0),
        ("[[moss]]", "a b/c", "[[a b/c]]", 1, 0),
        ("[[moss]] ![[moss#x|m]]", "b [x]", "[[b [x]]] ![[b [x]#x|m]]", 2, 0),
        ("[[moss]]", "a[b[0]]", "[[a[b[0]]]]", 1, 0),
        ("[[moss]]", "Sq]uare", "[[Sq]uare]]", 1, 0),
        ("[a](moss.md)", "b [x]", "[a](b%20[x].md)", 1, 0),
        ("---\nup: [[moss]]\n---\n", "b [x]", "---\nup: \"[[b [x]]]\"\n---\n", 1, 0),
        ("---\nup: \"[[moss]]\"\n---\n", "b [x]", "---\nup: \"[[b [x]]]\"\n---\n", 1, 0),
        // The first `]]` would end the name.
        ("[[moss]]", "a]]b", "[[moss]]", 0, 1),
        ("[[moss]]", "a]", "[[moss]]", 0, 1),
        ("[a](moss.md)", "目录/文", "[a](目录/文.md)", 1, 0),
        ("[a](%6Doss.md)", "é", "[a](é.md)", 1, 0),
        ("[a](moss.md)", "50% `x`", "[a](50%25%20%60x%60.md)", 1, 0),
        ("[a](<moss.md>)", "50%25", "[a](<50%2525.md>)", 1, 0),
        ("[a](moss.md)", "A: b", "[a](A%3A%20b.md)", 1, 0),
        ("[a](moss.md)", "R&D", "[a](R&D.md)", 1, 0),
        ("[a](moss.md)", "a&amp;b", "[a](a%26amp;b.md)", 1, 0),
        ("---\nup: moss\n---\n", "A: b", "---\nup: \"A: b\"\n---\n", 1, 0),
        ("---\nup: moss.md # x\n---\n", "#x", "---\nup: moss.md # x\n---\n", 0, 1),
        ("---\nup: moss\n---\n", "@b", "---\nup: \"@b\"\n---\n", 1, 0),
        ("---\nup: moss # x\n---\n", "*a", "---\nup: \"*a\" # x\n---\n", 1, 0),
        ("---\nup: moss\n---\n", "- x", "---\nup: \"- x\"\n---\n", 1, 0),
        ("---\nup: moss\n---\n", "a \"b\"", "---\nup: a \"b\"\n---\n", 1, 0),
        ("---\nup: moss\n---\n", "\"b\"", "---\nup: \"\\\"b\\\"\"\n---\n", 1, 0),
        ("---\nup: moss\n---\n", "null", "---\nup: \"null\"\n---\n", 1, 0),
        ("---\nup: moss\n---\n", "a, b", "---\nup: a, b\n---\n", 1, 0),
        ("---\nup: [moss, x]\n---\n", "a, b", "---\nup: [\"a, b\", x]\n---\n", 1, 0),
        ("---\nup: 'moss'\n---\n", "it's", "---\nup: 'it''s'\n---\n", 1, 0),
        ("---\nup: \"[[moss]]\"\n---\n", "a \"b\"", "---\nup: \"[[a \\\"b\\\"]]\"\n---\n", 1, 0),
        ("---\nup: [[moss|m]]\n---\n", "@b", "---\nup: \"[[@b|m]]\"\n---\n", 1, 0),
        ("---\nup: [[moss]]\n---\n", "A: b", "---\nup: [[A: b]]\n---\n", 1, 0),
        // A bar would end the name, so the link is kept and counted as not rewritten.
        ("[[moss]]", "a|b", "[[moss]]", 0, 1),
    ];
    for (text, to, expected, n_rewritten, n_not_rewritten) in cases {
        assert_eq!(
            moved(text, "moss", to),
            (expected.to_owned(), n_rewritten, n_not_rewritten),
            "{text}"
        );
    }
}

#[test]
fn name_with_brackets_is_replaced_whole() {
    for name in ["b [x]", "a[b][0]", "Sq]uare"] {
        let text =
            format!("---\nup: \"[[{name}]]\"\nsee: [[{name}]]\n---\n[[{name}]] ![[{name}#x|m]]]\n");
        assert_eq!(
            moved(&text, name, "fern"),
            (
                "---\nup: \"[[fern]]\"\nsee: [[fern]]\n---\n[[fern]] ![[fern#x|m]]]\n".to_owned(),
                4,
                0
            ),
            "{name}"
        );
    }
}

#[test]
fn query_of_a_destination_is_kept() {
    let text = "[a](moss.md?a=%26#x) [b](<moss/?a=1>)";
    let (edited, ..) = moved(text, "moss.md?a=&", "a b.md?a=&");
    assert_eq!(edited, "[a](a%20b.md?a=%26#x) [b](<moss/?a=1>)");
    let (edited, ..) = moved(text, "moss/?a=1", "a b/?a=1");
    assert_eq!(edited, "[a](moss.md?a=%26#x) [b](<a b/?a=1>)");
}

#[test]
fn letters_stay_percent_encoded() {
    let case = moved("[a](%C3%A9.md) [b](é.md)", "é", "ü");
    assert_eq!(case, ("[a](%C3%BC.md) [b](ü.md)".to_owned(), 2, 0));
}

#[test]
fn definition_is_rewritten_for_its_wikilinks() {
    let text =
        "[[moss]] ![[Moss|m]] [[stone]]\n\n[moss]: a/moss.md \"Moss\"\n[moss|m]: <a/moss.md#x>\n";
    let (edited, n_rewritten, n_not_rewritten) = moved(text, "a/moss", "b/fern");
    assert_eq!(edited, text.replace("a/moss.md", "b/fern.md"));
    assert_eq!((n_rewritten, n_not_rewritten), (2, 0));
    let text = "---\nparent: 'C#'\nlinks: [{id: \"C#\"}]\n---\n[[C#]] [[C#|c]]\n";
    assert_eq!(moved(text, "C#", "D").0, text.replace("C#", "D"));
    assert_eq!(moved(text, "C#", "F#").0, text.replace("C#", "F#"));
}

#[test]
fn logseq_pages_keep_their_link_form() {
    let options = ParseOptions { logseq: true, ..ParseOptions::default() };
    let text = "type:: [[a/moss]]\ntags:: [[A/Moss]], [[wet]]\n\n- [[a/moss]] #[[a/moss]] [m]([[a/moss]])\n  about:: [[a/moss]]\n";
    let (edited, _, n_not_rewritten) = moved_as(text, "a/moss", "a/fern b", &options);
    assert!(n_not_rewritten > 0, "spaces end the destination of a Markdown link");
    assert!(edited.starts_with("type:: [[a/fern b]]\n"), "{edited}");
    let (edited, _, n_not_rewritten) = moved_as(text, "a/moss", "a/C#", &options);
    assert_eq!((edited, n_not_rewritten), (text.replace("[[a/moss]]", "[[a/C#]]"), 0));
}

#[test]
fn long_unlinked_text_is_cheap_to_rewrite() {
    let inner = 1 << 17;
    for (name, front, noise) in [
        ("marks of definitions", "", format!("\n[{}", "]:".repeat(inner))),
        ("definitions", "", "[a]:[x]:".repeat(inner)),
        ("beginnings of links", "", format!("\n{}", "](".repeat(inner))),
        ("a link around them", "", format!("\n[`{}`](moss.md)", "](".repeat(1 << 13))),
        ("brackets", "", format!("\n{}", "[[".repeat(inner))),
        ("brackets of the frontmatter", "---\nx: '", format!("{}'\n---\n", "[[".repeat(inner))),
    ] {
        let text = match front {
            "" => format!("[x](moss.md){noise}"),
            front => format!("{front}{noise}[x](moss.md)"),
        };
        let (edited, n_rewritten, n_not_rewritten) = moved(&text, "moss", "fern");
        assert_eq!((edited, n_not_rewritten), (text.replace("moss", "fern"), 0), "{name}");
        assert_eq!(n_rewritten, text.matches("moss").count(), "{name}");
    }
    let escaped = "[a][b\\]c]\n\n[b\\]c]: moss.md\n";
    assert_eq!(moved(escaped, "moss", "fern").0, escaped.replace("moss", "fern"));
}

#[test]
fn many_links_take_few_parses() {
    let n_rewritten = 3000;
    let text = "[[moss]] [a](moss.md) `[[moss]]`\n".repeat(n_rewritten) + "[[a]] [[moss]]";
    let n_asked = std::cell::Cell::new(0);
    let go_on = || n_asked.replace(n_asked.get() + 1) < 3;
    let update = |_, link: &Link| match &*link.target.name {
        "moss" => LinkUpdate::Rename("fern".into()),
        // It cannot be written, but does not affect the others.
        "a" => LinkUpdate::Rename("b|c".into()),
        _ => LinkUpdate::Keep,
    };
    let (path, options) = (NotePath::new("x.md"), ParseOptions::default());
    let found = rewrite_links(&path, &text, &options, update, go_on).unwrap();
    assert_eq!(
        (found.n_rewritten, found.n_not_rewritten, n_asked.get()),
        (2 * n_rewritten + 1, 1, 1)
    );
    assert_eq!(found.text.matches("fern").count(), 2 * n_rewritten + 1);
    let stopped = rewrite_links(&path, &text, &options, update, || false).unwrap();
    assert_eq!((stopped.text, stopped.n_rewritten), (text, 0));
}
