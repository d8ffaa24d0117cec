//! Calls of a load, and their inputs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tonic::{Code, Request, Status};
use weft_proto::noteweft::v1::context_service_client::ContextServiceClient;
use weft_proto::noteweft::v1::graph_service_client::GraphServiceClient;
use weft_proto::noteweft::v1::hygiene_service_client::HygieneServiceClient;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{
    AssembleRequest, BrokenLinksRequest, Direction, DuplicatesRequest, FacetsRequest,
    GetNoteRequest, LocateNoteRequest, RelatedRequest, SearchMode, SearchRequest,
    StaleNotesRequest, SuggestedLinksRequest, TreeRequest, Warning,
};

use super::consistency::Observation;
use super::edits::EditedNotes;
use crate::client::{Client, Transport};

/// Maximum number of notes of a tree.
const TREE_NODES: u32 = 100;

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Call {
    Search,
    Facets,
    Context,
    Related,
    Tree,
    Get,
    Locate,
    Duplicates,
    SuggestLinks,
    Stale,
    Broken,
    /// A request for a note that is edited at the same time; made only if there are such notes, and not selectable by the user.
    Edited,
}

impl Call {
    const ALL: [Self; 11] = [
        Self::Search,
        Self::Facets,
        Self::Context,
        Self::Related,
        Self::Tree,
        Self::Get,
        Self::Locate,
        Self::Duplicates,
        Self::SuggestLinks,
        Self::Stale,
        Self::Broken,
    ];

    /// Returns the name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Facets => "facets",
            Self::Context => "context",
            Self::Related => "related",
            Self::Tree => "tree",
            Self::Get => "get",
            Self::Locate => "locate",
            Self::Duplicates => "duplicates",
            Self::SuggestLinks => "suggest-links",
            Self::Stale => "stale",
            Self::Broken => "broken",
            Self::Edited => "edited",
        }
    }
}

/// Relative frequencies of the calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallMix(BTreeMap<Call, u32>);

impl CallMix {
    /// Maximum frequency of a call.
    const MAX: u32 = 100;

    /// Parses `search=6,get=1`; calls that are not named are not made.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut shares = BTreeMap::new();
        for part in text.split(',') {
            let (name, share) = part.split_once('=').unwrap_or((part, "1"));
            let call = Call::ALL.into_iter().find(|call| call.name() == name.trim());
            let call = call.ok_or_else(|| {
                let names = Call::ALL.map(Call::name).join(", ");
                format!("unknown call `{}`; known calls: {names}", name.trim())
            })?;
            let share = share.trim().parse().ok().filter(|share| *share <= Self::MAX);
            let share = share.ok_or_else(|| {
                format!(
                    "the frequency of `{}` must be a number from 0 to {}",
                    call.name(),
                    Self::MAX
                )
            })?;
            shares.insert(call, share);
        }
        shares.retain(|_, share| *share > 0);
        if shares.is_empty() {
            return Err("all frequencies are 0".to_owned());
        }
        Ok(Self(shares))
    }

    /// Returns one cycle of calls: each as often as its frequency, spread as evenly as possible.
    pub(super) fn cycle(&self) -> Vec<Call> {
        let total: i64 = self.0.values().map(|share| i64::from(*share)).sum();
        let mut credits: Vec<(Call, i64, i64)> =
            self.0.iter().map(|(call, share)| (*call, i64::from(*share), 0)).collect();
        let mut cycle = Vec::new();
        for _ in 0..total {
            // Each call earns its frequency; the call with the highest credit pays for this position.
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

/// Inputs of the calls; the n-th call uses the n-th query or note, cyclically.
#[derive(Debug)]
pub(super) struct CallInputs {
    pub(super) queries: Vec<String>,
    pub(super) notes: Vec<String>,
    pub(super) mode: SearchMode,
    /// Notes that are edited at the same time.
    pub(super) edited: Option<EditedNotes>,
}

impl CallInputs {
    fn query(&self, at: usize) -> String {
        self.queries[at % self.queries.len()].clone()
    }

    fn note(&self, at: usize) -> String {
        self.notes[at % self.notes.len()].clone()
    }
}

/// Outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallOutcome {
    Complete,
    WithWarnings,
    Failed(Code),
}

impl CallOutcome {
    fn of(warnings: &[Warning]) -> Self {
        if warnings.is_empty() { Self::Complete } else { Self::WithWarnings }
    }
}

/// Outcome of a call, and what the answer showed.
pub(super) struct CallResult {
    pub(super) outcome: CallOutcome,
    pub(super) observation: Observation,
}

impl CallResult {
    pub(super) const fn new(outcome: CallOutcome, observation: Observation) -> Self {
        Self { outcome, observation }
    }

    fn complete(generation: u64) -> Self {
        Self::of(generation, &[])
    }

    fn of(generation: u64, warnings: &[Warning]) -> Self {
        let observation = Observation { generation: Some(generation), marks: Vec::new() };
        Self { outcome: CallOutcome::of(warnings), observation }
    }
}

/// Message of tonic for a timeout on the client's side, which has the code of a cancelled call.
const CLIENT_TIMEOUT: &str = "Timeout expired";

/// A client that makes calls.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) search: SearchServiceClient<Transport>,
    contexts: ContextServiceClient<Transport>,
    pub(super) graph: GraphServiceClient<Transport>,
    hygiene: HygieneServiceClient<Transport>,
    pub(super) notes: NoteServiceClient<Transport>,
    deadline: Option<Duration>,
}

impl Caller {
    pub(super) fn new(client: &Client, deadline: Option<Duration>) -> Self {
        Self {
            search: client.search(),
            contexts: client.contexts(),
            graph: client.graph(),
            hygiene: client.hygiene(),
            notes: client.notes(),
            deadline,
        }
    }

    /// Returns the deadline of each call.
    pub(super) const fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// Makes the `at`-th call and waits for its answer.
    pub(super) async fn call(
        mut self,
        call: Call,
        at: usize,
        inputs: Arc<CallInputs>,
    ) -> CallResult {
        let answer = self.send(call, at, &inputs).await;
        answer.unwrap_or_else(|status| {
            let is_late = status.code() == Code::Cancelled && status.message() == CLIENT_TIMEOUT;
            let code = if is_late { Code::DeadlineExceeded } else { status.code() };
            CallResult::new(CallOutcome::Failed(code), Observation::default())
        })
    }

    async fn send(
        &mut self,
        call: Call,
        at: usize,
        inputs: &CallInputs,
    ) -> Result<CallResult, Status> {
        let mode = inputs.mode.into();
        match call {
            Call::Search => {
                let query = inputs.query(at);
                let request = SearchRequest { query, mode, ..SearchRequest::default() };
                let answer = self.search.search(self.with_deadline(request)).await?.into_inner();
                Ok(CallResult::of(answer.generation, &answer.warnings))
            }
            Call::Facets => {
                let query = inputs.query(at);
                let request = FacetsRequest { query, ..FacetsRequest::default() };
                let answer = self.search.facets(self.with_deadline(request)).await?.into_inner();
                Ok(CallResult::of(answer.generation, &answer.warnings))
            }
            Call::Context => {
                let query = inputs.query(at);
                let request = AssembleRequest { query, mode, ..AssembleRequest::default() };
                let answer =
                    self.contexts.assemble(self.with_deadline(request)).await?.into_inner();
                Ok(CallResult::of(answer.generation, &answer.warnings))
            }
            Call::Related => {
                let request =
                    RelatedRequest { focus: inputs.note(at), ..RelatedRequest::default() };
                let answer = self.graph.related(self.with_deadline(request)).await?.into_inner();
                Ok(CallResult::complete(answer.generation))
            }
            Call::Tree => {
                let request = TreeRequest {
                    roots: vec![inputs.note(at)],
                    direction: Direction::Both.into(),
                    max_nodes: Some(TREE_NODES),
                    ..TreeRequest::default()
                };
                let answer = self.graph.tree(self.with_deadline(request)).await?.into_inner();
                Ok(CallResult::complete(answer.generation))
            }
            Call::Get => {
                let request = GetNoteRequest { name: inputs.note(at), ..GetNoteRequest::default() };
                let answer = self.notes.get_note(self.with_deadline(request)).await?.into_inner();
                Ok(CallResult::complete(answer.generation))
            }
            Call::Locate => {
                let request =
                    LocateNoteRequest { name: inputs.note(at), ..LocateNoteRequest::default() };
                let answer =
                    self.notes.locate_note(self.with_deadline(request)).await?.into_inner();
                Ok(CallResult::of(answer.generation, &answer.warnings))
            }
            Call::Duplicates => {
                let request = self.with_deadline(DuplicatesRequest::default());
                let answer = self.hygiene.duplicates(request).await?.into_inner();
                Ok(CallResult::of(answer.generation, &answer.warnings))
            }
            Call::SuggestLinks => {
                let request = self.with_deadline(SuggestedLinksRequest::default());
                let answer = self.hygiene.suggested_links(request).await?.into_inner();
                Ok(CallResult::of(answer.generation, &answer.warnings))
            }
            Call::Stale => {
                let request = self.with_deadline(StaleNotesRequest::default());
                let answer = self.hygiene.stale_notes(request).await?.into_inner();
                Ok(CallResult::of(answer.generation, &answer.warnings))
            }
            Call::Broken => {
                let request = self.with_deadline(BrokenLinksRequest::default());
                let answer = self.hygiene.broken_links(request).await?.into_inner();
                Ok(CallResult::of(answer.generation, &answer.warnings))
            }
            Call::Edited => match &inputs.edited {
                Some(edited) => edited.request_next(self).await,
                // Without edited notes, nothing is requested.
                None => Ok(CallResult::new(CallOutcome::Complete, Observation::default())),
            },
        }
    }

    pub(super) fn with_deadline<T>(&self, message: T) -> Request<T> {
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
    fn call_mix_is_parsed_and_spread_evenly() {
        let mix = CallMix::parse("search=4, get=2,tree").unwrap();
        let cycle: Vec<&str> = mix.cycle().into_iter().map(Call::name).collect();
        assert_eq!(cycle, ["search", "get", "search", "tree", "search", "get", "search"]);
        assert_eq!(CallMix::parse("get=0,tree=2").unwrap().cycle(), [Call::Tree, Call::Tree]);
    }

    #[test]
    fn empty_or_invalid_call_mix_is_rejected() {
        for wrong in ["", "searches=1", "search=0", "search=-1", "search=many", "search=1000000"] {
            assert!(CallMix::parse(wrong).is_err(), "{wrong}");
        }
    }
}
