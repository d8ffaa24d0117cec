//! Logseq syntax: `key:: value` lines, tags in brackets, page names in file names.

use std::ops::Range;

use weft_model::id::is_uuid;
use weft_model::text::percent_decoded;
use weft_model::{NotePath, Value};

use super::frontmatter;
use super::yaml::PropertyEntry;

/// The folder of daily pages.
const JOURNALS: &str = "journals";

/// Properties whose values are lists; all others are kept whole, since a title may contain commas.
const LISTS: &[&str] = &["alias", "aliases", "tags"];

/// Returns the page's properties and their byte range: the `key:: value` lines at the very start, with or without a bullet. Skips `id`, which belongs to the first block.
pub(super) fn page_properties(body: &str) -> (Vec<PropertyEntry>, Range<usize>) {
    let mut entries = Vec::new();
    let mut at = 0;
    for (line, number) in body.split_inclusive('\n').zip(1_u32..) {
        let text = line.trim();
        let text = if entries.is_empty() { text.strip_prefix("- ").unwrap_or(text) } else { text };
        match property(text) {
            // An `id` names a block, not the page.
            Some(("id", _)) => {}
            Some((key, value)) => {
                entries.push(PropertyEntry {
                    key: key.to_owned(),
                    value: read(key, value),
                    line: number,
                });
            }
            None if text.is_empty() && entries.is_empty() => {}
            None => break,
        }
        at += line.len();
    }
    let end = if entries.is_empty() { 0 } else { at };
    (entries, 0..end)
}

/// Returns the byte range of the page properties.
pub(crate) fn page_lines(body: &str) -> Range<usize> {
    page_properties(body).1
}

/// Returns the tags of blocks: `tags:: a, b` lines anywhere and `#[[several words]]`.
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

/// Length of a UUID, in bytes.
const UUID_LEN: usize = 36;

/// Returns the UUID in a block reference `((uuid))` at the start of `text`.
pub(super) fn block_reference(text: &str) -> Option<&str> {
    let (uuid, rest) = text.strip_prefix("((")?.split_at_checked(UUID_LEN)?;
    (is_uuid(uuid) && rest.starts_with("))")).then_some(uuid)
}

/// Returns the UUIDs of blocks, each with the byte range of the block's own lines: from its bullet to the next one. An `id:: uuid` line identifies the block that contains it.
pub(super) fn blocks(body: &str) -> Vec<(&str, Range<usize>)> {
    let (mut blocks, mut start, mut at, mut id) = (Vec::new(), 0, 0, None);
    for line in body.split_inclusive('\n') {
        let text = line.trim();
        let bare = text.strip_prefix("- ").unwrap_or(text);
        if bare.len() < text.len() || text == "-" {
            blocks.extend(id.take().map(|id| (id, start..at)));
            start = at;
        }
        if let Some(("id", uuid)) = property(bare) {
            id = Some(uuid).filter(|uuid| is_uuid(uuid));
        }
        at += line.len();
    }
    blocks.extend(id.map(|id| (id, start..at)));
    let end = |range: &Range<usize>| range.start + body[range.clone()].trim_end().len();
    blocks.into_iter().map(|(id, range)| (id, range.start..end(&range))).collect()
}

/// Derives the page's name from its file name: `___` and `%2F` stand for `/`, other escapes for themselves.
pub(super) fn page_name(path: &NotePath) -> String {
    let name = path.stem().replace("___", "/");
    percent_decoded(&name).into_owned()
}

/// Returns the names by which pages link to the file's page, the usual one first.
pub(crate) fn names(path: &NotePath) -> Vec<String> {
    journal_names(path).map_or_else(|| vec![page_name(path)], Vec::from)
}

/// Returns the names by which pages link to a journal page: `Jan 5th, 2023`, `2023-01-05` and `2023_01_05` for `journals/2023_01_05.md`.
///
/// File names use underscores, dashes or no separator; Logseq resolves all three names whatever date format a graph uses.
pub(super) fn journal_names(path: &NotePath) -> Option<[String; 3]> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    if path.folder().rsplit('/').next() != Some(JOURNALS) {
        return None;
    }
    let parts: Vec<&str> = path.stem().split(['_', '-']).collect();
    let (year, month, day) = match parts[..] {
        [year, month, day] => (year, month, day),
        [all] if all.len() == 8 && all.is_ascii() => (&all[..4], &all[4..6], &all[6..]),
        _ => return None,
    };
    let year = year.parse::<u16>().ok().filter(|_| year.len() == 4)?;
    let month = month.parse::<usize>().ok()?;
    let name = MONTHS.get(month.checked_sub(1)?)?;
    let day = day.parse::<u8>().ok().filter(|day| (1..=31).contains(day))?;
    let ending = match day {
        1 | 21 | 31 => "st",
        2 | 22 => "nd",
        3 | 23 => "rd",
        _ => "th",
    };
    Some([
        format!("{name} {day}{ending}, {year}"),
        format!("{year:04}-{month:02}-{day:02}"),
        format!("{year:04}_{month:02}_{day:02}"),
    ])
}

/// Splits a line `key:: value`.
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
    // A comma inside brackets belongs to a page name.
    Value::List(frontmatter::items(value).into_iter().map(text).collect())
}
