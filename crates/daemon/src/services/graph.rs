//! GraphService.

use tonic::{Request, Response, Status};
use weft_engine::Engine;
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::graph_service_server::GraphService;

use super::requested_state::HasRequestedState as _;
use super::{MessageStream, Services, messages_of};
use crate::convert::{self, related, siblings, walk};

#[tonic::async_trait]
impl GraphService for Services {
    async fn related(
        &self,
        request: Request<wire::RelatedRequest>,
    ) -> Result<Response<wire::RelatedResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let state = request.get_ref().requested_state();
        let parsed = related::related_request(request.into_inner())?;
        let continued = parsed.continued_generation().filter(|_| state.as_of.is_none());
        if let (Some(generation), Some(_)) = (continued, self.vaults()?.node()) {
            // The page before may come from a node that had applied more commits.
            self.wait_for_generation(deadline, generation).await?;
        }
        if self.vaults()?.engine().relates_by_meaning(&parsed) {
            self.wait_for_vectors(deadline, state).await?;
        }
        let answer =
            self.compute_with_warnings(deadline, state, move |engine| engine.related(&parsed));
        Ok(Response::new(related::related_response(&answer.await?)))
    }

    type ExportStream = MessageStream<wire::ExportResponse>;

    async fn export(
        &self,
        request: Request<wire::ExportRequest>,
    ) -> Result<Response<Self::ExportStream>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let state = request.requested_state();
        let wire::ExportRequest { filter, min_generation: _, as_of: _ } = request;
        let filter = convert::filter(filter)?;
        let graph = self
            .compute_with_warnings(deadline, state, move |engine| engine.export(&filter))
            .await?;
        let weft_engine::Export { nodes, edges, mut warnings, generation } = graph;
        let nodes = messages_of(nodes, |nodes| wire::ExportResponse {
            nodes: nodes.into_iter().map(convert::graph::export_node).collect(),
            generation,
            warnings: convert::warnings(std::mem::take(&mut warnings)),
            ..wire::ExportResponse::default()
        });
        let edges = messages_of(edges, |edges| wire::ExportResponse {
            edges: edges.into_iter().map(convert::graph::export_edge).collect(),
            generation,
            ..wire::ExportResponse::default()
        });
        let all: Vec<_> = nodes.into_iter().chain(edges).collect();
        Ok(Response::new(tokio_stream::iter(all)))
    }

    type DiffStream = MessageStream<wire::DiffResponse>;

    async fn diff(
        &self,
        request: Request<wire::DiffRequest>,
    ) -> Result<Response<Self::DiffStream>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let state = request.requested_state();
        let wire::DiffRequest { from_generation: from, min_generation: _, as_of: _ } = request;
        let after = self.compute_at(deadline, state, |engine| Ok(engine.snapshot())).await?;
        let diff = self.compute(deadline, move |vaults, _| {
            let before = vaults.earlier(from, after.generation)?;
            Ok(weft_engine::Diff::between(&before, &after))
        });
        let weft_engine::Diff { notes, links, from, generation } = diff.await?;
        let notes = messages_of(notes, |notes| wire::DiffResponse {
            notes: notes.into_iter().map(convert::graph::note_change).collect(),
            links: Vec::new(),
            from_generation: from,
            generation,
        });
        let links = messages_of(links, |links| wire::DiffResponse {
            notes: Vec::new(),
            links: links.into_iter().map(convert::graph::link_change).collect(),
            from_generation: from,
            generation,
        });
        let all: Vec<_> = notes.into_iter().chain(links).collect();
        Ok(Response::new(tokio_stream::iter(all)))
    }

    async fn tree(
        &self,
        request: Request<wire::TreeRequest>,
    ) -> Result<Response<wire::TreeResponse>, Status> {
        self.answer(request, walk::tree_request, Engine::tree, walk::tree_response).await
    }

    async fn path(
        &self,
        request: Request<wire::PathRequest>,
    ) -> Result<Response<wire::PathResponse>, Status> {
        self.answer(request, walk::path_request, Engine::path, walk::path_response).await
    }

    async fn topic_siblings(
        &self,
        request: Request<wire::TopicSiblingsRequest>,
    ) -> Result<Response<wire::TopicSiblingsResponse>, Status> {
        self.answer(
            request,
            siblings::siblings_request,
            Engine::siblings,
            siblings::siblings_response,
        )
        .await
    }

    async fn neighbors(
        &self,
        request: Request<wire::NeighborsRequest>,
    ) -> Result<Response<wire::NeighborsResponse>, Status> {
        self.answer(request, walk::neighbors_request, Engine::neighbors, walk::neighbors_response)
            .await
    }

    async fn subgraph(
        &self,
        request: Request<wire::SubgraphRequest>,
    ) -> Result<Response<wire::SubgraphResponse>, Status> {
        self.answer(request, walk::subgraph_request, Engine::subgraph, walk::subgraph_response)
            .await
    }

    async fn cycles(
        &self,
        request: Request<wire::CyclesRequest>,
    ) -> Result<Response<wire::CyclesResponse>, Status> {
        self.answer(request, walk::cycles_request, Engine::cycles, walk::cycles_response).await
    }

    async fn orphans(
        &self,
        request: Request<wire::OrphansRequest>,
    ) -> Result<Response<wire::OrphansResponse>, Status> {
        self.answer(request, walk::orphans_request, Engine::orphans, walk::orphans_response).await
    }

    async fn unresolved(
        &self,
        request: Request<wire::UnresolvedRequest>,
    ) -> Result<Response<wire::UnresolvedResponse>, Status> {
        self.answer(
            request,
            walk::unresolved_request,
            Engine::unresolved,
            walk::unresolved_response,
        )
        .await
    }
}
