//! AdminService.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use weft_index::StoreError;
use weft_indexer::{IndexError, Rescan};
use weft_proto::noteweft::v1 as wire;
use weft_proto::noteweft::v1::admin_service_server::AdminService;

use super::streams::IndexStream;
use super::{MessageStream, Services, blocking, messages_of};
use crate::fair_share;
use crate::{convert, status};

/// Interval between progress messages.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum number of backup parts that are buffered for the client.
const MAX_BUFFERED_PARTS: usize = 4;

/// Reason why a backup was not sent completely.
enum BackupEnd {
    ReaderGone,
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
        // The progress of a node that catches up is shown before it answers anything else.
        let vaults = self.vaults_if_open().ok_or_else(status::opening)?;
        let status = vaults.status();
        let node = vaults.node().map(|node| convert::admin::node_status(node, status.generation));
        let reranker = vaults.engine().reranker();
        let server = self.0.server.get();
        Ok(Response::new(convert::admin::status_response(status, node, reranker, server)))
    }

    type CoverageStream = MessageStream<wire::CoverageResponse>;

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
        let messages = messages_of(files, |files| wire::CoverageResponse {
            files: files.into_iter().map(convert::admin::file_coverage).collect(),
            generation,
        });
        Ok(Response::new(tokio_stream::iter(messages)))
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
        let wire::ReindexRequest { full, compact, choose_model } = request.into_inner();
        let vaults = self.vaults()?;
        let (progress, messages) = mpsc::channel(4);
        let services = self.clone();
        fair_share::spawn(async move {
            let rescan = Rescan { full, compact, choose_model };
            let work = services.run_on_writer(move |vaults| vaults.indexer().rescan(rescan));
            tokio::pin!(work);
            let mut pulse = tokio::time::interval(PROGRESS_INTERVAL);
            let end = loop {
                tokio::select! {
                    end = &mut work => break end,
                    // The work continues after the client disconnects; only the progress messages end.
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
            // A client that closes the index after the last message waits for its writer, which ends when the last reference is dropped.
            drop(vaults);
            drop(progress.send(last).await);
        });
        Ok(Response::new(ReceiverStream::new(messages)))
    }

    async fn flush(
        &self,
        _request: Request<wire::FlushRequest>,
    ) -> Result<Response<wire::FlushResponse>, Status> {
        let generation = self.run_on_writer(|vaults| vaults.indexer().flush()).await?;
        let generation = generation.map_err(|error| status::of_index(&error))?;
        Ok(Response::new(wire::FlushResponse { generation }))
    }

    type BackupStream = ReceiverStream<Result<wire::BackupResponse, Status>>;

    async fn backup(
        &self,
        request: Request<wire::BackupRequest>,
    ) -> Result<Response<Self::BackupStream>, Status> {
        let wire::BackupRequest {} = request.into_inner();
        // A backup holds a thread until it is read to its end.
        let place = self.acquire_stream()?;
        let backup = self.run_on_writer(|vaults| vaults.indexer().backup()).await?;
        let backup = backup.map_err(|error| status::of_index(&error))?;
        let (parts, messages) = mpsc::channel(MAX_BUFFERED_PARTS);
        tokio::task::spawn_blocking(move || {
            let _place = place;
            let last = convert::admin::backup_end(&backup);
            let (generation, n_bytes_total) = (backup.generation(), backup.n_bytes());
            let message = |part| convert::admin::backup_piece(part, generation, n_bytes_total);
            let sent = backup.read(|next| {
                parts.blocking_send(Ok(message(next))).map_err(|_| BackupEnd::ReaderGone)
            });
            let last = match sent {
                Ok(()) => Ok(last),
                Err(BackupEnd::ReaderGone) => return,
                Err(BackupEnd::Failed(error)) => Err(status::of_index(&IndexError::from(error))),
            };
            // A client that has disconnected needs no final message.
            drop(parts.blocking_send(last));
        });
        Ok(Response::new(ReceiverStream::new(messages)))
    }

    async fn confirm_deletions(
        &self,
        request: Request<wire::ConfirmDeletionsRequest>,
    ) -> Result<Response<wire::ConfirmDeletionsResponse>, Status> {
        let wire::ConfirmDeletionsRequest { vault } = request.into_inner();
        let confirmed = self
            .run_on_writer(move |vaults| vaults.indexer().confirm_deletions(vault.as_deref()))
            .await?;
        let confirmed = confirmed.map_err(|error| status::of_index(&error))?;
        Ok(Response::new(convert::admin::confirmed(confirmed)))
    }

    type WatchGenerationsStream = IndexStream<wire::WatchGenerationsResponse>;

    async fn watch_generations(
        &self,
        request: Request<wire::WatchGenerationsRequest>,
    ) -> Result<Response<Self::WatchGenerationsStream>, Status> {
        Ok(Response::new(self.follow_generations(request.into_inner())?))
    }
}
