//! The record of a request, written to the log, the metrics and the audit when it ends.

use std::hash::{BuildHasher as _, RandomState};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http_body::{Frame, SizeHint};
use tonic::Code;
use tonic::body::Body;
use tracing::Span;

use crate::access::{AccessRefusal, Principal, RequiredAccess};
use crate::grpc_code::code_name;
use crate::metrics::Metrics;
use crate::net::ActiveRequest;
use crate::peer::Peer;
use crate::telemetry::{self, AUDIT};

/// Header that carries the id of a request, in both directions.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Maximum length of a request id given by a client, in characters.
const MAX_ID_CHARS: usize = 64;

/// Returns the id given by the client if it is safe to log, otherwise a new one of 16 hexadecimal digits.
pub(crate) fn request_id(given: Option<&HeaderValue>) -> String {
    static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    let given = given
        .and_then(|id| id.to_str().ok())
        .filter(|id| !id.is_empty() && id.len() <= MAX_ID_CHARS && id.chars().all(is_plain));
    given.map_or_else(
        || format!("{:016x}", SEED.hash_one(NEXT.fetch_add(1, Ordering::Relaxed))),
        str::to_owned,
    )
}

/// A request in flight. Dropping it ends the request and writes its record.
pub(crate) struct RequestRecord {
    id: String,
    call: String,
    required_access: RequiredAccess,
    peer: String,
    who: String,
    refused: bool,
    started: Instant,
    code: Option<Code>,
    span: Span,
    metrics: Arc<Metrics>,
    /// Mark of the connection that a request is running, if the request was admitted.
    active: Option<ActiveRequest>,
}

impl RequestRecord {
    pub(crate) fn new(
        id: String,
        call: String,
        required_access: RequiredAccess,
        peer: &Peer,
        metrics: Arc<Metrics>,
    ) -> Self {
        metrics.request_started();
        Self {
            id,
            call,
            required_access,
            peer: peer.name(),
            who: "nobody".to_owned(),
            refused: false,
            started: Instant::now(),
            code: None,
            span: Span::none(),
            metrics,
            active: None,
        }
    }
}

impl RequestRecord {
    /// Sets the span of the request, which its log lines name.
    pub(crate) fn set_span(&mut self, span: &Span) {
        self.span = span.clone();
    }

    pub(crate) fn admitted(&mut self, principal: &Principal, active: Option<ActiveRequest>) {
        self.who = principal.name();
        self.active = active;
    }

    pub(crate) fn refused(&mut self, refusal: &AccessRefusal) {
        self.refused = true;
        match refusal {
            AccessRefusal::NoCredential | AccessRefusal::NoRoom => {}
            AccessRefusal::UnknownToken => "unknown token".clone_into(&mut self.who),
            AccessRefusal::Forbidden(principal)
            | AccessRefusal::OtherCollection(principal)
            | AccessRefusal::RateLimited(principal, _) => {
                self.who = principal.name();
            }
        }
    }

    /// Reads the status code from the head of a response, if it is set there.
    pub(crate) fn read_head<B>(&mut self, response: &http::Response<B>) {
        self.code = code_in(response.headers()).or_else(|| of_http(response.status()));
        // This includes requests with a foreign host name, or from a page of another site.
        self.refused |= matches!(self.code, Some(Code::PermissionDenied | Code::Unauthenticated));
    }
}

impl Drop for RequestRecord {
    fn drop(&mut self) {
        let Self {
            id,
            call,
            required_access,
            peer,
            who,
            refused,
            started,
            code,
            span,
            metrics,
            active: _,
        } = self;
        // A response that was not read to its end was cancelled by the client.
        let code = code.unwrap_or(Code::Cancelled);
        let elapsed = started.elapsed();
        metrics.request_ended(call, code, elapsed);
        telemetry::end_trace(span, code);
        let ms = (elapsed.as_secs_f64() * 1e6).round() / 1e3;
        let (who, peer, code) = (who.as_str(), peer.as_str(), code_name(code));
        tracing::info!(parent: &*span, who, peer, code, ms, "answered");
        if *refused || *required_access == RequiredAccess::Write {
            // The audit file is written whether or not the span is logged.
            let (id, call) = (id.as_str(), call.as_str());
            tracing::info!(target: AUDIT, parent: &*span, id, who, peer, call, code, ms, "audit");
        }
    }
}

/// Returns the code of a response that is not gRPC, if its HTTP status determines it; `None` if the response may still fail.
fn of_http(status: http::StatusCode) -> Option<Code> {
    match status.as_u16() {
        401 => Some(Code::Unauthenticated),
        403 => Some(Code::PermissionDenied),
        404 => Some(Code::NotFound),
        429 => Some(Code::ResourceExhausted),
        400..=499 => Some(Code::InvalidArgument),
        500.. => Some(Code::Internal),
        _ => None,
    }
}

fn code_in(headers: &HeaderMap) -> Option<Code> {
    headers.get("grpc-status").map(|code| Code::from_bytes(code.as_bytes()))
}

/// Returns the code in the trailers that gRPC-web appends to the body as its last frame: `0x80`, a length, and lines.
fn code_in_web(frame: &Bytes) -> Option<Code> {
    let lines = frame.get(5..).filter(|_| frame.first() == Some(&0x80))?;
    let lines = lines.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| line.strip_prefix(b"grpc-status:"))
        .map(|code| Code::from_bytes(code.trim_ascii()))
        .next()
}

/// A body that reports its outcome to a record.
pub(crate) struct RecordedBody {
    body: Body,
    record: RequestRecord,
}

impl RecordedBody {
    pub(crate) fn new(body: Body, mut record: RequestRecord) -> Self {
        if http_body::Body::is_end_stream(&body) {
            record.code = record.code.or(Some(Code::Ok));
        }
        Self { body, record }
    }
}

impl http_body::Body for RecordedBody {
    type Data = Bytes;
    type Error = tonic::Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Self { body, record } = self.get_mut();
        let mut frame = Pin::new(&mut *body).poll_frame(context);
        match &mut frame {
            Poll::Pending => {}
            Poll::Ready(None) => record.code = record.code.or(Some(Code::Ok)),
            Poll::Ready(Some(Err(status))) => record.code = Some(status.code()),
            Poll::Ready(Some(Ok(frame))) => {
                // A client that receives an error at the end of a response sees only these trailers.
                if let (Some(trailers), Ok(id)) =
                    (frame.trailers_mut(), HeaderValue::from_str(&record.id))
                {
                    trailers.insert(REQUEST_ID, id);
                }
                let trailer_code = frame.trailers_ref().and_then(code_in);
                record.code =
                    trailer_code.or_else(|| frame.data_ref().and_then(code_in_web)).or(record.code);
            }
        }
        // A reader that knows the end of the body does not poll again.
        if record.code.is_none() && http_body::Body::is_end_stream(body) {
            record.code = Some(Code::Ok);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_ids_are_kept_if_safe_to_log() {
        let id = |text: &'static [u8]| request_id(HeaderValue::from_bytes(text).ok().as_ref());
        assert_eq!(id(b"4bf92f35-77b3.4da6:a3_c"), "4bf92f35-77b3.4da6:a3_c");
        for bad in [&b""[..], b"two words", b"quote\"", b"\xff", &[b'x'; 65]] {
            let made = request_id(HeaderValue::from_bytes(bad).ok().as_ref());
            assert!(made.len() == 16 && made.chars().all(|c| c.is_ascii_hexdigit()), "{made}");
        }
        assert_ne!(request_id(None), request_id(None));
    }

    #[test]
    fn refused_requests_are_audited_for_every_reason() {
        use http::StatusCode;
        for (status, is_refused) in [
            (StatusCode::OK, false),
            (StatusCode::NOT_FOUND, false),
            (StatusCode::UNAUTHORIZED, true),
            (StatusCode::FORBIDDEN, true),
        ] {
            let metrics = Arc::<Metrics>::default();
            let call = "GET /".to_owned();
            let mut record =
                RequestRecord::new("id".into(), call, RequiredAccess::Read, &Peer::Unix, metrics);
            record.read_head(&http::Response::builder().status(status).body(()).unwrap());
            assert_eq!(record.refused, is_refused, "{status}");
        }
    }

    #[test]
    fn status_codes_are_read_from_every_protocol() {
        let frame = |bytes: &'static [u8]| code_in_web(&Bytes::from_static(bytes));
        assert_eq!(frame(b"\x80\0\0\0\x0fgrpc-status:5\r\n"), Some(Code::NotFound));
        assert_eq!(frame(b"\x80\0\0\0\x0fa:b\r\ngrpc-status: 0\r\n"), Some(Code::Ok));
        assert_eq!(frame(b"\0\0\0\0\x0fgrpc-status:5\r\n"), None);
        assert_eq!(frame(b"\x80\0"), None);
        assert_eq!(frame(b""), None);
        assert_eq!(of_http(http::StatusCode::FORBIDDEN), Some(Code::PermissionDenied));
        assert_eq!(of_http(http::StatusCode::OK), None);
    }
}
