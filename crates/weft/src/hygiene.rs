//! `weft duplicates`, `suggest-links`, `stale` and `broken`: flags and requests.

use std::collections::BTreeMap;

use clap::Subcommand;
use weft_proto::noteweft::v1::{
    BrokenLinksRequest, DuplicatesRequest, LinkMentionsRequest, MentionToLink, StaleNotesRequest,
    SuggestedLink, SuggestedLinksRequest,
};

use crate::cli::{FilterArgs, Format, Global};
use crate::client::Client;
use crate::commands::{answered, aside, json};
use crate::failure::Failure;
use crate::print;
use crate::walk::PageArgs;

/// A question about the condition of a vault.
#[derive(Debug, Subcommand)]
pub(crate) enum HygieneCommand {
    /// List pairs of notes that share most of their text.
    Duplicates {
        /// Least share of the shorter note that the other contains, 0.3 to 1.
        #[arg(long, value_name = "SHARE", default_value_t = 0.7)]
        min_share: f64,
        #[command(flatten)]
        page: PageArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// List mentions of notes in plain text that could be links, or write them.
    SuggestLinks {
        /// Read only this note, given as one or several words.
        #[arg(value_name = "NOTE")]
        note: Vec<String>,
        /// Write the links of this page into the files. A file that changed meanwhile is left alone.
        #[arg(long, requires = "note")]
        write: bool,
        #[command(flatten)]
        page: PageArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// List notes that have not changed for long although others link to them.
    Stale {
        /// Least age in days.
        #[arg(long, value_name = "DAYS", default_value_t = 365)]
        min_age: u32,
        /// Least number of notes that link to it.
        #[arg(long, value_name = "NOTES", default_value_t = 2)]
        min_linking: u32,
        #[command(flatten)]
        page: PageArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// List links without a target, with the notes that they most likely mean.
    Broken {
        #[command(flatten)]
        page: PageArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
}

/// Sends the request and renders the answer.
pub(crate) async fn run(
    client: &Client,
    command: HygieneCommand,
    global: &Global,
) -> Result<String, Failure> {
    match command {
        HygieneCommand::Duplicates { min_share, page: PageArgs { limit, page_token }, filter } => {
            let request = DuplicatesRequest {
                filter: Some(filter.into()),
                min_share: Some(min_share),
                page_size: Some(limit),
                page_token,
                ..DuplicatesRequest::default()
            };
            let call = async |client: &Client, it| client.hygiene().duplicates(it).await;
            answered(client, global, request, call, |it| &it.warnings, print::duplicates).await
        }
        HygieneCommand::SuggestLinks { note, write, page, filter } => {
            let request = SuggestedLinksRequest {
                note: note.join(" "),
                filter: Some(filter.into()),
                page_size: Some(page.limit),
                page_token: page.page_token,
                ..SuggestedLinksRequest::default()
            };
            if write {
                return write_links(client, request, global).await;
            }
            let call = async |client: &Client, it| client.hygiene().suggested_links(it).await;
            answered(client, global, request, call, |it| &it.warnings, print::suggested_links).await
        }
        HygieneCommand::Stale {
            min_age,
            min_linking,
            page: PageArgs { limit, page_token },
            filter,
        } => {
            let request = StaleNotesRequest {
                filter: Some(filter.into()),
                min_age_days: Some(min_age),
                min_linking: Some(min_linking),
                page_size: Some(limit),
                page_token,
                ..StaleNotesRequest::default()
            };
            let call = async |client: &Client, it| client.hygiene().stale_notes(it).await;
            answered(client, global, request, call, |it| &it.warnings, print::stale_notes).await
        }
        HygieneCommand::Broken { page: PageArgs { limit, page_token }, filter } => {
            let request = BrokenLinksRequest {
                filter: Some(filter.into()),
                page_size: Some(limit),
                page_token,
                ..BrokenLinksRequest::default()
            };
            let call = async |client: &Client, it| client.hygiene().broken_links(it).await;
            answered(client, global, request, call, |it| &it.warnings, print::broken_links).await
        }
    }
}

/// Writes the suggested links of one page, note by note.
async fn write_links(
    client: &Client,
    request: SuggestedLinksRequest,
    global: &Global,
) -> Result<String, Failure> {
    let request = client.prepare(request, global).await?;
    let answer = client.hygiene().suggested_links(request).await?.into_inner();
    aside(&print::warnings(&answer.warnings));
    let mut by_note: BTreeMap<(String, String), Vec<MentionToLink>> = BTreeMap::new();
    for SuggestedLink { note, hash, target, span, .. } in answer.links {
        let (Some(note), Some(target)) = (note, target) else { continue };
        let mention = MentionToLink { span, target: target.uri };
        by_note.entry((note.uri, hash)).or_default().push(mention);
    }
    let mut written = Vec::new();
    for ((note, expected_hash), mentions) in by_note {
        let request = LinkMentionsRequest { note, expected_hash, mentions };
        written.push(client.notes().link_mentions(request).await?.into_inner());
    }
    if global.format != Format::Human {
        return json(&written);
    }
    Ok(print::written_links(&written))
}
