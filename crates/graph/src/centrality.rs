//! How central a node is, always in `0.0..=1.0`.

use serde::{Deserialize, Serialize};
use weft_model::NoteId;

use crate::NoteGraph;

/// A way to measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Distinct neighbours / (nodes − 1), placeholders counted as nodes. Source: search design, "Graph signals".
    #[default]
    Plain,
    /// Distinct neighbours / the most that any node has: stays visible in a large vault.
    MaxDegree,
    /// `ln(1 + distinct neighbours)`, as a share of the greatest: closer together than degrees.
    Log,
    /// PageRank along links, as a share of the greatest.
    #[serde(rename = "pagerank")]
    PageRank,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Plain, Self::MaxDegree, Self::Log, Self::PageRank];

    /// The name that settings use: `plain`, `max_degree`, `log` or `pagerank`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::MaxDegree => "max_degree",
            Self::Log => "log",
            Self::PageRank => "pagerank",
        }
    }

    /// The measure of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.name() == name)
    }
}

/// The share of rank that follows links; the rest starts anew anywhere.
///
/// Source: Brin and Page, "The anatomy of a large-scale hypertextual web search engine".
pub const DAMPING: f64 = 0.85;

/// PageRank ends when no rank changes by more than this share of itself.
const TOLERANCE: f64 = 1e-6;

/// PageRank ends after so many rounds at the latest; the error shrinks by [`DAMPING`] in each, so this passes [`TOLERANCE`].
const MAX_ROUNDS: usize = 100;

/// Centrality of all nodes of one graph by one measure.
///
/// Equal graphs give equal numbers, whatever edits led to them and on every machine with IEEE arithmetic; [`at_most`](Self::at_most) alone may differ.
#[derive(Clone, Debug)]
pub struct Centrality(Scale);

#[derive(Clone, Debug)]
enum Scale {
    Degrees(DegreeScale),
    Ranks(Vec<f64>),
}

/// How a number of distinct neighbours becomes a share.
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
    /// Prepares `measure` for `graph`: `O(1)` for the plain one, `O(nodes)` for the rescaled ones, `O(edges)` a round for PageRank.
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

    /// The centrality of a node of the graph this was made for; 0 for an empty slot.
    #[must_use]
    pub fn of(&self, graph: &NoteGraph, id: NoteId) -> f64 {
        match &self.0 {
            Scale::Degrees(scale) => scale.of(graph.degrees(id).both),
            Scale::Ranks(ranks) => ranks.get(id.index()).copied().unwrap_or(0.0),
        }
    }

    /// What no node of the graph this was made for exceeds; after edits that took links away, perhaps none comes near. `O(1)`.
    #[must_use]
    pub fn at_most(&self, graph: &NoteGraph) -> f64 {
        match &self.0 {
            Scale::Degrees(scale) => scale.of(graph.max_degree),
            Scale::Ranks(_) => 1.0,
        }
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 }
}

/// By slot, PageRank as a share of the greatest. Every written link is one vote, self loops are none.
///
/// Each node pulls from its inbound list, whose order does not depend on slots, and no sum runs over all nodes.
/// The rank of nodes without links is dropped and not spread: with a uniform restart that scales all ranks alike, and the scale falls out in the end.
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
