//! The explorer page: the built files of `page/`, embedded in the program.

use std::sync::LazyLock;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

/// A file of the page.
struct PageFile {
    path: &'static str,
    kind: HeaderValue,
    bytes: &'static [u8],
}

macro_rules! file {
    ($path:literal, $name:literal, $kind:literal) => {
        PageFile {
            path: $path,
            kind: HeaderValue::from_static($kind),
            bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/page/built/", $name)),
        }
    };
}

/// All files of `page/built`.
static FILES: [PageFile; 5] = [
    file!("/", "index.html", "text/html; charset=utf-8"),
    file!("/page.js", "page.js", "text/javascript; charset=utf-8"),
    file!("/drawing.js", "drawing.js", "text/javascript; charset=utf-8"),
    file!("/page.css", "page.css", "text/css; charset=utf-8"),
    file!("/icon.svg", "icon.svg", "image/svg+xml"),
];

/// ETag of each file.
static ETAGS: LazyLock<Vec<HeaderValue>> = LazyLock::new(|| {
    let etag = |file: &PageFile| {
        let text = format!("\"{}\"", blake3::hash(file.bytes).to_hex());
        HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("\"\""))
    };
    FILES.iter().map(etag).collect()
});

/// Security headers of every response: the browser loads only these files, connects only to this host, and embeds the page nowhere.
///
/// Text of notes reaches the page only through the sanitizer, the one policy that may create markup.
const SECURITY_HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types dompurify",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-cache"),
];

/// Returns the response to a request for no existing file or RPC.
pub(super) fn not_found() -> Response<&'static [u8]> {
    let mut response = with_security_headers(b"not found; the explorer page is at /\n");
    let kind = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn with_security_headers(body: &'static [u8]) -> Response<&'static [u8]> {
    let mut response = Response::new(body);
    for (name, value) in SECURITY_HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns the file at `path`, 304 if the browser's copy is current, or 404.
pub(super) fn answer(path: &str, request_headers: &HeaderMap) -> Response<&'static [u8]> {
    let Some((file, etag)) = FILES.iter().zip(&*ETAGS).find(|(file, _)| file.path == path) else {
        return not_found();
    };
    let mut response = with_security_headers(file.bytes);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, file.kind.clone());
    headers.insert(header::ETAG, etag.clone());
    if request_headers.get(header::IF_NONE_MATCH) == Some(etag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = b"";
    }
    response
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_built_file_is_served_and_refers_to_no_other_host() {
        let built = concat!(env!("CARGO_MANIFEST_DIR"), "/page/built");
        let built: BTreeSet<String> = std::fs::read_dir(built)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let served = FILES.iter().map(|file| file.path[1..].to_owned());
        let served =
            served.map(|name| if name.is_empty() { "index.html".to_owned() } else { name });
        assert_eq!(served.collect::<BTreeSet<_>>(), built);
        let page = std::str::from_utf8(FILES[0].bytes).unwrap();
        assert!(!page.contains("://") && !page.contains("<style") && !page.contains(" on"));
        for script in page.split("<script").skip(1) {
            assert!(script.contains(" src=\"/") && script.contains("></script>"), "{script}");
        }
    }

    #[test]
    fn current_copy_is_not_sent_again() {
        let first = answer("/page.js", &HeaderMap::new());
        assert_eq!((first.status(), first.body().is_empty()), (StatusCode::OK, false));
        assert!(
            first.headers()["content-security-policy"]
                .to_str()
                .unwrap()
                .contains("default-src 'none'")
        );
        let mut request_headers = HeaderMap::new();
        request_headers.insert(header::IF_NONE_MATCH, first.headers()[header::ETAG].clone());
        let second = answer("/page.js", &request_headers);
        assert_eq!((second.status(), second.body().len()), (StatusCode::NOT_MODIFIED, 0));
        assert_eq!(
            answer("/page.css", &request_headers).status(),
            StatusCode::OK,
            "another file's mark"
        );
        assert_eq!(answer("/../Cargo.toml", &request_headers).status(), StatusCode::NOT_FOUND);
    }
}
