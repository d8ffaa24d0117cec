//! Texts that stay within bounds.

use weft_model::tokens::Characters;
use weft_model::{Chars, Tokens};

/// Characters of a title, a name or a summary that are shown.
pub(crate) const LINE: usize = 200;

/// What is said where there is no note at all.
pub(crate) const NO_NOTES: &str = "There are no notes at all: nothing is indexed yet, or the folder holds no Markdown files. `weft status` tells the person which.\n";

/// What is said where a question finds no note.
pub(crate) const NOTHING_FOUND: &str =
    "No note was found. Use other words, or fewer of them, or a wider filter.\n";

/// `text` on one line, cut where it is longer than [`LINE`].
pub(crate) fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut text = words.join(" ");
    if let Some((cut, _)) = text.char_indices().nth(LINE) {
        text.truncate(cut);
        text.push('…');
    }
    text
}

/// The characters that a budget of tokens pays for.
pub(crate) fn characters(tokens: u32) -> usize {
    let Chars(chars) = Characters::default().chars(Tokens::new(tokens.into()));
    usize::try_from(chars).unwrap_or(usize::MAX)
}

/// The first `n` characters of `text`.
pub(crate) fn head(text: &str, n: usize) -> &str {
    text.char_indices().nth(n).map_or(text, |(at, _)| &text[..at])
}

/// `text` between fences that it cannot close.
pub(crate) fn fenced(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}markdown\n{text}{end}{fence}\n")
}

/// So many of `what`.
pub(crate) fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// What was left out of an answer for want of time, of a model or of vectors; empty for a whole one.
pub(crate) fn degraded(reasons: &[String]) -> String {
    match reasons {
        [] => String::new(),
        _ => format!("Incomplete: {}.\n", reasons.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_single_and_short() {
        assert_eq!(line(" a\n b\tc "), "a b c");
        let cut = line(&"ö".repeat(LINE + 1));
        assert_eq!(cut.chars().count(), LINE + 1);
        assert!(cut.ends_with('…'));
        assert_eq!(line(&"ö".repeat(LINE)).chars().count(), LINE);
    }

    #[test]
    fn a_fence_is_longer_than_any_run_inside() {
        assert_eq!(fenced("a"), "```markdown\na\n```\n");
        assert_eq!(fenced("````x````\n"), "`````markdown\n````x````\n`````\n");
    }

    #[test]
    fn heads_end_between_characters() {
        for (n, expected) in [(0, ""), (1, "ö"), (2, "öx"), (9, "öx")] {
            assert_eq!(head("öx", n), expected, "{n}");
        }
    }
}
