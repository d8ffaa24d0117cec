//! What changed between two states of the notes.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use weft_index::Snapshot;
use weft_index::notes::{NoteEntry, NoteTable};
use weft_model::{LinkSource, NoteId, NoteMap, TextHash, Uri};

/// What changed from one state to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diff {
    /// Notes that came, went, moved or say something else: by kind of change, then uri.
    pub notes: Vec<NoteChange>,
    /// Links that came, went, or mean something else: by the linking note's uri, the target's, type, source and kind of change.
    pub links: Vec<LinkChange>,
    /// The earlier generation.
    pub from: u64,
    /// The later generation.
    pub generation: u64,
}

/// What became of a note.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoteChange {
    /// What happened.
    pub kind: NoteChangeKind,
    /// The note as it is now; as it was, where it is gone.
    pub now: NoteName,
    /// The note as it was, where it is another now: moved, or called something else.
    pub before: Option<NoteName>,
    /// What of it is different.
    pub parts: BTreeSet<NotePart>,
}

/// How a note is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoteName {
    /// Its uri.
    pub uri: Uri,
    /// Its vault's name.
    pub vault: String,
    /// Its path in the vault.
    pub path: String,
    /// Its title.
    pub title: String,
}

/// What happened to a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteChangeKind {
    /// It was not there before.
    Added,
    /// It is not there any more.
    Removed,
    /// Its file lies elsewhere: one with the same uri of its own, or with the same content, is gone.
    Moved,
    /// It lies where it lay.
    Changed,
}

/// A part of a note that can be different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotePart {
    /// Its uri.
    Uri,
    /// Its title.
    Title,
    /// The text below the frontmatter.
    Text,
    /// The frontmatter.
    Frontmatter,
    /// Its other names.
    Aliases,
    /// Its tags.
    Tags,
    /// Its type.
    Type,
    /// The note above it.
    Parent,
    /// What it states something about.
    Object,
}

/// What became of a link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkChange {
    /// The linking note: as it is called now; as it was, where it is gone.
    pub from: Uri,
    /// What the link means now; what it meant, where it is gone.
    pub to: Uri,
    /// The type of the edge.
    pub kind: String,
    /// Where it was written.
    pub source: LinkSource,
    /// What happened.
    pub change: LinkChangeKind,
    /// What it meant before, where that is something else.
    pub before: Option<Uri>,
}

/// What happened to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkChangeKind {
    /// It was not there before.
    Added,
    /// It is not there any more.
    Removed,
    /// It led nowhere, and a note answers to it now.
    Resolved,
    /// A note answered to it, and none does now.
    Unresolved,
    /// Another note answers to it now.
    Retargeted,
}

impl Diff {
    /// What changed from `before` to `after`.
    ///
    /// A note is the same where its path is; else where it claims the same uri, else where it has the same content, and its old path is free.
    /// A link is the same where its note is and it is written alike, or means the same with the same type; that the note it leads to was renamed is no change of it.
    /// `O(notes + links)`; the same states give the same answer.
    #[must_use]
    pub fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let pair = Pair::new(&before.notes, &after.notes);
        let mut notes = pair.notes();
        notes.sort_unstable();
        let mut links = pair.links();
        links.sort_unstable();
        Self { notes, links, from: before.generation, generation: after.generation }
    }
}

/// A note's place, whichever number its vault has.
type Place<'t> = (&'t str, &'t str);

/// A link as it is written.
type Written<'t> = (&'t str, LinkSource, &'t str);

/// Two tables, and which notes are the same.
struct Pair<'t> {
    before: &'t NoteTable,
    after: &'t NoteTable,
    /// Of each note now, what it was.
    was: BTreeMap<NoteId, NoteId>,
    /// Of each note then, what it is.
    is: NoteMap<NoteId>,
}

impl<'t> Pair<'t> {
    fn new(before: &'t NoteTable, after: &'t NoteTable) -> Self {
        let mut old: BTreeMap<Place<'t>, NoteId> =
            before.by_path().map(|(id, entry)| (place(before, entry), id)).collect();
        let mut was = BTreeMap::new();
        let mut new: Vec<(NoteId, &NoteEntry)> = Vec::new();
        for (id, entry) in after.by_path() {
            match old.remove(&place(after, entry)) {
                Some(same) => drop(was.insert(id, same)),
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
                    was.insert(*id, same);
                    false
                })
            });
        }
        let is = was.iter().map(|(now, then)| (*then, *now)).collect();
        Self { before, after, was, is }
    }

    fn notes(&self) -> Vec<NoteChange> {
        let Self { before, after, was, is } = self;
        let gone = before.by_path().filter(|(id, _)| !is.contains_key(id));
        let gone = gone.map(|(id, entry)| alone(NoteChangeKind::Removed, before, id, entry));
        let there = after.by_path().filter_map(|(id, entry)| match was.get(&id) {
            None => Some(alone(NoteChangeKind::Added, after, id, entry)),
            Some(then) => self.change(id, entry, *then, before.entry(*then)?),
        });
        gone.chain(there).collect()
    }

    /// What is different of a note; nothing where nothing is.
    fn change(
        &self,
        id: NoteId,
        now: &NoteEntry,
        then_id: NoteId,
        then: &NoteEntry,
    ) -> Option<NoteChange> {
        let (named, was_named) = (name(self.after, id, now), name(self.before, then_id, then));
        let (graph, old_graph) = (self.after.graph(), self.before.graph());
        let still = |then: Option<NoteId>| then.map(|then| self.is.get(&then).copied());
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
        let Self { before, after, was, is } = self;
        let mut changes = Vec::new();
        for (id, _) in after.by_path() {
            let then = was.get(&id);
            let old = then.map(|then| links_of(before, *then)).unwrap_or_default();
            let from = after.graph().uri(id);
            self.compare(from, &old, &links_of(after, id), &mut changes);
        }
        for (id, _) in before.by_path().filter(|(id, _)| !is.contains_key(id)) {
            let from = before.graph().uri(id);
            self.compare(from, &links_of(before, id), &BTreeMap::new(), &mut changes);
        }
        changes
    }

    /// Compares the links of one note, each with the one that was written alike, and what is left with what means the same.
    fn compare(
        &self,
        from: &Uri,
        old: &BTreeMap<Written<'t>, Vec<NoteId>>,
        new: &BTreeMap<Written<'t>, Vec<NoteId>>,
        changes: &mut Vec<LinkChange>,
    ) {
        let Self { before, after, .. } = self;
        let written: BTreeSet<&Written<'t>> = old.keys().chain(new.keys()).collect();
        let change = |kind: &str, source, change, to: &Uri| LinkChange {
            from: from.clone(),
            to: to.clone(),
            kind: kind.to_owned(),
            source,
            change,
            before: None,
        };
        let mut came: BTreeMap<(&str, LinkSource, NoteId), usize> = BTreeMap::new();
        let mut gone: Vec<(&Written<'t>, NoteId)> = Vec::new();
        for key in written {
            let then = old.get(key).map_or(&[][..], Vec::as_slice);
            let now = new.get(key).map_or(&[][..], Vec::as_slice);
            for (then, now) in then.iter().zip(now) {
                if let Some(meaning) = self.meaning(*then, *now) {
                    let meant = Some(before.graph().uri(*then).clone());
                    let other = change(key.0, key.1, meaning, after.graph().uri(*now));
                    changes.push(LinkChange { before: meant, ..other });
                }
            }
            let n_same = then.len().min(now.len());
            for to in &now[n_same..] {
                *came.entry((key.0, key.1, *to)).or_default() += 1;
            }
            gone.extend(then[n_same..].iter().map(|to| (key, *to)));
        }
        for ((kind, source, _), then) in gone {
            let same = self.is.get(&then).and_then(|now| came.get_mut(&(*kind, *source, *now)));
            match same.filter(|n| **n > 0) {
                Some(n) => *n -= 1,
                None => {
                    let to = before.graph().uri(then);
                    changes.push(change(kind, *source, LinkChangeKind::Removed, to));
                }
            }
        }
        for ((kind, source, now), n) in came {
            let added = change(kind, source, LinkChangeKind::Added, after.graph().uri(now));
            changes.extend(std::iter::repeat_n(added, n));
        }
    }

    /// What happened to a link that meant `then` and means `now`; nothing where that is the same.
    fn meaning(&self, then: NoteId, now: NoteId) -> Option<LinkChangeKind> {
        match (self.before.is_note(then), self.after.is_note(now)) {
            (false, false) => None,
            (false, true) => Some(LinkChangeKind::Resolved),
            (true, false) => Some(LinkChangeKind::Unresolved),
            (true, true) => {
                (self.is.get(&then) != Some(&now)).then_some(LinkChangeKind::Retargeted)
            }
        }
    }
}

fn place<'t>(table: &'t NoteTable, entry: &'t NoteEntry) -> Place<'t> {
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

/// A note that came or went.
fn alone(kind: NoteChangeKind, table: &NoteTable, id: NoteId, entry: &NoteEntry) -> NoteChange {
    NoteChange { kind, now: name(table, id, entry), before: None, parts: BTreeSet::new() }
}

/// The links of a note by how they are written, and what each means, in the order of the note.
fn links_of(table: &NoteTable, id: NoteId) -> BTreeMap<Written<'_>, Vec<NoteId>> {
    let mut links: BTreeMap<Written<'_>, Vec<NoteId>> = BTreeMap::new();
    if let Some((entry, resolved)) = table.entry(id).zip(table.resolved(id)) {
        for (link, target) in entry.note.links.iter().zip(&resolved.targets) {
            // What only would be a link if a note answered to it is none.
            let Some(target) = target else { continue };
            let written = (link.kind.as_str(), link.source, link.target.name.as_str());
            links.entry(written).or_default().push(*target);
        }
    }
    links
}
