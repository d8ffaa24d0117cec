//! The background work of a node: it embeds texts of the queue and reports its state.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use weft_index::embedder::{EmbedError, Embedder, Role};

use crate::{ClusterError, Collection, EmbeddingJob, NodeReport};

/// Interval between two reports.
const REPORT: Duration = Duration::from_secs(2);

/// Pause after the queue was empty.
const IDLE: Duration = Duration::from_millis(200);

/// Pause after the database or the model could not be reached.
const RETRY: Duration = Duration::from_secs(5);

/// Time that the threads get to return their jobs when the node stops; without the database they would wait for it.
const END: Duration = Duration::from_secs(2);

/// Time after which a job returns to the queue, in seconds: enough for the slowest model to embed a batch.
const JOB_SECONDS: u32 = 300;

/// The threads of a node; they end when it is dropped.
pub struct NodeThreads {
    /// Dropped to end the threads.
    stop: Vec<Sender<()>>,
    /// Dropped by each thread when it ends.
    running: Sender<()>,
    ended: Receiver<()>,
}

impl NodeThreads {
    /// Starts to embed with `embedder` and to report the state that `state` returns: the generation and the digest of its notes.
    ///
    /// `report` gives the id, address and version of the node.
    pub fn start(
        collection: &Collection,
        embedder: Option<Arc<dyn Embedder>>,
        report: NodeReport,
        state: impl Fn() -> (u64, u128) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (running, ended) = bounded(0);
        let mut node = Self { stop: Vec::new(), running, ended };
        if let Some(embedder) = embedder {
            let (collection, holder) = (collection.clone(), report.id.clone());
            node.spawn("weft-embed-jobs", move |stopped| {
                embed_jobs(&collection, &*embedder, &holder, &stopped);
            })?;
        }
        let collection = collection.clone();
        node.spawn("weft-report", move |stopped| {
            report_state(&collection, report, state, &stopped)
        })?;
        Ok(node)
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
    vectors: &mut Vec<(weft_model::TextHash, Vec<f32>)>,
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

/// Reports the state of the node until it stops.
fn report_state(
    collection: &Collection,
    mut report: NodeReport,
    state: impl Fn() -> (u64, u128),
    stopped: &Receiver<()>,
) {
    let (mut disagreeing, mut failed) = (Vec::new(), false);
    loop {
        (report.generation, report.digest) = state();
        match collection.report_node(&report) {
            Ok(others) => {
                if !others.is_empty() && others != disagreeing {
                    let (generation, nodes) = (report.generation, others.join(", "));
                    tracing::error!(generation, nodes, "other nodes have different notes");
                }
                (disagreeing, failed) = (others, false);
            }
            Err(error) if !failed => {
                tracing::warn!(%error, "cannot report the state of this node");
                failed = true;
            }
            Err(_) => {}
        }
        if rests(stopped, REPORT) {
            return;
        }
    }
}
