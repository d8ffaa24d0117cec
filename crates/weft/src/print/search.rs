//! Renders search hits and their explanation.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{
    Connection, Explanation, Hit, HitExplanation, Origin, Profile, QueryWord, Reranker, Reranking,
    ScorePart, SearchResponse, Seed, Snippet, Weights,
};

use super::next;
use super::text::{DIM, FAINT_TITLE, STRONG, bar, columns, counted, harmless, padded, paint, wrap};
use crate::hint::Hint;

/// Maximum number of notes at the fan-out limit that are listed before the rest is counted.
const SHOWN_FANOUT_LIMITED: usize = 5;

/// Maximum number of rare words of a seed, and of terms of a prefix, that are listed before the rest is counted.
const SHOWN_WORDS: usize = 5;

/// Formats ranked hits, each with its passages, and the command that shows the best one.
pub(crate) fn search(query: &str, answer: &SearchResponse, hint: &Hint) -> String {
    let SearchResponse { hits, generation: _, truncated, warnings, fanout_limited, explanation } =
        answer;
    let mut out = String::new();
    out.push_str(&super::warnings(warnings));
    let Some(best) = hits.first() else {
        let _ = writeln!(out, "No hits for {}.", paint(STRONG, &harmless(query)));
        let (list, coverage) = (hint.command("list", &[], &[]), hint.command("coverage", &[], &[]));
        out.push_str(&next(&[&list, &coverage]));
        return out;
    };
    for (at, hit) in hits.iter().enumerate() {
        out.push_str(&one_hit(at + 1, hit, best.score));
        out.push('\n');
    }
    if *truncated {
        let shown = counted(hits.len() as u64, "hit", "hits");
        let more = format!("More than {shown} found; raise --limit to see more.");
        let _ = writeln!(out, "{}", paint(DIM, &more));
    }
    match explanation {
        Some(explanation) => out.push_str(&ranking(explanation, fanout_limited)),
        None if fanout_limited.is_empty() => {}
        None => {
            let cut = format!(
                "Fan-out limit: only some links were followed from {}.",
                listed(fanout_limited)
            );
            let _ = writeln!(out, "{}", paint(DIM, &cut));
        }
    }
    out.push_str(&next(&[&hint.command("get", &[&best.uri], &[])]));
    out
}

/// Lists the first of these notes and counts the rest.
fn listed(uris: &[String]) -> String {
    let (first, rest) = uris.split_at(uris.len().min(SHOWN_FANOUT_LIMITED));
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
        Origin::Keyword => about.push("by keyword".to_owned()),
        Origin::Both => about.push("by meaning and keyword".to_owned()),
        Origin::Expanded | Origin::Unspecified => {}
    }
    about.extend(connection(hit));
    if !hit.embedding_current {
        about.push("vectors pending".to_owned());
    }
    let _ = writeln!(out, "    {}", paint(DIM, &about.join(" · ")));
    if let Some(explanation) = &hit.explanation {
        out.push_str(&parts(hit, explanation));
    }
    // The title is printed above; equal headings are not repeated.
    let mut printed: &[String] = std::slice::from_ref(&hit.title);
    for snippet in &hit.snippets {
        if snippet.heading_path != printed && !snippet.heading_path.is_empty() {
            let path: Vec<String> =
                snippet.heading_path.iter().map(|name| harmless(name)).collect();
            let _ = writeln!(out, "    {}", paint(DIM, &path.join(" › ")));
        }
        printed = &snippet.heading_path;
        out.push_str(&passage(snippet, &hit.title, columns));
    }
    out
}

/// Formats the connection of a hit with the hit that raises it.
fn connection(hit: &Hit) -> Option<String> {
    let via = harmless(hit.via.as_deref()?);
    Some(match hit.connection() {
        Connection::Link => format!("linked from {via}"),
        Connection::Backlink => format!("links to {via}"),
        Connection::SharedWords => format!("shares words with {via}"),
        Connection::Topic => format!("shares a topic with {via}"),
        Connection::Unspecified => format!("via {via}"),
    })
}

/// Formats the parts of a score, one per line.
pub(super) fn parts(hit: &Hit, explanation: &HitExplanation) -> String {
    let HitExplanation { parts, connection_strength, remainder, name, cosine } = explanation;
    let mut out = String::new();
    for ScorePart { signal, raw, normalized, weight, contribution } in parts {
        let inputs = match &**signal {
            "similarity" => {
                let mut inputs = format!("vector {:.2}", hit.vector_score);
                if (cosine.clamp(0.0, 1.0) - hit.vector_score).abs() >= 0.005 {
                    let _ = write!(inputs, " (cosine {cosine:.2})");
                }
                let _ = write!(inputs, ", keyword {:.2}", hit.keyword_score);
                if hit.name_score > 0.0 {
                    let _ = write!(inputs, ", name {:.2}", hit.name_score);
                    if let Some(name) = name {
                        let _ = write!(inputs, " ({})", harmless(name));
                    }
                }
                inputs
            }
            "centrality" => {
                let n = format!("{raw:.0}");
                format!("{n} {}", if n == "1" { "neighbor" } else { "neighbors" })
            }
            "relevance" => String::new(),
            _ if hit.via.is_none() => String::new(),
            _ => format!("connection {connection_strength:.2}, remainder {remainder:.2}"),
        };
        let sum = format!("{normalized:.2} × {weight:.2} = {contribution:.3}");
        let line = format!("    {signal:<10} {} {sum}", paint(FAINT_TITLE, &bar(*normalized)));
        let inputs = if inputs.is_empty() { inputs } else { format!("  {}", paint(DIM, &inputs)) };
        let _ = writeln!(out, "{line}{inputs}");
    }
    out
}

/// Formats a term of the query with the terms it stands for.
fn query_word(word: &QueryWord) -> String {
    let QueryWord { word, count: _, note_count, idf: _, expansions } = word;
    let notes = counted((*note_count).into(), "note", "notes");
    let more = match expansions.len().checked_sub(SHOWN_WORDS) {
        Some(n @ 1..) => format!(" and {n} more"),
        Some(0) | None => String::new(),
    };
    let shown: Vec<String> = expansions.iter().take(SHOWN_WORDS).map(|it| harmless(it)).collect();
    let also =
        if shown.is_empty() { String::new() } else { format!(", also {}{more}", shown.join(" ")) };
    format!("{} ({notes}{also})", harmless(word))
}

/// Formats how the answer was ranked, below the hits.
fn ranking(explanation: &Explanation, fanout_limited: &[String]) -> String {
    let Explanation {
        profile,
        weights,
        vector_share,
        readable_share,
        keyword_weight,
        connection_weight,
        calibration: _,
        words,
        exact_words,
        seeds,
        omitted_seed_count,
        activation_floor,
        expansion_floor,
        candidates,
        stages,
        reranking,
    } = explanation;
    let profile = match Profile::try_from(*profile) {
        Ok(Profile::Bridge) => "bridge",
        Ok(Profile::Classic) => "classic",
        Ok(Profile::Unspecified) | Err(_) => "another",
    };
    let Weights { similarity, centrality, activation } = weights.unwrap_or_default();
    let mut out = format!("{}\n", paint(STRONG, "Ranking"));
    let mut row = |name: &str, text: &str| {
        let marked: Vec<(char, bool)> = text.chars().map(|c| (c, false)).collect();
        let lines = wrap(&marked, columns(), "              ");
        let _ = write!(out, "  {}{}", paint(DIM, &padded(name, 12)), lines.trim_start());
    };
    let relevance = reranking.as_ref().map(|it| format!(" + {:.2} relevance", it.weight));
    row(
        "profile",
        &format!(
            "{profile}: {similarity:.2} similarity + {centrality:.2} centrality + {activation:.2} activation{}",
            relevance.unwrap_or_default()
        ),
    );
    if let Some(Reranking { reranker, weight: _, note_count }) = reranking {
        let Reranker { name, runner } = reranker.clone().unwrap_or_default();
        let judged = counted((*note_count).into(), "note", "notes");
        row("reranker", &format!("{}, run by {runner}: {judged} judged", harmless(&name)));
    }
    let mut similarity = format!("{vector_share:.2} vector + {:.2} keyword", 1.0 - vector_share);
    if *readable_share <= 0.0 {
        similarity.push_str("; the model does not know the language of the query");
    } else if *readable_share < 0.995 {
        let _ =
            write!(similarity, "; the model's vocabulary covers {readable_share:.2} of the query");
    }
    if *keyword_weight < 0.995 {
        similarity.push_str("; notes contain few words of the query");
    }
    row("similarity", &similarity);
    let list = |words: &[QueryWord]| words.iter().map(query_word).collect::<Vec<_>>().join(", ");
    row("terms", &if words.is_empty() { "none".to_owned() } else { list(words) });
    if !exact_words.is_empty() {
        row("as typed", &list(exact_words));
    }
    if *activation_floor > 0.0 || *expansion_floor > 0.0 {
        let floors = format!(
            "hits from {activation_floor:.2} activate others, neighbors of hits from {expansion_floor:.2} are ranked"
        );
        row("floors", &floors);
    }
    if let Some(weight) = connection_weight.filter(|weight| *weight < 0.995) {
        let text = format!("count {weight:.2}: many hits are about as similar as the best one");
        row("connections", &text);
    }
    for Seed { uri, similarity, degree, words, reached_count, fanout_limited: _ } in seeds {
        let shown: Vec<String> =
            words.iter().take(SHOWN_WORDS).map(|word| harmless(word)).collect();
        let by_words =
            if shown.is_empty() { String::new() } else { format!("; words {}", shown.join(", ")) };
        let more = words
            .len()
            .checked_sub(SHOWN_WORDS + 1)
            .map_or_else(String::new, |n| format!(" and {} more", n + 1));
        row(
            "seed",
            &format!(
                "{} ({similarity:.2}): {}, {} reached{by_words}{more}",
                harmless(uri),
                counted((*degree).into(), "neighbor", "neighbors"),
                counted((*reached_count).into(), "note", "notes"),
            ),
        );
    }
    if *omitted_seed_count > 0 {
        row("", &format!("and {omitted_seed_count} more omitted by the seed limit"));
    }
    if !fanout_limited.is_empty() {
        row("fan-out", &format!("only some links followed from {}", listed(fanout_limited)));
    }
    let by = |origin: Origin| candidates.iter().filter(|found| found.origin() == origin).count();
    row(
        "candidates",
        &format!(
            "{}: {} by meaning, {} by keyword, {} by both, {} by connection",
            candidates.len(),
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

/// Formats a passage with its matches marked and its blocks apart, with dots where it starts or ends inside a sentence.
///
/// A heading at its start is omitted, because it is printed above, as the title is.
fn passage(snippet: &Snippet, title: &str, columns: usize) -> String {
    let Snippet { text, start: _, end: _, heading_path, matches, starts_inside, ends_inside } =
        snippet;
    let is_marked = |at: u32| matches.iter().any(|span| (span.start..span.end).contains(&at));
    let heading = heading_path.last().map_or(title, String::as_str);
    let is_repeated = text.split_once('\n').is_some_and(|(first, _)| first == heading);
    let n_omitted = if is_repeated { heading.chars().count() + 1 } else { 0 };
    let dots = |is_cut: bool| is_cut.then_some(('…', false));
    let mut marked: Vec<(char, bool)> = dots(*starts_inside && !is_repeated).into_iter().collect();
    let mut chars = (0..).zip(text.chars()).skip(n_omitted).peekable();
    while let Some((at, c)) = chars.next() {
        match (c, chars.peek()) {
            ('\n', Some((_, '•'))) => marked.push((' ', false)),
            ('\n', _) => marked.extend(" · ".chars().map(|c| (c, false))),
            (c, _) => marked.push((c, is_marked(at))),
        }
    }
    marked.extend(dots(*ends_inside));
    wrap(&marked, columns, "    ")
}

#[cfg(test)]
mod tests {
    use weft_proto::noteweft::v1::{Candidate, Span, Stage};

    use super::*;

    fn hit() -> Hit {
        let snippet = Snippet {
            text: "soft moss".into(),
            start: 10,
            end: 19,
            heading_path: vec!["Ground".into()],
            matches: vec![Span { start: 5, end: 9 }],
            starts_inside: true,
            ends_inside: false,
        };
        Hit {
            uri: "plants/moss".into(),
            title: "Moss".into(),
            score: 0.5,
            origin: Origin::Both.into(),
            embedding_current: true,
            snippets: vec![snippet],
            ..Hit::default()
        }
    }

    fn shown(answer: &SearchResponse) -> String {
        let text = search("moss", answer, &Hint::daemon(None));
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn hit_marks_matched_terms() {
        let answer = SearchResponse { hits: vec![hit()], ..SearchResponse::default() };
        let plain = shown(&answer);
        let lines: Vec<&str> = plain.lines().collect();
        assert!(
            lines[0].starts_with(" 1. Moss") && lines[0].ends_with("██████████ 0.50"),
            "{plain}"
        );
        assert_eq!(lines[1], "    plants/moss · by meaning and keyword");
        assert_eq!(lines[2..4], ["    Ground", "    …soft moss"]);
        assert!(lines.last().unwrap().ends_with("get plants/moss"), "{plain}");
        let text = search("moss", &answer, &Hint::daemon(None));
        assert!(text.contains(&paint(super::super::text::MATCH, "moss")));
    }

    #[test]
    fn passage_shows_where_blocks_start() {
        for (text, [starts_inside, ends_inside], expected) in [
            ("soft moss", [true, true], "    …soft moss…\n"),
            ("Soft moss.", [false, false], "    Soft moss.\n"),
            ("• soft\n• moss", [false, true], "    • soft • moss…\n"),
            ("Soft moss.\nGround\nWet.", [false, false], "    Soft moss. · Ground · Wet.\n"),
            ("Moss\nIt is soft.", [false, false], "    It is soft.\n"),
            ("moss\nit is soft", [true, false], "    …moss · it is soft\n"),
            ("Moss", [false, false], "    Moss\n"),
        ] {
            let text = text.into();
            let snippet = Snippet { text, starts_inside, ends_inside, ..Snippet::default() };
            assert_eq!(passage(&snippet, "Moss", 80), expected);
        }
    }

    #[test]
    fn explained_hit_shows_score_parts() {
        let part = |signal: &str, raw, normalized| ScorePart {
            signal: signal.into(),
            raw,
            normalized,
            weight: 0.5,
            contribution: normalized * 0.5,
        };
        let hit = Hit {
            via: Some("fern".into()),
            connection: Connection::Backlink.into(),
            vector_score: 0.3,
            explanation: Some(HitExplanation {
                parts: vec![
                    part("similarity", 0.5, 0.5),
                    part("centrality", 1.0, 0.1),
                    part("activation", 0.6, 0.25),
                    part("relevance", 0.9, 0.9),
                ],
                connection_strength: 0.6,
                remainder: 0.4,
                name: Some("moss".into()),
                cosine: 0.3,
            }),
            name_score: 1.0,
            ..hit()
        };
        let explanation = Explanation {
            profile: Profile::Bridge.into(),
            words: vec![
                QueryWord { word: "moss".into(), note_count: 2, ..QueryWord::default() },
                QueryWord {
                    word: "bar".into(),
                    note_count: 1,
                    expansions: ["bark", "barley"].map(str::to_owned).into(),
                    ..QueryWord::default()
                },
            ],
            exact_words: vec![QueryWord {
                word: "NET".into(),
                note_count: 1,
                ..QueryWord::default()
            }],
            seeds: vec![Seed { uri: "fern".into(), degree: 1, ..Seed::default() }],
            stages: vec![Stage { name: "query".into(), micros: 1_500 }],
            candidates: vec![Candidate { origin: Origin::Both.into(), ..Candidate::default() }],
            reranking: Some(Reranking {
                reranker: Some(Reranker { name: "judge".into(), runner: "rten".into() }),
                weight: 0.5,
                note_count: 1,
            }),
            ..Explanation::default()
        };
        let answer = SearchResponse {
            hits: vec![hit],
            explanation: Some(explanation),
            ..SearchResponse::default()
        };
        let plain = shown(&answer);
        for line in [
            "    plants/moss · by meaning and keyword · links to fern",
            "    similarity █████      0.50 × 0.50 = 0.250  vector 0.30, keyword 0.00, name 1.00 (moss)",
            "    centrality █          0.10 × 0.50 = 0.050  1 neighbor",
            "    activation ██▌        0.25 × 0.50 = 0.125  connection 0.60, remainder 0.40",
            "    relevance  █████████  0.90 × 0.50 = 0.450",
            "  reranker    judge, run by rten: 1 note judged",
            "  terms       moss (2 notes), bar (1 note, also bark barley)",
            "  as typed    NET (1 note)",
            "  times in ms query 1.50",
            "  seed        fern (0.00): 1 neighbor, 0 notes reached",
            "  candidates  1: 0 by meaning, 0 by keyword, 1 by both, 0 by connection",
        ] {
            assert!(plain.lines().any(|shown| shown == line), "{line}\n{plain}");
        }
        assert!(plain.contains("0.50 relevance"), "{plain}");
    }

    #[test]
    fn empty_result_is_reported() {
        assert!(shown(&SearchResponse::default()).contains("No hits for moss"));
    }
}
