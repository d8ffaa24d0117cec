//! Parses a file's bytes into a note; never fails, whatever the bytes are.
//!
//! [`parse`] reads one file without looking at any other, so links stay as written until the graph resolves them.
//! Anything it cannot understand becomes a [`Diagnostic`] with one of the codes in [`code`]; the rest of the note is still indexed.
//!
//! The body begins after the frontmatter's closing delimiter; without frontmatter, the body is the whole file.
//! A byte order mark announces the encoding and belongs to neither.
//! Files of other [kinds](NoteKind) have no frontmatter; the body of an Org file is its text in Markdown. Text of PDF files comes from [`crate::pdf`].
//!
//! # Doughnut notebooks
//!
//! Both file layouts in which Doughnut exports a notebook can be served as vaults without changes:
//!
//! | of a note | export with ids | portable tree |
//! |---|---|---|
//! | file | `Title.md`; with children `Title/__index.md` | `Title.md`; a folder's `README.md`, `type: Readme` |
//! | uri | `note_id` | the path without extension |
//! | title | the H1 that opens the note | the name of the file or folder; for `type: Relationship`, its `relation` |
//! | parent | the note of its folder | the note of its folder; for `type: Relationship`, its `source` |
//! | object | `target` or `object`, by uri or name | `target` |
//! | order | `order`, else the file's name | `order`, else the file's name |
//! | details | the body, H1 included | the body |
//!
//! A link to the name of a folder also resolves to its `__index.md`, because the export contains the note's name nowhere else.
//! `uri` and `id` take precedence over `note_id`, and an explicit `title` over `relation`.

pub(crate) mod body_parser;
pub(crate) mod dendron;
mod frontmatter;
mod frontmatter_properties;
mod hidden_ranges;
pub(crate) mod link_target;
pub(crate) mod logseq;
mod org;
mod prose_masks;
#[cfg(test)]
mod tests;
mod text_decoding;
pub(crate) mod yaml;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};
use weft_model::id::is_folder_note;
use weft_model::text::{byte_of_char, nfc};
use weft_model::{Block, Diagnostic, Heading, Link, Note, NoteKind, NotePath, Value, date};

use crate::char_offsets::CharOffsets;
use code::DiagnosticCode;
use frontmatter::Frontmatter;
use link_target::Destination;
use yaml::{PropertyEntry, Scalar};

/// The codes of diagnostics.
pub mod code {
    use weft_model::Severity;

    /// A diagnostic code.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DiagnosticCode {
        /// Stable name.
        pub name: &'static str,
        /// Severity.
        pub severity: Severity,
    }

    const fn notice(name: &'static str) -> DiagnosticCode {
        DiagnosticCode { name, severity: Severity::Notice }
    }

    const fn warning(name: &'static str) -> DiagnosticCode {
        DiagnosticCode { name, severity: Severity::Warning }
    }

    /// Some bytes are not text and were read as U+FFFD.
    pub const NOT_UTF_8: DiagnosticCode = warning("not-utf-8");
    /// The file was read as UTF-16 because of its byte order mark.
    pub const UTF_16: DiagnosticCode = notice("utf-16");
    /// The text contains NUL characters; they are kept.
    pub const NUL_CHARACTERS: DiagnosticCode = notice("nul-characters");
    /// The file is longer than the offsets can address; its end was not read.
    pub const TOO_LONG: DiagnosticCode = warning("too-long");
    /// The first line opens a frontmatter block that is never closed; the whole file is body.
    pub const UNCLOSED_FRONTMATTER: DiagnosticCode = warning("unclosed-frontmatter");
    /// The frontmatter is TOML, which is not supported; the whole file is body.
    pub const TOML_FRONTMATTER: DiagnosticCode = warning("toml-frontmatter");
    /// The text between two `---` lines is not a mapping but prose; the whole file is body.
    pub const FRONTMATTER_NO_MAPPING: DiagnosticCode = notice("frontmatter-no-mapping");
    /// The YAML is invalid; each key was parsed separately.
    pub const BROKEN_FRONTMATTER: DiagnosticCode = warning("broken-frontmatter");
    /// A line of invalid frontmatter belongs to no property; it is searched as text.
    pub const STRAY_FRONTMATTER: DiagnosticCode = warning("stray-frontmatter");
    /// A value is missing because YAML takes everything after ` #` for a comment.
    pub const COMMENTED_VALUE: DiagnosticCode = warning("commented-value");
    /// A property that dates the note is not a date.
    pub const UNREADABLE_DATE: DiagnosticCode = notice("unreadable-date");
    /// A key occurs more than once; the last one wins.
    pub const DUPLICATE_KEY: DiagnosticCode = warning("duplicate-key");
    /// An entry of `links` has no target.
    pub const LINK_ENTRY: DiagnosticCode = notice("link-entry");
    /// `uri`, `id`, `note_id` or `title` holds a list or map instead of a single value.
    pub const NO_SCALAR: DiagnosticCode = notice("no-scalar");
    /// A `%%` at the start of a line is never closed and hides nothing.
    pub const OPEN_COMMENT: DiagnosticCode = notice("open-comment");
    /// A long body has no heading that could identify a part of it.
    pub const NO_HEADINGS: DiagnosticCode = notice("no-headings");
    /// The PDF file is damaged, or is not a PDF file; it has no text.
    pub const PDF_BROKEN: DiagnosticCode = warning("pdf-broken");
    /// The PDF file needs a password; it has no text.
    pub const PDF_ENCRYPTED: DiagnosticCode = warning("pdf-encrypted");
    /// The pages of the PDF file contain no text, as those of a scanned document.
    pub const PDF_WITHOUT_TEXT: DiagnosticCode = notice("pdf-without-text");
    /// Extracting the text exceeded a limit and was stopped; the file has no text.
    pub const PDF_LIMIT: DiagnosticCode = warning("pdf-limit");
    /// The PDF file has more pages or text than the limit; the rest is missing.
    pub const PDF_TRUNCATED: DiagnosticCode = warning("pdf-truncated");
    /// The text of some pages of the PDF file could not be read.
    pub const PDF_PAGES: DiagnosticCode = warning("pdf-pages");
}

/// File stem of a note with children in a Doughnut export; its folder carries the note's name.
const NOTEBOOK_NOTE: &str = "__index";

/// Properties that hold a note's uri; the first one present wins.
const URI: &[&str] = &["uri", "id", "note_id"];

/// The `type` of a note that states a relation, and the property that holds the predicate, which becomes the title.
const RELATIONSHIP: (&str, &str) = ("Relationship", "relation");

/// Properties by which a program marks the notes it writes; their headings name parts of its format, not the note.
const PROGRAM_MARKS: &[&str] = &["excalidraw-plugin", "kanban-plugin"];

/// Properties with tags.
const TAGS: &[&str] = &["tags", "tag"];

/// Properties that are names or tags of the note, and are searched as such.
const NAMED: &[&str] =
    &["title", "aliases", "alias", "tags", "tag", "uri", "id", "note_id", "type"];

/// Property that keeps a note out of the index when it is `false`.
const INDEXED: &str = "indexed";

/// Bytes of a body from which missing headings are reported; a book has about a megabyte.
const LONG_BODY: usize = 1 << 20;

/// Minimum number of leading digits in a file name that count as a Zettelkasten id: the length of a date.
const MIN_ZETTEL_DIGITS: usize = 8;

/// Dialects to parse in addition to the common syntax. All are off by default.
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ParseOptions {
    /// Logseq: `key:: value` properties, `#[[several words]]` tags, page names in file names (`a___b.md`), journals, tags as links to the page of that name if one exists, block references (`((uuid))`) as links to the page that contains the block; Org code blocks are ignored.
    pub logseq: bool,
    /// Dendron: hierarchy by dotted names (`a.b.md` is a child of `a.md`), and wikilinks with the label first (`[[label|a.b]]`).
    pub dendron: bool,
    /// A file name that begins with a number of at least eight digits also answers to the number alone (in Denote, including its time), unless a letter or digit follows.
    pub zettel_ids: bool,
    /// MkDocs: text indented under `!!! note`, `??? note` or `=== "Tab"` is prose, not code.
    pub admonitions: bool,
    /// Properties, in any case, whose values are not searched as text: those that configure programs.
    pub unsearched_properties: Vec<String>,
    /// True if PDF files are notes, so that links lead to them; set from [`ScanOptions`](crate::scan::ScanOptions).
    #[serde(skip)]
    pub pdf_links: bool,
}

impl Default for ParseOptions {
    fn default() -> Self {
        let unsearched = [
            "banner",
            "cover",
            "cssclass",
            "cssclasses",
            "excalidraw-plugin",
            "icon",
            "kanban-plugin",
            "layout",
            "permalink",
            "template",
        ];
        Self {
            logseq: false,
            dendron: false,
            zettel_ids: false,
            admonitions: false,
            unsearched_properties: unsearched.map(str::to_owned).into(),
            pdf_links: false,
        }
    }
}

/// Syntax of wikilinks and tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The syntax of most programs.
    Common,
    /// The label of a wikilink precedes its target.
    Dendron,
    /// A wikilink holds a page's whole name, and a tag also links to the page of that name.
    Logseq,
}

impl Dialect {
    /// Returns the destination of `[[written]]` without its label.
    pub(crate) fn wikilink(self, written: &str) -> Option<Destination> {
        match self {
            Self::Common => link_target::wikilink(written),
            Self::Dendron => dendron::destination(written),
            Self::Logseq => link_target::page(written),
        }
    }
}

impl ParseOptions {
    /// Returns the syntax of wikilinks and tags.
    pub(crate) const fn dialect(&self) -> Dialect {
        match (self.dendron, self.logseq) {
            (true, _) => Dialect::Dendron,
            (false, true) => Dialect::Logseq,
            (false, false) => Dialect::Common,
        }
    }
}

/// Runs `read` and returns `None` if a bug in the parser panics, so that it does not end a thread that does other work.
pub(crate) fn catch_parser_panic<T>(read: impl FnOnce() -> T) -> Option<T> {
    // `read` shares nothing that a panic could leave half done.
    catch_unwind(AssertUnwindSafe(read)).ok()
}

/// Returns the byte at which a file's body begins, after its frontmatter. `None` if the file is not UTF-8.
#[must_use]
pub(crate) fn body_start(bytes: &[u8]) -> Option<usize> {
    let text = str::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // The body is the end of the text, byte for byte.
    let (_, body) = frontmatter_and_body(text, &mut Vec::new());
    Some(bytes.len() - body.len())
}

/// Parses one file.
///
/// Deterministic. `O(bytes)`, at any nesting depth and line length.
#[must_use]
pub fn parse(path: &NotePath, bytes: &[u8], options: &ParseOptions) -> (Note, Vec<Diagnostic>) {
    let ParsedFile { note, diagnostics, files: _ } = parse_file(path, bytes, options);
    (note, diagnostics)
}

/// The result of parsing one file.
pub(crate) struct ParsedFile {
    pub(crate) note: Note,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Links of the body to files that are not notes; the index does not keep them.
    pub(crate) files: Vec<Link>,
}

/// Returns the scalar values of a file's frontmatter in text order, with their byte ranges in the file.
pub(crate) fn scalars(text: &str) -> Vec<Scalar> {
    let marked = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((yaml, _)) = text_decoding::split_frontmatter(marked) else { return Vec::new() };
    let opening = marked.find('\n').map_or(0, |end| end + 1);
    let start = text.len() - marked.len() + opening;
    let moved = |bytes: Range<usize>| bytes.start + start..bytes.end + start;
    let scalars = frontmatter::scalars(yaml).into_iter();
    scalars.map(|scalar| Scalar { bytes: moved(scalar.bytes), ..scalar }).collect()
}

/// Parses one file into everything that the writer needs to edit it.
pub(crate) fn parse_file(path: &NotePath, bytes: &[u8], options: &ParseOptions) -> ParsedFile {
    let mut diagnostics = Vec::new();
    let max_bytes = u32::MAX as usize;
    if bytes.len() > max_bytes {
        let message = "The file is longer than 4 GiB; only the first 4 GiB were read. Split it into several notes.";
        diagnostics.push(diagnostic(code::TOO_LONG, message, None));
    }
    let kind = path.kind();
    if kind == NoteKind::Pdf {
        let note = Note::plain(path.clone(), path.bare_name().to_owned(), String::new());
        return ParsedFile { note, diagnostics, files: Vec::new() };
    }
    let text = text_decoding::decode(&bytes[..bytes.len().min(max_bytes)], &mut diagnostics);
    if kind != NoteKind::Markdown {
        let note = if kind == NoteKind::Org {
            org::parse(path, &text, options)
        } else {
            text_note(path, &text, options)
        };
        return ParsedFile { note, diagnostics, files: Vec::new() };
    }
    let (Frontmatter { mut entries, repeated, stray_lines }, body) =
        frontmatter_and_body(&text, &mut diagnostics);
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
        masked = prose_masks::admonitions(&masked).into();
    }
    if options.logseq {
        masked = prose_masks::org_blocks(&masked).into();
    }
    let mut parts = body_parser::read(&masked, dialect);
    if options.pdf_links {
        parts.link_pdf_files();
    }
    if let Some(at) = parts.open_comment {
        let line = front_lines + body[..at].matches('\n').count() + 1;
        let message =
            "This `%%` comment is never closed, so it was read as text; close it with `%%`.";
        diagnostics.push(diagnostic(code::OPEN_COMMENT, message, u32::try_from(line).ok()));
    }
    if body.len() >= LONG_BODY && parts.headings.is_empty() {
        let message = format!(
            "The body has {} MiB and no heading, so a context can show excerpts but no outline; add headings.",
            body.len() >> 20
        );
        diagnostics.push(diagnostic(code::NO_HEADINGS, message, None));
    }
    for key in URI.iter().chain(&["title"]) {
        if matches!(
            frontmatter_properties::value(&entries, key),
            Some(Value::List(_) | Value::Map(_))
        ) {
            let message =
                format!("`{key}` is a list or map and was ignored; set it to a single value.");
            diagnostics.push(diagnostic(code::NO_SCALAR, message, None));
        }
    }

    for key in date::PROPERTIES {
        if let Some(written) = frontmatter_properties::unreadable_date(&entries, key) {
            let message = format!(
                "`{key}: {written}` is not a date, so it does not date the note; write `2024-03-10` or `2024-03-10 10:00`."
            );
            diagnostics.push(diagnostic(code::UNREADABLE_DATE, message, None));
        }
    }

    let mut links =
        frontmatter_properties::links(&entries, dialect, options.pdf_links, &mut diagnostics);
    // Do not count a link twice that is already a property of the page.
    let typed = links.iter().map(|link| link.target.clone()).collect::<HashSet<_>>();
    let in_page_lines = body[page_lines].chars().count();
    parts.links.retain(|link| {
        let below = link.span.is_none_or(|span| span.start as usize >= in_page_lines);
        below || !typed.contains(&link.target)
    });
    if options.logseq {
        // Links among the aliases are names of this page.
        links.retain(|link| !is_one_of(&link.kind, frontmatter_properties::ALIASES));
    }
    links.extend(parts.links);

    let written_title = frontmatter_properties::scalar(&entries, &["title"])
        .map(|title| body_parser::one_line(&title));
    let aliases = aliases(path, &entries, written_title.as_deref(), options);
    let mut tags = frontmatter_properties::tags(&entries, TAGS, dialect);
    tags.extend(parts.tags);
    if options.logseq {
        let tag = |tag: &String| frontmatter_properties::tag(tag, dialect).to_owned();
        tags.extend(logseq::block_tags(&masked).iter().map(tag));
        let offsets = CharOffsets::new(body);
        let blocks = logseq::blocks(&masked).into_iter();
        parts.blocks.extend(
            blocks.map(|(id, bytes)| Block { id: id.to_owned(), span: offsets.span(bytes) }),
        );
        parts.blocks.sort_by_key(|block| block.span.start);
    }
    let is_program_note =
        PROGRAM_MARKS.iter().any(|mark| frontmatter_properties::value(&entries, mark).is_some());
    let heading = || opening_heading(&parts.headings, body).filter(|_| !is_program_note);
    let note_type = frontmatter_properties::names(&entries, &["type"], dialect).into_iter().next();
    let predicate = || {
        let (wanted, relation) = RELATIONSHIP;
        let states = note_type.as_ref().is_some_and(|kind| kind.eq_ignore_ascii_case(wanted));
        frontmatter_properties::scalar(&entries, &[relation]).filter(|_| states)
    };
    let title = written_title
        .or_else(predicate)
        .or_else(|| heading().filter(|_| !options.logseq).map(|heading| heading.text.clone()))
        .unwrap_or_else(|| name_of(path, options));

    let mut searched_texts = frontmatter_properties::texts(&entries, |key| {
        let unsearched = options.unsearched_properties.iter().map(String::as_str);
        NAMED.iter().copied().chain(unsearched).all(|other| !key.eq_ignore_ascii_case(other))
    });
    searched_texts.extend(frontmatter_properties::texts(&repeated, |_| true));
    searched_texts.extend(stray_lines);

    let note = Note {
        path: path.clone(),
        claimed_uri: frontmatter_properties::scalar(&entries, URI).map(|uri| nfc(&uri)),
        title,
        aliases,
        tags: without_repeats(tags.iter().map(|tag| nfc(tag)).collect()),
        note_type,
        order: frontmatter_properties::order(&entries),
        properties: entries
            .into_iter()
            .map(|entry| (entry.key, entry.value))
            .collect::<BTreeMap<_, _>>(),
        searched_texts,
        headings: parts.headings,
        blocks: parts.blocks,
        dendron: options.dendron,
        links,
        body: body.to_owned(),
    };
    ParsedFile { note, diagnostics, files: parts.files }
}

/// Returns the note of a plain text file: its whole text, in which nothing is a link, a tag or a heading.
fn text_note(path: &NotePath, text: &str, options: &ParseOptions) -> Note {
    let id = zettel_id(path.file_name()).filter(|_| options.zettel_ids);
    Note {
        aliases: id.map(str::to_owned).into_iter().collect(),
        ..Note::plain(path.clone(), path.bare_name().to_owned(), text.to_owned())
    }
}

/// Returns the line of an Org file, from 1, that character `offset` of its note's body comes from.
pub(crate) fn org_line(text: &str, offset: u32) -> u32 {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    u32::try_from(org::source_line(text, offset) + 1).unwrap_or(u32::MAX)
}

/// Returns true if the note opts out of the index with `indexed: false`.
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
) -> (Frontmatter, &'t str) {
    if let Some((yaml, body)) = text_decoding::split_frontmatter(text) {
        return frontmatter::read(yaml, diagnostics)
            .map_or((Frontmatter::default(), text), |frontmatter| (frontmatter, body));
    }
    let mut lines = text.lines().map(str::trim_end);
    if lines.next() == Some("+++") && lines.any(|line| line == "+++") {
        let message = "TOML frontmatter (`+++`) is not supported and was read as body text; use YAML between `---` lines.";
        diagnostics.push(diagnostic(code::TOML_FRONTMATTER, message, Some(1)));
    }
    let mut lines = text.lines();
    if lines.next().is_some_and(|line| line.trim_end() == "---")
        && lines.next().is_some_and(|line| line.contains(": ") || line.ends_with(':'))
    {
        let message = "The frontmatter has no closing `---` line, so the whole file was read as body; add the line.";
        diagnostics.push(diagnostic(code::UNCLOSED_FRONTMATTER, message, Some(1)));
    }
    (Frontmatter::default(), text)
}

/// Returns true if `key` is one of `keys`, ignoring case.
fn is_one_of(key: &str, keys: &[&str]) -> bool {
    keys.iter().any(|name| key.eq_ignore_ascii_case(name))
}

/// Returns the H1 that opens the body: only comments, HTML tags and signs precede it.
fn opening_heading<'h>(headings: &'h [Heading], body: &str) -> Option<&'h Heading> {
    let heading = headings.iter().find(|heading| heading.level == 1 && !heading.text.is_empty())?;
    let mut before = &body[..byte_of_char(body, heading.span.start as usize)];
    while let Some(at) = before.find(|c: char| c.is_alphanumeric() || matches!(c, '<' | '%')) {
        let rest = &before[at..];
        let (opening, closing) = [("<!--", "-->"), ("%%", "%%"), ("<", ">"), ("%", "")]
            .into_iter()
            .find(|(opening, _)| rest.starts_with(opening))?;
        let inner = &rest[opening.len()..];
        before = &inner[inner.find(closing)? + closing.len()..];
    }
    Some(heading)
}

/// Returns the name that the file gives its note: the folder's name for a folder note, the last segment of a dotted Dendron name, or the stem.
fn name_of(path: &NotePath, options: &ParseOptions) -> String {
    let stem = path.stem();
    match folder_name(path) {
        Some(folder) if is_folder_note(stem) => folder.to_owned(),
        Some(_) | None if options.logseq => logseq::names(path).swap_remove(0),
        Some(_) | None if options.dendron => dendron::last_name(stem).to_owned(),
        Some(_) | None => stem.to_owned(),
    }
}

/// Returns the name of the folder that holds the file; `None` at the root.
fn folder_name(path: &NotePath) -> Option<&str> {
    path.folder().rsplit('/').next().filter(|folder| !folder.is_empty())
}

fn aliases(
    path: &NotePath,
    entries: &[PropertyEntry],
    title: Option<&str>,
    options: &ParseOptions,
) -> Vec<String> {
    let mut aliases = frontmatter_properties::split_names(
        entries,
        frontmatter_properties::ALIASES,
        options.dialect(),
    );
    if path.stem() == NOTEBOOK_NOTE {
        aliases.extend(folder_name(path).map(str::to_owned));
    }
    if options.logseq {
        // Pages link to a page by its title as well as by its file name.
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

/// Returns the leading number of a file name if it has at least eight digits, with the time that Denote appends (`20240101T120000`), and no letter or digit follows.
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

pub(crate) fn diagnostic(
    code: DiagnosticCode,
    message: impl Into<String>,
    line: Option<u32>,
) -> Diagnostic {
    let DiagnosticCode { name, severity } = code;
    Diagnostic { severity, code: name.to_owned(), message: message.into(), line }
}
