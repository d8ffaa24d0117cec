//! An answer as line records, for scripts.
//!
//! One record per line, fields apart by one space, the first field the kind of record:
//!
//! ```text
//! H weft=1 records=1 mode=tree root="a" direction=both max_hops=3 truncated=false
//! N id type "title" tags=a,b
//! S id summary
//! E from type to source
//! ```
//!
//! A backslash makes the next character stand for itself, but `\n`, `\r` and `\t` stand for line feed, carriage return and tabulator, and `\u{…}` for a character by its hexadecimal number.
//! What is unknown is a single `-`.

use std::fmt::Write;

use weft_model::Chars;

/// The version of this form.
pub const RECORDS_VERSION: u32 = 1;

/// The line that says what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// What kind of answer this is, such as `tree` or `path`.
    pub mode: String,
    /// The request, field by field.
    pub fields: Vec<(&'static str, Field)>,
    /// Whether the answer itself was cut.
    pub truncated: bool,
}

/// A value in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// Somebody's text, written in quotes.
    Text(String),
    /// A number or a name of ours, written as it is.
    Word(String),
}

/// A note as a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoteRecord<'a> {
    /// Its uri.
    pub id: &'a str,
    /// Its type, if it has one.
    pub note_type: Option<&'a str>,
    /// Its title.
    pub title: &'a str,
    /// Its tags.
    pub tags: &'a [String],
    /// A text about it, if one was asked for.
    pub summary: Option<&'a str>,
}

/// An edge as a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeRecord<'a> {
    /// The uri of the note that links.
    pub from: &'a str,
    /// Its type.
    pub kind: &'a str,
    /// The uri of the note linked to.
    pub to: &'a str,
    /// Its source.
    pub source: &'a str,
}

/// The header, then notes, each followed by its summary, then edges; a line feed ends each line.
///
/// With `max_chars` the text has at most so many characters, line feeds counted: whole lines from the front, and a header that says `truncated=true`.
/// Empty where not even the header fits.
pub fn records<'a>(
    header: &Header,
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
    // What is cut loses a line, also where saying so is what would make it fit.
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

impl Header {
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

/// What stands for a field that has no value.
const UNKNOWN: &str = "-";

/// A field without quotes: nothing in it ends a field, a list or a line.
fn bare(text: &str) -> String {
    if text == UNKNOWN {
        return format!("\\{UNKNOWN}");
    }
    escaped(text, |c| c.is_whitespace() || matches!(c, '\\' | '"' | ','))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", line_text(text))
}

/// Text in quotes or to the end of the line.
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
            // Readers differ in what they take for the end of a line.
            '\u{2028}' | '\u{2029}' => put(&mut out, format_args!("{}", c.escape_unicode())),
            _ if c.is_control() => put(&mut out, format_args!("{}", c.escape_unicode())),
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
    out.write_fmt(arguments).expect("a string takes any text");
}
