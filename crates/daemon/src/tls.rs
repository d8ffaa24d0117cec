//! TLS certificates and keys, loaded for rustls.

use std::fmt::{Display, Write as _};
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};

use crate::config::{Problem, TlsSettings};

/// TLS configuration of the server. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pub(super) server: Arc<ServerConfig>,
    /// Verifier of client certificates, if clients must present one.
    clients: Option<Arc<dyn ClientCertVerifier>>,
    /// Hash of the files of each setting.
    held: Vec<(&'static str, blake3::Hash)>,
}

impl Tls {
    /// Loads the certificates that the settings name; returns `None` if they name none.
    ///
    /// Fails with every setting whose file is invalid.
    pub(crate) fn load(settings: &TlsSettings) -> Result<Option<Self>, Vec<Problem>> {
        let TlsSettings { certificate, key, client_ca, client_permission: _ } = settings;
        let (Some(certificate), Some(key)) = (certificate, key) else { return Ok(None) };
        let chain = certificates(certificate).map_err(refused("tls.certificate", certificate));
        let private = PrivateKeyDer::from_pem_file(key).map_err(refused("tls.key", key));
        let clients = client_ca.as_deref().map(trusted_roots).transpose();
        let (chain, private, clients) = match (chain, private, clients) {
            (Ok(chain), Ok(private), Ok(clients)) => (chain, private, clients),
            (chain, private, clients) => {
                let problems = [chain.err(), private.err(), clients.err()];
                return Err(problems.into_iter().flatten().collect());
            }
        };
        let mut held = vec![
            ("tls.certificate", digest(chain.iter().map(AsRef::as_ref))),
            ("tls.key", digest([private.secret_der()])),
        ];
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| vec![refused("tls.certificate", certificate)(error)])?;
        let (builder, clients) = match clients {
            None => (builder.with_no_client_auth(), None),
            Some((clients, roots)) => {
                held.push(("tls.client_ca", digest(roots.iter().map(AsRef::as_ref))));
                (builder.with_client_cert_verifier(Arc::clone(&clients)), Some(clients))
            }
        };
        let mut server = builder
            .with_single_cert(chain, private)
            .map_err(|error| vec![refused("tls.certificate", certificate)(error)])?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Some(Self { server: Arc::new(server), clients, held }))
    }

    /// Loads the authorities of clients that the settings name; returns `None` if they name none.
    pub(crate) fn authorities(
        settings: &TlsSettings,
    ) -> Result<Option<Arc<dyn ClientCertVerifier>>, Problem> {
        let loaded = settings.client_ca.as_deref().map(trusted_roots).transpose()?;
        Ok(loaded.map(|(clients, _)| clients))
    }

    /// Replaces the authorities of clients, if clients must present a certificate and others are given.
    pub(crate) fn with_authorities(self, authorities: Option<Arc<dyn ClientCertVerifier>>) -> Self {
        let clients = self.clients.map(|before| authorities.unwrap_or(before));
        Self { clients, ..self }
    }

    /// Returns the settings whose files have changed since `before`.
    pub(crate) fn renewed<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = &'static str> + 'a {
        self.held.iter().filter(|held| !before.held.contains(held)).map(|(setting, _)| *setting)
    }

    /// Returns whether a client that presented `chain` would still be trusted.
    pub(super) fn trusts(&self, chain: &[CertificateDer<'_>]) -> bool {
        match (&self.clients, chain.split_first()) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(clients), Some((own, above))) => {
                clients.verify_client_cert(own, above, UnixTime::now()).is_ok()
            }
        }
    }
}

/// Loads the authorities in the file at `path`, with a verifier that trusts them.
fn trusted_roots(
    path: &Path,
) -> Result<(Arc<dyn ClientCertVerifier>, Vec<CertificateDer<'static>>), Problem> {
    let loaded = certificates(path).and_then(|roots| Ok((verifier(&roots)?, roots)));
    loaded.map_err(refused("tls.client_ca", path))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Builds the problem of a setting whose file at `path` is invalid.
fn refused<E: Display>(setting: &'static str, path: &Path) -> impl Fn(E) -> Problem {
    move |reason| {
        let reason = format!("{} cannot be used: {reason}", path.display());
        Problem { key: setting.to_owned(), reason }
    }
}

/// Returns the hash of the concatenated parts.
fn digest<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    pieces.into_iter().for_each(|piece| {
        hasher.update(&piece.len().to_le_bytes()).update(piece);
    });
    hasher.finalize()
}

/// Builds a verifier of client certificates that trusts these authorities.
fn verifier(roots: &[CertificateDer<'static>]) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut store = RootCertStore::empty();
    for root in roots {
        store.add(root.clone()).map_err(|error| error.to_string())?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(store), provider());
    verifier.build().map_err(|error| error.to_string())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())?;
    let found: Result<Vec<_>, _> = found.collect();
    match found {
        Ok(found) if found.is_empty() => Err("it contains no certificate".to_owned()),
        Ok(found) => Ok(found),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the SHA-256 of a certificate in hexadecimal digits, like `openssl x509 -fingerprint -sha256` without colons.
pub(super) fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let suite = ring::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13();
    let Some(suite) = suite else { return String::new() };
    let mut text = String::new();
    for byte in suite.common.hash_provider.hash(certificate).as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
