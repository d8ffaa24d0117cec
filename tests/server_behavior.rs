//! Server behavior: deadlines, compression, limits, and shutdown.

use std::time::{Duration, Instant};

use tonic::codec::CompressionEncoding;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Request, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_prost::ProstCodec;
use tonic_types::StatusExt as _;
use weft_daemon::config::Settings;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{ListNotesRequest, PutNoteRequest, SearchRequest, SearchResponse};
use weft_tests::{Failure, TestDaemon, example, is_skipped_over, served};

const NO_MODEL: (&str, &str) = ("embedding.model", "none");

fn search() -> SearchRequest {
    SearchRequest { query: "leap second".to_owned(), ..SearchRequest::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_compressed_both_ways() -> Result<(), Failure> {
    let daemon = TestDaemon::start(&example(), &[NO_MODEL]).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    let plain = SearchServiceClient::new(channel.clone()).search(search()).await?.into_inner();
    let mut client = SearchServiceClient::new(channel.clone())
        .send_compressed(CompressionEncoding::Gzip)
        .accept_compressed(CompressionEncoding::Gzip);
    let answer = client.search(search()).await?;
    let used = answer.metadata().get("grpc-encoding").and_then(|name| name.to_str().ok());
    assert_eq!(used, Some("gzip"));
    assert_eq!(answer.into_inner(), plain);
    // A message that is small on the wire and large when decompressed is too large.
    let mut client = NoteServiceClient::new(channel).send_compressed(CompressionEncoding::Gzip);
    let text = Some("a".repeat(8 << 20));
    let bomb = PutNoteRequest { path: "big.md".into(), text, ..PutNoteRequest::default() };
    let refused = client.put_note(bomb).await.unwrap_err();
    assert_eq!(
        code_and_reason(&refused),
        (Code::ResourceExhausted, "REQUEST_TOO_LARGE".to_owned())
    );
    assert!(refused.message().contains("server.max_request_bytes"), "{refused}");
    daemon.stop().await?;
    Ok(())
}

/// Returns the code of an error, and the reason in its details.
fn code_and_reason(status: &Status) -> (Code, String) {
    let reason = status.get_details_error_info().map_or_else(String::new, |info| info.reason);
    (status.code(), reason)
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_of_the_transport_have_a_reason() -> Result<(), Failure> {
    let settings = [NO_MODEL, ("server.max_response_bytes", "1024")];
    let daemon = TestDaemon::start(&example(), &settings).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    let all = ListNotesRequest { page_size: Some(1000), ..ListNotesRequest::default() };
    let refused = NoteServiceClient::new(channel.clone()).list_notes(all).await.unwrap_err();
    assert_eq!(code_and_reason(&refused), (Code::ResourceExhausted, "ANSWER_TOO_LARGE".to_owned()));
    assert!(refused.message().contains("server.max_response_bytes"), "{refused}");
    assert!(refused.metadata().contains_key("x-request-id"), "{refused:?}");

    let mut unknown = tonic::client::Grpc::new(channel);
    unknown.ready().await?;
    let path = PathAndQuery::from_static("/noteweft.v1.SearchService/Nothing");
    let codec = ProstCodec::<SearchRequest, SearchResponse>::default();
    let refused = unknown.unary(Request::new(search()), path, codec).await.unwrap_err();
    assert_eq!(code_and_reason(&refused), (Code::Unimplemented, "UNKNOWN_CALL".to_owned()));
    assert!(refused.message().contains("SearchService/Nothing"), "{refused}");
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_meet_their_deadline_or_fail() -> Result<(), Failure> {
    let daemon = TestDaemon::start(&example(), &[NO_MODEL]).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    // The header alone: a client with a local timeout would give up by itself.
    let search_with_timeout = |timeout: &'static str| {
        let mut request = Request::new(search());
        request.metadata_mut().insert("grpc-timeout", timeout.parse().expect("a header"));
        request
    };
    let mut client = SearchServiceClient::new(channel);
    let late = client.search(search_with_timeout("1n")).await.unwrap_err();
    // The transport may give up first, with its own message.
    assert!(matches!(late.code(), Code::DeadlineExceeded | Code::Cancelled), "{late}");
    assert!(!client.search(search_with_timeout("20S")).await?.into_inner().hits.is_empty());
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rate_limit_returns_retry_info() -> Result<(), Failure> {
    if is_skipped_over(1, "each node counts the requests that it gets") {
        return Ok(());
    }
    let settings = [NO_MODEL, ("access.requests_per_second", "3")];
    let daemon = TestDaemon::start(&example(), &settings).await?;
    let channel = daemon.channel().await?;
    // Health probes do not count.
    served(&channel).await?;
    let mut notes = NoteServiceClient::new(channel.clone());
    let mut refused = None;
    for _ in 0..50 {
        if let Err(status) = notes.list_notes(ListNotesRequest::default()).await {
            refused = Some(status);
            break;
        }
    }
    let refused = refused.ok_or("no request was refused")?;
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let wait = refused.get_details_retry_info().and_then(|info| info.retry_delay);
    tokio::time::sleep(wait.ok_or("the response has no retry delay")?).await;
    notes.list_notes(ListNotesRequest::default()).await?;
    served(&channel).await?;
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn connection_limit_of_the_port_does_not_affect_the_socket() -> Result<(), Failure> {
    let daemon =
        TestDaemon::start(&example(), &[NO_MODEL, ("server.max_connections", "1")]).await?;
    let held = daemon.channel().await?;
    served(&held).await?;
    served(&daemon.socket_channel().await?).await?;
    drop(held);
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn reload_compares_with_the_active_settings() -> Result<(), Failure> {
    let daemon = TestDaemon::start(&example(), &[NO_MODEL]).await?;
    served(&daemon.channel().await?).await?;
    let other = |settings: &mut Settings| {
        settings.server.shutdown_ms = 7;
        settings.access.unauthenticated_health = true;
    };
    let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    for taken in [&["access.unauthenticated_health"][..], &[]] {
        let reloaded = daemon.reload_changed(other).await?;
        assert_eq!(reloaded.taken, keys(taken));
        assert_eq!(
            reloaded.needs_restart,
            keys(&["server.shutdown_ms"]),
            "the setting is still pending"
        );
    }
    let back = daemon.reload().await?;
    assert_eq!(
        (back.taken, back.needs_restart),
        (keys(&["access.unauthenticated_health"]), keys(&[]))
    );
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn health_watchers_see_the_shutdown_and_do_not_delay_it() -> Result<(), Failure> {
    let daemon =
        TestDaemon::start(&example(), &[NO_MODEL, ("server.shutdown_ms", "60000")]).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    let named = |service: &str| HealthCheckRequest { service: service.to_owned() };
    let mut health = HealthClient::new(channel);
    let watching = health.watch(named("noteweft.v1.GraphService")).await?;
    let mut states = watching.into_inner();
    assert_eq!(states.message().await?.map(|state| state.status()), Some(ServingStatus::Serving));
    let before = Instant::now();
    let heard = tokio::spawn(async move {
        let mut last = None;
        while let Ok(Some(state)) = states.message().await {
            last = Some(state.status());
        }
        last
    });
    let mut unknown = health.watch(named("noteweft.v1.Nothing")).await?.into_inner();
    let code_and_reason = unknown.message().await?.map(|state| state.status());
    assert_eq!(code_and_reason, Some(ServingStatus::ServiceUnknown));
    let pause = Duration::from_millis(200);
    assert!(
        tokio::time::timeout(pause, unknown.message()).await.is_err(),
        "the service may start later"
    );
    let refused = health.check(named("noteweft.v1.Nothing")).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    daemon.stop().await?;
    assert_eq!(heard.await?, Some(ServingStatus::NotServing));
    assert!(unknown.message().await?.is_none(), "the stream ends with the daemon");
    assert!(before.elapsed() < Duration::from_secs(30), "the shutdown waited for a watcher");
    Ok(())
}

/// Sends the bytes of gRPC's C core, as its Python client does, over the Unix socket.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn authority_of_the_c_core_is_accepted_over_the_socket() -> Result<(), Failure> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    const HEADERS: u8 = 1;
    const RST_STREAM: u8 = 3;
    let daemon = TestDaemon::start(&example(), &[NO_MODEL]).await?;
    served(&daemon.socket_channel().await?).await?;
    let encoded = daemon.socket.display().to_string().replace('/', "%2F");
    let field = |name: &str, value: &str| {
        let string = |text: &str| {
            let length = u8::try_from(text.len()).expect("a short text");
            [&[length][..], text.as_bytes()].concat()
        };
        [vec![0x40], string(name), string(value)].concat()
    };
    let block = [
        field(":path", "/grpc.health.v1.Health/Check"),
        field(":authority", encoded.trim_start_matches("%2F")),
        // `:method: POST` and `:scheme: http`.
        vec![0x83, 0x86],
        field("content-type", "application/grpc"),
        field("te", "trailers"),
    ]
    .concat();
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        let length = u8::try_from(payload.len()).expect("a short payload");
        [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
    };
    let mut client = tokio::net::UnixStream::connect(&daemon.socket).await?;
    client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await?;
    client.write_all(&frame(4, 0, 0, &[])).await?;
    client.write_all(&frame(HEADERS, 4, 1, &block)).await?;
    client.write_all(&frame(0, 1, 1, &[0; 5])).await?;
    loop {
        let mut head = [0; 9];
        client.read_exact(&mut head).await?;
        let [a, b, c, kind, ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        client.read_exact(&mut payload).await?;
        assert_ne!(kind, RST_STREAM, "the stream was reset");
        if kind == HEADERS {
            // `:status: 200` from the static table.
            assert_eq!(payload.first(), Some(&0x88), "{payload:?}");
            break;
        }
    }
    daemon.stop().await?;
    Ok(())
}
