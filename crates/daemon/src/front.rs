//! What every request over a socket passes first: it gets an id, is let in or turned away, and is written down.
//!
//! A question's text is never written down: a record names the call, who asked, how it ended and how long it took.

mod report;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Response, StatusCode};
use tokio::sync::watch;
use tonic::body::Body;
use tonic::service::AxumBody;
use tower::{Layer, Service};
use tracing::Instrument as _;

use crate::access::{Credentials, Need, Pass, Principal, Rate, Refusal, need};
use crate::metrics::Metrics;
use crate::net::Peer;
use crate::{status, telemetry};
pub(crate) use report::{AUDIT, code_name};
use report::{Report, Watched, request_id};

/// The header that carries a request's id both ways.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The name of the span of a request.
pub(crate) const REQUEST_SPAN: &str = "request";

/// Puts the front before a service.
#[derive(Clone)]
pub(crate) struct FrontLayer {
    /// The credentials in force; others may take their place at any time.
    pub(crate) credentials: watch::Receiver<Credentials>,
    /// Where requests are counted.
    pub(crate) metrics: Arc<Metrics>,
    /// How often one caller may ask.
    pub(crate) rate: Arc<Rate>,
}

impl FrontLayer {
    /// Lets a caller through that does not ask too often; probes are never kept out.
    fn paced(&self, principal: Principal, peer: &Peer, need: Need) -> Result<Principal, Refusal> {
        if need == Need::Health {
            return Ok(principal);
        }
        let caller = match (&principal, peer) {
            (Principal::Loopback, Peer::Tcp { address, .. }) => address.ip().to_string(),
            (_, _) => principal.name(),
        };
        match self.rate.take(&caller, Instant::now()) {
            Ok(()) => Ok(principal),
            Err(wait) => Err(Refusal::TooOften(principal, wait)),
        }
    }
}

impl<S> Layer<S> for FrontLayer {
    type Service = Front<S>;

    fn layer(&self, inner: S) -> Front<S> {
        Front { inner, front: self.clone() }
    }
}

/// Lets requests through to `inner`.
#[derive(Clone)]
pub(crate) struct Front<S> {
    inner: S,
    front: FrontLayer,
}

impl<S> Service<Request<Body>> for Front<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        // Every connection brings its peer; what comes without one is treated as the farthest.
        let unknown = || Peer::Tcp { address: ([0, 0, 0, 0], 0).into(), certificate: None };
        let peer = request.extensions().get::<Peer>().cloned().unwrap_or_else(unknown);
        let id = request_id(request.headers().get(&REQUEST_ID));
        let path = request.uri().path().to_owned();
        let span = tracing::info_span!(REQUEST_SPAN, %id, call = %path);
        telemetry::continue_trace(&span, request.headers());
        let FrontLayer { credentials, metrics, rate: _ } = &self.front;
        let mut credentials = credentials.clone();
        let needed = need(&path);
        let mut report = Report::new(id.clone(), path, needed, &peer, Arc::clone(metrics));
        report.within(&span);
        let admitted =
            credentials.borrow_and_update().keyring.admit(&peer, request.headers(), needed);
        let admitted = admitted.and_then(|principal| self.front.paced(principal, &peer, needed));
        let answer: Self::Future = match admitted {
            Ok(principal) => {
                report.admitted(&principal);
                let pass = Pass::new(peer, request.headers(), needed, credentials);
                request.extensions_mut().insert(pass);
                request.extensions_mut().insert(principal);
                Box::pin(self.inner.call(request))
            }
            Err(refusal) => {
                let response = refuse(&refusal, request.headers());
                report.refused(&refusal);
                Box::pin(std::future::ready(Ok(response)))
            }
        };
        let answering = async move {
            let mut response = answer.await?;
            report.head(&response);
            if let Ok(id) = HeaderValue::from_str(&id) {
                response.headers_mut().insert(REQUEST_ID, id);
            }
            Ok(response.map(|body| Body::new(Watched::new(body, report))))
        };
        Box::pin(answering.instrument(span))
    }
}

/// Says to the caller why it is turned away: a status to those who speak gRPC, a page to a browser, which then asks a person for the token.
fn refuse(refusal: &Refusal, headers: &HeaderMap) -> Response<Body> {
    let status = status::of_refusal(refusal);
    let kind = headers.get(header::CONTENT_TYPE);
    if let Some(kind) = kind.filter(|kind| kind.as_bytes().starts_with(b"application/grpc")) {
        let mut response = status.into_http();
        response.headers_mut().insert(header::CONTENT_TYPE, kind.clone());
        return response;
    }
    let text = format!("{}\n", status.message());
    let mut response = Response::new(Body::new(AxumBody::from(text)));
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    *response.status_mut() = match refusal {
        Refusal::NotAllowed(_) => StatusCode::FORBIDDEN,
        Refusal::TooOften(..) => StatusCode::TOO_MANY_REQUESTS,
        Refusal::Nobody | Refusal::UnknownToken => {
            let ask = HeaderValue::from_static(
                "Basic realm=\"weft: any name, a token as password\", charset=\"UTF-8\"",
            );
            response.headers_mut().insert(header::WWW_AUTHENTICATE, ask);
            StatusCode::UNAUTHORIZED
        }
    };
    response
}

/// Whether whoever sent `request` has proven something, so that a page of a foreign site cannot have sent it unaided.
pub(crate) fn is_proven<B>(request: &Request<B>) -> bool {
    match request.extensions().get::<Principal>() {
        None | Some(Principal::Loopback) => false,
        Some(
            Principal::Socket
            | Principal::Token(..)
            | Principal::Certificate(..)
            | Principal::Probe,
        ) => true,
    }
}
