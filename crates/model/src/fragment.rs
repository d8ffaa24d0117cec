//! Fragments: the part of a note that a link names after a `#`.

use std::collections::HashMap;

use crate::text::percent_decoded;
use crate::{Block, Heading, Span, fold};

/// Maximum number of parts into which a fragment is split at its `#`; headings have six levels.
const MAX_PARTS: usize = 8;

/// Maximum number of characters between an id and the braces around it.
const MAX_ATTRIBUTES: usize = 256;

/// Maximum number of places that are examined for one id, such as examples in code.
const MAX_IDS: usize = 16;

/// The part of a body that a fragment names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPart {
    /// The heading with everything below it, or the block, in characters of the body.
    pub span: Span,
    /// Fragments that name the other headings which match equally well, in text order.
    pub others: Vec<String>,
}

/// Form in which the texts of headings are compared, from the most exact one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadingForm {
    /// The text, case-folded.
    Text,
    /// The words between punctuation, as Obsidian writes links to headings.
    Words,
    /// The anchor that GitHub derives: `some-heading`, and `some-heading-1` for the next heading with this text.
    Anchor,
}

impl HeadingForm {
    const ALL: [Self; 3] = [Self::Text, Self::Words, Self::Anchor];

    /// Returns the keys of headings in this form.
    fn keys(self, headings: &[Heading]) -> Vec<String> {
        match self {
            Self::Text | Self::Words => {
                headings.iter().map(|heading| self.key(&heading.text)).collect()
            }
            Self::Anchor => anchors(headings),
        }
    }

    /// Returns the key that a written text must equal.
    fn key(self, text: &str) -> String {
        let text = fold(text.trim());
        match self {
            Self::Text => one_line(&text),
            Self::Words => one_line(&text.replace(is_link_punctuation, " ")),
            Self::Anchor => text,
        }
    }
}

/// Returns the section that `fragment`, without its leading `#`, names in a body of `n_chars` characters; `None` if there is no such heading or block.
///
/// `^id` names a block.
/// A heading is named by its text, or by texts of headings above it followed by its own: `Install#Linux`.
/// Spellings are tried in this order: the text in any case, its words without punctuation (Obsidian), and its anchor (GitHub), where `-1`, `-2` distinguish repeated headings.
/// Each is first compared with the whole fragment and then with its parts, since a heading may contain `#`.
/// A fragment that names nothing as it is written is decoded as the end of an address: `Some%20Heading`.
/// `page=3`, as links to PDF files are written, names the heading `Page 3`; further parameters (`page=3&zoom=100`) are ignored.
#[must_use]
pub fn section(
    fragment: &str,
    headings: &[Heading],
    blocks: &[Block],
    n_chars: u32,
) -> Option<NamedPart> {
    let named = |fragment: &str| section_as_written(fragment, headings, blocks, n_chars);
    named(fragment).or_else(|| {
        let decoded = percent_decoded(fragment);
        if decoded == fragment { None } else { named(&decoded) }
    })
}

fn section_as_written(
    fragment: &str,
    headings: &[Heading],
    blocks: &[Block],
    n_chars: u32,
) -> Option<NamedPart> {
    if let Some(id) = block_id(fragment) {
        let exact = blocks.iter().find(|block| block.id == id);
        let block = exact.or_else(|| blocks.iter().find(|block| fold(&block.id) == fold(id)))?;
        return Some(NamedPart { span: block.span, others: Vec::new() });
    }
    let found = HeadingChains::new(without_view(fragment), headings).matches();
    let (first, others) = found.split_first()?;
    let anchors = if others.is_empty() { Vec::new() } else { anchors(headings) };
    Some(NamedPart {
        span: with_all_below(headings, *first, n_chars),
        others: others.iter().map(|at| anchors[*at].clone()).collect(),
    })
}

/// Returns the part below the heading with an id in braces, as in `# Text {#id}` of Pandoc, kramdown and MkDocs.
#[must_use]
pub fn section_with_id(id: &str, headings: &[Heading], body: &str) -> Option<NamedPart> {
    let is_id = |at: usize| {
        let (before, after) = (&body[..at], &body[at + 1 + id.len()..]);
        let ends = |c: &char| matches!(c, '{' | '}' | '\n');
        let opening = before.chars().rev().take(MAX_ATTRIBUTES).find(ends);
        let closing = after.chars().take(MAX_ATTRIBUTES).find(ends);
        (opening, closing) == (Some('{'), Some('}'))
            && before.ends_with(['{', ' ', ':'])
            && after.starts_with(['}', ' '])
    };
    let n_chars = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    let written = format!("#{id}");
    let found = body.match_indices(&written).map(|(at, _)| at).filter(|at| is_id(*at));
    let first = found.take(MAX_IDS).map(|at| n_chars(&body[..at])).find_map(|char| {
        headings.iter().position(|Heading { span, .. }| span.start <= char && char < span.end)
    })?;
    let span = with_all_below(headings, first, n_chars(body));
    Some(NamedPart { span, others: Vec::new() })
}

/// Returns the span of a heading with everything below it.
fn with_all_below(headings: &[Heading], at: usize, n_chars: u32) -> Span {
    let Heading { level, span, .. } = &headings[at];
    let next = headings[at + 1..].iter().find(|heading| heading.level <= *level);
    Span::new(span.start, next.map_or(n_chars, |heading| heading.span.start))
}

/// Returns true if a fragment names a block: `^id`, also after headings.
#[must_use]
pub fn names_block(fragment: &str) -> bool {
    block_id(fragment).is_some()
}

fn block_id(fragment: &str) -> Option<&str> {
    fragment.rsplit('#').next().unwrap_or(fragment).trim().strip_prefix('^')
}

/// Returns `page=3` without the parameters that follow it; any other fragment unchanged.
fn without_view(fragment: &str) -> &str {
    let page = fragment.split_once('&').map(|(page, _)| page);
    page.filter(|page| page.starts_with("page=")).unwrap_or(fragment)
}

/// The headings of a note, compared with the parts of a fragment.
struct HeadingChains<'f> {
    parts: Vec<&'f str>,
    /// The position of the heading above each heading.
    above: Vec<Option<usize>>,
    headings: &'f [Heading],
}

impl<'f> HeadingChains<'f> {
    fn new(fragment: &'f str, headings: &'f [Heading]) -> Self {
        let mut open: Vec<usize> = Vec::new();
        let above = headings.iter().enumerate().map(|(at, heading)| {
            open.retain(|above| headings[*above].level < heading.level);
            let above = open.last().copied();
            open.push(at);
            above
        });
        Self { parts: fragment.splitn(MAX_PARTS, '#').collect(), above: above.collect(), headings }
    }

    /// Returns the positions of the headings that match in the most exact form, with the fewest parts.
    fn matches(&self) -> Vec<usize> {
        let mut keys: Vec<Vec<String>> = Vec::new();
        for n_forms in 1..=HeadingForm::ALL.len() {
            keys.push(HeadingForm::ALL[n_forms - 1].keys(self.headings));
            let wanted = self.wanted(n_forms);
            let is_named = |at: usize, parts: (usize, usize)| {
                let mut forms = keys.iter().zip(&wanted[&parts]);
                forms.any(|(keys, wanted)| keys[at] == *wanted && !wanted.is_empty())
            };
            let n_parts = |at| Some((self.n_parts(at, self.parts.len(), &is_named)?, at));
            let found: Vec<(usize, usize)> = (0..self.headings.len()).filter_map(n_parts).collect();
            if let Some(fewest) = found.iter().map(|(n, _)| *n).min() {
                let fewest = found.into_iter().filter(|(n, _)| *n == fewest);
                return fewest.map(|(_, at)| at).collect();
            }
        }
        Vec::new()
    }

    /// Returns the keys of each range of parts in the first `n_forms` forms.
    fn wanted(&self, n_forms: usize) -> HashMap<(usize, usize), Vec<String>> {
        let n = self.parts.len();
        let ranges = (0..n).flat_map(|start| (start + 1..=n).map(move |end| (start, end)));
        let keys = |(start, end): (usize, usize)| {
            let text = self.parts[start..end].join("#");
            HeadingForm::ALL[..n_forms].iter().map(|form| form.key(&text)).collect()
        };
        ranges.map(|range| (range, keys(range))).collect()
    }

    /// Returns the number of texts into which the first `end` parts divide such that the last names the heading `at`, and those before it headings above it, in order; `None` if they do not.
    fn n_parts(
        &self,
        at: usize,
        end: usize,
        is_named: &impl Fn(usize, (usize, usize)) -> bool,
    ) -> Option<usize> {
        let mut starts = (0..end).filter(|start| is_named(at, (*start, end)));
        starts.find_map(|start| {
            if start == 0 {
                return Some(1);
            }
            let mut above = std::iter::successors(self.above[at], |above| self.above[*above]);
            above.find_map(|above| Some(self.n_parts(above, start, is_named)? + 1))
        })
    }
}

/// Returns the anchors of headings, which are distinct.
///
/// Source: `github-slugger` 2.0, the rules of GitHub's Markdown pages.
#[must_use]
pub fn anchors(headings: &[Heading]) -> Vec<String> {
    let mut uses: HashMap<String, usize> = HashMap::new();
    let anchor = |heading: &Heading| {
        let bare = anchor(&heading.text);
        let mut own = bare.clone();
        while uses.contains_key(&own) {
            let n_uses = uses.entry(bare.clone()).or_default();
            *n_uses += 1;
            own = format!("{bare}-{n_uses}");
        }
        uses.insert(own.clone(), 0);
        own
    };
    headings.iter().map(anchor).collect()
}

/// Returns the anchor of a heading that no other heading shares: letters, digits, marks, `_` and `-` in lower case, with a `-` for each space.
fn anchor(text: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c if c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c) => Some(c),
        _ => None,
    };
    fold(text).chars().filter_map(kept).collect()
}

/// Returns true for the characters that Obsidian replaces by spaces in links to headings.
const fn is_link_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() && !matches!(c, '-' | '_' | '\'')
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Headings at consecutive tens: `##` and the text.
    fn headings(lines: &[&str]) -> Vec<Heading> {
        let heading = |(at, line): (u32, &&str)| {
            let text = line.trim_start_matches('#');
            let level = u8::try_from(line.len() - text.len()).unwrap();
            let span = Span::new(at * 10, at * 10 + 9);
            Heading { level, text: text.trim().to_owned(), span }
        };
        (0..).zip(lines).map(heading).collect()
    }

    #[test]
    fn fragment_names_heading_with_everything_below_it() {
        let lines = [
            "# A",                   // 0
            "## Setup",              // 10
            "# B",                   // 20
            "## Setup",              // 30
            "### Linux",             // 40
            "## Setup: part 1",      // 50
            "# Some Heading!",       // 60
            "## Open items #urgent", // 70
            "## C# tips",            // 80
            "# Größe & Maß",         // 90
            "### Deep",              // 100
            "# *[x]* `y|z` it's",    // 110
        ];
        let headings = headings(&lines);
        let cases: &[(&str, Option<(u32, u32)>)] = &[
            ("A", Some((0, 20))),
            ("a", Some((0, 20))),
            ("B#Setup", Some((30, 50))),
            ("A#Setup", Some((10, 20))),
            ("b # setup # linux", Some((40, 50))),
            ("B#Linux", Some((40, 50))),
            ("Linux", Some((40, 50))),
            ("A#Linux", None),
            ("Setup#B", None),
            ("Nope#Setup", None),
            ("Nope", None),
            ("Setup part 1", Some((50, 60))),
            ("B#Setup part 1", Some((50, 60))),
            ("setup-part-1", Some((50, 60))),
            ("some-heading", Some((60, 90))),
            ("some heading", Some((60, 90))),
            ("Some%20Heading%21", Some((60, 90))),
            ("B#Setup%20part%201", Some((50, 60))),
            ("Some%FFHeading", None),
            ("setup", Some((10, 20))),
            ("setup-1", Some((30, 50))),
            ("b#setup-1", Some((30, 50))),
            ("setup-2", None),
            ("Open items #urgent", Some((70, 80))),
            ("Some Heading!#Open items #urgent", Some((70, 80))),
            ("C# tips", Some((80, 90))),
            ("Some heading#C# tips", Some((80, 90))),
            ("c-tips", Some((80, 90))),
            ("größe--maß", Some((90, 110))),
            ("Größe Maß#Deep", Some((100, 110))),
            ("x y z it's", Some((110, 200))),
            ("", None),
            ("#", None),
        ];
        for (fragment, expected) in cases {
            let span = section(fragment, &headings, &[], 200).map(|found| found.span);
            assert_eq!(span.map(|span| (span.start, span.end)), *expected, "{fragment}");
        }
    }

    #[test]
    fn id_in_braces_names_its_heading() {
        let body = "# A {#a .wide}\n## B {: #b-1 }\ntext {#c}\n# `{#d}` {#e}\n## D #f\n";
        let mut start = 0;
        let headings: Vec<Heading> = body
            .split_inclusive('\n')
            .filter_map(|line| {
                let n_chars = u32::try_from(line.len()).unwrap();
                let span = Span::new(start, start + n_chars - 1);
                start += n_chars;
                let level = u8::try_from(line.len() - line.trim_start_matches('#').len()).unwrap();
                (level > 0).then(|| Heading { level, text: String::new(), span })
            })
            .collect();
        for (id, expected) in [
            ("a", Some((0, 40))),
            ("b-1", Some((15, 40))),
            ("b", None),
            ("c", None),
            ("e", Some((40, 62))),
            ("f", None),
            ("", None),
        ] {
            let span = section_with_id(id, &headings, body).map(|found| found.span);
            assert_eq!(span.map(|span| (span.start, span.end)), expected, "{id}");
        }
    }

    #[test]
    fn page_of_a_pdf_file_is_named_by_its_number() {
        let headings = headings(&["## Page 1", "## Page 2", "## Page 12"]);
        let start = |fragment| Some(section(fragment, &headings, &[], 99)?.span.start);
        for (fragment, expected) in [
            ("page=2", Some(10)),
            ("page=12&selection=1,2,3,4", Some(20)),
            ("Page 1", Some(0)),
            ("page=3", None),
        ] {
            assert_eq!(start(fragment), expected, "{fragment}");
        }
    }

    #[test]
    fn repeated_headings_are_reported_with_their_anchors() {
        let headings = headings(&["# Log", "# Log", "# Log-1", "# Log", "## x", "## x"]);
        let others = |fragment| section(fragment, &headings, &[], 99).map(|found| found.others);
        assert_eq!(others("Log"), Some(vec!["log-1".to_owned(), "log-2".to_owned()]));
        assert_eq!(others("log-2"), Some(Vec::new()));
        assert_eq!(others("Log-1"), Some(Vec::new()), "a text is more exact than an anchor");
        assert_eq!(others("Log#x"), Some(vec!["x-1".to_owned()]));
    }

    #[test]
    fn anchors_are_distinct_and_name_their_heading() {
        let texts = ["a", "A", "a 1", "a-1", "!", "", "a", "1", "1-1", "1", "1"];
        let lines: Vec<String> = texts.iter().map(|text| format!("# {text}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let headings = headings(&lines);
        let anchors = anchors(&headings);
        assert_eq!(anchors.iter().collect::<std::collections::HashSet<_>>().len(), texts.len());
        // An anchor that is also the text of a heading names the heading with this text.
        for (at, anchor) in anchors.iter().enumerate().filter(|(_, it)| !texts.contains(&&***it)) {
            let found = section(anchor, &headings, &[], 999).map(|found| found.span);
            let expected = (!anchor.is_empty()).then_some(headings[at].span.start);
            assert_eq!(found.map(|span| span.start), expected, "{anchor}");
        }
    }

    #[test]
    fn block_is_named_by_its_id() {
        let block =
            |id: &str, start| Block { id: id.to_owned(), span: Span::new(start, start + 5) };
        let (blocks, headings) = ([block("b1", 0), block("B1", 10)], headings(&["# A", "# ^b2"]));
        let start = |fragment| Some(section(fragment, &headings, &blocks, 99)?.span.start);
        assert_eq!([start("^b1"), start("^B1"), start("A#^b1")], [Some(0), Some(10), Some(0)]);
        assert_eq!([start("^b2"), start("^"), start("b1")], [None, None, None]);
    }

    #[test]
    fn many_parts_and_headings_are_cheap() {
        let lines: Vec<String> =
            (0..20_000).map(|at| format!("{} a", "#".repeat(at % 6 + 1))).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let headings = headings(&lines);
        assert!(section(&"a#".repeat(10_000), &headings, &[], 1).is_none());
        assert!(section("a#a#a#a#a#b", &headings, &[], 1).is_none());
        let deepest =
            section("a#a#a#a#a#a", &headings, &[], u32::MAX).map(|found| found.span.start);
        assert_eq!(deepest, Some(50));
    }
}
