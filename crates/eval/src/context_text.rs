//! Texts of contexts: the answers and passages that they contain.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

/// Words in a shingle of a passage.
const SHINGLE_WORDS: usize = 8;

/// The text of a context, normalized for comparison: Unicode form, case and white space do not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextText(String);

impl ContextText {
    /// Normalizes a rendered context.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(normalized(text))
    }

    /// Returns the share of the text up to the end of the first answer in it, 0 to 1; `None` if it contains none.
    #[must_use]
    pub fn until_answer(&self, answers: &[String]) -> Option<f64> {
        let end = answers.iter().filter_map(|answer| self.find(answer)).map(|at| at.end).min()?;
        Some(end as f64 / self.0.len().max(1) as f64)
    }

    fn find(&self, answer: &str) -> Option<Range<usize>> {
        let answer = normalized(answer);
        if answer.is_empty() {
            return None;
        }
        self.0.find(&answer).map(|at| at..at + answer.len())
    }

    /// Returns true if at least half of a passage's runs of eight words are in the text.
    #[must_use]
    pub fn contains(&self, passage: &str) -> bool {
        let passage = normalized(passage);
        let words: Vec<&str> = passage.split(' ').filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            return true;
        }
        let mut shingles: Vec<String> =
            words.windows(SHINGLE_WORDS.min(words.len())).map(|words| words.join(" ")).collect();
        shingles.sort_unstable();
        shingles.dedup();
        let n_found = shingles.iter().filter(|shingle| self.0.contains(shingle.as_str())).count();
        2 * n_found >= shingles.len()
    }
}

fn normalized(text: &str) -> String {
    let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_found_regardless_of_case_and_white_space() {
        let text = ContextText::new("The leap\nSecond  was introduced in 1972.");
        let at = |answers: &[&str]| {
            text.until_answer(&answers.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(at(&["1972."]), Some(1.0));
        assert_eq!(at(&["leap second", "1972"]), Some(15.0 / 39.0));
        assert_eq!(at(&["1973", " "]), None);
        assert_eq!(at(&[]), None);
    }

    #[test]
    fn passages_are_found_in_part() {
        let passage = "one two three four five six seven eight nine ten";
        assert!(ContextText::new(&format!("x {passage} y")).contains(passage));
        assert!(
            ContextText::new("one two three four five six seven eight nine …").contains(passage)
        );
        assert!(!ContextText::new("one two three four five six seven eight …").contains(passage));
        assert!(ContextText::new("a  SHORT one").contains("short"));
        assert!(!ContextText::new("a short one").contains("brief"));
    }
}
