//! A tree as people read it: indented, with box-drawing lines and `(seen)`.
//!
//! Works on positions, not on ids, so that a caller who only has an answer from the wire can draw it too.

use std::collections::HashMap;
use std::fmt::{self, Write};

use super::step::Direction;

/// A way from one note of a tree to another, by their positions in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The note that was expanded.
    pub at: usize,
    /// The note that the edge leads to.
    pub to: usize,
    /// The edge, by its position in the answer.
    pub edge: usize,
    /// Whether `to` was already there and is only named.
    pub seen: bool,
}

/// One line of an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The note, by its position in the answer.
    pub node: usize,
    /// How it was met; nothing for a root.
    pub branch: Option<Branch>,
    /// How far it is indented; 0 for a root.
    pub depth: usize,
    /// Whether no further line follows below the same note.
    pub last: bool,
}

/// The branches of an answer: `edges` in the order met and `spanning_tree` from parent to child, all by position of their notes.
///
/// Which end of a reference was expanded is not in the answer: it is the earlier one, for an edge is met as soon as one of its ends is expanded; under a fan-out limit that is a guess.
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
        // The first edge from its parent is the one a note was reached by.
        let seen = parents.get(&to) != Some(&at);
        if !seen {
            parents.remove(&to);
        }
        Branch { at, to, edge, seen }
    };
    (0..).zip(edges).map(branch).collect()
}

/// The lines of a tree of `n_nodes` notes, depth-first, branches below a note in the order met.
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

/// The lines drawn left of one line after another.
///
/// Every [`LEVELS`](Self::LEVELS) levels they begin at the left again, behind the number of levels left out (`24 ⋯ └── `), so that a chain takes room by its length and not by the square of it.
#[derive(Clone, Debug, Default)]
pub struct Guides {
    /// By depth, from 1 on: whether more follows below the same note.
    open: Vec<bool>,
}

impl Guides {
    /// How many levels are drawn beside each other.
    pub const LEVELS: usize = 24;

    /// What stands before `line`, which follows the line asked for last.
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

    /// What stands before further text of the line asked for last; `deeper` if lines below its note follow.
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

/// Writes one row per line: guides, what `label` says of it, and ` (seen)` for a reference.
///
/// # Errors
///
/// Those of `out`.
pub fn write(lines: &[Line], label: impl Fn(&Line) -> String, out: &mut impl Write) -> fmt::Result {
    let mut guides = Guides::default();
    for line in lines {
        let seen = if line.branch.is_some_and(|branch| branch.seen) { " (seen)" } else { "" };
        writeln!(out, "{}{}{seen}", guides.before(line), label(line))?;
    }
    Ok(())
}
