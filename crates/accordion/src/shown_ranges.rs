//! Shown ranges: the parts of a body that a context contains, joined where only white space lies between them.

use std::ops::Range;

use weft_model::text::CharCounter;
use weft_model::{Heading, is_delimiter_row};

use crate::render::{Run, below_title};

/// Maximum distance in bytes at which the head of a table is looked for.
const MAX_TABLE_BYTES: usize = 32 << 10;

/// Maximum length in bytes of the head of a table that is repeated above its later rows.
const MAX_HEAD_BYTES: usize = 400;

/// Counts lines at ascending positions.
#[derive(Default)]
pub(crate) struct LineCounter {
    byte: usize,
    n_newlines: u32,
}

impl LineCounter {
    /// Returns the line that contains `byte`, or ends there; the first is 1.
    pub(crate) fn line(&mut self, body: &str, byte: usize) -> u32 {
        if byte < self.byte {
            *self = Self::default();
        }
        let newlines = body.as_bytes()[self.byte..byte].iter().filter(|it| **it == b'\n').count();
        self.n_newlines += u32::try_from(newlines).unwrap_or(u32::MAX);
        self.byte = byte;
        self.n_newlines + 1
    }
}

/// Adds a range to ascending ranges, with the head of the table that it begins in, and joins those with only white space between them.
pub(crate) fn with_range(
    body: &str,
    ranges: &[Range<usize>],
    added: Range<usize>,
) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = ranges.to_vec();
    all.extend(table_head(body, added.start));
    all.push(added);
    all.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(all.len());
    for range in all {
        match joined.last_mut() {
            Some(last)
                if range.start <= last.end || body[last.end..range.start].trim().is_empty() =>
            {
                last.end = last.end.max(range.end);
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// Returns the row of column names and the row of dashes below it, if `byte` is in a later row of their table.
fn table_head(body: &str, byte: usize) -> Option<Range<usize>> {
    let line_start = |end: usize| body[..end].rfind('\n').map_or(0, |newline| newline + 1);
    let is_row = |line: &str| line.contains('|');
    let floor = byte.saturating_sub(MAX_TABLE_BYTES);
    let mut end = line_start(byte);
    if !body[end..].lines().next().is_some_and(is_row) {
        return None;
    }
    let mut head = None;
    while end > floor {
        let start = line_start(end - 1);
        let line = &body[start..end];
        if !is_row(line) {
            break;
        }
        // A row of dashes may also be one of the table; the first one counts.
        if is_delimiter_row(line) && start > 0 {
            let names = line_start(start - 1);
            head = is_row(&body[names..start]).then_some(names..end).or(head);
        }
        end = start;
    }
    head.filter(|head| head.len() <= MAX_HEAD_BYTES)
}

/// True if the shown ranges contain all of `range` except white space at its ends.
pub(crate) fn covers(body: &str, shown: &[Range<usize>], range: &Range<usize>) -> bool {
    let text = &body[range.clone()];
    let (start, end) = (range.end - text.trim_start().len(), range.start + text.trim_end().len());
    start >= end || shown.iter().any(|it| it.start <= start && end <= it.end)
}

/// Returns the shown parts of a body, each with the headings above it.
pub(crate) fn runs<'b>(
    body: &'b str,
    headings: &[Heading],
    title: &str,
    shown: &[Range<usize>],
) -> Vec<Run<'b>> {
    let mut counter = CharCounter::new(body);
    let run = |bytes: &Range<usize>| {
        let span = counter.span(bytes.clone());
        // A heading at the start of the run speaks for itself.
        let own = headings.iter().any(|heading| heading.span.start == span.start);
        let mut path = Heading::path(headings, span.start);
        if own {
            path.pop();
        }
        Run { text: &body[bytes.clone()], path: below_title(title, &path).to_vec() }
    };
    shown.iter().map(run).collect()
}
