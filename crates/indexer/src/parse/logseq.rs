//! What Logseq writes differently: `key:: value` lines, tags in brackets, page names in file names.

use std::ops::Range;

use percent_encoding::percent_decode_str;
use weft_model::{NotePath, Value};

use super::frontmatter;
use super::yaml::Entry;

/// The folder of daily pages.
const JOURNALS: &str = "journals";

/// Properties whose values are lists; all others are kept whole, since a comma is no separator in a title.
const LISTS: &[&str] = &["alias", "aliases", "tags"];

/// The properties of the page: the `key:: value` lines at the very front, with or without a bullet, and the bytes they take; `id` is that of the first block.
pub(super) fn page_properties(body: &str) -> (Vec<Entry>, Range<usize>) {
    let mut entries = Vec::new();
    let mut at = 0;
    for (line, number) in body.split_inclusive('\n').zip(1_u32..) {
        let text = line.trim();
        let text = if entries.is_empty() { text.strip_prefix("- ").unwrap_or(text) } else { text };
        match property(text) {
            // What names a block names no page.
            Some(("id", _)) => {}
            Some((key, value)) => {
                entries.push(Entry { key: key.to_owned(), value: read(key, value), line: number });
            }
            None if text.is_empty() && entries.is_empty() => {}
            None => break,
        }
        at += line.len();
    }
    let end = if entries.is_empty() { 0 } else { at };
    (entries, 0..end)
}

/// The tags of single blocks: `tags:: a, b` lines anywhere and `#[[several words]]`.
pub(super) fn block_tags(body: &str) -> Vec<String> {
    let mut tags = Vec::new();
    for line in body.lines() {
        let text = line.trim();
        if let Some(("tags", value)) = property(text.strip_prefix("- ").unwrap_or(text)) {
            tags.extend(
                read("tags", value).items().iter().filter_map(Value::as_written).map(str::to_owned),
            );
        }
        let closed = line.split_inclusive("]]").filter_map(|part| part.strip_suffix("]]"));
        let links = closed.filter_map(|part| part.rsplit_once("[["));
        let inner = links.filter(|(before, _)| before.ends_with('#')).map(|(_, inner)| inner);
        tags.extend(inner.map(|inner| inner.trim().to_owned()));
    }
    tags
}

/// The page's name by its file: `___` and `%2F` stand for `/`, other escapes for themselves.
pub(super) fn page_name(path: &NotePath) -> String {
    let name = path.stem().replace("___", "/");
    percent_decode_str(&name).decode_utf8().map_or_else(|_| name.clone(), Into::into)
}

/// The name by which pages link to a journal: `Jan 5th, 2023` for `journals/2023_01_05.md`.
pub(super) fn journal_name(path: &NotePath) -> Option<String> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let folder = path.folder();
    if folder.rsplit('/').next() != Some(JOURNALS) {
        return None;
    }
    let mut parts = path.stem().split(['_', '-']);
    let year = parts.next().filter(|year| year.len() == 4)?.parse::<u16>().ok()?;
    let month = MONTHS.get(parts.next()?.parse::<usize>().ok()?.checked_sub(1)?)?;
    let day = parts.next()?.parse::<u8>().ok().filter(|day| (1..=31).contains(day))?;
    let ending = match day {
        1 | 21 | 31 => "st",
        2 | 22 => "nd",
        3 | 23 => "rd",
        _ => "th",
    };
    parts.next().is_none().then(|| format!("{month} {day}{ending}, {year}"))
}

/// The parts of a line `key:: value`.
fn property(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once("::")?;
    let names = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '?');
    let separated = value.is_empty() || value.starts_with(char::is_whitespace);
    (!key.is_empty() && key.chars().all(names) && separated).then(|| (key, value.trim()))
}

fn read(key: &str, value: &str) -> Value {
    let text = |text: &str| Value::Text(text.trim().to_owned());
    if !LISTS.iter().any(|list| key.eq_ignore_ascii_case(list)) {
        return text(value);
    }
    // A comma within brackets belongs to a page's name.
    Value::List(frontmatter::items(value).into_iter().map(text).collect())
}
