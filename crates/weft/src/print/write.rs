//! What was written.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{
    DeleteNoteResponse, MoveNoteResponse, PutNoteResponse, RewrittenLinks,
};

use super::text::{DIM, NOTICE, STRONG, counted, harmless, paint};

/// What was put.
pub(crate) fn put(answer: &PutNoteResponse) -> String {
    let PutNoteResponse { vault: _, path, uri: _, hash, created, not_indexed, generation } = answer;
    let mut out = done(if *created { "wrote" } else { "replaced" }, path, *generation);
    if let Some(hash) = hash {
        let _ = writeln!(out, "{}", paint(DIM, &format!("hash {hash}")));
    }
    if let Some(reason) = not_indexed {
        let _ =
            writeln!(out, "{} it is not in the index: {}", paint(NOTICE, "!"), harmless(reason));
    }
    out
}

/// What went.
pub(crate) fn deleted(answer: &DeleteNoteResponse) -> String {
    let DeleteNoteResponse { vault: _, path, generation } = answer;
    done("deleted", path, *generation)
}

/// What moved, and which links followed, where `rewrites` says that they were to; else how many lose their note.
pub(crate) fn moved(answer: &MoveNoteResponse, rewrites: bool) -> String {
    let MoveNoteResponse { vault: _, path, uri: _, hash: _, links, generation } = answer;
    let mut out = done("moved to", path, *generation);
    for RewrittenLinks { path, n_links, n_left } in links.iter().filter(|_| rewrites) {
        let _ = writeln!(
            out,
            "  {} {}",
            harmless(path),
            paint(DIM, &format!("{} rewritten", counted(*n_links, "link", "links")))
        );
        if *n_left > 0 {
            let left = counted(*n_left, "link", "links");
            let _ =
                writeln!(out, "  {} {left} left as before; see to it yourself", paint(NOTICE, "!"));
        }
    }
    let n_lost: u64 = links.iter().filter(|_| !rewrites).map(|file| file.n_left).sum();
    if n_lost > 0 {
        let files: Vec<String> = links.iter().map(|file| harmless(&file.path)).collect();
        let (lost, them) = if n_lost == 1 { ("leads", "it") } else { ("lead", "them") };
        let _ = writeln!(
            out,
            "{} {} {lost} elsewhere now or nowhere, in {}; --rewrite-links would have changed {them}",
            paint(NOTICE, "!"),
            counted(n_lost, "link", "links"),
            files.join(", ")
        );
    }
    out
}

fn done(what: &str, path: &str, generation: u64) -> String {
    let generation = paint(DIM, &format!("generation {generation}"));
    format!("{what} {}  {generation}\n", paint(STRONG, &harmless(path)))
}
