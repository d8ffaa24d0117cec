//! Images of the vaults over HTTP, for the explorer page.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use percent_encoding::percent_decode_str;
use tonic::Code;
use tonic::body::Body;
use tonic::service::AxumBody;
use weft_indexer::VaultImage;

use crate::services::Services;

/// Path of the endpoint.
pub(super) const PATH: &str = "/image";

/// Headers of every response: an image executes nothing, even if a browser opens it as a document, and other sites cannot embed it.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "private, no-cache"),
];

/// Header by which a browser says which site a request comes from.
const FETCH_SITE: &str = "sec-fetch-site";

/// Answers a request for the image that `query` names: `vault`, `note` (its path) and `target` (as written in the note).
pub(super) async fn answer(
    services: &Services,
    query: Option<&str>,
    headers: &HeaderMap,
) -> Response<Body> {
    let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    if site.is_some_and(|site| site != b"same-origin" && site != b"none") {
        let text = "The request comes from a page of another site.\n";
        return response(StatusCode::FORBIDDEN, "text/plain; charset=utf-8", text);
    }
    let value = |name| parameter(query.unwrap_or_default(), name);
    let (Some(vault), Some(note), Some(target)) = (value("vault"), value("note"), value("target"))
    else {
        let text = "The parameters `vault`, `note` and `target` name an image.\n";
        return response(StatusCode::BAD_REQUEST, "text/plain; charset=utf-8", text);
    };
    match services.image(vault, note, target).await {
        Ok(VaultImage { kind, bytes }) => {
            let etag = format!("\"{}\"", blake3::hash(&bytes).to_hex());
            let is_current = headers
                .get(header::IF_NONE_MATCH)
                .is_some_and(|known| known.as_bytes() == etag.as_bytes());
            let mut response = if is_current {
                response(StatusCode::NOT_MODIFIED, kind.media_type(), Vec::new())
            } else {
                response(StatusCode::OK, kind.media_type(), bytes)
            };
            if let Ok(etag) = HeaderValue::from_str(&etag) {
                response.headers_mut().insert(header::ETAG, etag);
            }
            response
        }
        Err(error) => {
            let status = match error.code() {
                Code::InvalidArgument => StatusCode::BAD_REQUEST,
                Code::NotFound => StatusCode::NOT_FOUND,
                Code::ResourceExhausted | Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
                Code::FailedPrecondition => StatusCode::UNPROCESSABLE_ENTITY,
                Code::Ok
                | Code::Cancelled
                | Code::Unknown
                | Code::DeadlineExceeded
                | Code::AlreadyExists
                | Code::PermissionDenied
                | Code::Aborted
                | Code::OutOfRange
                | Code::Unimplemented
                | Code::Internal
                | Code::DataLoss
                | Code::Unauthenticated => StatusCode::INTERNAL_SERVER_ERROR,
            };
            let text = format!("{}\n", error.message());
            response(status, "text/plain; charset=utf-8", text)
        }
    }
}

fn response(status: StatusCode, kind: &'static str, body: impl Into<AxumBody>) -> Response<Body> {
    let mut response = Response::new(Body::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns the value of a parameter of a query, as forms encode it; `None` if it is missing, empty or not UTF-8.
fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    let value = value.replace('+', " ");
    let value = percent_decode_str(&value).decode_utf8().ok()?.into_owned();
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = "vault=my+notes&note=a%2Fb.md&target=%C3%BC%20%2B.png&empty=&bad=%FF";
        for (name, expected) in [
            ("vault", Some("my notes")),
            ("note", Some("a/b.md")),
            ("target", Some("ü +.png")),
            ("empty", None),
            ("bad", None),
            ("none", None),
        ] {
            assert_eq!(parameter(query, name).as_deref(), expected, "{name}");
        }
    }
}
