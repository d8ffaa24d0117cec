//! Renderings: how a context reads as one string, so that no text in it can pass for the wrapper.

mod json;
mod markdown;
mod xml;

use serde::{Deserialize, Serialize};

use crate::content::Content;

/// How the context is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rendering {
    /// Not at all: only items are returned and no wrapper is charged.
    None,
    /// A heading with title and uri for each note, its text in fences longer than any run of backticks inside.
    Markdown,
    /// An element for each note, its text escaped.
    Xml,
    /// An array with an object for each note.
    Json,
}

/// In which order a rendered context shows its notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Best first.
    #[default]
    BestFirst,
    /// Best first, second best last and so inward: models read the middle of a long text least.
    BestAtBothEnds,
}

impl Order {
    /// The ranks `0..n` as they are shown.
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

/// What the wrapper says of a note.
pub(crate) struct Label<'a> {
    pub(crate) uri: &'a str,
    pub(crate) title: &'a str,
    /// The headings above its text, without one that repeats the title.
    pub(crate) headings: &'a [String],
    pub(crate) relation: Option<&'a str>,
    pub(crate) via: Option<&'a str>,
    /// Whether it is the note that the others are related to.
    pub(crate) is_focus: bool,
    /// The length of the whole body, in characters.
    pub(crate) n_chars: u64,
}

/// What stands around the notes of one rendering.
struct Frame {
    open: &'static str,
    between: &'static str,
    close: &'static str,
}

impl Rendering {
    fn frame(self, has_focus: bool) -> Frame {
        match self {
            Self::None => Frame { open: "", between: "", close: "" },
            Self::Markdown if has_focus => markdown::FRAME_AROUND_FOCUS,
            Self::Markdown => markdown::FRAME,
            Self::Xml => xml::FRAME,
            Self::Json => json::FRAME,
        }
    }

    /// One note, as it stands between the parts of the frame.
    pub(crate) fn note(self, label: &Label<'_>, content: &Content<'_>) -> String {
        match self {
            Self::None => content.text(),
            Self::Markdown => markdown::note(label, content),
            Self::Xml => xml::note(label, content),
            Self::Json => json::note(label, content),
        }
    }

    /// What `note` adds to a context: the first brings the frame, each other what stands between.
    pub(crate) fn addition(self, has_focus: bool, is_first: bool, note: &str) -> String {
        let Frame { open, between, close } = self.frame(has_focus);
        if is_first { format!("{open}{note}{close}") } else { format!("{between}{note}") }
    }

    /// The whole context; empty without notes, nothing where none is to be written.
    pub(crate) fn context(self, has_focus: bool, order: Order, notes: &[String]) -> Option<String> {
        if self == Self::None {
            return None;
        }
        if notes.is_empty() {
            return Some(String::new());
        }
        let Frame { open, between, close } = self.frame(has_focus);
        let arranged: Vec<&str> =
            order.arrange(notes.len()).into_iter().map(|rank| notes[rank].as_str()).collect();
        Some(format!("{open}{}{close}", arranged.join(between)))
    }
}

/// The headings of a path below one that repeats the title, which stands there already.
pub(crate) fn beneath<'p>(title: &str, path: &'p [String]) -> &'p [String] {
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
    fn the_best_stand_where_they_are_read() {
        assert_eq!(Order::BestFirst.arrange(3), [0, 1, 2]);
        assert_eq!(Order::BestAtBothEnds.arrange(0), [0_usize; 0]);
        assert_eq!(Order::BestAtBothEnds.arrange(5), [0, 2, 4, 3, 1]);
        assert_eq!(Order::BestAtBothEnds.arrange(4), [0, 2, 3, 1]);
    }
}
