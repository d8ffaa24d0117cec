//! Grants of access, which can be revoked while a response is streamed.

use http::header::{self, HeaderMap};
use tokio::sync::watch;

use super::{AccessRefusal, Credentials, RequiredAccess};
use crate::peer::Peer;

/// The grant that admitted a request; it travels with the request.
#[derive(Clone)]
pub(crate) struct AccessGrant {
    peer: Peer,
    /// The `authorization` headers of the request.
    authorization: HeaderMap,
    required_access: RequiredAccess,
    credentials: watch::Receiver<Credentials>,
}

impl AccessGrant {
    /// Creates the grant of a request with these headers, admitted under the newest credentials that `credentials` has received.
    pub(crate) fn new(
        peer: Peer,
        headers: &HeaderMap,
        required_access: RequiredAccess,
        credentials: watch::Receiver<Credentials>,
    ) -> Self {
        let values = headers.get_all(header::AUTHORIZATION).iter();
        let authorization = values.map(|value| (header::AUTHORIZATION, value.clone())).collect();
        Self { peer, authorization, required_access, credentials }
    }

    /// Completes when new credentials would refuse the request; never if none do.
    pub(crate) async fn revoked(mut self) -> AccessRefusal {
        while self.credentials.changed().await.is_ok() {
            let Self { peer, authorization, required_access, credentials } = &mut self;
            let admitted = credentials.borrow_and_update().keyring.admit(
                peer,
                authorization,
                *required_access,
            );
            if let Err(refusal) = admitted {
                return refusal;
            }
        }
        std::future::pending().await
    }
}
