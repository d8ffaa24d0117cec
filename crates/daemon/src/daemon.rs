//! The daemon: sockets, services, reload and shutdown.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::transport::Server;
use tonic_health::pb::health_server::HealthServer;
use weft_indexer::scan::folder_problem;

use crate::access::{Credentials, RateLimiter};
use crate::admission::AdmissionLayer;
use crate::config::{
    Config, ConfigError, Problem, RELOADABLE, ServerSettings, SettingOrigin, Sources,
    refusal_to_open,
};
use crate::fair_share::ForClient;
use crate::metrics::{Metrics, ServerCounts};
use crate::net::{
    ConnectionLimits, ConnectionTable, Listeners, Socket, SocketListener, listen_tcp, nearby,
};
use crate::open_error::OpenVaultsError;
use crate::open_files::{connections_within, max_open_files};
use crate::paths::{Environment, Paths};
use crate::services::{ServerState, ServiceLimits, Services};
use crate::status::{is_disconnected, is_full};
use crate::telemetry::AUDIT;
use crate::vaults::{OpenMode, Vaults};
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
        /// The Unix socket of that process if it is a daemon of this user.
        socket: Option<PathBuf>,
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
    /// Open connections over TCP and over the Unix socket, which has its own limit, so that clients over TCP cannot exhaust it.
    connections: [Arc<ConnectionTable>; 2],
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
    /// Settings that name the credentials in force.
    config: Arc<Mutex<Config>>,
    address: SocketAddr,
}

/// Settings read again while the daemon runs.
#[derive(Debug)]
pub struct ConfigReload {
    /// The settings, as far as they can be read; `None` if their file cannot be read or parsed.
    config: Option<Config>,
    /// Error of the invalid ones.
    error: Option<ConfigError>,
}

impl From<Config> for ConfigReload {
    /// Creates a reload of valid settings.
    fn from(config: Config) -> Self {
        Self { config: Some(config), error: None }
    }
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
    /// Applies the tokens, certificates and vaults of `next`; reads their files again.
    ///
    /// Credentials are reloaded in any case, from the settings in force if the new ones cannot be read: a token or an authority that is gone grants nothing from now on.
    /// Requests in flight complete; streams whose token or certificate is no longer valid end, and connections whose client certificate is no longer trusted are closed.
    /// New vaults are scanned in the background.
    /// Returns the settings that took effect and those that need a restart.
    /// Fails without any other change if a setting or a credential is invalid, or if the vaults are still opening.
    pub async fn reload(&self, next: ConfigReload) -> Result<Reloaded, ServeError> {
        let ConfigReload { config, error } = next;
        let in_force = self.config();
        let mut config = config.unwrap_or_else(|| in_force.clone());
        // A typo must neither open nor close anything: a section that cannot be read stays as it was.
        let unread = error.as_ref().map(unread_credentials).unwrap_or_default();
        let is_unread = |section: &str| unread.iter().any(|it| it.is_in(section));
        if is_unread("access") {
            config.settings.access = in_force.settings.access;
        }
        if is_unread("tls") {
            config.settings.tls = in_force.settings.tls;
        }
        let renewed = self.reload_credentials(&config, unread);
        *self.lock_config() = config.clone();
        if let Some(error) = error {
            return Err(error.into());
        }
        let problems = self.credentials.borrow().problems.clone();
        if !problems.is_empty() {
            return Err(config.invalid(problems).into());
        }
        let vaults = self.services.vaults_if_open().ok_or(ServeError::Opening)?;
        let changed = config.differences(&vaults.config());
        let reload = tokio::task::spawn_blocking(move || vaults.reload(&config));
        reload.await.map_err(|_| ServeError::Panicked)??;
        let (mut taken, needs_restart): (Vec<String>, _) =
            changed.into_iter().partition(|key| RELOADABLE.contains(&key.as_str()));
        taken.extend(renewed);
        taken.sort_unstable();
        taken.dedup();
        Ok(Reloaded { taken, needs_restart })
    }

    /// Replaces the credentials by those of `config`, and returns the settings whose secrets or certificates changed. `unread` are the problems of settings that stay in force.
    fn reload_credentials(&self, config: &Config, unread: Vec<Problem>) -> Vec<String> {
        let mut next = self.credentials.borrow().reload(config);
        next.problems.extend(unread);
        if !self.address.ip().is_loopback() && !config.settings.asks_for_credentials() {
            let reason = refusal_to_open(self.address);
            next.problems.push(Problem { key: "server.address".to_owned(), reason });
        }
        let renewed: Vec<String> =
            next.renewed(&self.credentials.borrow()).into_iter().map(str::to_owned).collect();
        if !renewed.is_empty() {
            let settings = renewed.join(", ");
            tracing::info!(target: AUDIT, settings, "credentials reloaded");
        }
        for Problem { key, reason } in &next.problems {
            tracing::error!(target: AUDIT, key, reason, "credential not loaded");
        }
        self.credentials.send_replace(next);
        renewed
    }

    /// Returns the settings that were last read; those of the credentials in force.
    #[must_use]
    pub fn config(&self) -> Config {
        self.lock_config().clone()
    }

    fn lock_config(&self) -> MutexGuard<'_, Config> {
        self.config.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the problems of the credentials' settings that could not be read.
fn unread_credentials(error: &ConfigError) -> Vec<Problem> {
    let in_force = |key: &str, reason: &dyn Display| {
        let reason = format!("{reason}; the earlier value of the section stays in force");
        Problem { key: key.to_owned(), reason }
    };
    match error {
        ConfigError::Invalid { problems } => {
            let problems = problems.iter().map(|(problem, _)| problem);
            let of_credentials = problems.filter(|it| it.is_in("access") || it.is_in("tls"));
            of_credentials.map(|problem| in_force(&problem.key, &problem.reason)).collect()
        }
        ConfigError::Read { .. } | ConfigError::Parse { .. } => vec![in_force("access", error)],
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
        let credentials = Credentials::load(&config).err().unwrap_or_default();
        let folders = folder_problems(&config, &Paths::new(environment));
        config.add_problems(&mut problems, credentials.into_iter().chain(folders));
        if problems.is_empty() { Ok(config) } else { Err(ConfigError::Invalid { problems }) }
    }

    /// Loads the configuration for a running daemon, with the settings that are valid although others are not.
    ///
    /// Tokens and certificates are checked by [`Control::reload`].
    #[must_use]
    pub fn load_to_reload(sources: &Sources, environment: &Environment) -> ConfigReload {
        let (config, mut problems) = match Self::read(sources, environment) {
            Ok(read) => read,
            Err(error) => return ConfigReload { config: None, error: Some(error) },
        };
        config.add_problems(&mut problems, folder_problems(&config, &Paths::new(environment)));
        let error = (!problems.is_empty()).then_some(ConfigError::Invalid { problems });
        ConfigReload { config: Some(config), error }
    }

    /// Adds `more` to `problems`, each once and with its origin.
    fn add_problems(
        &self,
        problems: &mut Vec<(Problem, SettingOrigin)>,
        more: impl IntoIterator<Item = Problem>,
    ) {
        for problem in more {
            let origin = self.origin(&problem.key);
            let problem = (problem, origin);
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
}

/// Returns the problems of vault folders without an existing index.
fn folder_problems(config: &Config, paths: &Paths) -> Vec<Problem> {
    let mut problems = Vec::new();
    let is_indexed = Vaults::store(config, paths).is_ok_and(|store| store.exists());
    let roots = config.settings.vaults.iter().map(|vault| &vault.root);
    for root in roots.filter(|_| !is_indexed) {
        if let Some(reason) = folder_problem(root) {
            let reason = format!("cannot read {}: {reason}", root.display());
            problems.push(Problem { key: "vaults".to_owned(), reason });
        }
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
        format!(
            "another program, a weft daemon of another user or one without a socket (`weft status --addr {address}` shows a daemon): stop it"
        )
    }
}

/// Binds the TCP port of these settings.
fn bind_tcp(
    server: &ServerSettings,
    addresses: &[SocketAddr],
    paths: &Paths,
) -> Result<TcpListener, ServeError> {
    listen_tcp(addresses).map_err(|source| {
        let address = server.address.clone();
        if source.kind() == std::io::ErrorKind::AddrInUse {
            let sockets = addresses.iter().map(|at| socket_at(server, paths, at.port()));
            let socket = sockets.flatten().find(|socket| Socket::is_heard(socket));
            let holder = address_owner(&address, socket.is_some());
            ServeError::AddressInUse { address, holder, socket }
        } else {
            ServeError::Listen { address, source }
        }
    })
}

/// Fails as [`Daemon::bind`] does if its TCP port cannot be bound, and leaves the port free. It must be called in a runtime of tokio.
pub fn check_port(config: &Config, paths: &Paths) -> Result<(), ServeError> {
    bind_tcp(&config.settings.server, &check(config)?, paths).map(drop)
}

/// Value of `server.socket` for a socket at the default path.
const AUTO: &str = "auto";

/// Returns the path of the Unix socket of a daemon on `port`, if the settings enable one.
fn socket_at(settings: &ServerSettings, paths: &Paths, port: u16) -> Option<PathBuf> {
    match settings.socket.as_str() {
        "none" => None,
        AUTO => paths.socket(port),
        path => Some(path.into()),
    }
}

impl Daemon {
    /// Loads the credentials and binds the sockets; opens no vault yet. It must be called in a runtime of tokio.
    ///
    /// Fails before binding if a credential is invalid, or if the address is reachable from other machines and no credentials are configured.
    pub fn bind(config: Config, paths: Paths) -> Result<Self, ServeError> {
        let server = &config.settings.server;
        let addresses = check(&config)?;
        let tcp = bind_tcp(server, &addresses, &paths)?;
        let listen = |source| ServeError::Listen { address: server.address.clone(), source };
        let address = tcp.local_addr().map_err(listen)?;
        let socket = match socket_at(server, &paths, address.port()) {
            None => {
                if server.socket == AUTO {
                    tracing::warn!(
                        "no Unix socket: none of XDG_RUNTIME_DIR, XDG_STATE_HOME and HOME is set"
                    );
                }
                None
            }
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
        let connections = connection_tables(server);
        // If the limit of open files leaves few connections, the streams of one client cannot take all of them.
        let n_connections = connections[0].limits().total;
        let limits = ServiceLimits::from(server);
        let max_streams = limits.max_streams.min(n_connections);
        let services = Services::new(ServiceLimits { max_streams, ..limits });
        let credentials = watch::Sender::new(credentials);
        services.set_server(ServerState {
            connections: connections.clone(),
            credentials: credentials.subscribe(),
        });
        let control = Control {
            services: services.clone(),
            credentials,
            config: Arc::new(Mutex::new(config.clone())),
            address,
        };
        let serving = watch::Sender::new(false);
        Ok(Self { tcp, address, socket, connections, config, paths, services, control, serving })
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

    /// Returns the address of the page for a browser on this machine.
    #[must_use]
    pub fn page(&self) -> String {
        let is_encrypted = self.control.credentials.borrow().tls.is_some();
        let scheme = if is_encrypted { "https" } else { "http" };
        format!("{scheme}://{}", nearby(self.address))
    }

    /// Returns the address for processes of this machine: the Unix socket if the port requires credentials.
    #[must_use]
    pub fn place(&self) -> String {
        let Credentials { keyring, tls, problems: _ } = &*self.control.credentials.borrow();
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
    /// Health is NOT_SERVING until the first scan is complete, or, if the store holds an index, until it is loaded; for a node of a collection, as long as it is not current or differs from the log.
    /// Fails if the vaults cannot be opened.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        let place = self.place();
        let Self {
            tcp,
            address: _,
            socket,
            connections: tables,
            config,
            paths,
            services,
            control,
            serving,
        } = self;
        let Control { services: _, credentials, config: _, address: _ } = control;
        let ServerSettings {
            shutdown_ms,
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
        let connections = Listeners { tcp, unix }.accept(tables.clone(), credentials.subscribe());
        let metrics = Arc::new(Metrics::default());
        let loaded = credentials.subscribe();
        let text = {
            let (services, metrics) = (services.clone(), Arc::clone(&metrics));
            move || {
                let counts = ServerCounts::of(&tables, loaded.borrow().problems.len());
                let (index, node) = (services.index_status(), services.node_health());
                metrics.render(&services.load(), counts, index.as_ref(), node.as_ref())
            }
        };
        let (ending, mut ended) = watch::channel(false);
        let of_services = services.routes();
        let tools = move || weft_mcp::Server::new(ForClient::current(of_services.clone()));
        let mcp = weft_mcp::HttpServer::new(tools.clone(), max_request_bytes);
        let mcp_write = config.settings.access.mcp_write.then(|| {
            weft_mcp::HttpServer::new(move || tools().with_writing(true), max_request_bytes)
        });
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
            .layer(WebLayer { metrics: Arc::new(text), mcp, mcp_write, services: services.clone() })
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
                        never = report_health(&services, &serving) => match never {},
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

/// Creates the tables of open connections over TCP and over the Unix socket.
fn connection_tables(settings: &ServerSettings) -> [Arc<ConnectionTable>; 2] {
    let ServerSettings {
        max_connections,
        max_connections_per_address,
        first_request_ms,
        idle_ms,
        ..
    } = *settings;
    let most = connections_within(max_open_files(), max_connections);
    if most[0] < max_connections {
        tracing::warn!(
            max_connections = most[0],
            "the limit of open files leaves fewer connections than server.max_connections; raise it, for example by LimitNOFILE of systemd"
        );
    }
    most.map(|total| {
        ConnectionTable::new(ConnectionLimits {
            total,
            per_network: max_connections_per_address,
            first_request: Duration::from_millis(first_request_ms),
            idle: (idle_ms > 0).then(|| Duration::from_millis(idle_ms)),
        })
    })
}

/// Opens the vaults; returns when the keyword index and the links can be queried.
async fn open(
    services: &Services,
    config: Config,
    paths: Paths,
    place: String,
) -> Result<(), ServeError> {
    let vaults = once_possible(|| {
        let (config, paths, place) = (config.clone(), paths.clone(), place.clone());
        let open =
            move || Vaults::open(&config, &paths, OpenMode::Watching { address: Some(&place) });
        let opened = tokio::task::spawn_blocking(open);
        async move { Ok(opened.await.map_err(|_| ServeError::Panicked)??) }
    });
    let vaults = Arc::new(vaults.await?);
    // A store that holds an index is served during the scan, except that of a node.
    let has_index = vaults.status().generation > 0 && vaults.status().n_notes > 0;
    let is_node = vaults.is_catching_up();
    services.set_initial_scan(!has_index && !is_node);
    services.attach(Arc::clone(&vaults));
    if has_index && !is_node {
        return Ok(());
    }
    let first = once_possible(|| {
        let vaults = Arc::clone(&vaults);
        // The log may not have been readable when the index was opened.
        let since = if is_node { Instant::now() } else { vaults.indexer().opened() };
        let scan = move || vaults.indexer().flush_since(since);
        let scanned = tokio::task::spawn_blocking(scan);
        async move {
            match scanned.await.map_err(|_| ServeError::Panicked)? {
                // A missing folder may return; it is scanned again then, and does not prevent serving the other vaults.
                Ok(_) | Err(weft_indexer::IndexError::Vault { .. }) => Ok(()),
                Err(error) => Err(OpenVaultsError::Index(error).into()),
            }
        }
    });
    let first = first.await;
    services.set_initial_scan(false);
    if first.is_ok() {
        vaults.set_current();
    }
    first
}

/// Interval between two looks at the state of a node.
const HEALTH_INTERVAL: Duration = Duration::from_millis(100);

/// Updates the serving state of a node of a collection; that of a daemon over folders does not change.
async fn report_health(
    services: &Services,
    serving: &watch::Sender<bool>,
) -> std::convert::Infallible {
    if services.node_health().is_none() {
        return std::future::pending().await;
    }
    loop {
        let is_serving = services.node_health().is_some_and(|node| node.is_serving());
        serving.send_if_modified(|was| std::mem::replace(was, is_serving) != is_serving);
        tokio::time::sleep(HEALTH_INTERVAL).await;
    }
}

/// Pause before an attempt is repeated that failed because a disk was full.
const SPACE_RETRY: Duration = Duration::from_secs(5);

/// Pause before an attempt is repeated that failed because the database of a collection was lost.
const DATABASE_RETRY: Duration = Duration::from_secs(1);

/// Repeats `attempt` as long as it fails because a disk is full, on which a user may free space, or because the database of a collection was lost.
async fn once_possible<T, F: Future<Output = Result<T, ServeError>>>(
    attempt: impl Fn() -> F,
) -> Result<T, ServeError> {
    loop {
        match attempt().await {
            Err(error) if is_full(&error) => {
                tracing::error!(%error, "no storage space; waiting for it");
                tokio::time::sleep(SPACE_RETRY).await;
            }
            Err(error) if is_disconnected(&error) => {
                tracing::error!(%error, "no database; waiting for it");
                tokio::time::sleep(DATABASE_RETRY).await;
            }
            done => return done,
        }
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io;

    use super::*;

    #[tokio::test]
    async fn start_waits_for_a_lost_database_and_ends_with_other_errors() {
        let failed = |kind: io::ErrorKind| -> ServeError {
            let error = weft_indexer::IndexError::Log { source: kind.into() };
            OpenVaultsError::Index(error).into()
        };
        let n_attempts = Cell::new(0);
        let opened = once_possible(|| {
            n_attempts.set(n_attempts.get() + 1);
            let outcome = match n_attempts.get() {
                1 => Err(failed(io::ErrorKind::NotConnected)),
                _ => Ok(7),
            };
            async move { outcome }
        });
        assert_eq!((opened.await.unwrap(), n_attempts.get()), (7, 2));
        let refused: Result<(), _> =
            once_possible(|| async { Err(failed(io::ErrorKind::Other)) }).await;
        assert!(refused.is_err());
    }
}
