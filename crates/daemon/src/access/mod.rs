//! Authentication and authorization: the credentials in force, and the permission that each method requires.
//!
//! A client authenticates by the Unix socket, which file permissions protect, by a client certificate, or by a token.
//! Without configured credentials, a loopback address is open to everyone on the machine, and a daemon on any other address does not start.

mod grant;
mod rate_limit;
mod required_access;
mod token_secrets;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use http::HeaderMap;
use http::header;

use crate::config::{CertificatePermission, Config, Permission, Problem, Settings};
use crate::peer::Peer;
use crate::tls::Tls;

pub(crate) use grant::AccessGrant;
pub(crate) use rate_limit::RateLimiter;
pub(crate) use required_access::{RequiredAccess, required_access};

/// An authenticated client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Principal {
    /// A client that the file system admitted to the Unix socket.
    Socket,
    /// A client with the token of this name.
    Token(Arc<str>, Permission),
    /// A client with the certificate of this fingerprint.
    Certificate(Arc<str>, Permission),
    /// Any client on this machine, if no credentials are configured.
    Loopback,
    /// An unauthenticated client that only checks health.
    Probe,
}

impl Principal {
    const fn may(&self, required_access: RequiredAccess) -> bool {
        let permission = match self {
            Self::Socket | Self::Loopback => Permission::Write,
            Self::Token(_, permission) | Self::Certificate(_, permission) => *permission,
            Self::Probe => return matches!(required_access, RequiredAccess::Health),
        };
        match required_access {
            RequiredAccess::Health | RequiredAccess::Read => true,
            RequiredAccess::Write => matches!(permission, Permission::Write),
        }
    }

    /// Returns the name used in logs.
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

/// Reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AccessRefusal {
    /// The request carries no credential.
    NoCredential,
    /// The token is unknown or malformed.
    UnknownToken,
    /// The client lacks the permission.
    Forbidden(Principal),
    /// The client's token is bound to collections that this daemon does not serve.
    OtherCollection(Principal),
    /// The client exceeds the rate limit, and may retry after this time.
    RateLimited(Principal, Duration),
    /// All connections are busy, and one more would exceed their limit.
    NoRoom,
}

/// The credentials in force.
#[derive(Debug)]
pub(crate) struct Credentials {
    /// Tokens and certificates of clients.
    pub(crate) keyring: Keyring,
    /// The daemon's certificate and the authorities it trusts; `None` without TLS.
    pub(crate) tls: Option<Tls>,
    /// Tokens and certificates that the last reload could not load; they grant nothing.
    pub(crate) problems: Vec<Problem>,
}

impl Credentials {
    /// Loads the files that the settings name.
    ///
    /// Fails with every problem.
    pub(crate) fn load(config: &Config) -> Result<Self, Vec<Problem>> {
        let (keyring, mut problems) = Keyring::load(config);
        let tls = Tls::load(&config.settings.tls);
        match tls {
            Ok(tls) if problems.is_empty() => Ok(Self { keyring, tls, problems }),
            tls => {
                problems.extend(tls.err().into_iter().flatten());
                Err(problems)
            }
        }
    }

    /// Loads the files again, so that renewed files take effect.
    ///
    /// Never fails: a token or an authority that cannot be loaded grants nothing, and the daemon keeps its own certificate.
    /// A port that required credentials still does, even if none are left: then it refuses every client.
    pub(crate) fn reload(&self, config: &Config) -> Self {
        let Settings { tls: settings, .. } = &config.settings;
        let (mut keyring, mut problems) = Keyring::load(config);
        keyring.is_required |= self.keyring.is_required;
        // Another collection is served only after a restart.
        keyring.collection.clone_from(&self.keyring.collection);
        let invalid = settings
            .problems()
            .into_iter()
            .map(|(key, reason)| Problem { key: format!("tls.{key}"), reason });
        problems.extend(invalid);
        let is_valid = !problems.iter().any(|problem| problem.key.starts_with("tls."));
        let tls = match Tls::load(settings) {
            Ok(tls) if is_valid => tls,
            tls => {
                problems.extend(tls.err().into_iter().flatten());
                let authorities = Tls::authorities(settings);
                if authorities.is_err() {
                    keyring.certificates =
                        keyring.certificates.map(|_| CertificatePermission::None);
                }
                let before = self.tls.clone();
                before.map(|tls| tls.with_authorities(authorities.ok().flatten()))
            }
        };
        Self { keyring, tls, problems }
    }

    /// Returns the settings whose secrets or certificates differ from those of `before`, even if the settings themselves are equal.
    pub(crate) fn renewed(&self, before: &Self) -> Vec<&'static str> {
        let Self { keyring, tls, problems: _ } = self;
        let tokens = (keyring.tokens != before.keyring.tokens).then_some("access.tokens");
        let tls = tls.iter().zip(&before.tls).flat_map(|(tls, before)| tls.renewed(before));
        tokens.into_iter().chain(tls).collect()
    }
}

/// The tokens and certificates that clients may present.
#[derive(Debug)]
pub(crate) struct Keyring {
    tokens: Vec<AcceptedToken>,
    /// Permission of client certificates, if clients present any.
    certificates: Option<CertificatePermission>,
    /// True if clients over TCP must authenticate, whether or not a token could be loaded.
    is_required: bool,
    unauthenticated_health: bool,
    /// The collection that the daemon serves; `None` for folders.
    collection: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct AcceptedToken {
    name: Arc<str>,
    permission: Permission,
    /// Collections that the token gives access to; `None` for all of them and for folders.
    collections: Option<Arc<[String]>>,
    hash: blake3::Hash,
}

impl AcceptedToken {
    /// Returns whether the token gives access to a daemon that serves `collection`, or folders if that is `None`.
    fn opens(&self, collection: Option<&String>) -> bool {
        let Some(bound) = &self.collections else { return true };
        collection.is_some_and(|collection| bound.contains(collection))
    }
}

impl Keyring {
    /// Loads the tokens that the settings name; returns the problems of those that cannot be loaded.
    fn load(config: &Config) -> (Self, Vec<Problem>) {
        let Settings { access, tls, cluster, .. } = &config.settings;
        let mut tokens = Vec::new();
        let mut problems = Vec::new();
        for source in &access.tokens {
            let collections: Option<Arc<[String]>> = source.collections.clone().map(Into::into);
            match token_secrets::read(source, config.environment()) {
                Ok(secrets) => tokens.extend(secrets.iter().map(|secret| AcceptedToken {
                    name: source.name.as_str().into(),
                    permission: source.permission,
                    collections: collections.clone(),
                    hash: blake3::hash(secret.as_bytes()),
                })),
                Err(reason) => problems.push(Problem { key: "access.tokens".to_owned(), reason }),
            }
        }
        let keyring = Self {
            tokens,
            certificates: tls.client_ca.as_ref().map(|_| tls.client_permission),
            is_required: config.settings.asks_for_credentials(),
            unauthenticated_health: access.unauthenticated_health,
            collection: cluster.collection.clone(),
        };
        (keyring, problems)
    }

    /// Returns whether clients over TCP must authenticate.
    pub(crate) const fn is_required(&self) -> bool {
        self.is_required
    }

    /// Authenticates the client and checks its permission.
    pub(crate) fn admit(
        &self,
        peer: &Peer,
        headers: &HeaderMap,
        required_access: RequiredAccess,
    ) -> Result<Principal, AccessRefusal> {
        let principal = match self.recognise(peer, headers) {
            Err(_) if self.unauthenticated_health && required_access == RequiredAccess::Health => {
                Principal::Probe
            }
            recognised => recognised?,
        };
        if principal.may(required_access) {
            Ok(principal)
        } else {
            Err(AccessRefusal::Forbidden(principal))
        }
    }

    fn recognise(&self, peer: &Peer, headers: &HeaderMap) -> Result<Principal, AccessRefusal> {
        let certificate = match peer {
            Peer::Unix => return Ok(Principal::Socket),
            Peer::Tcp { .. } if !self.is_required() => return Ok(Principal::Loopback),
            Peer::Tcp { certificate, address: _ } => certificate,
        };
        // Without tokens, a client certificate counts, whatever else the client sends.
        let has_tokens = !self.tokens.is_empty() || self.certificates.is_none();
        if headers.contains_key(header::AUTHORIZATION) && has_tokens {
            let token = presented(headers).and_then(|secret| self.token(&secret));
            let token = token.ok_or(AccessRefusal::UnknownToken)?;
            let principal = Principal::Token(Arc::clone(&token.name), token.permission);
            return if token.opens(self.collection.as_ref()) {
                Ok(principal)
            } else {
                Err(AccessRefusal::OtherCollection(principal))
            };
        }
        match (certificate, self.certificates.and_then(CertificatePermission::permission)) {
            (Some(fingerprint), Some(permission)) => {
                Ok(Principal::Certificate(Arc::clone(fingerprint), permission))
            }
            (_, _) => Err(AccessRefusal::NoCredential),
        }
    }

    /// Returns the token with this secret. Runs in constant time: it compares hashes in constant time, and compares all of them.
    fn token(&self, secret: &[u8]) -> Option<&AcceptedToken> {
        let hash = blake3::hash(secret);
        let better = |found, token| if token_matches(token, &hash) { Some(token) } else { found };
        self.tokens.iter().fold(None, better)
    }
}

fn token_matches(token: &AcceptedToken, hash: &blake3::Hash) -> bool {
    // `blake3::Hash` compares in constant time.
    token.hash == *hash
}

/// Returns the secret of an `authorization` header that occurs once: a bearer token, or the password entered in a browser.
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

/// Returns whether the sender of `request` has authenticated, so that a page of a foreign site cannot have sent it on its own.
pub(crate) fn is_authenticated<B>(request: &http::Request<B>) -> bool {
    match request.extensions().get::<Principal>() {
        None | Some(Principal::Loopback) => false,
        Some(
            Principal::Socket
            | Principal::Token(..)
            | Principal::Certificate(..)
            | Principal::Probe,
        ) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: &str = "0123456789abcdef-read";
    const WRITE: &str = "0123456789abcdef-write";
    const OLD: &str = "0123456789abcdef-old-write";

    fn keyring(
        certificates: Option<CertificatePermission>,
        unauthenticated_health: bool,
    ) -> Keyring {
        let token = |name: &str, permission, secret: &str| AcceptedToken {
            name: name.into(),
            permission,
            collections: None,
            hash: blake3::hash(secret.as_bytes()),
        };
        let tokens = vec![
            token("reader", Permission::Read, READ),
            token("owner", Permission::Write, OLD),
            token("owner", Permission::Write, WRITE),
        ];
        Keyring {
            tokens,
            certificates,
            is_required: true,
            unauthenticated_health,
            collection: None,
        }
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
    fn tokens_grant_their_permission() {
        let keyring = keyring(None, false);
        let bearer = |secret: &str| format!("Bearer {secret}");
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("me:{READ}"));
        let reader = || Principal::Token("reader".into(), Permission::Read);
        let owner = || Principal::Token("owner".into(), Permission::Write);
        for (name, values, required_access, expected) in [
            ("nothing", vec![], RequiredAccess::Read, Err(AccessRefusal::NoCredential)),
            (
                "health without a token",
                vec![],
                RequiredAccess::Health,
                Err(AccessRefusal::NoCredential),
            ),
            ("to read", vec![bearer(READ)], RequiredAccess::Read, Ok(reader())),
            (
                "to read, asks to write",
                vec![bearer(READ)],
                RequiredAccess::Write,
                Err(AccessRefusal::Forbidden(reader())),
            ),
            ("to write", vec![bearer(WRITE)], RequiredAccess::Write, Ok(owner())),
            ("the one before", vec![bearer(OLD)], RequiredAccess::Write, Ok(owner())),
            ("in lower case", vec![format!("bearer {READ}")], RequiredAccess::Read, Ok(reader())),
            ("from a browser", vec![format!("Basic {basic}")], RequiredAccess::Read, Ok(reader())),
            (
                "a beginning",
                vec![bearer(&READ[..20])],
                RequiredAccess::Read,
                Err(AccessRefusal::UnknownToken),
            ),
            (
                "one too long",
                vec![bearer(&format!("{READ}x"))],
                RequiredAccess::Read,
                Err(AccessRefusal::UnknownToken),
            ),
            (
                "empty",
                vec!["Bearer ".to_owned()],
                RequiredAccess::Read,
                Err(AccessRefusal::UnknownToken),
            ),
            (
                "another scheme",
                vec![format!("Digest {READ}")],
                RequiredAccess::Read,
                Err(AccessRefusal::UnknownToken),
            ),
            (
                "no scheme",
                vec![READ.to_owned()],
                RequiredAccess::Read,
                Err(AccessRefusal::UnknownToken),
            ),
            (
                "two",
                vec![bearer(READ), bearer(WRITE)],
                RequiredAccess::Read,
                Err(AccessRefusal::UnknownToken),
            ),
        ] {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            assert_eq!(
                keyring.admit(&tcp(None), &headers(&values), required_access),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn token_opens_the_collections_that_it_is_bound_to() {
        let both = ["team", "diary"];
        for (name, bound, served, expected) in [
            ("the one", Some(&both[..1]), Some("team"), true),
            ("the second of two", Some(&both[..]), Some("diary"), true),
            ("another one", Some(&both[..1]), Some("diary"), false),
            ("a longer name", Some(&both[..1]), Some("team2"), false),
            ("another case", Some(&both[..1]), Some("Team"), false),
            ("folders", Some(&both[..]), None, false),
            ("an unbound token", None, Some("team"), true),
            ("an unbound token, folders", None, None, true),
        ] {
            let mut keyring = keyring(None, true);
            keyring.collection = served.map(str::to_owned);
            let bound: Option<Vec<String>> =
                bound.map(|names| names.iter().map(|&name| name.to_owned()).collect());
            keyring.tokens[0].collections = bound.map(Into::into);
            let bearer = headers(&[&format!("Bearer {READ}")]);
            let principal = Principal::Token("reader".into(), Permission::Read);
            for required in [RequiredAccess::Read, RequiredAccess::Write] {
                let admitted = keyring.admit(&tcp(None), &bearer, required);
                let other = Err(AccessRefusal::OtherCollection(principal.clone()));
                assert_eq!(admitted != other, expected, "{name}: {admitted:?}");
            }
            let health = keyring.admit(&tcp(None), &bearer, RequiredAccess::Health);
            assert_eq!(health == Ok(Principal::Probe), !expected, "{name}: {health:?}");
        }
    }

    #[test]
    fn sockets_certificates_and_probes_are_distinguished() {
        let none = headers(&[]);
        let certificate = || Principal::Certificate("ab".into(), Permission::Read);
        let without_tokens = |certificates, is_required| Keyring {
            tokens: Vec::new(),
            certificates,
            is_required,
            unauthenticated_health: false,
            collection: None,
        };
        let open = without_tokens(None, false);
        assert_eq!(open.admit(&tcp(None), &none, RequiredAccess::Write), Ok(Principal::Loopback));
        let keyring = |certificates| keyring(certificates, true);
        for (name, keyring, peer, required_access, expected) in [
            ("the socket", keyring(None), Peer::Unix, RequiredAccess::Write, Ok(Principal::Socket)),
            ("a probe", keyring(None), tcp(None), RequiredAccess::Health, Ok(Principal::Probe)),
            (
                "a probe that reads",
                keyring(None),
                tcp(None),
                RequiredAccess::Read,
                Err(AccessRefusal::NoCredential),
            ),
            (
                "a certificate",
                keyring(Some(CertificatePermission::Read)),
                tcp(Some("ab")),
                RequiredAccess::Read,
                Ok(certificate()),
            ),
            (
                "a certificate that writes",
                keyring(Some(CertificatePermission::Read)),
                tcp(Some("ab")),
                RequiredAccess::Write,
                Err(AccessRefusal::Forbidden(certificate())),
            ),
            (
                "a certificate that allows nothing",
                keyring(Some(CertificatePermission::None)),
                tcp(Some("ab")),
                RequiredAccess::Read,
                Err(AccessRefusal::NoCredential),
            ),
            (
                "a certificate without a configured authority",
                keyring(None),
                tcp(Some("ab")),
                RequiredAccess::Read,
                Err(AccessRefusal::NoCredential),
            ),
            (
                "a certificate that allows nothing, and there are no tokens",
                without_tokens(Some(CertificatePermission::None), true),
                tcp(Some("ab")),
                RequiredAccess::Read,
                Err(AccessRefusal::NoCredential),
            ),
            (
                "a client after the last token was revoked",
                without_tokens(None, true),
                tcp(None),
                RequiredAccess::Read,
                Err(AccessRefusal::NoCredential),
            ),
        ] {
            assert_eq!(keyring.admit(&peer, &none, required_access), expected, "{name}");
        }
    }
}
