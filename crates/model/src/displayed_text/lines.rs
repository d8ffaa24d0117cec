//! Reads the block structure of a body line by line.

use std::ops::Range;

use crate::is_link_definition;

/// The role of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    /// Nothing to display: a blank line, a fence, a rule, a comment, the definition of a link, a property that a program wrote.
    Hidden,
    /// Displayed as written: code or math.
    Code,
    /// A heading.
    Heading,
    /// A row of a table.
    Row,
    /// The first line of a paragraph or list item.
    First,
    /// Another line of the same paragraph.
    Continued,
}

/// A line of a body, in bytes.
#[derive(Debug)]
pub(super) struct SourceLine {
    pub(super) start: usize,
    pub(super) kind: LineKind,
    /// The text after markers of quotes, lists and headings, with the line end.
    pub(super) content: Range<usize>,
    /// The bullet of a list item.
    pub(super) bullet: Option<Range<usize>>,
}

/// A block that contains lines as they are.
#[derive(Clone, Debug)]
enum OpenBlock {
    /// A code block, up to a fence of at least `length` characters `mark`.
    Fence { mark: char, length: usize, is_quoted: bool },
    /// A comment or math up to a byte.
    Until { end: usize, kind: LineKind },
}

/// Delimiters of blocks at the start of a line, and their kind.
const DELIMITERS: [(&str, &str, LineKind); 3] = [
    ("<!--", "-->", LineKind::Hidden),
    ("%%", "%%", LineKind::Hidden),
    ("$$", "$$", LineKind::Code),
];

/// Reads the lines of a body in order. `O(bytes)`.
#[derive(Clone, Debug)]
pub(super) struct LineReader {
    at: usize,
    open: Option<OpenBlock>,
    is_after_blank: bool,
    is_in_paragraph: bool,
    is_in_list: bool,
    is_in_table: bool,
    /// Delimiters that never occur again.
    is_unclosed: [bool; DELIMITERS.len()],
}

impl Default for LineReader {
    fn default() -> Self {
        Self {
            at: 0,
            open: None,
            is_after_blank: true,
            is_in_paragraph: false,
            is_in_list: false,
            is_in_table: false,
            is_unclosed: Default::default(),
        }
    }
}

impl LineReader {
    /// Returns the start of the next line.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    /// Reads the next line; `None` at the end of the body.
    pub(super) fn next(&mut self, body: &str) -> Option<SourceLine> {
        let start = self.at;
        let line = body[start..].split_inclusive('\n').next()?;
        let end = start + line.len();
        self.at = end;
        let prefix = Prefix::of(line);
        let rest = &line[prefix.length..];
        let mut content = start + prefix.length..end;
        if let Some(kind) = self.inside(&mut content, &prefix, rest) {
            (self.is_after_blank, self.is_in_paragraph) = (false, false);
            return Some(SourceLine { start, kind, content, bullet: None });
        }
        let mut line = SourceLine { start, kind: LineKind::Hidden, content, bullet: None };
        if rest.trim().is_empty() {
            (self.is_after_blank, self.is_in_paragraph, self.is_in_table) = (true, false, false);
            return Some(line);
        }
        line.kind = self.outside(body, &prefix, &mut line);
        self.is_in_paragraph = matches!(line.kind, LineKind::First | LineKind::Continued);
        // Blank lines do not end indented code.
        self.is_after_blank &= line.kind == LineKind::Code && self.open.is_none();
        Some(line)
    }

    /// Returns the kind of a line in an open block, or `None` if no block is open.
    fn inside(
        &mut self,
        content: &mut Range<usize>,
        prefix: &Prefix,
        rest: &str,
    ) -> Option<LineKind> {
        match self.open {
            Some(OpenBlock::Fence { is_quoted: true, .. }) if !prefix.is_quoted => {
                self.open = None;
                None
            }
            Some(OpenBlock::Fence { mark, length, .. }) => {
                let after = rest.trim_start_matches(mark);
                let is_end = rest.len() - after.len() >= length && after.trim().is_empty();
                if is_end {
                    self.open = None;
                }
                Some(if is_end { LineKind::Hidden } else { LineKind::Code })
            }
            Some(OpenBlock::Until { end, kind }) => {
                let is_last = end <= content.end;
                if is_last {
                    self.open = None;
                }
                if kind == LineKind::Code || !is_last || end >= content.end {
                    return Some(kind);
                }
                // Text after a comment.
                content.start = end.max(content.start);
                Some(LineKind::First)
            }
            None => None,
        }
    }

    /// Returns the kind of a line outside such blocks, and removes its markers from the content.
    fn outside(&mut self, body: &str, prefix: &Prefix, line: &mut SourceLine) -> LineKind {
        let rest = &body[line.content.clone()];
        let is_code = prefix.columns >= 4 && self.is_after_blank && !self.is_in_list;
        let is_outline = prefix.has_tab && bullet_length(rest).is_some();
        if is_code && !prefix.is_quoted && !is_outline {
            return LineKind::Code;
        }
        if is_rule(rest) {
            self.is_in_table = false;
            return LineKind::Hidden;
        }
        let bullet = bullet_length(rest);
        let is_item = bullet.is_some() || is_numbered(rest);
        if let Some(length) = bullet {
            line.bullet = Some(line.content.start..line.content.start + 1);
            line.content.start += length;
        }
        let rest = &body[line.content.clone()];
        if is_program_property(rest) || is_block_mark(rest) {
            line.bullet = None;
            return LineKind::Hidden;
        }
        if is_item {
            (self.is_in_list, self.is_in_table) = (true, false);
        } else if prefix.columns == 0 && self.is_after_blank {
            self.is_in_list = false;
        }
        if let Some(text) = heading(rest) {
            self.is_in_table = false;
            line.content = line.content.start + text.start..line.content.start + text.end;
            return LineKind::Heading;
        }
        if let Some((mark, length)) = fence(rest) {
            self.is_in_table = false;
            self.open = Some(OpenBlock::Fence { mark, length, is_quoted: prefix.is_quoted });
            return LineKind::Hidden;
        }
        if let Some(kind) = self.delimited(body, line) {
            return kind;
        }
        if is_delimiter_row(rest) {
            self.is_in_table = true;
            return LineKind::Hidden;
        }
        let is_header = || {
            let next = body[line.content.end..].split_inclusive('\n').next().unwrap_or_default();
            is_delimiter_row(&next[Prefix::of(next).length..])
        };
        if self.is_in_table || (rest.contains('|') && is_header()) {
            return LineKind::Row;
        }
        if !self.is_in_paragraph && !is_item && is_link_definition(rest) {
            return LineKind::Hidden;
        }
        if self.is_in_paragraph && !is_item && !rest.starts_with("[^") {
            return LineKind::Continued;
        }
        if prefix.is_quoted {
            line.content.start += callout_length(rest);
        }
        LineKind::First
    }

    /// Returns the kind of a line that opens a comment or math closed on a later line.
    fn delimited(&mut self, body: &str, line: &SourceLine) -> Option<LineKind> {
        let rest = &body[line.content.clone()];
        let found = DELIMITERS.iter().position(|(open, ..)| rest.starts_with(open))?;
        let (open, close, kind) = DELIMITERS[found];
        if self.is_unclosed[found] || rest[open.len()..].contains(close) {
            return None;
        }
        let from = line.content.end;
        let Some(at) = body[from..].find(close) else {
            self.is_unclosed[found] = true;
            return None;
        };
        self.open = Some(OpenBlock::Until { end: from + at + close.len(), kind });
        Some(kind)
    }
}

/// The indentation and markers of quotes at the start of a line.
struct Prefix {
    length: usize,
    /// Columns of white space before the text or the first marker; a tab is four.
    columns: usize,
    has_tab: bool,
    is_quoted: bool,
}

impl Prefix {
    fn of(line: &str) -> Self {
        let mut prefix = Self { length: 0, columns: 0, has_tab: false, is_quoted: false };
        for byte in line.bytes() {
            match byte {
                b' ' | b'\t' if !prefix.is_quoted => {
                    prefix.columns += if byte == b'\t' { 4 } else { 1 };
                    prefix.has_tab |= byte == b'\t';
                }
                b' ' | b'\t' => {}
                b'>' => prefix.is_quoted = true,
                _ => break,
            }
            prefix.length += 1;
        }
        prefix
    }
}

/// Returns the length of a bullet and the white space after it.
fn bullet_length(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(['-', '*', '+'])?;
    let after = rest.trim_start_matches([' ', '\t']);
    (after.len() < rest.len() || rest.trim().is_empty()).then(|| text.len() - after.len())
}

/// True for the start of a numbered item, such as `1. ` or `2) `.
fn is_numbered(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (1..10).contains(&(text.len() - rest.len()))
        && rest.strip_prefix(['.', ')']).is_some_and(|rest| rest.starts_with([' ', '\t']))
}

/// True for a thematic break or the line under a heading: at least three `-`, `*`, `_` or `=`.
fn is_rule(text: &str) -> bool {
    let text = text.trim();
    let Some(mark) = text.chars().next().filter(|c| matches!(c, '-' | '*' | '_' | '=')) else {
        return false;
    };
    let is_part = |c: char| c == mark || (mark != '=' && matches!(c, ' ' | '\t'));
    text.chars().all(is_part) && text.chars().filter(|c| *c == mark).count() >= 3
}

/// True for a property that Logseq writes for itself, such as `id:: 6380d3a2-71da-49ea-9c9d-349a80e74694`.
fn is_program_property(text: &str) -> bool {
    let Some((key, value)) = text.split_once("::") else { return false };
    let value = value.trim();
    match key {
        "id" => value.len() == 36 && value.bytes().filter(|byte| *byte == b'-').count() == 4,
        "collapsed" => matches!(value, "true" | "false"),
        "created-at" | "created_at" | "updated-at" | "updated_at" | "card-last-interval"
        | "card-repeats" | "card-ease-factor" | "card-next-schedule" | "card-last-reviewed"
        | "card-last-score" | "hl-page" | "hl-color" | "ls-type" => true,
        _ => key.starts_with("logseq."),
    }
}

/// True for the first or last line of an Org block, such as `#+BEGIN_QUOTE`.
fn is_block_mark(text: &str) -> bool {
    let Some(name) = text.strip_prefix("#+") else { return false };
    let is = |start: &str| {
        name.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
    };
    is("begin_") || is("end_")
}

/// Returns the text of a heading, without closing marks and attributes such as `{#id}`.
fn heading(text: &str) -> Option<Range<usize>> {
    let after = text.trim_start_matches('#');
    let level = text.len() - after.len();
    if !(1..=6).contains(&level) || !after.starts_with([' ', '\t', '\r', '\n']) {
        return None;
    }
    let start = text.len() - after.trim_start().len();
    let mut name = text[start..].trim_end();
    let bare = name.trim_end_matches('#');
    if bare.is_empty() || bare.ends_with([' ', '\t']) {
        name = bare.trim_end();
    }
    if name.ends_with('}')
        && let Some(at) = name.rfind(" {")
        && name[at + 2..].trim_start_matches(':').trim_start().starts_with(['#', '.'])
    {
        name = name[..at].trim_end();
    }
    Some(start..start + name.len())
}

/// Returns the character and length of an opening code fence.
fn fence(text: &str) -> Option<(char, usize)> {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let after = text.trim_start_matches(mark);
    let length = text.len() - after.len();
    (length >= 3 && (mark == '~' || !after.contains('`'))).then_some((mark, length))
}

/// True for the row of dashes below the header of a table: `|---|:-:|`.
#[must_use]
pub fn is_delimiter_row(text: &str) -> bool {
    let text = text.trim();
    if !text.contains('|') || !text.bytes().all(|b| matches!(b, b'|' | b'-' | b':' | b' ' | b'\t'))
    {
        return false;
    }
    let cells = text.strip_prefix('|').unwrap_or(text);
    let mut cells = cells.strip_suffix('|').unwrap_or(cells).split('|');
    cells.all(|cell| {
        let cell = cell.trim();
        let dashes = cell.strip_prefix(':').unwrap_or(cell);
        let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
        !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-')
    })
}

/// Returns the length of the kind of a callout, such as `[!note]- `; 0 without one.
fn callout_length(text: &str) -> usize {
    let Some((kind, after)) = text.strip_prefix("[!").and_then(|rest| rest.split_once(']')) else {
        return 0;
    };
    if kind.is_empty()
        || !kind.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '|' | ' '))
    {
        return 0;
    }
    text.len() - after.strip_prefix(['+', '-']).unwrap_or(after).len()
}
