//! Judgements that a vault makes of itself: links are hidden, and what they lead to has to be found again.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::draw::Draw;

/// Words that a line must have besides its links to be a question.
const MIN_WORDS: usize = 6;

/// A link where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSpan {
    /// Its characters in the text, marks included.
    pub span: Range<usize>,
    /// What it leads to.
    pub target: String,
}

/// A line whose links were taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenLinks {
    /// What is left, as words that can be asked.
    pub text: String,
    /// What the links led to, ascending.
    pub targets: Vec<String>,
}

/// The lines of `body` that link and say enough besides, in text order.
///
/// A line is what a writer had in mind when linking; the shown text of the links is hidden with them.
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

/// The words of a line, without the marks that a text or a query gives a meaning to.
fn asked(line: &str) -> String {
    let words = line.split(|c: char| !c.is_alphanumeric() && !"'’-_.".contains(c));
    let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// `items` in an order that looks like chance and is the same in every run.
#[must_use]
pub fn drawn<T>(mut items: Vec<T>) -> Vec<T> {
    Draw::default().shuffle(&mut items);
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lose_their_links() {
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
    fn places_are_counted_in_characters() {
        let body = "größer wächst 🌿 neben [[Moos]] ein alter Farn\n";
        let start = body.chars().position(|c| c == '[').unwrap();
        let links = [LinkSpan { span: start..start + 8, target: "Moos".into() }];
        assert_eq!(hide_links(body, &links)[0].text, "größer wächst neben ein alter Farn");
    }

    #[test]
    fn the_draw_is_the_same_each_time() {
        let items: Vec<u32> = (0..50).collect();
        let order = drawn(items.clone());
        assert_eq!(order, drawn(items.clone()));
        assert_ne!(order, items);
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, items);
    }
}
