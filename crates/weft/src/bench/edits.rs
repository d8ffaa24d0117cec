//! Notes that are edited while others ask, and what their readers see of that.

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
    DeleteNoteRequest, Direction, GetNoteRequest, Hit, NeighborsRequest, PutNoteRequest,
    SearchMode, SearchRequest,
};

use super::call::{Answer, Caller, Material, Outcome};
use super::load::{Latencies, Run, Sample, steadily};
use super::seen::{Breach, Ledger, Part, Seen, Sighting, mark, name, parts};
use crate::asker::{Asker, Transport};
use crate::failure::Failure;

/// Notes that are edited in turn; the next edit of one waits for the answer to its last.
const NOTES: usize = 32;

/// Words of each version besides what marks it, taken from what is asked for: a note of a page.
const WORDS: usize = 200;

/// Breaches that are told of one by one.
const TOLD: usize = 10;

/// Notes that are edited, as readers ask about them.
#[derive(Debug)]
pub(super) struct Watched {
    paths: Vec<String>,
    /// The newest version of each that was answered.
    newest: Vec<AtomicU64>,
    turn: AtomicUsize,
}

impl Watched {
    /// Asks about the next of them, in the next of four ways, for `caller`.
    ///
    /// Between them they meet every part that a generation publishes together: the note table alone, words to table, a version's own word to table, graph to table.
    pub(super) async fn look(&self, caller: &mut Caller) -> Result<Answer, Status> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let note = turn / 4 % self.paths.len();
        match turn % 4 {
            0 => self.get(caller, note).await,
            1 => self.find(caller, note, format!("+{}", name(note)), true).await,
            2 => {
                let version = self.newest[note].load(Ordering::Relaxed);
                self.find(caller, note, format!("+{}", mark(note, version)), false).await
            }
            _ => self.surroundings(caller, note).await,
        }
    }

    /// The whole note: title, frontmatter, body and the link that it makes.
    async fn get(&self, caller: &mut Caller, note: usize) -> Result<Answer, Status> {
        let request =
            GetNoteRequest { name: self.paths[note].clone(), ..GetNoteRequest::default() };
        let request = caller.timed(request);
        let Some(answer) = present(caller.notes.get_note(request).await)? else {
            return Ok(absent(note));
        };
        let properties = format!("{:?}", answer.properties);
        let links = answer.links.iter().flat_map(|link| parts("link", &link.target));
        let shown = parts("title", &answer.title)
            .chain(parts("frontmatter", &properties))
            .chain(parts("body", &answer.body))
            .chain(links);
        Ok(showing(answer.generation, shown.collect()))
    }

    /// The notes that hold a word: found by the word index, shown by the note table.
    async fn find(
        &self,
        caller: &mut Caller,
        note: usize,
        query: String,
        is_there: bool,
    ) -> Result<Answer, Status> {
        let mut shown: Vec<Part> = parts("word", &query).collect();
        let request = SearchRequest {
            query,
            mode: SearchMode::Keyword.into(),
            typos: Some(false),
            ..SearchRequest::default()
        };
        let request = caller.timed(request);
        let answer = caller.search.search(request).await?.into_inner();
        let hits = || answer.hits.iter();
        if hits().any(|hit| hit.path == self.paths[note]) {
            shown.extend(hits().flat_map(parts_of));
        } else {
            shown.clear();
            shown.extend(is_there.then_some(Part { note, place: "hits", version: None }));
        }
        Ok(showing(answer.generation, shown))
    }

    /// The note and those it links to: found by the graph, shown by the note table.
    async fn surroundings(&self, caller: &mut Caller, note: usize) -> Result<Answer, Status> {
        let request = NeighborsRequest {
            note: self.paths[note].clone(),
            direction: Direction::Out.into(),
            ..NeighborsRequest::default()
        };
        let request = caller.timed(request);
        let Some(answer) = present(caller.graph.neighbors(request).await)? else {
            return Ok(absent(note));
        };
        let around = answer.nodes.iter().flat_map(|node| parts("neighbour", &node.title));
        let shown: Vec<Part> = parts("title", &answer.title).chain(around).collect();
        Ok(showing(answer.generation, shown))
    }
}

/// What a hit shows.
fn parts_of(hit: &Hit) -> impl Iterator<Item = Part> + '_ {
    let passages = hit.snippets.iter().flat_map(|snippet| parts("passage", &snippet.text));
    parts("hit's title", &hit.title).chain(passages)
}

fn showing(generation: u64, parts: Vec<Part>) -> Answer {
    Answer::new(Outcome::Whole, Seen { generation: Some(generation), parts })
}

/// A note that is edited and never deleted was not there.
fn absent(note: usize) -> Answer {
    let parts = vec![Part { note, place: "note", version: None }];
    Answer::new(Outcome::Failed(Code::NotFound), Seen { generation: None, parts })
}

/// The answer, unless it says that the note is not there.
fn present<T>(answer: Result<Response<T>, Status>) -> Result<Option<T>, Status> {
    match answer {
        Ok(answer) => Ok(Some(answer.into_inner())),
        Err(status) if status.code() == Code::NotFound => Ok(None),
        Err(status) => Err(status),
    }
}

/// Files of our own in a vault, which are edited and then removed.
pub(super) struct Edits {
    files: Arc<Files>,
    /// The number of each note's next version; held while one is on its way.
    next: Vec<Arc<Mutex<u64>>>,
    /// What was written so far.
    ledger: Ledger,
}

/// What is written, and where.
struct Files {
    notes: NoteServiceClient<Transport>,
    vault: String,
    /// Without their extension, so that links can name them.
    names: Vec<String>,
    words: Vec<String>,
}

/// One edit.
struct Edit {
    note: usize,
    version: u64,
    took: Duration,
    /// The generation that holds it.
    outcome: Result<u64, Code>,
}

/// How edits went.
pub(super) struct Edited {
    rate: f64,
    edits: Vec<Edit>,
    n_held_back: usize,
}

/// What became of edits, and of what readers saw of them.
#[derive(Debug, Serialize)]
pub(crate) struct EditsReport {
    /// Edits a second that were to be made.
    pub(crate) rate: f64,
    /// Edits that were answered or failed.
    pub(crate) n: usize,
    /// Edits that were not made, since the note's last one was still on its way.
    pub(crate) n_held_back: usize,
    /// Edits without an answer, by status.
    pub(crate) errors: BTreeMap<String, usize>,
    /// From sending an edit to the generation that holds it.
    pub(crate) latency_ms: Latencies,
    /// The slowest hundredth of the readers' calls beside edits, compared with the same without: 2 is twice as long.
    pub(crate) p99_ratio: f64,
    /// Answers to readers whose generations were compared.
    pub(crate) n_answers: usize,
    /// Those of them that showed edited notes.
    pub(crate) n_answers_of_edited: usize,
    /// Answers that no single state of the index could have given.
    pub(crate) n_breaches: usize,
    /// The first of them.
    pub(crate) breaches: Vec<String>,
}

impl Edits {
    /// Makes the notes in the vault of this name, of words like `words`; nothing of a person's is overwritten.
    pub(super) async fn begin(
        asker: &Asker,
        vault: String,
        words: &[String],
    ) -> Result<Self, Failure> {
        let run = std::process::id();
        let words = words.iter().flat_map(|text| text.split_whitespace());
        let files = Files {
            notes: asker.notes(),
            vault,
            names: (0..NOTES).map(|note| format!("weft-bench-{run}-{note}")).collect(),
            words: words.map(str::to_owned).collect(),
        };
        let next = (0..NOTES).map(|_| Arc::new(Mutex::new(1))).collect();
        let mut edits = Self { files: Arc::new(files), next, ledger: Ledger::default() };
        for note in 0..NOTES {
            match edits.files.put(note, 0, Some(String::new())).await {
                Ok(generation) => edits.ledger.wrote(note, 0, Some(generation)),
                Err(status) => {
                    edits.end().await;
                    return Err(status.into());
                }
            }
        }
        Ok(edits)
    }

    /// What readers are to ask about.
    pub(super) fn questions(&self) -> Watched {
        Watched {
            paths: self.files.names.iter().map(|name| format!("{name}.md")).collect(),
            newest: (0..NOTES).map(|_| AtomicU64::new(0)).collect(),
            turn: AtomicUsize::new(0),
        }
    }

    /// Edits the notes in turn, `rate` times a second for `time`.
    pub(super) async fn run(&self, rate: f64, time: Duration, watched: &Arc<Material>) -> Edited {
        let (done, mut ended) = mpsc::unbounded_channel();
        let mut n_held_back = 0;
        let mut tasks = JoinSet::new();
        steadily(rate, Instant::now() + time, |at, _| {
            while tasks.try_join_next().is_some() {}
            let note = at % NOTES;
            let Ok(mut next) = Arc::clone(&self.next[note]).try_lock_owned() else {
                n_held_back += 1;
                return;
            };
            let (files, watched, done) =
                (Arc::clone(&self.files), Arc::clone(watched), done.clone());
            tasks.spawn(async move {
                let (version, sent) = (*next, Instant::now());
                *next += 1;
                let outcome = files.put(note, version, None).await.map_err(|status| status.code());
                if let Some(watched) = watched.edited.as_ref().filter(|_| outcome.is_ok()) {
                    watched.newest[note].store(version, Ordering::Relaxed);
                }
                // The receiver outlives the edits.
                let _ = done.send(Edit { note, version, took: sent.elapsed(), outcome });
            });
        })
        .await;
        while tasks.join_next().await.is_some() {}
        drop(done);
        let mut edits = Vec::new();
        while let Some(edit) = ended.recv().await {
            edits.push(edit);
        }
        Edited { rate, edits, n_held_back }
    }

    /// What became of the edits, and of what was seen in the loads before them and beside them.
    pub(super) fn report(&mut self, edited: Edited, quiet: &Run, beside: &Run) -> EditsReport {
        let Edited { rate, edits, n_held_back } = edited;
        let mut errors = BTreeMap::new();
        for Edit { note, version, took: _, outcome } in &edits {
            self.ledger.wrote(*note, *version, outcome.ok());
            if let Err(code) = outcome {
                *errors.entry(format!("{code:?}")).or_default() += 1;
            }
        }
        let samples = quiet.samples.iter().chain(&beside.samples);
        let sightings: Vec<Sighting<'_>> = samples.map(Sample::sighting).collect();
        let breaches = self.ledger.breaches(&sightings);
        let shows = |sighting: &&Sighting<'_>| !sighting.seen.parts.is_empty();
        let answers = sightings.iter().filter(|sighting| sighting.seen.generation.is_some());
        EditsReport {
            rate,
            n: edits.len(),
            n_held_back,
            errors,
            latency_ms: Latencies::of(edits.iter().map(|edit| edit.took).collect()),
            p99_ratio: beside.report.all.latency_ms.p99 / quiet.report.all.latency_ms.p99,
            n_answers: answers.count(),
            n_answers_of_edited: sightings.iter().filter(shows).count(),
            n_breaches: breaches.len(),
            breaches: breaches.iter().take(TOLD).map(Breach::to_string).collect(),
        }
    }

    /// Removes the notes.
    pub(super) async fn end(&self) {
        for path in (0..NOTES).map(|note| self.files.path(note)) {
            let request = DeleteNoteRequest { name: path, expected_hash: None };
            // One that was never made, or that somebody removed, needs no removing.
            drop(self.files.notes.clone().delete_note(request).await);
        }
    }
}

impl Files {
    fn path(&self, note: usize) -> String {
        format!("{}.md", self.names[note])
    }

    /// Writes a version of a note; gives a generation that holds it.
    async fn put(
        &self,
        note: usize,
        version: u64,
        expected_hash: Option<String>,
    ) -> Result<u64, Status> {
        let request = PutNoteRequest {
            vault: Some(self.vault.clone()),
            path: self.path(note),
            text: Some(self.text(note, version)),
            body: None,
            expected_hash,
        };
        Ok(self.notes.clone().put_note(request).await?.into_inner().generation)
    }

    /// A version of a note: every part of it says which one it is.
    fn text(&self, note: usize, version: u64) -> String {
        let (mark, name) = (mark(note, version), name(note));
        let neighbour = &self.names[(note + 1) % NOTES];
        let from = note + usize::try_from(version).unwrap_or(0);
        let words = |from: usize| {
            let words = self.words.iter().cycle().skip(from % self.words.len().max(1));
            words.take(WORDS / 2).map(String::as_str).collect::<Vec<_>>().join(" ")
        };
        let (before, after) = (words(from), words(from + WORDS / 2));
        format!(
            "---\nversion: {mark}\n---\n# {mark}\n\n{name} {before}\n\nOf [[{mark} itself]] and [[{neighbour}]].\n\n{after} {mark}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use tonic::service::Routes;

    use super::*;

    #[test]
    fn every_part_of_a_note_says_its_version() {
        let files = Files {
            notes: NoteServiceClient::new(Transport::Here(Routes::default())),
            vault: "notes".into(),
            names: (0..NOTES).map(|note| format!("n{note}")).collect(),
            words: vec!["soft".into(), "moss".into()],
        };
        let text = files.text(3, 41);
        let marks: Vec<_> = parts("text", &text).map(|part| (part.note, part.version)).collect();
        assert_eq!(marks, vec![(3, Some(41)); 4], "{text}");
        assert!(text.contains("[[n4]]") && text.contains("moss soft moss"), "{text}");
        assert_ne!(text, files.text(3, 42).replace("k42", "k41"), "its words change, too");
    }
}
