//! First layer of every request over a socket: assigns an id, authenticates and authorizes the client, limits its rate, and records the outcome.
//!
//! The text of a query is never recorded: a record holds the call, the client, the outcome and the duration.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use http::header::{self, HeaderMap, HeaderValue};
use http::{Request, Response, StatusCode};
use tokio::sync::watch;
use tonic::body::Body;
use tonic::service::AxumBody;
use tower::{Layer, Service};
use tracing::Instrument as _;

use crate::access::{
    AccessGrant, AccessRefusal, Credentials, Principal, RateLimiter, RequiredAccess,
    required_access,
};
use crate::fair_share::ClientName;
use crate::metrics::Metrics;
use crate::net::{ClientConnection, SURPLUS_TIME};
use crate::peer::Peer;
use crate::request_record::{REQUEST_ID, RecordedBody, RequestRecord, request_id};
use crate::status;
use crate::telemetry::{self, REQUEST_SPAN};

/// Layer that admits requests to a service.
#[derive(Clone)]
pub(crate) struct AdmissionLayer {
    /// Credentials in force; a reload replaces them.
    pub(crate) credentials: watch::Receiver<Credentials>,
    /// Metrics that count requests.
    pub(crate) metrics: Arc<Metrics>,
    /// Rate limiter of clients.
    pub(crate) rate_limiter: Arc<RateLimiter>,
}

impl AdmissionLayer {
    /// Names the client of a principal and applies its rate limit; health checks are exempt.
    fn limit_rate(
        &self,
        principal: Principal,
        peer: &Peer,
        required_access: RequiredAccess,
    ) -> Result<(Principal, ClientName), AccessRefusal> {
        let client = client_name(&principal, peer);
        if required_access == RequiredAccess::Health {
            return Ok((principal, client));
        }
        match self.rate_limiter.take(client.as_str(), Instant::now()) {
            Ok(()) => Ok((principal, client)),
            Err(wait) => Err(AccessRefusal::RateLimited(principal, wait)),
        }
    }
}

impl<S> Layer<S> for AdmissionLayer {
    type Service = Admission<S>;

    fn layer(&self, inner: S) -> Admission<S> {
        Admission { inner, layer: self.clone() }
    }
}

/// Service that passes admitted requests to `inner`.
#[derive(Clone)]
pub(crate) struct Admission<S> {
    inner: S,
    layer: AdmissionLayer,
}

impl<S> Service<Request<Body>> for Admission<S>
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
        // Every connection sets its peer; a request without one is treated as remote.
        let unknown = || Peer::Tcp { address: ([0, 0, 0, 0], 0).into(), certificate: None };
        let connection = request.extensions().get::<ClientConnection>().cloned();
        let (peer, activity) =
            connection.map_or_else(|| (unknown(), None), |open| (open.peer, Some(open.activity)));
        let id = request_id(request.headers().get(&REQUEST_ID));
        let path = request.uri().path().to_owned();
        let span = tracing::info_span!(REQUEST_SPAN, %id, call = %path);
        telemetry::continue_trace(&span, request.headers());
        let AdmissionLayer { credentials, metrics, rate_limiter: _ } = &self.layer;
        let mut credentials = credentials.clone();
        let required = required_access(&path);
        let mut record = RequestRecord::new(id.clone(), path, required, &peer, Arc::clone(metrics));
        record.set_span(&span);
        let admitted = if activity.as_ref().is_some_and(|activity| activity.is_surplus()) {
            Err(AccessRefusal::NoRoom)
        } else {
            credentials.borrow_and_update().keyring.admit(&peer, request.headers(), required)
        };
        let admitted =
            admitted.and_then(|principal| self.layer.limit_rate(principal, &peer, required));
        let response: Self::Future = match admitted {
            Ok((principal, client)) => {
                let is_authenticated = principal != Principal::Probe;
                let active = activity.map(|activity| activity.start_request(is_authenticated));
                record.admitted(&principal, active);
                let grant = AccessGrant::new(peer, request.headers(), required, credentials);
                request.extensions_mut().insert(grant);
                request.extensions_mut().insert(principal);
                Box::pin(client.scope(self.inner.call(request)))
            }
            Err(refusal) => {
                let response = refuse(&refusal, request.headers());
                record.refused(&refusal);
                Box::pin(std::future::ready(Ok(response)))
            }
        };
        let recorded = async move {
            let mut response = response.await?;
            record.read_head(&response);
            if let Ok(id) = HeaderValue::from_str(&id) {
                response.headers_mut().insert(REQUEST_ID, id);
            }
            Ok(response.map(|body| Body::new(RecordedBody::new(body, record))))
        };
        Box::pin(recorded.instrument(span))
    }
}

/// Returns the name by which limits per client are counted.
fn client_name(principal: &Principal, peer: &Peer) -> ClientName {
    let name = match (principal, peer) {
        (Principal::Loopback, Peer::Tcp { address, .. }) => address.ip().to_string(),
        (_, _) => principal.name(),
    };
    ClientName::new(&name)
}

/// Builds the response to a refused request: a status for gRPC clients, text for browsers, which then ask the user for a token.
fn refuse(refusal: &AccessRefusal, headers: &HeaderMap) -> Response<Body> {
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
        AccessRefusal::Forbidden(_) | AccessRefusal::OtherCollection(_) => StatusCode::FORBIDDEN,
        AccessRefusal::RateLimited(..) => StatusCode::TOO_MANY_REQUESTS,
        AccessRefusal::NoRoom => {
            let wait = HeaderValue::from(SURPLUS_TIME.as_secs());
            response.headers_mut().insert(header::RETRY_AFTER, wait);
            StatusCode::SERVICE_UNAVAILABLE
        }
        AccessRefusal::NoCredential | AccessRefusal::UnknownToken => {
            let challenge = HeaderValue::from_static(
                "Basic realm=\"weft: any name, a token as password\", charset=\"UTF-8\"",
            );
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            StatusCode::UNAUTHORIZED
        }
    };
    response
}
