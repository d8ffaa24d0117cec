//! Trees, paths and lists of links.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use weft_graph::walk::outline::{Guides, Line, branches, lines};
use weft_graph::walk::{Direction, InverseNames, Side};
use weft_model::fold;
use weft_proto::noteweft::v1::{
    Cycle, CyclesResponse, Degrees, Direction as WireDirection, EdgeSource, Limit, Neighbor,
    NeighborsResponse, NoteRef, OrphansResponse, PathResponse, SubgraphResponse, TreeResponse,
    UnresolvedLink, UnresolvedResponse, WalkEdge, WalkNode,
};

use super::next;
use super::notes::page;
use super::text::{
    DIM, FAINT_TITLE, NOTICE, STRONG, counted, fitted, one_line, paint, screen, width, wrap,
};
use crate::hint::Hint;

/// Names without a note that a tree shows before the rest is counted.
const SHOWN_TARGETS: usize = 8;

/// How notes are called in one answer.
///
/// By title; where the uri does not end like it, or another note has it too, with the uri beside it.
struct Names<'a>(HashMap<&'a str, Name>);

struct Name {
    title: String,
    uri: String,
    /// Whether the last part of the uri is the title, or nearly.
    is_said: bool,
    /// Whether no other note of the answer has the title.
    is_unique: bool,
}

/// How much is told of a note in a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Telling {
    /// It stands at the head of something.
    Head,
    /// It is met.
    Met,
    /// It was told before.
    Again,
}

impl<'a> Names<'a> {
    fn new(notes: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let notes: Vec<(&str, String)> = notes.map(|(id, title)| (id, one_line(title))).collect();
        let mut n_titled: HashMap<&str, usize> = HashMap::new();
        for (_, title) in &notes {
            *n_titled.entry(title).or_default() += 1;
        }
        let alike = |text: &str| fold(text).replace(['-', '_'], " ");
        let named = notes.iter().map(|(id, title)| {
            let name = Name {
                title: title.clone(),
                uri: one_line(id),
                is_said: id.rsplit('/').next().is_some_and(|last| alike(last) == alike(title)),
                is_unique: n_titled[title.as_str()] == 1,
            };
            (*id, name)
        });
        Self(named.collect())
    }

    /// The title of `id`, cut to what is left of the line behind `before`, and its uri where it is needed and fits.
    fn line(&self, id: &str, before: usize, telling: Telling) -> String {
        let (title, uri) = match self.0.get(id) {
            None => (one_line(id), None),
            Some(Name { title, uri, is_said, is_unique }) => {
                let is_clear = *is_unique && (*is_said || telling == Telling::Again);
                (title.clone(), (!is_clear).then_some(uri))
            }
        };
        let room = screen().map(|columns| columns.saturating_sub(before).max(MIN_TITLE));
        let title = room.map_or_else(|| title.clone(), |room| fitted(&title, room));
        let left = room.map(|room| room.saturating_sub(width(&title) + 2));
        let uri = uri.filter(|uri| left.is_none_or(|left| width(uri) <= left));
        let beside = uri.map(|uri| format!("  {}", paint(DIM, uri))).unwrap_or_default();
        let title = match telling {
            Telling::Head => paint(STRONG, &title),
            Telling::Met => title,
            Telling::Again => paint(DIM, &title),
        };
        title + &beside
    }

    fn title(&self, id: &str) -> String {
        self.0.get(id).map_or_else(|| one_line(id), |name| name.title.clone())
    }
}

/// Columns that a title has at least, however deep its line is indented.
const MIN_TITLE: usize = 16;

/// How an edge reads from the end it is met at: its type, unless it is a plain link, and an arrow.
fn reading(edge: &WalkEdge, side: Side, inverse: &InverseNames) -> (String, &'static str) {
    if let Some(back) = inverse.of(&edge.r#type, side) {
        return (one_line(back), "→");
    }
    let kind = match edge.source() {
        EdgeSource::Inline | EdgeSource::Unspecified => String::new(),
        EdgeSource::Typed => one_line(&edge.r#type),
        EdgeSource::Hierarchy => format!("{} (hierarchy)", one_line(&edge.r#type)),
    };
    let arrow = match side {
        Side::Outgoing => "→",
        Side::Incoming => "←",
    };
    (kind, arrow)
}

fn inverse(names: &BTreeMap<String, String>) -> InverseNames {
    InverseNames::new(names.clone())
}

/// `supports → `, and how many columns that takes.
fn arrow(edge: &WalkEdge, at: &str, names: &InverseNames) -> (String, usize) {
    let side = if edge.from == at { Side::Outgoing } else { Side::Incoming };
    let (kind, arrow) = reading(edge, side, names);
    let columns = width(&kind) + usize::from(!kind.is_empty()) + 2;
    let kind = if kind.is_empty() { kind } else { paint(FAINT_TITLE, &kind) + " " };
    (format!("{kind}{} ", paint(DIM, arrow)), columns)
}

/// A tree with lines, what is not followed again marked `(seen)`.
pub(crate) fn tree(answer: &TreeResponse, hint: &Hint) -> String {
    let at: HashMap<&str, usize> =
        answer.nodes.iter().enumerate().map(|(at, node)| (node.id.as_str(), at)).collect();
    let position = |id: &str| at.get(id).copied().unwrap_or_default();
    let edges: Vec<_> =
        answer.edges.iter().map(|edge| (position(&edge.from), position(&edge.to))).collect();
    let grown: Vec<_> = answer
        .spanning_tree
        .iter()
        .map(|edge| (position(&edge.from), position(&edge.to)))
        .collect();
    let direction = match answer.direction() {
        WireDirection::Out => Direction::Out,
        WireDirection::In => Direction::In,
        WireDirection::Both | WireDirection::Unspecified => Direction::Both,
    };
    let names = Names::new(answer.nodes.iter().map(|node| (&*node.id, &*node.title)));
    let inverse = inverse(&answer.inverse_names);
    let drawn = lines(answer.nodes.len(), &branches(direction, &edges, &grown));
    let mut out = String::new();
    let mut guides = Guides::default();
    for (nth, line) in drawn.iter().enumerate() {
        let before = guides.before(line);
        out.push_str(&paint(DIM, &before));
        out.push_str(&tree_line(answer, line, width(&before), &names, &inverse));
        let is_seen = line.branch.is_some_and(|branch| branch.seen);
        if let Some(summary) = answer.nodes[line.node].summary.as_ref().filter(|_| !is_seen) {
            let deeper = drawn.get(nth + 1).is_some_and(|next| next.depth > line.depth);
            out.push_str(&about(summary, &guides.below(deeper)));
        }
    }
    let mut counts = vec![
        counted(answer.nodes.len() as u64, "note", "notes"),
        counted(answer.edges.len() as u64, "link", "links"),
    ];
    counts.extend(
        answer.max_hops.map(|hops| format!("up to {}", counted(u64::from(hops), "hop", "hops"))),
    );
    let _ = writeln!(out, "{}", paint(DIM, &counts.join(", ")));
    out.push_str(&cut(answer.truncated_by()));
    out.push_str(&dangling(&answer.unresolved, answer.more_unresolved, &names));
    let farthest = answer.nodes.last().filter(|node| node.hop > Some(0));
    if let Some(farthest) = farthest {
        out.push_str(&next(&[&hint.command(&["path", &answer.root, &farthest.id])]));
    }
    out
}

fn tree_line(
    answer: &TreeResponse,
    line: &Line,
    before: usize,
    names: &Names<'_>,
    inverse: &InverseNames,
) -> String {
    /// What follows the title of a note that is not followed again.
    const SEEN: &str = " (seen)";
    let id = &answer.nodes[line.node].id;
    let Some(branch) = line.branch else {
        return names.line(id, before, Telling::Head) + "\n";
    };
    let (arrow, columns) = arrow(&answer.edges[branch.edge], &answer.nodes[branch.at].id, inverse);
    if branch.seen {
        let title = names.line(id, before + columns + SEEN.len(), Telling::Again);
        return format!("{arrow}{title}{}\n", paint(DIM, SEEN));
    }
    format!("{arrow}{}\n", names.line(id, before + columns, Telling::Met))
}

/// A summary below its note.
fn about(summary: &str, indent: &str) -> String {
    let plain: Vec<(char, bool)> = summary.chars().map(|c| (c, false)).collect();
    let text = wrap(&plain, super::text::columns(), indent);
    text.lines().map(|line| paint(DIM, line) + "\n").collect()
}

/// What a limit kept back, and the flags that let it in.
fn cut(limits: impl Iterator<Item = Limit>) -> String {
    let flags: Vec<&str> = limits
        .filter_map(|limit| match limit {
            Limit::MaxHops => Some("--max-hops"),
            Limit::MaxNodes => Some("--max-nodes"),
            Limit::MaxEdges => Some("--max-edges"),
            Limit::MaxFanout => Some("--max-fanout"),
            Limit::Unspecified => None,
        })
        .collect();
    if flags.is_empty() {
        return String::new();
    }
    let verb = if flags.len() == 1 { "shows" } else { "show" };
    let more = format!("There is more; {} {verb} it.", flags.join(" and "));
    paint(DIM, &more) + "\n"
}

/// The names that no note answers to, each with who asks.
fn dangling(links: &[UnresolvedLink], more: bool, names: &Names<'_>) -> String {
    if links.is_empty() {
        return String::new();
    }
    let targets = by_target(links);
    let mut out = format!("{}\n", paint(NOTICE, "No note answers to"));
    for (target, from) in targets.iter().take(SHOWN_TARGETS) {
        out.push_str(&asked(target, from.iter().map(|id| names.title(id))));
    }
    let left = targets.len().saturating_sub(SHOWN_TARGETS);
    if left > 0 || more {
        let or_more = if more { " or more" } else { "" };
        let _ = writeln!(out, "  {}", paint(DIM, &format!("and {left}{or_more} others")));
    }
    out
}

fn by_target(links: &[UnresolvedLink]) -> Vec<(&str, Vec<&str>)> {
    let mut targets: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut at: HashMap<&str, usize> = HashMap::new();
    for UnresolvedLink { from, target } in links {
        let at = *at.entry(target).or_insert_with(|| {
            targets.push((target, Vec::new()));
            targets.len() - 1
        });
        targets[at].1.push(from);
    }
    targets
}

fn asked(target: &str, from: impl Iterator<Item = String>) -> String {
    let line = format!("{} ← {}", one_line(target), from.collect::<Vec<_>>().join(", "));
    let plain: Vec<(char, bool)> = line.chars().map(|c| (c, false)).collect();
    wrap(&plain, super::text::columns(), "  ")
}

/// The steps of a path, one to a line.
pub(crate) fn path(answer: &PathResponse, hint: &Hint) -> String {
    let names = Names::new(answer.nodes.iter().map(|node| (&*node.id, &*node.title)));
    let mut out = String::new();
    if !answer.found {
        let (from, to) = (one_line(&answer.from), one_line(&answer.to));
        let (from, to) = (paint(STRONG, &from), paint(STRONG, &to));
        let within = answer.max_hops.filter(|_| answer.truncated);
        let _ = match within {
            Some(hops) => writeln!(
                out,
                "No path of up to {} leads from {from} to {to}; a longer one does.",
                counted(u64::from(hops), "hop", "hops")
            ),
            None => writeln!(out, "No path leads from {from} to {to}."),
        };
        if answer.truncated {
            out.push_str(&cut([Limit::MaxHops].into_iter()));
        }
        out.push_str(&next(&[&hint.command(&["neighbors", &answer.from])]));
        return out;
    }
    let inverse = inverse(&answer.inverse_names);
    for (nth, node) in answer.nodes.iter().enumerate() {
        let step = nth
            .checked_sub(1)
            .and_then(|last| Some((answer.edges.get(last)?, answer.nodes.get(last)?)));
        let line = match step {
            None => names.line(&node.id, 0, Telling::Head),
            Some((edge, WalkNode { id: at, .. })) => {
                let (arrow, columns) = arrow(edge, at, &inverse);
                format!("  {arrow}{}", names.line(&node.id, columns + 2, Telling::Met))
            }
        };
        let _ = writeln!(out, "{line}");
        if let Some(summary) = &node.summary {
            out.push_str(&about(summary, "    "));
        }
    }
    let mut counts = counted(u64::from(answer.length), "hop", "hops");
    if let Some(cost) = answer.cost {
        let _ = write!(counts, ", cost {cost}");
    }
    let _ = writeln!(out, "{}", paint(DIM, &counts));
    if answer.truncated {
        let _ = writeln!(out, "{}", paint(DIM, "A longer path is cheaper; --max-hops lets it in."));
    }
    out
}

/// The notes one link away, the kinds of links and the degree of each beside it.
pub(crate) fn neighbors(answer: &NeighborsResponse, hint: &Hint) -> String {
    let Degrees { r#in, out: outgoing, both } = answer.degrees.unwrap_or_default();
    let mut out = format!("{}\n", paint(STRONG, &one_line(&answer.title)));
    let about = format!(
        "{} · linked with {}: {outgoing} by its links, {in} by links to it",
        one_line(&answer.root),
        counted(u64::from(both), "note", "notes"),
    );
    let _ = writeln!(out, "{}", paint(DIM, &about));
    let names = Names::new(answer.nodes.iter().map(|node| (&*node.id, &*node.title)));
    let inverse = inverse(&answer.inverse_names);
    let arrows: Vec<(String, usize)> =
        answer.nodes.iter().map(|node| arrows(node, &answer.root, &inverse)).collect();
    let widest = arrows.iter().map(|(_, columns)| *columns).max().unwrap_or_default();
    for (node, (arrows, columns)) in answer.nodes.iter().zip(arrows) {
        let degree = format!("linked with {}", node.degrees.unwrap_or_default().both);
        let arrows = " ".repeat(widest - columns) + &arrows;
        let title = names.line(&node.id, widest + width(&degree) + 3, Telling::Met);
        let _ = writeln!(out, "{arrows} {title}  {}", paint(DIM, &degree));
    }
    if answer.truncated {
        out.push_str(&cut([Limit::MaxNodes].into_iter()));
    }
    if let Some(first) = answer.nodes.first() {
        out.push_str(&next(&[&hint.command(&["neighbors", &first.id])]));
    }
    out
}

/// The kinds of links between the middle and a neighbour, and one arrow for all of them.
fn arrows(node: &Neighbor, middle: &str, inverse: &InverseNames) -> (String, usize) {
    let mut kinds: Vec<String> = Vec::new();
    let mut ways: Vec<&str> = Vec::new();
    for edge in &node.edges {
        let side = if edge.from == middle { Side::Outgoing } else { Side::Incoming };
        let (kind, way) = reading(edge, side, inverse);
        ways.push(way);
        if !kind.is_empty() && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let arrow = match (ways.contains(&"→"), ways.contains(&"←")) {
        (true, true) => "↔",
        (false, true) => "←",
        (true | false, false) => "→",
    };
    let kinds = kinds.join(", ");
    let columns = width(&kinds) + usize::from(!kinds.is_empty()) + 1;
    let kinds = if kinds.is_empty() { kinds } else { paint(FAINT_TITLE, &kinds) + " " };
    (format!("{kinds}{}", paint(DIM, arrow)), columns)
}

/// Notes, each with its links to others of them.
pub(crate) fn subgraph(answer: &SubgraphResponse) -> String {
    let names = Names::new(answer.nodes.iter().map(|node| (&*node.id, &*node.title)));
    let inverse = InverseNames::default();
    let mut edges = answer.edges.iter().peekable();
    let mut out = String::new();
    for WalkNode { id, .. } in &answer.nodes {
        let _ = writeln!(out, "{}", names.line(id, 0, Telling::Head));
        while let Some(edge) = edges.next_if(|edge| edge.from == *id) {
            let (arrow, columns) = arrow(edge, id, &inverse);
            let to = names.line(&edge.to, columns + 2, Telling::Met);
            let _ = writeln!(out, "  {arrow}{to}");
        }
    }
    let counts = format!(
        "{}, {}",
        counted(answer.nodes.len() as u64, "note", "notes"),
        counted(answer.edges.len() as u64, "link", "links")
    );
    let _ = writeln!(out, "{}", paint(DIM, &counts));
    out + &cut(answer.truncated_by())
}

/// Circles, one to a paragraph.
pub(crate) fn cycles(answer: &CyclesResponse) -> String {
    let mut out = String::new();
    for Cycle { nodes, edges } in &answer.cycles {
        let mut line = String::new();
        let mut titles = nodes.iter().map(|NoteRef { uri: _, title }| one_line(title));
        let first = titles.next().unwrap_or_default();
        line.push_str(&first);
        for (edge, title) in edges.iter().zip(titles.chain([first])) {
            let (kind, arrow) = reading(edge, Side::Outgoing, &InverseNames::default());
            let space = if kind.is_empty() { "" } else { " " };
            let _ = write!(line, " {kind}{space}{arrow} {title}");
        }
        let plain: Vec<(char, bool)> = line.chars().map(|c| (c, false)).collect();
        out.push_str(&wrap(&plain, super::text::columns(), "  ").replacen("  ", "", 1));
    }
    let n = answer.cycles.len() as u64;
    let summary = if n == 0 && !answer.truncated {
        "No links lead in a circle of that length.".to_owned()
    } else {
        counted(n, "circle", "circles")
    };
    let _ = writeln!(out, "{}", paint(DIM, &summary));
    if answer.truncated {
        let more = "There may be more; --max-cycles shows them, a filter or --max-length narrows the search.";
        let _ = writeln!(out, "{}", paint(DIM, more));
    }
    out
}

/// A page of notes without connection.
pub(crate) fn orphans(answer: &OrphansResponse, hint: &Hint) -> String {
    let OrphansResponse { notes, next_page_token, total, generation: _, degraded: _ } = answer;
    if *total == 0 {
        return format!("{}\n", paint(DIM, "Every note is linked with another."));
    }
    page(notes, *total, next_page_token, hint)
}

/// A page of links that no note answers to.
pub(crate) fn unresolved(answer: &UnresolvedResponse, hint: &Hint) -> String {
    let UnresolvedResponse {
        unresolved,
        next_page_token,
        total,
        n_targets,
        generation: _,
        degraded: _,
    } = answer;
    let mut out = String::new();
    for (target, from) in by_target(unresolved) {
        let _ = writeln!(out, "{}", paint(STRONG, &one_line(target)));
        for uri in from {
            let _ = writeln!(out, "  {} {}", paint(DIM, "←"), one_line(uri));
        }
    }
    let shown = unresolved.len() as u64;
    let part = if shown == *total { String::new() } else { format!("{shown} of ") };
    let summary = format!(
        "{part}{} to {} that no note answers to",
        counted(*total, "link", "links"),
        counted(*n_targets, "name", "names")
    );
    let _ = writeln!(out, "{}", paint(DIM, &summary));
    if !next_page_token.is_empty() {
        out.push_str(&next(&[&hint.again("--page-token", next_page_token)]));
    }
    out
}
