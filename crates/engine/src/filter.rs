//! The filter shared by all requests.

mod filter_matches;
mod glob;
mod paths;
mod property;

use std::collections::HashSet;

use weft_graph::HalfEdge;
use weft_index::Snapshot;
use weft_index::notes::{Facets, NoteSummary};
use weft_model::{NoteId, NoteKind, NoteSet, Stop, Value, date, fold};

use crate::{EngineError, Warning, WarningCode, note_by_name};
pub(crate) use filter_matches::{FilterCache, FilterMatches, filter_cache};
use paths::PathMatch;
use property::PropertyCondition;
pub use property::{Comparison, PropertyMatch};
use weft_model::date::WrittenDate;

/// Restricts a request to some notes. All given conditions must hold; an empty filter restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Names of vaults; any of them.
    pub vaults: Vec<String>,
    /// Paths of notes or folders, or globs (`*` matches within a segment, `**` across segments); any of them, ignoring case.
    ///
    /// `vault:path` restricts to one vault. An existing name of a note or folder is never read as a glob or a vault prefix. A leading `./` is ignored.
    pub paths: Vec<String>,
    /// Tags with or without `#`; all of them. A tag includes the tags nested below it.
    pub tags: Vec<String>,
    /// Values of `type`; any of them, ignoring case. A note with several types has each.
    pub types: Vec<String>,
    /// Conditions on properties; all of them.
    pub properties: Vec<PropertyMatch>,
    /// Earliest date of a note, as `YYYY-MM-DD` or RFC 3339 with a time. Without an offset it is compared with the dates as they are written in notes. The date of a note is its property `date`, `created`, `modified` or `updated`, the first that contains a date.
    pub after: Option<String>,
    /// First date that is too late, in the same forms.
    pub before: Option<String>,
    /// Names of notes that each match must link to.
    pub linked_to: Vec<String>,
    /// Names of notes that must link to each match.
    pub linked_from: Vec<String>,
    /// Names of notes with a number of hops: each match is at most that far from each of them.
    pub within: Vec<(String, u32)>,
    /// Notes to exclude.
    pub excluded: Vec<String>,
    /// Kinds of notes; any of them.
    pub kinds: Vec<NoteKind>,
}

impl Filter {
    /// True if the filter restricts nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the names of the fields whose conditions a note fails; none for a placeholder.
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
        Ok(CompiledFilter::new(self, snapshot, stop)?.failed(snapshot, id))
    }

    /// Returns the notes that match. `O(notes)`.
    ///
    /// Fails on an unknown vault or note, on an invalid glob, tag or date, and when `stop` ends the work.
    fn notes(&self, snapshot: &Snapshot, stop: &Stop) -> Result<NoteSet, EngineError> {
        let matcher = CompiledFilter::new(self, snapshot, stop)?;
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
    /// Returns a warning for each named note of which a part is named: filters apply to whole notes.
    fn ignored_fragments(&self, snapshot: &Snapshot) -> Vec<Warning> {
        let Self { linked_to, linked_from, within, excluded, .. } = self;
        let named = [
            ("linked_to", linked_to.iter().collect()),
            ("linked_from", linked_from.iter().collect()),
            ("within", within.iter().map(|(name, _)| name).collect()),
            ("excluded", excluded.iter().collect::<Vec<_>>()),
        ];
        let named = named
            .into_iter()
            .flat_map(|(field, names)| names.into_iter().map(move |name| (field, name)));
        let warning = |(field, name): (&str, &String)| {
            let (found, fragment) = snapshot.notes.find_part(name);
            let (note, fragment) = (found.note?, fragment?);
            let uri = snapshot.notes.graph().uri(note);
            let message = format!(
                "`filter.{field}` applies to whole notes: `{uri}` was used, not its part `{fragment}`"
            );
            Some(Warning::new(WarningCode::FragmentIgnored, message))
        };
        named.filter_map(warning).collect()
    }

    /// Returns a warning for each path, tag, type, kind and property that no note matches, and one for dates if no note has a date: probably typing errors. `O(notes)` for each.
    ///
    /// Also reports [ignored parts](Self::ignored_fragments) of named notes.
    ///
    /// `passing` is the set of matching notes. Fails on an invalid glob or tag, and when `stop` ends the work.
    fn warnings(
        &self,
        passing: &NoteSet,
        snapshot: &Snapshot,
        stop: &Stop,
    ) -> Result<Vec<Warning>, EngineError> {
        let mut warnings = self.ignored_fragments(snapshot);
        let mut warn =
            |message| warnings.push(Warning::new(WarningCode::FilterMatchesNothing, message));
        if self.after.is_some() || self.before.is_some() {
            let mut ids = snapshot.notes.graph().ids();
            let is_dated = |id| snapshot.notes.facets(id).is_some_and(|it| dated(&it).is_some());
            if !ids.any(is_dated) {
                let [names @ .., last] = date::PROPERTIES.map(|name| format!("`{name}`"));
                warn(format!(
                    "no note has a date; dates are read from the property {} or {last}",
                    names.join(", ")
                ));
            }
        }
        for path in &self.paths {
            stop.check()?;
            let wanted = PathMatch::new(path, snapshot)?;
            if !wanted.is_met(snapshot) {
                warn(if wanted.is_glob() {
                    format!(
                        "no path matches the glob `{path}`; `*` matches within a folder, `**` across folders"
                    )
                } else {
                    format!("no note is at or under the path `{path}`")
                });
            }
        }
        let has_none = |part: Self| part.notes(snapshot, stop).map(|passing| passing.is_empty());
        // Every match has all conditions, except for several types, of which it has one.
        let types = if passing.is_empty() || self.types.len() > 1 { &self.types[..] } else { &[] };
        for kind in types {
            if has_none(Self { types: vec![kind.clone()], ..Self::default() })? {
                warn(format!("no note has the type `{kind}`"));
            }
        }
        for kind in &self.kinds {
            if has_none(Self { kinds: vec![*kind], ..Self::default() })? {
                warn(format!(
                    "no note is of the kind `{kind}`; the setting `scan.other_files` enables kinds"
                ));
            }
        }
        if passing.is_empty() {
            for tag in &self.tags {
                if has_none(Self { tags: vec![tag.clone()], ..Self::default() })? {
                    warn(format!("no note has the tag `{tag}`"));
                }
            }
            for wanted in &self.properties {
                stop.check()?;
                let key = fold(&wanted.key);
                let mut ids = snapshot.notes.graph().ids();
                let has =
                    |id| snapshot.notes.facets(id).is_some_and(|it| value_of(&it, &key).is_some());
                if !ids.any(has) {
                    warn(format!("no note has the property `{}`", wanted.key));
                }
            }
        }
        Ok(warnings)
    }
}

/// Number of notes processed between two checks of the deadline.
pub(crate) const NOTES_PER_CHECK: usize = 256;

struct CompiledFilter {
    vaults: HashSet<u16>,
    paths: Vec<PathMatch>,
    tags: Vec<String>,
    types: Vec<String>,
    properties: Vec<PropertyCondition>,
    after: Option<WrittenDate>,
    before: Option<WrittenDate>,
    /// Notes that satisfy a condition on links, with the field of the condition.
    linked: Vec<(&'static str, HashSet<NoteId>)>,
    excluded: HashSet<NoteId>,
    kinds: Vec<NoteKind>,
}

impl CompiledFilter {
    fn new(filter: &Filter, snapshot: &Snapshot, stop: &Stop) -> Result<Self, EngineError> {
        let notes = &snapshot.notes;
        let mut vaults = HashSet::new();
        for name in &filter.vaults {
            let found = notes.vaults().find(|(_, info)| info.name == *name);
            let (id, _) = found.ok_or_else(|| {
                let known: Vec<&str> = notes.vaults().map(|(_, info)| info.name.as_str()).collect();
                EngineError::InvalidArgument {
                    field: "filter.vaults",
                    reason: format!("unknown vault `{name}`; known vaults: {}", known.join(", ")),
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
        let mut linked: Vec<(&'static str, HashSet<NoteId>)> = Vec::new();
        for name in &filter.linked_to {
            let id = note_by_name(snapshot, name)?;
            linked.push(("linked_to", other_ends(graph.inbound(id), id)));
        }
        for name in &filter.linked_from {
            let id = note_by_name(snapshot, name)?;
            linked.push(("linked_from", other_ends(graph.outgoing(id), id)));
        }
        for (name, hops) in &filter.within {
            let mut seen = HashSet::from([note_by_name(snapshot, name)?]);
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
            linked.push(("within", seen));
        }
        let excluded = filter.excluded.iter().map(|name| note_by_name(snapshot, name));
        let excluded = excluded.collect::<Result<_, _>>()?;
        let folded = |list: &[String]| list.iter().map(|item| fold(item)).collect();
        let bare = |tag: &String| match fold(tag.trim_start_matches('#').trim_matches('/')) {
            bare if bare.trim().is_empty() => {
                let reason = format!("`{tag}` is not a tag");
                Err(EngineError::InvalidArgument { field: "filter.tags", reason })
            }
            bare => Ok(bare),
        };
        Ok(Self {
            vaults,
            paths,
            tags: filter.tags.iter().map(bare).collect::<Result<_, _>>()?,
            types: folded(&filter.types),
            properties: filter
                .properties
                .iter()
                .map(PropertyCondition::new)
                .collect::<Result<_, _>>()?,
            after: moment("filter.after", filter.after.as_deref())?,
            before: moment("filter.before", filter.before.as_deref())?,
            linked,
            excluded,
            kinds: filter.kinds.clone(),
        })
    }

    fn passes(&self, snapshot: &Snapshot, id: NoteId) -> bool {
        let passes_summary = || {
            let summary = snapshot.notes.summary(id);
            summary.is_some_and(|summary| {
                self.passes_vault(&summary)
                    && self.passes_kind(&summary)
                    && self.passes_path(&summary)
            })
        };
        let needs_summary =
            !(self.vaults.is_empty() && self.paths.is_empty() && self.kinds.is_empty());
        let needs_facets = self.needs_facets();
        self.linked.iter().all(|(_, notes)| notes.contains(&id))
            && !self.excluded.contains(&id)
            // A placeholder has neither summary nor facets, so either of them excludes it.
            && (needs_facets && !needs_summary || passes_summary())
            && (!needs_facets
                || snapshot.notes.facets(id).is_some_and(|facets| self.passes_facets(&facets)))
    }

    /// Returns the names of the fields whose conditions the note fails.
    fn failed(&self, snapshot: &Snapshot, id: NoteId) -> Vec<&'static str> {
        let (summary, facets) = (snapshot.notes.summary(id), snapshot.notes.facets(id));
        let by_summary = |passes: fn(&Self, &NoteSummary<'_>) -> bool| {
            summary.as_ref().is_some_and(|summary| passes(self, summary))
        };
        let by_facets = |passes: fn(&Self, &Facets<'_>) -> bool| {
            facets.as_ref().is_some_and(|facets| passes(self, facets))
        };
        let date = facets.as_ref().and_then(dated);
        let is_linked =
            |field: &str| self.linked.iter().all(|(of, notes)| *of != field || notes.contains(&id));
        let fields = [
            ("vaults", by_summary(Self::passes_vault)),
            ("paths", by_summary(Self::passes_path)),
            ("tags", by_facets(Self::passes_tags)),
            ("types", by_facets(Self::passes_type)),
            ("properties", by_facets(Self::passes_properties)),
            ("after", self.passes_after(date)),
            ("before", self.passes_before(date)),
            ("linked_to", is_linked("linked_to")),
            ("linked_from", is_linked("linked_from")),
            ("within", is_linked("within")),
            ("excluded", !self.excluded.contains(&id)),
            ("kinds", by_summary(Self::passes_kind)),
        ];
        fields.into_iter().filter_map(|(field, passes)| (!passes).then_some(field)).collect()
    }

    /// True if any condition is on the frontmatter.
    const fn needs_facets(&self) -> bool {
        let Self { tags, types, properties, .. } = self;
        self.needs_date() || !(tags.is_empty() && types.is_empty() && properties.is_empty())
    }

    const fn needs_date(&self) -> bool {
        self.after.is_some() || self.before.is_some()
    }

    fn passes_facets(&self, facets: &Facets<'_>) -> bool {
        self.passes_tags(facets)
            && self.passes_type(facets)
            && self.passes_properties(facets)
            && (!self.needs_date() || {
                let date = dated(facets);
                self.passes_after(date) && self.passes_before(date)
            })
    }

    fn passes_vault(&self, summary: &NoteSummary<'_>) -> bool {
        self.vaults.is_empty() || self.vaults.contains(&summary.vault.0)
    }

    fn passes_path(&self, summary: &NoteSummary<'_>) -> bool {
        if self.paths.is_empty() {
            return true;
        }
        let folded = fold(summary.path);
        self.paths.iter().any(|wanted| wanted.passes(summary.vault, summary.path, &folded))
    }

    fn passes_kind(&self, summary: &NoteSummary<'_>) -> bool {
        let kind = NoteKind::of(summary.path).unwrap_or_default();
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    fn passes_tags(&self, facets: &Facets<'_>) -> bool {
        let has = |wanted: &String| facets.tags.iter().any(|tag| is_below(&fold(tag), wanted));
        self.tags.iter().all(has)
    }

    fn passes_type(&self, facets: &Facets<'_>) -> bool {
        let first = facets.note_type.as_deref();
        let written = value_of(facets, "type").map_or(&[][..], Value::items);
        let mut all = first.into_iter().chain(written.iter().filter_map(Value::as_written));
        self.types.is_empty() || all.any(|kind| self.types.contains(&fold(kind)))
    }

    fn passes_properties(&self, facets: &Facets<'_>) -> bool {
        let passes = |condition: &PropertyCondition| {
            value_of(facets, &condition.key).is_some_and(|value| condition.passes(value))
        };
        self.properties.iter().all(passes)
    }

    fn passes_after(&self, date: Option<WrittenDate>) -> bool {
        self.after.is_none_or(|after| date.is_some_and(|date| date.order(&after).is_ge()))
    }

    fn passes_before(&self, date: Option<WrittenDate>) -> bool {
        self.before.is_none_or(|before| date.is_some_and(|date| date.order(&before).is_lt()))
    }
}

/// Returns the other ends of the links of a note, without the note itself.
fn other_ends(links: &[HalfEdge], id: NoteId) -> HashSet<NoteId> {
    links.iter().map(|link| link.other).filter(|other| *other != id).collect()
}

fn moment(field: &'static str, text: Option<&str>) -> Result<Option<WrittenDate>, EngineError> {
    let Some(text) = text else { return Ok(None) };
    let found = date::moment(text).ok_or_else(|| EngineError::InvalidArgument {
        field,
        reason: format!("`{text}` is not a date; write 2024-05-01 or 2024-05-01T12:00:00Z"),
    })?;
    Ok(Some(found))
}

/// True if `name` equals `above` or is below it, by whole segments.
pub(crate) fn is_below(name: &str, above: &str) -> bool {
    name.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the date of a note; of a list, the first date.
fn dated(facets: &Facets<'_>) -> Option<WrittenDate> {
    let names = date::PROPERTIES.iter();
    let first =
        |value: &Value| value.items().iter().find_map(|item| date::of_note(item.as_written()?));
    names.copied().find_map(|name| first(value_of(facets, name)?))
}

/// Returns the value of a property by its case-folded name, ignoring case in the note.
pub(crate) fn value_of<'f>(facets: &'f Facets<'_>, key: &str) -> Option<&'f Value> {
    let properties = &facets.properties;
    properties
        .get(key)
        .or_else(|| properties.iter().find(|(name, _)| fold(name) == key).map(|(_, value)| value))
}
