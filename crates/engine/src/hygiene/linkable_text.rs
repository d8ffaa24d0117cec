//! Linkable text: the parts of a body that are plain text, so that a link can be written there.
//!
//! Errs on the side of less: a line or span that may be syntax is left out. Left out are code, math, HTML, headings, tables, comments, definitions, properties, tags, URLs, and links of any form.

use std::ops::Range;

use weft_model::text::org_block_edge;

/// Openings and closings of spans on one line that are not plain text. A longer opening stands before its beginning.
const SPANS: &[(&str, &str)] = &[
    ("![[", "]]"),
    ("[[", "]]"),
    ("((", "))"),
    ("{{", "}}"),
    ("%%", "%%"),
    ("==", "=="),
    ("$$", "$$"),
    ("$", "$"),
    ("<", ">"),
];

/// Returns the plain text of a body as ranges of bytes, ascending, each within one line.
pub(super) fn linkable_ranges(body: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut block: Option<&str> = None;
    let mut in_math = false;
    let mut in_comment = false;
    let mut after_blank = true;
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let text = line.trim_start_matches([' ', '\t', '>']);
        let trimmed = text.trim_end();
        if let Some((mark, n)) = fence {
            let n_marks = run_of(trimmed, mark);
            if n_marks >= n && trimmed.len() == n_marks {
                fence = None;
            }
            continue;
        }
        if let Some(name) = block {
            if org_block_edge(trimmed, "end").is_some_and(|end| end.eq_ignore_ascii_case(name)) {
                block = None;
            }
            continue;
        }
        let opening = trimmed.trim_start_matches(['-', '*', '+', ' ']);
        block = org_block_edge(opening, "begin");
        if block.is_some() {
            continue;
        }
        if let Some(mark) = ['`', '~'].into_iter().find(|mark| run_of(opening, *mark) >= 3) {
            fence = Some((mark, run_of(opening, mark)));
            continue;
        }
        if trimmed == "$$" || (trimmed.starts_with("$$") && !trimmed[2..].contains("$$")) {
            in_math = !in_math;
            continue;
        }
        if trimmed == "%%" {
            in_comment = !in_comment;
            continue;
        }
        let opens_html = trimmed.starts_with("<!--");
        if opens_html && !trimmed.contains("-->") {
            in_comment = true;
            continue;
        }
        if in_comment {
            in_comment = !trimmed.ends_with("-->");
            continue;
        }
        let is_indented = line.starts_with("    ") || line.starts_with('\t');
        let is_code = is_indented && after_blank && !is_list_item(text);
        after_blank = trimmed.is_empty();
        if !(in_math || is_code || is_syntax(trimmed)) {
            let indent = line.len() - text.len();
            inline_ranges(trimmed, start + indent, &mut ranges);
        }
    }
    ranges
}

fn run_of(text: &str, mark: char) -> usize {
    text.chars().take_while(|c| *c == mark).count()
}

fn is_list_item(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.starts_with(['-', '*', '+']) || (rest.len() < text.len() && rest.starts_with(['.', ')']))
}

/// Returns true if a line is not prose: a heading, table, block of HTML, definition or property.
fn is_syntax(line: &str) -> bool {
    let is_definition = line.starts_with('[') && line.contains("]:");
    let is_property = line.split_once("::").is_some_and(|(name, _)| {
        let name = name.trim_start_matches(['-', '*', '+', ' ']);
        !name.is_empty() && !name.contains(char::is_whitespace)
    });
    let is_underline = !line.is_empty() && line.chars().all(|c| c == '=' || c == '-');
    line.starts_with(['#', '|', '<']) || is_definition || is_property || is_underline
}

/// Adds the plain ranges of one line that begins at the byte `base` of its body.
fn inline_ranges(line: &str, base: usize, ranges: &mut Vec<Range<usize>>) {
    let mut plain_from = 0;
    let mut at = 0;
    let mut before: Option<char> = None;
    while let Some(c) = line[at..].chars().next() {
        // No syntax begins inside a word, or with a space.
        if c == ' ' || (c.is_alphanumeric() && before.is_some_and(char::is_alphanumeric)) {
            at += c.len_utf8();
            before = Some(c);
            continue;
        }
        match syntax_at(&line[at..], before) {
            Some(length) => {
                if plain_from < at {
                    ranges.push(base + plain_from..base + at);
                }
                at += length;
                plain_from = at;
                before = None;
            }
            None => {
                at += c.len_utf8();
                before = Some(c);
            }
        }
    }
    if plain_from < line.len() {
        ranges.push(base + plain_from..base + line.len());
    }
}

/// Returns the length of the syntax at the beginning of `text`; `None` for plain text. `before` is the character before it.
fn syntax_at(text: &str, before: Option<char>) -> Option<usize> {
    let first = text.chars().next()?;
    match first {
        '\\' => return Some(1 + text[1..].chars().next().map_or(0, char::len_utf8)),
        '`' => {
            let n = run_of(text, '`');
            let marks = &text[..n];
            return Some(text[n..].find(marks).map_or(text.len(), |end| n + end + n));
        }
        '#' | '@' | '^' if !before.is_some_and(char::is_alphanumeric) => {
            return Some(text.find(char::is_whitespace).unwrap_or(text.len()));
        }
        '[' if !text.starts_with("[[") => return Some(bracket_length(text)),
        '!' if text.starts_with("![") && !text.starts_with("![[") => {
            return Some(1 + bracket_length(&text[1..]));
        }
        _ => {}
    }
    if let Some((open, close)) = SPANS.iter().find(|(open, _)| text.starts_with(open)) {
        // An opening that nothing closes is a character like any other.
        return text[open.len()..].find(close).map(|end| open.len() + end + close.len());
    }
    let is_url = !before.is_some_and(char::is_alphanumeric) && first.is_ascii_alphabetic() && {
        let scheme = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '+' && c != '-');
        scheme.is_some_and(|end| text[end..].starts_with("://"))
    } || text.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("www."));
    is_url.then(|| text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// Returns the length of `[text]`, `[text](target)` or `[text][name]`; that of the rest of the line if the bracket is not closed.
fn bracket_length(text: &str) -> usize {
    let closing = |text: &str, open: char, close: char| {
        let mut depth = 0_usize;
        text.char_indices().find_map(|(at, c)| {
            depth = if c == open { depth + 1 } else { depth - usize::from(c == close) };
            (depth == 0).then(|| at + c.len_utf8())
        })
    };
    let Some(end) = closing(text, '[', ']') else { return text.len() };
    let rest = &text[end..];
    let target = match rest.chars().next() {
        Some('(') => closing(rest, '(', ')'),
        Some('[') => closing(rest, '[', ']'),
        _ => Some(0),
    };
    end + target.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_is_left_out() {
        let cases: &[(&str, &[&str])] = &[
            ("Some text", &["Some text"]),
            ("a `code` b", &["a ", " b"]),
            ("a ``co`de`` b", &["a ", " b"]),
            (
                "see [[link|label]] and [text](to (x)) or [name][ref].",
                &["see ", " and ", " or ", "."],
            ),
            ("![[image.png]] ![alt](x.png) after", &[" ", " after"]),
            ("- [ ] task with text", &["- ", " task with text"]),
            ("# Heading\ntext", &["text"]),
            ("Heading\n=====\n", &["Heading"]),
            ("| a | b |", &[]),
            ("```\ncode\n```\nafter", &["after"]),
            ("~~~~\ncode\n~~~\nstill\n~~~~\nafter", &["after"]),
            ("- ```\n  code\n  ```\n- item", &["- item"]),
            ("text\n\n    code\n", &["text"]),
            ("#+BEGIN_QUERY\n(query)\n#+END_QUERY\nafter", &["after"]),
            ("- #+begin_src rust\n  code\n  #+end_src\n- after", &["- after"]),
            ("#+BEGIN_\nafter", &["after"]),
            ("- item\n\n    - nested\n", &["- item", "- nested"]),
            ("$$\nmath\n$$\nafter $x$ it costs 5$", &["after ", " it costs 5$"]),
            ("<div>\nplain <b>bold</b> rest", &["plain ", "bold", " rest"]),
            ("<!-- one\ntwo -->\nafter", &["after"]),
            ("at https://example.org/a_b and www.example.org here", &["at ", " and ", " here"]),
            ("a #tag/sub and C# too", &["a ", " and C# too"]),
            ("text with id ^b15695", &["text with id "]),
            ("key:: value\n- key:: value\ntext", &["text"]),
            ("[ref]: https://example.org\ntext", &["text"]),
            ("%%\nhidden\n%%\nshown %%hidden%% shown", &["shown ", " shown"]),
            ("((block)) {{embed}} rest", &[" ", " rest"]),
            ("a \\[not a link\\] b", &["a ", "not a link", " b"]),
            ("> quoted text", &["quoted text"]),
            ("an [unclosed bracket", &["an "]),
            ("5 < 6 and so on", &["5 < 6 and so on"]),
            ("", &[]),
        ];
        for (body, expected) in cases {
            let found: Vec<&str> =
                linkable_ranges(body).into_iter().map(|range| &body[range]).collect();
            assert_eq!(found, *expected, "{body:?}");
        }
    }

    #[test]
    fn any_text_is_read() {
        for body in [
            "[",
            "![",
            "`",
            "\\",
            "((",
            "<",
            "$",
            "www.",
            "a://",
            "é[é](é",
            "\u{2028}#é",
            "[[[[",
            "]()[]([",
        ] {
            for range in linkable_ranges(body) {
                assert!(body.get(range).is_some(), "{body:?}");
            }
        }
    }
}
