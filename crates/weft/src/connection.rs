//! Connection to a daemon: address, credentials and trust.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tonic::codegen::http::HeaderValue;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use weft_daemon::config::Config;
use weft_daemon::{Paths, nearby};

use crate::cli::Global;
use crate::failure::Failure;

/// Timeout for a connection to a daemon.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Interval of keep-alive pings to a daemon that computes an answer, and the timeout of each ping.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Settings for finding and connecting to a daemon, for logging, and for opening notes; all other settings are the daemon's own.
const CONNECTION_SETTINGS: [&str; 7] =
    ["server.address", "server.socket", "store.path", "tls", "access", "open", "log"];

/// Returns whether the client itself uses this setting when a daemon answers.
pub(crate) fn is_connection_setting(key: &str) -> bool {
    CONNECTION_SETTINGS.iter().any(|of_the_way| {
        key.strip_prefix(of_the_way).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Credentials of a client, and the certificate authority it trusts.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientCredentials {
    token: Option<HeaderValue>,
    authority: Option<Certificate>,
    identity: Option<Identity>,
    /// Name in the daemon's certificate, if it differs from the host in the address.
    name: Option<String>,
}

impl ClientCredentials {
    /// Reads the credentials named by flags and environment variables.
    pub(crate) fn read(global: &Global) -> Result<Self, Failure> {
        let token = match (&global.token, &global.token_file) {
            (Some(token), _) => Some(header(token, "--token")?),
            (None, Some(path)) => {
                let text = text(path)?;
                let mut lines = text.lines().map(str::trim);
                let token = lines.rfind(|line| !line.is_empty() && !line.starts_with('#'));
                let empty = || Failure::usage(format!("{} contains no token", path.display()));
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

    /// Returns the value of the `authorization` header.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        self.token.clone()
    }

    /// Connects to a daemon at `HOST:PORT`, `https://HOST:PORT` or `unix:PATH`.
    pub(crate) async fn connect(&self, address: &str) -> Result<Channel, Failure> {
        let connected = self.endpoint(address)?.connect().await;
        connected.map_err(|error| Failure::unreachable(address, &root_cause(&error)))
    }

    /// Returns a channel that connects with the first request, and reconnects with later ones if no daemon was running.
    pub(crate) fn connect_later(&self, address: &str) -> Result<Channel, Failure> {
        Ok(self.endpoint(address)?.connect_lazy())
    }

    /// Builds the endpoint. An address without a scheme uses TLS if an authority or a certificate name is given.
    fn endpoint(&self, address: &str) -> Result<Endpoint, Failure> {
        let uri = match address {
            whole if whole.contains("://") || whole.starts_with("unix:") => whole.to_owned(),
            place if self.authority.is_some() || self.name.is_some() => format!("https://{place}"),
            place => format!("http://{place}"),
        };
        let encrypted = uri.starts_with("https://");
        let wrong = |_| {
            Failure::usage(format!(
                "`{address}` is not an address; expected HOST:PORT, https://HOST:PORT or unix:PATH"
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
                Failure::usage(format!("invalid certificates: {}", root_cause(&error)))
            })?;
        }
        Ok(endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEPALIVE)
            .keep_alive_timeout(KEEPALIVE)
            .tcp_nodelay(true))
    }
}

/// Returns the address to use without a flag: that of the settings, or the Unix socket if the port requires credentials and none are given.
pub(crate) fn default_address(
    config: &Config,
    paths: &Paths,
    credentials: &ClientCredentials,
) -> String {
    let server = &config.settings.server;
    let needs_credentials =
        config.settings.tls.certificate.is_some() || config.settings.asks_for_credentials();
    let socket = socket(&server.address, &server.socket, paths).filter(|path| path.exists());
    match socket.filter(|_| needs_credentials && credentials.is_empty()) {
        Some(path) => format!("unix:{}", path.display()),
        None if config.settings.tls.certificate.is_some() => {
            format!("https://{}", reachable_address(&server.address))
        }
        None => reachable_address(&server.address),
    }
}

/// Returns the address at which this machine reaches a daemon that listens at `address`.
fn reachable_address(address: &str) -> String {
    address.parse().map_or_else(|_| address.to_owned(), |all| nearby(all).to_string())
}

/// Returns whether `address` belongs to the daemon of these settings.
pub(crate) fn is_own(address: &str, config: &Config, paths: &Paths) -> bool {
    let server = &config.settings.server;
    let path = address.strip_prefix("unix:").map(PathBuf::from);
    let place = without_scheme(address);
    place == server.address
        || place == reachable_address(&server.address)
        || path.is_some() && path == socket(&server.address, &server.socket, paths)
}

/// Returns an address without its scheme.
fn without_scheme(address: &str) -> &str {
    address.split_once("://").map_or(address, |(_, place)| place).trim_end_matches('/')
}

/// Returns whether something listens at `HOST:PORT`, with or without a scheme, or at `unix:PATH`.
pub(crate) async fn is_listening(address: &str) -> bool {
    #[cfg(unix)]
    if let Some(path) = address.strip_prefix("unix:") {
        return tokio::net::UnixStream::connect(path).await.is_ok();
    }
    let connecting = tokio::net::TcpStream::connect(without_scheme(address));
    tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.is_ok_and(|outcome| outcome.is_ok())
}

/// Returns the Unix socket of the daemon at `address`; `setting` is the value of `server.socket`.
pub(crate) fn socket(address: &str, setting: &str, paths: &Paths) -> Option<PathBuf> {
    match (address.strip_prefix("unix:"), setting) {
        (Some(path), _) => Some(path.into()),
        (None, "auto") => paths.socket(port(address)?),
        (None, "none") => None,
        (None, path) => Some(path.into()),
    }
}

/// Returns the port at the end of an address.
pub(crate) fn port(address: &str) -> Option<u16> {
    address.rsplit_once(':')?.1.trim_end_matches('/').parse().ok()
}

fn header(token: &str, flag: &str) -> Result<HeaderValue, Failure> {
    let value = HeaderValue::from_str(&format!("Bearer {token}"));
    let mut value = value
        .map_err(|_| Failure::usage(format!("{flag}: the token contains invalid characters")))?;
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
        return Err(Failure::usage(format!("{} contains no PEM certificate", path.display())));
    }
    Ok(Certificate::from_pem(text))
}

/// Returns the message of the innermost cause of an error.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
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
    fn address_determines_socket() {
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
    fn wildcard_address_is_reached_at_loopback() {
        for (address, expected) in [
            ("0.0.0.0:9338", "127.0.0.1:9338"),
            ("[::]:9338", "[::1]:9338"),
            ("192.0.2.1:9338", "192.0.2.1:9338"),
            ("localhost:9338", "localhost:9338"),
        ] {
            assert_eq!(reachable_address(address), expected);
        }
    }

    #[test]
    fn token_is_last_line_of_file_and_hidden_in_debug_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "old-token\n# newer\n new-token \n\n").unwrap();
        let global = Global { token_file: Some(path.clone()), ..Global::default() };
        let credentials = ClientCredentials::read(&global).unwrap();
        assert_eq!(credentials.authorization().unwrap(), "Bearer new-token");
        assert!(!format!("{credentials:?}").contains("new-token"));
        std::fs::write(&path, "# nothing\n").unwrap();
        assert!(ClientCredentials::read(&global).unwrap_err().message.contains("no token"));
    }
}
