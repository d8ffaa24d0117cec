//! Tar archives whose bytes depend only on names, modes, contents and one time.

use std::collections::BTreeSet;
use std::io::Write as _;

use anyhow::ensure;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// A file of a package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PackedFile {
    /// Path in the package, with `/`.
    pub(super) path: String,
    /// Permissions, such as `0o644`.
    pub(super) mode: u32,
    pub(super) bytes: Vec<u8>,
}

impl PackedFile {
    /// Returns a file that all may run.
    pub(super) const fn program(path: String, bytes: Vec<u8>) -> Self {
        Self { path, mode: 0o755, bytes }
    }

    /// Returns a file that all may read.
    pub(super) const fn text(path: String, bytes: Vec<u8>) -> Self {
        Self { path, mode: 0o644, bytes }
    }
}

/// Compresses bytes without a name or a time.
pub(super) fn gz(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Returns a compressed archive of `files`, sorted by path; two files at one path are an error.
pub(super) fn tar_gz(files: Vec<PackedFile>, time: u64) -> anyhow::Result<Vec<u8>> {
    gz(&tar(files, &BTreeSet::new(), time)?)
}

/// Returns an archive of `folders` and `files`, each sorted by path.
pub(super) fn tar(
    mut files: Vec<PackedFile>,
    folders: &BTreeSet<String>,
    time: u64,
) -> anyhow::Result<Vec<u8>> {
    files.sort();
    let mut builder = Builder::new(Vec::new());
    for folder in folders {
        let mut header = header(EntryType::Directory, 0o755, 0, time)?;
        builder.append_data(&mut header, folder, std::io::empty())?;
    }
    let mut last = None;
    for PackedFile { path, mode, bytes } in &files {
        ensure!(last.replace(path) != Some(path), "{path} is packed twice");
        let mut header = header(EntryType::Regular, *mode, bytes.len() as u64, time)?;
        builder.append_data(&mut header, path, bytes.as_slice())?;
    }
    Ok(builder.into_inner()?)
}

fn header(kind: EntryType, mode: u32, size: u64, time: u64) -> anyhow::Result<Header> {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    header.set_username("root")?;
    header.set_groupname("root")?;
    Ok(header)
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    /// Returns path, mode and bytes of each entry of a compressed archive.
    pub(in super::super) fn unpacked(bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut archive = tar::Archive::new(GzDecoder::new(bytes));
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
            let mode = header.mode().unwrap();
            let path = entry.path().unwrap().to_str().unwrap().to_owned();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            (path, mode, bytes)
        });
        entries.collect()
    }

    #[test]
    fn archive_is_sorted_and_refuses_duplicates() {
        let file = |path: &str| PackedFile::text(path.to_owned(), path.into());
        let long = "a/".repeat(80) + "long";
        let packed = tar_gz(vec![file("b"), file(&long), file("a")], 7).unwrap();
        assert_eq!(packed, tar_gz(vec![file("a"), file("b"), file(&long)], 7).unwrap());
        let names: Vec<String> = unpacked(&packed).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["a", &long, "b"]);
        assert!(tar_gz(vec![file("a"), file("a")], 7).is_err());
    }
}
