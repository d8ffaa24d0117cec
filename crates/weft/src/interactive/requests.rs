//! Requests of the interactive search, in the background: a newer one replaces the one before.

use std::sync::mpsc::Sender;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{
    FacetsRequest, GetNoteRequest, ListNotesRequest, LocateNoteRequest, LocateNoteResponse,
    SearchRequest,
};

use super::screen::{Input, Sequence};
use crate::client::Transport;
use crate::failure::Failure;

/// Time for which a request waits for a newer one, so that fast typing and scrolling send few.
const PAUSE: Duration = Duration::from_millis(20);

/// Sends requests and returns their answers as events.
pub(super) struct Requests {
    runtime: Handle,
    transport: Transport,
    events: Sender<Input>,
    search: Option<AbortHandle>,
    note: Option<AbortHandle>,
    facets: Option<AbortHandle>,
}

impl Requests {
    pub(super) const fn new(runtime: Handle, transport: Transport, events: Sender<Input>) -> Self {
        Self { runtime, transport, events, search: None, note: None, facets: None }
    }

    fn searches(&self) -> SearchServiceClient<Transport> {
        SearchServiceClient::new(self.transport.clone()).max_decoding_message_size(usize::MAX)
    }

    fn notes(&self) -> NoteServiceClient<Transport> {
        NoteServiceClient::new(self.transport.clone()).max_decoding_message_size(usize::MAX)
    }

    /// Runs `request` after a pause; its event is sent unless it is aborted.
    fn spawn(&self, request: impl Future<Output = Input> + Send + 'static) -> AbortHandle {
        let events = self.events.clone();
        let task = self.runtime.spawn(async move {
            tokio::time::sleep(PAUSE).await;
            // The receiver is gone when the search has ended.
            drop(events.send(request.await));
        });
        task.abort_handle()
    }

    /// Searches, instead of an earlier search or list.
    pub(super) fn search(&mut self, sequence: Sequence, request: SearchRequest) {
        let mut client = self.searches();
        let task = self.spawn(async move {
            let answer = client.search(request).await;
            Input::Found(sequence, answer.map(tonic::Response::into_inner).map_err(Failure::from))
        });
        replace(&mut self.search, task);
    }

    /// Lists notes, instead of an earlier search or list.
    pub(super) fn list(&mut self, sequence: Sequence, request: ListNotesRequest) {
        let mut client = self.notes();
        let task = self.spawn(async move {
            let answer = client.list_notes(request).await;
            Input::Listed(sequence, answer.map(tonic::Response::into_inner).map_err(Failure::from))
        });
        replace(&mut self.search, task);
    }

    /// Loads a note, instead of an earlier one.
    pub(super) fn load(
        &mut self,
        uri: String,
        (min_generation, as_of): (Option<u64>, Option<u64>),
    ) {
        let mut client = self.notes();
        let (name, max_links) = (uri.clone(), Some(1));
        let request = GetNoteRequest { name, max_links, min_generation, as_of };
        let task = self.spawn(async move {
            let answer = client.get_note(request).await;
            Input::Loaded(uri, answer.map(tonic::Response::into_inner).map_err(Failure::from))
        });
        replace(&mut self.note, task);
    }

    /// Counts folders and tags, instead of an earlier count.
    pub(super) fn count(&mut self, request: FacetsRequest) {
        let mut client = self.searches();
        let task = self.spawn(async move {
            let answer = client.facets(request).await;
            Input::Counted(answer.map(tonic::Response::into_inner).map_err(Failure::from))
        });
        replace(&mut self.facets, task);
    }

    /// Returns the place of a note; blocks until it is known.
    pub(super) fn locate(
        &self,
        name: String,
        offset: Option<u32>,
    ) -> Result<LocateNoteResponse, Failure> {
        let mut client = self.notes();
        let request = LocateNoteRequest { name, offset, min_generation: None };
        Ok(self.runtime.block_on(client.locate_note(request))?.into_inner())
    }
}

/// Cancels the earlier request: its answer would be outdated.
fn replace(slot: &mut Option<AbortHandle>, task: AbortHandle) {
    if let Some(earlier) = slot.replace(task) {
        earlier.abort();
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        for task in [&self.search, &self.note, &self.facets].into_iter().flatten() {
            task.abort();
        }
    }
}
