//! The sockets that are listened on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::ReceiverStream;

use super::{Connection, SocketListener};

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
    /// Accepts connections, one for each of `places` at the same time, until the stream is dropped; more wait in the system's queue.
    ///
    /// `tls` is asked anew for each connection over TCP, so renewed certificates count from the next one on.
    /// Handshakes run beside each other: one that hangs holds up nobody.
    pub(crate) fn accept(
        self,
        places: Arc<Semaphore>,
        tls: impl Fn() -> Option<Arc<ServerConfig>> + Send + 'static,
    ) -> ReceiverStream<std::io::Result<Connection>> {
        let (sender, connections) = mpsc::channel(1);
        tokio::spawn(async move {
            loop {
                let place = tokio::select! {
                    () = sender.closed() => break,
                    place = Arc::clone(&places).acquire_owned() => place,
                };
                // The semaphore is never closed.
                let Ok(place) = place else { break };
                let accepted = tokio::select! {
                    () = sender.closed() => break,
                    accepted = self.next() => accepted,
                };
                match accepted {
                    Ok(Accepted::Tcp(stream, address)) => {
                        let (sender, tls) = (sender.clone(), tls());
                        tokio::spawn(async move {
                            if let Some(connection) = greet(stream, address, place, tls).await {
                                // Nobody takes connections any more when the daemon ends.
                                drop(sender.send(Ok(connection)).await);
                            }
                        });
                    }
                    #[cfg(unix)]
                    Ok(Accepted::Unix(stream)) => {
                        drop(sender.send(Ok(Connection::unix(stream, place))).await);
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a connection was not accepted");
                        tokio::time::sleep(REST).await;
                    }
                }
            }
        });
        ReceiverStream::new(connections)
    }

    #[cfg(unix)]
    async fn next(&self) -> std::io::Result<Accepted> {
        let unix = async {
            match &self.unix {
                Some(unix) => unix.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            accepted = self.tcp.accept() => accepted.map(|(stream, from)| Accepted::Tcp(stream, from)),
            accepted = unix => accepted.map(|(stream, _)| Accepted::Unix(stream)),
        }
    }

    #[cfg(not(unix))]
    async fn next(&self) -> std::io::Result<Accepted> {
        self.tcp.accept().await.map(|(stream, from)| Accepted::Tcp(stream, from))
    }
}

enum Accepted {
    Tcp(TcpStream, SocketAddr),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

/// Shakes hands over TLS where it is asked for; nothing where that fails.
async fn greet(
    stream: TcpStream,
    address: SocketAddr,
    place: OwnedSemaphorePermit,
    tls: Option<Arc<ServerConfig>>,
) -> Option<Connection> {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "answers may wait for fuller packets");
    }
    let Some(tls) = tls else { return Some(Connection::tcp(stream, address, place)) };
    let handshake = TlsAcceptor::from(tls).accept(stream);
    match tokio::time::timeout(MAX_HANDSHAKE, handshake).await {
        Ok(Ok(stream)) => Some(Connection::tls(stream, address, place)),
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
