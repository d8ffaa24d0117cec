//! The npm package: `npx noteweft` runs the program. It is for one system; npm refuses to install it on another.

use anyhow::bail;
use serde_json::json;

use super::archive::{PackedFile, tar_gz};
use super::{NAME, Release, SUMMARY};

/// Returns the package.
pub(super) fn package(release: &Release) -> anyhow::Result<(String, Vec<u8>)> {
    let mut files = release.program_files("package/", "bin/")?;
    files.extend([
        PackedFile::text("package/package.json".into(), manifest(release)?),
        PackedFile::text("package/README.md".into(), release.source("config/package/README.md")?),
    ]);
    Ok((format!("{NAME}-{}.tgz", release.version), tar_gz(files, release.time)?))
}

fn manifest(release: &Release) -> anyhow::Result<Vec<u8>> {
    let os = match release.os {
        "macos" => "darwin",
        "windows" => "win32",
        os => os,
    };
    let cpu = match release.arch {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        arch => bail!("npm packages for {arch} are not supported"),
    };
    let program = format!("bin/{}", release.program());
    let alias = if release.is_windows() { program.clone() } else { format!("bin/{NAME}") };
    let mut manifest = json!({
        "name": NAME,
        "version": release.version,
        "description": SUMMARY,
        "keywords": ["markdown", "notes", "search", "embeddings", "mcp"],
        "license": "Apache-2.0",
        "repository": { "type": "git", "url": format!("git+{}.git", release.repository) },
        "bin": { "weft": program, NAME: alias },
        "os": [os],
        "cpu": [cpu],
        "preferUnplugged": true,
    });
    if release.libraries.is_some() {
        manifest["libc"] = json!(["glibc"]);
    }
    Ok((serde_json::to_string_pretty(&manifest)? + "\n").into())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::archive::tests::unpacked;
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn manifest_names_programs_that_are_packed() {
        for (os, expected) in [
            ("linux", ["linux", "x64"]),
            ("macos", ["darwin", "x64"]),
            ("windows", ["win32", "x64"]),
        ] {
            let (_, bytes) = package(&Release { os, ..sample() }).unwrap();
            let files = unpacked(&bytes);
            let packed = |path: &str| files.iter().find(|(name, ..)| name == path).unwrap();
            let manifest: Value =
                serde_json::from_slice(&packed("package/package.json").2).unwrap();
            assert_eq!([&manifest["os"][0], &manifest["cpu"][0]], expected);
            for (_, program) in manifest["bin"].as_object().unwrap() {
                let (_, mode, _) = packed(&format!("package/{}", program.as_str().unwrap()));
                assert_eq!(*mode, 0o755, "{os}: {program}");
            }
        }
        assert!(package(&Release { arch: "riscv64", ..sample() }).is_err());
    }
}
