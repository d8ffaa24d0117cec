//! Sockets, health, reflection and the end.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tonic::transport::Server;
use tonic_health::pb::health_server::HealthServer;

use crate::access::{Credentials, Rate};
use crate::config::{Config, ConfigError, Problem, ServerSettings, refusal_to_open};
use crate::front::FrontLayer;
use crate::metrics::Metrics;
use crate::net::{Listeners, Socket, SocketListener, nearby};
use crate::paths::Paths;
use crate::services::{Limits, Services};
use crate::vaults::{OpenError, Stay, Vaults};
use crate::web::WebLayer;

/// Why the daemon does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken.
    #[error(
        "{address} is in use by {holder}, or choose another port with --addr 127.0.0.1:PORT (port 0 takes a free one)"
    )]
    AddressInUse {
        /// The address asked for.
        address: String,
        /// By whom, for a person.
        holder: String,
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

/// What became of settings that were read again, by key, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Those taken over: another value, or files of the same name that hold something else.
    pub taken: Vec<String>,
    /// Those that differ from what is in force until a restart.
    pub needs_restart: Vec<String>,
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
    /// Says what was taken over, and what of `config` is not in force.
    /// Fails, and leaves everything as it was, where one cannot be used, or the vaults are still being opened.
    pub async fn reload(&self, config: &Config) -> Result<Reloaded, ServeError> {
        let credentials = credentials(config, self.address)?;
        let vaults = self.services.opened().ok_or(ServeError::Opening)?;
        let changed = config.differences(&vaults.config());
        let next = config.clone();
        let reload = tokio::task::spawn_blocking(move || vaults.reload(&next));
        reload.await.map_err(|_| ServeError::Panicked)??;
        let before = self.credentials.send_replace(credentials);
        let (mut taken, needs_restart): (Vec<String>, _) =
            changed.into_iter().partition(|key| Self::RELOADED.contains(&key.as_str()));
        taken.extend(self.credentials.borrow().renewed(&before).into_iter().map(str::to_owned));
        taken.sort_unstable();
        taken.dedup();
        Ok(Reloaded { taken, needs_restart })
    }
}

/// The credentials of the settings.
///
/// Fails where a file cannot be used, and where `address` can be reached from elsewhere and nobody would have to prove who he is.
fn credentials(config: &Config, address: SocketAddr) -> Result<Credentials, ConfigError> {
    let credentials = Credentials::load(config).map_err(|problems| config.invalid(problems))?;
    if !address.ip().is_loopback() && !credentials.keyring.is_required() {
        return Err(config.refuse("server.address", refusal_to_open(address)));
    }
    Ok(credentials)
}

/// What keeps a daemon from serving by these settings and shows when they are put to use: files of tokens and certificates, and folders of which there is no index either.
pub(crate) fn problems(config: &Config, paths: &Paths) -> Vec<Problem> {
    let mut problems = Credentials::load(config).err().unwrap_or_default();
    let is_indexed = Vaults::store(config, paths).is_ok_and(|store| store.exists());
    let roots = config.settings.vaults.iter().map(|vault| &vault.root);
    for root in roots.filter(|root| !is_indexed && !root.is_dir()) {
        let reason = match root.metadata() {
            Ok(_) => "it is no folder".to_owned(),
            Err(error) => error.to_string(),
        };
        let reason = format!("{} cannot be read: {reason}", root.display());
        problems.push(Problem { key: "vaults".to_owned(), reason });
    }
    problems
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

/// Who is at an address that is in use, and what to do about it.
fn holder(address: &str, is_ours: bool) -> String {
    if is_ours {
        format!(
            "a weft that runs already: ask it with `weft status --addr {address}`, end it with `weft stop --addr {address}`"
        )
    } else {
        "another program, or a weft without a socket: end that".to_owned()
    }
}

/// The value of `server.socket` for a socket in the usual place.
const AUTO: &str = "auto";

/// Where the socket of a daemon on `port` is by these settings, if it has one.
fn socket_at(settings: &ServerSettings, paths: &Paths, port: u16) -> Option<PathBuf> {
    match settings.socket.as_str() {
        "none" => None,
        AUTO => Some(paths.socket(port)),
        path => Some(path.into()),
    }
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
                let sockets = addresses.iter().map(|at| socket_at(server, &paths, at.port()));
                let is_ours = sockets.flatten().any(|socket| Socket::is_heard(&socket));
                let holder = holder(&address, is_ours);
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
                    tracing::warn!(%error, "no Unix socket");
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

    /// Where a process of this machine can ask it: the socket where the port wants credentials that it may not have.
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
        let rate = Arc::new(Rate::new(config.settings.access.requests_per_second));
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
        // Whoever fills the port's places leaves the socket's to the user.
        let places = [max_connections; 2].map(|n| Arc::new(Semaphore::new(n)));
        let connections = Listeners { tcp, unix }.accept(places.clone(), credentials.subscribe());
        let metrics = Arc::new(Metrics::default());
        let text = {
            let (services, metrics) = (services.clone(), Arc::clone(&metrics));
            move || {
                let open = |places: &Arc<Semaphore>| {
                    max_connections - places.available_permits().min(max_connections)
                };
                let n_open = places.iter().map(open).sum();
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
        services.end_streams();
        let _ = ending.send(true);
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
    // A store that held an index answers from it while the files are looked at.
    let held_notes = vaults.status().generation > 0 && vaults.status().n_notes > 0;
    services.look_for_the_first_time(!held_notes);
    services.fill(Arc::clone(&vaults));
    if held_notes {
        return Ok(());
    }
    let look = move || vaults.indexer().flush_since(vaults.indexer().opened());
    let first = tokio::task::spawn_blocking(look).await;
    services.look_for_the_first_time(false);
    match first.map_err(|_| ServeError::Panicked)? {
        // A folder that went meanwhile may come back; it is looked at again, and keeps no other vault from being served.
        Ok(_) | Err(weft_indexer::IndexError::Vault { .. }) => Ok(()),
        Err(error) => Err(OpenError::Index(error).into()),
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
