//! Part of a vault: what a scan looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use weft_model::text::nfc;

use super::{RULE_FILES, hidden};

/// Paths beyond which looking at everything is less work than keeping them apart.
const MAX_PATHS: usize = 4096;

/// Part of a vault: some paths, each with all that lies below it, or everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area(Option<BTreeSet<PathBuf>>);

impl Default for Area {
    fn default() -> Self {
        Self::NOTHING
    }
}

impl Area {
    /// Everything.
    pub const WHOLE: Self = Self(None);

    /// Nothing.
    pub const NOTHING: Self = Self(Some(BTreeSet::new()));

    /// Takes in what a change of `path` may concern: nothing for what lies where no scan looks, a folder with all below it for a file of rules.
    ///
    /// `path` lies below `root`, written alike; other paths concern everything.
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
        // The set stays free of paths that lie below others.
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

    /// Takes in another area.
    pub fn join(&mut self, other: Self) {
        match other.0 {
            Some(paths) => {
                paths.iter().for_each(|path| self.touch(Path::new(""), path));
            }
            None => *self = Self::WHOLE,
        }
    }

    /// The part of it that is folders by now.
    #[must_use]
    pub fn folders(&self, root: &Path) -> Self {
        let Some(paths) = &self.0 else { return Self::NOTHING };
        let folders = paths.iter().filter(|path| root.join(path).is_dir());
        Self(Some(folders.cloned().collect()))
    }

    /// Whether there is nothing to look at.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.0.as_ref().is_some_and(BTreeSet::is_empty)
    }

    /// Whether it is everything.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.0.is_none()
    }

    /// The paths in the vault, `/` between segments, in NFC; the empty path for everything.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        match &self.0 {
            None => vec![String::new()],
            Some(paths) => paths.iter().map(|path| spelled(path)).collect(),
        }
    }

    pub(super) fn part(&self) -> Part {
        let Some(paths) = &self.0 else { return Part::All };
        let mut root = BTreeMap::new();
        for path in paths {
            let mut names = &mut root;
            let mut segments = path.iter().peekable();
            while let Some(name) = segments.next() {
                if segments.peek().is_none() {
                    names.insert(name.to_owned(), Part::All);
                    break;
                }
                match names.entry(name.to_owned()).or_insert_with(|| Part::Names(BTreeMap::new())) {
                    Part::All => break,
                    Part::Names(below) => names = below,
                }
            }
        }
        Part::Names(root)
    }
}

/// What of one folder is looked at.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// All of it.
    All,
    /// These names, each as far as it says.
    Names(BTreeMap<OsString, Part>),
}

/// A relative path as the vault's paths are written.
pub(super) fn spelled(path: &Path) -> String {
    let segments: Vec<_> = path.iter().map(|segment| segment.to_string_lossy()).collect();
    nfc(&segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_change_concerns() {
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
            let mut area = Area::NOTHING;
            for path in touched {
                area.touch(Path::new("/v"), &Path::new("/v").join(path));
            }
            assert_eq!(area.paths(), expected, "{name}");
            assert_eq!(area.is_nothing(), expected.is_empty(), "{name}");
        }
        let mut area = Area::NOTHING;
        area.touch(Path::new("/v"), Path::new("/elsewhere/a.md"));
        assert!(area.is_whole());
        let mut area = Area::NOTHING;
        for n in 0..=MAX_PATHS {
            area.touch(Path::new("/v"), &Path::new("/v").join(format!("{n}.md")));
        }
        assert!(area.is_whole(), "too many to keep apart");
    }
}
