//! The `tree` tool.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tonic::Status;
use weft_model::escape::one_line;
use weft_proto::noteweft::v1::{Limit, TreeEdge, TreeRequest, TreeResponse, WalkEdge};

use super::ToolRequest;
use super::shared_arguments::{
    LinkFilter, LinkOutput, NoteArgument, NoteFilter, TitledNote, WalkDirection,
};
use crate::bounded_arguments::{BoundedList, BoundedNumber, object};
use crate::output_text;
use crate::service_clients::Clients;

/// Maximum number of links examined per note of the result, on average.
const LINKS_PER_NOTE: u32 = 20;

/// Maximum number of listed links to notes already reached; others are counted.
const MAX_NAMED_LINKS: usize = 100;

/// The start and limits of a walk.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TreeTool {
    /// The notes to start from.
    notes: BoundedList<NoteArgument, 1, 10>,
    /// Links to follow: from a note (`out`), to it (`in`), or both.
    #[serde(default)]
    direction: WalkDirection,
    /// Maximum number of links from the start.
    #[serde(default)]
    max_hops: BoundedNumber<0, 6, 2>,
    /// Maximum number of notes, including those of the start.
    #[serde(default)]
    max_notes: BoundedNumber<1, 200, 50>,
    /// True to add a one-line summary of each note.
    #[serde(default)]
    summaries: bool,
    /// Restricts the links.
    #[serde(default, deserialize_with = "object")]
    links: LinkFilter,
    /// Restricts the notes.
    #[serde(default, deserialize_with = "object")]
    filter: NoteFilter,
}

/// The notes around the start.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TreeOutput {
    /// The notes in order of discovery: the start, then notes one link away, and so on.
    notes: Vec<TreeNote>,
    /// Other links between these notes, up to a limit.
    links: Vec<LinkOutput>,
    /// Number of other links between these notes.
    link_count: usize,
    /// The arguments that limited the result: `max_hops`, `max_notes`, or `links` if there are too many links.
    cut_by: Vec<String>,
    /// Conditions that make the answer incomplete or possibly not what was meant; empty otherwise.
    warnings: Vec<output_text::OutputWarning>,
    /// The index generation that was used.
    generation: u64,
}

/// A note of the tree.
#[derive(Debug, Serialize, JsonSchema)]
struct TreeNote {
    #[serde(flatten)]
    name: TitledNote,
    /// Number of links from the start.
    hop: u32,
    /// The link over which it was first reached; absent for the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    through: Option<ReachedBy>,
    /// One-line summary, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
}

/// The link over which a note was reached.
#[derive(Debug, Serialize, JsonSchema)]
struct ReachedBy {
    /// The uri of the note it was reached from.
    from: String,
    /// Type of the link.
    link: String,
    /// True if the link points from this note to `from` instead of the reverse.
    backwards: bool,
}

impl ToolRequest for TreeTool {
    const NAME: &'static str = "tree";
    const TITLE: &'static str = "Follow links from notes";
    const DESCRIPTION: &'static str = "Follows links from one or several notes, breadth first, and returns the notes it reaches as a tree with the type of each link. Returns no texts. \
        Call it to see what is connected with a note, and at what distance. Read the notes with `get_note` or `context`.";
    const RENAMED: &'static [(&'static str, &'static str)] =
        &[("roots", "notes"), ("edges", "links"), ("max_nodes", "max_notes")];
    type Output = TreeOutput;

    async fn run(self, clients: Clients) -> Result<TreeOutput, Status> {
        let Self {
            notes,
            direction,
            max_hops: BoundedNumber(max_hops),
            max_notes: BoundedNumber(max_notes),
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

/// Returns the argument that corresponds to a limit.
fn argument(limit: Limit) -> String {
    match limit {
        Limit::MaxHops => "max_hops",
        Limit::MaxNodes => "max_notes",
        Limit::MaxEdges | Limit::MaxFanout | Limit::Unspecified => "links",
    }
    .to_owned()
}

impl From<TreeResponse> for TreeOutput {
    fn from(answer: TreeResponse) -> Self {
        let cut_by = answer.truncated_by().map(argument).collect();
        let TreeResponse { nodes, edges, spanning_tree, warnings, generation, .. } = answer;
        // Several links may connect two notes; the walk used the first.
        let mut links: HashMap<(&str, &str), (&WalkEdge, bool)> = HashMap::new();
        for edge in &edges {
            links.entry((&edge.from, &edge.to)).or_insert((edge, false));
            links.entry((&edge.to, &edge.from)).or_insert((edge, true));
        }
        let through = |TreeEdge { from, to, hop: _ }: &TreeEdge| {
            let (edge, backwards) = links.get(&(from.as_str(), to.as_str()))?;
            let through =
                ReachedBy { from: from.clone(), link: edge.r#type.clone(), backwards: *backwards };
            Some((to.clone(), through))
        };
        let mut reached: HashMap<String, ReachedBy> =
            spanning_tree.iter().filter_map(through).collect();
        let is_shown = |edge: &&WalkEdge| {
            let ways = [(&edge.from, &edge.to), (&edge.to, &edge.from)];
            ways.into_iter().any(|(from, to)| {
                links.get(&(from.as_str(), to.as_str())).is_some_and(|(it, _)| it == edge)
                    && reached.get(to).is_some_and(|through| through.from == *from)
            })
        };
        let others: Vec<&WalkEdge> = edges.iter().filter(|edge| !is_shown(edge)).collect();
        let link_count = others.len();
        let links = others.into_iter().take(MAX_NAMED_LINKS).map(LinkOutput::from).collect();
        let notes = nodes.into_iter().map(|node| TreeNote {
            through: reached.remove(&node.id),
            hop: node.hop.unwrap_or_default(),
            summary: node.summary.map(|summary| output_text::line(&summary)),
            name: TitledNote::new(node.id, &node.title),
        });
        let notes = notes.collect();
        Self {
            notes,
            links,
            link_count,
            cut_by,
            warnings: output_text::OutputWarning::all(warnings),
            generation,
        }
    }
}

impl TreeOutput {
    /// Writes the note at index `at` and the notes reached from it.
    fn write(
        &self,
        below: &HashMap<&str, Vec<usize>>,
        at: usize,
        f: &mut Formatter<'_>,
    ) -> fmt::Result {
        let TreeNote { name, hop, through, summary } = &self.notes[at];
        let indent = "  ".repeat(*hop as usize);
        write!(f, "{indent}- ")?;
        if let Some(ReachedBy { link, backwards, from: _ }) = through {
            write!(f, "{} {} ", if *backwards { "<-" } else { "->" }, one_line(link))?;
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

impl Display for TreeOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { notes, links, link_count, cut_by, warnings, generation: _ } = self;
        f.write_str(&output_text::warnings(warnings))?;
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
            writeln!(f, "\nOther links between these notes:")?;
        }
        for LinkOutput { from, to, link } in links {
            let [from, link, to] = [from, link, to].map(|name| one_line(name));
            writeln!(f, "- `{from}` {link} -> `{to}`")?;
        }
        if *link_count > links.len() {
            writeln!(f, "and {} more", link_count - links.len())?;
        }
        let n = output_text::counted(notes.len(), "note");
        match &**cut_by {
            [] => writeln!(f, "\n{n}, all that `links`, `direction` and `filter` allow."),
            limits => {
                writeln!(f, "\n{n}; there are more, beyond `{}`.", limits.join("`, `"))
            }
        }
    }
}
