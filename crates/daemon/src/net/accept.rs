//! Acceptance of connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::ReceiverStream;

use super::connection::{CloseSignal, ServerConnection};
use super::connection_table::{ConnectionPlace, ConnectionTable};
use super::socket::SocketListener;
use crate::access::Credentials;

/// Timeout of a TLS handshake.
const MAX_HANDSHAKE: Duration = Duration::from_secs(10);

/// Pause after the system failed to accept a connection, for example without free file descriptors.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Maximum number of connections that wait to be accepted; the system may allow fewer.
///
/// With a short queue, a burst of connections makes the system drop others, whose clients try again after a second.
const BACKLOG: u32 = 4096;

/// Listens at the first address that is free.
pub(crate) fn listen_tcp(addresses: &[SocketAddr]) -> io::Result<TcpListener> {
    let listen = |address: &SocketAddr| {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // The address of a daemon that has ended is free at once, as with listeners of the standard library.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(*address)?;
        socket.listen(BACKLOG)
    };
    let mut error = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match listen(address) {
            Ok(listener) => return Ok(listener),
            Err(failed) => error = failed,
        }
    }
    Err(error)
}

/// Bound sockets.
pub(crate) struct Listeners {
    pub(crate) tcp: TcpListener,
    pub(crate) unix: Option<SocketListener>,
}

impl Listeners {
    /// Accepts connections until the stream is dropped.
    ///
    /// The first table holds the open connections over TCP, the second those over the Unix socket.
    ///
    /// Each TCP connection uses the credentials in force when it is accepted, so renewed certificates apply to the next connection.
    /// A connection is closed when the credentials in force no longer trust its client's certificate.
    /// Handshakes run concurrently, so one that hangs does not block others.
    pub(crate) fn accept(
        self,
        [tcp, unix]: [Arc<ConnectionTable>; 2],
        credentials: watch::Receiver<Credentials>,
    ) -> ReceiverStream<io::Result<ServerConnection>> {
        let (sender, connections) = mpsc::channel(1);
        let listener = BoundListener::Tcp(self.tcp, credentials);
        tokio::spawn(listener.accept_all(tcp, sender.clone()));
        if let Some(socket) = self.unix {
            tokio::spawn(BoundListener::Unix(socket).accept_all(unix, sender));
        }
        ReceiverStream::new(connections)
    }
}

enum BoundListener {
    Tcp(TcpListener, watch::Receiver<Credentials>),
    Unix(SocketListener),
}

/// Channel of accepted connections.
type Sender = mpsc::Sender<io::Result<ServerConnection>>;

impl BoundListener {
    async fn accept_all(self, table: Arc<ConnectionTable>, sender: Sender) {
        loop {
            let permit = tokio::select! {
                () = sender.closed() => break,
                permit = table.permit() => permit,
            };
            let Some(permit) = permit else { break };
            let accepted = tokio::select! {
                () = sender.closed() => break,
                accepted = self.next(permit, &table, &sender) => accepted,
            };
            if let Err(error) = accepted {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }

    /// Accepts a connection, and sends it on after its handshake.
    async fn next(
        &self,
        permit: OwnedSemaphorePermit,
        table: &Arc<ConnectionTable>,
        sender: &Sender,
    ) -> io::Result<()> {
        match self {
            Self::Tcp(listener, credentials) => {
                let (stream, address) = listener.accept().await?;
                let Some(place) = table.enter(permit, Some(address.ip())) else { return Ok(()) };
                let (sender, credentials) = (sender.clone(), credentials.clone());
                tokio::spawn(async move {
                    let connection =
                        handshake_connection(stream, address, place, credentials).await;
                    if let Some(connection) = connection {
                        // The receiver is gone when the daemon stops.
                        drop(sender.send(Ok(connection)).await);
                    }
                });
            }
            #[cfg(unix)]
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let Some(place) = table.enter(permit, None) else { return Ok(()) };
                drop(sender.send(Ok(ServerConnection::unix(stream, place))).await);
            }
            #[cfg(not(unix))]
            Self::Unix(listener) => match *listener {},
        }
        Ok(())
    }
}

/// Performs the TLS handshake if TLS is configured; returns `None` if it fails.
async fn handshake_connection(
    stream: TcpStream,
    address: SocketAddr,
    mut place: ConnectionPlace,
    mut credentials: watch::Receiver<Credentials>,
) -> Option<ServerConnection> {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot disable Nagle's algorithm; responses may be delayed");
    }
    let tls = credentials.borrow_and_update().tls.clone();
    let Some(tls) = tls else { return Some(ServerConnection::tcp(stream, address, place)) };
    let handshake = TlsAcceptor::from(Arc::clone(&tls.server)).accept(stream);
    let latest = Instant::now() + MAX_HANDSHAKE;
    let end = place.deadline().map_or(latest, |deadline| deadline.min(latest));
    let evicted = std::future::poll_fn(|context| place.poll_evicted(context));
    let handshake = tokio::select! {
        () = evicted => return None,
        handshake = tokio::time::timeout_at(end.into(), handshake) => handshake,
    };
    match handshake {
        Ok(Ok(stream)) => {
            let chain = stream.get_ref().1.peer_certificates();
            let chain: Option<Vec<_>> =
                chain.map(|chain| chain.iter().cloned().map(CertificateDer::into_owned).collect());
            // The authorities may have been replaced while the daemon's own certificate could not be.
            if chain.as_ref().is_some_and(|chain| !tls.trusts(chain)) {
                tracing::info!(%address, "TLS handshake failed: the client's certificate is not trusted");
                return None;
            }
            let close = chain.map(|chain| distrusted(address, chain, credentials));
            Some(ServerConnection::tls(
                stream,
                address,
                place,
                close.map(|close| Box::pin(close) as CloseSignal),
            ))
        }
        Ok(Err(error)) => {
            tracing::info!(%address, %error, "TLS handshake failed");
            None
        }
        Err(_) => {
            tracing::info!(%address, "TLS handshake timed out");
            None
        }
    }
}

/// Completes when the credentials in force no longer trust `chain`; never if they are not replaced.
async fn distrusted(
    address: SocketAddr,
    chain: Vec<CertificateDer<'static>>,
    mut credentials: watch::Receiver<Credentials>,
) {
    while credentials.changed().await.is_ok() {
        let tls = credentials.borrow_and_update().tls.clone();
        if tls.is_some_and(|tls| !tls.trusts(&chain)) {
            tracing::info!(%address, "closing connection: the client's certificate is no longer trusted");
            return;
        }
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn burst_of_connections_waits_to_be_accepted() {
        let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        let n_waiting: usize = most.trim().parse().unwrap();
        let taken = listen_tcp(&["127.0.0.1:0".parse().unwrap()]).unwrap();
        let address = taken.local_addr().unwrap();
        assert_eq!(listen_tcp(&[address]).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let listener = listen_tcp(&[address, "127.0.0.1:0".parse().unwrap()]).unwrap();
        let address = listener.local_addr().unwrap();
        let connect = |_| {
            let connected =
                std::net::TcpStream::connect_timeout(&address, Duration::from_millis(900));
            connected.expect("it waits in the queue of the system")
        };
        let waiting: Vec<std::net::TcpStream> = (0..n_waiting.min(400)).map(connect).collect();
        for _ in &waiting {
            listener.accept().await.unwrap();
        }
    }
}
