//! Escaping of text in rendered Markdown and XML.

use std::fmt::Write as _;

/// Returns a code fence that `text` cannot close: longer than any run of backticks in it, and at least three.
#[must_use]
pub fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// Returns `uri` as the destination of a Markdown link, in angle brackets if necessary.
#[must_use]
pub fn link_destination(uri: &str) -> String {
    let needs_brackets =
        |c: char| c.is_control() || c.is_whitespace() || matches!(c, '(' | ')' | '\\' | '&');
    if !uri.is_empty() && !uri.starts_with('<') && !uri.chars().any(needs_brackets) {
        return uri.to_owned();
    }
    let mut out = String::from("<");
    for c in uri.chars() {
        match c {
            '<' | '>' | '\\' | '&' => out.extend(['\\', c]),
            // Writing to a string cannot fail.
            _ if c.is_control() => drop(write!(out, "%{:02X}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('>');
    out
}

/// Characters that [`xml`] must also escape in an attribute: quotes end it, and parsers replace line breaks and tabs with spaces.
pub const XML_ATTRIBUTE: &[char] = &['"', '\n', '\t'];

/// Escapes `text` so that an XML parser restores it: markup, carriage returns, and the characters of `also`.
///
/// Characters that XML 1.0 cannot contain become U+FFFD.
#[must_use]
pub fn xml(text: &str, also: &[char]) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Parsers replace a bare carriage return with a line feed.
            '\r' => out.push_str("&#13;"),
            '"' if also.contains(&c) => out.push_str("&quot;"),
            '\n' if also.contains(&c) => out.push_str("&#10;"),
            '\t' if also.contains(&c) => out.push_str("&#9;"),
            '\n' | '\t' => out.push(c),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fence_is_longer_than_any_run_of_backticks() {
        let cases = [("", 3), ("plain", 3), ("`a` ``b``", 3), ("```", 4), ("x`````y```", 6)];
        for (text, expected) in cases {
            assert_eq!(fence(text), "`".repeat(expected), "{text}");
        }
    }

    #[test]
    fn destination_has_brackets_if_necessary() {
        let cases = [
            ("folder/moss", "folder/moss"),
            ("moss (1)", "<moss (1)>"),
            ("", "<>"),
            ("<a>&\\", "<\\<a\\>\\&\\\\>"),
            ("a\nb", "<a%0Ab>"),
        ];
        for (uri, expected) in cases {
            assert_eq!(link_destination(uri), expected, "{uri:?}");
        }
    }

    #[test]
    fn xml_is_escaped_by_its_context() {
        let text = "a & <b>\r\n\"c\"\t\u{1}";
        assert_eq!(xml(text, &[]), "a &amp; &lt;b&gt;&#13;\n\"c\"\t\u{fffd}");
        assert_eq!(
            xml(text, XML_ATTRIBUTE),
            "a &amp; &lt;b&gt;&#13;&#10;&quot;c&quot;&#9;\u{fffd}"
        );
    }
}
