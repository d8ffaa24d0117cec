//! The intent of a move, persisted before the move begins, so that the next run can finish an interrupted one.
//!
//! One intent at a time is enough: a single thread moves files, and it finishes an interrupted move before it begins the next.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::content_hash::hash_of;
use crate::vault_files::{self, VaultFiles, is_same_file};

/// The move of a file, and the link edits in other files that belong to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MoveIntent {
    /// Name of the vault.
    pub(crate) vault: String,
    /// Old path of the file, from the vault's root.
    pub(crate) from: String,
    /// New path of the file.
    pub(crate) to: String,
    /// Hash of its bytes in hexadecimal.
    pub(crate) hash: String,
    /// The edited files, by their paths after the move.
    pub(crate) edits: Vec<LinkEdit>,
}

/// The new text of a file whose links are rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LinkEdit {
    /// Path from the vault's root.
    pub(crate) path: String,
    /// Hash of the bytes that the text was made from.
    pub(crate) before: String,
    /// The new text.
    pub(crate) text: String,
}

impl LinkEdit {
    /// Writes the text to `file`; returns false, without writing, if the file was saved in the meantime.
    pub(crate) fn apply(&self, files: &VaultFiles, file: &Path) -> io::Result<bool> {
        let is_same = vault_files::read(file)?.is_some_and(|now| hash_hex(&now) == self.before);
        if is_same {
            files.replace(file, self.text.as_bytes())?;
        }
        Ok(is_same)
    }
}

/// The outcome of finishing an interrupted move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoveOutcome {
    /// The move is done.
    Done,
    /// The move had not begun, or was reverted.
    NotBegun,
    /// Neither file exists; the whole vault may be unavailable.
    FilesMissing,
}

impl MoveIntent {
    /// Returns the paths of all files of the move.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        [&self.from, &self.to]
            .into_iter()
            .chain(self.edits.iter().map(|edit| &edit.path))
            .map(|path| &**path)
    }

    /// Completes the remaining steps of a move that had begun; `locate` returns the canonical file of a path if it may be written.
    ///
    /// Fails if a step failed or is not allowed any more; all other steps are done.
    pub(crate) fn finish(
        &self,
        files: &VaultFiles,
        locate: impl Fn(&str) -> Option<PathBuf>,
    ) -> io::Result<MoveOutcome> {
        let (Some(from), Some(to)) = (locate(&self.from), locate(&self.to)) else {
            return Err(io::Error::other("a rule excludes the moved file now"));
        };
        // Two paths may lead to one file that has a single name, for example through a symbolic link.
        let has_two_names = || {
            Ok::<bool, io::Error>(
                is_same_file(&from, &to)? && from.canonicalize()? != to.canonicalize()?,
            )
        };
        match (vault_files::read(&from)?, vault_files::read(&to)?) {
            // The file has its new name and still its old one.
            (Some(_), Some(_)) if has_two_names()? => files.unlink_old_name(&from, &to)?,
            // An empty placeholder reserves the new name.
            (Some(old), Some(new)) if new.is_empty() && hash_hex(&old) == self.hash => {
                files.replace_placeholder(&from, &to)?;
            }
            (None, Some(_)) => {}
            (Some(_), _) => return Ok(MoveOutcome::NotBegun),
            (None, None) => return Ok(MoveOutcome::FilesMissing),
        }
        let mut failed = None;
        for edit in &self.edits {
            let done = match locate(&edit.path) {
                Some(file) => edit.apply(files, &file).map(drop),
                None => Err(io::Error::other(format!("a rule excludes `{}` now", edit.path))),
            };
            failed = done.err().or(failed);
        }
        failed.map_or(Ok(MoveOutcome::Done), Err)
    }
}

/// Returns the hash of `bytes` in the format of a persisted intent.
pub(crate) fn hash_hex(bytes: &[u8]) -> String {
    format!("{:?}", hash_of(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn intent() -> MoveIntent {
        let edit = |path: &str, before: &[u8], text: &str| LinkEdit {
            path: path.into(),
            before: hash_hex(before),
            text: text.into(),
        };
        MoveIntent {
            vault: "v".into(),
            from: "a.md".into(),
            to: "b.md".into(),
            hash: hash_hex(b"moss"),
            edits: vec![edit("c.md", b"[[a]]", "[[b]]"), edit("d.md", b"[[a]] too", "[[b]] too")],
        }
    }

    #[cfg(unix)]
    #[test]
    fn file_with_a_single_name_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let files = VaultFiles::new(weft_index::Disk::default(), at);
        let at = at.canonicalize().unwrap();
        let real = |path: &str| at.join(path).canonicalize().unwrap_or_else(|_| at.join(path));
        let finish = || intent().finish(&files, |path| Some(real(path))).unwrap();
        assert_eq!(finish(), MoveOutcome::FilesMissing);
        fs::write(at.join("a.md"), "moss").unwrap();
        std::os::unix::fs::symlink("a.md", at.join("b.md")).unwrap();
        assert_eq!(finish(), MoveOutcome::NotBegun);
        assert_eq!(fs::read(at.join("a.md")).unwrap(), b"moss");
    }

    #[test]
    fn only_a_begun_move_is_finished() {
        type Begin = fn(&Path);
        type Files = &'static [(&'static str, &'static str)];
        let cases: [(&str, Begin, Files); 6] = [
            ("not begun", |_| {}, &[("a.md", "moss"), ("c.md", "[[a]]"), ("d.md", "[[a]] too")]),
            (
                "two names",
                |at| fs::hard_link(at.join("a.md"), at.join("b.md")).unwrap(),
                &[("b.md", "moss"), ("c.md", "[[b]]"), ("d.md", "[[b]] too")],
            ),
            (
                "new name reserved",
                |at| fs::write(at.join("b.md"), "").unwrap(),
                &[("b.md", "moss"), ("c.md", "[[b]]"), ("d.md", "[[b]] too")],
            ),
            (
                "moved",
                |at| fs::rename(at.join("a.md"), at.join("b.md")).unwrap(),
                &[("b.md", "moss"), ("c.md", "[[b]]"), ("d.md", "[[b]] too")],
            ),
            (
                "some links rewritten, and another file saved by a user",
                |at| {
                    fs::rename(at.join("a.md"), at.join("b.md")).unwrap();
                    fs::write(at.join("c.md"), "[[b]]").unwrap();
                    fs::write(at.join("d.md"), "mine").unwrap();
                },
                &[("b.md", "moss"), ("c.md", "[[b]]"), ("d.md", "mine")],
            ),
            (
                "a user's file is at the new path",
                |at| fs::write(at.join("b.md"), "stone").unwrap(),
                &[("a.md", "moss"), ("b.md", "stone"), ("c.md", "[[a]]"), ("d.md", "[[a]] too")],
            ),
        ];
        for (name, begin, expected) in cases {
            let folder = tempfile::tempdir().unwrap();
            let at = folder.path();
            let files = VaultFiles::new(weft_index::Disk::default(), at);
            for (path, text) in [("a.md", "moss"), ("c.md", "[[a]]"), ("d.md", "[[a]] too")] {
                fs::write(at.join(path), text).unwrap();
            }
            begin(at);
            for _ in 0..2 {
                intent().finish(&files, |path| Some(at.join(path))).unwrap();
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
