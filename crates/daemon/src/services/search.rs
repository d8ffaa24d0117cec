//! SearchService.

use tonic::{Request, Response, Status};
use weft_engine::{EngineError, Loss};
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::search_service_server::SearchService;

use super::Services;
use super::streams::Following;
use super::when::Timed;
use crate::{convert, status};

#[tonic::async_trait]
impl SearchService for Services {
    async fn search(
        &self,
        request: Request<wire::SearchRequest>,
    ) -> Result<Response<wire::SearchResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let asked = convert::search::search_request(request)?;
        if asked.searches_by_meaning() {
            self.vectors_read(deadline, when).await?;
        }
        let answer = self.compute_told(deadline, when, move |engine| engine.search(&asked));
        Ok(Response::new(convert::search::search_response(answer.await?)))
    }

    async fn why_not(
        &self,
        request: Request<wire::WhyNotRequest>,
    ) -> Result<Response<wire::WhyNotResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.search.as_ref().map(Timed::when).unwrap_or_default();
        let asked = convert::why_not::why_not_request(request)?;
        let note = asked.note.clone();
        if asked.search.searches_by_meaning() {
            self.vectors_read(deadline, when).await?;
        }
        let unread = self.files_unread_now(when);
        let answer = self.compute_when(deadline, when, move |engine| Ok(engine.why_not(&asked)));
        let answer = answer.await.map_err(|status| status::within("search", status))?;
        let is_absent = match &answer {
            Ok(answer) => answer.loss == Loss::NotIndexed,
            Err(error) => matches!(error, EngineError::UnknownNote { .. }),
        };
        if is_absent {
            // A file may be there although no note is.
            let file = self.compute(deadline, move |vaults, _| {
                let generation = vaults.engine().snapshot().generation;
                Ok(vaults.indexer().absent(&note).map(|file| (file, generation)))
            });
            if let Some((file, generation)) = file.await? {
                return Ok(Response::new(convert::why_not::not_indexed(file, generation)));
            }
        }
        let mut answer =
            answer.map_err(|error| status::within("search", status::of_engine(&error)))?;
        answer.degraded.extend(unread);
        Ok(Response::new(convert::why_not::why_not_response(answer)))
    }

    type WatchQueryStream = Following<wire::WatchQueryResponse>;

    async fn watch_query(
        &self,
        request: Request<wire::WatchQueryRequest>,
    ) -> Result<Response<Self::WatchQueryStream>, Status> {
        Ok(Response::new(self.follow_query(request.into_inner())?))
    }
}
