//! Graph commands: flags and requests.

use clap::{Args, Subcommand, ValueEnum};
use weft_model::Chars;
use weft_proto::noteweft::v1::{
    CyclesRequest, Direction as WireDirection, EdgeFilter, NeighborsRequest, OrphansRequest,
    PathCosts, PathRequest, SubgraphRequest, TopicSiblingsRequest, TreeRequest, UnresolvedRequest,
};

use crate::cli::{FilterArgs, Format, Global};
use crate::client::Client;
use crate::commands::{answered, aside, render};
use crate::failure::Failure;
use crate::print;
use crate::records::{path_fields, path_records, tree_fields, tree_records};

/// Graph commands.
#[derive(Debug, Subcommand)]
pub(crate) enum WalkCommand {
    /// Show the notes around a note, as a tree.
    Tree {
        /// Notes to start from: uris, paths, link targets or titles.
        #[arg(required = true, value_name = "NOTE")]
        roots: Vec<String>,
        #[command(flatten)]
        tree: TreeArgs,
        #[command(flatten)]
        filter: FilterArgs,
        #[command(flatten)]
        view: ViewArgs,
        #[command(flatten)]
        records: RecordArgs,
    },
    /// Find the shortest path between two notes.
    Path {
        /// Start.
        from: String,
        /// End.
        to: String,
        #[command(flatten)]
        path: PathArgs,
        #[command(flatten)]
        filter: FilterArgs,
        #[command(flatten)]
        view: ViewArgs,
        #[command(flatten)]
        records: RecordArgs,
    },
    /// Show the notes one link away, with their degrees.
    Neighbors {
        /// The note, as one or several words.
        #[arg(required = true)]
        note: Vec<String>,
        /// Links to follow.
        #[arg(long, value_enum, default_value_t, help_heading = "Walk")]
        direction: DirectionArg,
        /// Maximum number of notes.
        #[arg(long, value_name = "N", help_heading = "Walk")]
        max_nodes: Option<u32>,
        #[command(flatten)]
        edges: EdgeArgs,
        #[command(flatten)]
        filter: FilterArgs,
        /// Show how link types read in reverse.
        #[arg(long, help_heading = "View")]
        inverse_names: bool,
    },
    /// Show the notes linked with a note, and those that share a topic with it.
    Siblings {
        /// The note, as one or several words.
        #[arg(required = true)]
        note: Vec<String>,
        /// Links that lead to topics.
        #[arg(long, value_enum, default_value_t, help_heading = "Walk")]
        direction: DirectionArg,
        /// Maximum number of notes.
        #[arg(long, default_value_t = 100)]
        limit: u32,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Show the links among some notes: those named, and those that pass a filter.
    Subgraph {
        /// The notes.
        #[arg(value_name = "NOTE")]
        notes: Vec<String>,
        /// Maximum number of notes.
        #[arg(long, value_name = "N", help_heading = "Walk")]
        max_nodes: Option<u32>,
        /// Maximum number of links.
        #[arg(long, value_name = "N", help_heading = "Walk")]
        max_edges: Option<u32>,
        #[command(flatten)]
        edges: EdgeArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Find cycles of links.
    Cycles {
        /// Maximum number of links in a cycle [default: 6].
        #[arg(long, value_name = "N", help_heading = "Walk")]
        max_length: Option<u32>,
        /// Maximum number of cycles [default: 100].
        #[arg(long, value_name = "N", help_heading = "Walk")]
        max_cycles: Option<u32>,
        #[command(flatten)]
        edges: EdgeArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// List the notes without links to or from other notes.
    Orphans {
        /// Links that connect a note.
        #[arg(long, value_enum, default_value_t)]
        direction: DirectionArg,
        #[command(flatten)]
        page: PageArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// List the unresolved links.
    Unresolved {
        #[command(flatten)]
        page: PageArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
}

impl WalkCommand {
    /// Returns whether it names several notes.
    pub(crate) fn names_several(&self) -> bool {
        match self {
            Self::Tree { roots: notes, .. } | Self::Subgraph { notes, .. } => notes.len() > 1,
            Self::Path { .. } => true,
            Self::Neighbors { .. }
            | Self::Siblings { .. }
            | Self::Cycles { .. }
            | Self::Orphans { .. }
            | Self::Unresolved { .. } => false,
        }
    }

    /// Returns whether the answer can be written as line records.
    pub(crate) const fn writes_records(&self) -> bool {
        match self {
            Self::Tree { .. } | Self::Path { .. } => true,
            Self::Neighbors { .. }
            | Self::Siblings { .. }
            | Self::Subgraph { .. }
            | Self::Cycles { .. }
            | Self::Orphans { .. }
            | Self::Unresolved { .. } => false,
        }
    }
}

/// Direction of the links to follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectionArg {
    /// Outgoing links.
    Out,
    /// Incoming links.
    In,
    /// Both.
    #[default]
    Both,
}

impl From<DirectionArg> for WireDirection {
    fn from(direction: DirectionArg) -> Self {
        match direction {
            DirectionArg::Out => Self::Out,
            DirectionArg::In => Self::In,
            DirectionArg::Both => Self::Both,
        }
    }
}

/// Links to follow.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Links")]
pub(crate) struct EdgeArgs {
    /// Only links of this type; repeatable. Links in a text have the type `related`.
    #[arg(long = "type", value_name = "TYPE", value_parser = link_type)]
    include: Vec<String>,
    /// Only links of these types.
    #[arg(long = "types", value_name = "TYPE,…", value_delimiter = ',', value_parser = link_type)]
    includes: Vec<String>,
    /// Exclude links of this type; repeatable.
    #[arg(long, value_name = "TYPE", value_parser = link_type)]
    exclude_type: Vec<String>,
    /// Exclude links of these types.
    #[arg(long, value_name = "TYPE,…", value_delimiter = ',', value_parser = link_type)]
    exclude_types: Vec<String>,
    /// Only links in the frontmatter.
    #[arg(long, conflicts_with = "inline_only")]
    typed_only: bool,
    /// Only links in the text.
    #[arg(long)]
    inline_only: bool,
    /// Also walk the hierarchy, to parents and children.
    #[arg(long)]
    hierarchy: bool,
}

/// Parses a link type and trims it.
fn link_type(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a link type must not be empty".to_owned()),
        kind => Ok(kind.to_owned()),
    }
}

impl From<EdgeArgs> for EdgeFilter {
    fn from(args: EdgeArgs) -> Self {
        let EdgeArgs {
            include,
            includes,
            exclude_type,
            exclude_types,
            typed_only,
            inline_only,
            hierarchy,
        } = args;
        Self {
            types: [include, includes].concat(),
            exclude_types: [exclude_type, exclude_types].concat(),
            typed_only,
            inline_only,
            hierarchy,
        }
    }
}

/// Limits of a tree.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Walk")]
pub(crate) struct TreeArgs {
    /// Links to follow.
    #[arg(long, value_enum, default_value_t)]
    direction: DirectionArg,
    /// Maximum number of hops from a root [default: 3].
    #[arg(long, value_name = "N")]
    max_hops: Option<u32>,
    /// Maximum number of notes, roots included.
    #[arg(long, value_name = "N")]
    max_nodes: Option<u32>,
    /// Maximum number of links.
    #[arg(long, value_name = "N")]
    max_edges: Option<u32>,
    /// Maximum number of links examined per note (fan-out).
    #[arg(long, value_name = "N")]
    max_fanout: Option<u32>,
    #[command(flatten)]
    edges: EdgeArgs,
}

impl TreeArgs {
    /// Builds the request for a tree from these roots.
    pub(crate) fn request(self, roots: Vec<String>, filter: FilterArgs) -> TreeRequest {
        let Self { direction, max_hops, max_nodes, max_edges, max_fanout, edges } = self;
        TreeRequest {
            roots,
            direction: WireDirection::from(direction).into(),
            edges: Some(edges.into()),
            filter: Some(filter.into()),
            max_hops,
            max_nodes,
            max_edges,
            max_fanout,
            ..TreeRequest::default()
        }
    }
}

/// Limits and costs of a path.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Walk")]
pub(crate) struct PathArgs {
    /// Links to follow.
    #[arg(long, value_enum, default_value_t)]
    direction: DirectionArg,
    /// Maximum length of the path in links [default: 10].
    #[arg(long, value_name = "N")]
    max_hops: Option<u32>,
    /// Find a cheapest path instead: a frontmatter link costs 2, a link in a text 3.
    #[arg(long)]
    cheapest: bool,
    /// With --cheapest: cost of a frontmatter link.
    #[arg(long, value_name = "N", requires = "cheapest")]
    typed_cost: Option<u32>,
    /// With --cheapest: cost of a link in a text.
    #[arg(long, value_name = "N", requires = "cheapest")]
    inline_cost: Option<u32>,
    /// With --cheapest: cost of a step of the hierarchy.
    #[arg(long, value_name = "N", requires = "cheapest")]
    hierarchy_cost: Option<u32>,
    /// With --cheapest: prefer notes with a high value of this property; a value of 100 adds no cost.
    #[arg(long, value_name = "KEY", requires = "cheapest")]
    value_property: Option<String>,
    #[command(flatten)]
    edges: EdgeArgs,
}

/// Additional content of an answer.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "View")]
pub(crate) struct ViewArgs {
    /// Show how link types read in reverse, such as supported-by.
    #[arg(long)]
    inverse_names: bool,
    /// Show a summary of each note.
    #[arg(long)]
    summaries: bool,
}

/// Limits of record output.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RecordArgs {
    /// With --format records: maximum number of characters, cut between lines.
    #[arg(long, value_name = "N")]
    max_chars: Option<u64>,
}

impl RecordArgs {
    fn limit(self, format: Format) -> Result<Option<Chars>, Failure> {
        if self.max_chars.is_some() && format != Format::Records {
            return Err(Failure::usage("--max-chars limits records; add --format records"));
        }
        Ok(self.max_chars.map(Chars))
    }
}

/// Page of a list.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PageArgs {
    /// Maximum number of entries.
    #[arg(long, default_value_t = 100)]
    pub(crate) limit: u32,
    /// Token of the next page, from `next_page_token` of the previous one.
    #[arg(long, default_value = "", value_name = "TOKEN", hide_default_value = true)]
    pub(crate) page_token: String,
}

/// Sends the request and renders the answer.
pub(crate) async fn run(
    client: &Client,
    command: WalkCommand,
    global: &Global,
) -> Result<String, Failure> {
    let (mut graph, hint, format) = (client.graph(), &client.hint, global.format);
    match command {
        WalkCommand::Tree { roots, tree, filter, view, records } => {
            let max_chars = records.limit(format)?;
            let ViewArgs { inverse_names, summaries } = view;
            let request = TreeRequest { inverse_names, summaries, ..tree.request(roots, filter) };
            let request_fields = tree_fields(&request);
            let answer = graph.tree(client.prepare(request, global).await?).await?.into_inner();
            aside(&print::warnings(&answer.warnings));
            if format == Format::Records {
                return Ok(tree_records(request_fields, &answer, max_chars));
            }
            render(format, &answer, |answer| print::tree(answer, hint))
        }
        WalkCommand::Path { from, to, path, filter, view, records } => {
            let max_chars = records.limit(format)?;
            let request = path_request(from, to, path, filter, view);
            let request_fields = path_fields(&request);
            let answer = graph.path(client.prepare(request, global).await?).await?.into_inner();
            aside(&print::warnings(&answer.warnings));
            if format == Format::Records {
                return Ok(path_records(request_fields, &answer, max_chars));
            }
            render(format, &answer, |answer| print::path(answer, hint))
        }
        WalkCommand::Neighbors { note, direction, max_nodes, edges, filter, inverse_names } => {
            let request = NeighborsRequest {
                note: note.join(" "),
                direction: WireDirection::from(direction).into(),
                edges: Some(edges.into()),
                filter: Some(filter.into()),
                max_nodes,
                inverse_names,
                ..NeighborsRequest::default()
            };
            let call = async |client: &Client, it| client.graph().neighbors(it).await;
            answered(client, global, request, call, |it| &it.warnings, print::neighbors).await
        }
        WalkCommand::Siblings { note, direction, limit, filter } => {
            let request = TopicSiblingsRequest {
                note: note.join(" "),
                direction: WireDirection::from(direction).into(),
                filter: Some(filter.into()),
                limit: Some(limit),
                ..TopicSiblingsRequest::default()
            };
            let call = async |client: &Client, it| client.graph().topic_siblings(it).await;
            answered(client, global, request, call, |it| &it.warnings, print::siblings).await
        }
        WalkCommand::Subgraph { notes, max_nodes, max_edges, edges, filter } => {
            let request = SubgraphRequest {
                notes,
                filter: Some(filter.into()),
                edges: Some(edges.into()),
                max_nodes,
                max_edges,
                ..SubgraphRequest::default()
            };
            let call = async |client: &Client, it| client.graph().subgraph(it).await;
            answered(
                client,
                global,
                request,
                call,
                |it| &it.warnings,
                |answer, _| print::subgraph(answer),
            )
            .await
        }
        WalkCommand::Cycles { max_length, max_cycles, edges, filter } => {
            let request = CyclesRequest {
                edges: Some(edges.into()),
                filter: Some(filter.into()),
                max_length,
                max_cycles,
                ..CyclesRequest::default()
            };
            let call = async |client: &Client, it| client.graph().cycles(it).await;
            answered(
                client,
                global,
                request,
                call,
                |it| &it.warnings,
                |answer, _| print::cycles(answer),
            )
            .await
        }
        WalkCommand::Orphans { direction, page: PageArgs { limit, page_token }, filter } => {
            let request = OrphansRequest {
                direction: WireDirection::from(direction).into(),
                filter: Some(filter.into()),
                page_size: Some(limit),
                page_token,
                ..OrphansRequest::default()
            };
            let call = async |client: &Client, it| client.graph().orphans(it).await;
            answered(client, global, request, call, |it| &it.warnings, print::orphans).await
        }
        WalkCommand::Unresolved { page: PageArgs { limit, page_token }, filter } => {
            let request = UnresolvedRequest {
                filter: Some(filter.into()),
                page_size: Some(limit),
                page_token,
                ..UnresolvedRequest::default()
            };
            let call = async |client: &Client, it| client.graph().unresolved(it).await;
            answered(client, global, request, call, |it| &it.warnings, print::unresolved).await
        }
    }
}

fn path_request(
    from: String,
    to: String,
    path: PathArgs,
    filter: FilterArgs,
    view: ViewArgs,
) -> PathRequest {
    let PathArgs {
        direction,
        max_hops,
        cheapest,
        typed_cost: typed,
        inline_cost: inline,
        hierarchy_cost: hierarchy,
        value_property,
        edges,
    } = path;
    let ViewArgs { inverse_names, summaries } = view;
    PathRequest {
        from,
        to,
        direction: WireDirection::from(direction).into(),
        edges: Some(edges.into()),
        filter: Some(filter.into()),
        max_hops,
        costs: cheapest.then_some(PathCosts { typed, inline, hierarchy, value_property }),
        inverse_names,
        summaries,
        ..PathRequest::default()
    }
}
