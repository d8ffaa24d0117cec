//! The area of a vault that a scan covers.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use weft_model::text::nfc;

use super::{RULE_FILES, hidden};

/// Maximum number of paths in an area; beyond it a full scan is cheaper than tracking them.
const MAX_PATHS: usize = 4096;

/// An area of a vault: a set of paths, each with everything below it, or the whole vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanArea(Option<BTreeSet<PathBuf>>);

impl Default for ScanArea {
    fn default() -> Self {
        Self::NOTHING
    }
}

impl ScanArea {
    /// The whole vault.
    pub const WHOLE: Self = Self(None);

    /// The empty area.
    pub const NOTHING: Self = Self(Some(BTreeSet::new()));

    /// Adds the area that a change of `path` affects: nothing for a path that scans skip, the whole folder for a rule file.
    ///
    /// `path` must be below `root` in the same spelling; any other path adds the whole vault.
    pub fn touch(&mut self, root: &Path, path: &Path) {
        let Self(Some(paths)) = self else { return };
        let Ok(path) = path.strip_prefix(root) else { return *self = Self::WHOLE };
        let names: Option<Vec<&std::ffi::OsStr>> = path
            .components()
            .map(|part| match part {
                Component::Normal(name) => Some(name),
                Component::Prefix(_)
                | Component::RootDir
                | Component::CurDir
                | Component::ParentDir => None,
            })
            .collect();
        let Some((last, above)) = names.as_deref().and_then(<[_]>::split_last) else {
            return *self = Self::WHOLE;
        };
        if above.iter().any(|name| hidden(name).is_some()) {
            return;
        }
        let path = if RULE_FILES.iter().any(|rules| *last == *rules) {
            above.iter().collect()
        } else {
            path.to_owned()
        };
        if path.as_os_str().is_empty() || paths.len() >= MAX_PATHS {
            return *self = Self::WHOLE;
        }
        // Keep the set free of paths below other paths in it.
        if path.ancestors().any(|above| paths.contains(above)) {
            return;
        }
        let below: Vec<PathBuf> = paths
            .range(path.clone()..)
            .take_while(|other| other.starts_with(&path))
            .cloned()
            .collect();
        for other in below {
            paths.remove(&other);
        }
        paths.insert(path);
    }

    /// Adds another area.
    pub fn join(&mut self, other: Self) {
        match other.0 {
            Some(paths) => {
                paths.iter().for_each(|path| self.touch(Path::new(""), path));
            }
            None => *self = Self::WHOLE,
        }
    }

    /// Returns the paths of the area that are folders at present.
    #[must_use]
    pub fn folders(&self, root: &Path) -> Self {
        let Some(paths) = &self.0 else { return Self::NOTHING };
        let folders = paths.iter().filter(|path| root.join(path).is_dir());
        Self(Some(folders.cloned().collect()))
    }

    /// Returns true if the area is empty.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.0.as_ref().is_some_and(BTreeSet::is_empty)
    }

    /// Returns true if it is the whole vault.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the paths in the vault, `/` between segments, in NFC; the empty path for the whole vault.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        match &self.0 {
            None => vec![String::new()],
            Some(paths) => paths.iter().map(|path| spelled(path)).collect(),
        }
    }

    pub(super) fn part(&self) -> AreaPart {
        let Some(paths) = &self.0 else { return AreaPart::All };
        let mut root = BTreeMap::new();
        for path in paths {
            let mut names = &mut root;
            let mut segments = path.iter().peekable();
            while let Some(name) = segments.next() {
                if segments.peek().is_none() {
                    names.insert(name.to_owned(), AreaPart::All);
                    break;
                }
                match names
                    .entry(name.to_owned())
                    .or_insert_with(|| AreaPart::Names(BTreeMap::new()))
                {
                    AreaPart::All => break,
                    AreaPart::Names(below) => names = below,
                }
            }
        }
        AreaPart::Names(root)
    }
}

/// The part of a folder to scan.
#[derive(Clone, Debug)]
pub(super) enum AreaPart {
    /// All of it.
    All,
    /// Only these names, each with its own part.
    Names(BTreeMap<OsString, AreaPart>),
}

/// Spells a relative path like a path in the vault.
pub(super) fn spelled(path: &Path) -> String {
    let segments: Vec<_> = path.iter().map(|segment| segment.to_string_lossy()).collect();
    nfc(&segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_adds_affected_area() {
        let cases: [(&str, &[&str], &[&str]); 11] = [
            ("a file", &["a.md"], &["a.md"]),
            ("a file in a folder that was touched", &["a/b.md", "a"], &["a"]),
            ("the other way round", &["a", "a/b.md"], &["a"]),
            ("a folder whose name only begins alike", &["a", "ab/c.md"], &["a", "ab/c.md"]),
            ("rules of a folder", &["a/.gitignore"], &["a"]),
            ("rules of the root", &["x.md", ".weftignore"], &[""]),
            ("in a hidden folder", &[".obsidian/workspace.json", "a/.git/x.md"], &[]),
            ("hidden itself", &["a/.b.md", ".git"], &[".git", "a/.b.md"]),
            ("never looked into", &["node_modules/x/readme.md"], &[]),
            ("the root itself", &["a.md", ""], &[""]),
            ("an accent in two parts", &["cafe\u{301}.md"], &["caf\u{e9}.md"]),
        ];
        for (name, touched, expected) in cases {
            let mut area = ScanArea::NOTHING;
            for path in touched {
                area.touch(Path::new("/v"), &Path::new("/v").join(path));
            }
            assert_eq!(area.paths(), expected, "{name}");
            assert_eq!(area.is_nothing(), expected.is_empty(), "{name}");
        }
        let mut area = ScanArea::NOTHING;
        area.touch(Path::new("/v"), Path::new("/elsewhere/a.md"));
        assert!(area.is_whole());
        let mut area = ScanArea::NOTHING;
        for n in 0..=MAX_PATHS {
            area.touch(Path::new("/v"), &Path::new("/v").join(format!("{n}.md")));
        }
        assert!(area.is_whole(), "too many to track");
    }
}
