//! Passage list: the passages of a body as stored in the index, with their places among the positions of the text.
//!
//! Encoding: five numbers for each passage, all relative to the previous passage so that they take few bits: characters skipped, length in characters, positions from the previous start, words, and the heading (`32 · positions + level`, plus 8 if no text follows it; or 0), plus 16 for a list of links.
//! Two more numbers follow: positions from the last start to the end of the body, and from there to the tags.

use std::ops::Range;

use weft_model::text::CharCounter;
use weft_model::{BodyPassage, Span};

use super::analyzer::{Token, TokenKind};

/// Numbers for each passage.
const N_NUMBERS: usize = 5;

/// Numbers after the last passage.
const N_TRAILING: usize = 2;

/// Records the positions of passages while their body is analyzed.
pub(super) struct PassageMarks<'n> {
    passages: &'n [BodyPassage],
    /// Texts of the passages that only list links, ascending.
    lists: &'n [Range<usize>],
    /// Starts of passages and of the text below their headings, in bytes, each with the position of its first token.
    marks: Vec<Mark>,
    n_passed: usize,
    n_words: Vec<u64>,
}

struct Mark {
    byte: usize,
    position: Option<u32>,
    begins_passage: bool,
}

impl<'n> PassageMarks<'n> {
    pub(super) fn new(passages: &'n [BodyPassage], lists: &'n [Range<usize>]) -> Self {
        let mut marks = Vec::with_capacity(passages.len() + 8);
        for BodyPassage { bytes, heading } in passages {
            let mark = |byte, begins_passage| Mark { byte, position: None, begins_passage };
            marks.push(mark(bytes.start, true));
            marks.extend(heading.map(|heading| mark(heading.end, false)));
        }
        Self { passages, lists, marks, n_passed: 0, n_words: Vec::with_capacity(passages.len()) }
    }

    /// Notes the position of the next token of the body, given the byte at which it is written. Parts of compounds have positions of their own and are passed over.
    #[inline]
    pub(super) fn pass(&mut self, token: &Token<'_>, written_at: usize, position: u32) {
        if token.kind == TokenKind::Part {
            return;
        }
        while let Some(mark) = self.marks.get_mut(self.n_passed)
            && mark.byte <= written_at
        {
            mark.position = Some(position);
            if mark.begins_passage {
                self.n_words.push(0);
            }
            self.n_passed += 1;
        }
        if let Some(n_words) = self.n_words.last_mut() {
            *n_words += u64::from(token.kind == TokenKind::Word);
        }
    }

    /// Returns the encoded list, given the position after the body and that of the first tag.
    pub(super) fn finish(self, body: &str, body_end: u32, tags: u32) -> Vec<u64> {
        let Self { passages, lists, marks, n_passed: _, n_words } = self;
        let mut numbers = Vec::with_capacity(passages.len() * N_NUMBERS + N_TRAILING);
        let mut counter = CharCounter::new(body);
        let (mut last_char, mut last_position) = (0, 0);
        let mut positions = marks.iter().map(|mark| mark.position.unwrap_or(body_end));
        let mut lists = lists.iter().peekable();
        for (passage_idx, passage) in passages.iter().enumerate() {
            let BodyPassage { bytes, heading } = passage;
            let is_list = lists.next_if(|list| **list == passage.text_bytes()).is_some();
            let span = counter.span(bytes.clone());
            let start = positions.next().unwrap_or(body_end);
            let heading = heading.map_or(0, |heading| {
                let end = positions.next().unwrap_or(body_end);
                let is_bare = u64::from(passage.is_bare(body));
                u64::from(end.saturating_sub(start)) << 5
                    | is_bare << 3
                    | u64::from(heading.level & 7)
            });
            numbers.extend([
                u64::from(span.start - last_char),
                u64::from(span.len()),
                u64::from(start.saturating_sub(last_position)),
                n_words.get(passage_idx).copied().unwrap_or(0),
                heading | u64::from(is_list) << 4,
            ]);
            (last_char, last_position) = (span.end, start);
        }
        if !passages.is_empty() {
            numbers.push(u64::from(body_end.saturating_sub(last_position)));
            numbers.push(u64::from(tags.saturating_sub(body_end)));
        }
        numbers
    }
}

/// The passages of a note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PassageList {
    pub(super) passages: Vec<StoredPassage>,
    /// Positions of the body.
    pub(super) body: Range<u32>,
    /// Position of the first tag.
    pub(super) tags: u32,
}

/// A passage of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredPassage {
    pub(super) span: Span,
    /// Position of its first word.
    pub(super) start: u32,
    pub(super) n_words: u32,
    /// Position after its heading; `start` without a heading.
    pub(super) heading_end: u32,
    /// The passage that begins with the nearest heading above this one.
    pub(super) above: Option<usize>,
    /// True if the passage has no text besides a heading.
    pub(super) is_bare: bool,
    /// True if its text only lists links.
    pub(super) is_link_list: bool,
}

impl PassageList {
    /// Returns the number of passages in a list of `n_numbers` numbers.
    pub(super) const fn n_passages(n_numbers: usize) -> usize {
        n_numbers / N_NUMBERS
    }

    /// Decodes a list; `None` if it is invalid.
    pub(super) fn read(mut numbers: impl Iterator<Item = u64>) -> Option<Self> {
        let n_passages = Self::n_passages(numbers.size_hint().0);
        let mut next = || numbers.next().map(|number| u32::try_from(number).ok());
        let mut list = Self { passages: Vec::with_capacity(n_passages), ..Self::default() };
        let (mut char, mut position) = (0_u32, 0_u32);
        // Open sections: level, and the passage that begins with the heading.
        let mut sections: Vec<(u32, usize)> = Vec::new();
        let Some(mut first) = next() else { return Some(list) };
        loop {
            let (skipped, second) = (first?, next()??);
            let Some(delta) = next() else {
                list.body.end = position.checked_add(skipped)?;
                list.tags = list.body.end.checked_add(second)?;
                return Some(list);
            };
            let (start, end) = (char.checked_add(skipped)?, second);
            let end = start.checked_add(end)?;
            position = position.checked_add(delta?)?;
            let (n_words, heading) = (next()??, next()??);
            let passage_idx = list.passages.len();
            let (level, is_bare, n_heading) = (heading & 7, heading & 8 != 0, heading >> 5);
            if level > 0 {
                while sections.pop_if(|(above, _)| *above >= level).is_some() {}
            }
            list.passages.push(StoredPassage {
                span: Span::new(start, end),
                start: position,
                n_words,
                heading_end: position.checked_add(n_heading)?,
                above: sections.last().map(|(_, above)| *above),
                is_bare,
                is_link_list: heading & 16 != 0,
            });
            if level > 0 {
                sections.push((level, passage_idx));
            }
            if passage_idx == 0 {
                list.body.start = position;
            }
            char = end;
            first = next()?;
        }
    }

    /// Returns the number of words of a note of `length` words that are in no passage: those of its title and other names.
    pub(super) fn n_words_outside(&self, length: u32) -> u32 {
        let n_in_body: u32 = self.passages.iter().map(|passage| passage.n_words).sum();
        length.saturating_sub(n_in_body)
    }

    /// True if a passage contains a word, stop words included.
    pub(super) fn has_words(&self, passage_idx: usize) -> bool {
        let end = self.passages.get(passage_idx + 1).map_or(self.body.end, |next| next.start);
        self.passages[passage_idx].start < end
    }

    /// Returns the index of the passage that contains `position`; `None` outside the body.
    pub(super) fn passage_at(&self, position: u32) -> Option<usize> {
        if !self.body.contains(&position) {
            return None;
        }
        self.passages.partition_point(|passage| passage.start <= position).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_round_trip() {
        let numbers = [2, 7, 17, 3, 32 * 2 + 1, 1, 10, 4, 5, 16, 1, 5, 6, 2, 32 + 8 + 2, 9, 16];
        let list = PassageList::read(numbers.into_iter()).unwrap();
        let passage = |span: Range<u32>, start, n_words, heading_end, above| StoredPassage {
            span: Span::new(span.start, span.end),
            start,
            n_words,
            heading_end,
            above,
            is_bare: span.end == 26,
            is_link_list: span.end == 20,
        };
        let expected = vec![
            passage(2..9, 17, 3, 19, None),
            passage(10..20, 21, 5, 21, Some(0)),
            passage(21..26, 27, 2, 28, Some(0)),
        ];
        assert_eq!((list.passages.clone(), list.body.clone(), list.tags), (expected, 17..36, 52));
        let at = [16, 17, 20, 21, 27, 35, 36].map(|position| list.passage_at(position));
        assert_eq!(at, [None, Some(0), Some(0), Some(1), Some(2), Some(2), None]);
        assert_eq!(PassageList::n_passages(numbers.len()), 3);
        assert_eq!(PassageList::read([].into_iter()), Some(PassageList::default()));
        for n_numbers in (1..numbers.len()).filter(|n_numbers| n_numbers % N_NUMBERS != N_TRAILING)
        {
            assert_eq!(
                PassageList::read(numbers[..n_numbers].iter().copied()),
                None,
                "{n_numbers}"
            );
        }
        assert_eq!(PassageList::read([u64::MAX; 7].into_iter()), None);
    }
}
