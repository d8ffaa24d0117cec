//! Prose that Markdown takes for something else, made readable: every byte keeps its place, so offsets stay true.

/// Spaces that one level of an admonition is indented by.
const INDENT: usize = 4;

/// HTML elements whose content is code.
const CODE_ELEMENTS: &[&str] = &["pre", "script", "style", "textarea", "code", "svg"];

/// `body` with the indentation under MkDocs' `!!!`, `???` and `===` markers turned into quotes; Markdown takes it for code.
pub(super) fn admonitions(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    let mut depth = 0;
    for line in body.split_inclusive('\n') {
        let blank = line.trim().is_empty();
        let indent = line.len() - line.trim_start_matches(' ').len();
        if !blank {
            depth = depth.min(indent / INDENT);
        }
        if blank {
            text.push_str(line);
            continue;
        }
        for _ in 0..depth {
            text.push('>');
            text.extend(std::iter::repeat_n(' ', INDENT - 1));
        }
        let rest = &line[depth * INDENT..];
        text.push_str(rest);
        if ["!!!", "???", "==="].iter().any(|marker| is_marker(rest, marker)) {
            depth += 1;
        }
    }
    text
}

fn is_marker(line: &str, marker: &str) -> bool {
    let rest = line.strip_prefix(marker).map(|rest| rest.trim_start_matches(['+', '!']));
    rest.is_some_and(|rest| rest.starts_with(' ') && !rest.trim().is_empty())
}

/// Whether an indented block begins with a tab and a bullet: outliners indent so below a heading.
pub(super) fn is_outline(code: &str) -> bool {
    let first = code.trim_start_matches('\t');
    first.len() < code.len() && ["- ", "* ", "+ "].iter().any(|bullet| first.starts_with(bullet))
}

/// `code` with the tabs at the front of each line turned into quotes, so that no depth makes it code.
pub(super) fn outline(code: &str) -> String {
    let mut text = String::with_capacity(code.len());
    for line in code.split_inclusive('\n') {
        let rest = line.trim_start_matches('\t');
        text.extend(std::iter::repeat_n('>', line.len() - rest.len()));
        text.push_str(rest);
    }
    text
}

/// Whether what looks like a code span is a quotation as TeX writes it: ``` ``so'' and ``so'' ```.
pub(super) fn is_quotation(code: &str) -> bool {
    let inner = code.strip_prefix("``").and_then(|rest| rest.strip_suffix("``"));
    inner.is_some_and(|inner| inner.contains("''") && !inner.contains('`'))
}

/// Whether a paragraph is a table: a line below its first is made of bars, dashes and colons.
pub(super) fn is_table(paragraph: &str) -> bool {
    let rules = |line: &str| {
        let line = line.trim_start_matches(|c: char| c == '>' || c.is_whitespace());
        let made_of = |c: char| matches!(c, '|' | '-' | ':') || c.is_whitespace();
        line.contains('|') && line.contains('-') && line.chars().all(made_of)
    };
    paragraph.contains('|') && paragraph.lines().skip(1).any(rules)
}

/// `code` with its backticks turned into dots.
pub(super) fn quotation(code: &str) -> String {
    code.replace('`', ".")
}

/// The name of the element that an HTML tag begins, or ends (`true`), if its content is code.
pub(super) fn code_tag(tag: &str) -> Option<(&'static str, bool)> {
    let rest = tag.strip_prefix('<')?;
    let (rest, ends) = rest.strip_prefix('/').map_or((rest, false), |rest| (rest, true));
    let name = rest.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    let known = CODE_ELEMENTS.iter().find(|known| known.eq_ignore_ascii_case(name))?;
    (!tag.ends_with("/>")).then_some((known, ends))
}

/// `html` with tags, comments and code turned into dots, so that what stands between them is prose.
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

/// Where the markup ends that begins with the `<` at `open`; what is never closed takes all.
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
    fn html_leaves_what_stands_between_tags() {
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
    fn indentation_becomes_quotes_of_equal_length() {
        let body = "!!! note \"é\"\n    one\n\n    two\n    === \"Tab\"\n\n        three\n\nend\n    code\n";
        let quoted = admonitions(body);
        assert_eq!(quoted.len(), body.len());
        let expected = "!!! note \"é\"\n>   one\n\n>   two\n>   === \"Tab\"\n\n>   >   three\n\nend\n    code\n";
        assert_eq!(quoted, expected);
    }
}
