//! Hits, and how they came about.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{
    Connection, Explanation, Hit, HitExplanation, Origin, Part, Profile, SearchResponse, Seed,
    Snippet, Weights,
};

use super::next;
use super::text::{DIM, FAINT_TITLE, STRONG, bar, columns, counted, harmless, padded, paint, wrap};
use crate::hint::Hint;

/// Notes of which only some links were followed that are named before the rest is counted.
const NAMED: usize = 5;

/// Rare words of a hit that are shown before the rest is counted.
const SHOWN_WORDS: usize = 5;

/// Ranked hits, each with its passages, and the command that reads the best one.
pub(crate) fn search(query: &str, answer: &SearchResponse, hint: &Hint) -> String {
    let SearchResponse { hits, generation: _, truncated, degraded, capped, explanation } = answer;
    let mut out = String::new();
    out.push_str(&super::degraded(degraded));
    let Some(best) = hits.first() else {
        let _ = writeln!(out, "Nothing answers to {}.", paint(STRONG, &harmless(query)));
        out.push_str(&next(&[&hint.command(&["list"])]));
        return out;
    };
    for (at, hit) in hits.iter().enumerate() {
        out.push_str(&one_hit(at + 1, hit, best.score));
        out.push('\n');
    }
    if *truncated {
        let verb = if hits.len() == 1 { "is" } else { "are" };
        let shown = counted(hits.len() as u64, "hit", "hits");
        let more = format!("There {verb} more than {shown}; --limit shows them.");
        let _ = writeln!(out, "{}", paint(DIM, &more));
    }
    match explanation {
        Some(explanation) => out.push_str(&how(explanation, capped)),
        None if capped.is_empty() => {}
        None => {
            let cut = format!("Of {} only some links were followed.", named(capped));
            let _ = writeln!(out, "{}", paint(DIM, &cut));
        }
    }
    out.push_str(&next(&[&hint.command(&["get", &best.uri])]));
    out
}

/// The first of these notes, and how many more there are.
fn named(uris: &[String]) -> String {
    let (first, rest) = uris.split_at(uris.len().min(NAMED));
    let mut names = first.iter().map(|uri| harmless(uri)).collect::<Vec<_>>().join(", ");
    if !rest.is_empty() {
        let _ = write!(names, " and {} more", rest.len());
    }
    names
}

fn one_hit(rank: usize, hit: &Hit, top: f64) -> String {
    let columns = columns();
    let title = harmless(&hit.title);
    let share = if top > 0.0 { hit.score / top } else { 0.0 };
    let score = format!("{} {:.2}", bar(share), hit.score);
    let room = columns.saturating_sub(score.chars().count() + 6);
    let mut out = format!(
        "{} {} {}\n",
        paint(DIM, &format!("{rank:>2}.")),
        paint(STRONG, &padded(&title, room)),
        paint(FAINT_TITLE, &score)
    );
    let mut about = vec![harmless(&hit.uri)];
    match hit.origin() {
        Origin::Vector => about.push("by meaning".to_owned()),
        Origin::Keyword => about.push("by word".to_owned()),
        Origin::Both => about.push("by meaning and word".to_owned()),
        Origin::Expanded | Origin::Unspecified => {}
    }
    about.extend(lifted(hit));
    if !hit.fresh {
        about.push("vectors pending".to_owned());
    }
    let _ = writeln!(out, "    {}", paint(DIM, &about.join(" · ")));
    if let Some(explanation) = &hit.explanation {
        out.push_str(&parts(hit, explanation));
    }
    // The title stands above already; the same headings need not be said twice.
    let mut said: &[String] = std::slice::from_ref(&hit.title);
    for snippet in &hit.snippets {
        if snippet.heading_path != said && !snippet.heading_path.is_empty() {
            let path: Vec<String> =
                snippet.heading_path.iter().map(|name| harmless(name)).collect();
            let _ = writeln!(out, "    {}", paint(DIM, &path.join(" › ")));
        }
        said = &snippet.heading_path;
        out.push_str(&passage(snippet, columns));
    }
    out
}

/// How a hit is connected with the one that lifts it.
fn lifted(hit: &Hit) -> Option<String> {
    let via = harmless(hit.via.as_deref()?);
    Some(match hit.via_kind() {
        Connection::Link => format!("linked from {via}"),
        Connection::Backlink => format!("links to {via}"),
        Connection::SharedWords => format!("shares words with {via}"),
        Connection::Topic => format!("shares a topic with {via}"),
        Connection::Unspecified => format!("via {via}"),
    })
}

/// The parts of a score, one a line.
pub(super) fn parts(hit: &Hit, explanation: &HitExplanation) -> String {
    let HitExplanation { parts, strength, remainder } = explanation;
    let mut out = String::new();
    for Part { signal, raw, normalised, weight, contribution } in parts {
        let made_of = match &**signal {
            "similarity" => {
                let mut of =
                    format!("meaning {:.2}, words {:.2}", hit.vector_score, hit.keyword_score);
                if hit.name_score > 0.0 {
                    let _ = write!(of, ", name {:.2}", hit.name_score);
                }
                of
            }
            "centrality" => {
                let n = format!("{raw:.0}");
                format!("{n} {}", if n == "1" { "neighbour" } else { "neighbours" })
            }
            _ if hit.via.is_none() => String::new(),
            _ => format!("strength {strength:.2}, rest {remainder:.2}"),
        };
        let sum = format!("{normalised:.2} × {weight:.2} = {contribution:.3}");
        let line = format!("    {signal} {} {sum}", paint(FAINT_TITLE, &bar(*normalised)));
        let made_of =
            if made_of.is_empty() { made_of } else { format!("  {}", paint(DIM, &made_of)) };
        let _ = writeln!(out, "{line}{made_of}");
    }
    out
}

/// How the answer came about, below the hits.
fn how(explanation: &Explanation, capped: &[String]) -> String {
    let Explanation {
        profile,
        weights,
        vector_share,
        expressed,
        words,
        seeds,
        n_seeds_left_out,
        activation_floor,
        expansion_floor,
        pool,
        stages,
    } = explanation;
    let profile = match Profile::try_from(*profile) {
        Ok(Profile::Bridge) => "bridge",
        Ok(Profile::Classic) => "classic",
        Ok(Profile::Unspecified) | Err(_) => "another",
    };
    let Weights { similarity, centrality, activation } = weights.unwrap_or_default();
    let mut out = format!("{}\n", paint(STRONG, "How it was ranked"));
    let mut row = |name: &str, text: &str| {
        let marked: Vec<(char, bool)> = text.chars().map(|c| (c, false)).collect();
        let lines = wrap(&marked, columns(), "              ");
        let _ = write!(out, "  {}{}", paint(DIM, &padded(name, 12)), lines.trim_start());
    };
    row(
        "profile",
        &format!(
            "{profile}: {similarity:.2} similarity + {centrality:.2} centrality + {activation:.2} activation"
        ),
    );
    let mut similarity = format!("{vector_share:.2} meaning + {:.2} words", 1.0 - vector_share);
    if *expressed < 0.995 {
        let _ = write!(similarity, "; the model can express {expressed:.2} of the query");
    }
    row("similarity", &similarity);
    let words: Vec<String> = words
        .iter()
        .map(|word| {
            format!("{} ({})", harmless(&word.word), counted(word.n_notes.into(), "note", "notes"))
        })
        .collect();
    row("words", &if words.is_empty() { "none".to_owned() } else { words.join(", ") });
    if *activation_floor > 0.0 || *expansion_floor > 0.0 {
        let floors = format!(
            "hits of {activation_floor:.2} activate others, neighbours of hits of {expansion_floor:.2} are ranked"
        );
        row("floors", &floors);
    }
    for Seed { uri, similarity, degree, words, n_reached, capped: _ } in seeds {
        let shown: Vec<String> =
            words.iter().take(SHOWN_WORDS).map(|word| harmless(word)).collect();
        let by_words =
            if shown.is_empty() { String::new() } else { format!("; by {}", shown.join(", ")) };
        let more = words
            .len()
            .checked_sub(SHOWN_WORDS + 1)
            .map_or_else(String::new, |n| format!(" and {} more", n + 1));
        row(
            "around",
            &format!(
                "{} ({similarity:.2}): {}, {} reached{by_words}{more}",
                harmless(uri),
                counted((*degree).into(), "neighbour", "neighbours"),
                counted((*n_reached).into(), "note", "notes"),
            ),
        );
    }
    if *n_seeds_left_out > 0 {
        row("", &format!("and {n_seeds_left_out} more that were not looked around"));
    }
    if !capped.is_empty() {
        row("only partly", &named(capped));
    }
    let by = |origin: Origin| pool.iter().filter(|found| found.origin() == origin).count();
    row(
        "candidates",
        &format!(
            "{}: {} by meaning, {} by word, {} by both, {} by connection",
            pool.len(),
            by(Origin::Vector),
            by(Origin::Keyword),
            by(Origin::Both),
            by(Origin::Expanded)
        ),
    );
    let times: Vec<String> = stages
        .iter()
        .map(|stage| format!("{} {:.2}", stage.name, stage.micros as f64 / 1e3))
        .collect();
    row("times in ms", &times.join(", "));
    out.push('\n');
    out
}

/// A passage with the matched words marked, and dots where it begins inside a text.
fn passage(snippet: &Snippet, columns: usize) -> String {
    let Snippet { text, start, end: _, heading_path: _, matches } = snippet;
    let is_marked = |at: u32| matches.iter().any(|span| (span.start..span.end).contains(&at));
    let dots = (*start > 0).then_some(('…', false));
    let text = (*start..).zip(text.chars()).map(|(at, c)| (c, is_marked(at)));
    let marked: Vec<(char, bool)> = dots.into_iter().chain(text).collect();
    wrap(&marked, columns, "    ")
}

#[cfg(test)]
mod tests {
    use weft_proto::noteweft::v1::{Candidate, QueryWord, Span, Stage};

    use super::*;

    fn hit() -> Hit {
        let snippet = Snippet {
            text: "soft moss".into(),
            start: 10,
            end: 19,
            heading_path: vec!["Ground".into()],
            matches: vec![Span { start: 15, end: 19 }],
        };
        Hit {
            uri: "plants/moss".into(),
            title: "Moss".into(),
            score: 0.5,
            origin: Origin::Both.into(),
            fresh: true,
            snippets: vec![snippet],
            ..Hit::default()
        }
    }

    fn shown(answer: &SearchResponse) -> String {
        let text = search("moss", answer, &Hint::daemon(None));
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn a_hit_marks_the_words_that_match() {
        let answer = SearchResponse { hits: vec![hit()], ..SearchResponse::default() };
        let plain = shown(&answer);
        let lines: Vec<&str> = plain.lines().collect();
        assert!(
            lines[0].starts_with(" 1. Moss") && lines[0].ends_with("██████████ 0.50"),
            "{plain}"
        );
        assert_eq!(lines[1], "    plants/moss · by meaning and word");
        assert_eq!(lines[2..4], ["    Ground", "    …soft moss"]);
        assert!(lines.last().unwrap().ends_with("get plants/moss"), "{plain}");
        let text = search("moss", &answer, &Hint::daemon(None));
        assert!(text.contains(&paint(super::super::text::MATCH, "moss")));
    }

    #[test]
    fn an_explained_hit_shows_its_parts() {
        let part = |signal: &str, raw, normalised| Part {
            signal: signal.into(),
            raw,
            normalised,
            weight: 0.5,
            contribution: normalised * 0.5,
        };
        let hit = Hit {
            via: Some("fern".into()),
            via_kind: Connection::Backlink.into(),
            vector_score: 0.3,
            explanation: Some(HitExplanation {
                parts: vec![
                    part("similarity", 0.5, 0.5),
                    part("centrality", 1.0, 0.1),
                    part("activation", 0.6, 0.25),
                ],
                strength: 0.6,
                remainder: 0.4,
            }),
            ..hit()
        };
        let explanation = Explanation {
            profile: Profile::Bridge.into(),
            words: vec![QueryWord { word: "moss".into(), n_notes: 2, ..QueryWord::default() }],
            seeds: vec![Seed { uri: "fern".into(), degree: 1, ..Seed::default() }],
            stages: vec![Stage { name: "question".into(), micros: 1_500 }],
            pool: vec![Candidate { origin: Origin::Both.into(), ..Candidate::default() }],
            ..Explanation::default()
        };
        let answer = SearchResponse {
            hits: vec![hit],
            explanation: Some(explanation),
            ..SearchResponse::default()
        };
        let plain = shown(&answer);
        for line in [
            "    plants/moss · by meaning and word · links to fern",
            "    similarity █████      0.50 × 0.50 = 0.250  meaning 0.30, words 0.00",
            "    centrality █          0.10 × 0.50 = 0.050  1 neighbour",
            "    activation ██▌        0.25 × 0.50 = 0.125  strength 0.60, rest 0.40",
            "  words       moss (2 notes)",
            "  times in ms question 1.50",
            "  around      fern (0.00): 1 neighbour, 0 notes reached",
            "  candidates  1: 0 by meaning, 0 by word, 1 by both, 0 by connection",
        ] {
            assert!(plain.lines().any(|shown| shown == line), "{line}\n{plain}");
        }
    }

    #[test]
    fn no_hit_is_an_answer() {
        assert!(shown(&SearchResponse::default()).contains("Nothing answers"));
    }
}
