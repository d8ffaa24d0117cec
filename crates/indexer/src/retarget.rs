//! Links of a file, pointed elsewhere.
//!
//! The text is edited where links stand, and read again: an edit counts only if it changed the targets it was meant to change and nothing else.

use std::borrow::Cow;
use std::ops::Range;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use weft_model::id::without_markdown_extension;
use weft_model::text::nfc;
use weft_model::{Link, NotePath};

use crate::offsets::Offsets;
use crate::parse::{ParseOptions, read};

/// What a Markdown destination may not hold as it is.
const ESCAPED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'(').add(b')').add(b'<').add(b'>').add(b'#').add(b'%');

/// A file whose links point elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Retargeted {
    /// The new text.
    pub(crate) text: String,
    /// Links that were changed.
    pub(crate) n_links: usize,
    /// Links that should have been and are written in a way that cannot be changed safely.
    pub(crate) n_left: usize,
}

/// What becomes of a link when its note moves, or the one it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It leads where it led.
    Kept,
    /// It would lead elsewhere, and does not under this name.
    Renamed(String),
    /// It leads elsewhere under any name.
    Lost,
}

/// The links of a text, those to files that are no notes after the others, and its body.
fn links(path: &NotePath, text: &str, options: &ParseOptions) -> (Vec<Link>, String) {
    let mut read = read(path, text.as_bytes(), options);
    read.note.links.append(&mut read.files);
    (read.note.links, read.note.body)
}

/// Points the links of `text` at the names that `fate` gives, by the link's place among all of the note, those to files that are no notes last; nothing where none is to change.
pub(crate) fn retarget(
    path: &NotePath,
    text: &str,
    options: &ParseOptions,
    fate: impl Fn(usize, &Link) -> Fate,
) -> Option<Retargeted> {
    let (mut wishes, mut n_lost) = (Vec::new(), 0);
    for (at, link) in links(path, text, options).0.iter().enumerate() {
        match fate(at, link) {
            Fate::Kept => {}
            Fate::Renamed(name) => wishes.push((at, name)),
            Fate::Lost => n_lost += 1,
        }
    }
    if wishes.is_empty() && n_lost == 0 {
        return None;
    }
    let mut now = text.to_owned();
    let mut n_links = 0;
    // From the last to the first, so that what stands before keeps its place.
    for (at, name) in wishes.iter().rev() {
        let (known, body) = links(path, &now, options);
        let Some(link) = known.get(*at) else { continue };
        if link.target.name == *name {
            // A definition or a property that several links share was changed with another of them.
            n_links += 1;
            continue;
        }
        let body_start = now.len() - body.len();
        let places = candidates(&now, body_start, &body, link).into_iter();
        let tried = places.filter(|place| may_name(&now, place, link)).find_map(|place| {
            let edited = edit(&now, place, name)?;
            let read = links(path, &edited, options).0;
            is_meant(&known, &read, *at, name, &wishes).then_some(edited)
        });
        if let Some(edited) = tried {
            (now, n_links) = (edited, n_links + 1);
        }
    }
    Some(Retargeted { text: now, n_links, n_left: wishes.len() - n_links + n_lost })
}

/// Whether `after` is `before` but for the link at `at` and others with its target, which were meant to have the name they have now.
fn is_meant(
    before: &[Link],
    after: &[Link],
    at: usize,
    name: &str,
    wishes: &[(usize, String)],
) -> bool {
    let link = &before[at];
    let unmoved = |link: &Link| Link { span: None, ..link.clone() };
    let mut pairs = before.iter().zip(after).enumerate();
    before.len() == after.len()
        && pairs.all(|(at, (old, new))| {
            let (old, new) = (unmoved(old), unmoved(new));
            let mut renamed = old.clone();
            name.clone_into(&mut renamed.target.name);
            let was_meant = || wishes.iter().any(|(wished, to)| *wished == at && to == name);
            old == new || (old.target == link.target && new == renamed && was_meant())
        })
        && after.get(at).is_some_and(|new| new.target.name == name)
}

/// Whether what stands at a place may be the target of `link`: to try each place means to read all of the text again.
fn may_name(text: &str, place: &Place, link: &Link) -> bool {
    let written = text.get(place.bytes.clone()).unwrap_or_default();
    let decoded = match place.manner {
        Manner::Plain => Cow::Borrowed(written),
        Manner::Encoded => percent_decode_str(written).decode_utf8().unwrap_or_default(),
    };
    let name = nfc(decoded.trim()).replace('\\', "/");
    let name = without_markdown_extension(&name).trim_end_matches('/');
    // What is escaped in Markdown or YAML, or by character references, is not told from here.
    name == link.target.name || written.contains(['\\', '&'])
}

/// How a name is written at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// As it is.
    Plain,
    /// Percent-encoded.
    Encoded,
}

/// Bytes of a text that name a target.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    bytes: Range<usize>,
    manner: Manner,
}

/// Where the target of `link` may be written, the likeliest first.
fn candidates(text: &str, body_start: usize, body: &str, link: &Link) -> Vec<Place> {
    match link.span {
        Some(span) => {
            let bytes = Offsets::new(body).bytes(span);
            let at = body_start + bytes.start..body_start + bytes.end;
            let mut places = in_links(text, at);
            places.extend(definitions(text, body_start).into_iter().rev());
            places
        }
        None => {
            let mut places = in_links(text, 0..body_start);
            places.extend(scalars(&text[..body_start], &link.target.name));
            // Links are changed from the last on.
            places.reverse();
            places
        }
    }
}

/// The destinations of wikilinks and Markdown links within `range`.
fn in_links(text: &str, range: Range<usize>) -> Vec<Place> {
    let passage = &text[range.clone()];
    let mut places = Vec::new();
    for (at, _) in passage.match_indices("[[") {
        let inner = at + 2;
        let end = passage[inner..].find("]]").map_or(passage.len(), |end| inner + end);
        let name = passage[inner..end].split(['|', '#']).next().unwrap_or_default();
        // In a table the bar is escaped.
        let name = name.strip_suffix('\\').unwrap_or(name);
        let start = range.start + inner;
        places.push(Place { bytes: start..start + name.len(), manner: Manner::Plain });
    }
    for (at, _) in passage.match_indices("](") {
        places.extend(destination(text, range.start + at + 2));
    }
    places
}

/// The destinations of reference definitions of the body.
fn definitions(text: &str, body_start: usize) -> Vec<Place> {
    let marks = text[body_start..].match_indices("]:");
    let starts = marks.map(|(at, _)| {
        let at = body_start + at + 2;
        at + (text[at..].len() - text[at..].trim_start().len())
    });
    starts.filter_map(|start| destination(text, start)).collect()
}

/// A Markdown destination that begins at `start`, without its fragment.
fn destination(text: &str, start: usize) -> Option<Place> {
    let rest = &text[start..];
    let (start, rest, manner, end) = match rest.strip_prefix('<') {
        Some(inner) => (start + 1, inner, Manner::Plain, inner.find('>')?),
        None => {
            let mut depth = 0_i32;
            let end = rest.find(|c: char| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                c.is_whitespace() || depth < 0
            });
            (start, rest, Manner::Encoded, end.unwrap_or(rest.len()))
        }
    };
    let end = rest[..end].find('#').unwrap_or(end);
    (end > 0).then_some(Place { bytes: start..start + end, manner })
}

/// Where `name` stands as a plain value of the frontmatter, with or without extension.
fn scalars(frontmatter: &str, name: &str) -> Vec<Place> {
    let ends = |byte: Option<char>| {
        byte.is_none_or(|c| {
            c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ']' | '}' | ':' | '.')
        })
    };
    let begins = |byte: Option<char>| {
        byte.is_some_and(|c| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | '{' | '-'))
    };
    let found = frontmatter.match_indices(name).filter(|(at, _)| {
        begins(frontmatter[..*at].chars().next_back())
            && ends(frontmatter[at + name.len()..].chars().next())
    });
    let place = |(at, _): (usize, &str)| {
        let rest = &frontmatter[at..];
        let end = rest.find(['\n', '"', '\'', ',', ']', '}']).unwrap_or(rest.len());
        let written = rest[..end].trim_end();
        let n_bytes =
            if without_markdown_extension(written) == name { written.len() } else { name.len() };
        Place { bytes: at..at + n_bytes, manner: Manner::Plain }
    };
    found.map(place).collect()
}

/// The text with `name` at a place, with an extension where one was; nothing where the name cannot be written there.
fn edit(text: &str, place: Place, name: &str) -> Option<String> {
    let Place { bytes, manner } = place;
    let old = text.get(bytes.clone())?;
    let bare = old.trim();
    let extension = &bare[without_markdown_extension(bare).len()..];
    let written = match manner {
        Manner::Plain => format!("{name}{extension}"),
        Manner::Encoded => format!("{}{extension}", utf8_percent_encode(name, ESCAPED)),
    };
    Some([&text[..bytes.start], &written, &text[bytes.end..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(text: &str, from: &str, to: &str) -> (String, usize, usize) {
        let fate = |_, link: &Link| {
            if link.target.name == from { Fate::Renamed(to.to_owned()) } else { Fate::Kept }
        };
        let path = NotePath::new("x.md");
        match retarget(&path, text, &ParseOptions::default(), fate) {
            Some(Retargeted { text, n_links, n_left }) => (text, n_links, n_left),
            None => (text.to_owned(), 0, 0),
        }
    }

    #[test]
    fn links_are_rewritten_in_every_syntax_and_nothing_else_is() {
        let cases = [
            ("wikilink", "see [[moss]].", "see [[fern]].", 1),
            ("with all its parts", "![[moss#Wet|the moss]]", "![[fern#Wet|the moss]]", 1),
            ("with an extension", "[[moss.md|m]] moss", "[[fern.md|m]] moss", 1),
            ("several", "[[moss]] [[stone]] [[moss#a]]", "[[fern]] [[stone]] [[fern#a]]", 2),
            ("markdown", "[moss](moss.md \"moss\")", "[moss](fern.md \"moss\")", 1),
            ("in angles", "[a](<moss.md#b>)", "[a](<fern.md#b>)", 1),
            ("reference", "[a][m]\n\n[m]: moss.md\n", "[a][m]\n\n[m]: fern.md\n", 1),
            (
                "one definition for two",
                "[a][m] [b][m]\n\n[m]: moss.md\n",
                "[a][m] [b][m]\n\n[m]: fern.md\n",
                2,
            ),
            ("code", "`[[moss]]` [[moss]]", "`[[moss]]` [[fern]]", 1),
            ("an accent before it", "Añejo [[moss]]", "Añejo [[fern]]", 1),
            (
                "frontmatter",
                "---\ntopics: \"[[moss]]\"\nmoss: no\n---\n",
                "---\ntopics: \"[[fern]]\"\nmoss: no\n---\n",
                1,
            ),
            (
                "frontmatter, a list",
                "---\ntopics:\n  - \"[[moss|m]]\"\n  - moss\n---\n",
                "---\ntopics:\n  - \"[[fern|m]]\"\n  - moss\n---\n",
                1,
            ),
            (
                "frontmatter, plain",
                "---\ntitle: moss\nparent: moss\n---\n",
                "---\ntitle: moss\nparent: fern\n---\n",
                1,
            ),
            (
                "properties with the same link",
                "---\nup: \"[[moss]]\"\nsee: \"[[moss]]\"\n---\n",
                "---\nup: \"[[fern]]\"\nsee: \"[[fern]]\"\n---\n",
                2,
            ),
            (
                "entries with the same link",
                "---\nlinks: [{id: moss}, {to: moss}, {type: a, id: moss}]\n---\n",
                "---\nlinks: [{id: fern}, {to: fern}, {type: a, id: fern}]\n---\n",
                3,
            ),
            (
                "definitions of the same",
                "[a][1] [b][2]\n\n[1]: moss.md\n[2]: moss.md#h\n",
                "[a][1] [b][2]\n\n[1]: fern.md\n[2]: fern.md#h\n",
                2,
            ),
            (
                "frontmatter, entries of links",
                "---\nlinks: [{type: supports, id: moss}]\n---\nmoss\n",
                "---\nlinks: [{type: supports, id: fern}]\n---\nmoss\n",
                1,
            ),
            (
                "CRLF and a mark at the start",
                "\u{feff}---\r\nup: \"[[moss]]\"\r\n---\r\n[[moss]]\r\n",
                "\u{feff}---\r\nup: \"[[fern]]\"\r\n---\r\n[[fern]]\r\n",
                2,
            ),
        ];
        for (name, text, expected, n_links) in cases {
            assert_eq!(moved(text, "moss", "fern"), (expected.to_owned(), n_links, 0), "{name}");
        }
    }

    #[test]
    fn a_name_is_written_as_its_place_allows() {
        let cases = [
            ("[a](moss.md)", "a b/(c)", "[a](a%20b/%28c%29.md)", 1, 0),
            ("[a](<moss.md>)", "a b/c", "[a](<a b/c.md>)", 1, 0),
            ("[[moss]]", "a b/c", "[[a b/c]]", 1, 0),
            // A bar would end the name: the link is left, and said to be.
            ("[[moss]]", "a|b", "[[moss]]", 0, 1),
        ];
        for (text, to, expected, n_links, n_left) in cases {
            assert_eq!(moved(text, "moss", to), (expected.to_owned(), n_links, n_left), "{text}");
        }
    }
}
