//! The position of a part of a note in its file, for programs that open the file.

use std::path::{Path, PathBuf};

use weft_model::{NoteKind, NotePath, TextHash};

use crate::content_hash::hash_of;
use crate::parse;
use crate::scan::{self, PathProblem, ScanError, ScanOptions};

/// Byte order mark of UTF-8, which belongs to no body.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Reason why the position of a note is unknown.
#[derive(Debug, thiserror::Error)]
pub enum FilePositionError {
    /// The vault or the file cannot be read.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// A scan would not read a file at this path.
    #[error("{0}")]
    Path(PathProblem),
}

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePosition {
    /// Absolute path of the file, in its spelling; folders on the way are not symbolic links.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Hash of the file's bytes.
    pub hash: TextHash,
}

/// Returns the file of the note at `path` in the vault at `root`, and the position of character `offset` of its body; the beginning of the file without an offset.
///
/// An offset beyond the end means the end. Reads the file as a scan does.
pub fn file_position(
    root: &Path,
    options: &ScanOptions,
    path: &NotePath,
    offset: Option<u32>,
) -> Result<FilePosition, FilePositionError> {
    let location = scan::writable_path(root, options, path)?.map_err(FilePositionError::Path)?;
    let root =
        root.canonicalize().map_err(|source| ScanError::Read { path: root.to_owned(), source })?;
    let bytes = scan::read(&root, &location.named, options.max_file_bytes)?;
    let (line, column) = offset.map_or((1, 1), |offset| line_and_column(path, &bytes, offset));
    Ok(FilePosition { file: location.named, line, column, hash: hash_of(&bytes) })
}

/// Returns the line and the column of character `offset` of a note's body, from 1; the beginning if the file is not UTF-8.
///
/// The position in an Org file is the beginning of the line, because its body differs from the file within lines. A PDF file has no lines.
fn line_and_column(path: &NotePath, bytes: &[u8], offset: u32) -> (u32, u32) {
    let kind = path.kind();
    if let (NoteKind::Org, Ok(text)) = (kind, str::from_utf8(bytes)) {
        return (parse::org_line(text, offset), 1);
    }
    let start = match kind {
        NoteKind::Markdown => parse::body_start(bytes),
        NoteKind::Text => {
            Some(if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 })
        }
        NoteKind::Org | NoteKind::Pdf => None,
    };
    let Some((start, text)) = start.zip(str::from_utf8(bytes).ok()) else {
        return (1, 1);
    };
    let after = text[start..].char_indices().nth(offset as usize);
    let at = after.map_or(text.len(), |(at, _)| start + at);
    let before = text[..at].trim_start_matches('\u{feff}');
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let from_one = |n: usize| u32::try_from(n + 1).unwrap_or(u32::MAX);
    (from_one(before.matches('\n').count()), from_one(before[line_start..].chars().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_offset_becomes_line_of_file() {
        for (name, text, offset, expected) in [
            ("start", "# A\nb\n", 0, (1, 1)),
            ("second line", "# A\nbc\n", 5, (2, 2)),
            ("after frontmatter", "---\ntags: [x]\n---\n# A\nb\n", 4, (5, 1)),
            ("Windows line ends", "---\r\na: 1\r\n---\r\nx\r\ny", 3, (5, 1)),
            ("byte order mark", "\u{feff}ab", 1, (1, 2)),
            ("characters, not bytes", "äöü\nß", 4, (2, 1)),
            ("beyond the end", "a\nb", 99, (2, 2)),
        ] {
            let path = NotePath::new("a.md");
            assert_eq!(line_and_column(&path, text.as_bytes(), offset), expected, "{name}");
        }
        for (path, bytes, offset, expected) in [
            ("a.md", &b"\xff\xfea\0"[..], 1, (1, 1)),
            ("a.txt", b"---\na: 1\n---\nb", 5, (2, 2)),
            ("a.txt", "\u{feff}ab".as_bytes(), 1, (1, 2)),
            ("a.org", b"#+title: T\n* A\ntext\n", 5, (3, 1)),
            ("a.org", b"#+title: T\n", 5, (1, 1)),
            ("a.pdf", b"%PDF-1.7\n1 0 obj", 12, (1, 1)),
        ] {
            assert_eq!(line_and_column(&NotePath::new(path), bytes, offset), expected, "{path}");
        }
    }

    #[test]
    fn file_is_found_where_a_scan_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("plants")).unwrap();
        std::fs::write(root.join("plants/fern.md"), "---\na: 1\n---\n# Fern\n\nGreen.\n").unwrap();
        std::fs::write(root.join(".gitignore"), "secret.md\n").unwrap();
        std::fs::write(root.join("secret.md"), "x").unwrap();
        let options = ScanOptions::default();
        let position =
            |path: &str, offset| file_position(&root, &options, &NotePath::new(path), offset);
        let found = position("plants/fern.md", Some(8)).unwrap();
        assert_eq!(found.file, root.join("plants/fern.md"));
        assert_eq!((found.line, found.column), (6, 1));
        assert_eq!(position("plants/fern.md", None).unwrap().line, 1);
        let refused = position("secret.md", None).unwrap_err().to_string();
        assert!(refused.contains("would not be indexed"), "{refused}");
        assert!(matches!(position("none.md", None), Err(FilePositionError::Scan(_))));
    }

    #[cfg(unix)]
    #[test]
    fn link_out_of_the_vault_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("vault")).unwrap();
        std::fs::write(base.join("outside.md"), "x").unwrap();
        std::os::unix::fs::symlink("../outside.md", base.join("vault/link.md")).unwrap();
        let path = NotePath::new("link.md");
        let found = file_position(&base.join("vault"), &ScanOptions::default(), &path, None);
        assert!(found.unwrap_err().to_string().contains("outside the vault"));
    }
}
