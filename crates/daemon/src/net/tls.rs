//! Certificates and keys, as rustls wants them.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};

use crate::config::{Config, ConfigError, TlsSettings};

/// How the daemon shakes hands. Cloning shares it.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pub(super) server: Arc<ServerConfig>,
    /// Who vouches for clients, where they must show certificates.
    clients: Option<Arc<dyn ClientCertVerifier>>,
}

impl Tls {
    /// What the settings say of TLS; nothing where they name no certificate.
    ///
    /// Reads the files anew each time, so that renewed certificates are taken over.
    /// Fails with the setting whose file cannot be used.
    pub(crate) fn load(config: &Config) -> Result<Option<Self>, ConfigError> {
        let TlsSettings { certificate, key, client_ca, client_right: _ } = &config.settings.tls;
        let (Some(certificate), Some(key)) = (certificate, key) else { return Ok(None) };
        let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
        let refuse = |setting: &str, path: &Path, reason: &dyn std::fmt::Display| {
            config.refuse(setting, format!("{} cannot be used: {reason}", path.display()))
        };
        let chain = certificates(certificate)
            .map_err(|reason| refuse("tls.certificate", certificate, &reason))?;
        let private =
            PrivateKeyDer::from_pem_file(key).map_err(|reason| refuse("tls.key", key, &reason))?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|reason| refuse("tls.certificate", certificate, &reason))?;
        let clients = match client_ca {
            None => None,
            Some(path) => {
                let bad = |reason: &dyn std::fmt::Display| refuse("tls.client_ca", path, reason);
                let mut roots = RootCertStore::empty();
                for root in certificates(path).map_err(|reason| bad(&reason))? {
                    roots.add(root).map_err(|reason| bad(&reason))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                Some(verifier.build().map_err(|reason| bad(&reason))?)
            }
        };
        let builder = match &clients {
            None => builder.with_no_client_auth(),
            Some(clients) => builder.with_client_cert_verifier(Arc::clone(clients)),
        };
        let mut server = builder
            .with_single_cert(chain, private)
            .map_err(|reason| refuse("tls.certificate", certificate, &reason))?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Some(Self { server: Arc::new(server), clients }))
    }

    /// Whether a client that showed `chain` before would be let in now.
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

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())?;
    let found: Result<Vec<_>, _> = found.collect();
    match found {
        Ok(found) if found.is_empty() => Err("it holds no certificate".to_owned()),
        Ok(found) => Ok(found),
        Err(error) => Err(error.to_string()),
    }
}

/// The SHA-256 of a certificate in hexadecimal digits, as `openssl x509 -fingerprint -sha256` shows it, without colons.
pub(super) fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let suite = ring::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13();
    let Some(suite) = suite else { return String::new() };
    let mut text = String::new();
    for byte in suite.common.hash_provider.hash(certificate).as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
