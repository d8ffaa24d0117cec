//! Escaping of text in lines of output, and in rendered Markdown and XML.

use std::borrow::Cow;
use std::fmt::Write as _;

use memchr::memchr;

/// Returns true for characters that a reader cannot see and that change the lines or the order of a text: control characters, separators of lines and paragraphs, and marks of bidirectional text.
///
/// Source: Unicode 16, properties `Bidi_Control` and `General_Category` (`Cc`, `Zl`, `Zp`).
#[must_use]
pub fn is_hidden_control(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Returns true for characters without a shape, in which two names can differ unseen: spaces without width, fillers and tags. Joiners and variation selectors, which shape their neighbors, are not among them.
///
/// Source: Unicode 16, property `Default_Ignorable_Code_Point`.
const fn is_shapeless(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{e0000}'..='\u{e007f}'
    )
}

/// Returns a name, tag, key or type as a single line in which every hidden control and every character without a shape is visible: `\n`, `\u{202e}`, `\u{200b}`.
///
/// Text chosen by a note can then neither begin a line of output nor change how the rest of the line is shown, and two names do not differ unseen.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    with_visible(text, |c| is_hidden_control(c) || is_shapeless(c), as_rust)
}

/// Returns true for hidden controls that a text of several lines is shown without: all but line feeds, tabs and the marks that only give their place a direction.
#[must_use]
pub fn is_hidden_in_text(c: char) -> bool {
    is_hidden_control(c) && !matches!(c, '\n' | '\t' | '\u{61c}' | '\u{200e}' | '\u{200f}')
}

/// Returns a text of several lines in which hidden controls are visible, except line feeds, tabs and the marks that only give their place a direction. The carriage return of a line ending is removed.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    let text = if text.contains("\r\n") { text.replace("\r\n", "\n").into() } else { text.into() };
    match text {
        Cow::Borrowed(text) => with_visible(text, is_hidden_in_text, as_rust),
        Cow::Owned(text) => {
            Cow::Owned(with_visible(&text, is_hidden_in_text, as_rust).into_owned())
        }
    }
}

/// Replaces each character that `is_escaped` selects with what `write` appends for it.
fn with_visible(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    write: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    let Some(first) = text.find(&is_escaped) else { return text.into() };
    let mut out = String::with_capacity(text.len() + "\\u{202e}".len());
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        if is_escaped(c) {
            write(&mut out, c);
        } else {
            out.push(c);
        }
    }
    out.into()
}

/// Appends `c` as Rust escapes it.
fn as_rust(out: &mut String, c: char) {
    out.extend(c.escape_default());
}

/// Returns a code fence that `text` cannot close: longer than any run of backticks in it, and at least three.
#[must_use]
pub fn fence(text: &str) -> String {
    let (bytes, mut at, mut longest) = (text.as_bytes(), 0, 2);
    while let Some(n_before) = memchr(b'`', &bytes[at..]) {
        let run = &bytes[at + n_before..];
        let n_ticks = run.iter().take_while(|byte| **byte == b'`').count();
        longest = longest.max(n_ticks);
        at += n_before + n_ticks;
    }
    "`".repeat(longest + 1)
}

/// Returns `uri` as the destination of a Markdown link, in angle brackets if necessary.
#[must_use]
pub fn link_destination(uri: &str) -> String {
    let needs_brackets =
        |c: char| is_hidden_control(c) || c.is_whitespace() || matches!(c, '(' | ')' | '\\' | '&');
    if !uri.is_empty() && !uri.starts_with('<') && !uri.chars().any(needs_brackets) {
        return uri.to_owned();
    }
    let mut out = String::from("<");
    for c in uri.chars() {
        match c {
            '<' | '>' | '\\' | '&' => out.extend(['\\', c]),
            _ if is_hidden_control(c) => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "%{byte:02X}");
                }
            }
            _ => out.push(c),
        }
    }
    out.push('>');
    out
}

/// Escapes the hidden controls of serialized JSON. They occur only inside strings, so a parser restores them.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    with_visible(text, is_hidden_control, |out, c| {
        // Writing to a string cannot fail. No hidden control is beyond the basic plane.
        let _ = write!(out, "\\u{:04x}", u32::from(c));
    })
}

/// Returns true for characters that [`xml`] must also escape in an attribute: quotes end it, parsers replace line breaks and tabs with spaces, and other hidden controls change how the line is shown.
#[must_use]
pub fn is_special_in_xml_attribute(c: char) -> bool {
    c == '"' || is_hidden_control(c)
}

/// Escapes `text` so that an XML parser restores it: markup, carriage returns, and the characters that `is_special` selects.
///
/// Characters that XML 1.0 cannot contain become U+FFFD.
#[must_use]
pub fn xml(text: &str, is_special: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Parsers replace a bare carriage return with a line feed.
            '\r' => out.push_str("&#13;"),
            '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            '"' if is_special(c) => out.push_str("&quot;"),
            _ if is_special(c) => drop(write!(out, "&#{};", u32::from(c))),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_controls_become_visible() {
        let cases = [
            ("a b", "a b", "a b"),
            ("", "", ""),
            ("a\n\tb\r\nc\rd", "a\\n\\tb\\r\\nc\\rd", "a\n\tb\nc\\rd"),
            ("x\u{1b}[31m\0", "x\\u{1b}[31m\\u{0}", "x\\u{1b}[31m\\u{0}"),
            ("a\u{202e}b\u{2028}c", "a\\u{202e}b\\u{2028}c", "a\\u{202e}b\\u{2028}c"),
            ("a\u{200b}b\u{e0041}", "a\\u{200b}b\\u{e0041}", "a\u{200b}b\u{e0041}"),
            ("א\u{200f}!\u{85}", "א\\u{200f}!\\u{85}", "א\u{200f}!\\u{85}"),
            (
                "שלום 👩\u{200d}🌾 e\u{301}",
                "שלום 👩\u{200d}🌾 e\u{301}",
                "שלום 👩\u{200d}🌾 e\u{301}",
            ),
        ];
        for (text, line, several) in cases {
            assert_eq!((&*one_line(text), &*lines(text)), (line, several), "{text:?}");
        }
    }

    #[test]
    fn every_escaped_line_is_one_line_without_hidden_controls() {
        for c in (0..=0x3_ffff).filter_map(char::from_u32) {
            let text = format!("a{c}b");
            let line = one_line(&text);
            assert_eq!(line.lines().count(), 1, "{c:?}");
            assert!(!line.contains(is_hidden_control), "{c:?}");
            assert!(!xml(&text, is_special_in_xml_attribute).contains(is_hidden_control), "{c:?}");
            assert!(!link_destination(&text).contains(is_hidden_control), "{c:?}");
            assert!(!json(&text).contains(is_hidden_control), "{c:?}");
            assert!(!is_hidden_control(c) || u32::from(c) <= 0xffff, "{c:?}");
        }
    }

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
            ("a\u{202e}b", "<a%E2%80%AEb>"),
        ];
        for (uri, expected) in cases {
            assert_eq!(link_destination(uri), expected, "{uri:?}");
        }
    }

    #[test]
    fn xml_is_escaped_by_its_context() {
        let text = "a & <b>\r\n\"c\"\t\u{1}";
        assert_eq!(xml(text, |_| false), "a &amp; &lt;b&gt;&#13;\n\"c\"\t\u{fffd}");
        assert_eq!(
            xml(text, is_special_in_xml_attribute),
            "a &amp; &lt;b&gt;&#13;&#10;&quot;c&quot;&#9;\u{fffd}"
        );
    }
}
