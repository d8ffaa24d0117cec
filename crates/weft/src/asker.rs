//! Where answers come from: a daemon, or the same services in this process.

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
        let limits = Limits::from(&config.settings.server);
        let set = unheeded(&config);
        let opening =
            tokio::task::spawn_blocking(move || Vaults::open(&config, &paths, purpose.stay()));
        let opened = opening.await.map_err(|_| Failure::other("opening came to a sudden end"))?;
        let vaults = match opened {
            Ok(vaults) => Arc::new(vaults),
            Err(OpenError::Index(IndexError::Store(StoreError::Locked {
                holder: Some(address),
                ..
            }))) => {
                // It answers by its own settings: what was asked for would not be what is told.
                if !set.is_empty() {
                    return Err(Failure::overruled(&address, &set).hint(format!(
                        "leave out --set, or end the daemon first: weft stop --addr {address}"
                    )));
                }
                let hint = Hint::daemon(Some(&address));
                return Self::connect(&address, credentials, purpose, hint).await;
            }
            Err(error) => return Err(error.into()),
        };
        let services = Services::new(limits);
        services.fill(Arc::clone(&vaults));
        let asker =
            Self { transport: Transport::Here(services.routes()), services: Some(services), hint };
        if let Err(failure) = bring_up_to_date(vaults, purpose.waits()).await {
            asker.close().await;
            return Err(failure);
        }
        Ok(asker)
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
        let transport = Transport::Channel(channel, credentials.authorization());
        Ok(Self { transport, services: None, hint })
    }

    /// What carries questions to where they are answered.
    pub(crate) fn transport(&self) -> Transport {
        self.transport.clone()
    }

    /// The channel to the daemon; nothing where the process answers itself.
    pub(crate) fn channel(&self) -> Option<Channel> {
        match &self.transport {
            Transport::Channel(channel, _) => Some(channel.clone()),
            Transport::Here(_) => None,
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
        while let Some(ExportResponse { nodes, edges, generation }) = pieces.message().await? {
            whole.nodes.extend(nodes);
            whole.edges.extend(edges);
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
        drop(transport);
        if let Some(services) = services {
            drop(tokio::task::spawn_blocking(move || services.clear()).await);
        }
    }
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
            if wait { indexer.wait_vectors(&stop, &mut |_| {}) } else { indexer.flush() }
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

/// Carries questions to where they are answered.
#[derive(Clone)]
pub(crate) enum Transport {
    /// To a daemon, with an `authorization` to show there.
    Channel(Channel, Option<HeaderValue>),
    /// To the services of this process.
    Here(Routes),
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
            Self::Channel(channel, _) => channel.poll_ready(context).map_err(Into::into),
            Self::Here(routes) => {
                Service::<http::Request<Body>>::poll_ready(routes, context).map_err(Into::into)
            }
        }
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        match self {
            Self::Channel(channel, authorization) => {
                if let Some(authorization) = authorization {
                    let headers = request.headers_mut();
                    headers.insert(http::header::AUTHORIZATION, authorization.clone());
                }
                let answer = channel.call(request);
                Box::pin(async move { answer.await.map_err(Into::into) })
            }
            Self::Here(routes) => {
                let answer = routes.call(request);
                Box::pin(async move { answer.await.map_err(Into::into) })
            }
        }
    }
}
