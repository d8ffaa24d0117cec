//! Command line definitions.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use weft_proto::noteweft::v1::{Filter, NoteKind, PropertyMatch, Rendering, SearchMode, Within};

use crate::bench::BenchArgs;
use crate::cluster::{ClusterCommand, CollectionArgs, PullArgs, PushArgs};
use crate::context::ContextArgs;
use crate::eval::EvalArgs;
use crate::hygiene::HygieneCommand;
use crate::ranking::RankingArgs;
use crate::related::RelatedArgs;
use crate::walk::WalkCommand;
use crate::write::WriteCommand;

/// Search your notes by meaning, by keyword and by link.
#[derive(Debug, Parser)]
#[command(
    name = "weft",
    version,
    about = "Searches your notes by meaning, by keyword and by link",
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Cli {
    /// Parses the command line of the process; prints the error and exits if it is invalid.
    pub(crate) fn read() -> Self {
        let words = move_repeated_flags_last(std::env::args_os());
        let matches = Self::command().try_get_matches_from(words);
        let matches = matches.unwrap_or_else(|error| about_quotes(error).exit());
        let mut cli = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        // An empty variable counts as unset.
        cli.global.addr = cli.global.addr.filter(|address| !address.is_empty());
        let is_typed = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
        cli.global.addr_by_flag = is_typed("addr");
        match (is_typed("token"), is_typed("token_file")) {
            (true, true) => {
                let message = "--token and --token-file cannot be used together\n";
                Self::command().error(ErrorKind::ArgumentConflict, message).exit();
            }
            // A flag takes precedence over a variable.
            (false, true) => cli.global.token = None,
            (true, false) => cli.global.token_file = None,
            (false, false) => {}
        }
        cli
    }
}

/// Adds a hint about quotes to an error caused by a surplus word that is not a flag.
fn about_quotes(mut error: clap::Error) -> clap::Error {
    let is_word = |value: &ContextValue| matches!(value, ContextValue::String(word) if !word.starts_with('-'));
    let is_left_over = error.kind() == ErrorKind::UnknownArgument
        && error.get(ContextKind::InvalidArg).is_some_and(is_word);
    if is_left_over {
        let tip = ContextValue::StyledStrs(vec![QUOTES.into()]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}

/// Hint for a name of several words given without quotes.
pub(crate) const QUOTES: &str = "put a name of several words in quotes, such as 'Leap second'";

/// Flags that may be repeated before and after the command.
const REPEATED: [&str; 2] = ["--set", "--vault"];

/// Moves the flags of [`REPEATED`] to the end, in order: clap keeps only the values after the command if they are given on both sides.
fn move_repeated_flags_last(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let (mut others, mut repeated) = (Vec::new(), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_str().unwrap_or_default();
        let (flag, value) = text.split_once('=').map_or((text, None), |(flag, v)| (flag, Some(v)));
        if text == "--" {
            // Everything after `--` is an argument.
            repeated.extend([word].into_iter().chain(words.by_ref()));
        } else if !REPEATED.contains(&flag) {
            others.push(word);
        } else {
            let is_whole = value.is_some();
            repeated.push(word);
            repeated.extend(if is_whole { None } else { words.next() });
        }
    }
    others.extend(repeated);
    others
}

/// Flags accepted by every command.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Global {
    /// Answer in this process from the vault DIR, after updating its index; repeatable.
    #[arg(long, global = true, value_name = "DIR", help_heading = "Connection")]
    pub(crate) vault: Vec<PathBuf>,
    /// With --vault: answer at once, without waiting for embeddings.
    #[arg(long, global = true, help_heading = "Connection")]
    pub(crate) no_wait: bool,
    /// Answer from the earlier generation N; `weft status` lists those available.
    #[arg(long, global = true, value_name = "N", help_heading = "Generation")]
    pub(crate) as_of: Option<u64>,
    /// Wait for generation N, as printed by a write command.
    #[arg(
        long,
        global = true,
        value_name = "N",
        conflicts_with = "as_of",
        help_heading = "Generation"
    )]
    pub(crate) min_generation: Option<u64>,
    /// Address of the daemon: HOST:PORT, https://HOST:PORT or unix:PATH. For `serve`, the HOST:PORT to listen on; the variable does not apply there.
    #[arg(
        long,
        global = true,
        env = "WEFT_ADDR",
        value_name = "ADDR",
        help_heading = "Connection"
    )]
    pub(crate) addr: Option<String>,
    /// True if the address comes from a flag.
    #[arg(skip)]
    pub(crate) addr_by_flag: bool,
    /// File with the token for a daemon that requires one; of several lines, the last is used.
    #[arg(
        long,
        global = true,
        env = "WEFT_TOKEN_FILE",
        value_name = "FILE",
        help_heading = "Connection"
    )]
    pub(crate) token_file: Option<PathBuf>,
    /// The token itself. Prefer the variable or --token-file: other users may see the command line.
    #[arg(
        long,
        global = true,
        env = "WEFT_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN",
        help_heading = "Connection"
    )]
    pub(crate) token: Option<String>,
    /// Use TLS and trust the certificate authority in this file; https:// addresses trust the public ones without it.
    #[arg(
        long,
        global = true,
        env = "WEFT_TLS_CA",
        value_name = "FILE",
        help_heading = "Connection"
    )]
    pub(crate) tls_ca: Option<PathBuf>,
    /// Name in the daemon's certificate, if it differs from the host in the address; implies TLS.
    #[arg(
        long,
        global = true,
        env = "WEFT_TLS_NAME",
        value_name = "NAME",
        help_heading = "Connection"
    )]
    pub(crate) tls_name: Option<String>,
    /// Client certificate for a daemon that requires one.
    #[arg(
        long,
        global = true,
        env = "WEFT_TLS_CERT",
        value_name = "FILE",
        requires = "tls_key",
        help_heading = "Connection"
    )]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the client certificate.
    #[arg(
        long,
        global = true,
        env = "WEFT_TLS_KEY",
        value_name = "FILE",
        help_heading = "Connection"
    )]
    pub(crate) tls_key: Option<PathBuf>,
    /// Folder of the index [default: below the user's data folder].
    #[arg(long, global = true, value_name = "DIR", help_heading = "Settings")]
    pub(crate) store: Option<PathBuf>,
    /// Configuration file [default: the user's own].
    #[arg(long, global = true, value_name = "FILE", help_heading = "Settings")]
    pub(crate) config: Option<PathBuf>,
    /// Override one setting, such as embedding.model=none; repeatable.
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = pair, help_heading = "Settings")]
    pub(crate) set: Vec<(String, String)>,
    /// Output format.
    #[arg(long, global = true, value_enum, default_value_t, help_heading = "Output")]
    pub(crate) format: Format,
}

impl Global {
    /// Returns the address to listen on, if a flag sets it: the variable names the daemon to ask, which may run elsewhere.
    pub(crate) fn own_address(&self) -> Option<&String> {
        self.addr.as_ref().filter(|_| self.addr_by_flag)
    }
}

/// Output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people.
    #[default]
    Human,
    /// One JSON object.
    Json,
    /// One record per line; only `tree` and `path`.
    Records,
    /// GraphML; only `export`.
    Graphml,
    /// Graphviz DOT; only `export`.
    Dot,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve vaults over gRPC until Ctrl-C.
    Serve {
        /// Vaults to serve [default: those of the configuration].
        #[arg(value_name = "VAULT")]
        vaults: Vec<PathBuf>,
        /// Run this search once everything is indexed, and print the hits.
        #[arg(long, value_name = "QUERY")]
        ask: Option<String>,
        /// Path of a Unix socket, `auto` or `none`.
        #[arg(long, value_name = "PATH")]
        socket: Option<String>,
        #[command(flatten)]
        collection: CollectionArgs,
        /// Run in the background and return once the daemon is ready; `weft stop` ends it.
        #[arg(long, conflicts_with = "ask")]
        detach: bool,
    },
    /// Stop the daemon and wait until everything is persisted.
    Stop,
    /// Update the index of a vault, with progress.
    Index {
        /// Vaults to index [default: those of --vault or the configuration].
        #[arg(value_name = "VAULT")]
        vaults: Vec<PathBuf>,
    },
    /// Search notes.
    Search {
        /// Query, as one or several words. +term and +"a phrase" are required, -term is excluded (after --).
        #[arg(required_unless_present = "interactive", value_name = "QUERY")]
        query: Vec<String>,
        /// Search as you type, with a preview; Enter opens the note in your editor, F1 lists the keys.
        #[arg(long, short, conflicts_with_all = ["explain", "snippets"])]
        interactive: bool,
        /// Maximum number of hits [default: 10, with --interactive 50].
        #[arg(long)]
        limit: Option<u32>,
        /// Retrievers to use.
        #[arg(long, value_enum, default_value_t)]
        mode: SearchModeArg,
        /// Show the parts of each score.
        #[arg(long)]
        explain: bool,
        /// Maximum number of snippets per hit, 0 for none [default: the setting search.snippets].
        #[arg(long, value_name = "N")]
        snippets: Option<u32>,
        #[command(flatten)]
        ranking: RankingArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Show the notes most worth reading around a note, best first, within a token budget.
    Related(RelatedArgs),
    /// Pack the best notes into a context within a token budget, with a ledger of every candidate.
    Context(Box<ContextArgs>),
    /// Explain why a note is missing from the hits of a search.
    WhyNot {
        /// The missing note.
        note: String,
        /// Query of the search, as one or several words.
        #[arg(required = true, value_name = "QUERY")]
        query: Vec<String>,
        /// Limit of the search.
        #[arg(long, default_value_t = 10)]
        limit: u32,
        /// Retrievers of the search.
        #[arg(long, value_enum, default_value_t)]
        mode: SearchModeArg,
        #[command(flatten)]
        ranking: RankingArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Show a note with its links and backlinks.
    Get {
        /// URI, path, link target or title, as one or several words.
        #[arg(required = true)]
        note: Vec<String>,
        /// Maximum number of links, of backlinks and of children, up to 100,000.
        #[arg(long, value_name = "N", default_value_t = 1000)]
        max_links: u32,
    },
    /// Open a note in your editor, at a heading or block if one is named.
    Open {
        /// URI, path, link target or title, as one or several words; `#Heading` or `#^block` selects the line.
        #[arg(required = true)]
        note: Vec<String>,
        /// Print the file, line and column instead; --format json also prints links for VS Code and Obsidian.
        #[arg(long)]
        print: bool,
    },
    /// Count the folders, tags and types of the notes that match a query, or of all notes.
    Facets {
        /// Query, as one or several words [default: all notes].
        #[arg(value_name = "QUERY")]
        query: Vec<String>,
        /// Maximum number of folders, of tags and of types.
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u32,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// List notes.
    List {
        /// Maximum number of notes.
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// Token of the next page, from `next_page_token` of the previous one.
        #[arg(long, default_value = "", value_name = "TOKEN", hide_default_value = true)]
        page_token: String,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Resolve a link target.
    Resolve {
        /// Target as written between `[[` and `]]`, as one or several words.
        #[arg(required = true)]
        target: Vec<String>,
        /// Note that contains the link.
        #[arg(long, value_name = "NOTE")]
        from: Option<String>,
    },
    #[command(flatten)]
    Walk(Box<WalkCommand>),
    #[command(flatten)]
    Hygiene(Box<HygieneCommand>),
    #[command(flatten)]
    Write(WriteCommand),
    /// Show the status of the index.
    Status,
    /// Show what was indexed, skipped or failed, file by file.
    Coverage {
        /// Also list files without problems.
        #[arg(long)]
        all: bool,
    },
    /// Write the whole graph to standard output, as JSON, or with --format graphml or dot.
    Export {
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Show what changed since an earlier generation, or between two (--as-of names the later one).
    Diff {
        /// Earlier generation, one listed by `weft status` [default: the last stored one].
        #[arg(value_name = "GENERATION")]
        from: Option<u64>,
        /// List every note and link.
        #[arg(long)]
        all: bool,
    },
    /// Measure the ranking, or contexts, on your own questions, and the effect of each part.
    Eval(EvalArgs),
    /// Put load on the daemon and measure its latency.
    Bench(BenchArgs),
    /// Rescan the files.
    Reindex {
        /// Read every file, even if size and time are unchanged.
        #[arg(long)]
        full: bool,
        /// Remove deleted data from disk: text, terms, vectors, earlier generations, vectors of other models.
        #[arg(long)]
        compact: bool,
        /// Choose between the bundled models again, by the languages of the present notes.
        #[arg(long)]
        model: Option<ReindexModel>,
    },
    /// Wait until all earlier changes are indexed and persisted.
    Flush,
    /// Copy the index into a new folder while the daemon keeps running.
    Backup {
        /// Folder of the backup; it must be empty or missing.
        folder: PathBuf,
    },
    /// Create an index from a backup, without reading or embedding the notes again.
    Restore {
        /// Folder written by `backup`.
        folder: PathBuf,
    },
    /// Delete the notes that the mass-deletion guard keeps because too many of their files are missing.
    ConfirmDeletions {
        /// Vault [default: all vaults].
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Check settings, model, store and daemon.
    Doctor,
    /// Serve search, context and walks to an agent, over the Model Context Protocol on standard input and output.
    Mcp {
        /// Also let the agent create and replace notes.
        #[arg(long)]
        write: bool,
    },
    /// Manage a collection of notes in PostgreSQL, which several daemons serve.
    Cluster {
        #[command(subcommand)]
        command: ClusterCommand,
    },
    /// Send the notes of a folder to a collection.
    Push(PushArgs),
    /// Write the notes of a collection into a new folder.
    Pull(PullArgs),
    /// Show the settings.
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Print a shell completion script, or write it into a folder.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
        /// Folder; the file gets the name that the shell expects.
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Print the manual page, or write one page per command into a folder.
    Man {
        /// Folder.
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
        /// Print all commands and flags as one Markdown page instead.
        #[arg(long, conflicts_with = "folder")]
        markdown: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the settings in force.
    Show {
        /// Show the origin of each value.
        #[arg(long)]
        origin: bool,
    },
    /// Print the annotated defaults, a start for your own file.
    Default,
}

/// Retrievers of a search.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum SearchModeArg {
    /// Vector and keyword retriever.
    #[default]
    Hybrid,
    /// Vector retriever only.
    Vector,
    /// Keyword retriever only.
    Keyword,
}

impl From<SearchModeArg> for SearchMode {
    fn from(mode: SearchModeArg) -> Self {
        match mode {
            SearchModeArg::Hybrid => Self::Hybrid,
            SearchModeArg::Vector => Self::Vector,
            SearchModeArg::Keyword => Self::Keyword,
        }
    }
}

/// Format of a text for a language model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextFormat {
    /// No text.
    #[default]
    None,
    /// Headings, with note texts in fences.
    Markdown,
    /// One element per note.
    Xml,
    /// One object per note.
    Json,
}

impl From<TextFormat> for Rendering {
    fn from(format: TextFormat) -> Self {
        match format {
            TextFormat::None => Self::None,
            TextFormat::Markdown => Self::Markdown,
            TextFormat::Xml => Self::Xml,
            TextFormat::Json => Self::Json,
        }
    }
}

/// Filter on notes; every flag is repeatable.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filter")]
pub(crate) struct FilterArgs {
    /// Only this note, this folder, or paths matching this glob (`*` does not cross folders, `**` does); if repeated, any of them.
    #[arg(long, value_name = "GLOB")]
    path: Vec<String>,
    /// Only notes with this tag or one nested below it; if repeated, with all of the tags.
    #[arg(long)]
    tag: Vec<String>,
    /// Only notes of this type; if repeated, of any of the types.
    #[arg(long, value_name = "TYPE")]
    note_type: Vec<String>,
    /// Only notes of this kind: markdown, text, org or pdf; if repeated, of any of the kinds.
    #[arg(long, value_name = "KIND", value_parser = note_kind)]
    kind: Vec<NoteKind>,
    /// Only notes with a property that compares by =, !=, <, <=, > or >=, as number, date or text; if repeated, all must hold. A note without the property does not pass.
    #[arg(long = "where", value_name = "KEY=VALUE")]
    property: Vec<PropertyMatch>,
    /// Only notes dated at or after DATE. The date is the first of the properties `date`, `created`, `modified`, `updated` that contains one.
    #[arg(long, value_name = "DATE")]
    after: Option<String>,
    /// Only notes dated before DATE.
    #[arg(long, value_name = "DATE")]
    before: Option<String>,
    /// Only notes that link to this note.
    #[arg(long, value_name = "NOTE")]
    linked_to: Vec<String>,
    /// Only notes that this note links to.
    #[arg(long, value_name = "NOTE")]
    linked_from: Vec<String>,
    /// Only notes within K links of this note.
    #[arg(long, value_name = "NOTE:K", value_parser = within)]
    within: Vec<(String, u32)>,
    /// Exclude this note.
    #[arg(long, value_name = "NOTE")]
    exclude: Vec<String>,
}

impl From<FilterArgs> for Filter {
    fn from(args: FilterArgs) -> Self {
        let FilterArgs {
            path,
            tag,
            note_type,
            kind,
            property,
            after,
            before,
            linked_to,
            linked_from,
            within,
            exclude,
        } = args;
        Self {
            vaults: Vec::new(),
            paths: path,
            tags: tag,
            types: note_type,
            properties: property,
            after,
            before,
            linked_to,
            linked_from,
            within: within.into_iter().map(|(note, hops)| Within { note, hops }).collect(),
            excluded: exclude,
            kinds: kind.into_iter().map(i32::from).collect(),
        }
    }
}

fn note_kind(text: &str) -> Result<NoteKind, String> {
    let found = NoteKind::from_str_name(&format!("NOTE_KIND_{}", text.to_uppercase()));
    let found = found.filter(|kind| *kind != NoteKind::Unspecified);
    found.ok_or_else(|| "expected markdown, text, org or pdf".to_owned())
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

fn within(text: &str) -> Result<(String, u32), String> {
    let (note, hops) = text.rsplit_once(':').ok_or("expected NOTE:K")?;
    let hops = hops.parse().map_err(|_| format!("`{hops}` is not a number of links"))?;
    Ok((note.to_owned(), hops))
}

/// A model to reindex with. Any other is set in the settings.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ReindexModel {
    /// The bundled model for the languages of the notes.
    Auto,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn repeated_flags_accumulate_around_the_command() {
        let words = "weft --set a=1 --vault=x search --set=b=2 moss --vault y -- --set c=3";
        let words = move_repeated_flags_last(words.split(' ').map(OsString::from));
        let Cli { global, command } = Cli::try_parse_from(words).unwrap();
        let set: Vec<_> = global.set.iter().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(set, [("a", "1"), ("b", "2")]);
        assert_eq!(global.vault, [PathBuf::from("x"), PathBuf::from("y")]);
        let Some(Command::Search { query, .. }) = command else { panic!("another command") };
        assert_eq!(query, ["moss", "--set", "c=3"]);
        assert!(
            Cli::try_parse_from(move_repeated_flags_last(
                ["weft", "status", "--set"].map(Into::into)
            ))
            .is_err()
        );
    }

    #[test]
    fn filter_flags_are_all_parsed() {
        let args = ["weft", "list", "--path", "a/**", "--where", "k=v=w", "--within", "a:b:2"];
        let Some(Command::List { filter, .. }) = Cli::try_parse_from(args).unwrap().command else {
            panic!("another command")
        };
        let filter = Filter::from(filter);
        assert_eq!(
            (filter.properties[0].key.as_str(), filter.properties[0].value.as_str()),
            ("k", "v=w")
        );
        assert_eq!((filter.within[0].note.as_str(), filter.within[0].hops), ("a:b", 2));
        for wrong in [["--within", "a"], ["--where", "status"], ["--where", ">=2"]] {
            assert!(Cli::try_parse_from([&["weft", "list"], &wrong[..]].concat()).is_err());
        }
    }
}
