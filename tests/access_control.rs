//! Access control: requests with and without credentials over a real socket.

use std::path::Path;
use std::time::Duration;

use prost::Message as _;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tonic::metadata::MetadataValue;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Streaming};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt as _;
use weft_daemon::Reloaded;
use weft_proto::noteweft::v1::admin_service_client::AdminServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{SearchRequest, StatusRequest, WatchQueryRequest};
use weft_tests::{Failure, TestDaemon, example, health_states, is_skipped_over};

use crate::served;
use crate::web_page::ask;

const READ: &str = "a-token-that-may-read-0123456789";
const WRITE: &str = "a-token-that-may-write-0123456789";

/// Writes token files in `folder` and returns the setting that lists them.
fn tokens(folder: &TempDir) -> Result<String, Failure> {
    let mut rows = Vec::new();
    for (name, right, secret) in [("reader", "read", READ), ("owner", "write", WRITE)] {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("{secret}\n"))?;
        rows.push(format!(
            "{{name = '{name}', permission = '{right}', file = '{}'}}",
            path.display()
        ));
    }
    Ok(format!("[{}]", rows.join(", ")))
}

/// Returns the path of every RPC.
fn calls() -> Result<Vec<String>, Failure> {
    let set = prost_types::FileDescriptorSet::decode(weft_proto::FILE_DESCRIPTOR_SET)?;
    let own = set.file.iter().filter(|file| file.package() == "noteweft.v1");
    let calls = own.flat_map(|file| &file.service).flat_map(|service| {
        service.method.iter().map(|call| format!("/noteweft.v1.{}/{}", service.name(), call.name()))
    });
    Ok(calls.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_grant_no_more_than_their_permission() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let tokens = tokens(&folder)?;
    // A daemon that listens on all addresses requires tokens.
    let settings = [
        ("embedding.model", "none"),
        ("server.address", "0.0.0.0:0"),
        ("access.tokens", tokens.as_str()),
    ];
    let daemon = TestDaemon::start(&example(), &settings).await?;
    served(&daemon.socket_channel().await?).await?;
    let host = format!("host: notes.example:{}", daemon.port());
    let kind = "content-type: application/grpc-web+proto";
    let reads = format!("authorization: Bearer {READ}");
    let guess = format!("authorization: Bearer {}", &READ[1..]);
    let calls = calls()?;
    assert!(calls.len() > 8);
    for call in &calls {
        let first = format!("POST {call} HTTP/1.1");
        for credential in ["x-none: 1", &guess] {
            let answer = ask(&daemon, &first, &[&host, kind, credential], &[0; 5]).await?;
            assert!(answer.contains("grpc-status: 16"), "{call} with {credential}: {answer}");
        }
        let writes = call.contains("AdminService")
            || ["PutNote", "DeleteNote", "MoveNote", "LinkMentions"]
                .iter()
                .any(|name| call.ends_with(name));
        if writes {
            let answer = ask(&daemon, &first, &[&host, kind, &reads], &[0; 5]).await?;
            assert!(answer.contains("grpc-status: 7"), "{call}: {answer}");
        }
    }
    for first in [
        "GET / HTTP/1.1",
        "HEAD / HTTP/1.1",
        "OPTIONS / HTTP/1.1",
        "GET /page.js HTTP/1.1",
        "GET /metrics HTTP/1.1",
        "POST /mcp HTTP/1.1",
        "GET /mcp HTTP/1.1",
        "DELETE /mcp HTTP/1.1",
        "GET /nowhere HTTP/1.1",
        "POST /grpc.health.v1.Health/Check HTTP/1.1",
        "POST /grpc.health.v1.Health/Watch HTTP/1.1",
        "POST /grpc.reflection.v1.ServerReflection/ServerReflectionInfo HTTP/1.1",
        "POST /grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo HTTP/1.1",
    ] {
        let answer = ask(&daemon, first, &[&host], b"").await?;
        assert!(answer.starts_with("HTTP/1.1 401"), "{first}: {answer}");
        assert!(answer.contains("www-authenticate: Basic"), "{first}: {answer}");
    }
    let page = ask(&daemon, "GET / HTTP/1.1", &[&host, &reads], b"").await?;
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");

    let search_request =
        || SearchRequest { query: "leap second".into(), ..SearchRequest::default() };
    let with = |secret: &str| -> Result<Request<SearchRequest>, Failure> {
        let mut request = Request::new(search_request());
        let value: MetadataValue<_> = format!("Bearer {secret}").parse()?;
        request.metadata_mut().insert("authorization", value);
        Ok(request)
    };
    let channel = daemon.channel().await?;
    let mut search = SearchServiceClient::new(channel.clone());
    for secret in [READ, WRITE] {
        assert!(!search.search(with(secret)?).await?.into_inner().hits.is_empty());
    }
    let refused = search.search(search_request()).await.expect_err("the request has no token");
    let reason = refused.get_details_error_info().map(|info| info.reason);
    assert_eq!((refused.code(), reason.as_deref()), (Code::Unauthenticated, Some("NO_TOKEN")));
    // The file system guards the Unix socket.
    let mut socket = AdminServiceClient::new(daemon.socket_channel().await?);
    socket.status(StatusRequest {}).await?;
    daemon.stop().await?;
    Ok(())
}

/// Returns a request to watch a query with a token.
fn watch_request(secret: &str) -> Result<Request<WatchQueryRequest>, Failure> {
    let search = SearchRequest { query: "leap second".into(), ..SearchRequest::default() };
    let mut request =
        Request::new(WatchQueryRequest { search: Some(search), min_interval_ms: Some(0) });
    let value: MetadataValue<_> = format!("Bearer {secret}").parse()?;
    request.metadata_mut().insert("authorization", value);
    Ok(request)
}

/// Returns true if a stream is open and silent for a while.
async fn is_open<T>(stream: &mut Streaming<T>) -> bool {
    tokio::time::timeout(Duration::from_millis(200), stream.message()).await.is_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_leaves_streams_to_others() -> Result<(), Failure> {
    if is_skipped_over(1, "each node limits its own streams") {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let tokens = tokens(&folder)?;
    let settings = [
        ("embedding.model", "none"),
        ("access.tokens", tokens.as_str()),
        ("server.max_streams", "4"),
    ];
    let daemon = TestDaemon::start(&example(), &settings).await?;
    served(&daemon.socket_channel().await?).await?;
    let mut search = SearchServiceClient::new(daemon.channel().await?);
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(search.watch_query(watch_request(READ)?).await?.into_inner());
    }
    // Over another connection, it is the same client.
    let mut elsewhere = SearchServiceClient::new(daemon.channel().await?);
    let refused = elsewhere.watch_query(watch_request(READ)?).await.expect_err("a quarter is left");
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.message().contains("the limit for one client"), "{refused}");
    let mut owner = search.watch_query(watch_request(WRITE)?).await?.into_inner();
    assert!(owner.message().await?.is_some());
    let refused = search.watch_query(watch_request(WRITE)?).await.expect_err("all are open");
    assert!(refused.message().starts_with("4 streams"), "{refused}");
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_ends_when_its_token_is_revoked() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let tokens = tokens(&folder)?;
    let settings = [("embedding.model", "none"), ("access.tokens", tokens.as_str())];
    let daemon = TestDaemon::start(&example(), &settings).await?;
    served(&daemon.socket_channel().await?).await?;
    let mut search = SearchServiceClient::new(daemon.channel().await?);
    let mut reader = search.watch_query(watch_request(READ)?).await?.into_inner();
    let mut owner = search.watch_query(watch_request(WRITE)?).await?.into_inner();
    assert!(reader.message().await?.is_some() && owner.message().await?.is_some());
    let message = watch_request(READ)?.into_inner().encode_to_vec();
    let frame = [&[0][..], &u32::try_from(message.len())?.to_be_bytes(), &message].concat();
    let (host, reads) =
        (format!("host: {}", daemon.host()), format!("authorization: Bearer {READ}"));
    let headers = [host.as_str(), "content-type: application/grpc-web+proto", reads.as_str()];
    let first = "POST /noteweft.v1.SearchService/WatchQuery HTTP/1.1";
    let mut in_a_browser = Box::pin(ask(&daemon, first, &headers, &frame));
    let pause = Duration::from_millis(200);
    assert!(tokio::time::timeout(pause, &mut in_a_browser).await.is_err(), "the stream stays open");

    assert_eq!(daemon.reload().await?, Reloaded::default());
    assert!(is_open(&mut reader).await && is_open(&mut owner).await, "no token was revoked");
    std::fs::write(folder.path().join("reader"), "a-newer-token-that-may-read-0123\n")?;
    let reloaded = daemon.reload().await?;
    assert_eq!((reloaded.taken, reloaded.needs_restart.len()), (vec!["access.tokens".into()], 0));
    let ended = reader.message().await.expect_err("its token was revoked");
    let reason = ended.get_details_error_info().map(|info| info.reason);
    assert_eq!((ended.code(), reason.as_deref()), (Code::Unauthenticated, Some("UNKNOWN_TOKEN")));
    let ended = in_a_browser.await?;
    assert!(ended.contains("grpc-status:16"), "{ended}");
    assert!(is_open(&mut owner).await, "the other token is still valid");
    daemon.stop().await?;
    Ok(())
}

/// Requests the status over a new connection with a token; returns the status code.
async fn code_with(daemon: &TestDaemon, secret: &str) -> Result<Code, Failure> {
    let mut request = Request::new(StatusRequest {});
    let token = format!("Bearer {secret}").parse()?;
    request.metadata_mut().insert("authorization", token);
    let answer = AdminServiceClient::new(daemon.channel().await?).status(request).await;
    Ok(answer.map_or_else(|refused| refused.code(), |_| Code::Ok))
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_or_empty_token_file_revokes_its_tokens() -> Result<(), Failure> {
    for address in ["127.0.0.1:0", "0.0.0.0:0"] {
        let folder = tempfile::tempdir()?;
        let tokens = tokens(&folder)?;
        let settings = [
            ("embedding.model", "none"),
            ("server.address", address),
            ("access.tokens", tokens.as_str()),
        ];
        let daemon = TestDaemon::start(&example(), &settings).await?;
        let local = daemon.socket_channel().await?;
        served(&local).await?;
        let mut local = AdminServiceClient::new(local);
        let codes = async || -> Result<[Code; 2], Failure> {
            Ok([code_with(&daemon, READ).await?, code_with(&daemon, WRITE).await?])
        };
        assert_eq!(codes().await?, [Code::PermissionDenied, Code::Ok]);
        let channel = daemon.socket_channel().await?;
        let states = async || health_states(&channel, ["credentials", ""]).await;
        assert_eq!(states().await?, [ServingStatus::Serving; 2]);

        std::fs::write(folder.path().join("reader"), "# none\n")?;
        let refused = daemon.reload().await.expect_err("a token file is empty");
        assert!(refused.to_string().contains("reader"), "{refused}");
        assert_eq!(codes().await?, [Code::Unauthenticated, Code::Ok]);
        assert_eq!(states().await?, [ServingStatus::NotServing, ServingStatus::Serving]);

        std::fs::remove_file(folder.path().join("owner"))?;
        daemon.reload().await.expect_err("no token is left");
        assert_eq!(codes().await?, [Code::Unauthenticated; 2], "the port refuses every client");
        let status = local.status(StatusRequest {}).await?.into_inner();
        let errors = status.server.map(|server| server.credential_errors).unwrap_or_default();
        let names = ["reader", "owner"].map(|name| format!("`{name}`"));
        assert!(errors.len() == 2 && errors[0].contains(&names[0]), "{errors:?}");
        assert!(errors[1].contains(&names[1]) && !errors.concat().contains(READ), "{errors:?}");

        // Removing the entries does not open a port that required credentials.
        let cleared = daemon.reload_changed(|settings| settings.access.tokens.clear()).await;
        assert_eq!(cleared.is_ok(), address.starts_with("127."), "{cleared:?}");
        assert_eq!(codes().await?, [Code::Unauthenticated; 2]);

        crate::access_control::tokens(&folder)?;
        daemon.reload().await?;
        assert_eq!(codes().await?, [Code::PermissionDenied, Code::Ok]);
        let status = local.status(StatusRequest {}).await?.into_inner();
        assert!(status.server.is_some_and(|server| server.credential_errors.is_empty()));
        assert_eq!(states().await?, [ServingStatus::Serving; 2]);
        daemon.stop().await?;
    }
    Ok(())
}

/// A certificate authority and its files.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Result<Self, Failure> {
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(Vec::new())?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = parameters.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(parameters, key), pem })
    }

    /// Returns a certificate and a key for `name`.
    fn sign(&self, name: &str) -> Result<(String, String), Failure> {
        let key = KeyPair::generate()?;
        let certificate =
            CertificateParams::new(vec![name.to_owned()])?.signed_by(&key, &self.issuer)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }

    /// Writes a certificate and a key for `name` into `folder` for a daemon.
    fn files(&self, folder: &Path, name: &str) -> Result<(), Failure> {
        let (certificate, key) = self.sign(name)?;
        std::fs::write(folder.join("cert.pem"), certificate)?;
        std::fs::write(folder.join("key.pem"), key)?;
        Ok(())
    }
}

/// Types of records (RFC 8446, section 5.1).
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;

/// Greets the port with TLS 1.0, 1.1 or 1.2, for minor versions 1, 2 and 3; returns the type of the record that answers.
async fn answer_to_tls(daemon: &TestDaemon, minor: u8) -> Result<u8, Failure> {
    // RFC 5246, section 7.4.1.2: version, random, no session, cipher suites, no compression, extensions.
    let mut hello = vec![3, minor];
    hello.extend([7; 32]);
    hello.extend([0, 0, 6, 0xc0, 0x2b, 0xc0, 0x2f, 0, 0x2f, 1, 0]);
    let groups = [0, 10, 0, 6, 0, 4, 0, 29, 0, 23];
    let points = [0, 11, 0, 2, 1, 0];
    let signatures = [0, 13, 0, 6, 0, 4, 4, 3, 8, 4];
    let extensions = [&groups[..], &points, &signatures].concat();
    hello.extend([0, u8::try_from(extensions.len())?]);
    hello.extend(extensions);
    let length = u8::try_from(hello.len())?;
    let mut sent = vec![HANDSHAKE, 3, minor, 0, length + 4, 1, 0, 0, length];
    sent.extend(hello);
    let address = format!("127.0.0.1:{}", daemon.port());
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    stream.write_all(&sent).await?;
    Ok(stream.read_u8().await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_certificates_are_required_and_reloaded() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let (servers, clients) = (Authority::new()?, Authority::new()?);
    servers.files(folder.path(), "localhost")?;
    let ca = folder.path().join("clients.pem");
    std::fs::write(&ca, &clients.pem)?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (certificate, key, ca) = (path("cert.pem"), path("key.pem"), path("clients.pem"));
    let settings = [
        ("embedding.model", "none"),
        ("tls.certificate", certificate.as_str()),
        ("tls.key", &key),
        ("tls.client_ca", &ca),
    ];
    let daemon = TestDaemon::start(&example(), &settings).await?;
    served(&daemon.socket_channel().await?).await?;

    let address = format!("https://localhost:{}", daemon.port());
    let search = async |servers: &Authority, identity: Option<(String, String)>| {
        let mut tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&servers.pem));
        if let Some((certificate, key)) = identity {
            tls = tls.identity(Identity::from_pem(certificate, key));
        }
        let channel = Endpoint::from_shared(address.clone())?.tls_config(tls)?.connect().await?;
        let request = SearchRequest { query: "leap second".into(), ..SearchRequest::default() };
        let answer = SearchServiceClient::new(channel.clone()).search(request).await?;
        Ok::<_, Failure>((answer.into_inner(), channel))
    };
    let (answer, channel) = search(&servers, Some(clients.sign("a client")?)).await?;
    assert!(!answer.hits.is_empty());
    // Certificates grant read access by default.
    let refused = AdminServiceClient::new(channel).status(StatusRequest {}).await;
    assert_eq!(
        refused.expect_err("the certificate grants read access only").code(),
        Code::PermissionDenied
    );
    assert!(search(&servers, None).await.is_err(), "no certificate");
    let stranger = Authority::new()?.sign("a client")?;
    assert!(search(&servers, Some(stranger)).await.is_err(), "signed by another authority");
    let plain = ask(&daemon, "GET / HTTP/1.1", &["host: localhost"], b"").await;
    assert!(!plain.is_ok_and(|answer| answer.contains("HTTP/1.1")), "the port accepts TLS only");
    let mut answers = Vec::new();
    for minor in 1..=3 {
        answers.push(answer_to_tls(&daemon, minor).await?);
    }
    assert_eq!(answers, [ALERT, ALERT, HANDSHAKE], "TLS 1.0, 1.1 and 1.2");

    let renewed = Authority::new()?;
    renewed.files(folder.path(), "localhost")?;
    assert_eq!(daemon.reload().await?.taken, ["tls.certificate", "tls.key"]);
    let identity = clients.sign("a client")?;
    assert!(
        search(&servers, Some(identity.clone())).await.is_err(),
        "the old certificate was replaced"
    );
    search(&renewed, Some(identity.clone())).await?;
    std::fs::write(folder.path().join("key.pem"), "no key")?;
    assert!(daemon.reload().await.is_err());
    search(&renewed, Some(identity.clone())).await?;
    // Authorities are replaced or revoked although the daemon's key is not valid.
    for authorities in [Some(Authority::new()?.pem), None] {
        match authorities {
            Some(pem) => std::fs::write(&ca, pem)?,
            None => std::fs::remove_file(&ca)?,
        }
        assert!(daemon.reload().await.is_err());
        assert!(search(&renewed, Some(identity.clone())).await.is_err());
    }
    std::fs::write(&ca, &clients.pem)?;
    renewed.files(folder.path(), "localhost")?;
    daemon.reload().await?;

    // A connection ends when its client's certificate is no longer trusted.
    let (_, channel) = search(&renewed, Some(identity.clone())).await?;
    let watching = HealthClient::new(channel).watch(HealthCheckRequest::default()).await?;
    let mut states = watching.into_inner();
    states.message().await?;
    let later = Authority::new()?;
    std::fs::write(&ca, format!("{}{}", clients.pem, later.pem))?;
    daemon.reload().await?;
    assert!(is_open(&mut states).await, "both authorities are trusted");
    std::fs::write(&ca, &later.pem)?;
    assert_eq!(daemon.reload().await?.taken, ["tls.client_ca"]);
    assert!(states.message().await.is_err(), "its authority was removed");
    assert!(search(&renewed, Some(identity)).await.is_err(), "no new connection is accepted");
    search(&renewed, Some(later.sign("a client")?)).await?;
    daemon.stop().await?;
    Ok(())
}
