//! An HTTP endpoint of this process, which answers whatever a test wants.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The path.
    pub path: String,
    /// The lines of the head below the first.
    pub headers: Vec<String>,
    /// The body.
    pub body: String,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// Lines of the head besides those that frame the body.
    pub headers: Vec<String>,
    /// The body.
    pub body: String,
    /// How long it is held back.
    pub delay: Duration,
}

impl Answer {
    /// An answer at once.
    #[must_use]
    pub fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), delay: Duration::ZERO }
    }
}

type Behaviour = Arc<dyn Fn(&Asked) -> Answer + Send + Sync>;

/// Answers on a free port of this machine until it is dropped.
pub struct Endpoint {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    asked: Mutex<Vec<Asked>>,
    behaviour: Mutex<Behaviour>,
    is_over: AtomicBool,
}

impl Endpoint {
    /// An endpoint that behaves so.
    ///
    /// # Panics
    /// Where this machine has no port to give.
    pub fn start(behaviour: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_at(([127, 0, 0, 1], 0).into(), behaviour)
    }

    /// An endpoint at the address of one that is gone.
    ///
    /// # Panics
    /// Where the address is taken.
    pub fn start_at(
        address: SocketAddr,
        behaviour: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).expect("a free port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared {
            asked: Mutex::default(),
            behaviour: Mutex::new(Arc::new(behaviour)),
            is_over: AtomicBool::new(false),
        });
        let served = Arc::clone(&shared);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                if served.is_over.load(Ordering::SeqCst) {
                    break;
                }
                let served = Arc::clone(&served);
                let Ok(connection) = connection else { continue };
                std::thread::spawn(move || drop(served.serve(connection)));
            }
        });
        Self { address, shared }
    }

    /// Where it answers.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address as the beginning of others.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked so far.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.asked).clone()
    }

    /// Behaves so from now on.
    pub fn behave(&self, behaviour: impl Fn(&Asked) -> Answer + Send + Sync + 'static) {
        *lock(&self.shared.behaviour) = Arc::new(behaviour);
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the one who waits for callers, so that the port is free when this returns.
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
        let asked = Asked { path, headers, body: String::from_utf8_lossy(&body).into_owned() };
        lock(&self.asked).push(asked.clone());
        let behaviour = Arc::clone(&lock(&self.behaviour));
        let Answer { status, headers, body, delay } = behaviour(&asked);
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
