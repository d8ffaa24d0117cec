//! Said text: the words of a Markdown text as a reader sees them, each with its place in the text as written.
//!
//! Escapes, entities, emphasis inside words and HTML tags hide words from a search that reads the text as written, and addresses between the words of a sentence hide its phrases.
//! One pass over the text finds them. It knows only the markup that changes words; the parser of notes and links is more exact.

use std::borrow::Cow;
use std::ops::Range;

use weft_model::encoded_data::encoded_data;
use weft_model::entities::{decoded, entity_length};
use weft_model::is_link_definition;

/// Maximum distance in bytes between the two ends of a link, a tag or a pair of emphasis marks.
const MAX_DISTANCE: usize = 2048;

/// Maximum nesting of brackets in the text or the address of a link.
const MAX_DEPTH: usize = 16;

/// Maximum number of emphasis marks that are remembered until one closes them.
const MAX_OPENERS: usize = 32;

/// HTML elements that continue the word or the line they are in.
const INLINE_ELEMENTS: &[&str] = &[
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i",
    "ins", "kbd", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike",
    "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
];

/// Other HTML elements. Words in angle brackets that are not elements are text, such as `Vec<String>`.
const BLOCK_ELEMENTS: &[&str] = &[
    "address",
    "article",
    "aside",
    "audio",
    "blockquote",
    "body",
    "br",
    "button",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "embed",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "img",
    "input",
    "label",
    "legend",
    "li",
    "link",
    "main",
    "meta",
    "nav",
    "object",
    "ol",
    "optgroup",
    "option",
    "p",
    "param",
    "picture",
    "pre",
    "script",
    "section",
    "select",
    "source",
    "style",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "textarea",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "track",
    "ul",
    "video",
];

/// Text without its markup.
#[derive(Debug)]
pub(super) struct SaidText<'t> {
    text: Cow<'t, str>,
    /// Parts of the text, ascending; none if it is the written text.
    parts: Vec<SaidPart>,
    /// Ranges of the written text that are not said but have words: addresses, titles of links, attributes, comments.
    asides: Vec<Range<usize>>,
}

/// Part of a said text.
#[derive(Debug)]
struct SaidPart {
    /// End in the said text; it starts where the part before ends.
    end: usize,
    /// Range of the written text: an equal text, or what the part replaces.
    written: Range<usize>,
}

impl SaidPart {
    /// Returns true if a part that starts at `start` in the said text is written as it is said.
    const fn is_copy(&self, start: usize) -> bool {
        self.end - start == self.written.end - self.written.start
    }
}

/// Change of a written text.
struct TextEdit<'t> {
    written: Range<usize>,
    /// Text that replaces it.
    said: Cow<'t, str>,
}

impl<'t> SaidText<'t> {
    /// Returns what `written` says. `O(bytes)`.
    pub(super) fn of(written: &'t str) -> Self {
        let mut scanner = MarkupScanner::new(written);
        scanner.scan();
        let MarkupScanner { mut edits, asides, encoded, .. } = scanner;
        if edits.is_empty() {
            return Self { text: Cow::Borrowed(written), parts: Vec::new(), asides };
        }
        edits.sort_by_key(|edit| edit.written.start);
        let (mut text, mut parts) = (String::with_capacity(written.len()), Vec::new());
        let mut start = 0;
        for TextEdit { written: range, said } in edits {
            if range.start < start {
                continue;
            }
            if start < range.start {
                text.push_str(&written[start..range.start]);
                parts.push(SaidPart { end: text.len(), written: start..range.start });
            }
            if !said.is_empty() {
                text.push_str(&said);
                parts.push(SaidPart { end: text.len(), written: range.clone() });
            }
            start = range.end;
        }
        text.push_str(&written[start..]);
        parts.push(SaidPart { end: text.len(), written: start..written.len() });
        let asides = asides.into_iter().flat_map(|aside| outside(aside, &encoded)).collect();
        Self { text: Cow::Owned(text), parts, asides }
    }

    /// Returns the said text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the ranges of the written text that have words but are not said, in no particular order.
    pub(super) fn asides(&self) -> &[Range<usize>] {
        &self.asides
    }

    /// Returns a reader of the places in the written text.
    pub(super) fn places(&self) -> WrittenPlaces<'_> {
        let copy = if self.parts.is_empty() { 0..usize::MAX } else { 0..0 };
        WrittenPlaces { parts: &self.parts, at: 0, copy, written_at: 0 }
    }
}

/// Finds the places in the written text of ranges of the said text. Each is searched from the previous one on, so ranges in text order take `O(parts)` in total.
pub(super) struct WrittenPlaces<'s> {
    parts: &'s [SaidPart],
    /// Index of the part of the previous range.
    at: usize,
    /// Range of the said text that is written as it is said, and contains most places near the previous one.
    copy: Range<usize>,
    /// Start of the copy in the written text.
    written_at: usize,
}

impl WrittenPlaces<'_> {
    /// Returns the range of the written text that says `said`, a range that is not empty.
    #[inline]
    pub(super) fn of(&mut self, said: Range<usize>) -> Range<usize> {
        let start = self.start(said.start);
        if said.end <= self.copy.end && self.copy.contains(&said.start) {
            return start..start + said.len();
        }
        let (last, last_start) = self.part(self.part_of(said.end - 1));
        let end = if last.is_copy(last_start) {
            last.written.start + said.end - last_start
        } else {
            last.written.end
        };
        start..end
    }

    /// Returns the byte of the written text at which what says the byte `said` starts.
    #[inline]
    pub(super) fn start(&mut self, said: usize) -> usize {
        if !self.copy.contains(&said) {
            self.at = self.part_of(said);
            let (part, start) = self.part(self.at);
            if !part.is_copy(start) {
                return part.written.start;
            }
            (self.copy, self.written_at) = (start..part.end, part.written.start);
        }
        self.written_at + (said - self.copy.start)
    }

    /// Returns a part with its start in the said text.
    fn part(&self, at: usize) -> (&SaidPart, usize) {
        (&self.parts[at], at.checked_sub(1).map_or(0, |before| self.parts[before].end))
    }

    /// Returns the index of the part that contains `byte`, or of the last part.
    fn part_of(&self, byte: usize) -> usize {
        let mut at = self.at;
        while at > 0 && self.parts[at - 1].end > byte {
            at -= 1;
        }
        while at + 1 < self.parts.len() && self.parts[at].end <= byte {
            at += 1;
        }
        at
    }
}

/// Returns the parts of `range` outside `holes`, which ascend.
fn outside(range: Range<usize>, holes: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = range.start;
    for hole in holes.iter().filter(|hole| hole.start < range.end && hole.end > range.start) {
        if start < hole.start {
            parts.push(start..hole.start);
        }
        start = start.max(hole.end);
    }
    if start < range.end {
        parts.push(start..range.end);
    }
    parts
}

/// Emphasis mark that may open emphasis.
struct Opener {
    mark: u8,
    /// Number of its marks that close nothing yet.
    n_left: usize,
    range: Range<usize>,
    /// True if it could close emphasis too.
    may_close: bool,
    is_inside_word: bool,
}

/// Finds the markup of a text.
struct MarkupScanner<'t> {
    written: &'t str,
    edits: Vec<TextEdit<'t>>,
    asides: Vec<Range<usize>>,
    /// Encoded data, ascending.
    encoded: Vec<Range<usize>>,
    /// Ends of links that are open, innermost last: markup to skip.
    closings: Vec<Range<usize>>,
    openers: Vec<Opener>,
}

/// Bytes that may begin markup.
const MARKS: [bool; 256] = {
    let mut marks = [false; 256];
    let signs = b"\\&<[]*~=`";
    let mut at = 0;
    while at < signs.len() {
        marks[signs[at] as usize] = true;
        at += 1;
    }
    marks
};

/// Returns the place of the first mark from `at` on, or the length of the text.
fn next_mark(bytes: &[u8], mut at: usize) -> usize {
    let is_mark = |byte: &u8| MARKS[usize::from(*byte)];
    // One branch for eight bytes: few of them are marks.
    while let Some(chunk) = bytes[at..].first_chunk::<8>()
        && !chunk.iter().fold(false, |any, byte| any | is_mark(byte))
    {
        at += chunk.len();
    }
    at + bytes[at..].iter().position(is_mark).unwrap_or(bytes.len() - at)
}

impl<'t> MarkupScanner<'t> {
    fn new(written: &'t str) -> Self {
        let encoded = encoded_data(written);
        let edits =
            encoded.iter().map(|range| TextEdit { written: range.clone(), said: " ".into() });
        Self {
            written,
            edits: edits.collect(),
            asides: Vec::new(),
            encoded,
            closings: Vec::new(),
            openers: Vec::new(),
        }
    }

    fn scan(&mut self) {
        let bytes = self.written.as_bytes();
        let mut at = next_mark(bytes, 0);
        while let Some(mark) = bytes.get(at) {
            let next = match *mark {
                b'\\' => self.escape(at),
                b'&' => self.entity(at),
                b'<' => self.html(at),
                b'[' => self.opening_bracket(at),
                b']' => self.closing_bracket(at),
                b'`' => self.code(at),
                mark => self.emphasis(at, mark),
            };
            at = next_mark(bytes, next);
        }
    }

    /// Returns the text from `at` on, as far as the end of a link or tag is searched.
    fn within_reach(&self, at: usize) -> &'t str {
        let rest = &self.written[at..];
        &rest[..rest.floor_char_boundary(MAX_DISTANCE)]
    }

    /// Leaves `range` out of the said text.
    fn skip(&mut self, range: Range<usize>) {
        self.edits.push(TextEdit { written: range, said: Cow::Borrowed("") });
    }

    fn aside(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.asides.push(range);
        }
    }

    fn escape(&mut self, at: usize) -> usize {
        let escapes = self.written.as_bytes().get(at + 1).is_some_and(u8::is_ascii_punctuation);
        if escapes {
            self.skip(at..at + 1);
        }
        at + 1 + usize::from(escapes)
    }

    fn entity(&mut self, at: usize) -> usize {
        let Some(n_bytes) = entity_length(&self.written[at..]) else { return at + 1 };
        let range = at..at + n_bytes;
        let end = range.end;
        match decoded(&self.written[range.clone()]) {
            Some(said) => self.edits.push(TextEdit { written: range, said: said.into() }),
            None => return at + 1,
        }
        end
    }

    fn html(&mut self, at: usize) -> usize {
        let rest = self.within_reach(at + 1);
        if let Some(comment) = rest.strip_prefix("!--") {
            let start = at + "<!--".len();
            let Some(n_bytes) = comment.find("-->") else { return at + 1 };
            self.aside(start..start + n_bytes);
            self.skip(at..start + n_bytes + "-->".len());
            return start + n_bytes + "-->".len();
        }
        let name_start = usize::from(rest.starts_with('/'));
        let name = &rest[name_start..];
        let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len())];
        let is_one_of = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let said = match (is_one_of(INLINE_ELEMENTS), is_one_of(BLOCK_ELEMENTS)) {
            (true, _) => "",
            (false, true) => " ",
            (false, false) => return at + 1,
        };
        let mut attributes = Vec::new();
        let mut quote: Option<(u8, usize)> = None;
        let from = name_start + name.len();
        let after = &rest[from..];
        if !after.starts_with(|c: char| c.is_whitespace() || c == '>') && !after.starts_with("/>") {
            return at + 1;
        }
        for (n, byte) in rest.bytes().enumerate().skip(from) {
            match (byte, quote) {
                (b'"' | b'\'', None) => quote = Some((byte, n + 1)),
                (_, Some((closing, start))) if byte == closing => {
                    attributes.push(at + 1 + start..at + 1 + n);
                    quote = None;
                }
                (b'>', None) => {
                    let end = at + 1 + n + 1;
                    attributes.into_iter().for_each(|value| self.aside(value));
                    self.edits.push(TextEdit { written: at..end, said: said.into() });
                    return end;
                }
                // Another tag begins.
                (b'<', None) => break,
                (_, _) => {}
            }
        }
        at + 1
    }

    fn opening_bracket(&mut self, at: usize) -> usize {
        let rest = self.within_reach(at);
        let line = rest.lines().next().unwrap_or_default();
        if self.defines_link(at, line) {
            let end = at + line.len();
            self.aside(at..end);
            self.skip(at..end);
            return end;
        }
        if let Some(inner) = line.strip_prefix("[[")
            && let Some(n_inner) = inner.find("]]").filter(|n| *n > 0)
        {
            let label = inner[..n_inner].find('|').map_or(0, |bar| bar + 1);
            let (start, end) = (at + 2, at + 2 + n_inner);
            self.aside(start..start + label.saturating_sub(1));
            self.skip(at..start + label);
            return self.open(start + label, end..end + 2);
        }
        if let Some(note) = line.strip_prefix("[^")
            && let Some(n_note) = note.find(']').filter(|n| *n > 0)
            && !note[n_note + 1..].starts_with(':')
        {
            self.aside(at + 2..at + 2 + n_note);
            self.skip(at..at + 2 + n_note + 1);
            return at + 2 + n_note + 1;
        }
        let Some(closing) = self.closing_of(at, b'[', b']') else { return at + 1 };
        let bytes = self.written.as_bytes();
        let target = match bytes.get(closing + 1) {
            Some(b'(') => self.closing_of(closing + 1, b'(', b')'),
            Some(b'[') => self.closing_of(closing + 1, b'[', b']'),
            Some(_) | None => None,
        };
        let Some(end) = target else { return at + 1 };
        self.aside(closing + 2..end);
        self.skip(at..at + 1);
        self.open(at + 1, closing..end + 1)
    }

    /// Returns true if `line`, from `at` to the end of its line, is a link reference definition that does not continue a paragraph.
    fn defines_link(&self, at: usize, line: &str) -> bool {
        let indentation = self.written.as_bytes()[..at].iter().rev();
        let n_spaces = indentation.take(4).take_while(|byte| **byte == b' ').count();
        let start = at - n_spaces;
        let Some(above) = self.written[..start].strip_suffix('\n') else {
            return start == 0 && n_spaces < 4 && is_link_definition(line);
        };
        let above = || &above[above.rfind('\n').map_or(0, |newline| newline + 1)..];
        let ends_paragraph = |line: &str| {
            line.trim().is_empty() || line.starts_with('#') || is_link_definition(line)
        };
        n_spaces < 4 && is_link_definition(line) && ends_paragraph(above())
    }

    /// Begins the text of a link, whose end is skipped. Returns the start of the text.
    fn open(&mut self, start: usize, closing: Range<usize>) -> usize {
        self.skip(closing.clone());
        self.closings.push(closing);
        start
    }

    fn closing_bracket(&mut self, at: usize) -> usize {
        // A closing inside code was not met.
        while self.closings.last().is_some_and(|closing| closing.start < at) {
            self.closings.pop();
        }
        match self.closings.pop_if(|closing| closing.start == at) {
            Some(closing) => closing.end,
            None => at + 1,
        }
    }

    /// Returns the place of the bracket that closes the one at `at`, within one paragraph.
    fn closing_of(&self, at: usize, opening: u8, closing: u8) -> Option<usize> {
        let bytes = self.written.as_bytes();
        let mut depth = 0_usize;
        let mut n_scanned = 0;
        let mut here = at;
        while let Some(byte) = bytes.get(here).filter(|_| n_scanned < MAX_DISTANCE) {
            n_scanned += 1;
            if let Some(end) = self.end_of_data(here) {
                here = end;
                continue;
            }
            match *byte {
                b'\\' => here += 1,
                b'\n' if bytes.get(here + 1) == Some(&b'\n') => return None,
                byte if byte == opening && depth == MAX_DEPTH => return None,
                byte if byte == opening => depth += 1,
                byte if byte == closing => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(here);
                    }
                }
                _ => {}
            }
            here += 1;
        }
        None
    }

    /// Returns the end of the encoded data that begins at `at`.
    fn end_of_data(&self, at: usize) -> Option<usize> {
        let idx = self.encoded.binary_search_by_key(&at, |range| range.start).ok()?;
        Some(self.encoded[idx].end)
    }

    /// Returns the number of equal bytes from `at` on.
    fn run_length(&self, at: usize) -> usize {
        let rest = &self.written.as_bytes()[at..];
        rest.iter().take_while(|byte| **byte == rest[0]).count()
    }

    /// Passes code over: what it contains is said as written. Its marks are left out where they touch a word.
    fn code(&mut self, at: usize) -> usize {
        let n_marks = self.run_length(at);
        if n_marks >= 3 && self.begins_line(at) {
            return self.end_of_fence(at, n_marks);
        }
        let reach = self.within_reach(at + n_marks);
        let mut from = 0;
        while let Some(n) = reach[from..].find('`') {
            let between = &reach.as_bytes()[from..from + n];
            let ends_paragraph = between.windows(2).any(|pair| pair == b"\n\n");
            if ends_paragraph {
                break;
            }
            let start = at + n_marks + from + n;
            let n_closing = self.run_length(start);
            if n_closing == n_marks {
                let (text, end) = (at + n_marks, start + n_closing);
                if self.written[..at].ends_with(char::is_alphanumeric) {
                    self.skip(at..text);
                }
                if self.written[end..].starts_with(char::is_alphanumeric) {
                    self.skip(start..end);
                }
                return end;
            }
            from = (from + n + n_closing).min(reach.len());
        }
        at + n_marks
    }

    /// Returns true if only indentation and marks of quotes and lists precede `at` in its line.
    fn begins_line(&self, at: usize) -> bool {
        let mut before = self.written.as_bytes()[..at].iter().rev();
        let is_indentation =
            |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'>' | b'-' | b'+' | b'.');
        before
            .find(|byte| !is_indentation(byte) && !byte.is_ascii_digit())
            .is_none_or(|byte| *byte == b'\n')
    }

    /// Returns the end of the code block that the marks at `at` open.
    fn end_of_fence(&self, at: usize, n_marks: usize) -> usize {
        let mark = &self.written[at..at + n_marks];
        let is_indentation = |c: char| matches!(c, ' ' | '\t' | '>');
        let mut start = at + n_marks;
        while let Some(n) = self.written[start..].find('\n') {
            start += n + 1;
            let line = &self.written[start..];
            let indented = line.trim_start_matches(is_indentation);
            if indented.starts_with(mark) {
                let end = start + line.len() - indented.len();
                return end + self.run_length(end);
            }
        }
        self.written.len()
    }

    fn emphasis(&mut self, at: usize, mark: u8) -> usize {
        let n_marks = self.run_length(at);
        let end = at + n_marks;
        if mark == b'~' && n_marks >= 3 && self.begins_line(at) {
            return self.end_of_fence(at, n_marks);
        }
        // Strikethrough and highlights have two signs.
        if mark != b'*' && n_marks != 2 {
            return end;
        }
        let (before, after) =
            (self.written[..at].chars().next_back(), self.written[end..].chars().next());
        let is_inside_word =
            before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric);
        let may_close = before.is_some_and(|c| !c.is_whitespace());
        let may_open = after.is_some_and(|c| !c.is_whitespace());
        let n_left = if may_close { self.close(at..end, mark, may_open) } else { n_marks };
        if n_left < n_marks && is_inside_word {
            self.skip(at..end);
        } else if n_left > 0 && may_open {
            if self.openers.len() == MAX_OPENERS {
                self.openers.remove(0);
            }
            self.openers.push(Opener { mark, n_left, range: at..end, may_close, is_inside_word });
        }
        end
    }

    /// Closes the emphasis that ends with the marks in `closing`. Returns the number of marks that close none.
    fn close(&mut self, closing: Range<usize>, mark: u8, may_open: bool) -> usize {
        let mut n_left = closing.len();
        // Rule 9 of CommonMark keeps marks of different meaning apart.
        let fits = |opener: &Opener| {
            let (n_opening, n_closing) = (opener.range.len(), closing.len());
            opener.mark == mark
                && (!opener.may_close && !may_open
                    || !(n_opening + n_closing).is_multiple_of(3)
                    || n_opening.is_multiple_of(3))
        };
        while n_left > 0
            && let Some(idx) = self.openers.iter().rposition(fits)
        {
            let opener = &mut self.openers[idx];
            let between = &self.written[opener.range.end..closing.start];
            let is_apart = between.len() > MAX_DISTANCE
                || ["\n\n", "\n\r\n"].iter().any(|gap| between.contains(gap));
            if is_apart {
                self.openers.drain(..=idx);
                break;
            }
            let n_closed = n_left.min(opener.n_left);
            n_left -= n_closed;
            opener.n_left -= n_closed;
            let (range, is_spent) = (opener.range.clone(), opener.n_left == 0);
            if std::mem::take(&mut opener.is_inside_word) {
                self.skip(range);
            }
            self.openers.truncate(if is_spent { idx } else { idx + 1 });
        }
        n_left
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(written: &str) -> String {
        SaidText::of(written).text().to_owned()
    }

    #[test]
    fn markup_of_words_is_not_said() {
        let cases = [
            ("escapes", r"tp\_fan \*x\* a\b \", r"tp_fan *x* a\b \"),
            (
                "entities",
                "AT&amp;T caf&eacute; &#233;&#xE9; &nope; R&D;",
                "AT&T café éé &nope; R&D;",
            ),
            ("an entity between words", "Mr.&nbsp;Smith", "Mr.\u{a0}Smith"),
            ("emphasis in words", "**un**important un*im*portant", "**unimportant unimportant"),
            ("strikethrough and highlight", "~~un~~known ==high==light", "~~unknown ==highlight"),
            ("marks that are not emphasis", "2*3 a**b x==y", "2*3 a**b x==y"),
            ("emphasis in one paragraph", "a*b\n\nc*d", "a*b\n\nc*d"),
            ("underscores", "snake_case_name __x__", "snake_case_name __x__"),
            ("tags", "H<sub>2</sub>O x<br>y <b\nclass='z'>w</b>", "H2O x y w"),
            ("no tags", "Vec<String> <a/c> a<b a < b <b", "Vec<String> <a/c> a<b a < b <b"),
            ("comments", "a<!-- b > c -->d <!-- e", "ad <!-- e"),
            (
                "links",
                "a [linked *phrase*](https://x.org/a_(b) \"t\") here",
                "a linked *phrase* here",
            ),
            ("link to a definition", "a [b][c] d [e] [f]: g", "a b d [e] [f]: g"),
            (
                "definitions of links",
                "[a b]: c.md\n [d]: e.md \"f\"\n\ng\n[h]: i.md\n\n# j\n[k]: l.md\n[^1]: m",
                "\n \n\ng\n[h]: i.md\n\n# j\n\n[^1]: m",
            ),
            ("images", "![alt](x.png)", "!alt"),
            ("nested brackets", "[a [b] c](d)e", "a [b] ce"),
            ("brackets without target", "[a] (b) [c", "[a] (b) [c"),
            ("escaped bracket", r"[a\]b](c)d", "a]bd"),
            (
                "wikilinks",
                "see [[a/b#c|the *moss*]]es, [[fern]]s, ![[x.png|100]]",
                "see the *moss*es, ferns, !100",
            ),
            ("footnotes", "word[^1] more\n\n[^1]: note", "word more\n\n[^1]: note"),
            ("code", r"`a\_b` ``c`&amp;`` d\_e", r"`a\_b` ``c`&amp;`` d_e"),
            ("code in words", "a`b`c `d`s ``e``f g`h` `i`", "abc `ds ``ef gh` `i`"),
            ("code that is not closed", r"`a\_b", "`a_b"),
            (
                "code blocks",
                "```x\n&amp;\n```\n&amp;\n~~~\n&amp;",
                "```x\n&amp;\n```\n&\n~~~\n&amp;",
            ),
            ("code in a list", "- ```\n  &amp;\n  ```\n&amp;", "- ```\n  &amp;\n  ```\n&"),
            ("data", "a ![x](data:image/png;base64,AAAA) b", "a !x b"),
            ("data outside links", "a data:image/png;base64,AAAA b", "a   b"),
            ("plain text", "é 漢字 🌿", "é 漢字 🌿"),
        ];
        let wrong: Vec<_> = cases
            .into_iter()
            .filter(|(_, written, expected)| said(written) != *expected)
            .map(|(name, written, _)| (name, said(written)))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn every_escape_is_read() {
        for sign in (0_u8..128).map(char::from) {
            let expected = if sign.is_ascii_punctuation() {
                format!("a{sign}b")
            } else {
                format!("a\\{sign}b")
            };
            let written = format!("a\\{sign}b");
            assert_eq!(said(&written), expected);
            let displayed = weft_model::displayed_text(&written, 0..written.len());
            if !sign.is_ascii_control() && sign != ' ' {
                assert_eq!(displayed.as_str(), expected, "displayed");
            }
        }
    }

    /// Returns the names and characters of all entities, from the source of the parser's library.
    fn all_entities() -> Vec<(String, String)> {
        let cargo = |arguments: &[&str]| {
            let mut cargo = std::process::Command::new(env!("CARGO"));
            let folder = env!("CARGO_MANIFEST_DIR");
            String::from_utf8(cargo.args(arguments).current_dir(folder).output().unwrap().stdout)
                .unwrap()
        };
        // Crates of other systems need not be downloaded.
        let version = cargo(&["-vV"]);
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a system");
        let of_host = ["metadata", "--offline", "--format-version", "1", "--filter-platform", host];
        let metadata = cargo(&of_host);
        let end = metadata.find("/Cargo.toml\",\"").unwrap_or_default();
        assert!(end > 0, "cargo describes the packages");
        let mut manifests = metadata.match_indices("/Cargo.toml\"").map(|(end, _)| {
            let start = metadata[..end].rfind('"').unwrap() + 1;
            &metadata[start..end]
        });
        let is_parser = |folder: &&str| {
            folder.rsplit('/').next().is_some_and(|name| name.starts_with("pulldown-cmark-0"))
        };
        let folder = manifests.find(is_parser).expect("a dependency");
        let source = std::fs::read_to_string(format!("{folder}/src/entities.rs")).unwrap();
        let entity = |line: &str| {
            let (name, shown) = line.trim().strip_prefix("(b\"")?.split_once("\", \"")?;
            let codes = shown.strip_suffix("\"),")?.split("\\u{").filter(|code| !code.is_empty());
            let characters = codes.map(|code| {
                let code = u32::from_str_radix(code.strip_suffix('}')?, 16).ok()?;
                char::from_u32(code)
            });
            Some((name.to_owned(), characters.collect::<Option<String>>()?))
        };
        source.lines().filter_map(entity).collect()
    }

    #[test]
    fn every_entity_is_said_and_displayed() {
        let all = all_entities();
        assert!(all.len() > 2000, "{} entities", all.len());
        for (name, shown) in all {
            let written = format!("a&{name};b");
            assert_eq!(said(&written), format!("a{shown}b"), "{name}");
            let place = SaidText::of(&written).places().of(1..1 + shown.len());
            assert_eq!(&written[place], format!("&{name};"), "{name}");
            let displayed = weft_model::displayed_text(&written, 0..written.len());
            let is_space = shown.chars().all(char::is_whitespace);
            let expected = if is_space { "a b".to_owned() } else { format!("a{shown}b") };
            assert_eq!(displayed.as_str(), expected, "{name}");
        }
        for (number, shown) in [("#233", "é"), ("#xE9", "é"), ("#X1F33F", "🌿"), ("#0", "\u{fffd}")]
        {
            assert_eq!(said(&format!("a&{number};b")), format!("a{shown}b"), "{number}");
        }
    }

    #[test]
    fn words_that_are_not_said_are_asides() {
        for (written, expected) in [
            ("[a](b.md \"c\")", "b.md \"c\""),
            ("[a][b] [c][]", "b"),
            ("[[a|b]] [[c]]", "a"),
            ("<img alt=\"a fern\" src='x.png'>", "a fern|x.png"),
            ("<!-- a -->x[^1]", " a |1"),
            ("[a](data:image/png;base64,AAAA)", ""),
            ("[a](data:image/png;base64,AAAA \"t\")", " \"t\""),
            ("[a]: b.md \"c\"\nd", "[a]: b.md \"c\""),
            ("a & b", ""),
        ] {
            let said = SaidText::of(written);
            let asides: Vec<&str> =
                said.asides().iter().map(|aside| &written[aside.clone()]).collect();
            assert_eq!(asides.join("|"), expected, "{written}");
        }
    }

    #[test]
    fn said_words_have_their_place() {
        let written = r"é **un**important, caf&eacute; H<sub>2</sub>O t\_f [[a|b]]s";
        let said = SaidText::of(written);
        for (word, expected) in [
            ("unimportant", "un**important"),
            ("café", "caf&eacute;"),
            ("é", "é"),
            ("H2O", "H<sub>2</sub>O"),
            ("t_f", r"t\_f"),
            ("bs", "b]]s"),
        ] {
            let start = said.text().find(word).unwrap();
            let place = said.places().of(start..start + word.len());
            assert_eq!(&written[place], expected, "{word}");
        }
    }

    #[test]
    fn long_input_is_read_quickly() {
        for part in ["[", "![[", "[a](", "*a ", "a*b", "`", "<b ", "&amp", "~~a", "[[a|", "]", "\\"]
        {
            let written = part.repeat(20_000);
            let said = SaidText::of(&written);
            assert!(said.text().len() <= written.len(), "{part}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_range_lies_in_the_written_text(written in "[a-c é\n\\\\\\[\\]()*~=`<>!|&;#b/\"]{0,60}") {
            let said = SaidText::of(&written);
            let places: Vec<usize> =
                said.text().char_indices().map(|(at, _)| at).chain([said.text().len()]).collect();
            let mut last = 0;
            for pair in places.windows(2) {
                let place = said.places().of(pair[0]..pair[1]);
                prop_assert!(place.start <= place.end && last <= place.start);
                prop_assert!(written.get(place.clone()).is_some());
                last = place.start;
            }
            for aside in said.asides() {
                prop_assert!(written.get(aside.clone()).is_some());
            }
            // Letters are said or are an aside, except names of elements and attributes.
            let n = |text: &str| text.matches('c').count();
            let n_asides: usize = said.asides().iter().map(|aside| n(&written[aside.clone()])).sum();
            let has_tag = ["<a", "<b", "/a", "/b"].iter().any(|tag| written.contains(tag));
            prop_assert!(has_tag || n(said.text()) + n_asides >= n(&written), "{written:?}");
        }
    }
}
