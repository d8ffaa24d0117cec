//! How long each stage takes: a file for each arrow of the architecture.
#![forbid(unsafe_code)]

use criterion::Criterion;

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

/// Runs the benches whose names stand in the arguments, alone or before a slash; all of them where there is none.
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, vault, store] = arguments.as_slice()
        && first == open::MEMORY
    {
        return open::memory(vault.as_ref(), store.as_ref());
    }
    let is_named = |(name, _): &Bench| {
        let mut firsts = arguments.iter().map(|argument| argument.split('/').next());
        firsts.any(|first| first == Some(*name))
    };
    let named: Vec<Bench> = BENCHES.into_iter().filter(is_named).collect();
    let benches = if named.is_empty() { BENCHES.to_vec() } else { named };
    let mut criterion = Criterion::default().configure_from_args();
    for (_, bench) in benches {
        bench(&mut criterion);
    }
    criterion.final_summary();
}
