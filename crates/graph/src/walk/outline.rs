//! Outline of a tree: indented text with box-drawing lines and `(seen)` marks.
//!
//! Works on positions instead of ids, so that a client can draw a tree from a response.

use std::collections::HashMap;
use std::fmt::{self, Write};

use super::step::Direction;

/// An edge of a tree from one note to another, by their positions in the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Note that was expanded.
    pub at: usize,
    /// Note that the edge leads to.
    pub to: usize,
    /// Position of the edge in the response.
    pub edge: usize,
    /// True if `to` was already in the tree and is only named.
    pub seen: bool,
}

/// One line of an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Position of the note in the response.
    pub node: usize,
    /// Edge that leads to the note; `None` for a root.
    pub branch: Option<Branch>,
    /// Indentation level; 0 for a root.
    pub depth: usize,
    /// True if it is the last line directly below its parent.
    pub last: bool,
}

/// Returns the branches of a response from `edges` in discovery order and `spanning_tree` from parent to child, all by position of their notes.
///
/// A response does not contain which end of a reference was expanded. It is the earlier one, because an edge is reached as soon as one of its ends is expanded; under a fan-out limit this is a guess.
#[must_use]
pub fn branches(
    direction: Direction,
    edges: &[(usize, usize)],
    spanning_tree: &[(usize, usize)],
) -> Vec<Branch> {
    let mut parents: HashMap<usize, usize> =
        spanning_tree.iter().map(|(parent, child)| (*child, *parent)).collect();
    let branch = |(edge, (from, to)): (usize, &(usize, usize))| {
        let (at, to) = match direction {
            Direction::Out => (*from, *to),
            Direction::In => (*to, *from),
            Direction::Both => (*from.min(to), *from.max(to)),
        };
        // A note was reached by the first edge from its parent.
        let seen = parents.get(&to) != Some(&at);
        if !seen {
            parents.remove(&to);
        }
        Branch { at, to, edge, seen }
    };
    (0..).zip(edges).map(branch).collect()
}

/// Returns the lines of a tree of `n_nodes` notes, depth-first, with the branches below a note in discovery order.
///
/// Notes that no branch leads to are roots, in order of position.
#[must_use]
pub fn lines(n_nodes: usize, branches: &[Branch]) -> Vec<Line> {
    let mut below: Vec<Vec<Branch>> = vec![Vec::new(); n_nodes];
    let mut is_root = vec![true; n_nodes];
    for branch in branches {
        below[branch.at].push(*branch);
        is_root[branch.to] &= branch.seen;
    }
    let roots = (0..n_nodes).filter(|node| is_root[*node]);
    let mut left: Vec<Line> =
        roots.map(|node| Line { node, branch: None, depth: 0, last: true }).collect();
    left.reverse();
    let mut lines = Vec::with_capacity(n_nodes + branches.len());
    while let Some(line) = left.pop() {
        lines.push(line);
        if line.branch.is_none_or(|branch| !branch.seen) {
            let children = &below[line.node];
            left.extend(children.iter().enumerate().rev().map(|(nth, branch)| Line {
                node: branch.to,
                branch: Some(*branch),
                depth: line.depth + 1,
                last: nth + 1 == children.len(),
            }));
        }
    }
    lines
}

/// Guide lines to the left of successive lines.
///
/// After every [`LEVELS`](Self::LEVELS) levels the guides restart at the left, prefixed with the number of omitted levels (`24 ⋯ └── `), so the output for a chain grows linearly with its length instead of quadratically.
#[derive(Clone, Debug, Default)]
pub struct Guides {
    /// By depth from 1 on, true if more lines follow below the same note.
    open: Vec<bool>,
}

impl Guides {
    /// Number of levels drawn beside each other.
    pub const LEVELS: usize = 24;

    /// Returns the guides of `line`, which must follow the previous line passed in.
    pub fn before(&mut self, line: &Line) -> String {
        let Some(above) = line.depth.checked_sub(1) else {
            self.open.clear();
            return String::new();
        };
        self.open.truncate(above);
        let left_out = above - above % Self::LEVELS;
        let mut text = if left_out == 0 { String::new() } else { format!("{left_out} ⋯ ") };
        text.extend(bars(&self.open[left_out..]));
        text.push_str(if line.last { "└── " } else { "├── " });
        self.open.push(!line.last);
        text
    }

    /// Returns the guides for further text of the previous line; `deeper` is true if lines below its note follow.
    #[must_use]
    pub fn below(&self, deeper: bool) -> String {
        let above = self.open.len().saturating_sub(1);
        let left_out = above - above % Self::LEVELS;
        let mark =
            if left_out == 0 { 0 } else { left_out.to_string().len() + " ⋯ ".chars().count() };
        let deeper = [deeper];
        let levels = bars(&self.open[left_out..]).chain(bars(&deeper));
        std::iter::repeat_n(" ", mark).chain(levels).collect()
    }
}

fn bars(open: &[bool]) -> impl Iterator<Item = &'static str> + '_ {
    open.iter().map(|open| if *open { "│   " } else { "    " })
}

/// Writes one row per line: guides, the label of the line, and ` (seen)` for a reference.
///
/// # Errors
///
/// Errors of `out`.
pub fn write(lines: &[Line], label: impl Fn(&Line) -> String, out: &mut impl Write) -> fmt::Result {
    let mut guides = Guides::default();
    for line in lines {
        let seen = if line.branch.is_some_and(|branch| branch.seen) { " (seen)" } else { "" };
        writeln!(out, "{}{}{seen}", guides.before(line), label(line))?;
    }
    Ok(())
}
