//! One connection of whichever kind, and who is at its other end.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

/// Who is at the other end; every request carries it as an extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Somebody over the network, or on this machine.
    Tcp {
        /// Where from.
        address: SocketAddr,
        /// The SHA-256 fingerprint of the certificate it showed, in hexadecimal digits.
        certificate: Option<Arc<str>>,
    },
    /// Somebody whom the file system let at the Unix socket.
    Unix,
}

impl Peer {
    /// How logs name it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Tcp { address, certificate: _ } => address.to_string(),
            Self::Unix => "unix".to_owned(),
        }
    }
}

/// An accepted connection; it holds its place among those that may be open at the same time.
pub(crate) struct Connection {
    stream: Stream,
    peer: Peer,
    /// Where it must not stay open for good: what returns when it is over.
    over: Option<Over>,
    /// How much is still to come, and when at the latest, before it is known to be no idle place.
    silence: Option<(usize, Pin<Box<Sleep>>)>,
    _place: OwnedSemaphorePermit,
}

/// How long a caller over TCP may take to say what it speaks.
const MAX_SILENCE: Duration = Duration::from_secs(30);

/// The bytes by which it says so: the preface of HTTP/2, which is shorter than any request of HTTP/1.1. What comes after has limits of its own.
const PREFACE: usize = 24;

/// Returns when a connection is over.
pub(super) type Over = Pin<Box<dyn Future<Output = ()> + Send>>;

enum Stream {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

impl Connection {
    pub(super) fn tcp(stream: TcpStream, address: SocketAddr, place: OwnedSemaphorePermit) -> Self {
        let peer = Peer::Tcp { address, certificate: None };
        Self { stream: Stream::Tcp(stream), peer, over: None, silence: silence(), _place: place }
    }

    pub(super) fn tls(
        stream: TlsStream<TcpStream>,
        address: SocketAddr,
        place: OwnedSemaphorePermit,
        over: Option<Over>,
    ) -> Self {
        let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let certificate = shown.map(|certificate| super::tls::fingerprint(certificate).into());
        let peer = Peer::Tcp { address, certificate };
        let stream = Stream::Tls(Box::new(stream));
        Self { stream, peer, over, silence: silence(), _place: place }
    }

    #[cfg(unix)]
    pub(super) fn unix(stream: tokio::net::UnixStream, place: OwnedSemaphorePermit) -> Self {
        let (stream, peer) = (Stream::Unix(stream), Peer::Unix);
        Self { stream, peer, over: None, silence: None, _place: place }
    }
}

/// What a connection is given to say what it speaks.
fn silence() -> Option<(usize, Pin<Box<Sleep>>)> {
    Some((PREFACE, Box::pin(tokio::time::sleep(MAX_SILENCE))))
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

/// Does the same with whichever stream it is.
macro_rules! each {
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

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if let Some(over) = &mut self.over
            && over.as_mut().poll(context).is_ready()
        {
            self.over = Some(Box::pin(std::future::ready(())));
            return Poll::Ready(Err(std::io::ErrorKind::ConnectionAborted.into()));
        }
        let n_before = buffer.filled().len();
        let read = each!(self.as_mut(), stream => stream.poll_read(context, buffer));
        if let Some((n_awaited, end)) = &mut self.silence {
            *n_awaited = n_awaited.saturating_sub(buffer.filled().len() - n_before);
            if *n_awaited == 0 {
                self.silence = None;
            } else if end.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(std::io::ErrorKind::TimedOut.into()));
            }
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        each!(self, stream => stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        each!(self, stream => stream.poll_write_vectored(context, bytes))
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
        each!(self, stream => stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        each!(self, stream => stream.poll_shutdown(context))
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
    async fn who_does_not_say_what_he_speaks_is_let_go() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        for (said, is_let_go) in
            [("", true), ("PRI * HTTP/2.0", true), ("GET / HTTP/1.1\r\nHost:\r\n\r\n", false)]
        {
            let mut caller = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (stream, address) = listener.accept().await.unwrap();
            let place = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
            let mut connection = Connection::tcp(stream, address, place);
            let (n_awaited, end) = connection.silence.as_mut().unwrap();
            assert_eq!(*n_awaited, PREFACE);
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
                more.await.expect_err("it may be silent now");
            }
        }
    }
}
