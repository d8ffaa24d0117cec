//! Renders a context and its ledger.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{
    AssembleResponse, BudgetUnit, ContextItem, ContextMode, ContextPassage, OmissionReason,
    OmittedNote, PackingProfile, PassageOutcome, PassageReport, Span,
};

use super::next;
use super::text::{
    DIM, FAINT_TITLE, NOTICE, STRONG, bar, columns, counted, grouped, harmless, harmless_lines,
    padded, paint, shortened, width, wrap,
};
use crate::hint::Hint;

/// Maximum number of omitted notes that the ledger lists before the rest is counted.
const SHOWN_OMITTED: usize = 12;

/// Columns of a ledger row without the title.
const FIGURES: usize = "  1.00  structural  10,000  allowance  10,000 ".len() + BAR;

/// Columns of an omission reason: the length of the longest.
const REASON: usize = "structural cap reached".len();

/// Minimum columns for a title beside its figures; with fewer, title and figures are on separate lines.
const MIN_TITLE: usize = 16;

/// Columns of a bar.
const BAR: usize = 10;

/// Formats the rendered context, the ledger below it, and a next command: for a request with only a query, the one that prints the context alone.
pub(crate) fn context(
    only_query: bool,
    answer: &AssembleResponse,
    ledger: &str,
    hint: &Hint,
) -> String {
    let mut out = String::new();
    if let Some(rendered) = answer.rendered.as_deref().filter(|text| !text.is_empty()) {
        let _ = writeln!(out, "{}", harmless_lines(rendered));
    }
    out.push_str(ledger);
    let command = match answer.items.first() {
        Some(_) if only_query => hint.again("--rendering", "markdown"),
        Some(best) => hint.command("get", &[&best.uri], &[]),
        None => hint.command("list", &[], &[]),
    };
    out.push_str(&next(&[&command]));
    out
}

/// Formats the ledger: a table of included notes with their costs, and of omitted notes with the reasons.
///
/// `per_note_share` is the share of the budget that the request allows each note.
pub(crate) fn ledger(
    query: &str,
    per_note_share: Option<f64>,
    answer: &AssembleResponse,
) -> String {
    ledger_within(columns(), query, per_note_share, answer)
}

/// Formats the ledger in `columns` columns.
fn ledger_within(
    columns: usize,
    query: &str,
    per_note_share: Option<f64>,
    answer: &AssembleResponse,
) -> String {
    let AssembleResponse {
        items,
        omitted,
        rendered: _,
        budget,
        used,
        remaining,
        unit: _,
        generation: _,
        truncated_by,
        warnings,
        ledger_unit: _,
        estimator,
        packing,
        passages,
        relations: _,
    } = answer;
    let is_classic = PackingProfile::try_from(*packing) == Ok(PackingProfile::Classic);
    let mut out = String::new();
    out.push_str(&super::warnings(warnings));
    if items.is_empty() && omitted.is_empty() {
        let _ = match query.trim() {
            "" => writeln!(out, "No notes given."),
            query => writeln!(out, "No notes found for {}.", paint(STRONG, &harmless(query))),
        };
        return out;
    }
    let room = columns.checked_sub(FIGURES).filter(|room| *room >= MIN_TITLE);
    if let Some(room) = room.filter(|_| !items.is_empty()) {
        let head = padded("note", room);
        let head = if is_classic {
            format!("{head}  score mode          cost  allowance   carry")
        } else {
            format!("{head}  score mode          cost  evidence  passages")
        };
        let _ = writeln!(out, "{}", paint(FAINT_TITLE, &head));
    }
    let most = items.iter().map(|item| item.cost).max().unwrap_or_default();
    for item in items {
        match room {
            Some(room) => out.push_str(&item_row(item, is_classic, most, room, columns)),
            None => out.push_str(&item_lines(item, is_classic, columns)),
        }
    }
    out.push_str(&passage_rows(passages, columns));
    if !omitted.is_empty() {
        let head = match room {
            Some(_) => format!("score  {} tokens  note", padded("omitted", REASON)),
            None => "omitted".to_owned(),
        };
        let _ = writeln!(out, "\n{}", paint(FAINT_TITLE, &head));
    }
    for note in omitted.iter().take(SHOWN_OMITTED) {
        out.push_str(&omitted_row(note, columns, room.is_none()));
    }
    if let Some(more @ 1..) = omitted.len().checked_sub(SHOWN_OMITTED) {
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
    if items.is_empty() && omitted.iter().any(|one| one.reason() == OmissionReason::Budget) {
        let why = match per_note_share.filter(|_| is_classic) {
            None if !is_classic => "No passage fits into the budget; increase it",
            Some(1.0..) => "No note fits into the budget; increase it",
            Some(_) | None => {
                "No note fits into its share of the budget (a tenth by default); increase the budget or the share, for example with --limits per_note_share=1"
            }
        };
        let _ = writeln!(out, "{}", paint(NOTICE, in_lines(why, columns, "").trim_end()));
    }
    let mut remarks = vec![];
    if answer.unit() == BudgetUnit::Tokens {
        remarks.push(format!("estimator of tokens: {}", harmless(estimator)));
    }
    if !items.is_empty() {
        if answer.ledger_unit() != answer.unit() {
            let (_, characters) = words(answer.ledger_unit());
            let figures = match (is_classic, room) {
                (false, _) => "cost",
                (true, Some(_)) => "cost, allowance and carry",
                (true, None) => "cost and allowance",
            };
            remarks.push(format!("{figures} in {characters}"));
        }
        let costs = if is_classic {
            "the allowance is for the text, the cost includes titles and fences"
        } else {
            "the cost includes titles and fences"
        };
        remarks.push(costs.to_owned());
    }
    if !truncated_by.is_empty() {
        let sources = truncated_by.join(" and the ");
        remarks.push(format!("not all notes of the {sources} were considered"));
    }
    let remarks = in_lines(&remarks.join("; "), columns, "");
    if !remarks.is_empty() {
        let _ = writeln!(out, "{}", paint(DIM, remarks.trim_end()));
    }
    out
}

/// Formats the table row of an included note, and a second line with its uri and origin.
fn item_row(
    item: &ContextItem,
    is_classic: bool,
    most: u64,
    room: usize,
    columns: usize,
) -> String {
    let mode = mode(item);
    let title = paint(STRONG, &padded(&shortened(&harmless(&item.title), room), room));
    let (left, right) = if is_classic {
        (grouped(item.allowance), grouped(item.carry_out))
    } else {
        (evidence(item), item.passages.len().to_string())
    };
    let mut out = format!(
        "{title}  {:.2}  {mode:<10}  {:>6}  {left:>9}  {right:>6} {}\n",
        item.score,
        grouped(item.cost),
        paint(FAINT_TITLE, bar(share(item.cost, most)).trim_end())
    );
    let about = shortened(&about(item), columns.saturating_sub(2));
    let _ = writeln!(out, "  {}", paint(DIM, &about));
    out
}

/// Formats an included note on several lines, for a narrow terminal.
fn item_lines(item: &ContextItem, is_classic: bool, columns: usize) -> String {
    let title = shortened(&harmless(&item.title), columns);
    let last = if is_classic {
        format!("allowance {}", grouped(item.allowance))
    } else {
        format!("evidence {}", evidence(item))
    };
    let figures = format!("{:.2} {}, cost {}, {last}", item.score, mode(item), grouped(item.cost));
    format!(
        "{}\n{}{}",
        paint(STRONG, &title),
        dim_lines(&about(item), columns),
        dim_lines(&figures, columns)
    )
}

/// Formats the evidence of the best passage of an included note.
fn evidence(item: &ContextItem) -> String {
    let best = item.passages.iter().map(|passage| passage.evidence).reduce(f64::max);
    best.map_or_else(|| "-".to_owned(), |best| format!("{best:.2}"))
}

/// Formats every passage that was considered; nothing if none is reported.
fn passage_rows(passages: &[PassageReport], columns: usize) -> String {
    let mut out = String::new();
    if passages.is_empty() {
        return out;
    }
    let head = "evidence  value  tokens  passage";
    let _ = writeln!(out, "\n{}", paint(FAINT_TITLE, head));
    for report in passages {
        let outcome = match report.outcome() {
            PassageOutcome::Included => "included",
            PassageOutcome::Cut => "cut",
            PassageOutcome::Budget => "does not fit",
            PassageOutcome::Duplicate => "duplicate",
            PassageOutcome::Unspecified => "",
        };
        let Span { start, end } = report.span.unwrap_or_default();
        let mut place = vec![harmless(&report.uri)];
        place.extend(report.heading_path.last().map(|heading| harmless(heading)));
        place.push(format!("characters {start}-{end}"));
        place.push(outcome.to_owned());
        let figures = format!(
            "    {:.2}   {:.2}  {:>6}  ",
            report.evidence,
            report.value,
            grouped(report.tokens)
        );
        let place = shortened(&place.join(" · "), columns.saturating_sub(width(&figures)));
        let is_shown = match report.outcome() {
            PassageOutcome::Included | PassageOutcome::Cut => true,
            PassageOutcome::Budget | PassageOutcome::Duplicate | PassageOutcome::Unspecified => {
                false
            }
        };
        let line = format!("{figures}{place}");
        let _ = writeln!(out, "{}", if is_shown { line } else { paint(DIM, &line) });
    }
    out
}

/// Formats the uri of an included note, how it was found, the lines shown, and whether it was cut.
fn about(item: &ContextItem) -> String {
    let mut about = vec![harmless(&item.uri)];
    if item.mode() == ContextMode::Snippet && !item.passages.is_empty() {
        let lines = item.passages.iter().map(|passage| {
            let ContextPassage { first_line, last_line, .. } = passage;
            if first_line == last_line {
                first_line.to_string()
            } else {
                format!("{first_line}-{last_line}")
            }
        });
        about.push(format!("lines {}", lines.collect::<Vec<_>>().join(", ")));
    }
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

/// Wraps `text`.
fn in_lines(text: &str, columns: usize, indent: &str) -> String {
    let plain: Vec<(char, bool)> = text.chars().map(|c| (c, false)).collect();
    wrap(&plain, columns, indent)
}

/// Wraps dimmed, indented `text`.
fn dim_lines(text: &str, columns: usize) -> String {
    let lines = in_lines(text, columns, "  ");
    lines.lines().map(|line| format!("{}\n", paint(DIM, line))).collect()
}

/// Formats an omitted note.
fn omitted_row(note: &OmittedNote, columns: usize, in_lines: bool) -> String {
    let OmittedNote { uri, score, tokens, reason: _ } = note;
    let reason = match note.reason() {
        OmissionReason::Missing => "no such note",
        OmissionReason::BelowThreshold => "score too low",
        OmissionReason::Budget => "does not fit",
        OmissionReason::StructuralCap => "structural cap reached",
        OmissionReason::Filter => "excluded by the filter",
        OmissionReason::Duplicate => "duplicate",
        OmissionReason::Unspecified => "",
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
        let omitted = |uri: &str, tokens, reason: OmissionReason| OmittedNote {
            uri: uri.into(),
            score: 0.25,
            tokens,
            reason: reason.into(),
        };
        let mut fern = item("plants/fern", 1400, 0, ContextMode::Full);
        (fern.truncated, fern.via) = (true, Some("moss".into()));
        AssembleResponse {
            items: vec![fern, item("moss", 700, 50, ContextMode::Snippet)],
            omitted: vec![
                omitted("gone", 0, OmissionReason::Missing),
                omitted("stone", 1200, OmissionReason::BelowThreshold),
            ],
            rendered: Some("## the context\n".into()),
            budget: 2000,
            used: 560,
            remaining: 1440,
            unit: BudgetUnit::Tokens.into(),
            ledger_unit: BudgetUnit::Characters.into(),
            estimator: "chars".into(),
            packing: PackingProfile::Classic.into(),
            truncated_by: vec!["focus".into(), "query".into()],
            ..AssembleResponse::default()
        }
    }

    #[test]
    fn ledger_is_a_table_with_bars() {
        let text = ledger("fern", None, &answer());
        let plain = anstream::adapter::strip_str(&text).to_string();
        let lines: Vec<String> = plain
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let (rows, remarks) = lines.split_at(11);
        assert_eq!(
            rows,
            [
                "note score mode cost allowance carry",
                "plants/fern 0.50 full 1,400 700 0 ██████████",
                "plants/fern · via moss · cut",
                "moss 0.50 snippet 700 700 50 █████",
                "moss",
                "",
                "score omitted tokens note",
                "0.25 no such note 0 gone",
                "0.25 score too low 1,200 stone",
                "",
                "██▊ 560 of 2,000 tokens used, 1,440 left",
            ]
        );
        // Independent of line breaks.
        assert_eq!(
            remarks.join(" "),
            "estimator of tokens: chars; cost, allowance and carry in characters; \
             the allowance is for the text, the cost includes titles and fences; \
             not all notes of the focus and the query were considered"
        );
        assert!(plain.lines().all(|line| line.chars().count() <= columns()), "{plain}");
    }

    #[test]
    fn narrow_terminal_gets_title_and_figures_on_separate_lines() {
        let mut answer = answer();
        answer.omitted[1].uri = "ground/a stone with a name".into();
        answer.omitted[1].reason = OmissionReason::StructuralCap.into();
        let text = ledger_within(40, "fern", None, &answer);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert!(plain.lines().all(|line| width(line) <= 40), "{plain}");
        let rows: Vec<&str> = plain.lines().take(11).collect();
        assert_eq!(
            rows,
            [
                "plants/fern",
                "  plants/fern · via moss · cut",
                "  0.50 full, cost 1,400, allowance 700",
                "moss",
                "  moss",
                "  0.50 snippet, cost 700, allowance 700",
                "",
                "omitted",
                "gone",
                "  0.25 no such note, 0 tokens",
                "ground/a stone with a name",
            ]
        );
    }

    #[test]
    fn context_precedes_its_ledger() {
        let answer = answer();
        let text = context(true, &answer, &ledger("fern", None, &answer), &Hint::daemon(None));
        assert!(text.starts_with("## the context\n\n"), "{text}");
        assert!(text.trim_end().ends_with("--rendering markdown"), "{text}");
        // The suggested command could not repeat the other sources of the context.
        let text = context(false, &answer, "", &Hint::daemon(None));
        assert!(text.trim_end().ends_with("get plants/fern"), "{text}");
        assert!(ledger("x", None, &AssembleResponse::default()).contains("No notes found"));
        assert!(ledger(" ", None, &AssembleResponse::default()).contains("No notes given"));
    }
}
