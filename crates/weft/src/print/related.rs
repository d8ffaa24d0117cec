//! Renders the neighborhood of a note.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{
    FocusNote, RelatedNote, RelatedResponse, Relation, RelationSet, SkippedNote,
};

use super::next;
use super::text::{
    DIM, FAINT_TITLE, STRONG, bar, columns, counted, grouped, hanging, harmless, harmless_lines,
    padded, paint, wrap,
};
use crate::hint::Hint;

/// Lines shown of a note's text.
const EXCERPT_LINES: usize = 2;

/// Maximum number of skipped notes that are listed before the rest is counted.
const SHOWN_SKIPPED: usize = 5;

/// Formats the focus note, then the related notes, best first.
pub(crate) fn related(answer: &RelatedResponse) -> String {
    let mut out = answer.focus_note.as_ref().map(focus).unwrap_or_default();
    for (rank, note) in (1..).zip(&answer.related_notes) {
        out.push('\n');
        out.push_str(&related_note(rank, note));
    }
    out
}

fn focus(note: &FocusNote) -> String {
    let mut out = format!("{}\n", paint(STRONG, &harmless(&note.title)));
    let dim = |line: &str| format!("{}\n", paint(DIM, line));
    out.push_str(&dim(&harmless(&note.uri)));
    if !note.contextual_path.is_empty() {
        let path: Vec<String> =
            note.contextual_path.iter().map(|above| harmless(&above.title)).collect();
        out.push_str(&dim(&format!("in {}", path.join(" › "))));
    }
    if let Some(object) = &note.object {
        out.push_str(&dim(&format!("object {}", harmless(&object.title))));
    }
    out.push_str(&excerpt(&note.title, &note.details, ""));
    for (name, notes) in [
        ("siblings before", &note.prior_siblings),
        ("siblings after", &note.younger_siblings),
        ("children", &note.children),
        ("referring notes", &note.referrings),
    ] {
        let titles: Vec<String> = notes.iter().map(|note| harmless(&note.title)).collect();
        out.push_str(&listed(name, &titles));
    }
    out
}

/// Formats a label with its items; an empty string without items.
fn listed(name: &str, items: &[String]) -> String {
    const INDENT: usize = 17;
    if items.is_empty() {
        return String::new();
    }
    let items = hanging(&items.join(" · "), INDENT);
    format!("{}{items}\n", paint(FAINT_TITLE, &padded(name, INDENT)))
}

fn related_note(rank: usize, note: &RelatedNote) -> String {
    let mut out = format!(
        "{} {}\n",
        paint(DIM, &format!("{rank:>2}.")),
        paint(STRONG, &harmless(&note.title))
    );
    let mut about = vec![harmless(&note.uri)];
    about.extend(note.object.iter().map(|object| format!("object {}", harmless(&object.title))));
    about.extend(note.also_relations().map(|also| format!("also {}", with_topic(also, note))));
    about.push(counted(note.tokens, "token", "tokens"));
    if note.truncated {
        about.push("cut".to_owned());
    }
    let _ = writeln!(
        out,
        "    {} {}",
        paint(FAINT_TITLE, &reason(note)),
        paint(DIM, &format!("· {}", about.join(" · ")))
    );
    out.push_str(&excerpt(&note.title, &note.details, "    "));
    out
}

/// Returns the beginning of a text, without a heading that repeats the title.
fn excerpt(title: &str, details: &str, indent: &str) -> String {
    let text = harmless_lines(details);
    let text = text.trim_start();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let repeats = first.strip_prefix("# ").is_some_and(|heading| heading.trim() == title);
    let text = if repeats { rest } else { text };
    let columns = columns();
    // One more line than is shown, to know whether the text continues.
    let beginning = text.chars().take((EXCERPT_LINES + 1) * columns);
    let plain: Vec<(char, bool)> = beginning.map(|c| (c, false)).collect();
    let wrapped = wrap(&plain, columns.saturating_sub(2), indent);
    let mut lines = wrapped.lines();
    let shown: Vec<&str> = lines.by_ref().take(EXCERPT_LINES).collect();
    match (shown.is_empty(), lines.next()) {
        (true, _) => String::new(),
        (false, None) => shown.join("\n") + "\n",
        (false, Some(_)) => shown.join("\n") + " …\n",
    }
}

/// Formats the ledger: the cost, the notes that did not fit, and the next command.
pub(crate) fn related_ledger(answer: &RelatedResponse, hint: &Hint) -> String {
    let RelatedResponse {
        focus_note,
        related_notes,
        budget,
        used,
        remaining: _,
        focus_tokens,
        skipped,
        skipped_truncated,
        resume_token,
        generation: _,
        rendered: _,
        warnings: _,
        relations: _,
    } = answer;
    let share = if *budget == 0 { 0.0 } else { *used as f64 / *budget as f64 };
    let notes = counted(related_notes.len() as u64, "related note", "related notes");
    let by = match answer.relations() {
        RelationSet::Structure => " by structure only",
        RelationSet::Auto | RelationSet::Unspecified => "",
    };
    let mut out = format!(
        "\n{} {notes}{by}, {} of {}; {} more for the note itself\n",
        paint(FAINT_TITLE, &bar(share)),
        grouped(*used),
        counted(*budget, "token", "tokens"),
        grouped(*focus_tokens),
    );
    let mut too_large: Vec<String> = skipped
        .iter()
        .take(SHOWN_SKIPPED)
        .map(|SkippedNote { uri, tokens, relation: _ }| {
            format!("{} ({})", harmless(uri), grouped(*tokens))
        })
        .collect();
    if let Some(more @ 1..) = skipped.len().checked_sub(SHOWN_SKIPPED) {
        too_large.push(format!("{more} more"));
    }
    out.push_str(&listed("too large", &too_large));
    if *skipped_truncated {
        let _ = writeln!(
            out,
            "{}",
            paint(DIM, "More notes follow; the page ended at the limit on skipped notes.")
        );
    }
    let is_alone = related_notes.is_empty() && skipped.is_empty() && *budget > 0;
    if let (true, Some(FocusNote { uri, .. })) = (is_alone, focus_note) {
        let (why, command) = match answer.relations() {
            RelationSet::Structure => (
                "It has no parent, child, sibling or referring note. --relations auto follows links, folders, topics and similar texts too.",
                hint.command("related", &[uri], &["--relations", "auto"]),
            ),
            RelationSet::Auto | RelationSet::Unspecified => (
                "No note is linked with it, shares its folder or a topic, or is known to be similar.",
                hint.command("get", &[uri], &[]),
            ),
        };
        let _ = writeln!(out, "{}", paint(DIM, why));
        out.push_str(&next(&[&command]));
        return out;
    }
    match (resume_token, related_notes.first(), focus_note) {
        // With a budget of 0, the next page would equal this one.
        (Some(token), _, _) if *budget > 0 => {
            out.push_str(&next(&[&hint.again("--resume", token)]))
        }
        (_, Some(RelatedNote { uri, .. }), _) | (_, None, Some(FocusNote { uri, .. })) => {
            out.push_str(&next(&[&hint.command("get", &[uri], &[])]));
        }
        (_, None, None) => {}
    }
    out
}

/// Returns why a note is related, in words for people.
fn reason(note: &RelatedNote) -> String {
    let relation = with_topic(note.relation(), note);
    match (note.similarity, note.in_folder) {
        (Some(similarity), _) => format!("{relation} {similarity:.2}"),
        (None, true) if note.relation() != Relation::SameFolder => {
            format!("{relation} in its folder")
        }
        (None, _) => relation,
    }
}

/// Returns a relation of a note in words for people, with the topic if it shares one.
fn with_topic(relation: Relation, note: &RelatedNote) -> String {
    match &note.topic {
        Some(topic) if relation == Relation::TopicSibling => {
            format!("{} {}", words(relation), harmless(&topic.title))
        }
        Some(_) | None => words(relation).to_owned(),
    }
}

/// Returns a relation in words for people.
const fn words(relation: Relation) -> &'static str {
    match relation {
        Relation::Unspecified => "related",
        Relation::Self_ => "itself",
        Relation::Parent => "parent",
        Relation::Object => "object",
        Relation::Child => "child",
        Relation::PriorSibling => "sibling before",
        Relation::YoungerSibling => "sibling after",
        Relation::ReferringNote => "refers to it",
        Relation::NoteInContextualPath => "ancestor",
        Relation::NoteInObjectContextualPath => "ancestor of its object",
        Relation::ReifiedChildObject => "object of a child",
        Relation::ParentSibling => "sibling of its parent",
        Relation::ObjectParentSibling => "sibling of its object's parent",
        Relation::ReferringSubject => "parent of a referring note",
        Relation::SiblingOfTarget => "has the same object",
        Relation::ParentSiblingChild => "cousin",
        Relation::ObjectParentSiblingChild => "cousin of its object",
        Relation::NoteInReferringContextualPath => "ancestor of a referring note",
        Relation::ReferringCousin => "sibling of a referring note",
        Relation::Linked => "linked from it",
        Relation::LinkedFrom => "links to it",
        Relation::TopicSibling => "shares the topic",
        Relation::Similar => "similar",
        Relation::SameFolder => "near it in its folder",
    }
}

#[cfg(test)]
mod tests {
    use weft_proto::noteweft::v1::NoteRef;

    use super::*;

    fn reference(title: &str) -> NoteRef {
        NoteRef { uri: title.to_lowercase(), title: title.to_owned() }
    }

    fn answer() -> RelatedResponse {
        let focus = FocusNote {
            uri: "fern".into(),
            title: "Fern".into(),
            details: "# Fern\nLikes it wet.\n".into(),
            object: Some(reference("Shade")),
            contextual_path: vec![reference("Garden"), reference("Bed")],
            prior_siblings: vec![reference("Moss"), reference("Ivy")],
            ..FocusNote::default()
        };
        let moss = RelatedNote {
            uri: "moss".into(),
            title: "Moss".into(),
            details: "soft ".repeat(300),
            truncated: true,
            relation: Relation::PriorSibling.into(),
            also_relations: vec![Relation::ReferringNote.into()],
            tokens: 1270,
            ..RelatedNote::default()
        };
        RelatedResponse {
            focus_note: Some(focus),
            related_notes: vec![moss],
            budget: 2540,
            used: 1270,
            remaining: 1270,
            focus_tokens: 30,
            ..RelatedResponse::default()
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn focus_note_precedes_related_notes() {
        let text = plain(&related(&answer()));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..8],
            [
                "Fern",
                "fern",
                "in Garden › Bed",
                "object Shade",
                "Likes it wet.",
                "siblings before  Moss · Ivy",
                "",
                " 1. Moss",
            ]
        );
        assert_eq!(lines[8], "    sibling before · moss · also refers to it · 1,270 tokens · cut");
        assert_eq!(lines.len(), 11, "{text}");
        assert!(lines[10].ends_with("soft …") && lines[10].chars().count() <= columns(), "{text}");
    }

    #[test]
    fn topic_of_a_further_relation_is_named() {
        let note = RelatedNote {
            uri: "moss".into(),
            relation: Relation::PriorSibling.into(),
            also_relations: vec![Relation::TopicSibling.into()],
            topic: Some(reference("Shade")),
            in_folder: true,
            tokens: 9,
            ..RelatedNote::default()
        };
        let about =
            "    sibling before in its folder · moss · also shares the topic Shade · 9 tokens";
        assert_eq!(plain(&related_note(1, &note)).lines().nth(1), Some(about));
    }

    #[test]
    fn ledger_lists_skipped_notes_and_next_page() {
        let skipped =
            |n: usize| SkippedNote { uri: format!("n{n}"), tokens: 9, ..SkippedNote::default() };
        let hint = Hint::daemon(None);
        let whole = plain(&related_ledger(&answer(), &hint));
        assert!(
            whole.contains("█████      1 related note, 1,270 of 2,540 tokens; 30 more for"),
            "{whole}"
        );
        assert!(whole.ends_with("get moss\n"), "{whole}");
        let cut = RelatedResponse {
            skipped: (0..7).map(skipped).collect(),
            resume_token: Some("3.0.ab.9".into()),
            ..answer()
        };
        let cut = plain(&related_ledger(&cut, &hint));
        assert!(
            cut.contains("\ntoo large        n0 (9) · n1 (9)")
                && cut.contains("n4 (9) · 2 more\n")
                && cut.ends_with(" --resume 3.0.ab.9\n"),
            "{cut}"
        );
        let empty = plain(&related_ledger(&RelatedResponse::default(), &hint));
        assert!(empty.contains("0 related notes, 0 of 0 tokens"), "{empty}");
    }
}
