//! Connections: TCP, TLS and a Unix socket, as one stream of them.

mod connection;
mod listen;
mod socket;
mod tls;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub(crate) use connection::{Connection, Peer};
pub(crate) use listen::Listeners;
pub(crate) use socket::{Socket, SocketListener};
pub(crate) use tls::Tls;

/// Where this machine reaches a daemon that listens at `address`, which may stand for all of its addresses.
#[must_use]
pub const fn nearby(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    SocketAddr::new(ip, address.port())
}
