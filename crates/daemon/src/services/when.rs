//! Which state answers: the newest, one not older than asked for, or a past one.

use std::sync::Arc;
use std::time::Instant;

use tonic::{Request, Response, Status};
use weft_engine::context::{ContextAnswer, ContextSummary};
use weft_engine::walk::{
    CyclesAnswer, NeighborsAnswer, PathAnswer, SubgraphAnswer, TreeAnswer, UnresolvedAnswer,
};
use weft_engine::{
    Engine, EngineError, Export, ListAnswer, RelatedAnswer, SearchAnswer, SiblingsAnswer,
};
use weft_index::Vectors;
use weft_model::Stop;
use weft_proto::noteweft::v1 as wire;

use super::Services;
use crate::status::{self, Unanswered};

/// Which state answers a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct When {
    /// It holds this generation.
    pub(super) min_generation: Option<u64>,
    /// It is this generation.
    pub(super) as_of: Option<u64>,
}

/// A request that says which state answers.
pub(super) trait Timed {
    /// Which state answers.
    fn when(&self) -> When;
}

macro_rules! timed {
    ($($request:ident),+ $(,)?) => {$(
        impl Timed for wire::$request {
            fn when(&self) -> When {
                When { min_generation: self.min_generation, as_of: self.as_of }
            }
        }
    )+};
}

timed! {
    AssembleRequest, CyclesRequest, DiffRequest, ExportRequest, GetNoteRequest, ListNotesRequest, NeighborsRequest,
    OrphansRequest, PathRequest, RelatedRequest, ResolveLinkRequest, SearchRequest, SubgraphRequest,
    TopicSiblingsRequest, TreeRequest, UnresolvedRequest,
}

/// An answer that says what it lacks.
pub(super) trait Told {
    /// What it lacks, a line each.
    fn degraded(&mut self) -> &mut Vec<String>;
}

macro_rules! told {
    ($($answer:ident $(: $part:ident)?),+ $(,)?) => {$(
        impl Told for $answer {
            fn degraded(&mut self) -> &mut Vec<String> {
                &mut self.$($part.)?degraded
            }
        }
    )+};
}

told! {
    ContextAnswer: summary, ContextSummary, CyclesAnswer, Export, ListAnswer, NeighborsAnswer, PathAnswer,
    RelatedAnswer, SearchAnswer, SiblingsAnswer, SubgraphAnswer, TreeAnswer, UnresolvedAnswer,
}

impl Services {
    /// Answers a question over the state it asks for: reads the request, computes the answer, writes it.
    pub(super) async fn answer<R: Timed, Q: Send + 'static, A: Told + Send + 'static, W>(
        &self,
        request: Request<R>,
        read: impl FnOnce(R) -> Result<Q, Status>,
        question: impl FnOnce(&Engine, &Q) -> Result<A, EngineError> + Send + 'static,
        write: impl FnOnce(A) -> W,
    ) -> Result<Response<W>, Status> {
        let deadline = self.deadline(request.metadata());
        let when = request.get_ref().when();
        let asked = read(request.into_inner())?;
        let answer = self.compute_told(deadline, when, move |engine| question(engine, &asked));
        Ok(Response::new(write(answer.await?)))
    }

    /// Computes an answer as [`compute_when`](Self::compute_when) does, and has it say which files are not read yet.
    pub(super) async fn compute_told<A: Told + Send + 'static>(
        &self,
        deadline: Instant,
        when: When,
        question: impl FnOnce(&Engine) -> Result<A, EngineError> + Send + 'static,
    ) -> Result<A, Status> {
        // What is read while the question waits is told as unread, and not the other way round.
        let unread = self.files_unread_now(when);
        let mut answer = self.compute_when(deadline, when, question).await?;
        answer.degraded().extend(unread);
        Ok(answer)
    }

    /// Computes an answer over the state asked for, on a blocking thread as soon as a worker is free.
    pub(super) async fn compute_when<T: Send + 'static>(
        &self,
        deadline: Instant,
        when: When,
        question: impl FnOnce(&Engine) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, Status> {
        let When { min_generation, as_of } = when;
        match (min_generation, as_of) {
            (Some(_), Some(_)) => {
                let reason = "what is past is not waited for; give `min_generation` or `as_of`";
                return Err(status::invalid("as_of", reason));
            }
            (Some(generation), None) => self.reach(deadline, generation).await?,
            (None, _) => {}
        }
        let is_first_look = self.files_unread()?.is_some();
        let answer = self.compute(deadline, move |vaults, stop| {
            let engine = match as_of {
                None => vaults.engine().until(stop.clone()),
                Some(generation) => vaults.engine_at(generation)?.until(stop.clone()),
            };
            question(&engine).map_err(|error| {
                // A note whose file was not read yet is not missing.
                let is_missing = matches!(error, EngineError::UnknownNote { .. });
                if is_missing && is_first_look { Unanswered::Unread } else { error.into() }
            })
        });
        answer.await
    }

    /// Waits until the stored vectors are read back, as long as an answer can be in time: who waits for them on a worker keeps it from others.
    pub(super) async fn vectors_read(&self, deadline: Instant, when: When) -> Result<(), Status> {
        let mut generations = self.vaults()?.generations();
        // The vaults are held for a moment only, so that the daemon can stop.
        let is_being_read = || {
            let snapshot = self.vaults()?.engine().snapshot();
            // What is past has no vectors.
            let is_asked = when.as_of.is_none_or(|asked| asked == snapshot.generation);
            let vectors = snapshot.vectors.as_ref().filter(|_| is_asked);
            Ok::<_, Status>(vectors.is_some_and(Vectors::is_being_read))
        };
        if !is_being_read()? {
            return Ok(());
        }
        let _place = self.stream_place()?;
        let read = async {
            loop {
                generations.mark_unchanged();
                if !is_being_read()? || generations.changed().await.is_err() {
                    return Ok(());
                }
            }
        };
        let near = Stop::at(deadline).near().unwrap_or(deadline);
        tokio::select! {
            read = tokio::time::timeout_at(near.into(), read) => read.unwrap_or(Ok(())),
            () = self.ending() => Err(status::stopping()),
        }
    }

    /// Waits until a generation can be asked.
    async fn reach(&self, deadline: Instant, wanted: u64) -> Result<(), Status> {
        let mut generations = self.vaults()?.generations();
        // The vaults are held for a moment only, so that the daemon can stop.
        let holds = || self.opened().is_some_and(|vaults| vaults.indexer().holds(wanted));
        if holds() {
            return Ok(());
        }
        let _place = self.stream_place()?;
        let reached = generations.wait_for(|_| holds());
        let outcome = tokio::select! {
            outcome = tokio::time::timeout_at(deadline.into(), reached) => outcome,
            () = self.ending() => return Err(status::stopping()),
        };
        match outcome.map(|reached| reached.map(drop)) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(status::stopping()),
            Err(_) => {
                let newest = *generations.borrow();
                Err(if wanted <= newest {
                    status::recovering(wanted)
                } else {
                    status::not_reached(wanted, newest)
                })
            }
        }
    }

    /// Waits until the daemon is about to stop.
    async fn ending(&self) {
        // An error means that the sender is gone, which is an end as well.
        drop(self.0.ending.subscribe().wait_for(|ending| *ending).await);
    }

    /// A place for something that lasts.
    pub(super) fn stream_place(&self) -> Result<tokio::sync::OwnedSemaphorePermit, Status> {
        let streams = Arc::clone(&self.0.streams);
        streams.try_acquire_owned().map_err(|_| status::too_many_streams(self.0.limits.max_streams))
    }
}
