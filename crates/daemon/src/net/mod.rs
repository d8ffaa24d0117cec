//! Connections over TCP, TLS and a Unix socket, as one stream.

mod accept;
mod connection;
mod connection_table;
mod socket;
#[cfg(unix)]
mod unix_authority;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub(crate) use accept::{Listeners, listen_tcp};
pub(crate) use connection::ClientConnection;
pub(crate) use connection_table::{
    ActiveRequest, ConnectionLimits, ConnectionTable, SURPLUS_CONNECTIONS, SURPLUS_TIME,
};
pub(crate) use socket::{Socket, SocketListener};

/// Returns the address at which this machine reaches a daemon that listens at `address`, which may be unspecified.
#[must_use]
pub const fn nearby(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    SocketAddr::new(ip, address.port())
}
