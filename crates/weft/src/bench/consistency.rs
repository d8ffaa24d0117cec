//! Checks that each answer shows a single state of the index while notes are edited.
//!
//! Every version of an edited note contains its number in all parts: title, frontmatter, body and a link.
//! These parts reach an answer through different structures (keyword index, note table, graph), so an answer that mixes two states shows two numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Instant;

/// Prefix of the words that mark the versions of a note; real notes do not contain it.
const MARK: &str = "weftpulse";

/// Returns the word that every version of a note contains.
pub(super) fn note_word(note: usize) -> String {
    format!("{MARK}{note}k")
}

/// Returns the word that only this version of a note contains.
pub(super) fn version_word(note: usize, version: u64) -> String {
    format!("{}{version}", note_word(note))
}

/// A version of a note as shown at one place of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VersionMark {
    pub(super) note: usize,
    pub(super) place: &'static str,
    /// The version shown; `None` if the note is missing although it must be there.
    pub(super) version: Option<u64>,
}

/// Returns the version marks in `text`, which appeared at `place`.
pub(super) fn version_marks<'t>(
    place: &'static str,
    text: &'t str,
) -> impl Iterator<Item = VersionMark> + 't {
    text.split(MARK).skip(1).filter_map(move |rest| {
        let (note, rest) = rest.split_once('k')?;
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let version = rest[..n_digits].parse().ok()?;
        Some(VersionMark { note: note.parse().ok()?, place, version: Some(version) })
    })
}

/// Content of an answer with respect to edited notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Observation {
    /// Generation of the answer; `None` without an answer.
    pub(super) generation: Option<u64>,
    /// Versions of edited notes that it showed.
    pub(super) marks: Vec<VersionMark>,
}

/// An observation with the times of its request.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedObservation<'a> {
    pub(super) client: usize,
    pub(super) sent: Instant,
    pub(super) ended: Instant,
    pub(super) observation: &'a Observation,
}

/// Versions of the edited notes.
#[derive(Clone, Debug, Default)]
pub(super) struct VersionHistory {
    /// By note and version: a generation that contains the version, or `None` if the edit was not acknowledged.
    versions: BTreeMap<usize, BTreeMap<u64, Option<u64>>>,
}

impl VersionHistory {
    /// Records a version of a note that was sent after the answer to the previous one.
    pub(super) fn record(&mut self, note: usize, version: u64, generation: Option<u64>) {
        self.versions.entry(note).or_default().insert(version, generation);
    }

    /// Returns whether `generation` may show this version. A version is visible at the latest from the generation that its answer named, and not before the generation that contains its predecessor.
    fn may_show(&self, note: usize, version: u64, generation: u64) -> bool {
        let Some(versions) = self.versions.get(&note) else { return false };
        let known = versions.contains_key(&version);
        let after = versions.range(..version).filter_map(|(_, at)| *at).max();
        let before = versions.range(version + 1..).filter_map(|(_, at)| *at).min();
        known
            && after.is_none_or(|earlier| earlier < generation)
            && before.is_none_or(|later| generation < later)
    }

    /// Returns all inconsistencies in order of request time. An answer must show one state, the one of its generation, and never an older one than the same client has already seen.
    pub(super) fn inconsistencies(
        &self,
        observations: &[TimedObservation<'_>],
    ) -> Vec<Inconsistency> {
        let mut by_end: Vec<&TimedObservation<'_>> = observations.iter().collect();
        by_end.sort_by_key(|observation| observation.ended);
        let mut by_start: Vec<&TimedObservation<'_>> = observations.iter().collect();
        by_start.sort_by_key(|observation| observation.sent);
        let mut ended = by_end.into_iter().peekable();
        let mut newest: BTreeMap<usize, u64> = BTreeMap::new();
        let mut inconsistencies = Vec::new();
        for observation in by_start {
            while let Some(over) = ended.next_if(|over| over.ended <= observation.sent) {
                let known = newest.entry(over.client).or_default();
                *known = (*known).max(over.observation.generation.unwrap_or(0));
            }
            let Observation { generation, marks } = observation.observation;
            if let (Some(now), Some(before)) = (*generation, newest.get(&observation.client))
                && now < *before
            {
                inconsistencies.push(Inconsistency::OlderGeneration { before: *before, now });
            }
            inconsistencies.extend(self.check_marks(*generation, marks));
        }
        inconsistencies
    }

    fn check_marks(&self, generation: Option<u64>, marks: &[VersionMark]) -> Vec<Inconsistency> {
        let notes: BTreeSet<usize> = marks.iter().map(|mark| mark.note).collect();
        let inconsistency = |note| {
            let own = || marks.iter().filter(move |mark| mark.note == note);
            let versions: BTreeSet<Option<u64>> = own().map(|mark| mark.version).collect();
            let shown = || own().map(|mark| (mark.place, mark.version)).collect();
            match (versions.into_iter().collect::<Vec<_>>().as_slice(), generation) {
                ([Some(version)], Some(at)) if self.may_show(note, *version, at) => None,
                ([Some(version)], Some(generation)) => {
                    Some(Inconsistency::WrongVersion { note, version: *version, generation })
                }
                (_, _) => Some(Inconsistency::Mixed { note, generation, shown: shown() }),
            }
        };
        notes.into_iter().filter_map(inconsistency).collect()
    }
}

/// An answer that does not match any single state of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Inconsistency {
    /// It shows several versions of a note, or lacks the note.
    Mixed { note: usize, generation: Option<u64>, shown: Vec<(&'static str, Option<u64>)> },
    /// It shows a version that its generation does not contain.
    WrongVersion { note: usize, version: u64, generation: u64 },
    /// Its generation is older than one that the client had received before the request.
    OlderGeneration { before: u64, now: u64 },
}

impl fmt::Display for Inconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mixed { note, generation, shown } => {
                let shown = shown.iter().map(|(place, version)| match version {
                    Some(version) => format!("{place} {version}"),
                    None => format!("{place} missing"),
                });
                let shown = shown.collect::<Vec<_>>().join(", ");
                match generation {
                    Some(at) => write!(f, "note {note} in generation {at}: {shown}"),
                    None => write!(f, "note {note}: {shown}"),
                }
            }
            Self::WrongVersion { note, version, generation } => {
                write!(
                    f,
                    "note {note} in generation {generation}: version {version}, which it does not contain"
                )
            }
            Self::OlderGeneration { before, now } => {
                write!(f, "generation {now} after generation {before}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Note 3: version 0 in generation 5, version 1 sent and not acknowledged, version 2 in generation 9.
    fn history() -> VersionHistory {
        let mut history = VersionHistory::default();
        for (version, generation) in [(0, Some(5)), (1, None), (2, Some(9))] {
            history.record(3, version, generation);
        }
        history
    }

    #[test]
    fn version_marks_are_found_in_any_text() {
        let text =
            format!("# {}\n{} and {}.", version_word(3, 41), note_word(3), version_word(12, 0));
        let found: Vec<_> =
            version_marks("body", &text).map(|mark| (mark.note, mark.version)).collect();
        assert_eq!(found, [(3, Some(41)), (12, Some(0))]);
        assert_eq!(version_marks("body", "weftpulse, weftpulsek1 and weftpulse3").count(), 0);
    }

    #[test]
    fn answer_must_show_the_version_of_its_generation() {
        let mark = |place, version| VersionMark { note: 3, place, version };
        let title = |version| vec![mark("title", Some(version))];
        let mixed = |generation, shown| vec![Inconsistency::Mixed { note: 3, generation, shown }];
        let wrong_version = |version, generation| {
            vec![Inconsistency::WrongVersion { note: 3, version, generation }]
        };
        let cases = [
            ("nothing of the note", Some(7), vec![], vec![]),
            ("the version of its generation", Some(5), title(0), vec![]),
            ("the next version, not acknowledged", Some(6), title(1), vec![]),
            ("the last version, before its acknowledged generation", Some(8), title(2), vec![]),
            ("a version before its earliest generation", Some(5), title(2), wrong_version(2, 5)),
            ("a version after its latest generation", Some(9), title(0), wrong_version(0, 9)),
            ("a version that was never sent", Some(9), title(7), wrong_version(7, 9)),
            (
                "two versions",
                Some(8),
                vec![mark("title", Some(0)), mark("body", Some(2))],
                mixed(Some(8), vec![("title", Some(0)), ("body", Some(2))]),
            ),
            (
                "a keyword match without the note",
                Some(8),
                vec![mark("hits", None)],
                mixed(Some(8), vec![("hits", None)]),
            ),
            ("no note", None, vec![mark("note", None)], mixed(None, vec![("note", None)])),
        ];
        for (name, generation, marks, expected) in cases {
            let now = Instant::now();
            let answer = Observation { generation, marks };
            let observation =
                TimedObservation { client: 0, sent: now, ended: now, observation: &answer };
            assert_eq!(history().inconsistencies(&[observation]), expected, "{name}");
        }
    }

    #[test]
    fn generations_of_a_client_never_decrease() {
        let begin = Instant::now();
        let answer = |generation| Observation { generation: Some(generation), marks: Vec::new() };
        let (old, new) = (answer(5), answer(6));
        let observation = |client, sent: u64, ended: u64, observation| TimedObservation {
            client,
            sent: begin + Duration::from_millis(sent),
            ended: begin + Duration::from_millis(ended),
            observation,
        };
        let older = [Inconsistency::OlderGeneration { before: 6, now: 5 }];
        for (name, second, expected) in [
            ("sent after the answer", observation(0, 2, 3, &old), &older[..]),
            ("sent concurrently", observation(0, 1, 3, &old), &[]),
            ("another client", observation(1, 2, 3, &old), &[]),
        ] {
            let found = history().inconsistencies(&[second, observation(0, 0, 2, &new)]);
            assert_eq!(found, expected, "{name}");
        }
    }
}
