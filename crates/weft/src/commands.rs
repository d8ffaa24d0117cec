//! Execution of commands.

use std::io::{IsTerminal as _, Write as _};

use serde::Serialize;
use tonic::{Response, Status};
use weft_graph::walk::export::ExportFormat;
use weft_model::escape;
use weft_proto::noteweft::v1::{
    ConfirmDeletionsRequest, DiffRequest, ExportRequest, FacetsRequest, FlushRequest,
    GetNoteRequest, ListNotesRequest, ReindexRequest, ResolveLinkRequest, SearchMode,
    SearchRequest, StatusRequest, Warning, WhyNotRequest,
};

use crate::cli::{Cli, Command, ConfigCommand, Format, Global, QUOTES};
use crate::cli_request::CliRequest;
use crate::client::{Client, Purpose, config};
use crate::connection::ClientCredentials;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::progress::Progress;
use crate::{background, backup, bench, cluster, manual, open};
use crate::{context, doctor, eval, export, print, related, serve, walk};

/// Default number of hits, printed and in the interactive search.
const LIMIT: u32 = 10;
const INTERACTIVE_LIMIT: u32 = 50;

/// Runs the command and prints its answer.
pub(crate) async fn run(cli: Cli) -> Result<(), Failure> {
    let Cli { global, command } = cli;
    let Some(command) = command else { return write(&print::welcome()) };
    check_format(global.format, &command)?;
    let names_several = names_several(&command);
    execute(command, &global).await.map_err(|failure| {
        if names_several && failure.is_missing() { failure.hint(QUOTES) } else { failure }
    })
}

/// Returns whether consecutive words are names of several notes, or a name and something else.
fn names_several(command: &Command) -> bool {
    matches!(command, Command::WhyNot { .. })
        || matches!(command, Command::Walk(walk) if walk.names_several())
}

/// Opens a client, runs `action` and writes its answer to standard output.
async fn with_client(
    global: &Global,
    action: impl AsyncFnOnce(&Client) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let client = Client::open(global).await?;
    let answer = action(&client).await;
    client.close().await;
    write_as(global.format, &answer?)
}

/// Sends one request and writes its answer to standard output.
async fn answer<Q: CliRequest, A: Serialize>(
    global: &Global,
    request: Q,
    call: impl AsyncFnOnce(&Client, Q) -> Result<Response<A>, Status>,
    warnings: fn(&A) -> &[Warning],
    human: impl FnOnce(&A, &Hint) -> String,
) -> Result<(), Failure> {
    with_client(global, async |client| {
        answered(client, global, request, call, warnings, human).await
    })
    .await
}

async fn execute(command: Command, global: &Global) -> Result<(), Failure> {
    let format = global.format;
    match command {
        Command::Serve { vaults, ask, socket, collection, detach } => {
            let collection = collection.settings();
            serve::run(global, &vaults, ask.as_deref(), (socket, collection), detach).await
        }
        Command::Stop => write(&background::stop(global).await?),
        Command::Index { vaults } => index(global, vaults).await,
        Command::Search { query, interactive, limit, mode, explain, snippets, ranking, filter } => {
            let query = query.join(" ");
            let default_limit = if interactive { INTERACTIVE_LIMIT } else { LIMIT };
            let request = SearchRequest {
                query: query.clone(),
                limit: Some(limit.unwrap_or(default_limit)),
                mode: SearchMode::from(mode).into(),
                filter: Some(filter.into()),
                explain,
                snippets,
                ..SearchRequest::from(ranking)
            };
            if interactive {
                return crate::interactive::run(global, request).await;
            }
            let call = async |client: &Client, it| {
                let answer = client.search().search(it).await?;
                if answer.get_ref().hits.is_empty() {
                    warn_without_notes(client).await;
                }
                Ok(answer)
            };
            let human = |answer: &_, hint: &_| print::search(&query, answer, hint);
            answer(global, request, call, |_| &[], human).await
        }
        Command::Related(args) => {
            with_client(global, async |client| related::run(client, args, global).await).await
        }
        Command::Context(args) => context::run(global, *args).await,
        Command::WhyNot { note, query, limit, mode, ranking, filter } => {
            let search = SearchRequest {
                query: query.join(" "),
                limit: Some(limit),
                mode: SearchMode::from(mode).into(),
                filter: Some(filter.into()),
                ..SearchRequest::from(ranking)
            };
            let request = WhyNotRequest { note, search: Some(search) };
            let call = async |client: &Client, it| client.search().why_not(it).await;
            answer(global, request, call, |_| &[], print::why_not).await
        }
        Command::Get { note, max_links } => {
            let max_links = Some(max_links);
            let request =
                GetNoteRequest { name: note.join(" "), max_links, ..GetNoteRequest::default() };
            let call = async |client: &Client, it| client.notes().get_note(it).await;
            answer(global, request, call, |it| &it.warnings, print::note).await
        }
        Command::Open { note, print } => open::run(global, note.join(" "), print).await,
        Command::Facets { query, limit, filter } => {
            let request = FacetsRequest {
                query: query.join(" "),
                filter: Some(filter.into()),
                max_values: Some(limit),
                ..FacetsRequest::default()
            };
            let call = async |client: &Client, it| client.search().facets(it).await;
            let human = |answer: &_, _: &Hint| print::facets(answer);
            answer(global, request, call, |it| &it.warnings, human).await
        }
        Command::List { limit, page_token, filter } => {
            let request = ListNotesRequest {
                filter: Some(filter.into()),
                page_size: Some(limit),
                page_token,
                ..ListNotesRequest::default()
            };
            let call = async |client: &Client, it| client.notes().list_notes(it).await;
            answer(global, request, call, |it| &it.warnings, print::list).await
        }
        Command::Resolve { target, from } => {
            let target = target.join(" ");
            let request = ResolveLinkRequest { target, from, ..ResolveLinkRequest::default() };
            let call = async |client: &Client, it| client.notes().resolve_link(it).await;
            let human = |answer: &_, _: &_| print::resolved(answer);
            answer(global, request, call, |answer| &answer.warnings, human).await
        }
        Command::Walk(walk) => {
            with_client(global, async |client| walk::run(client, *walk, global).await).await
        }
        Command::Hygiene(command) => {
            with_client(global, async |client| crate::hygiene::run(client, *command, global).await)
                .await
        }
        Command::Write(command) => {
            let ready = command.ready()?;
            with_client(global, async |client| crate::write::run(client, ready, global).await).await
        }
        Command::Status => {
            with_client(global, async |client| {
                let answer = client.admin().status(StatusRequest {}).await?.into_inner();
                render(format, &answer, print::status)
            })
            .await
        }
        Command::Coverage { all } => {
            with_client(global, async |client| {
                render(format, &client.coverage().await?, |answer| print::coverage(answer, all))
            })
            .await
        }
        Command::Export { filter } => {
            let request = ExportRequest { filter: Some(filter.into()), ..ExportRequest::default() };
            with_client(global, async |client| {
                let answer = client.export(client.prepare(request, global).await?).await?;
                aside(&print::warnings(&answer.warnings));
                match format {
                    Format::Human | Format::Json | Format::Records => json(&answer),
                    Format::Graphml => Ok(export::to_text(&answer, ExportFormat::GraphMl)),
                    Format::Dot => Ok(export::to_text(&answer, ExportFormat::Dot)),
                }
            })
            .await
        }
        Command::Diff { from, all } => {
            let request = DiffRequest { from_generation: from, ..DiffRequest::default() };
            with_client(global, async |client| {
                let answer = client.diff(client.prepare(request, global).await?).await?;
                render(format, &answer, |answer| print::diff(answer, all, &client.hint))
            })
            .await
        }
        Command::Eval(args) => {
            with_client(global, async |client| eval::run(client, args, format).await).await
        }
        Command::Bench(args) => write_as(format, &bench::run(global, args).await?),
        Command::Reindex { full, compact, model } => {
            let request = ReindexRequest { full, compact, choose_model: model.is_some() };
            with_client(global, async |client| reindex(client, request, format).await).await
        }
        Command::Flush => {
            with_client(global, async |client| {
                let answer = client.admin().flush(FlushRequest {}).await?.into_inner();
                render(format, &answer, |answer| {
                    format!("all earlier changes are in generation {}\n", answer.generation)
                })
            })
            .await
        }
        Command::Backup { folder } => {
            with_client(global, async |client| backup::run(client, &folder, global).await).await
        }
        Command::Restore { folder } => write(&backup::restore_into_store(&folder, global)?),
        Command::ConfirmDeletions { name } => {
            with_client(global, async |client| {
                let request = ConfirmDeletionsRequest { vault: name };
                let answer = client.admin().confirm_deletions(request).await?.into_inner();
                render(format, &answer, print::confirmed)
            })
            .await
        }
        Command::Doctor => doctor::run(global).await,
        Command::Mcp { write } => mcp(global, write).await,
        Command::Cluster { command } => write_as(format, &cluster::run(command, global).await?),
        Command::Push(args) => write_as(format, &cluster::push(args, global).await?),
        Command::Pull(args) => write_as(format, &cluster::pull(args, global).await?),
        Command::Config { command } => show_config(global, &command),
        Command::Completions { shell, folder: None } => write(&manual::completions(shell)),
        Command::Completions { shell, folder: Some(folder) } => {
            write(&manual::completions_into(shell, &folder)?)
        }
        Command::Man { folder: None, markdown: true } => write(&manual::markdown()),
        Command::Man { folder: None, markdown: false } => write(&manual::page()?),
        Command::Man { folder: Some(folder), markdown: _ } => write(&manual::pages(&folder)?),
    }
}

async fn reindex(
    client: &Client,
    request: ReindexRequest,
    format: Format,
) -> Result<String, Failure> {
    let mut messages = client.admin().reindex(request).await?.into_inner();
    let mut progress = Progress::new();
    let mut last = None;
    while let Some(message) = messages.message().await? {
        progress.show(&(&message).into());
        last = Some(message);
    }
    progress.end();
    let last = last.ok_or_else(|| Failure::other("the daemon sent no response"))?;
    render(format, &last, |last| {
        format!(
            "indexed keywords and links of {} files, generation {}\n",
            last.total_file_count, last.generation
        )
    })
}

/// Updates the index of vaults and prints its status.
async fn index(global: &Global, vaults: Vec<std::path::PathBuf>) -> Result<(), Failure> {
    let vaults = if vaults.is_empty() { global.vault.clone() } else { vaults };
    let (config, paths) = config(global, &vaults, &[])?;
    let client = {
        let credentials = ClientCredentials::read(global)?;
        let purpose = Purpose::OneShot { wait: !global.no_wait };
        let hint = Hint::vaults(&vaults, global.store.as_deref());
        Client::in_process(config, paths, &credentials, purpose, hint).await?
    };
    let answer = async {
        if client.channel().is_some() {
            // A daemon holds the store and reads the files itself.
            reindex(&client, ReindexRequest::default(), Format::Human).await?;
        }
        let answer = client.admin().status(StatusRequest {}).await?.into_inner();
        render(global.format, &answer, |answer| {
            let next = print::next(&[&client.hint.first_search()]);
            let after = if answer.note_count == 0 { print::no_notes() } else { next };
            format!("{}\n{after}", print::status(answer))
        })
    };
    let answer = answer.await;
    client.close().await;
    write_as(global.format, &answer?)
}

/// Serves an agent until it disconnects or a signal arrives.
async fn mcp(global: &Global, may_write: bool) -> Result<(), Failure> {
    let client = Client::open_for(global, Purpose::Session).await?;
    let server = weft_mcp::Server::new(client.transport()).with_writing(may_write);
    if std::io::stdin().is_terminal() {
        aside("Waiting for an MCP client on standard input; Ctrl-C ends.\n");
    }
    let outcome = tokio::select! {
        ended = server.over_stdio() => {
            ended.map_err(|error| Failure::other(error.to_string()))
        }
        () = serve::stop_signal() => Ok(()),
    };
    client.close().await;
    outcome
}

/// One setting of `config show`.
#[derive(Serialize)]
struct Setting {
    key: String,
    value: serde_json::Value,
    origin: String,
}

fn show_config(global: &Global, command: &ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Default => write(weft_daemon::config::DEFAULT_TOML),
        ConfigCommand::Show { origin } => {
            let (config, _) = config(global, &global.vault, &[])?;
            let settings: Vec<Setting> = config
                .entries()
                .into_iter()
                .map(|(key, value, origin)| Setting { key, value, origin: origin.to_string() })
                .collect();
            let rows = |settings: &Vec<Setting>| {
                let rows = settings.iter().map(|Setting { key, value, origin }| {
                    (key.as_str(), value.to_string(), origin.as_str())
                });
                print::settings(rows, *origin)
            };
            if global.format == Format::Human {
                return write(&rows(&settings));
            }
            write_plain(&json(&serde_json::json!({ "settings": settings }))?)
        }
    }
}

/// Renders the answer in the requested format.
pub(crate) fn render<T: Serialize>(
    format: Format,
    answer: &T,
    human: impl FnOnce(&T) -> String,
) -> Result<String, Failure> {
    match format {
        Format::Human => Ok(human(answer)),
        Format::Json | Format::Records | Format::Graphml | Format::Dot => json(answer),
    }
}

/// Sends one request and renders its answer. The `warnings` of an answer go to standard error unless its text for people includes them.
pub(crate) async fn answered<Q: CliRequest, A: Serialize>(
    client: &Client,
    global: &Global,
    request: Q,
    call: impl AsyncFnOnce(&Client, Q) -> Result<Response<A>, Status>,
    warnings: fn(&A) -> &[Warning],
    human: impl FnOnce(&A, &Hint) -> String,
) -> Result<String, Failure> {
    let request = client.prepare(request, global).await?;
    let answer = call(client, request).await?.into_inner();
    aside(&print::warnings(warnings(&answer)));
    render(global.format, &answer, |answer| human(answer, &client.hint))
}

/// Warns if the index is complete and contains no notes.
async fn warn_without_notes(client: &Client) {
    if let Ok(status) = client.admin().status(StatusRequest {}).await
        && print::has_no_notes(status.get_ref())
    {
        aside(&print::no_notes());
    }
}

/// Rejects an output format that the command does not support.
fn check_format(format: Format, command: &Command) -> Result<(), Failure> {
    let (is_supported, by) = match format {
        Format::Human | Format::Json => return Ok(()),
        Format::Records => (
            matches!(command, Command::Walk(walk) if walk.writes_records()),
            "`tree` and `path` write records",
        ),
        Format::Graphml | Format::Dot => {
            (matches!(command, Command::Export { .. }), "`export` writes GraphML and DOT")
        }
    };
    if is_supported {
        return Ok(());
    }
    Err(Failure::usage(format!("only {by}; this command supports --format human and json")))
}

/// Serializes an answer as one line of JSON.
pub(crate) fn json(answer: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(answer);
    text.map(|text| escape::json(&text).into_owned() + "\n")
        .map_err(|error| Failure::other(error.to_string()))
}

/// Writes text that accompanies an answer to standard error.
pub(crate) fn aside(text: &str) {
    // The answer has been written; a closed standard error is not a failure.
    drop(anstream::stderr().lock().write_all(text.as_bytes()));
}

/// Writes an answer to standard output, styled according to `format`.
pub(crate) fn write_as(format: Format, text: &str) -> Result<(), Failure> {
    match format {
        Format::Human => write(text),
        Format::Json | Format::Records | Format::Graphml | Format::Dot => write_plain(text),
    }
}

/// Writes text for people to standard output, with styles only on a terminal.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    write_to(anstream::stdout().lock(), text)
}

/// Writes text for programs to standard output, byte for byte.
pub(crate) fn write_plain(text: &str) -> Result<(), Failure> {
    write_to(std::io::stdout().lock(), text)
}

fn write_to(mut out: impl std::io::Write, text: &str) -> Result<(), Failure> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that stops early, such as `head`, is not a failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => {
            written.map_err(|error| Failure::other(format!("cannot write the answer: {error}")))
        }
    }
}
