//! Finds comments (`%%`), math (`$`, `$$`) and HTML code: ranges of a body that are ignored.

use std::ops::Range;

use memchr::memchr2;

/// A delimiter in prose; code and HTML contain no delimiters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delimiter {
    pub(super) kind: DelimiterKind,
    /// Its first byte.
    at: usize,
    /// The text run that contains it.
    run_id: usize,
}

/// The construct that a delimiter begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DelimiterKind {
    /// `%%`.
    Comment,
    /// `$$`.
    Display,
    /// `$`.
    Inline,
}

impl Delimiter {
    /// Shifts a delimiter found in a separately parsed range by `bytes` and `run_ids`.
    pub(super) const fn moved(self, bytes: usize, run_ids: usize) -> Self {
        let Self { kind, at, run_id } = self;
        Self { kind, at: at + bytes, run_id: run_id + run_ids }
    }
}

/// Adds the delimiters of the text in `range`, which belongs to text run `run_id`.
pub(super) fn delimiters(
    body: &str,
    range: Range<usize>,
    run_id: usize,
    delimiters: &mut Vec<Delimiter>,
) {
    let bytes = &body.as_bytes()[range.clone()];
    let mut at = 0;
    while let Some(step) = memchr2(b'%', b'$', &bytes[at..]) {
        at += step;
        let doubled = bytes.get(at + 1) == Some(&bytes[at]);
        let kind = match (bytes[at], doubled) {
            (b'%', true) => Some(DelimiterKind::Comment),
            (b'$', true) => Some(DelimiterKind::Display),
            (b'$', false) => Some(DelimiterKind::Inline),
            (_, _) => None,
        };
        let start = range.start + at;
        if let Some(kind) = kind
            && !is_escaped(body, start)
        {
            delimiters.push(Delimiter { kind, at: start, run_id });
        }
        at += 1 + usize::from(doubled);
    }
}

/// Returns true if an odd number of backslashes precedes `at`.
fn is_escaped(body: &str, at: usize) -> bool {
    body.as_bytes()[..at].iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

/// Ranges that are ignored.
#[derive(Debug, Default)]
pub(super) struct HiddenRanges {
    /// Ascending and disjoint.
    ranges: Vec<Range<usize>>,
    /// The comments among them, ascending and disjoint.
    comments: Vec<Range<usize>>,
    /// The start byte of a block comment that is never closed.
    pub(super) open_comment: Option<usize>,
}

impl HiddenRanges {
    /// Returns true if byte `at` is in a hidden range. `O(log ranges)`.
    pub(super) fn covers(&self, at: usize) -> bool {
        let next = self.ranges.partition_point(|range| range.end <= at);
        self.ranges.get(next).is_some_and(|range| range.start <= at)
    }

    /// Returns true if all of `bytes` is in one hidden range.
    pub(super) fn holds(&self, bytes: &Range<usize>) -> bool {
        let next = self.ranges.partition_point(|range| range.end < bytes.end);
        self.ranges.get(next).is_some_and(|range| range.start <= bytes.start)
    }

    /// Joins the text of `pieces` (each with its byte range), leaving out comments.
    pub(super) fn without_comments(&self, pieces: &[(String, Range<usize>)]) -> String {
        let mut kept = String::new();
        for (text, bytes) in pieces {
            let mut at = bytes.start;
            let cut = |from: usize, to: usize| {
                // Resolved escapes shift the text, so an offset in the body is then not one in the text.
                let is_whole = (from, to) == (bytes.start, bytes.end);
                if is_whole {
                    Some(&**text)
                } else {
                    text.get(from - bytes.start..to - bytes.start)
                }
            };
            let first = self.comments.partition_point(|comment| comment.end <= at);
            let within = self.comments[first..].iter();
            for comment in within.take_while(|comment| comment.start < bytes.end) {
                kept.push_str(cut(at, comment.start.max(at)).unwrap_or_default());
                at = comment.end.min(bytes.end);
            }
            kept.push_str(cut(at, bytes.end).unwrap_or_default());
        }
        kept
    }
}

/// Pairs the delimiters outside `code`. `O(n log n)`.
///
/// A pair is in one text run; a `%%` or `$$` at the start of a line may also be closed in a later run.
/// An unclosed delimiter hides nothing.
pub(super) fn ranges(
    body: &str,
    mut delimiters: Vec<Delimiter>,
    code: Vec<Range<usize>>,
) -> HiddenRanges {
    let code = HiddenRanges { ranges: merged(code), ..HiddenRanges::default() };
    delimiters.retain(|delimiter| !code.covers(delimiter.at));
    delimiters.sort_by_key(|delimiter| delimiter.at);
    let next = next_of_kind(&delimiters);
    let mut hidden = HiddenRanges::default();
    let mut i = 0;
    while let Some(&delimiter) = delimiters.get(i) {
        let pair = next[i].map(|j| (j, delimiters[j]));
        let closing = pair.filter(|(_, end)| match delimiter.kind {
            DelimiterKind::Comment | DelimiterKind::Display => {
                end.run_id == delimiter.run_id || begins_line(body, delimiter.at)
            }
            DelimiterKind::Inline => {
                end.run_id == delimiter.run_id && is_math(body, delimiter.at, end.at)
            }
        });
        if delimiter.kind == DelimiterKind::Comment
            && pair.is_none()
            && begins_line(body, delimiter.at)
        {
            hidden.open_comment = Some(delimiter.at);
        }
        match closing {
            Some((j, end)) => {
                let range =
                    delimiter.at..end.at + 2 - usize::from(end.kind == DelimiterKind::Inline);
                hidden
                    .comments
                    .extend((delimiter.kind == DelimiterKind::Comment).then(|| range.clone()));
                hidden.ranges.push(range);
                i = j + 1;
            }
            None => i += 1,
        }
    }
    hidden.ranges.extend(code.ranges);
    hidden.ranges = merged(hidden.ranges);
    hidden
}

/// Sorts ranges and merges those that touch.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, range| {
        let touch = next.start <= range.end;
        if touch {
            range.end = range.end.max(next.end);
        }
        touch
    });
    ranges
}

/// Returns, for each delimiter, the index of the next one of its kind.
fn next_of_kind(delimiters: &[Delimiter]) -> Vec<Option<usize>> {
    let mut last = [None; 3];
    let mut next = vec![None; delimiters.len()];
    for (i, delimiter) in delimiters.iter().enumerate().rev() {
        next[i] = last[delimiter.kind as usize].replace(i);
    }
    next
}

/// Returns true if only markers of quotes and lists precede `at` on its line.
fn begins_line(body: &str, at: usize) -> bool {
    let before = &body.as_bytes()[..at];
    before
        .iter()
        .rev()
        .take_while(|byte| !matches!(byte, b'\n' | b'\r'))
        .all(|byte| matches!(byte, b' ' | b'\t' | b'>' | b'-' | b'*' | b'+'))
}

/// Returns true if two `$` enclose math: no space inside the ends, and no digit after, as in `$5 or ($6)`.
fn is_math(body: &str, start: usize, end: usize) -> bool {
    let inner = &body[start + 1..end];
    let after = body.as_bytes().get(end + 1);
    !inner.starts_with(char::is_whitespace)
        && !inner.ends_with(char::is_whitespace)
        && !after.is_some_and(u8::is_ascii_digit)
}
