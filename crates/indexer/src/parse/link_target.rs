//! Classifies link destinations: a note, a file, or an address.

use std::borrow::Cow;

use weft_model::id::{split_query, without_markdown_extension};
use weft_model::text::{nfc, percent_decoded};

/// Extensions of files that are not notes, whatever syntax links them.
///
/// Deliberately short: a name with a dot (`v1.2`, `Dr. No`, `Node.js`) is a note's name unless its extension is listed here.
const ATTACHMENTS: &[&str] = &[
    "3gp", "7z", "aac", "avi", "avif", "base", "bmp", "bz2", "canvas", "doc", "docx", "epub",
    "flac", "gif", "gz", "heic", "ico", "jpeg", "jpg", "m4a", "m4v", "mkv", "mov", "mp3", "mp4",
    "mpeg", "mpg", "odp", "ods", "odt", "ogg", "ogv", "opus", "pdf", "png", "ppt", "pptx", "psd",
    "rar", "rtf", "svg", "tar", "tgz", "tif", "tiff", "wav", "webm", "webp", "xls", "xlsx", "xz",
    "zip", "zst",
];

/// Extensions that suggest a file in a wikilink as well, but may be part of a note's name: `[[robots.txt]]`.
const TEXTS: &[&str] = &["csv", "htm", "html", "json", "tsv", "txt", "xml", "yaml", "yml"];

/// Files without an extension, in lower case, up to a `-` or `_`. Recognized only in Markdown links, which contain paths.
const WITHOUT_EXTENSION: &[&str] = &[
    "authors",
    "codeowners",
    "contributors",
    "copying",
    "copyright",
    "dockerfile",
    "gemfile",
    "jenkinsfile",
    "justfile",
    "licence",
    "license",
    "makefile",
    "notice",
    "procfile",
    "rakefile",
    "unlicense",
    "vagrantfile",
];

/// Maximum number of letters and digits in an extension.
const MAX_EXTENSION: usize = 12;

/// Schemes that are written without `//`. A list, so that `[[Dune: Part Two]]` stays a name while `[[mailto:x]]` does not.
const SCHEMES_WITHOUT_HOST: &[&str] = &[
    "about",
    "bitcoin",
    "data",
    "doi",
    "facetime",
    "geo",
    "irc",
    "javascript",
    "magnet",
    "mailto",
    "news",
    "sip",
    "sms",
    "spotify",
    "tel",
    "urn",
    "view-source",
    "xmpp",
];

/// The kind of a link's target, judged by its spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetKind {
    /// A note.
    Note,
    /// A note in a named vault.
    NoteInVault,
    /// A file or folder: a link only if a note has that name.
    Uncertain,
    /// A file that is not a note.
    File,
}

/// A note name as links spell it, and the fragment within the note.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    pub(crate) name: String,
    pub(crate) fragment: Option<String>,
    pub(crate) kind: TargetKind,
}

/// Returns the destination of `[[inner]]`, without its display text.
///
/// `None` for a fragment of the linking note, an address, or brackets that no name has.
pub(crate) fn wikilink(inner: &str) -> Option<Destination> {
    named(wikilink_name(inner)?)
}

/// Returns the destination of a Logseq link, where the whole text is the name of a page.
pub(crate) fn page(inner: &str) -> Option<Destination> {
    let found = destination_from(wikilink_name(inner)?, "", as_written, is_text)?;
    (!is_dots_only(&found.name)).then_some(found)
}

/// Returns the destination of a Markdown link whose escapes are already resolved.
///
/// `None` for a fragment of the linking note, or an address.
pub(crate) fn markdown(written: &str) -> Option<Destination> {
    let written = written.trim();
    // `[text](((block)))` of Logseq.
    if has_scheme(written) || written.starts_with("//") || written.starts_with("((") {
        return None;
    }
    let (name, fragment) = written.split_once('#').unwrap_or((written, ""));
    let found = destination_from(name, fragment, percent_decoded, may_be_file)?;
    // The whole may be a name, but usually a query follows the path of a file.
    let (path, query) = split_query(&found.name);
    let is_file = !query.is_empty()
        && without_markdown_extension(path) == path
        && (has_extension(path, ATTACHMENTS) || may_be_file(path));
    Some(if is_file { Destination { kind: TargetKind::Uncertain, ..found } } else { found })
}

/// The target of a plain string in the frontmatter.
pub(crate) enum PlainTarget {
    /// A note's name or uri.
    Name(Destination),
    /// An address, kept as written: it links a note only if a note has exactly this uri.
    Address(String),
}

/// Parses a plain string of the frontmatter as a name; `None` if it is empty or an attachment.
pub(crate) fn plain(text: &str) -> Option<PlainTarget> {
    let text = text.trim();
    if is_address(text) || has_scheme(text) {
        return Some(PlainTarget::Address(nfc(text)));
    }
    let found = named(text)?;
    (found.kind == TargetKind::Note).then_some(PlainTarget::Name(found))
}

/// Returns the position of the `#` that begins the fragment, or the length of `written` if it has no fragment.
pub(crate) fn fragment_start(written: &str) -> usize {
    let hash = written.find('#').filter(|at| at + 1 < written.trim_end().len());
    hash.unwrap_or(written.len())
}

/// Splits a name and its fragment. A name may end with `#`, as in `C#`.
fn named(written: &str) -> Option<Destination> {
    let (name, fragment) = written.split_at(fragment_start(written));
    let fragment = fragment.strip_prefix('#').unwrap_or_default();
    let found = destination_from(name, fragment, as_written, is_text)?;
    (!is_dots_only(&found.name) && found.name != "#").then_some(found)
}

/// Returns true if `text` is an address, even where a name with a colon is allowed.
pub(crate) fn is_address(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return text.starts_with("//") };
    let known = || SCHEMES_WITHOUT_HOST.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    has_scheme(text) && (rest.starts_with("//") || known())
}

/// Returns true if `text` begins with `scheme:` and no space follows, which identifies an address where paths are written.
pub(crate) fn has_scheme(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(scheme, rest)| is_scheme(scheme) && !rest.starts_with(char::is_whitespace))
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Builds a destination; `None` without a name. `may_be_file` judges by the spelling whether the name may be a file.
fn destination_from(
    name: &str,
    fragment: &str,
    decoded: fn(&str) -> Cow<'_, str>,
    may_be_file: fn(&str) -> bool,
) -> Option<Destination> {
    let path = nfc(&decoded(name)).replace('\\', "/");
    let path = path.trim();
    let bare = without_markdown_extension(path);
    // `paper.pdf.md` is a note about a file.
    let kind = if bare != path {
        TargetKind::Note
    } else if has_extension(bare, ATTACHMENTS) {
        TargetKind::File
    } else if may_be_file(bare) {
        TargetKind::Uncertain
    } else {
        TargetKind::Note
    };
    let name = bare.trim_end_matches('/').trim_end();
    let fragment = nfc(decoded(fragment).trim());
    (!name.is_empty()).then(|| Destination {
        name: name.to_owned(),
        fragment: (!fragment.is_empty()).then_some(fragment),
        kind,
    })
}

/// Returns true if `name` consists of dots and slashes only.
fn is_dots_only(name: &str) -> bool {
    name.chars().all(|c| matches!(c, '.' | '/'))
}

/// Returns true if `path` points to a folder, or its last segment looks like the name of a file that is not a note.
fn may_be_file(path: &str) -> bool {
    if path.ends_with('/') || is_dots_only(path) {
        return true;
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.') {
        Some((_, extension)) => {
            extension.len() <= MAX_EXTENSION
                && extension.starts_with(|first: char| first.is_ascii_alphabetic())
                && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
        None => {
            let word = name.split(['-', '_']).next().unwrap_or_default();
            WITHOUT_EXTENSION.iter().any(|known| word.eq_ignore_ascii_case(known))
        }
    }
}

const fn as_written(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// Returns true if a wikilink names a text file rather than a note.
fn is_text(name: &str) -> bool {
    has_extension(name, TEXTS)
}

fn has_extension(name: &str, extensions: &[&str]) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && extensions.iter().any(|known| extension.eq_ignore_ascii_case(known))
    })
}

/// Returns the trimmed text between `[[` and `]]` if it can name a note: it is one line, its brackets are those of a name, and it is not an address.
fn wikilink_name(inner: &str) -> Option<&str> {
    let is_name = !inner.contains(['\n', '\r']) && unclosed_brackets(inner) == Some(0);
    Some(inner.trim()).filter(|name| is_name && !is_address(name))
}

/// Returns the number of `[` in `text` that are never closed; `None` if the brackets are not those of a name.
///
/// Grammar of the text between `[[` and `]]`, where `char` is not a bracket:
///
/// ```text
/// name     = (char | balanced)* (char | "]")*
/// balanced = "[" (char | balanced)* "]"
/// ```
///
/// A `[` after a `]` that closes nothing belongs to a list (`[[1], [2]]`) or to the label of a link in Org mode (`[[url][label]]`).
pub(super) fn unclosed_brackets(text: &str) -> Option<usize> {
    let (mut depth, mut is_after_stray) = (0, false);
    for byte in text.bytes() {
        match (byte, depth) {
            (b'[', _) if is_after_stray => return None,
            (b'[', _) => depth += 1,
            (b']', 0) => is_after_stray = true,
            (b']', _) => depth -= 1,
            (_, _) => {}
        }
    }
    Some(depth)
}

/// Returns the number of brackets at the start of `closing` that belong to the wikilink around `inner` rather than to its end: in `[[a[0]]]`, the first `]` closes the `[` of the name.
pub(super) fn closed_in_name(inner: &str, closing: &str) -> usize {
    let n_open = unclosed_brackets(inner).unwrap_or_default();
    let limit = n_open + "]]".len();
    let n_closing = closing.bytes().take(limit).take_while(|byte| *byte == b']').count();
    n_closing.saturating_sub("]]".len())
}

/// Returns the text of the wikilink that begins before `text`, up to the `]]` that closes it, or all of `text` if it is not closed.
pub(crate) fn inside_wikilink(text: &str) -> &str {
    let end = text.find("]]").unwrap_or(text.len());
    &text[..end + closed_in_name(&text[..end], &text[end..])]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(destination: Option<Destination>) -> Option<(String, String)> {
        let note = destination.filter(|found| found.kind != TargetKind::File);
        note.map(|found| (found.name, found.fragment.unwrap_or_default()))
    }

    #[test]
    fn wikilinks_name_notes() {
        let cases = [
            ("Moss", Some(("Moss", ""))),
            ("  Moss  ", Some(("Moss", ""))),
            ("plants/Moss.md", Some(("plants/Moss", ""))),
            (r"plants\Moss", Some(("plants/Moss", ""))),
            ("Moss#Habitat#Soil", Some(("Moss", "Habitat#Soil"))),
            ("Moss#^b1", Some(("Moss", "^b1"))),
            ("Moss#", Some(("Moss#", ""))),
            ("C#", Some(("C#", ""))),
            ("C#.md#x", Some(("C", ".md#x"))),
            ("#", None),
            ("#Habitat", None),
            ("Mo\u{308}ss", Some(("Möss", ""))),
            ("100%25", Some(("100%25", ""))),
            ("v1.2", Some(("v1.2", ""))),
            ("Dr. No", Some(("Dr. No", ""))),
            ("Node.js", Some(("Node.js", ""))),
            ("Dune: Part Two", Some(("Dune: Part Two", ""))),
            ("Category:Plants", Some(("Category:Plants", ""))),
            ("https://example.org", None),
            ("mailto:a@example.org", None),
            ("News: 2024", Some(("News: 2024", ""))),
            ("About:\u{a0}me", Some(("About:\u{a0}me", ""))),
            ("Tel:5", None),
            ("photo.PNG", None),
            ("photo.PNG.md", Some(("photo.PNG", ""))),
            ("board.canvas", None),
            ("..", None),
            ("../Moss", Some(("../Moss", ""))),
            ("/plants/Moss", Some(("/plants/Moss", ""))),
            ("a [b] c", Some(("a [b] c", ""))),
            ("a[b[0]]", Some(("a[b[0]]", ""))),
            ("Sq]uare", Some(("Sq]uare", ""))),
            ("[a] b] c]", Some(("[a] b] c]", ""))),
            ("a [b", None),
            ("1], [2", None),
            ("url][label", None),
            ("two\nlines", None),
            (".", None),
            ("", None),
        ];
        for (inner, expected) in cases {
            let expected = expected.map(|(name, at)| (name.to_owned(), at.to_owned()));
            assert_eq!(pair(wikilink(inner)), expected, "{inner}");
        }
    }

    #[test]
    fn file_and_folder_paths_differ_from_note_names() {
        let is_file =
            |found: Option<Destination>| found.expect("a name").kind == TargetKind::Uncertain;
        for file in [
            "LICENSE",
            "../LICENSE-MIT",
            "Makefile",
            ".gitignore",
            "a/.ci/run.sh",
            "page.mdx",
            "robots.txt",
            "Node.js",
            "docs/",
            "..",
            "./",
            "a.b.c",
            "photo.png?raw=1",
            "docs/?tab=readme",
        ] {
            assert!(is_file(markdown(file)), "{file}");
        }
        for name in [
            "guide",
            "v1.2",
            "Dr. No",
            "robots.txt.md",
            "Licensing",
            "a.b c",
            "note.md",
            "note.md?raw=1",
        ] {
            assert!(!is_file(markdown(name)), "{name}");
        }
        assert!(is_file(wikilink("robots.txt")));
        for name in ["Node.js", "LICENSE", "a.b.c", "guide/", "robots.txt.md"] {
            assert!(!is_file(wikilink(name)), "{name}");
        }
    }

    #[test]
    fn markdown_links_name_paths() {
        let cases = [
            ("moss.md", Some(("moss", ""))),
            ("./moss.md", Some(("./moss", ""))),
            ("../a%20b/moss.MD#the%20place", Some(("../a b/moss", "the place"))),
            ("c%23.md#x", Some(("c#", "x"))),
            ("50%.md", Some(("50%", ""))),
            ("%ff.md", Some(("%ff", ""))),
            ("guide/", Some(("guide", ""))),
            ("#x", None),
            ("../", Some(("..", ""))),
            ("/", None),
            ("https://example.org/moss.md", None),
            ("mailto:a@example.org", None),
            ("//example.org/moss.md", None),
            ("image.png#moss", None),
            ("../src/main.rs", Some(("../src/main.rs", ""))),
            ("../src/main.rs.md", Some(("../src/main.rs", ""))),
            ("release-v1.2", Some(("release-v1.2", ""))),
            ("note.md?raw=1", Some(("note.md?raw=1", ""))),
            ("((634fb3ee-cef0-4081-9085-c002d3be4e75))", None),
        ];
        for (written, expected) in cases {
            let expected = expected.map(|(name, at)| (name.to_owned(), at.to_owned()));
            assert_eq!(pair(markdown(written)), expected, "{written}");
        }
    }
}
