//! Commands that write notes: flags to requests.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use weft_proto::noteweft::v1::{DeleteNoteRequest, MoveNoteRequest, PutNoteRequest};

use crate::asker::Asker;
use crate::cli::Global;
use crate::commands::render;
use crate::failure::Failure;
use crate::print;

/// Writes notes.
#[derive(Debug, Subcommand)]
pub(crate) enum WriteCommand {
    /// Write a note's file, from a file or from standard input.
    Put(PutArgs),
    /// Delete a note's file.
    Delete {
        /// A uri, a path, anything a link would resolve to, or a title.
        note: String,
        /// Only if its content still has this hash, as `get --format json` gives it.
        #[arg(long, value_name = "HASH")]
        expect: Option<String>,
    },
    /// Move a note's file within its vault.
    Move {
        /// A uri, a path, anything a link would resolve to, or a title.
        note: String,
        /// The new path in the vault, with .md; nothing may be there.
        to: String,
        /// Rewrite the links that would lose their note: to it, and its own.
        #[arg(long)]
        rewrite_links: bool,
        /// Only if its content still has this hash, as `get --format json` gives it.
        #[arg(long, value_name = "HASH")]
        expect: Option<String>,
    },
}

/// What to write, and where.
#[derive(Debug, Args)]
pub(crate) struct PutArgs {
    /// The path in the vault, with .md.
    path: String,
    /// The file with the text; standard input without it, or with -.
    #[arg(value_name = "FILE")]
    from: Option<PathBuf>,
    /// The vault, where several are served.
    #[arg(long, value_name = "NAME")]
    into: Option<String>,
    /// Replace the text below the frontmatter alone.
    #[arg(long)]
    body: bool,
    /// Only if there is no such file yet.
    #[arg(long, conflicts_with = "expect")]
    new: bool,
    /// Only if its content still has this hash, as `get --format json` gives it.
    #[arg(long, value_name = "HASH")]
    expect: Option<String>,
}

impl PutArgs {
    fn into_request(self) -> Result<PutNoteRequest, Failure> {
        let Self { path, from, into, body, new, expect } = self;
        let source = from.as_deref().unwrap_or(Path::new("-"));
        let text = text_at(source)?;
        // Whoever means an empty note can name an empty file; a forgotten one must not cost a text.
        if text.is_empty() && source == Path::new("-") {
            return Err(Failure::usage("standard input is empty, and so would be the note")
                .hint("name the file with the text, or /dev/null for an empty note"));
        }
        let (text, body) = if body { (None, Some(text)) } else { (Some(text), None) };
        let expected_hash = if new { Some(String::new()) } else { expect };
        Ok(PutNoteRequest { vault: into, path, text, body, expected_hash })
    }
}

/// A write that is ready to be sent.
pub(crate) enum Ready {
    Put(PutNoteRequest),
    Delete(DeleteNoteRequest),
    Move(MoveNoteRequest),
}

impl WriteCommand {
    /// Reads what is to be written. Before the index is opened: whoever writes to a pipe may hold its lock until then.
    pub(crate) fn ready(self) -> Result<Ready, Failure> {
        Ok(match self {
            Self::Put(args) => Ready::Put(args.into_request()?),
            Self::Delete { note, expect } => {
                Ready::Delete(DeleteNoteRequest { name: note, expected_hash: expect })
            }
            Self::Move { note, to, rewrite_links, expect } => Ready::Move(MoveNoteRequest {
                name: note,
                to,
                expected_hash: expect,
                rewrite_links,
            }),
        })
    }
}

/// Has it written and gives the answer as text.
pub(crate) async fn ask(asker: &Asker, ready: Ready, global: &Global) -> Result<String, Failure> {
    let (mut notes, format) = (asker.notes(), global.format);
    match ready {
        Ready::Put(request) => {
            let answer = notes.put_note(asker.ready(request, global).await?).await?.into_inner();
            render(format, &answer, print::put)
        }
        Ready::Delete(request) => {
            let answer = notes.delete_note(asker.ready(request, global).await?).await?.into_inner();
            render(format, &answer, print::deleted)
        }
        Ready::Move(request) => {
            let rewrites = request.rewrite_links;
            let answer = notes.move_note(asker.ready(request, global).await?).await?.into_inner();
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
    String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{} is no UTF-8; a note's text is", path.display())))
}
