//! Export of the whole graph as JSON, GraphML or DOT.
//!
//! Notes and placeholders are sorted by uri, edges by origin and then in neighbor order, so equal graphs give equal bytes.

use std::fmt::{self, Write};

use weft_model::escape::is_hidden_control;
use weft_model::{LinkSource, NoteId};

use super::by_uri;
use crate::{HalfEdge, NoteGraph};

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// `{nodes: [{id, title, path, type, tags, placeholder}], edges: [{from, to, type, source}], generation}`.
    Json,
    /// GraphML with the same fields as data keys, tags joined by commas.
    GraphMl,
    /// Graphviz: titles as labels, placeholders and inline edges dashed.
    Dot,
}

impl ExportFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Json, Self::GraphMl, Self::Dot];

    /// Returns the name used in requests: `json`, `graphml` or `dot`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::GraphMl => "graphml",
            Self::Dot => "dot",
        }
    }

    /// Returns the format with the given name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// Fields of a note that the graph itself does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoteFields<'a> {
    /// Title.
    pub title: Option<&'a str>,
    /// Path in the vault.
    pub path: Option<&'a str>,
    /// Type.
    pub note_type: Option<&'a str>,
    /// Tags.
    pub tags: &'a [String],
}

/// Writes the graph of `generation` in `format`. `fields` is called for every node, placeholders included.
///
/// # Errors
///
/// Errors of `out`.
pub fn write<'a>(
    graph: &NoteGraph,
    format: ExportFormat,
    generation: u64,
    fields: impl Fn(NoteId) -> NoteFields<'a>,
    out: &mut impl Write,
) -> fmt::Result {
    let ids = by_uri(graph, graph.ids());
    let nodes = || ids.iter().map(|id| (*id, fields(*id)));
    let edges = || {
        ids.iter().flat_map(|id| {
            graph.outgoing(*id).iter().map(|half| ExportedEdge::new(graph, *id, half))
        })
    };
    match format {
        ExportFormat::Json => json(graph, generation, nodes(), edges(), out),
        ExportFormat::GraphMl => graphml(graph, generation, nodes(), edges(), out),
        ExportFormat::Dot => dot(graph, nodes(), edges(), out),
    }
}

struct ExportedEdge<'g> {
    from: &'g str,
    to: &'g str,
    kind: &'g str,
    source: LinkSource,
}

impl<'g> ExportedEdge<'g> {
    fn new(graph: &'g NoteGraph, from: NoteId, half: &HalfEdge) -> Self {
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
    edges: impl Iterator<Item = ExportedEdge<'g>>,
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
    for (at, ExportedEdge { from, to, kind, source }) in edges.enumerate() {
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
    edges: impl Iterator<Item = ExportedEdge<'g>>,
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
        // Notes and edges both have a type; each key needs its own id.
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
    for ExportedEdge { from, to, kind, source } in edges {
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
    edges: impl Iterator<Item = ExportedEdge<'g>>,
    out: &mut impl Write,
) -> fmt::Result {
    writeln!(out, "digraph vault {{")?;
    for (id, fields) in nodes {
        let uri = graph.uri(id).as_str();
        let style = if graph.is_placeholder(id) { ", style=dashed" } else { "" };
        let label = Dot(fields.title.unwrap_or(uri));
        writeln!(out, "  {} [label={label}{style}];", Dot(uri))?;
    }
    for ExportedEdge { from, to, kind, source } in edges {
        let style = match source {
            LinkSource::Typed => "",
            LinkSource::Inline => ", style=dashed",
        };
        writeln!(out, "  {} -> {} [label={}{style}];", Dot(from), Dot(to), Dot(kind))?;
    }
    writeln!(out, "}}")
}

/// A JSON string, or `null`.
struct Json<'a>(Option<&'a str>);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(text) = self.0 else { return f.write_str("null") };
        f.write_char('"')?;
        escape(text, f, |c, f| match c {
            '"' | '\\' => Some(write!(f, "\\{c}")),
            '\n' => Some(f.write_str("\\n")),
            _ if is_hidden_control(c) => Some(write!(f, "\\u{:04x}", u32::from(c))),
            _ => None,
        })?;
        f.write_char('"')
    }
}

/// Text inside an element or a quoted attribute of XML. Characters that XML does not allow become U+FFFD.
struct Xml<'a>(&'a str);

impl fmt::Display for Xml<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escape(self.0, f, |c, f| match c {
            '&' | '<' | '>' | '"' | '\n' | '\r' | '\t' => Some(write!(f, "&#{};", u32::from(c))),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => Some(f.write_char('\u{fffd}')),
            _ if is_hidden_control(c) => Some(write!(f, "&#{};", u32::from(c))),
            _ => None,
        })
    }
}

/// A quoted Graphviz string, in which a backslash starts an escape. Distinct texts stay distinct, so it serves for names and labels.
struct Dot<'a>(&'a str);

impl fmt::Display for Dot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        escape(self.0, f, |c, f| match c {
            '"' | '\\' => Some(write!(f, "\\{c}")),
            '\n' => Some(f.write_str("\\n")),
            // Graphviz would end the string at a zero, and shows others as they are. Backslashes of a text are doubled, so this stays distinct.
            _ if is_hidden_control(c) => Some(write!(f, "\\u{{{:x}}}", u32::from(c))),
            _ => None,
        })?;
        f.write_char('"')
    }
}

/// Writes `text`; `special` writes the characters that need an escape.
fn escape(
    text: &str,
    f: &mut fmt::Formatter<'_>,
    special: impl Fn(char, &mut fmt::Formatter<'_>) -> Option<fmt::Result>,
) -> fmt::Result {
    let mut plain_from = 0;
    for (at, c) in text.char_indices() {
        // Only these can be special in any format.
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
