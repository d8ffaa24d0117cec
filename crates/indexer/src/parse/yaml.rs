//! Parses YAML into values, keeping scalars as written.
//!
//! Built on parser events instead of a deserializer, because three things must survive: the spelling of a scalar (`id: 1.10`), the order of the keys (edges keep it), and the source of a nested list (`[[A, B]]` is a wikilink).

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, StructureStyle, Tag, options};
use weft_model::Value;

/// Maximum nesting of lists and maps, including through aliases; real frontmatter has two or three levels.
const MAX_DEPTH: usize = 64;

/// Maximum number of values plus bytes of text that anchors may hold, and that aliases may repeat, in one frontmatter block. It keeps a few lines from expanding to gigabytes.
const MAX_ALIASED: usize = 100_000;

/// A frontmatter property.
#[derive(Debug, PartialEq)]
pub(super) struct PropertyEntry {
    pub(super) key: String,
    pub(super) value: Value,
    /// The key's line number, from 1, in the parsed text.
    pub(super) line: u32,
}

/// The root of a YAML document.
#[derive(Debug, PartialEq)]
pub(super) enum YamlRoot {
    /// A mapping, its keys in the order written, duplicates included.
    Mapping(Vec<PropertyEntry>),
    /// Any other value; `Null` if the document is empty.
    Value(Value),
}

/// Why a YAML document cannot be parsed.
#[derive(Debug)]
pub(super) struct YamlError {
    /// The line number, from 1, in the parsed text.
    pub(super) line: u32,
    pub(super) reason: String,
}

impl From<ScanError> for YamlError {
    fn from(error: ScanError) -> Self {
        Self { line: line_number(error.marker().line()), reason: error.info().to_string() }
    }
}

/// Parses the first document of `yaml`.
pub(super) fn read(yaml: &str) -> Result<YamlRoot, YamlError> {
    ValueBuilder { yaml, ..ValueBuilder::default() }.build()
}

/// The notation of a scalar, which limits the text it can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain {
        /// Inside brackets or braces, where a comma ends it.
        in_flow: bool,
    },
    SingleQuoted,
    DoubleQuoted,
    /// `|` or `>`.
    Block,
}

/// A scalar value.
#[derive(Debug, PartialEq)]
pub(crate) struct Scalar {
    /// Its byte range, including quotes.
    pub(crate) bytes: Range<usize>,
    pub(crate) text: String,
    pub(crate) style: Style,
}

/// Returns the scalar values of `yaml` in text order, without keys.
pub(super) fn scalars(yaml: &str) -> Result<Vec<Scalar>, YamlError> {
    let limits = options! { emit_comments: false, emit_unresolved_aliases: true };
    let mut scalars = Vec::new();
    // One entry per open collection: whether it is a flow collection, and for a map whether a key comes next.
    let mut open: Vec<(bool, Option<bool>)> = Vec::new();
    for event in Parser::new_from_str_with_options(yaml, limits) {
        let (event, span) = event?;
        let mut is_key = || {
            let key_next = open.last_mut().and_then(|(_, key_next)| key_next.as_mut());
            key_next.is_some_and(|next| std::mem::replace(next, !*next))
        };
        match event {
            Event::Scalar(text, style, ..) => {
                let is_key = is_key();
                let in_flow = open.last().is_some_and(|(in_flow, _)| *in_flow);
                let style = match style {
                    ScalarStyle::Plain => Style::Plain { in_flow },
                    ScalarStyle::SingleQuoted => Style::SingleQuoted,
                    ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
                    ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                };
                let bytes = span.byte_range().filter(|_| !is_key);
                let scalar = |bytes| Scalar { bytes, text: text.into_owned(), style };
                scalars.extend(bytes.map(scalar));
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => drop(is_key()),
            Event::SequenceStart(style, ..) => {
                is_key();
                open.push((style == StructureStyle::Flow, None));
            }
            Event::MappingStart(style, ..) => {
                is_key();
                open.push((style == StructureStyle::Flow, Some(true)));
            }
            Event::SequenceEnd | Event::MappingEnd => drop(open.pop()),
            Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(..)
            | Event::DocumentEnd
            | Event::Anchor(..)
            // Other kinds of events are disabled above.
            | _ => {}
        }
    }
    Ok(scalars)
}

/// Returns true if YAML reads unquoted `text` as exactly this string.
pub(crate) fn is_plain(text: &str, in_flow: bool) -> bool {
    let is_text = |value: &Value| matches!(value, Value::Text(read) if read == text);
    // An alias without an anchor is read as text here, but by no other YAML parser.
    if text.contains(['\n', '\r']) || text.trim_start_matches('[').starts_with('*') {
        return false;
    }
    if in_flow {
        let list = read(&format!("k: [{text}]\n"));
        return matches!(list, Ok(YamlRoot::Mapping(entries))
            if matches!(&*entries, [PropertyEntry { value: Value::List(items), .. }]
                if items.len() == 1 && is_text(&items[0])));
    }
    let value = read(&format!("k: {text}\n"));
    matches!(value, Ok(YamlRoot::Mapping(entries))
        if matches!(&*entries, [PropertyEntry { value, .. }] if is_text(value)))
}

/// Returns `text` in double quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", within_quotes(text))
}

/// Escapes `text` for use in double quotes.
pub(crate) fn within_quotes(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn line_number(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

/// The size of a value.
#[derive(Clone, Copy)]
struct ValueSize {
    /// Number of values, including this one, plus the bytes of their text.
    amount: usize,
    /// Levels of lists and maps.
    depth: usize,
}

impl ValueSize {
    const fn of_text(text: &str) -> Self {
        Self { amount: 1 + text.len(), depth: 0 }
    }

    fn add(&mut self, inner: Self) {
        self.amount += inner.amount;
        self.depth = self.depth.max(inner.depth + 1);
    }
}

/// A complete node.
struct YamlNode {
    value: Value,
    size: ValueSize,
    source: Range<usize>,
    line: u32,
}

/// A list or map whose end event has not been seen.
struct OpenCollection {
    kind: CollectionKind,
    /// Size of its contents so far.
    size: ValueSize,
    anchor: usize,
    start: usize,
    line: u32,
    /// Written in brackets or braces.
    flow: bool,
}

enum CollectionKind {
    List(Vec<Value>),
    Map { entries: Vec<PropertyEntry>, key: Option<(String, u32)> },
}

#[derive(Default)]
struct ValueBuilder<'y> {
    yaml: &'y str,
    open: Vec<OpenCollection>,
    /// Each with its value, unless the value is too large to keep.
    anchors: HashMap<usize, (ValueSize, Option<Value>)>,
    kept: usize,
    aliased: usize,
}

impl ValueBuilder<'_> {
    fn build(&mut self) -> Result<YamlRoot, YamlError> {
        let limits = options! {
            emit_comments: false,
            emit_unresolved_aliases: true,
            flow_nesting_limit: MAX_DEPTH,
            block_nesting_limit: MAX_DEPTH,
        };
        let mut root = None;
        for event in Parser::new_from_str_with_options(self.yaml, limits) {
            let (event, span) = event?;
            let line = line_number(span.start.line());
            let source = span.byte_range().unwrap_or(0..0);
            // Continue to the end to detect stray content after the root.
            let whole = self.take(event, source, line)?;
            root = root.or(whole);
        }
        Ok(root.unwrap_or(YamlRoot::Value(Value::Null)))
    }

    /// Handles one event; returns the root when it is complete.
    fn take(
        &mut self,
        event: Event<'_>,
        source: Range<usize>,
        line: u32,
    ) -> Result<Option<YamlRoot>, YamlError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_deref());
                Ok(self.close(YamlNode { value, size: ValueSize::of_text(&text), source, line }, anchor))
            }
            Event::Alias(anchor) => {
                let (size, value) = self.aliased(anchor, line)?;
                Ok(self.close(YamlNode { value, size, source, line }, 0))
            }
            Event::UnresolvedAlias(_) => {
                // `*emphasis*` without quotes: keep the text.
                let text = &self.yaml[source.clone()];
                let (value, size) = (Value::Text(text.to_owned()), ValueSize::of_text(text));
                Ok(self.close(YamlNode { value, size, source, line }, 0))
            }
            Event::SequenceStart(style, anchor, _) => {
                self.open(CollectionKind::List(Vec::new()), style, anchor, source.start, line)
            }
            Event::MappingStart(style, anchor, _) => {
                let kind = CollectionKind::Map { entries: Vec::new(), key: None };
                self.open(kind, style, anchor, source.start, line)
            }
            Event::SequenceEnd | Event::MappingEnd => Ok(self.end(source.end)),
            Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(..)
            | Event::DocumentEnd
            | Event::Anchor(..)
            // Other kinds of events are disabled above.
            | _ => Ok(None),
        }
    }

    fn open(
        &mut self,
        kind: CollectionKind,
        style: StructureStyle,
        anchor: usize,
        start: usize,
        line: u32,
    ) -> Result<Option<YamlRoot>, YamlError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(line));
        }
        let size = ValueSize { amount: 1, depth: 1 };
        self.open.push(OpenCollection {
            kind,
            size,
            anchor,
            start,
            line,
            flow: style == StructureStyle::Flow,
        });
        Ok(None)
    }

    fn end(&mut self, end: usize) -> Option<YamlRoot> {
        let OpenCollection { kind, mut size, anchor, start, line, flow } = self.open.pop()?;
        let source = start..end;
        let value = match kind {
            CollectionKind::List(items) => {
                let written = &self.yaml[source.clone()];
                if flow && is_wikilink(written, &items) {
                    size = ValueSize::of_text(written);
                    Value::Text(written.to_owned())
                } else {
                    Value::List(items)
                }
            }
            CollectionKind::Map { entries, .. } if self.open.is_empty() => {
                return Some(YamlRoot::Mapping(entries));
            }
            CollectionKind::Map { entries, .. } => Value::Map(
                entries
                    .into_iter()
                    .map(|entry| (entry.key, entry.value))
                    .collect::<BTreeMap<_, _>>(),
            ),
        };
        self.close(YamlNode { value, size, source, line }, anchor)
    }

    /// Adds a complete node to its parent.
    fn close(&mut self, node: YamlNode, anchor: usize) -> Option<YamlRoot> {
        if anchor != 0 {
            let fits = self.kept + node.size.amount <= MAX_ALIASED;
            self.kept += if fits { node.size.amount } else { 0 };
            self.anchors.insert(anchor, (node.size, fits.then(|| node.value.clone())));
        }
        let Some(parent) = self.open.last_mut() else { return Some(YamlRoot::Value(node.value)) };
        parent.size.add(node.size);
        match &mut parent.kind {
            CollectionKind::List(items) => items.push(node.value),
            CollectionKind::Map { entries, key } => match key.take() {
                Some((key, line)) => entries.push(PropertyEntry { key, value: node.value, line }),
                None => {
                    let written = || self.yaml[node.source.clone()].trim();
                    let name = node.value.as_written().unwrap_or_else(written).to_owned();
                    *key = Some((name, node.line));
                }
            },
        }
        None
    }

    fn aliased(&mut self, anchor: usize, line: u32) -> Result<(ValueSize, Value), YamlError> {
        let Some((size, value)) = self.anchors.get(&anchor) else {
            return Ok((ValueSize::of_text(""), Value::Null));
        };
        self.aliased += size.amount;
        let Some(value) = value.as_ref().filter(|_| self.aliased <= MAX_ALIASED) else {
            let reason = format!("its aliases expand to more than {MAX_ALIASED} values and bytes");
            return Err(YamlError { line, reason });
        };
        if self.open.len() + size.depth > MAX_DEPTH {
            return Err(too_deep(line));
        }
        Ok((*size, value.clone()))
    }
}

fn too_deep(line: u32) -> YamlError {
    YamlError {
        line,
        reason: format!("lists and maps are nested more than {MAX_DEPTH} levels deep"),
    }
}

/// Returns true if a flow list was written as `[[…]]` and is not a table of numbers.
fn is_wikilink(written: &str, items: &[Value]) -> bool {
    let Some(inner) = written.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")) else {
        return false;
    };
    let [Value::List(inner_items)] = items else { return false };
    let is_row = inner_items.len() > 1
        && inner_items.iter().all(|item| matches!(item, Value::Number { .. }));
    !inner.trim().is_empty() && !inner.contains(['[', ']', '\n']) && !is_row
}

/// Resolves a scalar by the YAML 1.2 core schema; keeps its text unless it is a plain `null`.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    if style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str")) {
        return Value::Text(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool { text: text.to_owned(), value: true },
        "false" | "False" | "FALSE" => Value::Bool { text: text.to_owned(), value: false },
        text => match number(text) {
            Some(value) => Value::Number { text: text.to_owned(), value },
            None => Value::Text(text.to_owned()),
        },
    }
}

/// Parses `text` as a finite number of the YAML 1.2 core schema.
pub(super) fn number(text: &str) -> Option<f64> {
    let radix = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().map(f64::from);
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    // Rust also parses `inf` and `nan`, which are words here.
    let plain = text.chars().all(|c| matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
    text.parse::<f64>().ok().filter(|value| plain && value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn value(yaml: &str) -> Value {
        match read(&format!("k: {yaml}\n")).expect("the YAML is whole") {
            YamlRoot::Mapping(mut entries) => entries.remove(0).value,
            YamlRoot::Value(value) => value,
        }
    }

    #[test]
    fn scalars_stay_as_written() {
        for (yaml, expected) in [
            ("1.10", "1.10"),
            ("007", "007"),
            ("2024-01-05", "2024-01-05"),
            ("12:30", "12:30"),
            ("0x1F", "0x1F"),
            ("yes", "yes"),
            ("'true'", "true"),
            ("!!str 5", "5"),
            ("1_000", "1_000"),
            ("True", "True"),
        ] {
            assert_eq!(value(yaml).as_written(), Some(expected), "{yaml}");
        }
        assert_eq!(value("1.10"), Value::Number { text: "1.10".to_owned(), value: 1.1 });
        assert_eq!(value(".inf"), text(".inf"));
        assert_eq!(value("nan"), text("nan"));
        assert_eq!(value(""), Value::Null);
    }

    #[test]
    fn nested_list_written_as_wikilink_is_a_wikilink() {
        for link in ["[[Moss]]", "[[Moss|soft]]", "[[Moss, the]]", "[[A: B]]", "[[Moss#Soil]]"] {
            assert_eq!(value(link), text(link));
        }
        assert_eq!(value("[[[A]], [[B]]]"), Value::List(vec![text("[[A]]"), text("[[B]]")]));
        assert_eq!(value("[\"[[A]]\", x]"), Value::List(vec![text("[[A]]"), text("x")]));
        assert!(matches!(value("[[1, 2]]"), Value::List(_)));
        assert!(matches!(value("[[a], [b]]"), Value::List(_)));
    }

    #[test]
    fn keys_keep_their_order() {
        let Ok(YamlRoot::Mapping(entries)) = read("b: 1\na: 2\n3: x\nb: 4\n") else {
            panic!("a mapping")
        };
        let keys = entries.iter().map(|entry| (&*entry.key, entry.line)).collect::<Vec<_>>();
        assert_eq!(keys, [("b", 1), ("a", 2), ("3", 3), ("b", 4)]);
    }

    #[test]
    fn aliases_cannot_grow_without_bound() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..40 {
            let last = n - 1;
            bomb += &format!("a{n}: &a{n} [*a{last}, *a{last}, *a{last}, *a{last}]\n");
        }
        assert!(read(&bomb).is_err());
        let mut chain = "a0: &a0 [x]\n".to_owned();
        for n in 1..200 {
            chain += &format!("a{n}: &a{n} [*a{}]\n", n - 1);
        }
        assert!(read(&chain).is_err());
        let long = "x".repeat(MAX_ALIASED / 2);
        assert!(read(&format!("a: &a {long}\nb: *a\n")).is_ok());
        assert!(read(&format!("a: &a {long}\nb: [*a, *a]\n")).is_err());
        assert_eq!(value("*emphasis*"), text("*emphasis*"));
    }

    #[test]
    fn nested_anchors_are_not_kept_without_bound() {
        let nested = |items: &str| {
            let open: String = (1..60).map(|n| format!("[&a{n} ")).collect();
            format!("a: {open}[{items}]{}\nb: *a1\n", "]".repeat(59))
        };
        let yaml = nested(&"x, ".repeat(MAX_ALIASED / 8));
        let mut builder = ValueBuilder { yaml: &yaml, ..ValueBuilder::default() };
        assert!(builder.build().is_err());
        let kept = builder.anchors.values().filter(|(_, value)| value.is_some()).count();
        assert_eq!((kept, builder.anchors.len()), (3, 59));
        assert!(read(&nested("x")).is_ok());
    }

    #[test]
    fn deep_nesting_is_rejected() {
        for yaml in ["[".repeat(100_000), "- ".repeat(100_000), "{a: ".repeat(100_000)] {
            assert!(read(&yaml).is_err());
        }
    }
}
