//! A session over vaults that a daemon serves, which continues in this process when the daemon stops.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};
use tonic::Status;
use weft_daemon::config::Config;
use weft_daemon::{Paths, Services};

use crate::client::{Opened, Purpose, Transport, open};
use crate::connection::{ClientCredentials, is_listening};
use crate::failure::Failure;

/// Timeout for a daemon that no longer listens to release its store, and the interval of checks.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);
const RELEASE_POLL: Duration = Duration::from_millis(100);

/// Forwards requests to the daemon that holds the store, and opens the vaults in this process once the daemon has stopped.
pub(crate) struct Handover {
    config: Config,
    paths: Paths,
    credentials: ClientCredentials,
    backend: Mutex<Backend>,
}

/// Current source of answers.
enum Backend {
    Daemon { address: String, transport: Transport },
    Local { services: Services, transport: Transport },
}

impl Handover {
    /// Starts with the daemon at `address`.
    pub(crate) fn new(
        config: Config,
        paths: Paths,
        credentials: ClientCredentials,
        address: String,
    ) -> Result<Self, Failure> {
        let backend = Mutex::new(daemon_backend(&credentials, address)?);
        Ok(Self { config, paths, credentials, backend })
    }

    /// Returns the transport to the current backend, and switches the backend first if the daemon has stopped.
    pub(crate) async fn transport(&self) -> Result<Transport, Status> {
        let mut backend = self.backend.lock().await;
        if let Backend::Daemon { address, transport: _ } = &*backend
            && !is_listening(address).await
        {
            *backend = self.next_backend(address).await.map_err(|failure| {
                Status::unavailable(format!(
                    "the daemon at {address} that served these vaults has stopped, and they cannot be opened in this process: {}",
                    failure.message
                ))
            })?;
        }
        let (Backend::Daemon { transport, .. } | Backend::Local { transport, .. }) = &*backend;
        Ok(transport.clone())
    }

    /// Returns the backend to use after the daemon at `address` has stopped.
    async fn next_backend(&self, address: &str) -> Result<Backend, Failure> {
        let begin = Instant::now();
        loop {
            let opening = open(self.config.clone(), self.paths.clone(), Purpose::Session);
            match opening.await? {
                Opened::InProcess(services) => {
                    let transport = Transport::InProcess(services.routes());
                    return Ok(Backend::Local { services, transport });
                }
                Opened::HeldByDaemon(holder)
                    if holder != address || is_listening(address).await =>
                {
                    return daemon_backend(&self.credentials, holder);
                }
                Opened::HeldByDaemon(_) if begin.elapsed() < RELEASE_TIMEOUT => {
                    sleep(RELEASE_POLL).await
                }
                Opened::HeldByDaemon(_) => {
                    return Err(Failure::other("it is still persisting its index"));
                }
            }
        }
    }

    /// Returns the services of this process, if they are the backend.
    pub(crate) async fn services(&self) -> Option<Services> {
        match &*self.backend.lock().await {
            Backend::Daemon { .. } => None,
            Backend::Local { services, .. } => Some(services.clone()),
        }
    }
}

fn daemon_backend(credentials: &ClientCredentials, address: String) -> Result<Backend, Failure> {
    let channel = credentials.connect_later(&address)?;
    let transport =
        Transport::Channel(channel, credentials.authorization(), address.as_str().into());
    Ok(Backend::Daemon { address, transport })
}
