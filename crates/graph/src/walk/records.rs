//! Responses as line records, for scripts.
//!
//! One record per line, fields separated by one space, the first field is the kind of record:
//!
//! ```text
//! H weft=1 records=1 mode=tree root="a" direction=both max_hops=3 truncated=false
//! N id type "title" tags=a,b
//! S id summary
//! E from type to source
//! ```
//!
//! A backslash makes the next character literal, except that `\n`, `\r` and `\t` stand for line feed, carriage return and tab, and `\u{…}` for a character by its hexadecimal number.
//! An unknown value is a single `-`.

use std::fmt::Write;

use weft_model::Chars;
use weft_model::escape::is_hidden_control;

/// Version of this format.
pub const RECORDS_VERSION: u32 = 1;

/// Header line, which describes the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Kind of response, such as `tree` or `path`.
    pub mode: String,
    /// Fields of the request.
    pub fields: Vec<(&'static str, Field)>,
    /// True if the response itself was truncated.
    pub truncated: bool,
}

/// A value in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// Text of a user, written in quotes.
    Text(String),
    /// A number or a fixed name, written as it is.
    Word(String),
}

/// A note as a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoteRecord<'a> {
    /// Uri.
    pub id: &'a str,
    /// Type, if it has one.
    pub note_type: Option<&'a str>,
    /// Title.
    pub title: &'a str,
    /// Tags.
    pub tags: &'a [String],
    /// Summary, if one was requested.
    pub summary: Option<&'a str>,
}

/// An edge as a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeRecord<'a> {
    /// Uri of the note that links.
    pub from: &'a str,
    /// Type.
    pub kind: &'a str,
    /// Uri of the note linked to.
    pub to: &'a str,
    /// Source.
    pub source: &'a str,
}

/// Returns the header, then notes, each followed by its summary, then edges; a line feed ends each line.
///
/// With `max_chars`, returns at most that many characters, line feeds included: whole lines from the front, and a header with `truncated=true`.
/// Returns an empty string if the header alone does not fit.
pub fn records<'a>(
    header: &RecordHeader,
    notes: impl IntoIterator<Item = NoteRecord<'a>>,
    edges: impl IntoIterator<Item = EdgeRecord<'a>>,
    max_chars: Option<Chars>,
) -> String {
    let mut lines = Vec::new();
    for note in notes {
        let NoteRecord { id, note_type, title, tags, summary } = note;
        let tags: Vec<String> = tags.iter().map(|tag| bare(tag)).collect();
        let note_type = note_type.map_or_else(|| UNKNOWN.to_owned(), bare);
        lines.push(format!(
            "N {} {note_type} {} tags={}\n",
            bare(id),
            quoted(title),
            tags.join(",")
        ));
        lines.extend(summary.map(|text| format!("S {} {}\n", bare(id), line_text(text))));
    }
    lines.extend(edges.into_iter().map(|edge| {
        let EdgeRecord { from, kind, to, source } = edge;
        format!("E {} {} {} {}\n", bare(from), bare(kind), bare(to), bare(source))
    }));

    let whole = header.line(header.truncated) + &lines.concat();
    let Some(limit) = max_chars.filter(|limit| Chars::of(&whole) > *limit) else { return whole };
    // A truncated response always omits a line, even if `truncated=true` is what makes it fit.
    lines.pop();
    let mut text = String::new();
    let mut left = limit.0;
    for line in [header.line(true)].iter().chain(&lines) {
        let Some(rest) = left.checked_sub(Chars::of(line).0) else { break };
        left = rest;
        text.push_str(line);
    }
    text
}

impl RecordHeader {
    fn line(&self, truncated: bool) -> String {
        let Self { mode, fields, truncated: _ } = self;
        let mut line = format!("H weft=1 records={RECORDS_VERSION} mode={}", bare(mode));
        for (name, value) in fields {
            let value = match value {
                Field::Text(text) => quoted(text),
                Field::Word(word) => bare(word),
            };
            put(&mut line, format_args!(" {name}={value}"));
        }
        put(&mut line, format_args!(" truncated={truncated}\n"));
        line
    }
}

/// Stands for a field without a value.
const UNKNOWN: &str = "-";

/// Returns a field without quotes, escaped so that nothing in it ends a field, a list or a line.
fn bare(text: &str) -> String {
    if text == UNKNOWN {
        return format!("\\{UNKNOWN}");
    }
    escaped(text, |c| c.is_whitespace() || matches!(c, '\\' | '"' | ','))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", line_text(text))
}

/// Returns text for quotes or for the rest of a line.
fn line_text(text: &str) -> String {
    escaped(text, |c| matches!(c, '\\' | '"'))
}

fn escaped(text: &str, special: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Readers differ in what they accept as the end of a line.
            _ if is_hidden_control(c) => put(&mut out, format_args!("{}", c.escape_unicode())),
            _ => {
                if special(c) {
                    out.push('\\');
                }
                out.push(c);
            }
        }
    }
    out
}

fn put(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing to a string");
}
