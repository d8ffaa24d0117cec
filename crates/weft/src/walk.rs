//! Commands that walk over links: their flags and what they ask.

use clap::{Args, Subcommand, ValueEnum};
use weft_model::Chars;
use weft_proto::noteweft::v1::{
    CyclesRequest, Direction as WireDirection, EdgeFilter, NeighborsRequest, OrphansRequest,
    PathCosts, PathRequest, SubgraphRequest, TopicSiblingsRequest, TreeRequest, UnresolvedRequest,
};

use crate::asker::Asker;
use crate::cli::{FilterArgs, Format, Global};
use crate::commands::{answered, aside, render};
use crate::failure::Failure;
use crate::print;
use crate::records::{path_fields, path_records, tree_fields, tree_records};

/// Walks over links.
#[derive(Debug, Subcommand)]
pub(crate) enum WalkCommand {
    /// Show the notes around a note, as a tree.
    Tree {
        /// The notes to start from: uris, paths, anything a link would find, or a title.
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
        /// The note to start from.
        from: String,
        /// The note to reach.
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
    /// Show the notes one link away, and how connected each is.
    Neighbors {
        /// The note in the middle, in one or several words.
        #[arg(required = true)]
        note: Vec<String>,
        /// Which links count.
        #[arg(long, value_enum, default_value_t, help_heading = "Walk")]
        direction: Direction,
        /// Notes at most.
        #[arg(long, value_name = "N", help_heading = "Walk")]
        max_nodes: Option<u32>,
        #[command(flatten)]
        edges: EdgeArgs,
        #[command(flatten)]
        filter: FilterArgs,
        /// Say how the types of links read backwards.
        #[arg(long, help_heading = "View")]
        inverse_names: bool,
    },
    /// Show the notes that share a topic with a note, beside those it is linked with.
    Siblings {
        /// The note, in one or several words.
        #[arg(required = true)]
        note: Vec<String>,
        /// Which of its links lead to topics.
        #[arg(long, value_enum, default_value_t, help_heading = "Walk")]
        direction: Direction,
        /// Notes at most.
        #[arg(long, default_value_t = 100)]
        limit: u32,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Show the links among some notes: those named, and those that a filter finds.
    Subgraph {
        /// The notes.
        #[arg(value_name = "NOTE")]
        notes: Vec<String>,
        /// Notes at most.
        #[arg(long, value_name = "N", help_heading = "Walk")]
        max_nodes: Option<u32>,
        /// Links at most.
        #[arg(long, value_name = "N", help_heading = "Walk")]
        max_edges: Option<u32>,
        #[command(flatten)]
        edges: EdgeArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Find links that lead in a circle.
    Cycles {
        /// Links in a circle at most [default: 6].
        #[arg(long, value_name = "N", help_heading = "Walk")]
        max_length: Option<u32>,
        /// Circles at most [default: 100].
        #[arg(long, value_name = "N", help_heading = "Walk")]
        max_cycles: Option<u32>,
        #[command(flatten)]
        edges: EdgeArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// List the notes that no link connects with another.
    Orphans {
        /// Which links would connect a note.
        #[arg(long, value_enum, default_value_t)]
        direction: Direction,
        #[command(flatten)]
        page: PageArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// List the links that no note answers to.
    Unresolved {
        #[command(flatten)]
        page: PageArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
}

impl WalkCommand {
    /// Whether it names more notes than one.
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

    /// Whether the answer can be written as line records.
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

/// Which edges of a note are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Direction {
    /// Links of a note.
    Out,
    /// Links to a note.
    In,
    /// Both.
    #[default]
    Both,
}

impl From<Direction> for WireDirection {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Out => Self::Out,
            Direction::In => Self::In,
            Direction::Both => Self::Both,
        }
    }
}

/// Which links are followed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Links")]
pub(crate) struct EdgeArgs {
    /// Only links of this type; may be given several times. Those in a text are `related`.
    #[arg(long = "type", value_name = "TYPE", value_parser = link_type)]
    include: Vec<String>,
    /// Only links of these types.
    #[arg(long = "types", value_name = "TYPE,…", value_delimiter = ',', value_parser = link_type)]
    includes: Vec<String>,
    /// No links of this type; may be given several times.
    #[arg(long, value_name = "TYPE", value_parser = link_type)]
    exclude_type: Vec<String>,
    /// No links of these types.
    #[arg(long, value_name = "TYPE,…", value_delimiter = ',', value_parser = link_type)]
    exclude_types: Vec<String>,
    /// Only links of the frontmatter.
    #[arg(long, conflicts_with = "inline_only")]
    typed_only: bool,
    /// Only links in the text.
    #[arg(long)]
    inline_only: bool,
    /// Also go from notes to those above and below them.
    #[arg(long)]
    hierarchy: bool,
}

/// A type of links, without blanks around it.
fn link_type(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("an empty name is no type of links".to_owned()),
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

/// How far a tree grows.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Walk")]
pub(crate) struct TreeArgs {
    /// Which links are followed.
    #[arg(long, value_enum, default_value_t)]
    direction: Direction,
    /// Links away from a root at most [default: 3].
    #[arg(long, value_name = "N")]
    max_hops: Option<u32>,
    /// Notes at most, roots included.
    #[arg(long, value_name = "N")]
    max_nodes: Option<u32>,
    /// Links at most.
    #[arg(long, value_name = "N")]
    max_edges: Option<u32>,
    /// Links looked at per note at most.
    #[arg(long, value_name = "N")]
    max_fanout: Option<u32>,
    #[command(flatten)]
    edges: EdgeArgs,
}

impl TreeArgs {
    /// Asks for the tree from these roots.
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

/// How a path is found.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Walk")]
pub(crate) struct PathArgs {
    /// Which links are followed.
    #[arg(long, value_enum, default_value_t)]
    direction: Direction,
    /// Links of the path at most [default: 10].
    #[arg(long, value_name = "N")]
    max_hops: Option<u32>,
    /// Find a cheapest path instead: a link of the frontmatter costs 2, one of a text 3.
    #[arg(long)]
    cheapest: bool,
    /// With --cheapest: what a link of the frontmatter costs.
    #[arg(long, value_name = "N", requires = "cheapest")]
    typed_cost: Option<u32>,
    /// With --cheapest: what a link in a text costs.
    #[arg(long, value_name = "N", requires = "cheapest")]
    inline_cost: Option<u32>,
    /// With --cheapest: what a step of the hierarchy costs.
    #[arg(long, value_name = "N", requires = "cheapest")]
    hierarchy_cost: Option<u32>,
    /// With --cheapest: prefer notes in which this property is high; 100 costs nothing more.
    #[arg(long, value_name = "KEY", requires = "cheapest")]
    value_property: Option<String>,
    #[command(flatten)]
    edges: EdgeArgs,
}

/// What an answer says besides the walk.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "View")]
pub(crate) struct ViewArgs {
    /// Say how the types of links read backwards, such as supported-by.
    #[arg(long)]
    inverse_names: bool,
    /// Say what each note is about.
    #[arg(long)]
    summaries: bool,
}

/// How records are written.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RecordArgs {
    /// With --format records: characters at most, cut between lines.
    #[arg(long, value_name = "N")]
    max_chars: Option<u64>,
}

impl RecordArgs {
    fn limit(self, format: Format) -> Result<Option<Chars>, Failure> {
        if self.max_chars.is_some() && format != Format::Records {
            return Err(Failure::usage("--max-chars cuts records; add --format records"));
        }
        Ok(self.max_chars.map(Chars))
    }
}

/// Which page of a list.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PageArgs {
    /// Lines at most.
    #[arg(long, default_value_t = 100)]
    limit: u32,
    /// Continue where a page ended: its `next_page_token`.
    #[arg(long, default_value = "", value_name = "TOKEN", hide_default_value = true)]
    page_token: String,
}

/// Asks and gives the answer as text.
pub(crate) async fn ask(
    asker: &Asker,
    command: WalkCommand,
    global: &Global,
) -> Result<String, Failure> {
    let (mut graph, hint, format) = (asker.graph(), &asker.hint, global.format);
    match command {
        WalkCommand::Tree { roots, tree, filter, view, records } => {
            let max_chars = records.limit(format)?;
            let ViewArgs { inverse_names, summaries } = view;
            let request = TreeRequest { inverse_names, summaries, ..tree.request(roots, filter) };
            let asked = tree_fields(&request);
            let answer = graph.tree(asker.ready(request, global).await?).await?.into_inner();
            aside(&print::degraded(&answer.degraded));
            if format == Format::Records {
                return Ok(tree_records(asked, &answer, max_chars));
            }
            render(format, &answer, |answer| print::tree(answer, hint))
        }
        WalkCommand::Path { from, to, path, filter, view, records } => {
            let max_chars = records.limit(format)?;
            let request = path_request(from, to, path, filter, view);
            let asked = path_fields(&request);
            let answer = graph.path(asker.ready(request, global).await?).await?.into_inner();
            aside(&print::degraded(&answer.degraded));
            if format == Format::Records {
                return Ok(path_records(asked, &answer, max_chars));
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
            let call = async |asker: &Asker, it| asker.graph().neighbors(it).await;
            answered(asker, global, request, call, |it| &it.degraded, print::neighbors).await
        }
        WalkCommand::Siblings { note, direction, limit, filter } => {
            let request = TopicSiblingsRequest {
                note: note.join(" "),
                direction: WireDirection::from(direction).into(),
                filter: Some(filter.into()),
                limit: Some(limit),
                ..TopicSiblingsRequest::default()
            };
            let call = async |asker: &Asker, it| asker.graph().topic_siblings(it).await;
            answered(asker, global, request, call, |it| &it.degraded, print::siblings).await
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
            let call = async |asker: &Asker, it| asker.graph().subgraph(it).await;
            answered(
                asker,
                global,
                request,
                call,
                |it| &it.degraded,
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
            let call = async |asker: &Asker, it| asker.graph().cycles(it).await;
            answered(
                asker,
                global,
                request,
                call,
                |it| &it.degraded,
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
            let call = async |asker: &Asker, it| asker.graph().orphans(it).await;
            answered(asker, global, request, call, |it| &it.degraded, print::orphans).await
        }
        WalkCommand::Unresolved { page: PageArgs { limit, page_token }, filter } => {
            let request = UnresolvedRequest {
                filter: Some(filter.into()),
                page_size: Some(limit),
                page_token,
                ..UnresolvedRequest::default()
            };
            let call = async |asker: &Asker, it| asker.graph().unresolved(it).await;
            answered(asker, global, request, call, |it| &it.degraded, print::unresolved).await
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
