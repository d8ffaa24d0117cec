//! Who may ask what: the credentials that are known, and the right that each call needs.
//!
//! A caller proves itself by the Unix socket, which the file system guards, by a client certificate, or by a token.
//! Where nothing is configured, a loopback address is open to everyone on the machine; a daemon on any other address does not start.

mod calls;
mod pass;
mod rate;
mod secrets;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use http::HeaderMap;
use http::header;
use serde::{Deserialize, Serialize};

use crate::config::{Config, Problem, Settings};
use crate::net::{Peer, Tls};

pub(crate) use calls::{Need, need};
pub(crate) use pass::Pass;
pub(crate) use rate::Rate;

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// Search, follow links, read notes.
    Read,
    /// That, change notes, and everything of the AdminService.
    Write,
}

/// What a client certificate alone allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CertificateRight {
    /// Nothing: a token is needed as well.
    None,
    /// To read.
    #[default]
    Read,
    /// Everything.
    Write,
}

impl CertificateRight {
    const fn right(self) -> Option<Right> {
        match self {
            Self::None => None,
            Self::Read => Some(Right::Read),
            Self::Write => Some(Right::Write),
        }
    }
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Principal {
    /// Somebody whom the file system let at the Unix socket.
    Socket,
    /// Who showed a token of this name.
    Token(Arc<str>, Right),
    /// Who showed a certificate with this fingerprint.
    Certificate(Arc<str>, Right),
    /// Anybody on this machine, where no credentials are asked for.
    Loopback,
    /// Somebody unknown who asks for nothing but the daemon's health.
    Probe,
}

impl Principal {
    const fn may(&self, need: Need) -> bool {
        let right = match self {
            Self::Socket | Self::Loopback => Right::Write,
            Self::Token(_, right) | Self::Certificate(_, right) => *right,
            Self::Probe => return matches!(need, Need::Health),
        };
        match need {
            Need::Health | Need::Read => true,
            Need::Write => matches!(right, Right::Write),
        }
    }

    /// How logs name it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Socket => "socket".to_owned(),
            Self::Token(name, _) => format!("token:{name}"),
            Self::Certificate(fingerprint, _) => format!("certificate:{fingerprint}"),
            Self::Loopback => "loopback".to_owned(),
            Self::Probe => "probe".to_owned(),
        }
    }
}

/// Why a request is turned away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No credential came with it.
    Nobody,
    /// The token is none that is known, or is written in a way that cannot be read.
    UnknownToken,
    /// The caller is known and may not do this.
    NotAllowed(Principal),
    /// The caller asks too often, and may come back after this time.
    TooOften(Principal, Duration),
}

/// The credentials in force.
#[derive(Debug)]
pub(crate) struct Credentials {
    /// What callers show.
    pub(crate) keyring: Keyring,
    /// What the daemon shows, and whose certificates it takes; nothing where it speaks no TLS.
    pub(crate) tls: Option<Tls>,
}

impl Credentials {
    /// Reads what the settings name, anew each time, so that what was renewed is taken over.
    ///
    /// Fails with everything that is wrong with it, all at once.
    pub(crate) fn load(config: &Config) -> Result<Self, Vec<Problem>> {
        match (Keyring::load(config), Tls::load(&config.settings.tls)) {
            (Ok(keyring), Ok(tls)) => Ok(Self { keyring, tls }),
            (keyring, tls) => {
                Err([keyring.err(), tls.err()].into_iter().flatten().flatten().collect())
            }
        }
    }

    /// The settings that name other secrets or certificates than `before`, though they may read the same.
    pub(crate) fn renewed(&self, before: &Self) -> Vec<&'static str> {
        let Self { keyring, tls } = self;
        let tokens = (keyring.tokens != before.keyring.tokens).then_some("access.tokens");
        let tls = tls.iter().zip(&before.tls).flat_map(|(tls, before)| tls.renewed(before));
        tokens.into_iter().chain(tls).collect()
    }
}

/// The tokens and certificates that callers show.
#[derive(Debug)]
pub(crate) struct Keyring {
    tokens: Vec<Token>,
    /// What certificates open, where callers show any.
    certificates: Option<CertificateRight>,
    open_health: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Token {
    name: Arc<str>,
    right: Right,
    hash: blake3::Hash,
}

impl Keyring {
    /// Reads the tokens that the settings name.
    ///
    /// Fails with everything that is wrong with them, all at once.
    fn load(config: &Config) -> Result<Self, Vec<Problem>> {
        let Settings { access, tls, .. } = &config.settings;
        let mut tokens = Vec::new();
        let mut problems = Vec::new();
        for source in &access.tokens {
            match secrets::read(source, config.environment()) {
                Ok(secrets) => tokens.extend(secrets.iter().map(|secret| Token {
                    name: source.name.as_str().into(),
                    right: source.right,
                    hash: blake3::hash(secret.as_bytes()),
                })),
                Err(reason) => problems.push(Problem { key: "access.tokens".to_owned(), reason }),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let certificates = tls.client_ca.as_ref().map(|_| tls.client_right);
        Ok(Self { tokens, certificates, open_health: access.open_health })
    }

    /// Whether a caller over TCP must prove who it is.
    pub(crate) fn is_required(&self) -> bool {
        !self.tokens.is_empty() || self.certificates.is_some()
    }

    /// Who asks, if it may do what it asks for.
    pub(crate) fn admit(
        &self,
        peer: &Peer,
        headers: &HeaderMap,
        need: Need,
    ) -> Result<Principal, Refusal> {
        let principal = match self.recognise(peer, headers) {
            Err(_) if self.open_health && need == Need::Health => Principal::Probe,
            recognised => recognised?,
        };
        if principal.may(need) { Ok(principal) } else { Err(Refusal::NotAllowed(principal)) }
    }

    fn recognise(&self, peer: &Peer, headers: &HeaderMap) -> Result<Principal, Refusal> {
        let certificate = match peer {
            Peer::Unix => return Ok(Principal::Socket),
            Peer::Tcp { .. } if !self.is_required() => return Ok(Principal::Loopback),
            Peer::Tcp { certificate, address: _ } => certificate,
        };
        if headers.contains_key(header::AUTHORIZATION) && !self.tokens.is_empty() {
            let token = presented(headers).and_then(|secret| self.token(&secret));
            let token = token.ok_or(Refusal::UnknownToken)?;
            return Ok(Principal::Token(Arc::clone(&token.name), token.right));
        }
        match (certificate, self.certificates.and_then(CertificateRight::right)) {
            (Some(fingerprint), Some(right)) => {
                Ok(Principal::Certificate(Arc::clone(fingerprint), right))
            }
            (_, _) => Err(Refusal::Nobody),
        }
    }

    /// The token that was presented. Takes the same time whatever is wrong with it: hashes are compared in constant time, and all of them.
    fn token(&self, secret: &[u8]) -> Option<&Token> {
        let hash = blake3::hash(secret);
        let better = |found, token| if token_matches(token, &hash) { Some(token) } else { found };
        self.tokens.iter().fold(None, better)
    }
}

fn token_matches(token: &Token, hash: &blake3::Hash) -> bool {
    // `blake3::Hash` compares in constant time.
    token.hash == *hash
}

/// The secret of an `authorization` header that stands once: a bearer's token, or the password that a browser asked a person for.
fn presented(headers: &HeaderMap) -> Option<Vec<u8>> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?.to_str().ok()?, values.next()) else { return None };
    let (scheme, rest) = value.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        Some(rest.as_bytes().to_vec())
    } else if scheme.eq_ignore_ascii_case("basic") {
        let pair = base64::engine::general_purpose::STANDARD.decode(rest).ok()?;
        let colon = pair.iter().position(|byte| *byte == b':')?;
        Some(pair[colon + 1..].to_vec())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: &str = "0123456789abcdef-read";
    const WRITE: &str = "0123456789abcdef-write";
    const OLD: &str = "0123456789abcdef-old-write";

    fn keyring(certificates: Option<CertificateRight>, open_health: bool) -> Keyring {
        let token = |name: &str, right, secret: &str| Token {
            name: name.into(),
            right,
            hash: blake3::hash(secret.as_bytes()),
        };
        let tokens = vec![
            token("reader", Right::Read, READ),
            token("owner", Right::Write, OLD),
            token("owner", Right::Write, WRITE),
        ];
        Keyring { tokens, certificates, open_health }
    }

    fn tcp(certificate: Option<&str>) -> Peer {
        Peer::Tcp { address: ([192, 0, 2, 1], 7).into(), certificate: certificate.map(Into::into) }
    }

    fn headers(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn tokens_open_what_they_are_for() {
        let keyring = keyring(None, false);
        let bearer = |secret: &str| format!("Bearer {secret}");
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("me:{READ}"));
        let reader = || Principal::Token("reader".into(), Right::Read);
        let owner = || Principal::Token("owner".into(), Right::Write);
        for (name, values, need, expected) in [
            ("nothing", vec![], Need::Read, Err(Refusal::Nobody)),
            ("health without a token", vec![], Need::Health, Err(Refusal::Nobody)),
            ("to read", vec![bearer(READ)], Need::Read, Ok(reader())),
            (
                "to read, asks to write",
                vec![bearer(READ)],
                Need::Write,
                Err(Refusal::NotAllowed(reader())),
            ),
            ("to write", vec![bearer(WRITE)], Need::Write, Ok(owner())),
            ("the one before", vec![bearer(OLD)], Need::Write, Ok(owner())),
            ("in lower case", vec![format!("bearer {READ}")], Need::Read, Ok(reader())),
            ("from a browser", vec![format!("Basic {basic}")], Need::Read, Ok(reader())),
            ("a beginning", vec![bearer(&READ[..20])], Need::Read, Err(Refusal::UnknownToken)),
            (
                "one too long",
                vec![bearer(&format!("{READ}x"))],
                Need::Read,
                Err(Refusal::UnknownToken),
            ),
            ("empty", vec!["Bearer ".to_owned()], Need::Read, Err(Refusal::UnknownToken)),
            (
                "another scheme",
                vec![format!("Digest {READ}")],
                Need::Read,
                Err(Refusal::UnknownToken),
            ),
            ("no scheme", vec![READ.to_owned()], Need::Read, Err(Refusal::UnknownToken)),
            ("two", vec![bearer(READ), bearer(WRITE)], Need::Read, Err(Refusal::UnknownToken)),
        ] {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            assert_eq!(keyring.admit(&tcp(None), &headers(&values), need), expected, "{name}");
        }
    }

    #[test]
    fn sockets_certificates_and_probes_are_told_apart() {
        let none = headers(&[]);
        let certificate = || Principal::Certificate("ab".into(), Right::Read);
        let open = Keyring { tokens: Vec::new(), certificates: None, open_health: false };
        assert_eq!(open.admit(&tcp(None), &none, Need::Write), Ok(Principal::Loopback));
        let keyring = |certificates| keyring(certificates, true);
        for (name, keyring, peer, need, expected) in [
            ("the socket", keyring(None), Peer::Unix, Need::Write, Ok(Principal::Socket)),
            ("a probe", keyring(None), tcp(None), Need::Health, Ok(Principal::Probe)),
            ("a probe that reads", keyring(None), tcp(None), Need::Read, Err(Refusal::Nobody)),
            (
                "a certificate",
                keyring(Some(CertificateRight::Read)),
                tcp(Some("ab")),
                Need::Read,
                Ok(certificate()),
            ),
            (
                "a certificate that writes",
                keyring(Some(CertificateRight::Read)),
                tcp(Some("ab")),
                Need::Write,
                Err(Refusal::NotAllowed(certificate())),
            ),
            (
                "a certificate that allows nothing",
                keyring(Some(CertificateRight::None)),
                tcp(Some("ab")),
                Need::Read,
                Err(Refusal::Nobody),
            ),
            (
                "a certificate that nobody asked for",
                keyring(None),
                tcp(Some("ab")),
                Need::Read,
                Err(Refusal::Nobody),
            ),
            (
                "a certificate that allows nothing, and there are no tokens",
                Keyring {
                    tokens: Vec::new(),
                    certificates: Some(CertificateRight::None),
                    open_health: false,
                },
                tcp(Some("ab")),
                Need::Read,
                Err(Refusal::Nobody),
            ),
        ] {
            assert_eq!(keyring.admit(&peer, &none, need), expected, "{name}");
        }
    }
}
