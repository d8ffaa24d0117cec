//! Floods of connections by clients without a credential.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;
use tonic::metadata::MetadataValue;
use tonic::transport::Endpoint;
use tonic::{Code, Request, Status};
use weft_proto::noteweft::v1::admin_service_client::AdminServiceClient;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::{
    FlushRequest, GetNoteRequest, PutNoteRequest, ServerStatus, StatusRequest,
};

use super::{Running, free_port, run, text};

const TOKEN: &str = "a-token-that-may-write-0123456789";
const AGENT: &str = "another-token-that-may-write-0123";

/// Number of hostile connections.
const N_HOSTILE: usize = 2000;

/// Number of new clients with a token during the flood.
const N_CLIENTS: usize = 200;

/// Time after which a hostile client that was disconnected connects again.
const RETURN: Duration = Duration::from_secs(2);

/// Starts a daemon that requires one of two tokens, with at most `max_files` open files if given, and waits until it serves.
fn serve(home: &Path, vault: &Path, max_files: Option<u32>) -> (Running, SocketAddr) {
    let limit = max_files.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
    serve_with(home, vault, &format!("ulimit -n {limit} 2>&-"))
}

/// Starts a daemon that requires one of two tokens after `setup`, a command of the shell, and waits until it serves.
fn serve_with(home: &Path, vault: &Path, setup: &str) -> (Running, SocketAddr) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
    std::fs::write(home.join("token"), TOKEN).expect("a token file");
    std::fs::write(home.join("agent"), AGENT).expect("a token file");
    let config = home.join("weft.toml");
    let settings = format!(
        "[server]\naddress = '{address}'\nsocket = '{}'\n[[access.tokens]]\nname = 'owner'\npermission = 'write'\nfile = 'token'\n[[access.tokens]]\nname = 'agent'\npermission = 'write'\nfile = 'agent'\n",
        home.join("weft.sock").display()
    );
    std::fs::write(&config, settings).expect("a settings file");
    let arguments =
        ["serve", vault.to_str().expect("UTF-8"), "--config", config.to_str().expect("UTF-8")];
    let script = format!("{setup}; exec \"$0\" \"$@\"");
    let mut serve = std::process::Command::new("sh");
    serve.args(["-c", &script, env!("CARGO_BIN_EXE_weft")]).args(arguments);
    serve.env_clear().env("HOME", home).env("WEFT__EMBEDDING__MODEL", "none");
    serve
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(home.join("log")).expect("a log file"));
    let daemon = Running(serve.spawn().expect("a Unix has `sh`"));
    let started = Instant::now();
    let place = format!("unix:{}", home.join("weft.sock").display());
    while !run(home, &["status", "--addr", &place]).status.success() {
        let log = || std::fs::read_to_string(home.join("log")).expect("the log file");
        assert!(started.elapsed() < Duration::from_secs(60), "{}", log());
        std::thread::sleep(Duration::from_millis(50));
    }
    (daemon, address)
}

/// Holds a connection that follows HTTP/2 and never sends a request; returns when it is closed.
async fn hold(
    source: Ipv4Addr,
    daemon: SocketAddr,
    n_connected: &AtomicUsize,
) -> std::io::Result<()> {
    const SETTINGS: u8 = 4;
    const PING: u8 = 6;
    const ACK: u8 = 1;
    let socket = TcpSocket::new_v4()?;
    socket.bind((source, 0).into())?;
    let mut stream = socket.connect(daemon).await?;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await?;
    n_connected.fetch_add(1, Ordering::Relaxed);
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let [a, b, c, kind, flags, ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload).await?;
        match (kind, flags & ACK) {
            (SETTINGS, 0) => stream.write_all(&[0, 0, 0, SETTINGS, ACK, 0, 0, 0, 0]).await?,
            (PING, 0) => {
                let head = [0, 0, 8, PING, ACK, 0, 0, 0, 0];
                stream.write_all(&[&head[..], &payload].concat()).await?;
            }
            (_, _) => {}
        }
    }
}

/// Adds the owner's token to a request.
fn authorized<T>(message: T) -> Request<T> {
    authorized_by(TOKEN, message)
}

fn authorized_by<T>(token: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    let token: MetadataValue<_> = format!("Bearer {token}").parse().expect("visible ASCII");
    request.metadata_mut().insert("authorization", token);
    request
}

/// Asks for the status of the server over a new connection.
async fn status(daemon: SocketAddr) -> Result<ServerStatus, Status> {
    let endpoint = Endpoint::from_shared(format!("http://{daemon}")).expect("an address");
    let channel =
        endpoint.connect().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let status = AdminServiceClient::new(channel).status(authorized(StatusRequest {})).await?;
    status.into_inner().server.ok_or_else(|| Status::internal("a daemon has connections"))
}

/// Returns the time until a new client with a token has an answer, retries included.
async fn time_to_answer(daemon: SocketAddr) -> Duration {
    let started = Instant::now();
    loop {
        let asked = tokio::time::timeout(Duration::from_secs(8), status(daemon)).await;
        if asked.is_ok_and(|answer| answer.is_ok()) {
            return started.elapsed();
        }
        assert!(started.elapsed() < Duration::from_secs(30), "a client with a token is locked out");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_without_requests_do_not_lock_out_a_client_with_a_token() {
    weft_daemon::raise_open_file_limit();
    let (home, vault) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(vault.path().join("moss.md"), "# Moss\n").unwrap();
    let (daemon, address) = serve(home.path(), vault.path(), None);
    // Every address of 127.0.0.0/8 is local on Linux only.
    let n_sources: &[u8] = if cfg!(target_os = "linux") { &[1, 64] } else { &[1] };
    for n in n_sources {
        let n_connected = Arc::new(AtomicUsize::new(0));
        let mut flood = tokio::task::JoinSet::new();
        for at in 0..N_HOSTILE {
            let n_connected = Arc::clone(&n_connected);
            let last = u8::try_from(at % usize::from(*n)).unwrap() + 1;
            flood.spawn(async move {
                loop {
                    let _ = hold(Ipv4Addr::new(127, 0, 0, last), address, &n_connected).await;
                    tokio::time::sleep(RETURN).await;
                }
            });
        }
        while n_connected.load(Ordering::Relaxed) < N_HOSTILE {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let mut times = Vec::new();
        for _ in 0..N_CLIENTS {
            times.push(time_to_answer(address).await);
        }
        times.sort();
        let p99 = times[N_CLIENTS * 99 / 100 - 1];
        eprintln!("{n} addresses: p50 {:?}, p99 {p99:?}", times[N_CLIENTS / 2]);
        assert!(p99 < Duration::from_secs(1), "{n} addresses: {times:?}");
        let server = status(address).await.unwrap();
        assert!(server.connection_count <= server.max_connection_count, "{server:?}");
        flood.shutdown().await;
    }
    drop(daemon);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_sockets_leave_open_files_for_notes() {
    const MAX_FILES: u32 = 1024;
    weft_daemon::raise_open_file_limit();
    let (home, vault) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(vault.path().join("moss.md"), "# Moss\n").unwrap();
    let (daemon, address) = serve(home.path(), vault.path(), Some(MAX_FILES));
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let channel = endpoint.connect().await.unwrap();
    let (mut notes, mut admin) =
        (NoteServiceClient::new(channel.clone()), AdminServiceClient::new(channel));
    admin.status(authorized(StatusRequest {})).await.unwrap();
    let silent: Vec<TcpStream> = (0..1100).map(|_| TcpStream::connect(address).unwrap()).collect();
    for n in 0..20 {
        std::fs::write(vault.path().join(format!("saved-{n}.md")), "# Saved\n").unwrap();
        let put = PutNoteRequest {
            path: format!("put-{n}.md"),
            text: Some("# Put\n".to_owned()),
            ..PutNoteRequest::default()
        };
        notes.put_note(authorized(put)).await.unwrap();
    }
    admin.flush(authorized(FlushRequest {})).await.unwrap();
    for name in (0..20).flat_map(|n| [format!("saved-{n}"), format!("put-{n}")]) {
        let get = GetNoteRequest { name: name.clone(), ..GetNoteRequest::default() };
        notes.get_note(authorized(get)).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let server = status(address).await.unwrap();
    assert_eq!(server.max_open_file_count, Some(MAX_FILES.into()), "{server:?}");
    assert!(server.max_connection_count < 1024 - 512, "{server:?}");
    assert!(server.open_file_count.is_none_or(|n| n < 1024 - 100), "{server:?}");
    let shown = run(
        home.path(),
        &["status", "--addr", &format!("unix:{}", home.path().join("weft.sock").display())],
    );
    let said = text(&shown.stdout);
    assert!(said.contains("connections") && said.contains("of 1024 open files"), "{said}");
    drop((daemon, silent));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn soft_limit_of_open_files_is_raised_to_the_hard_one() {
    let (home, vault) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(vault.path().join("moss.md"), "# Moss\n").unwrap();
    let limits = "ulimit -Sn 64; ulimit -Hn 777";
    let (daemon, address) = serve_with(home.path(), vault.path(), limits);
    let server = status(address).await.unwrap();
    assert_eq!(server.max_open_file_count, Some(777), "{server:?}");
    let place = format!("unix:{}", home.path().join("weft.sock").display());
    let checked = text(&run(home.path(), &["doctor", "--addr", &place]).stdout);
    let ServerStatus { max_connection_count: n, .. } = server;
    let line = checked.lines().find(|line| line.contains("of 777 open files"));
    assert!(line.is_some_and(|line| line.contains(&format!("of {n} connections"))), "{checked}");
    drop(daemon);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_connection_is_refused_with_a_retry_time_if_all_are_busy() {
    use tonic_types::StatusExt as _;
    use weft_proto::noteweft::v1::WatchGenerationsRequest;
    let (home, vault) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(vault.path().join("moss.md"), "# Moss\n").unwrap();
    let (daemon, address) = serve(home.path(), vault.path(), Some(64));
    let mut streams = Vec::new();
    let fill = async |streams: &mut Vec<_>, token| loop {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let mut admin = AdminServiceClient::new(endpoint.connect().await.unwrap());
        let watch = authorized_by(token, WatchGenerationsRequest::default());
        match admin.watch_generations(watch).await {
            Ok(stream) => streams.push(stream),
            Err(refused) => break refused,
        }
        assert!(streams.len() < 64, "more connections than open files");
    };
    let surplus = fill(&mut streams, AGENT).await;
    assert!(surplus.message().contains("the limit for one client"), "{surplus}");
    let server = status(address).await.expect("one client leaves connections to others");
    // The connection of the refused stream may still be open, so open connections say less.
    let n_held = u64::try_from(streams.len()).unwrap();
    assert!(n_held + 1 < server.max_connection_count, "{n_held} streams: {server:?}");
    let refused = fill(&mut streams, TOKEN).await;
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    let wait = refused.get_details_retry_info().and_then(|info| info.retry_delay).unwrap();
    streams.pop();
    tokio::time::sleep(wait).await;
    status(address).await.unwrap();
    drop(daemon);
}
