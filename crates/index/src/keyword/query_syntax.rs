//! Query syntax: words, `"phrases"`, `+must`, `-not`, and `AND`, `OR` and `NOT` between words. Parsing never fails; operators without meaning are text.

use super::script::CharClass;

/// Effect of a clause on a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occurrence {
    /// Adds to the score.
    May,
    /// Required: a note without it is not a hit.
    Must,
    /// Excluded: a note with it is not a hit.
    MustNot,
}

/// Part of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clause<'q> {
    pub(super) occurrence: Occurrence,
    pub(super) is_phrase: bool,
    pub(super) text: &'q str,
}

/// Pairs of quotation marks. The straight apostrophe is not one, because it occurs inside words.
const QUOTES: &[(char, &[char])] =
    &[('"', &['"']), ('“', &['”']), ('„', &['“', '”']), ('«', &['»']), ('「', &['」'])];

/// Punctuation between words of scripts without spaces.
const BETWEEN_WORDS: &str = "（［｛【，、；：。";

/// Characters allowed between an operator and its word. Characters that form an arrow, a flag or an equation are not included.
const AROUND_WORDS: &[char] = &[
    '(', '[', '{', '<', '\'', '‘', '‹', '`', '*', '_', '~', '.', '…', '@', '$', '%', '&', '/',
    '\\', '|', '!', '?', '¡', '¿', ':', ';', '^', '§', '€', '£',
];

/// Splits `query` into clauses, in order, and reads `AND`, `OR` and `NOT` between words.
pub(super) fn clauses(query: &str) -> Vec<Clause<'_>> {
    read_operators(query).unwrap_or_else(|| signed_clauses(query))
}

/// Returns `query` in this syntax if it contains `AND`, `OR` or `NOT` as operators: `fern AND moss NOT rust` is read as `+fern +moss -rust`.
///
/// An operator is in capitals, stands between two words or phrases, or, for `NOT`, before the first, and the query has other letters than capitals.
/// `AND` requires both sides, unless the query contains an `OR`, for which words are alternatives. `NOT` excludes the next word.
#[must_use]
pub fn operator_reading(query: &str) -> Option<String> {
    let shown = |clause: &Clause<'_>| {
        let sign = match clause.occurrence {
            Occurrence::May => "",
            Occurrence::Must => "+",
            Occurrence::MustNot => "-",
        };
        let quote = if clause.is_phrase { "\"" } else { "" };
        format!("{sign}{quote}{}{quote}", clause.text.trim())
    };
    Some(read_operators(query)?.iter().map(shown).collect::<Vec<_>>().join(" "))
}

/// Operator in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordOperator {
    And,
    Or,
    Not,
}

impl WordOperator {
    fn read(clause: &Clause<'_>) -> Option<Self> {
        let is_word = clause.occurrence == Occurrence::May && !clause.is_phrase;
        match clause.text {
            "AND" if is_word => Some(Self::And),
            "OR" if is_word => Some(Self::Or),
            "NOT" if is_word => Some(Self::Not),
            _ => None,
        }
    }
}

/// Returns the clauses of a query with operators in words; `None` without one.
fn read_operators(query: &str) -> Option<Vec<Clause<'_>>> {
    let has_operator = ["AND", "OR", "NOT"].iter().any(|word| query.contains(word));
    let has_other_letters = query.chars().any(|c| c.is_alphabetic() && !c.is_uppercase());
    if !has_operator || !has_other_letters {
        return None;
    }
    let words: Vec<Clause<'_>> = signed_clauses(query)
        .into_iter()
        .flat_map(|clause| {
            let is_plain = clause.occurrence == Occurrence::May && !clause.is_phrase;
            let words = clause.text.split_whitespace().filter(move |_| is_plain);
            let words = words.map(move |text| Clause { text, ..clause });
            words.chain((!is_plain).then_some(clause))
        })
        .collect();
    let last = words.iter().rposition(|word| WordOperator::read(word).is_none())?;
    let has_alternatives = words.iter().any(|it| WordOperator::read(it) == Some(WordOperator::Or));
    let mut clauses: Vec<Clause<'_>> = Vec::new();
    let mut pending = None;
    let mut is_read = false;
    for (at, word) in words.into_iter().enumerate() {
        match WordOperator::read(&word) {
            Some(operator)
                if at < last && (!clauses.is_empty() || operator == WordOperator::Not) =>
            {
                // `AND NOT` excludes, too.
                pending = Some(operator);
                is_read = true;
            }
            Some(_) | None => {
                let (before, own) = match pending.take() {
                    Some(WordOperator::And) if !has_alternatives => {
                        (Occurrence::Must, Occurrence::Must)
                    }
                    Some(WordOperator::Not) => (Occurrence::May, Occurrence::MustNot),
                    Some(WordOperator::And | WordOperator::Or) | None => {
                        (Occurrence::May, Occurrence::May)
                    }
                };
                if let Some(clause) = clauses.last_mut() {
                    clause.demand(before);
                }
                clauses.push(word);
                if let Some(clause) = clauses.last_mut() {
                    clause.demand(own);
                }
            }
        }
    }
    is_read.then_some(clauses)
}

impl Clause<'_> {
    /// Sets the effect of a clause that has no sign of its own.
    fn demand(&mut self, occurrence: Occurrence) {
        if self.occurrence == Occurrence::May {
            self.occurrence = occurrence;
        }
    }
}

/// Splits `query` at signs and quotation marks into clauses, in order. Text between them stays together.
///
/// Signs are recognized only at the start of a word. `-` before a digit is a minus sign. An unpaired quotation mark is text, or extends to the end of the query if it follows an operator.
/// Quotation marks are also recognized after a non-ASCII character, because scripts without spaces quote anywhere.
fn signed_clauses(query: &str) -> Vec<Clause<'_>> {
    let mut clauses = Vec::new();
    let mut plain = 0;
    let mut at = 0;
    let mut before = ' ';
    while let Some(c) = query[at..].chars().next() {
        // Opening brackets precede a word like spaces do.
        let is_word_start = is_between_words(before) || "([{".contains(before);
        let may_begin = is_word_start || !before.is_ascii() && !is_sign(c);
        match may_begin.then(|| operator_clause(query, at)).flatten() {
            Some((clause, end)) => {
                push_plain(&query[plain..at], &mut clauses);
                clauses.push(clause);
                (plain, at) = (end, end);
            }
            None => at += c.len_utf8(),
        }
        before = query[..at].chars().next_back().unwrap_or(' ');
    }
    push_plain(&query[plain..], &mut clauses);
    clauses
}

/// Returns the text of `query` without operators, quotation marks and excluded parts.
#[must_use]
pub fn plain_words(query: &str) -> String {
    let included = clauses(query).into_iter().filter_map(|clause| match clause.occurrence {
        Occurrence::May | Occurrence::Must => Some(clause.text.trim()),
        Occurrence::MustNot => None,
    });
    included.collect::<Vec<_>>().join(" ")
}

fn is_between_words(c: char) -> bool {
    c.is_whitespace() || BETWEEN_WORDS.contains(c)
}

const fn is_sign(c: char) -> bool {
    matches!(c, '+' | '-')
}

fn push_plain<'q>(text: &'q str, clauses: &mut Vec<Clause<'q>>) {
    if !text.trim().is_empty() {
        clauses.push(Clause { occurrence: Occurrence::May, is_phrase: false, text });
    }
}

/// Returns the clause with an operator or quotation marks that starts at `at`, and its end.
fn operator_clause(query: &str, at: usize) -> Option<(Clause<'_>, usize)> {
    let rest = &query[at..];
    let (occurrence, n_bytes) = match rest.chars().next()? {
        '+' => (Occurrence::Must, 1),
        '-' => (Occurrence::MustNot, 1),
        _ => (Occurrence::May, 0),
    };
    let rest = &rest[n_bytes..];
    let start = at + n_bytes;
    let first = rest.chars().next()?;
    if let Some((_, closing)) = QUOTES.iter().find(|(opening, _)| *opening == first) {
        let inside = &rest[first.len_utf8()..];
        let n_inside = match inside.find(*closing) {
            Some(n_inside) => n_inside,
            // After an operator a quotation mark opens a phrase; it is not an inch mark.
            None if occurrence != Occurrence::May && !inside.trim().is_empty() => inside.len(),
            None => return None,
        };
        let n_closing = inside[n_inside..].chars().next().map_or(0, char::len_utf8);
        let end = start + first.len_utf8() + n_inside + n_closing;
        return Some((Clause { occurrence, is_phrase: true, text: &inside[..n_inside] }, end));
    }
    let is_tag = first == '#' && rest[1..].starts_with(char::is_alphanumeric);
    // Marks around a word are not part of it.
    let bare = rest.trim_start_matches(AROUND_WORDS).chars().next().unwrap_or(first);
    let begins_word = match CharClass::of(bare) {
        CharClass::Letter(_) | CharClass::Pictograph => true,
        CharClass::Digit => occurrence == Occurrence::Must,
        CharClass::Extend | CharClass::Break => is_tag,
    };
    let takes_word = occurrence != Occurrence::May && begins_word;
    let n_word = rest.find(is_between_words).unwrap_or(rest.len());
    takes_word
        .then(|| (Clause { occurrence, is_phrase: false, text: &rest[..n_word] }, start + n_word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn operators_are_recognized_at_word_starts() {
        let cases = [
            ("words", "why do cells age?", "why do cells age?"),
            ("phrase", "see \"soft green\" moss", "see |\"soft green\"| moss"),
            ("typographic", "„soft green“ “x” «y»", "\"soft green\"|\"x\"|\"y\""),
            ("must and not", "fern +moss -rust", "fern |+moss|-rust"),
            ("must phrase", "+\"a b\" -\"c d\"", "+\"a b\"|-\"c d\""),
            ("inside words", "C++ e-mail a+b well-known", "C++ e-mail a+b well-known"),
            (
                "inside words of any script",
                "Нью-Йорк déjà-vu 東京-大阪",
                "Нью-Йорк déjà-vu 東京-大阪",
            ),
            ("after a mark", "de\u{301}ja\u{300}-vu ’n’-roll", "de\u{301}ja\u{300}-vu ’n’-roll"),
            ("after marks between words", "蕨类，-苔藓（+水）", "蕨类，|-苔藓|（|+水）"),
            ("other scripts", "папоротник -мох +лес", "папоротник |-мох|+лес"),
            ("tags and pictographs", "fern -#draft +#a/b -🌿 +🌱", "fern |-#draft|+#a/b|-🌿|+🌱"),
            ("no tags", "x -# y +#! z", "x -# y +#! z"),
            ("a number of an issue", "fern -#12 +2024", "fern |-#12|+2024"),
            (
                "marks around a word",
                "a +(b) -'c' +`d` -[[e]] **f** (g)",
                "a |+(b)|-'c'|+`d`|-[[e]]| **f** (g)",
            ),
            ("a minus sign", "at -40 degrees", "at -40 degrees"),
            ("lists and flags", "- item --flag + x", "- item --flag + x"),
            ("unpaired", "5\" pipe and \"open", "5\" pipe and \"open"),
            ("unpaired after an operator", "a -\"b c", "a |-\"b c\""),
            ("nothing after an operator", "a +“ b -\" ", "a |+\" b -\" \""),
            ("nothing after the last operator", "a -\" ", "a -\" "),
            (
                "signs before a word",
                "a -.NET -@home +$HOME -/etc -…x -<x> -!important -\\b",
                "a |-.NET|-@home|+$HOME|-/etc|-…x|-<x>|-!important|-\\b",
            ),
            (
                "arrows, flags and numbers",
                "a -> b ->c --d -=e -$5 -.5",
                "a -> b ->c --d -=e -$5 -.5",
            ),
            ("in brackets", "(\"a b\")", "(|\"a b\"|)"),
            ("Chinese quotes", "找「蕨类」", "找|\"蕨类\""),
            ("empty", "  ", ""),
            ("empty phrase", "\"\" x", "\"\"| x"),
        ];
        for (name, query, expected) in cases {
            let shown: Vec<String> = clauses(query)
                .iter()
                .map(|clause| {
                    let sign = match clause.occurrence {
                        Occurrence::May => "",
                        Occurrence::Must => "+",
                        Occurrence::MustNot => "-",
                    };
                    let quote = if clause.is_phrase { "\"" } else { "" };
                    format!("{sign}{quote}{}{quote}", clause.text)
                })
                .collect();
            assert_eq!(shown.join("|"), expected, "{name}");
        }
    }

    #[test]
    fn operators_in_words_are_read() {
        for (query, expected) in [
            ("fern AND moss", Some("+fern +moss")),
            ("fern AND moss NOT rust", Some("+fern +moss -rust")),
            ("fern AND NOT rust", Some("fern -rust")),
            ("fern OR moss", Some("fern moss")),
            ("fern OR moss AND rust", Some("fern moss rust")),
            ("soft fern AND \"green moss\" too", Some("soft +fern +\"green moss\" too")),
            ("-fern AND moss", Some("-fern +moss")),
            ("\"fern\" NOT \"moss\"", Some("\"fern\" -\"moss\"")),
            ("苔藓 AND 蕨类", Some("+苔藓 +蕨类")),
            ("fern and moss or rust not", None),
            ("TO BE OR NOT TO BE", None),
            ("NOT fern", Some("-fern")),
            ("NOT fern moss", Some("-fern moss")),
            ("OR fern", None),
            ("fern AND", None),
            ("fern NOT AND", None),
            ("the \"fern AND moss\"", None),
            ("ANDROID apps", None),
            ("AND", None),
        ] {
            assert_eq!(operator_reading(query).as_deref(), expected, "{query}");
        }
        assert_eq!(plain_words("fern AND moss NOT rust"), "fern moss");
    }

    #[test]
    fn plain_words_omit_operators_and_exclusions() {
        for (query, expected) in [
            ("why do cells age?", "why do cells age?"),
            ("why \"do cells\" +age -diet", "why do cells age"),
            ("+\"a b\" -\"c d\" -e", "a b"),
            ("well-known -40", "well-known -40"),
            ("", ""),
        ] {
            assert_eq!(plain_words(query), expected, "{query}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_parses(query in "(AND |OR |NOT |[-+\"“”„«» a1漢\\PC]){0,40}") {
            for clause in clauses(&query) {
                prop_assert!(query.contains(clause.text));
            }
            // A reading contains no operator in words.
            if let Some(reading) = operator_reading(&query) {
                prop_assert_eq!(operator_reading(&reading), None);
            }
        }
    }
}
