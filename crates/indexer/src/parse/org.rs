//! Parses Org files: headings, links, tags and file keywords.
//!
//! The body of the note is the text in Markdown, so that it is cut, searched and shown like any other: headings have `#`, links their Markdown form, blocks of code their fences.
//! Comments, file keywords, and the drawers `PROPERTIES` and `LOGBOOK` are left out.
//! Each line of the body comes from one line of the file, and the order is kept.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use weft_model::link::INLINE_TYPE;
use weft_model::text::{byte_of_char, nfc, org_block_edge};
use weft_model::{
    Block, Heading, Link, LinkSource, Note, NoteKind, NotePath, Span, Target, TargetSyntax, Value,
};

use super::body_parser::one_line;
use super::{ParseOptions, link_target, without_repeats, zettel_id};

/// File keywords that become properties of the note, with the name of the property.
const PROPERTIES: &[(&str, &str)] = &[
    ("author", "author"),
    ("category", "category"),
    ("date", "date"),
    ("description", "description"),
    ("keywords", "keywords"),
    ("subtitle", "subtitle"),
];

/// Words before a heading that state its progress, unless the file defines others.
const TODO_WORDS: &[&str] = &["TODO", "DONE"];

/// Drawers whose content configures programs, or logs what they did.
const SKIPPED_DRAWERS: &[&str] = &["properties", "logbook"];

/// Deepest level of a heading; Org has no limit, Markdown does.
const MAX_LEVEL: u8 = 6;

/// Maximum length of a link's target, and of its description, in bytes; it bounds the search for the end of a link.
const MAX_LINK_BYTES: usize = 4096;

/// Link types that name a file.
const FILE_TYPES: &[&str] = &["file", "docview", "pdf", "pdfview"];

/// Parses the text of an Org file.
pub(super) fn parse(path: &NotePath, text: &str, options: &ParseOptions) -> Note {
    OrgParser::read(text).finish(path, options)
}

/// Returns the line of the file, from 0, that character `offset` of the body comes from.
pub(super) fn source_line(text: &str, offset: u32) -> usize {
    let OrgParser { body, sources, .. } = OrgParser::read(text);
    let before = &body[..byte_of_char(&body, offset as usize)];
    let line = before.matches('\n').count().min(sources.len().saturating_sub(1));
    sources.get(line).copied().unwrap_or_default()
}

/// The lines of a file.
struct OrgLines<'t> {
    lines: Vec<&'t str>,
    /// For each line, the first line from there on that is a heading or ends a drawer.
    stops: Vec<usize>,
    /// Names of blocks in lower case, with the last line that ends one.
    block_ends: HashMap<String, usize>,
}

impl<'t> OrgLines<'t> {
    fn new(text: &'t str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let mut stops = vec![lines.len(); lines.len() + 1];
        let mut block_ends = HashMap::new();
        for (at, line) in lines.iter().enumerate().rev() {
            let is_stop = heading(line).is_some() || is_drawer_end(line);
            stops[at] = if is_stop { at } else { stops[at + 1] };
            if let Some(name) = org_block_edge(line.trim(), "end") {
                block_ends.entry(name.to_ascii_lowercase()).or_insert(at);
            }
        }
        Self { lines, stops, block_ends }
    }

    /// Returns the lines of the drawer that opens at `at`; `None` if it is never closed.
    fn drawer(&self, at: usize) -> Option<Range<usize>> {
        let end = self.stops[at + 1];
        self.lines.get(end).is_some_and(|line| is_drawer_end(line)).then_some(at + 1..end)
    }

    /// Returns true if a block of this name ends after the line `at`.
    fn has_end(&self, at: usize, name: &str) -> bool {
        self.block_ends.get(&name.to_ascii_lowercase()).is_some_and(|end| *end > at)
    }
}

/// A line of the body that is being written.
#[derive(Default)]
struct OrgLine {
    text: String,
    n_chars: u32,
}

impl OrgLine {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.n_chars = self.n_chars.saturating_add(n_chars(text));
    }
}

/// The open block of `#+begin_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OrgBlock {
    /// Code or an example: text without links.
    Code,
    /// A comment, or a block for another program: not part of the note.
    Hidden,
}

/// An id of a heading or of the file, and whether it was written before the first heading.
struct OrgId {
    id: String,
    /// Position among the headings; `None` for the file.
    heading: Option<usize>,
}

struct OrgParser {
    body: String,
    /// Number of characters of `body`.
    n_chars: u32,
    /// The line of the file that each line of the body comes from.
    sources: Vec<usize>,
    todo_words: Vec<String>,
    title: Vec<String>,
    aliases: Vec<String>,
    tags: Vec<String>,
    properties: BTreeMap<String, Value>,
    headings: Vec<Heading>,
    ids: Vec<OrgId>,
    links: Vec<Link>,
    open_block: Option<(OrgBlock, String)>,
    /// True if the last line with text belongs to a list.
    in_list: bool,
}

impl OrgParser {
    fn read(text: &str) -> Self {
        let lines = OrgLines::new(text);
        let mut parser = Self::new(text);
        let mut at = 0;
        while let Some(line) = lines.lines.get(at) {
            at = parser.line(at, line, &lines);
        }
        parser
    }

    fn new(text: &str) -> Self {
        Self {
            body: String::with_capacity(text.len()),
            n_chars: 0,
            sources: Vec::new(),
            todo_words: TODO_WORDS.iter().map(ToString::to_string).collect(),
            title: Vec::new(),
            aliases: Vec::new(),
            tags: Vec::new(),
            properties: BTreeMap::new(),
            headings: Vec::new(),
            ids: Vec::new(),
            links: Vec::new(),
            open_block: None,
            in_list: false,
        }
    }

    /// Reads the line at `at` and returns the position of the next line to read.
    fn line(&mut self, at: usize, line: &str, source: &OrgLines<'_>) -> usize {
        let trimmed = line.trim();
        let next = at + 1;
        if let Some((kind, name)) = self.open_block.take() {
            if org_block_edge(trimmed, "end").is_some_and(|end| end.eq_ignore_ascii_case(&name)) {
                if kind == OrgBlock::Code {
                    self.push(at, "```");
                }
            } else {
                if kind == OrgBlock::Code {
                    self.push(at, unescaped(line));
                }
                self.open_block = Some((kind, name));
            }
            return next;
        }
        if let Some((level, text)) = heading(line) {
            self.in_list = false;
            self.heading(at, level, text);
            return next;
        }
        if let Some(name) = org_block_edge(trimmed, "begin") {
            if source.has_end(at, name) {
                self.open_block(at, trimmed, name);
            } else {
                self.text(at, line);
            }
            return next;
        }
        if let Some((key, value)) = keyword(trimmed) {
            self.keyword(at, key, value);
            return next;
        }
        if trimmed == "#" || trimmed.starts_with("# ") || trimmed.starts_with("#+") {
            return next;
        }
        let name = drawer(trimmed).filter(|_| !is_drawer_end(trimmed));
        if let Some((name, inner)) = name.zip(source.drawer(at)) {
            let end = inner.end;
            let is_skipped = SKIPPED_DRAWERS.iter().any(|it| name.eq_ignore_ascii_case(it));
            for at in inner {
                let line = source.lines[at];
                if name.eq_ignore_ascii_case("properties") {
                    self.node_property(line.trim());
                } else if !is_skipped {
                    self.text(at, line);
                }
            }
            return end + 1;
        }
        self.text(at, line);
        next
    }

    /// Appends a line to the body.
    fn push(&mut self, source: usize, line: &str) {
        self.body.push_str(line);
        self.body.push('\n');
        self.n_chars = self.n_chars.saturating_add(n_chars(line)).saturating_add(1);
        self.sources.push(source);
    }

    fn heading(&mut self, at: usize, level: usize, text: &str) {
        let (text, tags) = split_tags(text.trim());
        self.tags.extend(tags.map(str::to_owned));
        let word = text.split_whitespace().next().unwrap_or_default();
        let is_todo = self.todo_words.iter().any(|todo| todo == word);
        let (state, text) = text.split_at(if is_todo { word.len() } else { 0 });
        let text = text.trim_start();
        let text = match text.strip_prefix("[#").and_then(|rest| rest.split_once(']')) {
            Some((priority, rest)) if priority.len() <= 2 => rest.trim_start(),
            Some(_) | None => text,
        };
        let level = level.min(usize::from(MAX_LEVEL));
        let mut line = OrgLine::default();
        line.push(&"#".repeat(level));
        for part in [" ", state].into_iter().filter(|_| !state.is_empty()) {
            line.push(part);
        }
        line.push(" ");
        let shown = self.inline(&mut line, text);
        let line = line.text.trim_end();
        let start = self.n_chars;
        let span = Span::new(start, start.saturating_add(n_chars(line)));
        let level = u8::try_from(level).unwrap_or(MAX_LEVEL);
        self.headings.push(Heading { level, text: shown.trim().to_owned(), span });
        self.push(at, line);
    }

    /// Reads the line that opens a block.
    fn open_block(&mut self, at: usize, line: &str, name: &str) {
        let kind = match name.to_ascii_lowercase().as_str() {
            "src" | "example" | "verbatim" => OrgBlock::Code,
            "comment" | "export" => OrgBlock::Hidden,
            // Quotations and other blocks with text: only the lines that delimit them are left out.
            _ => return,
        };
        if kind == OrgBlock::Code {
            let language = line.split_whitespace().nth(1).unwrap_or_default();
            let is_name = language.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '+'));
            let language = if is_name && name.eq_ignore_ascii_case("src") { language } else { "" };
            self.push(at, &format!("```{language}"));
        }
        self.open_block = Some((kind, name.to_owned()));
    }

    fn keyword(&mut self, at: usize, key: &str, value: &str) {
        let key = key.to_ascii_lowercase();
        match key.as_str() {
            "title" if !value.is_empty() => self.title.push(value.to_owned()),
            "filetags" => {
                let tags = value.split([':', ' ', '\t']).filter(|tag| !tag.is_empty());
                self.tags.extend(tags.map(str::to_owned));
            }
            "todo" | "seq_todo" | "typ_todo" => {
                let words = value.split_whitespace().filter(|word| *word != "|");
                // `WAIT(w@/!)` has a key and rules for logging.
                let words = words.map(|word| word.split('(').next().unwrap_or(word).to_owned());
                self.todo_words.extend(words);
            }
            "caption" => self.text(at, value),
            "id" => self.node_property(&format!(":ID: {value}")),
            _ => {
                let name = PROPERTIES.iter().find(|(known, _)| *known == key);
                if let Some((_, name)) = name.filter(|_| !value.is_empty()) {
                    let value = if *name == "date" { without_brackets(value) } else { value };
                    let value = Value::Text(value.to_owned());
                    self.properties.entry((*name).to_owned()).or_insert(value);
                }
            }
        }
    }

    /// Reads a line of a drawer `PROPERTIES`.
    fn node_property(&mut self, line: &str) {
        let Some((key, value)) = line.strip_prefix(':').and_then(|rest| rest.split_once(':'))
        else {
            return;
        };
        let value = value.trim();
        let heading = self.headings.len().checked_sub(1);
        if ["id", "custom_id"].iter().any(|known| key.eq_ignore_ascii_case(known)) {
            if !value.is_empty() && !value.contains(char::is_whitespace) {
                self.ids.push(OrgId { id: nfc(value), heading });
            }
        } else if key.eq_ignore_ascii_case("roam_aliases") && heading.is_none() {
            self.aliases.extend(quoted_words(value));
        }
    }

    /// Appends a line of text, with its links.
    fn text(&mut self, at: usize, line: &str) {
        let trimmed = line.trim_start();
        let is_item = is_list_item(trimmed);
        let is_indented = trimmed.len() < line.len();
        if !trimmed.is_empty() {
            self.in_list = is_item || (self.in_list && is_indented);
        }
        // Markdown takes text that is indented by four spaces for code; Org indents it below its heading.
        let mut text = OrgLine::default();
        if self.in_list {
            text.push(&line[..line.len() - trimmed.len()]);
        }
        if trimmed.starts_with("|-") {
            text.push(&trimmed.replace('+', "|"));
        } else {
            self.inline(&mut text, trimmed);
        }
        self.push(at, text.text.trim_end());
    }

    /// Appends `text` to `line`, which will be the next line of the body, with links and code in their Markdown form; returns the text as a reader sees it.
    fn inline(&mut self, line: &mut OrgLine, text: &str) -> String {
        let mut shown = String::new();
        let mut rest = text;
        let mut before = None;
        while let Some(c) = rest.chars().next() {
            if let Some((target, description, length)) = bracket_link(rest) {
                shown.push_str(self.link(line, target, description));
                rest = &rest[length..];
                before = Some(']');
                continue;
            }
            if let Some(inner) = verbatim(rest, before) {
                line.push(&format!("`{inner}`"));
                shown.push_str(inner);
                rest = &rest[inner.len() + 2..];
                before = Some(c);
                continue;
            }
            // All text up to the next character that may begin a link or a verbatim text.
            let end = rest[c.len_utf8()..].find(['[', '=', '~']);
            let (plain, after) = rest.split_at(end.map_or(rest.len(), |end| end + c.len_utf8()));
            line.push(plain);
            shown.push_str(plain);
            rest = after;
            before = plain.chars().next_back();
        }
        shown
    }

    /// Appends a link; returns its text as a reader sees it.
    fn link<'t>(
        &mut self,
        line: &mut OrgLine,
        target: &'t str,
        description: Option<&'t str>,
    ) -> &'t str {
        let start = self.n_chars.saturating_add(line.n_chars);
        let label = description.unwrap_or_else(|| bare_target(target));
        if let Some(address) = address_of(target) {
            let address = address.replace(' ', "%20").replace('(', "%28").replace(')', "%29");
            line.push(&format!("[{}]({address})", label.replace(['[', ']'], "")));
        } else {
            line.push(label);
        }
        if let Some((target, fragment)) = note_target(target) {
            self.links.push(Link {
                kind: INLINE_TYPE.to_owned(),
                source: LinkSource::Inline,
                target,
                fragment,
                display: description.map(one_line),
                span: Some(Span::new(start, self.n_chars.saturating_add(line.n_chars))),
            });
        }
        label
    }

    fn finish(mut self, path: &NotePath, options: &ParseOptions) -> Note {
        let title = one_line(&self.title.join(" "));
        let title = if title.is_empty() { path.bare_name().to_owned() } else { title };
        let n_chars = self.n_chars;
        let span = |heading: Option<usize>| {
            let Some(at) = heading else { return Span::new(0, n_chars) };
            let Heading { level, span, .. } = &self.headings[at];
            let next = self.headings[at + 1..].iter().find(|other| other.level <= *level);
            Span::new(span.start, next.map_or(n_chars, |next| next.span.start))
        };
        let block = |OrgId { id, heading }: &OrgId| Block { id: id.clone(), span: span(*heading) };
        let blocks = self.ids.iter().map(block).collect();
        // Links by an id of the whole file find it also if the id is not a UUID.
        let file_ids = self.ids.iter().filter(|it| it.heading.is_none());
        self.aliases.extend(file_ids.map(|it| it.id.clone()));
        if options.zettel_ids {
            self.aliases.extend(zettel_id(path.file_name()).map(str::to_owned));
        }
        let searched_texts = self.properties.iter().filter(|(key, _)| *key != "date");
        let searched_texts =
            searched_texts.filter_map(|(_, value)| Some(value.as_written()?.to_owned())).collect();
        Note {
            aliases: without_repeats(self.aliases.iter().map(|alias| nfc(alias)).collect()),
            tags: without_repeats(self.tags.iter().map(|tag| nfc(tag)).collect()),
            searched_texts,
            properties: self.properties,
            headings: self.headings,
            blocks,
            links: self.links,
            ..Note::plain(path.clone(), title, self.body)
        }
    }
}

fn n_chars(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

/// Returns the level and the text of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('*');
    let level = line.len() - rest.len();
    (level > 0 && (rest.is_empty() || rest.starts_with([' ', '\t']))).then_some((level, rest))
}

/// Splits a heading before its tags, such as `:home:garden:`.
fn split_tags(text: &str) -> (&str, impl Iterator<Item = &str>) {
    let is_tag = |tag: &str| {
        !tag.is_empty()
            && tag.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '@' | '#' | '%'))
    };
    let (before, last) = text.rsplit_once([' ', '\t']).unwrap_or(("", text));
    let inner = last.strip_prefix(':').and_then(|rest| rest.strip_suffix(':'));
    let inner = inner.filter(|inner| inner.split(':').all(is_tag));
    let text = if inner.is_some() { before.trim_end() } else { text };
    (text, inner.into_iter().flat_map(|inner| inner.split(':')))
}

/// Returns key and value of `#+key: value`.
fn keyword(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.strip_prefix("#+")?.split_once(':')?;
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (!key.is_empty() && key.chars().all(is_key)).then(|| (key, value.trim()))
}

/// Returns the name of a drawer, or `end`.
fn drawer(line: &str) -> Option<&str> {
    let name = line.strip_prefix(':')?.strip_suffix(':')?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

fn is_drawer_end(line: &str) -> bool {
    line.trim().eq_ignore_ascii_case(":end:")
}

/// Returns a line of a block of code without the comma that keeps Org from reading it as a heading or keyword.
fn unescaped(line: &str) -> &str {
    let rest = line.strip_prefix(',');
    rest.filter(|rest| rest.starts_with(['*', ',']) || rest.starts_with("#+")).unwrap_or(line)
}

fn is_list_item(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let after = if number.len() < line.len() {
        number.strip_prefix(['.', ')'])
    } else {
        line.strip_prefix(['-', '+'])
    };
    after.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// Returns the text of `<2024-03-10 Sun>` and `[2024-03-10 Sun]`, without the day of the week.
fn without_brackets(value: &str) -> &str {
    let inner = value.trim().trim_start_matches(['<', '[']);
    let is_stamp = inner.len() < value.trim().len();
    let end = inner.find([' ', '>', ']']).filter(|_| is_stamp);
    end.map_or(inner, |end| &inner[..end])
}

/// Splits words at spaces; a word in double quotes may contain them.
fn quoted_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in text.split('"').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words.retain(|word| !word.trim().is_empty());
    words
}

/// Returns the target, the description and the length of a link `[[target][description]]` at the start of `text`.
fn bracket_link(text: &str) -> Option<(&str, Option<&str>, usize)> {
    let bounded = |text: &str| text.floor_char_boundary(MAX_LINK_BYTES);
    let inner = text.strip_prefix("[[")?;
    let (target, rest) = inner.split_at(inner[..bounded(inner)].find(']')?);
    let rest = &rest[1..];
    if target.trim().is_empty() || target.contains('[') {
        return None;
    }
    let done = |rest: &str| text.len() - rest.len();
    if let Some(rest) = rest.strip_prefix(']') {
        return Some((target.trim(), None, done(rest)));
    }
    let rest = rest.strip_prefix('[')?;
    let (description, rest) = rest.split_at(rest[..bounded(rest)].find("]]")?);
    let (description, rest) = (description.trim(), &rest["]]".len()..]);
    Some((target.trim(), Some(description).filter(|it| !it.is_empty()), done(rest)))
}

/// Returns the text between `=` or `~` at the start of `text`, which follows the character `before`.
fn verbatim(text: &str, before: Option<char>) -> Option<&str> {
    let mark = text.chars().next().filter(|c| matches!(c, '=' | '~'))?;
    let opens = |c: char| c.is_whitespace() || matches!(c, '-' | '(' | '{' | '\'' | '"' | '[');
    let closes = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '-' | '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '"' | ')' | '}' | ']' | '['
            )
    };
    if !before.is_none_or(opens) || text[1..].starts_with(char::is_whitespace) {
        return None;
    }
    let ends = text[1..].match_indices(mark).map(|(at, _)| at + 1);
    let is_end = |at: &usize| {
        *at > 1
            && !text[..*at].ends_with(char::is_whitespace)
            && text[at + 1..].chars().next().is_none_or(closes)
    };
    // The search is bounded, so that a line of many marks is read in linear time.
    let end = ends.take(MAX_MARKS).find(is_end)?;
    Some(&text[1..end]).filter(|inner| !inner.contains('`'))
}

/// Maximum number of marks that are examined as the end of a verbatim text.
const MAX_MARKS: usize = 8;

/// Splits the link type from a target: `id:x`, `file:x.org`.
fn typed(target: &str) -> (Option<&str>, &str) {
    match target.split_once(':') {
        Some((kind, rest))
            if kind.len() > 1 && kind.bytes().all(|byte| byte.is_ascii_alphabetic()) =>
        {
            (Some(kind), rest)
        }
        Some(_) | None => (None, target),
    }
}

/// Returns the path of a link to a file and its search option; `None` for another link.
fn file_path(target: &str) -> Option<(&str, Option<&str>)> {
    let (kind, rest) = typed(target);
    let is_path = |path: &str| path.starts_with("./") || path.starts_with("../");
    let path = match kind {
        Some(kind) if FILE_TYPES.iter().any(|known| kind.eq_ignore_ascii_case(known)) => rest,
        None if is_path(target) => target,
        Some(_) | None => return None,
    };
    let (path, search) = path.split_once("::").map_or((path, None), |(path, it)| (path, Some(it)));
    // Paths that begin at the root of the file system or the home folder lead out of the vault.
    let inside = !path.trim().is_empty() && !path.starts_with(['/', '~']);
    inside.then_some((path.trim(), search))
}

/// Returns the target of a link as the text of a link without description.
fn bare_target(target: &str) -> &str {
    let (kind, rest) = typed(target);
    match kind {
        Some(kind) if FILE_TYPES.iter().any(|known| kind.eq_ignore_ascii_case(known)) => rest,
        Some(_) | None => target.trim_start_matches(['*', '#']),
    }
}

/// Returns the address of a link in Markdown; `None` if it can only be shown as text.
fn address_of(target: &str) -> Option<String> {
    if let Some((path, search)) = file_path(target) {
        let fragment = search.and_then(|search| fragment_of(path, search));
        return Some(match fragment {
            Some(fragment) => format!("{path}#{fragment}"),
            None => path.to_owned(),
        });
    }
    let is_web = link_target::is_address(target) && typed(target).0.is_some_and(|it| it != "id");
    is_web.then(|| target.to_owned())
}

/// Returns the fragment that a search option of a link names: a heading, a custom id, or a page.
fn fragment_of(path: &str, search: &str) -> Option<String> {
    let search = search.trim();
    if let Some(heading) = search.strip_prefix('*') {
        return Some(heading.trim().to_owned());
    }
    if let Some(id) = search.strip_prefix('#') {
        return Some(format!("^{id}"));
    }
    let page = search.trim_end_matches("++0.00");
    let is_page = NoteKind::of(path) == Some(NoteKind::Pdf)
        && !page.is_empty()
        && page.bytes().all(|byte| byte.is_ascii_digit());
    is_page.then(|| format!("page={page}"))
}

/// Returns the note that a link names, and the part of it.
fn note_target(target: &str) -> Option<(Target, Option<String>)> {
    let named = |name: &str, syntax| Target { name: name.to_owned(), syntax };
    if let Some((path, search)) = file_path(target) {
        let path = nfc(path).replace('\\', "/");
        let syntax = match NoteKind::of(&path) {
            Some(NoteKind::Markdown | NoteKind::Org) => TargetSyntax::Markdown,
            Some(NoteKind::Text | NoteKind::Pdf) | None => TargetSyntax::MarkdownToFile,
        };
        let fragment = search.and_then(|search| fragment_of(&path, search)).map(|it| nfc(&it));
        let name = weft_model::id::without_markdown_extension(&path).trim_end_matches('/');
        return (!name.is_empty()).then(|| (named(name, syntax), fragment));
    }
    let (kind, rest) = typed(target);
    let id = nfc(rest.split("::").next().unwrap_or(rest).trim());
    match kind.map(str::to_ascii_lowercase).as_deref() {
        Some("id") if weft_model::id::is_uuid(&id) => {
            Some((named(&id, TargetSyntax::Wikilink), Some(format!("^{id}"))))
        }
        // An id that no note has may be that of a heading, which only a UUID finds.
        Some("id") if !id.is_empty() => Some((named(&id, TargetSyntax::Tentative), None)),
        Some("denote") if !id.is_empty() => Some((named(&id, TargetSyntax::Wikilink), None)),
        Some(_) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn org(text: &str) -> Note {
        parse(&NotePath::new("a/file.org"), text, &ParseOptions::default())
    }

    #[test]
    fn lines_become_markdown() {
        for (name, text, expected) in [
            ("heading", "* One\n** Two\ntext\n", "# One\n## Two\ntext\n"),
            ("bold text is no heading", "*bold* and\n*\n", "*bold* and\n#\n"),
            ("seven levels", "******* Deep\n", "###### Deep\n"),
            ("state, priority and tags", "* TODO [#A] Buy moss :home:\n", "# TODO Buy moss\n"),
            ("own states", "#+TODO: WAIT(w) | OVER\n* OVER it\n", "# OVER it\n"),
            ("keywords and comments", "#+title: T\n# c\n#+startup: x\na #+b\n", "a #+b\n"),
            ("properties", "* A\n:PROPERTIES:\n:ID: x\n:END:\ntext\n", "# A\ntext\n"),
            ("log", "* A\n:LOGBOOK:\nCLOCK: 1\n:END:\ntext\n", "# A\ntext\n"),
            ("other drawer", ":HINT:\ntext\n:END:\nrest\n", "text\nrest\n"),
            ("drawer without end", ":PROPERTIES:\n:A: b\n* C\n", ":PROPERTIES:\n:A: b\n# C\n"),
            ("code", "#+begin_src rust\n,* [[a]]\n#+END_SRC\n", "```rust\n* [[a]]\n```\n"),
            ("comment block", "#+begin_comment\nno\n#+end_comment\nyes\n", "yes\n"),
            ("quotation", "#+begin_quote\nsaid\n#+end_quote\n", "said\n"),
            ("block without end", "#+begin_src c\ntext\n", "#+begin_src c\ntext\n"),
            ("file link", "see [[file:b c.org::*Top][the b]]\n", "see [the b](b%20c.org#Top)\n"),
            ("web link", "[[https://a.org/x][x]]\n", "[x](https://a.org/x)\n"),
            ("id link", "[[id:0b4ea0a2-9b1c-4f2c-8a4e-1f2f3a4b5c6d][B]]\n", "B\n"),
            ("link to a heading here", "[[*Top]]\n", "Top\n"),
            ("verbatim", "use ~[[a]]~ and =x=.\n", "use `[[a]]` and `x`.\n"),
            ("equation", "a = b = c\n", "a = b = c\n"),
            ("indented text", "* A\n      deep\n", "# A\ndeep\n"),
            ("indented list", "  - a\n    b\n\n    c\nd\n", "  - a\n    b\n\n    c\nd\n"),
            ("table", "| a | b |\n|---+---|\n", "| a | b |\n|---|---|\n"),
            ("caption", "#+caption: A fern\n", "A fern\n"),
        ] {
            assert_eq!(org(text).body, expected, "{name}");
        }
    }

    #[test]
    fn links_name_notes() {
        let uuid = "0b4ea0a2-9b1c-4f2c-8a4e-1f2f3a4b5c6d";
        let by_id = format!("[[id:{uuid}][B]]");
        let heading = Some(format!("^{uuid}"));
        type Expected<'t> = Option<(&'t str, TargetSyntax, Option<&'t str>)>;
        let cases: &[(&str, Expected<'_>)] = &[
            ("[[file:b.org]]", Some(("b.org", TargetSyntax::Markdown, None))),
            ("[[./c/b.md][B]]", Some(("./c/b", TargetSyntax::Markdown, None))),
            (
                "[[file:b.org::*A heading]]",
                Some(("b.org", TargetSyntax::Markdown, Some("A heading"))),
            ),
            ("[[file:b.org::#cid]]", Some(("b.org", TargetSyntax::Markdown, Some("^cid")))),
            ("[[file:b.org::12]]", Some(("b.org", TargetSyntax::Markdown, None))),
            ("[[file:p.pdf]]", Some(("p.pdf", TargetSyntax::MarkdownToFile, None))),
            ("[[docview:p.pdf::3]]", Some(("p.pdf", TargetSyntax::MarkdownToFile, Some("page=3")))),
            (&by_id, Some((uuid, TargetSyntax::Wikilink, heading.as_deref()))),
            ("[[id:note-1]]", Some(("note-1", TargetSyntax::Tentative, None))),
            ("[[denote:20240101T120000]]", Some(("20240101T120000", TargetSyntax::Wikilink, None))),
            ("[[file:/etc/passwd]]", None),
            ("[[file:~/b.org]]", None),
            ("[[https://a.org/b.org]]", None),
            ("[[mailto:a@b.org]]", None),
            ("[[*Heading]]", None),
            ("[[]]", None),
            ("=[[file:b.org]]=", None),
            ("#+begin_src\n[[file:b.org]]\n#+end_src", None),
            ("# [[file:b.org]]", None),
        ];
        for (text, expected) in cases {
            let links = org(text).links;
            let found = links.first().map(|link| {
                (link.target.name.as_str(), link.target.syntax, link.fragment.as_deref())
            });
            assert_eq!(
                (found, links.len()),
                (*expected, usize::from(expected.is_some())),
                "{text}"
            );
        }
    }

    #[test]
    fn spans_are_those_of_the_body() {
        let note =
            org("#+title: T\n* Über [[file:b.org][das B]] :x:\n  [[file:c.org]] é [[./d.org]]\n");
        let texts: Vec<&str> =
            note.links.iter().filter_map(|link| Some(link.span?.slice(&note.body))).collect();
        assert_eq!(texts, ["[das B](b.org)", "[c.org](c.org)", "[./d.org](./d.org)"]);
        assert_eq!(note.headings[0].span.slice(&note.body), "# Über [das B](b.org)");
        assert_eq!(note.headings[0].text, "Über das B");
        assert_eq!(note.links[0].display.as_deref(), Some("das B"));
    }

    #[test]
    fn keywords_and_drawers_describe_the_note() {
        let note = org(
            ":PROPERTIES:\n:ID: 20240101T1\n:ROAM_ALIASES: \"The fern\" F\n:END:\n#+TITLE: Ferns\n#+title: of Wales\n#+filetags: :plant:green:\n#+date: <2024-03-10 Sun>\n#+author: Ada\n* A :wet:plant:\n:PROPERTIES:\n:CUSTOM_ID: top\n:END:\nx\n** B\n* C\n",
        );
        assert_eq!(note.title, "Ferns of Wales");
        assert_eq!(note.aliases, ["The fern", "F", "20240101T1"]);
        assert_eq!(note.tags, ["plant", "green", "wet"]);
        assert_eq!(note.properties["date"], Value::Text("2024-03-10".into()));
        assert_eq!(note.searched_texts, ["Ada"]);
        assert_eq!(note.claimed_uri, None);
        let blocks: Vec<(&str, &str)> = note
            .blocks
            .iter()
            .map(|block| (block.id.as_str(), block.span.slice(&note.body)))
            .collect();
        assert_eq!(blocks, [("20240101T1", "# A\nx\n## B\n# C\n"), ("top", "# A\nx\n## B\n")]);
        assert_eq!(org("text").title, "file");
    }

    #[test]
    fn each_line_has_its_source() {
        let text = "#+title: T\n* A\n:PROPERTIES:\n:ID: x\n:END:\ntext\n# c\nmore\n";
        let lines = [0, 4, 9, 99].map(|offset| source_line(text, offset));
        assert_eq!(lines, [1, 5, 7, 7]);
    }

    #[test]
    fn any_text_is_read() {
        for text in
            ["", "\u{0}", "[[", "[[a][", "[[[[a]]]]", "#+", ":::", "*", "\r\n* A\r\n", "~~", "= ="]
        {
            let note = org(text);
            assert!(note.body.len() <= text.len() + 2, "{text:?} {:?}", note.body);
        }
        let many = "=".repeat(100_000) + &"~a ".repeat(10_000) + &"[[".repeat(10_000);
        assert_eq!(org(&many).links, []);
    }
}
