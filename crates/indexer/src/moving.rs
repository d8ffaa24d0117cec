//! A move under way, written down before it begins, so that the next run finishes what this one could not.
//!
//! One is written down at a time, and one is enough: a single thread moves files, and before it begins a move it finishes the one that an error has left half done.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::{self, Files, is_one_file};
use crate::hash::hash_of;

/// A file that moves, and the files whose links are rewritten for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Moving {
    /// The vault's name.
    pub(crate) vault: String,
    /// Where the file was, from the vault's root.
    pub(crate) from: String,
    /// Where it is to be.
    pub(crate) to: String,
    /// The hash of its bytes, as hexadecimal digits.
    pub(crate) hash: String,
    /// The rewritten files, under the paths they have after the move.
    pub(crate) edits: Vec<Edit>,
}

/// A file that is to hold another text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Edit {
    /// From the vault's root.
    pub(crate) path: String,
    /// The hash of the bytes that the text was made of.
    pub(crate) before: String,
    /// The text.
    pub(crate) text: String,
}

impl Edit {
    /// Writes the text into `file`; false where somebody has saved it meanwhile, for then it is theirs.
    pub(crate) fn apply(&self, files: &Files, file: &Path) -> io::Result<bool> {
        let is_same = files::read(file)?.is_some_and(|now| digits(&now) == self.before);
        if is_same {
            files.replace(file, self.text.as_bytes())?;
        }
        Ok(is_same)
    }
}

/// What is known of a move that was to be finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finished {
    /// It is done.
    Done,
    /// It had not begun, or was taken back.
    NotBegun,
    /// Neither file is there: it may be that none of the vault is.
    Nowhere,
}

impl Moving {
    /// The paths of all files that are concerned.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        [&self.from, &self.to]
            .into_iter()
            .chain(self.edits.iter().map(|edit| &edit.path))
            .map(|path| &**path)
    }

    /// Does what is left to do, where the move had begun; `place` tells where a path really lies, if it may be written.
    ///
    /// Fails where something could not be done, or may not be any more; all else is.
    pub(crate) fn finish(
        &self,
        files: &Files,
        place: impl Fn(&str) -> Option<PathBuf>,
    ) -> io::Result<Finished> {
        let (Some(from), Some(to)) = (place(&self.from), place(&self.to)) else {
            return Err(io::Error::other("what it moves is kept out now"));
        };
        // One file may be seen by two paths, and have one name only.
        let is_named_twice = || {
            Ok::<bool, io::Error>(
                is_one_file(&from, &to)? && from.canonicalize()? != to.canonicalize()?,
            )
        };
        match (files::read(&from)?, files::read(&to)?) {
            // It was given its new name, and has its old one still.
            (Some(_), Some(_)) if is_named_twice()? => files.lose_name(&from, &to)?,
            // The new name was held for it, and is not its own yet.
            (Some(old), Some(new)) if new.is_empty() && digits(&old) == self.hash => {
                files.take_place(&from, &to)?;
            }
            (None, Some(_)) => {}
            (Some(_), _) => return Ok(Finished::NotBegun),
            (None, None) => return Ok(Finished::Nowhere),
        }
        let mut trouble = None;
        for edit in &self.edits {
            let done = match place(&edit.path) {
                Some(file) => edit.apply(files, &file).map(drop),
                None => Err(io::Error::other(format!("`{}` is kept out now", edit.path))),
            };
            trouble = done.err().or(trouble);
        }
        trouble.map_or(Ok(Finished::Done), Err)
    }
}

/// The hash of some bytes, as it is written down.
pub(crate) fn digits(bytes: &[u8]) -> String {
    format!("{:?}", hash_of(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn moving() -> Moving {
        let edit = |path: &str, before: &[u8], text: &str| Edit {
            path: path.into(),
            before: digits(before),
            text: text.into(),
        };
        Moving {
            vault: "v".into(),
            from: "a.md".into(),
            to: "b.md".into(),
            hash: digits(b"moss"),
            edits: vec![edit("c.md", b"[[a]]", "[[b]]"), edit("d.md", b"[[a]] too", "[[b]] too")],
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_has_one_name_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let files = Files::new(weft_index::Disk::default(), at);
        let finish = || moving().finish(&files, |path| Some(at.join(path))).unwrap();
        assert_eq!(finish(), Finished::Nowhere);
        fs::write(at.join("a.md"), "moss").unwrap();
        std::os::unix::fs::symlink("a.md", at.join("b.md")).unwrap();
        assert_eq!(finish(), Finished::NotBegun);
        assert_eq!(fs::read(at.join("a.md")).unwrap(), b"moss");
    }

    #[test]
    fn a_move_that_had_begun_is_finished_and_no_other() {
        type Begin = fn(&Path);
        type Held = &'static [(&'static str, &'static str)];
        let cases: [(&str, Begin, Held); 6] = [
            ("not begun", |_| {}, &[("a.md", "moss"), ("c.md", "[[a]]"), ("d.md", "[[a]] too")]),
            (
                "two names",
                |at| fs::hard_link(at.join("a.md"), at.join("b.md")).unwrap(),
                &[("b.md", "moss"), ("c.md", "[[b]]"), ("d.md", "[[b]] too")],
            ),
            (
                "a name held",
                |at| fs::write(at.join("b.md"), "").unwrap(),
                &[("b.md", "moss"), ("c.md", "[[b]]"), ("d.md", "[[b]] too")],
            ),
            (
                "moved",
                |at| fs::rename(at.join("a.md"), at.join("b.md")).unwrap(),
                &[("b.md", "moss"), ("c.md", "[[b]]"), ("d.md", "[[b]] too")],
            ),
            (
                "half rewritten, and somebody has saved the rest",
                |at| {
                    fs::rename(at.join("a.md"), at.join("b.md")).unwrap();
                    fs::write(at.join("c.md"), "[[b]]").unwrap();
                    fs::write(at.join("d.md"), "mine").unwrap();
                },
                &[("b.md", "moss"), ("c.md", "[[b]]"), ("d.md", "mine")],
            ),
            (
                "somebody's file is where it was to go",
                |at| fs::write(at.join("b.md"), "stone").unwrap(),
                &[("a.md", "moss"), ("b.md", "stone"), ("c.md", "[[a]]"), ("d.md", "[[a]] too")],
            ),
        ];
        for (name, begin, expected) in cases {
            let folder = tempfile::tempdir().unwrap();
            let at = folder.path();
            let files = Files::new(weft_index::Disk::default(), at);
            for (path, text) in [("a.md", "moss"), ("c.md", "[[a]]"), ("d.md", "[[a]] too")] {
                fs::write(at.join(path), text).unwrap();
            }
            begin(at);
            for _ in 0..2 {
                moving().finish(&files, |path| Some(at.join(path))).unwrap();
                let mut found: Vec<_> = fs::read_dir(at)
                    .unwrap()
                    .map(|entry| entry.unwrap())
                    .map(|entry| {
                        let text = fs::read_to_string(entry.path()).unwrap();
                        (entry.file_name().into_string().unwrap(), text)
                    })
                    .collect();
                found.sort();
                let found: Vec<_> =
                    found.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
                assert_eq!(found, expected, "{name}");
            }
        }
    }
}
