//! Renders counts of folders, tags and types.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{FacetValue, FacetsResponse};

use super::text::{DIM, FAINT_TITLE, counted, harmless, paint};

/// Formats the values of each facet with their counts.
pub(crate) fn facets(answer: &FacetsResponse) -> String {
    let FacetsResponse { note_count, folders, tags, types, truncated, warnings: _, generation: _ } =
        answer;
    let mut out = format!("{}\n", counted(*note_count, "note", "notes"));
    for (heading, sign, values) in
        [("Folders", "", folders), ("Tags", "#", tags), ("Types", "", types)]
    {
        if values.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n{}", paint(FAINT_TITLE, heading));
        let width = values.iter().map(|it| it.note_count).max().unwrap_or(0).to_string().len();
        for FacetValue { value, note_count } in values {
            let count = paint(DIM, &format!("{note_count:>width$}"));
            let _ = writeln!(out, "  {count}  {sign}{}", harmless(value));
        }
    }
    if *truncated {
        let _ = writeln!(out, "\n{}", paint(DIM, "More values exist; raise --limit to see them."));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_aligned() {
        let value = |value: &str, note_count| FacetValue { value: value.into(), note_count };
        let answer = FacetsResponse {
            note_count: 12,
            folders: vec![value("plants", 10), value("plants/ferns", 2)],
            tags: vec![value("green\u{1b}", 3)],
            truncated: true,
            ..FacetsResponse::default()
        };
        let plain = anstream::adapter::strip_str(&facets(&answer)).to_string();
        assert_eq!(
            plain,
            "12 notes\n\nFolders\n  10  plants\n   2  plants/ferns\n\nTags\n  3  #green\\u{1b}\n\nMore values exist; raise --limit to see them.\n"
        );
    }
}
