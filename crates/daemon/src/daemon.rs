//! Sockets, health, reflection and the end.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tonic::server::NamedService;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use weft_proto::noteweft::v1::admin_service_server::AdminServiceServer;
use weft_proto::noteweft::v1::context_service_server::ContextServiceServer;
use weft_proto::noteweft::v1::graph_service_server::GraphServiceServer;
use weft_proto::noteweft::v1::note_service_server::NoteServiceServer;
use weft_proto::noteweft::v1::search_service_server::SearchServiceServer;

use crate::config::{Config, ServerSettings};
use crate::paths::Paths;
use crate::services::{Limits, Services};
use crate::vaults::{OpenError, Vaults};
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
    /// The settings name no address that may be served.
    #[error("{0}")]
    Refused(String),
    /// A socket failed while it served.
    #[error("cannot serve: {0}")]
    Transport(#[from] tonic::transport::Error),
    /// Reflection does not understand the contract.
    #[error("cannot describe the contract: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// The vaults cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Opening came to a sudden end.
    #[error("opening the vaults came to a sudden end")]
    Panicked,
}

/// A daemon that listens, and serves once it [`runs`](Self::run).
pub struct Daemon {
    tcp: TcpListener,
    address: SocketAddr,
    socket: Option<Socket>,
    config: Config,
    paths: Paths,
    services: Services,
    serving: watch::Sender<bool>,
}

impl Daemon {
    /// Binds the sockets of the settings; opens nothing yet.
    pub async fn bind(config: Config, paths: Paths) -> Result<Self, ServeError> {
        let server = &config.settings.server;
        let addresses = server.addresses().map_err(ServeError::Refused)?;
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
        let services = Services::new(Limits::from(server));
        let serving = watch::Sender::new(false);
        Ok(Self { tcp, address, socket, config, paths, services, serving })
    }

    /// Where it listens; the real port where a free one was asked for.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its Unix socket, if it has one.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_ref().map(|socket| socket.path.as_path())
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
        let Self { tcp, address, socket, config, paths, services, serving } = self;
        let ServerSettings { shutdown_ms, .. } = config.settings.server;
        let (health, health_server) = tonic_health::server::health_reporter();
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

        let (ending, ended) = watch::channel(false);
        let mut servers = JoinSet::new();
        let over = |mut ended: watch::Receiver<bool>| async move {
            // An error means that the sender is gone, which is an end as well.
            drop(ended.wait_for(|over| *over).await);
        };
        let incoming = TcpIncoming::from(tcp).with_nodelay(Some(true));
        // Browsers speak HTTP/1.1 where there is no TLS.
        let router =
            Server::builder().accept_http1(true).layer(WebLayer).add_routes(routes.clone());
        servers.spawn(router.serve_with_incoming_shutdown(incoming, over(ended.clone())));
        let socket = socket.map(|socket| socket.serve(routes, over(ended), &mut servers));

        let opened = open(&services, config, paths, address);
        tokio::pin!(stop);
        let outcome = tokio::select! {
            opened = opened => match opened {
                Ok(()) => {
                    report(&health, ServingStatus::Serving).await;
                    serving.send_replace(true);
                    tokio::select! {
                        () = &mut stop => Ok(()),
                        ended = servers.join_next() => first_error(ended),
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
        let all = async { while servers.join_next().await.is_some() {} };
        if tokio::time::timeout(Duration::from_millis(shutdown_ms), all).await.is_err() {
            tracing::warn!("some questions were still running and were cut off");
        }
        servers.abort_all();
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
    address: SocketAddr,
) -> Result<(), ServeError> {
    let open = move || Vaults::open(&config, &paths, Some(&address.to_string()));
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

fn first_error(
    ended: Option<Result<Result<(), tonic::transport::Error>, tokio::task::JoinError>>,
) -> Result<(), ServeError> {
    match ended {
        None | Some(Ok(Ok(()))) => Ok(()),
        Some(Ok(Err(error))) => Err(error.into()),
        Some(Err(_)) => Err(ServeError::Panicked),
    }
}

/// Says the same of every service and of the whole.
async fn report(health: &HealthReporter, status: ServingStatus) {
    for name in [
        "",
        SearchServiceServer::<Services>::NAME,
        ContextServiceServer::<Services>::NAME,
        NoteServiceServer::<Services>::NAME,
        GraphServiceServer::<Services>::NAME,
        AdminServiceServer::<Services>::NAME,
    ] {
        health.set_service_status(name, status).await;
    }
}

/// A Unix socket whose file goes when it does.
struct Socket {
    path: PathBuf,
    #[cfg(unix)]
    listener: Option<tokio::net::UnixListener>,
}

#[cfg(unix)]
impl Socket {
    /// Binds `path`, readable by the user alone; takes the place of one that nobody listens on any more.
    fn bind(path: &Path) -> std::io::Result<Self> {
        use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let listener = match tokio::net::UnixListener::bind(path) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                if std::os::unix::net::UnixStream::connect(path).is_ok() {
                    return Err(error);
                }
                std::fs::remove_file(path)?;
                tokio::net::UnixListener::bind(path)?
            }
            bound => bound?,
        };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { path: path.to_owned(), listener: Some(listener) })
    }

    /// Serves on it in the background; what comes back removes the file when it is dropped.
    fn serve(
        mut self,
        routes: Routes,
        over: impl Future<Output = ()> + Send + 'static,
        servers: &mut JoinSet<Result<(), tonic::transport::Error>>,
    ) -> Self {
        if let Some(listener) = self.listener.take() {
            let incoming = tokio_stream::wrappers::UnixListenerStream::new(listener);
            let router = Server::builder().add_routes(routes);
            servers.spawn(router.serve_with_incoming_shutdown(incoming, over));
        }
        self
    }
}

#[cfg(not(unix))]
impl Socket {
    fn bind(_path: &Path) -> std::io::Result<Self> {
        Err(std::io::Error::other("this system has no Unix sockets"))
    }

    fn serve(
        self,
        _routes: Routes,
        _over: impl Future<Output = ()> + Send + 'static,
        _servers: &mut JoinSet<Result<(), tonic::transport::Error>>,
    ) -> Self {
        self
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, "the socket's file was gone already");
        }
    }
}
