//! Paths in names and link targets, by segment.

use weft_model::id::{FOLDER_NOTES, segments};
use weft_model::{NotePath, fold};

/// True if a target is marked as relative to the linking note.
pub(super) fn is_relative(name: &str) -> bool {
    name == "." || name == ".." || name.starts_with("./") || name.starts_with("../")
}

/// Returns `name` as seen from `folder`, without `.` and `..`; `None` if it leaves the vault or is its root.
pub(super) fn relative_path(folder: &str, name: &str) -> Option<String> {
    resolve_segments(folder, name).filter(|parts| !parts.is_empty()).map(|parts| parts.join("/"))
}

/// Returns the segments of `name` as seen from `folder`, without `.` and `..`; `None` if it leaves the vault.
pub(super) fn resolve_segments<'a>(folder: &'a str, name: &'a str) -> Option<Vec<&'a str>> {
    Some(segments(folder, name)).filter(|parts| parts.first() != Some(&".."))
}

/// Returns the last segment of `name`.
pub(super) fn last_segment(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, last)| last)
}

/// Returns the last `n` segments of `path`; `None` if it has fewer.
pub(super) fn last_segments(path: &str, n: usize) -> Option<&str> {
    let above = path.split('/').count().checked_sub(n)?;
    let start: usize = path.split('/').take(above).map(|segment| segment.len() + 1).sum();
    Some(&path[start..])
}

/// Returns the name of the folder that the note at `path` represents by its file name; empty for the root.
pub(super) fn folder_named_by(path: &NotePath) -> Option<&str> {
    let is_inside = FOLDER_NOTES.contains(&fold(path.stem()).as_str());
    is_inside.then(|| folder_name(path.folder()).unwrap_or_default())
}

/// Returns the last segment of a folder's path; `None` for the root.
pub(super) fn folder_name(folder: &str) -> Option<&str> {
    folder.rsplit('/').next().filter(|own| !own.is_empty())
}
