//! Connection strings, read from a file so that no secret is on a command line.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::ClusterError;

/// Parameter that names a file with the certificates to trust, in PEM; `tokio-postgres` does not know it.
const ROOT_CERTIFICATE: &str = "sslrootcert=";

/// Time within which a connection must be made.
const CONNECT: Duration = Duration::from_secs(10);

/// A connection string of PostgreSQL. Its `Debug` and `Display` show neither user nor password.
#[derive(Clone)]
pub struct Dsn {
    pub(crate) config: Config,
    /// File with the certificates to trust; `None` for those that browsers trust.
    pub(crate) root_certificates: Option<PathBuf>,
}

impl Dsn {
    /// Reads a connection string from the first line of a file.
    ///
    /// Both forms of `libpq` are accepted: `key=value` pairs and a URL; `sslrootcert` names a file with the certificates to trust.
    /// Connections to other machines are encrypted and those to this one are not, unless the string sets `sslmode`; the certificate of the server is always verified.
    pub fn read(path: &Path) -> Result<Self, ClusterError> {
        if path.to_str().is_some_and(is_connection_string) {
            return Err(ClusterError::DsnAsPath);
        }
        let text = std::fs::read_to_string(path)
            .map_err(|source| ClusterError::Read { path: path.to_owned(), source })?;
        let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Self::parse(line.trim()).ok_or_else(|| ClusterError::Dsn { path: path.to_owned() })
    }

    /// Parses a connection string; returns `None` if it is invalid.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (text, root_certificates) = without_root_certificate(text);
        let mut config: Config = text.parse().ok()?;
        if config.get_hosts().is_empty() {
            return None;
        }
        if !text.contains("sslmode=") {
            let is_remote = config.get_hosts().iter().any(is_remote);
            config.ssl_mode(if is_remote { SslMode::Require } else { SslMode::Disable });
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name("noteweft");
        }
        Some(Self { config, root_certificates })
    }
}

/// Returns true if text in place of a path is a connection string, valid or not: a URL, or pairs with a password or a host.
fn is_connection_string(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_key = |key: &str| {
        let mut after = lower.match_indices(key).map(|(at, _)| &lower[at + key.len()..]);
        after.any(|rest| rest.trim_start().starts_with('='))
    };
    lower.contains("://") || is_key("password") || is_key("host")
}

impl fmt::Display for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.config.get_hosts().iter().map(shown).collect();
        write!(f, "{}/{}", hosts.join(","), self.config.get_dbname().unwrap_or("?"))
    }
}

impl fmt::Debug for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dsn({self})")
    }
}

fn shown(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    }
}

/// Returns true if packets to a host may leave this machine.
fn is_remote(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name != "localhost"
                && !name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => false,
    }
}

/// Separates the file of trusted certificates from the other parameters.
fn without_root_certificate(text: &str) -> (String, Option<PathBuf>) {
    let (base, parameters, separator) = match text.split_once('?') {
        Some((base, parameters)) if text.starts_with("postgres") => {
            (format!("{base}?"), parameters, '&')
        }
        _ => (String::new(), text, ' '),
    };
    let is_file = |part: &&str| part.starts_with(ROOT_CERTIFICATE);
    let file = parameters.split(separator).find(is_file);
    let Some(file) = file else { return (text.to_owned(), None) };
    let others: Vec<&str> = parameters.split(separator).filter(|part| !is_file(part)).collect();
    let others = others.join(&separator.to_string());
    (base + &others, Some(PathBuf::from(&file[ROOT_CERTIFICATE.len()..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_string_given_as_path_is_not_shown() {
        for string in [
            "postgresql://node:moss@db.example/notes",
            "postgres://node:moss@db.example:wrong/notes",
            "host=db.example user=node password=moss",
            "host=db.example passwd=x password=moss",
            // The settings put the folder of their file before a path.
            "/etc/weft/host=db.example user=node PASSWORD = moss",
        ] {
            let error = Dsn::read(Path::new(string)).unwrap_err();
            assert!(
                matches!(error, ClusterError::DsnAsPath) && !error.to_string().contains("moss")
            );
        }
    }

    #[test]
    fn connection_string_is_parsed_and_never_shown() {
        let cases = [
            (
                "pairs",
                "host=db.example user=node password=moss dbname=notes",
                Some(("db.example/notes", SslMode::Require, None)),
            ),
            (
                "a URL with certificates",
                "postgresql://node:moss@db.example/notes?sslrootcert=/etc/ca.pem&application_name=x",
                Some(("db.example/notes", SslMode::Require, Some("/etc/ca.pem"))),
            ),
            (
                "several hosts",
                "host=a,b port=1,2 dbname=notes password=moss target_session_attrs=read-write",
                Some(("a,b/notes", SslMode::Require, None)),
            ),
            (
                "this machine",
                "host=127.0.0.1 dbname=notes password=moss",
                Some(("127.0.0.1/notes", SslMode::Disable, None)),
            ),
            (
                "encryption disabled",
                "host=db.example dbname=notes password=moss sslmode=disable",
                Some(("db.example/notes", SslMode::Disable, None)),
            ),
            ("an unknown parameter", "host=a moss=1", None),
            ("no host", "dbname=notes password=moss", None),
            ("nothing", "", None),
        ];
        for (name, text, expected) in cases {
            let dsn = Dsn::parse(text);
            let found = dsn.as_ref().map(|dsn| {
                let file = dsn.root_certificates.as_ref().and_then(|path| path.to_str());
                (dsn.to_string(), dsn.config.get_ssl_mode(), file)
            });
            let expected = expected.map(|(place, mode, file)| (place.to_owned(), mode, file));
            assert_eq!(found, expected, "{name}");
            assert!(!format!("{dsn:?}").contains("moss"), "{name}");
        }
    }

    #[test]
    fn invalid_file_is_named_without_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("postgres.dsn");
        std::fs::write(&path, "\n  host=db secret word\n").unwrap();
        let error = Dsn::read(&path).unwrap_err().to_string();
        assert!(error.contains("postgres.dsn") && !error.contains("secret"), "{error}");
        std::fs::write(&path, "\n  host=db dbname=notes\n").unwrap();
        assert_eq!(Dsn::read(&path).unwrap().to_string(), "db/notes");
    }
}
