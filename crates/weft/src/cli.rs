//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use weft_proto::noteweft::v1::{Filter, PropertyMatch, Rendering, SearchMode, Within};

use crate::bench::BenchArgs;
use crate::context::ContextArgs;
use crate::eval::EvalArgs;
use crate::ranking::RankingArgs;
use crate::related::RelatedArgs;
use crate::walk::WalkCommand;
use crate::write::WriteCommand;

/// Find your notes by meaning, by word and by link.
#[derive(Debug, Parser)]
#[command(
    name = "weft",
    version,
    about = "Finds your notes by meaning, by word and by link",
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Cli {
    /// What the process was called with; ends it where that cannot be understood.
    pub(crate) fn read() -> Self {
        let words = gathered(std::env::args_os());
        let matches = Self::command().try_get_matches_from(words);
        let matches = matches.unwrap_or_else(|error| about_quotes(error).exit());
        let mut cli = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        // A variable that is set to nothing says nothing.
        cli.global.addr = cli.global.addr.filter(|address| !address.is_empty());
        let is_typed = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
        cli.global.addr_by_flag = is_typed("addr");
        match (is_typed("token"), is_typed("token_file")) {
            (true, true) => {
                let message = "--token and --token-file cannot be used together\n";
                Self::command().error(ErrorKind::ArgumentConflict, message).exit();
            }
            // A flag counts more than a variable.
            (false, true) => cli.global.token = None,
            (true, false) => cli.global.token_file = None,
            (false, false) => {}
        }
        cli
    }
}

/// The same error, with what to do where a word is left over that is no flag.
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

/// What is said of names where each word stands for one.
pub(crate) const QUOTES: &str = "a name of several words stands in quotes, such as 'Leap second'";

/// Flags of every command that count each time they are given.
const REPEATED: [&str; 2] = ["--set", "--vault"];

/// The same words with the flags of [`REPEATED`] at the end, in their order: of those before a command and those behind it the parser keeps the latter alone.
fn gathered(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let (mut others, mut repeated) = (Vec::new(), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_str().unwrap_or_default();
        let (flag, value) = text.split_once('=').map_or((text, None), |(flag, v)| (flag, Some(v)));
        if text == "--" {
            // Past it nothing is a flag.
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

/// Flags of every command.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Global {
    /// Answer in this process from the folder DIR, brought up to date first; may be given several times.
    #[arg(long, global = true, value_name = "DIR", help_heading = "Where to ask")]
    pub(crate) vault: Vec<PathBuf>,
    /// With --vault: answer at once, without waiting for vectors.
    #[arg(long, global = true, help_heading = "Where to ask")]
    pub(crate) no_wait: bool,
    /// Answer from the earlier generation N, one of those that `status` lists.
    #[arg(long, global = true, value_name = "N", help_heading = "When to ask")]
    pub(crate) as_of: Option<u64>,
    /// Wait until generation N is there, as a write command printed it.
    #[arg(
        long,
        global = true,
        value_name = "N",
        conflicts_with = "as_of",
        help_heading = "When to ask"
    )]
    pub(crate) min_generation: Option<u64>,
    /// The daemon to ask: HOST:PORT, https://HOST:PORT or unix:PATH. With `serve` the HOST:PORT to serve at, which the variable does not say.
    #[arg(
        long,
        global = true,
        env = "WEFT_ADDR",
        value_name = "ADDR",
        help_heading = "Where to ask"
    )]
    pub(crate) addr: Option<String>,
    /// Whether a flag said so.
    #[arg(skip)]
    pub(crate) addr_by_flag: bool,
    /// The file with the token to show to a daemon that asks for one; its last line counts.
    #[arg(
        long,
        global = true,
        env = "WEFT_TOKEN_FILE",
        value_name = "FILE",
        help_heading = "Where to ask"
    )]
    pub(crate) token_file: Option<PathBuf>,
    /// The token itself. Others on this machine may see it on the command line; the variable or --token-file hide it.
    #[arg(
        long,
        global = true,
        env = "WEFT_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN",
        help_heading = "Where to ask"
    )]
    pub(crate) token: Option<String>,
    /// Ask over TLS, and trust the authority whose certificate is in this file; https:// addresses trust the public ones without it.
    #[arg(
        long,
        global = true,
        env = "WEFT_TLS_CA",
        value_name = "FILE",
        help_heading = "Where to ask"
    )]
    pub(crate) tls_ca: Option<PathBuf>,
    /// The name that the daemon's certificate bears, where it is asked at another one, such as 127.0.0.1; asks over TLS.
    #[arg(
        long,
        global = true,
        env = "WEFT_TLS_NAME",
        value_name = "NAME",
        help_heading = "Where to ask"
    )]
    pub(crate) tls_name: Option<String>,
    /// The certificate to show to a daemon that asks for one.
    #[arg(
        long,
        global = true,
        env = "WEFT_TLS_CERT",
        value_name = "FILE",
        requires = "tls_key",
        help_heading = "Where to ask"
    )]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its private key.
    #[arg(
        long,
        global = true,
        env = "WEFT_TLS_KEY",
        value_name = "FILE",
        help_heading = "Where to ask"
    )]
    pub(crate) tls_key: Option<PathBuf>,
    /// The folder of the index, instead of one in the user's data folder.
    #[arg(long, global = true, value_name = "DIR", help_heading = "Settings")]
    pub(crate) store: Option<PathBuf>,
    /// The configuration file, instead of the user's own.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Settings")]
    pub(crate) config: Option<PathBuf>,
    /// Set one setting, such as embedding.model=none; may be given several times.
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = pair, help_heading = "Settings")]
    pub(crate) set: Vec<(String, String)>,
    /// How the answer is written.
    #[arg(long, global = true, value_enum, default_value_t, help_heading = "Output")]
    pub(crate) format: Format,
}

impl Global {
    /// The address to serve at, where one is named: the variable says whom to ask, which may be a daemon elsewhere.
    pub(crate) fn own_address(&self) -> Option<&String> {
        self.addr.as_ref().filter(|_| self.addr_by_flag)
    }
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Human,
    /// One object.
    Json,
    /// A record to a line, of `tree` and `path`.
    Records,
    /// GraphML, of `export` alone.
    Graphml,
    /// Graphviz, of `export` alone.
    Dot,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve folders of notes over gRPC until Ctrl-C.
    Serve {
        /// The folders; without any those of the configuration.
        #[arg(value_name = "VAULT")]
        vaults: Vec<PathBuf>,
        /// Ask this question as soon as everything is indexed, and print the answer.
        #[arg(long, value_name = "QUESTION")]
        ask: Option<String>,
        /// The path of a Unix socket, `auto` or `none`.
        #[arg(long, value_name = "PATH")]
        socket: Option<String>,
        /// Serve in the background; returns when questions are answered. `weft stop` ends it.
        #[arg(long, conflicts_with = "ask")]
        detach: bool,
    },
    /// End the daemon, and wait until it has written everything down.
    Stop,
    /// Bring the index of a folder up to date, with progress.
    Index {
        /// The folders; without any those of --vault or of the configuration.
        #[arg(value_name = "VAULT")]
        vaults: Vec<PathBuf>,
    },
    /// Find notes.
    Search {
        /// What to look for, in one or several words. No hit lacks what a + stands before (+must, +"a phrase") or holds what a - stands before (-not, after --).
        #[arg(required = true, value_name = "QUERY")]
        query: Vec<String>,
        /// Hits at most.
        #[arg(long, default_value_t = 10)]
        limit: u32,
        /// How to look.
        #[arg(long, value_enum, default_value_t)]
        mode: Mode,
        /// Show the parts of each score.
        #[arg(long)]
        explain: bool,
        /// Snippets of a hit at most, 0 for none; as configured without it.
        #[arg(long, value_name = "N")]
        snippets: Option<u32>,
        #[command(flatten)]
        ranking: RankingArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Read what surrounds a note, best first, within a budget.
    Related(RelatedArgs),
    /// Pack the best notes into a text that fits a budget, with an account of it.
    Context(Box<ContextArgs>),
    /// Say why a note is no hit of a search.
    WhyNot {
        /// The note that is missing.
        note: String,
        /// What was looked for, in one or several words.
        #[arg(required = true, value_name = "QUERY")]
        query: Vec<String>,
        /// Hits that were asked for.
        #[arg(long, default_value_t = 10)]
        limit: u32,
        /// How it was looked for.
        #[arg(long, value_enum, default_value_t)]
        mode: Mode,
        #[command(flatten)]
        ranking: RankingArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Read a note, with its links and backlinks.
    Get {
        /// A uri, a path, anything a link would resolve to, or a title, in one or several words.
        #[arg(required = true)]
        note: Vec<String>,
        /// Links, backlinks and notes below it at most, of each; up to 100,000.
        #[arg(long, value_name = "N", default_value_t = 1000)]
        max_links: u32,
    },
    /// List notes.
    List {
        /// Notes at most.
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// Continue where a page ended: its `next_page_token`.
        #[arg(long, default_value = "", value_name = "TOKEN", hide_default_value = true)]
        page_token: String,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Say what a link would find.
    Resolve {
        /// The target, as between `[[` and `]]`, in one or several words.
        #[arg(required = true)]
        target: Vec<String>,
        /// The note that holds the link.
        #[arg(long, value_name = "NOTE")]
        from: Option<String>,
    },
    #[command(flatten)]
    Walk(Box<WalkCommand>),
    #[command(flatten)]
    Write(WriteCommand),
    /// Say how the index is.
    Status,
    /// Say what became of every file.
    Coverage {
        /// List the files that are in order, too.
        #[arg(long)]
        all: bool,
    },
    /// Write the whole graph to standard output: as JSON, or with --format graphml or dot.
    Export {
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Say what changed since an earlier generation, or between two (--as-of names the later).
    Diff {
        /// The earlier generation, one that `status` names; without it, the last stored one.
        #[arg(value_name = "GENERATION")]
        from: Option<u64>,
        /// List every note and link.
        #[arg(long)]
        all: bool,
    },
    /// Measure the ranking, or contexts, on questions of your own, and what each part is worth.
    Eval(EvalArgs),
    /// Put a load on the daemon and measure how long its answers take.
    Bench(BenchArgs),
    /// Look at the files again.
    Reindex {
        /// Read every file, also where size and time are unchanged.
        #[arg(long)]
        full: bool,
        /// Take what was deleted off the disk: text, words, vectors, earlier generations, other models' vectors.
        #[arg(long)]
        compact: bool,
    },
    /// Wait until all earlier changes are indexed and written down.
    Flush,
    /// Copy the index into a new folder, while the daemon goes on.
    Backup {
        /// The folder; nothing may be in it.
        folder: PathBuf,
    },
    /// Make an index of a copy, so that nothing needs to be read or understood anew.
    Restore {
        /// The folder that `backup` wrote.
        folder: PathBuf,
    },
    /// Let notes go whose files are missing: a vault of which too many are missing at once keeps them.
    Confirm {
        /// The vault; without it, every one.
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Check settings, model, store and daemon.
    Doctor,
    /// Offer search, context and walks to an agent, over the Model Context Protocol on standard input and output.
    Mcp,
    /// Show the settings.
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Print the script that completes commands and flags in a shell, or write it into a folder.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
        /// The folder; the file is named as the shell expects it.
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Print the page for `man`, or write one for each command into a folder.
    Man {
        /// The folder.
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
        /// Print all commands and flags as one page of Markdown instead.
        #[arg(long, conflicts_with = "folder")]
        markdown: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the settings in force.
    Show {
        /// Say where each value came from.
        #[arg(long)]
        origin: bool,
    },
    /// Print the annotated defaults, a start for a file of your own.
    Default,
}

/// How to look.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Mode {
    /// By meaning and by word.
    #[default]
    Hybrid,
    /// By meaning.
    Vector,
    /// By word.
    Keyword,
}

impl From<Mode> for SearchMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Hybrid => Self::Hybrid,
            Mode::Vector => Self::Vector,
            Mode::Keyword => Self::Keyword,
        }
    }
}

/// The form of a text for a language model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// No text.
    #[default]
    None,
    /// Headings, with note texts in fences.
    Markdown,
    /// An element for each note.
    Xml,
    /// An object for each note.
    Json,
}

impl From<Form> for Rendering {
    fn from(form: Form) -> Self {
        match form {
            Form::None => Self::None,
            Form::Markdown => Self::Markdown,
            Form::Xml => Self::Xml,
            Form::Json => Self::Json,
        }
    }
}

/// Which notes; every flag may be given several times.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filter")]
pub(crate) struct FilterArgs {
    /// This note, or in this folder, or matching this glob (`*` stays within a folder, `**` does not); any of them.
    #[arg(long, value_name = "GLOB")]
    path: Vec<String>,
    /// With this tag, or one nested below it; all of them.
    #[arg(long)]
    tag: Vec<String>,
    /// Of this type; any of them.
    #[arg(long, value_name = "TYPE")]
    note_type: Vec<String>,
    /// With a property that compares so, by =, !=, <, <=, > or >=, as a number, a date or a text; all of them. A note without the property passes none.
    #[arg(long = "where", value_name = "KEY=VALUE")]
    property: Vec<PropertyMatch>,
    /// Dated then or later, by its property `date`, `created`, `modified` or `updated`: the first of these that holds a date.
    #[arg(long, value_name = "DATE")]
    after: Option<String>,
    /// Dated earlier, by the same.
    #[arg(long, value_name = "DATE")]
    before: Option<String>,
    /// Linking to this note.
    #[arg(long, value_name = "NOTE")]
    linked_to: Vec<String>,
    /// Linked from this note.
    #[arg(long, value_name = "NOTE")]
    linked_from: Vec<String>,
    /// At most K links away from this note.
    #[arg(long, value_name = "NOTE:K", value_parser = within)]
    within: Vec<(String, u32)>,
    /// Not this note.
    #[arg(long, value_name = "NOTE")]
    exclude: Vec<String>,
}

impl From<FilterArgs> for Filter {
    fn from(args: FilterArgs) -> Self {
        let FilterArgs {
            path,
            tag,
            note_type,
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
        }
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("it is not KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

fn within(text: &str) -> Result<(String, u32), String> {
    let (note, hops) = text.rsplit_once(':').ok_or("it is not NOTE:K")?;
    let hops = hops.parse().map_err(|_| format!("`{hops}` is no number of links"))?;
    Ok((note.to_owned(), hops))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_flag_that_is_repeated_counts_before_and_behind_the_command() {
        let words = "weft --set a=1 --vault=x search --set=b=2 moss --vault y -- --set c=3";
        let words = gathered(words.split(' ').map(OsString::from));
        let Cli { global, command } = Cli::try_parse_from(words).unwrap();
        let set: Vec<_> = global.set.iter().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(set, [("a", "1"), ("b", "2")]);
        assert_eq!(global.vault, [PathBuf::from("x"), PathBuf::from("y")]);
        let Some(Command::Search { query, .. }) = command else { panic!("another command") };
        assert_eq!(query, ["moss", "--set", "c=3"]);
        assert!(
            Cli::try_parse_from(gathered(["weft", "status", "--set"].map(Into::into))).is_err()
        );
    }

    #[test]
    fn a_filter_is_read_whole() {
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
