//! A context, and the ledger of how it came about.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{
    AssembleResponse, BudgetUnit, ContextItem, ContextMode, LeftOut, LeftOutReason,
};

use super::next;
use super::text::{
    DIM, FAINT_TITLE, NOTICE, STRONG, bar, columns, counted, grouped, harmless, padded, paint,
    shortened, width, wrap,
};
use crate::hint::Hint;

/// Notes left out that the ledger lists before the rest is counted.
const SHOWN_LEFT_OUT: usize = 12;

/// Columns of a row of the ledger beside the title.
const FIGURES: usize = "  1.00  structural  10,000  10,000  10,000 ".len() + BAR;

/// Columns of a reason.
const REASON: usize = "enough headings already".len();

/// The least columns for a title beside its figures; where there are fewer, each has lines of its own.
const TITLE: usize = 16;

/// Columns of a bar.
const BAR: usize = 10;

/// The context as a model reads it, below it the ledger, and for a query and nothing else the command that gives the context alone.
pub(crate) fn context(
    only_query: bool,
    answer: &AssembleResponse,
    ledger: &str,
    hint: &Hint,
) -> String {
    let mut out = String::new();
    if let Some(rendered) = answer.rendered.as_deref().filter(|text| !text.is_empty()) {
        let _ = writeln!(out, "{}", harmless(rendered));
    }
    out.push_str(ledger);
    let command = match answer.items.first() {
        Some(_) if only_query => hint.again("--rendering", "markdown"),
        Some(best) => hint.command(&["get", &best.uri]),
        None => hint.command(&["list"]),
    };
    out.push_str(&next(&[&command]));
    out
}

/// A table of what went in, what stayed out and why, and what it cost.
///
/// `soft_ratio` is the share of the budget that the caller gave each note.
pub(crate) fn ledger(query: &str, soft_ratio: Option<f64>, answer: &AssembleResponse) -> String {
    ledger_within(columns(), query, soft_ratio, answer)
}

/// The same in so many columns.
fn ledger_within(
    columns: usize,
    query: &str,
    soft_ratio: Option<f64>,
    answer: &AssembleResponse,
) -> String {
    let AssembleResponse {
        items,
        left_out,
        rendered: _,
        budget,
        used,
        remaining,
        unit: _,
        generation: _,
        truncated_by,
        degraded,
        ledger_unit: _,
        estimator,
    } = answer;
    let mut out = String::new();
    out.push_str(&super::degraded(degraded));
    if items.is_empty() && left_out.is_empty() {
        let _ = match query.trim() {
            "" => writeln!(out, "No note was given."),
            query => writeln!(out, "Nothing answers to {}.", paint(STRONG, &harmless(query))),
        };
        return out;
    }
    let room = columns.checked_sub(FIGURES).filter(|room| *room >= TITLE);
    if let Some(room) = room.filter(|_| !items.is_empty()) {
        let head = padded("note", room);
        let head = format!("{head}  score mode          cost    room   carry");
        let _ = writeln!(out, "{}", paint(FAINT_TITLE, &head));
    }
    let most = items.iter().map(|item| item.cost).max().unwrap_or_default();
    for item in items {
        match room {
            Some(room) => out.push_str(&taken(item, most, room, columns)),
            None => out.push_str(&taken_in_lines(item, columns)),
        }
    }
    if !left_out.is_empty() {
        let head = match room {
            Some(_) => format!("score  {} tokens  note", padded("left out", REASON)),
            None => "left out".to_owned(),
        };
        let _ = writeln!(out, "\n{}", paint(FAINT_TITLE, &head));
    }
    for candidate in left_out.iter().take(SHOWN_LEFT_OUT) {
        out.push_str(&stayed_out(candidate, columns, room.is_none()));
    }
    if let Some(more @ 1..) = left_out.len().checked_sub(SHOWN_LEFT_OUT) {
        let _ = writeln!(out, "{}", paint(DIM, &format!("and {more} more")));
    }
    let amounts = format!(
        "{} of {} used, {} left",
        grouped(*used),
        amount(*budget, answer.unit()),
        grouped(*remaining)
    );
    let _ = match room {
        Some(_) => {
            writeln!(out, "\n{} {amounts}", paint(FAINT_TITLE, &bar(share(*used, *budget))))
        }
        None => writeln!(out, "\n{}", in_lines(&amounts, columns, "").trim_end()),
    };
    if items.is_empty() && left_out.iter().any(|one| one.reason() == LeftOutReason::Budget) {
        let why = match soft_ratio {
            Some(1.0..) => "No note fits into the budget: give more",
            Some(_) | None => {
                "No note fits into the share of the budget that each may take, a tenth unless the settings say otherwise: give more, or a larger share, such as --with soft_ratio=1"
            }
        };
        let _ = writeln!(out, "{}", paint(NOTICE, in_lines(why, columns, "").trim_end()));
    }
    let mut asides = vec![];
    if answer.unit() == BudgetUnit::Tokens {
        asides.push(format!("tokens as {} counts them", harmless(estimator)));
    }
    if !items.is_empty() {
        if answer.ledger_unit() != answer.unit() {
            let (_, characters) = words(answer.ledger_unit());
            let figures = if room.is_some() { "cost, room and carry" } else { "cost and room" };
            asides.push(format!("{figures} count {characters}"));
        }
        asides.push("room is for the text, cost is with titles and fences".to_owned());
    }
    if !truncated_by.is_empty() {
        let sources = truncated_by.join(" and the ");
        asides.push(format!("not all notes of the {sources} were considered"));
    }
    let asides = in_lines(&asides.join("; "), columns, "");
    if !asides.is_empty() {
        let _ = writeln!(out, "{}", paint(DIM, asides.trim_end()));
    }
    out
}

/// A row for a note that is in the context, and one for where in it the text stands.
fn taken(item: &ContextItem, most: u64, room: usize, columns: usize) -> String {
    let mode = mode(item);
    let title = paint(STRONG, &padded(&shortened(&harmless(&item.title), room), room));
    let mut out = format!(
        "{title}  {:.2}  {mode:<10}  {:>6}  {:>6}  {:>6} {}\n",
        item.score,
        grouped(item.cost),
        grouped(item.allowance),
        grouped(item.carry_out),
        paint(FAINT_TITLE, bar(share(item.cost, most)).trim_end())
    );
    let about = shortened(&about(item), columns.saturating_sub(2));
    let _ = writeln!(out, "  {}", paint(DIM, &about));
    out
}

/// The same in lines, where columns are few.
fn taken_in_lines(item: &ContextItem, columns: usize) -> String {
    let title = shortened(&harmless(&item.title), columns);
    let figures = format!(
        "{:.2} {}, cost {}, room {}",
        item.score,
        mode(item),
        grouped(item.cost),
        grouped(item.allowance)
    );
    format!(
        "{}\n{}{}",
        paint(STRONG, &title),
        dim_lines(&about(item), columns),
        dim_lines(&figures, columns)
    )
}

/// Where in the context a note's text stands, and how it came there.
fn about(item: &ContextItem) -> String {
    let mut about = vec![harmless(&item.uri)];
    about.extend(item.relation.iter().map(|relation| harmless(relation)));
    about.extend(item.via.iter().map(|via| format!("via {}", harmless(via))));
    about.extend(item.truncated.then(|| "cut".to_owned()));
    about.join(" · ")
}

fn mode(item: &ContextItem) -> &'static str {
    match item.mode() {
        ContextMode::Full => "full",
        ContextMode::Snippet => "snippet",
        ContextMode::Structural => "structural",
        ContextMode::Unspecified => "",
    }
}

/// `text` in as many lines as it takes.
fn in_lines(text: &str, columns: usize, indent: &str) -> String {
    let plain: Vec<(char, bool)> = text.chars().map(|c| (c, false)).collect();
    wrap(&plain, columns, indent)
}

/// The same for what is beside the matter.
fn dim_lines(text: &str, columns: usize) -> String {
    let lines = in_lines(text, columns, "  ");
    lines.lines().map(|line| format!("{}\n", paint(DIM, line))).collect()
}

/// A row for a note that is not.
fn stayed_out(candidate: &LeftOut, columns: usize, in_lines: bool) -> String {
    let LeftOut { uri, score, tokens, reason: _ } = candidate;
    let reason = match candidate.reason() {
        LeftOutReason::Missing => "no such note",
        LeftOutReason::BelowThreshold => "ranks too low",
        LeftOutReason::Budget => "does not fit",
        LeftOutReason::StructuralCap => "enough headings already",
        LeftOutReason::Filter => "filtered out",
        LeftOutReason::Duplicate => "is there already",
        LeftOutReason::Unspecified => "",
    };
    if in_lines {
        let figures = format!("{score:.2} {reason}, {}", counted(*tokens, "token", "tokens"));
        let uri = shortened(&harmless(uri), columns);
        return format!("{uri}\n{}", dim_lines(&figures, columns));
    }
    let figures = format!(" {score:.2}  {} {:>6}  ", padded(reason, REASON), grouped(*tokens));
    let uri = shortened(&harmless(uri), columns.saturating_sub(width(&figures)));
    format!("{}{uri}\n", paint(DIM, &figures))
}

const fn words(unit: BudgetUnit) -> (&'static str, &'static str) {
    match unit {
        BudgetUnit::Characters => ("character", "characters"),
        BudgetUnit::Tokens | BudgetUnit::Unspecified => ("token", "tokens"),
    }
}

fn amount(n: u64, unit: BudgetUnit) -> String {
    let (one, several) = words(unit);
    counted(n, one, several)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> AssembleResponse {
        let item = |uri: &str, cost, carry_out, mode: ContextMode| ContextItem {
            uri: uri.into(),
            title: uri.into(),
            score: 0.5,
            mode: mode.into(),
            cost,
            allowance: 700,
            carry_out,
            ..ContextItem::default()
        };
        let left_out = |uri: &str, tokens, reason: LeftOutReason| LeftOut {
            uri: uri.into(),
            score: 0.25,
            tokens,
            reason: reason.into(),
        };
        let mut fern = item("plants/fern", 1400, 0, ContextMode::Full);
        (fern.truncated, fern.via) = (true, Some("moss".into()));
        AssembleResponse {
            items: vec![fern, item("moss", 700, 50, ContextMode::Snippet)],
            left_out: vec![
                left_out("gone", 0, LeftOutReason::Missing),
                left_out("stone", 1200, LeftOutReason::BelowThreshold),
            ],
            rendered: Some("## the context\n".into()),
            budget: 2000,
            used: 560,
            remaining: 1440,
            unit: BudgetUnit::Tokens.into(),
            ledger_unit: BudgetUnit::Characters.into(),
            estimator: "chars".into(),
            truncated_by: vec!["focus".into(), "query".into()],
            ..AssembleResponse::default()
        }
    }

    #[test]
    fn a_ledger_is_a_table_with_bars() {
        let text = ledger("fern", None, &answer());
        let plain = anstream::adapter::strip_str(&text).to_string();
        let lines: Vec<String> = plain
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let (rows, asides) = lines.split_at(11);
        assert_eq!(
            rows,
            [
                "note score mode cost room carry",
                "plants/fern 0.50 full 1,400 700 0 ██████████",
                "plants/fern · via moss · cut",
                "moss 0.50 snippet 700 700 50 █████",
                "moss",
                "",
                "score left out tokens note",
                "0.25 no such note 0 gone",
                "0.25 ranks too low 1,200 stone",
                "",
                "██▊ 560 of 2,000 tokens used, 1,440 left",
            ]
        );
        // Wherever the lines break.
        assert_eq!(
            asides.join(" "),
            "tokens as chars counts them; cost, room and carry count characters; \
             room is for the text, cost is with titles and fences; \
             not all notes of the focus and the query were considered"
        );
        assert!(plain.lines().all(|line| line.chars().count() <= columns()), "{plain}");
    }

    #[test]
    fn in_few_columns_names_have_lines_of_their_own() {
        let mut answer = answer();
        answer.left_out[1].uri = "ground/a stone with a name".into();
        answer.left_out[1].reason = LeftOutReason::StructuralCap.into();
        let text = ledger_within(40, "fern", None, &answer);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert!(plain.lines().all(|line| width(line) <= 40), "{plain}");
        let rows: Vec<&str> = plain.lines().take(11).collect();
        assert_eq!(
            rows,
            [
                "plants/fern",
                "  plants/fern · via moss · cut",
                "  0.50 full, cost 1,400, room 700",
                "moss",
                "  moss",
                "  0.50 snippet, cost 700, room 700",
                "",
                "left out",
                "gone",
                "  0.25 no such note, 0 tokens",
                "ground/a stone with a name",
            ]
        );
    }

    #[test]
    fn the_text_comes_first_and_nothing_says_so() {
        let answer = answer();
        let text = context(true, &answer, &ledger("fern", None, &answer), &Hint::daemon(None));
        assert!(text.starts_with("## the context\n\n"), "{text}");
        assert!(text.trim_end().ends_with("--rendering markdown"), "{text}");
        // The command would not say what else the context was made of.
        let text = context(false, &answer, "", &Hint::daemon(None));
        assert!(text.trim_end().ends_with("get plants/fern"), "{text}");
        assert!(ledger("x", None, &AssembleResponse::default()).contains("Nothing answers"));
        assert!(ledger(" ", None, &AssembleResponse::default()).contains("No note was given"));
    }
}
