//! Implementations of the gRPC services, one file per service.

mod admin;
mod context;
mod execution;
mod graph;
mod health;
mod hygiene;
mod images;
mod notes;
mod requested_state;
mod search;
mod streams;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tonic::Status;
use tonic::codec::CompressionEncoding;
use tonic::metadata::MetadataMap;
use tonic::service::Routes;
use tracing::Instrument as _;
use weft_engine::{EngineError, Warning, WarningCode};
use weft_indexer::IndexStatus;
use weft_model::Stop;
use weft_proto::noteweft::v1::admin_service_server::AdminServiceServer;
use weft_proto::noteweft::v1::context_service_server::ContextServiceServer;
use weft_proto::noteweft::v1::graph_service_server::GraphServiceServer;
use weft_proto::noteweft::v1::hygiene_service_server::HygieneServiceServer;
use weft_proto::noteweft::v1::note_service_server::NoteServiceServer;
use weft_proto::noteweft::v1::search_service_server::SearchServiceServer;

use self::requested_state::RequestedState;
use crate::access::Credentials;
use crate::cluster_node::NodeHealth;
use crate::config::ServerSettings;
use crate::fair_share::{PlacePool, Workers};
use crate::metrics::QueueLoad;
use crate::net::ConnectionTable;
use crate::status::{self, RequestError};
use crate::vaults::Vaults;

/// Maximum number of nodes, edges or files in one message of a stream.
///
/// Each takes a few hundred bytes, so a message stays far below the default limit of every client, 4 MiB.
const ITEMS_PER_MESSAGE: usize = 1000;

/// Time reserved for the response to reach the client: the client's timeout divided by [`TRANSIT_DIVISOR`], at most [`MAX_TRANSIT`].
///
/// A response sent at the deadline would never be read: the client, and the transport on this side, cancel at that moment with an error of their own.
const TRANSIT_DIVISOR: u32 = 20;
const MAX_TRANSIT: Duration = Duration::from_millis(5);

/// Bounds on the work of [`Services`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceLimits {
    /// Maximum number of requests computed at the same time, at least 1.
    pub workers: usize,
    /// Maximum number of requests that wait for a worker, and of changes that wait for the writer.
    pub max_queued_requests: usize,
    /// Maximum number of streams that follow the index and requests that wait for a generation.
    pub max_streams: usize,
    /// Timeout of a request whose client sets no shorter one.
    pub timeout: Duration,
    /// Maximum size of a request in bytes.
    pub max_request_bytes: usize,
    /// Maximum size of a response message in bytes.
    pub max_response_bytes: usize,
}

impl From<&ServerSettings> for ServiceLimits {
    fn from(settings: &ServerSettings) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            workers: settings.workers.map_or_else(cores, usize::from),
            max_queued_requests: settings.max_queued_requests,
            max_streams: settings.max_streams,
            timeout: Duration::from_millis(settings.timeout_ms),
            max_request_bytes: settings.max_request_bytes,
            max_response_bytes: settings.max_response_bytes,
        }
    }
}

/// Warning on answers that may be older than those of the last run.
const RECOVERING: &str = "the index was restored from a state older than the last run, and all files are being scanned again; recent changes may be missing";

/// Implements the gRPC services. Clones share all state.
///
/// Every request fails with UNAVAILABLE until [`attach`](Self::attach) is called.
/// Requests run on blocking threads, at most one per worker; a note that is cheap to read from memory is returned directly.
#[derive(Clone)]
pub struct Services(Arc<ServicesInner>);

struct ServicesInner {
    vaults: Mutex<Option<Arc<Vaults>>>,
    limits: ServiceLimits,
    queue_slots: Arc<PlacePool>,
    workers: Arc<Workers>,
    /// Permits for changes that wait for the writer; they are separate, so that changes never take workers from requests.
    write_slots: Arc<PlacePool>,
    streams: Arc<PlacePool>,
    /// True when the daemon begins to stop.
    stopping: watch::Sender<bool>,
    /// True if the first scan is running, so that notes may be missing from the index although their files exist.
    initial_scan: AtomicBool,
    /// State of the sockets; unset in a process that serves no socket.
    server: OnceLock<ServerState>,
}

/// State of a daemon's sockets, for its status.
#[derive(Clone)]
pub(crate) struct ServerState {
    /// Open connections over TCP and over the Unix socket.
    pub(crate) connections: [Arc<ConnectionTable>; 2],
    /// Credentials in force.
    pub(crate) credentials: watch::Receiver<Credentials>,
}

impl Services {
    /// Creates services without vaults.
    #[must_use]
    pub fn new(limits: ServiceLimits) -> Self {
        let workers = limits.workers.max(1);
        Self(Arc::new(ServicesInner {
            vaults: Mutex::new(None),
            limits,
            queue_slots: PlacePool::new(workers, limits.max_queued_requests),
            workers: Workers::new(workers),
            write_slots: PlacePool::new(0, limits.max_queued_requests.max(1)),
            streams: PlacePool::new(0, limits.max_streams),
            stopping: watch::Sender::new(false),
            initial_scan: AtomicBool::new(false),
            server: OnceLock::new(),
        }))
    }

    /// Sets the state of the sockets over which these services are reached; a later call has no effect.
    pub(crate) fn set_server(&self, server: ServerState) {
        let _ = self.0.server.set(server);
    }

    /// Sets whether the first scan of a new index is running; responses then carry a warning, and fail before the first note is indexed.
    pub(crate) fn set_initial_scan(&self, goes_on: bool) {
        self.0.initial_scan.store(goes_on, Ordering::Relaxed);
    }

    /// Returns the warning about unscanned files, or about commits that this node lacks, for a request over the newest state.
    ///
    /// A request for a given generation gets none: the scan may be complete by then.
    fn unread_files_warning(&self, state: RequestedState) -> Option<Warning> {
        if state != RequestedState::default() {
            return None;
        }
        let is_recovering =
            || self.vaults_if_open().is_some_and(|vaults| vaults.indexer().is_recovering());
        let unread = self.initial_scan_warning().ok().flatten();
        let recovering = || Warning::new(WarningCode::IndexRecovering, RECOVERING);
        let lag = || Some(Warning::new(WarningCode::NodeLags, self.node_health()?.lag_warning()?));
        unread.or_else(|| is_recovering().then(recovering)).or_else(lag)
    }

    /// Returns a warning with the progress of the first scan, if it is running; fails with UNAVAILABLE if nothing is indexed yet.
    fn initial_scan_warning(&self) -> Result<Option<Warning>, Status> {
        if !self.0.initial_scan.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let IndexStatus { generation, n_files_done, n_files_total, .. } = self.vaults()?.status();
        if generation == 0 {
            return Err(status::opening());
        }
        let message = format!(
            "the first scan is still running: {n_files_done} of {n_files_total} files read"
        );
        Ok(Some(Warning::new(WarningCode::ScanIncomplete, message)))
    }

    /// Serves `vaults` from now on.
    pub fn attach(&self, vaults: Arc<Vaults>) {
        *self.slot() = Some(vaults);
    }

    /// Ends everything that waits for the index or the health state to change: streams, and requests that wait for a generation or for vectors.
    pub fn stop_streams(&self) {
        self.0.stopping.send_replace(true);
    }

    /// Stops serving and waits for the writer, which cancels its scan and persists its state.
    pub fn detach(&self) {
        // Stopping the writer takes time; the slot must not stay locked meanwhile.
        let attached = self.slot().take();
        if let Some(vaults) = attached {
            vaults.indexer().interrupt();
        }
    }

    /// Returns all services as one transport, for a server or for in-process clients.
    #[must_use]
    pub fn routes(&self) -> Routes {
        let ServiceLimits { max_request_bytes, max_response_bytes, .. } = self.0.limits;
        macro_rules! limited {
            ($server:ident) => {
                $server::new(self.clone())
                    .max_decoding_message_size(max_request_bytes)
                    .max_encoding_message_size(max_response_bytes)
                    .accept_compressed(CompressionEncoding::Gzip)
                    .send_compressed(CompressionEncoding::Gzip)
            };
        }
        Routes::new(limited!(SearchServiceServer))
            .add_service(limited!(ContextServiceServer))
            .add_service(limited!(NoteServiceServer))
            .add_service(limited!(GraphServiceServer))
            .add_service(limited!(HygieneServiceServer))
            .add_service(limited!(AdminServiceServer))
    }

    /// Returns the number of requests at each stage of the queue.
    pub(crate) fn load(&self) -> QueueLoad {
        let ServicesInner { limits, queue_slots, workers, .. } = &*self.0;
        let n_workers = limits.workers.max(1);
        let n_running = n_workers.saturating_sub(workers.n_idle());
        let n_queued = queue_slots.n_taken().saturating_sub(n_running);
        QueueLoad { n_running, n_queued, n_workers }
    }

    /// Returns the status of the index, if it is open.
    pub(crate) fn index_status(&self) -> Option<IndexStatus> {
        Some(self.vaults_if_open()?.status())
    }

    /// Returns the state towards the collection, if this is one of its nodes.
    pub(crate) fn node_health(&self) -> Option<NodeHealth> {
        self.vaults_if_open()?.node_health()
    }

    /// Returns the vaults, if they are open.
    pub(crate) fn vaults_if_open(&self) -> Option<Arc<Vaults>> {
        self.slot().clone()
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Arc<Vaults>>> {
        self.0.vaults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the vaults; fails with UNAVAILABLE until they are open, and until a node is current.
    fn vaults(&self) -> Result<Arc<Vaults>, Status> {
        let vaults = self.vaults_if_open().ok_or_else(status::opening)?;
        if vaults.is_catching_up() {
            let IndexStatus { n_files_done, n_files_total, .. } = vaults.status();
            return Err(status::catching_up(n_files_done, n_files_total));
        }
        Ok(vaults)
    }

    /// Returns when a response must be ready: a little before the client's `grpc-timeout`, or after the configured timeout if that is shorter.
    fn deadline(&self, metadata: &MetadataMap) -> Instant {
        let parsed = metadata.get("grpc-timeout").and_then(|value| timeout(value.to_str().ok()?));
        let most = self.0.limits.timeout;
        let in_time = parsed.map(|parsed| parsed - (parsed / TRANSIT_DIVISOR).min(MAX_TRANSIT));
        Instant::now() + in_time.map_or(most, |parsed| parsed.min(most))
    }

    /// Computes an answer on a blocking thread as soon as a worker is free.
    ///
    /// Fails at the deadline. The work is cancelled soon after that, and soon after the client disconnects.
    async fn compute<T: Send + 'static>(
        &self,
        deadline: Instant,
        request: impl FnOnce(&Vaults, &Stop) -> Result<T, RequestError> + Send + 'static,
    ) -> Result<T, Status> {
        let vaults = self.vaults()?;
        let ServicesInner { limits, queue_slots, workers, .. } = &*self.0;
        let place = queue_slots.take();
        let place = place.map_err(|error| status::queue_full(limits.max_queued_requests, error))?;
        let waiting = tokio::time::timeout_at(deadline.into(), workers.acquire());
        let late = || status::of_engine(&EngineError::DeadlineExceeded);
        let waiting = waiting.instrument(tracing::info_span!("waiting"));
        let worker = waiting.await.map_err(|_| late())?;
        let stop = Stop::at(deadline);
        let _gone = CancelOnDrop(stop.clone());
        let answer = blocking(move || {
            let answer = stop.check().map_err(|stopped| EngineError::from(stopped).into());
            let answer = answer.and_then(|()| request(&vaults, &stop));
            drop((worker, place));
            answer
        });
        let answer = tokio::time::timeout_at(deadline.into(), answer).await.map_err(|_| late())?;
        answer?.map_err(|error| status::of_request(&error))
    }
}

/// Changes, which run on the writer.
impl Services {
    /// Runs `work` on the writer and waits for it, without a deadline.
    async fn run_on_writer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Vaults) -> T + Send + 'static,
    ) -> Result<T, Status> {
        let vaults = self.vaults()?;
        let ServicesInner { write_slots, limits, .. } = &*self.0;
        let place = write_slots.take();
        let max_queued = limits.max_queued_requests.max(1);
        let place = place.map_err(|error| status::write_queue_full(max_queued, error))?;
        blocking(move || {
            let done = work(&vaults);
            drop(place);
            done
        })
        .await
    }
}

/// Cancels work whose request was dropped because its client disconnected.
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
    tokio::task::spawn_blocking(work).await.map_err(|_| status::panicked())
}

/// Parses a `grpc-timeout`: up to eight digits and a unit.
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

/// A stream whose messages are all known when the first is sent.
type MessageStream<T> = tokio_stream::Iter<std::vec::IntoIter<Result<T, Status>>>;

/// Splits `items` into messages; without items returns one empty message, which still carries the generation.
fn messages_of<I, T>(
    items: Vec<I>,
    mut message: impl FnMut(Vec<I>) -> T,
) -> Vec<Result<T, Status>> {
    let mut messages_of = Vec::new();
    let mut items = items.into_iter().peekable();
    while items.peek().is_some() {
        messages_of.push(Ok(message(items.by_ref().take(ITEMS_PER_MESSAGE).collect())));
    }
    if messages_of.is_empty() {
        messages_of.push(Ok(message(Vec::new())));
    }
    messages_of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_timeouts_are_parsed() {
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
    fn dropped_request_cancels_its_work() {
        let stop = Stop::cancellable();
        let gone = CancelOnDrop(stop.clone());
        assert_eq!(stop.check(), Ok(()));
        drop(gone);
        assert_eq!(stop.check(), Err(weft_model::Stopped::Cancelled));
    }

    #[test]
    fn items_are_split_into_messages() {
        let sizes = |n: usize| -> Vec<usize> {
            messages_of((0..n).collect(), |items| items.len())
                .into_iter()
                .map(Result::unwrap)
                .collect()
        };
        assert_eq!(sizes(0), [0]);
        assert_eq!(sizes(ITEMS_PER_MESSAGE), [ITEMS_PER_MESSAGE]);
        assert_eq!(sizes(ITEMS_PER_MESSAGE * 2 + 1), [ITEMS_PER_MESSAGE, ITEMS_PER_MESSAGE, 1]);
    }
}
