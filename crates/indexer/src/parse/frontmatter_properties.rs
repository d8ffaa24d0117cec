//! Converts frontmatter properties into the fields of a note and its typed links.

use weft_model::date;
use weft_model::text::nfc;
use weft_model::{Diagnostic, Link, LinkSource, Target, TargetSyntax, Value};

use super::body_parser;
use super::link_target::{self, PlainTarget};
use super::yaml::{self, PropertyEntry};
use super::{Dialect, TAGS, code, diagnostic, frontmatter, is_one_of};

/// Property that lists links with their types.
const LINKS: &str = "links";

/// Properties that place a note in the graph; a plain string in one of them is a link if it resolves.
const PLACES: &[&str] = &["parent", "up", "object", "source", "target"];

/// Properties with other names of the note.
pub(super) const ALIASES: &[&str] = &["aliases", "alias"];

/// Properties with the position among siblings; the first one that is a number wins.
const ORDER: &[&str] = &["order", "nav_order", "weight", "position"];

/// Returns the value of `key`, preferring an exact match over one that ignores case.
pub(super) fn value<'e>(entries: &'e [PropertyEntry], key: &str) -> Option<&'e Value> {
    let exact = entries.iter().find(|entry| entry.key == key);
    let entry =
        exact.or_else(|| entries.iter().find(|entry| entry.key.eq_ignore_ascii_case(key)))?;
    Some(&entry.value)
}

/// Returns the first non-empty scalar under `keys`, as written.
pub(super) fn scalar(entries: &[PropertyEntry], keys: &[&str]) -> Option<String> {
    keys.iter()
        .filter_map(|key| value(entries, key)?.as_written())
        .map(str::trim)
        .find(|text| !text.is_empty())
        .map(str::to_owned)
}

/// Returns the names under `keys`: items of lists, single values whole, links by their display text.
pub(super) fn names(entries: &[PropertyEntry], keys: &[&str], dialect: Dialect) -> Vec<String> {
    scalars(entries, keys).map(|text| shown(text, dialect).to_owned()).collect()
}

/// Returns the names under `keys` where a value may hold several: items of lists; for a single value, its comma-separated parts (as Foam reads it), then the whole value.
pub(super) fn split_names(
    entries: &[PropertyEntry],
    keys: &[&str],
    dialect: Dialect,
) -> Vec<String> {
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

/// Returns the tags under `keys`: items of lists, single values split at commas and spaces, without `#`.
pub(super) fn tags(entries: &[PropertyEntry], keys: &[&str], dialect: Dialect) -> Vec<String> {
    let values = keys.iter().filter_map(|key| value(entries, key));
    values.flat_map(|value| tags_in(value, dialect)).map(str::to_owned).collect()
}

/// Returns the tags in a value.
fn tags_in(value: &Value, dialect: Dialect) -> impl Iterator<Item = &str> {
    let is_list = matches!(value, Value::List(_));
    value.items().iter().filter_map(Value::as_written).flat_map(move |text| {
        let whole = is_list || body_parser::links_only(text, dialect, false).is_some();
        let parts = text.split(move |c: char| !whole && (c == ',' || c.is_whitespace()));
        parts.map(move |part| tag(part, dialect)).filter(|tag| !tag.is_empty())
    })
}

/// Normalizes a tag: the display text of a link, without `#`, and without `/` at the ends.
pub(super) fn tag(text: &str, dialect: Dialect) -> &str {
    let bare = text.trim().trim_start_matches('#');
    shown(bare, dialect).trim_start_matches('#').trim_matches('/').trim()
}

/// Returns the position among siblings that the properties state; finite.
pub(super) fn order(entries: &[PropertyEntry]) -> Option<f64> {
    ORDER.iter().find_map(|key| match value(entries, key)? {
        Value::Number { value, .. } => Some(*value),
        Value::Text(text) => yaml::number(text.trim()),
        Value::Null | Value::Bool { .. } | Value::List(_) | Value::Map(_) => None,
    })
}

/// Returns the texts of the properties with a key that `is_searched`, those of lists and maps included; no numbers or booleans.
pub(super) fn texts(entries: &[PropertyEntry], is_searched: impl Fn(&str) -> bool) -> Vec<String> {
    fn collect(value: &Value, texts: &mut Vec<String>) {
        match value {
            Value::Text(text) if !text.trim().is_empty() => texts.push(text.clone()),
            Value::List(items) => items.iter().for_each(|item| collect(item, texts)),
            Value::Map(map) => map.values().for_each(|item| collect(item, texts)),
            Value::Text(_) | Value::Null | Value::Bool { .. } | Value::Number { .. } => {}
        }
    }
    let mut texts = Vec::new();
    let searched = entries.iter().filter(|entry| is_searched(&entry.key));
    searched.for_each(|entry| collect(&entry.value, &mut texts));
    texts
}

/// Returns the value of a property that contains text but no date; of a list, its first text.
pub(super) fn unreadable_date<'e>(entries: &'e [PropertyEntry], key: &str) -> Option<&'e str> {
    let items = value(entries, key)?.items();
    let mut texts = items.iter().filter_map(Value::as_written).filter(|it| !it.trim().is_empty());
    let first = texts.clone().next()?;
    texts.all(|text| date::of_note(text).is_none()).then_some(first)
}

/// Returns the display text of a wikilink (in Dendron, the part before the bar); any other text unchanged.
fn shown(text: &str, dialect: Dialect) -> &str {
    let inner = text.trim().strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
    match inner {
        Some(inner) if link_target::unclosed_brackets(inner) == Some(0) => {
            let parts = inner.split_once('|');
            let label_first = dialect == Dialect::Dendron;
            parts.map_or(inner, |(first, last)| if label_first { first } else { last }).trim()
        }
        Some(_) | None => text.trim(),
    }
}

fn scalars<'e>(entries: &'e [PropertyEntry], keys: &[&str]) -> impl Iterator<Item = &'e str> {
    keys.iter()
        .filter_map(|key| value(entries, key))
        .flat_map(Value::items)
        .filter_map(Value::as_written)
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

/// Syntax of links in properties.
#[derive(Clone, Copy)]
struct PropertySyntax {
    dialect: Dialect,
    /// True if links to PDF files count.
    pdf_links: bool,
}

/// Returns the typed links in the order written; those within a map in the order of its keys.
///
/// In Logseq, a tag links to the page of that name if one exists.
pub(super) fn links(
    entries: &[PropertyEntry],
    dialect: Dialect,
    pdf_links: bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Link> {
    let syntax = PropertySyntax { dialect, pdf_links };
    let mut links = Vec::new();
    for PropertyEntry { key, value, line } in entries {
        if key.eq_ignore_ascii_case(LINKS) {
            for item in value.items() {
                list_entry(key, item, syntax, &mut links).unwrap_or_else(|| {
                    let message = "An entry of `links` has no valid `id`, `target` or `to` and was ignored; add one of them.";
                    diagnostics.push(diagnostic(code::LINK_ENTRY, message, Some(line + 1)));
                });
            }
        } else {
            let n_before = links.len();
            for item in value.items() {
                property(key, item, is_place_key(key), syntax, &mut links);
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

fn is_place_key(key: &str) -> bool {
    is_one_of(key, PLACES)
}

/// Adds the links of one property value: a link, a plain string under certain names, or a collection of them. The link type is the innermost key.
///
/// A nested key does not place the note, so a nested place name is not used as a link type. Recursion is bounded by the nesting limit of YAML.
fn property(
    kind: &str,
    item: &Value,
    tentative: bool,
    syntax: PropertySyntax,
    links: &mut Vec<Link>,
) {
    match item {
        Value::Text(text) => {
            match body_parser::links_only(text, syntax.dialect, syntax.pdf_links) {
                Some(found) => links.extend(found.into_iter().map(|link| typed(kind, link))),
                None if tentative => links.extend(plain_link(kind, text, TargetSyntax::Tentative)),
                None => {}
            }
        }
        Value::Number { text, .. } if tentative => {
            links.extend(plain_link(kind, text, TargetSyntax::Tentative));
        }
        Value::List(items) => {
            items.iter().for_each(|item| property(kind, item, false, syntax, links));
        }
        Value::Map(map) => {
            for (key, item) in map {
                let kind = if key.is_empty() || is_place_key(key) { kind } else { key };
                property(kind, item, false, syntax, links);
            }
        }
        Value::Null | Value::Bool { .. } | Value::Number { .. } => {}
    }
}

/// Adds one entry of `links`: a link, a plain string, or a map with a type. `None` if it is invalid.
fn list_entry(
    list: &str,
    item: &Value,
    syntax: PropertySyntax,
    links: &mut Vec<Link>,
) -> Option<()> {
    let field = |names: &[&str]| {
        let Value::Map(map) = item else { return None };
        names.iter().find_map(|name| map.get(*name))
    };
    let (kind, target) = match item {
        Value::Map(_) => {
            let kind = field(&["type"]).and_then(Value::as_written);
            let kind = kind.map(|kind| shown(kind, syntax.dialect));
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
        match body_parser::links_only(text, syntax.dialect, syntax.pdf_links) {
            Some(found) => links.extend(found.into_iter().map(|link| typed(kind, link))),
            None => links.extend(plain_link(kind, text, TargetSyntax::Listed)),
        }
    }
    (!target.items().is_empty()).then_some(())
}

fn typed(kind: &str, link: Link) -> Link {
    Link { kind: kind.to_owned(), source: LinkSource::Typed, span: None, ..link }
}

/// Converts a plain string to a link. An address is always tentative: it links a note only if that note's uri equals it.
fn plain_link(kind: &str, text: &str, syntax: TargetSyntax) -> Option<Link> {
    let (name, fragment, syntax) = match link_target::plain(text)? {
        PlainTarget::Name(found) => (found.name, found.fragment, syntax),
        PlainTarget::Address(address) => (address, None, TargetSyntax::Tentative),
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
