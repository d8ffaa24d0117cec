//! What the answers of the services pass before anything is made of them: errors of the library get words of ours, and streams end with the credential that opened them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use tonic::body::Body;
use tower::{Layer, Service};

use crate::access::{Pass, Refusal};
use crate::status;

/// Puts this behind services.
#[derive(Clone, Copy)]
pub(super) struct AnswersLayer;

impl<S> Layer<S> for AnswersLayer {
    type Service = Answers<S>;

    fn layer(&self, services: S) -> Answers<S> {
        Answers(services)
    }
}

/// The answers of services.
#[derive(Clone)]
pub(super) struct Answers<S>(S);

impl<S> Service<Request<Body>> for Answers<S>
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
        let call = request.uri().path().to_owned();
        let answer = self.0.call(request);
        Box::pin(async move {
            let mut answer = answer.await?;
            status::reword(answer.headers_mut(), &call);
            let taken_away = async move {
                match pass {
                    Some(pass) => pass.taken_away().await,
                    None => std::future::pending().await,
                }
            };
            let taken_away = Box::pin(taken_away);
            Ok(answer.map(|body| Body::new(Answer { body, call, taken_away })))
        })
    }
}

/// The messages of an answer, and its end.
struct Answer {
    body: Body,
    call: String,
    /// Returns when the caller may read no more of it.
    taken_away: Pin<Box<dyn Future<Output = Refusal> + Send>>,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = tonic::Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Self { body, call, taken_away } = self.get_mut();
        if let Poll::Ready(refusal) = taken_away.as_mut().poll(context) {
            // Whoever makes the stream learns by this that nobody reads it.
            *body = Body::empty();
            *taken_away = Box::pin(std::future::pending());
            let trailers = status::of_refusal(&refusal).into_http::<()>().into_parts().0.headers;
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        let mut frame = Pin::new(body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &mut frame
            && let Some(trailers) = frame.trailers_mut()
        {
            status::reword(trailers, call);
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
