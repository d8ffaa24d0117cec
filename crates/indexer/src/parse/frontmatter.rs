//! Frontmatter to entries: whole YAML at once, broken YAML key by key.

use std::borrow::Cow;

use weft_model::{Diagnostic, Value};

use super::yaml::{self, Entry, Root, Scalar};
use super::{code, diagnostic, target};

/// The entries of a frontmatter, each key once, in the order written.
///
/// Nothing if the text is no mapping, such as prose between two rules.
pub(super) fn read(yaml: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<Entry>> {
    let entries = match yaml::read(yaml) {
        Ok(Root::Mapping(entries)) => entries,
        Ok(Root::Value(Value::Null)) if !holds_heading(yaml) => Vec::new(),
        Ok(Root::Value(_)) => {
            let message = "The text between the first two `---` is no mapping; it was read as part of the body.";
            diagnostics.push(diagnostic(code::FRONTMATTER_NO_MAPPING, message, Some(1)));
            return None;
        }
        Err(broken) => {
            let message = format!(
                "The frontmatter is broken ({}); what could be understood line by line was used.",
                broken.reason
            );
            diagnostics.push(diagnostic(code::BROKEN_FRONTMATTER, message, Some(broken.line + 1)));
            recover(yaml)
        }
    };
    Some(without_repeats(entries, diagnostics))
}

/// Whether text that YAML takes for comments alone has a Markdown heading, and so is prose between two rules.
fn holds_heading(yaml: &str) -> bool {
    yaml.lines().any(|line| line.trim_start_matches('#').starts_with(' ') && line.starts_with('#'))
}

/// Keeps the last value of a repeated key, in the place of that value.
fn without_repeats(entries: Vec<Entry>, diagnostics: &mut Vec<Diagnostic>) -> Vec<Entry> {
    let mut seen = std::collections::HashSet::new();
    let mut kept = Vec::with_capacity(entries.len());
    for entry in entries.into_iter().rev() {
        if seen.insert(entry.key.clone()) {
            kept.push(entry);
        } else {
            let message =
                format!("The key `{}` stands there again; the last one counts.", entry.key);
            diagnostics.push(diagnostic(code::DUPLICATE_KEY, message, Some(entry.line + 1)));
        }
    }
    kept.reverse();
    kept
}

/// Lines of a top-level key that are left out, one after the other, until the others can be read.
const MAX_MENDED: usize = 16;

/// A top-level key with its lines.
struct Group<'y> {
    key: &'y str,
    /// What stands beside the key.
    value: &'y str,
    /// The line of the key, from 1.
    line: u32,
    /// Where the line of the key begins, the line after it, and the next group.
    start: usize,
    below: usize,
    end: usize,
}

/// The top-level keys, by the looks of their lines.
fn groups(yaml: &str) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut start = 0;
    for (line, text) in (1_u32..).zip(yaml.split_inclusive('\n')) {
        let end = start + text.len();
        match (key_and_value(text), groups.last_mut()) {
            (Some((key, value)), _) => {
                groups.push(Group { key, value, line, start, below: end, end });
            }
            (None, Some(group)) => group.end = end,
            (None, None) => {}
        }
        start = end;
    }
    groups
}

/// Reads each top-level key with its lines for itself, so that one broken value costs no other.
fn recover(yaml: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    for Group { key, value, line, start, below, end } in groups(yaml) {
        let mended = mended(&yaml[start..end]);
        match mended.as_deref().map(yaml::read) {
            Some(Ok(Root::Mapping(group))) => {
                entries.extend(
                    group.into_iter().map(|entry| Entry { line: entry.line + line - 1, ..entry }),
                );
            }
            Some(Ok(Root::Value(_)) | Err(_)) | None => entries.push(Entry {
                key: unquoted(key).to_owned(),
                value: raw_value(value, &yaml[below..end]),
                line,
            }),
        }
    }
    entries
}

/// The lines of a top-level key with those blank that break them, as long as before; nothing where that does not help.
///
/// What stands below the key without being indented is no part of it: a line of a template, a mark of a merge. Of the rest those go at which reading ends.
/// A list of words is left to [`raw_value`], which keeps those that are no YAML.
fn mended(group: &str) -> Option<Cow<'_, str>> {
    if yaml::read(group).is_ok() {
        return Some(group.into());
    }
    let blank = |line: &str| {
        let (text, end) = line.split_at(line.trim_end_matches('\n').len());
        " ".repeat(text.len()) + end
    };
    let is_word = |line: &str| match line.trim_start().strip_prefix('-') {
        Some(item) => {
            !item.trim_start().starts_with('{')
                && !matches!(yaml::read(item.trim()), Ok(Root::Mapping(_)))
        }
        None => line.trim().is_empty(),
    };
    if group.split_inclusive('\n').skip(1).all(is_word) {
        return None;
    }
    let is_part = |line: &str| line.trim().is_empty() || line.starts_with([' ', '\t', '-', '#']);
    let mut lines: Vec<String> = (0..)
        .zip(group.split_inclusive('\n'))
        .map(|(at, line)| if at == 0 || is_part(line) { line.to_owned() } else { blank(line) })
        .collect();
    for _ in 0..MAX_MENDED {
        let Err(broken) = yaml::read(&lines.concat()) else { return Some(lines.concat().into()) };
        let at = (broken.line as usize).checked_sub(1).filter(|at| *at > 0)?;
        let line = lines.get_mut(at).filter(|line| !line.trim().is_empty())?;
        *line = blank(line);
    }
    None
}

/// The values that are scalars, in text order; those of broken YAML where the lines of a key can be read for themselves.
pub(super) fn scalars(yaml: &str) -> Vec<Scalar> {
    yaml::scalars(yaml).unwrap_or_else(|_| {
        let of_group = |Group { start, end, .. }: Group<'_>| {
            let mended = mended(&yaml[start..end]);
            let scalars = mended.and_then(|group| yaml::scalars(&group).ok()).unwrap_or_default();
            let scalars = scalars.into_iter();
            scalars.map(move |Scalar { bytes, text, style }| Scalar {
                bytes: bytes.start + start..bytes.end + start,
                text,
                style,
            })
        };
        groups(yaml).into_iter().flat_map(of_group).collect()
    })
}

/// The parts of a line `key: value` that begins a top-level key.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    if line.starts_with(|first: char| first.is_whitespace() || matches!(first, '#' | '-')) {
        return None;
    }
    let (key, value) = line.split_once(": ").or_else(|| line.trim_end().split_once(":"))?;
    (!key.trim().is_empty() && !key.contains(['[', ']', '{', '}']))
        .then(|| (key.trim(), value.trim()))
}

/// The value of a broken entry: the text beside the key, else the items below it.
fn raw_value(beside: &str, below: &str) -> Value {
    if !beside.is_empty() {
        let ends = [('"', '"'), ('\'', '\''), ('[', ']')];
        let stands_alone =
            |item: &&str| ends.iter().any(|&(a, b)| item.starts_with(a) && item.ends_with(b));
        let row =
            || Some(items(beside)).filter(|row| row.len() > 1 && row.iter().all(stands_alone));
        return match in_brackets(beside).map(items).or_else(row) {
            Some(items) => Value::List(items.into_iter().map(raw_item).collect()),
            None => Value::Text(unquoted(beside).to_owned()),
        };
    }
    let items = below.lines().filter_map(|line| line.trim().strip_prefix('-'));
    let items = items.map(|item| raw_item(item.trim())).collect::<Vec<_>>();
    if items.is_empty() { Value::Null } else { Value::List(items) }
}

/// An item of a broken list. YAML takes `#tag` for a comment, which is why many are broken.
fn raw_item(item: &str) -> Value {
    match yaml::read(item) {
        Ok(Root::Value(value)) if !item.starts_with('#') => value,
        Ok(_) | Err(_) => Value::Text(unquoted(item).to_owned()),
    }
}

/// What stands between the brackets of a list; those of a wikilink are none.
fn in_brackets(text: &str) -> Option<&str> {
    fn inner(text: &str) -> Option<&str> {
        text.strip_prefix('[')?.strip_suffix(']').filter(|inner| target::brackets_match(inner))
    }
    inner(text).filter(|list| inner(list).is_none())
}

/// The parts of `text` between its commas; one within brackets or double quotes belongs to a name.
pub(super) fn items(text: &str) -> Vec<&str> {
    let blanks = |from: usize| text[from..].len() - text[from..].trim_start().len();
    let (mut depth, mut quoted, mut start) = (0_usize, false, blanks(0));
    let mut items = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted && at == start,
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 && !quoted => {
                items.push(text[start..at].trim_end());
                start = at + 1 + blanks(at + 1);
            }
            _ => {}
        }
    }
    items.push(text[start..].trim_end());
    items.retain(|item| !item.is_empty());
    items
}

/// Takes off a pair of quotes, or one that was never closed.
fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(rest) = text.strip_prefix(quote) {
            return match rest.find(quote) {
                None => rest,
                Some(at) if at + 1 == rest.len() => &rest[..at],
                Some(_) => text,
            };
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recovered(yaml: &str) -> Vec<(String, Value)> {
        let mut diagnostics = Vec::new();
        let entries = read(yaml, &mut diagnostics).expect("a mapping");
        assert!(
            diagnostics.iter().any(|found| found.code == code::BROKEN_FRONTMATTER.name),
            "{yaml}"
        );
        entries.into_iter().map(|entry| (entry.key, entry.value)).collect()
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn list(items: &[&str]) -> Value {
        Value::List(items.iter().map(|item| text(item)).collect())
    }

    #[test]
    fn one_broken_value_costs_no_other() {
        let cases = [
            ("a colon in a title", "title: Dune: Part Two\n", ("title", text("Dune: Part Two"))),
            ("an open quote", "title: \"Moss\n", ("title", text("Moss"))),
            ("links in a row", "see: [[A]], [[B]]\n", ("see", list(&["[[A]]", "[[B]]"]))),
            ("quotes in a row", "see: \"[[A]]\", 'b'\n", ("see", list(&["[[A]]", "b"]))),
            ("a quote and more", "by: \"A\", or so\n", ("by", text("\"A\", or so"))),
            (
                "commas in names",
                "see: [\"A, b\", [[C, d]], #e]\n",
                ("see", list(&["A, b", "[[C, d]]", "#e"])),
            ),
            ("a list of tags", "tags: [#a, #b]\n", ("tags", list(&["#a", "#b"]))),
            ("tags below each other", "tags:\n  - #a\n  - @b\n", ("tags", list(&["#a", "@b"]))),
            ("a link to a heading", "see: [[A #b]]\n", ("see", text("[[A #b]]"))),
            ("an open list", "see: [a, b\n", ("see", text("[a, b"))),
            ("a reserved sign", "by: @moss\n", ("by", text("@moss"))),
            (
                "one bad item",
                "see:\n  - [[A]] and more\n  - b\n",
                ("see", list(&["[[A]] and more", "b"])),
            ),
        ];
        for (name, yaml, (key, value)) in cases {
            let whole = format!("before: 1\n{yaml}after: yes\n");
            let found = recovered(&whole);
            assert_eq!(found.len(), 3, "{name}: {found:?}");
            assert_eq!(found[1], (key.to_owned(), value), "{name}");
            assert_eq!(found[2], ("after".to_owned(), text("yes")), "{name}");
        }
    }

    #[test]
    fn a_line_that_breaks_a_map_costs_no_other() {
        let supports = |key: &str| {
            let pairs = [("type", "supports"), ("id", "x")];
            let map = pairs.map(|(key, value)| (key.to_owned(), text(value))).into_iter().collect();
            (key.to_owned(), Value::List(vec![Value::Map(map)]))
        };
        let y = |key: &str| {
            let map = [("k".to_owned(), text("[[y]]"))].into_iter().collect();
            (key.to_owned(), Value::Map(map))
        };
        for (yaml, expected) in [
            (
                "links:\n  - type: supports\n    id: x\n    note: because: of this\n",
                supports("links"),
            ),
            ("links: [{type: supports, id: x}]\n{{cursor}}\n", supports("links")),
            ("links: [{type: supports, id: x}]\njust text\n==bad==\n", supports("links")),
            ("links:\n  - type: supports\n    id: x\n<<<<<<< HEAD\n=======\n", supports("links")),
            ("m:\n  k: \"[[y]]\"\n  j: a: b\n", y("m")),
            ("m:\n  k: \"[[y]]\"\nstray\n", y("m")),
            ("m:\n  k: \"[[y]]\"\n\tj: tab\n", y("m")),
            ("c: v # comment\njust text\n", ("c".to_owned(), text("v"))),
            ("q: 'it''s'\njust text\n", ("q".to_owned(), text("it's"))),
        ] {
            let whole = format!("before: 1\n{yaml}after: yes\n");
            let found = recovered(&whole);
            assert_eq!(found.len(), 3, "{yaml}: {found:?}");
            assert_eq!(found[1], expected, "{yaml}");
            // What a link is rewritten by is read from the same lines.
            let texts: Vec<String> =
                scalars(&whole).into_iter().map(|scalar| whole[scalar.bytes].to_owned()).collect();
            let last = texts.last().map(String::as_str);
            assert!(texts.len() >= 3 && last == Some("yes"), "{yaml}: {texts:?}");
        }
    }

    #[test]
    fn the_last_of_a_repeated_key_counts() {
        let mut diagnostics = Vec::new();
        let entries = read("a: 1\nb: 2\na: 3\n", &mut diagnostics).expect("a mapping");
        let keys = entries.iter().map(|entry| (&*entry.key, entry.value.as_written()));
        assert_eq!(keys.collect::<Vec<_>>(), [("b", Some("2")), ("a", Some("3"))]);
        assert_eq!(
            (&*diagnostics[0].code, diagnostics[0].line),
            (code::DUPLICATE_KEY.name, Some(2))
        );
    }

    #[test]
    fn prose_between_rules_is_no_frontmatter() {
        let mut diagnostics = Vec::new();
        assert_eq!(read("Some prose\nover two lines\n", &mut diagnostics), None);
        assert_eq!(diagnostics[0].code, code::FRONTMATTER_NO_MAPPING.name);
        assert_eq!(read("# My heading\n", &mut diagnostics), None);
        for nothing in ["", "\n", "#comment\n"] {
            let entries = read(nothing, &mut diagnostics).map(|entries| entries.len());
            assert_eq!(entries, Some(0), "{nothing}");
        }
    }
}
