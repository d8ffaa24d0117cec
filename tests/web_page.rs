//! Requests of browsers to the daemon's port.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use weft_tests::{Failure, TestDaemon, example};

/// Sends an HTTP/1.1 request and returns the whole response, lossily decoded as text.
pub(crate) async fn ask(
    daemon: &TestDaemon,
    first: &str,
    headers: &[&str],
    body: &[u8],
) -> Result<String, Failure> {
    let mut stream = TcpStream::connect(daemon.host()).await?;
    let length = format!("content-length: {}", body.len());
    let head = [&[first], headers, &["connection: close", &length, "", ""]].concat().join("\r\n");
    stream.write_all(&[head.as_bytes(), body].concat()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn page_and_its_requests_are_served_but_not_those_of_other_sites() -> Result<(), Failure> {
    let daemon = TestDaemon::start(&example(), &[("embedding.model", "none")]).await?;
    let host = format!("host: {}", daemon.host());
    let own = format!("origin: http://{}", daemon.host());

    let page = ask(&daemon, "GET / HTTP/1.1", &[&host], b"").await?;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<div id=\"page\">"), "{page}");
    assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");
    let rebound = ask(&daemon, "GET / HTTP/1.1", &["host: evil.example:9338"], b"").await?;
    assert!(rebound.starts_with("HTTP/1.1 403"), "{rebound}");

    // `Status` takes an empty message: a frame header of five bytes without content.
    let question = "POST /noteweft.v1.AdminService/Status HTTP/1.1";
    let kind = "content-type: application/grpc-web+proto";
    let status = ask(&daemon, question, &[&host, &own, kind], &[0; 5]).await?;
    assert!(status.starts_with("HTTP/1.1 200") && status.contains("grpc-status:"), "{status}");
    let text = "content-type: application/grpc-web-text+proto";
    // Not base64, part of a frame, no frame, and a frame without a message of the contract.
    for (body, reason) in [
        (&b"!!!!"[..], "not%20valid%20gRPC-web"),
        (b"AAAA", "ends%20within%20a%20message"),
        (b"", "contains%20no%20message"),
        (b"AAAAAAP///8=", "is%20not%20a%20message%20of%20this%20call"),
        (b"AgAAAAA=", "is%20not%20valid%20gRPC"),
    ] {
        let malformed = ask(&daemon, question, &[&host, &own, text], body).await?;
        assert!(malformed.contains("grpc-status: 3"), "INVALID_ARGUMENT: {malformed}");
        assert!(malformed.contains(reason), "{malformed}");
    }
    for (name, headers) in [
        ("another site", [host.as_str(), "origin: https://evil.example", kind]),
        ("another port of this machine", [&host, "origin: http://localhost:1", kind]),
        ("a DNS-rebound host name", ["host: evil.example", "origin: http://evil.example", kind]),
    ] {
        let refused = ask(&daemon, question, &headers, &[0; 5]).await?;
        assert!(
            refused.starts_with("HTTP/1.1 403") && !refused.contains("grpc"),
            "{name}: {refused}"
        );
    }
    daemon.stop().await?;
    Ok(())
}
