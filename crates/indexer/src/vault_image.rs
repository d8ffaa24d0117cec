//! Images of a vault, found as notes name them and read under the same rules as notes.

use std::path::{Path, PathBuf};

use weft_model::text::nfc;

use crate::scan::{self, ScanError, ScanOptions};

/// Reason why an image is not served.
#[derive(Debug, thiserror::Error)]
pub enum VaultImageError {
    /// The name is not that of an image.
    #[error("`{target}` is not an image; images are {}", EXTENSIONS.join(", "))]
    Kind {
        /// The name.
        target: String,
    },
    /// No file of the vault has the name.
    #[error("no image `{target}` is in the vault, or a rule excludes it")]
    Missing {
        /// The name.
        target: String,
    },
    /// The content is not an image of the kind that the name says.
    #[error("the content of `{target}` is not an image of this kind")]
    Content {
        /// The name.
        target: String,
    },
    /// The vault or the file cannot be read.
    #[error(transparent)]
    Scan(#[from] ScanError),
}

/// Kind of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    WebP,
    /// AVIF.
    Avif,
    /// SVG, which may contain scripts: to be shown as an image only.
    Svg,
}

/// Extensions of images.
const EXTENSIONS: [&str; 7] = ["png", "jpg", "jpeg", "gif", "webp", "avif", "svg"];

/// Bytes at the beginning of an SVG in which its root element is expected.
const SVG_HEAD: usize = 4096;

impl ImageKind {
    /// Returns the kind that the name of a file says.
    fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "png" => Some(Self::Png),
            "jpg" | "jpeg" => Some(Self::Jpeg),
            "gif" => Some(Self::Gif),
            "webp" => Some(Self::WebP),
            "avif" => Some(Self::Avif),
            "svg" => Some(Self::Svg),
            _ => None,
        }
    }

    /// Returns the media type.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
            Self::Avif => "image/avif",
            Self::Svg => "image/svg+xml",
        }
    }

    /// Returns true if `bytes` begin as an image of this kind does, so that a renamed file of another kind is not served.
    fn is_content(self, bytes: &[u8]) -> bool {
        match self {
            Self::Png => bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
            Self::Jpeg => bytes.starts_with(b"\xff\xd8\xff"),
            Self::Gif => bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a"),
            Self::WebP => bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"),
            Self::Avif => {
                bytes.get(4..8) == Some(b"ftyp")
                    && matches!(bytes.get(8..12), Some(b"avif" | b"avis" | b"mif1"))
            }
            Self::Svg => {
                let head = &bytes[..bytes.len().min(SVG_HEAD)];
                head.windows(4).any(|part| part.eq_ignore_ascii_case(b"<svg"))
            }
        }
    }
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultImage {
    /// Kind, as its name and its content say.
    pub kind: ImageKind,
    /// Content of the file.
    pub bytes: Vec<u8>,
}

/// Returns the image that the note at `note` in the vault at `root` names `target`.
///
/// The path is relative to the folder of the note, or else to the vault; last, an image anywhere in the vault whose path ends with `target` counts, the shortest first.
/// Excluded and hidden files are not served, nor those outside the vault; `scan.include`, which names notes, does not apply.
pub fn vault_image(
    root: &Path,
    options: &ScanOptions,
    note: &str,
    target: &str,
    max_bytes: u64,
) -> Result<VaultImage, VaultImageError> {
    let kind = || ImageKind::of(Path::new(target));
    let kind = kind().ok_or_else(|| VaultImageError::Kind { target: target.to_owned() })?;
    let options = ScanOptions { include: Vec::new(), max_file_bytes: max_bytes, ..options.clone() };
    let real = root.canonicalize();
    let real = real.map_err(|source| ScanError::Read { path: root.to_owned(), source })?;
    let file = find(&real, &options, note, target)?;
    let file = file.ok_or_else(|| VaultImageError::Missing { target: target.to_owned() })?;
    let bytes = scan::read(&real, &file, max_bytes)?;
    if kind.is_content(&bytes) {
        Ok(VaultImage { kind, bytes })
    } else {
        Err(VaultImageError::Content { target: target.to_owned() })
    }
}

fn find(
    root: &Path,
    options: &ScanOptions,
    note: &str,
    target: &str,
) -> Result<Option<PathBuf>, ScanError> {
    let folder = note.rsplit_once('/').map_or("", |(folder, _)| folder);
    let from_root = target.strip_prefix('/');
    let beside = if from_root.is_none() { joined(folder, target) } else { None };
    let from_root = joined("", from_root.unwrap_or(target));
    for path in [beside, from_root].into_iter().flatten() {
        if let Some(file) = existing(root, options, &path)? {
            return Ok(Some(file));
        }
    }
    let ending = nfc(target).to_lowercase();
    let is_named = |path: &str| {
        let path = path.to_lowercase();
        path == ending || path.strip_suffix(&ending).is_some_and(|rest| rest.ends_with('/'))
    };
    let all = scan::attachments(root, options, |path| ImageKind::of(path).is_some())?;
    let named = all.into_iter().filter(|path| is_named(path.as_str()));
    let nearest = named.min_by_key(|path| (path.as_str().len(), path.clone()));
    Ok(nearest.map(|path| existing(root, options, path.as_str())).transpose()?.flatten())
}

/// Returns the file at a path in the vault if it exists and no rule excludes it.
fn existing(root: &Path, options: &ScanOptions, path: &str) -> Result<Option<PathBuf>, ScanError> {
    let Ok(path) = scan::vault_path(path) else { return Ok(None) };
    let location = scan::writable_path(root, options, &path)?.ok();
    Ok(location.filter(|location| location.real.is_file()).map(|location| location.real))
}

/// Joins a path to a folder and removes its dot segments; `None` if it leaves the vault.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n....";

    #[test]
    fn content_must_match_the_name() {
        for (name, bytes, expected) in [
            ("a.PNG", PNG, true),
            ("a.jpg", b"\xff\xd8\xff\xe0".as_slice(), true),
            ("a.gif", b"GIF89a", true),
            ("a.webp", b"RIFF....WEBPVP8 ", true),
            ("a.avif", b"....ftypavif", true),
            ("a.svg", b"<?xml version='1.0'?>\n<svg xmlns='x'/>", true),
            ("a.png", b"-----BEGIN PRIVATE KEY-----", false),
            ("a.svg", b"plain text", false),
            ("a.webp", b"RIFF", false),
            ("a.jpg", PNG, false),
            ("a.png", b"", false),
        ] {
            let kind = ImageKind::of(Path::new(name)).unwrap();
            assert_eq!(kind.is_content(bytes), expected, "{name}");
        }
        for name in ["a.md", "a.html", "a", ".png", "a.png.txt", "a.pdf"] {
            assert_eq!(ImageKind::of(Path::new(name)), None, "{name}");
        }
    }

    #[test]
    fn paths_are_joined_within_the_vault() {
        for (folder, path, expected) in [
            ("a/b", "x.png", Some("a/b/x.png")),
            ("a/b", "../x.png", Some("a/x.png")),
            ("a", "./c//x.png", Some("a/c/x.png")),
            ("", "../x.png", None),
            ("a", "../../etc/x.png", None),
        ] {
            assert_eq!(joined(folder, path).as_deref(), expected, "{folder} {path}");
        }
    }

    #[test]
    fn image_is_found_beside_the_note_in_the_vault_or_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("vault");
        for path in ["vault/plants", "vault/files/deep", "vault/.hidden", "vault/private"] {
            std::fs::create_dir_all(base.join(path)).unwrap();
        }
        for path in [
            "plants/a.png",
            "files/b.png",
            "files/deep/c.png",
            ".hidden/d.png",
            "private/e.png",
            "x.png",
        ] {
            std::fs::write(root.join(path), PNG).unwrap();
        }
        std::fs::write(root.join("big.png"), [PNG, &[0; 200]].concat()).unwrap();
        std::fs::write(root.join("no.png"), "secret").unwrap();
        std::fs::write(root.join(".weftignore"), "private/\n").unwrap();
        std::fs::write(base.join("outside.png"), PNG).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("../outside.png", root.join("link.png")).unwrap();
        let options = ScanOptions { include: vec!["*.md".into()], ..ScanOptions::default() };
        let image = |target: &str| vault_image(&root, &options, "plants/fern.md", target, 100);
        for target in [
            "a.png",
            "../files/b.png",
            "/files/b.png",
            "files/b.png",
            "b.png",
            "c.png",
            "deep/C.PNG",
            "x.png",
        ] {
            assert_eq!(image(target).unwrap().bytes, PNG, "{target}");
        }
        for target in [
            "none.png",
            "../../outside.png",
            "/../outside.png",
            "link.png",
            ".hidden/d.png",
            "d.png",
            "e.png",
            "private/e.png",
            "/etc/passwd.png",
            "a\0.png",
        ] {
            let error = image(target).unwrap_err();
            assert!(matches!(error, VaultImageError::Missing { .. }), "{target}: {error}");
        }
        assert!(matches!(image("big.png"), Err(VaultImageError::Scan(_))));
        assert!(matches!(image("no.png"), Err(VaultImageError::Content { .. })));
        assert!(matches!(image("fern.md"), Err(VaultImageError::Kind { .. })));
    }
}
