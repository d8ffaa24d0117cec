//! `weft context`: flags and request, with notes taken from the answers of other commands.

use std::collections::HashMap;
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde_json::Value;
use weft_graph::doughnut::{Priority, STRATEGIES};
use weft_graph::walk::breadcrumb;
use weft_proto::noteweft::v1::{
    AssembleRequest, AssembleResponse, Citations, ContextBands, ContextLimits, ContextNote,
    ContextOrder, Filter, FocusSource, GetNoteRequest, OmissionReason, OmittedNote, PackingProfile,
    RelationSet, Rendering, SearchRequest, TreeRequest,
};

use crate::cli::{FilterArgs, Format, Global, SearchModeArg, TextFormat};
use crate::client::Client;
use crate::commands::{aside, json, write, write_plain};
use crate::failure::Failure;
use crate::print;
use crate::ranking::RankingArgs;
use crate::related::RelationsArg;
use crate::walk::TreeArgs;

/// Sources and limits of a context.
#[derive(Debug, Default, Args)]
pub(crate) struct ContextArgs {
    /// Query, as one or several words; finds notes unless --note or --from names them, and selects the passages.
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// Budget in tokens, titles and fences included [default: the setting context.budget, 2000].
    #[arg(
        long,
        value_name = "TOKENS",
        allow_negative_numbers = true,
        conflicts_with = "budget_chars"
    )]
    budget: Option<i64>,
    /// Budget in characters instead.
    #[arg(long, value_name = "CHARACTERS", allow_negative_numbers = true)]
    budget_chars: Option<i64>,
    /// How tokens are counted: chars, bytes, unit, bundled-english, or a tokenizer of the settings.
    #[arg(long, value_name = "NAME")]
    estimator: Option<String>,
    /// Consider this note, with this score or 1; repeatable.
    #[arg(long, value_name = "NOTE[=SCORE]", value_parser = scored, help_heading = "Sources")]
    note: Vec<ContextNote>,
    /// Put this note first and consider its neighborhood.
    #[arg(long, value_name = "NOTE", help_heading = "Sources")]
    focus: Option<String>,
    /// With --focus: notes that link to it in their text count as related.
    #[arg(long, requires = "focus", help_heading = "Sources")]
    body_links: bool,
    /// With --focus: other notes with the same object count as related.
    #[arg(long, requires = "focus", help_heading = "Sources")]
    sibling_of_target: bool,
    /// With --focus: relations to follow [default: the setting related.relations, auto].
    #[arg(long, value_enum, value_name = "SET", requires = "focus", help_heading = "Sources")]
    relations: Option<RelationsArg>,
    /// Consider the notes around this note, nearest first; repeatable.
    #[arg(long, value_name = "NOTE", help_heading = "Sources")]
    walk: Vec<String>,
    /// Consider the notes of an answer that search, tree or related wrote with --format json; - reads standard input.
    #[arg(long, value_name = "FILE", help_heading = "Sources")]
    from: Option<PathBuf>,
    /// Maximum number of notes from the query and from --focus [default: the setting context.candidates, 50].
    #[arg(long, help_heading = "Sources")]
    limit: Option<u32>,
    /// Retrievers to use.
    #[arg(long, value_enum, default_value_t, help_heading = "Sources")]
    mode: SearchModeArg,
    /// Override the settings `context.limits`, such as per_note_share=0.2,bands.snippet=0.35.
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = own_limits, help_heading = "Output")]
    limits: Option<ContextLimits>,
    /// Write only the context, in this format, and the ledger to standard error; with none, titles and fences cost nothing.
    #[arg(long, value_enum, value_name = "FORM", help_heading = "Output")]
    rendering: Option<TextFormat>,
    /// How the context is packed [default: the setting context.profile, evidence].
    #[arg(long, value_enum, value_name = "PROFILE", help_heading = "Output")]
    packing: Option<PackingArg>,
    /// How the context names its sources [default: the setting context.evidence.citations, inline].
    #[arg(long, value_enum, value_name = "FORM", help_heading = "Output")]
    citations: Option<CitationsArg>,
    /// List every passage that was considered, with its evidence and price.
    #[arg(long, help_heading = "Output")]
    explain: bool,
    /// Order of the notes in the context.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    order: ContextOrderArg,
    #[command(flatten)]
    ranking: RankingArgs,
    #[command(flatten)]
    tree: TreeArgs,
    #[command(flatten)]
    filter: FilterArgs,
}

/// Packing profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PackingArg {
    /// The passages that answer best.
    Evidence,
    /// A tenth of the budget for each note.
    Classic,
    /// Whole passages in the order of their evidence.
    Plain,
}

impl From<PackingArg> for PackingProfile {
    fn from(profile: PackingArg) -> Self {
        match profile {
            PackingArg::Evidence => Self::Evidence,
            PackingArg::Classic => Self::Classic,
            PackingArg::Plain => Self::Plain,
        }
    }
}

/// Form of citations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CitationsArg {
    /// With each note.
    Inline,
    /// By number, with a list of sources at the end.
    List,
}

impl From<CitationsArg> for Citations {
    fn from(form: CitationsArg) -> Self {
        match form {
            CitationsArg::Inline => Self::Inline,
            CitationsArg::List => Self::List,
        }
    }
}

/// Order of the notes in a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ContextOrderArg {
    /// Best first.
    #[default]
    BestFirst,
    /// Best first, second best last: models read the middle of a long text least.
    BothEnds,
}

impl From<ContextOrderArg> for ContextOrder {
    fn from(order: ContextOrderArg) -> Self {
        match order {
            ContextOrderArg::BestFirst => Self::BestFirst,
            ContextOrderArg::BothEnds => Self::BothEnds,
        }
    }
}

/// Requests a context and prints it.
///
/// In a requested format, only the context goes to standard output, so that it can be piped; the ledger goes to standard error.
pub(crate) async fn run(global: &Global, args: ContextArgs) -> Result<(), Failure> {
    let form = args.rendering;
    // Standard input is read before the index is opened, because the process that writes to the pipe may hold the lock until then.
    let request = args.into_request()?;
    let query = request.query.clone();
    let per_note_share = request.limits.as_ref().and_then(|limits| limits.per_note_share);
    let only_query = request.notes.is_empty() && request.focus.is_none() && request.walk.is_none();
    let client = Client::open(global).await?;
    let answer = assemble(&client, request, global).await;
    let hint = client.hint.clone();
    client.close().await;
    let answer = answer?;
    if global.format != Format::Human {
        return write_plain(&json(&answer)?);
    }
    let ledger = print::ledger(&query, per_note_share, &answer);
    match (form, &answer.rendered) {
        (Some(_), Some(rendered)) => {
            // A pipe receives the exact bytes; for a terminal, control characters are escaped.
            if std::io::stdout().is_terminal() {
                write(&print::harmless_lines(rendered))?;
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

async fn assemble(
    client: &Client,
    request: AssembleRequest,
    global: &Global,
) -> Result<AssembleResponse, Failure> {
    let request = client.prepare(request, global).await?;
    let first = request.notes.first().map(|note| note.name.clone());
    let answer = client.contexts().assemble(request).await?.into_inner();
    let is_missing = |left: &OmittedNote| left.reason() == OmissionReason::Missing;
    if let Some(name) = first.filter(|_| answer.items.is_empty())
        && answer.omitted.iter().all(is_missing)
    {
        // None of the notes exists: reported as by every other command.
        client.notes().get_note(GetNoteRequest { name, ..GetNoteRequest::default() }).await?;
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
            relations,
            walk,
            from,
            limit,
            mode,
            limits,
            rendering,
            packing,
            citations,
            explain,
            order,
            ranking,
            tree,
            filter,
        } = self;
        let filter = Filter::from(filter);
        let query = query.join(" ");
        let ranking = ranking_of(ranking, &query, !notes.is_empty() || from.is_some())?;
        let walk = walk_of(walk, tree, &filter)?;
        // An empty answer is a valid source: the query does not search all notes in its place.
        let notes_only = from.is_some();
        if let Some(path) = from {
            let found = notes_of(&answer_at(&path)?).ok_or_else(|| {
                let name = source_of(&path);
                Failure::usage(format!("{name} is not an answer of search, tree or related"))
                    .hint(WRITE_ONE)
            })?;
            notes.extend(found);
        }
        let SearchRequest {
            profile,
            weights,
            no_graph,
            disabled_signals: without,
            typo_tolerance,
            rerank,
            ..
        } = ranking;
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
            packing: packing.map(PackingProfile::from).unwrap_or_default().into(),
            citations: citations.map(Citations::from).unwrap_or_default().into(),
            explain,
            order: ContextOrder::from(order).into(),
            limits,
            walk,
            focus: focus.map(|note| FocusSource {
                note,
                body_links,
                sibling_of_target,
                relations: relations.map(RelationSet::from).unwrap_or_default().into(),
            }),
            profile,
            weights,
            no_graph,
            disabled_signals: without,
            typo_tolerance,
            rerank,
            ..AssembleRequest::default()
        })
    }
}

/// Returns the ranking flags for the query; fails if the query finds no notes.
fn ranking_of(
    ranking: RankingArgs,
    query: &str,
    names_notes: bool,
) -> Result<SearchRequest, Failure> {
    let reason = match ranking.given() {
        Some(flag) if names_notes => {
            format!("{flag} ranks what a query finds, but --note or --from already names the notes")
        }
        Some(flag) if query.trim().is_empty() => {
            format!("{flag} ranks what a query finds: add a QUERY")
        }
        Some(_) | None => return Ok(ranking.into()),
    };
    Err(Failure::usage(reason))
}

/// Returns the walk from these roots, `None` without roots. The filter restricts where it leads.
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
    Err(Failure::usage("flags for links and hops need a walk: add --walk NOTE"))
}

/// Parses `NOTE` or `NOTE=SCORE`, split at the last `=`.
fn scored(text: &str) -> Result<ContextNote, String> {
    let named = |name: &str| ContextNote { name: name.to_owned(), ..ContextNote::default() };
    let Some((name, score)) = text.rsplit_once('=') else { return Ok(named(text)) };
    let parsed = score.parse::<f64>().ok().filter(|score| score.is_finite());
    let score = parsed.ok_or_else(|| {
        format!("`{score}` is not a score; if the name contains `=`, add a score: {text}=1")
    })?;
    Ok(ContextNote { score: Some(score), ..named(name) })
}

/// Parses limits by the names of their settings: `NAME=VALUE`, separated by commas.
pub(crate) fn own_limits(text: &str) -> Result<ContextLimits, String> {
    fn number<N: FromStr>(value: &str) -> Result<Option<N>, String> {
        value
            .parse()
            .map(Some)
            .map_err(|_| format!("`{value}` is not a valid number for this limit"))
    }
    let (mut limits, mut bands) = (ContextLimits::default(), ContextBands::default());
    let mut named = Vec::new();
    for pair in text.split(',') {
        let (name, value) = pair.split_once('=').ok_or_else(|| format!("`{pair}` has no `=`"))?;
        if named.contains(&name.trim()) {
            return Err(format!("`{}` is given twice", name.trim()));
        }
        named.push(name.trim());
        match name.trim() {
            "bands.full" => bands.full = number(value)?,
            "bands.snippet" => bands.snippet = number(value)?,
            "bands.structural" => bands.structural = number(value)?,
            "per_note_share" => limits.per_note_share = number(value)?,
            "block_chars" => limits.block_chars = number(value)?,
            "structural_cap" => limits.structural_cap = number(value)?,
            "outline_depth" => limits.outline_depth = number(value)?,
            other => {
                return Err(format!(
                    "unknown limit `{other}`; known limits: bands.full, bands.snippet, bands.structural, per_note_share, block_chars, structural_cap, outline_depth"
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
        let message = format!("{name} is not JSON ({error}), so it is not the answer of a command");
        Failure::usage(message).hint(WRITE_ONE)
    })
}

/// Returns a description of the source.
fn source_of(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// How to write an answer that can be read.
const WRITE_ONE: &str =
    "write one with --format json: weft search … --format json | weft context --from -";

/// Returns the notes of another command's answer; `None` if it is not such an answer.
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

/// Converts a related note: its distance is the level of its relation; the focus note, which has none, is nearest.
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

/// Returns two notes in a fixed order, whichever links to the other.
fn joined<'v>(a: &'v str, b: &'v str) -> [&'v str; 2] {
    if a <= b { [a, b] } else { [b, a] }
}

/// Converts a note of a tree: it was reached over the first edge from its parent, which was met before it.
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
        via: breadcrumb(id, above, |note| note),
        ..ContextNote::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn score_follows_last_equals_sign() {
        let read = |text| scored(text).map(|note| (note.name, note.score));
        for (text, expected) in [
            ("a/b", Ok(("a/b".to_owned(), None))),
            ("a=0.9", Ok(("a".to_owned(), Some(0.9)))),
            ("a=b=1", Ok(("a=b".to_owned(), Some(1.0)))),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        for wrong in ["a=b", "a=", "a=NaN", "a=0,9"] {
            assert!(read(wrong).unwrap_err().contains("is not a score"), "{wrong}");
        }
    }

    #[test]
    fn limits_use_names_of_settings() {
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
        let read = own_limits("per_note_share=0.2,bands.snippet=0.35").unwrap();
        let bands = ContextBands { snippet: Some(0.35), ..ContextBands::default() };
        let expected = ContextLimits {
            bands: Some(bands),
            per_note_share: Some(0.2),
            ..ContextLimits::default()
        };
        assert_eq!(read, expected);
        for (wrong, part) in [
            ("per_note_share", "has no `=`"),
            ("soft=1", "unknown limit `soft`"),
            ("block_chars=-1", "`-1` is not a valid number"),
            ("", "has no `=`"),
        ] {
            assert!(own_limits(wrong).unwrap_err().contains(part), "{wrong}");
        }
    }

    #[test]
    fn score_is_parsed_exactly() {
        let score = 0.482_321_968_289_540_77;
        let answer = format!(r#"{{"hits": [{{"uri": "a", "score": {score}}}]}}"#);
        let notes = notes_of(&serde_json::from_str(&answer).unwrap()).unwrap();
        assert_eq!(notes[0].score, Some(score));
    }

    #[test]
    fn answers_of_other_commands_are_parsed() {
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
