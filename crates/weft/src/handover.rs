//! A conversation about folders that a daemon serves, which outlives that daemon.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};
use tonic::Status;
use weft_daemon::config::Config;
use weft_daemon::{Paths, Services};

use crate::asker::{Opened, Purpose, Transport, open};
use crate::failure::Failure;
use crate::reach::{Credentials, is_heard};

/// How long a daemon that no longer listens may take to write down what it holds, and between two looks whether it has.
const ENDING: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(100);

/// Asks the daemon that holds the folders as long as it is there, and then opens them here.
pub(crate) struct Handover {
    config: Config,
    paths: Paths,
    credentials: Credentials,
    now: Mutex<Now>,
}

/// Where answers come from by now.
enum Now {
    There { address: String, transport: Transport },
    Here { services: Services, transport: Transport },
}

impl Handover {
    /// Begins with the daemon at `address`.
    pub(crate) fn new(
        config: Config,
        paths: Paths,
        credentials: Credentials,
        address: String,
    ) -> Result<Self, Failure> {
        let now = Mutex::new(there(&credentials, address)?);
        Ok(Self { config, paths, credentials, now })
    }

    /// What carries a question to where it is answered.
    pub(crate) async fn transport(&self) -> Result<Transport, Status> {
        let mut now = self.now.lock().await;
        if let Now::There { address, transport: _ } = &*now
            && !is_heard(address).await
        {
            *now = self.after(address).await.map_err(|failure| {
                Status::unavailable(format!(
                    "the daemon at {address}, which served these folders, has ended, and they cannot be opened here: {}",
                    failure.message
                ))
            })?;
        }
        let (Now::There { transport, .. } | Now::Here { transport, .. }) = &*now;
        Ok(transport.clone())
    }

    /// Who answers after the daemon at `address` has ended.
    async fn after(&self, address: &str) -> Result<Now, Failure> {
        let begin = Instant::now();
        loop {
            let opening = open(self.config.clone(), self.paths.clone(), Purpose::Conversation);
            match opening.await? {
                Opened::Here(services) => {
                    let transport = Transport::Here(services.routes());
                    return Ok(Now::Here { services, transport });
                }
                Opened::Served(holder) if holder != address || is_heard(address).await => {
                    return there(&self.credentials, holder);
                }
                Opened::Served(_) if begin.elapsed() < ENDING => sleep(LOOK).await,
                Opened::Served(_) => {
                    return Err(Failure::other("it still writes down what it holds"));
                }
            }
        }
    }

    /// The services of this process, if they answer by now.
    pub(crate) async fn services(&self) -> Option<Services> {
        match &*self.now.lock().await {
            Now::There { .. } => None,
            Now::Here { services, .. } => Some(services.clone()),
        }
    }
}

fn there(credentials: &Credentials, address: String) -> Result<Now, Failure> {
    let channel = credentials.connect_later(&address)?;
    let transport =
        Transport::Channel(channel, credentials.authorization(), address.as_str().into());
    Ok(Now::There { address, transport })
}
