//! Identity of a client at the transport level.

use std::net::SocketAddr;
use std::sync::Arc;

/// The other end of a connection; every request carries it as an extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A client over TCP.
    Tcp {
        /// Address of the client.
        address: SocketAddr,
        /// SHA-256 fingerprint of the client's certificate, in hexadecimal digits.
        certificate: Option<Arc<str>>,
    },
    /// A client that the file system admitted to the Unix socket.
    Unix,
}

impl Peer {
    /// Returns the name used in logs.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Tcp { address, certificate: _ } => address.to_string(),
            Self::Unix => "unix".to_owned(),
        }
    }
}
