//! Renders the notes near a note.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{NoteRef, Sibling, SiblingKind, TopicSiblingsResponse};

use super::next;
use super::text::{
    DIM, FAINT_TITLE, NOTICE, STRONG, bar, columns, counted, harmless, padded, paint,
};
use crate::hint::Hint;

/// Formats neighbors and notes that share a topic, best first.
pub(crate) fn siblings(answer: &TopicSiblingsResponse, hint: &Hint) -> String {
    let TopicSiblingsResponse {
        note,
        siblings,
        truncated,
        fanout_limited,
        generation: _,
        warnings: _,
    } = answer;
    let NoteRef { uri, title } = note.clone().unwrap_or_default();
    let mut out =
        format!("{}\n{}\n", paint(STRONG, &harmless(&title)), paint(DIM, &harmless(&uri)));
    if siblings.is_empty() {
        out.push_str("No note is linked with it or shares a topic with it.\n");
    }
    for Sibling { uri, path: _, title: _, score, kind: _, via } in siblings {
        let score = format!("{} {score:.2}", bar(*score));
        let room = columns().saturating_sub(score.chars().count() + 1);
        let name = padded(&harmless(uri), room);
        let _ = writeln!(out, "{name} {}", paint(FAINT_TITLE, &score));
        if let Some(topic) = via {
            let _ = writeln!(out, "  {}", paint(DIM, &format!("shares {}", harmless(topic))));
        }
    }
    if *truncated {
        let shown = counted(siblings.len() as u64, "note", "notes");
        let _ = writeln!(
            out,
            "{}",
            paint(DIM, &format!("More than {shown} found; raise --limit to see more."))
        );
    }
    if !fanout_limited.is_empty() {
        let names: Vec<String> = fanout_limited.iter().map(|uri| harmless(uri)).collect();
        let _ = writeln!(
            out,
            "{} only some links were followed from {}",
            paint(NOTICE, "fan-out limit:"),
            names.join(", ")
        );
    }
    let shares = |found: &&Sibling| found.kind() == SiblingKind::Sibling;
    if let Some(first) = siblings.iter().find(shares).or(siblings.first()) {
        out.push_str(&next(&[&hint.command("path", &[&uri, &first.uri], &[])]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_show_their_topic() {
        let sibling = |uri: &str, score, kind: SiblingKind, via: Option<&str>| Sibling {
            uri: uri.into(),
            score,
            kind: kind.into(),
            via: via.map(Into::into),
            ..Sibling::default()
        };
        let answer = TopicSiblingsResponse {
            note: Some(NoteRef { uri: "a".into(), title: "A".into() }),
            siblings: vec![
                sibling("b", 1.0, SiblingKind::Direct, None),
                sibling("c", 0.25, SiblingKind::Sibling, Some("t")),
            ],
            fanout_limited: vec!["t".into()],
            ..TopicSiblingsResponse::default()
        };
        let text = siblings(&answer, &Hint::daemon(None));
        let plain = anstream::adapter::strip_str(&text).to_string();
        let lines: Vec<&str> = plain.lines().collect();
        assert!(lines[2].starts_with("b ") && lines[2].ends_with("██████████ 1.00"), "{plain}");
        assert_eq!(
            lines[4..6],
            ["  shares t", "fan-out limit: only some links were followed from t"],
            "{plain}"
        );
        assert!(lines[6].ends_with("path a c"), "{plain}");
    }
}
