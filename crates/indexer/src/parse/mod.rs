//! A file's bytes to a note: never fails, whatever the bytes are.
//!
//! [`parse`] reads one file without looking at any other, so links stay as written until a graph resolves them.
//! What cannot be understood becomes a [`Diagnostic`] of one of the kinds in [`code`]; the rest is still found.
//!
//! The body begins after the frontmatter's closing mark; without frontmatter it is the whole file.
//! A byte order mark says how a file is encoded and belongs to neither.
//!
//! # Doughnut notebooks
//!
//! Both forms in which Doughnut writes a notebook to files are vaults as they are:
//!
//! | a note's | export with ids | portable tree |
//! |---|---|---|
//! | file | `Title.md`; with children `Title/__index.md` | `Title.md`; a folder's `README.md`, `type: Readme` |
//! | uri | `note_id` | the path without extension |
//! | title | the first H1 | the file's or folder's name; of a `type: Relationship` its `relation` |
//! | parent | the note of its folder | likewise; of a `type: Relationship` its `source` |
//! | object | `target` or `object`, by uri or name | `target` |
//! | order | `order`, else the file's name | likewise |
//! | details | the body, H1 included | the body |
//!
//! An `__index.md` answers to the name of its folder, too, as nothing else there has the note's name.
//! `uri` and `id` come before `note_id`, and a written `title` before `relation`.

pub(crate) mod body;
mod decode;
pub(crate) mod dendron;
mod frontmatter;
mod hidden;
pub(crate) mod logseq;
mod masks;
mod properties;
pub(crate) mod target;
#[cfg(test)]
mod tests;
pub(crate) mod yaml;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};
use weft_model::id::FOLDER_NOTES;
use weft_model::text::nfc;
use weft_model::{Diagnostic, Link, Note, NotePath, Value};

use code::Code;
use target::Destination;
use yaml::{Entry, Scalar};

/// The kinds of diagnostics.
pub mod code {
    use weft_model::Severity;

    /// A kind of diagnostic.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Code {
        /// Its stable name.
        pub name: &'static str,
        /// How much it takes away.
        pub severity: Severity,
    }

    const fn notice(name: &'static str) -> Code {
        Code { name, severity: Severity::Notice }
    }

    const fn warning(name: &'static str) -> Code {
        Code { name, severity: Severity::Warning }
    }

    /// Some bytes are no text and were read as U+FFFD.
    pub const NOT_UTF_8: Code = warning("not-utf-8");
    /// A byte order mark announced UTF-16, and it was read as such.
    pub const UTF_16: Code = notice("utf-16");
    /// The text holds NUL characters, which stay.
    pub const NUL_CHARACTERS: Code = notice("nul-characters");
    /// The file is longer than offsets can say; its end was not read.
    pub const TOO_LONG: Code = warning("too-long");
    /// The first line opens a frontmatter that nothing closes; all of it is body.
    pub const UNCLOSED_FRONTMATTER: Code = warning("unclosed-frontmatter");
    /// The frontmatter is TOML, which is not read; all of it is body.
    pub const TOML_FRONTMATTER: Code = warning("toml-frontmatter");
    /// Prose stands between two `---`; all of it is body.
    pub const FRONTMATTER_NO_MAPPING: Code = notice("frontmatter-no-mapping");
    /// The YAML is broken; each key was read for itself.
    pub const BROKEN_FRONTMATTER: Code = warning("broken-frontmatter");
    /// A key stands there twice; the last counts.
    pub const DUPLICATE_KEY: Code = warning("duplicate-key");
    /// An entry of `links` names no target.
    pub const LINK_ENTRY: Code = notice("link-entry");
    /// `uri`, `id`, `note_id` or `title` holds a list or map, which names nothing.
    pub const NO_SCALAR: Code = notice("no-scalar");
    /// A `%%` at the front of a line is never closed and hides nothing.
    pub const OPEN_COMMENT: Code = notice("open-comment");
    /// A long body has no heading by which a part of it could be named.
    pub const NO_HEADINGS: Code = notice("no-headings");
}

/// The stem of a file that is a note with children in a Doughnut export, where the folder bears its name.
const NOTEBOOK_NOTE: &str = "__index";

/// Where a note says its uri; the first that is there counts.
const URI: &[&str] = &["uri", "id", "note_id"];

/// The `type` of a note that states a relation, and the property that says which: its title, as the predicate.
const RELATIONSHIP: (&str, &str) = ("Relationship", "relation");

/// The property that keeps a note out of the index when it is `false`.
const INDEXED: &str = "indexed";

/// Bytes of a body from which headings are missed: a book has a megabyte.
const LONG_BODY: usize = 1 << 20;

/// The least digits at the front of a file name that are taken for a Zettelkasten id: a date.
const MIN_ZETTEL_DIGITS: usize = 8;

/// Which dialects are read beyond what every vault may hold. All are off by default.
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ParseOptions {
    /// Logseq: `key:: value` properties, `#[[several words]]` tags, page names in file names (`a___b.md`), journals, tags that are links where a page has their name; no code of Org blocks.
    pub logseq: bool,
    /// Dendron: places by dotted names (`a.b.md` lies below `a.md`), and wikilinks with the label first (`[[label|a.b]]`).
    pub dendron: bool,
    /// A file name that begins with a number of at least eight digits answers to the number alone, in Denote with its time, where no other letter or digit follows.
    pub zettel_ids: bool,
    /// MkDocs: text indented under `!!! note`, `??? note` or `=== "Tab"` is prose and no code.
    pub admonitions: bool,
}

/// How wikilinks and tags are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// As most programs do.
    Common,
    /// The label of a wikilink stands before its target.
    Dendron,
    /// A wikilink holds a page's whole name, and a tag leads to the page of that name, too.
    Logseq,
}

impl Dialect {
    /// The destination of `[[written]]`, without its label.
    pub(crate) fn wikilink(self, written: &str) -> Option<Destination> {
        match self {
            Self::Common => target::wikilink(written),
            Self::Dendron => dendron::destination(written),
            Self::Logseq => target::page(written),
        }
    }
}

impl ParseOptions {
    /// How wikilinks and tags are written.
    pub(crate) const fn dialect(&self) -> Dialect {
        match (self.dendron, self.logseq) {
            (true, _) => Dialect::Dendron,
            (false, true) => Dialect::Logseq,
            (false, false) => Dialect::Common,
        }
    }
}

/// What comes of reading files; nothing where a defect of the reader stops it, which must end no thread that does more.
pub(crate) fn unless_stopped<T>(reading: impl FnOnce() -> T) -> Option<T> {
    // Nothing is shared that could be left half done.
    catch_unwind(AssertUnwindSafe(reading)).ok()
}

/// The byte at which the body of a file begins: what stands before is its frontmatter. Nothing where the file is no UTF-8.
#[must_use]
pub(crate) fn body_start(bytes: &[u8]) -> Option<usize> {
    let text = str::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // A body is the end of the text, byte for byte.
    let (_, body) = frontmatter_and_body(text, &mut Vec::new());
    Some(bytes.len() - body.len())
}

/// Reads one file.
///
/// Equal bytes give equal notes. `O(bytes)`; no nesting is too deep and no line too long.
#[must_use]
pub fn parse(path: &NotePath, bytes: &[u8], options: &ParseOptions) -> (Note, Vec<Diagnostic>) {
    let Reading { note, diagnostics, files: _ } = read(path, bytes, options);
    (note, diagnostics)
}

/// What was read of one file.
pub(crate) struct Reading {
    pub(crate) note: Note,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Links of the body to files that are no notes, which an index does not keep.
    pub(crate) files: Vec<Link>,
}

/// The values of a file's frontmatter that are scalars, in text order, with the bytes of the file they take.
pub(crate) fn scalars(text: &str) -> Vec<Scalar> {
    let marked = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((yaml, _)) = decode::split_frontmatter(marked) else { return Vec::new() };
    let opening = marked.find('\n').map_or(0, |end| end + 1);
    let start = text.len() - marked.len() + opening;
    let moved = |bytes: Range<usize>| bytes.start + start..bytes.end + start;
    let scalars = frontmatter::scalars(yaml).into_iter();
    scalars.map(|scalar| Scalar { bytes: moved(scalar.bytes), ..scalar }).collect()
}

/// Reads one file, and what only those want to know who write it.
pub(crate) fn read(path: &NotePath, bytes: &[u8], options: &ParseOptions) -> Reading {
    let mut diagnostics = Vec::new();
    let max_bytes = u32::MAX as usize;
    if bytes.len() > max_bytes {
        let message = "The file is longer than 4 GiB; what comes after was not read.";
        diagnostics.push(diagnostic(code::TOO_LONG, message, None));
    }
    let text = decode::decode(&bytes[..bytes.len().min(max_bytes)], &mut diagnostics);
    let (mut entries, body) = frontmatter_and_body(&text, &mut diagnostics);
    let front_lines = text[..text.len() - body.len()].matches('\n').count();

    let mut page_lines = 0..0;
    if options.logseq {
        let (page, range) = logseq::page_properties(body);
        entries.extend(page);
        page_lines = range;
    }
    let dialect = options.dialect();
    let mut masked = Cow::Borrowed(body);
    if options.admonitions {
        masked = masks::admonitions(&masked).into();
    }
    if options.logseq {
        masked = masks::org_blocks(&masked).into();
    }
    let mut parts = body::read(&masked, dialect);
    if let Some(at) = parts.open_comment {
        let line = front_lines + body[..at].matches('\n').count() + 1;
        let message = "The comment that `%%` begins here is never closed; it was read as text.";
        diagnostics.push(diagnostic(code::OPEN_COMMENT, message, u32::try_from(line).ok()));
    }
    if body.len() >= LONG_BODY && parts.headings.is_empty() {
        let message = format!(
            "The body has {} MiB and no heading; a context can show pieces of it, but no outline.",
            body.len() >> 20
        );
        diagnostics.push(diagnostic(code::NO_HEADINGS, message, None));
    }
    for key in URI.iter().chain(&["title"]) {
        if matches!(properties::value(&entries, key), Some(Value::List(_) | Value::Map(_))) {
            let message =
                format!("`{key}` is a list or map, which names nothing; it was left out.");
            diagnostics.push(diagnostic(code::NO_SCALAR, message, None));
        }
    }

    let mut links = properties::links(&entries, dialect, &mut diagnostics);
    // A link in a property of the page need not count again.
    let typed = links.iter().map(|link| link.target.clone()).collect::<HashSet<_>>();
    let in_page_lines = body[page_lines].chars().count();
    parts.links.retain(|link| {
        let below = link.span.is_none_or(|span| span.start as usize >= in_page_lines);
        below || !typed.contains(&link.target)
    });
    if options.logseq {
        // Other names in brackets are no links.
        links.retain(|link| !properties::is_one_of(&link.kind, properties::ALIASES));
    }
    links.extend(parts.links);

    let written_title =
        properties::scalar(&entries, &["title"]).map(|title| body::one_line(&title));
    let aliases = aliases(path, &entries, written_title.as_deref(), options);
    let mut tags = properties::tags(&entries, properties::TAGS, dialect);
    tags.extend(parts.tags);
    if options.logseq {
        let tag = |tag: &String| properties::tag(tag, dialect).to_owned();
        tags.extend(logseq::block_tags(&masked).iter().map(tag));
    }
    let heading =
        || parts.headings.iter().find(|heading| heading.level == 1 && !heading.text.is_empty());
    let note_type = properties::names(&entries, &["type"], dialect).into_iter().next();
    let predicate = || {
        let (wanted, relation) = RELATIONSHIP;
        let states = note_type.as_ref().is_some_and(|kind| kind.eq_ignore_ascii_case(wanted));
        properties::scalar(&entries, &[relation]).filter(|_| states)
    };
    let title = written_title
        .or_else(predicate)
        .or_else(|| heading().filter(|_| !options.logseq).map(|heading| heading.text.clone()))
        .unwrap_or_else(|| name_of(path, options));

    let note = Note {
        path: path.clone(),
        claimed_uri: properties::scalar(&entries, URI).map(|uri| nfc(&uri)),
        title,
        aliases,
        tags: without_repeats(tags.iter().map(|tag| nfc(tag)).collect()),
        note_type,
        order: properties::order(&entries),
        properties: entries
            .into_iter()
            .map(|entry| (entry.key, entry.value))
            .collect::<BTreeMap<_, _>>(),
        headings: parts.headings,
        blocks: parts.blocks,
        dendron: options.dendron,
        links,
        body: body.to_owned(),
    };
    Reading { note, diagnostics, files: parts.files }
}

/// Whether the note asks to be kept out of the index: `indexed: false`.
#[must_use]
pub fn is_excluded(note: &Note) -> bool {
    let keeps_out = |value: &Value| {
        value.as_written().is_some_and(|text| {
            ["false", "no"].iter().any(|no| text.trim().eq_ignore_ascii_case(no))
        })
    };
    note.properties.iter().any(|(key, value)| key.eq_ignore_ascii_case(INDEXED) && keeps_out(value))
}

fn frontmatter_and_body<'t>(
    text: &'t str,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Vec<Entry>, &'t str) {
    if let Some((yaml, body)) = decode::split_frontmatter(text) {
        return frontmatter::read(yaml, diagnostics)
            .map_or((Vec::new(), text), |entries| (entries, body));
    }
    let mut lines = text.lines().map(str::trim_end);
    if lines.next() == Some("+++") && lines.any(|line| line == "+++") {
        let message = "TOML between lines `+++` is not read as frontmatter, but as text; YAML between lines `---` is.";
        diagnostics.push(diagnostic(code::TOML_FRONTMATTER, message, Some(1)));
    }
    let mut lines = text.lines();
    if lines.next().is_some_and(|line| line.trim_end() == "---")
        && lines.next().is_some_and(|line| line.contains(": ") || line.ends_with(':'))
    {
        let message = "No line `---` closes the frontmatter; all of the file was read as body.";
        diagnostics.push(diagnostic(code::UNCLOSED_FRONTMATTER, message, Some(1)));
    }
    (Vec::new(), text)
}

/// The name that the file gives its note: its stem, of a dotted one the end, or for a folder note the folder's name.
fn name_of(path: &NotePath, options: &ParseOptions) -> String {
    let stem = path.stem();
    match folder_name(path) {
        Some(folder) if FOLDER_NOTES.iter().any(|name| stem.eq_ignore_ascii_case(name)) => {
            folder.to_owned()
        }
        Some(_) | None if options.logseq => logseq::names(path).swap_remove(0),
        Some(_) | None if options.dendron => dendron::last_name(stem).to_owned(),
        Some(_) | None => stem.to_owned(),
    }
}

/// The name of the folder that holds the file; none at the root.
fn folder_name(path: &NotePath) -> Option<&str> {
    path.folder().rsplit('/').next().filter(|folder| !folder.is_empty())
}

fn aliases(
    path: &NotePath,
    entries: &[Entry],
    title: Option<&str>,
    options: &ParseOptions,
) -> Vec<String> {
    let mut aliases = properties::several(entries, properties::ALIASES, options.dialect());
    if path.stem() == NOTEBOOK_NOTE {
        aliases.extend(folder_name(path).map(str::to_owned));
    }
    if options.logseq {
        // A page is linked by its title, which is another name than its file's.
        let page = Some(logseq::page_name(path)).filter(|name| name != path.stem());
        aliases.extend(title.map(str::to_owned));
        aliases.extend(logseq::journal_names(path).into_iter().flatten());
        aliases.extend(page);
    }
    if options.zettel_ids {
        aliases.extend(zettel_id(path.stem()).map(str::to_owned));
    }
    // Links are compared in NFC.
    without_repeats(aliases.iter().map(|alias| nfc(alias)).collect())
}

/// The number of at least eight digits at the front of a file name, in Denote with a time after it: `20240101T120000`. No letter or digit follows.
fn zettel_id(stem: &str) -> Option<&str> {
    let n_digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let date = Some(n_digits(stem)).filter(|n| *n >= MIN_ZETTEL_DIGITS)?;
    let time = stem[date..].strip_prefix('T').map_or(0, n_digits);
    let end = if time > 0 { date + 1 + time } else { date };
    (!stem[end..].starts_with(|c: char| c.is_ascii_alphanumeric())).then(|| &stem[..end])
}

fn without_repeats(names: Vec<String>) -> Vec<String> {
    let mut known = HashSet::new();
    names.into_iter().filter(|name| !name.is_empty() && known.insert(name.clone())).collect()
}

fn diagnostic(code: Code, message: impl Into<String>, line: Option<u32>) -> Diagnostic {
    let Code { name, severity } = code;
    Diagnostic { severity, code: name.to_owned(), message: message.into(), line }
}
