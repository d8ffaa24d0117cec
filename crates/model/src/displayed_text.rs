//! Displayed text: a part of a body as a reader sees it, without Markdown syntax and encoded data.
//!
//! Reads what Obsidian, Logseq and GitHub render. Text that is not certainly syntax is displayed as written.

mod inline;
mod lines;

use std::ops::Range;

use self::inline::{Display, InlineEdit};
pub use self::lines::is_delimiter_row;
use self::lines::{LineKind, LineReader, SourceLine};
use crate::encoded_data::encoded_data;
use crate::entities::decoded;
use crate::text::{CharCounter, Span};

/// Maximum number of bytes read around a range to recognize the syntax that it cuts.
const CONTEXT_BYTES: usize = 4096;

/// Maximum number of bytes read around a range to recognize the encoded data that it cuts: several lines of base64.
const ENCODED_CONTEXT_BYTES: usize = 1024;

/// A part of a body as a reader sees it, with the position of each displayed character in the body.
///
/// Blocks, such as paragraphs, list items and table rows, are lines of the text. Otherwise, runs of white space are one space.
/// Bullets read `•`, cells of a table are separated by `·`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisplayedText {
    text: String,
    /// In text order, without overlaps in the body and in the text.
    runs: Vec<DisplayedRun>,
}

/// A displayed piece of a body, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DisplayedRun {
    source: Range<usize>,
    shown: Range<usize>,
    /// True if both have the same length and differ only in white space.
    is_verbatim: bool,
}

impl DisplayedText {
    /// Returns the displayed text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the displayed text.
    #[must_use]
    pub fn into_string(self) -> String {
        self.text
    }

    /// True if nothing is displayed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the bytes of the displayed text that show `bytes` of the body; `None` if all of them are syntax.
    ///
    /// Monotone: a later range is never displayed before an earlier one. `O(log length)`.
    #[must_use]
    pub fn shown(&self, bytes: &Range<usize>) -> Option<Range<usize>> {
        let first = self.runs.partition_point(|run| run.source.end <= bytes.start);
        let last = self.runs.partition_point(|run| run.source.start < bytes.end).checked_sub(1)?;
        let (first, last) = (self.runs.get(first)?, &self.runs[last]);
        let start = if first.is_verbatim && bytes.start > first.source.start {
            first.shown.start + (bytes.start - first.source.start)
        } else {
            first.shown.start
        };
        let end = if last.is_verbatim && bytes.end < last.source.end {
            last.shown.start + (bytes.end - last.source.start)
        } else {
            last.shown.end
        };
        (start < end).then_some(start..end)
    }

    /// Returns the characters of the displayed text that show each of `ranges`, which are in bytes of the body and ascending. Omits ranges that are not displayed, and merges overlapping ones.
    #[must_use]
    pub fn spans(&self, ranges: impl IntoIterator<Item = Range<usize>>) -> Vec<Span> {
        let mut counter = CharCounter::new(&self.text);
        let mut spans: Vec<Span> = Vec::new();
        for shown in ranges.into_iter().filter_map(|range| self.shown(&range)) {
            let span = counter.span(shown);
            match spans.last_mut() {
                Some(last) if span.start < last.end => last.end = last.end.max(span.end),
                Some(_) | None => spans.push(span),
            }
        }
        spans
    }

    /// Returns `range` of `body` with all its syntax, but without [encoded data](crate::encoded_data). Runs of white space are one space.
    #[must_use]
    pub fn as_written(body: &str, range: Range<usize>) -> Self {
        let range = clamped(body, range);
        let encoded = encoded_around(body, &range);
        let mut writer = DisplayWriter::new(body, range.clone(), &encoded);
        writer.verbatim(range);
        writer.shown
    }
}

/// Displays ranges of one body.
///
/// Ascending ranges cost `O(bytes)` in total; an earlier range restarts from the front, because a code block may begin anywhere before it.
#[derive(Debug)]
pub struct BodyDisplay<'b> {
    body: &'b str,
    lines: LineReader,
}

/// Returns the displayed text of `range` of `body`, in bytes.
///
/// The range is clamped to the body and to character boundaries; it may start and end anywhere, within syntax too. `O(bytes before the end)`.
///
/// ```
/// let body = "- see [[Leap second|the sixty-first]]\n";
/// let text = weft_model::displayed_text(body, 0..body.len());
/// assert_eq!(text.as_str(), "• see the sixty-first");
/// assert_eq!(text.shown(&(20..29)), Some(8..17));
/// ```
#[must_use]
pub fn displayed_text(body: &str, range: Range<usize>) -> DisplayedText {
    BodyDisplay::new(body).text(range)
}

impl<'b> BodyDisplay<'b> {
    /// Creates a display of `body`.
    #[must_use]
    pub fn new(body: &'b str) -> Self {
        Self { body, lines: LineReader::default() }
    }

    /// Returns the displayed text of `range`; see [`displayed_text`].
    #[must_use]
    pub fn text(&mut self, range: Range<usize>) -> DisplayedText {
        let body = self.body;
        let range = clamped(body, range);
        let floor = body.floor_char_boundary(range.start.saturating_sub(CONTEXT_BYTES));
        let ceiling = body.ceil_char_boundary(range.end.saturating_add(CONTEXT_BYTES));
        let start = paragraph_start(body, range.start, floor);
        if start < self.lines.at() {
            self.lines = LineReader::default();
        }
        while self.lines.at() < start && self.lines.next(body).is_some() {}
        let mut lines = self.lines.clone();
        let encoded = encoded_around(body, &range);
        let mut writer = DisplayWriter::new(body, range.clone(), &encoded);
        let mut block = InlineBlock::default();
        while let Some(line) = lines.next(body) {
            let is_within = line.start < range.end;
            if !is_within && (line.kind != LineKind::Continued || line.start >= ceiling) {
                break;
            }
            match line.kind {
                LineKind::Hidden => block.end(&mut writer),
                LineKind::Code => {
                    block.end(&mut writer);
                    writer.gap = PendingGap::Line;
                    writer.verbatim(line.content);
                }
                LineKind::Row | LineKind::Heading => {
                    block.end(&mut writer);
                    block.push(body, line, floor..ceiling);
                    block.end(&mut writer);
                }
                LineKind::First => {
                    block.end(&mut writer);
                    block.push(body, line, floor..ceiling);
                }
                LineKind::Continued => block.push(body, line, floor..ceiling),
            }
        }
        block.end(&mut writer);
        writer.shown
    }
}

/// Clamps a range to a text and its character boundaries.
fn clamped(body: &str, range: Range<usize>) -> Range<usize> {
    let start = body.floor_char_boundary(range.start);
    start..body.floor_char_boundary(range.end).max(start)
}

/// Returns the start of the first line of the paragraph around `at`, or a later line that starts after `floor`; at least that of the line around `at`.
fn paragraph_start(body: &str, at: usize, floor: usize) -> usize {
    let line_start = |at: usize| body[..at].rfind('\n').map_or(0, |end| end + 1);
    let mut start = line_start(at);
    while start > floor.max(1) {
        let before = line_start(start - 1);
        if before < floor || body[before..start].trim().is_empty() {
            break;
        }
        start = before;
    }
    start
}

/// Returns the ranges of encoded data in or around `range` of `body`.
fn encoded_around(body: &str, range: &Range<usize>) -> Vec<Range<usize>> {
    let floor = body.floor_char_boundary(range.start.saturating_sub(ENCODED_CONTEXT_BYTES));
    // An address contains no space, so that none begins before.
    let space = body[..floor].rfind(|c: char| c.is_ascii_whitespace());
    let floor = space.map_or(0, |space| space + 1);
    let ceiling = body.ceil_char_boundary(range.end.saturating_add(ENCODED_CONTEXT_BYTES));
    let found = encoded_data(&body[floor..ceiling]).into_iter();
    found.map(|data| data.start + floor..data.end + floor).collect()
}

/// Consecutive lines whose inline syntax is read together.
#[derive(Default)]
struct InlineBlock {
    /// Start in the body.
    start: usize,
    /// The lines, in which markers of quotes are blank. Offsets are those of the body after `start`.
    text: String,
    /// The blank markers.
    markers: Vec<Range<usize>>,
    bullet: Option<Range<usize>>,
    is_row: bool,
    is_open: bool,
}

impl InlineBlock {
    /// Appends the part of a line that lies in `limits`.
    fn push(&mut self, body: &str, line: SourceLine, limits: Range<usize>) {
        let content = line.content.start.max(limits.start)..line.content.end.min(limits.end);
        if content.is_empty() && line.bullet.is_none() {
            return;
        }
        if self.is_open {
            let marker = self.start + self.text.len()..content.start;
            self.text.extend(std::iter::repeat_n(' ', marker.len()));
            self.markers.push(marker);
        } else {
            self.is_open = true;
            self.start = content.start;
            self.bullet = line.bullet;
            self.is_row = line.kind == LineKind::Row;
        }
        self.text.push_str(body.get(content).unwrap_or_default());
    }

    /// Writes the block on a line of its own, and empties it.
    fn end(&mut self, writer: &mut DisplayWriter<'_, '_>) {
        let Self { start, text, markers, bullet, is_row, is_open } = std::mem::take(self);
        if !is_open {
            return;
        }
        writer.gap = PendingGap::Line;
        if let Some(bullet) = bullet {
            writer.instead(bullet, "•");
            writer.gap = writer.gap.max(PendingGap::Space);
        }
        let n_before = writer.shown.text.len();
        let mut edits = inline::edits(&text, is_row);
        for edit in &mut edits {
            edit.bytes = edit.bytes.start + start..edit.bytes.end + start;
        }
        let blank = |bytes| InlineEdit { bytes, display: Display::Space };
        edits.extend(markers.into_iter().map(blank));
        edits.sort_by_key(|edit| edit.bytes.start);
        let mut at = start;
        for InlineEdit { bytes, display } in edits {
            // Only damaged syntax overlaps.
            if bytes.start < at {
                at = at.max(bytes.end);
                continue;
            }
            writer.verbatim(at..bytes.start);
            at = bytes.end;
            match display {
                Display::Hidden => {}
                Display::Space => writer.gap = writer.gap.max(PendingGap::Space),
                Display::Cell if writer.shown.text.len() > n_before => {
                    writer.gap = writer.gap.max(PendingGap::Cell);
                }
                Display::Cell => {}
                Display::Entity => {
                    let shown = decoded(&writer.body[bytes.clone()]);
                    writer.instead(bytes, &shown.unwrap_or_default());
                }
            }
        }
        writer.verbatim(at..start + text.len());
    }
}

/// White space to write before the next displayed text; the greatest wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PendingGap {
    Nothing,
    Space,
    Cell,
    Line,
}

/// Writes displayed text.
struct DisplayWriter<'b, 'e> {
    body: &'b str,
    /// The range to display.
    range: Range<usize>,
    /// Ranges that are not displayed, ascending.
    encoded: &'e [Range<usize>],
    shown: DisplayedText,
    gap: PendingGap,
}

impl<'b, 'e> DisplayWriter<'b, 'e> {
    fn new(body: &'b str, range: Range<usize>, encoded: &'e [Range<usize>]) -> Self {
        Self { body, range, encoded, shown: DisplayedText::default(), gap: PendingGap::Nothing }
    }

    /// Displays the part of `bytes` in the range as written, with runs of white space and encoded data as one gap.
    fn verbatim(&mut self, bytes: Range<usize>) {
        let mut at = bytes.start.max(self.range.start);
        let end = bytes.end.min(self.range.end);
        let first = self.encoded.partition_point(|hidden| hidden.end <= at);
        for hidden in self.encoded[first..].iter().take_while(|hidden| hidden.start < end) {
            self.words(at..hidden.start);
            self.gap = self.gap.max(PendingGap::Space);
            at = hidden.end;
        }
        self.words(at..end);
    }

    /// Displays `bytes`, which contain no encoded data.
    fn words(&mut self, Range { start: mut at, end }: Range<usize>) {
        let body = self.body;
        let Some(text) = body.get(at..end) else { return };
        for piece in text.split_inclusive(is_space) {
            let word = piece.trim_end_matches(is_space);
            if !word.is_empty() {
                self.push(at..at + word.len(), word, true);
            }
            if word.len() < piece.len() {
                self.gap = self.gap.max(PendingGap::Space);
            }
            at += piece.len();
        }
    }

    /// Displays `text` instead of `bytes`, if all of them are in the range.
    fn instead(&mut self, bytes: Range<usize>, text: &str) {
        if self.range.start <= bytes.start && bytes.end <= self.range.end {
            if text.chars().all(char::is_whitespace) {
                self.gap = self.gap.max(PendingGap::Space);
            } else {
                self.push(bytes, text, false);
            }
        }
    }

    fn push(&mut self, source: Range<usize>, text: &str, is_verbatim: bool) {
        let DisplayedText { text: shown, runs } = &mut self.shown;
        let gap = std::mem::replace(&mut self.gap, PendingGap::Nothing);
        if !shown.is_empty() {
            shown.push_str(match gap {
                PendingGap::Nothing => "",
                PendingGap::Space => " ",
                PendingGap::Cell => " · ",
                PendingGap::Line => "\n",
            });
        }
        let at = shown.len()..shown.len() + text.len();
        shown.push_str(text);
        if is_verbatim
            && let Some(last) = runs.last_mut()
            && last.is_verbatim
            && source.start - last.source.end == at.start - last.shown.end
            && at.start - last.shown.end <= 1
        {
            (last.source.end, last.shown.end) = (source.end, at.end);
        } else {
            runs.push(DisplayedRun { source, shown: at, is_verbatim });
        }
    }
}

/// True for white space that Markdown collapses; other spaces, such as a no-break space, are displayed.
const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

#[cfg(test)]
mod tests;
