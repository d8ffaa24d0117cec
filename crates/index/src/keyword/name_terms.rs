//! Name terms: each name of a note as a single term, its words joined by spaces, so that a run of words is looked up at once.

use super::analyzer::Analyzer;
use super::language::Language;

/// Returns the terms under which a note's names are indexed: its title without a trailing parenthesis, and its aliases.
pub(super) fn name_terms<'n>(
    analyzer: &mut Analyzer,
    title: &'n str,
    aliases: &[&'n str],
    language: Language,
) -> Vec<String> {
    let names = [without_qualifier(title)].into_iter().chain(aliases.iter().copied());
    let mut terms: Vec<String> =
        names.map(|name| analyzer.name_words(&[name], language).join(" ")).collect();
    terms.retain(|term| !term.is_empty());
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Returns a title without the parenthesis at its end, which only distinguishes notes of the same name.
fn without_qualifier(title: &str) -> &str {
    let title = title.trim_end();
    let inner = title.strip_suffix(')').and_then(|open| open.rsplit_once('('));
    match inner {
        Some((name, inside)) if !inside.contains(')') => name.trim_end(),
        Some(_) | None => title,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_parenthesis_is_not_part_of_a_name() {
        for (title, expected) in [
            ("Mercury (planet)", "Mercury"),
            ("Mercury (planet) ", "Mercury"),
            ("Mercury", "Mercury"),
            ("(planet)", ""),
            ("f(x) of x", "f(x) of x"),
            ("a (b (c))", "a (b (c))"),
            ("closed)", "closed)"),
        ] {
            assert_eq!(without_qualifier(title), expected, "{title}");
        }
    }
}
