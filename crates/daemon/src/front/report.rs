//! What is written down of a request when it is over.

use std::hash::{BuildHasher as _, RandomState};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderValue};
use http_body::{Frame, SizeHint};
use tonic::Code;
use tonic::body::Body;
use tracing::Span;

use super::REQUEST_ID;
use crate::access::{Need, Principal, Refusal};
use crate::metrics::Metrics;
use crate::net::Peer;
use crate::telemetry;

/// The target of the audit's lines: who was turned away, and who changed something or had the daemon do work.
pub(crate) const AUDIT: &str = "weft_audit";

/// Characters of a caller's own request id at most.
const LONGEST_ID: usize = 64;

/// The id that the caller gave, where it can stand in a log, or a new one of 16 hexadecimal digits.
pub(super) fn request_id(given: Option<&HeaderValue>) -> String {
    static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    let given = given
        .and_then(|id| id.to_str().ok())
        .filter(|id| !id.is_empty() && id.len() <= LONGEST_ID && id.chars().all(is_plain));
    given.map_or_else(
        || format!("{:016x}", SEED.hash_one(NEXT.fetch_add(1, Ordering::Relaxed))),
        str::to_owned,
    )
}

/// A request on its way; when this is dropped, it is over and is written down.
pub(super) struct Report {
    id: String,
    call: String,
    need: Need,
    peer: String,
    who: String,
    refused: bool,
    started: Instant,
    code: Option<Code>,
    span: Span,
    metrics: Arc<Metrics>,
}

impl Report {
    pub(super) fn new(
        id: String,
        call: String,
        need: Need,
        peer: &Peer,
        metrics: Arc<Metrics>,
    ) -> Self {
        metrics.begun();
        Self {
            id,
            call,
            need,
            peer: peer.name(),
            who: "nobody".to_owned(),
            refused: false,
            started: Instant::now(),
            code: None,
            span: Span::none(),
            metrics,
        }
    }
}

impl Report {
    /// The request runs in `span`, which its lines name.
    pub(super) fn within(&mut self, span: &Span) {
        self.span = span.clone();
    }

    pub(super) fn admitted(&mut self, principal: &Principal) {
        self.who = principal.name();
    }

    pub(super) fn refused(&mut self, refusal: &Refusal) {
        self.refused = true;
        match refusal {
            Refusal::Nobody => {}
            Refusal::UnknownToken => "unknown token".clone_into(&mut self.who),
            Refusal::NotAllowed(principal) | Refusal::TooOften(principal, _) => {
                self.who = principal.name();
            }
        }
    }

    /// Takes the code from the head of a response, where it stands there.
    pub(super) fn head<B>(&mut self, response: &http::Response<B>) {
        self.code = code_in(response.headers()).or_else(|| of_http(response.status()));
        // Also those that came under another name, or from another page.
        self.refused |= matches!(self.code, Some(Code::PermissionDenied | Code::Unauthenticated));
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        let Self { id, call, need, peer, who, refused, started, code, span, metrics } = self;
        // An answer that was not taken to its end was given up by the caller.
        let code = code.unwrap_or(Code::Cancelled);
        let elapsed = started.elapsed();
        metrics.ended(call, code, elapsed);
        telemetry::end_trace(span, code);
        let ms = (elapsed.as_secs_f64() * 1e6).round() / 1e3;
        let (who, peer, code) = (who.as_str(), peer.as_str(), code_name(code));
        tracing::info!(parent: &*span, who, peer, code, ms, "answered");
        if *refused || *need == Need::Write {
            // Its file is written whether or not the span is logged.
            let (id, call) = (id.as_str(), call.as_str());
            tracing::info!(target: AUDIT, parent: &*span, id, who, peer, call, code, ms, "audit");
        }
    }
}

/// The code of a response that is no gRPC, where the status already tells it; nothing for one that may still fail.
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

/// The code in the trailers that gRPC-web writes into the body, as its last piece: `0x80`, a length, and lines.
fn code_in_web(piece: &Bytes) -> Option<Code> {
    let lines = piece.get(5..).filter(|_| piece.first() == Some(&0x80))?;
    let lines = lines.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| line.strip_prefix(b"grpc-status:"))
        .map(|code| Code::from_bytes(code.trim_ascii()))
        .next()
}

/// A code as the specification of gRPC spells it.
pub(crate) const fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// A body that tells its report how it ended.
pub(super) struct Watched {
    body: Body,
    report: Report,
}

impl Watched {
    pub(super) fn new(body: Body, mut report: Report) -> Self {
        if http_body::Body::is_end_stream(&body) {
            report.code = report.code.or(Some(Code::Ok));
        }
        Self { body, report }
    }
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = tonic::Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Self { body, report } = self.get_mut();
        let mut frame = Pin::new(&mut *body).poll_frame(context);
        match &mut frame {
            Poll::Pending => {}
            Poll::Ready(None) => report.code = report.code.or(Some(Code::Ok)),
            Poll::Ready(Some(Err(status))) => report.code = Some(status.code()),
            Poll::Ready(Some(Ok(frame))) => {
                // A client that gets an error at the end of an answer sees these alone.
                if let (Some(trailers), Ok(id)) =
                    (frame.trailers_mut(), HeaderValue::from_str(&report.id))
                {
                    trailers.insert(REQUEST_ID, id);
                }
                let told = frame.trailers_ref().and_then(code_in);
                report.code =
                    told.or_else(|| frame.data_ref().and_then(code_in_web)).or(report.code);
            }
        }
        // Who knows that nothing follows does not ask for the end.
        if report.code.is_none() && http_body::Body::is_end_stream(body) {
            report.code = Some(Code::Ok);
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
    fn ids_are_taken_over_where_they_can_stand_in_a_log() {
        let id = |text: &'static [u8]| request_id(HeaderValue::from_bytes(text).ok().as_ref());
        assert_eq!(id(b"4bf92f35-77b3.4da6:a3_c"), "4bf92f35-77b3.4da6:a3_c");
        for bad in [&b""[..], b"two words", b"quote\"", b"\xff", &[b'x'; 65]] {
            let made = request_id(HeaderValue::from_bytes(bad).ok().as_ref());
            assert!(made.len() == 16 && made.chars().all(|c| c.is_ascii_hexdigit()), "{made}");
        }
        assert_ne!(request_id(None), request_id(None));
    }

    #[test]
    fn whoever_is_turned_away_is_audited_whatever_the_reason() {
        use http::StatusCode;
        for (status, is_refused) in [
            (StatusCode::OK, false),
            (StatusCode::NOT_FOUND, false),
            (StatusCode::UNAUTHORIZED, true),
            (StatusCode::FORBIDDEN, true),
        ] {
            let metrics = Arc::<Metrics>::default();
            let call = "GET /".to_owned();
            let mut report = Report::new("id".into(), call, Need::Read, &Peer::Unix, metrics);
            report.head(&http::Response::builder().status(status).body(()).unwrap());
            assert_eq!(report.refused, is_refused, "{status}");
        }
    }

    #[test]
    fn codes_are_found_where_each_protocol_writes_them() {
        let piece = |bytes: &'static [u8]| code_in_web(&Bytes::from_static(bytes));
        assert_eq!(piece(b"\x80\0\0\0\x0fgrpc-status:5\r\n"), Some(Code::NotFound));
        assert_eq!(piece(b"\x80\0\0\0\x0fa:b\r\ngrpc-status: 0\r\n"), Some(Code::Ok));
        assert_eq!(piece(b"\0\0\0\0\x0fgrpc-status:5\r\n"), None);
        assert_eq!(piece(b"\x80\0"), None);
        assert_eq!(piece(b""), None);
        assert_eq!(of_http(http::StatusCode::FORBIDDEN), Some(Code::PermissionDenied));
        assert_eq!(of_http(http::StatusCode::OK), None);
    }
}
