//! Lists that name no start: notes without connection, links without a note.

use weft_graph::walk::{self, Direction};
use weft_model::Uri;

use super::UnresolvedLink;
use crate::notes::{self, ListAnswer};
use crate::page::{Pages, foreign};
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
        let page_size = notes::page_size(*page_size)?;
        let pages = Pages::of(&("orphans", direction, filter));
        let after = pages.after(page_token)?;
        let snapshot = self.snapshot();
        let graph = snapshot.notes.graph();
        let passing = self.passing(&snapshot, filter)?;
        let all = walk::orphans(graph, *direction, &passing.notes);
        self.stop.check()?;
        let past =
            all.partition_point(|id| after.is_some_and(|after| graph.uri(*id).as_str() <= after));
        let page = &all[past..];
        let last = page.get(page_size.wrapping_sub(1)).filter(|_| page.len() > page_size);
        Ok(ListAnswer {
            next_page_token: last
                .map(|id| pages.token(graph.uri(*id).as_str()))
                .unwrap_or_default(),
            notes: page
                .iter()
                .take(page_size)
                .filter_map(|id| notes::summary(&snapshot, *id))
                .collect(),
            total: all.len(),
            degraded: passing.unmet(&snapshot, &self.stop)?.to_vec(),
            generation: snapshot.generation,
        })
    }

    /// A page of the links that no note answers to, by target, then by the note that links.
    pub fn unresolved(&self, request: &UnresolvedRequest) -> Result<UnresolvedAnswer, EngineError> {
        let UnresolvedRequest { filter, page_size, page_token } = request;
        let page_size = notes::page_size(*page_size)?;
        let pages = Pages::of(&("unresolved", filter));
        let after = pages.after(page_token)?.map(link_of_token).transpose()?;
        let snapshot = self.snapshot();
        let graph = snapshot.notes.graph();
        let passing = self.passing(&snapshot, filter)?;
        let targets = walk::unresolved(graph, &passing.notes);
        self.stop.check()?;
        let links: Vec<(&Uri, &Uri)> = targets
            .iter()
            .flat_map(|asked| {
                asked.from.iter().map(|from| (graph.uri(asked.target), graph.uri(*from)))
            })
            .collect();
        let past = links.partition_point(|(target, from)| {
            after.is_some_and(|after| (target.as_str(), from.as_str()) <= after)
        });
        let page = &links[past..];
        let last = page.get(page_size.wrapping_sub(1)).filter(|_| page.len() > page_size);
        Ok(UnresolvedAnswer {
            next_page_token: last
                .map(|(target, from)| pages.token(&link_token(target, from)))
                .unwrap_or_default(),
            unresolved: page
                .iter()
                .take(page_size)
                .map(|(target, from)| UnresolvedLink {
                    from: (*from).clone(),
                    target: (*target).clone(),
                })
                .collect(),
            total: links.len(),
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
