//! Where answers come from: a daemon, or the same services in this process.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::HeaderValue;
use tonic::codegen::{BoxFuture, Service, StdError, http};
use tonic::service::Routes;
use tonic::transport::Channel;
use weft_daemon::config::{Config, Origin, Sources};
use weft_daemon::{
    Daemon, Environment, IndexError, Limits, OpenError, Paths, Services, Stay, StoreError, Vaults,
};
use weft_proto::noteweft::v1::admin_service_client::AdminServiceClient;
use weft_proto::noteweft::v1::context_service_client::ContextServiceClient;
use weft_proto::noteweft::v1::graph_service_client::GraphServiceClient;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{
    CoverageRequest, CoverageResponse, DiffRequest, DiffResponse, ExportRequest, ExportResponse,
};

use crate::cli::Global;
use crate::failure::Failure;
use crate::handover::Handover;
use crate::hint::Hint;
use crate::progress::Progress;
use crate::reach::{Credentials, is_of_the_way, usual};

/// What answers are wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A question, for which folders are brought up to date; with vectors where it waits for them.
    Question {
        /// Whether it does.
        wait: bool,
    },
    /// Questions over a long time: folders are watched, vectors come when they come, and a daemon need not be there yet.
    Conversation,
}

impl Purpose {
    const fn waits(self) -> bool {
        matches!(self, Self::Question { wait: true })
    }

    const fn stay(self) -> Stay<'static> {
        match self {
            Self::Question { .. } => Stay::Briefly,
            Self::Conversation => Stay::ForGood { address: None },
        }
    }
}

/// Answers questions. Both kinds speak the contract, so they give the same bytes.
pub(crate) struct Asker {
    transport: Transport,
    services: Option<Services>,
    /// How a next command asks the same.
    pub(crate) hint: Hint,
}

/// The flag that gives a setting.
pub(crate) const SET: &str = "--set";

/// The settings that `--set` gave and a daemon that is asked would not heed.
fn unheeded(config: &Config) -> Vec<String> {
    let entries = config.entries().into_iter();
    let set = entries.filter(|(_, _, origin)| matches!(origin, Origin::Flag(flag) if flag == SET));
    set.map(|(key, _, _)| key).filter(|key| !is_of_the_way(key)).collect()
}

impl Asker {
    /// Opens what the flags name: the folders of `--vault`, or else a daemon.
    ///
    /// Folders are brought up to date first, with progress on standard error.
    /// A daemon that holds their store is asked instead.
    pub(crate) async fn open(global: &Global) -> Result<Self, Failure> {
        Self::open_for(global, Purpose::Question { wait: !global.no_wait }).await
    }

    /// The same, for a purpose.
    pub(crate) async fn open_for(global: &Global, purpose: Purpose) -> Result<Self, Failure> {
        let (config, paths) = config(global, &global.vault, &[])?;
        let credentials = Credentials::read(global)?;
        if global.vault.is_empty() {
            let address =
                global.addr.clone().unwrap_or_else(|| usual(&config, &paths, &credentials));
            let hint = Hint::daemon(global.addr.as_deref());
            let asker = Self::connect(&address, &credentials, purpose, hint).await?;
            return match &*unheeded(&config) {
                [] => Ok(asker),
                set => Err(Failure::overruled(&address, set).hint(
                    "leave out --set, or answer from a folder by settings of your own with --vault DIR",
                )),
            };
        }
        let hint = Hint::vaults(&global.vault, global.store.as_deref());
        Self::in_process(config, paths, &credentials, purpose, hint).await
    }

    /// Opens the vaults of `config` in this process and brings them up to date.
    pub(crate) async fn in_process(
        config: Config,
        paths: Paths,
        credentials: &Credentials,
        purpose: Purpose,
        hint: Hint,
    ) -> Result<Self, Failure> {
        let set = unheeded(&config);
        let address = match open(config.clone(), paths.clone(), purpose).await? {
            Opened::Here(services) => {
                let transport = Transport::Here(services.routes());
                return Ok(Self { transport, services: Some(services), hint });
            }
            Opened::Served(address) => address,
        };
        // It answers by its own settings: what was asked for would not be what is told.
        if !set.is_empty() {
            return Err(Failure::overruled(&address, &set).hint(format!(
                "leave out --set, or end the daemon first: weft stop --addr {address}"
            )));
        }
        let hint = Hint::daemon(Some(&address));
        match purpose {
            Purpose::Question { .. } => Self::connect(&address, credentials, purpose, hint).await,
            Purpose::Conversation => {
                let handover = Handover::new(config, paths, credentials.clone(), address)?;
                let transport = Transport::Handover(Arc::new(handover));
                Ok(Self { transport, services: None, hint })
            }
        }
    }

    /// Asks `daemon`, which runs in this process, without a socket.
    pub(crate) fn beside(daemon: &Daemon, hint: Hint) -> Self {
        let transport = Transport::Here(daemon.services().routes());
        Self { transport, services: None, hint }
    }

    /// Asks the daemon at `address`, showing what `credentials` hold.
    pub(crate) async fn connect(
        address: &str,
        credentials: &Credentials,
        purpose: Purpose,
        hint: Hint,
    ) -> Result<Self, Failure> {
        let channel = match purpose {
            Purpose::Question { .. } => credentials.connect(address).await?,
            Purpose::Conversation => credentials.connect_later(address)?,
        };
        let transport = Transport::Channel(channel, credentials.authorization(), address.into());
        Ok(Self { transport, services: None, hint })
    }

    /// What carries questions to where they are answered.
    pub(crate) fn transport(&self) -> Transport {
        self.transport.clone()
    }

    /// The channel to the daemon; nothing where the process answers itself.
    pub(crate) fn channel(&self) -> Option<Channel> {
        match &self.transport {
            Transport::Channel(channel, ..) => Some(channel.clone()),
            Transport::Here(_) | Transport::Handover(_) => None,
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

    /// The whole ledger, its pieces joined.
    pub(crate) async fn coverage(&self) -> Result<CoverageResponse, Status> {
        let mut pieces = self.admin().coverage(CoverageRequest {}).await?.into_inner();
        let mut whole = CoverageResponse::default();
        while let Some(CoverageResponse { files, generation }) = pieces.message().await? {
            whole.files.extend(files);
            whole.generation = generation;
        }
        Ok(whole)
    }

    /// The whole graph, its pieces joined.
    pub(crate) async fn export(&self, request: ExportRequest) -> Result<ExportResponse, Status> {
        let mut pieces = self.graph().export(request).await?.into_inner();
        let mut whole = ExportResponse::default();
        while let Some(piece) = pieces.message().await? {
            let ExportResponse { nodes, edges, generation, degraded } = piece;
            whole.nodes.extend(nodes);
            whole.edges.extend(edges);
            whole.degraded.extend(degraded);
            whole.generation = generation;
        }
        Ok(whole)
    }

    /// What changed, whole.
    pub(crate) async fn diff(&self, request: DiffRequest) -> Result<DiffResponse, Status> {
        let mut pieces = self.graph().diff(request).await?.into_inner();
        let mut whole = DiffResponse::default();
        while let Some(DiffResponse { notes, links, from, generation }) = pieces.message().await? {
            whole.notes.extend(notes);
            whole.links.extend(links);
            (whole.from, whole.generation) = (from, generation);
        }
        Ok(whole)
    }

    /// Lets the writer of this process publish what it holds, and waits for it.
    pub(crate) async fn close(self) {
        let Self { transport, services, hint: _ } = self;
        let services = match &transport {
            Transport::Handover(handover) => handover.services().await,
            Transport::Channel(..) | Transport::Here(_) => services,
        };
        drop(transport);
        if let Some(services) = services {
            clear(services).await;
        }
    }
}

/// What became of opening folders.
pub(crate) enum Opened {
    /// They are open in this process, and up to date.
    Here(Services),
    /// The daemon at this address holds their store.
    Served(String),
}

/// Opens the vaults of `config` in this process and brings them up to date, unless a daemon holds their store.
pub(crate) async fn open(
    config: Config,
    paths: Paths,
    purpose: Purpose,
) -> Result<Opened, Failure> {
    let limits = Limits::from(&config.settings.server);
    let opening =
        tokio::task::spawn_blocking(move || Vaults::open(&config, &paths, purpose.stay()));
    let opened = opening.await.map_err(|_| Failure::other("opening came to a sudden end"))?;
    let vaults = match opened {
        Ok(vaults) => Arc::new(vaults),
        Err(OpenError::Index(IndexError::Store(StoreError::Locked {
            holder: Some(address),
            ..
        }))) => return Ok(Opened::Served(address)),
        Err(error) => return Err(error.into()),
    };
    let services = Services::new(limits);
    services.fill(Arc::clone(&vaults));
    if let Err(failure) = bring_up_to_date(vaults, purpose.waits()).await {
        clear(services).await;
        return Err(failure);
    }
    Ok(Opened::Here(services))
}

/// Lets the writer behind `services` publish what it holds, and waits for it.
async fn clear(services: Services) {
    drop(tokio::task::spawn_blocking(move || services.clear()).await);
}

/// The settings under the flags, with the folders to serve.
pub(crate) fn config(
    global: &Global,
    vaults: &[PathBuf],
    more: &[(&str, String, &str)],
) -> Result<(Config, Paths), Failure> {
    let environment = Environment::read();
    let config = Config::load(&sources(global, vaults, more), &environment)?;
    Ok((config, Paths::new(&environment)))
}

/// The same for a daemon, whose files must be usable, too.
pub(crate) fn config_to_serve(
    global: &Global,
    vaults: &[PathBuf],
    more: &[(&str, String, &str)],
) -> Result<(Config, Paths), Failure> {
    let environment = Environment::read();
    let config = Config::load_to_serve(&sources(global, vaults, more), &environment)?;
    Ok((config, Paths::new(&environment)))
}

/// What the flags say of settings.
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

/// A text as TOML, so that `8080` or `true` stay texts.
fn toml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Waits for words and links, and for vectors if `wait`; says how it goes on standard error.
async fn bring_up_to_date(vaults: Arc<Vaults>, wait: bool) -> Result<(), Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let work = {
        let (vaults, stop) = (Arc::clone(&vaults), Arc::clone(&stop));
        tokio::task::spawn_blocking(move || {
            let indexer = vaults.indexer();
            // What the files said when they were looked at for the first time is what is asked for.
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
                    Ok(Err(error)) => Err(OpenError::Index(error).into()),
                    Err(_) => Err(Failure::other("indexing came to a sudden end")),
                };
            }
            _ = pulse.tick() => progress.show(&vaults.status().into()),
            _ = tokio::signal::ctrl_c() => {
                progress.end();
                stop.store(true, Ordering::Relaxed);
                // What was indexed is published and written down before the process ends.
                let interrupt = tokio::task::spawn_blocking(move || vaults.indexer().interrupt());
                drop((interrupt.await, (&mut work).await));
                return Err(Failure::interrupted());
            }
        }
    }
}

/// Why nothing came from a daemon, and where it was asked.
#[derive(Debug)]
struct Lost {
    address: Arc<str>,
    source: tonic::transport::Error,
}

impl Lost {
    fn to(address: &Arc<str>, source: tonic::transport::Error) -> StdError {
        Box::new(Self { address: Arc::clone(address), source })
    }
}

impl Display for Lost {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { address, source } = self;
        write!(f, "{address}: {source}")
    }
}

impl Error for Lost {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// Carries questions to where they are answered.
#[derive(Clone)]
pub(crate) enum Transport {
    /// To the daemon at an address, with an `authorization` to show there.
    Channel(Channel, Option<HeaderValue>, Arc<str>),
    /// To the services of this process.
    Here(Routes),
    /// To a daemon, and to the services of this process once it has ended.
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
                channel.poll_ready(context).map_err(|error| Lost::to(address, error))
            }
            Self::Here(routes) => {
                Service::<http::Request<Body>>::poll_ready(routes, context).map_err(Into::into)
            }
            // Who answers is found out with the question.
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
                Box::pin(async move { answer.await.map_err(|error| Lost::to(&address, error)) })
            }
            Self::Here(routes) => {
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
