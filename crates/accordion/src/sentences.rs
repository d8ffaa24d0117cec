//! Sentences: where a passage may be cut.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;
use weft_model::Span;
use weft_model::text::{CharCounter, sentences};

/// Length of a word in characters above which it may be cut, for text without any boundary.
const MAX_WORD_CHARS: usize = 60;

/// Returns the sentences of `bytes`, in text order and without white space around them; lines end a sentence. A heading, a number, a mark or the first line of a code block belongs to the sentence after it.
pub(crate) fn units(body: &str, bytes: Range<usize>) -> Vec<Range<usize>> {
    let (mut units, mut carried): (Vec<Range<usize>>, Option<usize>) = (Vec::new(), None);
    let (mut start, last) = (bytes.start, bytes.end);
    for line in body[bytes].split_inclusive('\n') {
        let line_start = start;
        start += line.len();
        let mut begun: Option<usize> = None;
        for (at, text) in sentences(line) {
            let at = line_start + at;
            let range = at + text.len() - text.trim_start().len()..at + text.trim_end().len();
            if range.start >= range.end {
                continue;
            }
            let first = *begun.get_or_insert(range.start);
            // The number of a list item says nothing alone, nor does a heading or the language of a code block.
            let says_nothing = is_heading(&body[first..]) || is_fence(&body[first..]);
            if body[range.clone()].contains(char::is_alphabetic) && !says_nothing {
                units.push(carried.take().unwrap_or(first)..range.end);
                begun = None;
            }
        }
        if let Some(first) = begun {
            carried.get_or_insert(first);
        }
    }
    if let Some(first) = carried {
        let rest = body[first..last].trim_end();
        match units.last_mut() {
            Some(unit) => unit.end = unit.end.max(first + rest.len()),
            None => units.push(first..first + rest.len()),
        }
    }
    units
}

/// True if a line is a heading in ATX syntax.
fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    (1..=6).contains(&level) && text.starts_with(' ')
}

/// True if a line begins or ends a code block.
fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

/// Returns the index of the unit with the most matches of different length and place, the first of equals; `None` without units.
///
/// `matches` are character spans from byte `start` of the body.
pub(crate) fn best_unit(
    body: &str,
    units: &[Range<usize>],
    start: usize,
    matches: &[Span],
) -> Option<usize> {
    let mut counter = CharCounter::new(&body[start..]);
    let weights = units.iter().map(|unit| {
        let span = counter.span(unit.start - start..unit.end - start);
        let inside = matches.iter().filter(|it| span.start <= it.start && it.end <= span.end);
        inside.map(|it| it.len()).sum::<u32>()
    });
    let best = weights.enumerate().reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map(|(at, _)| at)
}

/// Returns the ends of the words of `bytes`, ascending. A very long word also ends between its graphemes.
pub(crate) fn word_ends(body: &str, bytes: Range<usize>) -> Vec<usize> {
    let mut ends = Vec::new();
    let words = body[bytes.clone()].split_word_bound_indices();
    for (at, word) in words.filter(|(_, word)| !word.trim().is_empty()) {
        let at = bytes.start + at;
        if word.chars().count() > MAX_WORD_CHARS {
            ends.extend(word.grapheme_indices(true).skip(1).map(|(within, _)| at + within));
        }
        ends.push(at + word.len());
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_and_lines_are_units() {
        let body =
            "Ferns like shade. Moss too!\n- an item\n\n漢字。句子。\n# Head\n\n2. Two of them.\n3.";
        let texts = |units: Vec<Range<usize>>| -> Vec<&str> {
            units.into_iter().map(|unit| &body[unit]).collect()
        };
        let all = units(body, 0..body.len());
        let expected = [
            "Ferns like shade.",
            "Moss too!",
            "- an item",
            "漢字。",
            "句子。",
            "# Head\n\n2. Two of them.\n3.",
        ];
        assert_eq!(texts(all.clone()), expected);
        let code = "Run it:\n\n```sh\nweft serve\n```\n\nDone.";
        let of_code = units(code, 0..code.len()).into_iter().map(|unit| &code[unit]);
        assert!(of_code.eq(["Run it:", "```sh\nweft serve", "```\n\nDone."]));
        let best = |matches: &[Span]| best_unit(body, &all, 0, matches);
        assert_eq!(best(&[]), Some(0));
        assert_eq!(best(&[Span::new(18, 22)]), Some(1));
        assert_eq!(best(&[Span::new(0, 5), Span::new(18, 22)]), Some(0));
        assert_eq!(best_unit(body, &[], 0, &[]), None);
    }

    #[test]
    fn words_end_at_boundaries() {
        let body = "one, two";
        assert_eq!(word_ends(body, 0..body.len()), [3, 4, 8]);
        let long = "x".repeat(200);
        assert_eq!(word_ends(&long, 0..200).len(), 200);
    }
}
