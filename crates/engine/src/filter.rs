//! The filter: one message for every question, one matcher.

mod glob;
mod passing;
mod paths;
mod property;

use std::collections::HashSet;

use jiff::Timestamp;
use weft_index::Snapshot;
use weft_index::notes::{Card, Facets};
use weft_model::{NoteId, NoteSet, Stop, Value, fold};

use crate::{EngineError, date, note_named};
pub(crate) use passing::Passings;
use paths::PathMatch;
use property::Wanted;
pub use property::{Comparison, PropertyMatch};

/// Which notes a question is about. Every part given must hold; an empty one restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Names of vaults, any of them.
    pub vaults: Vec<String>,
    /// Notes and folders by their paths, or globs (`*` stays within a segment, `**` does not); any of them, compared with case folded.
    ///
    /// `vault:path` is about one vault. What a note or folder is named is neither that nor a glob, and `./` at the front says nothing.
    pub paths: Vec<String>,
    /// Tags, all of them, with or without `#`; a tag holds for those nested below it.
    pub tags: Vec<String>,
    /// Values of `type`, any of them, compared with case folded; a note with several types has each.
    pub types: Vec<String>,
    /// How properties must compare, all of them.
    pub properties: Vec<PropertyMatch>,
    /// The least `date` (or `created`, `modified`, `updated`, the first that holds a date): `YYYY-MM-DD`, or RFC 3339 with a time; UTC where it names no offset.
    pub after: Option<String>,
    /// The first date that is too late, in the same forms.
    pub before: Option<String>,
    /// Notes that the wanted ones link to, all of them.
    pub linked_to: Vec<String>,
    /// Notes that link to the wanted ones, all of them.
    pub linked_from: Vec<String>,
    /// Notes and how many links away from them the wanted ones are at most, all of them.
    pub within: Vec<(String, u32)>,
    /// Notes that do not pass.
    pub excluded: Vec<String>,
}

/// Properties that date a note: the first of them that holds a date.
const DATE_PROPERTIES: [&str; 4] = ["date", "created", "modified", "updated"];

impl Filter {
    /// Whether it restricts nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The parts that a note does not pass, by the names of their fields.
    ///
    /// Fails as [`notes`](Self::notes) does.
    pub(crate) fn failed(
        &self,
        snapshot: &Snapshot,
        id: NoteId,
        stop: &Stop,
    ) -> Result<Vec<&'static str>, EngineError> {
        if !snapshot.notes.is_note(id) {
            return Ok(Vec::new());
        }
        let Self {
            vaults,
            paths,
            tags,
            types,
            properties,
            after,
            before,
            linked_to,
            linked_from,
            within,
            excluded,
        } = self.clone();
        let parts = [
            ("vaults", Self { vaults, ..Self::default() }),
            ("paths", Self { paths, ..Self::default() }),
            ("tags", Self { tags, ..Self::default() }),
            ("types", Self { types, ..Self::default() }),
            ("properties", Self { properties, ..Self::default() }),
            ("after", Self { after, ..Self::default() }),
            ("before", Self { before, ..Self::default() }),
            ("linked_to", Self { linked_to, ..Self::default() }),
            ("linked_from", Self { linked_from, ..Self::default() }),
            ("within", Self { within, ..Self::default() }),
            ("excluded", Self { excluded, ..Self::default() }),
        ];
        let mut failed = Vec::new();
        for (name, part) in parts {
            if !part.is_empty() && !Matcher::new(&part, snapshot, stop)?.passes(snapshot, id) {
                failed.push(name);
            }
        }
        Ok(failed)
    }

    /// The notes that pass. `O(notes)`.
    ///
    /// Fails on an unknown vault or note, on a glob, tag or date that is none, and when `stop` says so.
    fn notes(&self, snapshot: &Snapshot, stop: &Stop) -> Result<NoteSet, EngineError> {
        let matcher = Matcher::new(self, snapshot, stop)?;
        let mut passing = Vec::new();
        for (at, id) in snapshot.notes.graph().ids().enumerate() {
            if at % NOTES_PER_CHECK == 0 {
                stop.check()?;
            }
            if matcher.passes(snapshot, id) {
                passing.push(id);
            }
        }
        Ok(passing.into_iter().collect())
    }
}

impl Filter {
    /// A line for each path that no note lies at or under, for each tag, type and property that no note has, and one for dates where no note has any: slips of the hand rather than questions. `O(notes)` for each.
    ///
    /// `passing` are the notes that pass. Fails on a glob or tag that is none, and when `stop` says so.
    fn unmet(
        &self,
        passing: &NoteSet,
        snapshot: &Snapshot,
        stop: &Stop,
    ) -> Result<Vec<String>, EngineError> {
        let mut unmet = Vec::new();
        if self.after.is_some() || self.before.is_some() {
            let mut ids = snapshot.notes.graph().ids();
            let is_dated = |id| snapshot.notes.facets(id).is_some_and(|it| dated(&it).is_some());
            if !ids.any(is_dated) {
                let [names @ .., last] = DATE_PROPERTIES.map(|name| format!("`{name}`"));
                unmet.push(format!(
                    "filter: no note is dated; a date is read from its property {} or {last}",
                    names.join(", ")
                ));
            }
        }
        for path in &self.paths {
            stop.check()?;
            let wanted = PathMatch::new(path, snapshot)?;
            if !wanted.is_met(snapshot) {
                unmet.push(if wanted.is_glob() {
                    format!(
                        "filter: no note's path matches `{path}`; `*` stays within a folder, `**` does not"
                    )
                } else {
                    format!("filter: no note lies at or under `{path}`")
                });
            }
        }
        let has_none = |part: Self| part.notes(snapshot, stop).map(|passing| passing.is_empty());
        // What passes has them all, but of several types only one.
        let types = if passing.is_empty() || self.types.len() > 1 { &self.types[..] } else { &[] };
        for kind in types {
            if has_none(Self { types: vec![kind.clone()], ..Self::default() })? {
                unmet.push(format!("filter: no note is of type `{kind}`"));
            }
        }
        if passing.is_empty() {
            for tag in &self.tags {
                if has_none(Self { tags: vec![tag.clone()], ..Self::default() })? {
                    unmet.push(format!("filter: no note has the tag `{tag}`"));
                }
            }
            for wanted in &self.properties {
                stop.check()?;
                let key = fold(&wanted.key);
                let mut ids = snapshot.notes.graph().ids();
                let has =
                    |id| snapshot.notes.facets(id).is_some_and(|it| value_of(&it, &key).is_some());
                if !ids.any(has) {
                    unmet.push(format!("filter: no note has a property `{}`", wanted.key));
                }
            }
        }
        Ok(unmet)
    }
}

/// Notes that are looked at between two looks whether to go on.
pub(crate) const NOTES_PER_CHECK: usize = 256;

struct Matcher {
    vaults: HashSet<u16>,
    paths: Vec<PathMatch>,
    tags: Vec<String>,
    types: Vec<String>,
    properties: Vec<Wanted>,
    after: Option<Timestamp>,
    before: Option<Timestamp>,
    near: Vec<HashSet<NoteId>>,
    excluded: HashSet<NoteId>,
}

impl Matcher {
    fn new(filter: &Filter, snapshot: &Snapshot, stop: &Stop) -> Result<Self, EngineError> {
        let notes = &snapshot.notes;
        let mut vaults = HashSet::new();
        for name in &filter.vaults {
            let found = notes.vaults().find(|(_, info)| info.name == *name);
            let (id, _) = found.ok_or_else(|| {
                let known: Vec<&str> = notes.vaults().map(|(_, info)| info.name.as_str()).collect();
                EngineError::InvalidArgument {
                    field: "filter.vaults",
                    reason: format!("there is no vault `{name}`; served are {}", known.join(", ")),
                }
            })?;
            vaults.insert(id.0);
        }
        let path = |path: &String| {
            stop.check()?;
            PathMatch::new(path, snapshot)
        };
        let paths = filter.paths.iter().map(path).collect::<Result<_, _>>()?;
        let graph = notes.graph();
        let mut near: Vec<HashSet<NoteId>> = Vec::new();
        let mut linked = |names: &[String], inbound: bool| -> Result<(), EngineError> {
            for name in names {
                let id = note_named(snapshot, name)?;
                let halves = if inbound { graph.inbound(id) } else { graph.outgoing(id) };
                near.push(
                    halves.iter().map(|half| half.other).filter(|other| *other != id).collect(),
                );
            }
            Ok(())
        };
        linked(&filter.linked_to, true)?;
        linked(&filter.linked_from, false)?;
        for (name, hops) in &filter.within {
            let mut seen = HashSet::from([note_named(snapshot, name)?]);
            let mut frontier: Vec<NoteId> = seen.iter().copied().collect();
            for _ in 0..*hops {
                stop.check()?;
                let next = frontier
                    .iter()
                    .flat_map(|id| graph.outgoing(*id).iter().chain(graph.inbound(*id)));
                let found = next.map(|half| half.other).filter(|id| notes.is_note(*id));
                frontier = found.filter(|id| seen.insert(*id)).collect();
                if frontier.is_empty() {
                    break;
                }
            }
            near.push(seen);
        }
        let excluded = filter.excluded.iter().map(|name| note_named(snapshot, name));
        let excluded = excluded.collect::<Result<_, _>>()?;
        let folded = |list: &[String]| list.iter().map(|item| fold(item)).collect();
        let bare = |tag: &String| match fold(tag.trim_start_matches('#').trim_matches('/')) {
            bare if bare.trim().is_empty() => {
                let reason = format!("`{tag}` names no tag");
                Err(EngineError::InvalidArgument { field: "filter.tags", reason })
            }
            bare => Ok(bare),
        };
        Ok(Self {
            vaults,
            paths,
            tags: filter.tags.iter().map(bare).collect::<Result<_, _>>()?,
            types: folded(&filter.types),
            properties: filter.properties.iter().map(Wanted::new).collect::<Result<_, _>>()?,
            after: moment("filter.after", filter.after.as_deref())?,
            before: moment("filter.before", filter.before.as_deref())?,
            near,
            excluded,
        })
    }

    fn passes(&self, snapshot: &Snapshot, id: NoteId) -> bool {
        let lies_there = || {
            snapshot.notes.card(id).is_some_and(|card| {
                (self.vaults.is_empty() || self.vaults.contains(&card.vault.0))
                    && (self.paths.is_empty() || self.passes_path(&card))
            })
        };
        let lies_anywhere = self.vaults.is_empty() && self.paths.is_empty();
        let asks_for_facets = self.asks_for_facets();
        self.near.iter().all(|set| set.contains(&id))
            && !self.excluded.contains(&id)
            // Only notes have facets: where those are asked for, what lies anywhere need not be shown to be one.
            && (lies_anywhere && asks_for_facets || lies_there())
            && (!asks_for_facets
                || snapshot.notes.facets(id).is_some_and(|facets| self.passes_facets(&facets)))
    }

    /// Whether any part is about what stands in a note's frontmatter.
    const fn asks_for_facets(&self) -> bool {
        let Self { tags, types, properties, after, before, .. } = self;
        let is_dated = after.is_some() || before.is_some();
        is_dated || !(tags.is_empty() && types.is_empty() && properties.is_empty())
    }

    fn passes_facets(&self, facets: &Facets<'_>) -> bool {
        let has = |wanted: &String| facets.tags.iter().any(|tag| is_below(&fold(tag), wanted));
        self.tags.iter().all(has)
            && (self.types.is_empty() || self.passes_type(facets))
            && self.properties.iter().all(|wanted| {
                value_of(facets, &wanted.key).is_some_and(|value| wanted.passes(value))
            })
            && self.passes_date(facets)
    }

    fn passes_path(&self, card: &Card<'_>) -> bool {
        let folded = fold(card.path);
        self.paths.iter().any(|wanted| wanted.passes(card.vault, card.path, &folded))
    }

    fn passes_type(&self, facets: &Facets<'_>) -> bool {
        let first = facets.note_type.as_deref();
        let written = value_of(facets, "type").map_or(&[][..], Value::items);
        let mut all = first.into_iter().chain(written.iter().filter_map(Value::as_written));
        all.any(|kind| self.types.contains(&fold(kind)))
    }

    fn passes_date(&self, facets: &Facets<'_>) -> bool {
        let Self { after, before, .. } = self;
        if after.is_none() && before.is_none() {
            return true;
        }
        dated(facets).is_some_and(|date| {
            after.is_none_or(|after| date >= after) && before.is_none_or(|before| date < before)
        })
    }
}

fn moment(field: &'static str, text: Option<&str>) -> Result<Option<Timestamp>, EngineError> {
    let Some(text) = text else { return Ok(None) };
    let found = date::moment(text).ok_or_else(|| EngineError::InvalidArgument {
        field,
        reason: format!("`{text}` is no date; write 2024-05-01 or 2024-05-01T12:00:00Z"),
    })?;
    Ok(Some(found))
}

/// Whether `name` is `above` or lies below it, by whole segments.
pub(crate) fn is_below(name: &str, above: &str) -> bool {
    name.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// When a note is dated: of a list the first date counts.
fn dated(facets: &Facets<'_>) -> Option<Timestamp> {
    let names = DATE_PROPERTIES.iter();
    let read = |text: &str| date::written(text).or_else(|| date::counted(text));
    let first = |value: &Value| value.items().iter().find_map(|item| read(item.as_written()?));
    names.copied().find_map(|name| first(value_of(facets, name)?))
}

/// The value of a property by its name in folded case, whatever the case in the note.
pub(crate) fn value_of<'f>(facets: &'f Facets<'_>, key: &str) -> Option<&'f Value> {
    let properties = &facets.properties;
    properties
        .get(key)
        .or_else(|| properties.iter().find(|(name, _)| fold(name) == key).map(|(_, value)| value))
}
