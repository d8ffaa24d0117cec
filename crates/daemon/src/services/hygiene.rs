//! HygieneService.

use tonic::{Request, Response, Status};
use weft_engine::Engine;
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::hygiene_service_server::HygieneService;

use super::Services;
use crate::convert::hygiene;

#[tonic::async_trait]
impl HygieneService for Services {
    async fn duplicates(
        &self,
        request: Request<wire::DuplicatesRequest>,
    ) -> Result<Response<wire::DuplicatesResponse>, Status> {
        self.answer(
            request,
            hygiene::duplicates_request,
            Engine::duplicates,
            hygiene::duplicates_response,
        )
        .await
    }

    async fn suggested_links(
        &self,
        request: Request<wire::SuggestedLinksRequest>,
    ) -> Result<Response<wire::SuggestedLinksResponse>, Status> {
        self.answer(
            request,
            hygiene::suggested_links_request,
            Engine::suggested_links,
            hygiene::suggested_links_response,
        )
        .await
    }

    async fn stale_notes(
        &self,
        request: Request<wire::StaleNotesRequest>,
    ) -> Result<Response<wire::StaleNotesResponse>, Status> {
        self.answer(
            request,
            hygiene::stale_notes_request,
            Engine::stale_notes,
            hygiene::stale_notes_response,
        )
        .await
    }

    async fn broken_links(
        &self,
        request: Request<wire::BrokenLinksRequest>,
    ) -> Result<Response<wire::BrokenLinksResponse>, Status> {
        self.answer(
            request,
            hygiene::broken_links_request,
            Engine::broken_links,
            hygiene::broken_links_response,
        )
        .await
    }
}
