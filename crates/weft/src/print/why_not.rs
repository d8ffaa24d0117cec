//! Why a note is no hit.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{Loss, NoteRef, WhyNotResponse};

use super::next;
use super::search::parts;
use super::text::{DIM, GOOD, NOTICE, STRONG, harmless, paint};
use crate::hint::Hint;

/// The stage at which a note was lost, the rank it would have had, and the parts of its score.
pub(crate) fn why_not(answer: &WhyNotResponse, hint: &Hint) -> String {
    let WhyNotResponse {
        note,
        loss: _,
        reason,
        failed: _,
        margin,
        rank,
        hit,
        degraded,
        generation: _,
    } = answer;
    let NoteRef { uri, title } = note.clone().unwrap_or_default();
    let mut out = format!("{} {}\n", paint(STRONG, &harmless(&title)), paint(DIM, &harmless(&uri)));
    let style = if answer.loss() == Loss::None { GOOD } else { NOTICE };
    let _ = writeln!(out, "{}", paint(style, &harmless(reason)));
    if let Some(margin) = margin {
        let _ = writeln!(out, "It missed by {margin:.3}.");
    }
    match (rank, answer.loss()) {
        (Some(rank), Loss::None | Loss::Limit) => {
            let _ = writeln!(out, "Its rank is {rank}.");
        }
        (Some(rank), _) => {
            let _ = writeln!(out, "Let through, it would have had rank {rank}.");
        }
        (None, _) => {}
    }
    out.push_str(&super::degraded(degraded));
    if let Some(hit) = hit
        && let Some(explanation) = &hit.explanation
    {
        out.push_str(&parts(hit, explanation));
    }
    if answer.loss() != Loss::NotIndexed {
        out.push_str(&next(&[&hint.command(&["get", &uri])]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_told_with_its_margin_and_rank() {
        let answer = WhyNotResponse {
            note: Some(NoteRef { uri: "plants/moss".into(), title: "Moss".into() }),
            loss: Loss::Limit.into(),
            reason: "it comes after the last hit that was asked for".into(),
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
                "it comes after the last hit that was asked for",
                "It missed by 0.013.",
                "Its rank is 14."
            ]
        );
        let filtered = WhyNotResponse { loss: Loss::Filter.into(), ..answer };
        assert!(why_not(&filtered, &Hint::daemon(None)).contains("would have had rank 14"));
    }
}
