//! The table itself: what it holds and what can be asked of it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use imbl::{HashMap, OrdMap, Vector};
use serde::{Deserialize, Serialize};
use weft_graph::{NodeSpec, NoteGraph};
use weft_model::{NoteId, NotePath, NoteSet, Target, TargetSyntax, Uri, fold};

use super::names::{Key, Names, asked_keys, last_segment};
use super::resolve::{From, Resolution, is_relative, joined};
use super::tally::Tally;
use super::{NoteEntry, VaultId, VaultInfo};

/// What the rest of the vault makes of a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// Its uri on the wire.
    pub uri: Uri,
    /// Per link of the note: the note or placeholder it means; nothing for a plain string that means no note.
    pub targets: Vec<Option<NoteId>>,
    /// Which of its links, by index, could equally well mean another note.
    pub ambiguous: Vec<u32>,
}

/// Something about the names of a vault that its owner may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Issue {
    /// The note claims a uri that belongs to another.
    DuplicateUri {
        /// The claimed uri.
        claimed: String,
        /// The note that has it.
        winner: NotePath,
    },
    /// A link could mean several notes.
    AmbiguousLink {
        /// The target as written.
        target: String,
        /// The paths it could mean, the chosen one first.
        candidates: Vec<NotePath>,
    },
    /// A link means no note.
    UnresolvedLink {
        /// The target as written.
        target: String,
    },
}

#[derive(Clone, Debug)]
pub(super) enum Slot {
    Free,
    Note(Arc<NoteEntry>, Arc<Resolved>),
    Placeholder(Arc<Placeholder>),
}

#[derive(Clone, Debug)]
pub(super) struct Placeholder {
    pub(super) key: Key,
    /// How each linking note spells the name; the lowest path's spelling is the id.
    pub(super) spellings: OrdMap<NotePath, String>,
}

/// Every note and placeholder of a snapshot. Cloning is cheap and shares everything.
#[derive(Clone, Debug, Default)]
pub struct NoteTable {
    /// By [`VaultId`]; nothing where a vault was taken out.
    pub(super) vaults: Vector<Option<Arc<VaultInfo>>>,
    pub(super) slots: Vector<Slot>,
    pub(super) free: Vector<NoteId>,
    pub(super) by_path: OrdMap<(VaultId, NotePath), NoteId>,
    pub(super) by_uri: OrdMap<Uri, NoteId>,
    /// By the uri a note would have if no other claimed it.
    pub(super) claims: HashMap<Key, OrdMap<NotePath, NoteId>>,
    pub(super) placeholders: HashMap<Key, NoteId>,
    pub(super) names: Names,
    pub(super) graph: NoteGraph,
    /// By [`VaultId`].
    pub(super) tallies: Vector<Tally>,
}

impl NoteTable {
    /// An empty table over these vaults.
    #[must_use]
    pub fn new(vaults: impl IntoIterator<Item = VaultInfo>) -> Self {
        let vaults = vaults.into_iter().map(|info| Some(Arc::new(info)));
        Self { vaults: vaults.collect(), ..Self::default() }
    }

    /// The vaults, by [`VaultId`].
    pub fn vaults(&self) -> impl Iterator<Item = (VaultId, &VaultInfo)> {
        let vaults = self.vaults.iter().zip(0..);
        vaults.filter_map(|(vault, id)| Some((VaultId(id), &**vault.as_ref()?)))
    }

    /// A vault; nothing where it was taken out or never was.
    #[must_use]
    pub fn vault(&self, id: VaultId) -> Option<&VaultInfo> {
        self.vaults.get(usize::from(id.0))?.as_deref()
    }

    /// The least number that no vault has: for the next one.
    #[must_use]
    pub fn next_vault(&self) -> VaultId {
        (0..).map(VaultId).find(|id| self.vault(*id).is_none()).unwrap_or(VaultId(u16::MAX))
    }

    /// The graph of notes and placeholders.
    #[must_use]
    pub const fn graph(&self) -> &NoteGraph {
        &self.graph
    }

    /// The number of notes, placeholders not counted.
    #[must_use]
    pub fn n_notes(&self) -> usize {
        self.by_path.len()
    }

    /// The note in a slot.
    #[must_use]
    pub fn entry(&self, id: NoteId) -> Option<&Arc<NoteEntry>> {
        match self.slots.get(id.index()) {
            Some(Slot::Note(entry, _)) => Some(entry),
            Some(Slot::Free | Slot::Placeholder(_)) | None => None,
        }
    }

    /// What the vault makes of the note in a slot.
    #[must_use]
    pub fn resolved(&self, id: NoteId) -> Option<&Resolved> {
        match self.slots.get(id.index()) {
            Some(Slot::Note(_, resolved)) => Some(resolved),
            Some(Slot::Free | Slot::Placeholder(_)) | None => None,
        }
    }

    /// The note at a path.
    #[must_use]
    pub fn at(&self, vault: VaultId, path: &NotePath) -> Option<NoteId> {
        self.by_path.get(&(vault, path.clone())).copied()
    }

    /// All notes by vault and path.
    pub fn by_path(&self) -> impl Iterator<Item = (NoteId, &Arc<NoteEntry>)> {
        self.by_path.values().filter_map(|id| Some((*id, self.entry(*id)?)))
    }

    /// The note at `path`, and those in the folder `path`, by path; all notes of the vault where it is empty.
    pub fn at_or_below(
        &self,
        vault: VaultId,
        path: &str,
    ) -> impl Iterator<Item = (NoteId, &Arc<NoteEntry>)> {
        let itself = self.at(vault, &NotePath::new(path));
        let folder = if path.is_empty() { String::new() } else { format!("{path}/") };
        let from = (vault, NotePath::new(folder.as_str()));
        let below = self.by_path.range((Bound::Included(from), Bound::Unbounded));
        let below = below
            .take_while(move |((other, path), _)| {
                *other == vault && path.as_str().starts_with(&folder)
            })
            .map(|(_, id)| *id);
        itself.into_iter().chain(below).filter_map(|id| Some((id, self.entry(id)?)))
    }

    /// All notes by uri, from the first that is greater than `after`.
    pub fn by_uri_after(&self, after: Option<&Uri>) -> impl Iterator<Item = (&Uri, NoteId)> {
        let from = after.map_or(Bound::Unbounded, |uri| Bound::Excluded(uri.clone()));
        self.by_uri.range((from, Bound::Unbounded)).map(|(uri, id)| (uri, *id))
    }

    /// The title of a note; a placeholder's is its name.
    #[must_use]
    pub fn title(&self, id: NoteId) -> &str {
        match self.entry(id) {
            Some(entry) => &entry.note.title,
            None => self.graph.uri(id).as_str(),
        }
    }

    /// The note named by `text`: a uri, a `vault:uri`, a path, or anything a link would resolve to.
    #[must_use]
    pub fn find(&self, text: &str) -> Resolution {
        let text = weft_model::text::nfc(text.trim());
        if let Some(id) = self.by_uri.get(text.as_str()) {
            return Resolution { note: Some(*id), candidates: vec![*id], rule: Some("uri") };
        }
        let inner =
            text.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")).unwrap_or(&text);
        let inner = inner.split(['#', '|']).next().unwrap_or(inner).replace('\\', "/");
        let name =
            weft_model::id::without_markdown_extension(inner.trim_start_matches("./")).to_owned();
        if name.is_empty() {
            return Resolution { note: None, candidates: Vec::new(), rule: None };
        }
        let (chosen, local) = match name.split_once(':') {
            Some((vault, local)) => match self.vaults().find(|(_, info)| info.name == vault) {
                Some((id, _)) => (Some(id), local.to_owned()),
                None => (None, name.clone()),
            },
            None => (None, name.clone()),
        };
        let target = Target { name: local, syntax: TargetSyntax::Wikilink };
        let vaults: Vec<VaultId> =
            self.vaults().map(|(id, _)| id).filter(|id| chosen.is_none_or(|c| c == *id)).collect();
        let found =
            vaults.into_iter().map(|vault| self.resolution(&target, From { vault, folder: "" }));
        found.into_iter().find(|found| found.note.is_some()).unwrap_or(Resolution {
            note: None,
            candidates: Vec::new(),
            rule: None,
        })
    }

    /// Resolves `target` as a link that stands in `from`.
    #[must_use]
    pub fn resolve_from(&self, target: &Target, from: NoteId) -> Resolution {
        match self.entry(from) {
            Some(entry) => self
                .resolution(target, From { vault: entry.vault, folder: entry.note.path.folder() }),
            None => self.find(&target.name),
        }
    }

    /// Uris of notes whose uri, title or alias resembles `text`, the most alike first.
    #[must_use]
    pub fn near_matches(&self, text: &str, limit: usize) -> Vec<Uri> {
        let wanted = fold(text);
        let mut scored: Vec<(f64, &Uri)> = self
            .by_uri
            .iter()
            .filter_map(|(uri, id)| {
                let entry = self.entry(*id)?;
                let names = [uri.as_str(), last_segment(uri.as_str()), entry.note.title.as_str()];
                let names = names.into_iter().chain(entry.note.aliases.iter().map(String::as_str));
                let best = names
                    .map(|name| {
                        let name = fold(name);
                        let part = name.contains(&wanted)
                            || wanted.contains(&name) && name.chars().count() > 3;
                        strsim::jaro_winkler(&name, &wanted).max(if part { 0.9 } else { 0.0 })
                    })
                    .fold(0.0, f64::max);
                (best >= 0.75).then_some((best, uri))
            })
            .collect();
        scored.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.cmp(right)));
        scored.into_iter().take(limit).map(|(_, uri)| uri.clone()).collect()
    }

    /// What is odd about the names and links of a note.
    #[must_use]
    pub fn issues(&self, id: NoteId) -> Vec<Issue> {
        let Some(Slot::Note(entry, resolved)) = self.slots.get(id.index()) else {
            return Vec::new();
        };
        let mut issues = Vec::new();
        if let Some(claimed) = &entry.note.claimed_uri
            && self.local_uri(id) != Some(claimed)
            && let Some(winner) =
                self.claims.get(&(entry.vault, claimed.clone())).and_then(|group| group.get_min())
        {
            issues.push(Issue::DuplicateUri { claimed: claimed.clone(), winner: winner.0.clone() });
        }
        for (link, (target, at)) in entry.note.links.iter().zip(resolved.targets.iter().zip(0..)) {
            if target.is_some_and(|target| self.entry(target).is_none()) {
                issues.push(Issue::UnresolvedLink { target: link.target.name.clone() });
            } else if resolved.ambiguous.contains(&at) {
                let candidates = self.resolve_from(&link.target, id).candidates;
                let candidates =
                    candidates.into_iter().map(|id| self.path_of(id).clone()).collect();
                issues.push(Issue::AmbiguousLink { target: link.target.name.clone(), candidates });
            }
        }
        issues
    }

    /// The notes of these vaults; no restriction where none is named.
    #[must_use]
    pub fn in_vaults(&self, vaults: &[VaultId]) -> NoteSet {
        if vaults.is_empty() {
            return NoteSet::All;
        }
        self.by_path()
            .filter(|(_, entry)| vaults.contains(&entry.vault))
            .map(|(id, _)| id)
            .collect()
    }

    pub(super) fn path_of(&self, id: NoteId) -> &NotePath {
        &self.entry(id).expect("names answer with notes").note.path
    }

    pub(super) fn bare_path(&self, id: NoteId) -> Option<&str> {
        Some(self.entry(id)?.note.path.without_extension())
    }

    /// The uri within its vault.
    pub(super) fn local_uri(&self, id: NoteId) -> Option<&str> {
        let (entry, resolved) = (self.entry(id)?, self.resolved(id)?);
        let uri = resolved.uri.as_str();
        Some(
            self.prefix(entry.vault)
                .map_or(uri, |prefix| uri.strip_prefix(prefix.as_str()).unwrap_or(uri)),
        )
    }

    /// What stands before the uris of a vault: nothing while it is the only one.
    pub(super) fn prefix(&self, vault: VaultId) -> Option<String> {
        let several = self.vaults().nth(1).is_some();
        self.vault(vault).filter(|_| several).map(|info| format!("{}:", info.name))
    }
}

impl NoteTable {
    pub(super) fn allocate(&mut self) -> NoteId {
        if let Some(id) = self.free.pop_front() {
            return id;
        }
        self.slots.push_back(Slot::Free);
        NoteId::new(
            u32::try_from(self.slots.len() - 1).expect("a snapshot holds fewer than 2^32 slots"),
        )
    }

    /// The placeholder for an unresolved target of `entry`, spelled by it too.
    pub(super) fn placeholder(&mut self, entry: &NoteEntry, target: &Target) -> NoteId {
        let name = spelled(entry, target);
        let key = (entry.vault, fold(&name));
        let id = match self.placeholders.get(&key) {
            Some(id) => *id,
            None => {
                let id = self.allocate();
                self.placeholders.insert(key.clone(), id);
                self.slots.set(
                    id.index(),
                    Slot::Placeholder(Arc::new(Placeholder { key, spellings: OrdMap::new() })),
                );
                id
            }
        };
        if let Some(Slot::Placeholder(placeholder)) = self.slots.get_mut(id.index()) {
            let spellings = &mut Arc::make_mut(placeholder).spellings;
            spellings.entry(entry.note.path.clone()).or_insert(name);
        }
        id
    }

    /// The uri a note is due, within its vault.
    pub(super) fn due_uri(&self, id: NoteId, entry: &NoteEntry) -> String {
        let wanted = wanted_uri(entry);
        let claimed = |uri: &str| self.claims.get(&(entry.vault, uri.to_owned()));
        if claimed(wanted)
            .and_then(|group| group.get_min())
            .is_some_and(|(_, winner)| *winner == id)
        {
            return wanted.to_owned();
        }
        let path = &entry.note.path;
        let bare = path.without_extension();
        let same_place = self.names.answering(&(entry.vault, fold(path.stem()))).iter();
        let first = same_place
            .filter(|other| self.bare_path(**other) == Some(bare))
            .map(|other| self.path_of(*other))
            .min();
        if claimed(bare).is_none() && first == Some(path) {
            return bare.to_owned();
        }
        // Somebody may claim even the whole path; `./` says that it is one.
        let mut uri = path.as_str().to_owned();
        while claimed(&uri).is_some() {
            uri.insert_str(0, "./");
        }
        uri
    }

    /// What the graph is told of every slot that holds something.
    pub(super) fn graph_of_all(&self) -> impl Iterator<Item = (NoteId, NodeSpec)> {
        let ids = (0..).map(NoteId::new).take(self.slots.len());
        ids.filter_map(|id| Some((id, self.spec(id)?)))
    }

    /// What the graph is told of a slot; nothing for a free one.
    pub(super) fn spec(&self, id: NoteId) -> Option<NodeSpec> {
        match self.slots.get(id.index())? {
            Slot::Free => None,
            Slot::Placeholder(placeholder) => {
                let name = placeholder.spellings.get_min().map_or("", |(_, name)| name);
                let uri = format!("{}{name}", self.prefix(placeholder.key.0).unwrap_or_default());
                Some(NodeSpec::placeholder(&uri))
            }
            Slot::Note(entry, resolved) => {
                let (parent, object) = self.place(id, &resolved.targets);
                let mut kinds: BTreeMap<&str, Arc<str>> = BTreeMap::new();
                let links =
                    entry.note.links.iter().zip(&resolved.targets).filter_map(|(link, target)| {
                        let kind = kinds
                            .entry(&link.kind)
                            .or_insert_with(|| Arc::from(link.kind.as_str()));
                        Some(((*target)?, Arc::clone(kind), link.source))
                    });
                Some(NodeSpec {
                    uri: resolved.uri.clone(),
                    placeholder: false,
                    parent,
                    object,
                    order: entry.note.order,
                    name: Self::sibling_name(&entry.note.path).to_owned(),
                    links: links.collect(),
                })
            }
        }
    }
}

/// The uri a note would have if no other wanted it.
pub(super) fn wanted_uri(entry: &NoteEntry) -> &str {
    entry.note.claimed_uri.as_deref().unwrap_or(entry.note.path.without_extension())
}

/// Whether two versions of a note are found under the same names at the same place.
pub(super) fn same_names(old: &NoteEntry, new: &NoteEntry) -> bool {
    let names = |entry: &'_ NoteEntry| {
        (entry.vault, entry.note.path.clone(), entry.note.claimed_uri.clone())
    };
    names(old) == names(new) && old.note.aliases == new.note.aliases
}

/// The names a note answers to besides its uri: its last path segment and its aliases.
pub(super) fn own_keys(entry: &NoteEntry) -> impl Iterator<Item = Key> + '_ {
    let names = std::iter::once(entry.note.path.stem())
        .chain(entry.note.aliases.iter().map(String::as_str));
    names.map(|name| (entry.vault, fold(name)))
}

pub(super) fn link_keys(entry: &NoteEntry, target: &Target) -> [Key; 2] {
    asked_keys(entry.vault, &spelled(entry, target))
}

/// The name of a target: as written, or seen from the vault's root where it is relative.
pub(super) fn spelled(entry: &NoteEntry, target: &Target) -> String {
    let name = target.name.as_str();
    if is_relative(name) {
        joined(entry.note.path.folder(), name).unwrap_or_else(|| name.to_owned())
    } else {
        name.trim_start_matches('/').to_owned()
    }
}
