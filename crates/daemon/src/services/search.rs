//! SearchService.

use tonic::{Request, Response, Status};
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::search_service_server::SearchService;

use super::Services;
use super::streams::Following;
use super::when::Timed as _;
use crate::convert;

#[tonic::async_trait]
impl SearchService for Services {
    async fn search(
        &self,
        request: Request<wire::SearchRequest>,
    ) -> Result<Response<wire::SearchResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let asked = convert::search::search_request(request, deadline)?;
        let answer = self.compute_when(deadline, when, move |engine| engine.search(&asked)).await?;
        Ok(Response::new(convert::search::search_response(answer)))
    }

    type WatchQueryStream = Following<wire::WatchQueryResponse>;

    async fn watch_query(
        &self,
        request: Request<wire::WatchQueryRequest>,
    ) -> Result<Response<Self::WatchQueryStream>, Status> {
        Ok(Response::new(self.follow_query(request.into_inner())?))
    }
}
