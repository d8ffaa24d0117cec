//! The protocol over requests: each is answered by itself, in JSON, and nothing is remembered between two.

use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tonic::body::Body;

use crate::server::Server;

/// The path at which clients expect it.
pub const PATH: &str = "/mcp";

/// Answers requests to [`PATH`].
#[derive(Clone)]
pub struct Http(StreamableHttpService<Server, NeverSessionManager>);

impl Http {
    /// Answers with the tools of `server`; a request of more than `max_request_bytes` is refused.
    ///
    /// Whether the request's host and origin are right is for the caller to see before.
    #[must_use]
    pub fn new(server: Server, max_request_bytes: usize) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(max_request_bytes)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let sessions = Arc::new(NeverSessionManager::default());
        Self(StreamableHttpService::new(move || Ok(server.clone()), sessions, config))
    }

    /// Answers one request.
    pub async fn answer(&self, request: http::Request<Body>) -> http::Response<Body> {
        self.0.handle(request).await.map(Body::new)
    }
}
