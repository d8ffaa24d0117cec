//! Streams that follow the index until their reader goes or the daemon stops.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use weft_engine::{Hit, SearchAnswer};
use weft_proto::noteweft::v1 as wire;

use super::when::Timed as _;
use super::{Services, blocking};
use crate::{convert, status};

/// Messages that follow the index.
pub(super) type Following<T> = ReceiverStream<Result<T, Status>>;

/// The time between two answers of a followed query, where the request does not say.
const QUERY_INTERVAL_MS: u32 = 200;

/// The longest time between two answers that may be asked for.
const MAX_INTERVAL_MS: u32 = 3_600_000;

/// What a stream waits for.
struct Follower<T> {
    generations: watch::Receiver<u64>,
    ending: watch::Receiver<bool>,
    messages: mpsc::Sender<Result<T, Status>>,
}

impl<T> Follower<T> {
    /// Waits for a generation that was not seen; false when the reader has gone or the daemon stops.
    async fn next(&mut self) -> bool {
        tokio::select! {
            changed = self.generations.changed() => {
                if changed.is_ok() {
                    return true;
                }
            }
            _ = self.ending.wait_for(|ending| *ending) => {}
            () = self.messages.closed() => return false,
        }
        drop(self.messages.send(Err(status::stopping())).await);
        false
    }

    /// Lets `interval` pass; false when the reader has gone or the daemon stops meanwhile.
    async fn rest(&mut self, interval: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(interval) => return true,
            _ = self.ending.wait_for(|ending| *ending) => {}
            () = self.messages.closed() => return false,
        }
        drop(self.messages.send(Err(status::stopping())).await);
        false
    }

    /// Sends a message; false when the reader has gone.
    async fn send(&self, message: T) -> bool {
        self.messages.send(Ok(message)).await.is_ok()
    }
}

impl Services {
    fn follower<T>(&self) -> Result<(Follower<T>, Following<T>), Status> {
        let (messages, stream) = mpsc::channel(1);
        let generations = self.vaults()?.generations();
        let ending = self.0.ending.subscribe();
        Ok((Follower { generations, ending, messages }, ReceiverStream::new(stream)))
    }

    /// Tells of each generation after the one that the caller knows.
    pub(super) fn follow_generations(
        &self,
        request: wire::WatchGenerationsRequest,
    ) -> Result<Following<wire::WatchGenerationsResponse>, Status> {
        let wire::WatchGenerationsRequest { after } = request;
        let place = self.stream_place()?;
        let (mut follower, stream) = self.follower()?;
        let services = self.clone();
        tokio::spawn(async move {
            let _place = place;
            let mut known = after;
            loop {
                // The vaults are held for a moment only, so that the daemon can stop.
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

    /// Answers a query, and answers it again whenever its hits change.
    pub(super) fn follow_query(
        &self,
        request: wire::WatchQueryRequest,
    ) -> Result<Following<wire::WatchQueryResponse>, Status> {
        let wire::WatchQueryRequest { search, min_interval_ms } = request;
        let search = search.ok_or_else(|| status::invalid("search", "say what to look for"))?;
        if search.as_of.is_some() {
            return Err(status::invalid("search.as_of", "what is past does not change"));
        }
        let interval = min_interval_ms.unwrap_or(QUERY_INTERVAL_MS);
        if interval > MAX_INTERVAL_MS {
            let reason = format!("it must be 0 to {MAX_INTERVAL_MS}");
            return Err(status::invalid("min_interval_ms", &reason));
        }
        let interval = Duration::from_millis(interval.into());
        // What is wrong with the query is told at once.
        let read = convert::search::search_request(search.clone());
        read.map_err(|status| status::within("search", status))?;
        let place = self.stream_place()?;
        let (mut follower, stream) = self.follower()?;
        let services = self.clone();
        tokio::spawn(async move {
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
        let (when, asked) = (search.when(), convert::search::search_request(search.clone())?);
        if asked.searches_by_meaning() {
            self.vectors_read(deadline, when).await?;
        }
        self.compute_when(deadline, when, move |engine| engine.search(&asked)).await
    }
}

/// Whether two answers show the same: scores alone change with every note of the vault, and nobody would see why.
///
/// That the vector of some note is on its way is told with what else changes; that none is any more, at once.
fn same_hits(before: &SearchAnswer, now: &SearchAnswer) -> bool {
    let shown = |hit: &Hit| {
        let Hit { uri, path, title, fresh, snippets, .. } = hit;
        (uri.clone(), path.clone(), title.clone(), *fresh, snippets.clone())
    };
    let ((lines, pending), (lines_now, pending_now)) = (before.left_out(), now.left_out());
    let SearchAnswer { hits, generation: _, truncated, degraded: _, capped, explanation: _ } =
        before;
    (truncated, lines, capped) == (&now.truncated, lines_now, &now.capped)
        && pending <= pending_now
        && hits.iter().map(shown).eq(now.hits.iter().map(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every save of any note brought two answers to everybody who followed a question by meaning.
    #[test]
    fn an_answer_is_told_again_where_it_shows_something_else() {
        let answer = |degraded: &[&str]| SearchAnswer {
            hits: Vec::new(),
            generation: 1,
            truncated: false,
            degraded: degraded.iter().map(|line| (*line).to_owned()).collect(),
            capped: Vec::new(),
            explanation: None,
        };
        let (pending, fewer) =
            ("vector: 7 passages have no vector yet", "vector: 1 passage has no vector yet");
        let away = "vector: the model is away";
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
