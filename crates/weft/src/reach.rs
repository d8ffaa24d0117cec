//! The way to a daemon: its address, what to show there, and whom to trust.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tonic::codegen::http::HeaderValue;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use weft_daemon::config::Config;
use weft_daemon::{Paths, nearby};

use crate::cli::Global;
use crate::failure::Failure;

/// How long to wait for a daemon to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// How often to ask a daemon that works on an answer whether it is still there, and how long it may take to say so.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Settings by which a daemon is found and asked, and what is logged of that; all others are its own.
const OF_THE_WAY: [&str; 6] =
    ["server.address", "server.socket", "store.path", "tls", "access", "log"];

/// Whether who asks a daemon goes by this setting himself.
pub(crate) fn is_of_the_way(key: &str) -> bool {
    OF_THE_WAY.iter().any(|of_the_way| {
        key.strip_prefix(of_the_way).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// What to show to a daemon, and whom to trust.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credentials {
    token: Option<HeaderValue>,
    authority: Option<Certificate>,
    identity: Option<Identity>,
    /// The name that the daemon's certificate bears, where it is not the one asked at.
    name: Option<String>,
}

impl Credentials {
    /// Reads what the flags and their variables name.
    pub(crate) fn read(global: &Global) -> Result<Self, Failure> {
        let token = match (&global.token, &global.token_file) {
            (Some(token), _) => Some(header(token, "--token")?),
            (None, Some(path)) => {
                let text = text(path)?;
                let mut lines = text.lines().map(str::trim);
                let token = lines.rfind(|line| !line.is_empty() && !line.starts_with('#'));
                let empty = || Failure::usage(format!("{} holds no token", path.display()));
                Some(header(token.ok_or_else(empty)?, "--token-file")?)
            }
            (None, None) => None,
        };
        let authority = global.tls_ca.as_deref().map(authority).transpose()?;
        let identity = match (&global.tls_cert, &global.tls_key) {
            (Some(certificate), Some(key)) => {
                Some(Identity::from_pem(text(certificate)?, text(key)?))
            }
            (_, _) => None,
        };
        Ok(Self { token, authority, identity, name: global.tls_name.clone() })
    }

    fn is_empty(&self) -> bool {
        let Self { token, authority, identity, name } = self;
        token.is_none() && authority.is_none() && identity.is_none() && name.is_none()
    }

    /// The value of the `authorization` header.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        self.token.clone()
    }

    /// Connects to a daemon at `HOST:PORT`, `https://HOST:PORT` or `unix:PATH`.
    pub(crate) async fn connect(&self, address: &str) -> Result<Channel, Failure> {
        let connected = self.endpoint(address)?.connect().await;
        connected.map_err(|error| Failure::unreachable(address, &root(&error)))
    }

    /// The same, with the first question; and again with a later one, where there was no daemon yet.
    pub(crate) fn connect_later(&self, address: &str) -> Result<Channel, Failure> {
        Ok(self.endpoint(address)?.connect_lazy())
    }

    /// An address without a scheme is asked over TLS where an authority or the name of a certificate is given.
    fn endpoint(&self, address: &str) -> Result<Endpoint, Failure> {
        let uri = match address {
            whole if whole.contains("://") || whole.starts_with("unix:") => whole.to_owned(),
            place if self.authority.is_some() || self.name.is_some() => format!("https://{place}"),
            place => format!("http://{place}"),
        };
        let encrypted = uri.starts_with("https://");
        let wrong = |_| {
            Failure::usage(format!(
                "`{address}` is no address; it reads HOST:PORT, https://HOST:PORT or unix:PATH"
            ))
        };
        let mut endpoint = Endpoint::from_shared(uri).map_err(wrong)?;
        if encrypted {
            let mut tls = ClientTlsConfig::new().with_webpki_roots();
            if let Some(authority) = &self.authority {
                tls = tls.ca_certificate(authority.clone());
            }
            if let Some(name) = &self.name {
                tls = tls.domain_name(name);
            }
            if let Some(identity) = &self.identity {
                tls = tls.identity(identity.clone());
            }
            endpoint = endpoint.tls_config(tls).map_err(|error| {
                Failure::usage(format!("the certificates cannot be used: {}", root(&error)))
            })?;
        }
        Ok(endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEPALIVE)
            .keep_alive_timeout(KEEPALIVE)
            .tcp_nodelay(true))
    }
}

/// The address to ask where no flag names one: that of the settings, or its Unix socket where the port wants credentials and none are at hand.
pub(crate) fn usual(config: &Config, paths: &Paths, credentials: &Credentials) -> String {
    let server = &config.settings.server;
    let guarded =
        config.settings.tls.certificate.is_some() || config.settings.asks_for_credentials();
    let socket = socket(&server.address, &server.socket, paths).filter(|path| path.exists());
    match socket.filter(|_| guarded && credentials.is_empty()) {
        Some(path) => format!("unix:{}", path.display()),
        None if config.settings.tls.certificate.is_some() => {
            format!("https://{}", near(&server.address))
        }
        None => near(&server.address),
    }
}

/// The address by which this machine reaches a daemon that listens at `address`.
fn near(address: &str) -> String {
    address.parse().map_or_else(|_| address.to_owned(), |all| nearby(all).to_string())
}

/// Whether `address` leads to the daemon of these settings.
pub(crate) fn is_own(address: &str, config: &Config, paths: &Paths) -> bool {
    let server = &config.settings.server;
    let path = address.strip_prefix("unix:").map(PathBuf::from);
    let place = place(address);
    place == server.address
        || place == near(&server.address)
        || path.is_some() && path == socket(&server.address, &server.socket, paths)
}

/// An address without its scheme.
fn place(address: &str) -> &str {
    address.split_once("://").map_or(address, |(_, place)| place).trim_end_matches('/')
}

/// Whether anybody listens at `HOST:PORT`, with or without a scheme, or at `unix:PATH`.
pub(crate) async fn is_heard(address: &str) -> bool {
    #[cfg(unix)]
    if let Some(path) = address.strip_prefix("unix:") {
        return tokio::net::UnixStream::connect(path).await.is_ok();
    }
    let connecting = tokio::net::TcpStream::connect(place(address));
    tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.is_ok_and(|outcome| outcome.is_ok())
}

/// The socket of the daemon at `address`, with `setting` as the settings name it.
pub(crate) fn socket(address: &str, setting: &str, paths: &Paths) -> Option<PathBuf> {
    match (address.strip_prefix("unix:"), setting) {
        (Some(path), _) => Some(path.into()),
        (None, "auto") => Some(paths.socket(port(address)?)),
        (None, "none") => None,
        (None, path) => Some(path.into()),
    }
}

/// The port at the end of an address.
pub(crate) fn port(address: &str) -> Option<u16> {
    address.rsplit_once(':')?.1.trim_end_matches('/').parse().ok()
}

fn header(token: &str, flag: &str) -> Result<HeaderValue, Failure> {
    let value = HeaderValue::from_str(&format!("Bearer {token}"));
    let mut value = value.map_err(|_| Failure::usage(format!("{flag}: that is no token")))?;
    value.set_sensitive(true);
    Ok(value)
}

fn text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))
}

fn authority(path: &Path) -> Result<Certificate, Failure> {
    let text = text(path)?;
    if !text.contains("-----BEGIN CERTIFICATE-----") {
        return Err(Failure::usage(format!("{} holds no certificate in PEM", path.display())));
    }
    Ok(Certificate::from_pem(text))
}

/// What lies at the bottom of an error.
pub(crate) fn root(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use weft_daemon::Environment;

    use super::*;

    #[test]
    fn an_address_leads_to_its_socket() {
        let environment = Environment::from_pairs(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/run/u")]);
        let paths = Paths::new(&environment);
        for (address, setting, expected) in [
            ("127.0.0.1:9338", "auto", Some("/run/u/weft/9338.sock")),
            ("https://notes.example:443", "auto", Some("/run/u/weft/443.sock")),
            ("unix:/x/y.sock", "none", Some("/x/y.sock")),
            ("127.0.0.1:9338", "/own.sock", Some("/own.sock")),
            ("127.0.0.1:9338", "none", None),
            ("nonsense", "auto", None),
        ] {
            let found = socket(address, setting, &paths);
            assert_eq!(found.as_deref(), expected.map(Path::new), "{address} {setting}");
        }
    }

    #[test]
    fn what_stands_for_all_addresses_is_asked_at_one() {
        for (address, expected) in [
            ("0.0.0.0:9338", "127.0.0.1:9338"),
            ("[::]:9338", "[::1]:9338"),
            ("192.0.2.1:9338", "192.0.2.1:9338"),
            ("localhost:9338", "localhost:9338"),
        ] {
            assert_eq!(near(address), expected);
        }
    }

    #[test]
    fn a_token_is_the_last_line_of_its_file_and_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "old-token\n# newer\n new-token \n\n").unwrap();
        let global = Global { token_file: Some(path.clone()), ..Global::default() };
        let credentials = Credentials::read(&global).unwrap();
        assert_eq!(credentials.authorization().unwrap(), "Bearer new-token");
        assert!(!format!("{credentials:?}").contains("new-token"));
        std::fs::write(&path, "# nothing\n").unwrap();
        assert!(Credentials::read(&global).unwrap_err().message.contains("no token"));
    }
}
