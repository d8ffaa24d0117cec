//! The sockets that are listened on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::ReceiverStream;

use super::connection::Over;
use super::{Connection, SocketListener};
use crate::access::Credentials;

/// How long a caller may take over the handshake of TLS.
const MAX_HANDSHAKE: Duration = Duration::from_secs(10);

/// How long to wait after the system gave no connection, as when files run out.
const REST: Duration = Duration::from_millis(100);

/// Bound sockets.
pub(crate) struct Listeners {
    pub(crate) tcp: TcpListener,
    pub(crate) unix: Option<SocketListener>,
}

impl Listeners {
    /// Accepts connections until the stream is dropped: over TCP one for each of the first `places` at the same time, over the socket for each of the second; more wait in the system's queue.
    ///
    /// Each connection over TCP is greeted by the credentials then in force, so renewed certificates count from the next one on; it ends when those in force trust the certificate no more that its client showed.
    /// Handshakes run beside each other: one that hangs holds up nobody.
    pub(crate) fn accept(
        self,
        [tcp, unix]: [Arc<Semaphore>; 2],
        credentials: watch::Receiver<Credentials>,
    ) -> ReceiverStream<std::io::Result<Connection>> {
        let (sender, connections) = mpsc::channel(1);
        let listener = Listener::Tcp(self.tcp, credentials);
        tokio::spawn(listener.accept_all(tcp, sender.clone()));
        if let Some(socket) = self.unix {
            tokio::spawn(Listener::Unix(socket).accept_all(unix, sender));
        }
        ReceiverStream::new(connections)
    }
}

enum Listener {
    Tcp(TcpListener, watch::Receiver<Credentials>),
    Unix(SocketListener),
}

/// Where accepted connections go.
type Sender = mpsc::Sender<std::io::Result<Connection>>;

impl Listener {
    async fn accept_all(self, places: Arc<Semaphore>, sender: Sender) {
        loop {
            let place = tokio::select! {
                () = sender.closed() => break,
                place = Arc::clone(&places).acquire_owned() => place,
            };
            // The semaphore is never closed.
            let Ok(place) = place else { break };
            let accepted = tokio::select! {
                () = sender.closed() => break,
                accepted = self.next(place, &sender) => accepted,
            };
            if let Err(error) = accepted {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(REST).await;
            }
        }
    }

    /// Accepts a connection, and hands it over when it has been greeted.
    async fn next(&self, place: OwnedSemaphorePermit, sender: &Sender) -> std::io::Result<()> {
        match self {
            Self::Tcp(listener, credentials) => {
                let (stream, address) = listener.accept().await?;
                let (sender, credentials) = (sender.clone(), credentials.clone());
                tokio::spawn(async move {
                    let connection = greet(stream, address, place, credentials).await;
                    if let Some(connection) = connection {
                        // Nobody takes connections any more when the daemon ends.
                        drop(sender.send(Ok(connection)).await);
                    }
                });
            }
            #[cfg(unix)]
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                drop(sender.send(Ok(Connection::unix(stream, place))).await);
            }
            #[cfg(not(unix))]
            Self::Unix(listener) => match *listener {},
        }
        Ok(())
    }
}

/// Shakes hands over TLS where it is asked for; nothing where that fails.
async fn greet(
    stream: TcpStream,
    address: SocketAddr,
    place: OwnedSemaphorePermit,
    mut credentials: watch::Receiver<Credentials>,
) -> Option<Connection> {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "answers may wait for fuller packets");
    }
    let tls = credentials.borrow_and_update().tls.clone();
    let Some(tls) = tls else { return Some(Connection::tcp(stream, address, place)) };
    let handshake = TlsAcceptor::from(tls.server).accept(stream);
    match tokio::time::timeout(MAX_HANDSHAKE, handshake).await {
        Ok(Ok(stream)) => {
            let chain = stream.get_ref().1.peer_certificates();
            let chain = chain.map(|chain| chain.iter().cloned().map(CertificateDer::into_owned));
            let over = chain.map(|chain| distrusted(address, chain.collect(), credentials));
            Some(Connection::tls(stream, address, place, over.map(|over| Box::pin(over) as Over)))
        }
        Ok(Err(error)) => {
            tracing::info!(%address, %error, "no TLS was agreed on");
            None
        }
        Err(_) => {
            tracing::info!(%address, "the handshake of TLS took too long");
            None
        }
    }
}

/// Returns when credentials are in force that trust `chain` no more; never where none come.
async fn distrusted(
    address: SocketAddr,
    chain: Vec<CertificateDer<'static>>,
    mut credentials: watch::Receiver<Credentials>,
) {
    while credentials.changed().await.is_ok() {
        let tls = credentials.borrow_and_update().tls.clone();
        if tls.is_some_and(|tls| !tls.trusts(&chain)) {
            tracing::info!(%address, "closed: the certificate of its client is trusted no more");
            return;
        }
    }
    std::future::pending().await
}
