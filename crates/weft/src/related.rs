//! `weft related`: flags and request.

use std::io::IsTerminal as _;

use clap::{Args, ValueEnum};
use weft_proto::noteweft::v1::{RelatedRequest, RelationSet, Rendering};

use crate::cli::{FilterArgs, Format, Global, TextFormat};
use crate::client::Client;
use crate::commands::{aside, json, write_plain};
use crate::failure::Failure;
use crate::print;

/// Focus note and budget.
#[derive(Debug, Args)]
pub(crate) struct RelatedArgs {
    /// URI, path, link target or title, as one or several words.
    #[arg(required = true, value_name = "NOTE")]
    focus: Vec<String>,
    /// Budget for related notes in tokens; the note itself is not counted.
    #[arg(long, value_name = "TOKENS", default_value_t = 2000, allow_negative_numbers = true)]
    budget: i64,
    /// Budget for the note itself and related notes together instead; markup of a rendering is not counted.
    #[arg(long, value_name = "TOKENS", conflicts_with = "budget", allow_negative_numbers = true)]
    total_budget: Option<i64>,
    /// How tokens are counted: chars, bytes, unit, bundled-english, or a tokenizer of the settings.
    #[arg(long, value_name = "MODEL")]
    estimator: Option<String>,
    /// Token of the next page, from `resume_token` of the previous one. Only the budget may change between pages.
    #[arg(long, value_name = "TOKEN", default_value = "", hide_default_value = true)]
    resume: String,
    /// Count notes that link to it in their text as referring notes.
    #[arg(long)]
    body_links: bool,
    /// Include other notes with the same object.
    #[arg(long)]
    sibling_of_target: bool,
    /// Relations to follow [default: the setting related.relations, auto].
    #[arg(long, value_enum, value_name = "SET")]
    relations: Option<RelationsArg>,
    /// Write the answer as one text for a language model, and the ledger to standard error.
    #[arg(long, value_enum, value_name = "FORM", default_value_t, help_heading = "Output")]
    rendering: TextFormat,
    #[command(flatten)]
    filter: FilterArgs,
}

/// A set of relations.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RelationsArg {
    /// Parents, children, siblings, objects, links, folders, topics and similar texts.
    Auto,
    /// Parents, children, siblings and objects.
    Structure,
}

impl From<RelationsArg> for RelationSet {
    fn from(relations: RelationsArg) -> Self {
        match relations {
            RelationsArg::Auto => Self::Auto,
            RelationsArg::Structure => Self::Structure,
        }
    }
}

impl From<RelatedArgs> for RelatedRequest {
    fn from(args: RelatedArgs) -> Self {
        let RelatedArgs {
            focus,
            budget,
            total_budget,
            estimator,
            resume,
            body_links,
            sibling_of_target,
            relations,
            rendering,
            filter,
        } = args;
        Self {
            focus: focus.join(" "),
            budget: total_budget.is_none().then_some(budget),
            total_budget,
            estimator,
            filter: Some(filter.into()),
            body_links,
            sibling_of_target,
            resume_token: resume,
            rendering: Rendering::from(rendering).into(),
            relations: relations.map(RelationSet::from).unwrap_or_default().into(),
            ..Self::default()
        }
    }
}

/// Requests the neighborhood of a note and renders the answer.
pub(crate) async fn run(
    client: &Client,
    args: RelatedArgs,
    global: &Global,
) -> Result<String, Failure> {
    let request = client.prepare(RelatedRequest::from(args), global).await?;
    let answer = client.graph().related(request).await?.into_inner();
    aside(&print::warnings(&answer.warnings));
    if global.format != Format::Human {
        return json(&answer);
    }
    let account = print::related_ledger(&answer, &client.hint);
    Ok(match &answer.rendered {
        Some(text) => {
            aside(&account);
            if std::io::stdout().is_terminal() {
                print::harmless_lines(text)
            } else {
                // A pipe receives the exact bytes; for a terminal, control characters are escaped.
                write_plain(text)?;
                String::new()
            }
        }
        None => print::related(&answer) + &account,
    })
}
