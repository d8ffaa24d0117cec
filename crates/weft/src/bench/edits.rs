//! Edits concurrent with reads, and what the readers observe of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tonic::{Code, Response, Status};
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::{
    DeleteNoteRequest, Direction, GetNoteRequest, Hit, LinkMentionsRequest, MentionToLink,
    NeighborsRequest, PutNoteRequest, PutNoteResponse, SearchMode, SearchRequest, Span,
};

use super::call::{CallInputs, CallOutcome, CallResult, Caller};
use super::consistency::{
    Inconsistency, Observation, TimedObservation, VersionHistory, VersionMark, note_word,
    version_marks, version_word,
};
use super::load::{Latencies, LoadRun, Sample, at_fixed_rate};
use crate::client::{Client, Transport};
use crate::failure::Failure;

/// Number of notes that are edited in turn; the next edit of a note waits for the answer to its previous one.
const NOTES: usize = 32;

/// Words of each version besides its markers, taken from the queries: about one page.
const WORDS: usize = 200;

/// Maximum number of inconsistencies that are reported one by one.
const MAX_REPORTED_ONE_BY_ONE: usize = 10;

/// Notes that are edited, as requested by readers.
#[derive(Debug)]
pub(super) struct EditedNotes {
    paths: Vec<String>,
    /// Newest acknowledged version of each note.
    newest: Vec<AtomicU64>,
    turn: AtomicUsize,
}

impl EditedNotes {
    /// Requests the next note for `caller`, in the next of four ways.
    ///
    /// Together they cover every part that a generation publishes: the note table alone, the keyword index by the note's word, the keyword index by the word of one version, and the graph, each joined with the note table.
    pub(super) async fn request_next(&self, caller: &mut Caller) -> Result<CallResult, Status> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let note = turn / 4 % self.paths.len();
        match turn % 4 {
            0 => self.get(caller, note).await,
            1 => self.find(caller, note, format!("+{}", note_word(note)), true).await,
            2 => {
                let version = self.newest[note].load(Ordering::Relaxed);
                self.find(caller, note, format!("+{}", version_word(note, version)), false).await
            }
            _ => self.neighbors(caller, note).await,
        }
    }

    /// Requests the whole note: title, frontmatter, body and its link.
    async fn get(&self, caller: &mut Caller, note: usize) -> Result<CallResult, Status> {
        let request =
            GetNoteRequest { name: self.paths[note].clone(), ..GetNoteRequest::default() };
        let request = caller.with_deadline(request);
        let Some(answer) = present(caller.notes.get_note(request).await)? else {
            return Ok(absent(note));
        };
        let properties = format!("{:?}", answer.properties);
        let links = answer.links.iter().flat_map(|link| version_marks("link", &link.target));
        let shown = version_marks("title", &answer.title)
            .chain(version_marks("frontmatter", &properties))
            .chain(version_marks("body", &answer.body))
            .chain(links);
        Ok(showing(answer.generation, shown.collect()))
    }

    /// Requests the notes that contain a word: found by the keyword index, shown by the note table.
    async fn find(
        &self,
        caller: &mut Caller,
        note: usize,
        query: String,
        must_match: bool,
    ) -> Result<CallResult, Status> {
        let mut shown: Vec<VersionMark> = version_marks("word", &query).collect();
        let request = SearchRequest {
            query,
            mode: SearchMode::Keyword.into(),
            typo_tolerance: Some(false),
            ..SearchRequest::default()
        };
        let request = caller.with_deadline(request);
        let answer = caller.search.search(request).await?.into_inner();
        let hits = || answer.hits.iter();
        if hits().any(|hit| hit.path == self.paths[note]) {
            shown.extend(hits().flat_map(marks_of));
        } else {
            shown.clear();
            shown.extend(must_match.then_some(VersionMark { note, place: "hits", version: None }));
        }
        Ok(showing(answer.generation, shown))
    }

    /// Requests the note and its link targets: found by the graph, shown by the note table.
    async fn neighbors(&self, caller: &mut Caller, note: usize) -> Result<CallResult, Status> {
        let request = NeighborsRequest {
            note: self.paths[note].clone(),
            direction: Direction::Out.into(),
            ..NeighborsRequest::default()
        };
        let request = caller.with_deadline(request);
        let Some(answer) = present(caller.graph.neighbors(request).await)? else {
            return Ok(absent(note));
        };
        let around = answer.nodes.iter().flat_map(|node| version_marks("neighbor", &node.title));
        let shown: Vec<VersionMark> = version_marks("title", &answer.title).chain(around).collect();
        Ok(showing(answer.generation, shown))
    }
}

/// Returns the version marks of a hit.
fn marks_of(hit: &Hit) -> impl Iterator<Item = VersionMark> + '_ {
    let passages = hit.snippets.iter().flat_map(|snippet| version_marks("passage", &snippet.text));
    version_marks("hit's title", &hit.title).chain(passages)
}

fn showing(generation: u64, marks: Vec<VersionMark>) -> CallResult {
    CallResult::new(CallOutcome::Complete, Observation { generation: Some(generation), marks })
}

/// Returns the result for an edited note, which is never deleted, that was not found.
fn absent(note: usize) -> CallResult {
    let marks = vec![VersionMark { note, place: "note", version: None }];
    CallResult::new(CallOutcome::Failed(Code::NotFound), Observation { generation: None, marks })
}

/// Returns the answer, or `None` if the note was not found.
fn present<T>(answer: Result<Response<T>, Status>) -> Result<Option<T>, Status> {
    match answer {
        Ok(answer) => Ok(Some(answer.into_inner())),
        Err(status) if status.code() == Code::NotFound => Ok(None),
        Err(status) => Err(status),
    }
}

/// The benchmark's own files in a vault, which are edited and finally removed.
pub(super) struct EditSession {
    files: Arc<EditFiles>,
    /// Number of each note's next version; locked while an edit is in flight.
    next: Vec<Arc<Mutex<u64>>>,
    /// Versions written so far.
    history: VersionHistory,
    /// True if a mention in each version is turned into a link.
    links: bool,
}

/// Content and location of the edited files.
struct EditFiles {
    notes: NoteServiceClient<Transport>,
    vault: String,
    /// Names without extension, so that links can use them.
    names: Vec<String>,
    words: Vec<String>,
}

/// One finished edit.
struct Edit {
    note: usize,
    version: u64,
    took: Duration,
    /// Generation that contains it.
    outcome: Result<u64, Code>,
    /// `None` if no mention was to be linked.
    link: Option<LinkedMention>,
}

/// A mention in an edited note that was turned into a link.
struct LinkedMention {
    took: Duration,
    outcome: Result<(), Code>,
}

/// Finished edits.
pub(super) struct EditRun {
    rate: f64,
    edits: Vec<Edit>,
    n_not_sent: usize,
}

/// Results of edits, and of the readers' observations.
#[derive(Debug, Serialize)]
pub(crate) struct EditsReport {
    /// Planned edits per second.
    pub(crate) rate: f64,
    /// Number of edits that were acknowledged or failed.
    pub(crate) n: usize,
    /// Number of edits that were not sent because the note's previous edit was still in flight.
    pub(crate) n_not_sent: usize,
    /// Number of failed edits by status.
    pub(crate) errors: BTreeMap<String, usize>,
    /// Latencies from sending an edit to the publication of its generation.
    pub(crate) latency_ms: Latencies,
    /// Results of turning a mention in each edited note into a link, if that was requested.
    pub(crate) links: Option<LinksReport>,
    /// 99th percentile of the readers' latencies with edits, divided by that without.
    pub(crate) p99_ratio: f64,
    /// Number of answers whose generations were checked.
    pub(crate) n_answers: usize,
    /// Number of those answers that showed edited notes.
    pub(crate) n_answers_of_edited: usize,
    /// Number of answers that do not match a single state of the index.
    pub(crate) n_inconsistent: usize,
    /// The first of them.
    pub(crate) inconsistencies: Vec<String>,
}

/// Results of turning mentions into links.
#[derive(Debug, Serialize)]
pub(crate) struct LinksReport {
    /// Number of notes whose mention was linked or failed to be.
    pub(crate) n: usize,
    /// Number of failures by status.
    pub(crate) errors: BTreeMap<String, usize>,
    /// Latencies from sending a request to the publication of its generation.
    pub(crate) latency_ms: Latencies,
}

impl EditSession {
    /// Creates the notes in the named vault from the words of `words`; existing files are never overwritten.
    pub(super) async fn begin(
        client: &Client,
        (vault, links): (String, bool),
        words: &[String],
    ) -> Result<Self, Failure> {
        let run = std::process::id();
        let words = words.iter().flat_map(|text| text.split_whitespace());
        let files = EditFiles {
            notes: client.notes(),
            vault,
            names: (0..NOTES).map(|note| format!("weft-bench-{run}-{note}")).collect(),
            words: words.map(str::to_owned).collect(),
        };
        let next = (0..NOTES).map(|_| Arc::new(Mutex::new(1))).collect();
        let (files, history) = (Arc::new(files), VersionHistory::default());
        let mut edits = Self { files, next, history, links };
        for note in 0..NOTES {
            match edits.files.put(note, 0, Some(String::new())).await {
                Ok(put) => edits.history.record(note, 0, Some(put.generation)),
                Err(status) => {
                    edits.end().await;
                    return Err(status.into());
                }
            }
        }
        Ok(edits)
    }

    /// Returns the notes for readers to request.
    pub(super) fn edited_notes(&self) -> EditedNotes {
        EditedNotes {
            paths: self.files.names.iter().map(|name| format!("{name}.md")).collect(),
            newest: (0..NOTES).map(|_| AtomicU64::new(0)).collect(),
            turn: AtomicUsize::new(0),
        }
    }

    /// Edits the notes in turn, `rate` times per second for `time`.
    pub(super) async fn run(&self, rate: f64, time: Duration, inputs: &Arc<CallInputs>) -> EditRun {
        let (done, mut ended) = mpsc::unbounded_channel();
        let (links, mut n_not_sent) = (self.links, 0);
        let mut tasks = JoinSet::new();
        at_fixed_rate(rate, Instant::now() + time, |at, _| {
            while tasks.try_join_next().is_some() {}
            let note = at % NOTES;
            let Ok(mut next) = Arc::clone(&self.next[note]).try_lock_owned() else {
                n_not_sent += 1;
                return;
            };
            let (files, inputs, done) = (Arc::clone(&self.files), Arc::clone(inputs), done.clone());
            tasks.spawn(async move {
                let (version, sent) = (*next, Instant::now());
                *next += 1;
                let put = files.put(note, version, None).await.map_err(|status| status.code());
                let took = sent.elapsed();
                let link = match &put {
                    Ok(put) if links => Some(files.link(note, version, put).await),
                    Ok(_) | Err(_) => None,
                };
                let outcome = put.map(|put| put.generation);
                if let Some(edited) = inputs.edited.as_ref().filter(|_| outcome.is_ok()) {
                    edited.newest[note].store(version, Ordering::Relaxed);
                }
                // The receiver outlives the senders.
                let _ = done.send(Edit { note, version, took, outcome, link });
            });
        })
        .await;
        while tasks.join_next().await.is_some() {}
        drop(done);
        let mut edits = Vec::new();
        while let Some(edit) = ended.recv().await {
            edits.push(edit);
        }
        EditRun { rate, edits, n_not_sent }
    }

    /// Reports the edits and the observations of both loads, without and with edits.
    pub(super) fn report(
        &mut self,
        edited: EditRun,
        quiet: &LoadRun,
        with_edits: &LoadRun,
    ) -> EditsReport {
        let EditRun { rate, edits, n_not_sent } = edited;
        let mut errors = BTreeMap::new();
        for Edit { note, version, outcome, .. } in &edits {
            self.history.record(*note, *version, outcome.ok());
            if let Err(code) = outcome {
                *errors.entry(format!("{code:?}")).or_default() += 1;
            }
        }
        let samples = quiet.samples.iter().chain(&with_edits.samples);
        let observations: Vec<TimedObservation<'_>> = samples.map(Sample::observation).collect();
        let inconsistencies = self.history.inconsistencies(&observations);
        let shows = |observation: &&TimedObservation<'_>| !observation.observation.marks.is_empty();
        let answers =
            observations.iter().filter(|observation| observation.observation.generation.is_some());
        EditsReport {
            rate,
            n: edits.len(),
            n_not_sent,
            errors,
            latency_ms: Latencies::of(edits.iter().map(|edit| edit.took).collect()),
            links: self.links.then(|| LinksReport::of(&edits)),
            p99_ratio: with_edits.report.all.latency_ms.p99 / quiet.report.all.latency_ms.p99,
            n_answers: answers.count(),
            n_answers_of_edited: observations.iter().filter(shows).count(),
            n_inconsistent: inconsistencies.len(),
            inconsistencies: inconsistencies
                .iter()
                .take(MAX_REPORTED_ONE_BY_ONE)
                .map(Inconsistency::to_string)
                .collect(),
        }
    }

    /// Removes the notes.
    pub(super) async fn end(&self) {
        for path in (0..NOTES).map(|note| self.files.path(note)) {
            let request = DeleteNoteRequest { name: path, expected_hash: None };
            // A note that was never created, or was removed by the user, needs no removal.
            drop(self.files.notes.clone().delete_note(request).await);
        }
    }
}

impl LinksReport {
    fn of(edits: &[Edit]) -> Self {
        let links: Vec<&LinkedMention> =
            edits.iter().filter_map(|edit| edit.link.as_ref()).collect();
        let mut errors = BTreeMap::new();
        for code in links.iter().filter_map(|link| link.outcome.err()) {
            *errors.entry(format!("{code:?}")).or_default() += 1;
        }
        let latency_ms = Latencies::of(links.iter().map(|link| link.took).collect());
        Self { n: links.len(), errors, latency_ms }
    }
}

impl EditFiles {
    fn path(&self, note: usize) -> String {
        format!("{}.md", self.names[note])
    }

    /// Writes a version of a note.
    async fn put(
        &self,
        note: usize,
        version: u64,
        expected_hash: Option<String>,
    ) -> Result<PutNoteResponse, Status> {
        let request = PutNoteRequest {
            vault: Some(self.vault.clone()),
            path: self.path(note),
            text: Some(self.text(note, version)),
            body: None,
            expected_hash,
        };
        Ok(self.notes.clone().put_note(request).await?.into_inner())
    }

    /// Turns the mention at the end of a version, as it was put, into a link.
    async fn link(&self, note: usize, version: u64, put: &PutNoteResponse) -> LinkedMention {
        let sent = Instant::now();
        let end = self.body(note, version).trim_end().chars().count();
        let target = self.neighbor(note).to_owned();
        let [start, end] = [end - target.chars().count(), end];
        let [start, end] = [start, end].map(|at| u32::try_from(at).unwrap_or(u32::MAX));
        let request = LinkMentionsRequest {
            note: self.path(note),
            expected_hash: put.hash.clone().unwrap_or_default(),
            mentions: vec![MentionToLink { span: Some(Span { start, end }), target }],
        };
        let outcome = self.notes.clone().link_mentions(request).await;
        let outcome = outcome.map(drop).map_err(|status| status.code());
        LinkedMention { took: sent.elapsed(), outcome }
    }

    /// Returns the name of the note that a note links to and mentions.
    fn neighbor(&self, note: usize) -> &str {
        &self.names[(note + 1) % NOTES]
    }

    /// Returns the text of a version; every part of it contains the version.
    fn text(&self, note: usize, version: u64) -> String {
        let body = self.body(note, version);
        format!("---\nversion: {}\n---\n{body}", version_word(note, version))
    }

    /// Returns the body of a version, which ends with a mention of the neighbor.
    fn body(&self, note: usize, version: u64) -> String {
        let (version_word, note_word) = (version_word(note, version), note_word(note));
        let neighbor = self.neighbor(note);
        let from = note + usize::try_from(version).unwrap_or(0);
        let words = |from: usize| {
            let words = self.words.iter().cycle().skip(from % self.words.len().max(1));
            words.take(WORDS / 2).map(String::as_str).collect::<Vec<_>>().join(" ")
        };
        let (before, after) = (words(from), words(from + WORDS / 2));
        format!(
            "# {version_word}\n\n{note_word} {before}\n\nOf [[{version_word} itself]] and [[{neighbor}]].\n\n{after} {version_word}\n\nSee {neighbor}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use tonic::service::Routes;

    use super::*;

    #[test]
    fn every_part_of_a_note_contains_its_version() {
        let files = EditFiles {
            notes: NoteServiceClient::new(Transport::InProcess(Routes::default())),
            vault: "notes".into(),
            names: (0..NOTES).map(|note| format!("n{note}")).collect(),
            words: vec!["soft".into(), "moss".into()],
        };
        let text = files.text(3, 41);
        let marks: Vec<_> =
            version_marks("text", &text).map(|mark| (mark.note, mark.version)).collect();
        assert_eq!(marks, vec![(3, Some(41)); 4], "{text}");
        assert!(text.contains("[[n4]]") && text.contains("moss soft moss"), "{text}");
        assert_ne!(text, files.text(3, 42).replace("k42", "k41"), "the words change as well");
    }
}
