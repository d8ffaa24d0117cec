//! Limits the nesting depth that the Markdown parser sees.

use std::borrow::Cow;

use memchr::memchr2_iter;

/// Maximum number of quotes and list items that one line may open; real notes have a handful.
///
/// The parser visits all open containers for each continuation line, so thousands of them would take quadratic time.
const MAX_CONTAINERS: usize = 100;

/// Replaces the markers of quotes and lists beyond [`MAX_CONTAINERS`] in a line with dots; every byte keeps its position.
pub(crate) fn bounded(markdown: &str) -> Cow<'_, str> {
    let mut text = String::new();
    let mut copied = 0;
    let mut at = 0;
    for line_end in memchr2_iter(b'\n', b'\r', markdown.as_bytes()).chain([markdown.len()]) {
        let line = &markdown[at..line_end];
        // Most lines are too short to exceed the limit.
        if line.len() > MAX_CONTAINERS
            && let Some((kept, end)) = excess(line)
        {
            text.push_str(&markdown[copied..at + kept]);
            text.extend(std::iter::repeat_n('.', end - kept));
            copied = at + end;
        }
        at = line_end + 1;
    }
    if copied == 0 {
        return Cow::Borrowed(markdown);
    }
    text.push_str(&markdown[copied..]);
    Cow::Owned(text)
}

/// Returns the range of markers at the start of `line` beyond the limit.
fn excess(line: &str) -> Option<(usize, usize)> {
    let bytes = line.as_bytes();
    let mut n_marks = 0;
    let mut kept = None;
    let mut at = 0;
    loop {
        at += bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let Some(len) = mark_length(&bytes[at..]) else { break };
        if n_marks == MAX_CONTAINERS {
            kept = Some(at);
        }
        n_marks += 1;
        at += len;
    }
    kept.map(|kept| (kept, at))
}

/// Returns the length of the marker of a quote or list item at the start of `line`.
fn mark_length(line: &[u8]) -> Option<usize> {
    let n_digits = line.iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
    match line.get(n_digits)? {
        b'>' if n_digits == 0 => Some(1),
        b'-' | b'*' | b'+' if n_digits == 0 => Some(1),
        b'.' | b')' if n_digits > 0 => Some(n_digits + 1),
        _ => None,
    }
    .filter(|&len| line[0] == b'>' || matches!(line.get(len), Some(b' ' | b'\t')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_excess_markers_change() {
        for text in ["", "> a\n- b\n1. c", &"-".repeat(500), &"> ".repeat(100), &"x > ".repeat(500)]
        {
            assert_eq!(bounded(text), text);
        }
        assert_eq!(bounded(&">".repeat(100)), ">".repeat(100));
        assert_eq!(bounded(&">".repeat(101)), ">".repeat(100) + ".");
        let after_return = format!("a\r{}", ">".repeat(101));
        assert!(bounded(&after_return).ends_with(">."), "a carriage return ends a line");
        for mark in ["> ", ">", "- ", "1. ", "* > "] {
            let deep = format!("before\n{}text [[a]]\nafter", mark.repeat(1000));
            let shallow = bounded(&deep);
            assert_eq!(shallow.len(), deep.len(), "{mark}");
            assert!(shallow.ends_with("..text [[a]]\nafter"), "{mark}");
            assert_eq!(excess(shallow.lines().nth(1).unwrap_or_default()), None, "{mark}");
        }
    }
}
