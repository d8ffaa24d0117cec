//! Judgments from a vault itself: links are removed from the text, and their targets have to be found.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::seeded_random::SeededRandom;

/// Minimum number of words in a line besides its links.
const MIN_WORDS: usize = 6;

/// A link in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSpan {
    /// Range of the link in characters, markup included.
    pub span: Range<usize>,
    /// Target of the link.
    pub target: String,
}

/// A line without its links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenLinks {
    /// The remaining words, usable as a query.
    pub text: String,
    /// Targets of the links, ascending.
    pub targets: Vec<String>,
}

/// Returns the lines of `body` that contain links and enough other words, in text order.
///
/// A line is the context that the author linked from. The displayed text of the links is removed too.
#[must_use]
pub fn hide_links(body: &str, links: &[LinkSpan]) -> Vec<HiddenLinks> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in body.split_inclusive('\n') {
        let end = start + line.chars().count();
        let own: Vec<&LinkSpan> =
            links.iter().filter(|link| link.span.start >= start && link.span.end <= end).collect();
        let is_hidden = |at: usize| own.iter().any(|link| link.span.contains(&at));
        let left: String = (start..end)
            .zip(line.chars())
            .map(|(at, c)| if is_hidden(at) { ' ' } else { c })
            .collect();
        start = end;
        let text = asked(&left);
        if !own.is_empty() && text.split(' ').count() >= MIN_WORDS {
            let targets: BTreeSet<&String> = own.iter().map(|link| &link.target).collect();
            found.push(HiddenLinks { text, targets: targets.into_iter().cloned().collect() });
        }
    }
    found
}

/// Returns the words of a line without Markdown and query operators.
fn asked(line: &str) -> String {
    let words = line.split(|c: char| !c.is_alphanumeric() && !"'’-_.".contains(c));
    let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns `items` in a pseudorandom order that is the same in every run.
#[must_use]
pub fn shuffled<T>(mut items: Vec<T>) -> Vec<T> {
    SeededRandom::default().shuffle(&mut items);
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_removed_from_lines() {
        let body = "# Fern\n- +it grows *beside* [[moss]] in \"shade\", -like- every fern\nsee [[ivy]]\nplain words of a line without any link at all\n";
        let at = |what: &str| {
            let start = body[..body.find(what).unwrap()].chars().count();
            start..start + what.chars().count()
        };
        let links = [
            LinkSpan { span: at("[[moss]]"), target: "moss".into() },
            LinkSpan { span: at("[[ivy]]"), target: "ivy".into() },
        ];
        let expected = HiddenLinks {
            text: "it grows beside in shade like every fern".into(),
            targets: vec!["moss".into()],
        };
        assert_eq!(hide_links(body, &links), [expected], "too little is left of the other line");
    }

    #[test]
    fn ranges_are_in_characters() {
        let body = "größer wächst 🌿 neben [[Moos]] ein alter Farn\n";
        let start = body.chars().position(|c| c == '[').unwrap();
        let links = [LinkSpan { span: start..start + 8, target: "Moos".into() }];
        assert_eq!(hide_links(body, &links)[0].text, "größer wächst neben ein alter Farn");
    }

    #[test]
    fn shuffle_is_reproducible() {
        let items: Vec<u32> = (0..50).collect();
        let order = shuffled(items.clone());
        assert_eq!(order, shuffled(items.clone()));
        assert_ne!(order, items);
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, items);
    }
}
