//! HTTP endpoints beside gRPC on the daemon's port: the explorer page with images of the vaults, gRPC-web, metrics, and the Model Context Protocol.
//!
//! Any site shown in a browser can send requests to the port through that browser.
//! Each request is therefore checked first: its host must be this machine, which a foreign name that resolves to this address (DNS rebinding) is not, and its origin, if any, must be that host.

mod explorer_page;
mod image_files;
mod origin_check;
mod response_filter;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{self, HeaderValue};
use http::{Method, Request, Response};
use tonic::body::Body;
use tonic::service::{AxumBody, Routes};
use tonic_web::{GrpcWebLayer, GrpcWebService};
use tower::{Layer, Service};

use response_filter::{ResponseFilter, ResponseFilterLayer};

use crate::services::Services;

/// Path of the Prometheus metrics.
const METRICS: &str = "/metrics";

/// Layer that serves the page, gRPC-web and MCP before the services, and refuses requests from foreign sites.
#[derive(Clone)]
pub(crate) struct WebLayer {
    /// Renders the metrics.
    pub(crate) metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// MCP endpoint that reads.
    pub(crate) mcp: weft_mcp::HttpServer,
    /// MCP endpoint that also writes, if the settings allow it.
    pub(crate) mcp_write: Option<weft_mcp::HttpServer>,
    /// Services that read images of the vaults.
    pub(crate) services: Services,
}

impl WebLayer {
    /// Returns the MCP endpoint at a path.
    fn mcp_at(&self, path: &str) -> Option<weft_mcp::HttpServer> {
        match path {
            weft_mcp::PATH => Some(self.mcp.clone()),
            weft_mcp::WRITE_PATH => self.mcp_write.clone(),
            _ => None,
        }
    }
}

impl Layer<Routes> for WebLayer {
    type Service = Web;

    fn layer(&self, routes: Routes) -> Web {
        Web {
            services: GrpcWebLayer::new().layer(ResponseFilterLayer.layer(routes)),
            layer: self.clone(),
        }
    }
}

/// Service that dispatches to the page, gRPC-web, MCP and gRPC.
#[derive(Clone)]
pub(crate) struct Web {
    services: GrpcWebService<ResponseFilter<Routes>>,
    layer: WebLayer,
}

impl Service<Request<Body>> for Web {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request<Body>>::poll_ready(&mut self.services, context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let immediate = if let Err(refusal) = origin_check::admit(&request) {
            refusal.response()
        } else if let Some(mcp) = self.layer.mcp_at(request.uri().path()) {
            return Box::pin(async move { Ok(mcp.answer(request).await) });
        } else if request.method() == Method::GET && request.uri().path() == METRICS {
            return Box::pin(std::future::ready(Ok(metrics(&*self.layer.metrics))));
        } else if request.method() == Method::GET && request.uri().path() == image_files::PATH {
            let services = self.layer.services.clone();
            let (head, _) = request.into_parts();
            return Box::pin(async move {
                Ok(image_files::answer(&services, head.uri.query(), &head.headers).await)
            });
        } else if [Method::GET, Method::HEAD].contains(request.method()) {
            explorer_page::answer(request.uri().path(), request.headers())
        } else if !is_call(&request) {
            explorer_page::not_found()
        } else {
            return Box::pin(self.services.call(request));
        };
        Box::pin(std::future::ready(Ok(immediate.map(|bytes| Body::new(AxumBody::from(bytes))))))
    }
}

/// Returns whether a request is an RPC, by gRPC or gRPC-web, or a CORS preflight.
fn is_call(request: &Request<Body>) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    request.method() == Method::OPTIONS || kind.starts_with(b"application/grpc")
}

fn metrics(text: &(dyn Fn() -> String + Send + Sync)) -> Response<Body> {
    let mut response = Response::new(Body::new(AxumBody::from(text())));
    let kind = HeaderValue::from_static(crate::metrics::MEDIA_TYPE);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
