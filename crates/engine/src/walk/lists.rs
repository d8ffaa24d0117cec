//! Lists that name no start: notes without connection, links without a note.

use weft_graph::walk::{self, Direction};
use weft_model::{NoteId, Uri};

use super::UnresolvedLink;
use crate::notes::{self, ListAnswer};
use crate::page::{self, Pages, foreign};
use crate::{Engine, EngineError, Filter};

/// Asks for a page of the notes that no link connects with another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrphansRequest {
    /// Which links connect.
    pub direction: Direction,
    /// Which notes are looked at.
    pub filter: Filter,
    /// Notes per page, 1 to 1,000; 0 means 100.
    pub page_size: usize,
    /// Where the last page ended; empty for the first.
    pub page_token: String,
}

/// Asks for a page of the links that no note answers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnresolvedRequest {
    /// Whose links.
    pub filter: Filter,
    /// Links per page, 1 to 1,000; 0 means 100.
    pub page_size: usize,
    /// Where the last page ended; empty for the first.
    pub page_token: String,
}

/// A page of links that no note answers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedAnswer {
    /// By target, then by the note that links; each pair once.
    pub unresolved: Vec<UnresolvedLink>,
    /// Asks for the next page; empty after the last.
    pub next_page_token: String,
    /// Links on all pages.
    pub total: usize,
    /// Names that they ask for.
    pub n_targets: usize,
    /// What no note has of that the filter asks for.
    pub degraded: Vec<String>,
    /// The snapshot's generation.
    pub generation: u64,
}

impl Engine {
    /// A page of the notes that no link connects with another, by uri.
    pub fn orphans(&self, request: &OrphansRequest) -> Result<ListAnswer, EngineError> {
        let OrphansRequest { direction, filter, page_size, page_token } = request;
        let page_size = page::page_size(*page_size)?;
        let pages = Pages::of(&("orphans", direction, filter));
        let after = pages.after(page_token)?;
        let snapshot = self.snapshot();
        let graph = snapshot.notes.graph();
        let passing = self.passing(&snapshot, filter)?;
        let all = walk::orphans(graph, *direction, &passing.notes);
        self.stop.check()?;
        let uri = |id: &NoteId| graph.uri(*id).as_str();
        let left = all.iter().skip_while(|id| after.is_some_and(|after| uri(id) <= after));
        let (page, next_page_token) = pages.cut(left, page_size, |id| uri(id).to_owned());
        Ok(ListAnswer {
            notes: page.into_iter().filter_map(|id| notes::summary(&snapshot, *id)).collect(),
            next_page_token,
            total: all.len(),
            degraded: passing.unmet(&snapshot, &self.stop)?.to_vec(),
            generation: snapshot.generation,
        })
    }

    /// A page of the links that no note answers to, by target, then by the note that links.
    pub fn unresolved(&self, request: &UnresolvedRequest) -> Result<UnresolvedAnswer, EngineError> {
        let UnresolvedRequest { filter, page_size, page_token } = request;
        let page_size = page::page_size(*page_size)?;
        let pages = Pages::of(&("unresolved", filter));
        let after = pages.after(page_token)?.map(link_of_token).transpose()?;
        let snapshot = self.snapshot();
        let graph = snapshot.notes.graph();
        let passing = self.passing(&snapshot, filter)?;
        let targets = walk::unresolved(graph, &passing.notes);
        self.stop.check()?;
        let links = targets.iter().flat_map(|asked| {
            asked.from.iter().map(|from| (graph.uri(asked.target), graph.uri(*from)))
        });
        let left = links.skip_while(|(target, from)| {
            after.is_some_and(|after| (target.as_str(), from.as_str()) <= after)
        });
        let (page, next_page_token) =
            pages.cut(left, page_size, |(target, from)| link_token(target, from));
        let link = |(target, from): (&Uri, &Uri)| UnresolvedLink {
            from: from.clone(),
            target: target.clone(),
        };
        Ok(UnresolvedAnswer {
            unresolved: page.into_iter().map(link).collect(),
            next_page_token,
            total: targets.iter().map(|asked| asked.from.len()).sum(),
            n_targets: targets.len(),
            degraded: passing.unmet(&snapshot, &self.stop)?.to_vec(),
            generation: snapshot.generation,
        })
    }
}

/// A place in the list of links, as text: the length of the target in bytes tells both names apart.
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
