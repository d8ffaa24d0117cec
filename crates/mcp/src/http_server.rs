//! The protocol over requests: each is answered by itself, in JSON, and nothing is remembered between two.

use std::sync::Arc;

use http::StatusCode;
use http::header::{self, HeaderValue};
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
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
        let kind = request.headers().get(header::CONTENT_TYPE);
        let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let answer = self.0.handle(request).await;
        // So the library says that a body is none of its messages.
        if is_json && answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            return unreadable();
        }
        answer.map(Body::new)
    }
}

/// The answer to what is no message of the protocol.
fn unreadable() -> http::Response<Body> {
    let said = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": {
            "code": ErrorCode::PARSE_ERROR.0,
            "message": "this is no message of the protocol: send one request as one JSON object; batches are not taken",
        },
    });
    let mut answer = http::Response::new(Body::new(said.to_string()));
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    let kind = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}
