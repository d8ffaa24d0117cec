//! Noteweft's tools for agents, over the Model Context Protocol.
//!
//! A [`Server`] turns calls of tools into questions to the services of the contract and their answers into bounded text, with the same in structured form beside it.
//! It asks over any transport that carries gRPC: a channel to a daemon, or the services of the same process.
//! [`Server::over_stdio`] speaks with the program that started this one, [`Http`] with programs that send requests.
//!
//! ```no_run
//! # async fn example(channel: tonic::transport::Channel) -> Result<(), weft_mcp::Ended> {
//! weft_mcp::Server::new(channel).over_stdio().await
//! # }
//! ```
#![forbid(unsafe_code)]

mod bounds;
mod clients;
mod http_server;
mod problem;
mod server;
mod text;
mod tools;

pub use http_server::{Http, PATH};
pub use server::{Ended, Server};
