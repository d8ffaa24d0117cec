//! Snippets: blocks of a body around what was asked for.

use weft_model::{Heading, Span};

use crate::Mode;
use crate::content::{Content, heading_path};
use crate::cut;

/// What a snippet shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// The surroundings of these matches; never empty, ascending.
    Matches(Vec<Span>),
    /// The head of this passage.
    Passage(Span),
}

impl Anchor {
    /// The longest block worth having, in a body of `n_chars`.
    fn widest(&self, block_chars: u32, n_chars: u32) -> u32 {
        match self {
            Self::Matches(_) => block_chars.min(n_chars),
            Self::Passage(passage) => block_chars.min(passage.len()),
        }
    }

    /// Blocks of `size` characters in text order, those that touch joined.
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

    /// The first block of `size` characters, not joined with others.
    fn first_block(&self, size: u32, n_chars: u32) -> Span {
        match self {
            Self::Matches(matches) => {
                window(matches.first().copied().unwrap_or_default(), size, n_chars)
            }
            Self::Passage(passage) => Span::new(passage.start, passage.start + size),
        }
    }
}

/// `size` characters around `found`: start = match − ⌊(size − match length) / 2⌋, shifted to stay inside the body.
fn window(found: Span, size: u32, n_chars: u32) -> Span {
    let size = size.min(n_chars);
    let margin = (i64::from(size) - i64::from(found.len())).div_euclid(2);
    let start = (i64::from(found.start) - margin).clamp(0, i64::from(n_chars - size));
    let start = u32::try_from(start).unwrap_or(0);
    Span::new(start, start + size)
}

/// The blocks around `anchor` that fit, in text order; nothing where not even the first does.
///
/// A block has `block_chars` characters, or as many as fit around the first match.
/// The first joined block may be cut, the others are whole.
pub(crate) fn snippet<'b>(
    body: &'b str,
    n_chars: u32,
    headings: &[Heading],
    anchor: &Anchor,
    block_chars: u32,
    fits: &mut dyn FnMut(&Content<'b>) -> bool,
) -> Option<Content<'b>> {
    let content = |spans: &[Span], truncated: bool| {
        let pieces = cut::pieces(body, spans);
        let start = pieces.first().and_then(|piece| piece.span).map_or(0, |span| span.start);
        let heading_path = if pieces.is_empty() { vec![] } else { heading_path(headings, start) };
        Content { mode: Mode::Snippet, pieces, truncated, heading_path }
    };
    let widest = anchor.widest(block_chars, n_chars);
    if widest == 0 {
        return Some(content(&[], false)).filter(|empty| fits(empty));
    }
    let size = cut::longest(widest as usize, widest as usize, |size| {
        fits(&content(&[anchor.first_block(chars(size), n_chars)], true))
    });
    let size = chars(size);
    let first = content(&[anchor.first_block(size, n_chars)], true);
    if size == 0 || first.pieces.is_empty() {
        return None;
    }
    let blocks = anchor.blocks(size, n_chars);
    let whole =
        |n_blocks: usize| content(&blocks[..n_blocks], size < widest || n_blocks < blocks.len());
    let n_blocks = cut::longest(blocks.len(), 1, |n| fits(&whole(n)));
    if n_blocks > 0 {
        return Some(whole(n_blocks));
    }
    // The window around the first match fits, so what is kept of its block holds that match.
    let joined = blocks[0];
    let cut =
        |n_kept: usize| content(&[Span::new(joined.start, joined.start + chars(n_kept))], true);
    Some(cut(cut::longest(joined.len() as usize, size as usize, |n| fits(&cut(n)))))
}

/// A number of characters of one body, which is never longer than a span can say.
fn chars(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_centred_and_stays_inside() {
        let cases = [
            ("centred", Span::new(1000, 1010), 500, 2000, Span::new(755, 1255)),
            ("odd margin rounds down", Span::new(1000, 1001), 500, 2000, Span::new(751, 1251)),
            ("at the front", Span::new(10, 20), 500, 2000, Span::new(0, 500)),
            ("at the end", Span::new(1990, 2000), 500, 2000, Span::new(1500, 2000)),
            ("body shorter than a block", Span::new(3, 5), 500, 40, Span::new(0, 40)),
            ("match longer than a block", Span::new(10, 20), 5, 100, Span::new(13, 18)),
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
        snippet(body, n_chars, &[], anchor, block_chars, &mut fits).map(|content| {
            (content.pieces.iter().map(|piece| piece.text.to_owned()).collect(), content.truncated)
        })
    }

    #[test]
    fn blocks_join_and_are_taken_while_they_fit() {
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
    fn an_empty_body_is_an_empty_snippet() {
        assert_eq!(texts("", &Anchor::Passage(Span::default()), 500, 10), Some((vec![], false)));
    }
}
