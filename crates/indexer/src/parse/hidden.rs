//! Comments (`%%`), math (`$`, `$$`) and HTML code: stretches of a body in which nothing counts.

use std::ops::Range;

use memchr::memchr2;

/// A delimiter in prose: code and HTML have none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) kind: MarkKind,
    /// Its first byte.
    at: usize,
    /// The run of text it stands in.
    leaf: usize,
}

/// What a delimiter begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkKind {
    /// `%%`.
    Comment,
    /// `$$`.
    Display,
    /// `$`.
    Inline,
}

impl Mark {
    /// The same mark `bytes` and `leaves` further on: found in a passage that was read for itself.
    pub(super) const fn moved(self, bytes: usize, leaves: usize) -> Self {
        let Self { kind, at, leaf } = self;
        Self { kind, at: at + bytes, leaf: leaf + leaves }
    }
}

/// Adds the delimiters of the text in `range`, which belongs to the run `leaf`.
pub(super) fn marks(body: &str, range: Range<usize>, leaf: usize, marks: &mut Vec<Mark>) {
    let bytes = &body.as_bytes()[range.clone()];
    let mut at = 0;
    while let Some(step) = memchr2(b'%', b'$', &bytes[at..]) {
        at += step;
        let doubled = bytes.get(at + 1) == Some(&bytes[at]);
        let kind = match (bytes[at], doubled) {
            (b'%', true) => Some(MarkKind::Comment),
            (b'$', true) => Some(MarkKind::Display),
            (b'$', false) => Some(MarkKind::Inline),
            (_, _) => None,
        };
        let start = range.start + at;
        if let Some(kind) = kind
            && !is_escaped(body, start)
        {
            marks.push(Mark { kind, at: start, leaf });
        }
        at += 1 + usize::from(doubled);
    }
}

/// Whether an odd number of backslashes stands before `at`.
fn is_escaped(body: &str, at: usize) -> bool {
    body.as_bytes()[..at].iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

/// The stretches in which nothing counts.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    /// Ascending, apart from each other.
    ranges: Vec<Range<usize>>,
    /// Those that are comments, likewise.
    comments: Vec<Range<usize>>,
    /// Where a block comment begins that nothing ends.
    pub(super) open_comment: Option<usize>,
}

impl Hidden {
    /// Whether the byte `at` lies inside one. `O(log stretches)`.
    pub(super) fn covers(&self, at: usize) -> bool {
        let next = self.ranges.partition_point(|range| range.end <= at);
        self.ranges.get(next).is_some_and(|range| range.start <= at)
    }

    /// Whether all of `bytes` lie inside one.
    pub(super) fn holds(&self, bytes: &Range<usize>) -> bool {
        let next = self.ranges.partition_point(|range| range.end < bytes.end);
        self.ranges.get(next).is_some_and(|range| range.start <= bytes.start)
    }

    /// The text of `pieces`, each with the bytes it stands in, but for what is a comment.
    pub(super) fn without_comments(&self, pieces: &[(String, Range<usize>)]) -> String {
        let mut kept = String::new();
        for (text, bytes) in pieces {
            let mut at = bytes.start;
            let cut = |from: usize, to: usize| {
                // Where escapes are undone a place in the text is not told by one in the body.
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

/// Pairs the delimiters that do not stand in `code`, stretches of the body. `O(n log n)`.
///
/// A pair lies in one run of text; `%%` and `$$` at the front of a line may also end in a later one.
/// One that nothing ends hides nothing.
pub(super) fn ranges(body: &str, mut marks: Vec<Mark>, code: Vec<Range<usize>>) -> Hidden {
    let code = Hidden { ranges: apart(code), ..Hidden::default() };
    marks.retain(|mark| !code.covers(mark.at));
    marks.sort_by_key(|mark| mark.at);
    let next = next_of_kind(&marks);
    let mut hidden = Hidden::default();
    let mut i = 0;
    while let Some(&mark) = marks.get(i) {
        let pair = next[i].map(|j| (j, marks[j]));
        let closing = pair.filter(|(_, end)| match mark.kind {
            MarkKind::Comment | MarkKind::Display => {
                end.leaf == mark.leaf || begins_line(body, mark.at)
            }
            MarkKind::Inline => end.leaf == mark.leaf && is_math(body, mark.at, end.at),
        });
        if mark.kind == MarkKind::Comment && pair.is_none() && begins_line(body, mark.at) {
            hidden.open_comment = Some(mark.at);
        }
        match closing {
            Some((j, end)) => {
                let range = mark.at..end.at + 2 - usize::from(end.kind == MarkKind::Inline);
                hidden.comments.extend((mark.kind == MarkKind::Comment).then(|| range.clone()));
                hidden.ranges.push(range);
                i = j + 1;
            }
            None => i += 1,
        }
    }
    hidden.ranges.extend(code.ranges);
    hidden.ranges = apart(hidden.ranges);
    hidden
}

/// The same stretches ascending and apart from each other.
fn apart(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
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

/// For each mark the index of the next one of its kind.
fn next_of_kind(marks: &[Mark]) -> Vec<Option<usize>> {
    let mut last = [None; 3];
    let mut next = vec![None; marks.len()];
    for (i, mark) in marks.iter().enumerate().rev() {
        next[i] = last[mark.kind as usize].replace(i);
    }
    next
}

/// Whether nothing but the marks of quotes and lists stands before `at` on its line.
fn begins_line(body: &str, at: usize) -> bool {
    let before = &body.as_bytes()[..at];
    before
        .iter()
        .rev()
        .take_while(|byte| !matches!(byte, b'\n' | b'\r'))
        .all(|byte| matches!(byte, b' ' | b'\t' | b'>' | b'-' | b'*' | b'+'))
}

/// Whether two `$` enclose math: no space inside the ends, and no digit after, as in `$5 or ($6)`.
fn is_math(body: &str, start: usize, end: usize) -> bool {
    let inner = &body[start + 1..end];
    let after = body.as_bytes().get(end + 1);
    !inner.starts_with(char::is_whitespace)
        && !inner.ends_with(char::is_whitespace)
        && !after.is_some_and(u8::is_ascii_digit)
}
