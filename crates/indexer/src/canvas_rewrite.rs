//! Rewrites what JSON Canvas documents (`.canvas`) refer to: the notes that they show, and the links in their texts.
//!
//! Source: JSON Canvas 1.0, nodes of the types `file` and `text`.

use std::collections::HashMap;

use serde_json::Value;

use crate::link_rewrite::RewrittenText;

/// Extension of the documents.
pub(crate) const EXTENSION: &str = "canvas";

/// The rewritten values of nodes, by their member (`file` or `text`) and old value.
type Rewrites = HashMap<(String, String), RewrittenText>;

/// Rewrites the nodes of a document; `None` if none needs a change. `rewrite` receives the type of a node and the value of the member of that name: the path of a file, or a text.
///
/// Edits the text where the values are and accepts the result only if nothing else changed, so the layout of the document is kept.
pub(crate) fn rewrite_canvas(
    document: &str,
    rewrite: impl Fn(&str, &str) -> Option<RewrittenText>,
) -> Option<RewrittenText> {
    let mut expected: Value = serde_json::from_str(document).ok()?;
    let mut rewrites = Rewrites::new();
    let (mut n_rewritten, mut n_not_rewritten) = (0, 0);
    for node in expected.get_mut("nodes")?.as_array_mut()? {
        let kind = node.get("type").and_then(Value::as_str);
        let Some(kind) = kind.filter(|kind| MEMBERS.contains(kind)).map(str::to_owned) else {
            continue;
        };
        let Some(value) = node.get_mut(&kind) else { continue };
        let Some(rewritten) = value.as_str().and_then(|value| rewrite(&kind, value)) else {
            continue;
        };
        n_rewritten += rewritten.n_rewritten;
        n_not_rewritten += rewritten.n_not_rewritten;
        if rewritten.n_rewritten > 0
            && let Value::String(old) = std::mem::replace(value, rewritten.text.clone().into())
        {
            rewrites.insert((kind, old), rewritten);
        }
    }
    if n_rewritten + n_not_rewritten == 0 {
        return None;
    }
    let edited = replaced(document, &rewrites);
    let is_whole = serde_json::from_str::<Value>(&edited).is_ok_and(|read| read == expected);
    Some(if is_whole {
        RewrittenText { text: edited, n_rewritten, n_not_rewritten }
    } else {
        let n_not_rewritten = n_rewritten + n_not_rewritten;
        RewrittenText { text: document.to_owned(), n_rewritten: 0, n_not_rewritten }
    })
}

/// Members of the nodes that refer to notes; each is named as the type of its nodes.
const MEMBERS: [&str; 2] = ["file", "text"];

/// Replaces the values of members in `json` that have a rewritten one.
fn replaced(json: &str, rewrites: &Rewrites) -> String {
    let (mut edited, mut copied) = (String::with_capacity(json.len()), 0);
    let mut key = String::new();
    let mut at = 0;
    while let Some(start) = json[at..].find('"').map(|step| at + step) {
        let end = string_end(json, start);
        let is_value = json[at..start].trim() == ":";
        let string = serde_json::from_str::<String>(&json[start..end]).unwrap_or_default();
        let member = (key, string);
        if let Some(RewrittenText { text, .. }) = rewrites.get(&member).filter(|_| is_value) {
            edited.push_str(&json[copied..start]);
            edited.push_str(&Value::from(text.as_str()).to_string());
            copied = end;
        }
        key = member.1;
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

    fn moved(document: &str) -> Option<(String, usize, usize)> {
        let rewritten = |text: &str, n_not_rewritten| {
            let n_rewritten = usize::from(n_not_rewritten == 0);
            Some(RewrittenText { text: text.to_owned(), n_rewritten, n_not_rewritten })
        };
        let rewrite = |kind: &str, value: &str| match (kind, value) {
            ("file", "a/Möss \"x\".md") => rewritten("b/fern.md", 0),
            ("text", "see [[Möss]]\n") => rewritten("see [[fern]]\n", 0),
            ("text", "[[lost]]") => rewritten("[[lost]]", 2),
            _ => None,
        };
        let found = rewrite_canvas(document, rewrite)?;
        Some((found.text, found.n_rewritten, found.n_not_rewritten))
    }

    #[test]
    fn only_nodes_of_the_note_and_their_layout_change() {
        let node = |kind: &str, value: &str| {
            format!("{{ \"id\":\"1\",\t\"type\": \"{kind}\", \"{kind}\" : \"{value}\" }}")
        };
        let file = "a/M\\u00f6ss \\\"x\\\".md";
        let text = "see [[M\\u00f6ss]]\\n";
        let lost = "\\u005b[lost]]";
        let document = |[first, second, third]: [&str; 3]| {
            let nodes = [
                node("file", first),
                node("file", "other.md"),
                node("text", second),
                node("text", third),
                "{\"type\":\"text\",\"text\":\"file: a/Möss\"}".to_owned(),
            ];
            let nodes = nodes.join(",\n    ");
            format!("{{\n  \"nodes\": [\n    {nodes}\n  ],\n  \"edges\": []\n}}\n")
        };
        let expected = document(["b/fern.md", "see [[fern]]\\n", lost]);
        assert_eq!(moved(&document([file, text, lost])), Some((expected, 2, 2)));
        let unchanged = document(["x", "y", lost]);
        assert_eq!(moved(&unchanged), Some((unchanged.clone(), 0, 2)));
        for document in [
            "",
            "[]",
            "{}",
            "{\"nodes\": 1}",
            "{\"nodes\":[{\"file\":\"x\"}]}",
            "{\"nodes\":[{\"type\":\"text\"},{\"type\":\"file\",\"file\":1}]}",
            "{\"nodes\":[\"",
        ] {
            assert_eq!(moved(document), None, "{document}");
        }
        // A member of another kind has the same value, so the document is left as it is.
        let other =
            node("group", "x").replace("\"group\" :", &format!("\"file\": \"{file}\", \"label\":"));
        let both = format!("{{\"nodes\":[{},{other}]}}", node("file", file));
        assert_eq!(moved(&both), Some((both.clone(), 0, 1)));
    }
}
