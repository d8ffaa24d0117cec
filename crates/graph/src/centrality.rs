//! Centrality of nodes, always in `0.0..=1.0`.

use serde::{Deserialize, Serialize};
use weft_model::NoteId;

use crate::NoteGraph;

/// Measure of centrality.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Distinct neighbors / (nodes − 1), placeholders included. Source: search design, "Graph signals".
    #[default]
    Plain,
    /// Distinct neighbors / the highest number of any node: stays visible in a large vault.
    MaxDegree,
    /// `ln(1 + distinct neighbors)` as a share of the highest value: compresses large degrees.
    Log,
    /// PageRank along links, as a share of the highest rank.
    #[serde(rename = "pagerank")]
    PageRank,
}

impl Measure {
    /// All measures.
    pub const ALL: [Self; 4] = [Self::Plain, Self::MaxDegree, Self::Log, Self::PageRank];

    /// Returns the name used in settings: `plain`, `max_degree`, `log` or `pagerank`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::MaxDegree => "max_degree",
            Self::Log => "log",
            Self::PageRank => "pagerank",
        }
    }

    /// Returns the measure with the given name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.name() == name)
    }
}

/// Share of rank that follows links; the rest restarts at a random node.
///
/// Source: Brin and Page, "The anatomy of a large-scale hypertextual web search engine".
pub const DAMPING: f64 = 0.85;

/// PageRank stops when every rank changes by less than this share of itself.
const TOLERANCE: f64 = 1e-6;

/// Maximum number of PageRank iterations. The error shrinks by [`DAMPING`] in each, so [`TOLERANCE`] is reached before.
const MAX_ROUNDS: usize = 100;

/// Centrality of all nodes of one graph by one measure.
///
/// Equal graphs give equal numbers, independent of edit history, on every machine with IEEE arithmetic; only [`upper_bound`](Self::upper_bound) may differ.
#[derive(Clone, Debug)]
pub struct Centrality(Scale);

#[derive(Clone, Debug)]
enum Scale {
    Degrees(DegreeScale),
    Ranks(Vec<f64>),
}

/// Conversion of a number of distinct neighbors to a share.
#[derive(Clone, Copy, Debug)]
enum DegreeScale {
    Divided { by: f64 },
    Log { by: f64 },
}

impl DegreeScale {
    fn of(self, degree: u32) -> f64 {
        match self {
            Self::Divided { by } => share(f64::from(degree), by),
            Self::Log { by } => share(f64::from(degree).ln_1p(), by),
        }
    }
}

impl Centrality {
    /// Prepares `measure` for `graph`: `O(1)` for the plain measure, `O(nodes)` for the rescaled ones, `O(edges)` per iteration for PageRank.
    #[must_use]
    pub fn new(graph: &NoteGraph, measure: Measure) -> Self {
        let greatest = || graph.ids().map(|id| graph.degrees(id).both).max().unwrap_or(0);
        let scale = match measure {
            Measure::Plain => DegreeScale::Divided { by: graph.n_nodes().saturating_sub(1) as f64 },
            Measure::MaxDegree => DegreeScale::Divided { by: f64::from(greatest()) },
            Measure::Log => DegreeScale::Log { by: f64::from(greatest()).ln_1p() },
            Measure::PageRank => return Self(Scale::Ranks(page_rank(graph))),
        };
        Self(Scale::Degrees(scale))
    }

    /// Returns the centrality of a node of the graph this was built for; 0 for an empty slot.
    #[must_use]
    pub fn of(&self, graph: &NoteGraph, id: NoteId) -> f64 {
        match &self.0 {
            Scale::Degrees(scale) => scale.of(graph.degrees(id).both),
            Scale::Ranks(ranks) => ranks.get(id.index()).copied().unwrap_or(0.0),
        }
    }

    /// Returns an upper bound for all nodes of the graph this was built for. It may be loose after edits that removed links. `O(1)`.
    #[must_use]
    pub fn upper_bound(&self, graph: &NoteGraph) -> f64 {
        match &self.0 {
            Scale::Degrees(scale) => scale.of(graph.max_degree),
            Scale::Ranks(_) => 1.0,
        }
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 }
}

/// Returns PageRank by slot, as a share of the highest rank. Every written link is one vote; self loops do not vote.
///
/// Each node pulls from its inbound list, whose order does not depend on slots, and no sum runs over all nodes.
/// The rank of dangling nodes is dropped instead of redistributed: with a uniform restart that scales all ranks equally, and the final normalization cancels the scale.
fn page_rank(graph: &NoteGraph) -> Vec<f64> {
    let n_slots = graph.n_slots();
    let ids: Vec<NoteId> = graph.ids().collect();
    let mut n_votes = vec![0_u32; n_slots];
    let mut voters: Vec<u32> = Vec::new();
    let mut starts = Vec::with_capacity(ids.len() + 1);
    starts.push(0);
    for id in &ids {
        for half in graph.inbound(*id).iter().filter(|half| half.other != *id) {
            n_votes[half.other.index()] += 1;
            voters.push(half.other.get());
        }
        starts.push(voters.len());
    }

    let mut ranks = vec![0.0; n_slots];
    for id in &ids {
        ranks[id.index()] = 1.0;
    }
    let mut votes = vec![0.0; n_slots];
    for _ in 0..MAX_ROUNDS {
        for ((vote, rank), n_votes) in votes.iter_mut().zip(&ranks).zip(&n_votes) {
            *vote = rank / f64::from((*n_votes).max(1));
        }
        let mut change: f64 = 0.0;
        for (id, range) in ids.iter().zip(starts.windows(2)) {
            let pulled: f64 =
                voters[range[0]..range[1]].iter().map(|voter| votes[*voter as usize]).sum();
            let rank = 1.0 + DAMPING * pulled;
            let old = std::mem::replace(&mut ranks[id.index()], rank);
            change = change.max((rank - old).abs() / rank);
        }
        if change <= TOLERANCE {
            break;
        }
    }
    let greatest = ranks.iter().copied().fold(0.0, f64::max);
    ranks.iter().map(|rank| share(*rank, greatest)).collect()
}
