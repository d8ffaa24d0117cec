//! `weft related`: flags to a request.

use std::io::IsTerminal as _;

use clap::Args;
use weft_proto::noteweft::v1::{RelatedRequest, Rendering};

use crate::asker::Asker;
use crate::cli::{FilterArgs, Form, Format, Global};
use crate::commands::{aside, json, write_plain};
use crate::failure::Failure;
use crate::print;

/// Around which note, and how much.
#[derive(Debug, Args)]
pub(crate) struct RelatedArgs {
    /// A uri, a path, anything a link would resolve to, or a title, in one or several words.
    #[arg(required = true, value_name = "NOTE")]
    focus: Vec<String>,
    /// Tokens that related notes may cost; the note itself comes on top.
    #[arg(long, value_name = "TOKENS", default_value_t = 2000, allow_negative_numbers = true)]
    budget: i64,
    /// Tokens that the note itself and what is related may cost together, instead; the marks of a rendering come on top.
    #[arg(long, value_name = "TOKENS", conflicts_with = "budget", allow_negative_numbers = true)]
    window: Option<i64>,
    /// How tokens are counted: chars, bytes, unit, bundled, or a tokenizer of the settings.
    #[arg(long, value_name = "MODEL")]
    estimator: Option<String>,
    /// Continue where a page ended: its `resume_token`. All else but the budget stays the same.
    #[arg(long, value_name = "TOKEN", default_value = "", hide_default_value = true)]
    resume: String,
    /// Count notes that link here in their text as referring notes.
    #[arg(long)]
    body_links: bool,
    /// Add other notes with the same object.
    #[arg(long)]
    sibling_of_target: bool,
    /// Write the answer as one text for a language model, and its account to standard error.
    #[arg(long, value_enum, value_name = "FORM", default_value_t, help_heading = "Output")]
    rendering: Form,
    #[command(flatten)]
    filter: FilterArgs,
}

impl From<RelatedArgs> for RelatedRequest {
    fn from(args: RelatedArgs) -> Self {
        let RelatedArgs {
            focus,
            budget,
            window,
            estimator,
            resume,
            body_links,
            sibling_of_target,
            rendering,
            filter,
        } = args;
        Self {
            focus: focus.join(" "),
            budget: window.is_none().then_some(budget),
            window,
            estimator,
            filter: Some(filter.into()),
            body_links,
            sibling_of_target,
            resume_token: resume,
            rendering: Rendering::from(rendering).into(),
            ..Self::default()
        }
    }
}

/// Asks what surrounds a note and gives the answer as text.
pub(crate) async fn ask(
    asker: &Asker,
    args: RelatedArgs,
    global: &Global,
) -> Result<String, Failure> {
    let body_links = args.body_links;
    let request = asker.ready(RelatedRequest::from(args), global).await?;
    let answer = asker.graph().related(request).await?.into_inner();
    aside(&print::degraded(&answer.degraded));
    if global.format != Format::Human {
        return json(&answer);
    }
    let account = print::account(&answer, body_links, &asker.hint);
    Ok(match &answer.rendered {
        Some(text) => {
            aside(&account);
            if std::io::stdout().is_terminal() {
                print::harmless(text)
            } else {
                // What a program takes on is the answer to the byte; a terminal could be steered by it.
                write_plain(text)?;
                String::new()
            }
        }
        None => print::related(&answer) + &account,
    })
}
