//! The daemon as a library: configuration, services, conversions, status mapping, startup and shutdown.
//!
//! [`Config::load`](config::Config::load) reads the settings, [`Vaults::open`] opens the index and the engine, and [`Services`] implement the gRPC contract over them: in process through [`Services::routes`], or on sockets through [`Daemon`].
//! Both run the same code, so they return the same answers and the same errors.
#![forbid(unsafe_code)]

mod access;
mod admission;
mod cluster_node;
pub mod config;
mod convert;
mod daemon;
mod fair_share;
mod grpc_code;
mod metrics;
mod net;
mod open_error;
mod open_files;
mod paths;
mod peer;
mod request_record;
mod runtime;
mod services;
mod status;
pub mod telemetry;
mod tls;
mod vaults;
mod web;

pub use daemon::{ConfigReload, Control, Daemon, Reloaded, ServeError, check, check_port};
pub use net::nearby;
pub use open_error::OpenVaultsError;
pub use open_files::raise_open_file_limit;
pub use paths::{Environment, Paths};
pub use runtime::runtime;
pub use services::{ServiceLimits, Services};
pub use status::is_full;
pub use vaults::{OpenMode, Vaults};
pub use weft_index::embedder::Role;
pub use weft_index::{
    BackupPart, BackupSummary, BackupWriter, LatestCheckpoint, StoreError, create_private_folder,
    inspect, restore,
};
pub use weft_indexer::embed;
pub use weft_indexer::pdf::{check_extraction, run_as_child};
pub use weft_indexer::scan::{ScanOptions, scan_readable};
pub use weft_indexer::{IndexError, IndexStatus, Phase};
