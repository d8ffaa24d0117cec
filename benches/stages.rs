//! Time of each stage: one file per arrow of the architecture.
#![forbid(unsafe_code)]

use criterion::Criterion;
use weft_benches::selected_bench;

mod accordion;
mod bulk;
mod edit;
mod embed;
mod gars;
mod graph;
mod grpc;
mod hygiene;
mod keyword;
mod open;
mod parse;
mod path;
mod publish;
mod query;
mod related;
mod tree;
mod vector;

/// The daemon's allocator.
#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Name of a stage, which starts its ids, and its benches.
type Bench = (&'static str, fn(&mut Criterion));

const BENCHES: [Bench; 17] = [
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
    ("hygiene", hygiene::bench),
    ("grpc", grpc::bench),
    ("publish", publish::bench),
    ("edit", edit::bench),
    ("embed", embed::bench),
    ("bulk", bulk::bench),
    ("open", open::bench),
];

/// Runs the benches of the named stage; all stages if the name is not one.
fn main() {
    // As in the daemon.
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
    let selected = selected_bench().unwrap_or_default();
    let stage = selected.split('/').next().unwrap_or_default();
    let is_known = BENCHES.iter().any(|(name, _)| *name == stage);
    let mut criterion = Criterion::default().configure_from_args();
    for (_, bench) in BENCHES.iter().filter(|(name, _)| !is_known || *name == stage) {
        bench(&mut criterion);
    }
    criterion.final_summary();
}
