//! Connections: TCP, TLS and a Unix socket, as one stream of them.

mod connection;
mod listen;
mod socket;
mod tls;

pub(crate) use connection::{Connection, Peer};
pub(crate) use listen::Listeners;
pub(crate) use socket::{Socket, SocketListener};
pub(crate) use tls::Tls;
