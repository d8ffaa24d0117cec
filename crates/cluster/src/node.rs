//! The background work of a node: it embeds texts of the queue, reports its state, and removes old versions.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use weft_index::embedder::{EmbedError, Embedder, ModelIdentity, Role};
use weft_indexer::Indexer;
use weft_model::TextHash;

use crate::digest_check::{Agreement, DigestCheck};
use crate::{
    ClusterError, Collection, CommitError, EmbeddingJob, Lease, NeededVectors, NodeReport,
};

/// Interval between two reports.
const REPORT: Duration = Duration::from_secs(2);

/// Pause after the queue was empty.
const IDLE: Duration = Duration::from_millis(200);

/// Pause after the database or the model could not be reached.
const RETRY: Duration = Duration::from_secs(5);

/// Number of reports until the texts that wait for a vector are counted again.
const REPORTS_PER_COUNT: u32 = 5;

/// Pause between two removals of old versions.
const REMOVAL: Duration = Duration::from_secs(600);

/// Time that the threads get to return their jobs when the node stops; without the database they would wait for it.
const END: Duration = Duration::from_secs(2);

/// Time after which a job returns to the queue, in seconds: enough for the slowest model to embed a batch.
const JOB_SECONDS: u32 = 300;

/// State of a collection, as the threads of a node know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeState {
    /// Number of texts that wait for a vector, as last counted.
    pub n_jobs: u64,
    /// Agreement of its notes with those of the other nodes and of the log.
    pub agreement: Agreement,
}

/// State that the threads and their owner share.
type SharedState = Arc<Mutex<NodeState>>;

fn lock(state: &Mutex<NodeState>) -> MutexGuard<'_, NodeState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads of a node; they end when it is dropped, which also releases its jobs and leases and removes it from the list of nodes.
pub struct NodeThreads {
    collection: Collection,
    id: String,
    indexer: Weak<Indexer>,
    model: Option<ModelIdentity>,
    state: SharedState,
    /// Dropped to end the threads.
    stop: Vec<Sender<()>>,
    /// Dropped by each thread when it ends.
    running: Sender<()>,
    ended: Receiver<()>,
}

impl NodeThreads {
    /// Starts to embed with `embedder` and to report the state of `indexer`.
    ///
    /// `report` gives the id, address and version of the node.
    /// If another node has other notes under the same number, both compare theirs with the log, and one that differs rebuilds its index once.
    pub fn start(
        collection: &Collection,
        embedder: Option<Arc<dyn Embedder>>,
        report: NodeReport,
        indexer: &Arc<Indexer>,
    ) -> std::io::Result<Self> {
        let (running, ended) = bounded(0);
        let mut node = Self {
            collection: collection.clone(),
            id: report.id.clone(),
            indexer: Arc::downgrade(indexer),
            model: embedder.as_ref().map(|embedder| embedder.identity().clone()),
            state: SharedState::default(),
            stop: Vec::new(),
            running,
            ended,
        };
        if let Some(embedder) = embedder {
            let (collection, holder) = (collection.clone(), report.id.clone());
            node.spawn("weft-embed-jobs", move |stopped| {
                embed_jobs(&collection, &*embedder, &holder, &stopped);
            })?;
        }
        let (collection, state) = (collection.clone(), Arc::clone(&node.state));
        let indexer = node.indexer.clone();
        node.spawn("weft-report", move |stopped| {
            report_state(&collection, report, &indexer, &state, &stopped);
        })?;
        Ok(node)
    }

    /// Returns the collection that the node serves.
    #[must_use]
    pub const fn collection(&self) -> &Collection {
        &self.collection
    }

    /// Returns the name of the node in the collection.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Starts to remove versions that are older than `keep`, and vectors that no text needs, whenever no other node does.
    pub fn remove_old_versions(&mut self, keep: Duration) -> std::io::Result<()> {
        let (collection, holder) = (self.collection.clone(), self.id.clone());
        let (indexer, model) = (self.indexer.clone(), self.model.clone());
        self.spawn("weft-old-versions", move |stopped| {
            let mut swept = 0;
            while !rests(&stopped, REMOVAL) {
                let lease = match collection.removal_lease(&holder) {
                    Ok(Some(lease)) => lease,
                    Ok(None) | Err(_) => continue,
                };
                let removed =
                    remove(&collection, &lease, keep, &mut swept, (&indexer, model.as_ref()));
                match removed.and_then(|()| Ok(collection.release_lease(&lease)?)) {
                    // Another node continues, or this one when the database is back.
                    Ok(()) | Err(CommitError::Fenced { .. }) => {}
                    Err(error) => tracing::warn!(%error, "old versions were not removed"),
                }
            }
        })
    }

    /// Returns what the threads know.
    #[must_use]
    pub fn state(&self) -> NodeState {
        lock(&self.state).clone()
    }

    fn spawn(
        &mut self,
        name: &str,
        work: impl FnOnce(Receiver<()>) + Send + 'static,
    ) -> std::io::Result<()> {
        let (stop, stopped) = bounded(0);
        let running = self.running.clone();
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(move || {
            let _running = running;
            work(stopped);
        })?;
        self.stop.push(stop);
        Ok(())
    }
}

impl Drop for NodeThreads {
    fn drop(&mut self) {
        self.stop.clear();
        // Only the threads have senders now.
        self.running = bounded(0).0;
        let _ = self.ended.recv_timeout(END);
    }
}

/// Waits; returns true if the node stops.
fn rests(stopped: &Receiver<()>, pause: Duration) -> bool {
    stopped.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected)
}

/// Embeds texts of the queue until the node stops.
fn embed_jobs(
    collection: &Collection,
    embedder: &dyn Embedder,
    holder: &str,
    stopped: &Receiver<()>,
) {
    let mut last_error: Option<String> = None;
    let mut pause = Duration::ZERO;
    // A node that was killed left its jobs taken, and after its restart they are its own again.
    let _ = collection.release_jobs(embedder.identity(), holder);
    while !rests(stopped, pause) {
        let outcome = embed_batch(collection, embedder, holder);
        let error = outcome.as_ref().err().map(ToString::to_string);
        // An error that repeats every few seconds is logged once.
        if let Some(error) = error.as_ref().filter(|error| last_error.as_ref() != Some(*error)) {
            tracing::warn!(%error, "texts of the collection are not embedded by this node now");
        }
        last_error = error;
        pause = match outcome {
            Ok(0) => IDLE,
            Ok(_) => Duration::ZERO,
            Err(_) => RETRY,
        };
    }
    // Other nodes need not wait until the time of the jobs is over.
    let _ = collection.release_jobs(embedder.identity(), holder);
}

/// Reason why a batch was not embedded.
#[derive(Debug, thiserror::Error)]
enum BatchError {
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

/// Embeds the next texts of the queue, and returns their number.
fn embed_batch(
    collection: &Collection,
    embedder: &dyn Embedder,
    holder: &str,
) -> Result<usize, BatchError> {
    let model = embedder.identity();
    let n = u32::try_from(embedder.batch()).unwrap_or(1).max(1);
    let jobs = collection.take_jobs(model, holder, n, JOB_SECONDS)?;
    if jobs.is_empty() {
        return Ok(0);
    }
    let mut vectors = Vec::with_capacity(jobs.len());
    if let Err(error) = embed(embedder, &jobs, &mut vectors) {
        collection.release_jobs(model, holder)?;
        return Err(error.into());
    }
    collection.store_vectors(model, &vectors)?;
    Ok(jobs.len())
}

/// Embeds texts; one that the model rejects gets an empty vector and does not affect the others.
fn embed(
    embedder: &dyn Embedder,
    jobs: &[EmbeddingJob],
    vectors: &mut Vec<(TextHash, Vec<f32>)>,
) -> Result<(), EmbedError> {
    let texts: Vec<&str> = jobs.iter().map(|job| job.text.as_str()).collect();
    match (embedder.embed(&texts, Role::Document), jobs) {
        (Ok(found), _) => vectors.extend(jobs.iter().map(|job| job.hash).zip(found)),
        (Err(error @ EmbedError::Unavailable { .. }), _) => return Err(error),
        (Err(error @ EmbedError::Failed { .. }), [job]) => {
            tracing::warn!(%error, "the model rejects a text of the collection");
            vectors.push((job.hash, Vec::new()));
        }
        (Err(EmbedError::Failed { .. }), jobs) => {
            let (front, back) = jobs.split_at(jobs.len() / 2);
            embed(embedder, front, vectors)?;
            embed(embedder, back, vectors)?;
        }
    }
    Ok(())
}

/// Reports the state of the node until it stops, and leaves the list of nodes then.
fn report_state(
    collection: &Collection,
    mut report: NodeReport,
    indexer: &Weak<Indexer>,
    state: &Mutex<NodeState>,
    stopped: &Receiver<()>,
) {
    let mut check = DigestCheck::new(collection.clone(), indexer.clone());
    let (mut failed, mut problem, mut n_reports) = (false, None, 0_u32);
    loop {
        let Some(reader) = indexer.upgrade().map(|indexer| indexer.reader()) else { break };
        let snapshot = reader.snapshot();
        (report.generation, report.digest) = (snapshot.generation, snapshot.notes.total().digest);
        drop(snapshot);
        let mut reported = || -> Result<(), ClusterError> {
            let others = collection.report_node(&report)?;
            let is_due = n_reports.is_multiple_of(REPORTS_PER_COUNT);
            let n_jobs = is_due.then(|| collection.n_jobs()).transpose()?;
            if check.differs(others)? {
                lock(state).agreement.clone_from(&check.agreement);
                problem = check.agreement.problem();
                collection.set_node_problem(&report.id, problem)?;
                check.rebuild();
            }
            // An earlier run of the node may have left another one.
            if n_reports == 0 || problem != check.agreement.problem() {
                problem = check.agreement.problem();
                collection.set_node_problem(&report.id, problem)?;
            }
            let mut state = lock(state);
            state.agreement.clone_from(&check.agreement);
            state.n_jobs = n_jobs.unwrap_or(state.n_jobs);
            n_reports += 1;
            Ok(())
        };
        match reported() {
            Ok(()) => failed = false,
            Err(error) => {
                if !failed {
                    tracing::warn!(%error, "cannot report the state of this node");
                }
                failed = true;
            }
        }
        if rests(stopped, REPORT) {
            break;
        }
    }
    // Other nodes need not wait until its jobs and leases run out.
    let _ = collection.drop_node(&report.id);
}

/// Removes old versions; then vectors, once for each floor.
fn remove(
    collection: &Collection,
    lease: &Lease,
    keep: Duration,
    swept: &mut u64,
    (indexer, model): (&Weak<Indexer>, Option<&ModelIdentity>),
) -> Result<(), CommitError> {
    let removed = collection.remove_old_versions(lease, keep)?;
    let (floor, n_versions) = (removed.floor, removed.n_versions);
    if n_versions > 0 {
        tracing::info!(floor, n_versions, "removed old versions");
    }
    let (Some(model), Some(indexer)) = (model, indexer.upgrade()) else { return Ok(()) };
    if floor == *swept {
        return Ok(());
    }
    let snapshot = indexer.reader().snapshot();
    drop(indexer);
    let texts: HashSet<TextHash> =
        snapshot.notes.summaries().flat_map(|(_, note)| note.chunk_hashes()).collect();
    let needed = NeededVectors { model, generation: snapshot.generation, texts: &texts };
    if let Some(n_vectors) = collection.remove_unneeded_vectors(lease, &needed)? {
        *swept = floor;
        if n_vectors > 0 {
            tracing::info!(floor, n_vectors, "removed vectors that no text needs");
        }
    }
    Ok(())
}
