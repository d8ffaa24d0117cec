//! The tool `path`.

use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tonic::Status;
use weft_proto::noteweft::v1::{PathRequest, PathResponse};

use super::Question;
use super::args::{Direction, Filter, Link, Links, Name, Note};
use crate::bounds::{Number, Text, object};
use crate::clients::Clients;
use crate::text;

/// Between which notes to find a way.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Path {
    /// The note to start from.
    from: Name,
    /// The note to reach.
    to: Name,
    /// Which links are followed: those of a note (`out`), those to it (`in`), or both.
    #[serde(default)]
    direction: Direction,
    /// Links at most.
    #[serde(default)]
    max_hops: Number<0, 20, 10>,
    /// Only some links.
    #[serde(default, deserialize_with = "object")]
    links: Links,
    /// Only some notes between the two.
    #[serde(default, deserialize_with = "object")]
    filter: Filter,
}

/// A shortest way, or that there is none.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Way {
    /// Whether there is one.
    found: bool,
    /// Its notes, from start to end; empty where there is none.
    notes: Vec<Note>,
    /// The links between them, one fewer than notes.
    links: Vec<Link>,
    /// Whether a longer way was kept back by `max_hops`.
    cut: bool,
    /// What of the filter no note has, which types of `links` no link has, and names that other notes answer to as well.
    degraded: Vec<String>,
    /// The state of the index that answered.
    generation: u64,
}

impl Question for Path {
    const NAME: &'static str = "path";
    const TITLE: &'static str = "Find how two notes are connected";
    const DESCRIPTION: &'static str = "Finds a shortest chain of links between two notes, with the type of each link. \
        Call it to see how two things are connected. That there is none is an answer.";
    const RENAMED: &'static [(&'static str, &'static str)] = &[("edges", "links")];
    type Answer = Way;

    async fn ask(self, clients: Clients) -> Result<Way, Status> {
        let Self {
            from: Text(from),
            to: Text(to),
            direction,
            max_hops: Number(max_hops),
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

impl From<PathResponse> for Way {
    fn from(answer: PathResponse) -> Self {
        let PathResponse { found, nodes, edges, truncated, degraded, generation, .. } = answer;
        Self {
            found,
            notes: nodes.into_iter().map(|node| Note::new(node.id, &node.title)).collect(),
            links: edges.iter().map(Link::from).collect(),
            cut: truncated,
            degraded,
            generation,
        }
    }
}

impl Display for Way {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { found, notes, links, cut, degraded, generation: _ } = self;
        f.write_str(&text::degraded(degraded))?;
        match (found, cut) {
            (true, _) => {}
            (false, true) => {
                return f.write_str("No way within `max_hops` links; there may be a longer one.\n");
            }
            (false, false) => return f.write_str("No chain of links, of those that `links`, `direction` and `filter` let through, connects them.\n"),
        }
        for (at, note) in notes.iter().enumerate() {
            match at.checked_sub(1).and_then(|before| links.get(before)) {
                Some(Link { from, to: _, link }) if *from == note.note => {
                    writeln!(f, "<- {link} - {note}")?;
                }
                Some(Link { from: _, to: _, link }) => writeln!(f, "- {link} -> {note}")?,
                None => writeln!(f, "{note}")?,
            }
        }
        Ok(())
    }
}
