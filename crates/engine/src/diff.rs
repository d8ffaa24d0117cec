//! Differences between two snapshots.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use weft_index::Snapshot;
use weft_index::notes::{NoteEntry, NoteTable};
use weft_model::{LinkSource, NoteId, NoteMap, TextHash, Uri};

/// Differences between two snapshots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diff {
    /// Added, removed, moved and changed notes, by kind of change, then uri.
    pub notes: Vec<NoteChange>,
    /// Added, removed and retargeted links, by the linking note's uri, the target's uri, type, source and kind of change.
    pub links: Vec<LinkChange>,
    /// Earlier generation.
    pub from: u64,
    /// Later generation.
    pub generation: u64,
}

/// A changed note.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoteChange {
    /// Kind of the change.
    pub kind: NoteChangeKind,
    /// The note now; for a removed note, as it was.
    pub now: NoteName,
    /// The note before, if its uri, path or title differs.
    pub before: Option<NoteName>,
    /// The parts that differ.
    pub parts: BTreeSet<NotePart>,
}

/// The names of a note.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoteName {
    /// Uri of the note.
    pub uri: Uri,
    /// Name of its vault.
    pub vault: String,
    /// Path in the vault.
    pub path: String,
    /// Title of the note.
    pub title: String,
}

/// Kind of a change to a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteChangeKind {
    /// The note did not exist before.
    Added,
    /// The note no longer exists.
    Removed,
    /// Its file has another path; a note with the same explicit uri or the same content disappeared.
    Moved,
    /// Its file has the same path and other content.
    Changed,
}

/// A part of a note that can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotePart {
    /// Uri.
    Uri,
    /// Title.
    Title,
    /// Text below the frontmatter.
    Text,
    /// Frontmatter.
    Frontmatter,
    /// Aliases.
    Aliases,
    /// Tags.
    Tags,
    /// Type.
    Type,
    /// Parent.
    Parent,
    /// Object of a reification.
    Object,
}

/// A changed link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkChange {
    /// The linking note as it is now; for a removed note, as it was.
    pub from: Uri,
    /// The current target; for a removed link, the former one.
    pub to: Uri,
    /// Type of the edge.
    pub kind: String,
    /// Part of the note that contains the link.
    pub source: LinkSource,
    /// Kind of the change.
    pub change: LinkChangeKind,
    /// The former target, if it differs.
    pub before: Option<Uri>,
}

/// Kind of a change to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkChangeKind {
    /// The link did not exist before.
    Added,
    /// The link no longer exists.
    Removed,
    /// It was unresolved and resolves now.
    Resolved,
    /// It resolved and is unresolved now.
    Unresolved,
    /// It resolves to another note now.
    Retargeted,
}

impl Diff {
    /// Compares two snapshots.
    ///
    /// Notes are paired by path, then by explicit uri, then by content, if the old path is free.
    /// Links of a paired note are paired if they are written alike, or have the same target and type. Renaming the target is not a change of the link.
    /// `O(notes + links)`. Deterministic.
    #[must_use]
    pub fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let pair = NotePairing::new(&before.notes, &after.notes);
        let mut notes = pair.notes();
        notes.sort_unstable();
        let mut links = pair.links();
        links.sort_unstable();
        Self { notes, links, from: before.generation, generation: after.generation }
    }
}

/// Vault name and path of a note.
type NoteLocation<'t> = (&'t str, &'t str);

/// Type, source and written target of a link.
type LinkKey<'t> = (&'t str, LinkSource, &'t str);

/// Two note tables and the pairs of notes between them.
struct NotePairing<'t> {
    before: &'t NoteTable,
    after: &'t NoteTable,
    /// For each note now, the note before.
    before_of: BTreeMap<NoteId, NoteId>,
    /// For each note before, the note now.
    after_of: NoteMap<NoteId>,
}

impl<'t> NotePairing<'t> {
    fn new(before: &'t NoteTable, after: &'t NoteTable) -> Self {
        let mut old: BTreeMap<NoteLocation<'t>, NoteId> =
            before.by_path().map(|(id, entry)| (place(before, entry), id)).collect();
        let mut before_of = BTreeMap::new();
        let mut new: Vec<(NoteId, &NoteEntry)> = Vec::new();
        for (id, entry) in after.by_path() {
            match old.remove(&place(after, entry)) {
                Some(same) => drop(before_of.insert(id, same)),
                None => new.push((id, entry)),
            }
        }
        let left = || old.values().filter_map(|id| Some((*id, before.entry(*id)?.as_ref())));
        let mut by_uri: HashMap<&str, NoteId> = left()
            .filter_map(|(id, entry)| Some((entry.note.claimed_uri.as_deref()?, id)))
            .collect();
        let mut by_content: HashMap<TextHash, VecDeque<NoteId>> = HashMap::new();
        for (id, entry) in left() {
            by_content.entry(entry.file.hash).or_default().push_back(id);
        }
        let mut taken: BTreeSet<NoteId> = BTreeSet::new();
        for claims in [true, false] {
            new.retain(|(id, entry)| {
                let same = if claims {
                    entry.note.claimed_uri.as_deref().and_then(|uri| by_uri.remove(uri))
                } else {
                    let mut like = by_content.get_mut(&entry.file.hash);
                    std::iter::from_fn(|| like.as_mut()?.pop_front()).find(|id| !taken.contains(id))
                };
                same.is_none_or(|same| {
                    taken.insert(same);
                    before_of.insert(*id, same);
                    false
                })
            });
        }
        let after_of = before_of.iter().map(|(now, then)| (*then, *now)).collect();
        Self { before, after, before_of, after_of }
    }

    fn notes(&self) -> Vec<NoteChange> {
        let Self { before, after, before_of, after_of } = self;
        let removed = before.by_path().filter(|(id, _)| !after_of.contains_key(id));
        let removed =
            removed.map(|(id, entry)| unpaired(NoteChangeKind::Removed, before, id, entry));
        let rest = after.by_path().filter_map(|(id, entry)| match before_of.get(&id) {
            None => Some(unpaired(NoteChangeKind::Added, after, id, entry)),
            Some(then) => self.change(id, entry, *then, before.entry(*then)?),
        });
        removed.chain(rest).collect()
    }

    /// Returns the differences of a paired note; `None` without any.
    fn change(
        &self,
        id: NoteId,
        now: &NoteEntry,
        then_id: NoteId,
        then: &NoteEntry,
    ) -> Option<NoteChange> {
        let (named, was_named) = (name(self.after, id, now), name(self.before, then_id, then));
        let (graph, old_graph) = (self.after.graph(), self.before.graph());
        let still = |then: Option<NoteId>| then.map(|then| self.after_of.get(&then).copied());
        let (note, old) = (&now.note, &then.note);
        let parts = [
            (NotePart::Uri, named.uri != was_named.uri),
            (NotePart::Title, named.title != was_named.title),
            (NotePart::Text, *now.body != *then.body),
            (NotePart::Frontmatter, note.properties != old.properties),
            (NotePart::Aliases, note.aliases != old.aliases),
            (NotePart::Tags, note.tags != old.tags),
            (NotePart::Type, note.note_type != old.note_type),
            (NotePart::Parent, graph.parent(id).map(Some) != still(old_graph.parent(then_id))),
            (NotePart::Object, graph.object(id).map(Some) != still(old_graph.object(then_id))),
        ];
        let parts: BTreeSet<NotePart> =
            parts.into_iter().filter_map(|(part, differs)| differs.then_some(part)).collect();
        let is_moved = place(self.after, now) != place(self.before, then);
        if !is_moved && parts.is_empty() {
            return None;
        }
        let kind = if is_moved { NoteChangeKind::Moved } else { NoteChangeKind::Changed };
        let before = (named != was_named).then_some(was_named);
        Some(NoteChange { kind, now: named, before, parts })
    }

    fn links(&self) -> Vec<LinkChange> {
        let Self { before, after, before_of, after_of } = self;
        let mut changes = Vec::new();
        for (id, _) in after.by_path() {
            let then = before_of.get(&id);
            let old = then.map(|then| links_of(before, *then)).unwrap_or_default();
            let from = after.graph().uri(id);
            self.compare(from, &old, &links_of(after, id), &mut changes);
        }
        for (id, _) in before.by_path().filter(|(id, _)| !after_of.contains_key(id)) {
            let from = before.graph().uri(id);
            self.compare(from, &links_of(before, id), &BTreeMap::new(), &mut changes);
        }
        changes
    }

    /// Compares the links of one note: pairs links written alike, then the rest by target and type.
    fn compare(
        &self,
        from: &Uri,
        old: &BTreeMap<LinkKey<'t>, Vec<NoteId>>,
        new: &BTreeMap<LinkKey<'t>, Vec<NoteId>>,
        changes: &mut Vec<LinkChange>,
    ) {
        let Self { before, after, .. } = self;
        let written: BTreeSet<&LinkKey<'t>> = old.keys().chain(new.keys()).collect();
        let change = |kind: &str, source, change, to: &Uri| LinkChange {
            from: from.clone(),
            to: to.clone(),
            kind: kind.to_owned(),
            source,
            change,
            before: None,
        };
        let mut unmatched_new: BTreeMap<(&str, LinkSource, NoteId), usize> = BTreeMap::new();
        let mut removed: Vec<(&LinkKey<'t>, NoteId)> = Vec::new();
        for key in written {
            let then = old.get(key).map_or(&[][..], Vec::as_slice);
            let now = new.get(key).map_or(&[][..], Vec::as_slice);
            for (then, now) in then.iter().zip(now) {
                if let Some(kind) = self.target_change(*then, *now) {
                    let former = Some(before.graph().uri(*then).clone());
                    let other = change(key.0, key.1, kind, after.graph().uri(*now));
                    changes.push(LinkChange { before: former, ..other });
                }
            }
            let n_same = then.len().min(now.len());
            for to in &now[n_same..] {
                *unmatched_new.entry((key.0, key.1, *to)).or_default() += 1;
            }
            removed.extend(then[n_same..].iter().map(|to| (key, *to)));
        }
        for ((kind, source, _), then) in removed {
            let same = self
                .after_of
                .get(&then)
                .and_then(|now| unmatched_new.get_mut(&(*kind, *source, *now)));
            match same.filter(|n| **n > 0) {
                Some(n) => *n -= 1,
                None => {
                    let to = before.graph().uri(then);
                    changes.push(change(kind, *source, LinkChangeKind::Removed, to));
                }
            }
        }
        for ((kind, source, now), n) in unmatched_new {
            let added = change(kind, source, LinkChangeKind::Added, after.graph().uri(now));
            changes.extend(std::iter::repeat_n(added, n));
        }
    }

    /// Returns how the target of a link changed; `None` if it did not.
    fn target_change(&self, then: NoteId, now: NoteId) -> Option<LinkChangeKind> {
        match (self.before.is_note(then), self.after.is_note(now)) {
            (false, false) => None,
            (false, true) => Some(LinkChangeKind::Resolved),
            (true, false) => Some(LinkChangeKind::Unresolved),
            (true, true) => {
                (self.after_of.get(&then) != Some(&now)).then_some(LinkChangeKind::Retargeted)
            }
        }
    }
}

fn place<'t>(table: &'t NoteTable, entry: &'t NoteEntry) -> NoteLocation<'t> {
    let vault = table.vault(entry.vault).map_or("", |info| info.name.as_str());
    (vault, entry.note.path.as_str())
}

fn name(table: &NoteTable, id: NoteId, entry: &NoteEntry) -> NoteName {
    let (vault, path) = place(table, entry);
    NoteName {
        uri: table.graph().uri(id).clone(),
        vault: vault.to_owned(),
        path: path.to_owned(),
        title: entry.note.title.clone(),
    }
}

/// Describes an added or removed note.
fn unpaired(kind: NoteChangeKind, table: &NoteTable, id: NoteId, entry: &NoteEntry) -> NoteChange {
    NoteChange { kind, now: name(table, id, entry), before: None, parts: BTreeSet::new() }
}

/// Returns the targets of a note's links by how they are written, in the order of the note.
fn links_of(table: &NoteTable, id: NoteId) -> BTreeMap<LinkKey<'_>, Vec<NoteId>> {
    let mut links: BTreeMap<LinkKey<'_>, Vec<NoteId>> = BTreeMap::new();
    if let Some((entry, resolved)) = table.entry(id).zip(table.resolved(id)) {
        for (link, target) in entry.note.links.iter().zip(&resolved.targets) {
            // Text of tentative syntax is a link only if it resolves.
            let Some(target) = target else { continue };
            let written = (link.kind.as_str(), link.source, link.target.name.as_str());
            links.entry(written).or_default().push(*target);
        }
    }
    links
}
