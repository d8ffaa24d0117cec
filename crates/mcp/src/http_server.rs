//! The MCP endpoints over HTTP: stateless, with one JSON response per request, or a stream of events if progress is reported.

use std::sync::Arc;

use http::StatusCode;
use http::header::{self, HeaderValue};
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tonic::body::Body;

use crate::mcp_server::Server;

/// Path of the endpoint with the tools that read.
pub const PATH: &str = "/mcp";

/// Path of the endpoint that also has the tools that write.
pub const WRITE_PATH: &str = "/mcp/write";

/// Serves requests to one of the two paths.
#[derive(Clone)]
pub struct HttpServer(StreamableHttpService<Server, NeverSessionManager>);

impl HttpServer {
    /// Creates an endpoint with the tools of the servers that `server` creates, one for each request; requests of more than `max_request_bytes` are refused.
    ///
    /// The caller must check the host and origin of requests.
    #[must_use]
    pub fn new(
        server: impl Fn() -> Server + Send + Sync + 'static,
        max_request_bytes: usize,
    ) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(max_request_bytes)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let sessions = Arc::new(NeverSessionManager::default());
        Self(StreamableHttpService::new(move || Ok(server()), sessions, config))
    }

    /// Handles one request.
    pub async fn answer(&self, request: http::Request<Body>) -> http::Response<Body> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let answer = self.0.handle(request).await;
        // rmcp uses this status for a body that is not an MCP message.
        if is_json && answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            return unreadable();
        }
        answer.map(Body::new)
    }
}

/// Builds the response to a body that is not an MCP message.
fn unreadable() -> http::Response<Body> {
    let said = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": {
            "code": ErrorCode::PARSE_ERROR.0,
            "message": "not an MCP message: send one request as one JSON object; batches are not supported",
        },
    });
    let mut answer = http::Response::new(Body::new(said.to_string()));
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    let kind = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}
