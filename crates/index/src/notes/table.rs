//! The table itself and its one operation: applying a batch of changes.

use std::collections::{BTreeMap, BTreeSet, HashMap as StdMap};
use std::sync::Arc;

use imbl::{HashMap, OrdMap, Vector};
use serde::{Deserialize, Serialize};
use weft_graph::{ColumnsError, GraphColumns, NodeSpec, NoteGraph};
use weft_model::{NoteId, NotePath, NoteSet, Target, TargetSyntax, Uri, fold};

use super::names::{Key, Names, asked_keys, last_segment};
use super::resolve::{From, Resolution, is_relative, joined};
use super::{NoteEntry, VaultId, VaultInfo};

/// One change of a batch.
#[derive(Clone, Debug)]
pub enum Change {
    /// The file at the entry's path now says this.
    Upsert(Arc<NoteEntry>),
    /// The note moved from this path and says this; it keeps its slot.
    Move(NotePath, Arc<NoteEntry>),
    /// There is no note at this path any more.
    Remove(VaultId, NotePath),
}

/// What a batch did to the slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Notes whose entry is new or changed, by slot.
    pub upserted: Vec<NoteId>,
    /// Slots that no longer hold the note they held.
    pub removed: Vec<NoteId>,
}

impl Delta {
    /// Whether the batch changed nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.upserted.is_empty() && self.removed.is_empty()
    }
}

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
enum Slot {
    Free,
    Note(Arc<NoteEntry>, Arc<Resolved>),
    Placeholder(Arc<Placeholder>),
}

#[derive(Clone, Debug)]
struct Placeholder {
    key: Key,
    /// How each linking note spells the name; the lowest path's spelling is the id.
    spellings: OrdMap<NotePath, String>,
}

/// Every note and placeholder of a snapshot. Cloning is cheap and shares everything.
#[derive(Clone, Debug, Default)]
pub struct NoteTable {
    vaults: Vector<Arc<VaultInfo>>,
    slots: Vector<Slot>,
    free: Vector<NoteId>,
    by_path: OrdMap<(VaultId, NotePath), NoteId>,
    by_uri: OrdMap<Uri, NoteId>,
    /// By the uri a note would have if no other claimed it.
    claims: HashMap<Key, OrdMap<NotePath, NoteId>>,
    placeholders: HashMap<Key, NoteId>,
    pub(super) names: Names,
    graph: NoteGraph,
}

impl NoteTable {
    /// An empty table over these vaults.
    #[must_use]
    pub fn new(vaults: impl IntoIterator<Item = VaultInfo>) -> Self {
        Self { vaults: vaults.into_iter().map(Arc::new).collect(), ..Self::default() }
    }

    /// The vaults, by [`VaultId`].
    pub fn vaults(&self) -> impl Iterator<Item = (VaultId, &VaultInfo)> {
        self.vaults.iter().zip(0..).map(|(vault, id)| (VaultId(id), &**vault))
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

    /// All notes by uri, from the first that is greater than `after`.
    pub fn by_uri_after(&self, after: Option<&Uri>) -> impl Iterator<Item = (&Uri, NoteId)> {
        use std::ops::Bound;
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
    fn prefix(&self, vault: VaultId) -> Option<String> {
        let several = self.vaults.len() > 1;
        self.vaults
            .get(usize::from(vault.0))
            .filter(|_| several)
            .map(|info| format!("{}:", info.name))
    }

    /// This table after `changes`, applied in order, and what they did to the slots.
    ///
    /// Cost: the changed notes, the notes that asked for a name that changed, and the lists of the graph they touch.
    #[must_use]
    pub fn edited(&self, changes: &[Change]) -> (Self, Delta) {
        let mut edit = Edit { table: self.clone(), ..Edit::default() };
        for change in changes {
            edit.apply(change);
        }
        edit.finish(self)
    }
}

/// A batch on its way through: the table so far and what is still to be brought in line.
#[derive(Default)]
struct Edit {
    table: NoteTable,
    upserted: BTreeSet<NoteId>,
    removed: BTreeSet<NoteId>,
    /// Names that came, went or changed their meaning.
    keys: BTreeSet<Key>,
    /// Uris that notes would have, to be given out again.
    claims: BTreeSet<Key>,
    /// Folders whose note may have changed.
    folders: BTreeSet<(VaultId, String)>,
    /// Nodes of the graph that may have changed.
    nodes: BTreeSet<NoteId>,
}

impl Edit {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Upsert(entry) => {
                let slot = self.table.at(entry.vault, &entry.note.path);
                self.put(slot, entry);
            }
            Change::Move(from, entry) => {
                if let Some(other) = self.table.at(entry.vault, &entry.note.path) {
                    self.remove(other);
                }
                let slot = self.table.at(entry.vault, from);
                self.put(slot, entry);
            }
            Change::Remove(vault, path) => {
                if let Some(id) = self.table.at(*vault, path) {
                    self.remove(id);
                }
            }
        }
    }

    fn put(&mut self, slot: Option<NoteId>, entry: &Arc<NoteEntry>) {
        let old = slot.and_then(|id| self.table.slots.get(id.index()).cloned());
        let id = match (slot, old) {
            // Nobody else can notice an edit that leaves the note's names alone.
            (Some(id), Some(Slot::Note(old, resolved))) if same_names(&old, entry) => {
                self.unlink(id, &old, &resolved);
                let resolved = Resolved {
                    targets: Vec::new(),
                    ambiguous: Vec::new(),
                    ..Resolved::clone(&resolved)
                };
                self.table.slots.set(id.index(), Slot::Note(Arc::clone(entry), Arc::new(resolved)));
                id
            }
            (slot, _) => {
                slot.into_iter().for_each(|id| self.withdraw(id));
                let id = slot.unwrap_or_else(|| self.table.allocate());
                let resolved =
                    Resolved { uri: Uri::new(""), targets: Vec::new(), ambiguous: Vec::new() };
                self.table.slots.set(id.index(), Slot::Note(Arc::clone(entry), Arc::new(resolved)));
                self.announce(id, entry);
                id
            }
        };
        for link in &entry.note.links {
            for key in link_keys(entry, &link.target) {
                self.table.names.ask(key, id);
            }
        }
        self.upserted.insert(id);
        self.removed.remove(&id);
        self.nodes.insert(id);
    }

    /// Tells the table the names under which a note is to be found; its uri follows when all claims are known.
    fn announce(&mut self, id: NoteId, entry: &NoteEntry) {
        let path = &entry.note.path;
        self.table.by_path.insert((entry.vault, path.clone()), id);
        for key in own_keys(entry) {
            self.table.names.answer(key.clone(), id);
            self.keys.insert(key);
        }
        let claim = (entry.vault, wanted_uri(entry).to_owned());
        self.table.claims.entry(claim).or_default().insert(path.clone(), id);
        self.touch_place(entry);
    }

    /// Marks what depends on where a note lies and what uri it wants.
    fn touch_place(&mut self, entry: &NoteEntry) {
        let path = &entry.note.path;
        self.claims.insert((entry.vault, wanted_uri(entry).to_owned()));
        self.claims.insert((entry.vault, path.without_extension().to_owned()));
        self.folders
            .extend(NoteTable::stands_for(path).into_iter().map(|folder| (entry.vault, folder)));
    }

    fn remove(&mut self, id: NoteId) {
        self.withdraw(id);
        self.table.slots.set(id.index(), Slot::Free);
        self.upserted.remove(&id);
        self.removed.insert(id);
        self.nodes.insert(id);
    }

    /// Takes back everything that the note in a slot told the table.
    fn withdraw(&mut self, id: NoteId) {
        let Some(Slot::Note(entry, resolved)) = self.table.slots.get(id.index()).cloned() else {
            return;
        };
        let path = entry.note.path.clone();
        self.table.by_path.remove(&(entry.vault, path.clone()));
        self.release_uri(id, &entry, &resolved.uri);
        for key in own_keys(&entry) {
            self.table.names.silence(&key, id);
            self.keys.insert(key);
        }
        let claim = (entry.vault, wanted_uri(&entry).to_owned());
        if let Some(group) = self.table.claims.get_mut(&claim) {
            group.remove(&path);
            if group.is_empty() {
                self.table.claims.remove(&claim);
            }
        }
        self.touch_place(&entry);
        self.unlink(id, &entry, &resolved);
    }

    /// Takes back the links of a note.
    fn unlink(&mut self, id: NoteId, entry: &NoteEntry, resolved: &Resolved) {
        for link in &entry.note.links {
            for key in link_keys(entry, &link.target) {
                self.table.names.unask(&key, id);
            }
        }
        self.forget_targets(id, &entry.note.path, resolved);
    }

    fn release_uri(&mut self, id: NoteId, entry: &NoteEntry, uri: &Uri) {
        if self.table.by_uri.get(uri) == Some(&id) {
            self.table.by_uri.remove(uri);
        }
        if let Some(local) = self.table.local_uri(id).map(fold) {
            let key = (entry.vault, local);
            self.table.names.silence(&key, id);
            self.keys.insert(key);
        }
        // A uri may read like another of the note's own names.
        for key in own_keys(entry) {
            self.table.names.answer(key, id);
        }
    }

    /// Takes the note's spelling off the placeholders it links to; those nobody spells any more go.
    fn forget_targets(&mut self, id: NoteId, path: &NotePath, resolved: &Resolved) {
        for target in resolved.targets.iter().flatten() {
            let Some(Slot::Placeholder(placeholder)) =
                self.table.slots.get(target.index()).cloned()
            else {
                continue;
            };
            let mut placeholder = Arc::unwrap_or_clone(placeholder);
            placeholder.spellings.remove(path);
            self.nodes.insert(*target);
            if placeholder.spellings.is_empty() {
                self.table.placeholders.remove(&placeholder.key);
                self.table.slots.set(target.index(), Slot::Free);
            } else {
                self.table.slots.set(target.index(), Slot::Placeholder(Arc::new(placeholder)));
            }
        }
        self.nodes.insert(id);
    }

    fn finish(mut self, before: &NoteTable) -> (NoteTable, Delta) {
        self.give_out_uris();
        let mut to_resolve = self.upserted.clone();
        for key in &self.keys {
            to_resolve.extend(self.table.names.askers(key));
        }
        for id in to_resolve {
            self.resolve(id);
        }
        self.place_below_folders();
        self.reclaim();
        let specs = self.nodes.iter().map(|id| (*id, self.table.spec(*id))).collect::<Vec<_>>();
        // An empty graph is built at once, which costs far less than editing every list into it.
        self.table.graph = if before.graph.n_nodes() == 0 {
            NoteGraph::build(specs.into_iter().filter_map(|(id, spec)| Some((id, spec?))))
        } else {
            before.graph.edited(specs)
        };
        let delta = Delta {
            upserted: self.upserted.into_iter().collect(),
            removed: self.removed.into_iter().collect(),
        };
        (self.table, delta)
    }

    /// Gives every note around the touched claims its uri: the lowest path has the uri it wants, others fall back to their path.
    fn give_out_uris(&mut self) {
        let mut touched: BTreeSet<NoteId> = self.upserted.clone();
        for key in &self.claims {
            touched.extend(
                self.table.claims.get(key).into_iter().flat_map(|group| group.values().copied()),
            );
            // A note that lost its claim may stand on its path, which another may now want.
            let bare = weft_model::id::without_markdown_extension(&key.1);
            let at_path =
                self.table.names.answering(&(key.0, fold(last_segment(bare)))).iter().copied();
            touched.extend(at_path.filter(|id| {
                self.table.bare_path(*id) == Some(key.1.as_str())
                    || self.table.path_of(*id).as_str() == key.1
            }));
        }
        for id in touched {
            let Some(Slot::Note(entry, resolved)) = self.table.slots.get(id.index()).cloned()
            else {
                continue;
            };
            let local = self.table.due_uri(id, &entry);
            let uri =
                Uri::new(format!("{}{local}", self.table.prefix(entry.vault).unwrap_or_default()));
            if uri != resolved.uri {
                if !resolved.uri.as_str().is_empty() {
                    self.release_uri(id, &entry, &resolved.uri);
                }
                let key = (entry.vault, fold(&local));
                self.table.names.answer(key.clone(), id);
                self.keys.insert(key);
                let resolved = Resolved { uri: uri.clone(), ..Arc::unwrap_or_clone(resolved) };
                self.table.slots.set(id.index(), Slot::Note(entry, Arc::new(resolved)));
            }
            self.table.by_uri.insert(uri, id);
            self.nodes.insert(id);
        }
    }

    fn resolve(&mut self, id: NoteId) {
        let Some(Slot::Note(entry, resolved)) = self.table.slots.get(id.index()).cloned() else {
            return;
        };
        self.forget_targets(id, &entry.note.path, &resolved);
        let from = From { vault: entry.vault, folder: entry.note.path.folder() };
        // A note often links to the same target many times.
        let mut known: StdMap<&Target, (Option<NoteId>, bool)> = StdMap::new();
        let mut targets = Vec::with_capacity(entry.note.links.len());
        let mut ambiguous = Vec::new();
        for (link, at) in entry.note.links.iter().zip(0..) {
            let (target, several) = *known.entry(&link.target).or_insert_with(|| {
                let found = self.table.resolution(&link.target, from);
                let several = found.is_ambiguous();
                let target = found.note.or_else(|| match link.target.syntax {
                    TargetSyntax::Tentative => None,
                    TargetSyntax::Wikilink | TargetSyntax::Markdown | TargetSyntax::Listed => {
                        let place = self.table.placeholder(&entry, &link.target);
                        self.nodes.insert(place);
                        Some(place)
                    }
                });
                (target, several)
            });
            targets.push(target);
            if several {
                ambiguous.push(at);
            }
        }
        let resolved = Resolved { uri: resolved.uri.clone(), targets, ambiguous };
        self.table.slots.set(id.index(), Slot::Note(Arc::clone(&entry), Arc::new(resolved)));
        self.nodes.insert(id);
    }

    /// A folder's note that came or went moves the notes below it.
    fn place_below_folders(&mut self) {
        for (vault, folder) in &self.folders {
            let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
            let from = (*vault, NotePath::new(start.as_str()));
            let below = self
                .table
                .by_path
                .range(from..)
                .take_while(|((v, path), _)| v == vault && path.as_str().starts_with(&start));
            self.nodes.extend(below.map(|(_, id)| *id));
        }
    }

    /// Touched slots that hold nothing any more can be given out again, from the next batch on.
    fn reclaim(&mut self) {
        for id in &self.nodes {
            if matches!(self.table.slots.get(id.index()), Some(Slot::Free)) {
                self.table.free.push_back(*id);
            }
        }
    }
}

impl NoteTable {
    fn allocate(&mut self) -> NoteId {
        if let Some(id) = self.free.pop_front() {
            return id;
        }
        self.slots.push_back(Slot::Free);
        NoteId::new(
            u32::try_from(self.slots.len() - 1).expect("a snapshot holds fewer than 2^32 slots"),
        )
    }

    /// The placeholder for an unresolved target of `entry`, spelled by it too.
    fn placeholder(&mut self, entry: &NoteEntry, target: &Target) -> NoteId {
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
    fn due_uri(&self, id: NoteId, entry: &NoteEntry) -> String {
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

    /// What the graph is told of a slot; nothing for a free one.
    fn spec(&self, id: NoteId) -> Option<NodeSpec> {
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
fn wanted_uri(entry: &NoteEntry) -> &str {
    entry.note.claimed_uri.as_deref().unwrap_or(entry.note.path.without_extension())
}

/// Whether two versions of a note are found under the same names at the same place.
fn same_names(old: &NoteEntry, new: &NoteEntry) -> bool {
    let names = |entry: &'_ NoteEntry| {
        (entry.vault, entry.note.path.clone(), entry.note.claimed_uri.clone())
    };
    names(old) == names(new) && old.note.aliases == new.note.aliases
}

/// The names a note answers to besides its uri: its last path segment and its aliases.
fn own_keys(entry: &NoteEntry) -> impl Iterator<Item = Key> + '_ {
    let names = std::iter::once(entry.note.path.stem())
        .chain(entry.note.aliases.iter().map(String::as_str));
    names.map(|name| (entry.vault, fold(name)))
}

fn link_keys(entry: &NoteEntry, target: &Target) -> [Key; 2] {
    asked_keys(entry.vault, &spelled(entry, target))
}

/// The name of a target: as written, or seen from the vault's root where it is relative.
fn spelled(entry: &NoteEntry, target: &Target) -> String {
    let name = target.name.as_str();
    if is_relative(name) {
        joined(entry.note.path.folder(), name).unwrap_or_else(|| name.to_owned())
    } else {
        name.trim_start_matches('/').to_owned()
    }
}

/// A table as it is written down: slots, so that other parts of a store may refer to them, and the graph.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredNotes {
    vaults: Vec<VaultInfo>,
    n_slots: u32,
    notes: Vec<(NoteId, Arc<NoteEntry>, Resolved)>,
}

impl NoteTable {
    /// This table for writing down, and its graph's columns beside it.
    #[must_use]
    pub fn stored(&self) -> (StoredNotes, GraphColumns) {
        let notes = self
            .by_path()
            .filter_map(|(id, entry)| Some((id, Arc::clone(entry), self.resolved(id)?.clone())));
        let stored = StoredNotes {
            vaults: self.vaults.iter().map(|vault| VaultInfo::clone(vault)).collect(),
            n_slots: u32::try_from(self.slots.len())
                .expect("a snapshot holds fewer than 2^32 slots"),
            notes: notes.collect(),
        };
        (stored, self.graph.columns())
    }

    /// The table that was written down: the same slots, without resolving a link again.
    pub fn restored(stored: StoredNotes, graph: GraphColumns) -> Result<Self, ColumnsError> {
        let StoredNotes { vaults, n_slots, notes } = stored;
        let graph = NoteGraph::from_columns(graph)?;
        let mut table = Self::new(vaults);
        table.slots = (0..n_slots).map(|_| Slot::Free).collect();
        for (id, entry, resolved) in notes {
            let known = |target: &NoteId| graph.contains(*target) && target.get() < n_slots;
            if !known(&id) || !resolved.targets.iter().flatten().all(known) {
                return Err(ColumnsError::Inconsistent {
                    what: "notes and graph do not name the same slots",
                });
            }
            for key in own_keys(&entry) {
                table.names.answer(key, id);
            }
            let claim = (entry.vault, wanted_uri(&entry).to_owned());
            table.claims.entry(claim).or_default().insert(entry.note.path.clone(), id);
            for (link, target) in entry.note.links.iter().zip(&resolved.targets) {
                for key in link_keys(&entry, &link.target) {
                    table.names.ask(key, id);
                }
                if let Some(place) = target.filter(|target| graph.is_placeholder(*target)) {
                    let name = spelled(&entry, &link.target);
                    let key = (entry.vault, fold(&name));
                    table.placeholders.insert(key.clone(), place);
                    let mut placeholder = match table.slots.get(place.index()) {
                        Some(Slot::Placeholder(placeholder)) => Placeholder::clone(placeholder),
                        Some(Slot::Free | Slot::Note(..)) | None => {
                            Placeholder { key, spellings: OrdMap::new() }
                        }
                    };
                    placeholder.spellings.entry(entry.note.path.clone()).or_insert(name);
                    table.slots.set(place.index(), Slot::Placeholder(Arc::new(placeholder)));
                }
            }
            table.by_path.insert((entry.vault, entry.note.path.clone()), id);
            table.by_uri.insert(resolved.uri.clone(), id);
            table.slots.set(id.index(), Slot::Note(entry, Arc::new(resolved)));
        }
        let notes: Vec<(NoteId, Key)> = table
            .by_uri
            .values()
            .filter_map(|id| Some((*id, (table.entry(*id)?.vault, fold(table.local_uri(*id)?)))))
            .collect();
        for (id, key) in notes {
            table.names.answer(key, id);
        }
        let free = (0..n_slots)
            .map(NoteId::new)
            .filter(|id| matches!(table.slots.get(id.index()), Some(Slot::Free)));
        table.free = free.collect();
        table.graph = graph;
        Ok(table)
    }
}
