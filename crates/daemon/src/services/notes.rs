//! NoteService.

use std::time::Instant;

use tonic::{Request, Response, Status};
use weft_engine::{Engine, ResolveRequest};
use weft_indexer::{Write, Wrote};
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::note_service_server::NoteService;

use super::Services;
use super::when::{Timed as _, When};
use crate::{convert, status};

#[tonic::async_trait]
impl NoteService for Services {
    async fn get_note(
        &self,
        request: Request<wire::GetNoteRequest>,
    ) -> Result<Response<wire::GetNoteResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let asked = convert::notes::note_request(request)?;
        // To wake a worker would take longer than to answer.
        let at_hand = if when == When::default() {
            self.vaults()?.engine().note_at_hand(&asked)
        } else {
            None
        };
        let answer = match at_hand {
            Some(answer) => answer,
            None => self.compute_when(deadline, when, move |engine| engine.note(&asked)).await?,
        };
        Ok(Response::new(convert::notes::note_response(answer)))
    }

    async fn list_notes(
        &self,
        request: Request<wire::ListNotesRequest>,
    ) -> Result<Response<wire::ListNotesResponse>, Status> {
        let read = convert::notes::list_request;
        self.answer(request, read, Engine::list, convert::notes::list_response).await
    }

    async fn resolve_link(
        &self,
        request: Request<wire::ResolveLinkRequest>,
    ) -> Result<Response<wire::ResolveLinkResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let when = request.when();
        let wire::ResolveLinkRequest { target, from, min_generation: _, as_of: _ } = request;
        let from = from.map(|from| convert::named("from", from)).transpose()?;
        let asked = ResolveRequest { target, from };
        let answer = self.compute_when(deadline, when, move |engine| engine.resolve(&asked));
        Ok(Response::new(convert::notes::resolve_response(answer.await?)))
    }

    async fn put_note(
        &self,
        request: Request<wire::PutNoteRequest>,
    ) -> Result<Response<wire::PutNoteResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let write = convert::write::put_request(request.into_inner())?;
        let wrote = self.write(deadline, write).await?;
        Ok(Response::new(convert::write::put_response(wrote)))
    }

    async fn delete_note(
        &self,
        request: Request<wire::DeleteNoteRequest>,
    ) -> Result<Response<wire::DeleteNoteResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let write = convert::write::delete_request(request.into_inner())?;
        let wrote = self.write(deadline, write).await?;
        Ok(Response::new(convert::write::delete_response(wrote)))
    }

    async fn move_note(
        &self,
        request: Request<wire::MoveNoteRequest>,
    ) -> Result<Response<wire::MoveNoteResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let write = convert::write::move_request(request.into_inner())?;
        let wrote = self.write(deadline, write).await?;
        Ok(Response::new(convert::write::move_response(wrote)))
    }
}

impl Services {
    /// Has something written. A write that has begun is done, also when its caller does not wait for it.
    async fn write(&self, deadline: Instant, write: Write) -> Result<Wrote, Status> {
        let work = self.change(move |vaults| vaults.indexer().write(write));
        let late = |_| status::write_is_late();
        let wrote = tokio::time::timeout_at(deadline.into(), work).await.map_err(late)??;
        wrote.map_err(|error| status::of_write(&error))
    }
}
