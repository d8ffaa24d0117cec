//! What let a request in, for as long as its answer goes on.

use http::header::{self, HeaderMap};
use tokio::sync::watch;

use super::{Credentials, Need, Refusal};
use crate::net::Peer;

/// What let a request in; it goes with the request.
#[derive(Clone)]
pub(crate) struct Pass {
    peer: Peer,
    /// The `authorization` of the request alone.
    shown: HeaderMap,
    need: Need,
    credentials: watch::Receiver<Credentials>,
}

impl Pass {
    /// The pass of a request with these headers, which the credentials that `credentials` has seen last let in.
    pub(crate) fn new(
        peer: Peer,
        headers: &HeaderMap,
        need: Need,
        credentials: watch::Receiver<Credentials>,
    ) -> Self {
        let values = headers.get_all(header::AUTHORIZATION).iter();
        let shown = values.map(|value| (header::AUTHORIZATION, value.clone())).collect();
        Self { peer, shown, need, credentials }
    }

    /// Returns when others are in force that would turn the request away; never where none come.
    pub(crate) async fn taken_away(mut self) -> Refusal {
        while self.credentials.changed().await.is_ok() {
            let Self { peer, shown, need, credentials } = &mut self;
            let admitted = credentials.borrow_and_update().keyring.admit(peer, shown, *need);
            if let Err(refusal) = admitted {
                return refusal;
            }
        }
        std::future::pending().await
    }
}
