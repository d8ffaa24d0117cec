//! Stale notes: unchanged for long, and linked by many.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use weft_index::Snapshot;
use weft_index::notes::NoteSummary;
use weft_model::NoteId;
use weft_model::date::{self, WrittenDate};

use super::{RankedPage, check_now_and_then, filter_warnings, note_ref, passing_notes};
use crate::filter::value_of;
use crate::{Engine, EngineError, Filter, NoteRef, Warning};

/// Least age if a request names none.
const DEFAULT_MIN_AGE_DAYS: u32 = 365;

/// Least number of linking notes if a request names none.
const DEFAULT_MIN_LINKING: u32 = 2;

/// Properties that say when a note last changed, the first that has a date.
const CHANGED: [&str; 6] =
    ["updated", "modified", "last_modified", "lastmod", "reviewed", "last_reviewed"];

/// Nanoseconds per second.
const NS_PER_SECOND: i64 = 1_000_000_000;

/// Seconds per day.
const SECONDS_PER_DAY: i64 = 86_400;

/// Days per year, for the score.
const DAYS_PER_YEAR: f64 = 365.25;

/// Requests a page of stale notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaleNotesRequest {
    /// Restricts the notes.
    pub filter: Filter,
    /// Least age in days; `None` for 365.
    pub min_age_days: Option<u32>,
    /// Least number of notes that link to a stale one; `None` for 2.
    pub min_linking: Option<u32>,
    /// Notes per page, 1 to 1,000; 0 means 100.
    pub page_size: usize,
    /// Token of the previous page; empty for the first page.
    pub page_token: String,
}

/// A page of stale notes.
#[derive(Clone, Debug, PartialEq)]
pub struct StaleNotesAnswer {
    /// The notes, highest score first, then by uri.
    pub notes: Vec<StaleNote>,
    /// The latest change of any note of the vaults, from which ages count, as `YYYY-MM-DD`; empty without notes.
    pub newest: String,
    /// Token of the next page; empty on the last page.
    pub next_page_token: String,
    /// Number of notes on all pages.
    pub total: usize,
    /// Filter conditions that no note matches.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

/// A stale note.
#[derive(Clone, Debug, PartialEq)]
pub struct StaleNote {
    /// The note.
    pub note: NoteRef,
    /// Day of its last change, as `YYYY-MM-DD`.
    pub changed: String,
    /// Source of that day.
    pub source: ChangeSource,
    /// Days between its last change and the latest change of any note.
    pub age_days: u32,
    /// Number of notes that link to it.
    pub n_linking: u32,
    /// Age in years times the natural logarithm of one more than the linking notes.
    pub score: f64,
}

/// Source of the day of a note's last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeSource {
    /// A property such as `updated` or `modified`.
    Property,
    /// The modification time of the file.
    File,
}

impl Engine {
    /// Returns the notes that have not changed for long although many notes link to them.
    ///
    /// The score is the age in years times `ln(1 + linking notes)`. Ages count from the latest change of any note, so an answer does not depend on the clock.
    /// Fails on an invalid filter and a token of another request.
    pub fn stale_notes(
        &self,
        request: &StaleNotesRequest,
    ) -> Result<StaleNotesAnswer, EngineError> {
        let StaleNotesRequest { filter, min_age_days, min_linking, page_size, page_token } =
            request;
        let min_age_days = min_age_days.unwrap_or(DEFAULT_MIN_AGE_DAYS);
        let min_linking = min_linking.unwrap_or(DEFAULT_MIN_LINKING);
        let parts = ("stale", filter, min_age_days, min_linking);
        let page = RankedPage::of(&parts, *page_size, page_token)?;
        let snapshot = self.snapshot();
        let passing = self.filter_matches(&snapshot, filter)?;
        let warnings = filter_warnings(&snapshot, &passing, &self.stop)?;
        let newest = self.latest_change(&snapshot)?;
        let graph = snapshot.notes.graph();
        let mut stale: Vec<(f64, NoteId, i64, ChangeSource, u32)> = Vec::new();
        for (at, id) in passing_notes(&snapshot, &passing).enumerate() {
            check_now_and_then(&self.stop, at)?;
            let n_linking = graph.degrees(id).inbound;
            let Some((second, source)) = last_change(&snapshot, id) else { continue };
            let age_days = age_in_days(newest, second);
            if n_linking >= min_linking && age_days >= min_age_days {
                let years = f64::from(age_days) / DAYS_PER_YEAR;
                stale.push((years * f64::from(n_linking).ln_1p(), id, second, source, n_linking));
            }
        }
        // Stable: notes of equal score remain in order of uri.
        stale.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        let (notes, next_page_token) = page.cut(&stale);
        let view =
            |(score, id, second, source, n_linking): &(f64, NoteId, i64, _, u32)| StaleNote {
                note: note_ref(&snapshot, *id),
                changed: day(*second),
                source: *source,
                age_days: age_in_days(newest, *second),
                n_linking: *n_linking,
                score: *score,
            };
        Ok(StaleNotesAnswer {
            notes: notes.iter().map(view).collect(),
            newest: newest.map(day).unwrap_or_default(),
            next_page_token,
            total: stale.len(),
            warnings,
            generation: snapshot.generation,
        })
    }
}

impl Engine {
    /// Returns the second of the latest change of any note; `None` without notes.
    ///
    /// A property that names a day after every modification of a file is a slip, and counts as the latest of these.
    fn latest_change(&self, snapshot: &Snapshot) -> Result<Option<i64>, EngineError> {
        let mut latest: Option<(i64, i64)> = None;
        for (at, (id, summary)) in snapshot.notes.summaries().enumerate() {
            check_now_and_then(&self.stop, at)?;
            let file = second_of_file(&summary);
            let change = last_change(snapshot, id).map_or(file, |(second, _)| second);
            let (changes, files) = latest.unwrap_or((change, file));
            latest = Some((changes.max(change), files.max(file)));
        }
        Ok(latest.map(|(change, file)| change.min(file)))
    }
}

fn second_of_file(summary: &NoteSummary<'_>) -> i64 {
    summary.file.modified_ns.div_euclid(NS_PER_SECOND)
}

/// Returns the second of a note's last change and where it is from.
fn last_change(snapshot: &Snapshot, id: NoteId) -> Option<(i64, ChangeSource)> {
    let facets = snapshot.notes.facets(id)?;
    let written = CHANGED.iter().find_map(|name| {
        let items = value_of(&facets, name)?.items();
        items.iter().find_map(|item| date::of_note(item.as_written()?))
    });
    if let Some(WrittenDate { instant, .. }) = written {
        return Some((instant.as_second(), ChangeSource::Property));
    }
    Some((second_of_file(&snapshot.notes.summary(id)?), ChangeSource::File))
}

/// Returns the whole days from `second` to `newest`.
fn age_in_days(newest: Option<i64>, second: i64) -> u32 {
    let seconds = newest.map_or(0, |newest| newest.saturating_sub(second).max(0));
    u32::try_from(seconds / SECONDS_PER_DAY).unwrap_or(u32::MAX)
}

/// Returns the day of a second since 1970, in UTC, as `YYYY-MM-DD`.
fn day(second: i64) -> String {
    let moment = Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH);
    moment.to_zoned(TimeZone::UTC).date().to_string()
}
