//! Streams that follow the index until the client disconnects or the daemon stops.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use weft_engine::{Hit, SearchAnswer};
use weft_proto::noteweft::v1 as wire;

use super::requested_state::HasRequestedState as _;
use super::{Services, blocking};
use crate::fair_share;
use crate::{convert, status};

/// A stream of messages that follows the index.
pub(super) type IndexStream<T> = ReceiverStream<Result<T, Status>>;

/// Default interval between two results of a followed query.
const QUERY_INTERVAL_MS: u32 = 200;

/// Longest interval between two results that a request can set.
const MAX_INTERVAL_MS: u32 = 3_600_000;

/// The events that a stream waits for.
struct Follower<T> {
    generations: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    messages: mpsc::Sender<Result<T, Status>>,
}

impl<T> Follower<T> {
    /// Waits for a generation that was not seen yet; returns false if the client disconnects or the daemon stops.
    async fn next(&mut self) -> bool {
        tokio::select! {
            changed = self.generations.changed() => {
                if changed.is_ok() {
                    return true;
                }
            }
            _ = self.stopping.wait_for(|stopping| *stopping) => {}
            () = self.messages.closed() => return false,
        }
        drop(self.messages.send(Err(status::stopping())).await);
        false
    }

    /// Waits for `interval`; returns false if the client disconnects or the daemon stops meanwhile.
    async fn rest(&mut self, interval: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(interval) => return true,
            _ = self.stopping.wait_for(|stopping| *stopping) => {}
            () = self.messages.closed() => return false,
        }
        drop(self.messages.send(Err(status::stopping())).await);
        false
    }

    /// Sends a message; returns false if the client has disconnected.
    async fn send(&self, message: T) -> bool {
        self.messages.send(Ok(message)).await.is_ok()
    }
}

impl Services {
    fn follower<T>(&self) -> Result<(Follower<T>, IndexStream<T>), Status> {
        let (messages, stream) = mpsc::channel(1);
        let generations = self.vaults()?.generations();
        let stopping = self.0.stopping.subscribe();
        Ok((Follower { generations, stopping, messages }, ReceiverStream::new(stream)))
    }

    /// Reports each generation after the one that the client knows.
    pub(super) fn follow_generations(
        &self,
        request: wire::WatchGenerationsRequest,
    ) -> Result<IndexStream<wire::WatchGenerationsResponse>, Status> {
        let wire::WatchGenerationsRequest { after } = request;
        let place = self.acquire_stream()?;
        let (mut follower, stream) = self.follower()?;
        let services = self.clone();
        fair_share::spawn(async move {
            let _place = place;
            let mut known = after;
            loop {
                // The vaults are held only for a moment, so that the daemon can stop.
                let Ok(vaults) = services.vaults() else { break };
                follower.generations.mark_unchanged();
                let Ok(status) = blocking(move || vaults.status()).await else { break };
                let generation = status.generation;
                if known.is_none_or(|known| generation > known) {
                    let n_missed = known.map_or(0, |known| generation - known - 1);
                    known = Some(generation);
                    let message = convert::admin::generation(&status, n_missed);
                    if !follower.send(message).await {
                        break;
                    }
                }
                if !follower.next().await {
                    break;
                }
            }
        });
        Ok(stream)
    }

    /// Sends the result of a query, and again whenever its hits change.
    pub(super) fn follow_query(
        &self,
        request: wire::WatchQueryRequest,
    ) -> Result<IndexStream<wire::WatchQueryResponse>, Status> {
        let wire::WatchQueryRequest { search, min_interval_ms } = request;
        let search = search.ok_or_else(|| status::invalid("search", "must be set"))?;
        if search.as_of.is_some() {
            return Err(status::invalid(
                "search.as_of",
                "must not be set: a past generation does not change",
            ));
        }
        let interval = min_interval_ms.unwrap_or(QUERY_INTERVAL_MS);
        if interval > MAX_INTERVAL_MS {
            let reason = format!("must be 0 to {MAX_INTERVAL_MS}");
            return Err(status::invalid("min_interval_ms", &reason));
        }
        let interval = Duration::from_millis(interval.into());
        // Errors in the query are reported at once.
        let read = convert::search::search_request(search.clone());
        read.map_err(|status| status::within("search", status))?;
        let place = self.acquire_stream()?;
        let (mut follower, stream) = self.follower()?;
        let services = self.clone();
        fair_share::spawn(async move {
            let _place = place;
            let mut before: Option<SearchAnswer> = None;
            loop {
                follower.generations.mark_unchanged();
                let answer = match services.search_again(&search).await {
                    Ok(answer) => answer,
                    Err(status) => {
                        let status = status::within("search", status);
                        drop(follower.messages.send(Err(status)).await);
                        break;
                    }
                };
                if before.as_ref().is_none_or(|before| !same_hits(before, &answer)) {
                    let message = convert::search::followed(before.as_ref(), answer.clone());
                    before = Some(answer);
                    if !follower.send(message).await {
                        break;
                    }
                }
                if !follower.rest(interval).await || !follower.next().await {
                    break;
                }
            }
        });
        Ok(stream)
    }

    async fn search_again(&self, search: &wire::SearchRequest) -> Result<SearchAnswer, Status> {
        let deadline = std::time::Instant::now() + self.0.limits.timeout;
        let (state, parsed) =
            (search.requested_state(), convert::search::search_request(search.clone())?);
        if parsed.searches_by_meaning() {
            self.wait_for_vectors(deadline, state).await?;
        }
        self.compute_at(deadline, state, move |engine| engine.search(&parsed)).await
    }
}

/// Returns whether two results look the same to the client. Scores are ignored: they change with every note of the vault.
///
/// A warning about pending vectors is sent only together with another change; its disappearance is sent at once.
fn same_hits(before: &SearchAnswer, now: &SearchAnswer) -> bool {
    let shown = |hit: &Hit| {
        let Hit { uri, path, title, embedding_current, snippets, .. } = hit;
        (uri.clone(), path.clone(), title.clone(), *embedding_current, snippets.clone())
    };
    let (warnings, pending) = before.lasting_warnings();
    let (warnings_now, pending_now) = now.lasting_warnings();
    let SearchAnswer {
        hits,
        generation: _,
        truncated,
        warnings: _,
        fanout_limited,
        explanation: _,
    } = before;
    (truncated, warnings, fanout_limited) == (&now.truncated, warnings_now, &now.fanout_limited)
        && pending <= pending_now
        && hits.iter().map(shown).eq(now.hits.iter().map(shown))
}

#[cfg(test)]
mod tests {
    use weft_engine::{Warning, WarningCode};

    use super::*;

    /// Each save of any note used to send two results to every client that followed a semantic query.
    #[test]
    fn result_is_sent_again_only_if_it_looks_different() {
        let answer = |warnings: &[&Warning]| SearchAnswer {
            hits: Vec::new(),
            generation: 1,
            truncated: false,
            warnings: warnings.iter().map(|warning| (*warning).clone()).collect(),
            fanout_limited: Vec::new(),
            explanation: None,
        };
        let pending = &Warning::new(WarningCode::VectorsPending, "7 chunks have no vector yet");
        let fewer = &Warning::new(WarningCode::VectorsPending, "1 chunk has no vector yet");
        let away = &Warning::new(WarningCode::ModelUnavailable, "the model is unavailable");
        for (name, before, now, expected) in [
            ("nothing new", &[][..], &[][..], true),
            ("another note is saved", &[], &[pending], true),
            ("fewer are on their way", &[pending], &[fewer], true),
            ("all came", &[fewer], &[], false),
            ("the model went away", &[], &[away], false),
            ("it went away while some were on their way", &[pending], &[pending, away], false),
            ("it is back", &[away], &[fewer], false),
        ] {
            assert_eq!(same_hits(&answer(before), &answer(now)), expected, "{name}");
        }
    }
}
