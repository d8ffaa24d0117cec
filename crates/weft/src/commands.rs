//! One function per command.

use std::io::Write as _;

use serde::Serialize;
use tonic::{Response, Status};
use weft_graph::walk::export::Format as GraphFormat;
use weft_proto::noteweft::v1::{
    ConfirmRequest, DiffRequest, ExportRequest, FlushRequest, GetNoteRequest, ListNotesRequest,
    ReindexRequest, ResolveLinkRequest, SearchMode, SearchRequest, StatusRequest, WhyNotRequest,
};

use crate::asker::{Asker, Purpose, config};
use crate::cli::{Cli, Command, ConfigCommand, Format, Global, QUOTES};
use crate::failure::Failure;
use crate::hint::Hint;
use crate::progress::Progress;
use crate::question::Question;
use crate::reach::Credentials;
use crate::{background, backup, bench, manual};
use crate::{context, doctor, eval, export, print, related, serve, walk};

/// Runs the command and prints its answer.
pub(crate) async fn run(cli: Cli) -> Result<(), Failure> {
    let Cli { global, command } = cli;
    let Some(command) = command else { return write(&print::welcome()) };
    printable(global.format, &command)?;
    let names_several = names_several(&command);
    done(command, &global).await.map_err(|failure| {
        if names_several && failure.is_missing() { failure.hint(QUOTES) } else { failure }
    })
}

/// Whether words that follow each other are names of several notes, or a name and something else.
fn names_several(command: &Command) -> bool {
    matches!(command, Command::WhyNot { .. })
        || matches!(command, Command::Walk(walk) if walk.names_several())
}

/// Asks what the flags name and writes the answer to standard output.
async fn ask(
    global: &Global,
    question: impl AsyncFnOnce(&Asker) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let asker = Asker::open(global).await?;
    let answer = question(&asker).await;
    asker.close().await;
    write_as(global.format, &answer?)
}

/// Asks one question and writes its answer to standard output.
async fn question<Q: Question, A: Serialize>(
    global: &Global,
    request: Q,
    call: impl AsyncFnOnce(&Asker, Q) -> Result<Response<A>, Status>,
    lacks: fn(&A) -> &[String],
    human: impl FnOnce(&A, &Hint) -> String,
) -> Result<(), Failure> {
    ask(global, async |asker| answered(asker, global, request, call, lacks, human).await).await
}

async fn done(command: Command, global: &Global) -> Result<(), Failure> {
    let format = global.format;
    match command {
        Command::Serve { vaults, ask, socket, detach } => {
            serve::run(global, &vaults, ask.as_deref(), socket, detach).await
        }
        Command::Stop => write(&background::stop(global).await?),
        Command::Index { vaults } => index(global, vaults).await,
        Command::Search { query, limit, mode, explain, snippets, ranking, filter } => {
            let query = query.join(" ");
            let request = SearchRequest {
                query: query.clone(),
                limit: Some(limit),
                mode: SearchMode::from(mode).into(),
                filter: Some(filter.into()),
                explain,
                snippets,
                ..SearchRequest::from(ranking)
            };
            let call = async |asker: &Asker, it| asker.search().search(it).await;
            let human = |answer: &_, hint: &_| print::search(&query, answer, hint);
            question(global, request, call, |_| &[], human).await
        }
        Command::Related(args) => {
            ask(global, async |asker| related::ask(asker, args, global).await).await
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
            let call = async |asker: &Asker, it| asker.search().why_not(it).await;
            question(global, request, call, |_| &[], print::why_not).await
        }
        Command::Get { note, max_links } => {
            let max_links = Some(max_links);
            let request =
                GetNoteRequest { name: note.join(" "), max_links, ..GetNoteRequest::default() };
            let call = async |asker: &Asker, it| asker.notes().get_note(it).await;
            question(global, request, call, |_| &[], print::note).await
        }
        Command::List { limit, page_token, filter } => {
            let request = ListNotesRequest {
                filter: Some(filter.into()),
                page_size: Some(limit),
                page_token,
                ..ListNotesRequest::default()
            };
            let call = async |asker: &Asker, it| asker.notes().list_notes(it).await;
            question(global, request, call, |it| &it.degraded, print::list).await
        }
        Command::Resolve { target, from } => {
            let target = target.join(" ");
            let request = ResolveLinkRequest { target, from, ..ResolveLinkRequest::default() };
            let call = async |asker: &Asker, it| asker.notes().resolve_link(it).await;
            question(global, request, call, |_| &[], |answer, _| print::resolved(answer)).await
        }
        Command::Walk(walk) => {
            ask(global, async |asker| walk::ask(asker, *walk, global).await).await
        }
        Command::Write(command) => {
            let ready = command.ready()?;
            ask(global, async |asker| crate::write::ask(asker, ready, global).await).await
        }
        Command::Status => {
            ask(global, async |asker| {
                let answer = asker.admin().status(StatusRequest {}).await?.into_inner();
                render(format, &answer, print::status)
            })
            .await
        }
        Command::Coverage { all } => {
            ask(global, async |asker| {
                render(format, &asker.coverage().await?, |answer| print::coverage(answer, all))
            })
            .await
        }
        Command::Export { filter } => {
            let request = ExportRequest { filter: Some(filter.into()), ..ExportRequest::default() };
            ask(global, async |asker| {
                let answer = asker.export(asker.ready(request, global).await?).await?;
                aside(&print::degraded(&answer.degraded));
                match format {
                    Format::Human | Format::Json | Format::Records => json(&answer),
                    Format::Graphml => Ok(export::written(&answer, GraphFormat::GraphMl)),
                    Format::Dot => Ok(export::written(&answer, GraphFormat::Dot)),
                }
            })
            .await
        }
        Command::Diff { from, all } => {
            let request = DiffRequest { from, ..DiffRequest::default() };
            ask(global, async |asker| {
                let answer = asker.diff(asker.ready(request, global).await?).await?;
                render(format, &answer, |answer| print::diff(answer, all, &asker.hint))
            })
            .await
        }
        Command::Eval(args) => {
            ask(global, async |asker| eval::ask(asker, args, format).await).await
        }
        Command::Bench(args) => write_as(format, &bench::run(global, args).await?),
        Command::Reindex { full, compact } => {
            let request = ReindexRequest { full, compact };
            ask(global, async |asker| reindex(asker, request, format).await).await
        }
        Command::Flush => {
            ask(global, async |asker| {
                let answer = asker.admin().flush(FlushRequest {}).await?.into_inner();
                render(format, &answer, |answer| {
                    format!("everything is in generation {}\n", answer.generation)
                })
            })
            .await
        }
        Command::Backup { folder } => {
            ask(global, async |asker| backup::ask(asker, &folder, global).await).await
        }
        Command::Restore { folder } => write(&backup::take_back(&folder, global)?),
        Command::Confirm { name } => {
            ask(global, async |asker| {
                let request = ConfirmRequest { vault: name };
                let answer = asker.admin().confirm(request).await?.into_inner();
                render(format, &answer, print::confirmed)
            })
            .await
        }
        Command::Doctor => doctor::run(global).await,
        Command::Mcp => mcp(global).await,
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
    asker: &Asker,
    request: ReindexRequest,
    format: Format,
) -> Result<String, Failure> {
    let mut messages = asker.admin().reindex(request).await?.into_inner();
    let mut progress = Progress::new();
    let mut last = None;
    while let Some(message) = messages.message().await? {
        progress.show(&(&message).into());
        last = Some(message);
    }
    progress.end();
    let last = last.ok_or_else(|| Failure::other("the daemon said nothing"))?;
    render(format, &last, |last| {
        format!(
            "words and links are in: {} files, generation {}\n",
            last.n_files_total, last.generation
        )
    })
}

/// Brings folders up to date and says what is in.
async fn index(global: &Global, vaults: Vec<std::path::PathBuf>) -> Result<(), Failure> {
    let vaults = if vaults.is_empty() { global.vault.clone() } else { vaults };
    let (config, paths) = config(global, &vaults, &[])?;
    let asker = {
        let credentials = Credentials::read(global)?;
        let purpose = Purpose::Question { wait: !global.no_wait };
        let hint = Hint::vaults(&vaults, global.store.as_deref());
        Asker::in_process(config, paths, &credentials, purpose, hint).await?
    };
    let answer = async {
        if asker.channel().is_some() {
            // A daemon holds the store and reads the files itself.
            reindex(&asker, ReindexRequest::default(), Format::Human).await?;
        }
        let answer = asker.admin().status(StatusRequest {}).await?.into_inner();
        render(global.format, &answer, |answer| {
            let hint = asker.hint.command(&["search", "a question in your own words"]);
            let none = "no file in there ends in .md or .markdown; `weft coverage` lists what was left out";
            let after =
                if answer.n_notes == 0 { print::warning(none) } else { print::next(&[&hint]) };
            format!("{}\n{after}", print::status(answer))
        })
    };
    let answer = answer.await;
    asker.close().await;
    write_as(global.format, &answer?)
}

/// Answers an agent until it has no more to ask, or a signal comes.
async fn mcp(global: &Global) -> Result<(), Failure> {
    let asker = Asker::open_for(global, Purpose::Conversation).await?;
    let outcome = tokio::select! {
        ended = weft_mcp::Server::new(asker.transport()).over_stdio() => {
            ended.map_err(|error| Failure::other(error.to_string()))
        }
        () = serve::signal() => Ok(()),
    };
    asker.close().await;
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

/// The answer in the form asked for.
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

/// Asks one question and gives its answer in the form asked for. What it `lacks` is said on standard error, where its text for people does not say it.
pub(crate) async fn answered<Q: Question, A: Serialize>(
    asker: &Asker,
    global: &Global,
    request: Q,
    call: impl AsyncFnOnce(&Asker, Q) -> Result<Response<A>, Status>,
    lacks: fn(&A) -> &[String],
    human: impl FnOnce(&A, &Hint) -> String,
) -> Result<String, Failure> {
    let request = asker.ready(request, global).await?;
    let answer = call(asker, request).await?.into_inner();
    aside(&print::degraded(lacks(&answer)));
    render(global.format, &answer, |answer| human(answer, &asker.hint))
}

/// Refuses a form in which the command's answer cannot be written.
fn printable(format: Format, command: &Command) -> Result<(), Failure> {
    let (written, by) = match format {
        Format::Human | Format::Json => return Ok(()),
        Format::Records => (
            matches!(command, Command::Walk(walk) if walk.writes_records()),
            "`tree` and `path` write records",
        ),
        Format::Graphml | Format::Dot => {
            (matches!(command, Command::Export { .. }), "`export` writes GraphML and DOT")
        }
    };
    if written {
        return Ok(());
    }
    Err(Failure::usage(format!("only {by}; here it is --format human or json")))
}

/// One object on one line.
pub(crate) fn json(answer: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(answer);
    text.map(|text| text + "\n").map_err(|error| Failure::other(error.to_string()))
}

/// Writes what goes with an answer to standard error.
pub(crate) fn aside(text: &str) {
    // The answer is out; nobody is left to tell when standard error is closed.
    drop(anstream::stderr().lock().write_all(text.as_bytes()));
}

/// Writes an answer to standard output, as `format` asks.
pub(crate) fn write_as(format: Format, text: &str) -> Result<(), Failure> {
    match format {
        Format::Human => write(text),
        Format::Json | Format::Records | Format::Graphml | Format::Dot => write_plain(text),
    }
}

/// Writes text for people to standard output; styles only where they can be seen.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    write_to(anstream::stdout().lock(), text)
}

/// Writes text for programs to standard output, to the byte.
pub(crate) fn write_plain(text: &str) -> Result<(), Failure> {
    write_to(std::io::stdout().lock(), text)
}

fn write_to(mut out: impl std::io::Write, text: &str) -> Result<(), Failure> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that has seen enough, such as `head`, is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => {
            written.map_err(|error| Failure::other(format!("cannot write the answer: {error}")))
        }
    }
}
