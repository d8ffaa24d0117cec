//! GraphService.

use tonic::{Request, Response, Status};
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::graph_service_server::GraphService;

use super::{Pieces, Services, pieces};
use crate::convert;

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
}
