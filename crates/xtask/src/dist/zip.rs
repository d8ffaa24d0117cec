//! Zip archives whose bytes depend only on names, modes and contents.
//!
//! Format: PKWARE's APPNOTE, sections 4.3.7, 4.3.12 and 4.3.16. Every file is dated 1980-01-01, the first day that the format can express.

use std::io::Write as _;

use anyhow::Context as _;
use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::archive::PackedFile;

/// Version 2.0 of the format, which has deflation; in the upper byte of the writer's version, Unix.
const VERSION: u16 = 20;
const WRITTEN_BY: u16 = 3 << 8 | VERSION;

/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;

const DEFLATED: u16 = 8;

/// 1980-01-01 00:00, as time and date.
const TIME: [u16; 2] = [0, 1 << 5 | 1];

/// File type of a regular file, in Unix's modes.
const REGULAR: u32 = 0o100_000;

/// Returns an archive of the files, in their order.
pub(super) fn zip(files: &[PackedFile]) -> anyhow::Result<Vec<u8>> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for PackedFile { path, mode, bytes } in files {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes)?;
        let packed = encoder.finish()?;
        let offset = size(archive.len())?;
        let mut common = Vec::new();
        words(&mut common, &[VERSION, FLAGS, DEFLATED, TIME[0], TIME[1]]);
        for value in [crc32fast::hash(bytes), size(packed.len())?, size(bytes.len())?] {
            common.extend(value.to_le_bytes());
        }
        words(&mut common, &[u16::try_from(path.len()).context("the name is too long")?, 0]);
        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend(path.as_bytes());
        archive.extend(&packed);
        directory.extend(b"PK\x01\x02");
        words(&mut directory, &[WRITTEN_BY]);
        directory.extend(&common);
        // No comment, the first disk, no text attribute.
        words(&mut directory, &[0, 0, 0]);
        directory.extend(((REGULAR | mode) << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(path.as_bytes());
    }
    let n_files = u16::try_from(files.len()).context("too many files")?;
    let (offset, length) = (size(archive.len())?, size(directory.len())?);
    archive.append(&mut directory);
    archive.extend(b"PK\x05\x06");
    words(&mut archive, &[0, 0, n_files, n_files]);
    archive.extend(length.to_le_bytes());
    archive.extend(offset.to_le_bytes());
    words(&mut archive, &[0]);
    Ok(archive)
}

fn words(out: &mut Vec<u8>, values: &[u16]) {
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn size(n_bytes: usize) -> anyhow::Result<u32> {
    u32::try_from(n_bytes).context("archives of 4 GB and more are not supported")
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Read as _;

    use flate2::read::DeflateDecoder;

    use super::*;

    fn number(bytes: &[u8], at: usize, n_bytes: usize) -> usize {
        bytes[at..at + n_bytes].iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    }

    /// Returns the files of an archive, by its directory.
    pub(in super::super) fn unzipped(bytes: &[u8]) -> Vec<PackedFile> {
        let end = bytes.len() - 22;
        assert!(bytes[end..].starts_with(b"PK\x05\x06"));
        let mut at = number(bytes, end + 16, 4);
        let mut files = Vec::new();
        for _ in 0..number(bytes, end + 10, 2) {
            assert!(bytes[at..].starts_with(b"PK\x01\x02"));
            let n_name = number(bytes, at + 28, 2);
            let path = String::from_utf8(bytes[at + 46..at + 46 + n_name].to_vec()).unwrap();
            let local = number(bytes, at + 42, 4);
            assert!(bytes[local..].starts_with(b"PK\x03\x04"));
            assert_eq!(bytes[local + 4..local + 30], bytes[at + 6..at + 32], "{path}");
            let start = local + 30 + n_name;
            let packed = &bytes[start..start + number(bytes, at + 20, 4)];
            let mut content = Vec::new();
            DeflateDecoder::new(packed).read_to_end(&mut content).unwrap();
            assert_eq!(content.len(), number(bytes, at + 24, 4), "{path}");
            assert_eq!(crc32fast::hash(&content) as usize, number(bytes, at + 16, 4), "{path}");
            let mode = u32::try_from(number(bytes, at + 40, 2)).unwrap();
            files.push(PackedFile { path, mode: mode & 0o777, bytes: content });
            at += 46 + n_name;
        }
        assert_eq!(at, end, "the directory ends where its end begins");
        files
    }

    #[test]
    fn archive_contains_the_files_as_they_were() {
        let files = [
            PackedFile::program("bin/weft".into(), vec![7; 100_000]),
            PackedFile::text("größe.txt".into(), Vec::new()),
        ];
        assert_eq!(unzipped(&zip(&files).unwrap()), files);
        assert_eq!(unzipped(&zip(&[]).unwrap()), []);
    }
}
