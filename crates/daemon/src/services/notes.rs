//! NoteService.

use std::sync::Arc;
use std::time::Instant;

use tonic::{Request, Response, Status};
use weft_engine::hygiene::LinkedText;
use weft_engine::{Engine, EngineError, ResolveRequest};
use weft_indexer::{Precondition, WriteContent, WriteOutcome, WriteRequest, file_position};
use weft_model::NotePath;
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::note_service_server::NoteService;

use super::Services;
use super::requested_state::{HasRequestedState as _, RequestedState};
use crate::config::NoteOpener;
use crate::{convert, status};

#[tonic::async_trait]
impl NoteService for Services {
    async fn get_note(
        &self,
        request: Request<wire::GetNoteRequest>,
    ) -> Result<Response<wire::GetNoteResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let state = request.requested_state();
        let parsed = convert::notes::note_request(request)?;
        // Waking a worker would take longer than answering.
        if state == RequestedState::default() {
            let snapshot = self.vaults()?.engine().snapshot();
            let engine = self.vaults()?.engine().over(Arc::clone(&snapshot));
            if let Some(answer) = engine.note_if_cheap(&parsed) {
                let response = convert::notes::note_response(answer);
                let checked = snapshot.check_truncation().map_err(EngineError::from);
                checked.map_err(|error| status::of_engine(&error))?;
                return Ok(Response::new(response));
            }
        }
        let answer = self.compute_at(deadline, state, move |engine| {
            engine.note(&parsed).map(convert::notes::note_response)
        });
        Ok(Response::new(answer.await?))
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
        let state = request.requested_state();
        let wire::ResolveLinkRequest { target, from, min_generation: _, as_of: _ } = request;
        let from = from.map(|from| convert::named("from", from)).transpose()?;
        let parsed = ResolveRequest { target, from };
        let answer = self.compute_at(deadline, state, move |engine| engine.resolve(&parsed));
        Ok(Response::new(convert::notes::resolve_response(answer.await?)))
    }

    async fn locate_note(
        &self,
        request: Request<wire::LocateNoteRequest>,
    ) -> Result<Response<wire::LocateNoteResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let request = request.into_inner();
        let min_generation = request.min_generation;
        let state = RequestedState { min_generation, as_of: None };
        let parsed = convert::notes::place_request(request)?;
        let place = self.compute_at(deadline, state, move |engine| engine.place(&parsed)).await?;
        if let Some(node) = self.vaults()?.node() {
            return Err(status::no_file(&place, node.collection()));
        }
        let (vault, offset) = (place.vault.clone(), place.offset);
        let path = NotePath::new(place.path.clone());
        let found = self.compute(deadline, move |vaults, _| {
            let settings = vaults.config().settings.clone();
            let root = vaults.root(&vault);
            let position = root.map(|root| file_position(&root, &settings.scan, &path, offset));
            Ok((position, settings.open.opener()))
        });
        let (position, opener) = found.await?;
        let position = match position {
            Some(position) => position.map_err(|error| status::of_file(&error))?,
            // The vault was removed from the settings after the note was found.
            None => return Err(status::vault_removed(&place.vault)),
        };
        // An invalid setting is refused at the start.
        let opener = opener.unwrap_or(NoteOpener::Editor);
        Ok(Response::new(convert::notes::place_response(place, position, &opener)))
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

    async fn link_mentions(
        &self,
        request: Request<wire::LinkMentionsRequest>,
    ) -> Result<Response<wire::LinkMentionsResponse>, Status> {
        let deadline = self.deadline(request.metadata());
        let (note, expected, mentions) =
            convert::hygiene::link_mentions_request(request.into_inner())?;
        let linked = self.compute_at(deadline, RequestedState::default(), move |engine| {
            engine.linked_text(&note, expected, &mentions)
        });
        let LinkedText { vault, path, body, links } = linked.await?;
        // The file may have changed since it was indexed, so the write checks the hash again.
        let write = WriteRequest::Put {
            vault: Some(vault),
            path,
            content: WriteContent::Body(body),
            expected: Precondition::Hash(expected),
        };
        let wrote = self.write(deadline, write).await?;
        Ok(Response::new(convert::hygiene::link_mentions_response(wrote, links)))
    }
}

impl Services {
    /// Applies a write. A write that has begun completes even if its client disconnects.
    async fn write(&self, deadline: Instant, write: WriteRequest) -> Result<WriteOutcome, Status> {
        let work = self.run_on_writer(move |vaults| vaults.indexer().write(write));
        let late = |_| status::write_deadline_exceeded();
        let wrote = tokio::time::timeout_at(deadline.into(), work).await.map_err(late)??;
        wrote.map_err(|error| status::of_write(&error))
    }
}
