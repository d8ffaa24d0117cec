//! Parses frontmatter into properties: valid YAML as a whole, invalid YAML key by key.
//!
//! No text is lost: a block without properties is left to the body, and lines that belong to no property are returned as they are.

use std::borrow::Cow;

use weft_model::{Diagnostic, Value};

use super::yaml::{self, PropertyEntry, Scalar, YamlRoot};
use super::{TAGS, code, diagnostic, is_one_of, link_target};

/// The contents of a frontmatter block.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Frontmatter {
    /// Properties, each key once, in the order written.
    pub(super) entries: Vec<PropertyEntry>,
    /// Properties whose key is repeated below, in the order written.
    pub(super) repeated: Vec<PropertyEntry>,
    /// Lines of an invalid block that belong to no property, in the order written.
    pub(super) stray_lines: Vec<String>,
}

/// Parses a frontmatter block.
///
/// `None` if the text is not a mapping, such as prose between two rules.
pub(super) fn read(yaml: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Frontmatter> {
    let Frontmatter { entries, repeated: _, stray_lines } = match yaml::read(yaml) {
        Ok(YamlRoot::Mapping(entries)) => Frontmatter { entries, ..Frontmatter::default() },
        Ok(YamlRoot::Value(Value::Null)) if !contains_heading(yaml) => Frontmatter::default(),
        Ok(YamlRoot::Value(_)) => return no_mapping(diagnostics),
        Err(_) if key_lines(yaml).is_empty() => return no_mapping(diagnostics),
        Err(broken) => {
            let message = format!(
                "The frontmatter is not valid YAML ({}); each key that could be parsed on its own was used. Correct the YAML.",
                broken.reason
            );
            diagnostics.push(diagnostic(code::BROKEN_FRONTMATTER, message, Some(broken.line + 1)));
            recover(yaml, diagnostics)
        }
    };
    let (entries, repeated) = without_repeats(entries, diagnostics);
    report_commented_values(yaml, &entries, diagnostics);
    Some(Frontmatter { entries, repeated, stray_lines })
}

/// Reports values that YAML takes for a comment: `tags: #one #two` has no value. A comment that is meant as one has a space after its `#`.
fn report_commented_values(
    yaml: &str,
    entries: &[PropertyEntry],
    diagnostics: &mut Vec<Diagnostic>,
) {
    for KeyLines { key, value, line, below, end, .. } in key_lines(yaml) {
        let is_incomplete = |entry: &PropertyEntry| {
            let items = entry.value.items();
            entry.line == line && (items.is_empty() || items.contains(&Value::Null))
        };
        if !entries.iter().any(is_incomplete) {
            continue;
        }
        if !is_one_of(key, TAGS) {
            if value.strip_prefix('#').is_some_and(|text| text.starts_with(char::is_alphanumeric)) {
                let quoted = value.replace('\'', "''");
                diagnostics.push(commented_value(key, &format!("'{quoted}'"), line));
            }
            continue;
        }
        let below = yaml[below..end].lines().filter_map(|line| line.trim().strip_prefix('-'));
        let written = [value].into_iter().chain(below.map(str::trim));
        let written: Vec<&str> = written.filter(|text| !text.is_empty()).collect();
        if written.iter().any(|text| text.starts_with('#')) {
            let is_between = |c: char| c.is_whitespace() || matches!(c, '#' | ',');
            let tags = written.iter().flat_map(|text| text.split(is_between));
            let tags: Vec<&str> = tags.filter(|tag| !tag.is_empty()).collect();
            diagnostics.push(commented_value(key, &format!("[{}]", tags.join(", ")), line));
        }
    }
}

/// Reports that YAML takes the value of `key` for a comment, and what to write instead.
fn commented_value(key: &str, instead: &str, line: u32) -> Diagnostic {
    let message = format!(
        "YAML takes the text after `#` in `{key}` for a comment; write `{key}: {instead}`."
    );
    diagnostic(code::COMMENTED_VALUE, message, Some(line + 1))
}

/// Reports a block that has no properties.
fn no_mapping(diagnostics: &mut Vec<Diagnostic>) -> Option<Frontmatter> {
    let message = "The text between the first two `---` lines is not a list of `key: value` properties, so it was read as body.";
    diagnostics.push(diagnostic(code::FRONTMATTER_NO_MAPPING, message, Some(1)));
    None
}

/// Returns true if text that YAML takes for comments contains a Markdown heading, so it is prose between two rules.
fn contains_heading(yaml: &str) -> bool {
    yaml.lines().any(|line| line.trim_start_matches('#').starts_with(' ') && line.starts_with('#'))
}

/// Keeps the last value of a repeated key, at the position of that value; also returns the entries with the others.
fn without_repeats(
    entries: Vec<PropertyEntry>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Vec<PropertyEntry>, Vec<PropertyEntry>) {
    let mut seen = std::collections::HashSet::new();
    let (mut kept, mut repeated) = (Vec::with_capacity(entries.len()), Vec::new());
    for entry in entries.into_iter().rev() {
        if seen.insert(entry.key.clone()) {
            kept.push(entry);
        } else {
            let message = format!(
                "The key `{}` occurs more than once, and the last one is used; remove the others.",
                entry.key
            );
            diagnostics.push(diagnostic(code::DUPLICATE_KEY, message, Some(entry.line + 1)));
            repeated.push(entry);
        }
    }
    kept.reverse();
    repeated.reverse();
    (kept, repeated)
}

/// Maximum number of lines of a top-level key to blank, one after the other, until the rest parses.
const MAX_REPAIRED_LINES: usize = 16;

/// Maximum number of characters of a line in a message.
const MAX_SHOWN_CHARS: usize = 40;

/// A top-level key with its lines.
struct KeyLines<'y> {
    key: &'y str,
    /// The text after the colon.
    value: &'y str,
    /// The key's line number, from 1.
    line: u32,
    /// Byte offsets of the key's line, of the next line, and of the end of the block.
    start: usize,
    below: usize,
    end: usize,
}

/// Splits YAML into top-level keys, judging by the form of its lines.
fn key_lines(yaml: &str) -> Vec<KeyLines<'_>> {
    let mut key_lines: Vec<KeyLines<'_>> = Vec::new();
    let mut start = 0;
    for (line, text) in (1_u32..).zip(yaml.split_inclusive('\n')) {
        let end = start + text.len();
        match (key_and_value(text), key_lines.last_mut()) {
            (Some((key, value)), _) => {
                key_lines.push(KeyLines { key, value, line, start, below: end, end });
            }
            (None, Some(group)) => group.end = end,
            (None, None) => {}
        }
        start = end;
    }
    key_lines
}

/// Parses each top-level key with its lines separately, so that one invalid value does not affect the others.
fn recover(yaml: &str, diagnostics: &mut Vec<Diagnostic>) -> Frontmatter {
    let mut entries = Vec::new();
    let groups = key_lines(yaml);
    let first = groups.first().map_or(yaml.len(), |group| group.start);
    let mut stray: Vec<(u32, &str)> = (1..).zip(yaml[..first].lines()).collect();
    for KeyLines { key, value, line, start, below, end } in groups {
        let group = &yaml[start..end];
        let repaired = repaired(group);
        match repaired.as_deref().map(yaml::read) {
            Some(Ok(YamlRoot::Mapping(group_entries))) => {
                entries.extend(
                    group_entries
                        .into_iter()
                        .map(|entry| PropertyEntry { line: entry.line + line - 1, ..entry }),
                );
                let lines = group.lines().zip(repaired.iter().flat_map(|group| group.lines()));
                stray.extend((line..).zip(lines).filter_map(|(line, (written, kept))| {
                    (kept.trim() != written.trim()).then_some((line, written))
                }));
            }
            Some(Ok(YamlRoot::Value(_)) | Err(_)) | None => {
                let below = &yaml[below..end];
                entries.push(PropertyEntry {
                    key: unquoted(key).to_owned(),
                    value: raw_value(value, below),
                    line,
                });
                let is_used = |text: &str| value.is_empty() && text.trim().starts_with('-');
                stray.extend((line + 1..).zip(below.lines()).filter(|(_, text)| !is_used(text)));
            }
        }
    }
    stray.retain(|(_, text)| !text.trim().is_empty() && !text.trim_start().starts_with('#'));
    for (line, text) in &stray {
        let message = format!(
            "The line `{}` of the frontmatter belongs to no property; it is searched as text. Move it below the frontmatter, or write `key: value`.",
            shortened(text.trim())
        );
        diagnostics.push(diagnostic(code::STRAY_FRONTMATTER, message, Some(line + 1)));
    }
    let stray_lines = stray.into_iter().map(|(_, text)| text.trim().to_owned()).collect();
    Frontmatter { entries, stray_lines, ..Frontmatter::default() }
}

/// Returns the beginning of a line for a message.
fn shortened(line: &str) -> Cow<'_, str> {
    match line.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]).into(),
        None => line.into(),
    }
}

/// Returns the lines of a top-level key with the invalid lines replaced by blanks of the same length; `None` if the YAML stays invalid.
///
/// Lines below the key that are not indented do not belong to it (a template placeholder, a merge marker). Of the others, those at which the YAML parser fails are blanked.
/// A plain list of words is left to [`raw_value`], which keeps items that are not YAML.
fn repaired(group: &str) -> Option<Cow<'_, str>> {
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
                && !matches!(yaml::read(item.trim()), Ok(YamlRoot::Mapping(_)))
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
    for _ in 0..MAX_REPAIRED_LINES {
        let Err(broken) = yaml::read(&lines.concat()) else { return Some(lines.concat().into()) };
        let at = (broken.line as usize).checked_sub(1).filter(|at| *at > 0)?;
        let line = lines.get_mut(at).filter(|line| !line.trim().is_empty())?;
        *line = blank(line);
    }
    None
}

/// Returns the scalar values in text order; if the YAML is invalid, those of the keys that parse on their own.
pub(super) fn scalars(yaml: &str) -> Vec<Scalar> {
    yaml::scalars(yaml).unwrap_or_else(|_| {
        let of_key = |KeyLines { start, end, .. }: KeyLines<'_>| {
            let repaired = repaired(&yaml[start..end]);
            let scalars = repaired.and_then(|group| yaml::scalars(&group).ok()).unwrap_or_default();
            let scalars = scalars.into_iter();
            scalars.map(move |Scalar { bytes, text, style }| Scalar {
                bytes: bytes.start + start..bytes.end + start,
                text,
                style,
            })
        };
        key_lines(yaml).into_iter().flat_map(of_key).collect()
    })
}

/// Splits a line `key: value` that begins a top-level key. The space after the colon may be missing after a single word that is not the scheme of an address.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    if line.starts_with(|first: char| first.is_whitespace() || matches!(first, '#' | '-')) {
        return None;
    }
    let without_space = || {
        let (key, value) = line.trim_end().split_once(':')?;
        let is_word = key.starts_with(char::is_alphabetic) && !key.contains(char::is_whitespace);
        (value.is_empty() || is_word && !value.starts_with("//")).then_some((key, value))
    };
    let (key, value) = line.split_once(": ").or_else(without_space)?;
    (!key.trim().is_empty() && !key.contains(['[', ']', '{', '}']))
        .then(|| (key.trim(), value.trim()))
}

/// Returns the value of an invalid property: the text after the colon, or the items below it.
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

/// Parses an item of an invalid list. YAML takes `#tag` for a comment, the most common cause.
fn raw_item(item: &str) -> Value {
    match yaml::read(item) {
        Ok(YamlRoot::Value(value)) if !item.starts_with('#') => value,
        Ok(_) | Err(_) => Value::Text(unquoted(item).to_owned()),
    }
}

/// Returns the text between the brackets of a list; `None` for a wikilink.
fn in_brackets(text: &str) -> Option<&str> {
    fn inner(text: &str) -> Option<&str> {
        let inner = text.strip_prefix('[')?.strip_suffix(']');
        inner.filter(|inner| link_target::unclosed_brackets(inner) == Some(0))
    }
    inner(text).filter(|list| inner(list).is_none())
}

/// Splits `text` at its commas, except inside brackets or double quotes.
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

/// Removes a pair of quotes, or an unclosed opening quote.
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
    use proptest::prelude::*;

    use super::*;

    fn recovered(yaml: &str) -> Vec<(String, Value)> {
        let mut diagnostics = Vec::new();
        let entries = read(yaml, &mut diagnostics).expect("a mapping").entries;
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
    fn invalid_value_does_not_affect_other_keys() {
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
    fn invalid_line_in_map_does_not_affect_other_keys() {
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
            // Link rewriting reads its scalars from the same lines.
            let texts: Vec<String> =
                scalars(&whole).into_iter().map(|scalar| whole[scalar.bytes].to_owned()).collect();
            let last = texts.last().map(String::as_str);
            assert!(texts.len() >= 3 && last == Some("yes"), "{yaml}: {texts:?}");
        }
    }

    #[test]
    fn last_of_repeated_keys_wins() {
        let mut diagnostics = Vec::new();
        let read = read("a: 1\nb: 2\na: 3\n", &mut diagnostics).expect("a mapping");
        let keys = read.entries.iter().map(|entry| (&*entry.key, entry.value.as_written()));
        assert_eq!(keys.collect::<Vec<_>>(), [("b", Some("2")), ("a", Some("3"))]);
        let repeated: Vec<_> = read.repeated.iter().map(|entry| entry.value.as_written()).collect();
        assert_eq!(repeated, [Some("1")]);
        assert_eq!(
            (&*diagnostics[0].code, diagnostics[0].line),
            (code::DUPLICATE_KEY.name, Some(2))
        );
    }

    #[test]
    fn prose_between_rules_is_not_frontmatter() {
        for prose in [
            "Some prose\nover two lines\n",
            "# My heading\n",
            "**OAK HOUSE**\n",
            "> a quote\n",
            "[[plan]]\n",
            "see [[plan]]\n* and more\n",
            "@home\n",
            "```\ncode\n```\n",
            "\tan indented line\n",
            "100% oak\n%oak\n",
        ] {
            let mut diagnostics = Vec::new();
            assert_eq!(read(prose, &mut diagnostics), None, "{prose}");
            let codes: Vec<&str> = diagnostics.iter().map(|found| &*found.code).collect();
            assert_eq!(codes, [code::FRONTMATTER_NO_MAPPING.name], "{prose}");
        }
        for nothing in ["", "\n", "#comment\n"] {
            let read = read(nothing, &mut Vec::new());
            assert_eq!(read, Some(Frontmatter::default()), "{nothing}");
        }
    }

    #[test]
    fn tags_in_a_comment_are_reported() {
        for (yaml, suggestion) in [
            ("a: 1\ntags: #one #two\n", Some("`tags: [one, two]`")),
            ("Tag: #one, two/three\n", Some("`Tag: [one, two/three]`")),
            ("tags:\n  - #one\n  - two\n", Some("`tags: [one, two]`")),
            ("tags:\nb: 1\n", None),
            ("tags:\n  # kinds of moss\n  - two\n", None),
            ("tags: one # and more\n", None),
            ("author: #one's\n", Some("`author: '#one''s'`")),
            ("date: # fill in\n", None),
            ("author: one #two\n", None),
        ] {
            let mut diagnostics = Vec::new();
            assert!(read(yaml, &mut diagnostics).is_some(), "{yaml}");
            let messages: Vec<&str> = diagnostics.iter().map(|found| &*found.message).collect();
            match suggestion {
                Some(text) => {
                    assert!(messages.len() == 1 && messages[0].contains(text), "{messages:?}")
                }
                None => assert!(messages.is_empty(), "{messages:?}"),
            }
        }
    }

    #[test]
    fn lines_of_no_property_are_kept_and_reported() {
        let cases: [(&str, &[&str], &[u32]); 9] = [
            (
                "a: 1\nbad poppy:1\n10:30 standup oleander\n",
                &["bad poppy:1", "10:30 standup oleander"],
                &[3, 4],
            ),
            ("a: @b\nhttps://example.org/page\nc:2\n", &["https://example.org/page"], &[3]),
            ("> a quote\na: 1\n", &["> a quote"], &[2]),
            ("a: 1\n{{cursor}}\n\nb: 2\n==x==\n", &["{{cursor}}", "==x=="], &[3, 6]),
            ("m:\n  k: v\n  j: a: b\n", &["j: a: b"], &[4]),
            ("a: @b\n  more of it\n# a comment\n", &["more of it"], &[3]),
            ("a:\n  - @b\n  - c\n- [[d\nb: 1\n", &[], &[]),
            ("a: @b\n- c\n", &["- c"], &[3]),
            ("a: 1\nb: 2\n", &[], &[]),
        ];
        for (yaml, lines, at) in cases {
            let mut diagnostics = Vec::new();
            let Frontmatter { stray_lines, .. } = read(yaml, &mut diagnostics).expect("a mapping");
            assert_eq!(stray_lines, lines, "{yaml}");
            let stray = |found: &&Diagnostic| found.code == code::STRAY_FRONTMATTER.name;
            let reported: Vec<Option<u32>> =
                diagnostics.iter().filter(stray).map(|found| found.line).collect();
            assert_eq!(reported, at.iter().copied().map(Some).collect::<Vec<_>>(), "{yaml}");
        }
        let long = format!("{}\na: @b\n", "é".repeat(100));
        let mut diagnostics = Vec::new();
        assert!(read(&long, &mut diagnostics).is_some());
        assert!(diagnostics.iter().all(|found| found.message.chars().count() < 250));
    }

    fn texts(value: &Value, out: &mut String) {
        match value {
            Value::Null => {}
            Value::Bool { text, .. } | Value::Number { text, .. } | Value::Text(text) => {
                *out += text;
            }
            Value::List(items) => items.iter().for_each(|item| texts(item, out)),
            Value::Map(map) => map.iter().for_each(|(key, item)| {
                *out += key;
                texts(item, out);
            }),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        /// Each letter occurs once, so that every one can be searched for.
        #[test]
        fn every_letter_of_any_block_is_kept(
            gaps in proptest::collection::vec("[-a \n:>\"'\\[\\]{},*`@]{0,3}", 20)
        ) {
            let letters = 'à'..='ö';
            let yaml: String =
                gaps.iter().zip(letters).map(|(gap, letter)| format!("{gap}{letter}")).collect();
            let yaml = yaml + "\n";
            let read = read(&yaml, &mut Vec::new());
            if let Some(Frontmatter { entries, repeated, stray_lines }) = read {
                let mut kept = stray_lines.concat();
                for entry in entries.iter().chain(&repeated) {
                    kept += &entry.key;
                    texts(&entry.value, &mut kept);
                }
                let lost: String = yaml.chars().filter(|c| !c.is_ascii() && !kept.contains(*c)).collect();
                prop_assert!(lost.is_empty(), "{lost} of {yaml:?}");
            }
        }
    }
}
