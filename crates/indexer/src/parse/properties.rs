//! Entries of the frontmatter to the fields of a note and its typed links.

use weft_model::text::nfc;
use weft_model::{Diagnostic, Link, LinkSource, Target, TargetSyntax, Value};

use super::body;
use super::target::{self, Plain};
use super::yaml::{self, Entry};
use super::{Dialect, code, diagnostic, frontmatter};

/// The property that lists links with their types.
const LINKS: &str = "links";

/// Properties that say a note's place, in which a plain string is a link if it resolves.
const PLACES: &[&str] = &["parent", "up", "object", "source", "target"];

/// Other names of the note.
pub(super) const ALIASES: &[&str] = &["aliases", "alias"];

/// Its tags.
pub(super) const TAGS: &[&str] = &["tags", "tag"];

/// Where a note says its place among its siblings; the first that is a number counts.
const ORDER: &[&str] = &["order", "nav_order", "weight", "position"];

/// The value under `key`; spelled exactly so, else in any case.
pub(super) fn value<'e>(entries: &'e [Entry], key: &str) -> Option<&'e Value> {
    let exact = entries.iter().find(|entry| entry.key == key);
    let entry =
        exact.or_else(|| entries.iter().find(|entry| entry.key.eq_ignore_ascii_case(key)))?;
    Some(&entry.value)
}

/// The scalar under the first of `keys` that has one with something in it, as written.
pub(super) fn scalar(entries: &[Entry], keys: &[&str]) -> Option<String> {
    keys.iter()
        .filter_map(|key| value(entries, key)?.as_written())
        .map(str::trim)
        .find(|text| !text.is_empty())
        .map(str::to_owned)
}

/// The names under `keys`: items of lists, single values whole, a link by what it shows.
pub(super) fn names(entries: &[Entry], keys: &[&str], dialect: Dialect) -> Vec<String> {
    scalars(entries, keys).map(|text| shown(text, dialect).to_owned()).collect()
}

/// The names under `keys` where several may stand in one value: items of lists; single values, and before them the parts between their commas, as Foam reads them.
pub(super) fn several(entries: &[Entry], keys: &[&str], dialect: Dialect) -> Vec<String> {
    let mut names = Vec::new();
    for value in keys.iter().filter_map(|key| value(entries, key)) {
        let is_list = matches!(value, Value::List(_));
        for text in value.items().iter().filter_map(Value::as_written) {
            let parts = if is_list { Vec::new() } else { frontmatter::items(text) };
            let parts = parts.into_iter().chain([text]).map(str::trim);
            let parts = parts.filter(|part| !part.is_empty());
            names.extend(parts.map(|part| shown(part, dialect).to_owned()));
        }
    }
    names
}

/// The tags under `keys`: items of lists, single values split at commas and spaces, without `#`.
pub(super) fn tags(entries: &[Entry], keys: &[&str], dialect: Dialect) -> Vec<String> {
    let values = keys.iter().filter_map(|key| value(entries, key));
    values.flat_map(|value| tags_in(value, dialect)).map(str::to_owned).collect()
}

/// The tags that a value says.
fn tags_in(value: &Value, dialect: Dialect) -> impl Iterator<Item = &str> {
    let is_list = matches!(value, Value::List(_));
    value.items().iter().filter_map(Value::as_written).flat_map(move |text| {
        let whole = is_list || body::links_only(text, dialect).is_some();
        let parts = text.split(move |c: char| !whole && (c == ',' || c.is_whitespace()));
        parts.map(move |part| tag(part, dialect)).filter(|tag| !tag.is_empty())
    })
}

/// A tag as it is kept: what a link shows, without `#` and without `/` at the ends.
pub(super) fn tag(text: &str, dialect: Dialect) -> &str {
    let bare = text.trim().trim_start_matches('#');
    shown(bare, dialect).trim_start_matches('#').trim_matches('/').trim()
}

/// The place among siblings that the entries claim; finite.
pub(super) fn order(entries: &[Entry]) -> Option<f64> {
    ORDER.iter().find_map(|key| match value(entries, key)? {
        Value::Number { value, .. } => Some(*value),
        Value::Text(text) => yaml::number(text.trim()),
        Value::Null | Value::Bool { .. } | Value::List(_) | Value::Map(_) => None,
    })
}

/// The text of one wikilink as a reader sees it, in Dendron what stands first; any other text as it is.
fn shown(text: &str, dialect: Dialect) -> &str {
    let inner = text.trim().strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
    match inner {
        Some(inner) if !inner.contains(['[', ']']) => {
            let parts = inner.split_once('|');
            let label_first = dialect == Dialect::Dendron;
            parts.map_or(inner, |(first, last)| if label_first { first } else { last }).trim()
        }
        Some(_) | None => text.trim(),
    }
}

fn scalars<'e>(entries: &'e [Entry], keys: &[&str]) -> impl Iterator<Item = &'e str> {
    keys.iter()
        .filter_map(|key| value(entries, key))
        .flat_map(Value::items)
        .filter_map(Value::as_written)
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

/// The typed links, in the order written, those within a map in the order of its keys.
///
/// In Logseq a tag is the page of that name, if there is one.
pub(super) fn links(
    entries: &[Entry],
    dialect: Dialect,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Link> {
    let mut links = Vec::new();
    for Entry { key, value, line } in entries {
        if key.eq_ignore_ascii_case(LINKS) {
            for item in value.items() {
                listed(key, item, dialect, &mut links).unwrap_or_else(|| {
                    let message = "An entry of `links` has no `id`, `target` or `to` that can be read; it was left out.";
                    diagnostics.push(diagnostic(code::LINK_ENTRY, message, Some(line + 1)));
                });
            }
        } else {
            let n_before = links.len();
            for item in value.items() {
                property(key, item, says_place(key), dialect, &mut links);
            }
            if dialect == Dialect::Logseq && is_one_of(key, TAGS) {
                let known: Vec<_> =
                    links[n_before..].iter().map(|link| link.target.name.clone()).collect();
                let tags = tags_in(value, dialect).map(nfc).filter(|tag| !known.contains(tag));
                links.extend(tags.map(|name| typed_link(key, name, TargetSyntax::Tentative)));
            }
        }
    }
    links
}

fn says_place(key: &str) -> bool {
    is_one_of(key, PLACES)
}

/// Whether a key is one of `keys`, in any case.
pub(super) fn is_one_of(key: &str, keys: &[&str]) -> bool {
    keys.iter().any(|name| key.eq_ignore_ascii_case(name))
}

/// One value of a property: a link, or under some names a plain string, or what holds links, each with the type of the key it stands under.
///
/// A key further in says no place of the note, so there such a name is no type. As deep as YAML may be, so it may recurse.
fn property(kind: &str, item: &Value, tentative: bool, dialect: Dialect, links: &mut Vec<Link>) {
    match item {
        Value::Text(text) => match body::links_only(text, dialect) {
            Some(found) => links.extend(found.into_iter().map(|link| typed(kind, link))),
            None if tentative => links.extend(named(kind, text, TargetSyntax::Tentative)),
            None => {}
        },
        Value::Number { text, .. } if tentative => {
            links.extend(named(kind, text, TargetSyntax::Tentative));
        }
        Value::List(items) => {
            items.iter().for_each(|item| property(kind, item, false, dialect, links));
        }
        Value::Map(map) => {
            for (key, item) in map {
                let kind = if key.is_empty() || says_place(key) { kind } else { key };
                property(kind, item, false, dialect, links);
            }
        }
        Value::Null | Value::Bool { .. } | Value::Number { .. } => {}
    }
}

/// One entry of `links`: a link, a plain string, or a map with a type. Nothing if it cannot be read.
fn listed(list: &str, item: &Value, dialect: Dialect, links: &mut Vec<Link>) -> Option<()> {
    let field = |names: &[&str]| {
        let Value::Map(map) = item else { return None };
        names.iter().find_map(|name| map.get(*name))
    };
    let (kind, target) = match item {
        Value::Map(_) => {
            let kind = field(&["type"]).and_then(Value::as_written);
            let kind = kind.map(|kind| shown(kind, dialect));
            (kind.filter(|kind| !kind.is_empty()).unwrap_or(list), field(&["id", "target", "to"])?)
        }
        Value::Null
        | Value::Bool { .. }
        | Value::Number { .. }
        | Value::Text(_)
        | Value::List(_) => (list, item),
    };
    for target in target.items() {
        let text = target.as_written()?;
        match body::links_only(text, dialect) {
            Some(found) => links.extend(found.into_iter().map(|link| typed(kind, link))),
            None => links.extend(named(kind, text, TargetSyntax::Listed)),
        }
    }
    (!target.items().is_empty()).then_some(())
}

fn typed(kind: &str, link: Link) -> Link {
    Link { kind: kind.to_owned(), source: LinkSource::Typed, span: None, ..link }
}

/// A plain string as a link. An address is tentative wherever it stands: it is a note only if a note's uri says so.
fn named(kind: &str, text: &str, syntax: TargetSyntax) -> Option<Link> {
    let (name, fragment, syntax) = match target::plain(text)? {
        Plain::Name(found) => (found.name, found.fragment, syntax),
        Plain::Address(address) => (address, None, TargetSyntax::Tentative),
    };
    Some(Link { fragment, ..typed_link(kind, name, syntax) })
}

fn typed_link(kind: &str, name: String, syntax: TargetSyntax) -> Link {
    Link {
        kind: kind.to_owned(),
        source: LinkSource::Typed,
        target: Target { name, syntax },
        fragment: None,
        display: None,
        span: None,
    }
}
