//! Paths and globs of a filter.

use globset::{GlobBuilder, GlobMatcher};
use weft_index::Snapshot;
use weft_model::fold;
use weft_model::id::without_markdown_extension;

use super::is_below;
use crate::EngineError;

/// One path of a filter, read against a snapshot.
pub(super) enum PathMatch {
    /// A note, with or without its extension, or a folder; the empty one is the whole vault. Case folded.
    Under(String),
    /// A pattern over whole paths, case folded.
    Glob(GlobMatcher),
}

impl PathMatch {
    /// A name that a note or folder has is that, whatever it would be as a glob. Cost: `O(notes)` for one that might be a glob.
    ///
    /// Fails on a glob that is none.
    pub(super) fn new(path: &str, snapshot: &Snapshot) -> Result<Self, EngineError> {
        let name = bare(path);
        if !name.contains(['*', '?', '[', '{']) {
            return Ok(Self::Under(name));
        }
        let literally = Self::Under(name);
        if literally.is_met(snapshot) {
            return Ok(literally);
        }
        let glob = GlobBuilder::new(&bare(path)).literal_separator(true).build();
        let glob = glob.map_err(|error| EngineError::InvalidArgument {
            field: "filter.paths",
            reason: format!("`{path}` is no glob: {}", error.kind()),
        })?;
        Ok(Self::Glob(glob.compile_matcher()))
    }

    /// Whether a note's path, case folded, matches.
    pub(super) fn passes(&self, path: &str) -> bool {
        match self {
            Self::Under(name) => {
                name.is_empty() || is_below(path, name) || without_markdown_extension(path) == name
            }
            Self::Glob(glob) => glob.is_match(path),
        }
    }

    /// Whether any note matches.
    pub(super) fn is_met(&self, snapshot: &Snapshot) -> bool {
        snapshot.notes.cards().any(|(_, card)| self.passes(&fold(card.path)))
    }
}

/// A path by its segments, case folded: `./Proj/` is `proj`.
fn bare(path: &str) -> String {
    let folded = fold(path);
    let segments = folded.split('/').filter(|segment| !segment.is_empty() && *segment != ".");
    segments.collect::<Vec<_>>().join("/")
}
