//! Paged lists that need no start note: orphans and unresolved links.

use weft_graph::walk::{self, Direction};
use weft_model::{NoteId, Uri};

use super::UnresolvedEdge;
use crate::notes::{self, ListAnswer};
use crate::page_token::{self, PageTokens, foreign};
use crate::{Engine, EngineError, Filter, Warning};

/// Requests a page of the notes without links to others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrphansRequest {
    /// Direction of the links that count.
    pub direction: Direction,
    /// Restricts the notes.
    pub filter: Filter,
    /// Notes per page, 1 to 1,000; 0 means 100.
    pub page_size: usize,
    /// Token of the previous page; empty for the first page.
    pub page_token: String,
}

/// Requests a page of unresolved links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnresolvedRequest {
    /// Restricts the linking notes.
    pub filter: Filter,
    /// Links per page, 1 to 1,000; 0 means 100.
    pub page_size: usize,
    /// Token of the previous page; empty for the first page.
    pub page_token: String,
}

/// A page of unresolved links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedAnswer {
    /// By target, then by the linking note, without repeats.
    pub unresolved: Vec<UnresolvedEdge>,
    /// Token of the next page; empty on the last page.
    pub next_page_token: String,
    /// Number of links on all pages.
    pub total: usize,
    /// Number of distinct targets.
    pub n_targets: usize,
    /// Conditions that make the answer incomplete.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

impl Engine {
    /// Returns a page of the notes without links to others, by uri.
    pub fn orphans(&self, request: &OrphansRequest) -> Result<ListAnswer, EngineError> {
        let OrphansRequest { direction, filter, page_size, page_token } = request;
        let page_size = page_token::page_size(*page_size)?;
        let pages = PageTokens::of(&("orphans", direction, filter));
        let after = pages.after(page_token)?;
        let snapshot = self.snapshot();
        let graph = snapshot.notes.graph();
        let passing = self.filter_matches(&snapshot, filter)?;
        let all = walk::orphans(graph, *direction, &passing.notes);
        self.stop.check()?;
        let uri = |id: &NoteId| graph.uri(*id).as_str();
        let left = all.iter().skip_while(|id| after.is_some_and(|after| uri(id) <= after));
        let (page, next_page_token) = pages.cut(left, page_size, |id| uri(id).to_owned());
        Ok(ListAnswer {
            notes: page.into_iter().filter_map(|id| notes::summary(&snapshot, *id)).collect(),
            next_page_token,
            total: all.len(),
            warnings: passing.warnings(&snapshot, &self.stop)?.to_vec(),
            generation: snapshot.generation,
        })
    }

    /// Returns a page of the unresolved links, by target, then by the linking note.
    pub fn unresolved(&self, request: &UnresolvedRequest) -> Result<UnresolvedAnswer, EngineError> {
        let UnresolvedRequest { filter, page_size, page_token } = request;
        let page_size = page_token::page_size(*page_size)?;
        let pages = PageTokens::of(&("unresolved", filter));
        let after = pages.after(page_token)?.map(link_of_token).transpose()?;
        let snapshot = self.snapshot();
        let graph = snapshot.notes.graph();
        let passing = self.filter_matches(&snapshot, filter)?;
        let targets = walk::unresolved(graph, &passing.notes);
        self.stop.check()?;
        let links = targets.iter().flat_map(|unresolved| {
            unresolved.from.iter().map(|from| (graph.uri(unresolved.target), graph.uri(*from)))
        });
        let left = links.skip_while(|(target, from)| {
            after.is_some_and(|after| (target.as_str(), from.as_str()) <= after)
        });
        let (page, next_page_token) =
            pages.cut(left, page_size, |(target, from)| link_token(target, from));
        let link = |(target, from): (&Uri, &Uri)| UnresolvedEdge {
            from: from.clone(),
            target: target.clone(),
        };
        Ok(UnresolvedAnswer {
            unresolved: page.into_iter().map(link).collect(),
            next_page_token,
            total: targets.iter().map(|unresolved| unresolved.from.len()).sum(),
            n_targets: targets.len(),
            warnings: passing.warnings(&snapshot, &self.stop)?.to_vec(),
            generation: snapshot.generation,
        })
    }
}

/// Encodes a link as a page token: the byte length of the target separates both names.
fn link_token(target: &Uri, from: &Uri) -> String {
    format!("{}:{target}{from}", target.as_str().len())
}

fn link_of_token(token: &str) -> Result<(&str, &str), EngineError> {
    let split = || {
        let (length, names) = token.split_once(':')?;
        names.split_at_checked(length.parse().ok()?)
    };
    split().ok_or_else(foreign)
}
