//! Packages of the program: an archive, a Python wheel, an npm package and a Debian package, with a bill of materials and checksums.
//!
//! Equal input gives equal bytes: files are sorted, owned by root, and dated by `SOURCE_DATE_EPOCH` or the last commit.

mod archive;
mod deb;
mod elf;
mod npm;
mod sbom;
mod wheel;
mod zip;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

use archive::PackedFile;
use elf::Libraries;

/// Name of the packages.
const NAME: &str = "noteweft";

/// One line about the program, for package indexes.
const SUMMARY: &str = "Search engine for Markdown notes: by meaning, keyword and link";

const MAINTAINER: &str = "Noteweft <noteweft@users.noreply.github.com>";

/// A script that runs the program under the name of the packages.
const ALIAS: &str = "#!/bin/sh\nexec \"$(dirname \"$(readlink -f \"$0\")\")/weft\" \"$@\"\n";

/// Options of the command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The program to pack; `None` to build a release first.
    binary: Option<PathBuf>,
    /// Folder of the packages; `None` for `target/dist`, which is emptied first.
    out: Option<PathBuf>,
}

impl Options {
    /// Parses the arguments of the command; `None` if they are not understood.
    pub(crate) fn parse(arguments: &[&str]) -> Option<Self> {
        let mut options = Self::default();
        for pair in arguments.chunks(2) {
            match *pair {
                ["--binary", path] => options.binary = Some(path.into()),
                ["--out", path] => options.out = Some(path.into()),
                _ => return None,
            }
        }
        Some(options)
    }
}

/// Everything that the packages are made of.
struct Release {
    version: String,
    repository: String,
    /// Seconds since 1970 with which files are dated.
    time: u64,
    /// Operating system and architecture, as Rust names them.
    os: &'static str,
    arch: &'static str,
    binary: Vec<u8>,
    /// Requirements of the program on the system; `None` for other formats than ELF.
    libraries: Option<Libraries>,
    /// Manual pages by file name.
    manuals: Vec<(String, Vec<u8>)>,
    /// Completion scripts by file name.
    completions: Vec<(String, Vec<u8>)>,
    root: PathBuf,
}

impl Release {
    /// Reads a file of the repository.
    fn source(&self, path: &str) -> anyhow::Result<Vec<u8>> {
        fs::read(self.root.join(path)).with_context(|| path.to_owned())
    }

    /// Returns the file name of the program.
    const fn program(&self) -> &'static str {
        if self.is_windows() { "weft.exe" } else { "weft" }
    }

    const fn is_windows(&self) -> bool {
        matches!(self.os.as_bytes(), b"windows")
    }

    /// Returns the program, its alias, license and notice, below `folder` and its subfolder `bin`.
    fn program_files(&self, folder: &str, bin: &str) -> anyhow::Result<Vec<PackedFile>> {
        let mut files = vec![
            PackedFile::program(format!("{folder}{bin}{}", self.program()), self.binary.clone()),
            PackedFile::text(format!("{folder}LICENSE"), self.source("LICENSE")?),
            PackedFile::text(format!("{folder}NOTICE.md"), self.source(NOTICE)?),
        ];
        if !self.is_windows() {
            files.push(PackedFile::program(format!("{folder}{bin}{NAME}"), ALIAS.into()));
        }
        Ok(files)
    }
}

/// Licenses and origins of the bundled models.
const NOTICE: &str = "crates/indexer/models/NOTICE.md";

/// Makes all packages and prints their sizes; returns true, since every failure is an error.
pub(crate) fn run(root: &Path, target: &Path, options: &Options) -> anyhow::Result<bool> {
    let binary = match &options.binary {
        Some(path) => path.clone(),
        None => build(root, target)?,
    };
    let out = options.out.clone().unwrap_or_else(|| target.join("dist"));
    if options.out.is_none() && out.exists() {
        fs::remove_dir_all(&out).with_context(|| out.display().to_string())?;
    }
    fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    let release = release(root, &binary)?;
    let mut sums = String::new();
    for (name, bytes) in packages(&release)? {
        fs::write(out.join(&name), &bytes).with_context(|| name.clone())?;
        println!("{:>9.1} MB  {name}", megabytes(bytes.len()));
        let _ = writeln!(sums, "{}  {name}", hex(&Sha256::digest(&bytes)));
    }
    fs::write(out.join("SHA256SUMS"), sums).context("SHA256SUMS")?;
    println!("in {}", out.display());
    Ok(true)
}

#[expect(clippy::cast_precision_loss, reason = "sizes of packages are far below 2^52")]
fn megabytes(n_bytes: usize) -> f64 {
    n_bytes as f64 / 1e6
}

/// Returns all packages by file name, sorted.
fn packages(release: &Release) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut packages = vec![
        plain_archive(release).context("archive")?,
        wheel::package(release).context("wheel")?,
        npm::package(release).context("npm package")?,
        sbom::document(release).context("bill of materials")?,
    ];
    if release.os == "linux" {
        packages.push(deb::package(release).context("Debian package")?);
    }
    packages.sort();
    Ok(packages)
}

/// Returns the archive with the program, manual pages, completions, service files and defaults.
fn plain_archive(release: &Release) -> anyhow::Result<(String, Vec<u8>)> {
    let folder = format!("{NAME}-{}-{}-{}", release.version, release.arch, release.os);
    let mut files = release.program_files(&format!("{folder}/"), "bin/")?;
    let mut text = |place: &str, bytes| {
        files.push(PackedFile::text(format!("{folder}/{place}"), bytes));
    };
    text("README.md", release.source("config/package/README.md")?);
    text("CHANGELOG.md", release.source("CHANGELOG.md")?);
    text("default.toml", release.source("config/default.toml")?);
    for (name, bytes) in &release.manuals {
        text(&format!("share/man/man1/{name}"), bytes.clone());
    }
    for (name, bytes) in &release.completions {
        text(&format!("completions/{name}"), bytes.clone());
    }
    for service in [
        "systemd/weft-user.service",
        "systemd/weft-push@.service",
        "launchd/dev.noteweft.weft.plist",
    ] {
        text(&format!("service/{service}"), release.source(&format!("config/{service}"))?);
    }
    Ok((format!("{folder}.tar.gz"), archive::tar_gz(files, release.time)?))
}

/// Builds a release and returns the path of the program.
fn build(root: &Path, target: &Path) -> anyhow::Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    // Symbols are a tenth of the program; the profile cannot remove them from a package with settings of its own.
    cargo.args(["rustc", "--release", "--locked", "--package", "weft", "--bin", "weft"]);
    cargo.args(["--", "-C", "strip=symbols"]).current_dir(root);
    ensure!(cargo.status().context("cannot start cargo")?.success(), "the release build failed");
    Ok(target.join("release").join(format!("weft{}", std::env::consts::EXE_SUFFIX)))
}

/// Collects the content of the packages. The program itself writes manual pages and completions.
fn release(root: &Path, binary: &Path) -> anyhow::Result<Release> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).context("Cargo.toml")?;
    let manifest: Table = manifest.parse().context("Cargo.toml")?;
    let package = |key: &str| {
        let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
        let value = package.and_then(|package| package.get(key)).and_then(Value::as_str);
        value.map(str::to_owned).with_context(|| format!("Cargo.toml: workspace.package.{key}"))
    };
    let bytes = fs::read(binary).with_context(|| binary.display().to_string())?;
    let scratch = tempfile::tempdir()?;
    let weft = fs::canonicalize(binary)?;
    let generate = |arguments: &[&str], folder: &str| {
        let folder = scratch.path().join(folder);
        // Only this program's own text is wanted, whatever the user has configured.
        let output = Command::new(&weft)
            .args(arguments)
            .arg(&folder)
            .env("XDG_CONFIG_HOME", scratch.path())
            .output()
            .with_context(|| binary.display().to_string())?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        files_in(&folder)
    };
    let version = package("version")?;
    let reported = Command::new(&weft).arg("--version").output()?.stdout;
    ensure!(
        String::from_utf8_lossy(&reported).trim() == format!("weft {version}"),
        "{} reports `{}`, but the workspace has version {version}",
        binary.display(),
        String::from_utf8_lossy(&reported).trim()
    );
    let manuals = generate(&["man"], "man")?;
    let mut completions = Vec::new();
    for shell in ["bash", "fish", "zsh"] {
        completions.extend(generate(&["completions", shell], shell)?);
    }
    completions.sort();
    Ok(Release {
        version,
        repository: package("repository")?,
        time: time(root),
        os: std::env::consts::OS,
        arch: std::env::consts::ARCH,
        libraries: Libraries::of(&bytes)?,
        binary: bytes,
        manuals,
        completions,
        root: root.to_owned(),
    })
}

/// Returns the files in a folder by name, sorted.
fn files_in(folder: &Path) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            bail!("{}: the name is not UTF-8", entry.path().display())
        };
        files.push((name, fs::read(entry.path())?));
    }
    files.sort();
    Ok(files)
}

/// Returns the time with which files are dated: `SOURCE_DATE_EPOCH`, otherwise that of the last commit, otherwise 1980.
#[expect(clippy::disallowed_methods, reason = "the variable that all reproducible builds read")]
fn time(root: &Path) -> u64 {
    /// 1980-01-01, the first day that every format can express.
    const FIRST_DAY: u64 = 315_532_800;
    let commit = || {
        let mut git = Command::new("git");
        git.args(["-c", "safe.directory=*", "log", "-1", "--format=%ct"]).current_dir(root);
        String::from_utf8(git.output().ok()?.stdout).ok()
    };
    let text = std::env::var("SOURCE_DATE_EPOCH").ok().or_else(commit);
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(FIRST_DAY)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Splits a version such as `1.2.0-rc.1` into its number and the label and number of its pre-release.
fn split_version(version: &str) -> anyhow::Result<(&str, Option<(&str, &str)>)> {
    let Some((number, pre)) = version.split_once('-') else { return Ok((version, None)) };
    match pre.split_once('.') {
        Some((label @ ("alpha" | "beta" | "rc"), n)) if n.parse::<u32>().is_ok() => {
            Ok((number, Some((label, n))))
        }
        _ => bail!("version {version}: a pre-release must be alpha.N, beta.N or rc.N"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a release of the repository's texts with a program of a few bytes.
    pub(super) fn sample() -> Release {
        Release {
            version: "1.2.0-rc.1".into(),
            repository: "https://example.org/noteweft".into(),
            time: 1_700_000_000,
            os: "linux",
            arch: "x86_64",
            binary: b"the program".to_vec(),
            libraries: Some(Libraries { glibc: (2, 34) }),
            manuals: vec![("weft.1".into(), b".TH weft 1".to_vec())],
            completions: ["_weft", "weft.bash", "weft.fish"]
                .map(|name| (name.to_owned(), b"complete".to_vec()))
                .into(),
            root: crate::root().to_owned(),
        }
    }

    #[test]
    fn options_are_parsed() {
        let binary = Some("weft".into());
        for (arguments, expected) in [
            (&[][..], Some(Options::default())),
            (&["--binary", "weft"][..], Some(Options { binary: binary.clone(), out: None })),
            (&["--out", "x", "--binary", "weft"], Some(Options { binary, out: Some("x".into()) })),
            (&["--binary"], None),
            (&["--release", "x"], None),
        ] {
            assert_eq!(Options::parse(arguments), expected, "{arguments:?}");
        }
    }

    #[test]
    fn versions_are_split() {
        for (version, expected) in [
            ("0.1.0", Some(("0.1.0", None))),
            ("1.2.0-rc.1", Some(("1.2.0", Some(("rc", "1"))))),
            ("1.2.0-rc1", None),
            ("1.2.0-dev.1", None),
        ] {
            assert_eq!(split_version(version).ok(), expected, "{version}");
        }
    }

    #[test]
    fn equal_releases_give_equal_packages() {
        let (first, second) = (packages(&sample()).unwrap(), packages(&sample()).unwrap());
        let names: Vec<&str> = first.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "noteweft-1.2.0-rc.1-x86_64-linux.tar.gz",
                "noteweft-1.2.0-rc.1.cdx.json",
                "noteweft-1.2.0-rc.1.tgz",
                "noteweft-1.2.0rc1-py3-none-manylinux_2_34_x86_64.whl",
                "noteweft_1.2.0~rc.1_amd64.deb",
            ]
        );
        assert!(first == second, "the bytes differ");
        let later = Release { time: 1_700_000_001, ..sample() };
        assert!(packages(&later).unwrap() != first, "the time is part of the content");
    }

    #[test]
    fn archive_contains_the_program_and_its_texts() {
        let (name, bytes) = plain_archive(&sample()).unwrap();
        let files = archive::tests::unpacked(&bytes);
        let folder = name.strip_suffix(".tar.gz").unwrap();
        for (place, mode) in [
            ("bin/weft", 0o755),
            ("bin/noteweft", 0o755),
            ("LICENSE", 0o644),
            ("share/man/man1/weft.1", 0o644),
            ("completions/_weft", 0o644),
            ("service/systemd/weft-user.service", 0o644),
            ("service/systemd/weft-push@.service", 0o644),
        ] {
            let path = format!("{folder}/{place}");
            let found = files.iter().find(|(name, ..)| *name == path);
            assert_eq!(found.map(|(_, mode, _)| *mode), Some(mode), "{place}");
        }
    }
}
