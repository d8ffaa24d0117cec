//! Walks: each rule in a table, and all rules together against oracles on random graphs.

mod centrality;
mod cycles;
mod export;
mod note_lists;
mod oracle;
mod outline;
mod path;
mod random_graphs;
mod records;
mod text_graph;
mod topics;
mod tree;
mod tree_properties;
