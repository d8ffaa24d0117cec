//! Rewrites the notes that JSON Canvas documents (`.canvas`) show.
//!
//! Source: JSON Canvas 1.0, nodes of the type `file`.

use serde_json::Value;
use weft_model::text::nfc;

use crate::link_rewrite::RewrittenText;

/// Extension of the documents.
pub(crate) const EXTENSION: &str = "canvas";

/// Replaces the path `from` by `to` in the nodes of a document; `None` if no node shows it.
///
/// Edits the text where the paths are and accepts the result only if nothing else changed, so the layout of the document is kept.
pub(crate) fn rewrite_canvas(text: &str, from: &str, to: &str) -> Option<RewrittenText> {
    let mut expected: Value = serde_json::from_str(text).ok()?;
    let mut n_shown = 0;
    for node in expected.get_mut("nodes")?.as_array_mut()? {
        let is_file = node.get("type").is_some_and(|kind| kind == "file");
        if let Some(file) = node.get_mut("file").filter(|_| is_file)
            && file.as_str().is_some_and(|path| nfc(path) == from)
        {
            *file = to.into();
            n_shown += 1;
        }
    }
    if n_shown == 0 {
        return None;
    }
    let edited = replaced(text, from, to);
    let is_whole = serde_json::from_str::<Value>(&edited).is_ok_and(|read| read == expected);
    Some(if is_whole {
        RewrittenText { text: edited, n_rewritten: n_shown, n_not_rewritten: 0 }
    } else {
        RewrittenText { text: text.to_owned(), n_rewritten: 0, n_not_rewritten: n_shown }
    })
}

/// Replaces the string `from` by `to` in each member `file` of the objects in `json`.
fn replaced(json: &str, from: &str, to: &str) -> String {
    let (mut edited, mut copied, mut is_key) = (String::with_capacity(json.len()), 0, false);
    let mut at = 0;
    while let Some(start) = json[at..].find('"').map(|step| at + step) {
        let end = string_end(json, start);
        let follows_colon = json[at..start].trim() == ":";
        let value = serde_json::from_str::<String>(&json[start..end]).unwrap_or_default();
        if is_key && follows_colon && nfc(&value) == from {
            edited.push_str(&json[copied..start]);
            edited.push_str(&Value::from(to).to_string());
            copied = end;
        }
        is_key = value == "file" && json[end..].trim_start().starts_with(':');
        at = end;
    }
    edited.push_str(&json[copied..]);
    edited
}

/// Returns the byte after the string that begins at `start`.
fn string_end(json: &str, start: usize) -> usize {
    let mut is_escaped = false;
    let inside = &json[start + 1..];
    let length = inside.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    length.map_or(json.len(), |length| start + 1 + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(text: &str) -> Option<(String, usize, usize)> {
        rewrite_canvas(text, "a/Möss \"x\".md", "b/fern.md")
            .map(|found| (found.text, found.n_rewritten, found.n_not_rewritten))
    }

    #[test]
    fn only_file_nodes_of_the_note_change() {
        let node = |kind: &str, path: &str| {
            format!("{{ \"id\":\"1\",\t\"type\": \"{kind}\", \"file\" : \"{path}\" }}")
        };
        let old = "a/M\\u00f6ss \\\"x\\\".md";
        let text = format!(
            "{{\n  \"nodes\": [\n    {},\n    {},\n    {},\n    {}\n  ],\n  \"edges\": []\n}}\n",
            node("file", old),
            node("file", "a/Mo\u{308}ss \\\"x\\\".md"),
            node("file", "other.md"),
            "{\"type\":\"text\",\"text\":\"file: a/Möss\"}",
        );
        let expected =
            text.replace(old, "b/fern.md").replace("a/Mo\u{308}ss \\\"x\\\".md", "b/fern.md");
        assert_eq!(moved(&text), Some((expected, 2, 0)));
        for text in
            ["", "[]", "{}", "{\"nodes\": 1}", "{\"nodes\":[{\"file\":\"x\"}]}", "{\"nodes\":[\""]
        {
            assert_eq!(moved(text), None, "{text}");
        }
        // A member of another kind has the same value, so the document is left as it is.
        let both = format!("{{\"nodes\":[{},{}]}}", node("file", old), node("text", old));
        assert_eq!(moved(&both), Some((both.clone(), 0, 1)));
    }
}
