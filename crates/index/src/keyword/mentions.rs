//! Mentions: notes and sections with a name that occurs in a query or a text.
//!
//! A name is indexed as one term, so that a run of words is looked up at once.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use weft_model::NoteId;

use super::analyzer::Analyzer;
use super::keyword_error::KeywordError;
use super::keyword_query::KeywordQuery;
use super::keyword_reader::KeywordReader;
use super::language::Language;
use super::term_hash::hash;

/// Maximum number of words of a query searched for names; further words are ignored.
const MAX_QUERY_WORDS: usize = 128;

/// Maximum number of words of a name found inside a longer query.
const MAX_NAME_WORDS: usize = 16;

/// Maximum number of notes that contain a section of one name. A heading of more notes, such as "References", is part of a form and names nothing.
const MAX_NOTES_WITH_SECTION: usize = 30;

/// Maximum number of notes and sections with one name found in a text. A name of more means none of them in particular.
const MAX_WITH_NAME: usize = 30;

/// Note whose name occurs in a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mention {
    /// Note.
    pub note: NoteId,
    /// Summed IDF of the words of the name, as a share of the summed IDF of all words of the query; above 0, at most 1.
    pub share: f64,
}

/// Section whose heading occurs in a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SectionMention {
    /// Note.
    pub note: NoteId,
    /// Index of the passage that begins with the heading.
    pub passage: usize,
    /// Share of the query, as of a [`Mention`].
    pub share: f64,
}

/// The notes and sections that a query names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mentions {
    /// Notes, by ascending id.
    pub notes: Vec<Mention>,
    /// Sections of notes, by ascending id and passage.
    pub sections: Vec<SectionMention>,
}

/// Notes and sections of one name that occurs in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedInText {
    /// Notes.
    pub notes: Vec<NoteId>,
    /// Sections, each as its note and the index of the passage with which it begins.
    pub sections: Vec<(NoteId, usize)>,
    /// How telling the name is: the summed IDF of its words relative to that of an unknown word, at most 1.
    pub telling: f64,
}

/// Run of words that is a name.
struct NameMatch<'w> {
    words: &'w [String],
    notes: Vec<NoteId>,
    /// Sections with the passages with which they begin.
    sections: Vec<(NoteId, usize)>,
}

impl KeywordQuery {
    /// Returns the first of the longest of `names`, which are names of a note in `language`, that occur in the query as a run of whole words.
    pub fn mentioned_name<'n>(
        &self,
        analyzer: &mut Analyzer,
        language: Language,
        names: impl Iterator<Item = &'n str>,
    ) -> Option<&'n str> {
        let mut longest = (0, None);
        for name in names {
            let words = analyzer.name_words(&[name], language);
            let occurs = |run: &Vec<String>| run.windows(words.len()).any(|part| part == words);
            if words.len() > longest.0 && self.name_words.iter().any(occurs) {
                longest = (words.len(), Some(name));
            }
        }
        longest.1
    }
}

impl KeywordReader {
    /// Returns the notes and sections with a name that occurs in the query as a run of whole words.
    ///
    /// Longer names are matched first, and a word belongs to one name only; all notes and sections of that name are returned.
    /// The heading of a section is its name, unless more than 30 notes have it.
    /// Stop words are ignored unless a name has no other words; word endings and a parenthesis at the end of a title are always ignored.
    /// Cost: a lookup for each run of words, and some nanoseconds for each note of the names found.
    pub fn mentions(&self, query: &KeywordQuery) -> Result<Mentions, KeywordError> {
        self.read(|| {
            self.check(query)?;
            let mut idfs: HashMap<&str, (usize, f64)> = HashMap::new();
            for (term_idx, term) in query.terms().iter().enumerate() {
                for alternative in &term.alternatives {
                    idfs.insert(alternative, (term_idx, term.idf));
                }
            }
            let total: f64 = query.terms().iter().map(|term| term.idf).sum();
            let mut mentions: Vec<(Mention, &[String])> = Vec::new();
            let mut sections: Vec<SectionMention> = Vec::new();
            for words in &query.name_words {
                for NameMatch { words, notes, sections: named_sections } in
                    self.name_matches(&words[..words.len().min(MAX_QUERY_WORDS)])?
                {
                    let mut named: Vec<(usize, f64)> =
                        words.iter().filter_map(|word| idfs.get(&**word).copied()).collect();
                    named.sort_unstable_by_key(|(term_idx, _)| *term_idx);
                    named.dedup_by_key(|(term_idx, _)| *term_idx);
                    let share = named.iter().map(|(_, idf)| idf).sum::<f64>() / total;
                    if share > 0.0 {
                        let share = share.min(1.0);
                        let mention = |note| (Mention { note, share }, words);
                        mentions.extend(notes.into_iter().map(mention));
                        let section = |(note, passage)| SectionMention { note, passage, share };
                        sections.extend(named_sections.into_iter().map(section));
                    }
                }
            }
            self.lower_folded(query, &mut mentions)?;
            // A note with several names keeps the one with the highest share.
            let mut mentions: Vec<Mention> = mentions.into_iter().map(|it| it.0).collect();
            mentions.sort_unstable_by(|left, right| {
                left.note.cmp(&right.note).then(right.share.total_cmp(&left.share))
            });
            mentions.dedup_by_key(|mention| mention.note);
            sections.sort_unstable_by(|left, right| {
                let by_place = (left.note, left.passage).cmp(&(right.note, right.passage));
                by_place.then(right.share.total_cmp(&left.share))
            });
            sections.dedup_by_key(|section| (section.note, section.passage));
            Ok(Mentions { notes: mentions, sections })
        })
    }

    /// Lowers the shares of names by the words that the note never contains as typed: `año` is not `ano`, `.NET` is not `net`, and `IT` is not `it`.
    fn lower_folded(
        &self,
        query: &KeywordQuery,
        mentions: &mut [(Mention, &[String])],
    ) -> Result<(), KeywordError> {
        let exact_forms = query.exact_forms();
        if exact_forms.is_empty() {
            return Ok(());
        }
        let mut lost = vec![0.0; mentions.len()];
        let notes: Vec<NoteId> = mentions.iter().map(|(mention, _)| mention.note).collect();
        for (segment_idx, docs, mention_idxs) in self.0.by_segment(&notes) {
            let segment = &self.0.segments[segment_idx];
            for exact in exact_forms {
                let mut frequencies = vec![0.0; docs.len()];
                for list in &exact.postings[segment_idx] {
                    segment.add_frequencies(list, &docs, &mut frequencies)?;
                }
                for (mention_idx, frequency) in mention_idxs.iter().zip(frequencies) {
                    let (_, words) = mentions[*mention_idx];
                    if frequency <= 0.0 && exact.words.iter().any(|word| words.contains(word)) {
                        lost[*mention_idx] += 1.0 / words.len() as f64;
                    }
                }
            }
        }
        for ((mention, _), lost) in mentions.iter_mut().zip(lost) {
            mention.share *= 1.0 - f64::min(lost, 1.0);
        }
        Ok(())
    }

    /// Returns the notes and sections with a name that occurs in a text, given as its words in the form in which [names are compared](super::Token::name_form).
    ///
    /// Names are found as in a query, see [`mentions`](Self::mentions), but not those of more than 30 notes and sections.
    /// Cost: some nanoseconds for each word and segment, and a lookup for each name. The first call per segment reads its names.
    pub fn named_in_text(&self, words: &[String]) -> Result<Vec<NamedInText>, KeywordError> {
        self.read(|| {
            self.check_loaded()?;
            let unknown = self.idf(0);
            let mut found = Vec::new();
            for NameMatch { words, notes, sections } in self.name_matches(words)? {
                if notes.len() + sections.len() > MAX_WITH_NAME {
                    continue;
                }
                let mut idf = 0.0;
                for word in words {
                    idf += self.idf(self.n_notes_with(word)?);
                }
                found.push(NamedInText { notes, sections, telling: (idf / unknown).min(1.0) });
            }
            Ok(found)
        })
    }

    /// Returns the runs of words that are names, longest first, each with the notes and sections of that name. No two runs overlap.
    fn name_matches<'w>(&self, words: &'w [String]) -> Result<Vec<NameMatch<'w>>, KeywordError> {
        let mut found = Vec::new();
        let mut is_used = vec![false; words.len()];
        for run in self.likely_names(words)? {
            if is_used[run.clone()].contains(&true) {
                continue;
            }
            let name = words[run.clone()].join(" ");
            let (mut notes, mut sections, mut n_left) =
                (Vec::new(), Vec::new(), Some(MAX_NOTES_WITH_SECTION));
            for segment in &self.0.segments {
                segment.each_named(&name, |note| notes.push(note))?;
                let Some(limit) = n_left else { continue };
                let n_notes = segment.each_section(&name, limit, |note, passages| {
                    sections.extend(passages.iter().map(|passage| (note, *passage as usize)));
                })?;
                n_left = limit.checked_sub(n_notes);
            }
            if n_left.is_none() {
                sections.clear();
            }
            if !notes.is_empty() || !sections.is_empty() {
                is_used[run.clone()].fill(true);
                found.push(NameMatch { words: &words[run], notes, sections });
            }
        }
        Ok(found)
    }

    /// Returns the runs of words that may be names, longest first.
    fn likely_names(&self, words: &[String]) -> Result<Vec<Range<usize>>, KeywordError> {
        let hashes: Vec<u64> = words.iter().map(|word| hash(word.as_bytes())).collect();
        let mut runs = Vec::new();
        for segment in &self.0.segments {
            let filter = segment.name_filter()?;
            for start in 0..words.len() {
                let lengths = filter
                    .likely_names(&hashes[start..])
                    .filter(|n_words| *n_words <= MAX_NAME_WORDS || *n_words == words.len());
                runs.extend(lengths.map(|n_words| start..start + n_words));
            }
        }
        runs.sort_unstable_by_key(|run| (Reverse(run.len()), run.start));
        runs.dedup();
        Ok(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::super::keyword_encoder::KeywordDocument;
    use super::super::keyword_query::QueryOptions;
    use super::super::keyword_settings::KeywordSettings;
    use super::super::keyword_writer::KeywordWriter;
    use super::super::name_terms::names;
    use super::*;

    /// Titles, other names and paths. All notes share a body that makes the vault English.
    const NOTES: &[(&str, &[&str], &str)] = &[
        ("Mercury (planet)", &[], ""),
        ("Mercury (element)", &["Quicksilver"], ""),
        ("The planets", &[], ""),
        ("Orbits of the planets", &[], ""),
        ("The of and", &[], ""),
        ("水星", &[], ""),
        (
            "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen",
            &[],
            "",
        ),
        ("Key words for use", &["RFC2119"], "standards/ietf/RFC2119"),
        ("Wednesday", &["2024-05-01"], "journal/2024-05-01"),
    ];

    fn reader() -> KeywordReader {
        let (mut writer, _) = KeywordWriter::in_memory(KeywordSettings::default()).unwrap();
        for (note, (title, aliases, path)) in (0..).map(NoteId::new).zip(NOTES) {
            let document = KeywordDocument {
                passages: Vec::new(),
                version: 1,
                title,
                aliases: aliases.to_vec(),
                path,
                body: "This note tells of bodies that go around the sun and of what they are.",
                ..KeywordDocument::default()
            };
            writer.upsert(note, writer.encoder().encode(&document)).unwrap();
        }
        writer.commit(1).unwrap()
    }

    #[test]
    fn query_mentions_notes_by_name() {
        let reader = reader();
        let cases: [(&str, &[u32]); 17] = [
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
            ("what does rfc2119 say", &[7]),
            ("ietf/RFC2119", &[7]),
            ("standards ietf rfc2119", &[7]),
            ("2024-05-01", &[8]),
            ("ietf", &[]),
        ];
        for (text, expected) in cases {
            let query = reader.parse(text, &QueryOptions::default()).unwrap();
            let mentions = reader.mentions(&query).unwrap();
            let notes: Vec<u32> = mentions.notes.iter().map(|it| it.note.get()).collect();
            assert_eq!(notes, expected, "{text}");
            assert!(
                mentions.notes.iter().all(|mention| mention.share > 0.0 && mention.share <= 1.0)
            );
        }
    }

    #[test]
    fn names_are_found_in_a_long_text() {
        let reader = reader();
        let filler = "the bodies go around ".repeat(100);
        let text = format!("{filler} Orbits of the planets, quicksilver {filler} planets");
        let words = Analyzer::new().words(&text, Language::English);
        let found = reader.named_in_text(&words).unwrap();
        let notes: Vec<u32> =
            found.iter().flat_map(|named| &named.notes).map(|id| id.get()).collect();
        assert_eq!(notes, [3, 1, 2], "longest first");
        assert!(found.iter().all(|named| named.telling > 0.0 && named.telling <= 1.0), "{found:?}");
        assert!(found[0].telling > found[2].telling, "more words say more: {found:?}");
        assert!(reader.named_in_text(&[]).unwrap().is_empty());
    }

    #[test]
    fn longest_name_in_the_query_is_reported() {
        let reader = reader();
        for (text, expected) in [
            ("the key word for use", Some("Key words for use")),
            ("read RFC2119 of the ietf", Some("RFC2119")),
            ("read ietf rfc2119", Some("ietf/RFC2119")),
            ("ietf -rfc2119", None),
        ] {
            let query = reader.parse(text, &QueryOptions::default()).unwrap();
            let (title, aliases, path) = NOTES[7];
            let names = names(title, aliases, path);
            let found = query.mentioned_name(&mut Analyzer::new(), Language::English, names);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn share_is_the_idf_share_of_the_name() {
        let reader = reader();
        let share = |text: &str| {
            let query = reader.parse(text, &QueryOptions::default()).unwrap();
            reader.mentions(&query).unwrap().notes[0].share
        };
        assert!((share("Quicksilver") - 1.0).abs() < 1e-12, "the query is the name");
        let (known, unknown) = (reader.idf(1), reader.idf(0));
        assert!((share("quicksilver zyzzyva") - known / (known + unknown)).abs() < 1e-12);
        assert!((share("quicksilver, quicksilver") - 1.0).abs() < 1e-12);
    }
}
