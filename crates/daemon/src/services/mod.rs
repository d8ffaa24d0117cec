//! The services of the contract over some vaults, one file per service.

mod admin;
mod context;
mod graph;
mod health;
mod notes;
mod search;
mod streams;
mod when;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, watch};
use tonic::Status;
use tonic::codec::CompressionEncoding;
use tonic::metadata::MetadataMap;
use tonic::service::Routes;
use tracing::Instrument as _;
use weft_proto::noteweft::v1::admin_service_server::AdminServiceServer;
use weft_proto::noteweft::v1::context_service_server::ContextServiceServer;
use weft_proto::noteweft::v1::graph_service_server::GraphServiceServer;
use weft_proto::noteweft::v1::note_service_server::NoteServiceServer;
use weft_proto::noteweft::v1::search_service_server::SearchServiceServer;

use self::when::When;
use crate::config::ServerSettings;
use crate::status::{self, Unanswered};
use crate::vaults::Vaults;
use weft_engine::EngineError;
use weft_indexer::IndexStatus;
use weft_model::Stop;

/// Nodes, edges or files in one message of a stream.
///
/// A few hundred bytes each, so a message stays far below every client's default limit of 4 MiB.
const PIECE: usize = 1000;

/// The share of a caller's time that an answer is given for its way, one part of this many, and the most of it.
///
/// One that leaves when the time is over is never read: the caller, and the transport on this side, give up at that moment with a word of their own.
const WAY_BACK: u32 = 20;
const MOST_BACK: Duration = Duration::from_millis(5);

/// Bounds on the work of [`Services`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Questions computed at the same time, at least 1.
    pub workers: usize,
    /// Questions that wait for a worker, and changes that wait for the writer.
    pub max_waiting: usize,
    /// Streams that follow the index, and questions that wait for a generation.
    pub max_streams: usize,
    /// How long a question may take where its caller asks for no less.
    pub timeout: Duration,
    /// Bytes of a request.
    pub max_request_bytes: usize,
    /// Bytes of a message of an answer.
    pub max_answer_bytes: usize,
}

impl From<&ServerSettings> for Limits {
    fn from(settings: &ServerSettings) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            workers: settings.workers.map_or_else(cores, usize::from),
            max_waiting: settings.max_waiting,
            max_streams: settings.max_streams,
            timeout: Duration::from_millis(settings.timeout_ms),
            max_request_bytes: settings.max_request_bytes,
            max_answer_bytes: settings.max_answer_bytes,
        }
    }
}

/// The work at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// Questions being computed.
    pub(crate) n_running: usize,
    /// Questions that wait for a worker.
    pub(crate) n_waiting: usize,
    /// Questions that can be computed at the same time.
    pub(crate) n_workers: usize,
}

/// What an answer says that may be older than one of the run before.
const RECOVERING: &str = "files: the index goes on from an older state than the last run's, and they are looked at again; what changed since may be missing";

/// Answers the contract. Cloning shares everything.
///
/// Until [`fill`](Self::fill) is called every question is UNAVAILABLE.
/// Questions run on blocking threads, at most as many at a time as there are workers; a note that is soon told is told at once.
#[derive(Clone)]
pub struct Services(Arc<Inner>);

struct Inner {
    vaults: Mutex<Option<Arc<Vaults>>>,
    limits: Limits,
    places: Arc<Semaphore>,
    workers: Arc<Semaphore>,
    /// Places of what waits for the writer: however much does, questions keep their threads.
    changes: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    /// True when the daemon is about to stop.
    ending: watch::Sender<bool>,
    /// Whether the files are looked at for the first time, so that notes are not in the index although they are there.
    first_look: AtomicBool,
}

impl Services {
    /// Services without vaults as yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let workers = limits.workers.max(1);
        Self(Arc::new(Inner {
            vaults: Mutex::new(None),
            limits,
            places: Arc::new(Semaphore::new(workers.saturating_add(limits.max_waiting))),
            workers: Arc::new(Semaphore::new(workers)),
            changes: Arc::new(Semaphore::new(limits.max_waiting.max(1))),
            streams: Arc::new(Semaphore::new(limits.max_streams)),
            ending: watch::Sender::new(false),
            first_look: AtomicBool::new(false),
        }))
    }

    /// Says whether the files of an index that held none are being looked at: answers tell, and there are none before any note is in.
    pub(crate) fn look_for_the_first_time(&self, goes_on: bool) {
        self.0.first_look.store(goes_on, Ordering::Relaxed);
    }

    /// What an answer of now says of files that are not read yet; one that waits for a generation says nothing, for it may come when the look is over.
    fn files_unread_now(&self, when: When) -> Option<String> {
        if when != When::default() {
            return None;
        }
        let is_recovering = || self.opened().is_some_and(|vaults| vaults.indexer().is_recovering());
        let unread = self.files_unread().ok().flatten();
        unread.or_else(|| is_recovering().then(|| RECOVERING.to_owned()))
    }

    /// How far the first look at the files is, where it goes on; UNAVAILABLE where nothing is there to answer from.
    fn files_unread(&self) -> Result<Option<String>, Status> {
        if !self.0.first_look.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let IndexStatus { generation, n_files_done, n_files_total, .. } = self.vaults()?.status();
        if generation == 0 {
            return Err(status::opening());
        }
        Ok(Some(format!(
            "files: they are looked at for the first time; {n_files_done} of {n_files_total} are read"
        )))
    }

    /// Answers over `vaults` from now on.
    pub fn fill(&self, vaults: Arc<Vaults>) {
        *self.slot() = Some(vaults);
    }

    /// Ends all that waits for the index to change: streams that follow it, or health, and questions for a generation to come or for vectors.
    pub fn end_streams(&self) {
        self.0.ending.send_replace(true);
    }

    /// Answers nothing any more, and waits for the writer, which breaks off its look at files and writes down what it holds.
    pub fn clear(&self) {
        // The writer takes its time, so the slot must not be locked meanwhile.
        let held = self.slot().take();
        if let Some(vaults) = held {
            vaults.indexer().interrupt();
        }
    }

    /// The services as one transport: for a server, or for clients of the same process.
    #[must_use]
    pub fn routes(&self) -> Routes {
        let Limits { max_request_bytes, max_answer_bytes, .. } = self.0.limits;
        macro_rules! limited {
            ($server:ident) => {
                $server::new(self.clone())
                    .max_decoding_message_size(max_request_bytes)
                    .max_encoding_message_size(max_answer_bytes)
                    .accept_compressed(CompressionEncoding::Zstd)
                    .accept_compressed(CompressionEncoding::Gzip)
                    .send_compressed(CompressionEncoding::Zstd)
                    .send_compressed(CompressionEncoding::Gzip)
            };
        }
        Routes::new(limited!(SearchServiceServer))
            .add_service(limited!(ContextServiceServer))
            .add_service(limited!(NoteServiceServer))
            .add_service(limited!(GraphServiceServer))
            .add_service(limited!(AdminServiceServer))
    }

    /// The work at hand.
    pub(crate) fn load(&self) -> Load {
        let Inner { limits, places, workers, .. } = &*self.0;
        let n_workers = limits.workers.max(1);
        let n_running = n_workers.saturating_sub(workers.available_permits());
        let n_places = n_workers.saturating_add(limits.max_waiting);
        let n_inside = n_places.saturating_sub(places.available_permits());
        Load { n_running, n_waiting: n_inside.saturating_sub(n_running), n_workers }
    }

    /// How the index is, where it is open.
    pub(crate) fn index_status(&self) -> Option<IndexStatus> {
        Some(self.opened()?.status())
    }

    /// The vaults, where they are open.
    pub(crate) fn opened(&self) -> Option<Arc<Vaults>> {
        self.slot().clone()
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Arc<Vaults>>> {
        self.0.vaults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn vaults(&self) -> Result<Arc<Vaults>, Status> {
        self.opened().ok_or_else(status::opening)
    }

    /// When an answer must leave to be there in time: before the caller's own `grpc-timeout`, or after the configured time where that is less.
    fn deadline(&self, metadata: &MetadataMap) -> Instant {
        let asked = metadata.get("grpc-timeout").and_then(|value| timeout(value.to_str().ok()?));
        let most = self.0.limits.timeout;
        let in_time = asked.map(|asked| asked - (asked / WAY_BACK).min(MOST_BACK));
        Instant::now() + in_time.map_or(most, |asked| asked.min(most))
    }

    /// Computes an answer on a blocking thread as soon as a worker is free.
    ///
    /// Answers by the deadline, with an error where nothing came by then. The work ends soon after that, and soon after nobody waits for it any more.
    async fn compute<T: Send + 'static>(
        &self,
        deadline: Instant,
        question: impl FnOnce(&Vaults, &Stop) -> Result<T, Unanswered> + Send + 'static,
    ) -> Result<T, Status> {
        let vaults = self.vaults()?;
        let Inner { limits, places, workers, .. } = &*self.0;
        let place = Arc::clone(places)
            .try_acquire_owned()
            .map_err(|_| status::crowded(limits.max_waiting))?;
        let waiting = tokio::time::timeout_at(deadline.into(), Arc::clone(workers).acquire_owned());
        let late = || status::of_engine(&EngineError::DeadlineExceeded);
        let waiting = waiting.instrument(tracing::info_span!("waiting"));
        let worker = waiting.await.map_err(|_| late())?.map_err(|_| status::opening())?;
        let stop = Stop::at(deadline);
        let _gone = CancelOnDrop(stop.clone());
        let answer = blocking(move || {
            let answer = stop.check().map_err(|stopped| EngineError::from(stopped).into());
            let answer = answer.and_then(|()| question(&vaults, &stop));
            drop((worker, place));
            answer
        });
        let answer = tokio::time::timeout_at(deadline.into(), answer).await.map_err(|_| late())?;
        answer?.map_err(|error| status::of_question(&error))
    }
}

/// What is asked of the writer.
impl Services {
    /// Has the writer do something and waits for it, however long it takes.
    async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Vaults) -> T + Send + 'static,
    ) -> Result<T, Status> {
        let vaults = self.vaults()?;
        let Inner { changes, limits, .. } = &*self.0;
        let place = Arc::clone(changes).try_acquire_owned();
        let place = place.map_err(|_| status::busy_writing(limits.max_waiting.max(1)))?;
        blocking(move || {
            let done = work(&vaults);
            drop(place);
            done
        })
        .await
    }
}

/// Ends work that nobody waits for: a call whose caller goes away is dropped.
struct CancelOnDrop(Stop);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Status> {
    let span = tracing::info_span!("computing");
    let work = move || span.in_scope(work);
    tokio::task::spawn_blocking(work).await.map_err(|_| status::broken())
}

/// A `grpc-timeout`: up to eight digits and a unit.
fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let n: u64 = digits.parse().ok().filter(|_| digits.len() <= 8)?;
    match unit {
        "H" => Some(Duration::from_secs(n * 3600)),
        "M" => Some(Duration::from_secs(n * 60)),
        "S" => Some(Duration::from_secs(n)),
        "m" => Some(Duration::from_millis(n)),
        "u" => Some(Duration::from_micros(n)),
        "n" => Some(Duration::from_nanos(n)),
        _ => None,
    }
}

/// Messages that are all known when the first is sent.
type Pieces<T> = tokio_stream::Iter<std::vec::IntoIter<Result<T, Status>>>;

/// Cuts `items` into messages; one empty message where there are none, for it still carries the generation.
fn pieces<I, T>(items: Vec<I>, mut message: impl FnMut(Vec<I>) -> T) -> Vec<Result<T, Status>> {
    let mut pieces = Vec::new();
    let mut items = items.into_iter().peekable();
    while items.peek().is_some() {
        pieces.push(Ok(message(items.by_ref().take(PIECE).collect())));
    }
    if pieces.is_empty() {
        pieces.push(Ok(message(Vec::new())));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_read_as_the_protocol_writes_them() {
        for (text, expected) in [
            ("100m", Some(Duration::from_millis(100))),
            ("2H", Some(Duration::from_secs(7200))),
            ("99999999S", Some(Duration::from_secs(99_999_999))),
            ("100000000S", None),
            ("m", None),
            ("", None),
            ("5x", None),
            ("5µ", None),
        ] {
            assert_eq!(timeout(text), expected, "{text}");
        }
    }

    #[test]
    fn a_call_that_is_dropped_ends_its_work() {
        let stop = Stop::by_hand();
        let gone = CancelOnDrop(stop.clone());
        assert_eq!(stop.check(), Ok(()));
        drop(gone);
        assert_eq!(stop.check(), Err(weft_model::Stopped::Cancelled));
    }

    #[test]
    fn nothing_is_one_piece_and_much_is_several() {
        let sizes = |n: usize| -> Vec<usize> {
            pieces((0..n).collect(), |items| items.len()).into_iter().map(Result::unwrap).collect()
        };
        assert_eq!(sizes(0), [0]);
        assert_eq!(sizes(PIECE), [PIECE]);
        assert_eq!(sizes(PIECE * 2 + 1), [PIECE, PIECE, 1]);
    }
}
