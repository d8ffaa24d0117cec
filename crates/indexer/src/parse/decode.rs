//! Bytes to text, and where the frontmatter ends.

use std::borrow::Cow;

use weft_model::Diagnostic;

use super::{code, diagnostic};

/// The text of a file, its byte order mark taken off.
///
/// UTF-16 is understood when a byte order mark announces it.
/// Bytes that are no text become U+FFFD.
pub(super) fn decode<'b>(bytes: &'b [u8], diagnostics: &mut Vec<Diagnostic>) -> Cow<'b, str> {
    let text = match bytes {
        [0xFF, 0xFE, rest @ ..] => Cow::Owned(utf_16(rest, u16::from_le_bytes, diagnostics)),
        [0xFE, 0xFF, rest @ ..] => Cow::Owned(utf_16(rest, u16::from_be_bytes, diagnostics)),
        [0xEF, 0xBB, 0xBF, rest @ ..] | rest => {
            // Nearly always; what replaces bytes is slow to find that it need not.
            if let Ok(text) = str::from_utf8(rest) {
                Cow::Borrowed(text)
            } else {
                let text = String::from_utf8_lossy(rest);
                diagnostics.push(not_unicode("UTF-8", &text));
                text
            }
        }
    };
    if text.contains('\0') {
        let message = "The file holds NUL characters; they are kept as they are.";
        diagnostics.push(diagnostic(code::NUL_CHARACTERS, message, line_of(&text, '\0')));
    }
    text
}

fn utf_16(
    bytes: &[u8],
    unit: impl Fn([u8; 2]) -> u16,
    diagnostics: &mut Vec<Diagnostic>,
) -> String {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|&pair| unit(pair));
    let mut broken = !rest.is_empty();
    let text = char::decode_utf16(units)
        .map(|unit| {
            unit.unwrap_or_else(|_| {
                broken = true;
                char::REPLACEMENT_CHARACTER
            })
        })
        .collect::<String>();
    let message = "The file is UTF-16; it was read as such.";
    diagnostics.push(if broken {
        not_unicode("UTF-16", &text)
    } else {
        diagnostic(code::UTF_16, message, None)
    });
    text
}

fn not_unicode(encoding: &str, text: &str) -> Diagnostic {
    let message = format!("Some bytes are not {encoding}; each stretch was read as U+FFFD.");
    diagnostic(code::NOT_UTF_8, message, line_of(text, char::REPLACEMENT_CHARACTER))
}

/// The line, from 1, on which `sought` is first met.
fn line_of(text: &str, sought: char) -> Option<u32> {
    let newlines = text[..text.find(sought)?].matches('\n').count();
    u32::try_from(newlines + 1).ok()
}

/// The text between the marks of a frontmatter, and everything after the newline that ends the closing mark.
///
/// Nothing where the first line is no `---`, or no line `---` or `...` follows.
pub(super) fn split_frontmatter(text: &str) -> Option<(&str, &str)> {
    let mut lines = text.split_inclusive('\n');
    let opening = lines.next().filter(|line| line.ends_with('\n') && line.trim_end() == "---")?;
    let mut end = opening.len();
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((&text[opening.len()..end], &text[end + line.len()..]));
        }
        end += line.len();
    }
    None
}
