//! Tools, resources and prompts for agents, over the Model Context Protocol (MCP).
//!
//! A [`Server`] translates tool calls into requests to the gRPC services, and their responses into bounded text and the same content in structured form.
//! It works over any transport that carries gRPC: a channel to a daemon, or in-process services.
//! [`Server::over_stdio`] serves the parent process over standard input and output, [`HttpServer`] serves HTTP clients.
//!
//! ```no_run
//! # async fn example(channel: tonic::transport::Channel) -> Result<(), weft_mcp::StdioError> {
//! weft_mcp::Server::new(channel).over_stdio().await
//! # }
//! ```
#![forbid(unsafe_code)]

mod bounded_arguments;
mod error_text;
mod http_server;
mod mcp_server;
mod note_resources;
mod output_text;
mod service_clients;
mod stdio_transport;
mod task_prompts;
mod tools;

pub use http_server::{HttpServer, PATH, WRITE_PATH};
pub use mcp_server::{Server, StdioError};
