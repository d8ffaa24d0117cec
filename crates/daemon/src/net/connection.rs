//! One connection of whichever kind, and who is at its other end.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
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
    _place: OwnedSemaphorePermit,
}

/// Returns when a connection is over.
pub(super) type Over = Pin<Box<dyn Future<Output = ()> + Send>>;

enum Stream {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

impl Connection {
    pub(super) const fn tcp(
        stream: TcpStream,
        address: SocketAddr,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let peer = Peer::Tcp { address, certificate: None };
        Self { stream: Stream::Tcp(stream), peer, over: None, _place: place }
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
        Self { stream: Stream::Tls(Box::new(stream)), peer, over, _place: place }
    }

    #[cfg(unix)]
    pub(super) const fn unix(stream: tokio::net::UnixStream, place: OwnedSemaphorePermit) -> Self {
        Self { stream: Stream::Unix(stream), peer: Peer::Unix, over: None, _place: place }
    }
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
        each!(self, stream => stream.poll_read(context, buffer))
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
