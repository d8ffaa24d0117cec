//! Response as text for a language model: the focus note, then the related notes, most relevant first.
//!
//! Note text cannot break out of its place: Markdown uses fences longer than any in the text, XML and JSON escape it.

use std::fmt::{self, Write as _};

use serde::Serialize;
pub use weft_model::escape::fence;
use weft_model::escape::{self, is_special_in_xml_attribute, link_destination};

use super::cost::two_digits;
use super::view::{FocusView, LinkView, NoteView, View};

/// Form of note names in Markdown and JSON.
const BY_LINK: &str = "a link of the form `[title](uri)`";

/// Form of note names in XML.
const BY_ATTRIBUTES: &str = "its title and uri, the two parts of a link `[title](uri)`";

/// Returns the introduction that explains the list to the reader.
fn explanation(named_by: &str) -> String {
    format!(
        "The notes below surround one focus note, the most relevant first. \
         Every note is named by {named_by}: how notes relate to one another can be inferred from these links, \
         as a note's parent and object are given by theirs. \
         A note with an object states a relation: its parent is the subject, its title the predicate. \
         The relation of a note says how it was reached from the focus note."
    )
}

/// Renders the response as Markdown.
#[must_use]
pub fn markdown(view: &View<'_>) -> String {
    let mut text = String::new();
    write_markdown(&mut text, view).expect("writing to a string");
    text
}

fn write_markdown(out: &mut String, view: &View<'_>) -> fmt::Result {
    let View { focus_note: focus, related_notes, .. } = view;
    writeln!(out, "{}\n\n# Focus note: {}\n", explanation(BY_LINK), MarkdownLink(&focus.link))?;
    for (name, link) in single_links(focus.parent.as_ref(), focus.object.as_ref(), None) {
        writeln!(out, "- {name}: {}", MarkdownLink(link))?;
    }
    for (name, links) in lists(focus) {
        if !links.is_empty() {
            let separator = if name == PATH { " / " } else { ", " };
            write!(out, "- {name}: ")?;
            for (at, link) in links.iter().enumerate() {
                write!(out, "{}{}", if at == 0 { "" } else { separator }, MarkdownLink(link))?;
            }
            writeln!(out)?;
        }
    }
    fenced(out, &focus.details)?;
    if related_notes.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n# Related notes")?;
    for (note, rank) in related_notes.iter().zip(1..) {
        writeln!(
            out,
            "\n## {rank}. {}\n\n- relation: {}",
            MarkdownLink(&note.link),
            relations(note)
        )?;
        for (name, link) in links_of(note) {
            writeln!(out, "- {name}: {}", MarkdownLink(link))?;
        }
        if let Some(similarity) = note.similarity {
            writeln!(out, "- similarity: {}", two_digits(similarity))?;
        }
        fenced(out, &note.details)?;
    }
    Ok(())
}

/// Writes details in their own fence, or nothing if they are empty.
fn fenced(out: &mut String, details: &str) -> fmt::Result {
    if details.trim().is_empty() {
        return Ok(());
    }
    let fence = fence(details);
    let end = if details.ends_with('\n') { "" } else { "\n" };
    writeln!(out, "\n{fence}markdown\n{details}{end}{fence}")
}

/// Renders the response as XML, well-formed whatever the notes contain.
#[must_use]
pub fn xml(view: &View<'_>) -> String {
    let mut text = String::new();
    write_xml(&mut text, view).expect("writing to a string");
    text
}

fn write_xml(out: &mut String, view: &View<'_>) -> fmt::Result {
    let View { focus_note: focus, related_notes, .. } = view;
    writeln!(
        out,
        "<context>\n<explanation>{}</explanation>",
        escaped(&explanation(BY_ATTRIBUTES))
    )?;
    writeln!(out, "<focus_note{}>", XmlLink(&focus.link))?;
    for (name, link) in single_links(focus.parent.as_ref(), focus.object.as_ref(), None) {
        writeln!(out, "<{name}{}/>", XmlLink(link))?;
    }
    for (name, links) in lists(focus) {
        if !links.is_empty() {
            writeln!(out, "<{name}>")?;
            for link in links {
                writeln!(out, "<note{}/>", XmlLink(link))?;
            }
            writeln!(out, "</{name}>")?;
        }
    }
    writeln!(out, "<details>{}</details>\n</focus_note>", escaped(&focus.details))?;
    writeln!(out, "<related_notes>")?;
    for (note, rank) in related_notes.iter().zip(1..) {
        let similarity = note
            .similarity
            .map_or_else(String::new, |it| format!(" similarity=\"{}\"", two_digits(it)));
        writeln!(
            out,
            "<note rank=\"{rank}\"{} relation=\"{}\"{similarity}>",
            XmlLink(&note.link),
            relations(note)
        )?;
        for (name, link) in links_of(note) {
            writeln!(out, "<{name}{}/>", XmlLink(link))?;
        }
        let truncated = if note.truncated { " truncated=\"true\"" } else { "" };
        writeln!(out, "<details{truncated}>{}</details>\n</note>", escaped(&note.details))?;
    }
    writeln!(out, "</related_notes>\n</context>")
}

/// Renders the response as JSON: one object with one line per note, every link as `[title](uri)`, and empty fields omitted.
#[must_use]
pub fn json(view: &View<'_>) -> String {
    let View { focus_note: focus, related_notes, .. } = view;
    let FocusView {
        link,
        details,
        parent,
        object,
        relation: _,
        contextual_path,
        children,
        referrings,
        prior_siblings,
        younger_siblings,
    } = focus;
    let links = |links: &[LinkView<'_>]| links.iter().map(written).collect();
    let focus = JsonFocus {
        note: written(link),
        parent: parent.as_ref().map(written),
        object: object.as_ref().map(written),
        contextual_path: links(contextual_path),
        children: links(children),
        referrings: links(referrings),
        prior_siblings: links(prior_siblings),
        younger_siblings: links(younger_siblings),
        details,
    };
    let notes = related_notes.iter().map(|note| {
        let NoteView { link, details, truncated, parent, object, topic, similarity, .. } = note;
        let note = JsonNote {
            note: written(link),
            relation: relations(note),
            parent: parent.as_ref().map(written),
            object: object.as_ref().map(written),
            topic: topic.as_ref().map(written),
            similarity: similarity.map(two_digits),
            truncated: *truncated,
            details,
        };
        format!("\n{}", as_json(&note))
    });
    format!(
        "{{\"explanation\":{},\n\"focus_note\":{},\n\"related_notes\":[{}\n]}}\n",
        as_json(&explanation(BY_LINK)),
        as_json(&focus),
        notes.collect::<Vec<_>>().join(",")
    )
}

#[derive(Serialize)]
struct JsonFocus<'v> {
    note: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contextual_path: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    referrings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    prior_siblings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    younger_siblings: Vec<String>,
    details: &'v str,
}

#[derive(Serialize)]
struct JsonNote<'v> {
    note: String,
    relation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    details: &'v str,
}

fn written(link: &LinkView<'_>) -> String {
    MarkdownLink(link).to_string()
}

fn as_json(value: &(impl Serialize + ?Sized)) -> String {
    let text = serde_json::to_string(value);
    escape::json(&text.expect("strings, flags and lists of them are always JSON")).into_owned()
}

const PATH: &str = "contextual_path";

fn single_links<'v, 't>(
    parent: Option<&'v LinkView<'t>>,
    object: Option<&'v LinkView<'t>>,
    topic: Option<&'v LinkView<'t>>,
) -> impl Iterator<Item = (&'static str, &'v LinkView<'t>)> {
    let named = [("parent", parent), ("object", object), ("topic", topic)];
    named.into_iter().filter_map(|(name, link)| Some((name, link?)))
}

fn links_of<'v, 't>(
    note: &'v NoteView<'t>,
) -> impl Iterator<Item = (&'static str, &'v LinkView<'t>)> {
    single_links(note.parent.as_ref(), note.object.as_ref(), note.topic.as_ref())
}

fn lists<'v, 't>(focus: &'v FocusView<'t>) -> [(&'static str, &'v [LinkView<'t>]); 5] {
    [
        (PATH, &focus.contextual_path),
        ("children", &focus.children),
        ("referrings", &focus.referrings),
        ("prior_siblings", &focus.prior_siblings),
        ("younger_siblings", &focus.younger_siblings),
    ]
}

/// Returns the relation of delivery, then the other relations.
fn relations(note: &NoteView<'_>) -> String {
    let names = [note.relation].into_iter().chain(note.also_relations.iter().copied());
    names.map(|relation| relation.name()).collect::<Vec<_>>().join(", ")
}

/// `[title](uri)` that remains one link on one line whatever its parts contain.
struct MarkdownLink<'v>(&'v LinkView<'v>);

impl fmt::Display for MarkdownLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('[')?;
        let mut title = self.0.title.chars().peekable();
        while let Some(c) = title.next() {
            // An ampersand that starts no character reference needs no escape.
            let refers = title.peek().is_some_and(|next| next.is_alphanumeric() || *next == '#');
            match c {
                '&' if !refers => f.write_char('&')?,
                '[' | ']' | '\\' | '`' | '<' | '&' => write!(f, "\\{c}")?,
                c if escape::is_hidden_control(c) => write!(f, "{}", c.escape_default())?,
                c => f.write_char(c)?,
            }
        }
        f.write_str("](")?;
        f.write_str(&link_destination(self.0.uri))?;
        f.write_char(')')
    }
}

/// Attributes that name a note, with a leading space.
struct XmlLink<'v>(&'v LinkView<'v>);

impl fmt::Display for XmlLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            " uri=\"{}\" title=\"{}\"",
            escape::xml(self.0.uri, is_special_in_xml_attribute),
            escape::xml(&self.0.title, is_special_in_xml_attribute)
        )
    }
}

/// Escapes text between tags.
fn escaped(text: &str) -> String {
    escape::xml(text, |c| c == '"')
}
