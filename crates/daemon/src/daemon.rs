//! Sockets, health, reflection and the end.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tonic::server::NamedService;
use tonic::transport::Server;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use weft_proto::noteweft::v1::admin_service_server::AdminServiceServer;
use weft_proto::noteweft::v1::context_service_server::ContextServiceServer;
use weft_proto::noteweft::v1::graph_service_server::GraphServiceServer;
use weft_proto::noteweft::v1::note_service_server::NoteServiceServer;
use weft_proto::noteweft::v1::search_service_server::SearchServiceServer;

use crate::access::{Credentials, Keyring, Rate};
use crate::config::{Config, ConfigError, ServerSettings, refusal_to_open};
use crate::front::FrontLayer;
use crate::metrics::Metrics;
use crate::net::{Listeners, Socket, SocketListener, Tls};
use crate::paths::Paths;
use crate::services::{Limits, Services};
use crate::vaults::{OpenError, Stay, Vaults};
use crate::web::WebLayer;

/// Why the daemon does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken.
    #[error(
        "{address} is in use by another program; choose another port with --addr 127.0.0.1:PORT (port 0 takes a free one)"
    )]
    AddressInUse {
        /// The address asked for.
        address: String,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address or socket asked for.
        address: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A setting cannot be used: an address, a token, a certificate.
    #[error(transparent)]
    Settings(#[from] ConfigError),
    /// A socket failed while it served.
    #[error("cannot serve: {0}")]
    Transport(#[from] tonic::transport::Error),
    /// Reflection does not understand the contract.
    #[error("cannot describe the contract: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// The vaults cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The vaults cannot be changed yet.
    #[error("the vaults are still being opened; try again in a moment")]
    Opening,
    /// Opening came to a sudden end.
    #[error("opening the vaults came to a sudden end")]
    Panicked,
}

/// A daemon that listens, and serves once it [`runs`](Self::run).
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

/// Changes a daemon while it runs. Cloning gives another handle on the same daemon.
#[derive(Clone)]
pub struct Control {
    services: Services,
    credentials: watch::Sender<Credentials>,
    address: SocketAddr,
}

impl Control {
    /// Settings that [`reload`](Self::reload) takes over; the others need a restart.
    pub const RELOADED: &[&str] = &[
        "access.open_health",
        "access.tokens",
        "log.filter",
        "tls.certificate",
        "tls.client_ca",
        "tls.client_right",
        "tls.key",
        "vaults",
    ];

    /// Takes over the vaults of `config`, and its tokens and certificates, read anew from their files.
    ///
    /// Requests on their way are answered, but streams end whose token or certificate opens them no more, and connections are closed whose client's certificate is trusted no more.
    /// Files of new vaults are looked at in the background.
    /// Fails, and leaves everything as it was, where one cannot be used, or the vaults are still being opened.
    pub async fn reload(&self, config: &Config) -> Result<(), ServeError> {
        let credentials = credentials(config, self.address)?;
        let vaults = self.services.opened().ok_or(ServeError::Opening)?;
        let next = config.clone();
        let reload = tokio::task::spawn_blocking(move || vaults.reload(&next));
        reload.await.map_err(|_| ServeError::Panicked)??;
        self.credentials.send_replace(credentials);
        Ok(())
    }
}

/// The credentials of the settings.
///
/// Fails where a file cannot be used, and where `address` can be reached from elsewhere and nobody would have to prove who he is.
fn credentials(config: &Config, address: SocketAddr) -> Result<Credentials, ConfigError> {
    let keyring = Keyring::load(config)?;
    if !address.ip().is_loopback() && !keyring.is_required() {
        return Err(config.refuse("server.address", refusal_to_open(address)));
    }
    Ok(Credentials { keyring, tls: Tls::load(config)? })
}

/// Checks what a daemon refuses before it binds anything: its addresses, tokens and certificates. Gives the addresses back.
pub fn check(config: &Config) -> Result<Vec<SocketAddr>, ConfigError> {
    let addresses = config.settings.server.addresses();
    let addresses = addresses.map_err(|reason| config.refuse("server.address", reason))?;
    for address in &addresses {
        credentials(config, *address)?;
    }
    Ok(addresses)
}

impl Daemon {
    /// Reads the credentials and binds the sockets of the settings; opens nothing yet.
    ///
    /// Fails before anything is bound where a credential cannot be used, and on an address that others reach without any.
    pub async fn bind(config: Config, paths: Paths) -> Result<Self, ServeError> {
        let server = &config.settings.server;
        let addresses = check(&config)?;
        let tcp = TcpListener::bind(&*addresses).await.map_err(|source| {
            let address = server.address.clone();
            if source.kind() == std::io::ErrorKind::AddrInUse {
                ServeError::AddressInUse { address }
            } else {
                ServeError::Listen { address, source }
            }
        })?;
        let listen = |source| ServeError::Listen { address: server.address.clone(), source };
        let address = tcp.local_addr().map_err(listen)?;
        let socket = match server.socket.as_str() {
            "none" => None,
            "auto" => match Socket::bind(&paths.socket(address.port())) {
                Ok(socket) => Some(socket),
                Err(error) => {
                    tracing::warn!(%error, "no Unix socket");
                    None
                }
            },
            path => Some(
                Socket::bind(Path::new(path))
                    .map_err(|source| ServeError::Listen { address: path.to_owned(), source })?,
            ),
        };
        let credentials = credentials(&config, address)?;
        if credentials.tls.is_none() && !address.ip().is_loopback() {
            tracing::warn!(%address, "tokens and notes travel unencrypted; set tls.certificate, or let only a proxy with TLS reach this address");
        }
        let services = Services::new(Limits::from(server));
        let control = Control {
            services: services.clone(),
            credentials: watch::Sender::new(credentials),
            address,
        };
        let serving = watch::Sender::new(false);
        Ok(Self { tcp, address, socket, config, paths, services, control, serving })
    }

    /// A handle that changes it while it runs.
    #[must_use]
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Where it listens; the real port where a free one was asked for.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its Unix socket, if it has one.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_ref().map(|(socket, _)| socket.path())
    }

    /// Its services, as clients of the same process may ask them.
    #[must_use]
    pub fn services(&self) -> Services {
        self.services.clone()
    }

    /// Whether it serves, as health says it.
    #[must_use]
    pub fn serving(&self) -> watch::Receiver<bool> {
        self.serving.subscribe()
    }

    /// Serves until `stop` comes, then lets running questions finish and the writer publish what it holds.
    ///
    /// Health is NOT_SERVING until the first look at the files is over, or until the store is read where it held an index.
    /// Fails at once where the vaults cannot be opened.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        let Self { tcp, address, socket, config, paths, services, control, serving } = self;
        let Control { services: _, credentials, address: _ } = control;
        let place =
            place(address, socket.as_ref().map(|(socket, _)| socket), &credentials.borrow());
        let ServerSettings {
            shutdown_ms,
            max_connections,
            max_calls_per_connection,
            keepalive_ms,
            max_request_bytes,
            ..
        } = config.settings.server;
        let keepalive = (keepalive_ms > 0).then(|| Duration::from_millis(keepalive_ms));
        let rate = Arc::new(Rate::new(config.settings.access.requests_per_second));
        let (mut health, health_server) = tonic_health::server::health_reporter();
        report(&health, ServingStatus::NotServing).await;
        let describe = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(weft_proto::FILE_DESCRIPTOR_SET)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let routes = services
            .routes()
            .add_service(health_server)
            .add_service(describe().build_v1()?)
            .add_service(describe().build_v1alpha()?)
            .prepare();

        let (socket, unix) = socket.unzip();
        let places = Arc::new(Semaphore::new(max_connections));
        let connections =
            Listeners { tcp, unix }.accept(Arc::clone(&places), credentials.subscribe());
        let metrics = Arc::new(Metrics::default());
        let text = {
            let (services, metrics) = (services.clone(), Arc::clone(&metrics));
            move || {
                let n_open = max_connections - places.available_permits().min(max_connections);
                metrics.text(&services.load(), n_open, services.index_status().as_ref())
            }
        };
        let (ending, mut ended) = watch::channel(false);
        let tools = weft_mcp::Server::new(services.routes());
        let mcp = weft_mcp::Http::new(tools, max_request_bytes);
        // Browsers and agents speak HTTP/1.1 where there is no TLS.
        let router = Server::builder()
            .accept_http1(true)
            .http2_keepalive_interval(keepalive)
            .http2_keepalive_timeout(keepalive)
            .max_concurrent_streams(max_calls_per_connection.get())
            // Calls whose callers gave up before they were looked at: when time is short, all of a connection's may be.
            .http2_max_pending_accept_reset_streams(
                usize::try_from(max_calls_per_connection.get()).ok(),
            )
            .layer(FrontLayer { credentials: credentials.subscribe(), metrics, rate })
            .layer(WebLayer { metrics: Arc::new(text), mcp })
            .add_routes(routes);
        let server = router.serve_with_incoming_shutdown(connections, async move {
            // An error means that the sender is gone, which is an end as well.
            drop(ended.wait_for(|over| *over).await);
        });
        let mut server = tokio::spawn(server);

        let opened = open(&services, config, paths, place);
        tokio::pin!(stop);
        let outcome = tokio::select! {
            opened = opened => match opened {
                Ok(()) => {
                    report(&health, ServingStatus::Serving).await;
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

        report(&health, ServingStatus::NotServing).await;
        serving.send_replace(false);
        services.end_streams();
        let _ = ending.send(true);
        // Whoever watches health has heard it by then, and would be waited for otherwise.
        forget(&mut health).await;
        let end = tokio::time::timeout(Duration::from_millis(shutdown_ms), &mut server);
        if end.await.is_err() {
            tracing::warn!("some questions were still running and were cut off");
        }
        server.abort();
        // The writer publishes what it holds, which blocks.
        drop(tokio::task::spawn_blocking(move || services.clear()).await);
        // Who stops a daemon waits until its socket is gone, so it goes last.
        drop(socket);
        outcome
    }
}

/// Opens the vaults and returns when words and links can be asked for.
async fn open(
    services: &Services,
    config: Config,
    paths: Paths,
    place: String,
) -> Result<(), ServeError> {
    let open = move || Vaults::open(&config, &paths, Stay::ForGood { address: Some(&place) });
    let vaults = tokio::task::spawn_blocking(open).await.map_err(|_| ServeError::Panicked)??;
    let vaults = Arc::new(vaults);
    services.fill(Arc::clone(&vaults));
    // A store that held an index answers from it while the files are looked at.
    if vaults.status().generation > 0 && vaults.status().n_notes > 0 {
        return Ok(());
    }
    let first = tokio::task::spawn_blocking(move || vaults.indexer().flush()).await;
    first.map_err(|_| ServeError::Panicked)?.map_err(OpenError::Index)?;
    Ok(())
}

/// Where a process of this machine that finds the store locked can ask: the socket where the port wants credentials that it may not have.
fn place(address: SocketAddr, socket: Option<&Socket>, credentials: &Credentials) -> String {
    let Credentials { keyring, tls } = credentials;
    match socket {
        Some(socket) if tls.is_some() || keyring.is_required() => {
            format!("unix:{}", socket.path().display())
        }
        Some(_) | None => address.to_string(),
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

/// The whole, and every service, as health names them.
const HEALTH_NAMES: [&str; 6] = [
    "",
    SearchServiceServer::<Services>::NAME,
    ContextServiceServer::<Services>::NAME,
    NoteServiceServer::<Services>::NAME,
    GraphServiceServer::<Services>::NAME,
    AdminServiceServer::<Services>::NAME,
];

/// Says the same of every service and of the whole.
async fn report(health: &HealthReporter, status: ServingStatus) {
    for name in HEALTH_NAMES {
        health.set_service_status(name, status).await;
    }
}

/// Ends all who watch health.
async fn forget(health: &mut HealthReporter) {
    for name in HEALTH_NAMES {
        health.clear_service_status(name).await;
    }
}
