//! Renders the results of writes.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{
    DeleteNoteResponse, MoveNoteResponse, PutNoteResponse, RewrittenLinks,
};

use super::text::{DIM, NOTICE, STRONG, counted, harmless, paint};

/// Formats a created or replaced note.
pub(crate) fn put(answer: &PutNoteResponse) -> String {
    let PutNoteResponse {
        vault: _,
        path,
        uri: _,
        hash,
        created,
        not_indexed,
        generation,
        index_pending,
    } = answer;
    let what = if *created { "created" } else { "replaced" };
    let mut out = done(what, path, *generation, index_pending.as_deref());
    if let Some(hash) = hash {
        let _ = writeln!(out, "{}", paint(DIM, &format!("hash {hash}")));
    }
    if let Some(reason) = not_indexed {
        let _ = writeln!(out, "{} not indexed: {}", paint(NOTICE, "!"), harmless(reason));
    }
    out
}

/// Formats a deleted note.
pub(crate) fn deleted(answer: &DeleteNoteResponse) -> String {
    let DeleteNoteResponse { vault: _, path, generation, index_pending } = answer;
    done("deleted", path, *generation, index_pending.as_deref())
}

/// Formats a moved note: the rewritten links if `rewrites` is set, else the number of links that now break.
pub(crate) fn moved(answer: &MoveNoteResponse, rewrites: bool) -> String {
    let MoveNoteResponse { vault: _, path, uri: _, hash: _, links, generation, index_pending } =
        answer;
    let mut out = done("moved to", path, *generation, index_pending.as_deref());
    for RewrittenLinks { path, links_rewritten, links_not_rewritten } in
        links.iter().filter(|_| rewrites)
    {
        let _ = writeln!(
            out,
            "  {} {}",
            harmless(path),
            paint(DIM, &format!("{} rewritten", counted(*links_rewritten, "link", "links")))
        );
        if *links_not_rewritten > 0 {
            let left = counted(*links_not_rewritten, "link", "links");
            let _ = writeln!(out, "  {} {left} not rewritten; check by hand", paint(NOTICE, "!"));
        }
    }
    let n_broken: u64 =
        links.iter().filter(|_| !rewrites).map(|file| file.links_not_rewritten).sum();
    if n_broken > 0 {
        let files: Vec<String> = links.iter().map(|file| harmless(&file.path)).collect();
        let verb = if n_broken == 1 {
            "breaks or changes its target"
        } else {
            "break or change their target"
        };
        let _ = writeln!(
            out,
            "{} {} now {verb}, in {}; --rewrite-links rewrites such links",
            paint(NOTICE, "!"),
            counted(n_broken, "link", "links"),
            files.join(", ")
        );
    }
    out
}

fn done(what: &str, path: &str, generation: u64, index_pending: Option<&str>) -> String {
    let path = paint(STRONG, &harmless(path));
    match index_pending {
        None => {
            let generation = paint(DIM, &format!("generation {generation}"));
            format!("{what} {path}  {generation}\n")
        }
        Some(reason) => {
            let (mark, reason) = (paint(NOTICE, "!"), harmless(reason));
            format!(
                "{what} {path}\n{mark} not indexed yet, will be retried: {reason}; `weft flush` indexes it, or states the cause\n"
            )
        }
    }
}
