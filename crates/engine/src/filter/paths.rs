//! Paths and globs of a filter.

use weft_index::Snapshot;
use weft_index::notes::{Card, VaultId};
use weft_model::fold;
use weft_model::id::without_markdown_extension;
use weft_model::text::nfc;

use super::glob::Glob;
use super::is_below;
use crate::EngineError;

/// One path of a filter, read against a snapshot.
pub(super) struct PathMatch {
    /// The only vault it is about, where it names one.
    vault: Option<VaultId>,
    place: Place,
}

enum Place {
    /// A note, with or without its extension, or a folder; the empty one is the whole vault. Case folded.
    Under(String),
    /// A pattern over whole paths.
    Glob(Glob),
}

impl PathMatch {
    /// A name that a note or folder has is that, whatever it would be as a glob or with a vault in front; `vault:` is all of a vault. Cost: `O(notes)` for one that might be either.
    ///
    /// Fails on a glob that is none.
    pub(super) fn new(path: &str, snapshot: &Snapshot) -> Result<Self, EngineError> {
        let literally = |vault, path| Self { vault, place: Place::Under(bare(path)) };
        let abroad = snapshot.notes.abroad(path).or_else(|| {
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
                reason: format!("`{path}` is no glob: {error}"),
            })?;
        Ok(Self { vault, place: Place::Glob(glob) })
    }

    /// Whether a note matches that lies at `path`, which is `folded`.
    pub(super) fn passes(&self, vault: VaultId, path: &str, folded: &str) -> bool {
        self.vault.is_none_or(|wanted| wanted == vault)
            && match &self.place {
                Place::Under(name) => {
                    name.is_empty()
                        || is_below(folded, name)
                        || without_markdown_extension(folded) == name
                }
                Place::Glob(glob) => glob.is_match(&nfc(path)),
            }
    }

    /// Whether any note matches.
    pub(super) fn is_met(&self, snapshot: &Snapshot) -> bool {
        let mut cards = snapshot.notes.cards();
        cards.any(|(_, Card { vault, path, .. })| self.passes(vault, path, &fold(path)))
    }

    /// Whether it is a pattern.
    pub(super) const fn is_glob(&self) -> bool {
        matches!(self.place, Place::Glob(_))
    }
}

const GLOB_SIGNS: [char; 4] = ['*', '?', '[', '{'];

/// A path case folded: `./Proj/` is `proj`.
fn bare(path: &str) -> String {
    segments(&fold(path))
}

/// A path by its segments.
fn segments(path: &str) -> String {
    let segments = path.split('/').filter(|segment| !segment.is_empty() && *segment != ".");
    segments.collect::<Vec<_>>().join("/")
}
