//! Bounded output texts.

use schemars::JsonSchema;
use serde::Serialize;
use weft_model::escape;
use weft_model::tokens::Characters;
use weft_model::{Chars, Tokens};
use weft_proto::noteweft::v1 as wire;

/// Maximum number of characters shown of a title, a name or a summary.
pub(crate) const MAX_LINE_CHARS: usize = 200;

/// Text if the index holds no notes.
pub(crate) const NO_NOTES: &str = "There are no notes: nothing is indexed yet, or the folder contains no Markdown files. The user can check with `weft status`.\n";

/// Text if a query finds no note.
pub(crate) const NOTHING_FOUND: &str =
    "No note was found. Use other words, fewer words, or a wider filter.\n";

/// Returns `text` on one line without hidden controls, cut after [`MAX_LINE_CHARS`].
pub(crate) fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut text = escape::one_line(&words.join(" ")).into_owned();
    if let Some((cut, _)) = text.char_indices().nth(MAX_LINE_CHARS) {
        text.truncate(cut);
        text.push('…');
    }
    text
}

/// Returns the number of characters that a token budget allows.
pub(crate) fn characters(tokens: u32) -> usize {
    let Chars(chars) = Characters::default().chars(Tokens::new(tokens.into()));
    usize::try_from(chars).unwrap_or(usize::MAX)
}

/// Returns the first `n` characters of `text`.
pub(crate) fn head(text: &str, n: usize) -> &str {
    text.char_indices().nth(n).map_or(text, |(at, _)| &text[..at])
}

/// Returns `text` in a code fence that it cannot close.
pub(crate) fn fenced(text: &str) -> String {
    let fence = escape::fence(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}markdown\n{text}{end}{fence}\n")
}

/// A condition that makes an answer incomplete or possibly not what was meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct OutputWarning {
    /// A stable identifier, such as `stage_skipped` or `vectors_pending`.
    code: String,
    /// The condition as a sentence.
    message: String,
}

impl OutputWarning {
    /// Converts the warnings of a response.
    pub(crate) fn all(warnings: Vec<wire::Warning>) -> Vec<Self> {
        warnings.into_iter().map(|wire::Warning { code, message }| Self { code, message }).collect()
    }
}

/// Formats a count with its noun, in the plural unless `n` is 1.
pub(crate) fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Formats the warnings of an answer, one line each.
pub(crate) fn warnings(warnings: &[OutputWarning]) -> String {
    let line = |OutputWarning { message, .. }: &OutputWarning| {
        format!("Warning: {}.\n", escape::one_line(message))
    };
    warnings.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_and_truncated() {
        assert_eq!(line(" a\n b\tc\u{202e}\u{1b} "), "a b c\\u{202e}\\u{1b}");
        let cut = line(&"ö".repeat(MAX_LINE_CHARS + 1));
        assert_eq!(cut.chars().count(), MAX_LINE_CHARS + 1);
        assert!(cut.ends_with('…'));
        assert_eq!(line(&"ö".repeat(MAX_LINE_CHARS)).chars().count(), MAX_LINE_CHARS);
    }

    #[test]
    fn fence_is_longer_than_any_run_inside() {
        assert_eq!(fenced("a"), "```markdown\na\n```\n");
        assert_eq!(fenced("````x````\n"), "`````markdown\n````x````\n`````\n");
    }

    #[test]
    fn heads_end_at_character_boundaries() {
        for (n, expected) in [(0, ""), (1, "ö"), (2, "öx"), (9, "öx")] {
            assert_eq!(head("öx", n), expected, "{n}");
        }
    }
}
