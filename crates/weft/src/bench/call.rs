//! The calls that load a daemon, and what they are about.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tonic::{Code, Request, Status};
use weft_proto::noteweft::v1::context_service_client::ContextServiceClient;
use weft_proto::noteweft::v1::graph_service_client::GraphServiceClient;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{
    AssembleRequest, Direction, GetNoteRequest, RelatedRequest, SearchMode, SearchRequest,
    TreeRequest,
};

use super::edits::Watched;
use super::seen::Seen;
use crate::asker::{Asker, Transport};

/// Notes of a tree at most.
const TREE_NODES: u32 = 100;

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Call {
    Search,
    Context,
    Related,
    Tree,
    Get,
    /// A question about a note that is edited meanwhile; made where there are some, and not to be asked for.
    Edited,
}

impl Call {
    const ALL: [Self; 5] = [Self::Search, Self::Context, Self::Related, Self::Tree, Self::Get];

    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Context => "context",
            Self::Related => "related",
            Self::Tree => "tree",
            Self::Get => "get",
            Self::Edited => "edited",
        }
    }
}

/// How often each call is made compared with the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mix(BTreeMap<Call, u32>);

impl Mix {
    /// The largest share of a call.
    const LARGEST: u32 = 100;

    /// Reads `search=6,get=1`; calls that are not named are not made.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut shares = BTreeMap::new();
        for part in text.split(',') {
            let (name, share) = part.split_once('=').unwrap_or((part, "1"));
            let call = Call::ALL.into_iter().find(|call| call.name() == name.trim());
            let call = call.ok_or_else(|| {
                let names = Call::ALL.map(Call::name).join(", ");
                format!("`{}` is no call to make; they are {names}", name.trim())
            })?;
            let share = share.trim().parse().ok().filter(|share| *share <= Self::LARGEST);
            let share = share.ok_or_else(|| {
                format!("how often `{}` is called is a number up to {}", call.name(), Self::LARGEST)
            })?;
            shares.insert(call, share);
        }
        shares.retain(|_, share| *share > 0);
        if shares.is_empty() {
            return Err("nothing is called".to_owned());
        }
        Ok(Self(shares))
    }

    /// One round of calls, each as often as its share and as evenly spread as can be.
    pub(super) fn cycle(&self) -> Vec<Call> {
        let total: i64 = self.0.values().map(|share| i64::from(*share)).sum();
        let mut credits: Vec<(Call, i64, i64)> =
            self.0.iter().map(|(call, share)| (*call, i64::from(*share), 0)).collect();
        let mut cycle = Vec::new();
        for _ in 0..total {
            // All are paid their share; the richest pays for the round.
            for (_, share, credit) in &mut credits {
                *credit += *share;
            }
            let richest = credits.iter_mut().rev().max_by_key(|(_, _, credit)| *credit);
            if let Some((call, _, credit)) = richest {
                *credit -= total;
                cycle.push(*call);
            }
        }
        cycle
    }
}

/// What calls are about; the n-th call takes the n-th of each, round and round.
#[derive(Debug)]
pub(super) struct Material {
    pub(super) queries: Vec<String>,
    pub(super) notes: Vec<String>,
    pub(super) mode: SearchMode,
    /// Notes that are edited meanwhile.
    pub(super) edited: Option<Watched>,
}

impl Material {
    fn query(&self, at: usize) -> String {
        self.queries[at % self.queries.len()].clone()
    }

    fn note(&self, at: usize) -> String {
        self.notes[at % self.notes.len()].clone()
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Whole,
    Degraded,
    Failed(Code),
}

impl Outcome {
    fn of(degraded: &[String]) -> Self {
        if degraded.is_empty() { Self::Whole } else { Self::Degraded }
    }
}

/// How a call ended, and what it showed.
pub(super) struct Answer {
    pub(super) outcome: Outcome,
    pub(super) seen: Seen,
}

impl Answer {
    pub(super) const fn new(outcome: Outcome, seen: Seen) -> Self {
        Self { outcome, seen }
    }

    fn whole(generation: u64) -> Self {
        Self::of(generation, &[])
    }

    fn of(generation: u64, degraded: &[String]) -> Self {
        let seen = Seen { generation: Some(generation), parts: Vec::new() };
        Self { outcome: Outcome::of(degraded), seen }
    }
}

/// What the library says, with the code of a call that was given up, when the time it was told is over.
const OUT_OF_TIME: &str = "Timeout expired";

/// Who calls.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) search: SearchServiceClient<Transport>,
    contexts: ContextServiceClient<Transport>,
    pub(super) graph: GraphServiceClient<Transport>,
    pub(super) notes: NoteServiceClient<Transport>,
    deadline: Option<Duration>,
}

impl Caller {
    pub(super) fn new(asker: &Asker, deadline: Option<Duration>) -> Self {
        let (search, contexts, graph, notes) =
            (asker.search(), asker.contexts(), asker.graph(), asker.notes());
        Self { search, contexts, graph, notes, deadline }
    }

    /// The time that each call has.
    pub(super) const fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// Makes the `at`-th call and waits for its answer.
    pub(super) async fn call(mut self, call: Call, at: usize, material: Arc<Material>) -> Answer {
        let answer = self.ask(call, at, &material).await;
        answer.unwrap_or_else(|status| {
            let is_late = status.code() == Code::Cancelled && status.message() == OUT_OF_TIME;
            let code = if is_late { Code::DeadlineExceeded } else { status.code() };
            Answer::new(Outcome::Failed(code), Seen::default())
        })
    }

    async fn ask(&mut self, call: Call, at: usize, material: &Material) -> Result<Answer, Status> {
        let mode = material.mode.into();
        match call {
            Call::Search => {
                let query = material.query(at);
                let request = SearchRequest { query, mode, ..SearchRequest::default() };
                let answer = self.search.search(self.timed(request)).await?.into_inner();
                Ok(Answer::of(answer.generation, &answer.degraded))
            }
            Call::Context => {
                let query = material.query(at);
                let request = AssembleRequest { query, mode, ..AssembleRequest::default() };
                let answer = self.contexts.assemble(self.timed(request)).await?.into_inner();
                Ok(Answer::of(answer.generation, &answer.degraded))
            }
            Call::Related => {
                let request =
                    RelatedRequest { focus: material.note(at), ..RelatedRequest::default() };
                let answer = self.graph.related(self.timed(request)).await?.into_inner();
                Ok(Answer::whole(answer.generation))
            }
            Call::Tree => {
                let request = TreeRequest {
                    roots: vec![material.note(at)],
                    direction: Direction::Both.into(),
                    max_nodes: Some(TREE_NODES),
                    ..TreeRequest::default()
                };
                let answer = self.graph.tree(self.timed(request)).await?.into_inner();
                Ok(Answer::whole(answer.generation))
            }
            Call::Get => {
                let request =
                    GetNoteRequest { name: material.note(at), ..GetNoteRequest::default() };
                let answer = self.notes.get_note(self.timed(request)).await?.into_inner();
                Ok(Answer::whole(answer.generation))
            }
            Call::Edited => match &material.edited {
                Some(watched) => watched.look(self).await,
                // Nothing is edited, so nothing is asked.
                None => Ok(Answer::new(Outcome::Whole, Seen::default())),
            },
        }
    }

    pub(super) fn timed<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(deadline) = self.deadline {
            request.set_timeout(deadline);
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_read_and_spread() {
        let mix = Mix::read("search=4, get=2,tree").unwrap();
        let cycle: Vec<&str> = mix.cycle().into_iter().map(Call::name).collect();
        assert_eq!(cycle, ["search", "get", "search", "tree", "search", "get", "search"]);
        assert_eq!(Mix::read("get=0,tree=2").unwrap().cycle(), [Call::Tree, Call::Tree]);
    }

    #[test]
    fn a_mix_of_nothing_is_refused() {
        for wrong in ["", "searches=1", "search=0", "search=-1", "search=many", "search=1000000"] {
            assert!(Mix::read(wrong).is_err(), "{wrong}");
        }
    }
}
