//! Test support: a separate daemon per test, on a free port, with an empty store and no user files.
//!
//! With `WEFT_TEST_NODES` set, that number of nodes serve each test instead, over a collection of PostgreSQL.
#![forbid(unsafe_code)]

mod nodes;
mod test_channel;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, block_in_place};
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use weft_daemon::config::{Config, Settings, Sources, Vault};
use weft_daemon::{Control, Daemon, Environment, Paths, Reloaded, ServeError, Services};

pub use crate::nodes::is_skipped_over;
use crate::nodes::{TestCollection, n_nodes};
pub use crate::test_channel::TestChannel;

/// Any error of a test.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Returns the folder of the example vault.
#[must_use]
pub fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/timekeeping")
}

/// Waits until the health service reports that the daemon is serving.
pub async fn served(channel: &TestChannel) -> Result<(), Failure> {
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

/// Returns the states of two services, or of parts, by their names for the health service.
pub async fn health_states(
    channel: &TestChannel,
    names: [&str; 2],
) -> Result<[ServingStatus; 2], Failure> {
    let mut health = HealthClient::new(channel.clone());
    let mut states = [ServingStatus::Unknown; 2];
    for (state, name) in states.iter_mut().zip(names) {
        let request = HealthCheckRequest { service: name.to_owned() };
        *state = health.check(request).await?.into_inner().status();
    }
    Ok(states)
}

/// A running daemon, or nodes that serve the same notes. Dropping it stops all of them.
pub struct TestDaemon {
    /// Path of the Unix socket, that of the first node.
    pub socket: PathBuf,
    /// The daemon, or the nodes.
    processes: Vec<ServedProcess>,
    /// `None` if a folder is served.
    collection: Option<TestCollection>,
    /// Newest generation that the channels of the nodes have seen.
    seen: Arc<AtomicU64>,
    folder: TempDir,
}

impl TestDaemon {
    /// Starts a daemon over `vault` with these settings, a free port and its own store; or nodes over a collection with the notes of `vault`.
    pub async fn start(vault: &Path, settings: &[(&str, &str)]) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let collection = match n_nodes() {
            Some(_) => {
                let config = config(folder.path(), vec![], settings)?;
                let name = folder.path().file_name().unwrap_or_default().to_string_lossy();
                Some(block_in_place(|| TestCollection::of(vault, &name, &config))?)
            }
            None => None,
        };
        Self::start_in(folder, collection, vault, settings).await
    }

    /// Starts one daemon over the collection that these settings name, a free port and its own store.
    pub async fn start_node(settings: &[(&str, &str)]) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let config = config(folder.path(), vec![], settings)?;
        let process = ServedProcess::start(folder.path(), config).await?;
        let socket = process.socket.clone();
        let (processes, collection, seen) = (vec![process], None, Arc::default());
        Ok(Self { socket, processes, collection, seen, folder })
    }

    async fn start_in(
        folder: TempDir,
        collection: Option<TestCollection>,
        vault: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Self, Failure> {
        let mut processes = Vec::new();
        match &collection {
            None => {
                let config = config(folder.path(), vec![vault.to_owned()], settings)?;
                processes.push(ServedProcess::start(folder.path(), config).await?);
            }
            Some(collection) => {
                for n in 0..n_nodes().unwrap_or(1) {
                    let id = format!("node{n}");
                    let home =
                        if n == 0 { folder.path().to_owned() } else { folder.path().join(&id) };
                    std::fs::create_dir_all(&home)?;
                    let own = collection.settings(&id);
                    let own = own.iter().map(|(key, value)| (key.as_str(), value.as_str()));
                    let settings: Vec<(&str, &str)> = settings.iter().copied().chain(own).collect();
                    let config = config(&home, vec![], &settings)?;
                    processes.push(ServedProcess::start(&home, config).await?);
                }
            }
        }
        let socket = processes[0].socket.clone();
        let daemon = Self { socket, processes, collection, seen: Arc::default(), folder };
        if daemon.collection.is_some() {
            for process in &daemon.processes {
                served(&TestChannel::to_daemon(process.over_socket().await?)).await?;
            }
        }
        Ok(daemon)
    }

    /// Returns the host and port of its listener, that of the first node.
    #[must_use]
    pub fn host(&self) -> &str {
        self.processes[0].address.trim_start_matches("http://")
    }

    /// Returns the port of its listener, that of the first node.
    #[must_use]
    pub fn port(&self) -> &str {
        self.host().rsplit(':').next().unwrap_or_default()
    }

    /// Reloads tokens and certificates, as on SIGHUP.
    pub async fn reload(&self) -> Result<Reloaded, Failure> {
        self.reload_changed(|_| {}).await
    }

    /// Serves these vaults from now on, as on SIGHUP after an edit of the settings.
    pub async fn reload_with(&self, vaults: &[&Path]) -> Result<Reloaded, Failure> {
        let vault = |root: &&Path| Vault { name: None, root: root.to_path_buf() };
        let vaults: Vec<Vault> = vaults.iter().map(vault).collect();
        self.reload_changed(|settings| settings.vaults.clone_from(&vaults)).await
    }

    /// Reloads the initial settings with a change, as on SIGHUP after an edit of their file. Returns what the last node reports.
    pub async fn reload_changed(
        &self,
        change: impl Fn(&mut Settings),
    ) -> Result<Reloaded, Failure> {
        let mut reloaded = Reloaded::default();
        for process in &self.processes {
            let mut config = process.config.clone();
            change(&mut config.settings);
            reloaded = process.control.reload(config.into()).await?;
        }
        Ok(reloaded)
    }

    /// Returns its services, those of the first node, for requests without a connection.
    #[must_use]
    pub fn services(&self) -> Services {
        self.processes[0].services.clone()
    }

    /// Opens a connection over TCP, to each node.
    pub async fn channel(&self) -> Result<TestChannel, Failure> {
        let mut channels = Vec::new();
        for process in &self.processes {
            channels.push(Endpoint::from_shared(process.address.clone())?.connect().await?);
        }
        match (&self.collection, channels.pop()) {
            (None, Some(channel)) => Ok(TestChannel::to_daemon(channel)),
            (_, last) => {
                channels.extend(last);
                Ok(TestChannel::to_nodes(channels, &self.seen))
            }
        }
    }

    /// Opens a connection over the Unix socket, to the first node.
    pub async fn socket_channel(&self) -> Result<TestChannel, Failure> {
        let channel = self.processes[0].over_socket().await?;
        Ok(match self.collection {
            None => TestChannel::to_daemon(channel),
            Some(_) => TestChannel::to_nodes(vec![channel], &self.seen),
        })
    }

    /// Lets nodes have the changes of files in `vault`, which a daemon over the folder finds by itself.
    pub fn push(&self, vault: &Path) -> Result<(), Failure> {
        if let Some(collection) = &self.collection {
            let generation = block_in_place(|| collection.push(vault))?;
            self.seen.fetch_max(generation, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Returns the text of a file of `vault`, as it is where the notes are kept.
    pub fn text(&self, vault: &Path, path: &str) -> Result<String, Failure> {
        match &self.collection {
            None => Ok(std::fs::read_to_string(vault.join(path))?),
            Some(collection) => block_in_place(|| collection.text(path)),
        }
    }

    /// Stops the daemon and waits for its end; returns the folder with its store.
    pub async fn stop(self) -> Result<TempDir, Failure> {
        for process in self.processes {
            process.stop().await?;
        }
        Ok(self.folder)
    }

    /// Stops the daemon and starts another one over the same store.
    pub async fn restart(
        mut self,
        vault: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Self, Failure> {
        let collection = self.collection.take();
        let folder = self.stop().await?;
        Self::start_in(folder, collection, vault, settings).await
    }
}

/// Returns the settings of a daemon with its files in `home`.
fn config(home: &Path, vaults: Vec<PathBuf>, settings: &[(&str, &str)]) -> Result<Config, Failure> {
    let socket = home.join("weft.sock").to_string_lossy().into_owned();
    let own = [("server.address", "127.0.0.1:0"), ("server.socket", &socket)];
    let flags = own
        .iter()
        .chain(settings)
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned(), "the test".to_owned()));
    let sources = Sources { file: None, flags: flags.collect(), vaults };
    Ok(Config::load(&sources, &environment(home))?)
}

fn environment(home: &Path) -> Environment {
    Environment::from_pairs(&[("HOME", &home.to_string_lossy())])
}

/// A daemon over a folder, or a node. Outside of tests, each is a process of its own.
struct ServedProcess {
    socket: PathBuf,
    address: String,
    config: Config,
    control: Control,
    services: Services,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ServeError>>,
}

impl ServedProcess {
    async fn start(home: &Path, config: Config) -> Result<Self, Failure> {
        let daemon = Daemon::bind(config.clone(), Paths::new(&environment(home)))?;
        // A daemon that listens on all addresses is reached through the loopback address.
        let port = daemon.address().port();
        let address = format!("http://127.0.0.1:{port}");
        let (control, services) = (daemon.control(), daemon.services());
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(daemon.run(async {
            drop(stopped.await);
        }));
        let socket = home.join("weft.sock");
        Ok(Self { socket, address, config, control, services, stop, task })
    }

    async fn over_socket(&self) -> Result<Channel, Failure> {
        let uri = format!("unix:{}", self.socket.display());
        Ok(Endpoint::from_shared(uri)?.connect().await?)
    }

    async fn stop(self) -> Result<(), Failure> {
        let _ = self.stop.send(());
        Ok(self.task.await??)
    }
}
