//! A daemon of its own for each test: a free port, an empty store, nothing of the user's.
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

/// What goes wrong in a test, whatever it is.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The folder of the example vault.
#[must_use]
pub fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/timekeeping")
}

/// Waits until health says that the daemon serves.
pub async fn served(channel: &Channel) -> Result<(), Failure> {
    let mut health = HealthClient::new(channel.clone());
    let asked = HealthCheckRequest { service: "noteweft.v1.ContextService".to_owned() };
    let mut states = health.watch(asked).await?.into_inner();
    while let Some(state) = states.message().await? {
        if state.status() == ServingStatus::Serving {
            return Ok(());
        }
    }
    Err("the daemon ended before it served".into())
}

/// A running daemon. Dropping it stops it.
pub struct Running {
    /// Its Unix socket.
    pub socket: PathBuf,
    address: String,
    config: Config,
    control: Control,
    services: Services,
    folder: TempDir,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), ServeError>>,
}

impl Running {
    /// Starts one over `vault` with these settings besides a free port and a store of its own.
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
        // A daemon on every address is asked at this machine's own.
        let port = daemon.address().port();
        let address = format!("http://127.0.0.1:{port}");
        let (control, services) = (daemon.control(), daemon.services());
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(daemon.run(async {
            drop(stopped.await);
        }));
        Ok(Self { socket, address, config, control, services, folder, stop: Some(stop), task })
    }

    /// The host and port it listens on.
    #[must_use]
    pub fn host(&self) -> &str {
        self.address.trim_start_matches("http://")
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap_or_default()
    }

    /// Reads tokens and certificates again, as SIGHUP does.
    pub async fn reload(&self) -> Result<Reloaded, Failure> {
        Ok(self.control.reload(&self.config).await?)
    }

    /// Serves these vaults from now on, as SIGHUP does after they were put into the settings.
    pub async fn reload_with(&self, vaults: &[&Path]) -> Result<Reloaded, Failure> {
        let vault = |root: &&Path| Vault { name: None, root: root.to_path_buf() };
        let vaults = vaults.iter().map(vault).collect();
        self.reload_changed(|settings| settings.vaults = vaults).await
    }

    /// Takes over the settings of its start with a change, as SIGHUP does after their file was edited.
    pub async fn reload_changed(
        &self,
        change: impl FnOnce(&mut Settings),
    ) -> Result<Reloaded, Failure> {
        let mut config = self.config.clone();
        change(&mut config.settings);
        Ok(self.control.reload(&config).await?)
    }

    /// Its services, to be asked without a connection.
    #[must_use]
    pub fn services(&self) -> Services {
        self.services.clone()
    }

    /// A new connection over TCP.
    pub async fn channel(&self) -> Result<Channel, Failure> {
        Ok(Endpoint::from_shared(self.address.clone())?.connect().await?)
    }

    /// A new connection over the Unix socket.
    pub async fn socket_channel(&self) -> Result<Channel, Failure> {
        let uri = format!("unix:{}", self.socket.display());
        Ok(Endpoint::from_shared(uri)?.connect().await?)
    }

    /// Stops it and waits for its end; gives back the folder with its store.
    pub async fn stop(mut self) -> Result<TempDir, Failure> {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        self.task.await??;
        Ok(self.folder)
    }

    /// Stops it and starts another over the same store.
    pub async fn restart(self, vault: &Path, settings: &[(&str, &str)]) -> Result<Self, Failure> {
        let folder = self.stop().await?;
        Self::start_in(folder, vault, settings).await
    }
}
