//! Renders why a note is missing from the hits.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{MissReason, NoteRef, WhyNotResponse};

use super::next;
use super::search::parts;
use super::text::{DIM, GOOD, NOTICE, STRONG, harmless, paint};
use crate::hint::Hint;

/// Formats the stage that dropped a note, the rank it would have had, and the parts of its score.
pub(crate) fn why_not(answer: &WhyNotResponse, hint: &Hint) -> String {
    let WhyNotResponse {
        note,
        miss_reason: _,
        reason,
        failed_filters: _,
        margin,
        rank,
        hit,
        warnings,
        generation: _,
    } = answer;
    let NoteRef { uri, title } = note.clone().unwrap_or_default();
    let mut out = format!("{} {}\n", paint(STRONG, &harmless(&title)), paint(DIM, &harmless(&uri)));
    let style = if answer.miss_reason() == MissReason::None { GOOD } else { NOTICE };
    let _ = writeln!(out, "{}", paint(style, &harmless(reason)));
    if let Some(margin) = margin {
        let _ = writeln!(out, "It missed the threshold by {margin:.3}.");
    }
    match (rank, answer.miss_reason()) {
        (Some(rank), MissReason::None | MissReason::Limit) => {
            let _ = writeln!(out, "Its rank is {rank}.");
        }
        (Some(rank), _) => {
            let _ = writeln!(out, "Otherwise its rank would be {rank}.");
        }
        (None, _) => {}
    }
    out.push_str(&super::warnings(warnings));
    if let Some(hit) = hit
        && let Some(explanation) = &hit.explanation
    {
        out.push_str(&parts(hit, explanation));
    }
    if answer.miss_reason() != MissReason::NotIndexed {
        out.push_str(&next(&[&hint.command("get", &[&uri], &[])]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn miss_reason_shows_margin_and_rank() {
        let answer = WhyNotResponse {
            note: Some(NoteRef { uri: "plants/moss".into(), title: "Moss".into() }),
            miss_reason: MissReason::Limit.into(),
            reason: "it is ranked below the last requested hit".into(),
            margin: Some(0.0125),
            rank: Some(14),
            ..WhyNotResponse::default()
        };
        let text = why_not(&answer, &Hint::daemon(None));
        let plain = anstream::adapter::strip_str(&text).to_string();
        let lines: Vec<&str> = plain.lines().collect();
        assert_eq!(
            lines[..4],
            [
                "Moss plants/moss",
                "it is ranked below the last requested hit",
                "It missed the threshold by 0.013.",
                "Its rank is 14."
            ]
        );
        let filtered = WhyNotResponse { miss_reason: MissReason::Filter.into(), ..answer };
        assert!(why_not(&filtered, &Hint::daemon(None)).contains("Otherwise its rank would be 14"));
    }
}
