//! Renderings of a context as one text. No note text can be mistaken for the wrapper.

mod json;
mod markdown;
mod xml;

use serde::{Deserialize, Serialize};

use crate::Citations;
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

impl NoteLabel<'_> {
    /// True if the uri ends with the title, as that of a file named by its title.
    fn is_named_by_uri(&self) -> bool {
        let folder = self.uri.strip_suffix(self.title).filter(|_| !self.title.is_empty());
        folder.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
    }
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

/// How notes are cited in a context of passages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    pub(crate) citations: Citations,
    /// True if the budget is small, so that frames are kept short.
    pub(crate) is_small: bool,
}

/// Maximum length in characters of the frame of a note if the budget is small: 25 tokens.
const SMALL_FRAME_CHARS: usize = 93;

/// Length in characters to which a title may be shortened.
const MIN_TITLE_CHARS: usize = 16;

/// A shown part of a body.
#[derive(Clone, Debug)]
pub(crate) struct Run<'b> {
    pub(crate) text: &'b str,
    /// Headings above it that neither the title nor its own text repeats, outermost first.
    pub(crate) path: Vec<String>,
}

/// The shown part of a note: parts of its body, or its headings.
#[derive(Clone, Copy)]
pub(crate) enum Shown<'c, 'b> {
    Runs(&'c [Run<'b>]),
    Outline(&'c Content<'b>),
}

/// A rendered note, and its line in the list of sources.
#[derive(Clone, Debug, Default)]
pub(crate) struct RenderedNote {
    pub(crate) text: String,
    pub(crate) source: String,
}

impl Frames {
    /// Returns the title and the origin of a note as shown. If the budget is small, the title is shortened, and an origin for which no room is left is dropped.
    ///
    /// Hits have no origin: the ledger names the hit that raised them.
    fn fitted(self, label: &NoteLabel<'_>, n_fixed: usize) -> (String, Option<String>) {
        let origin = match (label.relation, label.via) {
            _ if label.is_focus => Some("the focus".to_owned()),
            (Some(relation), Some(via)) => Some(format!("{relation} via {via}")),
            (Some(relation), None) => Some(relation.to_owned()),
            (None, _) => None,
        };
        if !self.is_small {
            return (label.title.to_owned(), origin);
        }
        let uri = match self.citations {
            Citations::Inline => label.uri.chars().count(),
            Citations::List => 0,
        };
        let left = SMALL_FRAME_CHARS.saturating_sub(n_fixed + uri);
        let n_title = label.title.chars().count();
        let title = if n_title <= left.max(MIN_TITLE_CHARS) {
            label.title.to_owned()
        } else {
            let kept = label.title.chars().take(left.max(MIN_TITLE_CHARS) - 1);
            kept.chain(['…']).collect()
        };
        let left = left.saturating_sub(title.chars().count());
        (title, origin.filter(|origin| origin.chars().count() + 3 <= left))
    }

    /// Returns the headings above a run as shown: only the innermost if the budget is small.
    fn path(self, run: &Run<'_>) -> String {
        match &*run.path {
            [.., last] if self.is_small => last.clone(),
            path => joined(path),
        }
    }
}

impl Rendering {
    /// Returns the text around the notes of a context of passages.
    pub(crate) fn around(self, has_focus: bool, frames: Frames) -> String {
        let WrapperParts { open, between: _, close, empty: _ } = self.wrapper_parts(has_focus);
        format!("{open}{close}{}", self.sources_title(frames))
    }

    /// Returns the text between two notes.
    pub(crate) fn between(self) -> &'static str {
        self.wrapper_parts(false).between
    }

    fn sources_title(self, frames: Frames) -> &'static str {
        match (self, frames.citations) {
            (Self::Markdown, Citations::List) => "\nSources:\n",
            (Self::None | Self::Markdown | Self::Xml | Self::Json, _) => "",
        }
    }

    /// Renders the passages or the headings of one note, the `number`th of the context.
    pub(crate) fn passages(
        self,
        label: &NoteLabel<'_>,
        shown: Shown<'_, '_>,
        frames: Frames,
        number: usize,
    ) -> RenderedNote {
        match self {
            Self::None => {
                let text = match shown {
                    Shown::Runs(runs) => runs.iter().map(|run| run.text).collect(),
                    Shown::Outline(content) => content.text(),
                };
                RenderedNote { text, source: String::new() }
            }
            Self::Markdown => markdown::passages(label, shown, frames, number),
            Self::Xml => {
                RenderedNote { text: xml::passages(label, shown, frames), source: String::new() }
            }
            Self::Json => {
                RenderedNote { text: json::passages(label, shown, frames), source: String::new() }
            }
        }
    }

    /// Renders a whole context of passages, as [`context`](Self::context) does one of notes.
    pub(crate) fn context_of_passages(
        self,
        has_focus: bool,
        order: Order,
        frames: Frames,
        notes: &[RenderedNote],
    ) -> Option<String> {
        if self == Self::None {
            return None;
        }
        let WrapperParts { open, between, close, empty } = self.wrapper_parts(has_focus);
        if notes.is_empty() {
            return Some(empty.to_owned());
        }
        let arranged: Vec<&str> =
            order.arrange(notes.len()).into_iter().map(|rank| notes[rank].text.as_str()).collect();
        let sources: String = notes.iter().map(|note| note.source.as_str()).collect();
        let title = self.sources_title(frames);
        Some(format!("{open}{}{close}{title}{sources}", arranged.join(between)))
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
