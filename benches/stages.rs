//! How long each stage takes: a file for each arrow of the architecture.
#![forbid(unsafe_code)]

use criterion::Criterion;
use weft_benches::asked;

mod accordion;
mod bulk;
mod edit;
mod embed;
mod gars;
mod graph;
mod grpc;
mod keyword;
mod open;
mod parse;
mod path;
mod publish;
mod query;
mod related;
mod tree;
mod vector;

/// The daemon's allocator, for all that is measured.
#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What measures a stage, by its name, with which its ids begin.
type Bench = (&'static str, fn(&mut Criterion));

const BENCHES: [Bench; 16] = [
    ("parse", parse::bench),
    ("keyword", keyword::bench),
    ("vector", vector::bench),
    ("graph", graph::bench),
    ("tree", tree::bench),
    ("path", path::bench),
    ("related", related::bench),
    ("gars", gars::bench),
    ("accordion", accordion::bench),
    ("query", query::bench),
    ("grpc", grpc::bench),
    ("publish", publish::bench),
    ("edit", edit::bench),
    ("embed", embed::bench),
    ("bulk", bulk::bench),
    ("open", open::bench),
];

/// Runs the bench that is asked for by name; all of them where the name is of none.
fn main() {
    // As the daemon has it.
    #[cfg(unix)]
    {
        use tikv_jemalloc_ctl::{background_thread, max_background_threads};
        let _ = max_background_threads::write(1).and_then(|()| background_thread::write(true));
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, vault, store] = arguments.as_slice()
        && first == open::MEMORY
    {
        return open::memory(vault.as_ref(), store.as_ref());
    }
    let asked = asked().unwrap_or_default();
    let stage = asked.split('/').next().unwrap_or_default();
    let is_known = BENCHES.iter().any(|(name, _)| *name == stage);
    let mut criterion = Criterion::default().configure_from_args();
    for (_, bench) in BENCHES.iter().filter(|(name, _)| !is_known || *name == stage) {
        bench(&mut criterion);
    }
    criterion.final_summary();
}
