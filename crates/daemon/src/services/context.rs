//! ContextService.

use std::ops::ControlFlow;

use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Request, Response, Status};
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::context_service_server::ContextService;

use super::Services;
use super::when::Timed as _;
use crate::convert;

#[tonic::async_trait]
impl ContextService for Services {
    async fn assemble(
        &self,
        request: Request<wire::AssembleRequest>,
    ) -> Result<Response<wire::AssembleResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let asked = convert::context::assemble_request(request)?;
        if asked.searches_by_meaning() {
            self.vectors_read(deadline, when).await?;
        }
        let answer = self.compute_told(deadline, when, move |engine| engine.context(&asked));
        Ok(Response::new(convert::context::assemble_response(answer.await?)))
    }

    type AssembleStreamStream = UnboundedReceiverStream<Result<wire::AssembleResponse, Status>>;

    async fn assemble_stream(
        &self,
        request: Request<wire::AssembleRequest>,
    ) -> Result<Response<Self::AssembleStreamStream>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let asked = convert::context::assemble_request(request)?;
        if asked.searches_by_meaning() {
            self.vectors_read(deadline, when).await?;
        }
        // Unbounded, so that a reader who pauses holds no worker: a context is no longer than its budget.
        let (pieces, messages) = mpsc::unbounded_channel();
        let services = self.clone();
        tokio::spawn(async move {
            let heard = pieces.clone();
            let work = services.compute_told(deadline, when, move |engine| {
                engine.context_in_pieces(&asked, |piece, generation| {
                    match heard.send(Ok(convert::context::piece(piece, generation))) {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(_) => ControlFlow::Break(()),
                    }
                })
            });
            tokio::select! {
                end = work => {
                    // An error means that nobody listens any more.
                    drop(pieces.send(end.map(convert::context::end)));
                }
                // Dropping the work ends it.
                () = pieces.closed() => {}
            }
        });
        Ok(Response::new(UnboundedReceiverStream::new(messages)))
    }
}
