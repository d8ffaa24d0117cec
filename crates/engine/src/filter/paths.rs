//! Paths and globs of a filter.

use weft_index::Snapshot;
use weft_index::notes::{NoteSummary, VaultId};
use weft_model::fold;
use weft_model::id::without_markdown_extension;
use weft_model::text::nfc;

use super::glob::Glob;
use super::is_below;
use crate::EngineError;

/// One path of a filter, resolved against a snapshot.
pub(super) struct PathMatch {
    /// The vault it is restricted to, if it names one.
    vault: Option<VaultId>,
    place: PathPattern,
}

enum PathPattern {
    /// A note, with or without its extension, or a folder; empty for the whole vault. Case folded.
    Under(String),
    /// A pattern over whole paths.
    Glob(Glob),
}

impl PathMatch {
    /// Resolves a path. An existing name of a note or folder takes precedence over a glob and over a vault prefix; `vault:` is the whole vault. `O(notes)` for a path that could be either.
    ///
    /// Fails on an invalid glob.
    pub(super) fn new(path: &str, snapshot: &Snapshot) -> Result<Self, EngineError> {
        let literally = |vault, path| Self { vault, place: PathPattern::Under(bare(path)) };
        let abroad = snapshot.notes.cross_vault_target(path).or_else(|| {
            let name = path.strip_suffix(':')?;
            let (vault, _) = snapshot.notes.vaults().find(|(_, info)| info.name == name)?;
            Some((vault, ""))
        });
        if !path.contains(GLOB_SIGNS) && abroad.is_none() {
            return Ok(literally(None, path));
        }
        let names = std::iter::once((None, path))
            .chain(abroad.map(|(vault, path)| (Some(vault), path)))
            .map(|(vault, path)| literally(vault, path));
        if let Some(found) = { names }.find(|name| name.is_met(snapshot)) {
            return Ok(found);
        }
        let (vault, below) = abroad.map_or((None, path), |(vault, path)| (Some(vault), path));
        if !below.contains(GLOB_SIGNS) {
            return Ok(literally(vault, below));
        }
        let glob =
            Glob::new(&segments(&nfc(below))).map_err(|error| EngineError::InvalidArgument {
                field: "filter.paths",
                reason: format!("`{path}` is not a valid glob: {error}"),
            })?;
        Ok(Self { vault, place: PathPattern::Glob(glob) })
    }

    /// True if a note at `path` matches; `folded` is the case-folded path.
    pub(super) fn passes(&self, vault: VaultId, path: &str, folded: &str) -> bool {
        self.vault.is_none_or(|own| own == vault)
            && match &self.place {
                PathPattern::Under(name) => {
                    name.is_empty()
                        || is_below(folded, name)
                        || without_markdown_extension(folded) == name
                }
                PathPattern::Glob(glob) => glob.is_match(&nfc(path)),
            }
    }

    /// True if any note matches.
    pub(super) fn is_met(&self, snapshot: &Snapshot) -> bool {
        let mut summaries = snapshot.notes.summaries();
        summaries.any(|(_, NoteSummary { vault, path, .. })| self.passes(vault, path, &fold(path)))
    }

    /// True if it is a glob.
    pub(super) const fn is_glob(&self) -> bool {
        matches!(self.place, PathPattern::Glob(_))
    }
}

const GLOB_SIGNS: [char; 4] = ['*', '?', '[', '{'];

/// Returns a case-folded, normalized path: `./Proj/` becomes `proj`.
fn bare(path: &str) -> String {
    segments(&fold(path))
}

/// Returns a path without empty and `.` segments.
fn segments(path: &str) -> String {
    let segments = path.split('/').filter(|segment| !segment.is_empty() && *segment != ".");
    segments.collect::<Vec<_>>().join("/")
}
