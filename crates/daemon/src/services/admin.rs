//! AdminService.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use weft_index::StoreError;
use weft_indexer::{IndexError, Rescan};
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::admin_service_server::AdminService;

use super::streams::Following;
use super::{Pieces, Services, blocking, pieces};
use crate::{convert, status};

/// Between two messages of progress.
const PROGRESS: Duration = Duration::from_millis(200);

/// Pieces of a backup that may wait for their reader.
const PIECES_AHEAD: usize = 4;

/// Why a backup was not sent to its end.
enum BackupEnd {
    NobodyReads,
    Failed(StoreError),
}

impl From<StoreError> for BackupEnd {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

#[tonic::async_trait]
impl AdminService for Services {
    async fn status(
        &self,
        _request: Request<wire::StatusRequest>,
    ) -> Result<Response<wire::StatusResponse>, Status> {
        Ok(Response::new(convert::admin::status_response(self.vaults()?.status())))
    }

    type CoverageStream = Pieces<wire::CoverageResponse>;

    async fn coverage(
        &self,
        _request: Request<wire::CoverageRequest>,
    ) -> Result<Response<Self::CoverageStream>, Status> {
        let vaults = self.vaults()?;
        let (files, generation) = blocking(move || {
            let generation = vaults.status().generation;
            (vaults.indexer().coverage(), generation)
        })
        .await?;
        let pieces = pieces(files, |files| wire::CoverageResponse {
            files: files.into_iter().map(convert::admin::file_coverage).collect(),
            generation,
        });
        Ok(Response::new(tokio_stream::iter(pieces)))
    }

    async fn settings(
        &self,
        _request: Request<wire::SettingsRequest>,
    ) -> Result<Response<wire::SettingsResponse>, Status> {
        let vaults = self.vaults()?;
        let settings = vaults.config().entries().into_iter().map(convert::admin::setting).collect();
        let generation = vaults.status().generation;
        Ok(Response::new(wire::SettingsResponse { settings, generation }))
    }

    type ReindexStream = ReceiverStream<Result<wire::ReindexResponse, Status>>;

    async fn reindex(
        &self,
        request: Request<wire::ReindexRequest>,
    ) -> Result<Response<Self::ReindexStream>, Status> {
        let wire::ReindexRequest { full, compact } = request.into_inner();
        let vaults = self.vaults()?;
        let (progress, messages) = mpsc::channel(4);
        let services = self.clone();
        tokio::spawn(async move {
            let rescan = Rescan { full, compact };
            let work = services.change(move |vaults| vaults.indexer().rescan(rescan));
            tokio::pin!(work);
            let mut pulse = tokio::time::interval(PROGRESS);
            let end = loop {
                tokio::select! {
                    end = &mut work => break end,
                    // The work goes on when nobody listens any more; there is only nothing to tell.
                    _ = pulse.tick() => drop(progress.try_send(Ok(convert::admin::progress(&vaults.status(), false)))),
                }
            };
            let last = end.and_then(|end| match end {
                Ok(generation) => Ok(wire::ReindexResponse {
                    generation,
                    ..convert::admin::progress(&vaults.status(), true)
                }),
                Err(error) => Err(status::of_index(&error)),
            });
            // Who closes the index on the last message waits for its writer, which ends with the last hold.
            drop(vaults);
            drop(progress.send(last).await);
        });
        Ok(Response::new(ReceiverStream::new(messages)))
    }

    async fn flush(
        &self,
        _request: Request<wire::FlushRequest>,
    ) -> Result<Response<wire::FlushResponse>, Status> {
        let generation = self.change(|vaults| vaults.indexer().flush()).await?;
        let generation = generation.map_err(|error| status::of_index(&error))?;
        Ok(Response::new(wire::FlushResponse { generation }))
    }

    type BackupStream = ReceiverStream<Result<wire::BackupResponse, Status>>;

    async fn backup(
        &self,
        request: Request<wire::BackupRequest>,
    ) -> Result<Response<Self::BackupStream>, Status> {
        let wire::BackupRequest {} = request.into_inner();
        // A copy that nobody reads on holds a thread.
        let place = self.stream_place()?;
        let backup = self.change(|vaults| vaults.indexer().backup()).await?;
        let backup = backup.map_err(|error| status::of_index(&error))?;
        let (pieces, messages) = mpsc::channel(PIECES_AHEAD);
        tokio::task::spawn_blocking(move || {
            let _place = place;
            let last = convert::admin::backup_end(&backup);
            let (generation, n_bytes_total) = (backup.generation(), backup.n_bytes());
            let piece = |piece| convert::admin::backup_piece(piece, generation, n_bytes_total);
            let sent = backup.read(|next| {
                pieces.blocking_send(Ok(piece(next))).map_err(|_| BackupEnd::NobodyReads)
            });
            let last = match sent {
                Ok(()) => Ok(last),
                Err(BackupEnd::NobodyReads) => return,
                Err(BackupEnd::Failed(error)) => Err(status::of_index(&IndexError::from(error))),
            };
            // Who does not read any more needs no end.
            drop(pieces.blocking_send(last));
        });
        Ok(Response::new(ReceiverStream::new(messages)))
    }

    async fn confirm(
        &self,
        request: Request<wire::ConfirmRequest>,
    ) -> Result<Response<wire::ConfirmResponse>, Status> {
        let wire::ConfirmRequest { vault } = request.into_inner();
        let confirmed =
            self.change(move |vaults| vaults.indexer().confirm(vault.as_deref())).await?;
        let confirmed = confirmed.map_err(|error| status::of_index(&error))?;
        Ok(Response::new(convert::admin::confirmed(confirmed)))
    }

    type WatchGenerationsStream = Following<wire::WatchGenerationsResponse>;

    async fn watch_generations(
        &self,
        request: Request<wire::WatchGenerationsRequest>,
    ) -> Result<Response<Self::WatchGenerationsStream>, Status> {
        Ok(Response::new(self.follow_generations(request.into_inner())?))
    }
}
