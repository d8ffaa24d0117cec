//! The tool `tree`.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tonic::Status;
use weft_proto::noteweft::v1::{Limit, TreeEdge, TreeRequest, TreeResponse, WalkEdge};

use super::Question;
use super::args::{Direction, Filter, Link, Links, Name, Note};
use crate::bounds::{List, Number, object};
use crate::clients::Clients;
use crate::text;

/// Links that are looked at for each note of the answer, at most, on average.
const LINKS_PER_NOTE: u32 = 20;

/// Links to notes already reached that are named; the others are counted.
const NAMED: usize = 100;

/// From where to walk, and how far.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Tree {
    /// The notes to start from.
    notes: List<Name, 1, 10>,
    /// Which links are followed: those of a note (`out`), those to it (`in`), or both.
    #[serde(default)]
    direction: Direction,
    /// Links from the start at most.
    #[serde(default)]
    max_hops: Number<0, 6, 2>,
    /// Notes at most, those of the start included.
    #[serde(default)]
    max_notes: Number<1, 200, 50>,
    /// Whether each note comes with a line on what it is about.
    #[serde(default)]
    summaries: bool,
    /// Only some links.
    #[serde(default, deserialize_with = "object")]
    links: Links,
    /// Only some notes.
    #[serde(default, deserialize_with = "object")]
    filter: Filter,
}

/// The notes around some notes.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Reached {
    /// In the order of discovery: those of the start, then those one link away, and so on.
    notes: Vec<Step>,
    /// The other links among them, which lead to notes already reached: the first of these.
    links: Vec<Link>,
    /// How many there are.
    n_links: usize,
    /// The arguments that kept notes or links back: `max_hops`, `max_notes`, or `links` where there were too many of these.
    cut_by: Vec<String>,
    /// What of the filter no note has, which types of `links` no link has, and names that other notes answer to as well.
    degraded: Vec<String>,
    /// The state of the index that answered.
    generation: u64,
}

/// A note of a walk.
#[derive(Debug, Serialize, JsonSchema)]
struct Step {
    #[serde(flatten)]
    name: Note,
    /// Links from the start.
    hop: u32,
    /// How it was first reached; absent for the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    through: Option<Through>,
    /// What it is about, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
}

/// The link over which a note was reached.
#[derive(Debug, Serialize, JsonSchema)]
struct Through {
    /// The uri of the note it was reached from.
    from: String,
    /// The link's type.
    link: String,
    /// Whether the link stands in this note and points at `from`, instead of the other way round.
    backwards: bool,
}

impl Question for Tree {
    const NAME: &'static str = "tree";
    const TITLE: &'static str = "Follow links from notes";
    const DESCRIPTION: &'static str = "Walks the links around one or several notes, breadth first, and returns the notes it reaches as a tree with the type of each link; no texts. \
        Call it to see what is connected with a note, and how far away. Read what it finds with `get_note` or `context`.";
    const RENAMED: &'static [(&'static str, &'static str)] =
        &[("roots", "notes"), ("edges", "links"), ("max_nodes", "max_notes")];
    type Answer = Reached;

    async fn ask(self, clients: Clients) -> Result<Reached, Status> {
        let Self {
            notes,
            direction,
            max_hops: Number(max_hops),
            max_notes: Number(max_notes),
            summaries,
            links,
            filter,
        } = self;
        let request = TreeRequest {
            roots: notes.into(),
            direction: direction.into(),
            edges: Some(links.into()),
            filter: Some(filter.into()),
            max_hops: Some(max_hops),
            max_nodes: Some(max_notes),
            max_edges: Some(max_notes.saturating_mul(LINKS_PER_NOTE)),
            summaries,
            ..TreeRequest::default()
        };
        let answer = clients.graph().tree(request).await?.into_inner();
        Ok(answer.into())
    }
}

/// The argument that holds a walk back by this limit.
fn argument(limit: Limit) -> String {
    match limit {
        Limit::MaxHops => "max_hops",
        Limit::MaxNodes => "max_notes",
        Limit::MaxEdges | Limit::MaxFanout | Limit::Unspecified => "links",
    }
    .to_owned()
}

impl From<TreeResponse> for Reached {
    fn from(answer: TreeResponse) -> Self {
        let cut_by = answer.truncated_by().map(argument).collect();
        let TreeResponse { nodes, edges, spanning_tree, degraded, generation, .. } = answer;
        // Several links may connect two notes; the walk came over the first.
        let mut links: HashMap<(&str, &str), (&WalkEdge, bool)> = HashMap::new();
        for edge in &edges {
            links.entry((&edge.from, &edge.to)).or_insert((edge, false));
            links.entry((&edge.to, &edge.from)).or_insert((edge, true));
        }
        let through = |TreeEdge { from, to, hop: _ }: &TreeEdge| {
            let (edge, backwards) = links.get(&(from.as_str(), to.as_str()))?;
            let through =
                Through { from: from.clone(), link: edge.r#type.clone(), backwards: *backwards };
            Some((to.clone(), through))
        };
        let mut reached: HashMap<String, Through> =
            spanning_tree.iter().filter_map(through).collect();
        let is_shown = |edge: &&WalkEdge| {
            let ways = [(&edge.from, &edge.to), (&edge.to, &edge.from)];
            ways.into_iter().any(|(from, to)| {
                links.get(&(from.as_str(), to.as_str())).is_some_and(|(it, _)| it == edge)
                    && reached.get(to).is_some_and(|through| through.from == *from)
            })
        };
        let others: Vec<&WalkEdge> = edges.iter().filter(|edge| !is_shown(edge)).collect();
        let n_links = others.len();
        let links = others.into_iter().take(NAMED).map(Link::from).collect();
        let notes = nodes.into_iter().map(|node| Step {
            through: reached.remove(&node.id),
            hop: node.hop.unwrap_or_default(),
            summary: node.summary.map(|summary| text::line(&summary)),
            name: Note::new(node.id, &node.title),
        });
        let notes = notes.collect();
        Self { notes, links, n_links, cut_by, degraded, generation }
    }
}

impl Reached {
    /// Writes the notes reached from the `at`th, and what lies behind them.
    fn write(
        &self,
        below: &HashMap<&str, Vec<usize>>,
        at: usize,
        f: &mut Formatter<'_>,
    ) -> fmt::Result {
        let Step { name, hop, through, summary } = &self.notes[at];
        let indent = "  ".repeat(*hop as usize);
        write!(f, "{indent}- ")?;
        if let Some(Through { link, backwards, from: _ }) = through {
            write!(f, "{} {link} ", if *backwards { "<-" } else { "->" })?;
        }
        match summary {
            Some(summary) => writeln!(f, "{name}: {summary}")?,
            None => writeln!(f, "{name}")?,
        }
        for next in below.get(name.note.as_str()).into_iter().flatten() {
            self.write(below, *next, f)?;
        }
        Ok(())
    }
}

impl Display for Reached {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { notes, links, n_links, cut_by, degraded, generation: _ } = self;
        f.write_str(&text::degraded(degraded))?;
        let mut below: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, step) in notes.iter().enumerate() {
            if let Some(through) = &step.through {
                below.entry(&through.from).or_default().push(at);
            }
        }
        for (at, step) in notes.iter().enumerate() {
            if step.through.is_none() {
                self.write(&below, at, f)?;
            }
        }
        if !links.is_empty() {
            writeln!(f, "\nMore links among them:")?;
        }
        for Link { from, to, link } in links {
            writeln!(f, "- `{from}` {link} -> `{to}`")?;
        }
        if *n_links > links.len() {
            writeln!(f, "and {} more", n_links - links.len())?;
        }
        let n = text::counted(notes.len(), "note");
        match &**cut_by {
            [] => writeln!(
                f,
                "\n{n}; that is all that `links`, `direction` and `filter` let through."
            ),
            limits => {
                writeln!(f, "\n{n}; there are more, kept back by `{}`.", limits.join("`, `"))
            }
        }
    }
}
