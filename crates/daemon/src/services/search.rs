//! SearchService.

use tonic::{Request, Response, Status};
use weft_engine::{Engine, EngineError, MissReason};
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::search_service_server::SearchService;

use super::Services;
use super::requested_state::HasRequestedState;
use super::streams::IndexStream;
use crate::{convert, status};

#[tonic::async_trait]
impl SearchService for Services {
    async fn search(
        &self,
        request: Request<wire::SearchRequest>,
    ) -> Result<Response<wire::SearchResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let state = request.requested_state();
        let parsed = convert::search::search_request(request)?;
        if parsed.searches_by_meaning() {
            self.wait_for_vectors(deadline, state).await?;
        }
        let answer =
            self.compute_with_warnings(deadline, state, move |engine| engine.search(&parsed));
        Ok(Response::new(convert::search::search_response(answer.await?)))
    }

    async fn why_not(
        &self,
        request: Request<wire::WhyNotRequest>,
    ) -> Result<Response<wire::WhyNotResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let state =
            request.search.as_ref().map(HasRequestedState::requested_state).unwrap_or_default();
        let parsed = convert::why_not::why_not_request(request)?;
        let note = parsed.note.clone();
        if parsed.search.searches_by_meaning() {
            self.wait_for_vectors(deadline, state).await?;
        }
        let unread = self.unread_files_warning(state);
        let answer = self.compute_at(deadline, state, move |engine| Ok(engine.why_not(&parsed)));
        let answer = answer.await.map_err(|status| status::within("search", status))?;
        let is_absent = match &answer {
            Ok(answer) => answer.miss_reason == MissReason::NotIndexed,
            Err(error) => matches!(error, EngineError::UnknownNote { .. }),
        };
        if is_absent {
            // The file may exist although no note does.
            let file = self.compute(deadline, move |vaults, _| {
                let generation = vaults.engine().snapshot().generation;
                Ok(vaults.indexer().unindexed_file(&note).map(|file| (file, generation)))
            });
            if let Some((file, generation)) = file.await? {
                return Ok(Response::new(convert::why_not::not_indexed(file, generation)));
            }
        }
        let mut answer =
            answer.map_err(|error| status::within("search", status::of_engine(&error)))?;
        answer.warnings.extend(unread);
        Ok(Response::new(convert::why_not::why_not_response(answer)))
    }

    async fn facets(
        &self,
        request: Request<wire::FacetsRequest>,
    ) -> Result<Response<wire::FacetsResponse>, Status> {
        let read = convert::facets::facets_request;
        self.answer(request, read, Engine::facets, convert::facets::facets_response).await
    }

    type WatchQueryStream = IndexStream<wire::WatchQueryResponse>;

    async fn watch_query(
        &self,
        request: Request<wire::WatchQueryRequest>,
    ) -> Result<Response<Self::WatchQueryStream>, Status> {
        Ok(Response::new(self.follow_query(request.into_inner())?))
    }
}
