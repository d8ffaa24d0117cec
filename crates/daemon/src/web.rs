//! What browsers and agents meet on the daemon's port: the explorer page, the contract as gRPC-web, and the tools over the Model Context Protocol.
//!
//! Whoever reaches the port may read the notes, and a browser reaches it on behalf of any site it shows.
//! So each request is looked at before anything else: it must name this machine as its host, which a name that a foreign site bends to this address does not (DNS rebinding), and where it says from which site it comes, that must be this one.

mod answers;
mod guard;
mod page;

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

use answers::{Answers, AnswersLayer};

/// Where Prometheus reads.
const METRICS: &str = "/metrics";

/// Puts the page and gRPC-web before the services, and refuses what comes from foreign sites.
#[derive(Clone)]
pub(crate) struct WebLayer {
    /// What is written at `/metrics`.
    pub(crate) metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// What agents meet.
    pub(crate) mcp: weft_mcp::Http,
}

impl Layer<Routes> for WebLayer {
    type Service = Web;

    fn layer(&self, routes: Routes) -> Web {
        Web { services: GrpcWebLayer::new().layer(AnswersLayer.layer(routes)), front: self.clone() }
    }
}

/// The page for browsers, gRPC-web for the page, tools for agents, gRPC for all others.
#[derive(Clone)]
pub(crate) struct Web {
    services: GrpcWebService<Answers<Routes>>,
    front: WebLayer,
}

impl Service<Request<Body>> for Web {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request<Body>>::poll_ready(&mut self.services, context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let immediate = if let Err(refusal) = guard::admit(&request) {
            refusal.response()
        } else if request.uri().path() == weft_mcp::PATH {
            let mcp = self.front.mcp.clone();
            return Box::pin(async move { Ok(mcp.answer(request).await) });
        } else if request.method() == Method::GET && request.uri().path() == METRICS {
            return Box::pin(std::future::ready(Ok(metrics(&*self.front.metrics))));
        } else if [Method::GET, Method::HEAD].contains(request.method()) {
            page::answer(request.uri().path(), request.headers())
        } else if !is_call(&request) {
            page::nothing()
        } else {
            return Box::pin(self.services.call(request));
        };
        Box::pin(std::future::ready(Ok(immediate.map(|bytes| Body::new(AxumBody::from(bytes))))))
    }
}

/// Whether a request means a call of a service, by gRPC or gRPC-web, or asks a browser's way whether it may.
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
