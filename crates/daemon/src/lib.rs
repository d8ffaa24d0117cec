//! The daemon as a library: configuration, wiring, services, conversions, status mapping, shutdown.
//!
//! [`Config::load`](config::Config::load) reads the settings, [`Vaults::open`] brings the index and the engine up, and [`Services`] answer the contract over them: in the process through [`Services::routes`], or on sockets through [`Daemon`].
//! Both ways run the same code, so they give the same answers and the same errors.
#![forbid(unsafe_code)]

mod access;
pub mod config;
mod convert;
mod daemon;
mod front;
mod metrics;
mod net;
mod paths;
mod runtime;
mod services;
mod status;
pub mod telemetry;
mod vaults;
mod web;

pub use daemon::{Control, Daemon, Reloaded, ServeError, check};
pub use net::nearby;
pub use paths::{Environment, Paths};
pub use runtime::runtime;
pub use services::{Limits, Services};
pub use status::is_full;
pub use vaults::{OpenError, Stay, Vaults};
pub use weft_index::embedder::Role;
pub use weft_index::{BackupWriter, Copied, Newest, Piece, StoreError, inspect, restore};
pub use weft_indexer::embed;
pub use weft_indexer::{IndexError, IndexStatus, Phase};
