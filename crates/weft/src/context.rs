//! `weft context`: flags to a request, and other commands' answers to notes.

use std::collections::HashMap;
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde_json::Value;
use weft_graph::doughnut::{Priority, STRATEGIES};
use weft_graph::walk::way;
use weft_proto::noteweft::v1::{
    AssembleRequest, AssembleResponse, ContextBands, ContextLimits, ContextNote, ContextOrder,
    Filter, FocusSource, GetNoteRequest, LeftOut, LeftOutReason, Rendering, SearchRequest,
    TreeRequest,
};

use crate::asker::Asker;
use crate::cli::{FilterArgs, Form, Format, Global, Mode};
use crate::commands::{aside, json, write, write_plain};
use crate::failure::Failure;
use crate::print;
use crate::ranking::RankingArgs;
use crate::walk::TreeArgs;

/// What a context is made of, and how.
#[derive(Debug, Default, Args)]
pub(crate) struct ContextArgs {
    /// What to ask, in one or several words; finds notes unless --note or --from names them, and chooses the passages.
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// Tokens the context may take, titles and fences included; 2000 unless the settings say otherwise.
    #[arg(
        long,
        value_name = "TOKENS",
        allow_negative_numbers = true,
        conflicts_with = "budget_chars"
    )]
    budget: Option<i64>,
    /// Characters it may take, instead.
    #[arg(long, value_name = "CHARACTERS", allow_negative_numbers = true)]
    budget_chars: Option<i64>,
    /// How tokens are counted: chars, bytes, unit, bundled, or a tokenizer of the settings.
    #[arg(long, value_name = "NAME")]
    estimator: Option<String>,
    /// Consider this note, with this score or 1; may be given several times.
    #[arg(long, value_name = "NOTE[=SCORE]", value_parser = scored, help_heading = "Sources")]
    note: Vec<ContextNote>,
    /// Put this note first, and consider what surrounds it.
    #[arg(long, value_name = "NOTE", help_heading = "Sources")]
    focus: Option<String>,
    /// With --focus: notes that link to it in their text count as related.
    #[arg(long, requires = "focus", help_heading = "Sources")]
    body_links: bool,
    /// With --focus: other notes with the same object count as related.
    #[arg(long, requires = "focus", help_heading = "Sources")]
    sibling_of_target: bool,
    /// Consider the notes around this note, nearest first; may be given several times.
    #[arg(long, value_name = "NOTE", help_heading = "Sources")]
    walk: Vec<String>,
    /// Consider the notes of an answer that search, tree or related wrote with --format json; - reads standard input.
    #[arg(long, value_name = "FILE", help_heading = "Sources")]
    from: Option<PathBuf>,
    /// Notes that the query, and --focus, bring at most; 50 unless the settings say otherwise.
    #[arg(long, help_heading = "Sources")]
    limit: Option<u32>,
    /// How to look.
    #[arg(long, value_enum, default_value_t, help_heading = "Sources")]
    mode: Mode,
    /// How much of each note, where not as the settings `context.limits` say, such as soft_ratio=0.2,bands.snippet=0.35.
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = own_limits, help_heading = "Output")]
    with: Option<ContextLimits>,
    /// Write the context alone in this form, and the ledger to standard error; with none, nothing is paid for titles and fences.
    #[arg(long, value_enum, value_name = "FORM", help_heading = "Output")]
    rendering: Option<Form>,
    /// In which order the context shows its notes.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    order: Order,
    #[command(flatten)]
    ranking: RankingArgs,
    #[command(flatten)]
    tree: TreeArgs,
    #[command(flatten)]
    filter: FilterArgs,
}

/// In which order a context shows its notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Order {
    /// Best first.
    #[default]
    BestFirst,
    /// Best first, second best last: models read the middle of a long text least.
    BothEnds,
}

impl From<Order> for ContextOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::BestFirst => Self::BestFirst,
            Order::BothEnds => Self::BothEnds,
        }
    }
}

/// Asks for a context and prints it.
///
/// In a form asked for it goes alone to standard output, so that it can be piped, and the ledger to standard error.
pub(crate) async fn run(global: &Global, args: ContextArgs) -> Result<(), Failure> {
    let form = args.rendering;
    // Read before the index is opened: whoever writes to a pipe may hold its lock until then.
    let request = args.into_request()?;
    let query = request.query.clone();
    let soft_ratio = request.limits.as_ref().and_then(|limits| limits.soft_ratio);
    let only_query = request.notes.is_empty() && request.focus.is_none() && request.walk.is_none();
    let asker = Asker::open(global).await?;
    let answer = ask(&asker, request, global).await;
    let hint = asker.hint.clone();
    asker.close().await;
    let answer = answer?;
    if global.format != Format::Human {
        return write_plain(&json(&answer)?);
    }
    let ledger = print::ledger(&query, soft_ratio, &answer);
    match (form, &answer.rendered) {
        (Some(_), Some(rendered)) => {
            // What a program takes on is the context to the byte; a terminal could be steered by it.
            if std::io::stdout().is_terminal() {
                write(&print::harmless(rendered))?;
            } else {
                write_plain(rendered)?;
            }
            aside(&ledger);
            Ok(())
        }
        (Some(_), None) => write(&ledger),
        (None, _) => write(&print::context(only_query, &answer, &ledger, &hint)),
    }
}

async fn ask(
    asker: &Asker,
    request: AssembleRequest,
    global: &Global,
) -> Result<AssembleResponse, Failure> {
    let request = asker.ready(request, global).await?;
    let first = request.notes.first().map(|note| note.name.clone());
    let answer = asker.contexts().assemble(request).await?.into_inner();
    let is_missing = |left: &LeftOut| left.reason() == LeftOutReason::Missing;
    if let Some(name) = first.filter(|_| answer.items.is_empty())
        && answer.left_out.iter().all(is_missing)
    {
        // None of the notes is there, as any other command says it.
        asker.notes().get_note(GetNoteRequest { name, ..GetNoteRequest::default() }).await?;
    }
    Ok(answer)
}

impl ContextArgs {
    fn into_request(self) -> Result<AssembleRequest, Failure> {
        let Self {
            query,
            budget,
            budget_chars,
            estimator,
            note: mut notes,
            focus,
            body_links,
            sibling_of_target,
            walk,
            from,
            limit,
            mode,
            with,
            rendering,
            order,
            ranking,
            tree,
            filter,
        } = self;
        let filter = Filter::from(filter);
        let query = query.join(" ");
        let ranking = ranking_of(ranking, &query, !notes.is_empty() || from.is_some())?;
        let walk = walk_of(walk, tree, &filter)?;
        // That nothing was found is an answer, too: the query does not look among all notes for it.
        let notes_only = from.is_some();
        if let Some(path) = from {
            let found = notes_of(&answer_at(&path)?).ok_or_else(|| {
                let name = source_of(&path);
                Failure::usage(format!("{name} is no answer of search, tree or related"))
                    .hint(WRITE_ONE)
            })?;
            notes.extend(found);
        }
        let SearchRequest { profile, weights, no_graph, without, typos, .. } = ranking;
        Ok(AssembleRequest {
            query,
            notes,
            notes_only,
            filter: Some(filter),
            mode: weft_proto::noteweft::v1::SearchMode::from(mode).into(),
            limit,
            budget,
            budget_chars,
            estimator,
            rendering: rendering.map_or(Rendering::Markdown, Rendering::from).into(),
            order: ContextOrder::from(order).into(),
            limits: with,
            walk,
            focus: focus.map(|note| FocusSource { note, body_links, sibling_of_target }),
            profile,
            weights,
            no_graph,
            without,
            typos,
            ..AssembleRequest::default()
        })
    }
}

/// How the query ranks what it finds; refused where it finds nothing.
fn ranking_of(
    ranking: RankingArgs,
    query: &str,
    names_notes: bool,
) -> Result<SearchRequest, Failure> {
    let reason = match ranking.given() {
        Some(flag) if names_notes => format!(
            "{flag} is about what a query finds, and where --note or --from names the notes it finds none"
        ),
        Some(flag) if query.trim().is_empty() => {
            format!("{flag} is about what a query finds: add a QUERY")
        }
        Some(_) | None => return Ok(ranking.into()),
    };
    Err(Failure::usage(reason))
}

/// The walk from these roots, nothing without any; it leads where the filter lets it.
fn walk_of(
    roots: Vec<String>,
    tree: TreeArgs,
    filter: &Filter,
) -> Result<Option<TreeRequest>, Failure> {
    let request = |roots, tree: TreeArgs| tree.request(roots, FilterArgs::default());
    let walk = request(roots, tree);
    if !walk.roots.is_empty() {
        return Ok(Some(TreeRequest { filter: Some(filter.clone()), ..walk }));
    }
    if walk == request(Vec::new(), TreeArgs::default()) {
        return Ok(None);
    }
    Err(Failure::usage("flags about links and hops need a walk: add --walk NOTE"))
}

/// `NOTE` or `NOTE=SCORE`, split at the last `=`.
fn scored(text: &str) -> Result<ContextNote, String> {
    let named = |name: &str| ContextNote { name: name.to_owned(), ..ContextNote::default() };
    let Some((name, score)) = text.rsplit_once('=') else { return Ok(named(text)) };
    let parsed = score.parse::<f64>().ok().filter(|score| score.is_finite());
    let score = parsed.ok_or_else(|| {
        format!("`{score}` is no score; after a name that holds `=` write one: {text}=1")
    })?;
    Ok(ContextNote { score: Some(score), ..named(name) })
}

/// Limits by the names of their settings: `NAME=VALUE`, with commas between several.
pub(crate) fn own_limits(text: &str) -> Result<ContextLimits, String> {
    fn number<N: FromStr>(value: &str) -> Result<Option<N>, String> {
        value.parse().map(Some).map_err(|_| format!("`{value}` is no number that fits there"))
    }
    let (mut limits, mut bands) = (ContextLimits::default(), ContextBands::default());
    let mut named = Vec::new();
    for pair in text.split(',') {
        let (name, value) = pair.split_once('=').ok_or_else(|| format!("`{pair}` has no `=`"))?;
        if named.contains(&name.trim()) {
            return Err(format!("`{}` is there twice", name.trim()));
        }
        named.push(name.trim());
        match name.trim() {
            "bands.full" => bands.full = number(value)?,
            "bands.snippet" => bands.snippet = number(value)?,
            "bands.structural" => bands.structural = number(value)?,
            "soft_ratio" => limits.soft_ratio = number(value)?,
            "block_chars" => limits.block_chars = number(value)?,
            "structural_cap" => limits.structural_cap = number(value)?,
            "outline_depth" => limits.outline_depth = number(value)?,
            other => {
                return Err(format!(
                    "there is no limit `{other}`, but bands.full, bands.snippet, bands.structural, soft_ratio, block_chars, structural_cap, outline_depth"
                ));
            }
        }
    }
    Ok(ContextLimits { bands: Some(bands), ..limits })
}

fn answer_at(path: &Path) -> Result<Value, Failure> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(path).map(|read| text = read)
    };
    let name = source_of(path);
    read.map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("{name} is no JSON ({error}), and so no answer of another command");
        Failure::usage(message).hint(WRITE_ONE)
    })
}

/// What an answer is read from, in words.
fn source_of(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// How an answer is written that can be read.
const WRITE_ONE: &str =
    "write one with --format json: weft search … --format json | weft context --from -";

/// The notes of another command's answer; nothing where it is no such answer.
fn notes_of(answer: &Value) -> Option<Vec<ContextNote>> {
    let list = |name: &str| answer.get(name).and_then(Value::as_array);
    if let Some(hits) = list("hits") {
        return hits.iter().map(hit).collect();
    }
    if let Some(related) = list("related_notes") {
        let focus = answer.get("focus_note").into_iter();
        return focus.chain(related).map(related_note).collect();
    }
    let (nodes, tree) = (list("nodes")?, list("spanning_tree")?);
    let edges = list("edges")?;
    let steps: HashMap<&str, &str> =
        tree.iter().filter_map(|step| Some((text(step, "to")?, text(step, "from")?))).collect();
    let mut kinds: HashMap<[&str; 2], &str> = HashMap::new();
    for edge in edges {
        if let (Some(from), Some(to), Some(kind)) =
            (text(edge, "from"), text(edge, "to"), text(edge, "type"))
        {
            kinds.entry(joined(from, to)).or_insert(kind);
        }
    }
    nodes.iter().map(|node| visited(node, &steps, &kinds)).collect()
}

fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name)?.as_str()
}

fn hit(hit: &Value) -> Option<ContextNote> {
    Some(ContextNote {
        name: text(hit, "uri")?.to_owned(),
        score: Some(hit.get("score")?.as_f64()?),
        via: text(hit, "via").map(str::to_owned),
        ..ContextNote::default()
    })
}

/// A related note is as far as its relation's level; the focus note, which has none, is nearest.
fn related_note(note: &Value) -> Option<ContextNote> {
    let relation = text(note, "relation")?;
    let row = STRATEGIES.iter().find(|row| row.relation.name() == relation);
    Some(ContextNote {
        name: text(note, "uri")?.to_owned(),
        distance: Some(row.map_or(Priority::P1, |row| row.priority) as u32),
        relation: Some(relation.to_owned()),
        ..ContextNote::default()
    })
}

/// Two notes, whichever links to the other.
fn joined<'v>(a: &'v str, b: &'v str) -> [&'v str; 2] {
    if a <= b { [a, b] } else { [b, a] }
}

/// A note of a tree came over the first edge between it and the note above it, which was met before it.
fn visited(
    node: &Value,
    steps: &HashMap<&str, &str>,
    kinds: &HashMap<[&str; 2], &str>,
) -> Option<ContextNote> {
    let id = text(node, "id")?;
    let above = |note| steps.get(note).copied();
    let kind = above(id).and_then(|from| kinds.get(&joined(from, id)));
    Some(ContextNote {
        name: id.to_owned(),
        distance: Some(u32::try_from(node.get("hop")?.as_u64()?).ok()?),
        relation: kind.map(|&kind| kind.to_owned()),
        via: way(id, above, |note| note),
        ..ContextNote::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_score_follows_the_last_equals_sign() {
        let read = |text| scored(text).map(|note| (note.name, note.score));
        for (text, expected) in [
            ("a/b", Ok(("a/b".to_owned(), None))),
            ("a=0.9", Ok(("a".to_owned(), Some(0.9)))),
            ("a=b=1", Ok(("a=b".to_owned(), Some(1.0)))),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        for wrong in ["a=b", "a=", "a=NaN", "a=0,9"] {
            assert!(read(wrong).unwrap_err().contains("is no score"), "{wrong}");
        }
    }

    #[test]
    fn limits_go_by_the_names_of_their_settings() {
        let defaults = weft_daemon::config::Settings::default().context.limits;
        let Value::Object(known) = serde_json::to_value(&defaults).unwrap() else {
            panic!("a table")
        };
        for (name, value) in known {
            let text = match (name.as_str(), value) {
                ("stop_words", _) => continue,
                (_, Value::Object(bands)) => {
                    let bands = bands.iter().map(|(band, value)| format!("{name}.{band}={value}"));
                    bands.collect::<Vec<_>>().join(",")
                }
                (_, value) => format!("{name}={value}"),
            };
            assert!(own_limits(&text).is_ok(), "{text}");
        }
        let read = own_limits("soft_ratio=0.2,bands.snippet=0.35").unwrap();
        let bands = ContextBands { snippet: Some(0.35), ..ContextBands::default() };
        let expected =
            ContextLimits { bands: Some(bands), soft_ratio: Some(0.2), ..ContextLimits::default() };
        assert_eq!(read, expected);
        for (wrong, part) in [
            ("soft_ratio", "has no `=`"),
            ("soft=1", "no limit `soft`"),
            ("block_chars=-1", "`-1` is no number"),
            ("", "has no `=`"),
        ] {
            assert!(own_limits(wrong).unwrap_err().contains(part), "{wrong}");
        }
    }

    #[test]
    fn a_score_is_read_to_the_last_bit() {
        let score = 0.482_321_968_289_540_77;
        let answer = format!(r#"{{"hits": [{{"uri": "a", "score": {score}}}]}}"#);
        let notes = notes_of(&serde_json::from_str(&answer).unwrap()).unwrap();
        assert_eq!(notes[0].score, Some(score));
    }

    #[test]
    fn answers_of_other_commands_are_understood() {
        let shown = |answer: Value| {
            notes_of(&answer).map(|notes| {
                let shown = notes.into_iter().map(|note| {
                    let ContextNote { name, score, distance, relation, via } = note;
                    format!("{name} {score:?} {distance:?} {relation:?} {via:?}")
                });
                shown.collect::<Vec<_>>()
            })
        };
        let search = json!({"hits": [{"uri": "a", "score": 0.5, "via": null}], "generation": 1});
        assert_eq!(shown(search), Some(vec!["a Some(0.5) None None None".to_owned()]));

        let related = json!({
            "focus_note": {"uri": "f", "relation": "Self"},
            "related_notes": [{"uri": "p", "relation": "Parent"}, {"uri": "c", "relation": "ReferringCousin"}],
        });
        let expected = [
            "f None Some(0) Some(\"Self\") None",
            "p None Some(0) Some(\"Parent\") None",
            "c None Some(3) Some(\"ReferringCousin\") None",
        ];
        assert_eq!(shown(related), Some(expected.map(str::to_owned).into()));

        let tree = json!({
            "nodes": [{"id": "r", "hop": 0}, {"id": "x", "hop": 1}, {"id": "y", "hop": 2}],
            "edges": [{"from": "r", "to": "r", "type": "self"}, {"from": "x", "to": "r", "type": "supports"}, {"from": "x", "to": "y", "type": "related"}],
            "spanning_tree": [{"from": "r", "to": "x", "hop": 1}, {"from": "x", "to": "y", "hop": 2}],
        });
        let expected = [
            "r None Some(0) None None",
            "x None Some(1) Some(\"supports\") Some(\"r\")",
            "y None Some(2) Some(\"related\") Some(\"r > x\")",
        ];
        assert_eq!(shown(tree), Some(expected.map(str::to_owned).into()));

        for other in
            [json!({}), json!([]), json!({"hits": [{}]}), json!({"nodes": [], "edges": []})]
        {
            assert_eq!(shown(other.clone()), None, "{other}");
        }
    }
}
