//! Streams end with the credential that opened them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{self, HeaderMap};
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use tokio::sync::watch;
use tonic::body::Body;
use tower::{Layer, Service};

use super::{Credentials, Need, Refusal};
use crate::net::Peer;
use crate::status;

/// What let a request in; it goes with the request.
#[derive(Clone)]
pub(crate) struct Pass {
    peer: Peer,
    /// The `authorization` of the request alone.
    shown: HeaderMap,
    need: Need,
    credentials: watch::Receiver<Credentials>,
}

impl Pass {
    /// The pass of a request with these headers, which the credentials that `credentials` has seen last let in.
    pub(crate) fn new(
        peer: Peer,
        headers: &HeaderMap,
        need: Need,
        credentials: watch::Receiver<Credentials>,
    ) -> Self {
        let values = headers.get_all(header::AUTHORIZATION).iter();
        let shown = values.map(|value| (header::AUTHORIZATION, value.clone())).collect();
        Self { peer, shown, need, credentials }
    }

    /// Returns when others are in force that would turn the request away; never where none come.
    async fn taken_away(mut self) -> Refusal {
        while self.credentials.changed().await.is_ok() {
            let Self { peer, shown, need, credentials } = &mut self;
            let admitted = credentials.borrow_and_update().keyring.admit(peer, shown, *need);
            if let Err(refusal) = admitted {
                return refusal;
            }
        }
        std::future::pending().await
    }
}

/// Puts this watch before services.
#[derive(Clone, Copy)]
pub(crate) struct KeptLayer;

impl<S> Layer<S> for KeptLayer {
    type Service = Kept<S>;

    fn layer(&self, services: S) -> Kept<S> {
        Kept(services)
    }
}

/// Ends each answer whose request has a [`Pass`] with a status when that is taken away.
#[derive(Clone)]
pub(crate) struct Kept<S>(S);

impl<S> Service<Request<Body>> for Kept<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let pass = request.extensions_mut().remove::<Pass>();
        let answer = self.0.call(request);
        Box::pin(async move {
            let answer = answer.await?;
            Ok(match pass {
                None => answer,
                Some(pass) => answer.map(|body| {
                    Body::new(KeptBody { body, taken_away: Box::pin(pass.taken_away()) })
                }),
            })
        })
    }
}

struct KeptBody {
    body: Body,
    taken_away: Pin<Box<dyn Future<Output = Refusal> + Send>>,
}

impl http_body::Body for KeptBody {
    type Data = Bytes;
    type Error = tonic::Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Self { body, taken_away } = self.get_mut();
        if let Poll::Ready(refusal) = taken_away.as_mut().poll(context) {
            // Whoever makes the stream learns by this that nobody reads it.
            *body = Body::empty();
            *taken_away = Box::pin(std::future::pending());
            let trailers = status::of_refusal(&refusal).into_http::<()>().into_parts().0.headers;
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        Pin::new(body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
