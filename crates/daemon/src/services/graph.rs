//! GraphService.

use tonic::{Request, Response, Status};
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::graph_service_server::GraphService;

use super::when::Timed as _;
use super::{Pieces, Services, pieces};
use crate::convert::{self, walk};

#[tonic::async_trait]
impl GraphService for Services {
    async fn related(
        &self,
        request: Request<wire::RelatedRequest>,
    ) -> Result<Response<wire::RelatedResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let asked = convert::related::related_request(request)?;
        let answer =
            self.compute_when(deadline, when, move |engine| engine.related(&asked)).await?;
        Ok(Response::new(convert::related::related_response(&answer)))
    }

    type ExportStream = Pieces<wire::ExportResponse>;

    async fn export(
        &self,
        request: Request<wire::ExportRequest>,
    ) -> Result<Response<Self::ExportStream>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let wire::ExportRequest { filter, min_generation: _, as_of: _ } = request;
        let filter = convert::filter(filter)?;
        let graph = self.compute_when(deadline, when, move |engine| engine.export(&filter)).await?;
        let weft_engine::Export { nodes, edges, generation } = graph;
        let nodes = pieces(nodes, |nodes| wire::ExportResponse {
            nodes: nodes.into_iter().map(convert::graph::export_node).collect(),
            edges: Vec::new(),
            generation,
        });
        let edges = pieces(edges, |edges| wire::ExportResponse {
            nodes: Vec::new(),
            edges: edges.into_iter().map(convert::graph::export_edge).collect(),
            generation,
        });
        let all: Vec<_> = nodes.into_iter().chain(edges).collect();
        Ok(Response::new(tokio_stream::iter(all)))
    }

    type DiffStream = Pieces<wire::DiffResponse>;

    async fn diff(
        &self,
        request: Request<wire::DiffRequest>,
    ) -> Result<Response<Self::DiffStream>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let wire::DiffRequest { from, min_generation: _, as_of: _ } = request;
        let after = self.compute_when(deadline, when, |engine| Ok(engine.snapshot())).await?;
        let diff = self.compute(deadline, move |vaults, _| {
            let before = vaults.earlier(from, after.generation);
            Ok(before.map(|before| weft_engine::Diff::between(&before, &after)))
        });
        let weft_engine::Diff { notes, links, from, generation } = diff.await??;
        let notes = pieces(notes, |notes| wire::DiffResponse {
            notes: notes.into_iter().map(convert::graph::note_change).collect(),
            links: Vec::new(),
            from,
            generation,
        });
        let links = pieces(links, |links| wire::DiffResponse {
            notes: Vec::new(),
            links: links.into_iter().map(convert::graph::link_change).collect(),
            from,
            generation,
        });
        let all: Vec<_> = notes.into_iter().chain(links).collect();
        Ok(Response::new(tokio_stream::iter(all)))
    }

    async fn tree(
        &self,
        request: Request<wire::TreeRequest>,
    ) -> Result<Response<wire::TreeResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let asked = walk::tree_request(request)?;
        let answer = self.compute_when(deadline, when, move |engine| engine.tree(&asked)).await?;
        Ok(Response::new(walk::tree_response(answer)))
    }

    async fn path(
        &self,
        request: Request<wire::PathRequest>,
    ) -> Result<Response<wire::PathResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let asked = walk::path_request(request)?;
        let answer = self.compute_when(deadline, when, move |engine| engine.path(&asked)).await?;
        Ok(Response::new(walk::path_response(answer)))
    }

    async fn topic_siblings(
        &self,
        request: Request<wire::TopicSiblingsRequest>,
    ) -> Result<Response<wire::TopicSiblingsResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let asked = convert::siblings::siblings_request(request)?;
        let answer =
            self.compute_when(deadline, when, move |engine| engine.siblings(&asked)).await?;
        Ok(Response::new(convert::siblings::siblings_response(answer)))
    }

    async fn neighbors(
        &self,
        request: Request<wire::NeighborsRequest>,
    ) -> Result<Response<wire::NeighborsResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let asked = walk::neighbors_request(request)?;
        let answer =
            self.compute_when(deadline, when, move |engine| engine.neighbors(&asked)).await?;
        Ok(Response::new(walk::neighbors_response(answer)))
    }

    async fn subgraph(
        &self,
        request: Request<wire::SubgraphRequest>,
    ) -> Result<Response<wire::SubgraphResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let asked = walk::subgraph_request(request)?;
        let answer =
            self.compute_when(deadline, when, move |engine| engine.subgraph(&asked)).await?;
        Ok(Response::new(walk::subgraph_response(answer)))
    }

    async fn cycles(
        &self,
        request: Request<wire::CyclesRequest>,
    ) -> Result<Response<wire::CyclesResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let asked = walk::cycles_request(request)?;
        let answer = self.compute_when(deadline, when, move |engine| engine.cycles(&asked)).await?;
        Ok(Response::new(walk::cycles_response(answer)))
    }

    async fn orphans(
        &self,
        request: Request<wire::OrphansRequest>,
    ) -> Result<Response<wire::OrphansResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let asked = walk::orphans_request(request)?;
        let unread = self.files_unread_now(when);
        let mut answer =
            self.compute_when(deadline, when, move |engine| engine.orphans(&asked)).await?;
        answer.degraded.extend(unread);
        Ok(Response::new(walk::orphans_response(answer)))
    }

    async fn unresolved(
        &self,
        request: Request<wire::UnresolvedRequest>,
    ) -> Result<Response<wire::UnresolvedResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let asked = walk::unresolved_request(request)?;
        let answer =
            self.compute_when(deadline, when, move |engine| engine.unresolved(&asked)).await?;
        Ok(Response::new(walk::unresolved_response(answer)))
    }
}
