//! The services of the contract, however they are reached.

use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Service, StdError};
use tower::ServiceExt as _;
use tower::util::BoxCloneSyncService;
use weft_proto::noteweft::v1::context_service_client::ContextServiceClient;
use weft_proto::noteweft::v1::graph_service_client::GraphServiceClient;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;

/// Carries questions to where they are answered. What breaks on the way is a status, too.
pub(crate) type Transport = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, Status>;

/// Clients of the services that tools ask.
#[derive(Clone, Debug)]
pub(crate) struct Clients(Transport);

impl Clients {
    pub(crate) fn new<S>(transport: S) -> Self
    where
        S: Service<http::Request<Body>, Response = http::Response<Body>>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Error: Into<StdError>,
        S::Future: Send + 'static,
    {
        Self(Transport::new(transport.map_err(|error| Status::from_error(error.into()))))
    }

    pub(crate) fn search(&self) -> SearchServiceClient<Transport> {
        SearchServiceClient::new(self.0.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn contexts(&self) -> ContextServiceClient<Transport> {
        ContextServiceClient::new(self.0.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn graph(&self) -> GraphServiceClient<Transport> {
        GraphServiceClient::new(self.0.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn notes(&self) -> NoteServiceClient<Transport> {
        NoteServiceClient::new(self.0.clone()).max_decoding_message_size(usize::MAX)
    }
}
