//! How a daemon tells its start to whoever started it: the datagrams of `sd_notify(3)`.
//!
//! A service manager names a socket in `NOTIFY_SOCKET`; `serve --detach` speaks the same protocol with its own child.

use std::fmt::Write as _;
use std::time::Duration;

use weft_daemon::Environment;

/// The variable that names the socket.
pub(crate) const SOCKET: &str = "NOTIFY_SOCKET";

/// One thing to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// It serves.
    Ready,
    /// It reads its settings again; `Ready` follows.
    Reloading,
    /// It ends.
    Stopping,
    /// It is alive.
    Alive,
    /// It needs this much longer to start.
    Extend(Duration),
    /// What it does, in one line for a person.
    Status(String),
}

impl Notice {
    fn line(&self, out: &mut String) {
        let _ = match self {
            Self::Ready => writeln!(out, "READY=1"),
            Self::Reloading => writeln!(out, "RELOADING=1"),
            Self::Stopping => writeln!(out, "STOPPING=1"),
            Self::Alive => writeln!(out, "WATCHDOG=1"),
            Self::Extend(time) => writeln!(out, "EXTEND_TIMEOUT_USEC={}", time.as_micros()),
            // A line break would begin another notice.
            Self::Status(text) => writeln!(out, "STATUS={}", text.replace(['\n', '\r'], " ")),
        };
    }
}

/// Sends notices; into the void where nobody asked for them.
#[derive(Debug, Default)]
pub(crate) struct Notifier {
    #[cfg(unix)]
    socket: Option<std::os::unix::net::UnixDatagram>,
    /// How often a sign of life is expected.
    pub(crate) watchdog: Option<Duration>,
}

impl Notifier {
    /// Speaks to the socket that the environment names.
    pub(crate) fn new(environment: &Environment) -> Self {
        let number = |name| environment.get(name)?.parse::<u64>().ok();
        let meant = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|_| meant).map(Duration::from_micros);
        Self {
            #[cfg(unix)]
            socket: environment.get(SOCKET).and_then(|name| match connect(name) {
                Ok(socket) => Some(socket),
                Err(error) => {
                    tracing::warn!(%error, "the service manager cannot be told");
                    None
                }
            }),
            watchdog,
        }
    }

    /// Whether anybody listens.
    pub(crate) const fn is_heard(&self) -> bool {
        #[cfg(unix)]
        return self.socket.is_some();
        #[cfg(not(unix))]
        false
    }

    /// Tells all of `notices` at once.
    pub(crate) fn tell(&self, notices: &[Notice]) {
        let mut text = String::new();
        notices.iter().for_each(|notice| notice.line(&mut text));
        #[cfg(unix)]
        if let Some(socket) = &self.socket
            && let Err(error) = socket.send(text.as_bytes())
        {
            tracing::debug!(%error, "the service manager was not told");
        }
    }
}

#[cfg(unix)]
fn connect(name: &str) -> std::io::Result<std::os::unix::net::UnixDatagram> {
    let socket = std::os::unix::net::UnixDatagram::unbound()?;
    // A manager that does not read must not hold the daemon up.
    socket.set_nonblocking(true)?;
    match name.strip_prefix('@') {
        #[cfg(target_os = "linux")]
        Some(hidden) => {
            use std::os::linux::net::SocketAddrExt as _;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(hidden)?;
            socket.connect_addr(&address)?;
        }
        #[cfg(not(target_os = "linux"))]
        Some(_) => return Err(std::io::Error::other("this system has no abstract sockets")),
        None => socket.connect(name)?,
    }
    Ok(socket)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn notices_arrive_in_one_datagram() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        let environment = Environment::from_pairs(&[
            (SOCKET, path.to_str().unwrap()),
            ("WATCHDOG_USEC", "30000000"),
            ("WATCHDOG_PID", &std::process::id().to_string()),
        ]);
        let notifier = Notifier::new(&environment);
        assert_eq!(notifier.watchdog, Some(Duration::from_secs(30)));
        notifier.tell(&[
            Notice::Ready,
            Notice::Status("two\nlines".into()),
            Notice::Extend(Duration::from_secs(1)),
        ]);
        let mut buffer = [0; 200];
        let n = manager.recv(&mut buffer).unwrap();
        let text = std::str::from_utf8(&buffer[..n]).unwrap();
        assert_eq!(text, "READY=1\nSTATUS=two lines\nEXTEND_TIMEOUT_USEC=1000000\n");
    }

    #[test]
    fn a_watchdog_of_another_process_is_not_ours() {
        let environment = Environment::from_pairs(&[("WATCHDOG_USEC", "5"), ("WATCHDOG_PID", "1")]);
        assert_eq!(Notifier::new(&environment).watchdog, None);
        Notifier::default().tell(&[Notice::Ready]);
    }
}
