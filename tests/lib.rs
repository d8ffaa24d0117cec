//! Test support: a separate daemon per test, on a free port, with an empty store and no user files.
#![forbid(unsafe_code)]

use std::error::Error;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use weft_daemon::config::{Config, Settings, Sources, Vault};
use weft_daemon::{Control, Daemon, Environment, Paths, Reloaded, ServeError, Services};

/// Any error of a test.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Returns the folder of the example vault.
#[must_use]
pub fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/timekeeping")
}

/// Waits until the health service reports that the daemon is serving.
pub async fn served(channel: &Channel) -> Result<(), Failure> {
    let mut health = HealthClient::new(channel.clone());
    let sent_request = HealthCheckRequest { service: "noteweft.v1.ContextService".to_owned() };
    let mut states = health.watch(sent_request).await?.into_inner();
    while let Some(state) = states.message().await? {
        if state.status() == ServingStatus::Serving {
            return Ok(());
        }
    }
    Err("the daemon ended before it was serving".into())
}

/// A running daemon. Dropping it stops it.
pub struct TestDaemon {
    /// Path of its Unix socket.
    pub socket: PathBuf,
    address: String,
    config: Config,
    control: Control,
    services: Services,
    folder: TempDir,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), ServeError>>,
}

impl TestDaemon {
    /// Starts a daemon over `vault` with these settings, a free port and its own store.
    pub async fn start(vault: &Path, settings: &[(&str, &str)]) -> Result<Self, Failure> {
        Self::start_in(tempfile::tempdir()?, vault, settings).await
    }

    async fn start_in(
        folder: TempDir,
        vault: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Self, Failure> {
        let home = folder.path().to_string_lossy().into_owned();
        let socket = folder.path().join("weft.sock");
        let environment = Environment::from_pairs(&[("HOME", &home)]);
        let own = [("server.address", "127.0.0.1:0"), ("server.socket", &socket.to_string_lossy())];
        let flags = own
            .iter()
            .chain(settings)
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned(), "the test".to_owned()));
        let sources =
            Sources { file: None, flags: flags.collect(), vaults: vec![vault.to_owned()] };
        let config = Config::load(&sources, &environment)?;
        let daemon = Daemon::bind(config.clone(), Paths::new(&environment)).await?;
        // A daemon that listens on all addresses is reached through the loopback address.
        let port = daemon.address().port();
        let address = format!("http://127.0.0.1:{port}");
        let (control, services) = (daemon.control(), daemon.services());
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(daemon.run(async {
            drop(stopped.await);
        }));
        Ok(Self { socket, address, config, control, services, folder, stop: Some(stop), task })
    }

    /// Returns the host and port of its listener.
    #[must_use]
    pub fn host(&self) -> &str {
        self.address.trim_start_matches("http://")
    }

    /// Returns the port of its listener.
    #[must_use]
    pub fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap_or_default()
    }

    /// Reloads tokens and certificates, as on SIGHUP.
    pub async fn reload(&self) -> Result<Reloaded, Failure> {
        Ok(self.control.reload(self.config.clone().into()).await?)
    }

    /// Serves these vaults from now on, as on SIGHUP after an edit of the settings.
    pub async fn reload_with(&self, vaults: &[&Path]) -> Result<Reloaded, Failure> {
        let vault = |root: &&Path| Vault { name: None, root: root.to_path_buf() };
        let vaults = vaults.iter().map(vault).collect();
        self.reload_changed(|settings| settings.vaults = vaults).await
    }

    /// Reloads the initial settings with a change, as on SIGHUP after an edit of their file.
    pub async fn reload_changed(
        &self,
        change: impl FnOnce(&mut Settings),
    ) -> Result<Reloaded, Failure> {
        let mut config = self.config.clone();
        change(&mut config.settings);
        Ok(self.control.reload(config.into()).await?)
    }

    /// Returns its services, for requests without a connection.
    #[must_use]
    pub fn services(&self) -> Services {
        self.services.clone()
    }

    /// Opens a connection over TCP.
    pub async fn channel(&self) -> Result<Channel, Failure> {
        Ok(Endpoint::from_shared(self.address.clone())?.connect().await?)
    }

    /// Opens a connection over the Unix socket.
    pub async fn socket_channel(&self) -> Result<Channel, Failure> {
        let uri = format!("unix:{}", self.socket.display());
        Ok(Endpoint::from_shared(uri)?.connect().await?)
    }

    /// Stops the daemon and waits for its end; returns the folder with its store.
    pub async fn stop(mut self) -> Result<TempDir, Failure> {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        self.task.await??;
        Ok(self.folder)
    }

    /// Stops the daemon and starts another one over the same store.
    pub async fn restart(self, vault: &Path, settings: &[(&str, &str)]) -> Result<Self, Failure> {
        let folder = self.stop().await?;
        Self::start_in(folder, vault, settings).await
    }
}
