//! Finds the inline syntax of a block: links, emphasis, code, tags, escapes.

use std::collections::HashMap;
use std::ops::Range;

use crate::entities::{decoded, entity_length};

/// A piece of syntax, and what is displayed instead.
#[derive(Debug)]
pub(super) struct InlineEdit {
    pub(super) bytes: Range<usize>,
    pub(super) display: Display,
}

/// Text displayed in place of syntax.
#[derive(Clone, Copy, Debug)]
pub(super) enum Display {
    Hidden,
    Space,
    /// The separator of two cells of a table.
    Cell,
    /// The characters of an entity.
    Entity,
}

/// Returns the syntax in `text`, not sorted. `is_row` is true for a row of a table. `O(bytes)`.
pub(super) fn edits(text: &str, is_row: bool) -> Vec<InlineEdit> {
    let mut scanner = InlineScanner {
        text,
        is_row,
        edits: Vec::new(),
        brackets: Vec::new(),
        emphasis: Emphasis::default(),
        ticks: None,
        is_unclosed: [false; 3],
    };
    let mut at = 0;
    while let Some(step) = text.as_bytes()[at..].iter().position(|byte| is_sign(*byte)) {
        at = scanner.read(at + step);
    }
    scanner.edits
}

/// True for bytes that may begin syntax.
const fn is_sign(byte: u8) -> bool {
    matches!(
        byte,
        b'\\'
            | b'`'
            | b'$'
            | b'%'
            | b'<'
            | b'!'
            | b'['
            | b']'
            | b'*'
            | b'_'
            | b'~'
            | b'='
            | b'&'
            | b'|'
            | b'^'
            | b':'
            | b'{'
            | b'('
    )
}

/// Delimiters that may have no end; see [`InlineScanner::end_of`].
#[derive(Clone, Copy)]
enum Paired {
    Comment,
    Remark,
    Math,
}

struct InlineScanner<'t> {
    text: &'t str,
    is_row: bool,
    edits: Vec<InlineEdit>,
    /// Opening brackets without an end yet.
    brackets: Vec<usize>,
    emphasis: Emphasis,
    /// Positions of the runs of backticks by length, ascending, and the number of those passed.
    ticks: Option<HashMap<usize, (Vec<usize>, usize)>>,
    /// Delimiters without an end in the rest of the text, by [`Paired`].
    is_unclosed: [bool; 3],
}

impl InlineScanner<'_> {
    /// Reads the sign at `at`, and returns the byte after what it read.
    fn read(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let bytes = rest.as_bytes();
        match bytes[0] {
            b'\\' => match bytes.get(1) {
                Some(next) if next.is_ascii_punctuation() => {
                    self.hide(at..at + 1);
                    at + 2
                }
                Some(b'\n' | b'\r') => {
                    self.hide(at..at + 1);
                    at + 1
                }
                Some(_) | None => at + 1,
            },
            b'`' => self.code(at),
            b'$' => self.math(at),
            b'%' if rest.starts_with("%%") => self.hidden_pair(at, "%%", "%%", Paired::Remark),
            b'<' if rest.starts_with("<!--") => {
                self.hidden_pair(at, "<!--", "-->", Paired::Comment)
            }
            b'<' => self.tag(at),
            b'!' if rest.starts_with("![[") => match self.wikilink(at + 1, true) {
                Some(end) => {
                    self.hide(at..at + 1);
                    end
                }
                None => at + 1,
            },
            b'[' => {
                if let Some(end) = self.footnote(at) {
                    return end;
                }
                if rest.starts_with("[[")
                    && let Some(end) = self.wikilink(at, false)
                {
                    return end;
                }
                self.brackets.push(at);
                at + 1
            }
            b']' => self.link_end(at),
            b'*' | b'_' | b'~' | b'=' => {
                let length = bytes.iter().take_while(|byte| **byte == bytes[0]).count();
                self.emphasis.read(self.text, at, length, &mut self.edits);
                at + length
            }
            b'&' => match entity(rest) {
                Some(length) => {
                    self.edit(at..at + length, Display::Entity);
                    at + length
                }
                None => at + 1,
            },
            b'|' if self.is_row => {
                self.edit(at..at + 1, Display::Cell);
                at + 1
            }
            b'^' => self.block_id(at),
            b':' => self.address(at),
            b'{' => self.macro_call(at),
            b'(' => self.block_reference(at),
            _ => at + 1,
        }
    }

    fn edit(&mut self, bytes: Range<usize>, display: Display) {
        if !bytes.is_empty() {
            self.edits.push(InlineEdit { bytes, display });
        }
    }

    fn hide(&mut self, bytes: Range<usize>) {
        self.edit(bytes, Display::Hidden);
    }

    /// Returns the byte after the next `close` at or after `from`. Searches once more only if there was one.
    fn end_of(&mut self, from: usize, close: &str, paired: Paired) -> Option<usize> {
        let is_unclosed = &mut self.is_unclosed[paired as usize];
        if *is_unclosed {
            return None;
        }
        let end = self.text[from..].find(close).map(|at| from + at + close.len());
        *is_unclosed = end.is_none();
        end
    }

    /// Hides the text from a delimiter to its end.
    fn hidden_pair(&mut self, at: usize, open: &str, close: &str, paired: Paired) -> usize {
        let Some(end) = self.end_of(at + open.len(), close, paired) else {
            return at + open.len();
        };
        self.hide(at..end);
        end
    }

    /// Reads a run of backticks: shows the code of a code span as written.
    fn code(&mut self, at: usize) -> usize {
        let text = self.text;
        let run_end = |at: usize| text.len() - text[at..].trim_start_matches('`').len();
        let from = run_end(at);
        let length = from - at;
        let ticks = self.ticks.get_or_insert_with(|| {
            let mut ticks: HashMap<usize, (Vec<usize>, usize)> = HashMap::new();
            let mut next = at;
            while let Some(start) = text[next..].find('`').map(|step| next + step) {
                next = run_end(start);
                ticks.entry(next - start).or_default().0.push(start);
            }
            ticks
        });
        let Some((starts, n_passed)) = ticks.get_mut(&length) else { return from };
        while starts.get(*n_passed).is_some_and(|start| *start < from) {
            *n_passed += 1;
        }
        let Some(end) = starts.get(*n_passed).copied() else { return from };
        let code = &text[from..end];
        // A quotation as in TeX: ``so'' and ``so''.
        if !(length == 2 && code.contains("''") && !code.contains('`')) {
            self.hide(at..from);
            self.hide(end..end + length);
        }
        end + length
    }

    /// Passes over math.
    fn math(&mut self, at: usize) -> usize {
        if self.text[at..].starts_with("$$") {
            return self.end_of(at + 2, "$$", Paired::Math).unwrap_or(at + 2);
        }
        let inner = &self.text[at + 1..];
        let Some(length) = inner.find('$') else { return self.text.len().min(at + 1) };
        let after = inner.as_bytes().get(length + 1);
        let is_math = length > 0
            && !inner.starts_with(char::is_whitespace)
            && !inner[..length].ends_with(|c: char| c.is_whitespace() || c == '\\')
            && !after.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'$');
        if is_math { at + length + 2 } else { at + 1 }
    }

    /// Reads a tag of HTML or a link in angle brackets.
    fn tag(&mut self, at: usize) -> usize {
        let rest = &self.text[at + 1..];
        let is_end = |c: char| c.is_whitespace() || matches!(c, '<' | '>');
        if let Some(length) = rest.find(is_end).filter(|length| rest[*length..].starts_with('>')) {
            let inner = &rest[..length];
            let is_mail =
                || inner.split_once('@').is_some_and(|(a, b)| !a.is_empty() && b.contains('.'));
            if inner.contains("://") || inner.starts_with("mailto:") || is_mail() {
                self.hide(at..at + 1);
                self.hide(at + 1 + length..at + 2 + length);
                return at + 2 + length;
            }
        }
        let Some((name, end)) = html_tag(&self.text[at..]) else { return at + 1 };
        let is_inline = INLINE_TAGS.iter().any(|known| known.eq_ignore_ascii_case(name));
        if !is_inline && !BLOCK_TAGS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return at + 1;
        }
        self.edit(at..at + end, if is_inline { Display::Hidden } else { Display::Space });
        at + end
    }

    /// Hides the reference to a footnote, and its name before its text.
    fn footnote(&mut self, at: usize) -> Option<usize> {
        /// Maximum length of a name.
        const NAME_BYTES: usize = 100;
        let name = self.text[at..].strip_prefix("[^")?;
        let length = name.bytes().take(NAME_BYTES).position(|byte| byte == b']')?;
        let is_name = |c: char| !c.is_whitespace() && !matches!(c, '[' | '^');
        if length == 0 || !name[..length].chars().all(is_name) {
            return None;
        }
        let mut end = at + 2 + length + 1;
        if at == 0 && self.text[end..].starts_with(':') {
            end += 1;
        }
        self.hide(at..end);
        Some(end)
    }

    /// Reads a wikilink whose brackets begin at `at`, and shows its label or target. Returns the byte after it.
    fn wikilink(&mut self, at: usize, is_embed: bool) -> Option<usize> {
        let start = at + 2;
        let rest = &self.text[start..];
        let length = rest.find(['[', ']', '\n']).filter(|at| rest[*at..].starts_with("]]"))?;
        let inner = &rest[..length];
        if inner.trim().is_empty() {
            return None;
        }
        let end = start + length;
        // The label of an embed may be, or end with, a size.
        let is_size = |text: &str| {
            let mut sides = text.split('x');
            let is_number =
                |side: &str| !side.is_empty() && side.bytes().all(|b| b.is_ascii_digit());
            sides.clone().count() <= 2 && sides.all(is_number)
        };
        let mut shown = inner;
        if is_embed
            && let Some((before, _)) =
                inner.rsplit_once('|').filter(|(_, size)| is_size(size.trim()))
        {
            shown = before;
        }
        let target_end = shown.find('|').unwrap_or(shown.len());
        let label = shown.get(target_end + 1..).filter(|label| !label.trim().is_empty());
        let shown = match label {
            Some(label) => start + target_end + 1..start + target_end + 1 + label.len(),
            None => {
                let target = shown[..target_end].trim_end_matches('\\');
                let name = target.split("#^").next().filter(|name| !name.is_empty());
                let name = name.unwrap_or(target);
                let bare = name.trim_start_matches('#');
                let from = start + name.len() - bare.len();
                from..from + bare.len()
            }
        };
        if is_embed && is_image_name(&self.text[shown.clone()]) {
            self.hide(at..end + 2);
            return Some(end + 2);
        }
        self.hide(at..shown.start);
        if label.is_some() {
            self.label(shown.clone());
        }
        let mut after = end + 2;
        // `[[1]](address)`
        if let Some(length) = destination(&self.text[after..]) {
            let address = &self.text[after..after + length];
            if address.contains("://") || address.starts_with("(#") || address.ends_with(".md)") {
                after += length;
            }
        }
        self.hide(shown.end..after);
        Some(after)
    }

    /// Reads the marks of emphasis and code in the label of a link.
    fn label(&mut self, bytes: Range<usize>) {
        let label = &self.text[bytes.clone()];
        if !label.contains(['*', '_', '`', '~', '=', '\\', '&', '<']) {
            return;
        }
        let moved = edits(label, false).into_iter().map(|InlineEdit { bytes: at, display }| {
            InlineEdit { bytes: at.start + bytes.start..at.end + bytes.start, display }
        });
        self.edits.extend(moved);
    }

    /// Reads the end of the text of a link or image, and its destination.
    fn link_end(&mut self, at: usize) -> usize {
        let Some(open) = self.brackets.pop() else { return at + 1 };
        let rest = &self.text[at + 1..];
        let before = self.text[..open].chars().next_back();
        let is_image = before == Some('!') && !self.text[..open].ends_with("\\!");
        let length = match rest.as_bytes().first() {
            Some(b'(') => destination(rest).or_else(|| {
                // Logseq accepts spaces in the path of an image.
                let end = rest[1..].find(['(', ')', '\n']).filter(|_| is_image)?;
                rest[1 + end..].starts_with(')').then_some(end + 2)
            }),
            // Not `list[1][2]`.
            Some(b'[') if before.is_none_or(|c| !c.is_alphanumeric()) && at > open + 1 => {
                let label = rest[1..].find(['[', ']', '\n']);
                label.filter(|at| rest[1 + at..].starts_with(']')).map(|at| at + 2)
            }
            Some(_) | None => None,
        };
        let Some(length) = length else { return at + 1 };
        let mut end = at + 1 + length;
        // Attributes of Logseq, such as `{:height 379}`.
        if is_image
            && self.text[end..].starts_with("{:")
            && let Some(length) = self.text[end + 1..].find(['{', '}', '\n'])
            && self.text[end + 1 + length..].starts_with('}')
        {
            end += length + 2;
        }
        if is_image && is_image_name(&self.text[open + 1..at]) {
            self.hide(open - 1..end);
            return end;
        }
        self.hide(open - usize::from(is_image)..open + 1);
        self.hide(at..end);
        end
    }

    /// Hides the name of a block at the end of the text, such as ` ^abc`. Short numbers stay, because they may be exponents.
    fn block_id(&mut self, at: usize) -> usize {
        let before = self.text[..at].chars().next_back();
        let rest = &self.text[at + 1..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let is_last = || rest[length..].chars().all(char::is_whitespace);
        if before.is_none_or(char::is_whitespace) && length > 2 && is_last() {
            self.hide(at..at + 1 + length);
            return at + 1 + length;
        }
        at + 1
    }

    /// Hides a macro of Logseq that shows something else than text, such as `{{embed ((…))}}`.
    fn macro_call(&mut self, at: usize) -> usize {
        let Some(call) = self.text[at..].strip_prefix("{{") else { return at + 1 };
        let name = call.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let Some(length) = call.find("}}").filter(|_| MACROS.contains(&name)) else {
            return at + 2;
        };
        self.edit(at..at + length + 4, Display::Space);
        at + length + 4
    }

    /// Hides a reference to a block of Logseq, such as `((60a790f8-d187-499a-b2e2-73bf137356dd))`.
    fn block_reference(&mut self, at: usize) -> usize {
        let id = self.text[at..].strip_prefix("((").and_then(|rest| rest.split_once("))"));
        let is_id = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        match id {
            Some((id, _)) if id.len() == 36 && id.bytes().all(is_id) => {
                self.edit(at..at + id.len() + 4, Display::Space);
                at + id.len() + 4
            }
            Some(_) | None => at + 1,
        }
    }

    /// Passes over a bare address, whose signs are not syntax.
    fn address(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        if !rest.starts_with("://")
            || !self.text[..at].ends_with(|c: char| c.is_ascii_alphanumeric())
        {
            return at + 1;
        }
        let mut n_open = 0;
        let end = rest.char_indices().find(|(_, c)| match c {
            '(' => {
                n_open += 1;
                false
            }
            ')' => {
                n_open -= 1;
                n_open < 0
            }
            '<' | '>' | '[' | ']' | '`' | '"' | '*' | '|' => true,
            _ => c.is_whitespace(),
        });
        let address = &rest[..end.map_or(rest.len(), |(end, _)| end)];
        at + address.trim_end_matches(['_', '~', '=']).len().max(3)
    }
}

/// Returns the length of the destination of a link at the start of `text`, with its parentheses and title.
fn destination(text: &str) -> Option<usize> {
    /// Maximum nesting of parentheses, as in CommonMark.
    const MAX_DEPTH: usize = 32;
    let inner = text.strip_prefix('(')?;
    let spaces = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
    let mut at = 1 + spaces(inner);
    if text[at..].starts_with('<') {
        let end = text[at + 1..].find(['>', '<', '\n'])?;
        if !text[at + 1 + end..].starts_with('>') {
            return None;
        }
        at += end + 2;
    } else {
        let mut depth = 0;
        let mut is_escaped = false;
        let end = text[at..].char_indices().find(|(_, c)| {
            let was_escaped = std::mem::take(&mut is_escaped);
            match c {
                '\\' => is_escaped = !was_escaped,
                '(' if !was_escaped => depth += 1,
                ')' if !was_escaped && depth == 0 => return true,
                ')' if !was_escaped => depth -= 1,
                _ => {}
            }
            depth > MAX_DEPTH || c.is_whitespace()
        });
        let (end, _) = end.filter(|_| depth <= MAX_DEPTH)?;
        at += end;
    }
    let before_title = at;
    at += spaces(&text[at..]);
    let quote = *text.as_bytes().get(at)?;
    if at > before_title && matches!(quote, b'"' | b'\'') {
        /// Maximum length of a title.
        const TITLE_BYTES: usize = 500;
        let title = text[at + 1..].bytes().take(TITLE_BYTES);
        let length = title.take_while(|byte| *byte != b'\n').position(|byte| byte == quote)?;
        at += length + 2;
        at += spaces(&text[at..]);
    }
    text[at..].starts_with(')').then_some(at + 1)
}

/// Macros of Logseq whose arguments are not text.
const MACROS: &[&str] = &["embed", "renderer", "tweet", "twitter", "video", "vimeo", "youtube"];

/// True for the name of an image file, which says nothing in place of the image.
fn is_image_name(text: &str) -> bool {
    const EXTENSIONS: &[&str] = &["png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "bmp"];
    let extension = text.trim().rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|it| EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(it)))
}

/// Elements within a line. Tags of other names, such as `<account>`, are displayed.
const INLINE_TAGS: &[&str] = &[
    "a", "abbr", "b", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "mark",
    "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr",
];

/// Elements that separate words.
const BLOCK_TAGS: &[&str] = &[
    "article",
    "aside",
    "audio",
    "blockquote",
    "br",
    "button",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "iframe",
    "img",
    "input",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "picture",
    "pre",
    "section",
    "source",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
    "video",
];

/// Returns the name of the tag at the start of `text`, and its length.
fn html_tag(text: &str) -> Option<(&str, usize)> {
    /// Maximum length of a tag.
    const TAG_BYTES: usize = 1000;
    let name_start = if text.starts_with("</") { 2 } else { 1 };
    let rest = &text[name_start..];
    let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let name = &rest[..length];
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let after = &rest[length..];
    if !after.starts_with(|c: char| c.is_whitespace() || matches!(c, '/' | '>')) {
        return None;
    }
    let mut quote = None;
    for (at, byte) in after.bytes().enumerate().take(TAG_BYTES) {
        match (byte, quote) {
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if open == byte => quote = None,
            (b'>', None) => return Some((name, name_start + length + at + 1)),
            (b'<', None) => return None,
            (_, _) => {}
        }
    }
    None
}

/// Returns the length of the entity at the start of `text`, if its characters can be displayed.
fn entity(text: &str) -> Option<usize> {
    let length = entity_length(text)?;
    let is_hidden = |c: char| c.is_control() && !c.is_whitespace();
    decoded(&text[..length]).filter(|shown| !shown.contains(is_hidden)).map(|_| length)
}

/// Pairs the marks of emphasis, strong emphasis, strikethrough and highlights.
#[derive(Default)]
struct Emphasis {
    /// Marks that may begin emphasis, in text order.
    open: Vec<EmphasisMark>,
    /// Indices of them by character.
    by_kind: [Vec<usize>; 4],
}

struct EmphasisMark {
    at: usize,
    /// Number of characters not yet paired.
    length: usize,
    run_length: usize,
    can_close: bool,
}

impl Emphasis {
    /// Reads the `length` equal marks at `at`, and adds edits for those that end emphasis and their beginnings.
    fn read(&mut self, text: &str, mut at: usize, mut length: usize, edits: &mut Vec<InlineEdit>) {
        let run_length = length;
        let kind = match text.as_bytes()[at] {
            b'*' => 0,
            b'_' => 1,
            b'~' => 2,
            _ => 3,
        };
        let is_pair = kind >= 2;
        if is_pair && length != 2 {
            return;
        }
        let before = text[..at].chars().next_back().unwrap_or('\n');
        let after = text[at + length..].chars().next().unwrap_or('\n');
        let (can_open, can_close) = sides(kind, length, before, after);
        while can_close && length > 0 {
            let Some(&index) = self.by_kind[kind].last() else { break };
            let opening = &mut self.open[index];
            let sum = opening.run_length + run_length;
            // As in CommonMark: `**a*b**` is strong.
            let is_ambiguous = (can_open || opening.can_close)
                && sum.is_multiple_of(3)
                && !run_length.is_multiple_of(3);
            if is_ambiguous && !is_pair {
                break;
            }
            let n = opening.length.min(length).min(2);
            let end = opening.at + opening.length;
            for bytes in [end - n..end, at..at + n] {
                edits.push(InlineEdit { bytes, display: Display::Hidden });
            }
            opening.length -= n;
            (at, length) = (at + n, length - n);
            let is_done = opening.length == 0;
            // Marks between the two cannot end later.
            self.truncate(index + usize::from(!is_done));
        }
        if can_open && length > 0 {
            self.by_kind[kind].push(self.open.len());
            self.open.push(EmphasisMark { at, length, run_length, can_close });
        }
    }

    fn truncate(&mut self, n: usize) {
        self.open.truncate(n);
        for indices in &mut self.by_kind {
            let kept = indices.partition_point(|index| *index < n);
            indices.truncate(kept);
        }
    }
}

/// Returns whether a run of marks between two characters can open and close emphasis.
///
/// Stricter than CommonMark between letters or digits, as in `a*b*c` or `2**3`, and less strict beside scripts without spaces.
fn sides(kind: usize, length: usize, before: char, after: char) -> (bool, bool) {
    let (space_before, space_after) = (before.is_whitespace(), after.is_whitespace());
    let is_left =
        !space_after && (!is_punctuation(after) || space_before || is_punctuation(before));
    let is_right =
        !space_before && (!is_punctuation(before) || space_after || is_punctuation(after));
    let is_ascii_word = |c: char| c.is_ascii_alphanumeric();
    let is_other_word = |c: char| !c.is_ascii() && c.is_alphanumeric();
    match kind {
        0 => {
            let is_wide = length >= 2;
            let opens = is_left || (is_wide && !space_after && is_other_word(before));
            let closes = is_right || (is_wide && !space_before && is_other_word(after));
            (opens && !(is_ascii_word(before) && is_ascii_word(after)), closes)
        }
        1 => (is_left && !before.is_alphanumeric(), is_right && !after.is_alphanumeric()),
        2 => (!space_after, !space_before),
        _ => (!space_after && !is_ascii_word(before), !space_before && !is_ascii_word(after)),
    }
}

/// True for punctuation in the sense of CommonMark.
const fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(
            c,
            '\u{a1}'..='\u{a9}' | '\u{ab}'..='\u{b1}' | '\u{b4}' | '\u{b6}'..='\u{b8}' | '\u{bb}' | '\u{bf}'
                | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}'
                | '\u{3008}'..='\u{3020}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}'
        )
}
