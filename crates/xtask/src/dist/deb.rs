//! The Debian package: program, manual pages, completions, systemd units and a system user.
//!
//! Format: deb(5) and Debian Policy.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use md5::{Digest as _, Md5};

use super::archive::{self, PackedFile};
use super::{MAINTAINER, NAME, NOTICE, Release, SUMMARY, hex, split_version};

/// Files of the repository and where the package installs them.
const FILES: &[(&str, &str)] = &[
    ("config/default.toml", "usr/share/doc/noteweft/default.toml"),
    ("config/package/README.md", "usr/share/doc/noteweft/README.md"),
    ("config/systemd/weft.service", "usr/lib/systemd/system/weft.service"),
    ("config/systemd/weft-user.service", "usr/lib/systemd/user/weft.service"),
    ("config/systemd/weft-push@.service", "usr/lib/systemd/user/weft-push@.service"),
    (NOTICE, "usr/share/doc/noteweft/NOTICE.md"),
];

/// Folder of the wire contract.
const CONTRACT: &str = "proto/noteweft/v1";

/// Places of the completion scripts of the shells.
const COMPLETIONS: &[(&str, &str)] = &[
    ("_weft", "usr/share/zsh/vendor-completions/_weft"),
    ("weft.bash", "usr/share/bash-completion/completions/weft"),
    ("weft.fish", "usr/share/fish/vendor_completions.d/weft.fish"),
];

/// The settings of the daemon, which upgrades keep. They may name tokens, so not every user may read them.
const SETTINGS: &str = "etc/weft/config.toml";

/// Scripts that run when the package is installed and removed.
const SCRIPTS: &[&str] = &["postinst", "postrm", "prerm"];

/// Returns the package.
pub(super) fn package(release: &Release) -> anyhow::Result<(String, Vec<u8>)> {
    let version = debian_version(&release.version)?;
    let architecture = architecture(release)?;
    let files = installed(release)?;
    let mut ar = Archive::new(release.time);
    ar.add("debian-binary", b"2.0\n");
    ar.add("control.tar.gz", &control(release, &version, architecture, &files)?);
    ar.add("data.tar.gz", &data(files, release.time)?);
    Ok((format!("{NAME}_{version}_{architecture}.deb"), ar.0))
}

/// Returns the installed files.
fn installed(release: &Release) -> anyhow::Result<Vec<PackedFile>> {
    let mut files: Vec<PackedFile> = release
        .program_files("", "usr/bin/")?
        .into_iter()
        .filter(|file| file.path.starts_with("usr/"))
        .collect();
    for (source, place) in FILES {
        files.push(PackedFile::text((*place).to_owned(), release.source(source)?));
    }
    for (name, bytes) in super::files_in(&release.root.join(CONTRACT))? {
        files.push(PackedFile::text(format!("usr/share/{NAME}/{CONTRACT}/{name}"), bytes));
    }
    for (name, bytes) in &release.completions {
        let place = COMPLETIONS.iter().find(|(known, _)| known == name);
        let (_, place) = place.with_context(|| format!("no place for the completions {name}"))?;
        files.push(PackedFile::text((*place).to_owned(), bytes.clone()));
    }
    for (name, bytes) in &release.manuals {
        let place = format!("usr/share/man/man1/{name}.gz");
        files.push(PackedFile::text(place, archive::gz(bytes)?));
    }
    let settings = release.source("config/deb/config.toml")?;
    files.push(PackedFile { path: SETTINGS.to_owned(), mode: 0o640, bytes: settings });
    let document = |name| format!("usr/share/doc/{NAME}/{name}");
    files.push(PackedFile::text(document("copyright"), copyright(release).into()));
    files.push(PackedFile::text(
        document("changelog.gz"),
        archive::gz(&release.source("CHANGELOG.md")?)?,
    ));
    Ok(files)
}

fn copyright(release: &Release) -> String {
    let repository = &release.repository;
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: Noteweft\n\
         Source: {repository}\n\
         \n\
         Files: *\n\
         Copyright: The Noteweft authors\n\
         License: Apache-2.0\n \
         See /usr/share/common-licenses/Apache-2.0.\n"
    )
}

/// Returns the archive of the installed files with their folders.
fn data(files: Vec<PackedFile>, time: u64) -> anyhow::Result<Vec<u8>> {
    let mut folders = BTreeSet::new();
    for file in &files {
        for (end, _) in file.path.match_indices('/') {
            folders.insert(file.path[..=end].to_owned());
        }
    }
    archive::gz(&archive::tar(files, &folders, time)?)
}

/// Returns the archive of metadata and scripts.
fn control(
    release: &Release,
    version: &str,
    architecture: &str,
    files: &[PackedFile],
) -> anyhow::Result<Vec<u8>> {
    let libraries = release.libraries.context("the program is not an ELF file")?;
    let (major, minor) = libraries.glibc;
    // Policy: in kilobytes, each file rounded up.
    let size: usize = files.iter().map(|file| file.bytes.len().div_ceil(1024)).sum();
    let fields = format!(
        "Package: {NAME}\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: {MAINTAINER}\n\
         Installed-Size: {size}\n\
         Depends: libc6 (>= {major}.{minor}), libgcc-s1, adduser\n\
         Section: utils\n\
         Priority: optional\n\
         Homepage: {repository}\n\
         Description: {SUMMARY}\n \
         Keeps folders of Markdown notes searchable by meaning, by word and by link,\n \
         and answers people at a terminal and in a browser, programs over gRPC, and\n \
         agents over MCP. The embedding models are part of the program.\n",
        repository = release.repository,
    );
    let mut sums = String::new();
    let mut sorted: Vec<&PackedFile> = files.iter().collect();
    sorted.sort();
    for file in sorted.into_iter().filter(|file| file.path != SETTINGS) {
        let _ = writeln!(sums, "{}  {}", hex(&Md5::digest(&file.bytes)), file.path);
    }
    let mut members = vec![
        PackedFile::text("control".into(), fields.into()),
        PackedFile::text("conffiles".into(), format!("/{SETTINGS}\n").into()),
        PackedFile::text("md5sums".into(), sums.into()),
    ];
    for script in SCRIPTS {
        let bytes = release.source(&format!("config/deb/{script}"))?;
        members.push(PackedFile::program((*script).to_owned(), bytes));
    }
    archive::gz(&archive::tar(members, &BTreeSet::new(), release.time)?)
}

/// Returns a version that sorts a pre-release before its release.
fn debian_version(version: &str) -> anyhow::Result<String> {
    Ok(match split_version(version)? {
        (number, None) => number.to_owned(),
        (number, Some((label, n))) => format!("{number}~{label}.{n}"),
    })
}

fn architecture(release: &Release) -> anyhow::Result<&'static str> {
    Ok(match release.arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "riscv64" => "riscv64",
        arch => bail!("Debian packages for {arch} are not supported"),
    })
}

/// An archive in the format of ar(5).
struct Archive(Vec<u8>, u64);

impl Archive {
    fn new(time: u64) -> Self {
        Self(b"!<arch>\n".to_vec(), time)
    }

    fn add(&mut self, name: &str, bytes: &[u8]) {
        let Self(archive, time) = self;
        let header = format!("{name:<16}{time:<12}0     0     100644  {:<10}`\n", bytes.len());
        archive.extend(header.as_bytes());
        archive.extend(bytes);
        if bytes.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::archive::tests::unpacked;
    use super::super::tests::sample;
    use super::*;

    /// Returns the members of an archive by name.
    fn members(mut bytes: &[u8]) -> Vec<(String, &[u8])> {
        bytes = bytes.strip_prefix(b"!<arch>\n").unwrap();
        let mut members = Vec::new();
        while !bytes.is_empty() {
            let (header, rest) = bytes.split_at(60);
            let header = std::str::from_utf8(header).unwrap();
            assert!(header.ends_with("`\n"), "{header}");
            let size: usize = header[48..58].trim().parse().unwrap();
            members.push((header[..16].trim().to_owned(), &rest[..size]));
            bytes = &rest[size.next_multiple_of(2)..];
        }
        members
    }

    #[test]
    fn package_has_the_members_of_its_format() {
        let (_, bytes) = package(&sample()).unwrap();
        let members = members(&bytes);
        let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["debian-binary", "control.tar.gz", "data.tar.gz"]);
        assert_eq!(members[0].1, b"2.0\n");
        let control = unpacked(members[1].1);
        let data = unpacked(members[2].1);
        let find = |files: &[(String, u32, Vec<u8>)], path: &str| {
            files.iter().find(|(name, ..)| name == path).cloned().unwrap_or_default()
        };
        let (_, _, fields) = find(&control, "control");
        let fields = String::from_utf8(fields).unwrap();
        for line in [
            "Package: noteweft",
            "Version: 1.2.0~rc.1",
            "Architecture: amd64",
            "Depends: libc6 (>= 2.34), libgcc-s1, adduser",
        ] {
            assert!(fields.lines().any(|field| field == line), "{line}:\n{fields}");
        }
        for (path, mode) in [
            ("usr/bin/weft", 0o755),
            ("usr/bin/noteweft", 0o755),
            ("etc/weft/config.toml", 0o640),
            ("usr/lib/systemd/system/weft.service", 0o644),
            ("usr/lib/systemd/user/weft-push@.service", 0o644),
            ("usr/share/man/man1/weft.1.gz", 0o644),
            ("usr/share/zsh/vendor-completions/_weft", 0o644),
            ("usr/share/noteweft/proto/noteweft/v1/search.proto", 0o644),
            ("usr/share/man/", 0o755),
        ] {
            assert_eq!(find(&data, path).1, mode, "{path}");
        }
        let (_, _, sums) = find(&control, "md5sums");
        let sums = String::from_utf8(sums).unwrap();
        let n_files = data.iter().filter(|(path, ..)| !path.ends_with('/')).count();
        assert_eq!(sums.lines().count(), n_files - 1, "every file except the settings");
        for line in sums.lines() {
            let (sum, path) = line.split_once("  ").unwrap();
            assert_eq!(hex(&Md5::digest(find(&data, path).2)), sum, "{path}");
        }
    }

    #[test]
    fn scripts_stop_at_errors_and_need_no_debhelper() {
        for script in SCRIPTS {
            let text = sample().source(&format!("config/deb/{script}")).unwrap();
            let text = String::from_utf8(text).unwrap();
            assert!(text.starts_with("#!/bin/sh\nset -e\n"), "{script}");
            assert!(!text.contains("#DEBHELPER#"), "{script}");
        }
    }

    #[test]
    fn other_architectures_are_named_as_debian_does() {
        for (arch, expected) in [("x86_64", "amd64"), ("aarch64", "arm64")] {
            assert_eq!(architecture(&Release { arch, ..sample() }).unwrap(), expected);
        }
        assert!(architecture(&Release { arch: "s390x", ..sample() }).is_err());
    }
}
