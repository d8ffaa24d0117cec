//! Client of a daemon, or of the same services in this process.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::HeaderValue;
use tonic::codegen::{BoxFuture, Service, StdError, http};
use tonic::service::Routes;
use tonic::transport::Channel;
use weft_daemon::config::{Config, SettingOrigin, Sources};
use weft_daemon::{
    ConfigReload, Daemon, Environment, IndexError, OpenMode, OpenVaultsError, Paths, ServiceLimits,
    Services, StoreError, Vaults,
};
use weft_proto::noteweft::v1::admin_service_client::AdminServiceClient;
use weft_proto::noteweft::v1::context_service_client::ContextServiceClient;
use weft_proto::noteweft::v1::graph_service_client::GraphServiceClient;
use weft_proto::noteweft::v1::hygiene_service_client::HygieneServiceClient;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{
    CoverageRequest, CoverageResponse, DiffRequest, DiffResponse, ExportRequest, ExportResponse,
};

use crate::cli::Global;
use crate::commands::aside;
use crate::connection::{ClientCredentials, default_address, is_connection_setting};
use crate::failure::Failure;
use crate::handover::Handover;
use crate::hint::Hint;
use crate::print;
use crate::progress::Progress;

/// Intended use of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A single command, for which the index is updated first.
    OneShot {
        /// True if the command waits for vectors too.
        wait: bool,
    },
    /// A long session: files are watched, vectors are computed in the background, and a daemon need not be running yet.
    Session,
}

impl Purpose {
    const fn waits(self) -> bool {
        matches!(self, Self::OneShot { wait: true })
    }

    const fn open_mode(self) -> OpenMode<'static> {
        match self {
            Self::OneShot { .. } => OpenMode::OneShot,
            Self::Session => OpenMode::Watching { address: None },
        }
    }
}

/// Sends requests. A daemon and the services in this process implement the same contract, so they return the same bytes.
pub(crate) struct Client {
    transport: Transport,
    services: Option<Services>,
    /// Builder of next commands to the same target.
    pub(crate) hint: Hint,
}

/// Maximum time to wait for a store that another command holds.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Time between two attempts to open a store that another command holds.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Flag that overrides a setting.
pub(crate) const SET: &str = "--set";

/// Returns the settings given by `--set` that a daemon would ignore.
fn ignored_overrides(config: &Config) -> Vec<String> {
    let entries = config.entries().into_iter();
    let set =
        entries.filter(|(_, _, origin)| matches!(origin, SettingOrigin::Flag(flag) if flag == SET));
    set.map(|(key, _, _)| key).filter(|key| !is_connection_setting(key)).collect()
}

impl Client {
    /// Opens what the flags name: the vaults of `--vault`, or else a daemon.
    ///
    /// The index of the vaults is updated first, with progress on standard error.
    /// If a daemon holds their store, it answers instead.
    pub(crate) async fn open(global: &Global) -> Result<Self, Failure> {
        Self::open_for(global, Purpose::OneShot { wait: !global.no_wait }).await
    }

    /// Opens a client for a given purpose.
    pub(crate) async fn open_for(global: &Global, purpose: Purpose) -> Result<Self, Failure> {
        let (config, paths) = config(global, &global.vault, &[])?;
        let credentials = ClientCredentials::read(global)?;
        if global.vault.is_empty() {
            let address = global
                .addr
                .clone()
                .unwrap_or_else(|| default_address(&config, &paths, &credentials));
            let hint = Hint::daemon(global.addr.as_deref());
            let client = Self::connect(&address, &credentials, purpose, hint).await?;
            return match &*ignored_overrides(&config) {
                [] => Ok(client),
                set => Err(Failure::settings_ignored(&address, set).hint(
                    "omit --set, or answer in this process with your own settings with --vault DIR",
                )),
            };
        }
        let hint = Hint::vaults(&global.vault, global.store.as_deref());
        Self::in_process(config, paths, &credentials, purpose, hint).await
    }

    /// Opens the vaults of `config` in this process and updates their index.
    pub(crate) async fn in_process(
        config: Config,
        paths: Paths,
        credentials: &ClientCredentials,
        purpose: Purpose,
        hint: Hint,
    ) -> Result<Self, Failure> {
        let set = ignored_overrides(&config);
        let address = match open(config.clone(), paths.clone(), purpose).await? {
            Opened::InProcess(services) => {
                let transport = Transport::InProcess(services.routes());
                return Ok(Self { transport, services: Some(services), hint });
            }
            Opened::HeldByDaemon(address) => address,
        };
        // The daemon uses its own settings, so the overrides would silently have no effect.
        if !set.is_empty() {
            return Err(Failure::settings_ignored(&address, &set).hint(format!(
                "omit --set, or stop the daemon first: weft stop --addr {address}"
            )));
        }
        let hint = Hint::daemon(Some(&address));
        match purpose {
            Purpose::OneShot { .. } => Self::connect(&address, credentials, purpose, hint).await,
            Purpose::Session => {
                let handover = Handover::new(config, paths, credentials.clone(), address)?;
                let transport = Transport::Handover(Arc::new(handover));
                Ok(Self { transport, services: None, hint })
            }
        }
    }

    /// Uses `daemon`, which runs in this process, without a socket.
    pub(crate) fn in_daemon(daemon: &Daemon, hint: Hint) -> Self {
        let transport = Transport::InProcess(daemon.services().routes());
        Self { transport, services: None, hint }
    }

    /// Connects to the daemon at `address` with `credentials`.
    pub(crate) async fn connect(
        address: &str,
        credentials: &ClientCredentials,
        purpose: Purpose,
        hint: Hint,
    ) -> Result<Self, Failure> {
        let channel = match purpose {
            Purpose::OneShot { .. } => credentials.connect(address).await?,
            Purpose::Session => credentials.connect_later(address)?,
        };
        let transport = Transport::Channel(channel, credentials.authorization(), address.into());
        Ok(Self { transport, services: None, hint })
    }

    /// Returns the transport of requests.
    pub(crate) fn transport(&self) -> Transport {
        self.transport.clone()
    }

    /// Returns the channel to the daemon; `None` if this process answers itself.
    pub(crate) fn channel(&self) -> Option<Channel> {
        match &self.transport {
            Transport::Channel(channel, ..) => Some(channel.clone()),
            Transport::InProcess(_) | Transport::Handover(_) => None,
        }
    }

    pub(crate) fn search(&self) -> SearchServiceClient<Transport> {
        SearchServiceClient::new(self.transport.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn contexts(&self) -> ContextServiceClient<Transport> {
        ContextServiceClient::new(self.transport.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn notes(&self) -> NoteServiceClient<Transport> {
        NoteServiceClient::new(self.transport.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn admin(&self) -> AdminServiceClient<Transport> {
        AdminServiceClient::new(self.transport.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn graph(&self) -> GraphServiceClient<Transport> {
        GraphServiceClient::new(self.transport.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn hygiene(&self) -> HygieneServiceClient<Transport> {
        HygieneServiceClient::new(self.transport.clone()).max_decoding_message_size(usize::MAX)
    }

    /// Requests the whole coverage report and joins its messages.
    pub(crate) async fn coverage(&self) -> Result<CoverageResponse, Status> {
        let mut parts = self.admin().coverage(CoverageRequest {}).await?.into_inner();
        let mut whole = CoverageResponse::default();
        while let Some(CoverageResponse { files, generation }) = parts.message().await? {
            whole.files.extend(files);
            whole.generation = generation;
        }
        Ok(whole)
    }

    /// Requests the whole graph and joins its messages.
    pub(crate) async fn export(&self, request: ExportRequest) -> Result<ExportResponse, Status> {
        let mut parts = self.graph().export(request).await?.into_inner();
        let mut whole = ExportResponse::default();
        while let Some(part) = parts.message().await? {
            let ExportResponse { nodes, edges, generation, warnings } = part;
            whole.nodes.extend(nodes);
            whole.edges.extend(edges);
            whole.warnings.extend(warnings);
            whole.generation = generation;
        }
        Ok(whole)
    }

    /// Requests all changes and joins the messages.
    pub(crate) async fn diff(&self, request: DiffRequest) -> Result<DiffResponse, Status> {
        let mut parts = self.graph().diff(request).await?.into_inner();
        let mut whole = DiffResponse::default();
        while let Some(DiffResponse { notes, links, from_generation: from, generation }) =
            parts.message().await?
        {
            whole.notes.extend(notes);
            whole.links.extend(links);
            (whole.from_generation, whole.generation) = (from, generation);
        }
        Ok(whole)
    }

    /// Waits until the writer of this process has published its changes.
    pub(crate) async fn close(self) {
        let Self { transport, services, hint: _ } = self;
        let services = match &transport {
            Transport::Handover(handover) => handover.services().await,
            Transport::Channel(..) | Transport::InProcess(_) => services,
        };
        drop(transport);
        if let Some(services) = services {
            shut_down(services).await;
        }
    }
}

/// Result of opening vaults.
pub(crate) enum Opened {
    /// The vaults are open in this process, and their index is current.
    InProcess(Services),
    /// The daemon at this address holds the store.
    HeldByDaemon(String),
}

/// Opens the vaults of `config` in this process and updates their index, unless a daemon holds the store.
pub(crate) async fn open(
    config: Config,
    paths: Paths,
    purpose: Purpose,
) -> Result<Opened, Failure> {
    let limits = ServiceLimits::from(&config.settings.server);
    let opening = tokio::task::spawn_blocking(move || open_unlocked(&config, &paths, purpose));
    let opened =
        opening.await.map_err(|_| Failure::other("opening the vaults ended unexpectedly"))?;
    let vaults = match opened {
        Ok(vaults) => Arc::new(vaults),
        Err(OpenVaultsError::Index(IndexError::Store(StoreError::Locked {
            holder: Some(address),
            ..
        }))) => return Ok(Opened::HeldByDaemon(address)),
        Err(error) => return Err(error.into()),
    };
    let services = Services::new(limits);
    services.attach(Arc::clone(&vaults));
    if let Err(failure) = update_index(Arc::clone(&vaults), purpose.waits()).await {
        shut_down(services).await;
        return Err(failure);
    }
    // What was damaged or of an earlier release, and rebuilt.
    aside(&print::notices(&vaults.indexer().status().notices));
    Ok(Opened::InProcess(services))
}

/// Opens the vaults, and waits up to [`LOCK_WAIT`] while another command holds the store.
fn open_unlocked(
    config: &Config,
    paths: &Paths,
    purpose: Purpose,
) -> Result<Vaults, OpenVaultsError> {
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        let opened = Vaults::open(config, paths, purpose.open_mode());
        let is_held = matches!(
            opened,
            Err(OpenVaultsError::Index(IndexError::Store(StoreError::Locked { holder: None, .. })))
        );
        if !is_held || Instant::now() >= deadline {
            return opened;
        }
        std::thread::sleep(LOCK_PAUSE);
    }
}

/// Shuts the services down after their writer has published its changes.
async fn shut_down(services: Services) {
    drop(tokio::task::spawn_blocking(move || services.detach()).await);
}

/// Loads the settings with the flags applied, and the vaults to serve.
pub(crate) fn config(
    global: &Global,
    vaults: &[PathBuf],
    more: &[(&str, String, &str)],
) -> Result<(Config, Paths), Failure> {
    let environment = Environment::read();
    let config = Config::load(&sources(global, vaults, more), &environment)?;
    Ok((config, Paths::new(&environment)))
}

/// Loads the settings like [`config`] for a daemon, and also checks that the files they name are usable.
pub(crate) fn config_to_serve(
    global: &Global,
    vaults: &[PathBuf],
    more: &[(&str, String, &str)],
) -> Result<(Config, Paths), Failure> {
    let environment = Environment::read();
    let config = Config::load_to_serve(&sources(global, vaults, more), &environment)?;
    Ok((config, Paths::new(&environment)))
}

/// Loads the settings like [`config_to_serve`] for a daemon that is running.
pub(crate) fn config_to_reload(
    global: &Global,
    vaults: &[PathBuf],
    more: &[(&str, String, &str)],
) -> ConfigReload {
    Config::load_to_reload(&sources(global, vaults, more), &Environment::read())
}

/// Returns the settings given by flags.
fn sources(global: &Global, vaults: &[PathBuf], more: &[(&str, String, &str)]) -> Sources {
    let set = global.set.iter().map(|(key, value)| (key.clone(), value.clone(), SET.to_owned()));
    let store = global.store.iter().map(|path| {
        let path = toml_text(&path.to_string_lossy());
        ("store.path".to_owned(), path, "--store".to_owned())
    });
    let more = more
        .iter()
        .map(|(key, value, flag)| ((*key).to_owned(), toml_text(value), (*flag).to_owned()));
    Sources {
        file: global.config.clone(),
        flags: set.chain(store).chain(more).collect(),
        vaults: vaults.to_vec(),
    }
}

/// Encodes a text as a TOML string, so that `8080` or `true` stay strings.
fn toml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Waits for the keyword index and links, and for vectors if `wait` is set; shows progress on standard error.
async fn update_index(vaults: Arc<Vaults>, wait: bool) -> Result<(), Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let work = {
        let (vaults, stop) = (Arc::clone(&vaults), Arc::clone(&stop));
        tokio::task::spawn_blocking(move || {
            let indexer = vaults.indexer();
            // The answer must reflect the files as they were at the first scan.
            let opened = indexer.opened();
            if wait {
                indexer.wait_vectors_since(opened, &stop, &mut |_| {})
            } else {
                indexer.flush_since(opened)
            }
        })
    };
    tokio::pin!(work);
    let mut progress = Progress::new();
    let mut pulse = tokio::time::interval(Duration::from_millis(100));
    loop {
        tokio::select! {
            done = &mut work => {
                progress.end();
                return match done {
                    Ok(Ok(_)) => Ok(()),
                    Ok(Err(error)) => Err(OpenVaultsError::Index(error).into()),
                    Err(_) => Err(Failure::other("indexing ended unexpectedly")),
                };
            }
            _ = pulse.tick() => progress.show(&vaults.status().into()),
            _ = tokio::signal::ctrl_c() => {
                progress.end();
                stop.store(true, Ordering::Relaxed);
                // Everything indexed so far is published and persisted before the process ends.
                let interrupt = tokio::task::spawn_blocking(move || vaults.indexer().interrupt());
                drop((interrupt.await, (&mut work).await));
                return Err(Failure::interrupted());
            }
        }
    }
}

/// A failed connection, with the address of the daemon.
#[derive(Debug)]
struct ConnectionError {
    address: Arc<str>,
    source: tonic::transport::Error,
}

impl ConnectionError {
    fn to(address: &Arc<str>, source: tonic::transport::Error) -> StdError {
        Box::new(Self { address: Arc::clone(address), source })
    }
}

impl Display for ConnectionError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { address, source } = self;
        write!(f, "{address}: {source}")
    }
}

impl Error for ConnectionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// Transport of requests.
#[derive(Clone)]
pub(crate) enum Transport {
    /// Channel to the daemon at an address, with an `authorization` header.
    Channel(Channel, Option<HeaderValue>, Arc<str>),
    /// Services of this process.
    InProcess(Routes),
    /// A daemon, and the services of this process once the daemon has stopped.
    Handover(Arc<Handover>),
}

impl Service<http::Request<Body>> for Transport {
    type Response = http::Response<Body>;
    type Error = StdError;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        match self {
            Self::Channel(channel, _, address) => {
                channel.poll_ready(context).map_err(|error| ConnectionError::to(address, error))
            }
            Self::InProcess(routes) => {
                Service::<http::Request<Body>>::poll_ready(routes, context).map_err(Into::into)
            }
            // The backend is chosen when the request is sent.
            Self::Handover(_) => std::task::Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        match self {
            Self::Channel(channel, authorization, address) => {
                if let Some(authorization) = authorization {
                    let headers = request.headers_mut();
                    headers.insert(http::header::AUTHORIZATION, authorization.clone());
                }
                let (answer, address) = (channel.call(request), Arc::clone(address));
                Box::pin(async move {
                    answer.await.map_err(|error| ConnectionError::to(&address, error))
                })
            }
            Self::InProcess(routes) => {
                let answer = routes.call(request);
                Box::pin(async move { answer.await.map_err(Into::into) })
            }
            Self::Handover(handover) => {
                let handover = Arc::clone(handover);
                Box::pin(async move {
                    let mut transport = handover.transport().await?;
                    std::future::poll_fn(|context| transport.poll_ready(context)).await?;
                    transport.call(request).await
                })
            }
        }
    }
}
