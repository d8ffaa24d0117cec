//! GraphService.

use tonic::{Request, Response, Status};
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::graph_service_server::GraphService;

use super::{Pieces, Services, pieces};
use crate::convert::{self, walk};

#[tonic::async_trait]
impl GraphService for Services {
    async fn related(
        &self,
        request: Request<wire::RelatedRequest>,
    ) -> Result<Response<wire::RelatedResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let asked = convert::related::related_request(request.into_inner(), deadline)?;
        let answer = self.compute(deadline, move |vaults| vaults.engine().related(&asked)).await?;
        Ok(Response::new(convert::related::related_response(&answer)))
    }

    type ExportStream = Pieces<wire::ExportResponse>;

    async fn export(
        &self,
        request: Request<wire::ExportRequest>,
    ) -> Result<Response<Self::ExportStream>, Status> {
        let deadline = self.deadline(request.metadata());
        let filter = convert::filter(request.into_inner().filter)?;
        let graph = self.compute(deadline, move |vaults| vaults.engine().export(&filter)).await?;
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
    async fn tree(
        &self,
        request: Request<wire::TreeRequest>,
    ) -> Result<Response<wire::TreeResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let asked = walk::tree_request(request.into_inner())?;
        let answer = self.compute(deadline, move |vaults| vaults.engine().tree(&asked)).await?;
        Ok(Response::new(walk::tree_response(answer)))
    }

    async fn path(
        &self,
        request: Request<wire::PathRequest>,
    ) -> Result<Response<wire::PathResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let asked = walk::path_request(request.into_inner())?;
        let answer = self.compute(deadline, move |vaults| vaults.engine().path(&asked)).await?;
        Ok(Response::new(walk::path_response(answer)))
    }

    async fn neighbors(
        &self,
        request: Request<wire::NeighborsRequest>,
    ) -> Result<Response<wire::NeighborsResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let asked = walk::neighbors_request(request.into_inner())?;
        let answer =
            self.compute(deadline, move |vaults| vaults.engine().neighbors(&asked)).await?;
        Ok(Response::new(walk::neighbors_response(answer)))
    }

    async fn subgraph(
        &self,
        request: Request<wire::SubgraphRequest>,
    ) -> Result<Response<wire::SubgraphResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let asked = walk::subgraph_request(request.into_inner())?;
        let answer = self.compute(deadline, move |vaults| vaults.engine().subgraph(&asked)).await?;
        Ok(Response::new(walk::subgraph_response(answer)))
    }

    async fn cycles(
        &self,
        request: Request<wire::CyclesRequest>,
    ) -> Result<Response<wire::CyclesResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let asked = walk::cycles_request(request.into_inner())?;
        let answer = self.compute(deadline, move |vaults| vaults.engine().cycles(&asked)).await?;
        Ok(Response::new(walk::cycles_response(answer)))
    }

    async fn orphans(
        &self,
        request: Request<wire::OrphansRequest>,
    ) -> Result<Response<wire::OrphansResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let asked = walk::orphans_request(request.into_inner())?;
        let answer = self.compute(deadline, move |vaults| vaults.engine().orphans(&asked)).await?;
        Ok(Response::new(walk::orphans_response(answer)))
    }

    async fn unresolved(
        &self,
        request: Request<wire::UnresolvedRequest>,
    ) -> Result<Response<wire::UnresolvedResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let asked = walk::unresolved_request(request.into_inner())?;
        let answer =
            self.compute(deadline, move |vaults| vaults.engine().unresolved(&asked)).await?;
        Ok(Response::new(walk::unresolved_response(answer)))
    }
}
