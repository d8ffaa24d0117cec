//! What answers show of notes that are edited meanwhile, and whether each came from one state of the index.
//!
//! Every version of an edited note says its number in all its parts: title, frontmatter, body, a link.
//! These parts reach an answer by different ways (words, note table, graph), so an answer made of two states shows two numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Instant;

/// How the words begin that mark the versions of a note; no note of a person holds them.
const MARK: &str = "weftpulse";

/// The word that every version of a note holds.
pub(super) fn name(note: usize) -> String {
    format!("{MARK}{note}k")
}

/// The word that this version of a note holds, and no other.
pub(super) fn mark(note: usize, version: u64) -> String {
    format!("{}{version}", name(note))
}

/// A part of an answer: where it stood, and the version that it showed of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) note: usize,
    pub(super) place: &'static str,
    /// Nothing where the note should have been and was not.
    pub(super) version: Option<u64>,
}

/// The versions that `text` speaks of, which stood at `place`.
pub(super) fn parts<'t>(place: &'static str, text: &'t str) -> impl Iterator<Item = Part> + 't {
    text.split(MARK).skip(1).filter_map(move |rest| {
        let (note, rest) = rest.split_once('k')?;
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let version = rest[..n_digits].parse().ok()?;
        Some(Part { note: note.parse().ok()?, place, version: Some(version) })
    })
}

/// What an answer showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The generation that answered; nothing where nothing did.
    pub(super) generation: Option<u64>,
    /// What it showed of notes that are edited.
    pub(super) parts: Vec<Part>,
}

/// An answer, and when it was on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting<'a> {
    pub(super) client: usize,
    pub(super) sent: Instant,
    pub(super) ended: Instant,
    pub(super) seen: &'a Seen,
}

/// The versions of the edited notes.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    /// By note and version: a generation that holds it, or nothing where no answer told.
    versions: BTreeMap<usize, BTreeMap<u64, Option<u64>>>,
}

impl Ledger {
    /// A version of a note was sent after the answer to the one before it.
    pub(super) fn wrote(&mut self, note: usize, version: u64, generation: Option<u64>) {
        self.versions.entry(note).or_default().insert(version, generation);
    }

    /// Whether `generation` may show this version: each is there from the generation that its answer named at the latest, and not before the one that held its predecessor.
    fn may_show(&self, note: usize, version: u64, generation: u64) -> bool {
        let Some(versions) = self.versions.get(&note) else { return false };
        let known = versions.contains_key(&version);
        let comes = versions.range(..version).filter_map(|(_, at)| *at).max();
        let goes = versions.range(version + 1..).filter_map(|(_, at)| *at).min();
        known
            && comes.is_none_or(|before| before < generation)
            && goes.is_none_or(|after| generation < after)
    }

    /// Every breach of what is promised, by the time of the answer: an answer comes from one state, from the one that its generation names, and never from an older one than the same client has seen.
    pub(super) fn breaches(&self, sightings: &[Sighting<'_>]) -> Vec<Breach> {
        let mut by_end: Vec<&Sighting<'_>> = sightings.iter().collect();
        by_end.sort_by_key(|sighting| sighting.ended);
        let mut by_start: Vec<&Sighting<'_>> = sightings.iter().collect();
        by_start.sort_by_key(|sighting| sighting.sent);
        let mut ended = by_end.into_iter().peekable();
        let mut newest: BTreeMap<usize, u64> = BTreeMap::new();
        let mut breaches = Vec::new();
        for sighting in by_start {
            while let Some(over) = ended.next_if(|over| over.ended <= sighting.sent) {
                let known = newest.entry(over.client).or_default();
                *known = (*known).max(over.seen.generation.unwrap_or(0));
            }
            let Seen { generation, parts } = sighting.seen;
            if let (Some(now), Some(before)) = (*generation, newest.get(&sighting.client))
                && now < *before
            {
                breaches.push(Breach::Back { before: *before, now });
            }
            breaches.extend(self.of_parts(*generation, parts));
        }
        breaches
    }

    fn of_parts(&self, generation: Option<u64>, parts: &[Part]) -> Vec<Breach> {
        let notes: BTreeSet<usize> = parts.iter().map(|part| part.note).collect();
        let breach = |note| {
            let own = || parts.iter().filter(move |part| part.note == note);
            let versions: BTreeSet<Option<u64>> = own().map(|part| part.version).collect();
            let shown = || own().map(|part| (part.place, part.version)).collect();
            match (versions.into_iter().collect::<Vec<_>>().as_slice(), generation) {
                ([Some(version)], Some(at)) if self.may_show(note, *version, at) => None,
                ([Some(version)], Some(generation)) => {
                    Some(Breach::Other { note, version: *version, generation })
                }
                (_, _) => Some(Breach::Half { note, generation, shown: shown() }),
            }
        };
        notes.into_iter().filter_map(breach).collect()
    }
}

/// An answer that no single state of the index could have given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Breach {
    /// Its parts show several versions of a note, or lack it.
    Half { note: usize, generation: Option<u64>, shown: Vec<(&'static str, Option<u64>)> },
    /// It shows a version that its generation does not hold.
    Other { note: usize, version: u64, generation: u64 },
    /// It is older than one that the same client had before it asked.
    Back { before: u64, now: u64 },
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Half { note, generation, shown } => {
                let shown = shown.iter().map(|(place, version)| match version {
                    Some(version) => format!("{place} {version}"),
                    None => format!("{place} none"),
                });
                let shown = shown.collect::<Vec<_>>().join(", ");
                match generation {
                    Some(at) => write!(f, "note {note} in generation {at}: {shown}"),
                    None => write!(f, "note {note}: {shown}"),
                }
            }
            Self::Other { note, version, generation } => {
                write!(f, "note {note} in generation {generation}: version {version}, another's")
            }
            Self::Back { before, now } => {
                write!(f, "generation {now} after generation {before}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Note 3: version 0 in generation 5, 1 sent and not answered, 2 in generation 9.
    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        for (version, generation) in [(0, Some(5)), (1, None), (2, Some(9))] {
            ledger.wrote(3, version, generation);
        }
        ledger
    }

    #[test]
    fn marks_are_read_back_from_any_text() {
        let text = format!("# {}\n{} and {}.", mark(3, 41), name(3), mark(12, 0));
        let found: Vec<_> = parts("body", &text).map(|part| (part.note, part.version)).collect();
        assert_eq!(found, [(3, Some(41)), (12, Some(0))]);
        assert_eq!(parts("body", "weftpulse, weftpulsek1 and weftpulse3").count(), 0);
    }

    #[test]
    fn an_answer_shows_one_version_and_the_one_of_its_generation() {
        let part = |place, version| Part { note: 3, place, version };
        let title = |version| vec![part("title", Some(version))];
        let half = |generation, shown| vec![Breach::Half { note: 3, generation, shown }];
        let other = |version, generation| vec![Breach::Other { note: 3, version, generation }];
        let cases = [
            ("nothing of the note", Some(7), vec![], vec![]),
            ("the version of its generation", Some(5), title(0), vec![]),
            ("the next one, of which no answer told", Some(6), title(1), vec![]),
            ("the last one, a little early", Some(8), title(2), vec![]),
            ("a version before its time", Some(5), title(2), other(2, 5)),
            ("a version after its time", Some(9), title(0), other(0, 9)),
            ("one that was never sent", Some(9), title(7), other(7, 9)),
            (
                "two versions",
                Some(8),
                vec![part("title", Some(0)), part("body", Some(2))],
                half(Some(8), vec![("title", Some(0)), ("body", Some(2))]),
            ),
            (
                "words without a note",
                Some(8),
                vec![part("hits", None)],
                half(Some(8), vec![("hits", None)]),
            ),
            ("no note at all", None, vec![part("note", None)], half(None, vec![("note", None)])),
        ];
        for (name, generation, parts, expected) in cases {
            let now = Instant::now();
            let seen = Seen { generation, parts };
            let sighting = Sighting { client: 0, sent: now, ended: now, seen: &seen };
            assert_eq!(ledger().breaches(&[sighting]), expected, "{name}");
        }
    }

    #[test]
    fn no_client_goes_back_in_time() {
        let begin = Instant::now();
        let seen = |generation| Seen { generation: Some(generation), parts: Vec::new() };
        let (old, new) = (seen(5), seen(6));
        let sighting = |client, sent: u64, ended: u64, seen| Sighting {
            client,
            sent: begin + Duration::from_millis(sent),
            ended: begin + Duration::from_millis(ended),
            seen,
        };
        let back = [Breach::Back { before: 6, now: 5 }];
        for (name, second, expected) in [
            ("asked after the answer", sighting(0, 2, 3, &old), &back[..]),
            ("asked beside it", sighting(0, 1, 3, &old), &[]),
            ("another client", sighting(1, 2, 3, &old), &[]),
        ] {
            let found = ledger().breaches(&[second, sighting(0, 0, 2, &new)]);
            assert_eq!(found, expected, "{name}");
        }
    }
}
