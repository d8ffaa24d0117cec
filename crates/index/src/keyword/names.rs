//! Names: which notes a query calls by name.
//!
//! A name is listed as one term, its words joined by spaces, so that a run of words is looked up at once.

use std::collections::HashMap;

use weft_model::NoteId;

use super::error::KeywordError;
use super::query::KeywordQuery;
use super::reader::KeywordReader;
use super::{Analyzer, Language};

/// Words of a query among which names are looked for; in longer ones, the first.
const MAX_SPOKEN: usize = 128;

/// Words of the longest name that is found inside a longer query.
const MAX_NAME_WORDS: usize = 16;

/// A note that a query calls by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mention {
    /// The note.
    pub note: NoteId,
    /// What the words of its name tell, as a share of what all words of the query tell; above 0, at most 1.
    pub share: f64,
}

/// A run of words that is a name.
struct Called<'w> {
    words: &'w [String],
    notes: Vec<NoteId>,
}

/// The terms under which a note's names are listed: its title without a trailing parenthesis, and its aliases.
pub(super) fn name_terms<'n>(
    analyzer: &mut Analyzer,
    title: &'n str,
    aliases: &[&'n str],
    language: Language,
) -> Vec<String> {
    let names = [bare(title)].into_iter().chain(aliases.iter().copied());
    let mut terms: Vec<String> =
        names.map(|name| analyzer.name_words(&[name], language).join(" ")).collect();
    terms.retain(|term| !term.is_empty());
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// A title without the parenthesis at its end, which tells namesakes apart.
fn bare(title: &str) -> &str {
    let title = title.trim_end();
    let inner = title.strip_suffix(')').and_then(|open| open.rsplit_once('('));
    match inner {
        Some((name, inside)) if !inside.contains(')') => name.trim_end(),
        Some(_) | None => title,
    }
}

impl KeywordReader {
    /// The notes whose title or alias stands in the query as whole words one after the other, by ascending id.
    ///
    /// Longer names are found first, and a word belongs to one name only; all notes of that name are mentioned.
    /// Function words make no difference but where there is nothing else; endings and a parenthesis at a title's end make none.
    /// Cost: a look-up for each run of words, and some nanoseconds for each note of the names found.
    pub fn mentions(&self, query: &KeywordQuery) -> Result<Vec<Mention>, KeywordError> {
        self.read(|| {
            self.check(query)?;
            let mut tells: HashMap<&str, (usize, f64)> = HashMap::new();
            for (term_idx, term) in query.terms().iter().enumerate() {
                for alternative in &term.alternatives {
                    tells.insert(alternative, (term_idx, term.idf));
                }
            }
            let whole: f64 = query.terms().iter().map(|term| term.idf).sum();
            let mut mentions: Vec<Mention> = Vec::new();
            for words in &query.spoken {
                for Called { words, notes } in self.called(&words[..words.len().min(MAX_SPOKEN)])? {
                    let mut told: Vec<(usize, f64)> =
                        words.iter().filter_map(|word| tells.get(&**word).copied()).collect();
                    told.sort_unstable_by_key(|(term_idx, _)| *term_idx);
                    told.dedup_by_key(|(term_idx, _)| *term_idx);
                    let share = told.iter().map(|(_, idf)| idf).sum::<f64>() / whole;
                    if share > 0.0 {
                        let share = share.min(1.0);
                        mentions.extend(notes.into_iter().map(|note| Mention { note, share }));
                    }
                }
            }
            // Of several names of one note, the one that tells most.
            mentions.sort_unstable_by(|left, right| {
                left.note.cmp(&right.note).then(right.share.total_cmp(&left.share))
            });
            mentions.dedup_by_key(|mention| mention.note);
            Ok(mentions)
        })
    }

    /// The runs of words that are names, longest first, each with the notes of that name. No word is in two runs.
    fn called<'w>(&self, words: &'w [String]) -> Result<Vec<Called<'w>>, KeywordError> {
        let mut found = Vec::new();
        let mut is_used = vec![false; words.len()];
        let within = (1..=words.len().min(MAX_NAME_WORDS)).rev();
        let longest = (words.len() > MAX_NAME_WORDS).then_some(words.len());
        for n_words in longest.into_iter().chain(within) {
            for start in 0..=words.len() - n_words {
                let run = start..start + n_words;
                if is_used[run.clone()].contains(&true) {
                    continue;
                }
                let name = words[run.clone()].join(" ");
                let mut notes = Vec::new();
                for segment in &self.0.segments {
                    segment.each_named(&name, |note| notes.push(note))?;
                }
                if !notes.is_empty() {
                    is_used[run.clone()].fill(true);
                    found.push(Called { words: &words[run], notes });
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use crate::keyword::{KeywordDocument, KeywordSettings, KeywordWriter, QueryOptions};

    use super::*;

    /// Title and aliases, and a body that makes the vault English.
    const NOTES: &[(&str, &[&str])] = &[
        ("Mercury (planet)", &[]),
        ("Mercury (element)", &["Quicksilver"]),
        ("The planets", &[]),
        ("Orbits of the planets", &[]),
        ("The of and", &[]),
        ("水星", &[]),
        (
            "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen",
            &[],
        ),
    ];

    fn reader() -> KeywordReader {
        let (mut writer, _) = KeywordWriter::in_memory(KeywordSettings::default()).unwrap();
        for (note, (title, aliases)) in (0..).map(NoteId::new).zip(NOTES) {
            let document = KeywordDocument {
                version: 1,
                title,
                aliases: aliases.to_vec(),
                headings: Vec::new(),
                tags: Vec::new(),
                body: "This note tells of bodies that go around the sun and of what they are.",
            };
            writer.upsert(note, writer.encoder().encode(&document)).unwrap();
        }
        writer.commit(1).unwrap()
    }

    #[test]
    fn notes_are_called_by_name() {
        let reader = reader();
        let cases: [(&str, &[u32]); 12] = [
            ("how far is mercury", &[0, 1]),
            ("is quicksilver heavy", &[1]),
            ("planet", &[2]),
            ("the orbit of planets", &[3]),
            ("planets have an orbit", &[2]),
            ("\"orbits of planets\" mercury", &[0, 1, 3]),
            ("orbits -mercury planets", &[3]),
            ("the of", &[]),
            ("The of and", &[4]),
            ("到水星有多远", &[5]),
            ("", &[]),
            (NOTES[6].0, &[6]),
        ];
        for (text, expected) in cases {
            let query = reader.parse(text, &QueryOptions::default()).unwrap();
            let mentions = reader.mentions(&query).unwrap();
            let notes: Vec<u32> = mentions.iter().map(|mention| mention.note.get()).collect();
            assert_eq!(notes, expected, "{text}");
            assert!(mentions.iter().all(|mention| mention.share > 0.0 && mention.share <= 1.0));
        }
    }

    #[test]
    fn a_share_is_what_the_words_of_the_name_tell() {
        let reader = reader();
        let share = |text: &str| {
            let query = reader.parse(text, &QueryOptions::default()).unwrap();
            reader.mentions(&query).unwrap()[0].share
        };
        assert!((share("Quicksilver") - 1.0).abs() < 1e-12, "the query is the name");
        let (known, unknown) = (reader.idf(1), reader.idf(0));
        assert!((share("quicksilver zyzzyva") - known / (known + unknown)).abs() < 1e-12);
        assert!((share("quicksilver, quicksilver") - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_parenthesis_at_the_end_is_no_name() {
        for (title, expected) in [
            ("Mercury (planet)", "Mercury"),
            ("Mercury (planet) ", "Mercury"),
            ("Mercury", "Mercury"),
            ("(planet)", ""),
            ("f(x) of x", "f(x) of x"),
            ("a (b (c))", "a (b (c))"),
            ("closed)", "closed)"),
        ] {
            assert_eq!(bare(title), expected, "{title}");
        }
    }
}
