//! Snippets: blocks of a body around the query's matches.

use weft_model::{Heading, Span, longest};

use crate::Mode;
use crate::grapheme_cut;
use crate::note_content::Content;

/// Maximum number of matches tried before the beginning of the body is shown.
const MAX_TRIED: usize = 16;

/// Content of a snippet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// The surroundings of these matches, ascending; never empty.
    Matches(Vec<Span>),
    /// The beginning of this passage.
    Passage(Span),
}

impl Anchor {
    /// Returns the maximum block length in a body of `n_chars`.
    fn widest(&self, block_chars: u32, n_chars: u32) -> u32 {
        match self {
            Self::Matches(_) => block_chars.min(n_chars),
            Self::Passage(passage) => block_chars.min(passage.len()),
        }
    }

    /// Returns blocks of `size` characters in text order; touching blocks are joined.
    fn blocks(&self, size: u32, n_chars: u32) -> Vec<Span> {
        let matches = match self {
            Self::Matches(matches) => matches,
            Self::Passage(passage) => {
                return vec![Span::new(passage.start, passage.start + size.min(passage.len()))];
            }
        };
        let mut blocks: Vec<Span> = vec![];
        for window in matches.iter().map(|&found| window(found, size, n_chars)) {
            match blocks.last_mut() {
                Some(last) if window.start <= last.end => last.end = last.end.max(window.end),
                Some(_) | None => blocks.push(window),
            }
        }
        blocks
    }

    /// Returns the first match that starts in `block`, else the start of the block: the position whose headings are shown.
    fn place_in(&self, block: Span) -> u32 {
        match self {
            Self::Matches(matches) => {
                let inside = |found: &&Span| (block.start..block.end).contains(&found.start);
                matches.iter().find(inside).map_or(block.start, |found| found.start)
            }
            Self::Passage(_) => block.start,
        }
    }

    /// Returns the next anchor to try if this one shows nothing: the matches after the first, then the beginning of the body.
    fn next(self, n_tried: usize, n_chars: u32) -> Option<Self> {
        let head = Span::new(0, n_chars);
        match self {
            Self::Matches(mut matches) if matches.len() > 1 && n_tried < MAX_TRIED => {
                matches.remove(0);
                Some(Self::Matches(matches))
            }
            Self::Matches(_) => Some(Self::Passage(head)),
            Self::Passage(passage) => (passage != head).then_some(Self::Passage(head)),
        }
    }

    /// Returns the first block of `size` characters, not joined with others.
    fn first_block(&self, size: u32, n_chars: u32) -> Span {
        match self {
            Self::Matches(matches) => {
                window(matches.first().copied().unwrap_or_default(), size, n_chars)
            }
            Self::Passage(passage) => Span::new(passage.start, passage.start + size),
        }
    }
}

/// Returns `size` characters around `found`: start = match − ⌊(size − match length) / 2⌋, shifted to stay inside the body.
///
/// The beginning of a longer match is shown, which is more useful than its middle.
fn window(found: Span, size: u32, n_chars: u32) -> Span {
    let size = size.min(n_chars);
    let margin = size.saturating_sub(found.len()) / 2;
    let start = found.start.saturating_sub(margin).min(n_chars - size);
    Span::new(start, start + size)
}

/// Returns the blocks around `anchor` that fit, in text order; `None` if not even the first one fits.
///
/// A block has `block_chars` characters, or as many as fit around the first match.
/// The first joined block may be cut, the others are whole.
/// A block inside one grapheme cluster shows nothing; then the next match is tried, and finally the beginning of the body.
pub(crate) fn snippet<'b>(
    body: &'b str,
    n_chars: u32,
    headings: &[Heading],
    anchor: Anchor,
    block_chars: u32,
    fits: &mut dyn FnMut(&Content<'b>) -> bool,
) -> Option<Content<'b>> {
    let mut anchor = anchor;
    let mut n_tried = 1;
    loop {
        match around(body, n_chars, headings, &anchor, block_chars, fits) {
            SnippetOutcome::Content(content) => return Some(content),
            SnippetOutcome::NoRoom => return None,
            SnippetOutcome::Nothing => anchor = anchor.next(n_tried, n_chars)?,
        }
        n_tried += 1;
    }
}

/// Result of cutting blocks around an anchor.
enum SnippetOutcome<'b> {
    Content(Content<'b>),
    /// Not even one character fits.
    NoRoom,
    /// The part that fits contains no whole grapheme cluster.
    Nothing,
}

fn around<'b>(
    body: &'b str,
    n_chars: u32,
    headings: &[Heading],
    anchor: &Anchor,
    block_chars: u32,
    fits: &mut dyn FnMut(&Content<'b>) -> bool,
) -> SnippetOutcome<'b> {
    let content = |spans: &[Span], truncated: bool| {
        let excerpts = grapheme_cut::excerpts(body, spans);
        let first = excerpts.first().and_then(|excerpt| excerpt.span);
        let heading_path =
            first.map_or_else(Vec::new, |block| Heading::path(headings, anchor.place_in(block)));
        Content { mode: Mode::Snippet, excerpts, truncated, heading_path }
    };
    let widest = anchor.widest(block_chars, n_chars);
    if widest == 0 {
        let empty = content(&[], false);
        return if fits(&empty) { SnippetOutcome::Content(empty) } else { SnippetOutcome::NoRoom };
    }
    let size = longest(widest as usize, widest as usize, |size| {
        fits(&content(&[anchor.first_block(chars(size), n_chars)], true))
    });
    let size = chars(size);
    if size == 0 {
        return SnippetOutcome::NoRoom;
    }
    if content(&[anchor.first_block(size, n_chars)], true).excerpts.is_empty() {
        return SnippetOutcome::Nothing;
    }
    let blocks = anchor.blocks(size, n_chars);
    let whole =
        |n_blocks: usize| content(&blocks[..n_blocks], size < widest || n_blocks < blocks.len());
    let n_blocks = longest(blocks.len(), 1, |n| fits(&whole(n)));
    if n_blocks > 0 {
        return SnippetOutcome::Content(whole(n_blocks));
    }
    // The window around the first match fits, so the kept part of its block contains that match.
    let joined = blocks[0];
    let cut =
        |n_kept: usize| content(&[Span::new(joined.start, joined.start + chars(n_kept))], true);
    SnippetOutcome::Content(cut(longest(joined.len() as usize, size as usize, |n| fits(&cut(n)))))
}

/// Converts a number of characters of a body, whose length always fits in a span.
fn chars(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_is_centered_and_stays_inside() {
        let cases = [
            ("centred", Span::new(1000, 1010), 500, 2000, Span::new(755, 1255)),
            ("odd margin rounds down", Span::new(1000, 1001), 500, 2000, Span::new(751, 1251)),
            ("at the front", Span::new(10, 20), 500, 2000, Span::new(0, 500)),
            ("at the end", Span::new(1990, 2000), 500, 2000, Span::new(1500, 2000)),
            ("body shorter than a block", Span::new(3, 5), 500, 40, Span::new(0, 40)),
            ("match longer than a block", Span::new(10, 20), 5, 100, Span::new(10, 15)),
        ];
        for (name, found, size, n_chars, expected) in cases {
            assert_eq!(window(found, size, n_chars), expected, "{name}");
        }
    }

    fn texts(
        body: &str,
        anchor: &Anchor,
        block_chars: u32,
        room: usize,
    ) -> Option<(Vec<String>, bool)> {
        let n_chars = u32::try_from(body.chars().count()).unwrap();
        let mut fits = |content: &Content<'_>| content.text().chars().count() <= room;
        snippet(body, n_chars, &[], anchor.clone(), block_chars, &mut fits).map(|content| {
            (
                content.excerpts.iter().map(|excerpt| excerpt.text.to_owned()).collect(),
                content.truncated,
            )
        })
    }

    #[test]
    fn blocks_join_and_are_included_while_they_fit() {
        let body = "0123456789abcdefghijklmnopqrstuvwxyzABCD";
        let at = |places: &[u32]| {
            Anchor::Matches(places.iter().map(|&place| Span::new(place, place + 2)).collect())
        };
        type Case<'c> = (&'c str, Anchor, usize, Option<(&'c [&'c str], bool)>);
        let cases: &[Case<'_>] = &[
            ("one", at(&[10]), 40, Some((&["89abcd"], false))),
            ("two apart", at(&[10, 20]), 40, Some((&["89abcd", "ijklmn"], false))),
            ("touching join", at(&[10, 16]), 40, Some((&["89abcdefghij"], false))),
            ("one character between", at(&[10, 17]), 40, Some((&["89abcd", "fghijk"], false))),
            ("the second does not fit", at(&[10, 20]), 11, Some((&["89abcd"], true))),
            (
                "none after one that does not fit",
                at(&[2, 10, 16, 38]),
                13,
                Some((&["012345"], true)),
            ),
            ("a joined first is cut", at(&[10, 16]), 8, Some((&["89abcdef"], true))),
            ("allowance below a block", at(&[10]), 4, Some((&["9abc"], true))),
            ("no allowance", at(&[10]), 0, None),
            ("passage", Anchor::Passage(Span::new(10, 30)), 40, Some((&["abcdef"], false))),
            ("short passage", Anchor::Passage(Span::new(10, 13)), 40, Some((&["abc"], false))),
            ("cut passage", Anchor::Passage(Span::new(10, 30)), 4, Some((&["abcd"], true))),
        ];
        for (name, anchor, room, expected) in cases {
            let expected = expected.map(|(texts, truncated)| {
                (texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>(), truncated)
            });
            assert_eq!(texts(body, anchor, 6, *room), expected, "{name}");
        }
    }

    #[test]
    fn match_inside_a_cluster_gives_way_to_the_next() {
        let marks = "\u{301}".repeat(20);
        let body = format!("a{marks} and a{marks} then abc, no more");
        let at =
            |text: &str| u32::try_from(body[..body.find(text).unwrap()].chars().count()).unwrap();
        let first = Span::new(0, 1);
        let second = Span::new(at("and a") + 4, at("and a") + 5);
        let third = Span::new(at("abc"), at("abc") + 3);
        let cases = [
            ("the next match", vec![first, third], " abc, "),
            ("and the next", vec![first, first, third], " abc, "),
            ("no other", vec![first], ""),
            ("part of the surroundings", vec![second, third], "d "),
        ];
        for (name, matches, expected) in cases {
            let found = texts(&body, &Anchor::Matches(matches), 6, 40);
            let found = found.map_or_else(String::new, |(texts, _)| texts[0].clone());
            assert_eq!(found, expected, "{name}");
        }
        // A body with another beginning shows that beginning.
        let body = format!("ab a{marks}");
        let found = texts(&body, &Anchor::Matches(vec![Span::new(23, 24)]), 6, 40);
        assert_eq!(found, Some((vec!["ab ".to_owned()], false)));
    }

    #[test]
    fn heading_path_is_that_of_the_match() {
        let body = "# One\nlong text\n# Two\nfern and fern\n";
        let headings = [("One", 0), ("Two", 16)].map(|(text, start)| Heading {
            level: 1,
            text: text.into(),
            span: Span::new(start, start + 5),
        });
        let cases = [
            ("around the match", Anchor::Matches(vec![Span::new(22, 26)]), "Two"),
            ("the first of two", Anchor::Matches(vec![Span::new(6, 10), Span::new(22, 26)]), "One"),
            ("no match", Anchor::Passage(Span::new(10, 30)), "One"),
        ];
        for (name, anchor, expected) in cases {
            let found = snippet(body, 36, &headings, anchor, 30, &mut |_| true).unwrap();
            assert_eq!(found.heading_path, [expected], "{name}: {:?}", found.text());
        }
    }

    #[test]
    fn empty_body_gives_an_empty_snippet() {
        assert_eq!(texts("", &Anchor::Passage(Span::default()), 500, 10), Some((vec![], false)));
    }
}
