//! ContextService.

use std::ops::ControlFlow;

use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Request, Response, Status};
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::context_service_server::ContextService;

use super::Services;
use super::requested_state::HasRequestedState as _;
use crate::convert;
use crate::fair_share;

#[tonic::async_trait]
impl ContextService for Services {
    async fn assemble(
        &self,
        request: Request<wire::AssembleRequest>,
    ) -> Result<Response<wire::AssembleResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let state = request.requested_state();
        let parsed = convert::context::assemble_request(request)?;
        if self.vaults()?.engine().assembles_by_meaning(&parsed) {
            self.wait_for_vectors(deadline, state).await?;
        }
        let answer =
            self.compute_with_warnings(deadline, state, move |engine| engine.context(&parsed));
        Ok(Response::new(convert::context::assemble_response(answer.await?)))
    }

    type AssembleStreamStream = UnboundedReceiverStream<Result<wire::AssembleResponse, Status>>;

    async fn assemble_stream(
        &self,
        request: Request<wire::AssembleRequest>,
    ) -> Result<Response<Self::AssembleStreamStream>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let state = request.requested_state();
        let parsed = convert::context::assemble_request(request)?;
        if self.vaults()?.engine().assembles_by_meaning(&parsed) {
            self.wait_for_vectors(deadline, state).await?;
        }
        // The channel is unbounded, so that a slow client does not hold a worker: a context is no longer than its budget.
        let (sender, messages) = mpsc::unbounded_channel();
        let services = self.clone();
        fair_share::spawn(async move {
            let parts = sender.clone();
            let work = services.compute_with_warnings(deadline, state, move |engine| {
                engine.stream_context(&parsed, |piece, generation| {
                    match parts.send(Ok(convert::context::piece(piece, generation))) {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(_) => ControlFlow::Break(()),
                    }
                })
            });
            tokio::select! {
                end = work => {
                    // An error means that the client has disconnected.
                    drop(sender.send(end.map(convert::context::end)));
                }
                // Dropping the future cancels the work.
                () = sender.closed() => {}
            }
        });
        Ok(Response::new(UnboundedReceiverStream::new(messages)))
    }
}
