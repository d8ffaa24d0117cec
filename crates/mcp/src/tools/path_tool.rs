//! The `path` tool.

use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tonic::Status;
use weft_model::escape::one_line;
use weft_proto::noteweft::v1::{PathRequest, PathResponse};

use super::ToolRequest;
use super::shared_arguments::{
    LinkFilter, LinkOutput, NoteArgument, NoteFilter, TitledNote, WalkDirection,
};
use crate::bounded_arguments::{BoundedNumber, BoundedText, object};
use crate::output_text;
use crate::service_clients::Clients;

/// The notes to connect.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PathTool {
    /// The first note.
    from: NoteArgument,
    /// The last note.
    to: NoteArgument,
    /// Links to follow: from a note (`out`), to it (`in`), or both.
    #[serde(default)]
    direction: WalkDirection,
    /// Maximum number of links.
    #[serde(default)]
    max_hops: BoundedNumber<0, 20, 10>,
    /// Restricts the links.
    #[serde(default, deserialize_with = "object")]
    links: LinkFilter,
    /// Restricts the notes between the two.
    #[serde(default, deserialize_with = "object")]
    filter: NoteFilter,
}

/// A shortest path, if one exists.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PathOutput {
    /// True if a path exists.
    found: bool,
    /// The notes of the path, from first to last; empty without a path.
    notes: Vec<TitledNote>,
    /// The links between them, one fewer than notes.
    links: Vec<LinkOutput>,
    /// True if `max_hops` excluded longer paths.
    cut: bool,
    /// Conditions that make the answer incomplete or possibly not what was meant; empty otherwise.
    warnings: Vec<output_text::OutputWarning>,
    /// The index generation that was used.
    generation: u64,
}

impl ToolRequest for PathTool {
    const NAME: &'static str = "path";
    const TITLE: &'static str = "Find how two notes are connected";
    const DESCRIPTION: &'static str = "Finds a shortest path of links between two notes, with the type of each link. \
        Call it to see how two notes are connected. The result may be that no path exists.";
    const RENAMED: &'static [(&'static str, &'static str)] = &[("edges", "links")];
    type Output = PathOutput;

    async fn run(self, clients: Clients) -> Result<PathOutput, Status> {
        let Self {
            from: BoundedText(from),
            to: BoundedText(to),
            direction,
            max_hops: BoundedNumber(max_hops),
            links,
            filter,
        } = self;
        let request = PathRequest {
            from,
            to,
            direction: direction.into(),
            edges: Some(links.into()),
            filter: Some(filter.into()),
            max_hops: Some(max_hops),
            ..PathRequest::default()
        };
        let answer = clients.graph().path(request).await?.into_inner();
        Ok(answer.into())
    }
}

impl From<PathResponse> for PathOutput {
    fn from(answer: PathResponse) -> Self {
        let PathResponse { found, nodes, edges, truncated, warnings, generation, .. } = answer;
        Self {
            found,
            notes: nodes.into_iter().map(|node| TitledNote::new(node.id, &node.title)).collect(),
            links: edges.iter().map(LinkOutput::from).collect(),
            cut: truncated,
            warnings: output_text::OutputWarning::all(warnings),
            generation,
        }
    }
}

impl Display for PathOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { found, notes, links, cut, warnings, generation: _ } = self;
        f.write_str(&output_text::warnings(warnings))?;
        match (found, cut) {
            (true, _) => {}
            (false, true) => {
                return f.write_str("No path within `max_hops` links; a longer one may exist.\n");
            }
            (false, false) => return f.write_str("No path connects them through the links and notes that `links`, `direction` and `filter` allow.\n"),
        }
        for (at, note) in notes.iter().enumerate() {
            match at.checked_sub(1).and_then(|before| links.get(before)) {
                Some(LinkOutput { from, to: _, link }) if *from == note.note => {
                    writeln!(f, "<- {} - {note}", one_line(link))?;
                }
                Some(LinkOutput { from: _, to: _, link }) => {
                    writeln!(f, "- {} -> {note}", one_line(link))?;
                }
                None => writeln!(f, "{note}")?,
            }
        }
        Ok(())
    }
}
