//! Makes prose parseable that Markdown takes for something else. Every byte keeps its position, so offsets stay valid.

/// HTML elements that contain code.
const CODE_ELEMENTS: &[&str] = &["pre", "script", "style", "textarea", "code", "svg"];

/// Replaces MkDocs' `!!!`, `???` and `===` markers in `body` with list item markers, so that the text indented under them belongs to the item instead of being code.
pub(super) fn admonitions(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    for line in body.split_inclusive('\n') {
        let rest = line.trim_start_matches([' ', '\t']);
        let length = ["!!!", "???", "==="].iter().find_map(|marker| marker_length(rest, marker));
        let length = length.unwrap_or_default();
        text.push_str(&line[..line.len() - rest.len()]);
        // Two extra columns before the text: content indented by four spaces then belongs to the item.
        text.extend("-  ".chars().chain(std::iter::repeat('.')).take(length));
        text.push_str(&rest[length..]);
    }
    text
}

/// Returns the length of a marker at the start of a line, including suffixes as in `???+`.
fn marker_length(line: &str, marker: &str) -> Option<usize> {
    let rest = line.strip_prefix(marker)?.trim_start_matches(['+', '!']);
    (rest.starts_with(' ') && !rest.trim().is_empty()).then(|| line.len() - rest.len())
}

/// Org blocks of Logseq that contain no prose.
const ORG_CODE: [&str; 5] = ["src", "example", "export", "query", "comment"];

/// Replaces the ASCII characters in Org code blocks (`#+BEGIN_SRC` to `#+END_SRC`) of `body` with dots; an unclosed block hides nothing.
pub(super) fn org_blocks(body: &str) -> String {
    let end_of = |line: &str| {
        let kind = org_mark(line, "#+end_")?;
        ORG_CODE.iter().position(|known| kind == *known)
    };
    let mut last_ends = [None; ORG_CODE.len()];
    for (number, line) in body.lines().enumerate() {
        if let Some(kind) = end_of(line) {
            last_ends[kind] = Some(number);
        }
    }
    let mut text = String::with_capacity(body.len());
    let mut open = None;
    for (number, line) in body.split_inclusive('\n').enumerate() {
        if open.is_some() && end_of(line) != open {
            text.extend(line.chars().map(|c| if c.is_ascii() && c != '\n' { '.' } else { c }));
            continue;
        }
        let begun = org_mark(line, "#+begin_").filter(|_| open.is_none());
        let kind = begun.and_then(|kind| ORG_CODE.iter().position(|known| kind == *known));
        open = kind.filter(|kind| last_ends[*kind] > Some(number));
        text.push_str(line);
    }
    text
}

/// Returns the kind of Org block that a line begins or ends, in lower case.
fn org_mark(line: &str, mark: &str) -> Option<String> {
    let bare = line.trim().trim_start_matches("- ");
    let kind = bare.get(mark.len()..).filter(|_| bare[..mark.len()].eq_ignore_ascii_case(mark))?;
    Some(kind.split_whitespace().next().unwrap_or_default().to_ascii_lowercase())
}

/// Returns true if an indented block begins with a tab and a bullet, as outliners write below a heading.
pub(super) fn is_outline(code: &str) -> bool {
    let first = code.trim_start_matches('\t');
    first.len() < code.len() && ["- ", "* ", "+ "].iter().any(|bullet| first.starts_with(bullet))
}

/// Replaces the leading tabs of each line with `>`, so that deep indentation does not become code.
pub(super) fn outline(code: &str) -> String {
    let mut text = String::with_capacity(code.len());
    for line in code.split_inclusive('\n') {
        let rest = line.trim_start_matches('\t');
        text.extend(std::iter::repeat_n('>', line.len() - rest.len()));
        text.push_str(rest);
    }
    text
}

/// Returns true if a code span is a TeX-style quotation: ``` ``so'' and ``so'' ```.
pub(super) fn is_quotation(code: &str) -> bool {
    let inner = code.strip_prefix("``").and_then(|rest| rest.strip_suffix("``"));
    inner.is_some_and(|inner| inner.contains("''") && !inner.contains('`'))
}

/// Returns true if a paragraph is a table: a line after its first consists of bars, dashes and colons.
pub(super) fn is_table(paragraph: &str) -> bool {
    let rules = |line: &str| {
        let line = line.trim_start_matches(|c: char| c == '>' || c.is_whitespace());
        let made_of = |c: char| matches!(c, '|' | '-' | ':') || c.is_whitespace();
        line.contains('|') && line.contains('-') && line.chars().all(made_of)
    };
    paragraph.contains('|') && paragraph.lines().skip(1).any(rules)
}

/// Replaces backticks with dots.
pub(super) fn quotation(code: &str) -> String {
    code.replace('`', ".")
}

/// Returns the name of the code element that an HTML tag opens or closes; `true` means it closes.
pub(super) fn code_tag(tag: &str) -> Option<(&'static str, bool)> {
    let rest = tag.strip_prefix('<')?;
    let (rest, ends) = rest.strip_prefix('/').map_or((rest, false), |rest| (rest, true));
    let name = rest.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    let known = CODE_ELEMENTS.iter().find(|known| known.eq_ignore_ascii_case(name))?;
    (!tag.ends_with("/>")).then_some((known, ends))
}

/// Replaces tags, comments and code in `html` with dots, leaving the prose between them.
pub(super) fn html(html: &str) -> String {
    let lower = html.to_ascii_lowercase();
    let mut text = String::with_capacity(html.len());
    let mut at = 0;
    while let Some(open) = html[at..].find('<').map(|step| at + step) {
        text.push_str(&html[at..open]);
        at = markup_end(&lower, open);
        let hidden = html[open..at].bytes();
        text.extend(hidden.map(|byte| if byte == b'\n' { '\n' } else { '.' }));
    }
    text.push_str(&html[at..]);
    text
}

/// Returns the end of the markup that begins with the `<` at `open`; unclosed markup extends to the end of the text.
fn markup_end(lower: &str, open: usize) -> usize {
    let rest = &lower[open..];
    let after = |end: &str| rest.find(end).map_or(lower.len(), |at| open + at + end.len());
    if rest.starts_with("<!--") {
        return after("-->");
    }
    if !rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
        return open + 1;
    }
    let name = rest[1..].split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    if CODE_ELEMENTS.contains(&name) {
        let close = rest.find(&format!("</{name}")).unwrap_or(rest.len());
        return rest[close..].find('>').map_or(lower.len(), |end| open + close + end + 1);
    }
    let mut quote = None;
    let end = rest.bytes().position(|byte| {
        match (byte, quote) {
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if open == byte => quote = None,
            (_, _) => {}
        }
        byte == b'>' && quote.is_none()
    });
    end.map_or(lower.len(), |end| open + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_keeps_text_between_tags() {
        let cases = [
            ("<div title=\"[[a]] > b\">é [[c]]</div>", "é [[c]]"),
            ("<!-- [[a]]\n--> [[b]]", "[[b]]"),
            ("<PRE>[[a]]</PRE> [[b]]", "[[b]]"),
            ("a < b [[c]]", "a . b [[c]]"),
            ("<p>[[a]] <!-- [[b]]", "[[a]]"),
        ];
        for (source, expected) in cases {
            let text = html(source);
            assert_eq!(text.len(), source.len(), "{source}");
            let words = text.split_whitespace().map(|word| word.trim_matches('.'));
            let words = words.filter(|word| !word.is_empty()).collect::<Vec<_>>();
            let expected = expected.split_whitespace().map(|word| word.trim_matches('.'));
            assert_eq!(
                words,
                expected.filter(|word| !word.is_empty()).collect::<Vec<_>>(),
                "{source}"
            );
        }
    }

    #[test]
    fn admonition_markers_become_list_items_of_equal_length() {
        let body =
            "!!! note \"é\"\n    one\n\n    === \"Tab\"\n\n        two\n\n???+ tip\n!!!\n===\n";
        let listed = admonitions(body);
        assert_eq!(listed.len(), body.len());
        let expected =
            "-   note \"é\"\n    one\n\n    -   \"Tab\"\n\n        two\n\n-  . tip\n!!!\n===\n";
        assert_eq!(listed, expected);
    }

    #[test]
    fn org_code_becomes_dots() {
        let body = "- #+BEGIN_SRC rust\n  [[é]]\n  #+END_SRC\n#+begin_quote\n[[b]]\n#+end_quote\n#+BEGIN_EXAMPLE\n[[c]]\n#+BEGIN_SRC\n[[d]]\n#+END_SRC\n[[e]] é\n";
        let masked = org_blocks(body);
        assert_eq!(masked, body.replace("  [[é]]", "....é..").replace("[[d]]", "....."));
        assert_eq!(org_blocks("é#+end_src é"), "é#+end_src é");
    }
}
