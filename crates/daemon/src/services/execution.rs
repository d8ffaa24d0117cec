//! Execution of requests over the index state they ask for.

use std::sync::Arc;
use std::time::Instant;

use tonic::{Request, Response, Status};
use weft_engine::context::{ContextAnswer, ContextSummary};
use weft_engine::hygiene::{
    BrokenLinksAnswer, DuplicatesAnswer, StaleNotesAnswer, SuggestedLinksAnswer,
};
use weft_engine::walk::{
    CyclesAnswer, NeighborsAnswer, PathAnswer, SubgraphAnswer, TreeAnswer, UnresolvedAnswer,
};
use weft_engine::{
    Engine, EngineError, Export, FacetsAnswer, ListAnswer, RelatedAnswer, SearchAnswer,
    SiblingsAnswer, Warning,
};
use weft_index::Vectors;
use weft_indexer::FileCoverage;
use weft_model::Stop;

use super::Services;
use super::requested_state::{HasRequestedState, RequestedState};
use crate::fair_share::Place;
use crate::status::{self, RequestError};

/// An answer that carries warnings.
pub(super) trait HasWarnings {
    /// Returns the warnings of the answer.
    fn warnings(&mut self) -> &mut Vec<Warning>;
}

macro_rules! has_warnings {
    ($($answer:ident $(: $part:ident)?),+ $(,)?) => {$(
        impl HasWarnings for $answer {
            fn warnings(&mut self) -> &mut Vec<Warning> {
                &mut self.$($part.)?warnings
            }
        }
    )+};
}

has_warnings! {
    BrokenLinksAnswer, ContextAnswer: summary, ContextSummary, CyclesAnswer, DuplicatesAnswer,
    Export, FacetsAnswer, ListAnswer, NeighborsAnswer, PathAnswer, RelatedAnswer, SearchAnswer,
    SiblingsAnswer, StaleNotesAnswer, SubgraphAnswer, SuggestedLinksAnswer, TreeAnswer,
    UnresolvedAnswer,
}

impl Services {
    /// Runs a request: parses the message, computes the answer over the requested state, and encodes it.
    pub(super) async fn answer<
        R: HasRequestedState,
        Q: Send + 'static,
        A: HasWarnings,
        W: Send + 'static,
    >(
        &self,
        request: Request<R>,
        read: impl FnOnce(R) -> Result<Q, Status>,
        compute: impl FnOnce(&Engine, &Q) -> Result<A, EngineError> + Send + 'static,
        write: impl FnOnce(A) -> W + Send + 'static,
    ) -> Result<Response<W>, Status> {
        let deadline = self.deadline(request.metadata());
        let state = request.get_ref().requested_state();
        let parsed = read(request.into_inner())?;
        let unread = self.unread_files_warning(state);
        // The answer may refer to the snapshot, so it is encoded before the snapshot is checked.
        let answer = self.compute_at(deadline, state, move |engine| {
            let mut answer = compute(engine, &parsed)?;
            answer.warnings().extend(unread);
            Ok(write(answer))
        });
        Ok(Response::new(answer.await?))
    }

    /// Computes an answer as [`compute_at`](Self::compute_at) does, and adds a warning if some files are not scanned yet.
    pub(super) async fn compute_with_warnings<A: HasWarnings + Send + 'static>(
        &self,
        deadline: Instant,
        state: RequestedState,
        compute: impl FnOnce(&Engine) -> Result<A, EngineError> + Send + 'static,
    ) -> Result<A, Status> {
        // The warning is taken before the computation, so that a file scanned meanwhile is at worst reported as unread.
        let unread = self.unread_files_warning(state);
        let mut answer = self.compute_at(deadline, state, compute).await?;
        answer.warnings().extend(unread);
        Ok(answer)
    }

    /// Computes an answer over the requested state on a blocking thread, as soon as a worker is free.
    pub(super) async fn compute_at<T: Send + 'static>(
        &self,
        deadline: Instant,
        state: RequestedState,
        compute: impl FnOnce(&Engine) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, Status> {
        let RequestedState { min_generation, as_of } = state;
        match (min_generation, as_of) {
            (Some(_), Some(_)) => {
                let reason = "cannot be combined with `min_generation`; set one of them";
                return Err(status::invalid("as_of", reason));
            }
            (Some(generation), None) => self.wait_for_generation(deadline, generation).await?,
            (None, _) => {}
        }
        let is_initial_scan = self.initial_scan_warning()?.is_some();
        let answer = self.compute(deadline, move |vaults, stop| {
            let snapshot = match as_of {
                None => vaults.engine().snapshot(),
                Some(generation) => vaults.indexer().at(generation)?,
            };
            let engine = vaults.engine().over(Arc::clone(&snapshot)).until(stop.clone());
            let answer = compute(&engine);
            // Neither an answer nor an error means anything if files were truncated under the request.
            snapshot.check_truncation().map_err(EngineError::from)?;
            answer.map_err(|error| {
                let EngineError::UnknownNote { name, .. } = &error else { return error.into() };
                // A note whose file has not been scanned yet is not missing.
                if is_initial_scan {
                    return RequestError::Unread;
                }
                // Files are known as they are now.
                match vaults.indexer().unindexed_file(name).filter(|_| as_of.is_none()) {
                    Some(FileCoverage { path, reason, .. }) => RequestError::NotIndexed {
                        name: name.clone(),
                        path,
                        reason: reason.unwrap_or_default(),
                    },
                    None => error.into(),
                }
            })
        });
        answer.await
    }

    /// Waits until the stored vectors are loaded, as long as the deadline allows.
    ///
    /// The request waits here, so that it does not occupy a worker meanwhile.
    pub(super) async fn wait_for_vectors(
        &self,
        deadline: Instant,
        state: RequestedState,
    ) -> Result<(), Status> {
        let mut generations = self.vaults()?.generations();
        // The vaults are held only for a moment, so that the daemon can stop.
        let is_loading = || {
            let snapshot = self.vaults()?.engine().snapshot();
            // Past generations have no vectors.
            let is_requested = state.as_of.is_none_or(|parsed| parsed == snapshot.generation);
            let vectors = snapshot.vectors.as_ref().filter(|_| is_requested);
            Ok::<_, Status>(vectors.is_some_and(Vectors::is_loading))
        };
        if !is_loading()? {
            return Ok(());
        }
        let _place = self.acquire_stream()?;
        let read = async {
            loop {
                generations.mark_unchanged();
                if !is_loading()? || generations.changed().await.is_err() {
                    return Ok(());
                }
            }
        };
        let wait_until = Stop::at(deadline).soft_deadline().unwrap_or(deadline);
        tokio::select! {
            read = tokio::time::timeout_at(wait_until.into(), read) => read.unwrap_or(Ok(())),
            () = self.stopping() => Err(status::stopping()),
        }
    }

    /// Waits until a generation can be queried.
    pub(super) async fn wait_for_generation(
        &self,
        deadline: Instant,
        generation: u64,
    ) -> Result<(), Status> {
        let mut generations = self.vaults()?.generations();
        // The vaults are held only for a moment, so that the daemon can stop.
        let holds =
            || self.vaults_if_open().is_some_and(|vaults| vaults.indexer().holds(generation));
        if holds() {
            return Ok(());
        }
        let _place = self.acquire_stream()?;
        let reached = generations.wait_for(|_| holds());
        let outcome = tokio::select! {
            outcome = tokio::time::timeout_at(deadline.into(), reached) => outcome,
            () = self.stopping() => return Err(status::stopping()),
        };
        match outcome.map(|reached| reached.map(drop)) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(status::stopping()),
            Err(_) => {
                let newest = *generations.borrow();
                Err(if generation <= newest {
                    status::recovering(generation)
                } else {
                    status::generation_not_reached(generation, newest)
                })
            }
        }
    }

    /// Waits until the daemon begins to stop.
    async fn stopping(&self) {
        // An error means that the sender was dropped, which also ends the daemon.
        drop(self.0.stopping.subscribe().wait_for(|stopping| *stopping).await);
    }

    /// Acquires a permit for a stream or a long wait; fails if none is free.
    pub(super) fn acquire_stream(&self) -> Result<Place, Status> {
        let place = self.0.streams.take();
        place.map_err(|error| status::too_many_streams(self.0.limits.max_streams, error))
    }
}
