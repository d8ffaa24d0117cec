//! Accepted connections: TCP, TLS or Unix socket.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use super::connection_table::{ConnectionActivity, ConnectionPlace};
#[cfg(unix)]
use super::unix_authority::AuthorityRepair;
use crate::peer::Peer;
use crate::tls;

/// An accepted connection; holds its place among the open connections.
pub(crate) struct ServerConnection {
    stream: Stream,
    peer: Peer,
    /// Future that completes when the connection must be closed, if it may have to be.
    close: Option<CloseSignal>,
    /// Timer of the deadline, if the connection has one.
    timer: Option<Pin<Box<Sleep>>>,
    place: ConnectionPlace,
}

/// The connection of a request; every request over a socket carries it as an extension.
#[derive(Clone)]
pub(crate) struct ClientConnection {
    /// Identity of the client.
    pub(crate) peer: Peer,
    /// Activity of the connection.
    pub(crate) activity: Arc<ConnectionActivity>,
}

/// Future that completes when a connection must be closed.
pub(super) type CloseSignal = Pin<Box<dyn Future<Output = ()> + Send>>;

enum Stream {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream, AuthorityRepair),
}

impl ServerConnection {
    pub(super) fn tcp(stream: TcpStream, address: SocketAddr, place: ConnectionPlace) -> Self {
        let peer = Peer::Tcp { address, certificate: None };
        Self::new(Stream::Tcp(stream), peer, None, place)
    }

    pub(super) fn tls(
        stream: TlsStream<TcpStream>,
        address: SocketAddr,
        place: ConnectionPlace,
        close: Option<CloseSignal>,
    ) -> Self {
        let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let certificate = shown.map(|certificate| tls::fingerprint(certificate).into());
        let peer = Peer::Tcp { address, certificate };
        Self::new(Stream::Tls(Box::new(stream)), peer, close, place)
    }

    #[cfg(unix)]
    pub(super) fn unix(stream: tokio::net::UnixStream, place: ConnectionPlace) -> Self {
        Self::new(Stream::Unix(stream, AuthorityRepair::default()), Peer::Unix, None, place)
    }

    fn new(stream: Stream, peer: Peer, close: Option<CloseSignal>, place: ConnectionPlace) -> Self {
        let timer = place.deadline().map(|end| Box::pin(tokio::time::sleep_until(end.into())));
        Self { stream, peer, close, timer, place }
    }

    /// Fails as soon as the connection must be closed: its client is no longer trusted, another connection needs the place, or its deadline has passed.
    fn check_open(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if let Some(close) = &mut self.close
            && close.as_mut().poll(context).is_ready()
        {
            self.close = Some(Box::pin(std::future::ready(())));
            return Err(ErrorKind::ConnectionAborted.into());
        }
        if self.place.poll_evicted(context).is_ready() {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        while let Some(timer) = &mut self.timer
            && timer.as_mut().poll(context).is_ready()
        {
            match self.place.deadline() {
                None => self.timer = None,
                Some(deadline) if deadline <= Instant::now() => {
                    return Err(ErrorKind::TimedOut.into());
                }
                Some(deadline) => timer.as_mut().reset(deadline.into()),
            }
        }
        Ok(())
    }
}

impl Connected for ServerConnection {
    type ConnectInfo = ClientConnection;

    fn connect_info(&self) -> ClientConnection {
        let activity = Arc::clone(self.place.activity());
        ClientConnection { peer: self.peer.clone(), activity }
    }
}

/// Polls the stream of any kind, or fails if the connection must be closed.
///
/// A client that does not read its responses is not read from, either, and TLS may wait for it in every operation.
macro_rules! poll_stream {
    ($connection:expr, $context:expr, $stream:ident => $does:expr) => {
        match ($connection.check_open($context), &mut $connection.stream) {
            (Err(error), _) => Poll::Ready(Err(error)),
            (Ok(()), Stream::Tcp(stream)) => {
                let $stream = Pin::new(stream);
                $does
            }
            (Ok(()), Stream::Tls(stream)) => {
                let $stream = Pin::new(stream.as_mut());
                $does
            }
            #[cfg(unix)]
            (Ok(()), Stream::Unix(stream, _)) => {
                let $stream = Pin::new(stream);
                $does
            }
        }
    };
}

impl AsyncRead for ServerConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        #[cfg(unix)]
        let n_before = buffer.filled().len();
        let read = poll_stream!(self, context, stream => stream.poll_read(context, buffer));
        #[cfg(unix)]
        if let Stream::Unix(_, authority) = &mut self.stream {
            authority.repair(&mut buffer.filled_mut()[n_before..]);
        }
        read
    }
}

impl AsyncWrite for ServerConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        poll_stream!(self, context, stream => stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        poll_stream!(self, context, stream => stream.poll_write_vectored(context, bytes))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Tcp(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
            #[cfg(unix)]
            Stream::Unix(stream, _) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        poll_stream!(self, context, stream => stream.poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        poll_stream!(self, context, stream => stream.poll_shutdown(context))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::super::connection_table::{ConnectionLimits, ConnectionTable};
    use super::*;

    /// Opens a connection with one place and these times.
    async fn connected(
        first_request: Duration,
        idle: Duration,
    ) -> (TcpStream, ServerConnection, Arc<ConnectionTable>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let caller = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, address) = listener.accept().await.unwrap();
        let limits = ConnectionLimits { total: 1, per_network: 1, first_request, idle: Some(idle) };
        let table = ConnectionTable::new(limits);
        let permit = table.permit().await.unwrap();
        let place = table.enter(permit, Some(address.ip())).unwrap();
        (caller, ServerConnection::tcp(stream, address, place), table)
    }

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn connection_without_a_request_is_closed() {
        for sent in ["", "PRI * HTTP/2.0", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n and settings"] {
            let (mut caller, mut connection, _table) = connected(SHORT, LONG).await;
            caller.write_all(sent.as_bytes()).await.unwrap();
            let mut received = vec![0; sent.len()];
            connection.read_exact(&mut received).await.unwrap();
            let error = connection.read_u8().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{sent}");
            // Neither waits for a client that does not read.
            let flushed = connection.flush().await.unwrap_err();
            let ended = connection.shutdown().await.unwrap_err();
            assert_eq!([flushed.kind(), ended.kind()], [ErrorKind::TimedOut; 2], "{sent}");
        }
    }

    #[tokio::test]
    async fn connection_is_closed_when_idle_and_not_during_a_request() {
        let (_caller, mut connection, _table) = connected(SHORT, SHORT).await;
        let request = connection.connect_info().activity.start_request(true);
        let busy = tokio::time::timeout(SHORT * 4, connection.read_u8());
        busy.await.expect_err("a request is running");
        drop(request);
        let error = connection.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn evicted_connection_is_closed() {
        let (_caller, mut connection, table) = connected(LONG, LONG).await;
        let permit = table.permit().await.unwrap();
        let _other = table.enter(permit, Some([192, 0, 2, 1].into())).unwrap();
        let error = connection.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionAborted);
        assert!(connection.write_u8(0).await.is_err());
        assert!(connection.flush().await.is_err() && connection.shutdown().await.is_err());
    }
}
