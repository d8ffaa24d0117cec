//! The daemon: sockets, services, reload and shutdown.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tonic::transport::Server;
use tonic_health::pb::health_server::HealthServer;

use crate::access::{Credentials, RateLimiter};
use crate::admission::AdmissionLayer;
use crate::config::{
    Config, ConfigError, Problem, RELOADABLE, ServerSettings, Sources, refusal_to_open,
};
use crate::metrics::Metrics;
use crate::net::{Listeners, Socket, SocketListener, nearby};
use crate::paths::{Environment, Paths};
use crate::services::{ServiceLimits, Services};
use crate::vaults::{OpenMode, OpenVaultsError, Vaults};
use crate::web::WebLayer;

/// Reason why the daemon cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is in use.
    #[error(
        "{address} is in use by {holder}, or choose another port with --addr 127.0.0.1:PORT (port 0 selects a free one)"
    )]
    AddressInUse {
        /// The requested address.
        address: String,
        /// Description of the process that uses it.
        holder: String,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The requested address or socket.
        address: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A setting is invalid: an address, a token, a certificate.
    #[error(transparent)]
    Settings(#[from] ConfigError),
    /// A socket failed while serving.
    #[error("cannot serve: {0}")]
    Transport(#[from] tonic::transport::Error),
    /// Reflection cannot load the contract.
    #[error("cannot load the service descriptors: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// The vaults cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenVaultsError),
    /// The vaults are not open yet.
    #[error("the vaults are still opening; try again in a moment")]
    Opening,
    /// Opening the vaults panicked.
    #[error("opening the vaults failed with an internal error; see the log")]
    Panicked,
}

/// A daemon that is bound to its sockets; [`run`](Self::run) serves.
pub struct Daemon {
    tcp: TcpListener,
    address: SocketAddr,
    socket: Option<(Socket, SocketListener)>,
    config: Config,
    paths: Paths,
    services: Services,
    control: Control,
    serving: watch::Sender<bool>,
}

/// A handle that changes a running daemon. Clones refer to the same daemon.
#[derive(Clone)]
pub struct Control {
    services: Services,
    credentials: watch::Sender<Credentials>,
    address: SocketAddr,
}

/// Outcome of a reload: setting keys in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Settings that took effect: their values changed, or the files they name did.
    pub taken: Vec<String>,
    /// Settings that differ from those in force and need a restart.
    pub needs_restart: Vec<String>,
}

impl Control {
    /// Applies the vaults, tokens and certificates of `config`; reads their files again.
    ///
    /// Requests in flight complete; streams whose token or certificate is no longer valid end, and connections whose client certificate is no longer trusted are closed.
    /// New vaults are scanned in the background.
    /// Returns the settings that took effect and those that need a restart.
    /// Fails without any change if a setting is invalid, or if the vaults are still opening.
    pub async fn reload(&self, config: &Config) -> Result<Reloaded, ServeError> {
        let credentials = credentials(config, self.address)?;
        let vaults = self.services.vaults_if_open().ok_or(ServeError::Opening)?;
        let changed = config.differences(&vaults.config());
        let next = config.clone();
        let reload = tokio::task::spawn_blocking(move || vaults.reload(&next));
        reload.await.map_err(|_| ServeError::Panicked)??;
        let before = self.credentials.send_replace(credentials);
        let (mut taken, needs_restart): (Vec<String>, _) =
            changed.into_iter().partition(|key| RELOADABLE.contains(&key.as_str()));
        taken.extend(self.credentials.borrow().renewed(&before).into_iter().map(str::to_owned));
        taken.sort_unstable();
        taken.dedup();
        Ok(Reloaded { taken, needs_restart })
    }
}

/// Loads the credentials of the settings.
///
/// Fails if a file is invalid, or if `address` is reachable from other machines and no credentials are required.
fn credentials(config: &Config, address: SocketAddr) -> Result<Credentials, ConfigError> {
    let credentials = Credentials::load(config).map_err(|problems| config.invalid(problems))?;
    if !address.ip().is_loopback() && !credentials.keyring.is_required() {
        return Err(config.refuse("server.address", refusal_to_open(address)));
    }
    Ok(credentials)
}

impl Config {
    /// Loads the configuration as [`load`](Self::load) does, and checks the files that a daemon needs: tokens, certificates and vault folders.
    ///
    /// Fails with every problem.
    pub fn load_to_serve(
        sources: &Sources,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let (config, mut problems) = Self::read(sources, environment)?;
        let paths = Paths::new(environment);
        for problem in file_problems(&config, &paths) {
            let problem = (problem.clone(), config.origin(&problem.key));
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        if problems.is_empty() { Ok(config) } else { Err(ConfigError::Invalid { problems }) }
    }
}

/// Returns the problems of the files that the settings name: tokens, certificates, and vault folders without an existing index.
fn file_problems(config: &Config, paths: &Paths) -> Vec<Problem> {
    let mut problems = Credentials::load(config).err().unwrap_or_default();
    let is_indexed = Vaults::store(config, paths).is_ok_and(|store| store.exists());
    let roots = config.settings.vaults.iter().map(|vault| &vault.root);
    for root in roots.filter(|root| !is_indexed && !root.is_dir()) {
        let reason = match root.metadata() {
            Ok(_) => "it is not a folder".to_owned(),
            Err(error) => error.to_string(),
        };
        let reason = format!("cannot read {}: {reason}", root.display());
        problems.push(Problem { key: "vaults".to_owned(), reason });
    }
    problems
}

/// Checks the addresses, tokens and certificates before anything is bound, and returns the addresses.
pub fn check(config: &Config) -> Result<Vec<SocketAddr>, ConfigError> {
    let addresses = config.settings.server.addresses();
    let addresses = addresses.map_err(|reason| config.refuse("server.address", reason))?;
    for address in &addresses {
        credentials(config, *address)?;
    }
    Ok(addresses)
}

/// Describes the process at an address that is in use, and what to do about it.
fn address_owner(address: &str, is_ours: bool) -> String {
    if is_ours {
        format!(
            "a running weft daemon: query it with `weft status --addr {address}`, stop it with `weft stop --addr {address}`"
        )
    } else {
        "another program, or a weft daemon without a socket: stop it".to_owned()
    }
}

/// Value of `server.socket` for a socket at the default path.
const AUTO: &str = "auto";

/// Returns the path of the Unix socket of a daemon on `port`, if the settings enable one.
fn socket_at(settings: &ServerSettings, paths: &Paths, port: u16) -> Option<PathBuf> {
    match settings.socket.as_str() {
        "none" => None,
        AUTO => Some(paths.socket(port)),
        path => Some(path.into()),
    }
}

impl Daemon {
    /// Loads the credentials and binds the sockets; opens no vault yet.
    ///
    /// Fails before binding if a credential is invalid, or if the address is reachable from other machines and no credentials are configured.
    pub async fn bind(config: Config, paths: Paths) -> Result<Self, ServeError> {
        let server = &config.settings.server;
        let addresses = check(&config)?;
        let tcp = TcpListener::bind(&*addresses).await.map_err(|source| {
            let address = server.address.clone();
            if source.kind() == std::io::ErrorKind::AddrInUse {
                let sockets = addresses.iter().map(|at| socket_at(server, &paths, at.port()));
                let is_ours = sockets.flatten().any(|socket| Socket::is_heard(&socket));
                let holder = address_owner(&address, is_ours);
                ServeError::AddressInUse { address, holder }
            } else {
                ServeError::Listen { address, source }
            }
        })?;
        let listen = |source| ServeError::Listen { address: server.address.clone(), source };
        let address = tcp.local_addr().map_err(listen)?;
        let socket = match socket_at(server, &paths, address.port()) {
            None => None,
            Some(path) => match Socket::bind(&path) {
                Ok(socket) => Some(socket),
                Err(error) if server.socket == AUTO => {
                    tracing::warn!(%error, "cannot create the Unix socket");
                    None
                }
                Err(source) => {
                    let address = path.display().to_string();
                    return Err(ServeError::Listen { address, source });
                }
            },
        };
        let credentials = credentials(&config, address)?;
        if credentials.tls.is_none() && !address.ip().is_loopback() {
            tracing::warn!(%address, "connections are not encrypted; set tls.certificate, or expose this address only to a TLS proxy");
        }
        let services = Services::new(ServiceLimits::from(server));
        let control = Control {
            services: services.clone(),
            credentials: watch::Sender::new(credentials),
            address,
        };
        let serving = watch::Sender::new(false);
        Ok(Self { tcp, address, socket, config, paths, services, control, serving })
    }

    /// Returns a handle that changes the daemon while it runs.
    #[must_use]
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Returns the address it listens on, with the actual port.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the path of its Unix socket, if it has one.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_ref().map(|(socket, _)| socket.path())
    }

    /// Returns the address for processes of this machine: the Unix socket if the port requires credentials.
    #[must_use]
    pub fn place(&self) -> String {
        let Credentials { keyring, tls } = &*self.control.credentials.borrow();
        let near = nearby(self.address);
        match self.socket() {
            Some(socket) if tls.is_some() || keyring.is_required() => {
                format!("unix:{}", socket.display())
            }
            Some(_) | None if tls.is_some() => format!("https://{near}"),
            Some(_) | None => near.to_string(),
        }
    }

    /// Returns its services, for in-process clients.
    #[must_use]
    pub fn services(&self) -> Services {
        self.services.clone()
    }

    /// Returns a receiver of the serving state, as the health service reports it.
    #[must_use]
    pub fn serving(&self) -> watch::Receiver<bool> {
        self.serving.subscribe()
    }

    /// Serves until `stop` completes, then lets requests in flight finish and the writer persist its state.
    ///
    /// Health is NOT_SERVING until the first scan is complete, or, if the store holds an index, until it is loaded.
    /// Fails if the vaults cannot be opened.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        let place = self.place();
        let Self { tcp, address: _, socket, config, paths, services, control, serving } = self;
        let Control { services: _, credentials, address: _ } = control;
        let ServerSettings {
            shutdown_ms,
            max_connections,
            max_calls_per_connection,
            keepalive_ms,
            max_request_bytes,
            ..
        } = config.settings.server;
        let keepalive = (keepalive_ms > 0).then(|| Duration::from_millis(keepalive_ms));
        let rate_limiter = Arc::new(RateLimiter::new(config.settings.access.requests_per_second));
        let describe = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(weft_proto::FILE_DESCRIPTOR_SET)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let routes = services
            .routes()
            .add_service(HealthServer::new(services.health(serving.subscribe())))
            .add_service(describe().build_v1()?)
            .add_service(describe().build_v1alpha()?)
            .prepare();

        let (socket, unix) = socket.unzip();
        // The socket has its own limit, so that clients over TCP cannot exhaust it.
        let permits = [max_connections; 2].map(|n| Arc::new(Semaphore::new(n)));
        let connections = Listeners { tcp, unix }.accept(permits.clone(), credentials.subscribe());
        let metrics = Arc::new(Metrics::default());
        let text = {
            let (services, metrics) = (services.clone(), Arc::clone(&metrics));
            move || {
                let open = |permits: &Arc<Semaphore>| {
                    max_connections - permits.available_permits().min(max_connections)
                };
                let n_open = permits.iter().map(open).sum();
                metrics.render(&services.load(), n_open, services.index_status().as_ref())
            }
        };
        let (ending, mut ended) = watch::channel(false);
        let tools = weft_mcp::Server::new(services.routes());
        let mcp = weft_mcp::HttpServer::new(tools, max_request_bytes);
        // Browsers and agents use HTTP/1.1 without TLS.
        let router = Server::builder()
            .accept_http1(true)
            .http2_keepalive_interval(keepalive)
            .http2_keepalive_timeout(keepalive)
            .max_concurrent_streams(max_calls_per_connection.get())
            // Requests cancelled before they were accepted: under load these may be all of a connection.
            .http2_max_pending_accept_reset_streams(
                usize::try_from(max_calls_per_connection.get()).ok(),
            )
            .layer(AdmissionLayer { credentials: credentials.subscribe(), metrics, rate_limiter })
            .layer(WebLayer { metrics: Arc::new(text), mcp })
            .add_routes(routes);
        let server = router.serve_with_incoming_shutdown(connections, async move {
            // An error means that the sender was dropped, which also ends the server.
            drop(ended.wait_for(|over| *over).await);
        });
        let mut server = tokio::spawn(server);

        let opened = open(&services, config, paths, place);
        tokio::pin!(stop);
        let outcome = tokio::select! {
            opened = opened => match opened {
                Ok(()) => {
                    serving.send_replace(true);
                    tokio::select! {
                        () = &mut stop => Ok(()),
                        ended = &mut server => of_server(ended),
                    }
                }
                Err(error) => Err(error),
            },
            () = &mut stop => Ok(()),
        };

        serving.send_replace(false);
        services.stop_streams();
        let _ = ending.send(true);
        let end = tokio::time::timeout(Duration::from_millis(shutdown_ms), &mut server);
        if end.await.is_err() {
            tracing::warn!("requests still running after server.shutdown_ms were cancelled");
        }
        server.abort();
        // The writer persists its state, which blocks.
        drop(tokio::task::spawn_blocking(move || services.detach()).await);
        // `weft stop` waits until the socket is gone, so it is removed last.
        drop(socket);
        outcome
    }
}

/// Opens the vaults; returns when the keyword index and the links can be queried.
async fn open(
    services: &Services,
    config: Config,
    paths: Paths,
    place: String,
) -> Result<(), ServeError> {
    let open = move || Vaults::open(&config, &paths, OpenMode::Watching { address: Some(&place) });
    let vaults = tokio::task::spawn_blocking(open).await.map_err(|_| ServeError::Panicked)??;
    let vaults = Arc::new(vaults);
    // A store that holds an index is served during the scan.
    let has_index = vaults.status().generation > 0 && vaults.status().n_notes > 0;
    services.set_initial_scan(!has_index);
    services.attach(Arc::clone(&vaults));
    if has_index {
        return Ok(());
    }
    let scan = move || vaults.indexer().flush_since(vaults.indexer().opened());
    let first = tokio::task::spawn_blocking(scan).await;
    services.set_initial_scan(false);
    match first.map_err(|_| ServeError::Panicked)? {
        // A missing folder may return; it is scanned again then, and does not prevent serving the other vaults.
        Ok(_) | Err(weft_indexer::IndexError::Vault { .. }) => Ok(()),
        Err(error) => Err(OpenVaultsError::Index(error).into()),
    }
}

fn of_server(
    ended: Result<Result<(), tonic::transport::Error>, tokio::task::JoinError>,
) -> Result<(), ServeError> {
    match ended {
        Ok(outcome) => outcome.map_err(ServeError::from),
        Err(_) => Err(ServeError::Panicked),
    }
}
