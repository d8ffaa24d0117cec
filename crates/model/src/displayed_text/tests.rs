//! Tests of displayed text.

use unicode_segmentation::UnicodeSegmentation as _;

use super::*;

fn whole(body: &str) -> String {
    displayed_text(body, 0..body.len()).into_string()
}

#[test]
fn syntax_is_removed() {
    for (name, written, expected) in [
        ("nothing", "", ""),
        (
            "plain text",
            "It is 3 * 4, a_b_c, x < y and [sic].",
            "It is 3 * 4, a_b_c, x < y and [sic].",
        ),
        ("wikilink", "See [[Leap second]].", "See Leap second."),
        ("wikilink with a label", "See [[Leap second|the *sixty-first*]].", "See the sixty-first."),
        ("names with signs", "[[my_file_name]] and [[a*b*c]]", "my_file_name and a*b*c"),
        (
            "wikilink to a heading",
            "[[Time#Leap]], [[#Leap]], [[Time#^id]]",
            "Time#Leap, Leap, Time",
        ),
        ("wikilink with an address", "[[1]](https://a.example) [[wolf]](s)", "1 wolf(s)"),
        ("embed", "![[Clock.png]] ![[Clock.png|300]] ![[a.png|so|30x40]]", "so"),
        ("link", "See [the *clock*](https://a.example/x_(y) \"so\").", "See the clock."),
        ("link with spaces", "[a](<b c>) [d]( e 'f' ) [g](h i)", "a d [g](h i)"),
        ("image", "![A clock](clock.png). ![](b.png)", "A clock."),
        ("image of Logseq", "![so](../a b.png){:height 3, :width 4} c", "so c"),
        ("image in a link", "[![alt](a.png)](https://b.example) c", "alt c"),
        ("reference", "See [the clock][1], list[1][2].", "See the clock, list[1][2]."),
        (
            "emphasis",
            "**Bold**, *thin*, _thin_, ~~gone~~, ==lit==, ***both***.",
            "Bold, thin, thin, gone, lit, both.",
        ),
        ("nested emphasis", "**a *b* c** *d **e** f* __g _h___", "a b c d e f g h"),
        ("strong around a link", "**[[a|B]]** *[c](d)*", "B c"),
        (
            "operators",
            "a*b*c, 2**3 + x**2, if x==1 and y==2, *args, ~5 ~ 6",
            "a*b*c, 2**3 + x**2, if x==1 and y==2, *args, ~5 ~ 6",
        ),
        ("emphasis in Han text", "这是**重点。**后文**粗**体==亮==的", "这是重点。后文粗体亮的"),
        (
            "code span",
            "Write `[[a]]` and ``*b* ` c``. A ` alone.",
            "Write [[a]] and *b* ` c. A ` alone.",
        ),
        ("TeX quotation", "``so'' and ``so''", "``so'' and ``so''"),
        (
            "math",
            "$a_1*b*$ and $$x_{1} [[y]]$$, $5 or *not* $6",
            "$a_1*b*$ and $$x_{1} [[y]]$$, $5 or not $6",
        ),
        ("math block", "so\n$$\na_1 *b*\n$$\n*c*", "so\n$$\na_1 *b*\n$$\nc"),
        (
            "headings",
            "# Clocks #\n\n## Time {#t}\nso\n===\n- ### Sun\n#tag",
            "Clocks\nTime\nso\n• Sun\n#tag",
        ),
        (
            "lists",
            "- one\n* two\n  more\n\t+ three\n1. four\n- [ ] five",
            "• one\n• two more\n• three\n1. four\n• [ ] five",
        ),
        ("quotes", "> said\n> > he\n\nwe", "said he\nwe"),
        (
            "definitions of links",
            "so\n\n[a]: b.md 'c'\n [d]: e.md\n\nend\n[f]: g\n\n- [h]: i\n\n[^1]: j",
            "so\nend [f]: g\n• [h]: i\nj",
        ),
        ("rules", "a\n\n---\n\n* * *\nb", "a\nb"),
        (
            "table",
            "| A | b |\n|---|:-:|\n| 1 | [[x\\|y]] |\n| `c` | d \\| e |\n\nend",
            "A · b\n1 · y\nc · d | e\nend",
        ),
        ("bare table", "A | b\n--- | ---\n1 |  | 2", "A · b\n1 · 2"),
        ("bars in prose", "|x| < |y|\na | b", "|x| < |y| a | b"),
        (
            "fenced code",
            "so:\n```rust\nlet *a* = `[[b]]`;\n\n  c|d\n```\n*d*",
            "so:\nlet *a* = `[[b]]`;\nc|d\nd",
        ),
        ("other fences", "~~~~\n```\n~~~\n~~~~\n> ```\n> *a*\n*b*", "```\n~~~\n*a*\nb"),
        ("indented code", "so\n\n    *a*\n\n    b\n\n*c*", "so\n*a*\nb\nc"),
        ("indented item", "- a\n\n    *b*\n\t- *c*", "• a\nb\n• c"),
        ("outline", "# A\n\n\t- *b*", "A\n• b"),
        ("footnotes", "Said.[^1]\n\n[^1]: By [^x y] him.", "Said.\nBy [^x y] him."),
        ("callout", "> [!note]- Mind\n> this [!note].\n\n> [!tip]\n> so", "Mind this [!note].\nso"),
        ("remarks", "Seen.%%not this%% 100%\n\n%%\nhidden\n%%\nend", "Seen. 100%\nend"),
        ("comments", "a <!-- *b* --> c\n<!-- d\n\ne -->\nf <!-- g", "a c\nf <!-- g"),
        ("block names", "So it is. ^so1\n\n^a-b\n\nx ^2", "So it is.\nx ^2"),
        (
            "tags",
            "A <b>bold</b> word<br/>of <Key> <div class=\"a>b\">x</div>y",
            "A bold word of <Key> x y",
        ),
        (
            "addresses",
            "<https://a.example/_b_> https://a.example/_b_/*c* <me@a.example>",
            "https://a.example/_b_ https://a.example/_b_/c me@a.example",
        ),
        ("escapes", "\\*a\\* \\_b \\[\\[c]] C:\\dir\\sub", "*a* _b [[c]] C:\\dir\\sub"),
        (
            "entities",
            "a &amp; b&nbsp;c &lt;d&gt; &#8364; &#x20AC; &unknown; &#0;",
            "a & b c <d> € € &unknown; \u{fffd}",
        ),
        ("white space", "  a \t b\r\nc\n\n\n\nd\u{a0}e  ", "a b c\nd\u{a0}e"),
        (
            "properties of Logseq",
            "- a\n  id:: 6380d3a2-71da-49ea-9c9d-349a80e74694\n- collapsed:: true\n- id:: so\n- kind:: fern",
            "• a\n• id:: so\n• kind:: fern",
        ),
        ("blocks of Org", "#+BEGIN_QUOTE\nso\n#+END_QUOTE\n#+so", "so\n#+so"),
        (
            "macros and blocks of Logseq",
            "a {{embed ((60a790f8-d187-499a-b2e2-73bf137356dd))}} b {{title}} ((c)) \
             ((60a790f8-d187-499a-b2e2-73bf137356dd)) d {{video",
            "a b {{title}} ((c)) d {{video",
        ),
        ("image names", "a ![Clock.PNG](b/Clock.PNG) ![a.b](c.png) d", "a a.b d"),
        ("unclosed", "[[a *b _c `d [e](f <g $$ %% ~~h", "[[a *b _c `d [e](f <g $$ %% ~~h"),
    ] {
        assert_eq!(whole(written), expected, "{name}");
    }
}

#[test]
fn cut_syntax_is_removed() {
    let body = "Intro.\n\n```sh\nrun *a*\n```\n\nSee **the [[Leap second|sixty-first]] of** [time](https://a.example/x) &amp; <b class=\"c\">so</b>.\n";
    let part = |from: &str, to: &str| {
        let start = body.find(from).unwrap();
        let end = start + body[start..].find(to).unwrap() + to.len();
        displayed_text(body, start..end).into_string()
    };
    for (from, to, expected) in [
        ("un *a", "*a*", "un *a*"),
        ("sh\n", "run", "run"),
        ("the", "Leap", "the"),
        ("Leap", "of", "sixty-first of"),
        ("second|", "six", "six"),
        ("first]]", "[ti", "first of ti"),
        ("of**", "https", "of time"),
        ("example", "&a", ""),
        ("mp;", "class", ""),
        ("\"c\"", "so", "so"),
    ] {
        assert_eq!(part(from, to), expected, "{from:?} to {to:?}");
    }
    // Any two bytes, also within characters.
    let body = "# é\n\n> *漢* [[ü|ö]] `🌿`\n\n| ä |\n|---|\n| ß&amp; |\n";
    for start in 0..body.len() + 2 {
        for end in 0..body.len() + 2 {
            let text = displayed_text(body, start..end);
            assert!(text.as_str().chars().all(|c| body.contains(c)), "{text:?}");
        }
    }
}

#[test]
fn display_continues_from_range_to_range() {
    let body = "a *b*\n\n```\n*c*\n\n*d*\n```\n\n| *e* | f |\n|---|---|\n| *g* | h |\n\n- i\n";
    let mut display = BodyDisplay::new(body);
    for _ in 0..2 {
        for start in 0..body.len() {
            let range = start..(start + 9).min(body.len());
            assert_eq!(display.text(range.clone()), displayed_text(body, range), "{start}");
        }
    }
}

#[test]
fn matches_keep_their_words() {
    for (name, body, words, expected) in [
        ("label", "See [[Leap second|the second]].", &["second]"][..], &["second"][..]),
        ("hidden", "See [[Leap second|it]].", &["Leap"], &[]),
        ("across a sign", "A **leap** second.", &["leap** second"], &["leap second"]),
        ("across lines", "> a leap\n> second", &["leap\n> second"], &["leap second"]),
        ("after wide characters", "𝄞 **clock** 漢字", &["clock", "字"], &["clock", "字"]),
        ("entity", "a &amp; b", &["mp"], &["&"]),
        ("cells", "| a | b |\n|---|---|\n| c | d |", &["a | b", "c"], &["a · b", "c"]),
        ("bullet", "- fern", &["- fern", "ern"], &["• fern"]),
    ] {
        let text = displayed_text(body, 0..body.len());
        let ranges = words.iter().map(|word| {
            let start = body.rfind(word).unwrap();
            start..start + word.trim_end_matches(']').len()
        });
        let spans = text.spans(ranges);
        let shown: Vec<&str> = spans.iter().map(|span| span.slice(text.as_str())).collect();
        assert_eq!(shown, expected, "{name}: {text:?}");
    }
}

#[test]
fn any_text_is_displayed_in_linear_time() {
    for sign in [
        "[", "[[", "![", "*", "`", "_", "<", "<!--", "(", "[a](", "|", "> ", "~~a", "%%", "[^",
        "[!a]", "\\", "$", "$$", "&", "&#", "<a \"", "[a][", "**a*b", "``a`", " ^a", "==a ",
        "a://", "- ", "\n", "```\n", "<!--\n", "$$\n", "|-|\n", "[[a|", "]]", "[a](<", "[a](b \"",
        "![[a|1x",
    ] {
        let body = sign.repeat(20_000);
        let start = std::time::Instant::now();
        let text = whole(&body);
        assert!(start.elapsed().as_secs() < 5, "{sign:?} took {:?}", start.elapsed());
        assert!(text.unicode_words().count() <= body.unicode_words().count(), "{sign:?}");
    }
}
