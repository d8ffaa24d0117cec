//! Tests of dialects: Logseq, Dendron and others.

use super::*;

#[test]
fn logseq_syntax_is_parsed_if_enabled() {
    let options = ParseOptions { logseq: true, ..ParseOptions::default() };
    let text = "title:: The Moss\nalias:: green, [[soft, one]]\ntags:: [[plant]], #wet\ntopic:: [[Botany]]\nabout:: a [[bog]]\n\n- see [[Fern]]\n  tags:: deep\n- #[[two words]]\n";
    let (note, diagnostics) = read_as("pages/plants___moss%3F.md", text, &options);
    assert!(diagnostics.is_empty());
    assert_eq!(note.title, "The Moss");
    assert_eq!(note.aliases, ["green", "soft, one", "The Moss", "plants/moss?"]);
    assert_eq!(note.tags, ["plant", "wet", "deep", "two words"]);
    let links = note.links.iter().map(line).collect::<Vec<_>>();
    let expected = [
        "tags: plant",
        "tags: wet tentative",
        "topic: Botany",
        "related: bog",
        "related: Fern",
        "related: two words",
    ];
    assert_eq!(links, expected);
    assert_eq!(note.body, text);

    let (yaml, _) = read_as("pages/y.md", "---\ntags: plant, c#notes\n---\n", &options);
    let links = yaml.links.iter().map(line).collect::<Vec<_>>();
    assert_eq!(links, ["tags: plant tentative", "tags: c#notes tentative"]);
    let (block, _) = read_as("pages/a.md", "- id:: 634f\n  topic:: [[Botany]]\n", &options);
    assert_eq!(block.claimed_uri, None, "it is the id of the first block");
    assert_eq!(block.links.len(), 1);

    let uuids = ["634fb3ee-cef0-4081-9085-c002d3be4e75", "00000000-0000-4000-8000-00000000000A"];
    let [first, second] = uuids;
    let text = format!(
        "- é ((x)) (({first}))\n  id:: {second}\n  more\n\t- [t]((({second}))) {{{{embed (({first}))}}}}\n\t  id:: 634f\n- `(({first}))` (({first})\n-\n  id:: {first}\n"
    );
    let (note, _) = read_as("pages/b.md", &text, &options);
    let links: Vec<String> = note.links.iter().map(line).collect();
    let reference = |uuid: &str, shown: &str| format!("related: {uuid}#^{uuid}{shown} tentative");
    let expected = [reference(first, ""), reference(second, " (t)"), reference(first, "")];
    assert_eq!(links, expected);
    let spans: Vec<&str> =
        note.links.iter().map(|link| link.span.expect("inline").slice(&text)).collect();
    assert_eq!(spans[0], format!("(({first}))"));
    let blocks = note.blocks.iter().map(|block| (&*block.id, block.span.slice(&text).len()));
    let own = format!("- é ((x)) (({first}))\n  id:: {second}\n  more").len();
    assert_eq!(
        blocks.collect::<Vec<_>>(),
        [(second, own), (first, "-\n  id:: ".len() + first.len())]
    );
    let (common, _) = read_as("pages/b.md", &text, &ParseOptions::default());
    assert!(common.blocks.is_empty() && common.links.is_empty());

    for path in ["journals/2023_01_02.md", "journals/20230102.md", "a/journals/2023-1-2.md"] {
        let (journal, _) = read_as(path, "- x", &options);
        assert_eq!(journal.title, "Jan 2nd, 2023", "{path}");
        assert_eq!(journal.aliases[..3], ["Jan 2nd, 2023", "2023-01-02", "2023_01_02"], "{path}");
    }
    for path in ["journals/2023_13_02.md", "journals/2023010.md", "2023_01_02.md"] {
        assert!(read_as(path, "- x", &options).0.aliases.is_empty(), "{path}");
    }

    let text = "- [[C#]] [[C# notes]] [a](#x) [t]([[a/b#c]])\n- #+BEGIN_SRC x\n  [[no]] #no\n  #+END_SRC\n- #moss\n";
    let (note, _) = read_as("pages/l.md", text, &options);
    let links = note.links.iter().map(line).collect::<Vec<_>>();
    let expected =
        ["related: C#", "related: C# notes", "related: a/b#c (t)", "related: moss tentative"];
    let code = format!("- #+BEGIN_SRC x\n  {}\n  #+END_SRC\n- [[fern]]\n", "\u{e9}".repeat(40));
    let span = read_as("pages/s.md", &code, &options).0.links[0].span.expect("inline");
    assert_eq!(span.slice(&code), "[[fern]]");
    let same = "[[M\u{f6}ss]]\n\n[M\u{f6}ss]: a/x.md\n[Mo\u{308}ss]: b/y.md\n";
    for _ in 0..8 {
        assert_eq!(read(same).links[0].target.name, "a/x", "the first counts");
    }
    assert_eq!(line(&read("[t]([[Moss#Soil]])").links[0]), "related: Moss#Soil (t)");
    assert_eq!(read("[t]([[Moss#Soil]])").links[0].fragment.as_deref(), Some("Soil"));
    assert_eq!(links, expected);
    assert_eq!(note.tags, ["moss"]);

    let (plain, diagnostics) = read_as("pages/a___b.md", text, &ParseOptions::default());
    assert_eq!((plain.title.as_str(), diagnostics.len()), ("a___b", 0));
    assert!(plain.links.iter().all(|link| link.source == LinkSource::Inline));
}

#[test]
fn other_dialects_are_parsed_if_enabled() {
    let zettel = ParseOptions { zettel_ids: true, ..ParseOptions::default() };
    let (note, _) = read_as("202301051230 Moss.md", "", &zettel);
    assert_eq!(note.aliases, ["202301051230"]);
    for (path, id) in [
        ("20240101T120000--a-title__tag.md", "20240101T120000"),
        ("20240101-a.md", "20240101"),
        ("20240101\u{6a19}.md", "20240101"),
    ] {
        assert_eq!(read_as(path, "", &zettel).0.aliases, [id], "{path}");
    }
    for path in ["2023 Budget.md", "20240101a.md", "20240101Tea.md"] {
        assert!(read_as(path, "", &zettel).0.aliases.is_empty(), "{path}");
    }

    let text = "!!! note \"é\"\n\n    see [[Fern]] é [[Moss]]\n\n        [[code]]\n";
    assert!(read(text).links.is_empty());
    let admonitions = ParseOptions { admonitions: true, ..ParseOptions::default() };
    let (note, _) = read_as("a.md", text, &admonitions);
    let slices = note.links.iter().filter_map(|link| link.span).map(|span| span.slice(&note.body));
    assert_eq!(slices.collect::<Vec<_>>(), ["[[Fern]]", "[[Moss]]"]);
    for text in [
        "!!! note\n\n    - item\n\n        second [[Fern]]\n",
        "1. step\n\n    !!! note\n\n        text [[Fern]]\n",
        "1. step\n\n    === \"Tab\"\n\n        - text\n\n            [[Fern]]\n",
        "??? tip\n    > [[Fern]]\n",
        "1. step\n\n\t!!! note\n\n\t\ttext [[Fern]]\n",
        "???+ tip \"see [[Fern]]\"\n\n    ```\n    [[code]]\n    ```\n",
    ] {
        let (note, _) = read_as("a.md", text, &admonitions);
        assert_eq!(note.links.iter().map(line).collect::<Vec<_>>(), ["related: Fern"], "{text}");
    }
}

#[test]
fn dendron_syntax_is_parsed_if_enabled() {
    let dendron = ParseOptions { dendron: true, ..ParseOptions::default() };
    let links = |text: &str| {
        let links = read_as("a.md", text, &dendron).0.links;
        links.iter().map(line).collect::<Vec<_>>()
    };
    let cases: &[(&str, &str, &[&str])] = &[
        ("a name", "[[a.b.c]] [[a.b.c#soil]]", &["related: a.b.c", "related: a.b.c#soil"]),
        ("a label", "[[the fern|a.fern]]", &["related: a.fern (the fern)"]),
        ("a label with signs", "[[!a # *b*|a.fern#x]]", &["related: a.fern#x (!a # *b*)"]),
        ("signs in the name", "[[l|a.*b*.`c`]]", &["related: a.*b*.`c` (l)"]),
        ("a reference", "![[a.b#start:#end]]", &["related: a.b#start"]),
        ("lines left out", "![[a.b#start,1:#end]]", &["related: a.b#start"]),
        ("to the end", "![[l|a.b#start,12:#*]]", &["related: a.b#start (l)"]),
        ("a comma", "[[a.b#one,two]] [[a.b#,1]]", &["related: a.b#one,two", "related: a.b"]),
        (
            "a vault",
            "[[dendron://v/a.b]] [[l|dendron://v/a.b#c]]",
            &["related: v:a.b in vault", "related: v:a.b#c (l) in vault"],
        ),
        ("no vault", "[[dendron://a.b]] [[dendron:///a]] [[dendron://v/]]", &[]),
        ("an address", "[[l|https://example.org]]", &[]),
        ("within the note", "[[#soil]] [[l|#soil]]", &[]),
        (
            "like a file",
            "[[a.doc]] [[l|a.json]]",
            &["related: a.doc file", "related: a.json (l) file"],
        ),
        ("a table", "| a |\n|---|\n| [[l\\|a.b]] |", &["related: a.b (l)"]),
        ("code", "`[[l|a.b]]`", &[]),
        ("HTML", "<p>\n[[l|a.b]]\n</p>", &["related: a.b (l)"]),
        (
            "frontmatter",
            "---\nup: \"[[l|a.b]]\"\nsee: [[m|a.c]]\nlinks: [{type: \"[[t|x]]\", id: \"[[l|d]]\"}]\n---\n",
            &["up: a.b (l)", "see: a.c (m)", "t: d (l)"],
        ),
        ("Markdown", "[l](a.b.md)", &["related: a.b (l)"]),
    ];
    for (name, text, expected) in cases {
        assert_eq!(links(text), *expected, "{name}");
    }
    let (note, _) =
        read_as("a.md", "# See ![[the fern|a.fern#b]] %%x%% too\n[[l|b.#c]] #d", &dendron);
    assert_eq!((&*note.headings[0].text, &*note.title), ("See the fern too", "See the fern too"));
    assert_eq!(note.tags, ["d"], "a target holds no tag");
    let (note, _) =
        read_as("a.md", "---\ntags: [\"[[l|a.b]]\"]\naliases: \"[[m|a.b]]\"\n---\n", &dendron);
    assert_eq!((note.tags, note.aliases), (vec!["l".to_owned()], vec!["m".to_owned()]));

    let titles = [
        ("x/a.b.c.md", "", "c"),
        ("a.b.md", "# H\n", "H"),
        ("a.b.md", "---\ntitle: T\n---\n# H\n", "T"),
        ("root.md", "", "root"),
        ("a..md", "", "a."),
        ("x.y/index.md", "", "x.y"),
    ];
    for (path, text, title) in titles {
        let note = read_as(path, text, &dendron).0;
        assert_eq!((&*note.title, note.dendron), (title, true), "{path}");
    }
    let note = read_as("x/a.b.c.md", "[[l|a.b]]", &ParseOptions::default()).0;
    assert_eq!((&*note.title, note.dendron), ("a.b.c", false));
    assert_eq!(note.links.iter().map(line).collect::<Vec<_>>(), ["related: l (a.b)"]);
}
