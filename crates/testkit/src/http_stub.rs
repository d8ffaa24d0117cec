//! An HTTP server inside the test process with a configurable handler.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A received request.
#[derive(Clone, Debug, Default)]
pub struct RecordedRequest {
    /// Path.
    pub path: String,
    /// Header lines.
    pub headers: Vec<String>,
    /// Body.
    pub body: String,
}

/// Response of a handler.
#[derive(Clone, Debug)]
pub struct StubResponse {
    /// HTTP status.
    pub status: u16,
    /// Header lines besides those that frame the body.
    pub headers: Vec<String>,
    /// Body.
    pub body: String,
    /// Delay before the response is sent.
    pub delay: Duration,
}

impl StubResponse {
    /// Returns a response without delay.
    #[must_use]
    pub fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), delay: Duration::ZERO }
    }
}

type Handler = Arc<dyn Fn(&RecordedRequest) -> StubResponse + Send + Sync>;

/// HTTP server on the loopback interface that runs until it is dropped.
pub struct HttpStub {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    requests: Mutex<Vec<RecordedRequest>>,
    handler: Mutex<Handler>,
    is_stopped: AtomicBool,
}

impl HttpStub {
    /// Starts a server on a free port.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub fn start(
        handler: impl Fn(&RecordedRequest) -> StubResponse + Send + Sync + 'static,
    ) -> Self {
        Self::start_at(([127, 0, 0, 1], 0).into(), handler)
    }

    /// Starts a server at the address of an earlier one.
    ///
    /// # Panics
    /// Panics if the address is in use.
    pub fn start_at(
        address: SocketAddr,
        handler: impl Fn(&RecordedRequest) -> StubResponse + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).expect("a free port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared {
            requests: Mutex::default(),
            handler: Mutex::new(Arc::new(handler)),
            is_stopped: AtomicBool::new(false),
        });
        let served = Arc::clone(&shared);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                if served.is_stopped.load(Ordering::SeqCst) {
                    break;
                }
                let served = Arc::clone(&served);
                let Ok(connection) = connection else { continue };
                std::thread::spawn(move || drop(served.serve(connection)));
            }
        });
        Self { address, shared }
    }

    /// Returns the address of the server.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL of the server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests received so far.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.shared.requests).clone()
    }

    /// Replaces the handler.
    pub fn set_handler(
        &self,
        handler: impl Fn(&RecordedRequest) -> StubResponse + Send + Sync + 'static,
    ) {
        *lock(&self.shared.handler) = Arc::new(handler);
    }
}

impl Drop for HttpStub {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, so that the port is free when this returns.
        drop(TcpStream::connect(self.address));
        while TcpStream::connect(self.address).is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Shared {
    fn serve(&self, connection: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(connection.try_clone()?);
        let mut line = || -> std::io::Result<String> {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            Ok(line.trim_end().to_owned())
        };
        let first = line()?;
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        loop {
            let header = line()?;
            if header.is_empty() {
                break;
            }
            headers.push(header);
        }
        let length = headers.iter().find_map(|header| {
            let (name, value) = header.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        let request =
            RecordedRequest { path, headers, body: String::from_utf8_lossy(&body).into_owned() };
        lock(&self.requests).push(request.clone());
        let handler = Arc::clone(&lock(&self.handler));
        let StubResponse { status, headers, body, delay } = handler(&request);
        std::thread::sleep(delay);
        let mut connection = connection;
        write!(connection, "HTTP/1.1 {status} Answer\r\nconnection: close\r\n")?;
        for header in headers {
            write!(connection, "{header}\r\n")?;
        }
        write!(connection, "content-length: {}\r\n\r\n{body}", body.len())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
