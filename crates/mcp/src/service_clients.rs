//! Clients of the gRPC services over any transport.

use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Service, StdError};
use tower::ServiceExt as _;
use tower::util::BoxCloneSyncService;
use weft_proto::noteweft::v1::context_service_client::ContextServiceClient;
use weft_proto::noteweft::v1::graph_service_client::GraphServiceClient;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;

/// A transport of gRPC requests. Transport errors become statuses.
pub(crate) type GrpcTransport =
    BoxCloneSyncService<http::Request<Body>, http::Response<Body>, Status>;

/// Clients of the services that the tools call.
#[derive(Clone, Debug)]
pub(crate) struct Clients(GrpcTransport);

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
        Self(GrpcTransport::new(transport.map_err(|error| Status::from_error(error.into()))))
    }

    pub(crate) fn search(&self) -> SearchServiceClient<GrpcTransport> {
        SearchServiceClient::new(self.0.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn contexts(&self) -> ContextServiceClient<GrpcTransport> {
        ContextServiceClient::new(self.0.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn graph(&self) -> GraphServiceClient<GrpcTransport> {
        GraphServiceClient::new(self.0.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn notes(&self) -> NoteServiceClient<GrpcTransport> {
        NoteServiceClient::new(self.0.clone()).max_decoding_message_size(usize::MAX)
    }
}
