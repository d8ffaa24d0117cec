//! Check of host and origin: requests must name this machine and come from no other site.

use http::uri::Authority;
use http::{HeaderMap, Request, Response, StatusCode, header};

use crate::access::is_authenticated;

/// Reason why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForeignRequest {
    /// The host is missing, or is not this machine.
    Host,
    /// A page of another site sent the request.
    Origin,
}

impl ForeignRequest {
    /// Builds the response: 403 and one sentence.
    pub(super) fn response(self) -> Response<&'static [u8]> {
        let text = match self {
            Self::Host => {
                "The request's host is not this machine; use localhost, 127.0.0.1 or [::1].\n"
            }
            Self::Origin => "The request comes from a page of another site.\n",
        };
        let mut response = Response::new(text.as_bytes());
        *response.status_mut() = StatusCode::FORBIDDEN;
        let kind = header::HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}

/// Admits requests whose host is a loopback name, or whose client is authenticated, and whose origin, if any, equals the host.
///
/// Browsers send `Origin` with every request that can read a note; other programs send none.
pub(super) fn admit<B>(request: &Request<B>) -> Result<(), ForeignRequest> {
    let headers = request.headers();
    let host = match request.uri().authority() {
        Some(authority) => Some(authority.clone()),
        None => only(headers, &header::HOST).and_then(|host| host.parse().ok()),
    };
    // A foreign site that rebinds its name to this address has no token.
    if !is_authenticated(request) && !host.as_ref().is_some_and(is_loopback) {
        return Err(ForeignRequest::Host);
    }
    if !headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    let origin = only(headers, &header::ORIGIN);
    let origin = origin.and_then(|origin| {
        origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))
    });
    match (origin, host) {
        (Some(origin), Some(host)) if origin.eq_ignore_ascii_case(host.as_str()) => Ok(()),
        (_, _) => Err(ForeignRequest::Origin),
    }
}

/// Returns the value of a header that occurs once and is text.
fn only<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Returns whether an authority without user info names this machine, at any port.
fn is_loopback(authority: &Authority) -> bool {
    if authority.as_str().contains('@') {
        return false;
    }
    let host = authority.host();
    let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || literal.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_hosts_and_origins_are_refused() {
        let host = Some(ForeignRequest::Host);
        let origin = Some(ForeignRequest::Origin);
        for (name, hosts, origins, expected) in [
            ("a program", &["127.0.0.1:9338"][..], &[][..], None),
            ("by name, another port", &["LocalHost:80"], &[], None),
            ("no port", &["localhost"], &[], None),
            ("another loopback address", &["127.8.9.1:1"], &[], None),
            ("IPv6", &["[::1]:9338"], &["http://[::1]:9338"], None),
            ("the page itself", &["localhost:9338"], &["http://localhost:9338"], None),
            ("no host", &[], &[], host),
            ("two hosts", &["localhost:1", "localhost:1"], &[], host),
            ("a rebound name", &["evil.example:9338"], &[], host),
            ("the same, as itself", &["evil.example"], &["http://evil.example"], host),
            ("a name with a loopback prefix", &["localhost.evil.example:9338"], &[], host),
            ("an address with a loopback prefix", &["127.0.0.1.evil.example"], &[], host),
            ("a user", &["localhost@evil.example"], &[], host),
            ("a user before the host", &["evil@localhost"], &[], host),
            ("every address", &["0.0.0.0:9338"], &[], host),
            ("no text", &["not a host"], &[], host),
            ("another site", &["localhost:9338"], &["https://evil.example"], origin),
            ("another port", &["localhost:9338"], &["http://localhost:8000"], origin),
            ("another loopback name", &["localhost:9338"], &["http://127.0.0.1:9338"], origin),
            ("a page without origin", &["localhost:9338"], &["null"], origin),
            ("a file", &["localhost:9338"], &["file://"], origin),
            ("the page over TLS", &["localhost:9338"], &["https://localhost:9338"], None),
            ("two origins", &["localhost:1"], &["http://localhost:1", "http://a"], origin),
        ] {
            let mut request = Request::builder().uri("/");
            for value in hosts {
                request = request.header(header::HOST, *value);
            }
            for value in origins {
                request = request.header(header::ORIGIN, *value);
            }
            assert_eq!(admit(&request.body(()).unwrap()).err(), expected, "{name}");
        }
    }

    #[test]
    fn authenticated_client_may_use_any_host_but_no_foreign_origin() {
        use crate::access::Principal;
        use crate::config::Permission;
        let asked = |principal, origin| {
            let request = Request::builder()
                .header(header::HOST, "notes.example:9338")
                .header(header::ORIGIN, origin);
            let mut request = request.body(()).unwrap();
            request.extensions_mut().insert(principal);
            admit(&request)
        };
        let token = || Principal::Token("x".into(), Permission::Read);
        assert_eq!(asked(token(), "https://notes.example:9338"), Ok(()));
        assert_eq!(asked(token(), "https://evil.example"), Err(ForeignRequest::Origin));
        let open = asked(Principal::Loopback, "https://notes.example:9338");
        assert_eq!(open, Err(ForeignRequest::Host));
    }

    #[test]
    fn http_2_authority_takes_precedence_over_host() {
        let asked = |uri: &str| {
            admit(&Request::builder().uri(uri).header(header::HOST, "localhost").body(()).unwrap())
        };
        assert_eq!(asked("http://127.0.0.1:9338/a.B/C"), Ok(()));
        assert_eq!(asked("http://evil.example/a.B/C"), Err(ForeignRequest::Host));
    }
}
