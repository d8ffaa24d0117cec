//! Filter of service responses: replaces errors that tonic built, and ends streams whose credential is revoked.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use tonic::body::Body;
use tower::{Layer, Service};

use crate::access::{AccessGrant, AccessRefusal};
use crate::status;

/// Layer that filters the responses of a service.
#[derive(Clone, Copy)]
pub(super) struct ResponseFilterLayer;

impl<S> Layer<S> for ResponseFilterLayer {
    type Service = ResponseFilter<S>;

    fn layer(&self, services: S) -> ResponseFilter<S> {
        ResponseFilter(services)
    }
}

/// Service whose responses are filtered.
#[derive(Clone)]
pub(super) struct ResponseFilter<S>(S);

impl<S> Service<Request<Body>> for ResponseFilter<S>
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
        let pass = request.extensions_mut().remove::<AccessGrant>();
        let call = request.uri().path().to_owned();
        let answer = self.0.call(request);
        Box::pin(async move {
            let mut answer = answer.await?;
            status::replace_library_error(answer.headers_mut(), &call);
            let revoked = async move {
                match pass {
                    Some(pass) => pass.revoked().await,
                    None => std::future::pending().await,
                }
            };
            let revoked = Box::pin(revoked);
            Ok(answer.map(|body| Body::new(FilteredBody { body, call, revoked })))
        })
    }
}

/// A filtered body.
struct FilteredBody {
    body: Body,
    call: String,
    /// Completes when the client's access is revoked.
    revoked: Pin<Box<dyn Future<Output = AccessRefusal> + Send>>,
}

impl http_body::Body for FilteredBody {
    type Data = Bytes;
    type Error = tonic::Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Self { body, call, revoked } = self.get_mut();
        if let Poll::Ready(refusal) = revoked.as_mut().poll(context) {
            // Dropping the body cancels the stream's producer.
            *body = Body::empty();
            *revoked = Box::pin(std::future::pending());
            let trailers = status::of_refusal(&refusal).into_http::<()>().into_parts().0.headers;
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        let mut frame = Pin::new(body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &mut frame
            && let Some(trailers) = frame.trailers_mut()
        {
            status::replace_library_error(trailers, call);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
