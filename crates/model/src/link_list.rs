//! Lists of links: parts of a body that consist of links to other notes, as under a heading such as "Related".
//!
//! Their words are names of other notes. They say what the note is connected with rather than what it is about, so they count less in a search.

use std::ops::Range;

use crate::Link;
use crate::text::byte_of_char;

/// Places of the links of a body.
#[derive(Clone, Debug, Default)]
pub struct LinkPlaces {
    /// In bytes, ascending, without overlaps.
    places: Vec<Range<usize>>,
}

impl LinkPlaces {
    /// Finds the places of `links` in `body`. `O(bytes + links · log links)`.
    #[must_use]
    pub fn new(body: &str, links: &[Link]) -> Self {
        let mut spans: Vec<_> = links.iter().filter_map(|link| link.span).collect();
        spans.sort_unstable_by_key(|span| (span.start, span.end));
        let mut places: Vec<Range<usize>> = Vec::with_capacity(spans.len());
        let (mut byte, mut char) = (0, 0);
        for span in spans {
            if span.start < char {
                continue;
            }
            let start = byte + byte_of_char(&body[byte..], (span.start - char) as usize);
            let end = start + byte_of_char(&body[start..], span.len() as usize);
            places.push(start..end);
            (byte, char) = (end, span.end);
        }
        Self { places }
    }

    /// True if `bytes` of `body` hold links, and no words except those of links, numbers of list items and check boxes.
    #[must_use]
    pub fn is_list(&self, body: &str, bytes: Range<usize>) -> bool {
        let first = self.places.partition_point(|place| place.start < bytes.start);
        let within = self.places[first..].iter().take_while(|place| place.end <= bytes.end);
        let mut start = bytes.start;
        let mut n_links = 0;
        for place in within {
            if has_words(&body[start..place.start]) {
                return false;
            }
            start = place.end;
            n_links += 1;
        }
        n_links > 0 && !has_words(&body[start..bytes.end])
    }
}

/// True if a text between links contains a word; the marker of a list item and its check box are not words.
fn has_words(text: &str) -> bool {
    let is_marker = |text: &str| {
        let box_mark = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let number = text.strip_suffix(['.', ')']);
        box_mark.is_some_and(|mark| mark.chars().count() <= 1)
            || number.is_some_and(|n| n.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_word = |text: &str| text.chars().any(char::is_alphanumeric) && !is_marker(text);
    text.split_whitespace().any(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkSource, Span, Target, TargetSyntax};

    /// Finds every `[[link]]` of a body.
    fn links(body: &str) -> Vec<Link> {
        let at = |byte: usize| u32::try_from(body[..byte].chars().count()).unwrap();
        let starts = body.match_indices("[[").map(|(start, _)| start);
        let spans = starts.map(|start| {
            let end = start + body[start..].find("]]").unwrap() + 2;
            Span::new(at(start), at(end))
        });
        let link = |span| Link {
            kind: crate::link::INLINE_TYPE.to_owned(),
            source: LinkSource::Inline,
            target: Target { name: "fern".to_owned(), syntax: TargetSyntax::Wikilink },
            fragment: None,
            display: None,
            span: Some(span),
        };
        spans.map(link).collect()
    }

    #[test]
    fn lists_have_no_words_of_their_own() {
        for (body, expected) in [
            ("- [[fern]]\n- [[moss]]\n", true),
            ("1. [[fern]]\n2) [[Wald é]], [[moss]]\n", true),
            ("* [ ] [[fern]]\n* [x] [[moss]] ✓", true),
            ("[[fern]] · [[moss]]", true),
            ("- [[fern]] likes shade", false),
            ("see [[fern]]", false),
            ("[[fern]]s", false),
            ("- a list\n- without links", false),
            ("", false),
        ] {
            let places = LinkPlaces::new(body, &links(body));
            assert_eq!(places.is_list(body, 0..body.len()), expected, "{body:?}");
        }
    }

    #[test]
    fn only_links_within_the_part_count() {
        let body = "Über [[fern]].\n\n- [[moss]]\n- [[wood]]";
        let places = LinkPlaces::new(body, &links(body));
        let list = body.find("- ").unwrap();
        assert!(places.is_list(body, list..body.len()));
        assert!(!places.is_list(body, 0..list));
        assert!(!places.is_list(body, list..list + 2));
        assert!(!LinkPlaces::new(body, &[]).is_list(body, list..body.len()));
    }
}
