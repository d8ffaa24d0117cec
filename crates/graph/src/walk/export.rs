//! The whole graph as JSON, GraphML or DOT.
//!
//! Notes and placeholders stand by uri, edges by origin and then in neighbour order, so equal graphs give equal bytes.

use std::fmt::{self, Write};

use weft_model::{LinkSource, NoteId};

use super::by_uri;
use crate::{Half, NoteGraph};

/// A form of writing a graph down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `{nodes: [{id, title, path, type, tags, placeholder}], edges: [{from, to, type, source}], generation}`.
    Json,
    /// GraphML with the same fields as data keys, tags joined by commas.
    GraphMl,
    /// Graphviz: titles as labels, placeholders and inline edges dashed.
    Dot,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Json, Self::GraphMl, Self::Dot];

    /// The name that requests use: `json`, `graphml` or `dot`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::GraphMl => "graphml",
            Self::Dot => "dot",
        }
    }

    /// The form of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// What an export says of a note beside what the graph knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoteFields<'a> {
    /// Its title.
    pub title: Option<&'a str>,
    /// Its path in the vault.
    pub path: Option<&'a str>,
    /// Its type.
    pub note_type: Option<&'a str>,
    /// Its tags.
    pub tags: &'a [String],
}

/// Writes the graph of `generation` in `format`; `fields` is asked for every node, placeholders too.
///
/// # Errors
///
/// Those of `out`.
pub fn write<'a>(
    graph: &NoteGraph,
    format: Format,
    generation: u64,
    fields: impl Fn(NoteId) -> NoteFields<'a>,
    out: &mut impl Write,
) -> fmt::Result {
    let ids = by_uri(graph, graph.ids());
    let nodes = || ids.iter().map(|id| (*id, fields(*id)));
    let edges = || {
        ids.iter().flat_map(|id| graph.outgoing(*id).iter().map(|half| Edge::new(graph, *id, half)))
    };
    match format {
        Format::Json => json(graph, generation, nodes(), edges(), out),
        Format::GraphMl => graphml(graph, generation, nodes(), edges(), out),
        Format::Dot => dot(graph, nodes(), edges(), out),
    }
}

struct Edge<'g> {
    from: &'g str,
    to: &'g str,
    kind: &'g str,
    source: LinkSource,
}

impl<'g> Edge<'g> {
    fn new(graph: &'g NoteGraph, from: NoteId, half: &Half) -> Self {
        Self {
            from: graph.uri(from).as_str(),
            to: graph.uri(half.other).as_str(),
            kind: graph.kind(half.kind),
            source: half.source,
        }
    }
}

fn json<'a, 'g>(
    graph: &NoteGraph,
    generation: u64,
    nodes: impl Iterator<Item = (NoteId, NoteFields<'a>)>,
    edges: impl Iterator<Item = Edge<'g>>,
    out: &mut impl Write,
) -> fmt::Result {
    out.write_str("{\"nodes\":[")?;
    for (at, (id, fields)) in nodes.enumerate() {
        let NoteFields { title, path, note_type, tags } = fields;
        let comma = if at == 0 { "" } else { "," };
        write!(out, "{comma}\n{{\"id\":{}", Json(Some(graph.uri(id).as_str())))?;
        for (key, value) in [("title", title), ("path", path), ("type", note_type)] {
            write!(out, ",\"{key}\":{}", Json(value))?;
        }
        out.write_str(",\"tags\":[")?;
        for (at, tag) in tags.iter().enumerate() {
            write!(out, "{}{}", if at == 0 { "" } else { "," }, Json(Some(tag)))?;
        }
        write!(out, "],\"placeholder\":{}}}", graph.is_placeholder(id))?;
    }
    out.write_str("],\n\"edges\":[")?;
    for (at, Edge { from, to, kind, source }) in edges.enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let [from, to, kind] = [from, to, kind].map(|text| Json(Some(text)));
        let source = source.name();
        write!(
            out,
            "{comma}\n{{\"from\":{from},\"to\":{to},\"type\":{kind},\"source\":\"{source}\"}}"
        )?;
    }
    writeln!(out, "],\n\"generation\":{generation}}}")
}

fn graphml<'a, 'g>(
    graph: &NoteGraph,
    generation: u64,
    nodes: impl Iterator<Item = (NoteId, NoteFields<'a>)>,
    edges: impl Iterator<Item = Edge<'g>>,
    out: &mut impl Write,
) -> fmt::Result {
    const KEYS: [(&str, &str, &str); 8] = [
        ("generation", "graph", "long"),
        ("title", "node", "string"),
        ("path", "node", "string"),
        ("note_type", "node", "string"),
        ("tags", "node", "string"),
        ("placeholder", "node", "boolean"),
        ("type", "edge", "string"),
        ("source", "edge", "string"),
    ];
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">")?;
    for (key, domain, kind) in KEYS {
        // Notes and edges both have a type; an id is needed for each.
        let name = if key == "note_type" { "type" } else { key };
        writeln!(
            out,
            "<key id=\"{key}\" for=\"{domain}\" attr.name=\"{name}\" attr.type=\"{kind}\"/>"
        )?;
    }
    writeln!(out, "<graph edgedefault=\"directed\">")?;
    writeln!(out, "<data key=\"generation\">{generation}</data>")?;
    for (id, fields) in nodes {
        let NoteFields { title, path, note_type, tags } = fields;
        write!(out, "<node id=\"{}\">", Xml(graph.uri(id).as_str()))?;
        for (key, value) in [("title", title), ("path", path), ("note_type", note_type)] {
            if let Some(value) = value {
                write!(out, "<data key=\"{key}\">{}</data>", Xml(value))?;
            }
        }
        if !tags.is_empty() {
            write!(out, "<data key=\"tags\">{}</data>", Xml(&tags.join(",")))?;
        }
        writeln!(out, "<data key=\"placeholder\">{}</data></node>", graph.is_placeholder(id))?;
    }
    for Edge { from, to, kind, source } in edges {
        writeln!(
            out,
            "<edge source=\"{}\" target=\"{}\"><data key=\"type\">{}</data><data key=\"source\">{}</data></edge>",
            Xml(from),
            Xml(to),
            Xml(kind),
            source.name(),
        )?;
    }
    writeln!(out, "</graph>\n</graphml>")
}

fn dot<'a, 'g>(
    graph: &NoteGraph,
    nodes: impl Iterator<Item = (NoteId, NoteFields<'a>)>,
    edges: impl Iterator<Item = Edge<'g>>,
    out: &mut impl Write,
) -> fmt::Result {
    writeln!(out, "digraph vault {{")?;
    for (id, fields) in nodes {
        let uri = graph.uri(id).as_str();
        let style = if graph.is_placeholder(id) { ", style=dashed" } else { "" };
        let label = Dot(fields.title.unwrap_or(uri));
        writeln!(out, "  {} [label={label}{style}];", Dot(uri))?;
    }
    for Edge { from, to, kind, source } in edges {
        let style = match source {
            LinkSource::Typed => "",
            LinkSource::Inline => ", style=dashed",
        };
        writeln!(out, "  {} -> {} [label={}{style}];", Dot(from), Dot(to), Dot(kind))?;
    }
    writeln!(out, "}}")
}

/// A text as a string of JSON, nothing as `null`.
struct Json<'a>(Option<&'a str>);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(text) = self.0 else { return f.write_str("null") };
        f.write_char('"')?;
        escape(text, f, |c, f| match c {
            '"' | '\\' => Some(write!(f, "\\{c}")),
            '\n' => Some(f.write_str("\\n")),
            '\0'..='\u{1f}' => Some(write!(f, "\\u{:04x}", u32::from(c))),
            _ => None,
        })?;
        f.write_char('"')
    }
}

/// Text inside an element or a quoted attribute of XML. Characters that XML cannot say become U+FFFD.
struct Xml<'a>(&'a str);

impl fmt::Display for Xml<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escape(self.0, f, |c, f| match c {
            '&' | '<' | '>' | '"' | '\n' | '\r' | '\t' => Some(write!(f, "&#{};", u32::from(c))),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => Some(f.write_char('\u{fffd}')),
            _ => None,
        })
    }
}

/// A quoted text of Graphviz, where backslashes begin escapes. Different texts stay different, so it serves for names and labels.
struct Dot<'a>(&'a str);

impl fmt::Display for Dot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        escape(self.0, f, |c, f| match c {
            '"' | '\\' => Some(write!(f, "\\{c}")),
            '\n' => Some(f.write_str("\\n")),
            _ => None,
        })?;
        f.write_char('"')
    }
}

/// Writes `text`, in long pieces but for the characters that `special` writes itself.
fn escape(
    text: &str,
    f: &mut fmt::Formatter<'_>,
    special: impl Fn(char, &mut fmt::Formatter<'_>) -> Option<fmt::Result>,
) -> fmt::Result {
    let mut plain_from = 0;
    for (at, c) in text.char_indices() {
        // Only these can be special in any of the forms.
        if c.is_ascii_alphanumeric() {
            continue;
        }
        f.write_str(&text[plain_from..at])?;
        plain_from = at;
        if let Some(written) = special(c, f) {
            written?;
            plain_from = at + c.len_utf8();
        }
    }
    f.write_str(&text[plain_from..])
}
