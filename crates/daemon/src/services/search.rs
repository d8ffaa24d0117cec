//! SearchService.

use tonic::{Request, Response, Status};
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::search_service_server::SearchService;

use super::Services;
use crate::convert;

#[tonic::async_trait]
impl SearchService for Services {
    async fn search(
        &self,
        request: Request<wire::SearchRequest>,
    ) -> Result<Response<wire::SearchResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let asked = convert::search::search_request(request.into_inner(), deadline)?;
        let answer = self.compute(deadline, move |vaults| vaults.engine().search(&asked)).await?;
        Ok(Response::new(convert::search::search_response(answer)))
    }
}
