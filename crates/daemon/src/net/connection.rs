//! Accepted connections: TCP, TLS or Unix socket.

use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use crate::peer::Peer;
use crate::tls;

/// An accepted connection; holds its permit among the open connections.
pub(crate) struct ServerConnection {
    stream: Stream,
    peer: Peer,
    /// Future that completes when the connection must be closed, if it may have to be.
    close: Option<CloseSignal>,
    /// Bytes still to be received, and the time until which they must arrive, before the connection counts as active.
    silence: Option<(usize, Pin<Box<Sleep>>)>,
    _permit: OwnedSemaphorePermit,
}

/// Time within which a client over TCP must send its first bytes.
const MAX_SILENCE: Duration = Duration::from_secs(30);

/// Number of these bytes: the length of the HTTP/2 preface, which is shorter than any HTTP/1.1 request. Later traffic has limits of its own.
const PREFACE: usize = 24;

/// Future that completes when a connection must be closed.
pub(super) type CloseSignal = Pin<Box<dyn Future<Output = ()> + Send>>;

enum Stream {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

impl ServerConnection {
    pub(super) fn tcp(
        stream: TcpStream,
        address: SocketAddr,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let peer = Peer::Tcp { address, certificate: None };
        Self { stream: Stream::Tcp(stream), peer, close: None, silence: silence(), _permit: permit }
    }

    pub(super) fn tls(
        stream: TlsStream<TcpStream>,
        address: SocketAddr,
        permit: OwnedSemaphorePermit,
        close: Option<CloseSignal>,
    ) -> Self {
        let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let certificate = shown.map(|certificate| tls::fingerprint(certificate).into());
        let peer = Peer::Tcp { address, certificate };
        let stream = Stream::Tls(Box::new(stream));
        Self { stream, peer, close, silence: silence(), _permit: permit }
    }

    #[cfg(unix)]
    pub(super) fn unix(stream: tokio::net::UnixStream, permit: OwnedSemaphorePermit) -> Self {
        let (stream, peer) = (Stream::Unix(stream), Peer::Unix);
        Self { stream, peer, close: None, silence: None, _permit: permit }
    }
}

/// Returns the initial value of [`ServerConnection::silence`].
fn silence() -> Option<(usize, Pin<Box<Sleep>>)> {
    Some((PREFACE, Box::pin(tokio::time::sleep(MAX_SILENCE))))
}

impl Connected for ServerConnection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

/// Applies an expression to the stream of any kind.
macro_rules! with_stream {
    ($connection:expr, $stream:ident => $does:expr) => {
        match &mut $connection.get_mut().stream {
            Stream::Tcp(stream) => {
                let $stream = Pin::new(stream);
                $does
            }
            Stream::Tls(stream) => {
                let $stream = Pin::new(stream.as_mut());
                $does
            }
            #[cfg(unix)]
            Stream::Unix(stream) => {
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
    ) -> Poll<std::io::Result<()>> {
        if let Some(close) = &mut self.close
            && close.as_mut().poll(context).is_ready()
        {
            self.close = Some(Box::pin(std::future::ready(())));
            return Poll::Ready(Err(std::io::ErrorKind::ConnectionAborted.into()));
        }
        let n_before = buffer.filled().len();
        let read = with_stream!(self.as_mut(), stream => stream.poll_read(context, buffer));
        if let Some((n_expected, end)) = &mut self.silence {
            *n_expected = n_expected.saturating_sub(buffer.filled().len() - n_before);
            if *n_expected == 0 {
                self.silence = None;
            } else if end.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(std::io::ErrorKind::TimedOut.into()));
            }
        }
        read
    }
}

impl AsyncWrite for ServerConnection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        with_stream!(self, stream => stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        with_stream!(self, stream => stream.poll_write_vectored(context, bytes))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Tcp(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
            #[cfg(unix)]
            Stream::Unix(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        with_stream!(self, stream => stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        with_stream!(self, stream => stream.poll_shutdown(context))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::sync::Semaphore;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn silent_connection_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        for (said, is_let_go) in
            [("", true), ("PRI * HTTP/2.0", true), ("GET / HTTP/1.1\r\nHost:\r\n\r\n", false)]
        {
            let mut caller = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (stream, address) = listener.accept().await.unwrap();
            let permit = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
            let mut connection = ServerConnection::tcp(stream, address, permit);
            let (n_expected, end) = connection.silence.as_mut().unwrap();
            assert_eq!(*n_expected, PREFACE);
            end.as_mut().reset(Instant::now() + Duration::from_millis(50));
            caller.write_all(said.as_bytes()).await.unwrap();
            let mut heard = vec![0; said.len()];
            connection.read_exact(&mut heard).await.unwrap();
            assert_eq!(heard, said.as_bytes());
            if is_let_go {
                let error = connection.read_u8().await.unwrap_err();
                assert_eq!(error.kind(), std::io::ErrorKind::TimedOut, "{said}");
            } else {
                let more = tokio::time::timeout(Duration::from_millis(100), connection.read_u8());
                more.await.expect_err("an active connection may be silent");
            }
        }
    }
}
