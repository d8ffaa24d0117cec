//! Renderings of a context as one text. No note text can be mistaken for the wrapper.

mod json;
mod markdown;
mod xml;

use serde::{Deserialize, Serialize};

use crate::note_content::Content;

/// Format of a rendered context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rendering {
    /// No text: only items are returned, and no wrapper is charged.
    None,
    /// A heading with title and uri for each note, its text in fences longer than any run of backticks inside.
    Markdown,
    /// An element for each note, with escaped text.
    Xml,
    /// An array with an object for each note.
    Json,
}

/// Order of the notes in a rendered context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Best first.
    #[default]
    BestFirst,
    /// Best first, second best last, and so on inward: models pay the least attention to the middle of a long text.
    BestAtBothEnds,
}

impl Order {
    /// Returns the ranks `0..n` in the order shown.
    #[must_use]
    pub fn arrange(self, n: usize) -> Vec<usize> {
        match self {
            Self::BestFirst => (0..n).collect(),
            Self::BestAtBothEnds => {
                let odd = (0..n).skip(1).step_by(2);
                (0..n).step_by(2).chain(odd.rev()).collect()
            }
        }
    }
}

/// Label of a note in its frame.
pub(crate) struct NoteLabel<'a> {
    pub(crate) uri: &'a str,
    pub(crate) title: &'a str,
    /// Headings above the text, without one that repeats the title.
    pub(crate) headings: &'a [String],
    pub(crate) relation: Option<&'a str>,
    pub(crate) via: Option<&'a str>,
    /// True if this is the focus note.
    pub(crate) is_focus: bool,
    /// Length of the whole body, in characters.
    pub(crate) n_chars: u64,
}

/// The text around and between the notes.
struct WrapperParts {
    open: &'static str,
    between: &'static str,
    close: &'static str,
    /// A valid document without notes.
    empty: &'static str,
}

impl Rendering {
    fn wrapper_parts(self, has_focus: bool) -> WrapperParts {
        match self {
            Self::None => WrapperParts { open: "", between: "", close: "", empty: "" },
            Self::Markdown if has_focus => markdown::FRAME_AROUND_FOCUS,
            Self::Markdown => markdown::FRAME,
            Self::Xml => xml::FRAME,
            Self::Json => json::FRAME,
        }
    }

    /// Renders one note, as it appears between the parts of the frame.
    pub(crate) fn note(self, label: &NoteLabel<'_>, content: &Content<'_>) -> String {
        match self {
            Self::None => content.text(),
            Self::Markdown => markdown::note(label, content),
            Self::Xml => xml::note(label, content),
            Self::Json => json::note(label, content),
        }
    }

    /// Returns what `note` adds to a context: the first note adds the frame, the others the separator.
    pub(crate) fn addition(self, has_focus: bool, is_first: bool, note: &str) -> String {
        let WrapperParts { open, between, close, empty: _ } = self.wrapper_parts(has_focus);
        if is_first { format!("{open}{note}{close}") } else { format!("{between}{note}") }
    }

    /// Renders the whole context; `None` for [`Rendering::None`].
    ///
    /// Without notes it is the smallest valid document, which no budget is charged for.
    pub(crate) fn context(self, has_focus: bool, order: Order, notes: &[String]) -> Option<String> {
        if self == Self::None {
            return None;
        }
        let WrapperParts { open, between, close, empty } = self.wrapper_parts(has_focus);
        if notes.is_empty() {
            return Some(empty.to_owned());
        }
        let arranged: Vec<&str> =
            order.arrange(notes.len()).into_iter().map(|rank| notes[rank].as_str()).collect();
        Some(format!("{open}{}{close}", arranged.join(between)))
    }
}

/// Returns the headings of a path below one that repeats the title.
pub(crate) fn below_title<'p>(title: &str, path: &'p [String]) -> &'p [String] {
    match path {
        [first, below @ ..] if first == title => below,
        path => path,
    }
}

/// Joins headings to one path.
fn joined(headings: &[String]) -> String {
    headings.join(" > ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_notes_are_at_the_ends() {
        assert_eq!(Order::BestFirst.arrange(3), [0, 1, 2]);
        assert_eq!(Order::BestAtBothEnds.arrange(0), [0_usize; 0]);
        assert_eq!(Order::BestAtBothEnds.arrange(5), [0, 2, 4, 3, 1]);
        assert_eq!(Order::BestAtBothEnds.arrange(4), [0, 2, 3, 1]);
    }
}
