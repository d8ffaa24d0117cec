//! Kinds of notes: the format of the file that a note is read from.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Format of a note's file. The extension of the file decides.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum NoteKind {
    /// Markdown: `.md`, `.markdown`. These files are always notes.
    #[default]
    Markdown,
    /// Plain text: `.txt`. It has no headings, links or tags.
    Text,
    /// Org mode: `.org`.
    Org,
    /// PDF: `.pdf`. Each page is a section.
    Pdf,
}

impl NoteKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Markdown, Self::Text, Self::Org, Self::Pdf];

    /// Returns the kind of the file at `path`, a path or a name; `None` if such files are never notes.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit_once('.')?;
        let has =
            |kind: &Self| kind.extensions().iter().any(|it| extension.eq_ignore_ascii_case(it));
        Self::ALL.into_iter().find(has)
    }

    /// Returns the extensions of its files, without the dot, compared case-insensitively.
    #[must_use]
    pub const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Markdown => &["md", "markdown"],
            Self::Text => &["txt"],
            Self::Org => &["org"],
            Self::Pdf => &["pdf"],
        }
    }

    /// Returns the name used in settings, requests and responses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Text => "text",
            Self::Org => "org",
            Self::Pdf => "pdf",
        }
    }
}

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_decides_the_kind() {
        for (path, expected) in [
            ("a.md", Some(NoteKind::Markdown)),
            ("b/a.Markdown", Some(NoteKind::Markdown)),
            ("a.TXT", Some(NoteKind::Text)),
            ("a.b.org", Some(NoteKind::Org)),
            ("paper.pdf", Some(NoteKind::Pdf)),
            ("paper.pdf.md", Some(NoteKind::Markdown)),
            ("a.png", None),
            ("pdf", None),
            ("a.pdf/b", None),
        ] {
            assert_eq!(NoteKind::of(path), expected, "{path}");
        }
    }
}
