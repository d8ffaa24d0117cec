//! Commands that write notes: flags and requests.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use weft_proto::noteweft::v1::{DeleteNoteRequest, MoveNoteRequest, PutNoteRequest};

use crate::cli::Global;
use crate::client::Client;
use crate::commands::render;
use crate::failure::Failure;
use crate::print;

/// Commands that write notes.
#[derive(Debug, Subcommand)]
pub(crate) enum WriteCommand {
    /// Create or replace a note, from a file or standard input.
    Put(PutArgs),
    /// Delete a note.
    Delete {
        /// URI, path, link target or title.
        note: String,
        /// Only if its content has this hash, as printed by `get --format json`.
        #[arg(long, value_name = "HASH")]
        expect: Option<String>,
    },
    /// Move a note within its vault.
    Move {
        /// URI, path, link target or title.
        note: String,
        /// New path in the vault, with .md; it must not exist.
        to: String,
        /// Rewrite the links that would break: links to the note, and its own.
        #[arg(long)]
        rewrite_links: bool,
        /// Only if its content has this hash, as printed by `get --format json`.
        #[arg(long, value_name = "HASH")]
        expect: Option<String>,
    },
}

/// Text to write, and its path.
#[derive(Debug, Args)]
pub(crate) struct PutArgs {
    /// Path in the vault, with .md.
    path: String,
    /// File with the text [default: standard input, also as -].
    #[arg(value_name = "FILE")]
    from: Option<PathBuf>,
    /// Vault, if several are served.
    #[arg(long, value_name = "NAME")]
    into: Option<String>,
    /// Replace only the text below the frontmatter.
    #[arg(long)]
    body: bool,
    /// Only if the file does not exist yet.
    #[arg(long, conflicts_with = "expect")]
    new: bool,
    /// Only if its content has this hash, as printed by `get --format json`.
    #[arg(long, value_name = "HASH")]
    expect: Option<String>,
}

impl PutArgs {
    fn into_request(self) -> Result<PutNoteRequest, Failure> {
        let Self { path, from, into, body, new, expect } = self;
        let source = from.as_deref().unwrap_or(Path::new("-"));
        let text = text_at(source)?;
        // Empty input is more likely a mistake than an empty note, which can be written from an empty file.
        if text.is_empty() && source == Path::new("-") {
            return Err(Failure::usage("standard input is empty, so the note would be empty")
                .hint("name the file with the text, or /dev/null for an empty note"));
        }
        let (text, body) = if body { (None, Some(text)) } else { (Some(text), None) };
        let expected_hash = if new { Some(String::new()) } else { expect };
        Ok(PutNoteRequest { vault: into, path, text, body, expected_hash })
    }
}

/// A write that is ready to be sent.
pub(crate) enum PreparedWrite {
    Put(PutNoteRequest),
    Delete(DeleteNoteRequest),
    Move(MoveNoteRequest),
}

impl WriteCommand {
    /// Reads the text. This happens before the index is opened, because the process that writes to the pipe may hold the lock until then.
    pub(crate) fn ready(self) -> Result<PreparedWrite, Failure> {
        Ok(match self {
            Self::Put(args) => PreparedWrite::Put(args.into_request()?),
            Self::Delete { note, expect } => {
                PreparedWrite::Delete(DeleteNoteRequest { name: note, expected_hash: expect })
            }
            Self::Move { note, to, rewrite_links, expect } => {
                PreparedWrite::Move(MoveNoteRequest {
                    name: note,
                    to,
                    expected_hash: expect,
                    rewrite_links,
                })
            }
        })
    }
}

/// Sends the write and renders the answer.
pub(crate) async fn run(
    client: &Client,
    ready: PreparedWrite,
    global: &Global,
) -> Result<String, Failure> {
    let (mut notes, format) = (client.notes(), global.format);
    match ready {
        PreparedWrite::Put(request) => {
            let answer = notes.put_note(client.prepare(request, global).await?).await?.into_inner();
            render(format, &answer, print::put)
        }
        PreparedWrite::Delete(request) => {
            let answer =
                notes.delete_note(client.prepare(request, global).await?).await?.into_inner();
            render(format, &answer, print::deleted)
        }
        PreparedWrite::Move(request) => {
            let rewrites = request.rewrite_links;
            let answer =
                notes.move_note(client.prepare(request, global).await?).await?.into_inner();
            render(format, &answer, |answer| print::moved(answer, rewrites))
        }
    }
}

fn text_at(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(path).map(|read| bytes = read)
    };
    read.map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    String::from_utf8(bytes).map_err(|_| {
        Failure::usage(format!("{} is not UTF-8; the text of a note must be", path.display()))
    })
}
