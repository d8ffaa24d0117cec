//! Wording: turns of phrase that readers stumble over, and the plain English to write instead.

use crate::tidy::File;

/// A turn of phrase that no prose of the repository uses.
struct Wording {
    /// Its forms, word by word and in lower case.
    ///
    /// `*` matches any word, `word$` matches only before `.`, `,`, `;` or `)`, a leading `^` matches only at the start of a doc comment, and a leading `,` only at the start of a clause.
    phrases: &'static [&'static str],
    /// Longer phrases around it that are good English.
    except: &'static [&'static str],
    /// The plain English to write instead.
    instead: &'static str,
}

/// One row per turn of phrase. Each matches whole words in any case, and never across the end of a clause.
const WORDINGS: &[Wording] = &[
    row(&["whoever"], "name the caller, the client, the user, or write `anyone who`"),
    row(&["nobody", "somebody"], "name the caller, the client or the user"),
    row(&["anew"], "`again`, `from scratch`, or `rebuilt`"),
    row(&["* but for"], "`except`"),
    row(
        &["takes in what", "takes in new", "takes in every", "taken in$"],
        "`ingests`, `indexes`, `accepts`",
    ),
    row(&["stands back", "stand back"], "`lowers its priority`"),
    row(&["is told", "are told"], "`is reported`, or say who reports it")
        .except(&["is told apart", "are told apart"]),
    row(
        &["lets go", "let go", "lets it go", "lets them go", "lets notes go"],
        "`deletes`, `drops`, `releases`",
    ),
    row(&["nothing where", "none where", ", nothing when"], "`None` if"),
    row(&["is none$", "are none$"], "`is invalid`, `is not one`")
        .except(&["there is none", "there are none"]),
    row(&["at most$"], "a noun: `Maximum number of hits`"),
    row(&["at most so"], "`Maximum number of`"),
    row(&["comes about"], "`results from`"),
    row(&["writes down", "written down", "wrote down"], "`persists`, `stores`"),
    row(&["is no *"], "`is not a`").except(&[
        "there is no",
        "is no longer",
        "is no more",
        "is no less",
        "is no further",
        "is no worse",
        "is no better",
        "is no different",
    ]),
    row(
        &["^ what", "^ who", "^ where", "^ of"],
        "a verb or a noun first: `Returns the`, `Number of`",
    ),
    row(&["^ whether"], "`True if`, `Returns true if`"),
];

const fn row(phrases: &'static [&'static str], instead: &'static str) -> Wording {
    Wording { phrases, except: &[], instead }
}

impl Wording {
    const fn except(self, except: &'static [&'static str]) -> Self {
        Self { except, ..self }
    }

    /// Returns the first words of `line` that the row matches.
    fn find(&self, line: &Prose) -> Option<String> {
        let is_excepted = |start: usize| {
            let matches = |phrase: &&str| {
                (start.saturating_sub(1)..=start).any(|at| line.matches(at, phrase) > 0)
            };
            self.except.iter().any(matches)
        };
        (0..line.words.len()).find_map(|start| {
            let n_words = self.phrases.iter().map(|phrase| line.matches(start, phrase)).max()?;
            let words = line.words[start..start + n_words].iter().map(|word| word.text.as_str());
            (n_words > 0 && !is_excepted(start)).then(|| words.collect::<Vec<_>>().join(" "))
        })
    }
}

/// The words of one line of prose.
struct Prose {
    words: Vec<Word>,
    /// True if the line starts a doc comment of Rust and does not end in a question mark.
    opens_doc: bool,
}

struct Word {
    text: String,
    /// True if a comma, a full stop or the like follows.
    ends_clause: bool,
}

impl Prose {
    fn new(text: &str, opens_doc: bool) -> Self {
        // Every second part is an inline code span, which counts as one word.
        let parts = text.split('`').enumerate();
        let text: String =
            parts.map(|(at, part)| if at % 2 == 0 { part } else { "code" }).collect();
        let is_mark = |c: char| !c.is_alphanumeric();
        let words = text.split_whitespace().filter_map(|token| {
            let from_word = token.trim_start_matches(is_mark);
            let word = from_word.trim_end_matches(is_mark);
            let end = &from_word[word.len()..];
            let ends_clause = end.contains([',', '.', ';', ':', ')', '?', '!', '—']);
            (!word.is_empty()).then(|| Word { text: word.to_owned(), ends_clause })
        });
        Self { words: words.collect(), opens_doc: opens_doc && !text.trim_end().ends_with('?') }
    }

    /// Returns the number of words from `start` on that `phrase` matches, 0 if it does not match there.
    fn matches(&self, start: usize, phrase: &str) -> usize {
        let starts_clause =
            start.checked_sub(1).is_none_or(|before| self.words[before].ends_clause);
        let (phrase, is_allowed) = match (phrase.strip_prefix("^ "), phrase.strip_prefix(", ")) {
            (Some(opening), _) => (opening, start == 0 && self.opens_doc),
            (None, Some(clause)) => (clause, starts_clause),
            (None, None) => (phrase, true),
        };
        if !is_allowed {
            return 0;
        }
        let n_words = phrase.split(' ').count();
        let Some(words) = self.words.get(start..start + n_words) else { return 0 };
        let is_match =
            words.iter().zip(phrase.split(' ')).enumerate().all(|(at, (word, pattern))| {
                let (pattern, at_end) =
                    pattern.strip_suffix('$').map_or((pattern, false), |word| (word, true));
                let is_last = at + 1 == n_words;
                (pattern == "*" || word.text.eq_ignore_ascii_case(pattern))
                    && (is_last || !word.ends_clause)
                    && (!at_end || word.ends_clause)
            });
        if is_match { n_words } else { 0 }
    }
}

/// Returns one line per turn of phrase in the prose of `file`: comments of code, or the text of a document.
pub(crate) fn breaches(file: &File) -> Vec<String> {
    let File { path, text } = file;
    let mut breaches = Vec::new();
    for (number, line) in prose(path, text) {
        for wording in WORDINGS {
            if let Some(words) = wording.find(&line) {
                breaches.push(format!("{path}:{number}: `{words}`: write {}", wording.instead));
            }
        }
    }
    breaches
}

/// Returns the lines of prose in a file with their numbers from 1.
fn prose(path: &str, text: &str) -> Vec<(usize, Prose)> {
    let lines = (1..).zip(text.lines());
    let is_data = path.starts_with("examples/timekeeping/") || path.contains("/models/");
    let is_test_data = path.contains("/tests/") && !path.ends_with(".rs");
    if is_data || is_test_data {
        Vec::new()
    } else if path.ends_with(".rs") {
        let mut after_doc = false;
        let comments = lines.filter_map(|(number, line)| {
            let comment = line.trim_start().strip_prefix("//");
            let doc = comment.and_then(|text| text.strip_prefix(['/', '!']));
            let opens_doc = doc.is_some() && !after_doc;
            after_doc = doc.is_some();
            let text = doc.or(comment).or_else(|| Some(line.split_once(" // ")?.1))?;
            Some((number, Prose::new(text, opens_doc)))
        });
        comments.collect()
    } else if path.ends_with(".md") {
        let mut in_code = false;
        let text = lines.filter_map(|(number, line)| {
            let is_fence = line.trim_start().starts_with("```");
            in_code ^= is_fence;
            (!in_code && !is_fence).then(|| (number, Prose::new(line, false)))
        });
        text.collect()
    } else {
        let marker = match path {
            "config/default.toml" => "#",
            path if path.ends_with(".proto") => "//",
            _ => return Vec::new(),
        };
        let comments = lines.filter_map(|(number, line)| {
            Some((number, Prose::new(line.trim_start().strip_prefix(marker)?, false)))
        });
        comments.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        breaches(&File { path: path.to_owned(), text: text.to_owned() })
    }

    #[test]
    fn each_wording_matches_its_phrase_and_no_good_english() {
        // By row of the table: a sentence that it matches, and one that it must not.
        let cases = [
            ("Whoever may read it.", "Anyone who may read it."),
            ("So nobody waits.", "No client waits."),
            ("It is made anew.", "A new one is made."),
            ("All but for tests.", "It is fast, but for a hub it is not."),
            ("The graph takes in new notes.", "The time it takes in seconds."),
            ("The writer stands back.", "It stands behind a load balancer."),
            ("The number is told.", "The two are told apart by their names."),
            ("It lets notes go.", "It lets notes through."),
            ("The parent; nothing when it is a root.", "A line break costs nothing when rendered."),
            ("A root that is none.", "A root if there is none."),
            ("Hits at most.", "At most ten hits."),
            ("At most so many hits.", "At most ten hits, so many are lost."),
            ("How it comes about.", "The order comes from the index."),
            ("The log is written down.", "The log is written to disk."),
            ("A folder that is no vault.", "It is no longer a vault; there is no vault."),
            ("What is stored.", "Returns what is stored."),
            ("Whether it is stored.", "Tells a root, whether stored or not."),
        ];
        assert_eq!(cases.len(), WORDINGS.len());
        for (row, (bad, good)) in WORDINGS.iter().zip(cases) {
            let found_in = |text: &str| found("a.rs", &format!("/// {text}"));
            let instead = format!(": write {}", row.instead);
            assert!(
                matches!(found_in(bad).as_slice(), [only] if only.ends_with(&instead)),
                "{bad}: {:?}",
                found_in(bad)
            );
            assert_eq!(found_in(good), [""; 0], "{good}");
        }
    }

    #[test]
    fn only_prose_is_searched() {
        let word = "Nobody";
        let cases = [
            ("a comment", "a.rs", format!("x(); // {word} waits"), Some(1)),
            ("a string", "a.rs", format!("let x = \"{word} waits\";"), None),
            ("a code span", "a.md", format!("Prints `{word}`."), None),
            ("a code block", "a.md", format!("```\n{word}\n```\nand {word}"), Some(4)),
            ("a test's data", "crates/a/tests/data/a.md", word.to_owned(), None),
            ("the example vault", "examples/timekeeping/a.md", word.to_owned(), None),
            ("the contract", "proto/a.proto", format!("// {word}"), Some(1)),
            ("the defaults", "config/default.toml", format!("\n# {word}"), Some(2)),
            ("other settings", "a.toml", format!("# {word}"), None),
        ];
        for (name, path, text, line) in cases {
            let found = found(path, &text);
            match line {
                Some(line) => {
                    let start = format!("{path}:{line}: `{word}`: write ");
                    assert!(found.len() == 1 && found[0].starts_with(&start), "{name}: {found:?}");
                }
                None => assert_eq!(found, [""; 0], "{name}"),
            }
        }
    }

    #[test]
    fn only_the_first_line_of_a_doc_comment_opens_it() {
        let found = found(
            "a.rs",
            "/// Returns it.\n/// Of these\nfn a() {}\n/// Who asks?\nfn b() {}\n/// `Note` of it",
        );
        assert_eq!(found, [""; 0]);
    }
}
