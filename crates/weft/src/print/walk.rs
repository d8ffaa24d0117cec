//! Renders trees, paths and lists of links.

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
    DIM, FAINT_TITLE, NOTICE, STRONG, counted, fitted, hanging, harmless, paint, terminal_columns,
    width, wrap,
};
use crate::hint::Hint;

/// Maximum number of unresolved targets that a tree lists before the rest is counted.
const SHOWN_TARGETS: usize = 8;

/// Labels of the notes of one answer.
///
/// A label is the title, followed by the uri if the uri does not end in the title or if several notes have the title.
struct Labels<'a>(HashMap<&'a str, Label>);

struct Label {
    title: String,
    uri: String,
    /// True if the last segment of the uri equals the title, except for case, `-` and `_`.
    is_title_in_uri: bool,
    /// True if no other note of the answer has the title.
    is_unique: bool,
}

/// Role of a note in a line, which decides its style and whether the uri is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LabelRole {
    /// The first note of a tree, path or group.
    Head,
    /// A note shown for the first time.
    First,
    /// A note shown before.
    Repeated,
}

impl<'a> Labels<'a> {
    fn new(notes: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let notes: Vec<(&str, String)> = notes.map(|(id, title)| (id, harmless(title))).collect();
        let mut n_titled: HashMap<&str, usize> = HashMap::new();
        for (_, title) in &notes {
            *n_titled.entry(title).or_default() += 1;
        }
        let alike = |text: &str| fold(text).replace(['-', '_'], " ");
        let named = notes.iter().map(|(id, title)| {
            let label = Label {
                title: title.clone(),
                uri: harmless(id),
                is_title_in_uri: id
                    .rsplit('/')
                    .next()
                    .is_some_and(|last| alike(last) == alike(title)),
                is_unique: n_titled[title.as_str()] == 1,
            };
            (*id, label)
        });
        Self(named.collect())
    }

    /// Formats the label of `id` for a line with `before` columns in use: the title, cut to the line, and the uri if it is needed and fits.
    fn line(&self, id: &str, before: usize, role: LabelRole) -> String {
        let (title, uri) = match self.0.get(id) {
            None => (harmless(id), None),
            Some(Label { title, uri, is_title_in_uri, is_unique }) => {
                let is_clear = *is_unique && (*is_title_in_uri || role == LabelRole::Repeated);
                (title.clone(), (!is_clear).then_some(uri))
            }
        };
        let room = terminal_columns().map(|columns| columns.saturating_sub(before).max(MIN_TITLE));
        let title = room.map_or_else(|| title.clone(), |room| fitted(&title, room));
        let left = room.map(|room| room.saturating_sub(width(&title) + 2));
        let uri = uri.filter(|uri| left.is_none_or(|left| width(uri) <= left));
        let beside = uri.map(|uri| format!("  {}", paint(DIM, uri))).unwrap_or_default();
        let title = match role {
            LabelRole::Head => paint(STRONG, &title),
            LabelRole::First => title,
            LabelRole::Repeated => paint(DIM, &title),
        };
        title + &beside
    }

    fn title(&self, id: &str) -> String {
        self.0.get(id).map_or_else(|| harmless(id), |name| name.title.clone())
    }
}

/// Minimum columns of a title, at any indentation.
const MIN_TITLE: usize = 16;

/// Returns the type of an edge as seen from one end, empty for an inline link, and an arrow.
fn edge_label(edge: &WalkEdge, side: Side, inverse: &InverseNames) -> (String, &'static str) {
    if let Some(back) = inverse.of(&edge.r#type, side) {
        return (harmless(back), "→");
    }
    let kind = match edge.source() {
        EdgeSource::Inline | EdgeSource::Unspecified => String::new(),
        EdgeSource::Typed => harmless(&edge.r#type),
        EdgeSource::Hierarchy => format!("{} (hierarchy)", harmless(&edge.r#type)),
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

/// Formats an edge like `supports → ` and returns it with its width.
fn arrow(edge: &WalkEdge, at: &str, names: &InverseNames) -> (String, usize) {
    let side = if edge.from == at { Side::Outgoing } else { Side::Incoming };
    let (kind, arrow) = edge_label(edge, side, names);
    let columns = width(&kind) + usize::from(!kind.is_empty()) + 2;
    let kind = if kind.is_empty() { kind } else { paint(FAINT_TITLE, &kind) + " " };
    (format!("{kind}{} ", paint(DIM, arrow)), columns)
}

/// Formats a tree with guide lines; notes that are not expanded again are marked `(seen)`.
pub(crate) fn tree(answer: &TreeResponse, hint: &Hint) -> String {
    let at: HashMap<&str, usize> =
        answer.nodes.iter().enumerate().map(|(at, node)| (node.id.as_str(), at)).collect();
    let position = |id: &str| at.get(id).copied().unwrap_or_default();
    let edges: Vec<_> =
        answer.edges.iter().map(|edge| (position(&edge.from), position(&edge.to))).collect();
    let spanning: Vec<_> = answer
        .spanning_tree
        .iter()
        .map(|edge| (position(&edge.from), position(&edge.to)))
        .collect();
    let direction = match answer.direction() {
        WireDirection::Out => Direction::Out,
        WireDirection::In => Direction::In,
        WireDirection::Both | WireDirection::Unspecified => Direction::Both,
    };
    let labels = Labels::new(answer.nodes.iter().map(|node| (&*node.id, &*node.title)));
    let inverse = inverse(&answer.inverse_names);
    let drawn = lines(answer.nodes.len(), &branches(direction, &edges, &spanning));
    let mut out = String::new();
    let mut guides = Guides::default();
    for (nth, line) in drawn.iter().enumerate() {
        let before = guides.before(line);
        out.push_str(&paint(DIM, &before));
        out.push_str(&tree_line(answer, line, width(&before), &labels, &inverse));
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
    out.push_str(&truncation(answer.truncated_by()));
    out.push_str(&dangling(&answer.unresolved, answer.unresolved_truncated, &labels));
    let farthest = answer.nodes.last().filter(|node| node.hop > Some(0));
    if let Some(farthest) = farthest {
        out.push_str(&next(&[&hint.command("path", &[&answer.root, &farthest.id], &[])]));
    }
    out
}

fn tree_line(
    answer: &TreeResponse,
    line: &Line,
    before: usize,
    labels: &Labels<'_>,
    inverse: &InverseNames,
) -> String {
    /// Mark of a note that is not expanded again.
    const SEEN: &str = " (seen)";
    let id = &answer.nodes[line.node].id;
    let Some(branch) = line.branch else {
        return labels.line(id, before, LabelRole::Head) + "\n";
    };
    let (arrow, columns) = arrow(&answer.edges[branch.edge], &answer.nodes[branch.at].id, inverse);
    if branch.seen {
        let title = labels.line(id, before + columns + SEEN.len(), LabelRole::Repeated);
        return format!("{arrow}{title}{}\n", paint(DIM, SEEN));
    }
    format!("{arrow}{}\n", labels.line(id, before + columns, LabelRole::First))
}

/// Formats a summary below its note.
fn about(summary: &str, indent: &str) -> String {
    let plain: Vec<(char, bool)> = summary.chars().map(|c| (c, false)).collect();
    let text = wrap(&plain, super::text::columns(), indent);
    text.lines().map(|line| paint(DIM, line) + "\n").collect()
}

/// Formats a hint which flags to raise after truncation.
fn truncation(limits: impl Iterator<Item = Limit>) -> String {
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
    let more = format!("Truncated; raise {} to see more.", flags.join(" and "));
    paint(DIM, &more) + "\n"
}

/// Formats unresolved targets, each with the notes that link to it.
fn dangling(links: &[UnresolvedLink], more: bool, labels: &Labels<'_>) -> String {
    if links.is_empty() {
        return String::new();
    }
    let targets = by_target(links);
    let mut out = format!("{}\n", paint(NOTICE, "Unresolved links"));
    for (target, from) in targets.iter().take(SHOWN_TARGETS) {
        out.push_str(&target_line(target, from.iter().map(|id| labels.title(id))));
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

fn target_line(target: &str, from: impl Iterator<Item = String>) -> String {
    let line = format!("{} ← {}", harmless(target), from.collect::<Vec<_>>().join(", "));
    format!("  {}\n", hanging(&line, 2))
}

/// Formats the steps of a path, one per line.
pub(crate) fn path(answer: &PathResponse, hint: &Hint) -> String {
    let labels = Labels::new(answer.nodes.iter().map(|node| (&*node.id, &*node.title)));
    let mut out = String::new();
    if !answer.found {
        let (from, to) = (harmless(&answer.from), harmless(&answer.to));
        let (from, to) = (paint(STRONG, &from), paint(STRONG, &to));
        let within = answer.max_hops.filter(|_| answer.truncated);
        let _ = match within {
            Some(hops) => writeln!(
                out,
                "No path of up to {} leads from {from} to {to}; a longer path exists.",
                counted(u64::from(hops), "hop", "hops")
            ),
            None => writeln!(out, "No path leads from {from} to {to}."),
        };
        if answer.truncated {
            out.push_str(&truncation([Limit::MaxHops].into_iter()));
        }
        out.push_str(&next(&[&hint.command("neighbors", &[&answer.from], &[])]));
        return out;
    }
    let inverse = inverse(&answer.inverse_names);
    for (nth, node) in answer.nodes.iter().enumerate() {
        let step = nth
            .checked_sub(1)
            .and_then(|last| Some((answer.edges.get(last)?, answer.nodes.get(last)?)));
        let line = match step {
            None => labels.line(&node.id, 0, LabelRole::Head),
            Some((edge, WalkNode { id: at, .. })) => {
                let (arrow, columns) = arrow(edge, at, &inverse);
                format!("  {arrow}{}", labels.line(&node.id, columns + 2, LabelRole::First))
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
        let _ = writeln!(
            out,
            "{}",
            paint(DIM, "A longer path is cheaper; raise --max-hops to find it.")
        );
    }
    out
}

/// Formats the notes one link away, with their link types and degrees.
pub(crate) fn neighbors(answer: &NeighborsResponse, hint: &Hint) -> String {
    let Degrees { r#in, out: outgoing, both } = answer.degrees.unwrap_or_default();
    let mut out = format!("{}\n", paint(STRONG, &harmless(&answer.title)));
    let about = format!(
        "{} · linked with {}: {outgoing} outgoing, {in} incoming",
        harmless(&answer.root),
        counted(u64::from(both), "note", "notes"),
    );
    let _ = writeln!(out, "{}", paint(DIM, &about));
    let labels = Labels::new(answer.nodes.iter().map(|node| (&*node.id, &*node.title)));
    let inverse = inverse(&answer.inverse_names);
    let arrows: Vec<(String, usize)> =
        answer.nodes.iter().map(|node| arrows(node, &answer.root, &inverse)).collect();
    let widest = arrows.iter().map(|(_, columns)| *columns).max().unwrap_or_default();
    for (node, (arrows, columns)) in answer.nodes.iter().zip(arrows) {
        let degree = format!("degree {}", node.degrees.unwrap_or_default().both);
        let arrows = " ".repeat(widest - columns) + &arrows;
        let title = labels.line(&node.id, widest + width(&degree) + 3, LabelRole::First);
        let _ = writeln!(out, "{arrows} {title}  {}", paint(DIM, &degree));
    }
    if answer.truncated {
        out.push_str(&truncation([Limit::MaxNodes].into_iter()));
    }
    if let Some(first) = answer.nodes.first() {
        out.push_str(&next(&[&hint.command("neighbors", &[&first.id], &[])]));
    }
    out
}

/// Formats the link types between the center and a neighbor, with one arrow for all of them.
fn arrows(node: &Neighbor, center: &str, inverse: &InverseNames) -> (String, usize) {
    let mut kinds: Vec<String> = Vec::new();
    let mut ways: Vec<&str> = Vec::new();
    for edge in &node.edges {
        let side = if edge.from == center { Side::Outgoing } else { Side::Incoming };
        let (kind, way) = edge_label(edge, side, inverse);
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

/// Formats notes, each with its links to other notes of the subgraph.
pub(crate) fn subgraph(answer: &SubgraphResponse) -> String {
    let labels = Labels::new(answer.nodes.iter().map(|node| (&*node.id, &*node.title)));
    let inverse = InverseNames::default();
    let mut edges = answer.edges.iter().peekable();
    let mut out = String::new();
    for WalkNode { id, .. } in &answer.nodes {
        let _ = writeln!(out, "{}", labels.line(id, 0, LabelRole::Head));
        while let Some(edge) = edges.next_if(|edge| edge.from == *id) {
            let (arrow, columns) = arrow(edge, id, &inverse);
            let to = labels.line(&edge.to, columns + 2, LabelRole::First);
            let _ = writeln!(out, "  {arrow}{to}");
        }
    }
    let counts = format!(
        "{}, {}",
        counted(answer.nodes.len() as u64, "note", "notes"),
        counted(answer.edges.len() as u64, "link", "links")
    );
    let _ = writeln!(out, "{}", paint(DIM, &counts));
    out + &truncation(answer.truncated_by())
}

/// Formats cycles, one per paragraph.
pub(crate) fn cycles(answer: &CyclesResponse) -> String {
    let mut out = String::new();
    for Cycle { nodes, edges } in &answer.cycles {
        let mut line = String::new();
        let mut titles = nodes.iter().map(|NoteRef { uri: _, title }| harmless(title));
        let first = titles.next().unwrap_or_default();
        line.push_str(&first);
        for (edge, title) in edges.iter().zip(titles.chain([first])) {
            let (kind, arrow) = edge_label(edge, Side::Outgoing, &InverseNames::default());
            let space = if kind.is_empty() { "" } else { " " };
            let _ = write!(line, " {kind}{space}{arrow} {title}");
        }
        let _ = writeln!(out, "{}", hanging(&line, 2));
    }
    let n = answer.cycles.len() as u64;
    let summary = if n == 0 && !answer.truncated {
        "No cycles of that length.".to_owned()
    } else {
        counted(n, "cycle", "cycles")
    };
    let _ = writeln!(out, "{}", paint(DIM, &summary));
    if answer.truncated {
        let more = "There may be more; raise --max-cycles, or narrow the search with a filter or --max-length.";
        let _ = writeln!(out, "{}", paint(DIM, more));
    }
    out
}

/// Formats a page of notes without links.
pub(crate) fn orphans(answer: &OrphansResponse, hint: &Hint) -> String {
    let OrphansResponse { notes, next_page_token, total, generation: _, warnings: _ } = answer;
    if *total == 0 {
        return format!("{}\n", paint(DIM, "No orphans: no note is without links."));
    }
    page(notes, *total, next_page_token, hint)
}

/// Formats a page of unresolved links.
pub(crate) fn unresolved(answer: &UnresolvedResponse, hint: &Hint) -> String {
    let UnresolvedResponse {
        unresolved,
        next_page_token,
        total,
        target_count,
        generation: _,
        warnings: _,
    } = answer;
    let mut out = String::new();
    for (target, from) in by_target(unresolved) {
        let _ = writeln!(out, "{}", paint(STRONG, &harmless(target)));
        for uri in from {
            let _ = writeln!(out, "  {} {}", paint(DIM, "←"), harmless(uri));
        }
    }
    let shown = unresolved.len() as u64;
    let part = if shown == *total { String::new() } else { format!("{shown} of ") };
    let summary = format!(
        "{part}{} to {}",
        counted(*total, "unresolved link", "unresolved links"),
        counted(*target_count, "target", "targets")
    );
    let _ = writeln!(out, "{}", paint(DIM, &summary));
    if !next_page_token.is_empty() {
        out.push_str(&next(&[&hint.again("--page-token", next_page_token)]));
    }
    out
}
