//! `grpc.health.v1.Health`: reports whether the daemon serves, as a whole and by service, and whether its parts work without errors.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::server::NamedService as _;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::Health;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use weft_proto::noteweft::v1::admin_service_server::AdminServiceServer;
use weft_proto::noteweft::v1::context_service_server::ContextServiceServer;
use weft_proto::noteweft::v1::graph_service_server::GraphServiceServer;
use weft_proto::noteweft::v1::hygiene_service_server::HygieneServiceServer;
use weft_proto::noteweft::v1::note_service_server::NoteServiceServer;
use weft_proto::noteweft::v1::search_service_server::SearchServiceServer;

use super::Services;
use crate::status;

/// The empty name of the whole daemon, and every service; all have the same state.
const NAMES: [&str; 7] = [
    "",
    SearchServiceServer::<Services>::NAME,
    ContextServiceServer::<Services>::NAME,
    NoteServiceServer::<Services>::NAME,
    GraphServiceServer::<Services>::NAME,
    HygieneServiceServer::<Services>::NAME,
    AdminServiceServer::<Services>::NAME,
];

/// Names of the parts whose errors leave the daemon serving: the credentials that it loads, and the vectors of the notes.
const CREDENTIALS: &str = "credentials";
const VECTORS: &str = "vectors";

/// Interval at which a watched state is computed again.
const REFRESH: Duration = Duration::from_secs(1);

/// Health service: answers checks, and streams changes until the daemon stops.
pub(crate) struct Probe {
    services: Services,
    serving: watch::Receiver<bool>,
}

impl Services {
    /// Creates a health service that reports the value of `serving`.
    pub(crate) fn health(&self, serving: watch::Receiver<bool>) -> Probe {
        Probe { services: self.clone(), serving }
    }

    /// Returns the state of a service or part, or [`ServingStatus::ServiceUnknown`] if none has the name.
    fn health_state(&self, name: &str, is_serving: bool) -> ServingStatus {
        let is_healthy = match name {
            name if NAMES.contains(&name) => is_serving,
            CREDENTIALS => {
                self.0.server.get().is_none_or(|it| it.credentials.borrow().problems.is_empty())
            }
            VECTORS => self.index_status().is_some_and(|status| status.n_vectors_failed == 0),
            _ => return ServingStatus::ServiceUnknown,
        };
        if is_healthy { ServingStatus::Serving } else { ServingStatus::NotServing }
    }
}

fn message(state: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: state.into() }
}

#[tonic::async_trait]
impl Health for Probe {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let HealthCheckRequest { service } = request.into_inner();
        match self.services.health_state(&service, *self.serving.borrow()) {
            ServingStatus::ServiceUnknown => Err(status::unknown_service(&service)),
            state @ (ServingStatus::Unknown
            | ServingStatus::Serving
            | ServingStatus::NotServing) => Ok(Response::new(message(state))),
        }
    }

    type WatchStream = ReceiverStream<Result<HealthCheckResponse, Status>>;

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let HealthCheckRequest { service } = request.into_inner();
        let services = self.services.clone();
        let (mut serving, mut stopping) = (self.serving.clone(), services.0.stopping.subscribe());
        let (messages, stream) = mpsc::channel(1);
        tokio::spawn(async move {
            let mut reported = None;
            loop {
                let state = services.health_state(&service, *serving.borrow_and_update());
                if reported.replace(state) != Some(state)
                    && messages.send(Ok(message(state))).await.is_err()
                {
                    break;
                }
                // The last state is sent before the stream ends.
                let over = *stopping.borrow_and_update();
                if over {
                    break;
                }
                tokio::select! {
                    changed = serving.changed() => if changed.is_err() { break },
                    _ = stopping.changed() => {}
                    () = tokio::time::sleep(REFRESH) => {}
                    () = messages.closed() => break,
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}
