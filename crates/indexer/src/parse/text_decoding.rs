//! Decodes bytes to text and splits off the frontmatter.

use std::borrow::Cow;

use weft_model::Diagnostic;

use super::{code, diagnostic};

/// Decodes a file's text, without its byte order mark.
///
/// UTF-16 is recognized by its byte order mark.
/// Bytes that are not valid text become U+FFFD.
pub(super) fn decode<'b>(bytes: &'b [u8], diagnostics: &mut Vec<Diagnostic>) -> Cow<'b, str> {
    let text = match bytes {
        [0xFF, 0xFE, rest @ ..] => Cow::Owned(utf_16(rest, u16::from_le_bytes, diagnostics)),
        [0xFE, 0xFF, rest @ ..] => Cow::Owned(utf_16(rest, u16::from_be_bytes, diagnostics)),
        [0xEF, 0xBB, 0xBF, rest @ ..] | rest => {
            // The common case; the lossy conversion is slower even if it changes nothing.
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
        let message = "The file contains NUL characters, which were kept; remove them if they are unintended.";
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
    let message = "The file was read as UTF-16; save it as UTF-8 so that other tools can read it.";
    diagnostics.push(if broken {
        not_unicode("UTF-16", &text)
    } else {
        diagnostic(code::UTF_16, message, None)
    });
    text
}

fn not_unicode(encoding: &str, text: &str) -> Diagnostic {
    let message = format!(
        "Some bytes are not valid {encoding} and were read as U+FFFD (�); save the file as UTF-8."
    );
    diagnostic(code::NOT_UTF_8, message, line_of(text, char::REPLACEMENT_CHARACTER))
}

/// Returns the line number, from 1, of the first occurrence of `sought`.
fn line_of(text: &str, sought: char) -> Option<u32> {
    let newlines = text[..text.find(sought)?].matches('\n').count();
    u32::try_from(newlines + 1).ok()
}

/// Splits the text into the frontmatter between its delimiters and everything after the line of the closing delimiter.
///
/// `None` if the first line is not `---`, or no line `---` or `...` follows.
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
