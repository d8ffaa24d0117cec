//! The Python wheel: `pip install` puts the program on the path, and nothing is imported.
//!
//! Format: "Binary distribution format" of the Python packaging guide.

use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::archive::PackedFile;
use super::zip::zip;
use super::{MAINTAINER, NAME, NOTICE, Release, SUMMARY, split_version};

/// Returns the wheel.
pub(super) fn package(release: &Release) -> anyhow::Result<(String, Vec<u8>)> {
    let version = python_version(&release.version)?;
    let tag = format!("py3-none-{}", platform_tag(release)?);
    let info = format!("{NAME}-{version}.dist-info");
    let scripts = format!("{NAME}-{version}.data/scripts/");
    let mut files: Vec<PackedFile> = release
        .program_files("", &scripts)?
        .into_iter()
        .filter(|file| file.path.starts_with(&scripts))
        .collect();
    let license = |name| format!("{info}/licenses/{name}");
    files.extend([
        PackedFile::text(license("LICENSE"), release.source("LICENSE")?),
        PackedFile::text(license("NOTICE.md"), release.source(NOTICE)?),
        PackedFile::text(format!("{info}/METADATA"), metadata(release, &version)?),
        PackedFile::text(
            format!("{info}/WHEEL"),
            format!(
                "Wheel-Version: 1.0\nGenerator: {NAME}-dist\nRoot-Is-Purelib: false\nTag: {tag}\n"
            )
            .into(),
        ),
    ]);
    files.sort();
    let mut record = String::new();
    for PackedFile { path, bytes, .. } in &files {
        let digest = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(bytes));
        let _ = writeln!(record, "{path},sha256={digest},{}", bytes.len());
    }
    let _ = writeln!(record, "{info}/RECORD,,");
    files.push(PackedFile::text(format!("{info}/RECORD"), record.into()));
    Ok((format!("{NAME}-{version}-{tag}.whl"), zip(&files)?))
}

/// Returns a version in the form of PEP 440.
fn python_version(version: &str) -> anyhow::Result<String> {
    Ok(match split_version(version)? {
        (number, None) => number.to_owned(),
        (number, Some(("alpha", n))) => format!("{number}a{n}"),
        (number, Some(("beta", n))) => format!("{number}b{n}"),
        (number, Some((label, n))) => format!("{number}{label}{n}"),
    })
}

/// Returns the systems that the program runs on.
fn platform_tag(release: &Release) -> anyhow::Result<String> {
    let Release { os, arch, .. } = release;
    Ok(match (*os, *arch) {
        ("linux", _) => {
            let libraries = release.libraries.context("the program is not an ELF file")?;
            let (major, minor) = libraries.glibc;
            format!("manylinux_{major}_{minor}_{arch}")
        }
        ("macos", "aarch64") => "macosx_11_0_arm64".to_owned(),
        ("macos", _) => format!("macosx_10_12_{arch}"),
        ("windows", "aarch64") => "win_arm64".to_owned(),
        ("windows", _) => "win_amd64".to_owned(),
        _ => bail!("wheels for {os} are not supported"),
    })
}

fn metadata(release: &Release, version: &str) -> anyhow::Result<Vec<u8>> {
    let repository = &release.repository;
    let head = format!(
        "Metadata-Version: 2.4\n\
         Name: {NAME}\n\
         Version: {version}\n\
         Summary: {SUMMARY}\n\
         Author-email: {MAINTAINER}\n\
         License-Expression: Apache-2.0\n\
         License-File: LICENSE\n\
         License-File: NOTICE.md\n\
         Keywords: markdown,notes,search,embeddings,mcp\n\
         Requires-Python: >=3.8\n\
         Project-URL: Repository, {repository}\n\
         Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM\n\n"
    );
    Ok([head.into_bytes(), release.source("config/package/README.md")?].concat())
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::super::zip::tests::unzipped;
    use super::*;

    #[test]
    fn record_lists_every_file_with_its_digest() {
        let (_, bytes) = package(&sample()).unwrap();
        let files = unzipped(&bytes);
        let content = |name: &str| {
            let file = files.iter().find(|file| file.path == name).unwrap();
            (file.mode, file.bytes.clone())
        };
        let (_, record) = content("noteweft-1.2.0rc1.dist-info/RECORD");
        let record = String::from_utf8(record).unwrap();
        assert_eq!(record.lines().count(), files.len());
        for line in record.lines() {
            let [name, digest, size] = line.split(',').collect::<Vec<_>>().try_into().unwrap();
            let (_, bytes) = content(name);
            if !digest.is_empty() {
                let expected = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&bytes));
                assert_eq!(digest, format!("sha256={expected}"), "{name}");
                assert_eq!(size, bytes.len().to_string(), "{name}");
            }
        }
        for script in ["weft", "noteweft"] {
            let (mode, _) = content(&format!("noteweft-1.2.0rc1.data/scripts/{script}"));
            assert_eq!(mode, 0o755, "{script}");
        }
    }

    #[test]
    fn versions_follow_pep_440() {
        for (version, expected) in [
            ("0.1.0", "0.1.0"),
            ("0.1.0-alpha.2", "0.1.0a2"),
            ("0.1.0-beta.3", "0.1.0b3"),
            ("0.1.0-rc.1", "0.1.0rc1"),
        ] {
            assert_eq!(python_version(version).unwrap(), expected);
        }
    }

    #[test]
    fn platform_is_the_lowest_that_the_program_needs() {
        for (os, arch, expected) in [
            ("linux", "x86_64", "manylinux_2_34_x86_64"),
            ("macos", "aarch64", "macosx_11_0_arm64"),
            ("windows", "x86_64", "win_amd64"),
        ] {
            assert_eq!(platform_tag(&Release { os, arch, ..sample() }).unwrap(), expected);
        }
        assert!(platform_tag(&Release { os: "hurd", ..sample() }).is_err());
        assert!(platform_tag(&Release { libraries: None, ..sample() }).is_err());
    }
}
